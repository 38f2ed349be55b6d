//! A job as its card and its charts are told: figures as text, distributions as points.

use iodyno_model::{
    CaseRecord, Finding, Histogram, JobRecord, Kind, Line, Outcome, PhaseRecord, Severity, Verb, Verdict,
    Workload, histogram,
};
use iodyno_truth::passes::{Passes, Together};
use serde::Serialize;

use super::short::Short;
use super::time::{self, Over};
use crate::native;
use crate::number;
use crate::shape::{self, Context};

/// Percentiles of the table.
const PERCENTS: [f64; 9] = [1.0, 10.0, 50.0, 90.0, 95.0, 99.0, 99.9, 99.99, 99.999];
/// Fine buckets that make one bar, as a power of two: eight bars to a power of two of the latency.
const BAR_SHIFT: u32 = 4;
/// Points of a cumulative curve for each further nine.
const POINTS_TO_A_NINE: i32 = 8;

/// One job of one phase.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Job {
    pub phase: String,
    pub name: String,
    /// Its place in a sweep, and which repetition: empty where there is one.
    pub place: String,
    /// Which phase, by index in the record.
    pub index: usize,
    /// What makes its figures comparable.
    pub shape: String,
    /// Measured time, as text.
    pub measured: String,
    pub lines: Vec<CountedLine>,
    /// What went wrong, a sentence each.
    pub errors: Vec<String>,
    /// How much came from the page cache, as text.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub cache: String,
    /// The certificate of its replay: labels and what is said of each.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub replay: Vec<(&'static str, String)>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub over: Option<Over>,
    pub workers: Vec<Worker>,
    /// What spoils its figures, worst first, by index in the run's findings.
    pub findings: Vec<usize>,
    /// How its cases ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verdict: Option<String>,
    /// Groups of its cases that have something other than passed checks.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub topics: Vec<Topic>,
    /// Of how many passes these are the medians; empty: it is what was counted.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub passes: String,
    /// Whether it is a pass of a job whose medians are told: it has charts, and no card.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_pass: bool,
}

/// One line of what was counted.
#[derive(Clone, Debug, Default, Serialize)]
pub struct CountedLine {
    pub label: String,
    /// `read`, `write`, `trim` or `other`: its colour.
    pub kind: &'static str,
    /// Operations, as text.
    pub operations: String,
    pub rate: Short,
    /// The same as text.
    pub rate_text: String,
    /// The figure that readers of such a workload look for first, its unit, and the other rates.
    pub lead: [String; 3],
    /// Bytes per second; nothing where it moves none.
    pub bytes: Short,
    pub failed: u64,
    /// Over what several passes ranged, as text.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub range: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub latency: Option<Latency>,
    /// Latency from the actual start, where that differs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub service: Option<Latency>,
}

/// A distribution of latencies.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Latency {
    /// Name and text of each figure: mean, percentiles, extremes.
    pub figures: Vec<(String, String)>,
    /// Lower edge and upper edge in ns, and count, of each bar, one after the other.
    pub bars: Vec<u64>,
    /// Nines (2 is 99 %, 3 is 99.9 %) and ns of each point of the cumulative curve, one after the other.
    pub curve: Vec<Short>,
}

#[derive(Clone, Debug, Default, Serialize)]
pub struct Worker {
    pub index: u32,
    pub rank: u32,
    /// Operations per second of its own time.
    pub rate: Short,
    /// Bytes per second of its own time.
    pub bytes: Short,
    /// When it began and ended, seconds after the start line.
    pub span: [Short; 2],
    /// Processor time in percent of its own time: user and kernel.
    pub cpu: [Short; 2],
}

/// A job of a phase as the page is told it.
pub fn job(context: &Context, index: usize, phase: &PhaseRecord, job: &JobRecord) -> Job {
    let mut place: Vec<String> = phase.coordinates.iter().map(ToString::to_string).collect();
    if phase.repetition > 0 {
        place.push(format!("repetition {}", phase.repetition + 1));
    }
    Job {
        phase: phase.name.clone(),
        name: job.name.clone(),
        place: place.join(" · "),
        index,
        shape: context.shape(phase, job).line(),
        measured: measured(shape::seconds(phase, job) * 1e9),
        lines: job.tally.lines.iter().map(|line| counted(phase, job, line)).collect(),
        errors: errors(context, job),
        cache: phase.cache.as_ref().map(crate::cache::line).unwrap_or_default(),
        replay: job.replay.as_ref().map_or(Vec::new(), |record| crate::replay::lines(record)),
        over: time::over(job),
        workers: job.workers.iter().map(worker).collect(),
        findings: Vec::new(),
        verdict: verdict(job),
        topics: topics(context, index, job),
        passes: String::new(),
        is_pass: false,
    }
}

