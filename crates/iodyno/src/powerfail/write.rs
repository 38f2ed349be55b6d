//! `iodyno powerfail write`: lays out, writes, and where a trigger is named pulls the plug and verifies.

use std::fs::{self, File};
use std::io;
use std::net::{TcpStream, ToSocketAddrs};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use iodyno_crash::powerfail::channel::EntryChannel;
use iodyno_crash::powerfail::entry::LogHeader;
use iodyno_crash::powerfail::log::{LogPlace, PromiseLog};
use iodyno_crash::powerfail::step::{MOST_THREADS, SyncMode};
use iodyno_crash::powerfail::verify::run_directory;
use iodyno_crash::powerfail::writer::{self, Writing};
use iodyno_crash::powerfail::{self, BLOCK_BYTES, device};
use iodyno_engine::{cache, clock, hooks};
use iodyno_model::origin::plain;
use iodyno_model::{Diagnostic, units};

use super::key::KeyArgs;
use super::listen::PORT;
use super::verify::judged;
use super::{VerdictArgs, history, wrong};
use crate::new_file::NewFile;
use crate::option_values::positive_time;
use crate::session::say;
use crate::sink::unwritable;

/// How often is looked at time and steps.
const LOOK: Duration = Duration::from_millis(20);
/// What `--trigger` calls the file system's own shutdown.
const GOING_DOWN: &str = "goingdown";

#[derive(Args)]
pub struct WriteArgs {
    /// A directory; or a block device, or a file that stands for one, which --destroy must name
    target: String,
    /// Where promises are logged: a new file on other storage, - (standard output), or tcp://HOST:PORT
    #[arg(long, value_name = "PLACE")]
    log: String,
    /// The log may lie on the storage under test: what it loses is not noticed
    #[arg(long)]
    log_on_target: bool,
    #[command(flatten)]
    key: KeyArgs,
    /// Ways to ask for durability [default: all that work here]
    #[arg(long, value_name = "MODE,…", value_delimiter = ',', value_parser = mode)]
    modes: Vec<SyncMode>,
    /// Threads, each with files or blocks of its own
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..=i64::from(MOST_THREADS)))]
    threads: u32,
    /// Of a device or file: how much of it is used. Of a directory: the size of each file
    #[arg(long, value_name = "SIZE", value_parser = units::parse_bytes)]
    size: Option<u64>,
    /// Seed of the steps [default: another each time]
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// End after this time [default: when the power goes]
    #[arg(long, value_name = "TIME", value_parser = positive_time, conflicts_with = "trigger")]
    time: Option<u64>,
    /// End after so many steps
    #[arg(long, value_name = "N", conflicts_with = "trigger")]
    steps: Option<u64>,
    /// Overwrite this device or file: what is on it is lost
    #[arg(long, value_name = "TARGET")]
    destroy: Option<String>,
    /// A shell command that cuts the power or kills what serves the target; or goingdown: ext4, xfs and f2fs shut themselves down
    #[arg(long, value_name = "CMD")]
    trigger: Option<String>,
    /// When: a time, or so many steps: 5s, 2000ops
    #[arg(long, value_name = "WHEN", default_value = "5s", value_parser = when)]
    after: TriggerTime,
    /// A shell command that brings the target back; then it is verified
    #[arg(long, value_name = "CMD", requires = "trigger")]
    then: Option<String>,
    /// How long threads may hang after the trigger
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = positive_time)]
    grace: u64,
    #[command(flatten)]
    verdict: VerdictArgs,
}

/// When a trigger is due.
#[derive(Clone, Copy, Debug)]
enum TriggerTime {
    Time(u64),
    Steps(u64),
}

fn when(text: &str) -> Result<TriggerTime, String> {
    match text.strip_suffix("ops") {
        Some(number) => {
            number.trim().parse().map(TriggerTime::Steps).map_err(|_| "expected e.g. 2000ops".into())
        }
        None => units::parse_ns(text).map(TriggerTime::Time),
    }
}

fn mode(text: &str) -> Result<SyncMode, String> {
    let names = || SyncMode::ALL.iter().map(|mode| mode.name()).collect::<Vec<_>>().join(", ");
    SyncMode::named(text).ok_or_else(|| format!("expected {}", names()))
}

