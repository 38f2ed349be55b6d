//! What the witnesses see second by second, for charts and for who only watches.
//!
//! A reading is a handful of small files; it is taken by the conductor, which sleeps otherwise. Of a long phase
//! neighbours are joined, so that what is kept is bounded.

use std::collections::BTreeMap;

use iodyno_model::{DeviceActivity, Sample, Watching, merge};

use super::{cpu, diskstats, interfaces, memory, pressure};
use crate::clock::{self, Tick};
use crate::connections::Connections;

/// Length of a sample of a phase that does not only watch, ns.
const EVERY_NS: u64 = 1_000_000_000;
/// Samples that are kept, at most.
const MOST: usize = 2048;
/// What is left at the end is a sample if it is that long, ns.
const REST_NS: u64 = 100_000_000;

/// Which devices are looked at.
#[derive(Clone, Debug)]
pub enum Scope {
    /// These, each with those it is made of.
    These(Vec<(String, Vec<String>)>),
    /// All of the machine or those named, with their partitions or without.
    Watched(Watching),
}

/// Everything that was read at one moment.
struct CounterSnapshot {
    at: Tick,
    devices: Vec<(String, diskstats::Counters)>,
    interfaces: Option<interfaces::InterfaceCounters>,
    cpu: Option<cpu::Times>,
    pressure: Option<pressure::Totals>,
}

/// Takes samples.
pub struct Sampler {
    scope: Scope,
    every_ns: u64,
    start: Tick,
    next: Tick,
    before: CounterSnapshot,
    taken: u64,
    kept: SampleSeries,
    parents: BTreeMap<String, Option<String>>,
    connections: Connections,
}

impl Sampler {
    /// Begins at a start line that has just been passed.
    pub fn begin(scope: Scope, start: Tick) -> Sampler {
        let every_ns = match &scope {
            Scope::Watched(watching) => watching.length_ns(),
            Scope::These(_) => EVERY_NS,
        };
        let mut parents = BTreeMap::new();
        let before = read(&scope, &mut parents);
        let kept = SampleSeries::default();
        let connections = Connections::default();
        Sampler {
            scope,
            every_ns,
            start,
            next: start + every_ns,
            before,
            taken: 0,
            kept,
            parents,
            connections,
        }
    }

    /// The same that also looks at connections.
    pub fn with(self, connections: Connections) -> Sampler {
        Sampler { connections, ..self }
    }

    /// Whether it has taken as many as were asked for; none: no number was.
    pub fn is_done(&self) -> Option<bool> {
        match &self.scope {
            Scope::Watched(watching) if watching.count > 0 => Some(self.taken >= watching.count),
            _ => None,
        }
    }

    /// When the next sample is due.
    pub fn next(&self) -> Tick {
        self.next
    }

    /// A sample of everything since the machine was started, where that was asked for.
    pub fn since_boot(&mut self) -> Option<Sample> {
        if !matches!(&self.scope, Scope::Watched(watching) if watching.since_boot) {
            return None;
        }
        let zero = |(name, _): &(String, diskstats::Counters)| (name.clone(), diskstats::Counters::zero());
        let nothing = CounterSnapshot {
            at: 0,
            devices: self.before.devices.iter().map(zero).collect(),
            interfaces: None,
            cpu: Some(cpu::Times::zero()),
            pressure: None,
        };
        let now = self.before.at;
        let sample = Sample { interval_ns: 0, ..self.sample(&self.before, &nothing, uptime_ns(), now) };
        self.taken += 1;
        self.kept.boot = Some(sample.clone());
        Some(sample)
    }

    /// The sample that has become due, if one has.
    pub fn take(&mut self, now: Tick) -> Option<Sample> {
        if now < self.next {
            return None;
        }
        self.next += self.every_ns * (1 + (now - self.next) / self.every_ns);
        Some(self.turn())
    }

    /// Ends: the rest since the last sample, if it is worth one.
    pub fn rest(&mut self) -> Option<Sample> {
        let passed = clock::now().saturating_sub(self.before.at);
        let watches = matches!(self.scope, Scope::Watched(_));
        (!watches && passed >= REST_NS).then(|| self.turn())
    }