/// A job that was done more than once, as the medians of its passes; its latencies are those of all of them.
pub fn together(context: &Context, index: usize, passes: &Passes<'_>) -> Job {
    let (phase, first) = passes.result[0];
    let place: Vec<String> = phase.coordinates.iter().map(ToString::to_string).collect();
    let count = match passes.result.len() {
        count if count == passes.made => format!("median of {count} passes"),
        count => format!("median of the last {count} of {} passes", passes.made),
    };
    let mut wrong: Vec<String> = Vec::new();
    for error in passes.result.iter().flat_map(|(_, job)| errors(context, job)) {
        if !wrong.contains(&error) {
            wrong.push(error);
        }
    }
    let caches = passes.result.iter().filter_map(|(phase, _)| phase.cache.as_ref());
    let most_cached = caches.max_by(|a, b| a.percent().unwrap_or(0.0).total_cmp(&b.percent().unwrap_or(0.0)));
    let seconds: f64 = passes.result.iter().map(|(phase, job)| shape::seconds(phase, job)).sum();
    Job {
        phase: phase.name.clone(),
        name: first.name.clone(),
        place: place.join(" · "),
        index,
        shape: context.shape(phase, first).line(),
        measured: format!("{} in all", measured(seconds * 1e9)),
        lines: passes.together().iter().map(median).collect(),
        errors: wrong,
        cache: most_cached.map(crate::cache::line).unwrap_or_default(),
        passes: count,
        ..Job::default()
    }
}

/// What passes counted under a label, as their medians.
fn median(found: &Together) -> CountedLine {
    let (rate, bytes) = (found.rate.median, found.bytes.map(|bytes| bytes.median));
    // The best is told in the unit that the figure is usually told in.
    let best = match found.bytes {
        Some(bytes) => format!("{} MB/s", number::mb(bytes.most)),
        None => format!("{} per second", number::iops(found.rate.most)),
    };
    let range = found.rate.range_percent().map_or_else(|| number::NONE.into(), number::percent);
    CountedLine {
        label: found.label.clone(),
        kind: kind(found.verb.kind()),
        operations: number::thousands(found.operations),
        rate: Short(rate),
        rate_text: number::iops(rate),
        lead: lead(found.verb, rate, bytes),
        bytes: Short::of(bytes),
        failed: found.failed,
        range: format!("range {range} · best {best}"),
        latency: latency(&found.latency),
        service: None,
    }
}

/// Operations of this size and more are read as bandwidth, bytes.
const BANDWIDTH_BYTES: f64 = 65_536.0;
/// Messages of this size and more are read as a stream, bytes.
const STREAM_BYTES: f64 = 1024.0;

/// What is looked for first: Gbit/s of a stream over a network, its transactions, MB/s of large operations, else operations
/// per second.
fn lead(verb: Verb, rate: f64, bytes: Option<f64>) -> [String; 3] {
    let each = bytes.map_or(0.0, |bytes| bytes / rate.max(f64::MIN_POSITIVE));
    let operations =
        || format!("{} {}", number::iops(rate), if verb.moves_data() { "IOPS" } else { "per second" });
    match bytes {
        Some(bytes) if matches!(verb, Verb::Send | Verb::Recv) && each >= STREAM_BYTES => {
            let (bits, unit) = match bytes * 8.0 {
                bits if bits < 1e9 => (bits / 1e6, "Mbit/s"),
                bits => (bits / 1e9, "Gbit/s"),
            };
            let messages = format!("{} · {} messages per second", both_units(bytes), number::iops(rate));
            [number::significant(bits), unit.into(), messages]
        }
        Some(bytes) if each >= BANDWIDTH_BYTES => {
            [number::mb(bytes), "MB/s".into(), format!("{} MiB/s · {}", number::mib(bytes), operations())]
        }
        _ => {
            let unit = match verb {
                Verb::Exchange => "transactions per second",
                Verb::Send | Verb::Recv => "messages per second",
                _ if bytes.is_some() => "IOPS",
                _ => "per second",
            };
            [number::iops(rate), unit.into(), bytes.map_or_else(String::new, both_units)]
        }
    }
}

