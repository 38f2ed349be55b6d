//! A reporter with ears: events in, both streams out.

use iodyno_dialect::fio::client::HostView;
use iodyno_dialect::fio::report::{Report, clients};
use iodyno_dialect::fio::view::ReportContext;
use iodyno_model::*;
use iodyno_report::{NoFiles, Output, Reporter};

/// What a reporter wrote: results, talk; of several hosts where there are parts.
pub fn written(view: &ReportContext, parts: &[HostView], events: &[Event]) -> (String, String) {
    let mut report: Box<dyn Reporter> = match parts {
        [] => Box::new(Report::new(view.clone())),
        parts => clients::reporter(view.clone(), parts.to_vec()),
    };
    let (mut out, mut err) = (Vec::new(), Vec::new());
    for event in events {
        let mut output = Output { out: &mut out, err: &mut err, files: &mut NoFiles };
        report.event(event, &mut output).unwrap();
    }
    (String::from_utf8(out).unwrap(), String::from_utf8(err).unwrap())
}

/// When all stored runs began.
pub const BEGAN_UNIX_NS: u64 = 1_700_000_000_123_000_000;

/// The beginning of a run of this plan.
pub fn started(plan: &Plan) -> Event {
    Event::Started(Box::new(RunStart {
        plan: plan.clone(),
        targets: Vec::new(),
        machine: Machine::default(),
        at_unix_ns: BEGAN_UNIX_NS,
        world: Default::default(),
    }))
}

/// A plan with one job for each of the view's, in its phases, all on one file.
pub fn plan(view: &ReportContext, path: &str) -> Plan {
    let target = Target {
        name: "data".into(),
        kind: TargetKind::File { path: path.into(), size: Extent::Bytes(16 << 20) },
        open: Open::default(),
        prepare: Prepare::Filled,
        remove: false,
        origin: Origin::Default,
    };
    let mut plan = Plan { targets: vec![target], ..Plan::default() };
    for job in &view.jobs {
        plan.phases.resize_with(plan.phases.len().max(job.phase + 1), Phase::default);
        let workload = Workload::Pattern(Box::new(Pattern::of(Verb::Read, Pick::Uniform, 4096)));
        plan.phases[job.phase].jobs.push(Job::new(&job.name, &job.engine, vec![0], workload));
    }
    plan
}

/// The end of each phase and of the run.
pub fn ended(phases: Vec<PhaseRecord>, findings: Vec<Finding>, stopped_by: Option<i32>) -> Vec<Event> {
    let mut events: Vec<Event> =
        phases.iter().cloned().map(|phase| Event::PhaseEnded(Box::new(phase))).collect();
    events.push(Event::Ended(Box::new(Record { phases, findings, stopped_by, ..Record::default() })));
    events
}

/// A histogram of values and counts with exact sum and extremes.
pub fn histogram(bins: &[(u64, u64)], sum: u128, extremes: (u64, u64)) -> Histogram {
    let mut counts = vec![0; histogram::BUCKETS];
    bins.iter().for_each(|(value, count)| counts[histogram::bucket_of(*value)] += count);
    Histogram::from_counts(counts.into_iter(), sum, extremes.0, extremes.1)
}