    /// All that were taken.
    pub fn finish(self) -> Vec<Sample> {
        self.kept.finish()
    }

    fn turn(&mut self) -> Sample {
        self.taken += 1;
        let now = read(&self.scope, &mut self.parents);
        let interval_ns = now.at.saturating_sub(self.before.at);
        let sample = self.sample(&now, &self.before, interval_ns, now.at);
        self.before = now;
        self.kept.keep(sample.clone());
        sample
    }

    fn sample(&self, now: &CounterSnapshot, before: &CounterSnapshot, interval_ns: u64, at: Tick) -> Sample {
        Sample {
            at_ns: at.saturating_sub(self.start),
            interval_ns,
            at_unix_ns: clock::unix_ns(),
            devices: devices(&self.scope, now, before, interval_ns),
            interfaces: match (&now.interfaces, &before.interfaces) {
                (Some(now), Some(before)) => now.since(before, interval_ns),
                _ => Vec::new(),
            },
            cpu: now.cpu.as_ref().zip(before.cpu.as_ref()).map(|(now, before)| now.shares(before)),
            memory: memory::read().map(|levels| levels.sampled()),
            pressure: now.pressure.zip(before.pressure).map(|(now, before)| now.since(&before, interval_ns)),
            connections: self.connections.seen_few(),
        }
    }
}

/// The counters of the devices that are to be watched.
pub fn counters(watching: &Watching) -> Vec<(String, diskstats::Counters)> {
    devices_now(&Scope::Watched(watching.clone()), &mut BTreeMap::new())
}

fn read(scope: &Scope, parents: &mut BTreeMap<String, Option<String>>) -> CounterSnapshot {
    CounterSnapshot {
        devices: devices_now(scope, parents),
        at: clock::now(),
        interfaces: interfaces::read(),
        cpu: cpu::read(),
        pressure: pressure::read(),
    }
}

fn devices_now(
    scope: &Scope,
    parents: &mut BTreeMap<String, Option<String>>,
) -> Vec<(String, diskstats::Counters)> {
    let one = |name: &String| diskstats::read(name).map(|counters| (name.clone(), counters));
    match scope {
        Scope::These(disks) => disks
            .iter()
            .flat_map(|(disk, beneath)| std::iter::once(disk).chain(beneath))
            .filter_map(one)
            .collect(),
        Scope::Watched(watching) if !watching.devices.is_empty() && !watching.partitions => {
            watching.devices.iter().filter_map(one).collect()
        }
        Scope::Watched(watching) => {
            let mut all = diskstats::read_all();
            all.retain(|(name, _)| is_wanted(watching, name, parents));
            all
        }
    }
}

/// Whether a device is among those that are watched.
fn is_wanted(watching: &Watching, name: &str, parents: &mut BTreeMap<String, Option<String>>) -> bool {
    let parent = match parents.get(name) {
        Some(parent) => parent,
        None => parents.entry(name.to_string()).or_insert(diskstats::partition_of(name)),
    };
    let named =
        |name: &str| watching.devices.is_empty() || watching.devices.iter().any(|known| known == name);
    match parent {
        None => named(name),
        Some(disk) => {
            (watching.partitions && named(disk)) || watching.devices.iter().any(|known| known == name)
        }
    }
}

fn devices(
    scope: &Scope,
    now: &CounterSnapshot,
    before: &CounterSnapshot,
    interval_ns: u64,
) -> Vec<DeviceActivity> {
    let activity = |name: &str| {
        let of = |reading: &CounterSnapshot| {
            reading.devices.iter().find(|(known, _)| known == name).map(|(_, counters)| counters.clone())
        };
        // A device that has come since then has done everything since.
        let then = of(before).unwrap_or(diskstats::Counters::zero());
        Some(of(now)?.since(&then, name, interval_ns))
    };
    match scope {
        Scope::Watched(_) => now.devices.iter().filter_map(|(name, _)| activity(name)).collect(),
        Scope::These(disks) => disks
            .iter()
            .filter_map(|(disk, beneath)| diskstats::with_beneath(disk, beneath.iter(), activity))
            .collect(),
    }
}

