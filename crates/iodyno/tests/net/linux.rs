//! The cases.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use serde_json::Value;
use testbed::program::{Program, Running};
use testbed::{Case, Need, Outcome, Skip, free_port, wait};

const IODYNO: &str = env!("CARGO_BIN_EXE_iodyno");

type Done<T> = Result<T, Box<dyn std::error::Error>>;

pub fn cases() -> Vec<Case> {
    vec![
        // A load at full speed keeps both processors busy.
        Case::new("latency_idle_and_under_load", &[], latency_under_load).computes(),
        Case::new("percentiles_are_in_order", &[], percentiles).computes(),
        Case::new("a_card_has_every_row", &[], card).computes(),
        Case::new("cards_are_kept_and_make_a_course", &[], course).computes(),
        Case::new("a_card_of_nobody_says_so_and_is_kept", &[], nobody),
        Case::new("the_real_netserver_will_do", &[Need::Tool("netserver")], real).computes().against(),
        Case::new("a_switchs_port_is_what_its_agent_counts", &[], switch_port).computes(),
        Case::new("a_switchs_port_that_cannot_be_told_says_why", &[], silent_port),
        Case::new("the_real_agent_is_understood", &[Need::Tool("snmpd")], real_agent).computes().against(),
        Case::new("a_mesh_needs_no_launcher", &[], mesh).computes(),
        Case::new("a_mesh_that_cannot_begin_says_which_host", &[], mesh_unreachable),
        Case::new("nobody_is_called_for_strangers", &[], strangers),
        Case::new("what_is_wrong_is_said", &[], wrong),
        Case::new("sockets_of_the_file_system_exchange", &[], unix),
        Case::new("sockets_of_virtual_machines_exchange", &[Need::That(vsock_there)], vsock),
    ]
}

/// Our netserver at a free port; it ends with the test.
fn server(more: &[&str]) -> Done<(Running, u16)> {
    let port = free_port()?;
    let mut command = Command::new(IODYNO);
    command.args(["netserver", "-D", "-4", "-L", "127.0.0.1", "-p", &port.to_string()]).args(more);
    let mut running = Program::new(command).launch()?;
    wait::until("netserver", || running.out().contains('\n') || !running.is_there())?;
    match running.out().contains("netserver") {
        true => Ok((running, port)),
        false => Err(format!("it does not begin: {}", running.outcome()?).into()),
    }
}

/// Our program, without a history of its own.
fn iodyno(arguments: &[&str]) -> Command {
    let mut command = Command::new(IODYNO);
    command.args(arguments).env("IODYNO_HISTORY", "off").env_remove("IODYNO_SSH");
    command
}

/// What it said; it ended with this status.
fn said(command: Command, status: i32) -> Done<String> {
    let line = format!("{command:?}");
    let said = Program::new(command).outcome()?;
    match said.code() == status && !said.all().contains("panicked") {
        true => Ok(said.all()),
        false => Err(format!("{line}: {said}").into()),
    }
}

/// The command with one more word.
fn with(mut command: Command, word: impl AsRef<std::ffi::OsStr>) -> Command {
    command.arg(word);
    command
}

/// The command with a variable.
fn under(mut command: Command, name: &str, value: impl AsRef<std::ffi::OsStr>) -> Command {
    command.env(name, value);
    command
}

fn contains(text: &str, words: &[&str]) -> Outcome {
    match words.iter().find(|word| !text.contains(**word)) {
        None => Ok(()),
        Some(word) => Err(format!("`{word}` was not said:\n{text}").into()),
    }
}

