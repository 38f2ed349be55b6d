//! What the machine did while a case ran, and when that is enough to have disturbed it.
//!
//! Beside other cases of ours, what counts is pressure: the share of the time in which anybody waited for a processor or
//! a disk (`/proc/pressure`). Where a case runs alone its own pressure proves nothing, so what counts is what others used:
//! processor time that is neither ours nor our children's (`/proc/stat`, `/proc/self/stat`), and disks that were busy
//! (`/proc/diskstats`) in the quiet moments before and after it. Time that the hypervisor gave away counts always. Where a
//! file is missing nothing can be told, and nothing counts as disturbed.

use std::fmt;
use std::fs::read_to_string;
use std::time::{Duration, Instant};

/// Shares of the time or of all processors above which a case counts as disturbed.
mod limit {
    /// Somebody waited for a processor.
    pub const PROCESSOR_PRESSURE: f64 = 0.10;
    /// Somebody waited for a disk.
    pub const DISK_PRESSURE: f64 = 0.20;
    /// The hypervisor gave it to others.
    pub const STOLEN: f64 = 0.03;
    /// Others used it. The kernel's own threads work for us as well: half of one of two processors.
    pub const FOREIGN_PROCESSOR: f64 = 0.25;
    /// A disk was busy while nothing of ours ran.
    pub const FOREIGN_DISK: f64 = 0.20;
}

/// How long nothing of ours runs before and after a case that runs alone.
const QUIET: Duration = Duration::from_millis(150);

/// A share that was measured, and its limit.
#[derive(Debug, Clone, Copy, PartialEq)]
struct PressureShare {
    name: &'static str,
    share: f64,
    limit: f64,
}

/// What was measured beside a case.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PressureShares(Vec<PressureShare>);

impl PressureShares {
    /// Whether a limit was exceeded.
    pub fn is_disturbed(&self) -> bool {
        self.0.iter().any(|figure| figure.share > figure.limit)
    }
}

impl fmt::Display for PressureShares {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let exceeded = self.0.iter().filter(|figure| figure.share > figure.limit);
        let text = |figure: &PressureShare| {
            format!("{} {:.0} % (limit {:.0} %)", figure.name, figure.share * 100.0, figure.limit * 100.0)
        };
        let texts: Vec<String> = exceeded.map(text).collect();
        f.write_str(if texts.is_empty() { "nothing exceeded its limit" } else { "" })?;
        f.write_str(&texts.join(", "))
    }
}

#[cfg(test)]
impl PressureShares {
    /// So much was stolen.
    pub fn staged(share: f64) -> PressureShares {
        PressureShares(vec![PressureShare { name: "stolen", share, limit: limit::STOLEN }])
    }
}

/// Watches the machine while a case runs.
#[derive(Debug)]
pub struct Watch {
    from: CounterSample,
    /// Of a case that runs alone: the share of the quiet moment before it in which a disk was busy.
    busy_before: Option<f64>,
}

impl Watch {
    /// Begins beside other cases of ours.
    pub fn among_others() -> Watch {
        Watch { from: CounterSample::now(), busy_before: None }
    }

    /// Begins where nothing else of ours runs, after a quiet moment.
    pub fn alone() -> Watch {
        let busy = quiet();
        Watch { from: CounterSample::now(), busy_before: Some(busy) }
    }

    /// What was measured since it began.
    pub fn end(&self) -> PressureShares {
        let to = CounterSample::now();
        let stolen = PressureShare { name: "stolen", share: self.from.stolen(&to), limit: limit::STOLEN };
        let Some(before) = self.busy_before else {
            let waiting = |name, from_us, to_us, limit| PressureShare {
                name,
                share: self.from.share(&to, from_us, to_us),
                limit,
            };
            let (processor, disk) = (limit::PROCESSOR_PRESSURE, limit::DISK_PRESSURE);
            return PressureShares(vec![
                waiting("waiting for a processor", self.from.processor_us, to.processor_us, processor),
                waiting("waiting for a disk", self.from.disk_us, to.disk_us, disk),
                stolen,
            ]);
        };
        let foreign = self.from.foreign(&to);
        let busy = before.max(quiet());
        PressureShares(vec![
            PressureShare {
                name: "processors used by others",
                share: foreign,
                limit: limit::FOREIGN_PROCESSOR,
            },
            PressureShare { name: "a disk busy with others", share: busy, limit: limit::FOREIGN_DISK },
            stolen,
        ])
    }
}

