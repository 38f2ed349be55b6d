//! Servers and clients as processes, and the cable between them.
//!
//! Whatever was started is killed when its owner is dropped. A server is there when it says so, or when the kernel's
//! table has it; nothing here waits for a time.

use std::path::{Path, PathBuf};
use std::process::Command;

use testbed::program::{Program as Process, ProgramOutput, Running};
use testbed::{Need, Skip, wait};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Program {
    Ours,
    /// The original, as this system installs it.
    Real,
    /// A newer original, as `cargo xtask newer` fetches it.
    Newer,
}

impl Program {
    /// What a case with it needs.
    pub fn needs(self) -> Option<Need> {
        match self {
            Program::Ours => None,
            Program::Real => Some(Need::Tool("iperf3")),
            Program::Newer => Some(Need::That(newer_runs)),
        }
    }
}

/// Where `cargo xtask newer` lays a newer original.
fn newer() -> PathBuf {
    let scratch = Path::new(env!("CARGO_TARGET_TMPDIR"));
    scratch.parent().unwrap_or(scratch).join("newer/iperf3")
}

fn newer_runs() -> Result<(), Skip> {
    let said = Command::new(newer()).arg("--version").output();
    match said {
        Ok(said) if said.status.success() => Ok(()),
        Ok(said) => Err(Skip::new(format!("the newer iperf3: {}", String::from_utf8_lossy(&said.stderr)))),
        Err(_) => Err(Skip::new("no newer iperf3 here: `cargo xtask newer` fetches one")),
    }
}

/// Where it runs.
#[derive(Clone, Copy, Debug)]
pub struct Host {
    /// A process whose network it has; none: the machine's.
    namespace: Option<i32>,
}

/// The machine itself.
pub const HERE: Host = Host { namespace: None };

/// A command of a program on a host.
pub fn command(program: Program, host: Host) -> Command {
    let path = match program {
        Program::Ours => env!("CARGO_BIN_EXE_iodyno").to_string(),
        Program::Real => "iperf3".to_string(),
        Program::Newer => newer().display().to_string(),
    };
    let mut command = match host.namespace {
        None => Command::new(&path),
        Some(process) => {
            let mut command = Command::new("nsenter");
            command.args(["-t", &process.to_string(), "-n", "--", &path]);
            command
        }
    };
    if program == Program::Ours {
        command.arg("iperf3").env("IODYNO_FINDINGS", "0");
    }
    command
}

/// A server that listens.
pub struct Server {
    running: Running,
}

impl Server {
    /// Starts one and waits until it listens.
    pub fn start(program: Program, host: Host, port: u16, more: &[&str]) -> Result<Server, String> {
        Server::launch(command(program, host), port, more)
    }

    /// Starts a command as one and waits until it listens.
    pub fn launch(mut command: Command, port: u16, more: &[&str]) -> Result<Server, String> {
        command.args(["-s", "-p", &port.to_string(), "--forceflush"]).args(more);
        let mut running = Process::new(command).launch()?;
        let process = running.pid();
        // A document comes at the end only: then the port tells.
        let silent = more.contains(&"-J");
        let is_up = |running: &Running| match silent {
            true => is_listened(process, port),
            false => running.out().contains("Server listening"),
        };
        wait::until("a server that listens", || is_up(&running) || !running.is_there())?;
        match is_up(&running) {
            true => Ok(Server { running }),
            false => Err(format!("the server does not listen: {}", running.outcome()?)),
        }
    }

    /// All it said, once it has ended by itself.
    pub fn said(self) -> Result<ProgramOutput, String> {
        self.running.outcome()
    }

    /// Its output, once it has ended by itself.
    pub fn end(self) -> Result<String, String> {
        let said = self.running.outcome()?;
        match said.code() {
            0 => Ok(said.out),
            _ => Err(format!("the server: {said}")),
        }
    }
}

/// Whether somebody listens at a port of the network that a process is in. Source: `/proc/net/tcp`, where a listener's
/// state is `0A`.
fn is_listened(process: i32, port: u16) -> bool {
    let place = format!(":{port:04X}");
    let table = |name: &str| std::fs::read_to_string(format!("/proc/{process}/net/{name}"));
    let listens = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        words.len() > 3 && words[1].ends_with(&place) && words[3] == "0A"
    };
    ["tcp", "tcp6"].iter().any(|name| table(name).unwrap_or_default().lines().any(listens))
}

/// Runs a client.
pub fn client(mut command: Command, to: &str, port: u16, more: &[&str]) -> Result<ProgramOutput, String> {
    command.args(["-c", to, "-p", &port.to_string()]).args(more);
    Process::new(command).outcome().map_err(|why| format!("the client: {why}"))
}

/// Two network namespaces with a cable between them.
pub struct Cable {
    ends: [Running; 2],
}

impl Cable {
    /// The far end's address.
    pub const FAR: &'static str = "10.77.0.2";

    pub fn lay() -> Result<Cable, Skip> {
        let cable = Cable { ends: [end()?, end()?] };
        let [near, far] = [0, 1].map(|end| cable.ends[end].pid());
        let lines = [
            (near, format!("link add near type veth peer name far netns {far}")),
            (near, "addr add 10.77.0.1/24 dev near".into()),
            (far, "addr add 10.77.0.2/24 dev far".into()),
            (near, "link set near up".into()),
            (far, "link set far up".into()),
        ];
        for (process, line) in lines {
            let mut command = Command::new("nsenter");
            command.args(["-t", &process.to_string(), "-n", "--", "ip"]).args(line.split(' '));
            let done = command.output().map_err(|error| Skip::new(format!("nsenter: {error}")))?;
            if !done.status.success() {
                let why = String::from_utf8_lossy(&done.stderr).trim().to_string();
                return Err(Skip::new(format!("ip {line}: {why}")));
            }
        }
        Ok(cable)
    }

    /// Both ends.
    pub fn hosts(&self) -> [Host; 2] {
        [0, 1].map(|end| Host { namespace: Some(self.ends[end].pid()) })
    }
}

/// A process that has a network of its own, and says so: what is done to it before would be done to the machine's.
fn end() -> Result<Running, Skip> {
    let line = ["--net", "--", "sh", "-c", "echo apart; exec sleep infinity"];
    let mut running = Process::of("unshare", line).launch().map_err(Skip::new)?;
    let apart = |running: &Running| running.out().contains("apart");
    wait::until("a network of its own", || apart(&running) || !running.is_there()).map_err(Skip::new)?;
    match apart(&running) {
        true => Ok(running),
        false => Err(Skip::new(format!("unshare: {}", running.err().trim()))),
    }
}