fn both_units(bytes: f64) -> String {
    format!("{} MB/s · {} MiB/s", number::mb(bytes), number::mib(bytes))
}

/// A time as text; of long ones nobody wants the seconds alone.
fn measured(ns: f64) -> String {
    if ns < 120e9 { number::latency(ns) } else { number::wait(ns as u64) }
}

/// Whether a finding concerns a job of a phase.
pub fn concerns(finding: &Finding, phase: &PhaseRecord, job: &JobRecord) -> bool {
    let here = finding.phase.is_empty() || finding.phase == phase.name;
    here && finding.job.as_ref().is_none_or(|name| *name == job.name)
}

/// The word for how much a finding spoils.
pub fn severity(severity: Severity) -> &'static str {
    match severity {
        Severity::Note => "note",
        Severity::Doubtful => "doubtful",
        Severity::Invalid => "invalid",
    }
}

fn counted(phase: &PhaseRecord, job: &JobRecord, line: &Line) -> CountedLine {
    let rate = shape::per_second(line.operations, phase, job);
    let bytes = (line.bytes > 0).then(|| shape::per_second(line.bytes, phase, job));
    CountedLine {
        label: line.label.clone(),
        kind: kind(line.verb.kind()),
        operations: number::thousands(line.operations),
        rate: Short(rate),
        rate_text: number::iops(rate),
        lead: lead(line.verb, rate, bytes),
        bytes: Short::of(bytes),
        failed: line.failed,
        range: String::new(),
        latency: latency(&line.latency),
        service: line.service.as_ref().and_then(latency),
    }
}

pub fn kind(kind: Kind) -> &'static str {
    match kind {
        Kind::Read => "read",
        Kind::Write => "write",
        Kind::Trim => "trim",
        _ => "other",
    }
}

fn latency(histogram: &Histogram) -> Option<Latency> {
    if histogram.is_empty() {
        return None;
    }
    let mut figures = vec![
        ("mean".to_string(), number::latency(histogram.mean())),
        ("min".to_string(), number::latency(histogram.min as f64)),
    ];
    figures.extend(
        PERCENTS.iter().map(|percent| (format!("p{percent}"), number::percentile_text(histogram, *percent))),
    );
    figures.push(("max".into(), number::latency(histogram.max as f64)));
    figures.push(("samples".into(), number::thousands(histogram.count())));
    Some(Latency { figures, bars: bars(histogram), curve: curve(histogram) })
}

fn bars(histogram: &Histogram) -> Vec<u64> {
    let mut bars: Vec<[u64; 3]> = Vec::new();
    for (bucket, count) in histogram.buckets() {
        let first = *bucket as usize >> BAR_SHIFT << BAR_SHIFT;
        let low = histogram::lower_edge(first);
        match bars.last_mut() {
            Some(bar) if bar[0] == low => bar[2] += count,
            _ => bars.push([
                low,
                histogram::upper_edge(first + (1 << BAR_SHIFT) - 1).saturating_add(1),
                *count,
            ]),
        }
    }
    bars.concat()
}

fn curve(histogram: &Histogram) -> Vec<Short> {
    let upper = (POINTS_TO_A_NINE / 4..6 * POINTS_TO_A_NINE)
        .map(|step| 100.0 - 100.0 * 10f64.powf(-f64::from(step) / f64::from(POINTS_TO_A_NINE)));
    let lower = [0.0, 1.0, 5.0, 10.0, 20.0, 30.0, 40.0];
    let known = lower.into_iter().chain(upper).filter(|percent| histogram.beyond(*percent) > 0);
    let mut points: Vec<Short> =
        known.flat_map(|percent| [nines(percent), Short(histogram.percentile(percent) as f64)]).collect();
    let last = 100.0 - 100.0 / (histogram.count() as f64 + 1.0);
    points.extend([nines(last), Short(histogram.max as f64)]);
    points
}

