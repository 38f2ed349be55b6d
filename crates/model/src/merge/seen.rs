//! What the witnesses of several machines saw, as if they had watched one large machine.
//!
//! Bytes and counts are sums, shares are means weighted by what they are shares of, so that a judgement of the whole is
//! right where each machine's would be. What is seen twice of one machine (its nodes may be containers) counts once.

use crate::reflect::Reflect;

use super::samples::together;
use crate::sighting::{
    ClockFacts, ControlActivity, DeviceActivity, InterfaceActivity, Layout, MountActivity, NameCache,
    ProcessorActivity, Sample, Sighting,
};

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
    match new {
        Sighting::Device(activity) => add_device(all, activity, is_known, targets),
        Sighting::Residency { target: name, span_bytes: span, before_bytes: was, after_bytes: is } => {
            for sighting in all.iter_mut() {
                if let Sighting::Residency { target, span_bytes, before_bytes, after_bytes } = sighting
                    && *target == name
                {
                    (*span_bytes, *before_bytes, *after_bytes) =
                        (*span_bytes + span, *before_bytes + was, *after_bytes + is);
                    return;
                }
            }
            let (span_bytes, before_bytes, after_bytes) = (span, was, is);
            all.push(Sighting::Residency { target: name, span_bytes, before_bytes, after_bytes });
        }
        Sighting::Dirty { target: name, bytes: more } => {
            for sighting in all.iter_mut() {
                if let Sighting::Dirty { target, bytes } = sighting
                    && *target == name
                {
                    *bytes += more;
                    return;
                }
            }
            all.push(Sighting::Dirty { target: name, bytes: more });
        }
        Sighting::Undropped { of: job, left_bytes: left, reason } => {
            for sighting in all.iter_mut() {
                if let Sighting::Undropped { of, left_bytes, .. } = sighting
                    && *of == job
                {
                    *left_bytes += left;
                    return;
                }
            }
            all.push(Sighting::Undropped { of: job, left_bytes: left, reason });
        }
        Sighting::Mount(activity) => add_mount(all, activity, is_known),
        Sighting::Target(facts) => {
            let same =
                |one: &Sighting| matches!(one, Sighting::Target(known) if known.target == facts.target);
            if !all.iter().any(same) {
                all.push(Sighting::Target(facts));
            }
        }
        new @ (Sighting::Memory { .. } | Sighting::Cpu { .. }) => {
            let known =
                all.iter_mut().find(|one| std::mem::discriminant(*one) == std::mem::discriminant(&new));
            match known {
                Some(_) if is_known => {}
                Some(known) => add_machine(known, &new),
                None => all.push(new),
            }
        }
        new @ (Sighting::Processors(_) | Sighting::Pressure(_) | Sighting::Names(_) | Sighting::Clock(_)) => {
            add_one(all, new, is_known);
        }
        Sighting::Control(activity) => add_control(all, activity, is_known),
        Sighting::Interface(activity) => add_interface(all, activity, is_known),
        Sighting::Own { read_bytes, write_bytes } => add_own(all, read_bytes, write_bytes),
        Sighting::Locks { waiting, looks } => add_locks(all, waiting, looks),
        Sighting::Layout(layout) => add_layout(all, layout),
        new => {
            if !all.contains(&new) {
                all.push(new);
            }
        }
    }
}

fn add_interface(all: &mut Vec<Sighting>, activity: InterfaceActivity, is_known: bool) {
    let known = all.iter_mut().find_map(|sighting| match sighting {
        Sighting::Interface(known) if known.name == activity.name => Some(known),
        _ => None,
    });
    match known {
        Some(_) if is_known => {}
        Some(known) => known.merge(activity),
        None => all.push(Sighting::Interface(activity)),
    }
}

/// Each rank is a program of its own.
fn add_own(all: &mut Vec<Sighting>, read: u64, written: u64) {
    for sighting in all.iter_mut() {
        if let Sighting::Own { read_bytes, write_bytes } = sighting {
            (*read_bytes, *write_bytes) = (*read_bytes + read, *write_bytes + written);
            return;
        }
    }
    all.push(Sighting::Own { read_bytes: read, write_bytes: written });
}

/// Each rank looks at its own workers.
fn add_locks(all: &mut Vec<Sighting>, more: f64, new: u64) {
    for sighting in all.iter_mut() {
        if let Sighting::Locks { waiting, looks } = sighting {
            (*waiting, *looks) = (*waiting + more, (*looks).min(new));
            return;
        }
    }
    all.push(Sighting::Locks { waiting: more, looks: new });
}

fn add_layout(all: &mut Vec<Sighting>, layout: Layout) {
    let known = all.iter_mut().find_map(|sighting| match sighting {
        Sighting::Layout(known) if known.target == layout.target => Some(known),
        _ => None,
    });
    match known {
        Some(known) => known.merge(&layout),
        None => all.push(Sighting::Layout(layout)),
    }
}