impl WriteArgs {
    /// The log, if it is a file here.
    fn log_file(&self) -> Option<&str> {
        Some(self.log.as_str()).filter(|log| *log != "-" && !log.starts_with("tcp://"))
    }
}

/// What is written to.
struct WriteTarget {
    path: PathBuf,
    is_device: bool,
    /// The device number of what keeps it: a log there would go with it.
    storage: u64,
}

pub fn answer(words: &WriteArgs, arguments: &[String]) -> Result<u8, Diagnostic> {
    let target = target(words)?;
    let mut header = header(words, &target)?;
    if words.trigger.is_some() && words.log_file().is_none() {
        let what = "a verdict right after the trigger needs the log in a file here";
        return Err(wrong("--log", what, "name a file, or leave --trigger out and verify where the log is"));
    }
    check_trigger(words, &target)?;
    let junit = words.verdict.junit.as_deref().map(NewFile::create).transpose()?;
    let place = place(words, &target)?;
    let laid_out = lay_out(words, &target, &mut header);
    let writing = laid_out.and_then(|at| started(words, place, &header, &at));
    let mut writing = match writing {
        Ok(writing) => writing,
        Err(refusal) => {
            remove(words, &target, &header);
            return Err(refusal);
        }
    };
    announce(words, &header);
    let Some(trigger) = &words.trigger else { return Ok(ended(words, &mut writing)) };
    pull(words, &mut writing, trigger)?;
    drop(writing);
    if let Some(then) = &words.then {
        shell("--then", then)?;
    }
    let report = judged(&words.log, &words.target, &words.verdict)?;
    history::keep(&report, arguments);
    report.write(&words.verdict, junit)
}

fn target(words: &WriteArgs) -> Result<WriteTarget, Diagnostic> {
    let name = words.target.as_str();
    let path = PathBuf::from(name);
    let facts = fs::metadata(&path).map_err(|error| {
        wrong(name, plain(&error), "name a directory, a block device or a file that is there")
    })?;
    if facts.is_dir() {
        return Ok(WriteTarget { path, is_device: false, storage: facts.dev() });
    }
    let is_block = facts.file_type().is_block_device();
    if !is_block && !facts.is_file() {
        return Err(wrong(name, "it is no directory, block device or file", "name one of them"));
    }
    if words.destroy.as_deref() != Some(name) {
        let hint = format!("--destroy {name}, if everything on it may be lost");
        return Err(wrong(name, "it would be overwritten", hint));
    }
    Ok(WriteTarget { path, is_device: true, storage: if is_block { facts.rdev() } else { facts.dev() } })
}

/// Blocks of a directory's files where nobody says otherwise; of a device's thread at most.
const FILE_BLOCKS: u64 = 64;
const DEVICE_BYTES: u64 = 64 << 20;

fn header(words: &WriteArgs, target: &WriteTarget) -> Result<LogHeader, Diagnostic> {
    let fits = |mode: &&SyncMode| mode.is_of_devices() == target.is_device;
    if let Some(other) = words.modes.iter().find(|mode| !fits(mode)) {
        let kind = if target.is_device { "a device" } else { "a directory" };
        let known: Vec<_> = SyncMode::ALL.iter().filter(fits).map(|mode| mode.name()).collect();
        let what = format!("{} does not work on {kind}", other.name());
        return Err(wrong("--modes", what, format!("one of {}", known.join(", "))));
    }
    let mut modes: Vec<SyncMode> = if words.modes.is_empty() {
        SyncMode::ALL.iter().filter(fits).copied().collect()
    } else {
        words.modes.clone()
    };
    modes.sort();
    modes.dedup();
    // Files that are made must go again, or they would become ever more; what can be removed must have been made.
    let makes = |mode: &SyncMode| matches!(mode, SyncMode::Create | SyncMode::Name);
    if modes.iter().any(makes) && !modes.contains(&SyncMode::Remove) {
        modes.push(SyncMode::Remove);
    } else if modes.contains(&SyncMode::Remove) && !modes.iter().any(makes) {
        modes.push(SyncMode::Create);
    }
    modes.sort();
    let block = BLOCK_BYTES as u64;
    let blocks = if target.is_device {
        let size = device::size(&target.path)
            .map_err(|error| wrong(&words.target, plain(&error), "it must be readable"))?;
        size.min(words.size.unwrap_or(DEVICE_BYTES)) / block / u64::from(words.threads)
    } else {
        words.size.map_or(FILE_BLOCKS, |size| size / block)
    };
    if blocks == 0 {
        let what = format!("less than a block of {block} bytes for each of {} threads", words.threads);
        return Err(wrong(&words.target, what, "make it larger, or take fewer --threads"));
    }
    let run = words.seed.map_or_else(
        || clock::unix_ns() ^ clock::monotonic().rotate_left(32),
        |seed| clock::unix_ns() ^ seed.rotate_left(20),
    );
    Ok(LogHeader { run, is_device: target.is_device, blocks, threads: words.threads, has_xattr: true, modes })
}