fn latency_under_load() -> Outcome {
    let home = tempfile::tempdir()?;
    let (_server, port) = server(&[])?;
    let (host, json) = (format!("127.0.0.1:{port}"), home.path().join("r.json"));
    let line = ["net", "latency", &host, "--time", "1s", "--settle", "200ms", "--under", "tcp:2"];
    let more = ["--rate", "200", "--json"];
    let told = said(with(iodyno(&[&line[..], &more].concat()), &json), 0)?;
    contains(
        &told,
        &["idle", "under tcp:2", "round trip, median", "connect, median", "load: ", "Gbit/s out"],
    )?;
    let record: Value = serde_json::from_slice(&std::fs::read(&json)?)?;
    let phases = record["phases"].as_array().ok_or("no phases")?;
    let jobs = |phase: usize| phases[phase]["jobs"].as_array().map_or(0, Vec::len);
    if phases.len() != 2 || (jobs(0), jobs(1)) != (2, 4) {
        return Err(format!("two phases with 2 and 4 jobs: {record:#}").into());
    }
    // A load the other way, and none of connections.
    let line = ["net", "latency", &host, "--time", "500ms", "--settle", "100ms", "--under", "tcp:1:in"];
    let told = said(iodyno(&[&line[..], &["--connects", "0", "--rate", "0"]].concat()), 0)?;
    contains(&told, &["one after the other", "Gbit/s in"])?;
    if told.contains("connect, median") {
        return Err(told.into());
    }
    let line = ["net", "latency", &host, "--time", "500ms", "--settle", "100ms", "--under", "udp:2m"];
    contains(&said(iodyno(&line), 0)?, &["under udp:2m", "Gbit/s out"])
}

/// A median as the table has it, ns.
fn median(text: &str, row: &str) -> Done<f64> {
    let line = text.lines().find(|line| line.contains(row)).ok_or_else(|| format!("no {row}: {text}"))?;
    let mut words = line.split(row).nth(1).unwrap_or_default().split_whitespace();
    let figure: f64 = words.next().ok_or("no figure")?.replace(',', "").parse()?;
    let unit = match words.next() {
        Some("s") => 1e9,
        Some("ms") => 1e6,
        Some("µs") => 1e3,
        _ => 1.0,
    };
    Ok(figure * unit)
}

/// One request after the other: no higher percentile lies below a lower one.
fn percentiles() -> Outcome {
    let (_server, port) = server(&[])?;
    let host = format!("127.0.0.1:{port}");
    let told = said(iodyno(&["net", "latency", &host, "--time", "1s", "--rate", "0"]), 0)?;
    let (half, nine) = (median(&told, "round trip, median")?, median(&told, "round trip, 90 %")?);
    let most = median(&told, "round trip, most")?;
    match half > 0.0 && half <= nine && nine <= most {
        true => Ok(()),
        false => Err(told.into()),
    }
}

const ROWS: &[&str] = &[
    "reachable       yes: median",
    "response time   median",
    "throughput out",
    "throughput in",
    "utilisation",
    "loss out",
    "loss in",
    "in gaps",
    "jitter",
];

fn card() -> Outcome {
    let (_server, port) = server(&["-Z", "a-secret"])?;
    let host = format!("127.0.0.1:{port}");
    let check = ["net", "check", &host, "--time", "300ms"];
    let told = said(iodyno(&[&check[..], &["--word", "a-secret"]].concat()), 0)?;
    contains(&told, ROWS)?;
    contains(&told, &["iodyno netserver"])?;
    // Without the word somebody is there, and does not answer.
    let told = said(iodyno(&check), 1)?;
    contains(&told, &["reachable       yes", "hint"])
}

fn course() -> Outcome {
    let home = tempfile::tempdir()?;
    let history = home.path().join("h.sqlite");
    let (_server, port) = server(&[])?;
    let host = format!("127.0.0.1:{port}");
    let kept = |arguments: &[&str]| under(iodyno(arguments), "IODYNO_HISTORY", &history);
    let check = ["net", "check", &host, "--time", "200ms", "--datagrams", "100"];
    let told = said(kept(&[&check[..], &["--every", "1s", "--times", "3"]].concat()), 0)?;
    contains(&told, &["the last day's course of 127.0.0.1, 3 cards", "1 of 1", "response"])?;
    let told = said(kept(&["net", "check", &host, "--course"]), 0)?;
    contains(&told, &["the last day's course of 127.0.0.1, 3 cards"])?;
    let runs: Value = serde_json::from_str(&said(kept(&["runs", "--json"]), 0)?)?;
    let tag = format!("net-check/{host}");
    let tagged =
        |run: &&Value| run["tags"].as_array().is_some_and(|tags| tags.contains(&Value::from(tag.clone())));
    match runs.as_array().map(|runs| runs.iter().filter(tagged).count()) {
        Some(3) => Ok(()),
        _ => Err(format!("{runs:#}").into()),
    }
}

