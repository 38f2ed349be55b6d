//! `iodyno compare A B [C…]`: compare runs, with confidence intervals.
//!
//! The first is what the others are held against. A side is a run of the history, a file of another tool, or several of
//! them with commas between, which are then passes of one thing. Exit status: 0; 1 a demand was not kept; 2 the command
//! is wrong.

use clap::Parser;
use iodyno_dialect::{date, native};
use iodyno_engine::world::World;
use iodyno_history::History;
use iodyno_model::{
    DemandRecord, Diagnostic, Finding, JobRecord, Origin, Phase, PhaseRecord, Record, RunStart, Severity,
};
use iodyno_report::comparison::Comparison;
use iodyno_report::plan_diff::{self, contrasts, is_declared};
use iodyno_truth::compare::{Pair, QuantityPair, pairs};
use iodyno_truth::demand::{self, Bound, Condition, Subject};
use iodyno_truth::quantity::Quantity;
use iodyno_truth::statistics::{Difference, chance, median, paired};
use serde_json::json;

use crate::archive;
use crate::crash;
use crate::interleave;
use crate::prior_runs;
use crate::runs::{ended, foreign, one, paint, parsed, print};

#[derive(Parser)]
#[command(name = "iodyno compare", about = "Compare runs, with confidence intervals", disable_version_flag = true,
    after_help = AFTER)]
pub struct CompareArgs {
    /// Runs: numbers, tags, `last`, or JSON files of fio, IOR or iperf3; with commas: passes of one side
    #[arg(required = true, num_args = 2.., value_name = "RUN")]
    pub runs: Vec<String>,
    /// Run two plan files, or the plans of two kept runs, in turns: A B A B …
    #[arg(long)]
    pub interleave: bool,
    /// How many times each, with --interleave
    #[arg(short = 'n', long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(2..))]
    pub times: u32,
    /// Expected differences, comma-separated: kernel, depth, scheduler, …, or all
    #[arg(long, value_name = "WHAT", value_delimiter = ',')]
    pub across: Vec<String>,
    /// Fail if this condition holds: 'read.p99 > +5%', 'write.iops < -3%', 'read.p99 > 5ms'; repeatable
    #[arg(long, value_name = "CONDITION")]
    pub fail_if: Vec<String>,
    /// Joint confidence of all intervals, percent
    #[arg(long, value_name = "PERCENT", default_value_t = 95.0, value_parser = confidence)]
    pub confidence: f64,
    /// Differences up to this count as equal, percent
    #[arg(long, value_name = "PERCENT", default_value_t = 10.0, value_parser = margin)]
    pub margin: f64,
    /// As JSON
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub keep: native::KeepArguments,
}

const AFTER: &str = "What it prints is explained in docs/history.md. Runs in which something else was done, or on something \
else, are not comparable, and it says why; --across declares what was meant to differ.";

fn confidence(text: &str) -> Result<f64, String> {
    let percent = text.trim_end_matches('%').parse::<f64>().ok();
    percent.filter(|percent| (50.0..100.0).contains(percent)).ok_or_else(|| "expected 50 to 99.99".into())
}

fn margin(text: &str) -> Result<f64, String> {
    let percent = text.trim_end_matches('%').parse::<f64>().ok();
    percent
        .filter(|percent| *percent > 0.0 && *percent < 100.0)
        .ok_or_else(|| "expected above 0, below 100".into())
}

/// One side: a run, or several of the same.
#[derive(Clone, Default)]
pub struct ComparedRuns {
    /// What it is called.
    pub name: String,
    /// A line about it.
    pub about: String,
    /// Its runs.
    pub runs: Vec<(RunStart, Record)>,
    /// Their numbers, of those that are kept.
    pub ids: Vec<i64>,
}

