//! What the witnesses of several machines saw, as if they had watched one large machine.
//!
//! Bytes and counts are sums, shares are means weighted by what they are shares of, so that a judgement of the whole is
//! right where each machine's would be. What is seen twice of one machine (its nodes may be containers) counts once.

use crate::reflect::Reflect;

use super::fields;
use super::samples::together;
use crate::sighting::{ClockFacts, DeviceActivity, Layout, NameCache, ProcessorActivity, Sample, Sighting};

/// What the witnesses of one node saw.
#[derive(Clone, Debug, Default, PartialEq, Reflect)]
pub struct Seen {
    /// What tells its kernel from others: nodes of one kernel have the same devices, processors and memory.
    pub kernel: String,
    /// What was seen.
    pub sightings: Vec<Sighting>,
    /// The same over time.
    #[reflect(default)]
    pub samples: Vec<Sample>,
}

/// The sightings of all nodes as one machine's. A device of a later node counts for the device on which an earlier
/// node had the same target, whatever its name there; without such a target, for the one of its name. Samples are those
/// of each machine's first node.
pub fn combine(nodes: Vec<Seen>) -> (Vec<Sighting>, Vec<Sample>) {
    let mut all: Vec<Sighting> = Vec::new();
    let mut kernels: Vec<String> = Vec::new();
    let mut rows: Vec<Vec<Sample>> = Vec::new();
    for Seen { kernel, sightings, samples } in nodes {
        let is_known = kernels.contains(&kernel);
        if !is_known {
            rows.push(samples);
        }
        let targets = disks(&sightings);
        for sighting in sightings {
            add(&mut all, sighting, is_known, &targets);
        }
        kernels.push(kernel);
    }
    (all, together(rows))
}

/// Each target's name, and the devices it lies on.
fn disks(sightings: &[Sighting]) -> Vec<(String, [Option<String>; 2])> {
    let of = |sighting: &Sighting| match sighting {
        Sighting::Target(facts) => Some((facts.target.clone(), [facts.device.clone(), facts.disk.clone()])),
        _ => None,
    };
    sightings.iter().filter_map(of).collect()
}

fn add(all: &mut Vec<Sighting>, new: Sighting, is_known: bool, targets: &[(String, [Option<String>; 2])]) {
    let new = match new {
        Sighting::Device(activity) => return add_device(all, activity, is_known, targets),
        new => new,
    };
    let Some(at) = all.iter().position(|one| is_same(one, &new)) else { return all.push(new) };
    match (&mut all[at], new) {
        // Ranks of one machine have files, workers and memory of their own, and took different parts of its time.
        (
            mine @ (Sighting::Residency { .. }
            | Sighting::Dirty { .. }
            | Sighting::Undropped { .. }
            | Sighting::Tree(_)
            | Sighting::Own { .. }),
            new,
        ) => fields::add(mine, &new),
        (Sighting::Locks { waiting, looks }, Sighting::Locks { waiting: more, looks: new }) => {
            (*waiting, *looks) = (*waiting + more, (*looks).min(new));
        }
        (Sighting::Layout(mine), Sighting::Layout(new)) => mine.merge(&new),
        (Sighting::Processors(mine), Sighting::Processors(new)) if is_known => mine.own_ns += new.own_ns,
        // One kernel counts for all its nodes.
        (Sighting::Mount(mine), Sighting::Mount(new)) if is_known => {
            mine.read_bytes = mine.read_bytes.max(new.read_bytes);
            mine.write_bytes = mine.write_bytes.max(new.write_bytes);
        }
        _ if is_known => {}
        (mine @ (Sighting::Mount(_) | Sighting::Memory { .. }), new) => fields::add(mine, &new),
        (mine @ Sighting::Cpu { .. }, new) => {
            let cpus =
                |of: &Sighting| if let Sighting::Cpu { cpus, .. } = of { f64::from(*cpus) } else { 0.0 };
            let (of_mine, of_new) = (cpus(mine), cpus(&new));
            fields::mean(mine, &new, of_mine, of_new);
        }
        (Sighting::Interface(mine), Sighting::Interface(new)) => mine.merge(new),
        (Sighting::Processors(mine), Sighting::Processors(new)) => mine.merge(&new),
        (Sighting::Pressure(mine), Sighting::Pressure(new)) => mine.merge(&new),
        (Sighting::Names(mine), Sighting::Names(new)) => mine.merge(&new),
        (Sighting::Clock(mine), Sighting::Clock(new)) => mine.merge(&new),
        // Containers have control groups of their own.
        (Sighting::Control(_), new) => all.push(new),
        _ => {}
    }
}

