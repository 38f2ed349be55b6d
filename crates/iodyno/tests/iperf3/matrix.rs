//! The matrix of programs, roles, protocols, directions, streams and ends.

use serde_json::Value;
use testbed::{Case, Need, Outcome, free_port, wait};

use crate::peers::{Cable, HERE, Program, Server, client, command};
use Program::{Newer, Ours, Real};

/// What is run, besides who is who, and how many bytes that is, where the client sends and is told. At full speed only
/// where that is what is asked: both programs keep two processors busy then.
const TESTS: &[(&str, &str, Option<u32>)] = &[
    ("tcp", "-t 1", None),
    ("tcp-reverse", "-t 1 -R -b 50M", None),
    ("tcp-bidir", "-t 1 --bidir -b 20M", None),
    ("tcp-four", "-n 8M -P 4", Some(8 << 20)),
    ("tcp-reverse-four", "-n 8M -R -P 4", None),
    ("tcp-bidir-four", "-t 1 --bidir -P 4 -b 5M", None),
    ("tcp-omit", "-t 1 -O 1 -b 20M", None),
    ("tcp-bytes", "-n 5M", Some(5 << 20)),
    ("tcp-less-than-a-block", "-n 1K", Some(1024)),
    ("tcp-less-than-a-block-reverse", "-n 1K -R", None),
    ("tcp-blocks", "-k 40 -l 64K", Some(40 << 16)),
    ("tcp-bytes-reverse", "-n 5M -R", None),
    ("tcp-rate", "-t 1 -b 50M", None),
    ("tcp-server-output", "-n 2M --get-server-output", Some(2 << 20)),
    ("udp", "-t 1 -u -b 10M", None),
    ("udp-reverse", "-t 1 -u -b 10M -R", None),
    ("udp-bidir", "-t 1 -u -b 10M --bidir", None),
    ("udp-four", "-u -k 100 -b 5M -P 4 -l 1000", Some(100_000)),
    ("udp-blocks", "-u -k 30 -l 1000 -b 10M", Some(30_000)),
    ("udp-few-blocks-at-once", "-u -k 3 -l 1000 -b 0", Some(3000)),
    ("udp-64bit", "-u -k 30 -l 1000 -b 10M --udp-counters-64bit", Some(30_000)),
];

/// What is reported in the original's words.
const TEXTS: &[&str] = &[
    "-t 2 -b 50M",
    // The original's heading of a reversed test depends on whether more than one interval was told.
    "-t 2 -R -b 50M",
    "-t 1 -P 2 -b 20M",
    "-t 1 --bidir -b 20M",
    "-t 1 -u -b 10M",
    "-t 1 -u -b 10M -R",
    "-n 2M -T title",
];

