//! Lie 41: accelerators that waited for data: their number stands in the report, and most of their time went by without
//! computing.
//!
//! Proof: the accelerators' own times. What limited is the first part that was full ([`LimitingPart`]). Where that is the client or
//! a link the figure is not the storage's; else it is, and this only says so. What simulates accuses nobody.

use iodyno_model::{
    AcceleratorRecord, EngineTrait, Figure, FindingKind, Intent, Remedy, Severity, Utilisation, training,
};

use crate::case::{COUNTED_NS, PhaseEvidence};
use crate::limit::{LimitingPart, processor_ns, processors_percent};
use crate::merge::Suspicion;

/// Accelerators are fed from this utilisation on, percent. Source: the default of DLIO's `metric.au`.
const FED_PERCENT: f64 = 90.0;

/// Whether the accelerators of this phase were fed.
pub fn check(case: &PhaseEvidence<'_>) -> Vec<Suspicion> {
    let pretends = |job: &iodyno_model::JobRecord| job.engine_is(EngineTrait::Pretends);
    if case.intent() == Intent::Cache || case.found.jobs.iter().any(pretends) {
        return Vec::new();
    }
    let all: Vec<_> = AcceleratorRecord::of(case.found)
        .into_iter()
        .filter(|one| one.compute_ns > 0 && one.whole_ns >= COUNTED_NS)
        .collect();
    let starved = Utilisation::of(&all).filter(|of| of.mean_percent < FED_PERCENT);
    starved.map(|of| found(case, all.len(), &of)).into_iter().collect()
}

fn found(case: &PhaseEvidence<'_>, count: usize, of: &Utilisation) -> Suspicion {
    let (machine, world) = (&case.record.machine, &case.record.world);
    let readers = case.found.jobs.iter().filter(|job| job.name == training::READER);
    let used: u64 = readers.map(processor_ns).sum();
    let percent = processors_percent(used, case.found, machine, world.machines());
    let limit = LimitingPart::of(case.found, Some(percent));
    let (words, severity, remedy) = judged(&limit);
    let whose = if world.ranks() > 1 { format!(" of rank {}", of.least.rank) } else { String::new() };
    let at = if world.machines() > 1 { format!(" on {}", world.host(of.least.rank)) } else { String::new() };
    let sentence = format!(
        "the accelerators computed {:.0} % of their time; number {}{whose}{at} waited longest, {:.1} s for its batches: {words}",
        of.mean_percent,
        of.least.index,
        of.least.load_ns as f64 / 1e9
    );
    let mut figures = vec![
        Figure::new("utilisation, mean", of.mean_percent, "%"),
        Figure::new("utilisation, least", of.least.utilisation_percent(), "%"),
        Figure::new("accelerators", count as f64, ""),
        Figure::new("readers' processor time", percent, "%"),
    ];
    figures.extend(match &limit {
        LimitingPart::Device(_, busy) => Some(Figure::new("device busy", *busy, "%")),
        LimitingPart::Link(_, full) => Some(Figure::new("link carried", *full, "%")),
        _ => None,
    });
    Suspicion::new(FindingKind::StarvedAccelerators, severity, case.label(), sentence, figures)
        .matter(remedy.words())
        .remedy(remedy)
        .weight(100.0 - of.mean_percent)
}

fn judged(limit: &LimitingPart) -> (String, Severity, Remedy) {
    match limit {
        LimitingPart::Processors(percent) => (
            format!("their readers took {percent:.0} % of the processors, which limit, not the storage"),
            Severity::Doubtful,
            Remedy::RelieveReaders,
        ),
        LimitingPart::Device(name, busy) => (
            format!("the device {name} was busy {busy:.0} % of the time and limits"),
            Severity::Note,
            Remedy::FeedFewer,
        ),
        LimitingPart::Link(name, full) => (
            format!("the link {name} carried {full:.0} % of what it can and limits, not the storage"),
            Severity::Doubtful,
            Remedy::WidenFeed,
        ),
        LimitingPart::Servers { mount_point, file_system } => (
            format!("the servers of {mount_point} ({file_system}) or the network to them limit"),
            Severity::Note,
            Remedy::RelieveServers,
        ),
        LimitingPart::Unseen => (
            "nothing that was seen was full, so too little was read ahead, or the way to the storage is long"
                .into(),
            Severity::Note,
            Remedy::ReadFurtherAhead,
        ),
    }
}
