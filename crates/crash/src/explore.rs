//! Judges states: each is built, mounted, looked at, checked, and written to.

use std::fs::File;
use std::io::{self, Read, Write};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::{Sender, channel};

use iodyno_block::{AttachOptions, AttachedDevice};
use iodyno_model::Diagnostic;
use iodyno_simulation::random::Random;

use crate::file_system::FileSystem;
use crate::log::{WriteLog, memory_file};
use crate::oracle::MountPractice;
use crate::promise::{Authority, Damage, Violation};
use crate::recording::{Recording, told};
use crate::state::{CrashState, StateChoice, StateId, states};
use crate::workload::Reach;

/// A state that breaks a promise.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StateFinding {
    pub state: StateId,
    /// How far the workload had come.
    pub reach: Reach,
    pub violation: Violation,
}

/// What was found in the states of a recording.
#[derive(Debug, Clone, Default)]
pub struct Exploration {
    /// States with different contents that the log allows.
    pub possible: usize,
    /// Those that were judged.
    pub judged: usize,
    /// By the place of the state in the log.
    pub findings: Vec<StateFinding>,
}

/// What is explored, and where.
pub struct Explorer<'a> {
    pub recording: &'a Recording,
    /// The recording's, or what a device that lies makes of it.
    pub log: &'a WriteLog,
    pub file_system: &'a FileSystem,
    /// An existing directory for mounts.
    pub home: &'a Path,
    /// Smaller than the recording's: the device tears what it promised to write as a whole.
    pub sector_bytes: u64,
}

/// How much is explored.
#[derive(Debug, Clone, Copy)]
pub struct ExploreBounds {
    pub states: usize,
    pub seed: u64,
    pub workers: NonZeroUsize,
}

/// Told after each state: states judged, states to judge, findings by now. False: it is to stop.
pub type ProgressCall<'a> = &'a mut dyn FnMut(usize, usize, usize) -> bool;

impl Explorer<'_> {
    /// Judges the states of a recording, in an order drawn by the seed.
    ///
    /// # Errors
    /// What kept it from judging; what a state's file system does is a finding instead.
    pub fn explore(&self, bounds: ExploreBounds, progress: ProgressCall) -> Result<Exploration, Diagnostic> {
        let choice = StateChoice { most: bounds.states, seed: bounds.seed, sector_bytes: self.sector_bytes };
        let (mut chosen, possible) = states(self.log, &self.recording.base, choice);
        Random::from_seed(bounds.seed, 2).shuffle(&mut chosen);
        let next = AtomicUsize::new(0);
        let mut exploration = Exploration { possible, ..Exploration::default() };
        std::thread::scope(|scope| {
            let (send, judged) = channel();
            for number in 0..bounds.workers.get().min(chosen.len()) {
                let (send, next, chosen) = (send.clone(), &next, &chosen);
                scope.spawn(move || self.work(number, next, chosen, &send));
            }
            drop(send);
            let mut failure = None;
            for outcome in judged {
                match outcome {
                    Ok(findings) => {
                        exploration.findings.extend(findings);
                        exploration.judged += 1;
                    }
                    Err(error) => failure = Some(told("judging a state", &error)),
                }
                let goes_on = progress(exploration.judged, chosen.len(), exploration.findings.len());
                if !goes_on || failure.is_some() {
                    next.store(usize::MAX / 2, Relaxed);
                }
            }
            failure.map_or(Ok(()), Err)
        })?;
        exploration.findings.sort_by(|one, other| {
            let place = |finding: &StateFinding| (finding.state.clone(), finding.violation.path.clone());
            place(one).cmp(&place(other))
        });
        Ok(exploration)
    }

    fn work(
        &self,
        number: usize,
        next: &AtomicUsize,
        chosen: &[CrashState],
        send: &Sender<io::Result<Vec<StateFinding>>>,
    ) {
        let image = match StateImage::create(self, &format!("state{number}")) {
            Ok(image) => image,
            Err(error) => {
                let _ = send.send(Err(error));
                return;
            }
        };
        while let Some(state) = chosen.get(next.fetch_add(1, Relaxed)) {
            if send.send(image.judge(self, &state.moments)).is_err() {
                return;
            }
        }
    }

    /// Judges one state at one moment.
    ///
    /// # Errors
    /// As [`explore`](Self::explore).
    pub fn judge(&self, state: &StateId, reach: Reach) -> io::Result<Vec<StateFinding>> {
        StateImage::create(self, "state")?.judge(self, &[(reach, state.clone())])
    }

    /// The finding's state with the fewest missing writes that still breaks the same promise in the same way.
    ///
    /// # Errors
    /// As [`explore`](Self::explore).
    pub fn shrink(&self, finding: &StateFinding, most_trials: usize) -> io::Result<StateFinding> {
        let image = StateImage::create(self, "shrunk")?;
        let mut best = finding.clone();
        let mut trials = 0;
        let mut chunk = best.state.missing.len().div_ceil(2).max(1);
        let mut from = 0;
        while trials < most_trials && chunk > 0 && !best.state.missing.is_empty() {
            if from >= best.state.missing.len() {
                (chunk, from) = (if chunk == 1 { 0 } else { chunk.div_ceil(2) }, 0);
                continue;
            }
            let mut missing = best.state.missing.clone();
            missing.drain(from..(from + chunk).min(best.state.missing.len()));
            let trial = StateId { missing, ..best.state.clone() };
            trials += 1;
            let found = image.judge(self, &[(best.reach, trial)])?;
            match found.into_iter().find(|found| is_same(&found.violation, &finding.violation)) {
                Some(found) => best = found,
                None => from += chunk,
            }
        }
        Ok(best)
    }
}

