//! Demands: `read.p99 > 5ms` fails the run. What is wrong with them before it, and what became of them after it.
//!
//! A demand names a quantity, of every job or of one phase or job, and a limit; it is held against each job that has the
//! quantity (against the median of its passes) and the worst is reported. Refuses to pass what it cannot find.

use iodyno_model::{
    Action, DemandRecord, Diagnostic, Histogram, JobRecord, Origin, PhaseRecord, Plan, Record, Severity,
    Step, Verb, Workload, units,
};

use crate::case;
use crate::quantity::{KINDS, Measure, OperationSet, Quantity};
use crate::samples::LEAST_BEYOND;
use crate::statistics::{Difference, median};

/// How a value is held against a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relation {
    /// `<`
    Below,
    /// `<=`
    AtMost,
    /// `>`
    Above,
    /// `>=`
    AtLeast,
    /// `==`
    Equal,
    /// `!=`
    Other,
}

/// The longer ones come first, as the shorter ones begin like them.
const RELATIONS: [(&str, Relation); 7] = [
    ("<=", Relation::AtMost),
    (">=", Relation::AtLeast),
    ("==", Relation::Equal),
    ("!=", Relation::Other),
    ("<", Relation::Below),
    (">", Relation::Above),
    ("=", Relation::Equal),
];

impl Relation {
    /// Whether a value is so to a limit.
    pub fn holds(self, value: f64, limit: f64) -> bool {
        match self {
            Relation::Below => value < limit,
            Relation::AtMost => value <= limit,
            Relation::Above => value > limit,
            Relation::AtLeast => value >= limit,
            Relation::Equal => value == limit,
            Relation::Other => value != limit,
        }
    }

    /// The value that is nearest to holding, or furthest beyond it.
    fn worst(self, a: f64, b: f64, limit: f64) -> bool {
        match self {
            Relation::Below | Relation::AtMost => b < a,
            Relation::Above | Relation::AtLeast => b > a,
            _ => self.holds(b, limit) && !self.holds(a, limit),
        }
    }
}

/// What the run as a whole has.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Subject {
    /// A quantity of jobs.
    Job(Measure),
    /// Findings that make a figure doubtful or invalid.
    Findings,
    /// Findings that make a figure invalid.
    Invalid,
}

/// A limit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Bound {
    /// In the quantity's own unit.
    Value(f64),
    /// Of a comparison: a change in percent of the first side.
    Change(f64),
}

/// A demand, understood.
#[derive(Clone, Debug, PartialEq)]
pub struct Condition {
    /// Of what: a kind of operation, a phase, a job, both; empty: everything.
    pub place: String,
    pub subject: Subject,
    pub relation: Relation,
    /// Against what.
    pub bound: Bound,
}

const EXAMPLE: &str = "write it like `read.p99 > 5ms`, `write.iops < 6000` or `errors > 0`";

/// The condition that a text says.
///
/// # Errors
/// What is wrong with it, and a hint.
pub fn parse(text: &str) -> Result<Condition, (String, String)> {
    let wrong = |what: String, hint: &str| Err((what, hint.to_string()));
    let found = RELATIONS.iter().filter_map(|(sign, relation)| Some((text.find(sign)?, sign, relation)));
    let Some((at, sign, relation)) = found.min_by_key(|(at, sign, _)| (*at, 2 - sign.len())) else {
        return wrong("no `<` or `>` in it".into(), EXAMPLE);
    };
    let (left, right) = (text[..at].trim(), text[at + sign.len()..].trim());
    let Some((place, subject)) = subject(left) else {
        let word = left.rsplit('.').next().unwrap_or(left);
        return wrong(
            format!("`{word}` is no quantity"),
            &format!(
                "a quantity, or PLACE.QUANTITY as in `read.p99`: {}, findings, invalid",
                Measure::words()
            ),
        );
    };
    let unit = if let Subject::Job(measure) = subject { measure.unit() } else { "" };
    let bound = bound(right, unit).map_err(|what| (what, EXAMPLE.to_string()))?;
    Ok(Condition { place: place.into(), subject, relation: *relation, bound })
}

