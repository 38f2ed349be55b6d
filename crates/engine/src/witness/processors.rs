//! Who else wanted the processors, and how fast they ran. Sources: `/proc/stat`, `/proc/loadavg` (tasks that want to
//! run), cpufreq, `thermal_throttle`, `/sys/devices/system/node`.
//!
//! What wants to run is looked at whenever the conductor is awake anyway; everything else once before and once after.

use std::fs;

use iodyno_model::{ProcessorActivity, Sighting};

use super::cpu;
use crate::clock::{self, Tick};
use crate::placement;

const CPUS: &str = "/sys/devices/system/cpu";
/// Processors whose frequency is looked at, at most: each may have to be asked by an interrupt.
const ASKED_MOST: usize = 32;

/// What was read before a phase, and the samples since.
pub struct Processors {
    before: cpu::Times,
    own_ns: [u64; 2],
    allowed: Vec<u32>,
    mhz: Option<f64>,
    throttled: Option<u64>,
    runnable: (u64, u64),
    since: Tick,
}

impl Processors {
    /// Begins to watch; `None` where the machine's times cannot be read.
    pub fn open() -> Option<Processors> {
        let before = cpu::read()?;
        let allowed = placement::allowed();
        let (mhz, throttled) = (mhz(&allowed, "scaling_cur_freq"), throttled());
        let (own_ns, since) = (cpu::own_ns(), clock::monotonic());
        Some(Processors { before, own_ns, allowed, mhz, throttled, runnable: (0, 0), since })
    }

    /// Looks who wants to run.
    pub fn look(&mut self) {
        let text = fs::read_to_string("/proc/loadavg").ok();
        if let Some(running) = text.as_deref().and_then(runnable) {
            self.runnable = (self.runnable.0 + running, self.runnable.1 + 1);
        }
    }

    /// What was seen: the machine's shares, and who had its processors. `workers_ns`: time of workers that
    /// are processes of their own, ns: they count as ours only when somebody has heard of their end.
    pub fn close(&self, workers_ns: u64) -> Vec<Sighting> {
        let Some(after) = cpu::read() else { return Vec::new() };
        let is_allowed = |number| self.allowed.is_empty() || self.allowed.contains(&number);
        let [busy_ns, steal_ns, idle_ns] = after.spent(&self.before, is_allowed);
        let most = mhz(&self.allowed, "cpuinfo_max_freq");
        let mhz = match (self.mhz, mhz(&self.allowed, "scaling_cur_freq"), most) {
            (Some(before), Some(now), Some(most)) => Some([before, now, most]),
            _ => None,
        };
        let (sum, count) = self.runnable;
        let throttled = self.throttled.zip(throttled()).map(|(before, now)| now.saturating_sub(before));
        let activity = ProcessorActivity {
            cpus: std::thread::available_parallelism().map_or(1, |cpus| cpus.get() as u32),
            own_ns: cpu::own_since(self.own_ns, workers_ns),
            busy_ns,
            steal_ns,
            idle_ns,
            runnable: (count > 0).then(|| sum as f64 / count as f64),
            mhz,
            governor: governor(),
            throttled,
            numa_nodes: numa_nodes(),
            each: after.each(&self.before, is_allowed),
            interval_ns: clock::monotonic().saturating_sub(self.since),
        };
        vec![after.since(&self.before), Sighting::Processors(activity)]
    }
}

/// The fourth field of `/proc/loadavg`: tasks that want to run, of all; without the one who asks.
fn runnable(text: &str) -> Option<u64> {
    let (running, _) = text.split_whitespace().nth(3)?.split_once('/')?;
    running.parse::<u64>().ok().map(|running| running.saturating_sub(1))
}

/// The mean of a frequency of some of the processors, MHz.
fn mhz(allowed: &[u32], file: &str) -> Option<f64> {
    let step = allowed.len().div_ceil(ASKED_MOST).max(1);
    let of = |number: &u32| {
        let text = fs::read_to_string(format!("{CPUS}/cpu{number}/cpufreq/{file}")).ok()?;
        text.trim().parse::<f64>().ok().map(|khz| khz / 1000.0)
    };
    let all: Vec<f64> = allowed.iter().step_by(step).filter_map(of).collect();
    (!all.is_empty()).then(|| all.iter().sum::<f64>() / all.len() as f64)
}

/// What decides on the frequency of the first processor.
pub fn governor() -> Option<String> {
    let text = fs::read_to_string(format!("{CPUS}/cpu0/cpufreq/scaling_governor")).ok()?;
    Some(text.trim().to_string())
}

/// How often heat slowed a processor down since boot, all of them together.
fn throttled() -> Option<u64> {
    fs::metadata(format!("{CPUS}/cpu0/thermal_throttle")).ok()?;
    let count = |number: u32| {
        let file = format!("{CPUS}/cpu{number}/thermal_throttle/core_throttle_count");
        fs::read_to_string(file).ok()?.trim().parse::<u64>().ok()
    };
    Some((0..).map_while(count).sum())
}

/// NUMA nodes of the machine.
pub fn numa_nodes() -> u32 {
    let nodes = fs::read_dir("/sys/devices/system/node");
    let is_node = |name: &str| name.strip_prefix("node").is_some_and(|number| number.parse::<u32>().is_ok());
    let count = nodes.map_or(0, |nodes| {
        nodes.flatten().filter(|entry| is_node(&entry.file_name().to_string_lossy())).count()
    });
    count.max(1) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_asks_does_not_count() {
        assert_eq!(runnable("0.20 0.18 0.12 3/123 11206\n"), Some(2));
        assert_eq!(runnable("0.20 0.18 0.12 0/1 1\n"), Some(0));
        assert_eq!(runnable("nonsense"), None);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn the_machine_was_busy_at_least_as_long_as_we() {
        let mut processors = Processors::open().unwrap();
        let until = clock::monotonic() + 100_000_000;
        while clock::monotonic() < until {
            std::hint::spin_loop();
        }
        processors.look();
        let seen = processors.close(0);
        let Sighting::Processors(seen) = &seen[1] else { panic!("{seen:?}") };
        assert!(seen.own_ns > 0 && seen.interval_ns >= 100_000_000, "{seen:?}");
        // Ticks are coarse, and each processor's are rounded on its own.
        let slack = 20_000_000 * u64::from(seen.cpus);
        assert!(seen.busy_ns + seen.steal_ns + seen.idle_ns + slack > seen.interval_ns, "{seen:?}");
        assert!(seen.runnable.is_some() && seen.numa_nodes >= 1);
    }
}
