//! What the witnesses of several machines saw, as if they had watched one large machine.
//!
//! Bytes and counts are sums, shares are means weighted by what they are shares of, so that a judgement of the whole is
//! right where each machine's would be. What is seen twice of one machine (its nodes may be containers) counts once.

use serde::{Deserialize, Serialize};

use crate::sighting::{DeviceActivity, MountActivity, Sighting};

/// What the witnesses of one node saw.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Seen {
    /// What tells its kernel from others: nodes of one kernel have the same devices, processors and memory.
    pub kernel: String,
    /// What was seen.
    pub sightings: Vec<Sighting>,
}

/// The sightings of all nodes as one machine's. A device of a later node counts for the device on which an earlier
/// node had the same target, whatever its name there; without such a target, for the one of its name.
pub fn combine(nodes: Vec<Seen>) -> Vec<Sighting> {
    let mut all: Vec<Sighting> = Vec::new();
    let mut kernels: Vec<String> = Vec::new();
    for Seen { kernel, sightings } in nodes {
        let is_known = kernels.contains(&kernel);
        let targets = disks(&sightings);
        for sighting in sightings {
            add(&mut all, sighting, is_known, &targets);
        }
        kernels.push(kernel);
    }
    all
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
        new => {
            if !all.contains(&new) {
                all.push(new);
            }
        }
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
        Seen { kernel: kernel.into(), sightings }
    }

    #[test]
    fn the_same_target_on_another_disk_counts_for_the_first() {
        let one = node("a", vec![device("sda", 10, 50), cpu(20.0, 2), target("t", "sda")]);
        let two = node("b", vec![device("nvme0n1", 30, 100), cpu(80.0, 6), target("t", "nvme0n1")]);
        let all = combine(vec![one, two]);
        let Sighting::Device(activity) = &all[0] else { panic!("{all:?}") };
        assert_eq!((activity.device.as_str(), activity.read_bytes), ("sda", 40));
        assert_eq!((activity.busy_ns, activity.interval_ns), (150, 200), "75 % busy");
        assert_eq!(all[1], cpu(65.0, 8));
        assert_eq!(all.len(), 3);
    }

    #[test]
    fn nodes_of_one_kernel_count_its_devices_once() {
        let seen = |bytes| node("a", vec![device("sda", bytes, 50), cpu(20.0, 2)]);
        assert_eq!(combine(vec![seen(10), seen(11)]), [device("sda", 11, 50), cpu(20.0, 2)]);
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
            ];
            node(kernel, sightings)
        };
        let all = combine(vec![seen("a", 1), seen("b", 2)]);
        assert_eq!(all.len(), 3);
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
}