fn nobody() -> Outcome {
    let home = tempfile::tempdir()?;
    let history = home.path().join("h.sqlite");
    let host = format!("127.0.0.1:{}", free_port()?);
    let check = ["net", "check", &host, "--time", "200ms", "--every", "1s", "--times", "2"];
    let told = said(under(iodyno(&check), "IODYNO_HISTORY", &history), 1)?;
    contains(&told, &["reachable       no", "nobody takes connections", "iodyno netserver", "0 of 1"])?;
    contains(&told, &["available 0 %: somebody answered in 0 of 2"])?;
    // One card is a course.
    let one = ["net", "check", &host, "--time", "200ms", "--every", "1s", "--times", "1", "--port", "9"];
    let told = said(under(iodyno(&one), "IODYNO_HISTORY", home.path().join("one.sqlite")), 1)?;
    contains(&told, &["course of 127.0.0.1, 1 card"])?;
    // Who has no address is no card at all.
    let told = said(iodyno(&["net", "check", "nohost.invalid", "--time", "200ms"]), 1)?;
    contains(&told, &["iodyno net check: nohost.invalid: ", "hint: give the host's name"])?;
    if told.contains("reachable") && told.contains("net check: nohost.invalid ·") {
        return Err(told.into());
    }
    let told = said(iodyno(&["net", "latency", &host, "--time", "200ms"]), 1)?;
    contains(&told, &["hint: start one there", &host])
}

fn real() -> Outcome {
    let port = free_port()?;
    let line = ["-D", "-4", "-L", "127.0.0.1", "-p", &port.to_string()];
    let mut running = Program::of("netserver", line).launch()?;
    let is_up = || TcpStream::connect(("127.0.0.1", port)).is_ok();
    wait::until("the real netserver", || is_up() || !running.is_there())?;
    let host = format!("127.0.0.1:{port}");
    let told = said(iodyno(&["net", "check", &host, "--time", "300ms"]), 0)?;
    contains(
        &told,
        &["reachable       yes", "response time", "throughput out", "throughput in", "loss out"],
    )?;
    if told.contains("iodyno netserver") || told.contains("loss in") {
        return Err(told.into());
    }
    let line = ["net", "latency", &host, "--time", "500ms", "--settle", "100ms", "--under", "tcp:2"];
    contains(&said(iodyno(&line), 0)?, &["round trip, median", "connect, median", "Gbit/s out"])
}

/// A switch's agent of our own: for each request in turn what its body answers; it ends with the test's process.
fn agent(mut answer: impl FnMut(usize) -> Option<Vec<u8>> + Send + 'static) -> Done<u16> {
    let socket = UdpSocket::bind("127.0.0.1:0")?;
    let port = socket.local_addr()?.port();
    std::thread::spawn(move || {
        let mut room = [0; 2048];
        for count in 0.. {
            let Ok((length, from)) = socket.recv_from(&mut room) else { return };
            let Some(body) = answer(count) else { continue };
            let reply = match body.first() {
                // Words that are no message at all.
                Some(b'!') => body,
                _ => reply(&room[..length], &body),
            };
            let _ = socket.send_to(&reply, from);
        }
    });
    Ok(port)
}

/// A value in BER.
fn tagged(tag: u8, content: &[u8]) -> Vec<u8> {
    let length = [0x82, (content.len() >> 8) as u8, content.len() as u8];
    [&[tag][..], &length, content].concat()
}

/// The content of the value at the front, and what follows it.
fn untagged(bytes: &[u8]) -> (&[u8], &[u8]) {
    let (length, head) = match bytes[1] {
        0x81 => (usize::from(bytes[2]), 3),
        0x82 => (usize::from(bytes[2]) << 8 | usize::from(bytes[3]), 4),
        short => (usize::from(short), 2),
    };
    (&bytes[head..head + length], &bytes[head + length..])
}

/// A response to a request: its community and number come back, and then what is said.
fn reply(request: &[u8], body: &[u8]) -> Vec<u8> {
    let (_, after_version) = untagged(untagged(request).0);
    let (community, pdu) = untagged(after_version);
    let number = untagged(untagged(pdu).0).0;
    let pdu = tagged(0xA2, &[tagged(2, number), body.to_vec()].concat());
    tagged(0x30, &[tagged(2, &[1]), tagged(4, community), pdu].concat())
}

