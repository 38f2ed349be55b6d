//! What training input came to: how busy its accelerators were kept, and which of them waited longest.

use iodyno_model::{AcceleratorRecord, PhaseRecord, Utilisation};

use crate::number;

/// One line; none: the phase was no training input.
pub fn line(phase: &PhaseRecord) -> Option<String> {
    let all = AcceleratorRecord::of(phase);
    let Utilisation { mean_percent, least: late } = Utilisation::of(&all)?;
    let steps: u64 = all.iter().map(|each| each.steps).sum();
    let mut text = format!("{} accelerators, {steps} steps", all.len());
    if late.whole_ns == 0 {
        text.push_str(", too few for a utilisation");
        return Some(text);
    }
    text.push_str(&format!(", utilised {} %", number::significant(mean_percent)));
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
