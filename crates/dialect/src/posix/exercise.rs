//! The exerciser's words and reports: what is run at random beside the rules, and how what it found is told.
//!
//! What operations mean, and what a script's lines are, the engine room knows; here are their names and how often each is
//! drawn if nobody says otherwise.

use std::fmt::Write as _;

use iodyno_model::{
    Diagnostic, Exercise, ExerciseKind, ExerciseRecord, Job, Limit, Origin, Phase, PhaseRecord, Workload,
    units,
};

use crate::Loader;
use crate::engine_choice::EXERCISED;

/// The job that exercises content, and the one that races for names.
pub const CONTENT: &str = "exercise";
/// See above.
pub const RACES: &str = "races";

/// Lines of a script that are shown; most are far shorter.
const LINES: usize = 100;

/// The engine that runs exercises.
const ENGINE: &str = "exercise";

/// How often each operation on content is drawn, as `--weights` has it.
const WEIGHTS: &str = "\
    read=20,write=20,mapped_read=10,mapped_write=10,direct_read=5,direct_write=5,append=4,truncate=8,\
    fallocate=4,fallocate_keep_size=2,punch_hole=5,zero_range=3,zero_range_keep_size=2,collapse_range=3,\
    insert_range=3,copy_file_range=4,clone_range=4,dedupe_range=2,sendfile=2,splice=2,fsync=1,\
    fdatasync=1,sync_file_range=1,reopen=1,drop_cache=1,readahead=2,seek=3,check=1";

/// How often each call of a race is drawn, as `--weights` has it.
const RACE_WEIGHTS: &str = "create=4,mkdir=3,symlink=1,unlink=3,rmdir=3,rename=6,link=3,stat=3";

/// The words of the command line.
#[derive(Clone, Debug, Default, clap::Args)]
#[command(next_help_heading = "Exerciser")]
pub struct ExerciseArguments {
    /// Then exercise a file at random against a model in memory: a number of operations, or a time
    #[arg(long, value_name = "OPS|TIME", num_args = 0..=1, require_equals = true, default_missing_value = "100000")]
    pub exercise: Option<String>,
    /// Then let processes race for names and check that an order of calls explains the results: a number of races, or a time
    #[arg(long, value_name = "N|TIME", num_args = 0..=1, require_equals = true, default_missing_value = "10000")]
    pub races: Option<String>,
    /// No rules: only the exercise (and races, if requested)
    #[arg(long)]
    pub only_exercise: bool,
    /// Relative frequency of each operation: write=50,punch_hole=0 (all=0 first: nothing else), or a TOML file of such lines
    #[arg(long, value_name = "LIST|FILE")]
    pub weights: Option<String>,
    /// Engines for reads and writes: psync, pvsync, mmap, libaio, io_uring, posixaio
    #[arg(long, value_name = "NAME,…", value_delimiter = ',')]
    pub engines: Vec<String>,
    /// Maximum size of the exercised files [default: 256K]
    #[arg(long, value_name = "BYTES", value_parser = units::parse_bytes)]
    pub file_size: Option<u64>,
    /// Maximum size of an operation [default: 64K]
    #[arg(long, value_name = "BYTES", value_parser = units::parse_bytes)]
    pub operation_size: Option<u64>,
    /// Go on after races that are those of this file, as --replay takes it, and count them; repeatable
    #[arg(long, value_name = "FILE")]
    pub known: Vec<String>,
    /// Replay this file, which a failed exercise wrote
    #[arg(long, value_name = "FILE")]
    pub replay: Option<String>,
}

/// An exercise that is asked for.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TimedExercise {
    /// [`CONTENT`] or [`RACES`].
    pub name: &'static str,
    /// What is done.
    pub exercise: Exercise,
    /// For how long, ns; none: until all is done.
    pub time_ns: Option<u64>,
}