/// What an agent says of port 24: hundredths of seconds since it began, and bytes received and sent.
fn counted(ticks: u32, received: u64, sent: u64, faults: u8) -> Vec<u8> {
    const TABLE: [u8; 9] = [0x2B, 6, 1, 2, 1, 2, 2, 1, 0];
    const EXTENSIONS: [u8; 10] = [0x2B, 6, 1, 2, 1, 31, 1, 1, 1, 0];
    let object = |name: &[u8], value: Vec<u8>| tagged(0x30, &[tagged(6, name), value].concat());
    let of =
        |table: &[u8], column: u8, value| object(&[&table[..table.len() - 1], &[column, 24]].concat(), value);
    let counter = |count: u64| tagged(0x46, &[&[0][..], &count.to_be_bytes()].concat());
    let small = |count: u8| tagged(0x41, &[count]);
    let objects = [
        object(&[0x2B, 6, 1, 2, 1, 1, 3, 0], tagged(0x43, &[&[0][..], &ticks.to_be_bytes()].concat())),
        of(&EXTENSIONS, 15, tagged(0x42, &[3, 0xE8])),
        of(&EXTENSIONS, 6, counter(received)),
        of(&EXTENSIONS, 10, counter(sent)),
        of(&TABLE, 14, small(faults)),
        of(&TABLE, 20, small(0)),
        of(&TABLE, 13, small(0)),
        of(&TABLE, 19, small(2 * faults)),
    ];
    [tagged(2, &[0]), tagged(2, &[0]), tagged(0x30, &objects.concat())].concat()
}

/// Readings before and after: counters of 64 bits that wrap between them have moved on.
fn switch_port() -> Outcome {
    let home = tempfile::tempdir()?;
    let json = home.path().join("r.json");
    let agent = agent(|count| {
        let first = count == 0;
        Some(match first {
            true => counted(u32::MAX - 499, u64::MAX - 62_499_999, 7, 1),
            false => counted(500, 62_500_000, 62_500_007, 4),
        })
    })?;
    let (_server, port) = server(&[])?;
    let (host, agent) = (format!("127.0.0.1:{port}"), agent.to_string());
    let check = ["net", "check", &host, "--time", "100ms", "--datagrams", "0", "--snmp", "127.0.0.1:24"];
    let line = [&check[..], &["--snmp-port", &agent, "--snmp-community", "secret", "--json"]].concat();
    let told = said(with(iodyno(&line), &json), 0)?;
    contains(
        &told,
        &[
            "switch port     sent 5.0 %, received 10.0 % of 1.00 Gbit/s in 10.0 s",
            "port's faults   errors sent 0, received 3; discards 6, 0",
        ],
    )?;
    // The record has what was counted.
    contains(&std::fs::read_to_string(json)?, &["port_received_bytes", "125000000"])
}

/// Nobody there, nobody who answers, words that are no answer, and a refusal: the card is told, and why that row is not.
fn silent_port() -> Outcome {
    let host = format!("127.0.0.1:{}", free_port()?);
    let check = |agent: u16| {
        let agent = agent.to_string();
        let line =
            ["net", "check", &host, "--time", "100ms", "--snmp", "localhost:24", "--snmp-port", &agent];
        // Rows break where the line ends.
        let rows = said(iodyno(&line), 1)?;
        Done::Ok(rows.split_whitespace().collect::<Vec<_>>().join(" "))
    };
    let untold = "switch port cannot be told: localhost:";
    contains(&check(free_port()?)?, &["reachable no", untold, "refused"])?;
    contains(&check(agent(|_| None)?)?, &[untold, "no answer in 3 s: agents ignore a wrong community"])?;
    contains(&check(agent(|_| Some(b"!HTTP/1.1 400".to_vec()))?)?, &[untold, "its answer is not SNMP's"])?;
    let refusal = [tagged(2, &[2]), tagged(2, &[1]), tagged(0x30, &[])].concat();
    contains(&check(agent(move |_| Some(refusal.clone()))?)?, &[untold, "the agent says: no such name"])?;
    let again = |count: usize| Some(counted(5000 - 100 * count as u32, 9, 9, 0));
    contains(&check(agent(again)?)?, &["the agent began anew between its two answers"])?;
    let idle = |count: usize| Some(counted(100 + 510 * count as u32, 9, 9, 0));
    contains(&check(agent(idle)?)?, &["its counters did not move in 5.1 s"])
}