/// Does `iodyno compare ARGUMENTS…`; the exit status.
pub fn answer(world: &mut World, arguments: &[String]) -> u8 {
    let words = match parsed::<CompareArgs>("iodyno compare", arguments) {
        Ok(words) => words,
        Err(status) => return status,
    };
    let conditions = match conditions(&words.fail_if) {
        Ok(conditions) => conditions,
        Err(wrong) => return ended(Err(wrong)),
    };
    let sides = match words.interleave {
        true => interleave::sides(world, &words, arguments),
        false => kept(&words.runs).map_err(|wrong| ended(Err(one(wrong)))),
    };
    match sides {
        Ok(sides) => match strange(&words.across, &sides) {
            wrong if wrong.is_empty() => told(&words, &conditions, sides),
            wrong => ended(Err(wrong)),
        },
        Err(status) => status,
    }
}

/// CompareArgs of `--across` that name nothing in which these runs could differ.
fn strange(across: &[String], sides: &[ComparedRuns]) -> Vec<Diagnostic> {
    let run = |side: &ComparedRuns| side.runs.first().cloned();
    let Some(((a, x), others)) = sides.split_first().and_then(|(first, others)| Some((run(first)?, others)))
    else {
        return Vec::new();
    };
    let is_known = |word: &str| {
        others.iter().filter_map(run).any(|(b, y)| plan_diff::is_known(word, (&a, &x), (&b, &y)))
    };
    let wrong = across.iter().filter(|word| !is_known(word)).map(|word| {
        let message = format!("`{word}`: there is nothing of that name that runs could differ in");
        let hint = format!("{}, or any field of a plan; or all", plan_diff::KNOWN.join(", "));
        Diagnostic::error(&Origin::argument("--across"), message).hint(hint)
    });
    wrong.collect()
}

type Conditions = Vec<(String, Condition)>;

fn conditions(texts: &[String]) -> Result<Conditions, Vec<Diagnostic>> {
    let (mut conditions, mut wrong) = (Vec::new(), Vec::new());
    for text in texts {
        match demand::parse(text) {
            Ok(condition) => conditions.push((text.clone(), condition)),
            Err((what, hint)) => wrong.push(
                Diagnostic::error(&Origin::argument("--fail-if"), format!("`{text}`: {what}")).hint(hint),
            ),
        }
    }
    if wrong.is_empty() { Ok(conditions) } else { Err(wrong) }
}

fn kept(references: &[String]) -> Result<Vec<ComparedRuns>, Diagnostic> {
    let mut history = None;
    references.iter().map(|reference| side(reference, &mut history)).collect()
}

/// The runs that a word names.
///
/// # Errors
/// There is no such run or file.
pub fn side(reference: &str, history: &mut Option<History>) -> Result<ComparedRuns, Diagnostic> {
    let mut side = ComparedRuns::default();
    for word in reference.split(',').filter(|word| !word.is_empty()) {
        let (name, about, mut runs, id) = if is_file(word) { file(word)? } else { run(word, history)? };
        side.runs.append(&mut runs);
        side.ids.extend(id);
        match side.name.is_empty() {
            true => (side.name, side.about) = (name, about),
            false => side.name.push_str(&format!(", {name}")),
        }
    }
    match side.runs.is_empty() {
        true => Err(Diagnostic::error(&Origin::argument(reference), "it names no run")
            .hint("name a run by its number, a tag, or as `last`: iodyno runs lists them")),
        false => Ok(side),
    }
}

/// A name with a slash or an ending is a file's where there is one; everything else is a run's.
fn is_file(word: &str) -> bool {
    (word.contains('/') || word.ends_with(".json")) && std::path::Path::new(word).exists()
}

type LoadedRuns = (String, String, Vec<(RunStart, Record)>, Option<i64>);

fn file(path: &str) -> Result<LoadedRuns, Diagnostic> {
    let runs = foreign(path)?;
    let version = runs.first().map_or_else(String::new, |(_, started, _)| started.machine.version.clone());
    let runs = runs.into_iter().map(|(_, started, record)| (started, record)).collect();
    Ok((path.into(), version, runs, None))
}

