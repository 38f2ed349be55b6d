//! An exercise of content: from the job to its record.
//!
//! A long run is cut into chapters: each ends with a check of all there is and the next begins with new files, so that what
//! led to a failure is never longer than a chapter, and a run of days needs no more memory than one of minutes.

use iodyno_model::{Divergence, Exercise, ExerciseRecord};

use super::divergence::FileDifference;
use super::draw::{Choice, Draw};
use super::files_under_test::FilesUnderTest;
use super::harness::{End, Harness};
use super::minimise::Minimiser;
use super::operation::{KINDS, OpKind, Operation, WAYS, Way, nearest, parse_all};
use super::probe::probe;
use super::sandbox::Sandbox;
use super::{DEFAULT_SEED_STREAM, Until};
use iodyno_engine::Failure;
use iodyno_engine::random::mix;
use iodyno_engine::worker::Worker;

/// Operations of a chapter.
const CHAPTER: u64 = 20_000;

/// The smallest file that is worth the name, bytes.
const LEAST_BYTES: u64 = 4096;

/// An exercise, ready to go.
pub struct ContentExercise {
    harness: Harness,
    choice: Choice,
    script: Vec<Operation>,
    operations: u64,
    record: ExerciseRecord,
    // Removed last: after the descriptors are closed.
    _sandbox: Sandbox,
}

impl ContentExercise {
    /// Makes the files, starts the engines, and finds out what there is.
    ///
    /// # Errors
    /// What is missing or makes no sense.
    pub fn new(
        worker: &Worker<'_>,
        exercise: &Exercise,
        directory: &str,
    ) -> Result<ContentExercise, Failure> {
        let script = parse_all(&exercise.script).map_err(Failure::new)?;
        let (most, operation) = limits(exercise, &script)?;
        let ways = ways(exercise, &script)?;
        let weights = weights(exercise, &ways)?;
        let sandbox = Sandbox::new(directory, 2 * most + (1 << 20))?;
        let place = sandbox.path().to_string_lossy().into_owned();
        let files_under_test = FilesUnderTest::new(worker, &place, (most, operation), &ways)?;
        let mut record = ExerciseRecord::default();
        let missing =
            files_under_test.missing.iter().map(|(way, why)| (format!("engine {}", way.name()), why.clone()));
        record.refused.extend(missing);
        let has = |way: &Way| {
            *way != Way::Mmap && files_under_test.missing.iter().all(|(missing, _)| missing != way)
        };
        let ways: Vec<Way> = ways.iter().copied().filter(has).collect();
        let page = files_under_test.page;
        let harness = Harness::new(files_under_test, most);
        let choice = Choice { weights, ways, most, operation, block: 0, direct: 0, page };
        let mut content = ContentExercise {
            harness,
            choice,
            script,
            operations: exercise.operations,
            record,
            _sandbox: sandbox,
        };
        if content.script.is_empty() {
            content.find_out()?;
        }
        Ok(content)
    }

    /// Leaves out what the file system does not have.
    fn find_out(&mut self) -> Result<(), Failure> {
        let kinds: Vec<OpKind> = self.choice.weights.iter().map(|(kind, _)| *kind).collect();
        let probed = probe(&mut self.harness, &kinds)?;
        (self.choice.block, self.choice.direct) = (probed.block, probed.direct);
        self.choice.weights.retain(|(kind, _)| probed.refused.iter().all(|(refused, _)| refused != kind));
        if self.choice.ways.is_empty() {
            self.choice.weights.retain(|(kind, _)| !kind.has_way());
        }
        let refused = probed.refused.into_iter().map(|(kind, why)| (kind.name().to_string(), why));
        self.record.refused.extend(refused);
        let grows =
            |kind: &OpKind| kind.changes() && !matches!(kind, OpKind::PunchHole | OpKind::ZeroKeepSize);
        match self.choice.weights.iter().any(|(kind, _)| grows(kind) && has_no_need(*kind)) {
            true => Ok(()),
            false => Err(Failure::new(
                "nothing that is drawn and that this file system has puts bytes into a file",
            )
            .hint("give write, append, truncate or fallocate a weight")),
        }
    }

    /// Runs it to its end.
    ///
    /// # Errors
    /// What broke.
    pub fn run(mut self, seed: u64, until: &Until<'_>) -> Result<ExerciseRecord, Failure> {
        let mut done = 0;
        let end = match self.script.is_empty() {
            false => {
                let script = std::mem::take(&mut self.script);
                let end =
                    self.harness.run(&script, &|| until.is_over()).and_then(|()| self.harness.conclude());
                end.map(|()| script.len() as u64)
            }
            true => self.chapters(seed, until, &mut done),
        };
        let tallies = std::mem::take(&mut self.harness.tallies);
        tallies.tell(&mut self.record);
        match end {
            Ok(_) => {}
            Err(End::Broken(failure)) => return Err(failure),
            Err(End::Parted(divergence)) => {
                self.record.failure = Some(self.reduce(&divergence, done, until)?)
            }
        }
        Ok(self.record)
    }