/// The place and the quantity: percentiles have a dot of their own.
fn subject(text: &str) -> Option<(&str, Subject)> {
    let named = |word: &str| match word {
        "findings" => Some(Subject::Findings),
        "invalid" => Some(Subject::Invalid),
        word => Measure::named(word).map(Subject::Job),
    };
    if let Some(subject) = named(text) {
        return Some(("", subject));
    }
    let dots = text.match_indices('.').map(|(at, _)| at);
    dots.into_iter().find_map(|at| Some((&text[..at], named(&text[at + 1..])?)))
}

/// A limit in a quantity's unit, or a change in percent.
fn bound(text: &str, unit: &str) -> Result<Bound, String> {
    let plain = |text: &str| text.trim().parse::<f64>().ok().filter(|number| number.is_finite());
    if let Some(percent) = text.strip_suffix('%') {
        let change = plain(percent).ok_or_else(|| format!("`{text}` is no percentage"))?;
        return Ok(Bound::Change(change));
    }
    let value = match unit {
        "ns" => {
            if plain(text).is_some_and(|number| number != 0.0) {
                return Err(format!("`{text}`: a time needs its unit, such as 5ms or 250us"));
            }
            units::parse_ns(text).ok().map(|ns| ns as f64)
        }
        "bytes" | "bytes/s" => units::parse_bytes(text.trim_end_matches("/s").trim()).ok().map(|n| n as f64),
        _ => count(text.trim_end_matches("/s").trim()),
    };
    value.map(Bound::Value).ok_or_else(|| match unit {
        "ns" => format!("`{text}` is no time"),
        "bytes" | "bytes/s" => format!("`{text}` is no size"),
        _ => format!("`{text}` is no number"),
    })
}

/// A number with a decimal suffix: `6000`, `6k`, `1.5M`.
fn count(text: &str) -> Option<f64> {
    let factor = match text.chars().last()? {
        'k' | 'K' => 1e3,
        'm' | 'M' => 1e6,
        'g' | 'G' => 1e9,
        _ => return text.parse().ok().filter(|number: &f64| number.is_finite()),
    };
    text[..text.len() - 1].trim().parse::<f64>().ok().map(|number| number * factor)
}

/// Where a condition looks.
#[derive(Clone, Debug, PartialEq)]
pub struct Scope {
    /// A phase's name, a job's, or `phase.job`; none: everywhere.
    pub place: Option<String>,
    pub what: OperationSet,
}

impl Condition {
    /// Where it looks, given the names there are; `None`: there is nothing of that name.
    pub fn scope(&self, places: &[String], labels: &[String]) -> Option<Scope> {
        let is_what = |word: &str| {
            ["all", "total"].contains(&word)
                || KINDS.iter().any(|(name, _)| *name == word)
                || Verb::named(word).is_some()
                || labels.iter().any(|label| label == word)
        };
        let has = |place: &str| places.iter().any(|known| known == place);
        let whole = self.place.as_str();
        if whole.is_empty() || is_what(whole) {
            return Some(Scope { place: None, what: OperationSet::named(whole) });
        }
        if has(whole) {
            return Some(Scope { place: Some(whole.into()), what: OperationSet::All });
        }
        let dots: Vec<usize> = whole.match_indices('.').map(|(at, _)| at).collect();
        dots.into_iter().find_map(|at| {
            let (place, word) = (&whole[..at], &whole[at + 1..]);
            (has(place) && is_what(word))
                .then(|| Scope { place: Some(place.into()), what: OperationSet::named(word) })
        })
    }

    /// Whether a comparison fails for it: the change is beyond the limit, and there truly is one.
    pub fn fails(&self, difference: &Difference) -> bool {
        let Bound::Change(limit) = self.bound else { return false };
        difference.is_real() && self.relation.holds(difference.percent, limit)
    }
}

impl Scope {
    /// Whether it looks at a job.
    pub fn has(&self, phase: &str, job: &str) -> bool {
        let Some(place) = &self.place else { return true };
        place == phase
            || place == job
            || place.strip_prefix(phase).is_some_and(|rest| rest == format!(".{job}"))
    }
}

/// What is wrong with a plan's demands.
pub fn check(plan: &Plan) -> Vec<Diagnostic> {
    let (places, labels) = names(plan);
    let check = |text: &str, origin: &Origin| {
        let told = |(what, hint): (String, String)| {
            Diagnostic::error(origin, format!("`{text}`: {what}")).hint(hint)
        };
        let condition = parse(text).map_err(told)?;
        if let Bound::Change(_) = condition.bound {
            let what = "a change needs two runs".to_string();
            return Err(told((what, "percentages are for `iodyno compare`; name a value".into())));
        }
        if condition.scope(&places, &labels).is_none() {
            let what = format!("there is no phase, job or operation `{}`", condition.place);
            return Err(told((what, format!("there are read, write, …, and {}", places.join(", ")))));
        }
        Ok(())
    };
    plan.demands.iter().filter_map(|demand| check(&demand.text, &demand.origin).err()).collect()
}