fn run(reference: &str, history: &mut Option<History>) -> Result<LoadedRuns, Diagnostic> {
    let history = match history {
        Some(history) => history,
        None => history.insert(archive::open()?),
    };
    let kept = history.load(reference)?;
    let entry = &kept.entry;
    let when = date::stamp(entry.began_unix_ns, 0);
    let about = [format!("{when} UTC"), entry.host.clone(), entry.words.join(" "), entry.tags.join(" ")];
    let about = about.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" · ");
    let id = entry.id;
    Ok((format!("run {id}"), about, vec![(kept.started, kept.record)], Some(id)))
}

fn told(words: &CompareArgs, conditions: &Conditions, sides: Vec<ComparedRuns>) -> u8 {
    let tests = sides
        .iter()
        .filter_map(|side| side.runs.first().map(|(start, record)| (side.name.clone(), start, record)));
    if let Some(report) = crash::history::side_by_side(&tests.collect::<Vec<_>>()) {
        return match words.json {
            true => print(&format!("{:#}\n", report.json())),
            false => print(&report.text(paint())),
        };
    }
    let siblings = if words.interleave { Vec::new() } else { known(&sides) };
    let compared = compared_all(words, conditions, &sides, &siblings);
    let failed = compared.iter().any(Comparison::fails);
    let printed = if words.json {
        let all: Vec<_> = compared.iter().map(Comparison::json).collect();
        let document = json!({ "schema": "iodyno.comparison/1", "comparisons": all, "failed": failed });
        print(&(serde_json::to_string_pretty(&document).unwrap_or_default() + "\n"))
    } else {
        let texts: Vec<String> = compared.iter().map(|one| one.text(paint())).collect();
        print(&texts.join("\n"))
    };
    printed.max(u8::from(failed))
}

/// Whether the conditions are ones.
///
/// # Errors
/// Those that are none.
pub fn check(words: &CompareArgs) -> Result<(), Vec<Diagnostic>> {
    conditions(&words.fail_if).map(|_| ())
}

/// The first of some sides with each of the others.
///
/// # Errors
/// What is asked of them does not fit.
pub fn all(words: &CompareArgs, sides: Vec<ComparedRuns>) -> Result<Vec<Comparison>, Vec<Diagnostic>> {
    let conditions = conditions(&words.fail_if)?;
    let wrong = strange(&words.across, &sides);
    if !wrong.is_empty() {
        return Err(wrong);
    }
    let siblings = if words.interleave { Vec::new() } else { known(&sides) };
    Ok(compared_all(words, &conditions, &sides, &siblings))
}

fn compared_all(
    words: &CompareArgs,
    conditions: &Conditions,
    sides: &[ComparedRuns],
    siblings: &[Record],
) -> Vec<Comparison> {
    let Some((first, others)) = sides.split_first() else { return Vec::new() };
    let asking = &Asking { words, siblings: siblings.iter().collect() };
    others.iter().map(|other| comparison(first, other.clone(), asking, conditions)).collect()
}

/// What was asked, and earlier runs of the same.
struct Asking<'a> {
    words: &'a CompareArgs,
    siblings: Vec<&'a Record>,
}

/// Earlier runs of what single runs are held against each other.
fn known(sides: &[ComparedRuns]) -> Vec<Record> {
    let single = sides.iter().all(|side| side.ids.len() == 1 && side.runs.len() == 1);
    let Some(history) = archive::open().ok().filter(|_| single) else { return Vec::new() };
    let compared: Vec<(i64, RunStart, Record)> = sides
        .iter()
        .filter_map(|side| {
            let (started, record) = side.runs.first()?;
            Some((*side.ids.first()?, started.clone(), record.clone()))
        })
        .collect();
    prior_runs::of(&history, &compared)
}