/// What became of it.
#[derive(Clone, Debug, Default)]
pub struct ExerciseResult {
    /// [`CONTENT`] or [`RACES`].
    pub name: String,
    /// How long it took, ns.
    pub elapsed_ns: u64,
    /// What it found; none: it was not reached, or could not run.
    pub record: Option<ExerciseRecord>,
    /// What kept it from running.
    pub failure: Option<String>,
}

impl ExerciseArguments {
    /// Whether the rules are left out.
    pub fn alone(&self) -> bool {
        self.only_exercise || self.replay.is_some()
    }

    /// The exercises that are asked for.
    ///
    /// # Errors
    /// Everything that is wrong with the words.
    pub fn wanted(&self, loader: &mut dyn Loader) -> Result<Vec<TimedExercise>, Vec<Diagnostic>> {
        if let Some(path) = &self.replay {
            return self.replayed(path, loader).map(|wanted| vec![wanted]).map_err(|wrong| vec![wrong]);
        }
        let mut wrong = Vec::new();
        let mut list = Vec::new();
        let neither = self.exercise.is_none() && self.races.is_none();
        let usual = (neither && self.only_exercise).then(|| "100000".to_string());
        let both = [(CONTENT, self.exercise.as_ref().or(usual.as_ref())), (RACES, self.races.as_ref())];
        let weights = self.weights(loader).unwrap_or_else(|problem| {
            wrong.push(problem);
            Vec::new()
        });
        let known = self.known(loader).unwrap_or_else(|problem| {
            wrong.push(problem);
            Vec::new()
        });
        for (name, amount) in both {
            let Some(text) = amount else { continue };
            match amount_of(text) {
                Ok((operations, time_ns)) => {
                    let mut exercise = Exercise { operations, ..self.exercise_of(name, &weights) };
                    if name == RACES {
                        exercise.known.clone_from(&known);
                    }
                    list.push(TimedExercise { name, exercise, time_ns });
                }
                Err(why) => wrong.push(
                    Diagnostic::error(&Origin::argument(&format!("--{name}={text}")), why)
                        .hint("a bare number counts, a time has its unit: 100000, 60s, 5m"),
                ),
            }
        }
        if list.is_empty() && wrong.is_empty() {
            wrong.extend(self.idle());
        }
        wrong.extend(self.strangers(&weights));
        if wrong.is_empty() { Ok(list) } else { Err(wrong) }
    }

    /// Words that change nothing, because nothing is exercised.
    fn idle(&self) -> Option<Diagnostic> {
        let word = [
            ("--weights", self.weights.is_some()),
            ("--engines", !self.engines.is_empty()),
            ("--file-size", self.file_size.is_some()),
            ("--operation-size", self.operation_size.is_some()),
            ("--known", !self.known.is_empty()),
        ];
        let (word, _) = word.into_iter().find(|(_, said)| *said)?;
        let wrong =
            Diagnostic::error(&Origin::argument(word), "this is about an exercise, and none is asked for");
        Some(wrong.hint("add --exercise, e.g. --exercise=100000"))
    }

    fn exercise_of(&self, name: &str, weights: &[(String, u32)]) -> Exercise {
        let usual = if name == RACES { RACE_WEIGHTS } else { WEIGHTS };
        let engines = match self.engines.is_empty() {
            true => EXERCISED.map(String::from).to_vec(),
            false => self.engines.clone(),
        };
        Exercise {
            kind: if name == RACES { ExerciseKind::Names } else { ExerciseKind::Content },
            operations: 0,
            file_bytes: self.file_size.unwrap_or(256 << 10),
            operation_bytes: self.operation_size.unwrap_or(64 << 10).min(self.file_size.unwrap_or(256 << 10)),
            weights: weighted(usual, weights),
            engines: if name == RACES { Vec::new() } else { engines },
            script: Vec::new(),
            known: Vec::new(),
        }
    }

