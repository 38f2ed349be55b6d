//! What a dry run says: what the trace holds, where it would go, and what would be left out or changed.

use iodyno_model::{Diagnostic, Origin, Plan, Workload, units};
use iodyno_report::number;
use iodyno_trace::TraceError;
use iodyno_trace::replay::{Feed, OperationBatch, Share};

use super::settings::{PlaceKind, Settings};
use crate::Loader;

/// Operations that are looked at together.
const BATCH: usize = 4096;

/// The text of a dry run. The whole trace goes through all that a replay does with it, but is not issued.
pub(super) fn dry_run(
    settings: &Settings,
    plan: &Plan,
    loader: &mut dyn Loader,
) -> Result<String, Diagnostic> {
    let facts = &settings.survey.facts;
    let verbs: Vec<&str> = facts.verbs.iter().map(|verb| verb.name()).collect();
    let mut text = format!(
        "{} ({})\n  {} records in {}, {} threads, {} files or devices\n  {}; {} moved, at most {} at once\n",
        settings.trace,
        facts.source,
        number::thousands(facts.records),
        number::latency(facts.length_ns as f64),
        number::thousands(facts.threads.into()),
        number::thousands(facts.ends.len() as u64),
        verbs.join(", "),
        units::binary(facts.moved_bytes),
        units::binary(facts.largest_bytes)
    );
    for (index, place) in settings.places.iter().enumerate() {
        let of = settings.map.iter().enumerate().filter(|(_, position)| **position == Some(index));
        let names: Vec<&str> = of
            .filter_map(|(file, _)| settings.survey.tables.files.get(file))
            .map(|file| file.name.as_str())
            .collect();
        let kind = match place.kind {
            PlaceKind::Device => "device",
            PlaceKind::File => "file",
            PlaceKind::New => "new file",
            PlaceKind::Directory => "directory",
            PlaceKind::Nothing => "nothing",
        };
        let end =
            if place.end > 0 { format!(", to byte {}", number::thousands(place.end)) } else { String::new() };
        let from = if names.is_empty() { String::new() } else { format!("{} -> ", names.join(", ")) };
        text.push_str(&format!("  {from}{} ({kind}{end})\n", place.path));
    }
    let wrong = |error: TraceError| {
        let diagnostic = Diagnostic::error(&Origin::argument(&settings.trace), error.to_string());
        match error.hint {
            Some(hint) => diagnostic.hint(hint),
            None => diagnostic,
        }
    };
    text.push_str(&issued(settings, plan, loader).map_err(wrong)?);
    Ok(text)
}

/// What would be issued, of one pass.
fn issued(settings: &Settings, plan: &Plan, loader: &mut dyn Loader) -> Result<String, TraceError> {
    let job = plan.phases.last().and_then(|phase| phase.jobs.first());
    let Some(Workload::Trace(trace)) = job.map(|job| &job.workload) else { return Ok(String::new()) };
    let mut source = Some(loader.trace(&settings.trace, &settings.format)?);
    let open = Box::new(move || source.take().ok_or_else(|| TraceError::new("it is read once here")));
    let lengths: Vec<u64> = settings.places.iter().map(|place| place.length).collect();
    let share = Share { worker: 0, workers: 1 };
    let mut feed = Feed::new(open, trace, 1, share, &lengths, 1_000_000_000)?;
    let (mut batch, mut count) = (OperationBatch::default(), 0);
    loop {
        feed.fill(BATCH, &mut batch)?;
        if batch.is_empty() {
            break;
        }
        count += (batch.operations.len() + batch.ranges.len()) as u64;
    }
    let report = feed.report();
    let passes = if settings.loops > 1 { format!(", {} times", settings.loops) } else { String::new() };
    let mut text = format!("  {} operations would be issued{passes}\n", number::thousands(count));
    for (what, reasons) in [("left out", &report.skipped), ("changed", &report.changed)] {
        for reason in reasons {
            text.push_str(&format!("  {what}: {} ({})\n", number::thousands(reason.count), reason.reason));
        }
    }
    Ok(text)
}
