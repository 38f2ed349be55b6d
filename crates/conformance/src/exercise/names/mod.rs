//! Races of names: a few processes make a few calls each on the same few names, and some order of their moments must
//! explain what each of them was answered and what is there in the end.
//!
//! ```text
//!   program ──► processes (forked, real calls) ──► history ──► order: explained by the model (state), or a violation
//!     call                                    tree (what is left)
//! ```
//!
//! Whether calls really overlap is the machine's affair, so there are thousands of short races rather than a long one.

use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::path::PathBuf;

use iodyno_model::{Divergence, Exercise, ExerciseRecord};

use self::call::{Program, VERBS, Verb};
use self::linearizability::{Event, History};
use self::processes::Processes;
use self::state::{ModelAnswer, ModelState, NodeKind};
use super::operation::nearest;
use super::sandbox::Sandbox;
use super::{DEFAULT_SEED_STREAM, Until};
use iodyno_engine::Failure;
use iodyno_engine::clock;
use iodyno_engine::failure::strerror;
use iodyno_engine::random::{Random, mix};

mod call;
mod linearizability;
mod processes;
mod state;
mod tree;

/// So often a shorter race is run before it is taken to be sound.
const TRIES: u32 = 300;
/// How long a violation is shortened, ns.
const SHORTEN_NS: u64 = 10_000_000_000;
/// So often a given race is run, if nobody says how often.
const REPEATS: u64 = 10_000;
/// What a race needs, bytes: next to nothing.
const ROOM_BYTES: u64 = 1 << 20;

/// Races, ready to go.
pub struct NameExercise {
    processes: Processes,
    /// Where they race: anew where a broken file system keeps what should be gone.
    root: PathBuf,
    roots: u32,
    script: Option<Program>,
    weights: Vec<(Verb, u32)>,
    /// The shapes of races after which it goes on.
    known: Vec<Vec<String>>,
    races: u64,
    done: [u64; VERBS.len()],
    directory: OwnedFd,
    sandbox: Sandbox,
}

impl NameExercise {
    /// Makes a directory and starts the processes.
    ///
    /// # Errors
    /// What is missing or makes no sense.
    pub fn new(exercise: &Exercise, directory: &str) -> Result<NameExercise, Failure> {
        let script = (!exercise.script.is_empty()).then(|| Program::parse(&exercise.script));
        let script = script.transpose().map_err(Failure::new)?;
        let weights = weights(exercise)?;
        let shape = |text: &String| {
            let lines: Vec<String> = text.lines().map(String::from).collect();
            Program::parse(&lines).map(|program| program.shape())
        };
        let known = exercise.known.iter().map(shape).collect::<Result<_, _>>().map_err(Failure::new)?;
        let sandbox = Sandbox::new(directory, ROOM_BYTES)?;
        let (root, directory) = place(&sandbox, 0)?;
        let processes = Processes::new(directory.as_raw_fd())?;
        let races = if script.is_some() && exercise.operations == 0 { REPEATS } else { exercise.operations };
        let done = [0; VERBS.len()];
        Ok(NameExercise {
            processes,
            root,
            roots: 0,
            script,
            weights,
            known,
            races,
            done,
            directory,
            sandbox,
        })
    }

    /// Runs races to the end, or to the first that nothing explains and nobody knows.
    ///
    /// # Errors
    /// What broke.
    pub fn run(mut self, seed: u64, until: &Until<'_>) -> Result<ExerciseRecord, Failure> {
        let mut random = Random::from_seed(seed ^ mix(DEFAULT_SEED_STREAM), 1);
        let (mut race, mut met, mut failure) = (0, 0, None);
        while !until.is_over() && (self.races == 0 || race < self.races) {
            let drawn = || Program::draw(&mut random, &self.weights);
            let program = self.script.clone().unwrap_or_else(drawn);
            if let Some(history) = self.violation(&program)? {
                let found = self.shorten(race, program, history, until)?;
                let is_known =
                    Program::parse(&found.script).is_ok_and(|short| self.known.contains(&short.shape()));
                if !is_known {
                    failure = Some(found);
                    break;
                }
                met += 1;
            }
            race += 1;
        }
        let counted = VERBS.iter().zip(self.done).filter(|(_, count)| *count > 0);
        let mut done: Vec<(String, u64)> = vec![("race".into(), race)];
        done.extend((met > 0).then(|| ("known race".into(), met)));
        done.extend(counted.map(|((_, name), count)| ((*name).to_string(), count)));
        Ok(ExerciseRecord { done, failure, ..ExerciseRecord::default() })
    }

    /// Runs a race; its history, if nothing explains it.
    fn violation(&mut self, program: &Program) -> Result<Option<History>, Failure> {
        let mut before = ModelState::default();
        for call in &program.setup {
            let prior = before.clone();
            let (said, meant) = (self.processes.call(call), before.call(call));
            let agrees = match (&said, &meant) {
                (ModelAnswer::Failed(number), Err(wrong)) => wrong.contains(number),
                (said, Ok(meant)) => said == meant,
                _ => false,
            };
            if !agrees {
                // A history of one process whose only call cannot be explained.
                let event = Event { call: *call, began: 0, ended: 0, answer: said };
                self.clear()?;
                return Ok(Some(History { before: prior, processes: vec![vec![event]], after: None }));
            }
        }
        let processes = self.processes.run(program)?;
        program.processes.iter().flatten().for_each(|call| self.done[call.verb as usize] += 1);
        let seen = self.clear()?;
        let history = History { before, processes, after: Some(seen) };
        Ok((!history.is_explained()).then_some(history))
    }