    /// The races after which it goes on, each as its lines.
    fn known(&self, loader: &mut dyn Loader) -> Result<Vec<String>, Diagnostic> {
        let mut known = Vec::new();
        for path in &self.known {
            let origin = Origin::argument(&format!("--known {path}"));
            let bytes = loader.read(path).map_err(|why| Diagnostic::error(&origin, why))?;
            known.push(String::from_utf8_lossy(&bytes).into_owned());
        }
        if known.is_empty() || self.races.is_some() {
            return Ok(known);
        }
        Err(Diagnostic::error(&Origin::argument("--known"), "no races are asked for").hint("add --races=60s"))
    }

    /// What was said about weights, in order.
    fn weights(&self, loader: &mut dyn Loader) -> Result<Vec<(String, u32)>, Diagnostic> {
        let Some(said) = &self.weights else { return Ok(Vec::new()) };
        let origin = Origin::argument(&format!("--weights {said}"));
        if said.contains('=') {
            return said.split(',').map(|pair| weight(pair, &origin)).collect();
        }
        let bytes = loader.read(said).map_err(|why| Diagnostic::error(&origin, why))?;
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let table: toml::Table = text.parse().map_err(|error: toml::de::Error| {
            let line =
                error.span().map_or(1, |span| 1 + text[..span.start.min(text.len())].matches('\n').count());
            Diagnostic::error(&origin, format!("line {line}: {}", error.message()))
                .hint("its lines are like: write = 50")
        })?;
        table.iter().map(|(name, value)| weight(&format!("{name}={value}"), &origin)).collect()
    }

    /// Names that no exercise knows.
    fn strangers(&self, weights: &[(String, u32)]) -> Vec<Diagnostic> {
        let known = || usual(WEIGHTS).chain(usual(RACE_WEIGHTS)).map(|(name, _)| name);
        let strange = weights.iter().filter(|(name, _)| name != "all" && !known().any(|known| known == name));
        let told = |(name, _): &(String, u32)| {
            let best = known()
                .max_by(|a, b| strsim::jaro_winkler(a, name).total_cmp(&strsim::jaro_winkler(b, name)));
            let message = format!("`{name}` is no operation of an exercise");
            Diagnostic::error(&Origin::argument("--weights"), message)
                .hint(format!("did you mean `{}`?", best.unwrap_or("write")))
        };
        strange.map(told).collect()
    }

    fn replayed(&self, path: &str, loader: &mut dyn Loader) -> Result<TimedExercise, Diagnostic> {
        let origin = Origin::argument(&format!("--replay {path}"));
        let bytes = loader.read(path).map_err(|why| Diagnostic::error(&origin, why))?;
        let script: Vec<String> = String::from_utf8_lossy(&bytes).lines().map(str::to_string).collect();
        let is_said = |line: &&String| !line.trim().is_empty() && !line.trim().starts_with('#');
        let Some(first) = script.iter().find(is_said) else {
            return Err(Diagnostic::error(&origin, "it holds no line")
                .hint("its lines are like: write 0 4096 seed=1"));
        };
        let name = if first.contains(':') { RACES } else { CONTENT };
        let exercise = Exercise { script, ..self.exercise_of(name, &[]) };
        Ok(TimedExercise { name, exercise, time_ns: None })
    }
}

fn weight(pair: &str, origin: &Origin) -> Result<(String, u32), Diagnostic> {
    let parts =
        pair.split_once('=').and_then(|(name, value)| Some((name.trim(), value.trim().parse().ok()?)));
    match parts {
        Some((name, weight)) => Ok((name.into(), weight)),
        None => Err(Diagnostic::error(origin, format!("`{pair}`: a weight is NAME=NUMBER"))
            .hint("write=50,punch_hole=0")),
    }
}

/// The weights of a list of ours.
fn usual(list: &'static str) -> impl Iterator<Item = (&'static str, u32)> {
    list.split(',')
        .filter_map(|pair| pair.split_once('='))
        .filter_map(|(name, weight)| Some((name, weight.parse().ok()?)))
}

