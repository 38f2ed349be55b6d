//! `exec`: runs a program as a job. The first operation starts it; each operation after that looks, ten times a second,
//! whether it still runs. At the end it is asked to terminate, and killed when its time of grace is over.
//!
//! The program is started directly, without a shell: its arguments are split at spaces. `%r` in them is the job's time
//! in seconds, `%n` its name.

use std::fs::File;
use std::process::{Child, Command, Stdio};

use iodyno_model::{Diagnostic, EngineTrait, Job, Verb, VerbSet};

use super::{
    EngineFacts, Failure, Setup, SyncEngine, check_switches, check_values, setting, spec, switch,
    whole_number,
};
use crate::clock;
use crate::io::{Files, Io};

/// How long one operation looks, ns.
const LOOK_NS: u64 = 100_000_000;
/// How often it looks while the program terminates, ns.
const GRACE_LOOK_NS: u64 = 10_000_000;

/// A program that runs.
pub struct Exec {
    command: Command,
    child: Option<Child>,
    started: bool,
    /// Each operation runs the command and waits for it.
    waits: bool,
    grace_ns: u64,
}

impl SyncEngine for Exec {
    const FACTS: EngineFacts = EngineFacts {
        about: "runs a program as long as the job",
        verbs: VerbSet::of(&[Verb::Read, Verb::Write]),
        settings: &[
            spec("program", "the program to run (it or a command must be given)"),
            spec("command", "instead of a program: a shell command that each operation runs and waits for"),
            spec("arguments", "its arguments, split at spaces; %r is the job's time in seconds, %n its name"),
            spec("grace_s", "seconds between asking it to end and killing it (default 1)"),
            spec("redirect", "on or off: its output goes to JOB.stdout and JOB.stderr (default on)"),
        ],
        uses_files: false,
        is_slow: true,
        check: Self::check,
        traits: &[EngineTrait::KeepsProcessorBusy],
        ..EngineFacts::named("exec")
    };

    fn start(setup: &Setup<'_>) -> Result<Self, Failure> {
        let job = setup.job;
        let shell = setting(job, "command");
        let mut command = Command::new(if shell.is_some() {
            "/bin/sh"
        } else {
            setting(job, "program").unwrap_or_default()
        });
        match shell {
            Some(text) => command.args(["-c", text]),
            None => command.args(arguments(job)),
        };
        command.stdin(Stdio::null());
        if switch(job, "redirect") != Some(false) {
            command.stdout(output(&format!("{}.stdout", job.name))?);
            command.stderr(output(&format!("{}.stderr", job.name))?);
        }
        let grace_ns = whole_number(job, "grace_s").unwrap_or(1).saturating_mul(1_000_000_000);
        let waits = shell.is_some();
        Ok(Exec { command, child: None, started: false, waits, grace_ns })
    }

    fn perform(&mut self, io: &Io, _files: &mut Files) -> i64 {
        match std::mem::replace(&mut self.started, true) {
            _ if self.waits => match self.command.status() {
                Ok(status) if status.success() => io.bytes as i64,
                Ok(_) => -i64::from(libc::ECANCELED),
                Err(error) => -i64::from(error.raw_os_error().unwrap_or(libc::EIO)),
            },
            false => match self.command.spawn() {
                Ok(child) => {
                    self.child = Some(child);
                    io.bytes as i64
                }
                Err(error) => -i64::from(error.raw_os_error().unwrap_or(libc::EIO)),
            },
            true => {
                // Collects it, so that it does not stay behind as a zombie.
                if self.child.as_mut().is_some_and(|child| !matches!(child.try_wait(), Ok(None))) {
                    self.child = None;
                }
                clock::sleep_ns(LOOK_NS);
                io.bytes as i64
            }
        }
    }
}

impl Exec {
    fn check(job: &Job) -> Vec<Diagnostic> {
        let mut wrong = check_switches(job, &["redirect"]);
        let number = |value: &str| value.parse::<u64>().is_ok();
        wrong.extend(check_values(job, &["grace_s"], number, "say a number of seconds"));
        if ["program", "command"].iter().all(|name| setting(job, name).is_none_or(str::is_empty)) {
            let message = "engine exec: no program is given";
            wrong.push(Diagnostic::error(&job.origin, message).hint("say program = PATH"));
        }
        wrong
    }
}

impl Drop for Exec {
    /// Tells the program to end, and kills it after its time of grace.
    fn drop(&mut self) {
        let Some(child) = &mut self.child else { return };
        // SAFETY: the child was not waited for, so the number is its own.
        unsafe { libc::kill(child.id() as libc::pid_t, libc::SIGTERM) };
        let end = clock::monotonic().saturating_add(self.grace_ns);
        while matches!(child.try_wait(), Ok(None)) {
            if clock::monotonic() >= end {
                // It may have ended just now; then there is nobody to kill.
                let _ = child.kill();
                let _ = child.wait();
                return;
            }
            clock::sleep_ns(GRACE_LOOK_NS);
        }
    }
}

fn arguments(job: &Job) -> Vec<String> {
    let seconds = (job.limit.time_ns.unwrap_or(0) / 1_000_000_000).to_string();
    let text = setting(job, "arguments").unwrap_or_default();
    text.replace("%r", &seconds).replace("%n", &job.name).split_whitespace().map(String::from).collect()
}

fn output(path: &str) -> Result<File, Failure> {
    File::create(path).map_err(|error| {
        Failure::new(format!("{path}: {error}")).hint("run where files can be made, or say redirect = off")
    })
}