pub fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for (server, of) in [(Ours, Ours), (Ours, Real), (Real, Ours), (Ours, Newer), (Newer, Ours)] {
        let real: &[Need] = &server.needs().into_iter().chain(of.needs()).collect::<Vec<_>>();
        let pair = |name: &str, needs: &[Need], body: Box<dyn FnOnce() -> Outcome + Send>| {
            let case = Case::new(format!("{of:?} to {server:?}: {name}").to_lowercase(), needs, body);
            if (server, of) == (Ours, Ours) { case } else { case.against() }
        };
        for (name, line, bytes) in TESTS {
            let case = pair(name, real, Box::new(move || moved(server, of, line, *bytes)));
            cases.push(if *name == "tcp" { case.computes() } else { case });
        }
        let mut needs = vec![Need::Root, Need::Tool("unshare"), Need::Tool("nsenter"), Need::Tool("ip")];
        needs.extend_from_slice(real);
        cases.push(pair("over a cable", &needs, Box::new(move || over_a_cable(server, of))));
        cases.push(pair("a file", real, Box::new(move || a_file(server, of))));
    }
    for line in TEXTS {
        let title = format!("text is the original's: {line}");
        let case = Case::new(title, &[Need::Tool("iperf3")], move || text_is_the_originals(line));
        cases.push(case.against());
    }
    for (real, asks) in [(Real, Real), (Real, Ours), (Newer, Newer), (Newer, Ours)] {
        let needs: Vec<Need> = real.needs().into_iter().chain(asks.needs()).collect();
        let title = format!("a server's document is the original's: {asks:?} to {real:?}").to_lowercase();
        cases.push(Case::new(title, &needs, move || document_is_the_originals(real, asks)).against());
    }
    cases.push(Case::new("tokens", &[Need::Tool("openssl")], tokens));
    let with_openssl =
        |of: Program| of.needs().into_iter().chain([Need::Tool("openssl")]).collect::<Vec<_>>();
    cases.push(Case::new("tokens of the original", &with_openssl(Real), real_tokens).against());
    cases.push(Case::new("tokens of the newer original", &with_openssl(Newer), newer_tokens).against());
    cases.push(Case::new("files that cannot be had", &[], no_file));
    cases.push(Case::new("a server in the background", &[], in_the_background));
    cases.push(Case::new("sctp, or why not", &[], sctp));
    cases.push(Case::new("many clients at once", &[], many_at_once));
    cases.push(Case::new("limits", &[], limits));
    cases.push(Case::new("a buffer that is too small is named", &[], || small_buffer(Ours, Ours)).computes());
    for (asks, serves) in [(Ours, Real), (Real, Ours)] {
        let title = format!("a buffer that is too small: {asks:?} to {serves:?}").to_lowercase();
        let body = move || small_buffer(asks, serves);
        cases.push(Case::new(title, &[Need::Tool("iperf3")], body).computes().against());
    }
    cases.push(Case::new("nobody there", &[], nobody_there));
    cases.push(Case::new("a log file and a pid file", &[], files));
    cases
}

fn words(line: &str) -> Vec<&str> {
    line.split_whitespace().collect()
}

fn number(document: &Value, path: &str) -> Result<f64, String> {
    let value = document.pointer(path).and_then(Value::as_f64);
    value.ok_or_else(|| format!("no {path} in {document:#}"))
}

/// One of the matrix: it comes to its end, and both sides agree on what was moved.
fn moved(server: Program, of: Program, line: &str, bytes: Option<u32>) -> Outcome {
    let port = free_port()?;
    let listener = Server::start(server, HERE, port, &["-1"])?;
    let mut more = words(line);
    more.push("-J");
    let said = client(command(of, HERE), "127.0.0.1", port, &more)?;
    if said.code() != 0 {
        return Err(said.to_string().into());
    }
    let document: Value =
        serde_json::from_str(&said.out).map_err(|error| format!("{error}: {}", said.out))?;
    listener.end()?;
    agrees(&document, line)?;
    // The original sends whole blocks, and more of them than it was asked for.
    if let Some(exactly) = bytes.filter(|_| of == Ours) {
        is_exactly(&document, f64::from(exactly))?;
    }
    Ok(())
}

/// Both directions moved something, and no more came than was sent.
fn agrees(document: &Value, line: &str) -> Result<(), String> {
    let tails: &[&str] = if line.contains("bidir") { &["", "_bidir_reverse"] } else { &[""] };
    for tail in tails {
        let sent = number(document, &format!("/end/sum_sent{tail}/bytes"))?;
        let received = number(document, &format!("/end/sum_received{tail}/bytes"))?;
        // Each side leaves out its own first second, which ends when its own clock says so.
        let more = received > sent * 1.5 && !line.contains("-O");
        if sent <= 0.0 || received <= 0.0 || more {
            return Err(format!("{sent} sent and {received} received: {document:#}"));
        }
    }
    if line.contains("-O") { leaves_out_the_first(document) } else { Ok(()) }
}