/// The usual weights with those that were said; `all` is said of all.
fn weighted(list: &'static str, said: &[(String, u32)]) -> Vec<(String, u32)> {
    let mut weights: Vec<(String, u32)> = usual(list).map(|(name, weight)| (name.into(), weight)).collect();
    for (name, weight) in said {
        weights
            .iter_mut()
            .filter(|(known, _)| name == "all" || name == known)
            .for_each(|known| known.1 = *weight);
    }
    weights.retain(|(_, weight)| *weight > 0);
    weights
}

/// A number of operations, or a time, ns.
fn amount_of(text: &str) -> Result<(u64, Option<u64>), String> {
    if let Ok(count) = text.parse::<u64>() {
        return if count == 0 { Err("nothing would be done".into()) } else { Ok((count, None)) };
    }
    let ns = units::parse_ns(text)?;
    if ns == 0 { Err("nothing would be done".into()) } else { Ok((0, Some(ns))) }
}

/// A phase of its own for each exercise, on a target of the plan.
pub fn phases(wanted: &[TimedExercise], target: usize) -> Vec<Phase> {
    let phase = |wanted: &TimedExercise| {
        let workload = Workload::Exercise(Box::new(wanted.exercise.clone()));
        let mut job = Job::new(wanted.name, ENGINE, vec![target], workload);
        job.limit = Limit { time_ns: wanted.time_ns, ..Limit::default() };
        Phase { name: wanted.name.into(), jobs: vec![job], ..Phase::default() }
    };
    wanted.iter().map(phase).collect()
}

/// What became of the exercises among the phases of a run.
pub fn results(wanted: &[TimedExercise], phases: &[PhaseRecord]) -> Vec<ExerciseResult> {
    let one = |wanted: &TimedExercise| {
        let mut done = ExerciseResult { name: wanted.name.into(), ..ExerciseResult::default() };
        for phase in phases {
            for job in phase.jobs.iter().filter(|job| job.name == wanted.name) {
                done.elapsed_ns = phase.elapsed_ns;
                done.record.clone_from(&job.exercise);
                done.failure = job.workers.iter().find_map(|worker| worker.failure.clone());
            }
        }
        done
    };
    wanted.iter().map(one).collect()
}

impl ExerciseResult {
    /// Whether it ran, and nothing was found.
    pub fn is_good(&self) -> bool {
        self.failure.is_none() && self.record.as_ref().is_some_and(|record| record.failure.is_none())
    }

    /// What is checked, in one sentence.
    pub fn sentence(&self) -> &'static str {
        match self.name.as_str() {
            RACES => "What racing calls answer, and what they leave, is explained by some order of them.",
            _ => "What is read is what was written, whatever happened to the file in between.",
        }
    }

    /// Why it is not good, in lines; empty: it is.
    pub fn complaint(&self) -> Vec<String> {
        if let Some(failure) = &self.failure {
            return vec![format!("it could not be run to its end: {failure}")];
        }
        let Some(record) = &self.record else { return vec!["it was not reached".into()] };
        let Some(found) = &record.failure else { return Vec::new() };
        let mut lines = vec![format!("operation {}: {}", found.operation, found.text)];
        lines.push(format!(
            "{} of {} operations show it again (save them, and --replay FILE):",
            found.script.len(),
            found.reduced_from
        ));
        lines.extend(found.script.iter().take(LINES).map(|line| format!("    {line}")));
        if found.script.len() > LINES {
            lines.push(format!("    … and {} more, which --json FILE holds", found.script.len() - LINES));
        }
        lines
    }

    /// What was done, in one line.
    pub fn amount(&self) -> String {
        let Some(record) = &self.record else { return String::new() };
        let races = record.done.iter().find(|(name, _)| name == "race");
        let (count, what) = match races {
            Some((_, count)) => (*count, "races"),
            None => (record.done.iter().map(|(_, count)| count).sum(), "operations"),
        };
        format!("{count} {what}")
    }
}

