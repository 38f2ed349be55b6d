//! A whole run as the page is told it.

use iodyno_model::{DemandRecord, Finding, JobRecord, PhaseRecord, Record};
use iodyno_truth::causes;
use iodyno_truth::passes::passes;
use serde::Serialize;

use super::curves::{self, Curve};
use super::disclosure::{self, Facts};
use super::job::{self, Job};
use super::repetitions::{self, Repetitions};
use super::watch::{self, Watch};
use crate::findings;
use crate::number;
use crate::shape::Context;

#[derive(Clone, Debug, Default, Serialize)]
pub struct Run {
    /// What it is called when several are side by side; by default the plan's name.
    pub title: String,
    /// The plan's name.
    pub name: String,
    pub seed: u64,
    /// Wall-clock time of the start, ms since 1970; nothing where it is not known.
    pub began: Option<u64>,
    /// Host, kernel and processor in one line.
    pub machine: String,
    /// Why it ended before its end.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub stopped: String,
    /// What spoils a figure.
    pub findings: Vec<FindingText>,
    /// What they come to; nothing where the figures stand.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub verdict: String,
    /// What went wrong.
    pub errors: Vec<String>,
    pub demands: Vec<DemandLine>,
    /// Every job of every phase.
    pub jobs: Vec<Job>,
    /// What the witnesses saw, of each phase.
    pub phases: Vec<Phase>,
    /// Bandwidth of phases that came again and again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repetitions: Option<Repetitions>,
    /// Sweeps.
    pub curves: Vec<Curve>,
    /// How repetitions came to their end.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub rounds: String,
    /// Machine, ranks, targets.
    pub facts: Vec<Facts>,
    /// The plan in words.
    pub plan: String,
}

#[derive(Clone, Debug, Default, Serialize)]
pub struct Phase {
    pub name: String,
    /// How long it took, seconds.
    pub seconds: f64,
    /// What the witnesses saw over time.
    pub watch: Vec<Watch>,
    /// What the witnesses saw in all, and what the engines told of themselves.
    pub seen: Vec<Facts>,
}

#[derive(Clone, Debug, Default, Serialize)]
pub struct FindingText {
    /// Its number in the list of known lies.
    pub code: u8,
    /// `note`, `doubtful` or `invalid`.
    pub severity: &'static str,
    /// The phase it concerns, and the job.
    pub place: String,
    /// What is the matter.
    pub sentence: String,
    /// The figures that prove it.
    pub figures: Vec<String>,
    /// What to do.
    pub advice: String,
    /// What else it explains, in words.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub explains: String,
    /// The number of the finding that explains it and stands for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub explained_by: Option<u8>,
}

/// A demand and what became of it.
#[derive(Clone, Debug, Default, Serialize)]
pub struct DemandLine {
    /// As it was typed.
    pub text: String,
    /// What it was held against.
    pub place: String,
    pub found: String,
    /// Whether the run fails for it.
    pub failed: bool,
}

impl Run {
    /// A record as the page is told it, with what was known when it began.
    pub fn of(context: &Context, record: &Record) -> Run {
        let started = context.started.as_deref();
        let machine = &record.machine;
        let machine = [machine.host.clone(), machine.kernel.clone(), machine.processor.clone()];
        Run {
            title: record.name.clone(),
            name: record.name.clone(),
            seed: record.seed,
            began: started.map(|started| started.at_unix_ns / 1_000_000).filter(|ms| *ms > 0),
            machine: machine.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" · "),
            stopped: record.stopped_by.map_or_else(String::new, stopped),
            findings: sorted(&record.findings)
                .into_iter()
                .map(|finding| finding_text(finding, &record.findings))
                .collect(),
            verdict: findings::verdict(&record.findings).unwrap_or_default(),
            errors: record.errors.iter().map(ToString::to_string).collect(),
            demands: record.demands.iter().map(demanded).collect(),
            jobs: jobs(context, record),
            phases: record.phases.iter().map(phase).collect(),
            repetitions: repetitions::repetitions(record),
            curves: curves::curves(record, context),
            rounds: rounds(record),
            facts: disclosure::surroundings(record, context),
            plan: started.map_or_else(String::new, |started| crate::plan::print(&started.plan)),
        }
    }
}

