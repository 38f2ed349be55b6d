//! Shell commands around a job, run by each worker before its start line and after its end, and around a phase, run
//! once; never in the measured time.

use std::fs::File;
use std::process::{Command, Stdio};

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