/// How long the machine has been running, ns.
fn uptime_ns() -> u64 {
    let text = std::fs::read_to_string("/proc/uptime").unwrap_or_default();
    let seconds: Option<f64> = text.split_whitespace().next().and_then(|word| word.parse().ok());
    seconds.map_or_else(clock::monotonic, |seconds| (seconds * 1e9) as u64)
}

/// Samples, of which neighbours are joined when they become too many.
#[derive(Default)]
struct SampleSeries {
    boot: Option<Sample>,
    whole: Vec<Sample>,
    /// A sample that is not whole yet, and the intervals in it.
    part: Option<Sample>,
    intervals: u32,
    /// Intervals that make a whole sample, as a power of two.
    doubled: u32,
}

impl SampleSeries {
    fn keep(&mut self, sample: Sample) {
        match &mut self.part {
            Some(part) => part.join(&sample),
            None => self.part = Some(sample),
        }
        self.intervals += 1;
        if self.intervals >> self.doubled == 0 {
            return;
        }
        self.intervals = 0;
        self.whole.extend(self.part.take());
        if self.whole.len() >= MOST {
            merge::coarsen(&mut self.whole);
            self.doubled += 1;
        }
    }

    fn finish(self) -> Vec<Sample> {
        self.boot.into_iter().chain(self.whole).chain(self.part).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_is_bounded_and_whole() {
        let mut kept = SampleSeries::default();
        for second in 1..=10_000 {
            let device = DeviceActivity { device: "sda".into(), reads: 1, ..DeviceActivity::default() };
            kept.keep(Sample { at_ns: second, interval_ns: 1, devices: vec![device], ..Sample::default() });
        }
        let samples = kept.finish();
        assert!(samples.len() <= MOST, "{}", samples.len());
        assert_eq!(samples.iter().map(|sample| sample.interval_ns).sum::<u64>(), 10_000);
        assert_eq!(samples.iter().map(|sample| sample.devices[0].reads).sum::<u64>(), 10_000);
        assert_eq!(samples.last().unwrap().at_ns, 10_000);
        assert!(samples.windows(2).all(|pair| pair[0].at_ns < pair[1].at_ns));
    }

    #[test]
    fn named_devices_and_partitions() {
        let mut parents = BTreeMap::from([
            ("sda".to_string(), None),
            ("sda1".to_string(), Some("sda".to_string())),
            ("sdb".to_string(), None),
        ]);
        let mut wanted = |devices: &[&str], partitions| {
            let devices = devices.iter().map(ToString::to_string).collect();
            let watching = Watching { devices, partitions, ..Watching::default() };
            ["sda", "sda1", "sdb"].map(|name| is_wanted(&watching, name, &mut parents))
        };
        assert_eq!(wanted(&[], false), [true, false, true]);
        assert_eq!(wanted(&[], true), [true, true, true]);
        assert_eq!(wanted(&["sda"], true), [true, true, false]);
        assert_eq!(wanted(&["sda1"], false), [false, true, false]);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn samples_come_when_they_are_due() {
        let start = clock::now();
        let watching = Watching { every_ns: 20_000_000, since_boot: true, ..Watching::default() };
        let mut sampler = Sampler::begin(Scope::Watched(watching), start);
        let boot = sampler.since_boot().unwrap();
        assert!(boot.interval_ns == 0 && boot.cpu.is_some(), "{boot:?}");
        assert!(boot.devices.iter().all(|device| device.interval_ns > 1_000_000_000));
        assert_eq!(sampler.take(start), None);
        let sample = sampler.take(start + 65_000_000).unwrap();
        assert!(sample.cpu.is_some() && sample.memory.is_some() && sample.at_unix_ns > 0);
        assert_eq!(sampler.next(), start + 80_000_000, "what was missed is not made up for");
        assert_eq!(sampler.finish().len(), 2);
    }
}