/// Adds what there is one of on each machine.
fn add_one(all: &mut Vec<Sighting>, new: Sighting, is_known: bool) {
    let same = |one: &&mut Sighting| std::mem::discriminant(*one) == std::mem::discriminant(&new);
    match (all.iter_mut().find(same), new) {
        // Ranks of one machine took different parts of its time.
        (Some(Sighting::Processors(mine)), Sighting::Processors(new)) if is_known => {
            mine.own_ns += new.own_ns;
        }
        (Some(_), _) if is_known => {}
        (Some(Sighting::Processors(mine)), Sighting::Processors(new)) => mine.merge(&new),
        (Some(Sighting::Pressure(mine)), Sighting::Pressure(new)) => mine.merge(&new),
        (Some(Sighting::Names(mine)), Sighting::Names(new)) => mine.merge(&new),
        (Some(Sighting::Clock(mine)), Sighting::Clock(new)) => mine.merge(&new),
        (_, new) => all.push(new),
    }
}

/// Containers of one machine have control groups of their own; the same group is told of once.
fn add_control(all: &mut Vec<Sighting>, activity: ControlActivity, is_known: bool) {
    let same = |one: &Sighting| matches!(one, Sighting::Control(known) if known.group == activity.group);
    if !(is_known && all.iter().any(same)) {
        all.push(Sighting::Control(activity));
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
        self.cpus += other.cpus;
        self.own_ns += other.own_ns;
        self.busy_ns += other.busy_ns;
        self.steal_ns += other.steal_ns;
        self.idle_ns += other.idle_ns;
        self.numa_nodes += other.numa_nodes;
        self.interval_ns = self.interval_ns.max(other.interval_ns);
    }
}

impl NameCache {
    /// Adds another machine's.
    pub fn merge(&mut self, other: &NameCache) {
        let sum = |a: (u64, u64), b: (u64, u64)| (a.0 + b.0, a.1 + b.1);
        self.dentries = sum(self.dentries, other.dentries);
        self.inodes = sum(self.inodes, other.inodes);
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
        self.files += other.files;
        self.file_bytes += other.file_bytes;
        self.data_bytes += other.data_bytes;
        self.unwritten_bytes += other.unwritten_bytes;
        self.hole_bytes += other.hole_bytes;
        self.encoded_bytes += other.encoded_bytes;
        self.shared_bytes += other.shared_bytes;
        self.allocated_bytes += other.allocated_bytes;
        self.extents += other.extents;
        self.reach_bytes = self.reach_bytes.max(other.reach_bytes);
    }
}

/// Adds what another machine's client moved; one kernel counts for all its nodes.
fn add_mount(all: &mut Vec<Sighting>, activity: MountActivity, is_known: bool) {
    let known = all.iter_mut().find_map(|sighting| match sighting {
        Sighting::Mount(known) if known.mount_point == activity.mount_point => Some(known),
        _ => None,
    });
    match known {
        Some(known) if is_known => {
            known.read_bytes = known.read_bytes.max(activity.read_bytes);
            known.write_bytes = known.write_bytes.max(activity.write_bytes);
        }
        Some(known) => {
            known.read_bytes += activity.read_bytes;
            known.write_bytes += activity.write_bytes;
        }
        None => all.push(Sighting::Mount(activity)),
    }
}

/// Adds another machine's memory or processors.
fn add_machine(known: &mut Sighting, new: &Sighting) {
    match (known, new) {
        (
            Sighting::Memory { total_bytes, available_bytes, dirty_before_bytes, dirty_after_bytes },
            Sighting::Memory {
                total_bytes: total,
                available_bytes: available,
                dirty_before_bytes: before,
                dirty_after_bytes: after,
            },
        ) => {
            *total_bytes += total;
            *available_bytes += available;
            *dirty_before_bytes += before;
            *dirty_after_bytes += after;
        }
        (
            Sighting::Cpu { user_percent, system_percent, iowait_percent, steal_percent, cpus },
            Sighting::Cpu {
                user_percent: user,
                system_percent: system,
                iowait_percent: iowait,
                steal_percent: steal,
                cpus: more,
            },
        ) => {
            let (mine, theirs) = (f64::from(*cpus), f64::from(*more));
            let all = (mine + theirs).max(1.0);
            let mean = |one: &mut f64, other: f64| *one = (*one * mine + other * theirs) / all;
            mean(user_percent, *user);
            mean(system_percent, *system);
            mean(iowait_percent, *iowait);
            mean(steal_percent, *steal);
            *cpus += more;
        }
        _ => {}
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
        self.reads += other.reads;
        self.reads_merged += other.reads_merged;
        self.read_bytes += other.read_bytes;
        self.writes += other.writes;
        self.writes_merged += other.writes_merged;
        self.write_bytes += other.write_bytes;
        self.discards += other.discards;
        self.flushes += other.flushes;
        self.busy_ns += other.busy_ns;
        self.weighted_ns += other.weighted_ns;
        self.interval_ns += other.interval_ns;
        self.read_ns += other.read_ns;
        self.write_ns += other.write_ns;
        self.discards_merged += other.discards_merged;
        self.discard_bytes += other.discard_bytes;
        self.discard_ns += other.discard_ns;
        self.flush_ns += other.flush_ns;
        self.in_flight += other.in_flight;
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
    use crate::sighting::Pressure;
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
