//! Programs of both kinds as processes. Whatever was started is ended when its owner is dropped.
//!
//! A server is there when the kernel's table has its port, and has told a test when the rows are there that it must
//! print. Nothing here waits for a time.

use std::process::Command;

use testbed::program::{Program as Process, Running};
use testbed::wait;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Program {
    Ours,
    /// The original.
    Real,
}

impl Program {
    fn command(self) -> Command {
        match self {
            Program::Real => Command::new("iperf"),
            Program::Ours => ours("iperf"),
        }
    }
}

pub fn ours(word: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_iodyno"));
    command.arg(word).env("IODYNO_FINDINGS", "0").env_remove("COLUMNS");
    command
}

/// A server that listens at a port.
pub fn server(program: Program, port: u16, more: &[&str]) -> Result<Running, String> {
    listening(program.command(), port, more)
}

/// One of ours that tells its findings.
pub fn server_that_finds(port: u16, more: &[&str]) -> Result<Running, String> {
    listening(finding(), port, more)
}

fn finding() -> Command {
    let mut command = ours("iperf");
    command.env("IODYNO_FINDINGS", "1");
    command
}

fn listening(mut command: Command, port: u16, more: &[&str]) -> Result<Running, String> {
    command.args(["-s", "-p", &port.to_string()]).args(more);
    let mut running = Process::new(command).launch()?;
    wait::until("a server that listens", || is_taken(port) || !running.is_there())?;
    match running.is_there() {
        true => Ok(running),
        false => Err(format!("the server does not listen: {}", running.outcome()?)),
    }
}

/// A client's status and words.
pub fn client(program: Program, port: u16, more: &[&str]) -> Result<(i32, String), String> {
    asking(program.command(), port, more)
}

/// The same of one of ours that tells its findings.
pub fn client_that_finds(port: u16, more: &[&str]) -> Result<(i32, String), String> {
    asking(finding(), port, more)
}

fn asking(mut command: Command, port: u16, more: &[&str]) -> Result<(i32, String), String> {
    command.args(["-c", "127.0.0.1", "-p", &port.to_string()]).args(more);
    let said = Process::new(command).outcome()?;
    Ok((said.code(), said.all()))
}

/// What a program has said, once it has said what is looked for.
pub fn heard(running: &mut Running, what: &str, is: impl Fn(&str) -> bool) -> Result<String, String> {
    let waited = wait::until(what, || is(&running.out()) || !running.is_there());
    let text = running.out() + &running.err();
    match waited.is_ok() && is(&running.out()) {
        true => Ok(text),
        false => Err(format!("{what} never came:\n{text}")),
    }
}

/// Whether somebody has a port. Source: `/proc/net`.
fn is_taken(port: u16) -> bool {
    let word = format!(":{port:04X} ");
    let has = |table: &&str| {
        let text = std::fs::read_to_string(format!("/proc/net/{table}")).unwrap_or_default();
        text.lines().any(|line| {
            line.split_whitespace().nth(1).is_some_and(|local| format!("{local} ").contains(&word))
        })
    };
    ["tcp", "tcp6", "udp", "udp6"].iter().any(has)
}
