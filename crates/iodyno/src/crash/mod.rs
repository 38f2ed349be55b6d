//! `iodyno crash`: what is left of a file system, and of the files in it, when the power goes.
//!
//! Exit status: 0 every promise was kept, or taken back by the mount options; 1 one was not; 2 the command is wrong, or the
//! machine lacks something; 128 + n stopped by signal n.

pub mod history;
mod report;

use std::io::{self, IsTerminal, Write};
use std::path::PathBuf;

use clap::{Parser, Subcommand};
use iodyno_crash::request::{
    CrashHooks, CrashProgress, CrashReport, CrashRequest, DEVICE_NAMES, MountScripts, WorkloadChoice,
};
use iodyno_crash::session;
use iodyno_engine::{clock, signal};
use iodyno_model::{Diagnostic, Origin, units};

use self::report::ReproducingCommand;
use crate::crash_view;
use crate::leftovers;
use crate::loader::plain;
use crate::new_file::NewFile;
use crate::option_values::positive_time;
use crate::report_output::{ReportArguments, ReportOutput};
use crate::runs::{ended, one, parsed, print};
use crate::session::say;
use crate::terminal;

#[derive(Parser)]
#[command(name = "iodyno crash", about = "What a crash leaves of a file system, and of your files in it",
    disable_version_flag = true, disable_help_subcommand = true, subcommand_negates_reqs = true,
    args_conflicts_with_subcommands = true, after_help = after())]
pub struct CrashArgs {
    #[command(subcommand)]
    command: Option<CrashCommand>,
    /// ext4, xfs, btrfs, f2fs, or any with a mkfs.FS; with scripts: a name for the report
    #[arg(value_name = "FS", required_unless_present = "list")]
    file_system: Option<String>,
    /// Options of mount(8)
    #[arg(short = 'o', long, value_name = "OPTIONS", default_value = "", hide_default_value = true)]
    mount_options: String,
    /// Makes the file system on {device} instead of mkfs.FS, by a shell
    #[arg(long, value_name = "SCRIPT", requires = "mount")]
    mkfs: Option<String>,
    /// Mounts {device} on {dir}, by a shell
    #[arg(long, value_name = "SCRIPT", requires = "mkfs", conflicts_with = "mount_options")]
    mount: Option<String>,
    /// Size of the disk; default: what the file system needs at least
    #[arg(long, value_name = "BYTES", value_parser = units::parse_bytes)]
    size: Option<u64>,
    /// What the disk writes as a whole
    #[arg(long, value_name = "BYTES", default_value = "4096", value_parser = ["512", "4096"])]
    sector: String,
    /// Workloads, by comma, also seq-1, seq-2:50, enumerated:2:417; default: written, all that keep what they promise
    #[arg(short, long, value_name = "NAMES", value_delimiter = ',')]
    workload: Vec<String>,
    /// A file of workloads: docs/crash-workloads.md
    #[arg(long, value_name = "FILE")]
    suite: Vec<String>,
    /// Print the workloads
    #[arg(long, exclusive = true)]
    list: bool,
    /// States to judge, over all workloads
    #[arg(short = 'n', long, value_name = "N", default_value_t = 1000)]
    states: usize,
    /// End after this time
    #[arg(long, value_name = "TIME", value_parser = positive_time)]
    seconds: Option<u64>,
    /// Seed of what is drawn
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// The disk: honest, or one of those that lie, below
    #[arg(long, value_name = "DEVICE", default_value = "honest")]
    device: String,
    /// States judged at once; default: one for each processor
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    workers: Option<u16>,
    /// Judges a state of COMMAND, by a shell: what is in {dir} is whole if it succeeds
    #[arg(long, value_name = "SCRIPT", requires = "program")]
    check: Option<String>,
    /// Judge one state, as a report has named it
    #[arg(long, value_name = "STATE")]
    state: Option<String>,
    /// Leave the image of that state; default: crash-FS-STATE.img
    #[arg(long, value_name = "FILE", requires = "state", num_args = 0..=1, default_missing_value = "")]
    keep: Option<String>,
    /// As TAP
    #[arg(long, conflicts_with = "json")]
    tap: bool,
    /// Write JUnit's XML to this file
    #[arg(long, value_name = "FILE")]
    junit: Option<String>,
    #[command(flatten)]
    report: ReportArguments,
    /// A program to crash instead of a workload, after --; {dir} is the mounted directory
    #[arg(last = true, value_name = "COMMAND", conflicts_with_all = ["workload", "suite"])]
    program: Vec<String>,
}