fn stopped(signal: i32) -> String {
    format!("stopped by signal {signal}: the figures are those of the time until then")
}

fn phase(phase: &PhaseRecord) -> Phase {
    let moved = phase.jobs.iter().map(|job| job.tally.all_bytes()).sum();
    Phase {
        name: phase.name.clone(),
        seconds: phase.elapsed_ns as f64 / 1e9,
        watch: watch::charts(&phase.samples, moved),
        seen: disclosure::seen(phase),
    }
}

/// Every job; before the passes of one that was done more than once, what they came to together.
fn jobs(context: &Context, record: &Record) -> Vec<Job> {
    let findings = sorted(&record.findings);
    let passes = passes(record);
    let mut all = Vec::new();
    for (index, phase) in record.phases.iter().enumerate() {
        for found in &phase.jobs {
            let here = findings.iter().enumerate();
            let here = here.filter(|(_, finding)| job::concerns(finding, phase, found));
            let here: Vec<usize> = here.map(|(index, _)| index).collect();
            let is_here = |(_, job): &(&PhaseRecord, &JobRecord)| std::ptr::eq(*job, found);
            let of = passes.iter().find(|passes| passes.is_several() && passes.result.iter().any(is_here));
            if let Some(of) = of.filter(|of| is_here(&of.result[0])) {
                all.push(Job { findings: here.clone(), ..job::together(context, index, of) });
            }
            let mut one =
                Job { findings: here, is_pass: of.is_some(), ..job::job(context, index, phase, found) };
            if one.is_pass && phase.repetition == 0 {
                one.place = [one.place, "repetition 1".into()].join(" · ").trim_start_matches(" · ").into();
            }
            all.push(one);
        }
    }
    all
}

/// Findings, worst first.
fn sorted(findings: &[Finding]) -> Vec<&Finding> {
    let mut sorted: Vec<&Finding> = findings.iter().collect();
    sorted.sort_by_key(|finding| (std::cmp::Reverse(finding.severity), finding.code));
    sorted
}

fn finding_text(finding: &Finding, all: &[Finding]) -> FindingText {
    let folded = causes::folded(all);
    let stands = folded.iter().find(|told| std::ptr::eq(told.finding, finding));
    let place: Vec<&str> =
        [Some(finding.phase.as_str()), finding.job.as_deref()].into_iter().flatten().collect();
    FindingText {
        code: finding.code,
        severity: job::severity(finding.severity),
        place: if place.len() == 2 && place[0] == place[1] { place[0].into() } else { place.join(" · ") },
        sentence: finding.sentence.clone(),
        figures: finding.figures.iter().map(|figure| number::figure(figure, Default::default())).collect(),
        advice: finding.advice.clone(),
        explains: stands.and_then(|told| findings::names(&told.explains)).unwrap_or_default(),
        explained_by: finding.explained_by.filter(|_| stands.is_none()),
    }
}

fn demanded(demand: &DemandRecord) -> DemandLine {
    let figure = |value| iodyno_model::Figure::new("", value, &demand.unit);
    let found =
        demand.found.map(|value| number::figure(&figure(value), Default::default()).trim().to_string());
    DemandLine {
        text: demand.text.clone(),
        place: demand.place.clone(),
        found: found.unwrap_or_else(|| "there was nothing to hold it against".into()),
        failed: demand.failed,
    }
}

fn rounds(record: &Record) -> String {
    let Some(rounds) = &record.rounds else { return String::new() };
    let mut parts = vec![format!("{} passes", rounds.passes)];
    if let Some(percent) = rounds.interval_percent {
        parts.push(format!("the widest interval of a rate is {}", number::percent(percent)));
    }
    if let Some((range, slope)) = rounds.steady {
        let [range, slope] = [range, slope].map(number::percent);
        parts.push(format!("range {range} and slope {slope} over the last rounds"));
    }
    parts.push(if rounds.attained { "good enough" } else { "not yet good enough" }.into());
    parts.join(", ")
}
