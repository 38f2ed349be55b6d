//! What kept a load from being larger, in words: the client's processors, a device, a network, or what cannot be told apart.

use iodyno_model::{Device, PhaseRecord};
use iodyno_report::number;
use iodyno_truth::limit::LimitingPart;

/// As the end of a sentence. Processors: their busy share, percent.
pub fn limiting_part(phase: &PhaseRecord, processors: Option<f64>, device: Option<&Device>) -> String {
    if let Some(device) = device {
        return format!("the device {} limits", device.name);
    }
    match LimitingPart::of(phase, processors) {
        LimitingPart::Processors(percent) => {
            format!("the client took {} of the processors, which limit", number::percent(percent))
        }
        LimitingPart::Device(name, busy) => {
            format!("the device {name} was busy {} of the time and limits", number::percent(busy))
        }
        LimitingPart::Link(name, full) => {
            format!("the link {name} carried {} of what it can and limits", number::percent(full))
        }
        LimitingPart::Servers { mount_point, file_system } => {
            format!("the servers of {mount_point} ({file_system}) or the network limit")
        }
        LimitingPart::Unseen => "the storage or the way to it limits: processors were free".into(),
    }
}

#[cfg(test)]
mod tests {
    use iodyno_model::{MountActivity, Sighting};

    use super::*;

    #[test]
    fn what_limits_is_told_as_the_end_of_a_sentence() {
        let mut phase = PhaseRecord::default();
        assert!(limiting_part(&phase, Some(90.0), None).contains("processors, which limit"));
        assert!(limiting_part(&phase, None, None).contains("or the way to it"));
        let mount = MountActivity {
            mount_point: "/mnt".into(),
            file_system: "nfs4".into(),
            read_bytes: 1000,
            ..MountActivity::default()
        };
        phase.sightings.push(Sighting::Mount(mount));
        assert!(limiting_part(&phase, None, None).contains("servers of /mnt (nfs4)"));
        let simulated = Device { name: "d".into(), ..Device::default() };
        assert_eq!(limiting_part(&phase, None, Some(&simulated)), "the device d limits");
    }
}
