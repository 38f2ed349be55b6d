//! Servers and clients as processes, and the cable between them.
//!
//! Whatever was started is killed when its owner is dropped.

use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use testbed::{Need, Skip};

/// How long anything may take.
const PATIENCE: Duration = Duration::from_secs(60);

/// Which program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Program {
    /// This one.
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
    namespace: Option<u32>,
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
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// A server that listens.
pub struct Server {
    child: Child,
    said: std::thread::JoinHandle<String>,
}

impl Server {
    /// Starts one and waits until it says that it listens.
    pub fn start(program: Program, host: Host, port: u16, more: &[&str]) -> Result<Server, String> {
        let mut command = command(program, host);
        command.args(["-s", "-p", &port.to_string(), "--forceflush"]).args(more);
        let mut child = command.spawn().map_err(|error| format!("the server: {error}"))?;
        let mut lines = BufReader::new(child.stdout.take().ok_or("no output")?);
        let mut first = String::new();
        // A document comes at the end only: then the port tells.
        if !more.contains(&"-J") {
            while !first.contains("Server listening") {
                let mut line = String::new();
                if lines.read_line(&mut line).map_err(|error| error.to_string())? == 0 {
                    let mut err = String::new();
                    let _ = child.stderr.take().map(|mut stream| stream.read_to_string(&mut err));
                    let _ = child.wait();
                    return Err(format!("the server does not listen: {first}{err}"));
                }
                first.push_str(&line);
            }
        } else {
            until_listened(child.id(), port)?;
        }
        let said = std::thread::spawn(move || {
            let mut rest = String::new();
            let _ = lines.read_to_string(&mut rest);
            first + &rest
        });
        Ok(Server { child, said })
    }

    /// Its output, once it has ended by itself.
    pub fn end(mut self) -> Result<String, String> {
        let status = wait(&mut self.child)?;
        let said = std::mem::replace(&mut self.said, std::thread::spawn(String::new));
        let said = said.join().map_err(|_| "the server's output is lost")?;
        let mut err = String::new();
        let _ = self.child.stderr.take().map(|mut stream| stream.read_to_string(&mut err));
        match status {
            0 => Ok(said),
            status => Err(format!("the server's status is {status}:\n{said}{err}")),
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn wait(child: &mut Child) -> Result<i32, String> {
    let until = Instant::now() + PATIENCE;
    while Instant::now() < until {
        if let Some(status) = child.try_wait().map_err(|error| error.to_string())? {
            return Ok(status.code().unwrap_or(-1));
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    let _ = child.kill();
    Err("it does not end".into())
}

/// Waits until somebody listens at a port of the network that a process is in: of a server that says nothing before its
/// end, that tells that it is there.
fn until_listened(process: u32, port: u16) -> Result<(), String> {
    let until = Instant::now() + PATIENCE;
    // The state of a listener: `0A`. Source: `/proc/net/tcp`.
    let (place, state) = (format!(":{port:04X}"), "0A");
    while Instant::now() < until {
        let table = |name: &str| std::fs::read_to_string(format!("/proc/{process}/net/{name}"));
        let tables = ["tcp", "tcp6"].map(|name| table(name).unwrap_or_default());
        let listens = |line: &str| {
            let words: Vec<&str> = line.split_whitespace().collect();
            words.len() > 3 && words[1].ends_with(&place) && words[3] == state
        };
        if tables.iter().flat_map(|table| table.lines()).any(listens) {
            return Ok(());
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    Err(format!("nobody listens at {port}"))
}

/// What a client said.
#[derive(Debug)]
pub struct Said {
    /// Its exit status.
    pub status: i32,
    /// Its report.
    pub out: String,
    /// Its complaints.
    pub err: String,
}

/// Runs a client.
pub fn client(mut command: Command, to: &str, port: u16, more: &[&str]) -> Result<Said, String> {
    command.args(["-c", to, "-p", &port.to_string()]).args(more);
    let mut child = command.spawn().map_err(|error| format!("the client: {error}"))?;
    let stream = |stream: Option<Box<dyn Read + Send>>| {
        std::thread::spawn(move || {
            let mut text = String::new();
            let _ = stream.map(|mut stream| stream.read_to_string(&mut text));
            text
        })
    };
    let out = stream(child.stdout.take().map(|s| Box::new(s) as Box<dyn Read + Send>));
    let err = stream(child.stderr.take().map(|s| Box::new(s) as Box<dyn Read + Send>));
    let status = wait(&mut child);
    let (out, err) = (out.join().unwrap_or_default(), err.join().unwrap_or_default());
    let status = status.map_err(|why| format!("the client: {why}\n{out}{err}"))?;
    Ok(Said { status, out, err })
}

/// Two network namespaces with a cable between them.
pub struct Cable {
    ends: [Child; 2],
}

impl Cable {
    /// The far end's address.
    pub const FAR: &'static str = "10.77.0.2";

    /// Lays one.
    pub fn lay() -> Result<Cable, Skip> {
        let end = || {
            let child = Command::new("unshare").args(["--net", "--", "sleep", "300"]).spawn();
            child.map_err(|error| Skip::new(format!("unshare: {error}")))
        };
        let cable = Cable { ends: [end()?, end()?] };
        cable.ends.iter().try_for_each(|end| until_apart(end.id()))?;
        let [near, far] = [cable.ends[0].id(), cable.ends[1].id()];
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
        [0, 1].map(|end| Host { namespace: Some(self.ends[end].id()) })
    }
}

/// Waits until a process has a network of its own: what is done to it before would be done to the machine's.
fn until_apart(process: u32) -> Result<(), Skip> {
    let until = Instant::now() + PATIENCE;
    let network = |of: &str| std::fs::read_link(format!("/proc/{of}/ns/net"));
    while Instant::now() < until {
        if let (Ok(own), Ok(theirs)) = (network("self"), network(&process.to_string()))
            && own != theirs
        {
            return Ok(());
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    Err(Skip::new("unshare: no network of its own"))
}

impl Drop for Cable {
    fn drop(&mut self) {
        for end in &mut self.ends {
            let _ = end.kill();
            let _ = end.wait();
        }
    }
}
