//! `iodyno ci`: a plan or a tool's command line in a pipeline, held against a baseline, told as Markdown for a pull request,
//! ended by a rule.
//!
//! A baseline that is a plan is run in turns with the new one, so that what changes meanwhile meets both alike. A stored one
//! (a file of an earlier pipeline, a kept run) is compared by its own passes, or run anew in turns with `--again`. Refuses to
//! overwrite a baseline.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

use clap::Parser;
use iodyno_dialect::{DIALECTS, Request, native};
use iodyno_engine::world::World;
use iodyno_model::{Diagnostic, Event, Origin, Record, RunStart, Severity};
use iodyno_report::comparison::Comparison;
use iodyno_report::json::Json;
use iodyno_report::markdown::{self, Outcome};
use iodyno_report::{NoFiles, Output, Reporter};
use iodyno_truth::compare::{DifferenceVerdict, QuantityPair};

use crate::archive;
use crate::compare::{self, CompareArgs, ComparedRuns};
use crate::experiment::{self, Experiment};
use crate::interleave::{self, Turn};
use crate::loader::HostLoader;
use crate::new_file::NewFile;
use crate::runs::{ended, one, parsed, print};
use crate::session::say;
use crate::sink::unwritable;

#[derive(Parser)]
#[command(name = "iodyno ci", about = "Hold a run against a baseline in a pipeline, and say it as Markdown",
    disable_version_flag = true, after_help = AFTER)]
pub struct CiArgs {
    /// A plan file, a job file of fio, or a tool with its arguments
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true, value_name = "PLAN|TOOL …")]
    words: Vec<String>,
    /// What to hold it against: a file that --save wrote, a kept run, or a plan file, which runs in turns with it
    #[arg(long, value_name = "WHAT")]
    baseline: Option<String>,
    /// Run the plan of a stored baseline anew, in turns with this one, instead of trusting its figures
    #[arg(long, requires = "baseline")]
    again: bool,
    /// How many times each
    #[arg(short = 'n', long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(2..=1000))]
    times: u32,
    /// Write the new runs to a file that a later pipeline takes as its baseline
    #[arg(long, value_name = "FILE")]
    save: Option<String>,
    /// Append the Markdown to this file, e.g. "$GITHUB_STEP_SUMMARY", instead of printing it
    #[arg(long, value_name = "FILE")]
    markdown: Option<String>,
    /// The heading
    #[arg(long, value_name = "TEXT")]
    title: Option<String>,
    /// Fail if a figure is surely worse, and by more than this, percent
    #[arg(long, value_name = "PERCENT", default_value_t = 5.0, value_parser = percent)]
    worse_than: f64,
    /// Fail if this condition holds, as in iodyno compare; repeatable
    #[arg(long, value_name = "CONDITION")]
    fail_if: Vec<String>,
    /// Do not fail where a finding says that a figure is not what was asked for
    #[arg(long)]
    allow_invalid: bool,
    /// Expected differences, comma-separated, as in iodyno compare
    #[arg(long, value_name = "WHAT", value_delimiter = ',')]
    across: Vec<String>,
    #[command(flatten)]
    keep: native::KeepArguments,
}

const AFTER: &str = "Exit status: 0 nothing is worse, or there is no baseline yet; 1 a figure is worse, a condition holds, a \
figure is invalid, or the runs are not comparable; 2 the request is wrong. docs/ci.md has an action for GitHub and a template \
for GitLab.";

fn percent(text: &str) -> Result<f64, String> {
    let percent = text.trim_end_matches('%').parse::<f64>().ok();
    percent
        .filter(|percent| (0.0..1000.0).contains(percent))
        .ok_or_else(|| "expected a percentage such as 5".into())
}

/// Does `iodyno ci ARGUMENTS…`; the exit status.
pub fn answer(world: &mut World, arguments: &[String]) -> u8 {
    let words = match parsed::<CiArgs>("iodyno ci", arguments) {
        Ok(words) => words,
        Err(status) => return status,
    };
    match held(world, &words, arguments) {
        Ok(status) | Err(Stop::Status(status)) => status,
        Err(Stop::Wrong(wrong)) => ended(Err(wrong)),
    }
}

/// Why nothing was judged.
enum Stop {
    Wrong(Vec<Diagnostic>),
    /// A run failed and said why.
    Status(u8),
}

impl From<Diagnostic> for Stop {
    fn from(wrong: Diagnostic) -> Stop {
        Stop::Wrong(one(wrong))
    }
}