    /// Looks at what is left, and removes it; what stays all the same is left behind.
    fn clear(&mut self) -> Result<Vec<state::Seen>, Failure> {
        let seen = tree::look(&self.root)?;
        if tree::clear(&self.root, &seen).is_err() {
            self.roots += 1;
            let (root, directory) = place(&self.sandbox, self.roots)?;
            self.processes = Processes::new(directory.as_raw_fd())?;
            (self.root, self.directory) = (root, directory);
        }
        Ok(seen)
    }

    /// Takes calls away as long as what is left is not explained either, now and then.
    fn shorten(
        &mut self,
        race: u64,
        mut program: Program,
        mut history: History,
        until: &Until<'_>,
    ) -> Result<Divergence, Failure> {
        let reduced_from = program.calls() as u64;
        let deadline = clock::now() + SHORTEN_NS;
        let mut index = program.calls();
        while index > 0 {
            index -= 1;
            let shorter = without(&program, index);
            for _ in 0..TRIES {
                if clock::now() >= deadline || until.is_stopped() {
                    break;
                }
                if let Some(again) = self.violation(&shorter)? {
                    (program, history) = (shorter, again);
                    index = index.min(program.calls());
                    break;
                }
            }
        }
        let text = describe(&history);
        Ok(Divergence { operation: race, text, script: program.lines(), reduced_from })
    }
}

/// An empty directory to race in.
fn place(sandbox: &Sandbox, number: u32) -> Result<(PathBuf, OwnedFd), Failure> {
    let root = sandbox.path().join(format!("names-{number}"));
    std::fs::create_dir(&root).map_err(|error| Failure::io("mkdir", &error))?;
    let fd = processes::open_directory(&root).map_err(|number| Failure::call("open", number))?;
    // SAFETY: the descriptor was just opened and is nobody else's.
    Ok((root, unsafe { OwnedFd::from_raw_fd(fd) }))
}

/// A program without one of its calls, counted over all of them.
fn without(program: &Program, index: usize) -> Program {
    let mut shorter = program.clone();
    let mut left = index;
    for list in std::iter::once(&mut shorter.setup).chain(&mut shorter.processes) {
        if left < list.len() {
            list.remove(left);
            break;
        }
        left -= list.len();
    }
    shorter.processes.retain(|calls| !calls.is_empty());
    shorter
}

/// A history in words: each call with its times since the first, µs.
fn describe(history: &History) -> String {
    let events = || {
        history
            .processes
            .iter()
            .enumerate()
            .flat_map(|(index, list)| list.iter().map(move |one| (index, one)))
    };
    let start = events().map(|(_, event)| event.began).min().unwrap_or(0);
    let mut ordered: Vec<(usize, &Event)> = events().collect();
    ordered.sort_by_key(|(_, event)| event.began);
    let time = |ns: u64| (ns.saturating_sub(start)) as f64 / 1000.0;
    let line = |(process, event): &(usize, &Event)| {
        let (began, ended) = (time(event.began), time(event.ended));
        format!("  p{} {began:9.1} to {ended:9.1} us  {} = {}", process + 1, event.call, said(event.answer))
    };
    let lines: Vec<String> = ordered.iter().map(line).collect();
    let before = tree::describe(&history.before.seen());
    let after = history.after.as_ref().map_or("not looked at".into(), |seen| tree::describe(seen));
    format!(
        "no order of these calls explains their answers and what was left\n  before: {before}\n{}\n  after: {after}",
        lines.join("\n")
    )
}

fn said(answer: ModelAnswer) -> String {
    match answer {
        ModelAnswer::Done => "ok".into(),
        ModelAnswer::Found(NodeKind::File, links) => format!("a file with {links} names"),
        ModelAnswer::Found(NodeKind::Directory, _) => "a directory".into(),
        ModelAnswer::Found(NodeKind::Symlink, _) => "a symbolic link".into(),
        ModelAnswer::Failed(number) => strerror(number),
    }
}

fn weights(exercise: &Exercise) -> Result<Vec<(Verb, u32)>, Failure> {
    let mut weights = Vec::new();
    for (name, weight) in &exercise.weights {
        let verb = Verb::of(name).ok_or_else(|| {
            let names: Vec<_> = VERBS.iter().map(|(_, name)| *name).collect();
            let near = nearest(name, names.iter().copied());
            Failure::new(format!("weight `{name}`: no call of a race{near}"))
                .hint(format!("there are {}", names.join(" ")))
        })?;
        weights.extend((*weight > 0).then_some((verb, *weight)));
    }
    match weights.is_empty() && exercise.script.is_empty() {
        true => Err(Failure::new("no call of a race has a weight")),
        false => Ok(weights),
    }
}