#[derive(Subcommand)]
enum CrashCommand {
    /// In a program that is crashed: what it promised its user until now is promised
    Mark {
        /// What --check finds in $IODYNO_REACHED, a line each, if the power went later
        text: String,
    },
    /// Lose what is unsynced in a view, as a crash does
    Drop {
        #[arg(value_name = "DIR")]
        directory: String,
    },
    /// List what a crash would lose of a view
    Unsynced {
        #[arg(value_name = "DIR")]
        directory: String,
    },
}

fn after() -> String {
    let devices = DEVICE_NAMES.iter().map(|(name, about)| format!("  {name:18}{about}\n"));
    format!(
        "Devices:\n{}\nExamples:\n  iodyno crash ext4\n  iodyno crash xfs --workload create-rename-replace --states 200\n  \
         iodyno crash ext4 --device lying-flush --check './check {{dir}}' -- ./my-database {{dir}}\n\
         It needs root, FUSE and loop devices. docs/crash.md explains what it does.\n\n\
         iodyno crash --view DIR -- COMMAND runs a program over a directory whose unsynced data vanishes at\n\
         iodyno crash drop DIR: no root, no loop device; iodyno crash --view . --help, docs/powerfail.md",
        devices.collect::<String>()
    )
}

/// Does `iodyno crash ARGUMENTS…`; the exit status.
pub fn answer(arguments: &[String]) -> u8 {
    match parsed::<CrashArgs>("iodyno crash", arguments) {
        Ok(CrashArgs { command: Some(CrashCommand::Mark { text }), .. }) => {
            ended(session::mark(&text).map(|()| 0).map_err(one))
        }
        Ok(CrashArgs { command: Some(CrashCommand::Drop { directory }), .. }) => {
            ended(crash_view::order(&directory, "drop").map_err(one))
        }
        Ok(CrashArgs { command: Some(CrashCommand::Unsynced { directory }), .. }) => {
            ended(crash_view::order(&directory, "unsynced").map_err(one))
        }
        Ok(words) if words.list => ended(list().map_err(one)),
        Ok(words) => ended(explored(&words, arguments).map_err(one)),
        Err(status) => status,
    }
}

fn list() -> Result<u8, Diagnostic> {
    let known = iodyno_crash::script::builtin().map_err(|text| Diagnostic::error(&Origin::Default, text))?;
    let line = |workload: &iodyno_crash::script::WrittenWorkload| {
        let wrong = if workload.wrong.is_some() { " (wrong on purpose)" } else { "" };
        format!("{:24} {}{wrong}\n", workload.name, workload.about)
    };
    let enumerated = "written                  All of these that keep what they promise.\n\
                      seq-1, seq-2, seq-3:50   All workloads of one or two operations, a sample of 50 of three (--seed).\n\
                      enumerated:2:417         One of them, by its number: docs/crash-workloads.md\n";
    Ok(print(&(known.iter().map(line).collect::<String>() + enumerated)))
}

const SUITE_HINT: &str = "a file of workloads is expected: docs/crash-workloads.md";

fn request(words: &CrashArgs, home: PathBuf) -> Result<CrashRequest, Diagnostic> {
    let file_system = words.file_system.clone().unwrap_or_default();
    let scripts =
        words.mkfs.clone().zip(words.mount.clone()).map(|(mkfs, mount)| MountScripts { mkfs, mount });
    let workloads = if words.program.is_empty() {
        let suites = words.suite.iter().map(|path| {
            let text = std::fs::read_to_string(path);
            text.map(|text| (path.clone(), text))
                .map_err(|error| Diagnostic::error(&Origin::argument(path), plain(&error)).hint(SUITE_HINT))
        });
        WorkloadChoice::Named { names: words.workload.clone(), suites: suites.collect::<Result<_, _>>()? }
    } else {
        WorkloadChoice::Command { command: words.program.clone(), check: words.check.clone() }
    };
    let image = words.keep.as_ref().map(|path| {
        let state = words.state.as_deref().unwrap_or_default().split('@').next().unwrap_or_default();
        PathBuf::from(if path.is_empty() { format!("crash-{file_system}-{state}.img") } else { path.clone() })
    });
    Ok(CrashRequest {
        file_system,
        mount_options: words.mount_options.clone(),
        scripts,
        disk_bytes: words.size,
        sector_bytes: words.sector.parse().unwrap_or(4096),
        workloads,
        states: words.states,
        limit_ns: words.seconds,
        seed: words.seed,
        device: words.device.clone(),
        state: words.state.clone(),
        image,
        workers: words.workers.map_or_else(
            || std::thread::available_parallelism().map_or(1, std::num::NonZeroUsize::get),
            usize::from,
        ),
        home,
    })
}