/// Whether two sightings are of one thing.
fn is_same(one: &Sighting, new: &Sighting) -> bool {
    match (one, new) {
        (Sighting::Residency { target: a, .. }, Sighting::Residency { target: b, .. })
        | (Sighting::Dirty { target: a, .. }, Sighting::Dirty { target: b, .. })
        | (Sighting::Undropped { of: a, .. }, Sighting::Undropped { of: b, .. }) => a == b,
        (Sighting::Mount(a), Sighting::Mount(b)) => a.mount_point == b.mount_point,
        (Sighting::Interface(a), Sighting::Interface(b)) => a.name == b.name,
        (Sighting::Layout(a), Sighting::Layout(b)) => a.target == b.target,
        // Drives of two machines are two, whatever they are called.
        (Sighting::Health(_), Sighting::Health(_)) => one == new,
        (Sighting::Tree(a), Sighting::Tree(b)) => a.target == b.target,
        (Sighting::Target(a), Sighting::Target(b)) => a.target == b.target,
        (Sighting::Control(a), Sighting::Control(b)) => a.group == b.group,
        (Sighting::Connection(_) | Sighting::CannotTell { .. }, _) => one == new,
        _ => std::mem::discriminant(one) == std::mem::discriminant(new),
    }
}

/// Of two numbers that may be missing the sum, or the one that is there.
fn sum<N: Copy + std::ops::Add<Output = N>>(a: Option<N>, b: Option<N>) -> Option<N> {
    a.zip(b).map_or(a.or(b), |(a, b)| Some(a + b))
}

impl ProcessorActivity {
    /// Adds another machine's processors. Times are sums, speeds the mean of all processors.
    pub fn merge(&mut self, other: &ProcessorActivity) {
        let (mine, theirs) = (f64::from(self.cpus), f64::from(other.cpus));
        self.mhz = match (self.mhz, other.mhz) {
            (Some(a), Some(b)) => {
                Some([0, 1, 2].map(|at| (a[at] * mine + b[at] * theirs) / (mine + theirs).max(1.0)))
            }
            (a, b) => a.or(b),
        };
        self.runnable = sum(self.runnable, other.runnable);
        self.throttled = sum(self.throttled, other.throttled);
        self.governor = self.governor.take().or_else(|| other.governor.clone());
        let interval_ns = self.interval_ns.max(other.interval_ns);
        // Processors of two machines have the same numbers.
        self.each.clear();
        fields::add(self, &ProcessorActivity { each: Vec::new(), ..other.clone() });
        self.interval_ns = interval_ns;
    }
}

impl NameCache {
    /// Adds another machine's.
    pub fn merge(&mut self, other: &NameCache) {
        fields::add(self, other);
        self.dropped &= other.dropped;
    }
}

impl ClockFacts {
    /// The worse of both, figure by figure.
    pub fn merge(&mut self, other: &ClockFacts) {
        self.cost_ns = self.cost_ns.max(other.cost_ns);
        self.resolution_ns = self.resolution_ns.max(other.resolution_ns);
        if other.stepped_ns.unsigned_abs() > self.stepped_ns.unsigned_abs() {
            self.stepped_ns = other.stepped_ns;
        }
        if other.drift_ppm.abs() > self.drift_ppm.abs() {
            self.drift_ppm = other.drift_ppm;
        }
    }
}

impl Layout {
    /// Adds other files of the target.
    pub fn merge(&mut self, other: &Layout) {
        fields::add(self, other);
        self.reach_bytes = self.reach_bytes.max(other.reach_bytes);
    }
}

fn add_device(
    all: &mut Vec<Sighting>,
    activity: DeviceActivity,
    is_known: bool,
    targets: &[(String, [Option<String>; 2])],
) {
    let name = counterpart(all, &activity.device, targets).unwrap_or_else(|| activity.device.clone());
    let same_name = activity.device == name;
    let known = all.iter_mut().find_map(|sighting| match sighting {
        Sighting::Device(known) if known.device == name => Some(known),
        _ => None,
    });
    match known {
        // One kernel counts for all its nodes.
        Some(known) if is_known && same_name => {
            if activity.read_bytes + activity.write_bytes > known.read_bytes + known.write_bytes {
                *known = activity;
            }
        }
        Some(known) => known.merge(activity),
        None => all.push(Sighting::Device(activity)),
    }
}

/// The device on which what is known has a target that lies on `device` at this node.
fn counterpart(all: &[Sighting], device: &str, targets: &[(String, [Option<String>; 2])]) -> Option<String> {
    let on_it = |disks: &[Option<String>; 2]| disks.iter().flatten().any(|disk| disk == device);
    let names: Vec<&String> =
        targets.iter().filter(|(_, disks)| on_it(disks)).map(|(name, _)| name).collect();
    let watched = |name: &String| {
        all.iter().any(|one| matches!(one, Sighting::Device(activity) if activity.device == *name))
    };
    all.iter().find_map(|sighting| match sighting {
        Sighting::Target(facts) if names.contains(&&facts.target) => {
            [&facts.device, &facts.disk].into_iter().flatten().find(|name| watched(name)).cloned()
        }
        _ => None,
    })
}

