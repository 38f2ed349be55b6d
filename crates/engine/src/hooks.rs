//! Shell commands of the user: run by each worker before its start line and after its end, and once before and after a phase.
//! None runs in the measured time.

use std::fs::File;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use iodyno_model::Job;

use crate::failure::Failure;

/// Runs the command before a job.
///
/// # Errors
/// It cannot be run, or it fails.
pub fn before(job: &Job) -> Result<(), Failure> {
    run(job.hooks.before.as_deref(), &job.name, "prerun")
}

/// Runs the command after a job.
///
/// # Errors
/// It cannot be run, or it fails.
pub fn after(job: &Job) -> Result<(), Failure> {
    run(job.hooks.after.as_deref(), &job.name, "postrun")
}

/// Runs a command around a phase. What it prints goes to standard error: standard output is the report's.
///
/// # Errors
/// It cannot be run, or it fails.
pub fn errand(command: &str) -> Result<(), Failure> {
    let status = Command::new("/bin/sh")
        .args(["-c", command])
        .stdin(Stdio::null())
        .stdout(Stdio::from(std::io::stderr()))
        .status()
        .map_err(|error| Failure::new(format!("/bin/sh: {error}")))?;
    match status.success() {
        true => Ok(()),
        false => Err(Failure::new(format!("`{command}`: {status}"))),
    }
}

/// A command that runs beside a phase, with all that it starts; dropped, it ends.
pub struct Companion(Child);

/// How long a command may take to end when it is asked to, ms.
const ENDS_MS: u32 = 500;

impl Companion {
    /// Begins a command in a process group of its own.
    ///
    /// # Errors
    /// It cannot be run.
    pub fn begin(command: &str) -> Result<Companion, Failure> {
        let child = Command::new("/bin/sh")
            .args(["-c", command])
            .stdin(Stdio::null())
            .stdout(Stdio::from(std::io::stderr()))
            .process_group(0)
            .spawn();
        child.map(Companion).map_err(|error| Failure::new(format!("/bin/sh: {error}")))
    }
}

impl Drop for Companion {
    fn drop(&mut self) {
        let group = -(self.0.id() as i32);
        let signal = |signal| {
            // SAFETY: the group is that of a child that was not waited for, so its number belongs to nobody else.
            unsafe { libc::kill(group, signal) };
        };
        if matches!(self.0.try_wait(), Ok(None)) {
            signal(libc::SIGTERM);
        }
        for _ in 0..ENDS_MS {
            if !matches!(self.0.try_wait(), Ok(None)) {
                return;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        signal(libc::SIGKILL);
        let _ = self.0.wait();
    }
}

fn run(command: Option<&str>, job: &str, when: &str) -> Result<(), Failure> {
    let Some(command) = command else { return Ok(()) };
    let path = format!("{job}.{when}.txt");
    let told = |error: std::io::Error| Failure::new(format!("{path}: {error}"));
    let output = File::create(&path).map_err(told)?;
    let errors = output.try_clone().map_err(told)?;
    let status = Command::new("/bin/sh")
        .args(["-c", command])
        .stdin(Stdio::null())
        .stdout(output)
        .stderr(errors)
        .status()
        .map_err(|error| Failure::new(format!("/bin/sh: {error}")))?;
    match status.success() {
        true => Ok(()),
        false => Err(Failure::new(format!("`{command}`: {status}")).hint(format!("its output is in {path}"))),
    }
}