fn comparison(
    first: &ComparedRuns,
    mut other: ComparedRuns,
    asking: &Asking<'_>,
    conditions: &Conditions,
) -> Comparison {
    let words = asking.words;
    align(first, &mut other);
    let all =
        |side: &ComparedRuns| -> Vec<Record> { side.runs.iter().map(|(_, record)| record.clone()).collect() };
    let (before, after) = (all(first), all(&other));
    let (before, after): (Vec<&Record>, Vec<&Record>) = (before.iter().collect(), after.iter().collect());
    let pairs = pairs(&before, &after);
    let each = chance::each_of(words.confidence, pairs.len());
    let figures: Vec<QuantityPair> = pairs.iter().flat_map(|pair| figures(pair, each, asking)).collect();
    let contrasts = match (first.runs.first(), other.runs.first()) {
        (Some((a, x)), Some((b, y))) => contrasts((a, x), (b, y)),
        _ => Vec::new(),
    };
    let (declared, contrasts) =
        contrasts.into_iter().partition(|contrast| is_declared(contrast, &words.across));
    let mut comparison = Comparison {
        names: (first.name.clone(), other.name.clone()),
        about: (first.about.clone(), other.about.clone()),
        contrasts,
        declared,
        findings: (doubts(&before), doubts(&after)),
        figures,
        alone: alone(&before, &after),
        demands: Vec::new(),
        confidence_percent: words.confidence,
        margin_percent: words.margin,
        siblings: asking.siblings.len(),
    };
    let judge = |(text, condition): &(String, Condition)| {
        judged(text, condition, &pairs, &comparison.findings.1, each, asking)
    };
    comparison.demands = conditions.iter().map(judge).collect();
    comparison
}

/// A quantity of a job on both sides. Of pairs that ran in turns, pair by pair; of single runs, with what earlier ones
/// differed.
fn compared(pair: &Pair<'_>, quantity: &Quantity, each: f64, asking: &Asking<'_>) -> Option<QuantityPair> {
    let values = |side: &[(&PhaseRecord, &JobRecord)]| {
        side.iter().filter_map(|(phase, job)| quantity.of(phase, job)).collect::<Vec<f64>>()
    };
    let (before, after) = (values(&pair.before), values(&pair.after));
    let found = pair.difference(quantity, each);
    let turns = paired(&before, &after, each).filter(|_| asking.words.interleave);
    let superiority = found.and_then(|found| found.superiority);
    let turns = turns.map(|turns| Difference { superiority: superiority.or(turns.superiority), ..turns });
    let figure = QuantityPair {
        phase: pair.phase.clone(),
        job: pair.job.clone(),
        quantity: quantity.clone(),
        values: (median(&before)?, median(&after)?),
        difference: turns.or(found),
    };
    Some(prior_runs::settled(figure, &asking.siblings))
}

fn figures(pair: &Pair<'_>, confidence_percent: f64, asking: &Asking<'_>) -> Vec<QuantityPair> {
    let quantities = pair.quantities();
    let each = chance::each_of(confidence_percent, quantities.len());
    quantities.iter().filter_map(|quantity| compared(pair, quantity, each, asking)).collect()
}

/// Where no phase or job has one name in both, they are matched by their order, if there are as many.
fn align(first: &ComparedRuns, other: &mut ComparedRuns) {
    let Some((_, model)) = first.runs.first() else { return };
    let names = |record: &Record| -> Vec<(String, usize)> {
        record.phases.iter().map(|phase| (phase.name.clone(), phase.jobs.len())).collect()
    };
    let has = |record: &Record, name: &str, job: &str| {
        record.phases.iter().any(|phase| phase.name == name && phase.jobs.iter().any(|one| one.name == job))
    };
    for (started, record) in &mut other.runs {
        let mut jobs = record.phases.iter().flat_map(|phase| phase.jobs.iter().map(move |job| (phase, job)));
        let meets = jobs.any(|(phase, job)| has(model, &phase.name, &job.name));
        let (these, those) = (names(record), names(model));
        let alike = these.iter().map(|(_, jobs)| jobs).eq(those.iter().map(|(_, jobs)| jobs));
        if meets || !alike {
            continue;
        }
        for (phase, like) in record.phases.iter_mut().zip(&model.phases) {
            rename(started, phase.index, &mut phase.name, &like.name, |planned| &mut planned.name);
            for (index, (job, like)) in phase.jobs.iter_mut().zip(&like.jobs).enumerate() {
                job.name.clone_from(&like.name);
                let planned = started.plan.phases.get_mut(phase.index);
                if let Some(planned) = planned.and_then(|planned| planned.jobs.get_mut(index)) {
                    planned.name.clone_from(&like.name);
                }
            }
        }
    }
}