/// Debian's own agent, of the loopback interface.
fn real_agent() -> Outcome {
    let home = tempfile::tempdir()?;
    let configuration = home.path().join("snmpd.conf");
    std::fs::write(&configuration, "rocommunity look 127.0.0.1\n")?;
    let agent = free_port()?.to_string();
    let mut command = Command::new("snmpd");
    command.args(["-f", "-Lo", "-C", "-c"]).arg(&configuration).arg(format!("udp:127.0.0.1:{agent}"));
    command.env("SNMP_PERSISTENT_DIR", home.path());
    let mut running = Program::new(command).launch()?;
    wait::until("the agent", || running.out().contains("NET-SNMP version") || !running.is_there())?;
    let (_server, port) = server(&[])?;
    let host = format!("127.0.0.1:{port}");
    // It counts anew every few seconds.
    let check = ["net", "check", &host, "--time", "2s", "--snmp", "127.0.0.1:1", "--snmp-port", &agent];
    let told = said(iodyno(&[&check[..], &["--snmp-community", "look"]].concat()), 0)?;
    // Loopback says that it carries ten megabits.
    contains(
        &told,
        &["switch port     sent ", "bit/s, received ", "port's faults   errors sent 0, received 0"],
    )?;
    // Counters of 32 bits cannot tell what loopback carries; that they are read is enough.
    let told = said(iodyno(&[&check[..], &["--snmp-community", "look", "--snmp-version", "1"]].concat()), 0)?;
    contains(&told, &["switch port     "])?;
    match told.contains("no answer") || told.contains("the agent says") {
        true => Err(told.into()),
        false => Ok(()),
    }
}

/// A program that is called as ssh is, and runs the line here. What it runs outlives it, as it does with ssh, unless it
/// `becomes` that: then nobody who has been started for nothing is waited for.
fn pretended_ssh(folder: &std::path::Path, becomes: bool) -> Done<String> {
    let path = folder.join("ssh");
    let exec = if becomes { "exec " } else { "" };
    std::fs::write(
        &path,
        format!("#!/bin/sh\nshift 2\ncase $1 in dead*) exit 255 ;; esac\nshift\nexec sh -c \"{exec}$*\"\n"),
    )?;
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755))?;
    Ok(path.to_string_lossy().into_owned())
}

/// Servers of a mesh that are there now and were started by this test's program.
fn left_behind(ssh: &str) -> Done<Vec<String>> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc")?.flatten() {
        let line = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
        let line = String::from_utf8_lossy(&line).replace('\0', " ");
        let environment = std::fs::read(entry.path().join("environ")).unwrap_or_default();
        if line.contains("net serve") && String::from_utf8_lossy(&environment).contains(ssh) {
            found.push(line);
        }
    }
    Ok(found)
}

/// In pairs two hosts have two rounds, all at once three have one: a round takes two seconds at least, at full speed.
fn mesh() -> Outcome {
    let home = tempfile::tempdir()?;
    let ssh = pretended_ssh(home.path(), false)?;
    let three = "127.0.0.1,127.0.0.2,127.0.0.3";
    for (pattern, hosts, links) in
        [("pairs", "127.0.0.1,127.0.0.2", 2), ("incast", three, 2), ("all", three, 6)]
    {
        let line = ["net", "mesh", "--hosts", hosts, "--time", "1s", "--latency-time", "1s"];
        let run = iodyno(&[&line[..], &["--pattern", pattern]].concat());
        let told = said(under(run, "IODYNO_SSH", &ssh), 0)?;
        let count = hosts.split(',').count();
        contains(&told, &[&format!("{count} hosts"), "by a netserver on each"])?;
        for heading in ["throughput, ", "round trip, median, µs", "round trip, 99th percentile, µs"] {
            let below = told.split(heading).nth(1).ok_or_else(|| format!("no {heading}: {told}"))?;
            let cells = below.lines().skip(2).take(count).flat_map(|row| row.split_whitespace().skip(1));
            let figures =
                cells.filter(|cell| cell.replace(',', "").parse::<f64>().is_ok_and(|value| value > 0.0));
            let figures = figures.count();
            // On a busy machine there may be too few round trips for a percentile, which is told.
            let few = heading.contains("99th") && told.contains("p99 of exchange rests on");
            if figures != links && !(few && figures < links) {
                return Err(format!("{pattern}: {figures} links of {links}: {told}").into());
            }
        }
    }
    let left = || left_behind(&ssh).unwrap_or_default();
    Ok(wait::until("the servers' end", || left().is_empty()).map_err(|why| format!("{why}: {:?}", left()))?)
}

