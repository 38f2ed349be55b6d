//! What kept a load from being larger: the client's processors, a device, a network, or what cannot be told apart.

use iodyno_model::{Device, DeviceActivity, InterfaceActivity, JobRecord, Machine, PhaseRecord, Sighting};
use iodyno_report::number;

/// From this share of all processors, of a device's time or of what a link carries on, it limits, percent.
const BUSY_PERCENT: f64 = 85.0;
/// A device did the phase's work where it moved at least this part of its bytes, percent.
const OWN_PERCENT: f64 = 50.0;

/// In words, as the end of a sentence. Processors: their busy share, percent.
pub fn limiting_part(phase: &PhaseRecord, processors: Option<f64>, device: Option<&Device>) -> String {
    if let Some(device) = device {
        return format!("the device {} limits", device.name);
    }
    if let Some(percent) = processors.filter(|percent| *percent >= BUSY_PERCENT) {
        return format!("the client took {} of the processors, which limit", number::percent(percent));
    }
    let moved: u64 = phase.jobs.iter().map(|job| job.tally.all_bytes()).sum();
    let own = |bytes: u64| bytes as f64 >= moved as f64 * OWN_PERCENT / 100.0;
    let devices = phase.sightings.iter().filter_map(|sighting| match sighting {
        Sighting::Device(device) if own(device.read_bytes + device.write_bytes) => Some(device),
        _ => None,
    });
    if let Some((busy, device)) =
        devices.map(|device| (busy_percent(device), device)).max_by(|a, b| a.0.total_cmp(&b.0))
        && busy >= BUSY_PERCENT
    {
        return format!(
            "the device {} was busy {} of the time and limits",
            device.device,
            number::percent(busy)
        );
    }
    let links = phase.sightings.iter().filter_map(|sighting| match sighting {
        Sighting::Interface(link) => Some((link_percent(link)?, link)),
        _ => None,
    });
    if let Some((full, link)) =
        links.max_by(|a, b| a.0.total_cmp(&b.0)).filter(|(full, _)| *full >= BUSY_PERCENT)
    {
        return format!("the link {} carried {} of what it can and limits", link.name, number::percent(full));
    }
    let mount = phase.sightings.iter().find_map(|sighting| match sighting {
        Sighting::Mount(mount) if mount.read_bytes + mount.write_bytes > 0 => Some(mount),
        _ => None,
    });
    match mount {
        Some(mount) => {
            format!("the servers of {} ({}) or the network limit", mount.mount_point, mount.file_system)
        }
        None => "the storage or the way to it limits: processors were free".into(),
    }
}

/// Processor time of a job's workers, ns.
pub fn processor_ns(job: &JobRecord) -> u64 {
    job.workers.iter().map(|worker| worker.user_ns + worker.system_ns).sum()
}

/// So much processor time as a share of all processors during a phase, percent.
pub fn processors_percent(used_ns: u64, phase: &PhaseRecord, machine: &Machine) -> f64 {
    let whole = phase.elapsed_ns as f64 * f64::from(machine.cpus.max(1));
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
    use iodyno_model::{JobRecord, Line, MountActivity, Tally, Verb};

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
        let name = "eth0".to_string();
        let link = InterfaceActivity {
            name,
            link_bits: Some(1_000_000),
            received_bytes: 120_000,
            interval_ns: 1_000_000_000,
            ..InterfaceActivity::default()
        };
        let link = Sighting::Interface(link);
        let mount = MountActivity {
            mount_point: "/mnt".into(),
            file_system: "nfs4".into(),
            read_bytes: 1000,
            ..MountActivity::default()
        };
        let said = |sightings, processors| limiting_part(&phase(sightings), processors, None);
        assert!(said(vec![device(1000, 95)], Some(90.0)).contains("processors, which limit"));
        assert!(said(vec![device(1000, 95)], Some(10.0)).contains("sda was busy 95"));
        assert!(said(vec![device(100, 95)], None).contains("or the way to it"), "it moved something else");
        assert!(said(vec![device(1000, 50), link], None).contains("eth0 carried 96"));
        assert!(said(vec![Sighting::Mount(mount)], None).contains("servers of /mnt (nfs4)"));
        let simulated = Device { name: "d".into(), ..Device::default() };
        assert_eq!(limiting_part(&phase(Vec::new()), None, Some(&simulated)), "the device d limits");
    }
}