/// Intervals that are left out come first, and there are others.
fn leaves_out_the_first(document: &Value) -> Result<(), String> {
    let intervals = document["intervals"].as_array().ok_or("no intervals")?;
    let omitted: Vec<bool> = intervals.iter().map(|one| one["sum"]["omitted"] == true).collect();
    let first_kept = omitted.iter().position(|omitted| !omitted);
    match first_kept {
        Some(1..) if !omitted[first_kept.unwrap_or_default()..].contains(&true) => Ok(()),
        _ => Err(format!("left out: {omitted:?}")),
    }
}

fn is_exactly(document: &Value, exactly: f64) -> Result<(), String> {
    let (sent, received) =
        (number(document, "/end/sum_sent/bytes")?, number(document, "/end/sum_received/bytes")?);
    match sent == exactly && received <= exactly {
        true => Ok(()),
        false => Err(format!("{sent} sent and {received} received instead of {exactly}")),
    }
}

fn over_a_cable(server: Program, of: Program) -> Outcome {
    let cable = Cable::lay()?;
    let [near, far] = cable.hosts();
    let listener = Server::start(server, far, 5201, &[])?;
    for line in ["-n 5M", "-t 1 -u -b 20M -R", "-t 1 --bidir -P 2 -b 20M"] {
        let mut more = words(line);
        more.push("-J");
        let said = client(command(of, near), Cable::FAR, 5201, &more)?;
        let document: Value =
            serde_json::from_str(&said.out).map_err(|error| format!("{line}: {error}: {said:?}"))?;
        agrees(&document, line).map_err(|why| format!("{line}: {why}"))?;
    }
    drop(listener);
    Ok(())
}

/// Numbers as `N`, so that two reports of different runs can be compared.
fn shape(text: &str) -> Vec<String> {
    let shape = |line: &str| {
        let words = line.split_whitespace().map(|word| match word.chars().any(|c| c.is_ascii_digit()) {
            true => "N",
            false => word,
        });
        let units = ["bits/sec", "Kbits/sec", "Mbits/sec", "Gbits/sec"];
        let sizes = ["Bytes", "KBytes", "MBytes", "GBytes"];
        let unit = |word| {
            if units.contains(&word) {
                "R"
            } else if sizes.contains(&word) {
                "S"
            } else {
                word
            }
        };
        words.map(unit).collect::<Vec<_>>().join(" ").replace("[ N] N", "[N]").replace("[ N]", "[N]")
    };
    let mut shapes: Vec<String> = text.lines().map(shape).collect();
    // How many rows there are depends on how late an interval ends.
    shapes.dedup();
    shapes
}

fn text_is_the_originals(line: &str) -> Outcome {
    let mut reports = Vec::new();
    for program in [Ours, Real] {
        let port = free_port()?;
        let listener = Server::start(Real, HERE, port, &["-1"])?;
        let said = client(command(program, HERE), "127.0.0.1", port, &words(line))?;
        listener.end()?;
        reports.push(said.out);
    }
    if shape(&reports[0]) != shape(&reports[1]) {
        return Err(format!("{line}:\n{}\n{}", reports[0], reports[1]).into());
    }
    Ok(())
}

/// A key pair and a users' file in a directory.
fn keys(directory: &std::path::Path) -> Result<[String; 3], String> {
    let path = |name: &str| directory.join(name).display().to_string();
    let (private, public, users) = (path("private.pem"), path("public.pem"), path("users.csv"));
    let run = |arguments: &[&str]| {
        let done = std::process::Command::new("openssl")
            .args(arguments)
            .output()
            .map_err(|error| error.to_string())?;
        if done.status.success() { Ok(()) } else { Err(String::from_utf8_lossy(&done.stderr).into_owned()) }
    };
    run(&["genpkey", "-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048", "-out", &private])?;
    run(&["pkey", "-in", &private, "-pubout", "-out", &public])?;
    // The example of iperf3's own manual: mario, rossi.
    let line = "mario,bf7a49a846d44b454a5d11e7acfaf13d138bbe0b7483aa3e050879700572709b\n";
    std::fs::write(&users, line).map_err(|error| error.to_string())?;
    Ok([private, public, users])
}