fn explored(words: &CrashArgs, arguments: &[String]) -> Result<u8, Diagnostic> {
    if words.states == 0 {
        return Err(
            Diagnostic::error(&Origin::argument("--states"), "expected at least 1").hint("e.g. --states 200")
        );
    }
    let files = ReportOutput::open(&words.report)?;
    let junit = words.junit.as_deref().map(NewFile::create).transpose()?;
    let temporary = std::env::temp_dir().display().to_string();
    leftovers::remove_temporaries(&temporary).iter().for_each(say);
    let home = TemporaryHome::create(leftovers::temporary(&temporary, "crash"))?;
    let request = request(words, home.path.clone())?;
    signal::install();
    let began_ns = clock::monotonic();
    let began_unix_ns = clock::unix_ns();
    let mut line = ProgressLine { began_ns, limit_ns: words.seconds, shown_ns: 0 };
    let mut hooks = CrashHooks {
        clock: clock::monotonic,
        is_stopped: || signal::interruptions().0 > 0,
        progress: &mut |progress| line.show(&progress),
    };
    let explored = session::run(&request, &mut hooks);
    line.clear();
    drop(home);
    let report = match (explored, signal::interruptions()) {
        (Err(_), (1.., signal)) => return Ok(stopped_by(signal)),
        (explored, _) => explored?,
    };
    let command = ReproducingCommand::of(words);
    history::keep(&report, arguments, began_unix_ns);
    if let Some(junit) = junit {
        junit.write(&report::checks(&report, &command).junit().unwrap_or_default())?;
    }
    let written = match words.tap {
        true => print(&report::checks(&report, &command).tap()),
        false => files.write(&report::told(&report, &command)),
    };
    Ok(match (signal::interruptions(), written) {
        ((1.., signal), _) => stopped_by(signal),
        (_, 0) => u8::from(is_broken(&report)),
        (_, written) => written,
    })
}

fn stopped_by(signal: i32) -> u8 {
    128 + u8::try_from(signal).unwrap_or(0)
}

/// Whether a promise was broken that nothing takes back.
fn is_broken(report: &CrashReport) -> bool {
    report.workloads.iter().flat_map(|workload| &workload.findings).any(|finding| !finding.is_allowed())
}

/// A directory for mounts that goes with its owner; of one that was killed the next command removes it.
struct TemporaryHome {
    path: PathBuf,
}

impl TemporaryHome {
    fn create(path: String) -> Result<TemporaryHome, Diagnostic> {
        match std::fs::create_dir(&path) {
            Ok(()) => Ok(TemporaryHome { path: path.into() }),
            Err(error) => Err(Diagnostic::error(&Origin::argument(&path), plain(&error))
                .hint("mounts need a directory there; TMPDIR names another place")),
        }
    }
}

impl Drop for TemporaryHome {
    fn drop(&mut self) {
        // What is mounted below is seen by the explorer alone: these are empty directories.
        let _ = std::fs::remove_dir_all(&self.path);
    }
}

/// Tells a person at a terminal how far it is, in one line that is written over.
struct ProgressLine {
    began_ns: u64,
    limit_ns: Option<u64>,
    shown_ns: u64,
}

/// How often the line changes, ns.
const SHOWN_EVERY_NS: u64 = 200_000_000;

impl ProgressLine {
    fn show(&mut self, progress: &CrashProgress<'_>) {
        let now = clock::monotonic();
        if now < self.shown_ns + SHOWN_EVERY_NS || !io::stderr().is_terminal() || progress.judged == 0 {
            return;
        }
        self.shown_ns = now;
        let elapsed = now - self.began_ns;
        let by_states =
            elapsed * (progress.all - progress.judged.min(progress.all)) as u64 / progress.judged as u64;
        let left = self.limit_ns.map_or(by_states, |limit| by_states.min(limit.saturating_sub(elapsed)));
        let broken =
            if progress.findings > 0 { format!(", {} broken", progress.findings) } else { String::new() };
        let text = format!(
            "{}: {} of {} states{broken}, {} s left",
            progress.workload,
            progress.judged,
            progress.all,
            left.div_ceil(1_000_000_000)
        );
        let _ = write!(terminal::err(), "\r\x1b[K{text}");
        let _ = terminal::err().flush();
    }

    fn clear(&self) {
        if self.shown_ns > 0 {
            let _ = write!(io::stderr(), "\r\x1b[K");
        }
    }
}
