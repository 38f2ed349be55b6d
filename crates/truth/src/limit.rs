//! What kept a load from being larger: the client's processors, a device, a link, servers, or what cannot be told apart.
//!
//! The first that was full is named, from the client outwards: behind a full part nothing can be full by itself. Refuses to
//! judge; that a load was limited at all others say.

use iodyno_model::{DeviceActivity, InterfaceActivity, JobRecord, Machine, PhaseRecord, Sighting};

/// From this share of all processors, of a device's time or of what a link carries on, it limits, percent. Chosen: queues in
/// front of a part grow without bound towards 100; `the_first_part_that_was_full_limits` stands on both sides.
pub const BUSY_PERCENT: f64 = 85.0;
/// A device did the phase's work where it moved at least this part of its bytes, percent. Chosen: more than half of it;
/// `the_first_part_that_was_full_limits` stands on both sides.
const OWN_PERCENT: f64 = 50.0;

/// What limited.
#[derive(Clone, Debug, PartialEq)]
pub enum LimitingPart {
    /// The processors of the client: their busy share, percent.
    Processors(f64),
    /// A device, and the share of the time in which it was busy, percent.
    Device(String, f64),
    /// A link, and what it carried of what it can, percent.
    Link(String, f64),
    /// The servers of a network file system, or the network to them: where it is mounted, and what it is.
    Servers { mount_point: String, file_system: String },
    /// The storage or the way to it: nothing that was seen was full.
    Unseen,
}

impl LimitingPart {
    /// Of a phase whose client took so much of the processors, percent; none: that is unknown.
    pub fn of(phase: &PhaseRecord, processors: Option<f64>) -> LimitingPart {
        if let Some(percent) = processors.filter(|percent| *percent >= BUSY_PERCENT) {
            return LimitingPart::Processors(percent);
        }
        let moved: u64 = phase.jobs.iter().map(|job| job.tally.all_bytes()).sum();
        let own = |bytes: u64| bytes as f64 >= moved as f64 * OWN_PERCENT / 100.0;
        let devices = phase.sightings.iter().filter_map(|sighting| match sighting {
            Sighting::Device(device) if own(device.read_bytes + device.write_bytes) => {
                Some((busy_percent(device), device.device.clone()))
            }
            _ => None,
        });
        if let Some((busy, device)) = fullest(devices) {
            return LimitingPart::Device(device, busy);
        }
        let links = phase.sightings.iter().filter_map(|sighting| match sighting {
            Sighting::Interface(link) => Some((link_percent(link)?, link.name.clone())),
            _ => None,
        });
        if let Some((full, link)) = fullest(links) {
            return LimitingPart::Link(link, full);
        }
        let mount = phase.sightings.iter().find_map(|sighting| match sighting {
            Sighting::Mount(mount) if mount.read_bytes + mount.write_bytes > 0 => Some(mount),
            _ => None,
        });
        mount.map_or(LimitingPart::Unseen, |mount| LimitingPart::Servers {
            mount_point: mount.mount_point.clone(),
            file_system: mount.file_system.clone(),
        })
    }
}

/// The fullest of some parts, if it was full.
fn fullest(parts: impl Iterator<Item = (f64, String)>) -> Option<(f64, String)> {
    parts.max_by(|one, other| one.0.total_cmp(&other.0)).filter(|(percent, _)| *percent >= BUSY_PERCENT)
}

/// Processor time of a job's workers, ns.
pub fn processor_ns(job: &JobRecord) -> u64 {
    job.workers.iter().map(|worker| worker.user_ns + worker.system_ns).sum()
}

/// So much processor time as a share of all processors of so many machines during a phase, percent; each has as many as the
/// first one.
pub fn processors_percent(used_ns: u64, phase: &PhaseRecord, machine: &Machine, machines: u32) -> f64 {
    let whole = phase.elapsed_ns as f64 * f64::from(machine.cpus.max(1)) * f64::from(machines.max(1));
    used_ns as f64 / whole.max(1.0) * 100.0
}

fn busy_percent(device: &DeviceActivity) -> f64 {
    device.busy_ns as f64 / device.interval_ns.max(1) as f64 * 100.0
}

/// In its fuller direction; none: it does not say what it carries.
fn link_percent(link: &InterfaceActivity) -> Option<f64> {
    let bits = link.received_bytes.max(link.sent_bytes) as f64 * 8.0;
    let most = link.link_bits? as f64 * link.interval_ns as f64 / 1e9;
    (most > 0.0).then(|| bits / most * 100.0)
}

#[cfg(test)]
mod tests {
    use iodyno_model::{Line, MountActivity, Tally, Verb};

    use super::*;

    fn phase(sightings: Vec<Sighting>) -> PhaseRecord {
        let mut line = Line::empty("read", Verb::Read);
        line.bytes = 1000;
        let tally = Tally { lines: vec![line], ..Tally::default() };
        PhaseRecord {
            jobs: vec![JobRecord { tally, ..JobRecord::default() }],
            sightings,
            ..PhaseRecord::default()
        }
    }

    #[test]
    fn the_first_part_that_was_full_limits() {
        let device = |read_bytes, busy_ns| {
            let device = "sda".into();
            Sighting::Device(DeviceActivity {
                device,
                read_bytes,
                busy_ns,
                interval_ns: 100,
                ..DeviceActivity::default()
            })
        };
        let link = |received_bytes| {
            Sighting::Interface(InterfaceActivity {
                name: "eth0".into(),
                link_bits: Some(1_000_000),
                received_bytes,
                interval_ns: 1_000_000_000,
                ..InterfaceActivity::default()
            })
        };
        let mount = MountActivity {
            mount_point: "/mnt".into(),
            file_system: "nfs4".into(),
            read_bytes: 1000,
            ..MountActivity::default()
        };
        let of = |sightings, processors| LimitingPart::of(&phase(sightings), processors);
        assert_eq!(of(vec![device(1000, 95)], Some(90.0)), LimitingPart::Processors(90.0));
        assert_eq!(of(vec![device(1000, 95)], Some(84.0)), LimitingPart::Device("sda".into(), 95.0));
        assert_eq!(of(vec![device(1000, 84)], None), LimitingPart::Unseen);
        assert_eq!(of(vec![device(499, 95)], None), LimitingPart::Unseen, "it moved something else");
        assert_eq!(of(vec![device(1000, 50), link(120_000)], None), LimitingPart::Link("eth0".into(), 96.0));
        assert_eq!(of(vec![link(100_000)], None), LimitingPart::Unseen);
        let servers = LimitingPart::Servers { mount_point: "/mnt".into(), file_system: "nfs4".into() };
        assert_eq!(of(vec![Sighting::Mount(mount)], None), servers);
    }

    #[test]
    fn processors_of_all_machines_count() {
        let machine = Machine { cpus: 4, ..Machine::default() };
        let phase = PhaseRecord { elapsed_ns: 100, ..PhaseRecord::default() };
        assert_eq!([1, 2].map(|machines| processors_percent(200, &phase, &machine, machines)), [50.0, 25.0]);
    }
}
