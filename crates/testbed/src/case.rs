//! Test cases that say what they need from the machine.
//!
//! The plain `#[test]` harness knows pass and fail only, so a test without root or without FUSE would either fail
//! on a healthy machine or pass without having looked. Here each case declares its needs; what is missing turns it
//! into a counted, printed skip. It refuses to skip for any other reason than a missing need or a returned
//! [`Skip`]: every other error, and every panic, is a failure.

use crate::Skip;
use libtest_mimic::{Arguments, Completion, Failed, Trial};
use std::error::Error;
use std::fmt::Display;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::{PoisonError, RwLock};
use std::time::Instant;

/// What a case's body returns; `?` works on [`Skip`], `io::Error`, `String` and `&str` alike.
pub type Outcome = Result<(), Box<dyn Error>>;

/// How many cases that mostly wait run at once for each processor.
const WAITING: usize = 3;

/// Asks for a line on standard error with the seconds that each case took.
const TIMES: &str = "IODYNO_TEST_TIMES";

/// Cases that must run alone hold it for writing, all others for reading.
static FLOOR: RwLock<()> = RwLock::new(());

/// Something that the machine must have for a case to mean anything.
#[derive(Debug, Clone, Copy)]
pub enum Need {
    /// The effective user is root.
    Root,
    /// Mounting is permitted (`CAP_SYS_ADMIN`).
    Mount,
    /// `/dev/fuse` opens, and mounting is permitted.
    Fuse,
    /// `/dev/loop-control` opens, and mounting is permitted.
    Loop,
    /// The kernel knows this file system now, as `/proc/filesystems` says.
    FileSystem(&'static str),
    /// This program is on the `PATH` or in an `sbin` directory.
    Tool(&'static str),
    /// `io_uring_setup` answers.
    IoUring,
    /// `/sys/block/zram0` exists and may be configured.
    Zram,
    /// Anything else: `Err` holds the reason why it is missing.
    That(fn() -> Result<(), Skip>),
}

impl Need {
    /// Whether the machine has it; the error names what is missing.
    pub fn check(&self) -> Result<(), Skip> {
        match self {
            Need::Root => require(is_root(), "needs root"),
            Need::Mount => require(may_mount(), "needs CAP_SYS_ADMIN to mount"),
            Need::Fuse => Need::Mount.check().and_then(|()| opens("/dev/fuse")),
            Need::Loop => Need::Mount.check().and_then(|()| opens("/dev/loop-control")),
            Need::FileSystem(name) => require(knows(name), format!("the kernel has no {name} file system")),
            Need::Tool(name) => find_tool(name).map(|_| ()),
            Need::IoUring => io_uring(),
            Need::Zram => Need::Root.check().and_then(|()| opens("/sys/block/zram0/disksize")),
            Need::That(check) => check(),
        }
    }
}

/// A named test: what it needs, and what it does.
pub struct Case {
    name: String,
    needs: Vec<Need>,
    alone: bool,
    body: Box<dyn FnOnce() -> Outcome + Send>,
}

impl Case {
    /// A case that runs `body` where all `needs` are met.
    pub fn new(
        name: impl Into<String>,
        needs: &[Need],
        body: impl FnOnce() -> Outcome + Send + 'static,
    ) -> Case {
        Case { name: name.into(), needs: needs.to_vec(), alone: false, body: Box::new(body) }
    }

    /// Runs while no other case of this binary runs: for those that look at times.
    pub fn alone(mut self) -> Case {
        self.alone = true;
        self
    }

    /// The first of its needs that this machine does not meet.
    fn missing(&self) -> Option<Skip> {
        self.needs.iter().find_map(|need| need.check().err())
    }

    fn into_trial(self) -> Trial {
        let missing = self.missing();
        if let Some(skip) = &missing {
            say_skipped(&self.name, skip);
        }
        let ignored = missing.is_some();
        let name = self.name.clone();
        let run = move || match missing {
            Some(skip) => Ok(Completion::ignored_with(skip)),
            None => self.perform(),
        };
        Trial::ignorable_test(name, run).with_ignored_flag(ignored)
    }

    fn perform(self) -> Result<Completion, Failed> {
        let (name, body) = (self.name.clone(), self.body);
        let timed = move || {
            let began = Instant::now();
            let outcome = body();
            if std::env::var_os(TIMES).is_some() {
                eprintln!("took: {name}: {:.2} s", began.elapsed().as_secs_f64());
            }
            outcome
        };
        let outcome = if self.alone {
            let _floor = FLOOR.write().unwrap_or_else(PoisonError::into_inner);
            timed()
        } else {
            let _floor = FLOOR.read().unwrap_or_else(PoisonError::into_inner);
            timed()
        };
        let Err(error) = outcome else { return Ok(Completion::Completed) };
        match error.downcast_ref::<Skip>() {
            Some(skip) => {
                say_skipped(&self.name, skip);
                Ok(Completion::ignored_with(skip))
            }
            None => Err(Failed::from(error)),
        }
    }
}

/// Says why a test is skipped, in one piece: what other threads say goes before or after it.
fn say_skipped(name: &str, reason: impl Display) {
    let line = format!("skipped: {name}: {reason}\n");
    // What the tests of this very file stage is nobody's skip.
    if cfg!(not(test)) {
        let _ = std::io::stderr().write_all(line.as_bytes());
    }
}

/// A trial that is skipped where something is missing, and says what.
pub fn trial(
    name: impl Into<String>,
    missing: Option<String>,
    run: impl FnOnce() -> Result<(), Failed> + Send + 'static,
) -> Trial {
    let name = name.into();
    if let Some(reason) = &missing {
        say_skipped(&name, reason);
    }
    let ignored = missing.is_some();
    let run = move || match missing {
        Some(reason) => Ok(Completion::ignored_with(reason)),
        None => run().map(|()| Completion::Completed),
    };
    Trial::ignorable_test(name, run).with_ignored_flag(ignored)
}

/// Turns cases into trials of libtest-mimic, and must be the first thing that a test's `main` does.
///
/// A case whose need is not met becomes an ignored trial and prints `skipped: NAME: REASON` on stderr, now; one
/// whose body returns a [`Skip`] does so when it runs. A process that [`fuse::Device`](crate::fuse::Device)
/// started to be a device's server never returns from here.
pub fn trials(cases: Vec<Case>) -> Vec<Trial> {
    #[cfg(target_os = "linux")]
    {
        crate::fuse::serve_when_asked();
        crate::rogue::serve_when_asked();
    }
    cases.into_iter().map(Case::into_trial).collect()
}

/// Runs the cases as `cargo test` expects it: its arguments, its report, its exit code.
pub fn run(cases: Vec<Case>) -> ExitCode {
    let trials = trials(cases);
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

/// The same for cases that mostly wait for something: more of them at once than there are processors.
pub fn run_waiting(cases: Vec<Case>) -> ExitCode {
    let trials = trials(cases);
    let mut arguments = Arguments::from_args();
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    arguments.test_threads = arguments.test_threads.or(Some(processors * WAITING));
    libtest_mimic::run(&arguments, trials).exit_code()
}

/// Where a program is: on the `PATH`, or in an `sbin` directory that an ordinary `PATH` leaves out.
pub(crate) fn find_tool(name: &str) -> Result<PathBuf, Skip> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path)
        .chain(["/usr/sbin", "/sbin", "/usr/local/sbin"].map(PathBuf::from))
        .map(|directory| directory.join(name))
        .find(|file| file.is_file())
        .ok_or_else(|| Skip::new(format!("{name} is not installed")))
}

fn require(met: bool, reason: impl Into<String>) -> Result<(), Skip> {
    if met { Ok(()) } else { Err(Skip::new(reason)) }
}

fn opens(path: &str) -> Result<(), Skip> {
    let opened = std::fs::File::options().read(true).write(true).open(path);
    opened.map(|_| ()).map_err(|error| Skip::new(format!("{path}: {error}")))
}

fn knows(file_system: &str) -> bool {
    let known = std::fs::read_to_string("/proc/filesystems").unwrap_or_default();
    known.lines().any(|line| line.split_whitespace().last() == Some(file_system))
}

fn is_root() -> bool {
    // SAFETY: geteuid takes nothing, touches no memory and cannot fail.
    unsafe { libc::geteuid() == 0 }
}

/// `CAP_SYS_ADMIN` is bit 21 of the effective set; root inside a container often lacks it.
fn may_mount() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let effective = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    let bits = effective.and_then(|hex| u64::from_str_radix(hex.trim(), 16).ok()).unwrap_or(0);
    bits & (1 << 21) != 0
}

