//! The health of drives in words: wear, what was written and how often over, heat.

use iodyno_model::{HealthActivity, Sighting, units};

/// A line for each drive that was asked, or why it told nothing.
pub fn lines(sightings: &[Sighting]) -> Vec<String> {
    let line = |sighting: &Sighting| match sighting {
        Sighting::Health(activity) => Some(line(activity)),
        Sighting::CannotTell { witness, reason } if witness == "health" => {
            Some(format!("cannot tell: {reason}"))
        }
        _ => None,
    };
    sightings.iter().filter_map(line).collect()
}

fn line(activity: &HealthActivity) -> String {
    let HealthActivity { device, before, after, .. } = activity;
    let mut facts: Vec<String> = Vec::new();
    if let Some(used) = after.used_percent {
        facts.push(format!("{used} % of its endurance used{}", earlier(before.used_percent, used, "%")));
    }
    if let Some(spare) = after.spare_percent.filter(|spare| *spare < 100) {
        facts.push(format!("{spare} % spare blocks left{}", earlier(before.spare_percent, spare, "%")));
    }
    if let Some(written) = activity.host_written_bytes() {
        let read = activity
            .host_read_bytes()
            .map_or(String::new(), |read| format!(", read {}", units::binary(read)));
        facts.push(format!("the host wrote {}{read}", units::binary(written)));
    }
    if let Some(factor) = activity.write_amplification() {
        facts.push(format!("write amplification {factor:.2}"));
    }
    if let Some(celsius) = after.temperature_c {
        facts.push(format!("{celsius} °C{}", earlier(before.temperature_c, celsius, "°C")));
    }
    match (activity.throttled_s(), activity.throttled()) {
        (Some(0) | None, Some(0) | None) => {}
        (seconds, times) => {
            facts.push(format!("slowed by heat: {} times, {} s", times.unwrap_or(0), seconds.unwrap_or(0)));
        }
    }
    if let Some(errors) = activity.media_errors().filter(|errors| *errors > 0) {
        facts.push(format!("uncorrected errors of its medium: {errors}"));
    }
    facts.extend(after.warnings.iter().map(|warning| format!("it warns: {warning}")));
    match facts.is_empty() {
        true => format!("{device} tells nothing"),
        false => format!("{device}: {}", facts.join("; ")),
    }
}

/// What it was before, where that differs.
fn earlier<N: std::fmt::Display + PartialEq>(before: Option<N>, now: N, unit: &str) -> String {
    match before {
        Some(before) if before != now => format!(" ({before} {unit} before)"),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iodyno_model::DriveHealth;

    #[test]
    fn a_run_that_wore_and_heated_a_drive_is_told() {
        let gib = 1u64 << 30;
        let health = |used, celsius, gibs: u64, slow| DriveHealth {
            used_percent: Some(used),
            temperature_c: Some(celsius),
            host_written_bytes: Some(gibs * gib),
            media_written_bytes: Some(gibs * gib * 3 / 2),
            throttled: Some(slow),
            throttled_s: Some(slow * 10),
            media_errors: Some(0),
            ..DriveHealth::default()
        };
        let mut activity = HealthActivity {
            device: "nvme0n1".into(),
            source: "NVMe logs 02h and C0h".into(),
            before: health(3, 41, 100, 0),
            after: health(4, 71, 300, 2),
        };
        activity.after.warnings = vec!["its temperature is beyond what it warns of".into()];
        let told = lines(&[
            Sighting::Health(Box::new(activity)),
            Sighting::CannotTell { witness: "health".into(), reason: "vda answers as neither".into() },
            Sighting::CannotTell { witness: "device".into(), reason: "another".into() },
        ]);
        assert_eq!(
            told,
            [
                "nvme0n1: 4 % of its endurance used (3 % before); the host wrote 200 GiB; write amplification 1.50; \
                 71 °C (41 °C before); slowed by heat: 2 times, 20 s; it warns: its temperature is beyond what it \
                 warns of",
                "cannot tell: vda answers as neither",
            ]
        );
    }

    #[test]
    fn a_drive_that_tells_nothing_is_no_healthy_one() {
        let silent = HealthActivity { device: "sda".into(), ..HealthActivity::default() };
        assert_eq!(lines(&[Sighting::Health(Box::new(silent))]), ["sda tells nothing"]);
    }
}