/// Watches how much of the processors is idle.
#[derive(Debug)]
pub struct Idle {
    since: Instant,
    ticks: Option<[u64; 3]>,
}

impl Idle {
    /// From now on.
    pub fn begin() -> Idle {
        Idle { since: Instant::now(), ticks: CounterSample::now().ticks }
    }

    /// The idle share of all processors since the last answer, once so much time has passed.
    pub fn share_after(&mut self, least: Duration) -> Option<f64> {
        if self.since.elapsed() < least {
            return None;
        }
        let before = std::mem::replace(self, Idle::begin()).ticks?;
        let now = self.ticks?;
        let all = now[0].saturating_sub(before[0]).max(1) as f64;
        let used = (now[1] + now[2]).saturating_sub(before[1] + before[2]) as f64;
        Some((1.0 - used / all).clamp(0.0, 1.0))
    }
}

/// The share of a quiet moment in which the busiest disk was busy.
fn quiet() -> f64 {
    let from = CounterSample::now();
    std::thread::sleep(QUIET);
    let to = CounterSample::now();
    let passed_ms = to.at.duration_since(from.at).as_millis().max(1) as f64;
    let busy = from.disks_ms.iter().zip(&to.disks_ms).map(|(from, to)| to.saturating_sub(*from)).max();
    busy.unwrap_or(0) as f64 / passed_ms
}

/// The counters at one moment.
#[derive(Debug, Clone)]
struct CounterSample {
    at: Instant,
    /// Time in which somebody waited, since the machine was started, µs.
    processor_us: Option<u64>,
    disk_us: Option<u64>,
    /// Ticks of all processors: all, stolen, busy.
    ticks: Option<[u64; 3]>,
    /// Ticks that we and our children that have ended used.
    own_ticks: Option<u64>,
    /// Time in which each disk was busy, ms.
    disks_ms: Vec<u64>,
}

impl CounterSample {
    fn now() -> CounterSample {
        let text = |path: &str| read_to_string(path).unwrap_or_default();
        CounterSample {
            at: Instant::now(),
            processor_us: pressure(&text("/proc/pressure/cpu")),
            disk_us: pressure(&text("/proc/pressure/io")),
            ticks: ticks(&text("/proc/stat")),
            own_ticks: own_ticks(&text("/proc/self/stat")),
            disks_ms: disks_ms(&text("/proc/diskstats")),
        }
    }

    fn share(&self, to: &CounterSample, from_us: Option<u64>, to_us: Option<u64>) -> f64 {
        let passed_us = to.at.duration_since(self.at).as_micros().max(1) as f64;
        match (from_us, to_us) {
            (Some(from), Some(to)) => to.saturating_sub(from) as f64 / passed_us,
            _ => 0.0,
        }
    }

    fn stolen(&self, to: &CounterSample) -> f64 {
        let (Some(from), Some(to)) = (self.ticks, to.ticks) else { return 0.0 };
        to[1].saturating_sub(from[1]) as f64 / to[0].saturating_sub(from[0]).max(1) as f64
    }

    /// What others used of all processors.
    fn foreign(&self, to: &CounterSample) -> f64 {
        let (Some(from), Some(until)) = (self.ticks, to.ticks) else { return 0.0 };
        let (Some(own_from), Some(own_to)) = (self.own_ticks, to.own_ticks) else { return 0.0 };
        let busy = until[2].saturating_sub(from[2]).saturating_sub(own_to.saturating_sub(own_from));
        busy as f64 / until[0].saturating_sub(from[0]).max(1) as f64
    }
}