/// Who is let in by a password, and who is not.
fn asked(pairs: &[(Program, Program)], padding: &[&str]) -> Outcome {
    let directory = tempfile::tempdir()?;
    let keys = keys(directory.path())?;
    for (server, of) in pairs {
        for (password, status) in [("rossi", 0), ("verdi", 1)] {
            let_in(*server, *of, &keys, padding, password, status)?;
        }
    }
    Ok(())
}

fn let_in(
    server: Program,
    of: Program,
    [private, public, users]: &[String; 3],
    padding: &[&str],
    password: &str,
    expected: i32,
) -> Result<(), String> {
    let port = free_port().map_err(|error| error.to_string())?;
    let mut more = vec!["--rsa-private-key-path", private, "--authorized-users-path", users];
    more.extend(if server == Ours { padding } else { &[] });
    let listener = Server::start(server, HERE, port, &more)?;
    let mut asking = command(of, HERE);
    asking.env("IPERF3_PASSWORD", password);
    let mut more = vec!["-n", "1M", "--username", "mario", "--rsa-public-key-path", public];
    more.extend(if of == Ours { padding } else { &[] });
    let said = client(asking, "127.0.0.1", port, &more)?;
    drop(listener);
    match said.code() == expected {
        true => Ok(()),
        false => Err(format!("{of:?} to {server:?} with `{password}`: {said:?}")),
    }
}

fn tokens() -> Outcome {
    asked(&[(Ours, Ours)], &[])?;
    asked(&[(Ours, Ours)], &["--use-pkcs1-padding"])
}

