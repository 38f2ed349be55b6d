//! `iodyno why PID`, `iodyno why -- COMMAND` and `--also why`: where the latency of a program's reads, writes and syncs
//! goes.
//!
//! Exit status: 0; of a command its own; 1 the kernel's tracing cannot be had; 2 the command line is wrong.

use std::process::{Child, Command};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;

use clap::Parser;
use iodyno_engine::{clock, signal};
use iodyno_model::{Diagnostic, Origin, units};
use iodyno_recorder::ProgramEnd;
use iodyno_recorder::anatomy::AnatomyRecorder;
use iodyno_report::anatomy::{json, text};
use iodyno_trace::TraceError;
use iodyno_trace::anatomy::Anatomy;

use crate::loader::plain;
use crate::runs::{paint, parsed, print};
use crate::session::say;
use crate::terminal;

/// Pause between two looks at the kernel's buffers, ns.
const PAUSE_NS: u64 = 20_000_000;

#[derive(Parser)]
#[command(name = "iodyno why", about = "Split the latency of a program's I/O: scheduler, device, journal, …",
    disable_version_flag = true, after_help = AFTER)]
pub struct WhyArgs {
    /// A process that runs
    #[arg(value_name = "PID", required_unless_present = "command", conflicts_with = "command")]
    process: Option<u32>,
    /// How long to watch the process; Ctrl-C ends it earlier
    #[arg(long = "for", value_name = "TIME", default_value = "10s", value_parser = duration)]
    duration: u64,
    /// As JSON
    #[arg(long)]
    json: bool,
    /// A command to start and to watch until it ends; the report goes to standard error
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<String>,
}

const AFTER: &str = "It needs root and the kernel's tracefs. --also why does the same for the run of any tool. \
docs/why.md explains the parts.";

fn duration(text: &str) -> Result<u64, String> {
    units::parse_ns(text).and_then(|ns| if ns > 0 { Ok(ns) } else { Err("expected more than 0".into()) })
}

/// Does `iodyno why ARGUMENTS…`; the exit status.
pub fn answer(arguments: &[String]) -> u8 {
    let words = match parsed::<WhyArgs>("iodyno why", arguments) {
        Ok(words) => words,
        Err(status) => return status,
    };
    match words.process {
        Some(process) => of_process(process, &words),
        None => of_command(&words),
    }
}

/// What is said where the tracer cannot be had.
fn cannot_tell(error: &TraceError) -> Diagnostic {
    let wrong = Diagnostic::error(&Origin::argument("why"), format!("cannot tell: {error}"));
    Diagnostic { hint: error.hint.clone(), ..wrong }
}

fn of_process(process: u32, words: &WhyArgs) -> u8 {
    signal::install();
    let deadline = clock::monotonic() + words.duration;
    let is_there = || std::path::Path::new(&format!("/proc/{process}")).exists();
    let anatomy = AnatomyRecorder::of_process(process).and_then(|mut recorder| {
        while clock::monotonic() < deadline && signal::interruptions().0 == 0 && is_there() {
            clock::sleep_ns(PAUSE_NS);
            recorder.poll()?;
        }
        recorder.finish()
    });
    let command = std::fs::read_to_string(format!("/proc/{process}/comm")).unwrap_or_default();
    let name = format!("{process} {}", command.trim());
    match anatomy {
        Ok(anatomy) if words.json => print(&format!("{:#}\n", json(name.trim(), &anatomy))),
        Ok(anatomy) => print(&text(name.trim(), &anatomy, paint())),
        Err(error) => {
            say(cannot_tell(&error));
            1
        }
    }
}

fn of_command(words: &WhyArgs) -> u8 {
    // Ctrl-C is the command's; we report when it has ended.
    signal::install();
    let mut recorder = match AnatomyRecorder::of_children() {
        Ok(recorder) => recorder,
        Err(error) => {
            say(cannot_tell(&error));
            return 1;
        }
    };
    let Some((program, arguments)) = words.command.split_first() else { return 2 };
    let mut child = match Command::new(program).args(arguments).spawn() {
        Ok(child) => child,
        Err(error) => {
            let wrong =
                Diagnostic::error(&Origin::argument(program), format!("cannot be run: {}", plain(&error)));
            say(wrong.hint("name a program, with its arguments after it"));
            return 2;
        }
    };
    let watched = watched(&mut recorder, &mut child);
    let anatomy = watched.and_then(|status| Ok((status, recorder.finish()?)));
    match anatomy {
        Ok((status, anatomy)) => {
            let name = words.command.join(" ");
            let told = match words.json {
                true => format!("{:#}", json(&name, &anatomy)),
                false => text(&name, &anatomy, terminal::err_paint()),
            };
            say(told.trim_end());
            status
        }
        Err(error) => {
            let _ = child.wait();
            say(cannot_tell(&error));
            1
        }
    }
}

/// Polls until a command has ended; its status as a shell has it.
fn watched(recorder: &mut AnatomyRecorder, child: &mut Child) -> Result<u8, TraceError> {
    recorder.started()?;
    loop {
        recorder.poll()?;
        if let Some(status) = child.try_wait()? {
            return Ok(ProgramEnd::from(status).status());
        }
        clock::sleep_ns(PAUSE_NS);
    }
}

/// A run of our own that is watched by a thread beside it.
pub struct WatchedRun {
    is_over: Arc<AtomicBool>,
    watcher: JoinHandle<Result<Anatomy, TraceError>>,
}

impl WatchedRun {
    /// Begins to watch what this process does from now on.
    ///
    /// # Errors
    /// The tracer cannot be had.
    pub fn start() -> Result<WatchedRun, Diagnostic> {
        let is_over = Arc::new(AtomicBool::new(false));
        let (over, (ready, is_ready)) = (Arc::clone(&is_over), mpsc::channel());
        let watcher = std::thread::spawn(move || {
            let mut recorder = match AnatomyRecorder::of_process(std::process::id()) {
                Ok(recorder) => recorder,
                Err(error) => {
                    let _ = ready.send(Some(cannot_tell(&error)));
                    return Err(error);
                }
            };
            let _ = ready.send(None);
            while !over.load(Ordering::Relaxed) {
                recorder.poll()?;
                clock::sleep_ns(PAUSE_NS);
            }
            recorder.finish()
        });
        match is_ready.recv().ok().flatten() {
            Some(wrong) => Err(wrong),
            None => Ok(WatchedRun { is_over, watcher }),
        }
    }

    /// Ends it and says on standard error what was found.
    pub fn tell(self, name: &str) {
        self.is_over.store(true, Ordering::Relaxed);
        match self.watcher.join() {
            Ok(Ok(anatomy)) => say(text(name, &anatomy, terminal::err_paint()).trim_end()),
            Ok(Err(error)) => say(cannot_tell(&error)),
            Err(_) => say(cannot_tell(&TraceError::new("what watches it ended early"))),
        }
    }
}
