//! What a plan asks of a simulated device that its workers share.

use iodyno_model::{Diagnostic, Plan};

use crate::engines::sim::address::known_bytes;
use crate::registry::PlanEngines;

/// Everything that is wrong with it.
pub fn check(plan: &Plan, engines: &PlanEngines, wrong: &mut Vec<Diagnostic>) {
    let Some(device) = &plan.device else { return };
    wrong.extend(device.problems());
    let jobs = || plan.phases.iter().flat_map(|phase| &phase.jobs);
    let on_device = |job: &iodyno_model::Job| engines.facts(job).and_then(|facts| facts.on_device);
    if jobs().all(|job| on_device(job).is_none()) {
        let message = format!("device {}: no job works on it", device.name);
        wrong.push(
            Diagnostic::error(&device.origin, message)
                .hint("say engine = \"sim\" in a job, or leave the device out"),
        );
    }
    for job in jobs() {
        let Some(settings) = on_device(job) else { continue };
        for setting in job.settings.iter().filter(|setting| !settings.contains(&setting.name.as_str())) {
            let message =
                format!("`{}`: what operations cost is said by the device {}", setting.name, device.name);
            let hint = format!("leave it out, or the device; with a device go {}", settings.join(", "));
            wrong.push(Diagnostic::error(&setting.origin, message).hint(hint));
        }
    }
    let seats = |index: usize| {
        let users = jobs().filter(|job| job.targets.contains(&index) && on_device(job).is_some());
        users.map(|job| job.workers).max()
    };
    let targets = plan.targets.iter().enumerate();
    let bytes = targets.filter_map(|(index, target)| known_bytes(target, seats(index)?));
    let (all, capacity) = (bytes.fold(0, u64::saturating_add), device.capacity_bytes());
    if capacity > 0 && all > capacity {
        let binary = iodyno_model::units::binary;
        let message = format!(
            "device {}: it holds {}, the targets of its jobs {}",
            device.name,
            binary(capacity),
            binary(all)
        );
        wrong.push(Diagnostic::error(&device.origin, message).hint("smaller targets, or a larger device"));
    }
}