fn check_trigger(words: &WriteArgs, target: &WriteTarget) -> Result<(), Diagnostic> {
    if words.trigger.as_deref() == Some(GOING_DOWN) && target.is_device {
        let what = "goingdown shuts a file system down, and this is a device";
        return Err(wrong("--trigger", what, "name a directory, or a command that cuts its power"));
    }
    if words.trigger.is_none() && words.verdict.junit.is_some() {
        let what = "there is no verdict without a trigger";
        return Err(wrong("--junit", what, "give it to iodyno powerfail verify"));
    }
    Ok(())
}

/// Where the log goes.
fn place(words: &WriteArgs, target: &WriteTarget) -> Result<LogPlace, Diagnostic> {
    if words.log == "-" {
        return Ok(LogPlace::Stream(Box::new(io::stdout())));
    }
    if let Some(address) = words.log.strip_prefix("tcp://") {
        return connected(words, address).map(LogPlace::Listener);
    }
    let path = Path::new(&words.log);
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let facts = fs::metadata(parent).map_err(|error| unwritable(&words.log, &error))?;
    if facts.dev() == target.storage && !words.log_on_target {
        let what = "the log would lie on the storage under test, and be lost with it";
        let hint = "name a file on other storage, - or tcp://HOST:PORT; or say --log-on-target";
        return Err(wrong(&words.log, what, hint));
    }
    let lies_in_memory = || File::open(parent).is_ok_and(|folder| cache::is_memory(folder.as_raw_fd()));
    if words.trigger.is_none() && lies_in_memory() {
        say(format_args!(
            "warning: {}: it lies in memory: a power cut of this machine takes it, too",
            words.log
        ));
    }
    let made = File::options().write(true).create_new(true).open(path);
    made.map(LogPlace::File).map_err(|error| unwritable(&words.log, &error))
}

fn connected(words: &WriteArgs, address: &str) -> Result<EntryChannel, Diagnostic> {
    const HINT: &str = "start `iodyno powerfail listen --to LOG` there first, with the same key";
    let key = words.key.key()?;
    let has_port = address.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok());
    let address = if has_port { address.to_string() } else { format!("{address}:{PORT}") };
    let open = || {
        let addresses: Vec<_> = address.to_socket_addrs()?.collect();
        EntryChannel::open(TcpStream::connect(&addresses[..])?, &key)
    };
    open().map_err(|error| wrong(&words.log, plain(&error), HINT))
}

/// Lays out what steps need; where it lies.
fn lay_out(words: &WriteArgs, target: &WriteTarget, header: &mut LogHeader) -> Result<PathBuf, Diagnostic> {
    let now = clock::unix_ns();
    if target.is_device {
        let done = device::lay_out(&target.path, header, now);
        return match done {
            Ok(()) => Ok(target.path.clone()),
            Err(error) => Err(wrong(
                &words.target,
                plain(&error),
                "it must be writable, and neither mounted nor in use",
            )),
        };
    }
    let root = target.path.join(run_directory(header.run));
    let layout = powerfail::lay_out(&root, header, now)
        .map_err(|error| wrong(&words.target, plain(&error), "it must be writable and have room"))?;
    for (mode, why) in &layout.missing {
        say(format_args!("note: {} is not checked here: {why}", mode.name()));
    }
    if layout.modes.iter().all(|mode| mode.is_informational()) {
        return Err(wrong("--modes", "none of them works here", "leave --modes out"));
    }
    (header.modes, header.has_xattr) = (layout.modes, layout.has_xattr);
    Ok(root)
}