#[cfg(target_os = "linux")]
fn io_uring() -> Result<(), Skip> {
    // `struct io_uring_params` is 120 bytes, all zero for a ring without options.
    let mut params = [0u64; 15];
    // SAFETY: the kernel writes at most 120 bytes into `params`, which outlives the call.
    let fd = unsafe { libc::syscall(libc::SYS_io_uring_setup, 1, params.as_mut_ptr()) };
    if fd < 0 {
        return Err(Skip::new(format!("io_uring_setup: {}", std::io::Error::last_os_error())));
    }
    // SAFETY: `fd` was just returned by the kernel and nobody else owns it.
    unsafe { libc::close(fd as i32) };
    Ok(())
}

#[cfg(not(target_os = "linux"))]
fn io_uring() -> Result<(), Skip> {
    Err(Skip::new("io_uring is Linux's"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ends(case: Case) -> &'static str {
        match case.perform() {
            Ok(Completion::Completed) => "passed",
            Ok(Completion::Ignored { .. }) => "ignored",
            Err(_) => "failed",
        }
    }

    #[test]
    fn a_missing_need_is_ignored_and_a_met_one_runs() {
        let lacking = Need::That(|| Err(Skip::new("staged: not here")));
        let trials = trials(vec![
            Case::new("staged_without", &[lacking], || panic!("must not run")),
            Case::new("staged_with", &[Need::That(|| Ok(()))], || Ok(())),
            Case::new("staged_tool", &[Need::Tool("no-such-tool-as-this")], || panic!("must not run")),
        ]);
        let ignored: Vec<bool> = trials.iter().map(Trial::has_ignored_flag).collect();
        assert_eq!(ignored, [true, false, true]);
    }

    #[test]
    fn only_a_skip_is_ignored() {
        assert_eq!(ends(Case::new("staged_passing", &[], || Ok(())).alone()), "passed");
        assert_eq!(ends(Case::new("staged_failing", &[], || Err("a plain error".into()))), "failed");
        assert_eq!(
            ends(Case::new("staged_late", &[], || Err(Skip::new("staged: found out").into()))),
            "ignored"
        );
    }
}