/// A percentage as the number of its nines: 99 % is 2, 99.9 % is 3.
fn nines(percent: f64) -> Short {
    Short(-(1.0 - percent / 100.0).max(1e-12).log10())
}

fn worker(worker: &iodyno_model::WorkerRecord) -> Worker {
    let seconds = worker.ended_ns.saturating_sub(worker.began_ns) as f64 / 1e9;
    let rate = |count: u64| Short::of((seconds > 0.0).then(|| count as f64 / seconds));
    let share = |ns: u64| Short::of((seconds > 0.0).then(|| ns as f64 / 1e7 / seconds));
    Worker {
        index: worker.index,
        rank: worker.rank,
        rate: rate(worker.operations),
        bytes: rate(worker.bytes),
        span: [Short(worker.began_ns as f64 / 1e9), Short(worker.ended_ns as f64 / 1e9)],
        cpu: [share(worker.user_ns), share(worker.system_ns)],
    }
}

/// Checks that failed and are told one by one.
const CHECKS_MOST: usize = 50;

/// How a job's cases ended, in one sentence; none: it had none.
fn verdict(job: &JobRecord) -> Option<String> {
    let cases = match job.cases.len() {
        1 => "1 case".into(),
        count => format!("{} cases", number::thousands(count as u64)),
    };
    let all = job.cases.iter().fold(Topic::default(), |all, case| all.with(case));
    let [passed, failed] = [all.passed, all.failed].map(number::thousands);
    let left_out = match all.not_applicable + all.not_run {
        0 => String::new(),
        count => format!(", {} not applicable or not run", number::thousands(count)),
    };
    let text = format!("{passed} checks passed, {failed} failed{left_out}, in {cases}");
    (!job.cases.is_empty()).then_some(text)
}

/// A group of cases, and how its checks ended.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Topic {
    pub name: String,
    pub passed: u64,
    pub failed: u64,
    /// Checks of what the file system does not have.
    pub not_applicable: u64,
    /// Checks that were left out or could not run.
    pub not_run: u64,
    /// Why checks were not applicable or not run, each reason once.
    pub reasons: Vec<String>,
}

impl Topic {
    fn with(mut self, case: &CaseRecord) -> Topic {
        self.passed += u64::from(case.passed);
        for verdict in &case.verdicts {
            let (count, reason) = match &verdict.outcome {
                Outcome::Fail => (&mut self.failed, ""),
                Outcome::NotApplicable(reason) => (&mut self.not_applicable, reason.as_str()),
                Outcome::Skip(reason) | Outcome::CouldNotRun(reason) | Outcome::TimedOut(reason) => {
                    (&mut self.not_run, reason.as_str())
                }
            };
            *count += 1;
            if !reason.is_empty() && !self.reasons.iter().any(|known| known == reason) {
                self.reasons.push(reason.to_string());
            }
        }
        self
    }
}

/// The groups of a job's cases, in their order.
fn topics(context: &Context, index: usize, job: &JobRecord) -> Vec<Topic> {
    let jobs = context.started.as_ref().and_then(|started| started.plan.phases.get(index));
    let planned = jobs.and_then(|phase| phase.jobs.iter().find(|planned| planned.name == job.name));
    let Some(Workload::Cases(cases)) = planned.map(|planned| &planned.workload) else { return Vec::new() };
    let mut topics: Vec<Topic> = Vec::new();
    for record in &job.cases {
        let Some(case) = cases.cases.get(record.case) else { continue };
        let at = topics.iter().position(|topic| topic.name == case.group).unwrap_or_else(|| {
            topics.push(Topic { name: case.group.clone(), ..Topic::default() });
            topics.len() - 1
        });
        topics[at] = std::mem::take(&mut topics[at]).with(record);
    }
    topics
}