fn mesh_unreachable() -> Outcome {
    let home = tempfile::tempdir()?;
    let ssh = pretended_ssh(home.path(), true)?;
    let told = said(under(iodyno(&["net", "mesh", "--hosts", "127.0.0.1,dead"]), "IODYNO_SSH", &ssh), 2)?;
    contains(&told, &["dead", "no server could be started", "hint"])?;
    let run = iodyno(&["net", "mesh", "--hosts", "127.0.0.1,127.0.0.2"]);
    let told = said(under(run, "IODYNO_SSH", "/nowhere/ssh"), 2)?;
    contains(&told, &["/nowhere/ssh", "hint"])?;
    // A name that the others do not know: its links are missing, and it is said.
    let line = ["net", "mesh", "--hosts", "127.0.0.1,127.0.0.2", "--address", "no-such-host.invalid"];
    let told = said(under(iodyno(&line), "IODYNO_SSH", &ssh), 1)?;
    contains(&told, &["no-such-host.invalid", "--address"])
}

/// A netserver calls another one only for who knows its word, and goes on serving.
fn strangers() -> Outcome {
    let (_server, port) = server(&[])?;
    let target = TcpListener::bind("127.0.0.1:0")?;
    target.set_nonblocking(true)?;
    let mut call = vec![0u8; 656];
    call[..4].copy_from_slice(&9001i32.to_be_bytes());
    let mut put = |word: usize, value: i32| {
        call[8 + 4 * word..12 + 4 * word].copy_from_slice(&value.to_be_bytes());
    };
    [(14, 1), (22, 1), (23, 6), (24, 2)].into_iter().for_each(|(word, value)| put(word, value));
    put(120, 0x494f_4459);
    put(154, i32::from(target.local_addr()?.port()));
    call[8 + 4 * 122..8 + 4 * 122 + 9].copy_from_slice(b"127.0.0.1");
    let mut stranger = TcpStream::connect(("127.0.0.1", port))?;
    stranger.write_all(&call)?;
    // It is left, with an end or a reset, and without an answer.
    stranger.set_nonblocking(true)?;
    let mut room = [0; 64];
    let answer = wait::for_some("the end of a stranger's call", || match stranger.read(&mut room) {
        Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => None,
        answered => Some(answered.unwrap_or(0)),
    })?;
    if answer > 0 || target.accept().is_ok() {
        return Err(format!("a stranger was served: {:?}", &room[..answer]).into());
    }
    let host = format!("127.0.0.1:{port}");
    said(iodyno(&["net", "latency", &host, "--time", "300ms", "--connects", "0"]), 0).map(drop)
}

fn wrong() -> Outcome {
    for (line, words) in [
        ("net latency", "HOST"),
        ("net latency h --under tcp:0", "1 to 128"),
        ("net latency h --under smoke", "tcp:4"),
        ("net latency h --rate=-1", "--rate"),
        ("net latency h --time 0s", "no time"),
        ("net latency h:0", "port"),
        ("net latency h --message 0", "1 byte"),
        ("net check h --every 1ms", "1h"),
        ("net watch nosuch0", "there is: "),
        ("net watch lo --every 1ms", "1s"),
        ("net watch lo --times 0", "--times"),
        ("net check h --times 3", "--every"),
        ("net check h --every 1h --no-save", "kept"),
        ("net check h --every 1h --json x.json", "same file"),
        ("net mesh --hosts h1:2,h2", "one netserver"),
        ("net mesh --hosts h1,h2 --json x.json", "launcher"),
        ("net mesh --hosts h1", "--hosts"),
        ("net serve now", "standard input"),
        ("net serve", "word"),
        ("net nonsense", "latency"),
    ] {
        let arguments: Vec<&str> = line.split_whitespace().collect();
        let told = said(iodyno(&arguments), 2).map_err(|why| format!("{line}: {why}"))?;
        contains(&told, &[words, "hint"]).map_err(|why| format!("{line}: {why}"))?;
    }
    Ok(())
}