/// The names of phases and jobs, and the labels of steps.
fn names(plan: &Plan) -> (Vec<String>, Vec<String>) {
    let (mut places, mut labels) = (Vec::new(), Vec::new());
    for phase in &plan.phases {
        places.push(phase.name.clone());
        for job in &phase.jobs {
            places.push(job.name.clone());
            places.push(format!("{}.{}", phase.name, job.name));
            if let Workload::Script(script) = &job.workload {
                script.steps.iter().for_each(|step| step_labels(step, &mut labels));
            }
        }
    }
    let mut seen = std::collections::HashSet::new();
    places.retain(|place| seen.insert(place.clone()));
    (places, labels)
}

fn step_labels(step: &Step, labels: &mut Vec<String>) {
    labels.push(step.label.clone());
    if let Action::Block(steps) = &step.action {
        steps.iter().for_each(|step| step_labels(step, labels));
    }
}

/// What became of a plan's demands. The record has its findings already.
pub fn judge(plan: &Plan, record: &Record) -> Vec<DemandRecord> {
    let (places, mut labels) = names(plan);
    let jobs = record.phases.iter().flat_map(|phase| &phase.jobs);
    labels.extend(jobs.flat_map(|job| &job.tally.lines).map(|line| line.label.clone()));
    let judged = plan.demands.iter().map(|demand| {
        let missing = DemandRecord { text: demand.text.clone(), failed: true, ..DemandRecord::default() };
        let Ok(condition) = parse(&demand.text) else { return missing };
        let Bound::Value(limit) = condition.bound else { return missing };
        let Some(scope) = condition.scope(&places, &labels) else { return missing };
        let (unit, worst) = match condition.subject {
            Subject::Job(measure) => (measure.unit(), worst(record, &condition, &scope, measure, limit)),
            Subject::Findings => ("", Some((String::new(), findings(record, Severity::Doubtful)))),
            Subject::Invalid => ("", Some((String::new(), findings(record, Severity::Invalid)))),
        };
        let Some((place, found)) = worst else {
            return DemandRecord { unit: unit.into(), place: self::missing(&condition), ..missing };
        };
        let failed = condition.relation.holds(found, limit);
        DemandRecord { text: demand.text.clone(), place, found: Some(found), unit: unit.into(), failed }
    });
    judged.collect()
}

fn findings(record: &Record, least: Severity) -> f64 {
    record.findings.iter().filter(|finding| finding.severity >= least).count() as f64
}

/// The job that is worst off, and its value.
fn worst(
    record: &Record,
    condition: &Condition,
    scope: &Scope,
    measure: Measure,
    limit: f64,
) -> Option<(String, f64)> {
    let quantity = Quantity::new(scope.what.clone(), measure);
    let mut groups: Vec<(String, Vec<(&PhaseRecord, &JobRecord)>)> = Vec::new();
    for (phase, job) in jobs(record).filter(|(phase, job)| scope.has(&phase.name, &job.name)) {
        let place = place(phase, job);
        match groups.iter_mut().find(|(known, _)| *known == place) {
            Some((_, passes)) => passes.push((phase, job)),
            None => groups.push((place, vec![(phase, job)])),
        }
    }
    if let Measure::Percentile(percent) = measure {
        let mut worst: Option<(String, f64)> = None;
        for (place, passes) in groups {
            let samples: Vec<Histogram> = passes.iter().map(|(_, job)| quantity.latency(job)).collect();
            let samples: Vec<Histogram> = samples.into_iter().filter(|pass| !pass.is_empty()).collect();
            if samples.is_empty() {
                continue;
            }
            // One job that cannot be judged leaves nothing that is kept.
            let found = match percentile(&samples, percent) {
                Some(found) => (place, found),
                None => kept_by_all(condition, limit, &samples, &place, percent)?,
            };
            worst = match worst {
                Some(known) if !condition.relation.worst(known.1, found.1, limit) => Some(known),
                _ => Some(found),
            };
        }
        return worst;
    }
    let value = |(phase, job): &(&PhaseRecord, &JobRecord)| quantity.of(phase, job);
    let of_passes = |values: &[f64]| match measure {
        // One pass that failed is one too many.
        Measure::Errors | Measure::Most => values.iter().copied().reduce(f64::max),
        Measure::Worst | Measure::Least => values.iter().copied().reduce(f64::min),
        _ => median(values),
    };
    let values = groups.iter().filter_map(|(place, passes)| {
        Some((place.clone(), of_passes(&passes.iter().filter_map(value).collect::<Vec<f64>>())?))
    });
    values.reduce(|a, b| if condition.relation.worst(a.1, b.1, limit) { b } else { a })
}