/// Whether two violations are the same in all but what exactly was found.
pub fn is_same(one: &Violation, other: &Violation) -> bool {
    (&one.promise, &one.path, one.damage) == (&other.promise, &other.path, other.damage)
}

/// A disk in memory that holds one state after the other.
struct StateImage {
    file: File,
    device: AttachedDevice,
    place: PathBuf,
}

impl StateImage {
    fn create(explorer: &Explorer, name: &str) -> io::Result<StateImage> {
        let place = explorer.home.join(name);
        std::fs::create_dir_all(&place)?;
        let file = memory_file("iodyno-crash-state")?;
        file.set_len(explorer.recording.base.bytes)?;
        let block_bytes = explorer.recording.sector_bytes;
        let device =
            AttachedDevice::attach(&file, AttachOptions { block_bytes, ..AttachOptions::default() })?;
        Ok(StateImage { file, device, place })
    }

    /// Judges a state at all its moments.
    fn judge(&self, explorer: &Explorer, moments: &[(Reach, StateId)]) -> io::Result<Vec<StateFinding>> {
        let Some((reach, state)) = moments.first() else { return Ok(Vec::new()) };
        self.device.forget_cache()?;
        state.write_to(explorer.log, &explorer.recording.base, explorer.sector_bytes, &self.file)?;
        self.device.forget_cache()?;
        // What the mount options take back is not held against the file system.
        let practice = MountPractice::of(&explorer.file_system.name, &explorer.file_system.options);
        let unusable = |promise: &str, found: String| StateFinding {
            state: state.clone(),
            reach: *reach,
            violation: practice.weighed(Violation {
                authority: Authority::Linux,
                promise: promise.into(),
                source: format!("{}(5)", explorer.file_system.name),
                path: ".".into(),
                damage: Damage::Unusable,
                found,
            }),
        };
        self.judge_mounted(explorer, moments, &unusable)
    }

    /// Judges the state that the disk holds; `unusable` makes a finding of the file system as a whole.
    fn judge_mounted(
        &self,
        explorer: &Explorer,
        moments: &[(Reach, StateId)],
        unusable: &dyn Fn(&str, String) -> StateFinding,
    ) -> io::Result<Vec<StateFinding>> {
        let mut findings = Vec::new();
        match explorer.file_system.mount(self.device.path(), &self.place) {
            Err(error) => {
                findings.push(unusable(MOUNTS, iodyno_model::origin::plain(&error)));
                return Ok(findings);
            }
            Ok(mounted) => {
                for (reach, state) in moments {
                    let violations = explorer.recording.oracle.judge(*reach, &self.place)?;
                    let finding = |violation| StateFinding { state: state.clone(), reach: *reach, violation };
                    findings.extend(violations.into_iter().map(finding));
                }
                mounted.unmount()?;
            }
        }
        if let Some(complaint) = explorer.file_system.complaint(self.device.path())? {
            findings.push(unusable(CHECKS, complaint));
        }
        if let Err(error) = self.write_again(explorer) {
            findings.push(unusable(WRITES, iodyno_model::origin::plain(&error)));
        }
        Ok(findings)
    }

    /// Mounts the state once more, and writes, syncs and reads.
    fn write_again(&self, explorer: &Explorer) -> io::Result<()> {
        let mounted = explorer.file_system.mount(self.device.path(), &self.place)?;
        let written = write_and_read(&self.place.join(".iodyno-after"));
        mounted.unmount()?;
        written
    }
}

const MOUNTS: &str = "the file system mounts after a crash";
const CHECKS: &str = "a file system that was mounted and unmounted after a crash is sound";
const WRITES: &str = "the file system takes writes after a crash";

fn write_and_read(path: &Path) -> io::Result<()> {
    let data: Vec<u8> = (0..8192_u32).map(|at| (at / 7) as u8).collect();
    let mut file = File::options().read(true).write(true).create(true).truncate(true).open(path)?;
    file.write_all(&data)?;
    file.sync_all()?;
    drop(file);
    let mut read = Vec::new();
    File::open(path)?.read_to_end(&mut read)?;
    std::fs::remove_file(path)?;
    if read == data { Ok(()) } else { Err(io::Error::other("it reads back as something else")) }
}
