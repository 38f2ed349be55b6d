//! Programs of others that read what we print, or drive us: PyPI's reader of iperf3's JSON, and flent, which runs netperf.

use std::path::{Path, PathBuf};
use std::process::Command;

use testbed::program::Program as Process;
use testbed::{Case, Need, Outcome, Skip, free_port, wait};

use crate::peers::{HERE, Program, Server, client, command};
use Program::Ours;

pub fn cases() -> Vec<Case> {
    let python = Need::Tool("python3");
    vec![
        Case::new("the reader of PyPI", &[python], reader).against(),
        Case::new("flent runs ours", &[python, Need::Tool("fping")], flent).computes().against(),
    ]
}

/// What PyPI has of readers and drivers.
fn environment() -> Result<PathBuf, Skip> {
    let kept = Path::new(env!("CARGO_TARGET_TMPDIR"));
    testbed::python::environment(kept, "network-clients", &["iperf3", "flent"])
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
    for (line, protocol, reverse) in [
        ("-n 4M -P 2 -J", "TCP", "0"),
        ("-n 4M -P 2 -R -J", "TCP", "1"),
        ("-t 1 -P 2 -u -b 5M -J", "UDP", "0"),
    ] {
        let port = free_port()?;
        let listener = Server::start(Ours, HERE, port, &["-1"])?;
        let words: Vec<&str> = line.split(' ').collect();
        let said = client(command(Ours, HERE), "127.0.0.1", port, &words)?;
        listener.end()?;
        std::fs::write(&document, &said.out)?;
        let mut python = Command::new(home.join("bin/python"));
        python.args(["-c", READS]).arg(&document).args([protocol, reverse]);
        let read = Process::new(python).outcome()?;
        if read.code() != 0 || !read.out.contains("read") {
            return Err(format!("{line}: {read}\n{said}").into());
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
    let mut serving = Process::new(serving).launch()?;
    wait::until("netserver", || serving.out().contains("netserver") || !serving.is_there())?;
    let run = |test: &str, flows: &[&str]| -> Result<(), String> {
        let mut flent = Command::new(home.join("bin/flent"));
        flent.args([test, "-H", "127.0.0.1", "-l", "2", "-s", "0.2", "-d", "0", "-f", "summary"]);
        flent.args(["--netperf-control-port", &port]).current_dir(directory.path());
        flent.env("PATH", format!("{}:{path}", directory.path().display()));
        let said = Process::new(flent).outcome()?;
        let text = said.all();
        let has = |flow: &&str| {
            text.lines().any(|line| line.trim().starts_with(*flow) && !line.contains("No data"))
        };
        let missing: Vec<&&str> = flows.iter().filter(|flow| !has(flow)).collect();
        match said.code() == 0 && missing.is_empty() {
            true => Ok(()),
            false => Err(format!("{test}: without {missing:?}: {said}")),
        }
    };
    run("tcp_download", &["TCP download"])?;
    Ok(run("rrul", &["Ping (ms) UDP BE", "TCP download BE", "TCP upload EF", "TCP upload sum"])?)
}