/// A percentile of a job's passes, as reports show it: the median of those that enough samples lie beyond, or that of all
/// samples together; none: too few samples for any.
fn percentile(passes: &[Histogram], percent: f64) -> Option<f64> {
    let is_known = |samples: &Histogram| samples.beyond(percent) >= LEAST_BEYOND;
    if passes.iter().all(is_known) {
        return median(
            &passes.iter().map(|samples| samples.percentile(percent) as f64).collect::<Vec<f64>>(),
        );
    }
    let mut all = Histogram::default();
    passes.iter().for_each(|samples| all.merge(samples));
    is_known(&all).then(|| all.percentile(percent) as f64)
}

/// The longest of too few samples, where even that is not what the condition forbids: so is no percentile of them.
fn kept_by_all(
    condition: &Condition,
    limit: f64,
    passes: &[Histogram],
    place: &str,
    percent: f64,
) -> Option<(String, f64)> {
    let longest = passes.iter().map(|samples| samples.max).max()? as f64;
    let rises = matches!(condition.relation, Relation::Above | Relation::AtLeast);
    let place = format!("{place}, the longest: too few samples for p{percent}");
    (rises && !condition.relation.holds(longest, limit)).then_some((place, longest))
}

/// Why there is nothing to hold a condition against.
fn missing(condition: &Condition) -> String {
    match condition.subject {
        Subject::Job(Measure::Percentile(percent)) => {
            format!("no p{percent} that {LEAST_BEYOND} samples lie beyond")
        }
        _ => String::new(),
    }
}

fn jobs(record: &Record) -> impl Iterator<Item = (&PhaseRecord, &JobRecord)> {
    record.phases.iter().flat_map(|phase| phase.jobs.iter().map(move |job| (phase, job)))
}

