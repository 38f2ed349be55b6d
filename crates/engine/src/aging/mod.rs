//! Makes a file system old: files come and go by a seeded sequence until it is as full and as worn as asked.
//!
//! ```text
//! churn (what happens next, from the seed) ──► ground (files, and how far it has come) ──► wear (how worn it is now)
//! ```
//!
//! It is no measurement, and its speed is not reported. It can be ended at any time and goes on where it was; what it made
//! stays until it is asked to remove it.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use iodyno_model::{Aging, AgingRecord, Diagnostic, Size, units};

use crate::clock;
use crate::failure::Failure;
use crate::random::Random;
use crate::signal;
use crate::witness::identity;

mod churn;
mod ground;
mod wear;

use churn::{Change, Churn};
use ground::{AgingDirectory, AgingState, Hands, Room};

pub use ground::NAME as FOLDER;

/// All is put on the disk, and the state is kept, so many times.
const FLUSHES: u64 = 64;
/// Between two looks at how far it has come.
const LOOK: Duration = Duration::from_millis(100);

/// Tells how far it has come: bytes written, and those to write.
pub type Progress<'a> = &'a mut dyn FnMut(u64, u64);

/// Ages a file system, or goes on with it. Ends early, and says so in the record, when the user says stop.
///
/// # Errors
/// What keeps it from being done.
pub fn age(aging: &Aging, seed: u64, progress: Progress<'_>) -> Result<AgingRecord, Diagnostic> {
    let told = |failure: Failure| failure.diagnostic(&aging.origin, "");
    let began = clock::monotonic();
    let ground = AgingDirectory::new(aging).map_err(told)?;
    let mut record = AgingRecord {
        directory: ground.path.display().to_string(),
        file_system: identity::facts(&ground.directory().display().to_string())
            .file_system
            .unwrap_or_default(),
        size_bytes: Room::of(ground.directory()).unwrap_or_default().size_bytes,
        asked_percent: if aging.remove { 0.0 } else { aging.full_percent },
        ..AgingRecord::default()
    };
    if aging.remove {
        remove(&ground, &mut record).map_err(told)?;
    } else {
        let state = begin(aging, seed, &ground, &mut record).map_err(told)?;
        churned(aging, seed, &ground, state, &mut record, progress)?;
        record.after = Some(wear::look(ground.directory()));
    }
    record.elapsed_ns = clock::monotonic().saturating_sub(began);
    Ok(record)
}

fn remove(ground: &AgingDirectory, record: &mut AgingRecord) -> Result<(), Failure> {
    if ground.state()?.is_none() {
        return Err(
            Failure::new("nothing was aged here").hint("name the directory that was given when it was aged")
        );
    }
    record.before = Some(wear::look(ground.directory()));
    ground.remove().map_err(|error| Failure::new(format!("{FOLDER}: {error}")))?;
    record.complete = true;
    Ok(())
}

/// What is asked, in words that a later run is held against.
fn words(aging: &Aging, seed: u64) -> String {
    let mut words = format!(
        "full {} %, turnover {}, youth {}, workers {}, seed {seed}",
        aging.full_percent, aging.turnover, aging.youth, aging.workers
    );
    if aging.reserved {
        words.push_str(", reserved");
    }
    if aging.sizes != Aging::usual_sizes() {
        words.push_str(&format!(", sizes {}", size_words(&aging.sizes)));
    }
    words
}

/// Sizes, as far as two of them must be told apart.
fn size_words(size: &Size) -> String {
    let list = |parts: Vec<(String, f64)>| {
        let part = |(words, percent): &(String, f64)| format!("{percent} % {words}");
        parts.iter().map(part).collect::<Vec<_>>().join(", ")
    };
    match size {
        Size::Fixed(bytes) => units::binary(*bytes),
        Size::Uniform { least_bytes, most_bytes, step_bytes } => {
            let step = if *step_bytes > 1 { format!(" by {step_bytes}") } else { String::new() };
            format!("{} to {}{step}", units::binary(*least_bytes), units::binary(*most_bytes))
        }
        Size::Gamma { mean_bytes, shape } => format!("of mean {mean_bytes} and shape {shape}"),
        Size::Normal { mean_bytes, deviation_bytes } => {
            format!("of mean {mean_bytes} and deviation {deviation_bytes}")
        }
        Size::Poisson { mean } => format!("by Poisson, of mean {mean}"),
        Size::Split(parts) => {
            list(parts.iter().map(|(bytes, percent)| (units::binary(*bytes), *percent)).collect())
        }
        Size::Blend(parts) => {
            list(parts.iter().map(|(size, percent)| (size_words(size), *percent)).collect())
        }
        Size::ResultOf(step) => format!("of {step}"),
        Size::Whole => "whole".into(),
    }
}