    fn chapters(&mut self, seed: u64, until: &Until<'_>, done: &mut u64) -> Result<u64, End> {
        let mut draw = Draw::new(self.choice.clone(), seed ^ mix(DEFAULT_SEED_STREAM));
        let (mut batch, mut drawn) = (Vec::new(), 0);
        let over = |drawn: u64| until.is_over() || (self.operations > 0 && drawn >= self.operations);
        while !over(drawn) {
            *done = drawn;
            self.harness.renew()?;
            let chapter_end = drawn + CHAPTER;
            while drawn < chapter_end && !over(drawn) {
                draw.next(self.harness.sizes(), &mut batch);
                drawn += batch.len() as u64;
                self.harness.round(&batch)?;
            }
            self.harness.conclude()?;
        }
        Ok(drawn)
    }

    /// What is told of a failure: where, and the shortest list of operations that shows it.
    fn reduce(
        &mut self,
        divergence: &FileDifference,
        before: u64,
        until: &Until<'_>,
    ) -> Result<Divergence, Failure> {
        let text = divergence.explain(&self.harness.log);
        let all: Vec<Operation> = self.harness.log.iter().map(|(operation, _)| operation.clone()).collect();
        let reduced_from = all.len() as u64;
        let minimised = Minimiser::new(&mut self.harness, &|| until.is_stopped()).run(all)?;
        let text = match minimised.text {
            Some(shorter) if shorter != text => format!("{text}\nin the shorter script: {shorter}"),
            Some(_) => text,
            None if until.is_stopped() => format!("{text}\nit was ended before it could be shortened"),
            None => format!("{text}\nit did not show again when the same was done on new files"),
        };
        let script = minimised.operations.iter().map(Operation::to_string).collect();
        Ok(Divergence { operation: before + divergence.number, text, script, reduced_from })
    }
}

/// Whether it works on an empty file.
fn has_no_need(kind: OpKind) -> bool {
    use OpKind::*;
    matches!(kind, Write | MappedWrite | DirectWrite | Append | Truncate | Fallocate | ZeroRange)
}

/// The longest file and operation, bytes: of a script, as its lines need.
fn limits(exercise: &Exercise, script: &[Operation]) -> Result<(u64, u64), Failure> {
    let needed = script.iter().map(|one| one.end().max(one.target.saturating_add(one.bytes)));
    let grown: u64 = script
        .iter()
        .filter(|one| matches!(one.kind, OpKind::Append | OpKind::InsertRange))
        .map(|one| one.bytes)
        .sum();
    let most = exercise.file_bytes.max(needed.max().unwrap_or(0).saturating_add(grown));
    let longest = script
        .iter()
        .filter(|one| one.kind.has_seed() || one.kind.has_way() || one.kind == OpKind::MappedRead);
    let operation = exercise.operation_bytes.max(longest.map(|one| one.bytes).max().unwrap_or(0));
    if most < LEAST_BYTES || operation == 0 {
        return Err(
            Failure::new("the file or its operations are too small").hint("a file of 256 KiB does well")
        );
    }
    if operation > 1 << 30 || most > 1 << 40 {
        return Err(Failure::new("the file or its operations are too large for a model in memory")
            .hint("a file of 256 KiB, operations of 64 KiB do well"));
    }
    Ok((most, operation.min(most)))
}

/// The engines that are named, and those that a script uses.
fn ways(exercise: &Exercise, script: &[Operation]) -> Result<Vec<Way>, Failure> {
    let mut ways = Vec::new();
    for name in &exercise.engines {
        let near = || nearest(name, WAYS.iter().map(|(_, name)| *name));
        let way = Way::of(name).ok_or_else(|| {
            let names: Vec<_> = WAYS.iter().map(|(_, name)| *name).collect();
            Failure::new(format!("`{name}`: no engine that an exercise can use{}", near()))
                .hint(format!("it can use {}", names.join(" ")))
        })?;
        ways.push(way);
    }
    let mapped = script.iter().any(|one| matches!(one.kind, OpKind::MappedRead | OpKind::MappedWrite));
    ways.extend(mapped.then_some(Way::Mmap));
    ways.extend(script.iter().filter(|one| one.kind.has_way()).map(|one| one.way));
    ways.sort_by_key(|way| *way as usize);
    ways.dedup();
    Ok(ways)
}

/// What is drawn how often: only what the engines can do.
fn weights(exercise: &Exercise, ways: &[Way]) -> Result<Vec<(OpKind, u32)>, Failure> {
    let mut weights = Vec::new();
    for (name, weight) in &exercise.weights {
        let kind = OpKind::of(name).ok_or_else(|| {
            let names: Vec<_> = KINDS.iter().map(|(_, name, _)| *name).collect();
            let near = nearest(name, names.iter().copied());
            Failure::new(format!("weight `{name}`: no operation of an exercise{near}"))
                .hint(format!("there are {}", names.join(" ")))
        })?;
        let mapped = matches!(kind, OpKind::MappedRead | OpKind::MappedWrite);
        let can = if mapped {
            ways.contains(&Way::Mmap)
        } else {
            !kind.has_way() || ways.iter().any(|way| *way != Way::Mmap)
        };
        if *weight > 0 && can {
            weights.push((kind, *weight));
        }
    }
    Ok(weights)
}
