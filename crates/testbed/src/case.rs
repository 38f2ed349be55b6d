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

/// Asks a test program for a line on each of its cases instead of running them: name, weight and tier, between tabs.
/// `cargo xtask ci` plans with them.
const PLANNED: &str = "TESTBED_PLAN";

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

/// What a case asks of the processors while it runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Weight {
    /// It mostly waits: several for each processor.
    Waits,
    /// It keeps a processor busy.
    Computes,
    /// It looks at the whole machine: nothing else runs.
    Alone,
}

/// A named test: what it needs, and what it does.
pub struct Case {
    name: String,
    needs: Vec<Need>,
    /// None: as its program's other cases.
    weight: Option<Weight>,
    against: bool,
    body: Box<dyn FnOnce() -> Outcome + Send>,
}

impl Case {
    /// A case that runs `body` where all `needs` are met.
    pub fn new(
        name: impl Into<String>,
        needs: &[Need],
        body: impl FnOnce() -> Outcome + Send + 'static,
    ) -> Case {
        Case { name: name.into(), needs: needs.to_vec(), weight: None, against: false, body: Box::new(body) }
    }

    /// It mostly waits for something: several run at once for each processor.
    pub fn waits(self) -> Case {
        Case { weight: Some(Weight::Waits), ..self }
    }

    /// It keeps a processor busy.
    pub fn computes(self) -> Case {
        Case { weight: Some(Weight::Computes), ..self }
    }

    /// Nothing else runs beside it: for those that look at the whole machine.
    pub fn alone(self) -> Case {
        Case { weight: Some(Weight::Alone), ..self }
    }

    /// It compares with an original program, or repeats for one more file system what others show: continuous integration
    /// takes a sample of such cases.
    pub fn against(self) -> Case {
        Case { against: true, ..self }
    }

    /// What a scheduler must know of it.
    fn planned(&self, usual: Weight) -> String {
        let weight = match self.weight.unwrap_or(usual) {
            Weight::Waits => "waits",
            Weight::Computes => "computes",
            Weight::Alone => "alone",
        };
        let tier = if self.against { "against" } else { "live" };
        format!("{}\t{weight}\t{tier}", self.name)
    }

    /// The first of its needs that this machine does not meet.
    fn missing(&self) -> Option<Skip> {
        self.needs.iter().find_map(|need| need.check().err())
    }

    /// Its needs are looked at when it runs: of the others in its program nothing is asked then.
    fn into_trial(self) -> Trial {
        let name = self.name.clone();
        let run = move || match self.missing() {
            Some(skip) => {
                say_skipped(&self.name, &skip);
                Ok(Completion::ignored_with(skip))
            }
            None => self.perform(),
        };
        Trial::ignorable_test(name, run)
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
        let outcome = if self.weight == Some(Weight::Alone) {
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
    let title = name.clone();
    let run = move || match missing {
        Some(reason) => {
            say_skipped(&title, &reason);
            Ok(Completion::ignored_with(reason))
        }
        None => run().map(|()| Completion::Completed),
    };
    Trial::ignorable_test(name, run)
}

/// Turns cases into trials of libtest-mimic, and must be the first thing that a test's `main` does.
///
/// A case whose need is not met, or whose body returns a [`Skip`], is counted as ignored and prints
/// `skipped: NAME: REASON` on stderr when it runs. A process that [`fuse::Device`](crate::fuse::Device) started to be a
/// device's server never returns from here.
pub fn trials(cases: Vec<Case>) -> Vec<Trial> {
    #[cfg(target_os = "linux")]
    {
        crate::fuse::serve_when_asked();
        crate::fuse::serve_held_when_asked();
        crate::rogue::serve_when_asked();
    }
    cases.into_iter().map(Case::into_trial).collect()
}

/// Runs the cases as `cargo test` expects it: its arguments, its report, its exit code.
pub fn run(cases: Vec<Case>) -> ExitCode {
    run_as(cases, Weight::Computes)
}

/// The same for cases that mostly wait for something: more of them at once than there are processors.
pub fn run_waiting(cases: Vec<Case>) -> ExitCode {
    run_as(cases, Weight::Waits)
}

fn run_as(cases: Vec<Case>, usual: Weight) -> ExitCode {
    let planned: Vec<String> = cases.iter().map(|case| case.planned(usual)).collect();
    let trials = trials(cases);
    if std::env::var_os(PLANNED).is_some() {
        planned.iter().for_each(|line| println!("{line}"));
        return ExitCode::SUCCESS;
    }
    let mut arguments = Arguments::from_args();
    if usual == Weight::Waits {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        arguments.test_threads = arguments.test_threads.or(Some(processors * WAITING));
    }
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
        let quiet = Arguments { quiet: true, ..Arguments::default() };
        let conclusion = libtest_mimic::run(&quiet, trials);
        assert_eq!((conclusion.num_passed, conclusion.num_ignored), (1, 2));
    }

    #[test]
    fn a_plan_says_the_weight_and_the_tier() {
        let case = || Case::new("staged", &[], || Ok(()));
        assert_eq!(case().planned(Weight::Waits), "staged\twaits\tlive");
        assert_eq!(case().alone().planned(Weight::Waits), "staged\talone\tlive");
        assert_eq!(case().computes().against().planned(Weight::Waits), "staged\tcomputes\tagainst");
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