/// The state to go on from; of a new ground the first.
fn begin(
    aging: &Aging,
    seed: u64,
    ground: &AgingDirectory,
    record: &mut AgingRecord,
) -> Result<AgingState, Failure> {
    let asked = words(aging, seed);
    if let Some(state) = ground.state()? {
        if state.asked != asked || state.done.len() != aging.workers as usize {
            let message = format!("{FOLDER}: it was aged in another way before: {}", state.asked);
            return Err(
                Failure::new(message).hint("ask for the same, or remove it first: iodyno age DIR --remove")
            );
        }
        record.resumed = true;
        return Ok(state);
    }
    let refused = |what: String| Failure::new(what);
    let room = Room::of(ground.directory()).ok_or_else(|| refused("how full it is cannot be told".into()))?;
    let wanted = (room.size_bytes as f64 * aging.full_percent / 100.0) as u64;
    let full = room.full_percent();
    let aim_bytes = wanted.checked_sub(room.used_bytes).filter(|aim| *aim >= room.block_bytes * 64);
    let aim_bytes = aim_bytes.ok_or_else(|| {
        refused(format!("it is {full:.1} % full already, and was to become {} %", aging.full_percent))
            .hint("ask for more, e.g. --to 90%")
    })?;
    if aim_bytes > room.free_bytes {
        let most = 100.0 * (room.used_bytes + room.free_bytes) as f64 / room.size_bytes.max(1) as f64;
        return Err(refused(format!("it cannot become {} % full", aging.full_percent))
            .hint(format!("this user may fill it to {most:.1} %")));
    }
    record.before = Some(wear::look(ground.directory()));
    let state =
        AgingState { asked, aim_bytes, block_bytes: room.block_bytes, done: vec![0; aging.workers as usize] };
    ground.begin(&state).map_err(|error| Failure::new(format!("{FOLDER}: {error}")))?;
    Ok(state)
}

/// What all workers share.
#[derive(Debug, Default)]
struct SharedAging {
    /// Changes that each has made.
    done: Vec<AtomicU64>,
    /// Bytes written, of each.
    written: Vec<AtomicU64>,
    cut: AtomicU64,
    stop: AtomicBool,
    running: AtomicU64,
    failed: Mutex<Option<String>>,
}

/// Does what is left to be done.
fn churned(
    aging: &Aging,
    seed: u64,
    ground: &AgingDirectory,
    mut state: AgingState,
    record: &mut AgingRecord,
    progress: Progress<'_>,
) -> Result<(), Diagnostic> {
    let workers = aging.workers.max(1);
    let aim_bytes = state.aim_bytes / u64::from(workers);
    let mut churns = Vec::new();
    for worker in 0..workers {
        churns.push(Churn::new(aging, seed, worker, aim_bytes, state.block_bytes)?);
    }
    let total: u64 = churns.iter().map(|churn| churn.progress().1).sum();
    let shared = SharedAging {
        done: state.done.iter().map(|_| AtomicU64::new(0)).collect(),
        written: state.done.iter().map(|_| AtomicU64::new(0)).collect(),
        running: AtomicU64::new(u64::from(workers)),
        ..SharedAging::default()
    };
    let ended = std::thread::scope(|scope| {
        let shared = &shared;
        let threads: Vec<_> = churns
            .into_iter()
            .zip(&state.done)
            .enumerate()
            .map(|(worker, (churn, skip))| {
                let (hands, skip) = (hands(aging, seed, ground, worker as u32), *skip);
                scope.spawn(move || work(churn, hands, ground, skip, worker, shared))
            })
            .collect();
        look_after(ground, &state, shared, total, progress);
        threads.into_iter().filter_map(|thread| thread.join().ok()).collect::<Vec<_>>()
    });
    state.done = shared.done.iter().map(|done| done.load(Relaxed)).collect();
    let kept = ground.flush().and_then(|()| ground.keep(&state));
    if let Err(error) = kept {
        shared.fail(error.to_string());
    }
    for WorkerEnd { made, removed, churn, .. } in &ended {
        (record.made, record.removed) = (record.made + made, record.removed + removed);
        record.files += churn.files();
        record.written_bytes += churn.progress().0;
    }
    record.complete = ended.len() == workers as usize && ended.iter().all(|ended| ended.complete);
    record.cut = shared.cut.load(Relaxed);
    match shared.failed.into_inner().unwrap_or_else(PoisonError::into_inner) {
        Some(why) => Err(Diagnostic::error(&aging.origin, format!("{FOLDER}: {why}"))
            .hint("once that is mended, the same command goes on where it was")),
        None => Ok(()),
    }
}

