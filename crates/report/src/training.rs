//! What training input came to: how busy its accelerators were kept, and which of them waited longest.

use iodyno_model::{AcceleratorRecord, PhaseRecord};

use crate::number;

/// One line; none: the phase was no training input.
pub fn line(phase: &PhaseRecord) -> Option<String> {
    let all = AcceleratorRecord::of(phase);
    let late =
        all.iter().min_by(|one, other| one.utilisation_percent().total_cmp(&other.utilisation_percent()))?;
    let mean = all.iter().map(AcceleratorRecord::utilisation_percent).sum::<f64>() / all.len() as f64;
    let steps: u64 = all.iter().map(|each| each.steps).sum();
    let mut text = format!("{} accelerators, {steps} steps", all.len());
    if late.whole_ns == 0 {
        text.push_str(", too few for a utilisation");
        return Some(text);
    }
    text.push_str(&format!(", utilised {} %", number::significant(mean)));
    if all.len() > 1 {
        let waited = number::latency(late.load_ns as f64);
        let least = number::significant(late.utilisation_percent());
        text.push_str(&format!(
            "; least number {}, {least} %, which waited {waited} for batches",
            late.index
        ));
    }
    Some(text)
}
