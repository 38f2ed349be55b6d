//! Lie 10, the copy's case: the data came from a generator that was slower than the storage under test.
//!
//! A script that reads `/dev/urandom` and writes a file measures both in turn; when most of the time went into the
//! generator, the rate is the generator's. Says nothing where nothing but another such device is written: then the
//! generator is what was measured.

use iodyno_model::{
    Figure, FindingKind, Job, JobRecord, Line, Remedy, Severity, Target, TargetKind, Verb, Workload, units,
};

use crate::case::PhaseEvidence;
use crate::merge::Suspicion;

/// Share of the time in the generator from which the result is its own rather than the storage's, in percent. Chosen:
/// more than half, with a margin; `a_slow_generator_is_told_with_its_share_and_its_rate` and
/// `a_slow_disk_a_real_source_and_a_generator_on_purpose_are_no_lie` stand on both sides.
pub const MOST_PERCENT: f64 = 60.0;

/// Devices that make data up.
const GENERATORS: &[&str] = &["/dev/urandom", "/dev/random", "/dev/zero"];
/// Devices that keep nothing.
const SINKS: &[&str] = &["/dev/null", "/dev/zero", "/dev/full"];

/// Scripts of this phase whose time went into making data rather than storing it.
pub fn check(case: &PhaseEvidence<'_>) -> Vec<Suspicion> {
    case.jobs().filter_map(|(job, record)| judged(case, job, record)).collect()
}

fn judged(case: &PhaseEvidence<'_>, job: &Job, record: &JobRecord) -> Option<Suspicion> {
    let Workload::Script(_) = job.workload else { return None };
    let source = case.targets(job).find_map(|target| named(target, GENERATORS))?;
    let stores = case.targets(job).any(|target| named(target, GENERATORS).or(named(target, SINKS)).is_none());
    let reads = sum(record, Verb::Read);
    let worker_ns = case.found.elapsed_ns as f64 * f64::from(job.workers.max(1));
    let percent = 100.0 * reads.ns / worker_ns;
    if !stores || worker_ns == 0.0 || reads.bytes == 0 || percent.is_nan() || percent <= MOST_PERCENT {
        return None;
    }
    let rate = |bytes: u64, ns: f64| bytes as f64 / (ns / 1e9);
    let generated = rate(reads.bytes, reads.ns);
    // Everything but the generator: writes, and what made them durable at the end.
    let stored = rate(sum(record, Verb::Write).bytes, (worker_ns - reads.ns).max(1.0));
    let sentence = format!(
        "{percent:.0} % of the time went into reading {source}, which gives {}/s at most: \
         it was the limit, not what was written to",
        units::decimal(generated)
    );
    let figures = vec![
        Figure::new("time in the generator", percent, "%"),
        Figure::new("rate of the generator alone", generated, "bytes/s"),
        Figure::new("rate of all the rest alone", stored, "bytes/s"),
    ];
    let suspicion =
        Suspicion::new(FindingKind::GeneratorBound, Severity::Doubtful, case.label(), sentence, figures);
    let suspicion = suspicion.job(&job.name).matter("generator").remedy(Remedy::PrepareData).weight(percent);
    Some(suspicion.takes(percent / 100.0))
}

/// Whether a target is no storage at all: a device that makes data up or keeps nothing.
pub fn is_pseudo(target: &Target) -> bool {
    named(target, GENERATORS).or(named(target, SINKS)).is_some()
}

fn named<'a>(target: &'a Target, known: &[&str]) -> Option<&'a str> {
    match &target.kind {
        TargetKind::File { path, .. } => known.contains(&path.as_str()).then_some(path),
        _ => None,
    }
}

struct Sum {
    bytes: u64,
    ns: f64,
}

fn sum(record: &JobRecord, verb: Verb) -> Sum {
    let lines = || record.tally.lines.iter().filter(|line| line.verb == verb);
    // A worker's own time, not lateness against a pace.
    let ns = |line: &Line| line.service.as_ref().unwrap_or(&line.latency).sum as f64;
    Sum { bytes: lines().map(|line| line.bytes).sum(), ns: lines().map(ns).sum() }
}

#[cfg(test)]
mod tests {
    use iodyno_model::{
        Extent, Finding, Histogram, Open, Operation, Origin, Phase, PhaseRecord, Plan, Prepare, Record,
        Script,
    };

    use super::*;

    const MIB: u64 = 1 << 20;

    fn line(verb: Verb, count: u64, ns: u64) -> Line {
        let mut latency = Histogram::default();
        (0..count).for_each(|_| latency.add(ns));
        Line { operations: count, bytes: count * MIB, latency, ..Line::empty(verb.name(), verb) }
    }

    /// 100 copies of 1 MiB with these times for each read and write.
    fn copy(from: &str, to: &str, read_ns: u64, write_ns: u64) -> Vec<Finding> {
        let target = |path: &str| Target {
            name: path.into(),
            kind: TargetKind::File { path: path.into(), size: Extent::Rest },
            open: Open::default(),
            prepare: Prepare::AsItIs,
            remove: false,
            origin: Origin::Default,
        };
        let steps =
            vec![Operation::on(Verb::Read, 0).step("read"), Operation::on(Verb::Write, 1).step("write")];
        let job = Job::new("copy", "psync", vec![0, 1], Workload::Script(Script { actors: vec![], steps }));
        let plan = Plan {
            targets: vec![target(from), target(to)],
            phases: vec![Phase { name: "copy".into(), jobs: vec![job], ..Phase::default() }],
            ..Plan::default()
        };
        let mut record = JobRecord { name: "copy".into(), ..JobRecord::default() };
        record.tally.lines = vec![line(Verb::Read, 100, read_ns), line(Verb::Write, 100, write_ns)];
        let elapsed_ns = 100 * (read_ns + write_ns);
        let phase =
            PhaseRecord { name: "copy".into(), elapsed_ns, jobs: vec![record], ..PhaseRecord::default() };
        let record = Record { phases: vec![phase], ..Record::default() };
        let case = PhaseEvidence::new(&plan, &record, &record.phases[0]).unwrap();
        check(&case).into_iter().map(|suspicion| suspicion.finding).collect()
    }

    #[test]
    fn a_slow_generator_is_told_with_its_share_and_its_rate() {
        let found = copy("/dev/urandom", "out", 3_000_000, 1_000_000);
        assert_eq!((found.len(), found[0].code, found[0].severity), (1, 10, Severity::Doubtful));
        assert_eq!(found[0].figures[0].value, 75.0);
        assert!((found[0].figures[1].value - MIB as f64 / 0.003).abs() < 1.0);
        assert!((found[0].figures[2].value - MIB as f64 / 0.001).abs() < 1.0);
        assert!(found[0].sentence.starts_with("75 % of the time went into reading /dev/urandom"));
    }

    #[test]
    fn a_slow_disk_a_real_source_and_a_generator_on_purpose_are_no_lie() {
        assert_eq!(copy("/dev/urandom", "out", 1_000_000, 3_000_000), []);
        assert_eq!(copy("/dev/zero", "out", 100_000, 3_000_000), []);
        assert_eq!(copy("in", "out", 3_000_000, 1_000_000), []);
        assert_eq!(copy("/dev/urandom", "/dev/null", 3_000_000, 1_000), []);
        assert_eq!(copy("/dev/urandom", "out", 600, 400), []);
    }
}