fn hands(aging: &Aging, seed: u64, ground: &AgingDirectory, worker: u32) -> Hands {
    let mut noise = Random::from_seed(seed, 0x6167_6501_0000 + u64::from(worker));
    Hands::new(ground, worker, aging.reserved, || noise.next())
}

/// How a worker ended.
struct WorkerEnd {
    made: u64,
    removed: u64,
    churn: Churn,
    complete: bool,
}

/// One worker: goes through what was done before, and does the rest. Every so often it waits until all is on the disk: a
/// file that is removed before it was placed there wears nothing.
fn work(
    mut churn: Churn,
    mut hands: Hands,
    ground: &AgingDirectory,
    skip: u64,
    worker: usize,
    shared: &SharedAging,
) -> WorkerEnd {
    let (mut made, mut removed, mut done) = (0, 0, 0);
    let step = (churn.progress().1 / FLUSHES).max(1 << 20);
    let (mut next, mut complete) = (step, false);
    while !shared.stop.load(Relaxed) {
        let Some(change) = churn.next() else {
            complete = true;
            break;
        };
        match change {
            Change::Make { .. } => made += 1,
            Change::Remove { .. } => removed += 1,
        }
        let written = churn.progress().0;
        if done >= skip {
            let whole = hands.perform(change).and_then(|whole| match written >= next {
                true => ground.flush().map(|()| whole),
                false => Ok(whole),
            });
            match whole {
                Ok(whole) => shared.cut.fetch_add(u64::from(!whole), Relaxed),
                Err(error) => {
                    shared.fail(error.to_string());
                    break;
                }
            };
        }
        next = if written >= next { written + step } else { next };
        done += 1;
        shared.done[worker].store(done, Relaxed);
        shared.written[worker].store(written, Relaxed);
    }
    // Who was ended before it came to where it had been has done no less than before.
    shared.done[worker].store(done.max(skip), Relaxed);
    shared.running.fetch_sub(1, Relaxed);
    WorkerEnd { made, removed, churn, complete }
}

impl SharedAging {
    fn fail(&self, why: String) {
        self.failed.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(why);
        self.stop.store(true, Relaxed);
    }

    fn written(&self) -> u64 {
        self.written.iter().map(|written| written.load(Relaxed)).sum()
    }
}

/// While the workers work: tells, keeps the state of what is on the disk, and ends them when the user says so.
fn look_after(
    ground: &AgingDirectory,
    state: &AgingState,
    shared: &SharedAging,
    total: u64,
    progress: Progress<'_>,
) {
    let step = (total / FLUSHES).max(1 << 20);
    let mut next = step;
    while shared.running.load(Relaxed) > 0 {
        std::thread::sleep(LOOK);
        let written = shared.written();
        progress(written, total);
        if signal::interruptions().0 > 0 {
            shared.stop.store(true, Relaxed);
        }
        if written < next {
            continue;
        }
        next = written + step;
        let done = shared.done.iter().map(|done| done.load(Relaxed));
        let done = done.zip(&state.done).map(|(now, before)| now.max(*before)).collect();
        let kept = ground.flush().and_then(|()| ground.keep(&AgingState { done, ..state.clone() }));
        if let Err(error) = kept {
            shared.fail(error.to_string());
        }
    }
}