fn held(world: &mut World, words: &CiArgs, arguments: &[String]) -> Result<u8, Stop> {
    let asked = compare_words(words)?;
    compare::check(&asked).map_err(Stop::Wrong)?;
    let turn = turn(world, &words.words).map_err(Stop::Wrong)?;
    let baseline = baseline(world, words)?;
    let saved = words.save.as_deref().map(NewFile::create).transpose()?;
    let mut report = words.markdown.as_deref().map(appended).transpose()?;
    let keep = words.keep.clone().keep();
    let title = words.title.clone().unwrap_or_else(|| turn.name.clone());
    let (sides, asked) = match baseline {
        Baseline::Plan(before) => {
            let sides = interleave::in_turns(world, [*before, turn], words.times, keep, ("ci", arguments))
                .map_err(Stop::Status)?;
            (sides, CompareArgs { interleave: true, ..asked })
        }
        Baseline::Stored(before) => (vec![*before, repeated(world, turn, words, arguments)?], asked),
        Baseline::None => (vec![repeated(world, turn, words, arguments)?], asked),
    };
    if let (Some(file), Some(after)) = (saved, sides.last()) {
        file.write(&artifact(&after.runs))?;
    }
    let comparison = match sides.len() {
        1 => None,
        _ => compare::all(&asked, sides).map_err(Stop::Wrong)?.into_iter().next(),
    };
    let reasons = comparison.as_ref().map_or_else(Vec::new, |found| reasons(found, words));
    let outcome = match (&comparison, reasons.is_empty()) {
        (None, _) => Outcome::FirstRun,
        (_, true) => Outcome::Passed,
        _ => Outcome::Failed,
    };
    let text = markdown::page(&title, outcome, &reasons, comparison.as_ref());
    if let Some((path, file)) = &mut report {
        file.write_all(text.as_bytes()).map_err(|error| unwritable(path, &error))?;
        reasons.iter().for_each(|reason| say(format_args!("failed: {reason}")));
    } else {
        print(&text);
    }
    Ok(u8::from(outcome == Outcome::Failed))
}

/// The same words as `iodyno compare` has them.
fn compare_words(words: &CiArgs) -> Result<CompareArgs, Diagnostic> {
    let mut asked = vec!["iodyno compare".to_string(), "baseline".into(), "new".into(), "--no-save".into()];
    asked.extend(words.fail_if.iter().map(|condition| format!("--fail-if={condition}")));
    asked.extend(words.across.iter().map(|what| format!("--across={what}")));
    CompareArgs::try_parse_from(asked).map_err(|error| native::refusal("iodyno ci", &error))
}

/// What the run is held against.
enum Baseline {
    /// Run in turns with it.
    Plan(Box<Turn>),
    /// Figures of before.
    Stored(Box<ComparedRuns>),
    None,
}

fn baseline(world: &World, words: &CiArgs) -> Result<Baseline, Stop> {
    let Some(name) = &words.baseline else {
        if words.save.is_some() {
            return Ok(Baseline::None);
        }
        let wrong = Diagnostic::error(&Origin::argument("ci"), "there is nothing to hold it against");
        return Err(wrong
            .hint("--baseline FILE|RUN|PLAN; the first run of a pipeline only writes one: --save FILE")
            .into());
    };
    let is_plan = [".toml", ".fio"].iter().any(|end| name.ends_with(end));
    let is_path = is_plan || name.contains('/') || name.ends_with(".json");
    if is_path && !Path::new(name).exists() {
        if words.save.is_some() && !is_plan {
            say(format_args!(
                "note: {name} is not there yet: this run only writes {}",
                words.save.as_deref().unwrap_or_default()
            ));
            return Ok(Baseline::None);
        }
        let wrong = Diagnostic::error(&Origin::argument(name), "no such file");
        return Err(wrong.hint("with --save FILE the first run of a pipeline needs no baseline").into());
    }
    if is_plan {
        return interleave::turn(world, name).map(|turn| Baseline::Plan(Box::new(turn))).map_err(Stop::Wrong);
    }
    let stored = compare::side(name, &mut None)?;
    if !words.again {
        return Ok(Baseline::Stored(Box::new(stored)));
    }
    let Some((started, _)) = stored.runs.first().filter(|(started, _)| !started.plan.phases.is_empty())
    else {
        let wrong = Diagnostic::error(&Origin::argument(name), "it holds no plan that could be run again");
        return Err(wrong.hint("leave --again out, or take a file that iodyno wrote").into());
    };
    let turn = Turn {
        name: stored.name.clone(),
        about: stored.about.clone(),
        plan: started.plan.clone(),
        folder: archive::folder(),
    };
    Ok(Baseline::Plan(Box::new(turn)))
}

