//! One case, in its own process: round after round, step after step, each expectation judged as it comes.
//!
//! It tells its keeper what did not pass, and notes in shared memory how far it has come, so that nothing is lost if it
//! dies on the way. What it made it removes itself; whatever it cannot remove, the guardian does.

use std::ffi::CString;
use std::io::PipeWriter;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use iodyno_model::reflect::Reflect;
use iodyno_model::{Action, Call, Outcome, Script, Step, Verdict};

use super::actor::Bench;
use super::cleanup::{self, Task};
use super::fixtures::Views;
use super::process::{die_with_parent, lead_group, make_directory, set_umask, unshare};
use super::round::{Round, StepEnd};
use super::{mounts, wire};
use crate::script::{Check, rounds, verdict, words};
use iodyno_engine::failure::strerror;
use iodyno_engine::memory::Mapping;

/// What a case tells its keeper.
#[derive(Debug, Reflect)]
pub enum CaseMessage {
    /// A check did not pass.
    Verdict(Verdict),
    /// A step of the set-up failed: which, and how.
    SetUp(String),
    /// It cannot go on at all: why.
    Broken(String),
}

/// How far a case has come.
#[repr(C)]
pub struct Progress {
    /// The next check, counted over the whole case.
    pub check: AtomicU32,
    /// The round and step it is at, each counted from 0.
    pub round: AtomicU32,
    /// As above.
    pub step: AtomicU32,
    /// Not 0: what it made stays.
    pub kept: AtomicU32,
}

/// How far each case has come, in memory that all processes share.
pub struct Board {
    mapping: Mapping,
    count: usize,
}

impl Board {
    /// Whether anything of what was made stays.
    pub fn is_anything_kept(&self) -> bool {
        (0..self.count).any(|index| self.of(index).kept.load(Relaxed) != 0)
    }

    /// Whether what a directory of that name holds stays.
    pub fn is_kept(&self, name: &str) -> bool {
        name.parse().is_ok_and(|index| index < self.count && self.of(index).kept.load(Relaxed) != 0)
    }

    /// How much memory the progress of so many takes, bytes.
    pub const fn bytes(count: usize) -> usize {
        count * size_of::<Progress>()
    }

    /// For so many, in memory that is large enough for them.
    pub fn on(mapping: Mapping, count: usize) -> Self {
        assert!(mapping.bytes() >= Board::bytes(count));
        Board { mapping, count }
    }

    /// Of one case.
    pub fn of(&self, index: usize) -> &Progress {
        assert!(index < self.count);
        // SAFETY: the mapping holds so many, is aligned to pages and zeroed, and they are nothing but atomics.
        unsafe { &*self.mapping.start().cast::<Progress>().add(index) }
    }
}

/// What a case needs to run.
pub struct Brief<'a> {
    /// What it does.
    pub script: &'a Script,
    /// The directory it makes for itself: absolute, in the sandbox.
    pub directory: PathBuf,
    /// Its name below the sandbox and each view of it.
    pub name: String,
    /// Other views of the sandbox.
    pub views: &'a Views,
    /// How far it has come.
    pub progress: &'a Progress,
    /// Whether what failed stays.
    pub keep: bool,
}

/// Runs a case. Its process does nothing else.
pub fn perform(brief: &Brief<'_>, mut out: PipeWriter) {
    lead_group();
    die_with_parent();
    set_umask(0);
    if let Err(why) = work(brief, &mut out) {
        let _ = wire::send(&mut out, &CaseMessage::Broken(why));
    }
}

fn work(brief: &Brief<'_>, out: &mut PipeWriter) -> Result<(), String> {
    let own_mounts = mounts::wants_own(brief.script);
    if own_mounts && brief.views.base.is_some() {
        unshare(libc::CLONE_NEWNS).map_err(|errno| format!("unshare: {}", strerror(errno)))?;
    }
    let failed = |name: &str| {
        let name = format!("{name} {}", brief.directory.display());
        move |error: std::io::Error| format!("{name}: {}", strerror(error.raw_os_error().unwrap_or(0)))
    };
    make_directory(&brief.directory).map_err(failed("mkdir"))?;
    std::env::set_current_dir(&brief.directory).map_err(failed("chdir"))?;
    let home = OwnedFd::from(std::fs::File::open(".").map_err(failed("open"))?);
    let bench = Bench::new(&home, !own_mounts);
    let mut told = CaseReporter { out, brief, check: 0, fell: false };
    let mut is_clean = true;
    for (number, (label, steps)) in rounds(brief.script).into_iter().enumerate() {
        brief.progress.round.store(number as u32, Relaxed);
        told.fell = false;
        run_round(&mut told, brief, (&home, &bench), (number, label), &steps)?;
        set_umask(0);
        // What lies below a mount of the case's own goes once that has gone with it.
        let stays = own_mounts || (brief.keep && told.fell);
        if !stays {
            let name = CString::new(number.to_string()).expect("digits");
            is_clean &= cleanup::clean_at(home.as_fd(), &name, Task::Remove).is_empty();
        } else {
            is_clean = false;
            if brief.keep && told.fell {
                brief.progress.kept.store(1, Relaxed);
            }
        }
    }
    if is_clean {
        let _ = std::fs::remove_file(brief.directory.join(".tick"));
        let _ = std::fs::remove_dir(&brief.directory);
    }
    Ok(())
}

