//! Lie 25: short-stroked: a small part of the device was touched, so that seeks (or the map of an SSD) were cheap.
//!
//! Proof: the span that was read or written against the device's size. Only where the plan means the whole device
//! (`intent = "whole device"`); whether it says it rotates proves nothing, as virtual disks say anything.

use iodyno_model::{
    Figure, FindingKind, Intent, Job, JobRecord, Pick, Remedy, Severity, Target, TargetKind, Verb, Workload,
};

use crate::case::{PhaseEvidence, bytes};
use crate::merge::Suspicion;

/// A device is whole when so much of it was touched. Chosen: reserved space and a last pass cut short; `short_strokes`
/// stands on both sides.
const WHOLE_SHARE: f64 = 0.9;
/// Less than this is another device than the one that was meant. Chosen: whichever is more of it; `short_strokes`
/// stands on both sides.
const INVALID_SHARE: f64 = 0.5;

/// Jobs of this phase that touched a part of what was to be the whole.
pub fn check(case: &PhaseEvidence<'_>) -> Vec<Suspicion> {
    if case.intent() != Intent::WholeDevice {
        return Vec::new();
    }
    case.storage_jobs().filter_map(|(job, record)| judged(case, job, record)).collect()
}

fn judged(case: &PhaseEvidence<'_>, job: &Job, record: &JobRecord) -> Option<Suspicion> {
    let target = case.targets(job).next()?;
    let size = case.facts(&target.name)?.size_bytes.filter(|bytes| *bytes > 0)?;
    let touched = touched(case, job, record, target)?;
    let share = touched as f64 / size as f64;
    if share >= WHOLE_SHARE {
        return None;
    }
    let sentence = format!(
        "the whole device was meant, and {:.0} % of it was touched: seeks were as short as that",
        share * 100.0
    );
    let mut figures = vec![
        Figure::new("touched", touched as f64, "bytes"),
        Figure::new("size", size as f64, "bytes"),
        Figure::new("share", share * 100.0, "%"),
    ];
    let reach = case.layout(&target.name).and_then(|layout| layout.reach_bytes);
    figures
        .extend(reach.map(|bytes| {
            Figure::new("from the first byte on the device to the last", bytes as f64, "bytes")
        }));
    let severity = if share < INVALID_SHARE { Severity::Invalid } else { Severity::Doubtful };
    let found = Suspicion::new(FindingKind::ShortStroke, severity, case.label(), sentence, figures);
    Some(found.remedy(Remedy::CoverWholeTarget).job(&job.name).weight(1.0 / share.max(1e-9)))
}

/// How far apart the first and the last place lie that were touched, bytes.
fn touched(case: &PhaseEvidence<'_>, job: &Job, record: &JobRecord, target: &Target) -> Option<u64> {
    let Workload::Pattern(pattern) = &job.workload else { return None };
    let span = case.span_bytes(target, pattern)?;
    let spread = match target.kind {
        // A file's bytes may lie apart, where that is reported.
        TargetKind::File { .. } => {
            case.layout(&target.name).and_then(|layout| layout.reach_bytes).unwrap_or(span)
        }
        _ => span,
    };
    let moved = bytes(record, Verb::Read) + bytes(record, Verb::Write);
    let pick = if bytes(record, Verb::Read) > 0 { &pattern.pick.read } else { &pattern.pick.write };
    // What goes from one end to the other got as far as it moved bytes.
    Some(if matches!(pick, Pick::Sequential | Pick::Backward) { spread.min(moved) } else { spread })
}