/// The `total=` of the line `some`, µs.
fn pressure(text: &str) -> Option<u64> {
    let line = text.lines().find(|line| line.starts_with("some "))?;
    line.split(' ').find_map(|word| word.strip_prefix("total=")?.parse().ok())
}

/// Of the line `cpu` (user, nice, system, idle, iowait, irq, softirq, steal): all ticks, the stolen ones, and those with
/// work.
fn ticks(text: &str) -> Option<[u64; 3]> {
    let line = text.lines().find(|line| line.starts_with("cpu "))?;
    let ticks: Vec<u64> =
        line.split_whitespace().skip(1).take(8).filter_map(|word| word.parse().ok()).collect();
    let [user, nice, system, idle, waiting, interrupts, soft, stolen] = ticks.try_into().ok()?;
    let busy = user + nice + system + interrupts + soft;
    Some([busy + idle + waiting + stolen, stolen, busy])
}

/// utime, stime, cutime and cstime of proc(5), behind the name in parentheses, which may hold anything.
fn own_ticks(text: &str) -> Option<u64> {
    let fields = text.rsplit_once(") ")?.1.split(' ').skip(11).take(4);
    fields.map(|field| field.parse::<u64>().ok()).sum()
}

/// The tenth counter of each disk: milliseconds spent doing I/O. Loop devices are tests' own.
fn disks_ms(text: &str) -> Vec<u64> {
    let disk = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let is_disk =
            !["loop", "ram", "zram"].iter().any(|own| words.get(2).is_some_and(|name| name.starts_with(own)));
        if is_disk { words.get(12)?.parse().ok() } else { None }
    };
    text.lines().filter_map(disk).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_files_are_read() {
        let text = "some avg10=0.72 avg60=9.56 avg300=13.16 total=68360943\nfull avg10=0.00 total=3\n";
        assert_eq!(pressure(text), Some(68_360_943));
        assert_eq!(ticks("cpu  10 1 2 3 4 5 6 7 0 0\ncpu0 1 1 1 1 1 1 1 1\n"), Some([38, 7, 24]));
        assert_eq!((pressure(""), ticks("")), (None, None));
        let own = "77 (a (b) c) S 1 77 77 0 -1 4194560 900 80 0 0 11 22 33 44 20 0 1 0 500";
        assert_eq!(own_ticks(own), Some(110));
        let disks = "254 0 vda 1 2 3 4 5 6 7 8 9 1234 11\n 7 0 loop0 1 2 3 4 5 6 7 8 9 99 11\n";
        assert_eq!(disks_ms(disks), [1234]);
    }

    fn moment(busy: u64, own: u64, stolen: u64) -> CounterSample {
        let ticks = Some([1000 + busy, stolen, busy]);
        let (at, disks_ms) = (Instant::now(), Vec::new());
        CounterSample { at, processor_us: None, disk_us: None, ticks, own_ticks: Some(own), disks_ms }
    }

    #[test]
    fn what_is_ours_is_not_foreign() {
        let from = CounterSample { ticks: Some([0, 0, 0]), ..moment(0, 0, 0) };
        let to = CounterSample { ticks: Some([200, 10, 120]), ..moment(0, 100, 0) };
        assert_eq!((from.foreign(&to), from.stolen(&to)), (0.1, 0.05));
        let blind = CounterSample { own_ticks: None, ..to };
        assert_eq!(from.foreign(&blind), 0.0);
    }

    #[test]
    fn only_what_exceeds_a_limit_disturbs() {
        assert!(!PressureShares::default().is_disturbed() && !PressureShares::staged(0.03).is_disturbed());
        assert!(PressureShares::staged(0.5).is_disturbed());
        assert_eq!(PressureShares::staged(0.5).to_string(), "stolen 50 % (limit 3 %)");
        assert_eq!(PressureShares::staged(0.0).to_string(), "nothing exceeded its limit");
    }
}