/// What went wrong in a job, a sentence each.
fn errors(context: &Context, job: &JobRecord) -> Vec<String> {
    let failed = |verdict: &&Verdict| verdict.outcome == Outcome::Fail;
    let sentence =
        |verdict: &Verdict| format!("{}: expected {}, got {}", verdict.call, verdict.expected, verdict.got);
    let checks = job.cases.iter().flat_map(|case| &case.verdicts).filter(failed).map(sentence);
    native::errors(job, context).into_iter().chain(checks.take(CHECKS_MOST)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn histogram() -> Histogram {
        let mut histogram = Histogram::default();
        (1..=10_000u64).for_each(|value| histogram.add(value * 100));
        histogram
    }

    #[test]
    fn the_figure_that_is_looked_for_first_leads() {
        let leads = |verb, rate, bytes| lead(verb, rate, bytes).join(" | ");
        assert_eq!(
            leads(Verb::Send, 1e4, Some(1.25e9)),
            "10.0 | Gbit/s | 1,250 MB/s · 1,192 MiB/s · 10,000 messages per second"
        );
        assert_eq!(
            leads(Verb::Recv, 100.0, Some(125e3)),
            "1.00 | Mbit/s | 0.12 MB/s · 0.12 MiB/s · 100 messages per second"
        );
        // Round trips of one byte are counted, not weighed.
        assert_eq!(
            leads(Verb::Send, 1e4, Some(1e4)),
            "10,000 | messages per second | 0.01 MB/s · 0.01 MiB/s"
        );
        assert_eq!(
            leads(Verb::Exchange, 1e4, Some(2e4)),
            "10,000 | transactions per second | 0.02 MB/s · 0.02 MiB/s"
        );
        assert_eq!(leads(Verb::Write, 1e3, Some(1048576e3)), "1,049 | MB/s | 1,000 MiB/s · 1,000 IOPS");
        assert_eq!(leads(Verb::Read, 1e4, Some(4096e4)), "10,000 | IOPS | 41.0 MB/s · 39.1 MiB/s");
        assert_eq!(leads(Verb::Stat, 10.0, None), "10.0 | per second | ");
    }

    #[test]
    fn what_does_not_apply_has_not_failed() {
        let verdict = |outcome| Verdict { outcome, ..Verdict::default() };
        let no_acl = || Outcome::NotApplicable("no ACLs".into());
        let verdicts = vec![verdict(Outcome::Fail), verdict(no_acl()), verdict(no_acl())];
        let case = CaseRecord { checks: 5, passed: 2, verdicts, ..CaseRecord::default() };
        let topic = Topic::default().with(&case);
        assert_eq!((topic.passed, topic.failed, topic.not_applicable, topic.not_run), (2, 1, 2, 0));
        assert_eq!(topic.reasons, ["no ACLs"]);
        let job = JobRecord { cases: vec![case], ..JobRecord::default() };
        let text = super::verdict(&job);
        assert_eq!(
            text.as_deref(),
            Some("2 checks passed, 1 failed, 2 not applicable or not run, in 1 case")
        );
    }

    #[test]
    fn bars_count_everything_once_and_do_not_overlap() {
        let bars = bars(&histogram());
        assert_eq!(bars.chunks(3).map(|bar| bar[2]).sum::<u64>(), 10_000);
        assert!(bars.chunks(3).zip(bars.chunks(3).skip(1)).all(|(a, b)| a[1] <= b[0]));
        assert!(bars.len() < 3 * 150, "{}", bars.len());
    }

    #[test]
    fn the_curve_rises_in_nines_to_the_largest() {
        let curve = curve(&histogram());
        let points: Vec<(f64, f64)> = curve.chunks(2).map(|point| (point[0].0, point[1].0)).collect();
        assert!(points.windows(2).all(|pair| pair[0].0 < pair[1].0 && pair[0].1 <= pair[1].1), "{points:?}");
        assert_eq!(points.last().unwrap().1, 1_000_000.0);
        let two_nines = points.iter().find(|point| (point.0 - 2.0).abs() < 1e-6).unwrap();
        assert!((two_nines.1 - 990_000.0).abs() / 990_000.0 < 0.005);
    }

    #[test]
    fn a_percentile_that_rests_on_nothing_is_no_number() {
        let figures = latency(&histogram()).unwrap().figures;
        let of = |name: &str| figures.iter().find(|(known, _)| known == name).unwrap().1.clone();
        assert_eq!((of("p99.9").as_str() != number::NONE, of("p99.99").as_str()), (true, number::NONE));
    }
}
