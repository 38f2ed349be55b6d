//! `cargo xtask bench net`: throughput and processor time of flows over the loop, ours and Debian's iperf3 in turn; and
//! what a round trip costs us beside a C loop that does nothing else (`bench/round-trips.c`).
//!
//! Both ends of a flow are the same program. The congestion control is pinned, because the system's may pace by what
//! others do. Judged are ratios of medians of alternating rounds, and processor time, which a busy machine disturbs less
//! than the clock; the load stands beside them. It refuses to pass or fail anything.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::meter::{self, Spread};
use crate::shell;

/// Rounds of ours and theirs.
const ROUNDS: usize = 7;
/// Of a flow.
const SECONDS: &str = "2";
/// Round trips whose difference frees the cost of one from start and end.
const FEW: u64 = 500;
const MANY: u64 = 10_500;
const PATIENCE: Duration = Duration::from_secs(60);
const LOOP: &str = include_str!("../../bench/round-trips.c");

/// A flow that both programs know.
struct FlowCase {
    name: &'static str,
    line: &'static [&'static str],
    /// Ours over theirs, at least; none: theirs cannot do it.
    times: Option<f64>,
    /// Processor seconds of ours for a GB, both ends, at most.
    seconds_a_gb: Option<f64>,
}

const CASES: &[FlowCase] = &[
    FlowCase { name: "tcp", line: &["-C", "cubic"], times: Some(1.15), seconds_a_gb: None },
    FlowCase { name: "tcp-zerocopy", line: &["-C", "cubic", "-Z"], times: Some(1.2), seconds_a_gb: None },
    // Neither end touches the bytes: Debian's has no word for the second half of it.
    FlowCase {
        name: "tcp-spliced",
        line: &["-C", "cubic", "-Z", "--skip-rx-copy"],
        times: None,
        seconds_a_gb: Some(0.09),
    },
    FlowCase {
        name: "udp-1460",
        line: &["-u", "-b", "0", "-l", "1460"],
        times: Some(5.0),
        seconds_a_gb: None,
    },
];

/// What a flow came to.
#[derive(Clone, Copy)]
struct Flow {
    /// Received, Gbit/s.
    gbps: f64,
    /// Processor seconds of both ends for a GB that was received.
    seconds_a_gb: f64,
}

/// Measures everything and prints a table.
///
/// # Errors
/// What is missing to measure at all.
pub fn chore(binary: &Path) -> Result<bool, String> {
    println!("{}", meter::machine());
    println!(
        "| case         | ours, Gbit/s        | iperf3, Gbit/s      | ours ÷ iperf3 | aim    | ours, CPU s/GB | iperf3, CPU s/GB |"
    );
    println!(
        "|--------------|---------------------|---------------------|---------------|--------|----------------|------------------|"
    );
    let mut all = true;
    for case in CASES {
        match paired(binary, case) {
            Ok((ours, theirs)) => print_pair(case, &ours, &theirs),
            Err(why) => {
                all = false;
                println!("| {:<12} | not measured: {why} |", case.name);
            }
        }
    }
    match round_trips(binary) {
        Ok(line) => println!("\n{line}"),
        Err(why) => {
            all = false;
            println!("\nround trips: not measured: {why}");
        }
    }
    Ok(all)
}

fn print_pair(case: &FlowCase, ours: &[Flow], theirs: &[Flow]) {
    let met = |is: bool| if is { "met" } else { "missed" };
    let of = |flows: &[Flow], what: fn(&Flow) -> f64| Spread::of(&flows.iter().map(what).collect::<Vec<_>>());
    let (speed, their_speed) = (of(ours, |flow| flow.gbps), of(theirs, |flow| flow.gbps));
    let (cost, their_cost) = (of(ours, |flow| flow.seconds_a_gb), of(theirs, |flow| flow.seconds_a_gb));
    let ratio = speed.median / their_speed.median;
    let (ratio_shown, times) = match case.times {
        Some(least) => (format!("{ratio:.2}"), format!("≥ {least} {}", met(ratio >= least))),
        None => (String::new(), String::new()),
    };
    let shown = |spread: &Spread| format!("{:.1} ({:.1} … {:.1})", spread.median, spread.least, spread.most);
    let aim =
        case.seconds_a_gb.map_or(String::new(), |most| format!(" ≤ {most} {}", met(cost.median <= most)));
    println!(
        "| {:<12} | {:<19} | {:<19} | {ratio_shown:>13} | {times:<10} | {:.3}{aim} | {:.3} |",
        case.name,
        shown(&speed),
        shown(&their_speed),
        cost.median,
        their_cost.median,
    );
}

fn paired(binary: &Path, case: &FlowCase) -> Result<(Vec<Flow>, Vec<Flow>), String> {
    let real = shell::find("iperf3").ok_or("iperf3 is not installed")?;
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        ours.push(flow(&|| named(binary, &["iperf3"]), case)?);
        if case.times.is_some() {
            theirs.push(flow(&|| named(&real, &[]), case)?);
        }
    }
    Ok((ours, theirs))
}

fn named(program: &Path, words: &[&str]) -> Command {
    let mut command = Command::new(program);
    command.args(words);
    command
}

