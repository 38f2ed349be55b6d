//! Programs of both kinds as processes. Whatever was started is ended when its owner is dropped.

use std::fs::File;
use std::io::Read;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::program::iodyno;

/// How long anything may take.
const PATIENCE: Duration = Duration::from_secs(60);

/// Which program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Program {
    /// This one.
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

/// A command of ours.
pub fn ours(word: &str) -> Command {
    let mut command = iodyno([word]);
    command.env("IODYNO_FINDINGS", "0");
    command
}

/// A process whose output is in a file, so that nobody has to read it while it runs.
pub struct Process {
    child: Child,
    said: tempfile::NamedTempFile,
}

impl Process {
    /// Starts it.
    pub fn start(mut command: Command) -> Result<Process, String> {
        let said = tempfile::NamedTempFile::new().map_err(|error| error.to_string())?;
        let file = || File::options().append(true).open(said.path()).map_err(|error| error.to_string());
        command.stdin(Stdio::null()).stdout(file()?).stderr(file()?);
        let child = command.spawn().map_err(|error| format!("{command:?}: {error}"))?;
        Ok(Process { child, said })
    }

    /// What it has said so far.
    pub fn said(&self) -> String {
        let mut text = String::new();
        let _ = File::open(self.said.path()).and_then(|mut file| file.read_to_string(&mut text));
        text
    }

    /// Waits until it says this.
    pub fn says(&mut self, word: &str) -> Result<String, String> {
        let until = Instant::now() + PATIENCE;
        while Instant::now() < until {
            let said = self.said();
            if said.contains(word) {
                return Ok(said);
            }
            if let Ok(Some(status)) = self.child.try_wait() {
                return Err(format!("it ended ({status}): {}", self.said()));
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Err(format!("it never says `{word}`: {}", self.said()))
    }

    /// Waits for its end: the status, and what it said.
    pub fn end(mut self) -> Result<(i32, String), String> {
        let until = Instant::now() + PATIENCE;
        while Instant::now() < until {
            if let Some(status) = self.child.try_wait().map_err(|error| error.to_string())? {
                return Ok((status.code().unwrap_or(-1), self.said()));
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        Err(format!("it does not end: {}", self.said()))
    }

    /// Interrupts it, as the user would.
    pub fn interrupt(self) -> Result<(i32, String), String> {
        let _ = Command::new("kill").args(["-INT", &self.child.id().to_string()]).status();
        self.end()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A server that listens at a port.
pub fn server(program: Program, port: u16, more: &[&str]) -> Result<Process, String> {
    let mut command = program.command();
    command.args(["-s", "-p", &port.to_string()]).args(more);
    let process = Process::start(command)?;
    let until = Instant::now() + PATIENCE;
    while Instant::now() < until {
        if is_taken(port) {
            return Ok(process);
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    Err(format!("the server does not listen: {}", process.said()))
}

/// A client's status and words.
pub fn client(program: Program, port: u16, more: &[&str]) -> Result<(i32, String), String> {
    let mut command = program.command();
    command.args(["-c", "127.0.0.1", "-p", &port.to_string()]).args(more);
    Process::start(command)?.end()
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
