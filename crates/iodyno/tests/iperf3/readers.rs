//! Programs of others that read what we print, or drive us: PyPI's reader of iperf3's JSON, and flent, which runs netperf.
//!
//! Both come from PyPI into an environment that is kept with the build; without a network that is a counted skip.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use testbed::{Case, Need, Outcome, Skip, free_port};

use crate::peers::{HERE, Program, Server, client, command};
use Program::Ours;

/// Installing takes a while on a busy machine.
const INSTALL: Duration = Duration::from_secs(180);
/// So may a test of a few seconds.
const PATIENCE: Duration = Duration::from_secs(120);

/// All of them.
pub fn cases() -> Vec<Case> {
    let python = Need::Tool("python3");
    vec![
        Case::new("the reader of PyPI", &[python], reader),
        Case::new("flent runs ours", &[python, Need::Tool("fping")], flent),
    ]
}

/// Waits for a program's end: its status and both streams, by files so that nobody has to read meanwhile.
fn told(mut command: Command, patience: Duration) -> Result<(i32, String), String> {
    let said = tempfile::NamedTempFile::new().map_err(|error| error.to_string())?;
    let file = || std::fs::File::options().append(true).open(said.path()).map_err(|error| error.to_string());
    command.stdin(Stdio::null()).stdout(file()?).stderr(file()?);
    let mut child = command.spawn().map_err(|error| format!("{command:?}: {error}"))?;
    let until = Instant::now() + patience;
    let status = loop {
        match child.try_wait().map_err(|error| error.to_string())? {
            Some(status) => break status.code().unwrap_or(-1),
            None if Instant::now() > until => {
                let _ = child.kill();
                let _ = child.wait();
                break -1;
            }
            None => std::thread::sleep(Duration::from_millis(20)),
        }
    };
    let text = std::fs::read_to_string(said.path()).map_err(|error| error.to_string())?;
    Ok((status, text))
}

/// A virtual environment with what PyPI has, made once and kept with the build.
fn environment() -> Result<&'static Path, Skip> {
    static MADE: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    let made = MADE.get_or_init(|| {
        let home = Path::new(env!("CARGO_TARGET_TMPDIR")).join("network-clients");
        if home.join("complete").is_file() {
            return Ok(home);
        }
        let mut venv = Command::new("python3");
        venv.args(["-m", "venv", "--clear"]).arg(&home);
        let mut pip = Command::new(home.join("bin/pip"));
        pip.args(["install", "--quiet", "--disable-pip-version-check", "iperf3", "flent"]);
        for step in [venv, pip] {
            let (status, said) = told(step, INSTALL)?;
            if status != 0 {
                let last = said.trim().lines().last().unwrap_or("no reason given").to_string();
                return Err(format!("flent and iperf3 cannot be installed from PyPI: {last}"));
            }
        }
        std::fs::write(home.join("complete"), "").map_err(|error| error.to_string())?;
        Ok(home)
    });
    made.as_deref().map_err(|reason| Skip::new(reason.clone()))
}

/// What it reads of a document.
const READS: &str = r#"
import sys, iperf3
result = iperf3.TestResult(open(sys.argv[1]).read())
assert result.error is None, result.error
assert result.protocol == sys.argv[2], result.protocol
assert result.num_streams == 2 and result.reverse == int(sys.argv[3]), (result.num_streams, result.reverse)
if result.protocol == "TCP":
    assert result.sent_bytes > 0 and result.received_Mbps > 0 and result.retransmits is not None
else:
    assert result.bytes > 0 and result.packets > 0 and result.lost_percent >= 0 and result.jitter_ms >= 0
assert result.local_cpu_total >= 0 and result.remote_host == "127.0.0.1", result.remote_host
print("read")
"#;

fn reader() -> Outcome {
    let home = environment()?;
    let directory = tempfile::tempdir()?;
    let document = directory.path().join("document.json");
    for (line, protocol, reverse) in
        [("-t 1 -P 2 -J", "TCP", "0"), ("-t 1 -P 2 -R -J", "TCP", "1"), ("-t 1 -P 2 -u -b 5M -J", "UDP", "0")]
    {
        let port = free_port()?;
        let listener = Server::start(Ours, HERE, port, &["-1"])?;
        let words: Vec<&str> = line.split(' ').collect();
        let said = client(command(Ours, HERE), "127.0.0.1", port, &words)?;
        listener.end()?;
        std::fs::write(&document, &said.out)?;
        let mut python = Command::new(home.join("bin/python"));
        python.args(["-c", READS]).arg(&document).args([protocol, reverse]);
        let (status, read) = told(python, PATIENCE)?;
        if status != 0 || !read.contains("read") {
            return Err(format!("{line}: {read}\n{said:?}").into());
        }
    }
    Ok(())
}

/// flent finds ours under the names of netperf and netserver, and gets rows out of all of its flows.
fn flent() -> Outcome {
    let home = environment()?;
    let directory = tempfile::tempdir()?;
    for name in ["netperf", "netserver"] {
        std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_iodyno"), directory.path().join(name))?;
    }
    let path = std::env::var("PATH").unwrap_or_default();
    let port = free_port()?.to_string();
    let mut serving = Command::new(directory.path().join("netserver"));
    serving.args(["-D", "-4", "-L", "127.0.0.1", "-p", &port]);
    let mut serving = serving.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
    let run = |test: &str, flows: &[&str]| -> Result<(), String> {
        let mut flent = Command::new(home.join("bin/flent"));
        flent.args([test, "-H", "127.0.0.1", "-l", "3", "-s", "0.2", "-d", "0", "-f", "summary"]);
        flent.args(["--netperf-control-port", &port]).current_dir(directory.path());
        flent.env("PATH", format!("{}:{path}", directory.path().display()));
        let (status, said) = told(flent, PATIENCE)?;
        let has = |flow: &&str| {
            said.lines().any(|line| line.trim().starts_with(*flow) && !line.contains("No data"))
        };
        let missing: Vec<&&str> = flows.iter().filter(|flow| !has(flow)).collect();
        match status == 0 && missing.is_empty() {
            true => Ok(()),
            false => Err(format!("{test}: status {status}, without {missing:?}: {said}")),
        }
    };
    let all = run("tcp_download", &["TCP download"]).and_then(|()| {
        run("rrul", &["Ping (ms) UDP BE", "TCP download BE", "TCP upload EF", "TCP upload sum"])
    });
    let _ = serving.kill();
    let _ = serving.wait();
    Ok(all?)
}
