//! `iodyno compare --interleave A B -n 10`: both in turns, A B A B …, so that what changes meanwhile meets both alike.
//!
//! Each turn has a seed of its own, the same for both; every run is kept like any other. It ends at the first that fails.

use iodyno_dialect::{DIALECTS, Keep, Request, native};
use iodyno_engine::world::World;
use iodyno_history::History;
use iodyno_model::{Diagnostic, Origin, Plan, Record, RunStart};

use crate::archive;
use crate::compare::{CompareArgs, ComparedRuns};
use crate::experiment::{self, Experiment, no_reporter};
use crate::loader::HostLoader;
use crate::rerun;
use crate::runs::{ended, one};

/// What is run in turns.
pub struct Turn {
    pub name: String,
    pub about: String,
    pub plan: Plan,
    /// Where its relative paths begin.
    pub folder: String,
}

/// Runs both in turns; the two sides, or the exit status of the run that failed.
pub fn sides(world: &mut World, words: &CompareArgs, arguments: &[String]) -> Result<Vec<ComparedRuns>, u8> {
    let [a, b] = words.runs.as_slice() else {
        let wrong = Diagnostic::error(&Origin::argument("--interleave"), "it takes two: A and B");
        return Err(ended(Err(one(wrong.hint("iodyno compare --interleave A.toml B.toml -n 10")))));
    };
    let refused = |wrong| ended(Err(wrong));
    let turns = [turn(world, a).map_err(refused)?, turn(world, b).map_err(refused)?];
    in_turns(world, turns, words.times, words.keep.clone().keep(), ("compare", arguments))
}

/// Runs two in turns for a command of that name; the two sides, or the exit status of the run that failed.
pub fn in_turns(
    world: &mut World,
    turns: [Turn; 2],
    times: u32,
    keep: Keep,
    (command, arguments): (&str, &[String]),
) -> Result<Vec<ComparedRuns>, u8> {
    let mut sides: Vec<ComparedRuns> = turns
        .iter()
        .map(|turn| ComparedRuns {
            name: turn.name.clone(),
            about: turn.about.clone(),
            ..ComparedRuns::default()
        })
        .collect();
    if turns[0].name == turns[1].name {
        sides[1].name.push_str(" (B)");
    }
    let mut experiment = Experiment::new(world, command, arguments);
    // Each turn is a run that can be compared again by itself.
    (experiment.keep, experiment.asked.first) = (keep, None);
    for round in 0..times {
        for (turn, side) in turns.iter().zip(&mut sides) {
            experiment::progress(&format!("{} {} of {}", side.name, round + 1, times));
            side.runs.push(run(&mut experiment, turn, round)?);
        }
    }
    Ok(sides)
}

/// Runs one of them once, with a seed of that round.
pub fn run(experiment: &mut Experiment<'_>, turn: &Turn, round: u32) -> Result<(RunStart, Record), u8> {
    if let Err(error) = std::env::set_current_dir(&turn.folder) {
        let wrong = Diagnostic::error(&Origin::argument(&turn.folder), crate::loader::plain(&error));
        return Err(ended(Err(one(wrong))));
    }
    let mut plan = turn.plan.clone();
    plan.seed = plan.seed.wrapping_add(u64::from(round));
    experiment.run(plan, &format!("{}: turn {}", turn.name, round + 1))
}

/// What a word names: a plan file, a job file of fio, or a kept run.
pub fn turn(world: &World, word: &str) -> Result<Turn, Vec<Diagnostic>> {
    if !std::path::Path::new(word).is_file() {
        return kept(word).map_err(one);
    }
    let mut loader = HostLoader::new(world);
    let arguments = [word.to_string()];
    let fio = DIALECTS.iter().find(|dialect| dialect.name == "fio").filter(|_| word.ends_with(".fio"));
    let request = match fio {
        Some(fio) => (fio.lower)(&arguments, &mut loader)?,
        None => native::run(&arguments, &mut loader, &|_| no_reporter())?,
    };
    let Request::Run(run) = request else {
        return Err(one(Diagnostic::error(&Origin::argument(word), "there is nothing to run in it")));
    };
    let (name, about) = (word.to_string(), run.plan.name.clone());
    Ok(Turn { name, about, plan: run.plan, folder: archive::folder() })
}

fn kept(reference: &str) -> Result<Turn, Diagnostic> {
    let here = archive::folder();
    let kept = archive::open().and_then(|history: History| history.load(reference))?;
    rerun::settle(&kept)?;
    // The other side may be named by a path that begins here.
    let _ = std::env::set_current_dir(here);
    let (name, about) = (format!("run {}", kept.entry.id), kept.entry.words.join(" "));
    Ok(Turn { name, about, plan: kept.plan, folder: kept.entry.folder })
}