/// A plan of requests and responses over a transport; what each end counted.
fn exchange(address: &str) -> Outcome {
    let home = tempfile::tempdir()?;
    let (plan, json) = (home.path().join("plan.toml"), home.path().join("r.json"));
    let job = |name: &str, on: &str, more: &str| {
        format!(
            "[[phase.job]]\nname = \"{name}\"\non = \"{on}\"\nengine = \"socket\"\ndo = \"exchange\"\nblock = \"64B\"\n{more}\n"
        )
    };
    let text = format!(
        "name = \"exchange\"\nintent = \"network\"\n[target.here]\nlisten = \"{address}\"\n[target.there]\nconnect = \
         \"{address}\"\n[[phase]]\nname = \"p\"\n{}{}",
        job("answers", "here", "settings = { answers = \"on\" }"),
        job("asks", "there", "until = { operations = 1000 }")
    );
    std::fs::write(&plan, text)?;
    said(with(with(iodyno(&["run", "--quiet", "--json"]), &json), &plan), 0)?;
    let record: Value = serde_json::from_slice(&std::fs::read(&json)?)?;
    let operations = |job: usize| {
        record["phases"][0]["jobs"][job]["lines"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|l| l["operations"].as_u64())
            .sum::<u64>()
    };
    match (operations(0), operations(1)) {
        (1000, 1000) => Ok(()),
        other => Err(format!("{other:?}: {record:#}").into()),
    }
}

fn unix() -> Outcome {
    let home = tempfile::tempdir()?;
    let path = home.path().join("socket");
    exchange(&format!("unix:{}", path.display()))?;
    match path.exists() {
        true => Err("the socket is left behind".into()),
        false => Ok(()),
    }
}

/// The local address of virtual machines' sockets (`VMADDR_CID_LOCAL`), which needs the kernel's loopback transport.
const LOCAL: u32 = 1;

/// Whether two of them can meet on this machine.
fn vsock_there() -> Result<(), Skip> {
    let failed = |what: &str| {
        Err(Skip::new(format!("no vsock loopback: {what}: {}", std::io::Error::last_os_error())))
    };
    // SAFETY: plain socket calls on descriptors of this function's own, with an address that is valid for its size.
    unsafe {
        let listener = libc::socket(libc::AF_VSOCK, libc::SOCK_STREAM | libc::SOCK_CLOEXEC, 0);
        if listener < 0 {
            return failed("socket");
        }
        let mut address: libc::sockaddr_vm = std::mem::zeroed();
        address.svm_family = libc::AF_VSOCK as u16;
        address.svm_cid = libc::VMADDR_CID_ANY;
        address.svm_port = libc::VMADDR_PORT_ANY;
        let mut bytes = size_of::<libc::sockaddr_vm>() as libc::socklen_t;
        let place = (&raw mut address).cast::<libc::sockaddr>();
        let bound = libc::bind(listener, place, bytes) == 0
            && libc::listen(listener, 1) == 0
            && libc::getsockname(listener, place, &raw mut bytes) == 0;
        address.svm_cid = LOCAL;
        let client = libc::socket(libc::AF_VSOCK, libc::SOCK_STREAM | libc::SOCK_CLOEXEC, 0);
        let place = (&raw const address).cast::<libc::sockaddr>();
        let met = bound && client >= 0 && libc::connect(client, place, bytes) == 0;
        let answer = if met { Ok(()) } else { failed("connect") };
        libc::close(client);
        libc::close(listener);
        answer
    }
}

fn vsock() -> Outcome {
    exchange(&format!("vsock:{LOCAL}:{}", free_port()?))
}