/// One round, in a fresh directory.
fn run_round(
    told: &mut CaseReporter<'_, '_>,
    brief: &Brief<'_>,
    (home, bench): (&OwnedFd, &Bench<'_>),
    (number, label): (usize, &str),
    steps: &[&Step],
) -> Result<(), String> {
    let name = number.to_string();
    go(home)?;
    make_directory(Path::new(&name)).map_err(|error| format!("mkdir {name}: {}", text(&error)))?;
    std::env::set_current_dir(&name).map_err(|error| format!("chdir {name}: {}", text(&error)))?;
    let round = Round::new(brief, &name, steps, bench);
    let outcome = perform_steps(told, brief, round, label, steps);
    go(home)?;
    outcome
}

fn text(error: &std::io::Error) -> String {
    strerror(error.raw_os_error().unwrap_or(libc::EIO))
}

fn go(home: &OwnedFd) -> Result<(), String> {
    // SAFETY: the descriptor is open.
    match unsafe { libc::fchdir(home.as_raw_fd()) } {
        0 => Ok(()),
        _ => Err(format!("fchdir: {}", text(&std::io::Error::last_os_error()))),
    }
}

fn perform_steps(
    told: &mut CaseReporter<'_, '_>,
    brief: &Brief<'_>,
    mut round: Round<'_>,
    label: &str,
    steps: &[&Step],
) -> Result<(), String> {
    let mut rest: Option<String> = None;
    for (index, step) in steps.iter().enumerate() {
        let Action::Call(call) = &step.action else {
            return Err(format!("the rule is wrong: {}: it holds more than calls", step.origin));
        };
        brief.progress.step.store(index as u32, Relaxed);
        if let Some(why) = &rest {
            told.skip(label, index, call, why);
            continue;
        }
        let wrong = |why: String| {
            let call = words(brief.script, call, &call.arguments);
            format!("the rule is wrong: {}: `{call}`: {why}", step.origin)
        };
        rest = match round.step(step, call).map_err(wrong)? {
            StepEnd::On(misses) => {
                told.judged(label, index, call, misses);
                None
            }
            StepEnd::Ends(misses, why) => {
                told.judged(label, index, call, misses);
                Some(why)
            }
            StepEnd::SetUpFailed(why) => {
                told.say(&CaseMessage::SetUp(why.clone()));
                told.skip(label, index, call, &why);
                Some(why)
            }
        };
    }
    Ok(())
}

/// What the keeper was told.
struct CaseReporter<'a, 'b> {
    out: &'a mut PipeWriter,
    brief: &'a Brief<'b>,
    /// The next check.
    check: u32,
    /// Whether a check of this round did not pass.
    fell: bool,
}

impl CaseReporter<'_, '_> {
    /// A keeper that is gone hears nothing, and this process will not outlive it.
    fn say(&mut self, said: &CaseMessage) {
        let _ = wire::send(self.out, said);
    }

    fn next(&mut self) {
        self.check += 1;
        self.brief.progress.check.store(self.check, Relaxed);
    }

    /// The checks of a step were made: for each, what it came to if it did not pass.
    fn judged(&mut self, round: &str, step: usize, call: &Call, misses: super::round::Misses) {
        for (expect, miss) in call.expect.iter().zip(misses.each.into_iter().chain(std::iter::repeat(None))) {
            if let Some(miss) = miss {
                self.fell = true;
                let check = Check { round, step: step as u32, call, expect };
                let verdict = Verdict {
                    call: words(self.brief.script, call, &misses.arguments),
                    expected: miss.expected,
                    got: miss.got,
                    ..verdict(self.brief.script, self.check, &check, Outcome::Fail)
                };
                self.say(&CaseMessage::Verdict(verdict));
            }
            self.next();
        }
    }

    /// The checks of a step cannot be made.
    fn skip(&mut self, round: &str, step: usize, call: &Call, why: &str) {
        for expect in &call.expect {
            self.fell = true;
            let check = Check { round, step: step as u32, call, expect };
            let outcome = Outcome::CouldNotRun(why.into());
            let verdict = verdict(self.brief.script, self.check, &check, outcome);
            self.say(&CaseMessage::Verdict(verdict));
            self.next();
        }
    }
}

/// The path of a round below a view of the sandbox.
pub fn below(view: &Path, case: &str, round: &str) -> String {
    view.join(case).join(round).display().to_string()
}