fn rename(
    started: &mut RunStart,
    index: usize,
    name: &mut String,
    like: &str,
    of: fn(&mut Phase) -> &mut String,
) {
    *name = like.into();
    if let Some(planned) = started.plan.phases.get_mut(index) {
        *of(planned) = like.into();
    }
}

/// What spoils figures of a side, each thing once.
fn doubts(records: &[&Record]) -> Vec<Finding> {
    let mut found: Vec<Finding> = Vec::new();
    let all = records.iter().flat_map(|record| &record.findings);
    for finding in all.filter(|finding| finding.severity > Severity::Note) {
        if found.iter().all(|known| (known.code, &known.phase) != (finding.code, &finding.phase)) {
            found.push(finding.clone());
        }
    }
    found
}

/// Phases and jobs that only one side has.
fn alone(before: &[&Record], after: &[&Record]) -> Vec<String> {
    let names = |records: &[&Record]| -> Vec<String> {
        let phases = records.iter().flat_map(|record| &record.phases);
        phases.flat_map(|phase| phase.jobs.iter().map(|job| format!("{}.{}", phase.name, job.name))).collect()
    };
    let (first, other) = (names(before), names(after));
    let mut alone: Vec<String> = first.iter().filter(|name| !other.contains(name)).cloned().collect();
    alone.extend(other.into_iter().filter(|name| !first.contains(name)));
    alone.dedup();
    alone
}

/// Whether a demand is kept: the worst of the jobs that it is about.
fn judged(
    text: &str,
    condition: &Condition,
    pairs: &[Pair<'_>],
    findings: &[Finding],
    each: f64,
    asking: &Asking<'_>,
) -> DemandRecord {
    let mut record = DemandRecord { text: text.into(), failed: true, ..DemandRecord::default() };
    let measure = match (condition.subject, condition.bound) {
        (Subject::Job(measure), _) => measure,
        (subject, Bound::Value(limit)) => {
            let counts =
                |finding: &&Finding| subject == Subject::Findings || finding.severity == Severity::Invalid;
            let found = findings.iter().filter(counts).count() as f64;
            return DemandRecord {
                found: Some(found),
                failed: condition.relation.holds(found, limit),
                ..record
            };
        }
        _ => return record,
    };
    let places: Vec<String> = pairs
        .iter()
        .flat_map(|pair| [pair.phase.clone(), pair.job.clone(), format!("{}.{}", pair.phase, pair.job)])
        .collect();
    let jobs = pairs.iter().flat_map(|pair| &pair.after);
    let labels: Vec<String> =
        jobs.flat_map(|(_, job)| job.tally.lines.iter().map(|line| line.label.clone())).collect();
    let Some(scope) = condition.scope(&places, &labels) else { return record };
    let quantity = Quantity::new(scope.what.clone(), measure);
    for pair in pairs.iter().filter(|pair| scope.has(&pair.phase, &pair.job)) {
        let Some(figure) = compared(pair, &quantity, each, asking) else { continue };
        if figure.is_of_one_run() && matches!(condition.bound, Bound::Change(_)) {
            let place = format!("{}.{}: percentiles of one run on each side", pair.phase, pair.job);
            return DemandRecord { place, found: None, failed: true, ..record };
        }
        let after = figure.values.1;
        let held = match condition.bound {
            Bound::Change(_) => figure.difference.map(|found| (found.percent, "%", condition.fails(&found))),
            Bound::Value(limit) => Some((after, measure.unit(), condition.relation.holds(after, limit))),
        };
        let Some((found, unit, failed)) = held else { continue };
        if record.found.is_none() || (failed && !record.failed) {
            let place = format!("{}.{}", pair.phase, pair.job);
            record = DemandRecord { place, found: Some(found), unit: unit.into(), failed, ..record };
        }
    }
    record
}