/// The exercises in the summary.
pub fn summary(exercises: &[ExerciseResult]) -> String {
    let mut text = String::new();
    for exercise in exercises {
        let verdict = match (&exercise.failure, &exercise.record) {
            _ if exercise.is_good() => "nothing was found",
            (None, Some(_)) => "A FAULT WAS FOUND",
            _ => "it did not run",
        };
        let seconds = exercise.elapsed_ns as f64 / 1e9;
        let amount = Some(exercise.amount()).filter(|amount| !amount.is_empty());
        let amount = amount.map_or(String::new(), |amount| format!("{amount} in {seconds:.1} s, "));
        let _ = writeln!(text, "\n{}: {amount}{verdict}", exercise.name);
        if let Some(record) = &exercise.record {
            let lists = [("done", &record.done), ("through", &record.through), ("failed", &record.failed)];
            for (what, list) in lists.into_iter().filter(|(_, list)| !list.is_empty()) {
                let parts: Vec<_> = list.iter().map(|(name, count)| format!("{name} {count}")).collect();
                let _ = writeln!(text, "  {what:<8} {}", parts.join(", "));
            }
            if !record.refused.is_empty() {
                let parts: Vec<_> =
                    record.refused.iter().map(|(name, why)| format!("{name} ({why})")).collect();
                let _ = writeln!(text, "  {:<8} {}", "left out", parts.join(", "));
            }
        }
        exercise.complaint().iter().flat_map(|line| line.lines()).for_each(|line| {
            let _ = writeln!(text, "  {line}");
        });
    }
    text
}

#[cfg(test)]
mod tests {
    use iodyno_model::Divergence;

    use super::*;

    #[test]
    fn amounts_are_counts_or_times() {
        assert_eq!(amount_of("5000"), Ok((5000, None)));
        assert_eq!(amount_of("2s"), Ok((0, Some(2_000_000_000))));
        assert!(amount_of("0").is_err() && amount_of("many").is_err());
    }

    #[test]
    fn weights_that_are_said_replace_the_usual() {
        let said = |text: &str| {
            let origin = Origin::argument("--weights");
            text.split(',').map(|pair| weight(pair, &origin).unwrap()).collect::<Vec<_>>()
        };
        let weights = weighted(WEIGHTS, &said("all=0,write=5,truncate=1"));
        assert_eq!(weights, [("write".to_string(), 5), ("truncate".to_string(), 1)]);
        assert_eq!(weighted(WEIGHTS, &said("read=0")).len(), usual(WEIGHTS).count() - 1);
        assert!(weight("write", &Origin::argument("x")).is_err());
        let strange = ExerciseArguments::default().strangers(&said("punchhole=1"));
        assert_eq!(strange[0].hint.as_deref(), Some("did you mean `punch_hole`?"));
    }

    #[test]
    fn a_fault_is_told_with_what_shows_it_again() {
        let found = Divergence {
            operation: 7,
            text: "`read 0 1 via=psync`: byte 0 of file a is 0x00".into(),
            script: vec!["write 0 1 seed=1 via=psync".into(), "read 0 1 via=psync".into()],
            reduced_from: 900,
        };
        let record = ExerciseRecord {
            done: vec![("read".into(), 500), ("write".into(), 400)],
            refused: vec![("clone_range".into(), "Operation not supported".into())],
            failure: Some(found),
            ..ExerciseRecord::default()
        };
        let exercised = ExerciseResult {
            name: CONTENT.into(),
            elapsed_ns: 1_500_000_000,
            record: Some(record),
            failure: None,
        };
        assert!(!exercised.is_good());
        assert_eq!(
            summary(&[exercised]),
            "
exercise: 900 operations in 1.5 s, A FAULT WAS FOUND
  done     read 500, write 400
  left out clone_range (Operation not supported)
  operation 7: `read 0 1 via=psync`: byte 0 of file a is 0x00
  2 of 900 operations show it again (save them, and --replay FILE):
      write 0 1 seed=1 via=psync
      read 0 1 via=psync
"
        );
    }
}