impl DeviceActivity {
    /// Adds what the device under another name did on another machine. Times are summed with the intervals they are
    /// parts of, so that the share of busy time is the mean of the machines'.
    pub fn merge(&mut self, other: DeviceActivity) {
        fields::add(self, &other);
        for theirs in other.beneath {
            match self.beneath.iter_mut().find(|mine| mine.device == theirs.device) {
                Some(mine) => mine.merge(theirs),
                None => self.beneath.push(theirs),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sighting::{ControlActivity, Pressure};
    use crate::target::TargetFacts;

    fn target(name: &str, disk: &str) -> Sighting {
        let facts = TargetFacts { target: name.into(), disk: Some(disk.into()), ..TargetFacts::default() };
        Sighting::Target(Box::new(facts))
    }

    fn device(name: &str, read_bytes: u64, busy_ns: u64) -> Sighting {
        let interval_ns = 100;
        let activity =
            DeviceActivity { device: name.into(), read_bytes, busy_ns, interval_ns, ..Default::default() };
        Sighting::Device(activity)
    }

    fn cpu(user_percent: f64, cpus: u32) -> Sighting {
        Sighting::Cpu { user_percent, system_percent: 0.0, iowait_percent: 0.0, steal_percent: 0.0, cpus }
    }

    fn node(kernel: &str, sightings: Vec<Sighting>) -> Seen {
        Seen { kernel: kernel.into(), sightings, ..Seen::default() }
    }

    #[test]
    fn the_same_target_on_another_disk_counts_for_the_first() {
        let one = node("a", vec![device("sda", 10, 50), cpu(20.0, 2), target("t", "sda")]);
        let two = node("b", vec![device("nvme0n1", 30, 100), cpu(80.0, 6), target("t", "nvme0n1")]);
        let (all, _) = combine(vec![one, two]);
        let Sighting::Device(activity) = &all[0] else { panic!("{all:?}") };
        assert_eq!((activity.device.as_str(), activity.read_bytes), ("sda", 40));
        assert_eq!((activity.busy_ns, activity.interval_ns), (150, 200), "75 % busy");
        assert_eq!(all[1], cpu(65.0, 8));
        assert_eq!(all.len(), 3);
    }

    #[test]
    fn nodes_of_one_kernel_count_its_devices_once() {
        let seen = |bytes| node("a", vec![device("sda", bytes, 50), cpu(20.0, 2)]);
        assert_eq!(combine(vec![seen(10), seen(11)]).0, [device("sda", 11, 50), cpu(20.0, 2)]);
    }

    #[test]
    fn caches_and_memories_are_summed_and_reasons_said_once() {
        let seen = |kernel: &str, bytes: u64| {
            let sightings = vec![
                Sighting::Residency {
                    target: "t".into(),
                    span_bytes: 100,
                    before_bytes: 0,
                    after_bytes: bytes,
                },
                Sighting::Memory {
                    total_bytes: 7,
                    available_bytes: 5,
                    dirty_before_bytes: 1,
                    dirty_after_bytes: bytes,
                },
                Sighting::CannotTell { witness: "device".into(), reason: "none".into() },
                Sighting::Dirty { target: "t".into(), bytes },
            ];
            node(kernel, sightings)
        };
        let (all, _) = combine(vec![seen("a", 1), seen("b", 2)]);
        assert_eq!(all.len(), 4);
        assert_eq!(all[3], Sighting::Dirty { target: "t".into(), bytes: 3 });
        let cached =
            Sighting::Residency { target: "t".into(), span_bytes: 200, before_bytes: 0, after_bytes: 3 };
        assert_eq!(all[0], cached);
        let memory = Sighting::Memory {
            total_bytes: 14,
            available_bytes: 10,
            dirty_before_bytes: 2,
            dirty_after_bytes: 3,
        };
        assert_eq!(all[1], memory);
    }

    #[test]
    fn processors_are_summed_over_machines_and_own_time_over_ranks() {
        let seen = |kernel: &str, own_ns: u64, cpus: u32| {
            let activity =
                ProcessorActivity { own_ns, cpus, busy_ns: 100, interval_ns: 50, ..Default::default() };
            let pressure = Pressure { io_some_ns: own_ns, interval_ns: 50, ..Pressure::default() };
            node(kernel, vec![Sighting::Processors(activity), Sighting::Pressure(pressure)])
        };
        let (all, _) = combine(vec![seen("a", 1, 2), seen("a", 2, 0), seen("b", 4, 6)]);
        let [Sighting::Processors(all), Sighting::Pressure(waited)] = &all[..] else { panic!("{all:?}") };
        assert_eq!((all.own_ns, all.busy_ns, all.cpus, all.interval_ns), (7, 200, 8, 50));
        assert_eq!((waited.io_some_ns, waited.interval_ns), (5, 100));
    }

    #[test]
    fn containers_of_one_machine_keep_their_groups() {
        let seen = |kernel: &str, group: &str| {
            let activity = ControlActivity { group: group.into(), ..ControlActivity::default() };
            node(kernel, vec![Sighting::Control(activity)])
        };
        assert_eq!(
            combine(vec![seen("a", "/x"), seen("a", "/x"), seen("a", "/y"), seen("b", "/x")]).0.len(),
            3
        );
    }
}