/// A file arrives as it was sent, both ways; its end ends the test.
fn a_file(server: Program, of: Program) -> Outcome {
    let directory = tempfile::tempdir()?;
    let path = |name: &str| directory.path().join(name).display().to_string();
    let content: Vec<u8> =
        (0..3_000_001_u32).map(|at| (at.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    std::fs::write(path("source"), &content)?;
    let port = free_port()?;
    let listener = Server::start(server, HERE, port, &["-1", "-F", &path("sink")])?;
    let said = client(command(of, HERE), "127.0.0.1", port, &["-F", &path("source")])?;
    listener.end()?;
    let named = said.out.contains("(100%) of ") && said.out.contains("Sent 2.86 MByte / 2.86 MByte");
    if said.code() != 0 || !named {
        return Err(format!("{said:?}").into());
    }
    // What the original's server had not read yet when its client said that it was over is not in its file.
    let came = std::fs::read(path("sink"))?;
    let whole = came == content || (server != Ours && !came.is_empty() && content.starts_with(&came));
    if !whole {
        return Err(format!("{} bytes of {} came, or others", came.len(), content.len()).into());
    }
    let port = free_port()?;
    let listener = Server::start(server, HERE, port, &["-1", "-F", &path("source")])?;
    // With -Z the original's server sends something else than the file.
    let line = if server == Ours { "-R -t 1 -Z" } else { "-R -t 1" };
    let back = path("back");
    let line: Vec<&str> = words(line).into_iter().chain(["-F", back.as_str()]).collect();
    let said = client(command(of, HERE), "127.0.0.1", port, &line)?;
    drop(listener);
    let back = std::fs::read(back)?;
    match back == content {
        true => Ok(()),
        false => Err(format!("{} bytes came back, or others: {said:?}", back.len()).into()),
    }
}

/// What is there is never written over, and what is not there is said before anybody is connected to.
fn no_file() -> Outcome {
    let directory = tempfile::tempdir()?;
    let path = |name: &str| directory.path().join(name).display().to_string();
    std::fs::write(path("kept"), "kept")?;
    let port = free_port()?;
    for (line, words) in [
        (vec!["-F".to_string(), path("missing")], "unable to open -F file: No such file"),
        (vec!["-R".into(), "-F".into(), path("kept")], "nothing is written over"),
        (vec!["-u".into(), "-F".into(), path("kept")], "cannot transfer file using UDP"),
    ] {
        let line: Vec<&str> = line.iter().map(String::as_str).collect();
        let said = client(command(Ours, HERE), "127.0.0.1", port, &line)?;
        if said.code() != 1 || !said.err.contains(words) {
            return Err(format!("{line:?}: {said:?}").into());
        }
    }
    let listener = Server::start(Ours, HERE, port, &["-F", &path("kept")])?;
    let said = client(command(Ours, HERE), "127.0.0.1", port, &["-n", "1M"])?;
    drop(listener);
    let kept = std::fs::read_to_string(path("kept"))?;
    match said.code() != 0 && kept == "kept" {
        true => Ok(()),
        false => Err(format!("{kept}: {said:?}").into()),
    }
}

/// `-D`: who starts it goes on once there is something to connect to; a port that is taken is told, and the status.
fn in_the_background() -> Outcome {
    let directory = tempfile::tempdir()?;
    let path = |name: &str| directory.path().join(name).display().to_string();
    let port = free_port()?;
    let start = |pid: &str| {
        let mut server = command(Ours, HERE);
        server.args(["-s", "-D", "-p", &port.to_string(), "-I", pid]).output()
    };
    let started = start(&path("pid"))?;
    let number: i32 = std::fs::read_to_string(path("pid"))?.trim_matches(['\0', '\n']).parse()?;
    let second = start(&path("second"))?;
    let said = client(command(Ours, HERE), "127.0.0.1", port, &["-n", "1M"]);
    let ended = std::process::Command::new("kill").arg(number.to_string()).status()?;
    let gone = wait::until("the server's parting", || !std::path::Path::new(&path("pid")).exists());
    let said = said?;
    let taken = String::from_utf8_lossy(&second.stderr).contains("Address already in use");
    let well = started.status.success() && started.stdout.is_empty() && said.code() == 0 && ended.success();
    if well && taken && second.status.code() == Some(1) && gone.is_ok() {
        return Ok(());
    }
    Err(format!("{started:?}\n{second:?}\n{said:?}\n{ended} {gone:?}").into())
}

/// SCTP moves data where this kernel has it; elsewhere both sides say that it is the kernel's lack.
fn sctp() -> Outcome {
    let port = free_port()?;
    let listener = Server::start(Ours, HERE, port, &[])?;
    let said = client(command(Ours, HERE), "127.0.0.1", port, &["--sctp", "-n", "1M"])?;
    drop(listener);
    match said.code() {
        0 if said.out.contains("1.00 MBytes") => Ok(()),
        1 if said.err.contains("no SCTP") => Ok(()),
        _ => Err(format!("{said:?}").into()),
    }
}

/// What a server's document is asked for.
const DOCUMENTS: &[&str] = &[
    "-t 1 -b 20M",
    "-t 1 -b 20M -R",
    "-t 1 -b 20M --bidir",
    "-t 1 -b 5M -P 2 -T title",
    "-t 1 -b 5M -P 2 -R -O 1",
    "-t 1 -u -b 5M",
    "-t 1 -u -b 5M -R",
    "-t 1 -u -b 5M --bidir",
    "-t 1 -b 5M --get-server-output",
];

/// A server's keys come in the order of the original's; what a newer version has added stands among them.
fn document_is_the_originals(real: Program, asks: Program) -> Outcome {
    for line in DOCUMENTS {
        let keys = |server: Program| -> Result<Vec<String>, Box<dyn std::error::Error>> {
            let port = free_port()?;
            let listener = Server::start(server, HERE, port, &["-1", "-J"])?;
            let said = client(command(asks, HERE), "127.0.0.1", port, &words(line))?;
            let document = listener.end()?;
            let _: Value = serde_json::from_str(&document)
                .map_err(|error| format!("{server:?}, {line}: {error}: {document}\n{said}"))?;
            Ok(keys_of(&document))
        };
        let (theirs, mine) = (keys(real)?, keys(Ours)?);
        let is_added = |key: &&String| real == Real && !theirs.contains(key);
        let added: Vec<&String> = mine.iter().filter(is_added).collect();
        let rest: Vec<&String> = mine.iter().filter(|key| !is_added(key)).collect();
        if rest != theirs.iter().collect::<Vec<_>>() || added.iter().any(|key| !ADDED.contains(&key.as_str()))
        {
            let first = rest.iter().zip(&theirs).position(|(mine, theirs)| *mine != theirs);
            let at = first.unwrap_or(rest.len().min(theirs.len()));
            let of = |keys: &[String]| keys.iter().skip(at).take(5).cloned().collect::<Vec<_>>();
            let mine: Vec<String> = rest.into_iter().cloned().collect();
            return Err(format!(
                "{line}: key {at} on: theirs {:?}, ours {:?}; added {added:?}",
                of(&theirs),
                of(&mine)
            )
            .into());
        }
    }
    Ok(())
}

/// What versions after 3.12 say beyond it.
const ADDED: [&str; 9] = [
    "start/timestamp/timemillisecs",
    "start/fq_rate",
    "start/test_start/bidir",
    "start/test_start/fqrate",
    "start/test_start/interval",
    "start/test_start/gso",
    "start/test_start/gro",
    "intervals/streams/reorder",
    "end/streams/sender/reorder",
];

/// The keys of a document as cJSON lays it out, a line each, in the order in which each first comes.
fn keys_of(document: &str) -> Vec<String> {
    let (mut path, mut keys): (Vec<(usize, &str)>, Vec<String>) = Default::default();
    for line in document.lines() {
        let depth = line.bytes().take_while(|byte| *byte == b'\t').count();
        let key = line.trim_start().strip_prefix('"').and_then(|rest| rest.split_once("\":"));
        let Some((key, _)) = key else { continue };
        path.retain(|(above, _)| *above < depth);
        path.push((depth, key));
        let whole = path.iter().map(|(_, key)| *key).collect::<Vec<_>>().join("/");
        if !keys.contains(&whole) {
            keys.push(whole);
        }
    }
    keys
}

/// 3.12 pads as iperf3 did before 3.17.
fn real_tokens() -> Outcome {
    asked(&[(Ours, Real), (Real, Ours)], &["--use-pkcs1-padding"])
}

fn newer_tokens() -> Outcome {
    asked(&[(Ours, Newer), (Newer, Ours)], &[])
}

fn many_at_once() -> Outcome {
    let port = free_port()?;
    let listener = Server::start(Ours, HERE, port, &[])?;
    let lines = ["-t 1 -b 20M -J", "-t 1 -u -b 5M -J", "-t 1 -u -b 5M -R -J", "-t 1 --bidir -b 20M -J"];
    let clients = lines.map(|line| {
        std::thread::spawn(move || {
            client(command(Ours, HERE), "127.0.0.1", port, &words(line)).map(|said| (line, said))
        })
    });
    for client in clients {
        let (line, said) = client.join().map_err(|_| "a client panicked")??;
        if said.code() != 0 {
            return Err(format!("{line}: {said:?}").into());
        }
        let document: Value = serde_json::from_str(&said.out)?;
        agrees(&document, line)?;
    }
    drop(listener);
    Ok(())
}

fn limits() -> Outcome {
    let port = free_port()?;
    let listener =
        Server::start(Ours, HERE, port, &["--server-max-duration", "5", "--server-bitrate-limit", "10M"])?;
    for (line, words_of_it) in [
        ("-t 60", "client's requested duration exceeds the server's maximum permitted limit"),
        ("-t 1 -b 20M", "total required bandwidth is larger than server limit"),
    ] {
        let said = client(command(Ours, HERE), "127.0.0.1", port, &words(line))?;
        if said.code() != 1 || !said.err.contains(words_of_it) {
            return Err(format!("{line}: {said:?}").into());
        }
    }
    // And it serves on.
    let said = client(command(Ours, HERE), "127.0.0.1", port, &words("-t 1 -b 5M"))?;
    drop(listener);
    if said.code() == 0 { Ok(()) } else { Err(format!("{said:?}").into()) }
}

/// Datagrams that find a receiver's small buffer full: whoever of ours receives them says so, and tells a peer of ours.
fn small_buffer(asks: Program, serves: Program) -> Outcome {
    for reverse in [false, true] {
        let port = free_port()?;
        let mut served = command(serves, HERE);
        served.env("IODYNO_FINDINGS", "1");
        let listener = Server::launch(served, port, &["-1"])?;
        let mut asked = command(asks, HERE);
        asked.env("IODYNO_FINDINGS", "1");
        // The original's client waits for all bytes of an amount, and some are lost: time ends it.
        // At no rate: a receiver that is awake keeps up with any that is named here.
        let line = if reverse { "-u -b 0 -t 1 -l 1400 -w 8K -R" } else { "-u -b 0 -n 300M -l 1400 -w 8K" };
        let said = client(asked, "127.0.0.1", port, &words(line))?;
        let theirs = listener.said()?;
        let named = |told: &str| {
            let words = told.split_whitespace().collect::<Vec<_>>().join(" ");
            words.contains("[27]")
                && words.contains("found the receiver's buffer full")
                && words.contains("-w")
        };
        let (client, server) = (named(&said.err), named(&theirs.err));
        // The original tells nobody. Ours hears from ours what happened at the other end; a sender that serves is silent.
        let expected = match (asks, serves, reverse) {
            (Ours, Ours, false) => (true, true),
            (Ours, _, true) => (true, false),
            (_, Ours, false) => (false, true),
            _ => (false, false),
        };
        if said.code() != 0 || (client, server) != expected {
            return Err(format!("{line}: {said}\n{theirs}").into());
        }
    }
    Ok(())
}

fn nobody_there() -> Outcome {
    let port = free_port()?;
    let said = client(command(Ours, HERE), "127.0.0.1", port, &[])?;
    if said.code() != 1
        || !said.err.contains("unable to connect to server")
        || !said.err.contains("Connection refused")
    {
        return Err(format!("{said:?}").into());
    }
    let said = client(command(Ours, HERE), "127.0.0.1", port, &["-J"])?;
    let document: Value = serde_json::from_str(&said.out)?;
    let error = document["error"].as_str().unwrap_or_default();
    if error.contains("Connection refused") { Ok(()) } else { Err(format!("{said:?}").into()) }
}

fn files() -> Outcome {
    let directory = tempfile::tempdir()?;
    let path = |name: &str| directory.path().join(name).display().to_string();
    let (log, pid) = (path("log"), path("pid"));
    let port = free_port()?;
    let listener = Server::start(Ours, HERE, port, &["-1", "--pidfile", &pid])?;
    let number: u32 = std::fs::read_to_string(&pid)?.trim_matches(['\0', '\n']).parse()?;
    let said = client(command(Ours, HERE), "127.0.0.1", port, &["-n", "1M", "--logfile", &log])?;
    listener.end()?;
    let report = std::fs::read_to_string(&log)?;
    let left = std::path::Path::new(&pid).exists();
    if said.code() == 0 && said.out.is_empty() && report.ends_with("iperf Done.\n") && number > 1 && !left {
        return Ok(());
    }
    Err(format!("{said:?}\n{report}\n{number} {left}").into())
}