pub fn free_port() -> Result<u16, String> {
    let place = std::net::TcpListener::bind("127.0.0.1:0").map_err(|error| error.to_string())?;
    place.local_addr().map(|near| near.port()).map_err(|error| error.to_string())
}

/// Whether somebody listens at a port.
fn listens(port: u16) -> bool {
    ["/proc/net/tcp", "/proc/net/tcp6"].iter().any(|table| {
        let text = std::fs::read_to_string(table).unwrap_or_default();
        text.lines().any(|line| line.contains(&format!(":{port:04X} ")) && line.contains(" 0A "))
    })
}

pub fn await_port(port: u16) -> Result<(), String> {
    let until = Instant::now() + PATIENCE;
    while !listens(port) {
        if Instant::now() > until {
            return Err("the server does not listen".into());
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    Ok(())
}

/// One flow: both ends are started, and both are paid for.
fn flow(program: &dyn Fn() -> Command, case: &FlowCase) -> Result<Flow, String> {
    let port = free_port()?.to_string();
    let log = std::env::temp_dir().join(format!("iodyno-bench-net-{}-{port}.json", std::process::id()));
    let mut serving = program();
    serving.args(["-s", "-1", "-p", &port]);
    let server = std::thread::spawn(move || meter::spent(serving));
    await_port(port.parse().unwrap_or(0))?;
    let mut asking = program();
    asking.args(["-c", "127.0.0.1", "-p", &port, "-t", SECONDS, "-J", "--logfile"]).arg(&log).args(case.line);
    let client = meter::spent(asking);
    let said = std::fs::read_to_string(&log).unwrap_or_default();
    // It was made for this flow.
    let _ = std::fs::remove_file(&log);
    let client = client.map_err(|why| format!("{}: {why}", case.name))?;
    let server = server.join().map_err(|_| "the server is lost")??;
    let bytes = received(&said, "bytes");
    if bytes <= 0.0 {
        return Err("nothing was received".into());
    }
    Ok(Flow {
        gbps: received(&said, "bits_per_second") / 1e9,
        seconds_a_gb: (client.total() + server.total()) / (bytes / 1e9),
    })
}

/// A figure of what was received, out of iperf3's document; 0: it is not there.
fn received(document: &str, name: &str) -> f64 {
    let rest = document.split_once("\"sum_received\":").map_or("", |(_, rest)| rest);
    let rest = rest.split_once(&format!("\"{name}\":")).map_or("", |(_, rest)| rest).trim_start();
    let end = rest.find(|letter: char| !(letter.is_ascii_digit() || ".eE+-".contains(letter)));
    rest[..end.unwrap_or(rest.len())].parse().unwrap_or(0.0)
}

/// A server that ends with its owner.
pub struct Serving(Child);

impl Drop for Serving {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

pub fn serve(mut command: Command, port: u16) -> Result<Serving, String> {
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let serving = Serving(command.spawn().map_err(|error| error.to_string())?);
    await_port(port)?;
    Ok(serving)
}

/// Instructions in user mode and user time of a round trip, ours and the loop's.
fn round_trips(binary: &Path) -> Result<String, String> {
    let folder = std::env::temp_dir().join(format!("iodyno-bench-net-{}", std::process::id()));
    std::fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
    let measured = trips_in(binary, &folder);
    // It was made above.
    let _ = std::fs::remove_dir_all(&folder);
    measured
}

fn trips_in(binary: &Path, folder: &Path) -> Result<String, String> {
    let bare = shell::compile(LOOP, &folder.join("round-trips"))?;
    let ours = |count: u64| -> Result<u64, String> {
        let port = free_port()?;
        let number = port.to_string();
        let server = named(binary, &["netserver", "-D", "-4", "-L", "127.0.0.1", "-p", &number]);
        let _serving = serve(server, port)?;
        let count = format!("-{count}");
        let line = ["netperf", "-H", "127.0.0.1", "-p", &number, "-t", "TCP_RR", "-l", &count, "-P", "0"];
        meter::callgrind(named(binary, &line), folder)
    };
    let theirs = |count: u64| -> Result<u64, String> {
        let port = free_port()?;
        let (number, count) = (port.to_string(), count.to_string());
        let _serving = serve(named(&bare, &["answer", &number, "0"]), port)?;
        meter::callgrind(named(&bare, &["ask", &number, &count]), folder)
    };
    let each = |few: u64, many: u64| many.saturating_sub(few) as f64 / (MANY - FEW) as f64;
    let (mine, loops) = (each(ours(FEW)?, ours(MANY)?), each(theirs(FEW)?, theirs(MANY)?));
    Ok(format!(
        "TCP_RR: {mine:.0} instructions in user mode for a transaction, {loops:.0} of the bare loop: × {:.2}, {:.0} more \
         (two readings of the clock, the tally and the histogram among them)",
        mine / loops.max(1.0),
        mine - loops
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_received_is_read() {
        let document = "{ \"sum_sent\":\t{\"bytes\":\t1}, \"sum_received\":\t{ \"start\": 0,\n\t\"bytes\":\t5000000,\n\
                        \"bits_per_second\":\t3.9e7 } }";
        assert_eq!((received(document, "bytes"), received(document, "bits_per_second")), (5e6, 3.9e7));
        assert_eq!(received("{}", "bytes"), 0.0);
    }
}