/// The phase with its place in a sweep, and the job where it is named differently.
fn place(phase: &PhaseRecord, job: &JobRecord) -> String {
    let label = case::label(phase);
    if job.name == phase.name { label } else { format!("{label}, {}", job.name) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iodyno_model::{Demand, Job, Line, Pattern, Phase, Pick};

    fn plan(demands: &[&str]) -> Plan {
        let pattern = Pattern::of(Verb::Read, Pick::Uniform, 4096);
        let job =
            |name: &str| Job::new(name, "null", Vec::new(), Workload::Pattern(Box::new(pattern.clone())));
        let phase = Phase { name: "p.1".into(), jobs: vec![job("a"), job("b")], ..Phase::default() };
        let demand = |text: &&str| Demand { text: text.to_string(), origin: Origin::argument("--fail-if") };
        Plan { phases: vec![phase], demands: demands.iter().map(demand).collect(), ..Plan::default() }
    }

    /// Two jobs: `a` reads at 100/s in 1 ms, `b` at 200/s in 2 ms.
    fn record() -> Record {
        let job = |name: &str, operations: u64, latency_ns: u64| {
            let mut line = Line::empty("read", Verb::Read);
            (line.operations, line.bytes) = (operations, operations * 4096);
            (0..operations).for_each(|_| line.latency.add(latency_ns));
            let mut job = JobRecord { name: name.into(), ..JobRecord::default() };
            job.tally.lines.push(line);
            job.tally.last_done_ns = 10_000_000_000;
            job
        };
        let jobs = vec![job("a", 1000, 1_000_000), job("b", 2000, 2_000_000)];
        let phase = PhaseRecord { name: "p.1".into(), jobs, ..PhaseRecord::default() };
        Record { phases: vec![phase], ..Record::default() }
    }

    fn judged(text: &str) -> (bool, Option<f64>, String) {
        let plan = plan(&[text]);
        assert_eq!(check(&plan), [], "{text}");
        let found = judge(&plan, &record()).remove(0);
        (found.failed, found.found, found.place)
    }

    #[test]
    fn the_worst_job_counts() {
        assert_eq!(judged("read.iops < 150"), (true, Some(100.0), "p.1, a".into()));
        assert_eq!(judged("read.iops<100"), (false, Some(100.0), "p.1, a".into()));
        assert_eq!(judged("iops > 0.15k"), (true, Some(200.0), "p.1, b".into()));
        assert!(judged("read.p99.9 > 1.5ms").0 && !judged("a.read.p99.9 > 1.5ms").0);
        assert!(judged("p.1.b.p99>=1999us").0 && !judged("p.1.a.max >= 1999us").0);
        assert!(!judged("bw < 400kB/s").0 && judged("bandwidth < 401KiB/s").0 && judged("b.bw > 0.7MB").0);
        assert!(!judged("errors > 0").0 && !judged("findings > 0").0 && judged("operations != 1000").0);
        assert_eq!(judged("write.iops < 5"), (true, None, String::new()), "there is none to hold it against");
    }

    #[test]
    fn a_percentile_that_no_report_shows_is_none() {
        // `a` has 1,000 samples: ten lie beyond p99, one beyond p99.9.
        let (failed, found, _) = judged("a.p99 > 5ms");
        assert!(!failed && found.is_some());
        let (failed, found, place) = judged("a.p99.9 > 500us");
        assert_eq!((failed, found, place.as_str()), (true, None, "no p99.9 that 10 samples lie beyond"));
        // Not one of them took so long.
        let (failed, found, place) = judged("a.p99.9 > 5ms");
        assert!(!failed && found == Some(1e6) && place.contains("the longest"), "{found:?}, {place}");
        // Ten passes of it have enough together.
        let mut record = record();
        let pass = record.phases[0].clone();
        record.phases.extend(std::iter::repeat_n(pass, 9));
        let found = judge(&plan(&["a.p99.9 > 5ms"]), &record).remove(0);
        assert!(!found.failed && found.found.is_some(), "{found:?}");
    }

    #[test]
    fn what_cannot_be_understood_is_said_before_the_run() {
        for (text, message) in [
            ("read.p99", "no `<` or `>` in it"),
            ("read.p99 > 5", "a time needs its unit"),
            ("read.speed > 5", "`speed` is no quantity"),
            ("read.p101 > 5ms", "`p101` is no quantity"),
            ("read.iops > many", "`many` is no number"),
            ("nobody.iops > 5", "no phase, job or operation `nobody`"),
            ("read.iops > +5%", "a change needs two runs"),
            ("", "no `<`"),
            (">", "is no quantity"),
        ] {
            let wrong = check(&plan(&[text]));
            let [wrong] = wrong.as_slice() else { panic!("{text}: {wrong:?}") };
            assert!(wrong.message.contains(message) && wrong.hint.is_some(), "{wrong}");
        }
        // Somebody who names a cell alone is told where the quantity goes.
        let cell = &check(&plan(&["SEQ1M Q8T1 read < 5"]))[0];
        assert!(cell.hint.as_ref().is_some_and(|hint| hint.contains("PLACE.QUANTITY as in")), "{cell}");
    }

    #[test]
    fn changes_are_for_comparisons() {
        let condition = parse("read.p99 > +5%").unwrap();
        assert_eq!((condition.bound, condition.relation), (Bound::Change(5.0), Relation::Above));
        let difference = crate::statistics::welch(&[1.0, 1.01, 1.02], &[1.2, 1.21, 1.22], 95.0).unwrap();
        assert!(condition.fails(&difference) && !parse("read.p99 > 50%").unwrap().fails(&difference));
        assert!(!parse("read.p99 < -5%").unwrap().fails(&difference));
    }

    #[test]
    fn passes_are_judged_by_their_median() {
        let mut record = record();
        let mut slow = record.phases[0].clone();
        slow.jobs[0].tally.last_done_ns *= 10;
        record.phases.extend([record.phases[0].clone(), slow]);
        let found = judge(&plan(&["a.iops < 50"]), &record).remove(0);
        assert_eq!((found.failed, found.found), (false, Some(100.0)));
    }
}