/// What is to be run: a plan file, a job file, or a tool's command line.
fn turn(world: &World, words: &[String]) -> Result<Turn, Vec<Diagnostic>> {
    let words = if words[0] == "--" { &words[1..] } else { words };
    let Some((first, rest)) = words.split_first() else {
        return Err(one(Diagnostic::error(&Origin::argument("ci"), "a plan or a tool is missing")
            .hint("iodyno ci --baseline base.json plan.toml")));
    };
    let Some(dialect) = DIALECTS.iter().find(|dialect| dialect.name == first) else {
        return match rest {
            [] => interleave::turn(world, first),
            _ => Err(one(Diagnostic::error(
                &Origin::argument(first),
                "no tool of that name, and a plan file takes no more words",
            )
            .hint("options of ci stand before the plan; iodyno dialects lists the tools"))),
        };
    };
    let mut loader = HostLoader::new(world);
    loader.talks = true;
    match (dialect.lower)(rest, &mut loader)? {
        Request::Run(run) => Ok(Turn {
            name: words.join(" "),
            about: run.plan.name.clone(),
            plan: run.plan,
            folder: archive::folder(),
        }),
        Request::Refuse { err, .. } => {
            Err(one(Diagnostic::error(&Origin::argument(first), err.trim().to_string())))
        }
        _ => Err(one(Diagnostic::error(
            &Origin::argument(first),
            "it runs no plan of its own on this machine",
        )
        .hint("a pipeline holds runs of storage on one machine against each other"))),
    }
}

/// The new plan several times.
fn repeated(
    world: &mut World,
    turn: Turn,
    words: &CiArgs,
    arguments: &[String],
) -> Result<ComparedRuns, Stop> {
    let mut experiment = Experiment::new(world, "ci", arguments);
    (experiment.keep, experiment.asked.first) = (words.keep.clone().keep(), None);
    let mut side = ComparedRuns {
        name: format!("{} ×{}", turn.name, words.times),
        about: turn.about.clone(),
        ..ComparedRuns::default()
    };
    for round in 0..words.times {
        experiment::progress(&format!("{} {} of {}", turn.name, round + 1, words.times));
        side.runs.push(interleave::run(&mut experiment, &turn, round).map_err(Stop::Status)?);
    }
    Ok(side)
}

/// The runs as documents, one after the other, as `iodyno import` and `--baseline` read them.
fn artifact(runs: &[(RunStart, Record)]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (started, record) in runs {
        let mut json = Json::new();
        for event in [Event::Started(Box::new(started.clone())), Event::Ended(Box::new(record.clone()))] {
            let mut output = Output { out: &mut bytes, err: &mut io::sink(), files: &mut NoFiles };
            // Memory takes all of it.
            let _ = json.event(&event, &mut output);
        }
    }
    bytes
}

fn appended(path: &str) -> Result<(String, File), Diagnostic> {
    let file =
        File::options().append(true).create(true).open(path).map_err(|error| unwritable(path, &error))?;
    Ok((path.into(), file))
}

/// Why the pipeline fails; none: it does not.
fn reasons(found: &Comparison, words: &CiArgs) -> Vec<String> {
    let mut reasons = Vec::new();
    if !found.is_comparable() {
        reasons.push("the runs are not comparable; --across declares what may differ".to_string());
    }
    let worse = found
        .figures
        .iter()
        .filter(|figure| figure.verdict(found.margin_percent) == DifferenceVerdict::Worse);
    let change = |figure: &QuantityPair| figure.difference.map_or(0.0, |difference| difference.percent);
    reasons.extend(worse.filter(|figure| change(figure).abs() > words.worse_than).map(|figure| {
        format!(
            "{} · {}: {} is worse by {:.1} %",
            figure.phase,
            figure.job,
            figure.quantity,
            change(figure).abs()
        )
    }));
    let broken = found.demands.iter().filter(|demand| demand.failed);
    reasons.extend(broken.map(|demand| format!("condition holds, or cannot be judged: {}", demand.text)));
    let invalid = found
        .findings
        .1
        .iter()
        .filter(|finding| finding.severity == Severity::Invalid && !words.allow_invalid);
    reasons.extend(
        invalid.map(|finding| format!("{}: {} (lie {})", finding.phase, finding.sentence, finding.code)),
    );
    reasons
}