fn started(words: &WriteArgs, place: LogPlace, header: &LogHeader, at: &Path) -> Result<Writing, Diagnostic> {
    let of_log = |error: io::Error| wrong(&words.log, plain(&error), "promises must be kept somewhere");
    let log = PromiseLog::begin(place, header, clock::unix_ns).map_err(of_log)?;
    let seed = words.seed.unwrap_or(header.run);
    let begun = writer::start(at, header, log, seed, words.steps);
    begun.map_err(|error| wrong(&words.target, plain(&error), "it must be writable, and the log too"))
}

/// Nothing was promised: what was made goes again.
fn remove(words: &WriteArgs, target: &WriteTarget, header: &LogHeader) {
    if !target.is_device {
        drop(fs::remove_dir_all(target.path.join(run_directory(header.run))));
    }
    if let Some(log) = words.log_file() {
        drop(fs::remove_file(log));
    }
}

fn announce(words: &WriteArgs, header: &LogHeader) {
    let place = match header.is_device {
        true => words.target.clone(),
        false => format!("{}/{}", words.target.trim_end_matches('/'), run_directory(header.run)),
    };
    let threads = if header.threads == 1 {
        "1 thread writes".into()
    } else {
        format!("{} threads write", header.threads)
    };
    say(format_args!("{threads} to {place}; promises go to {}", words.log));
    if words.trigger.is_none() {
        say(format_args!("afterwards: iodyno powerfail verify LOG {}", words.target));
    }
}

/// Writes until it is over without a trigger; the exit status.
fn ended(words: &WriteArgs, writing: &mut Writing) -> u8 {
    let began = clock::monotonic();
    while !writing.has_ended_within(LOOK) {
        if words.time.is_some_and(|time| clock::monotonic().saturating_sub(began) >= time) {
            writing.stop();
        }
    }
    let failures: Vec<String> = writing
        .ended
        .iter()
        .filter_map(|end| {
            let place = if end.is_of_log { &words.log } else { &words.target };
            end.failure.as_ref().map(|why| format!("{place}: thread {}: {why}", end.thread))
        })
        .collect();
    failures.iter().for_each(|failure| say(format_args!("error: {failure}")));
    say(format_args!("{} steps have begun", writing.steps().min(words.steps.unwrap_or(u64::MAX))));
    u8::from(!failures.is_empty())
}

/// Pulls the plug when it is due, and waits until no thread writes any more.
fn pull(words: &WriteArgs, writing: &mut Writing, trigger: &str) -> Result<(), Diagnostic> {
    let began = clock::monotonic();
    let is_due = |writing: &Writing| match words.after {
        TriggerTime::Time(time) => clock::monotonic().saturating_sub(began) >= time,
        TriggerTime::Steps(steps) => writing.steps() >= steps,
    };
    while !is_due(writing) {
        if writing.has_ended_within(LOOK) {
            let why = writing.ended.iter().find_map(|end| end.failure.clone());
            let what = format!("all threads ended before the trigger: {}", why.unwrap_or_default());
            return Err(wrong(&words.target, what, "it must work until the trigger"));
        }
    }
    writing.cut().map_err(|error| wrong(&words.log, plain(&error), "promises must be kept somewhere"))?;
    match trigger {
        GOING_DOWN => powerfail::go_down(Path::new(&words.target)).map_err(|error| {
            let hint = "ext4, xfs and f2fs can, for root; name a command that cuts the power otherwise";
            wrong("--trigger goingdown", plain(&error), hint)
        })?,
        command => shell("--trigger", command)?,
    }
    writing.stop();
    if !writing.has_ended_within(Duration::from_nanos(words.grace)) {
        let hanging = u64::from(words.threads) - writing.ended.len() as u64;
        say(format_args!("warning: {hanging} of {} threads still hang in a call", words.threads));
    }
    Ok(())
}

/// Runs a command of the user's; what it prints goes to standard error.
fn shell(option: &str, command: &str) -> Result<(), Diagnostic> {
    hooks::errand(command).map_err(|failure| wrong(option, failure.message, "try it by hand"))
}
