//! The matrix of programs, roles, protocols, directions, streams and ends.

use serde_json::Value;
use testbed::{Case, Need, Outcome, free_port};

use crate::peers::{Cable, HERE, Program, Server, client, command};
use Program::{Newer, Ours, Real};

/// What is run, besides who is who.
const TESTS: &[(&str, &str)] = &[
    ("tcp", "-t 1"),
    ("tcp-reverse", "-t 1 -R"),
    ("tcp-bidir", "-t 1 --bidir"),
    ("tcp-four", "-t 1 -P 4"),
    ("tcp-reverse-four", "-t 1 -R -P 4"),
    ("tcp-bidir-four", "-t 1 --bidir -P 4"),
    ("tcp-omit", "-t 1 -O 1"),
    ("tcp-bytes", "-n 5M"),
    ("tcp-blocks", "-k 40 -l 64K"),
    ("tcp-bytes-reverse", "-n 5M -R"),
    ("tcp-rate", "-t 1 -b 50M"),
    ("tcp-server-output", "-t 1 --get-server-output"),
    ("udp", "-t 1 -u -b 10M"),
    ("udp-reverse", "-t 1 -u -b 10M -R"),
    ("udp-bidir", "-t 1 -u -b 10M --bidir"),
    ("udp-four", "-t 1 -u -b 5M -P 4 -l 1000"),
    ("udp-blocks", "-u -k 30 -l 1000 -b 10M"),
    ("udp-64bit", "-t 1 -u -b 10M --udp-counters-64bit"),
];

/// What is reported in the original's words.
const TEXTS: &[&str] =
    &["-t 2", "-t 2 -R", "-t 1 -P 2", "-t 1 --bidir", "-t 2 -u -b 10M", "-t 1 -u -b 10M -R", "-t 1 -T title"];

/// All of them.
pub fn cases() -> Vec<Case> {
    let (mut cases, mut timed) = (Vec::new(), Vec::new());
    for (server, of) in [(Ours, Ours), (Ours, Real), (Real, Ours), (Ours, Newer), (Newer, Ours)] {
        let real: &[Need] = &server.needs().into_iter().chain(of.needs()).collect::<Vec<_>>();
        for (name, line) in TESTS {
            let title = format!("{of:?} to {server:?}: {name}").to_lowercase();
            let case = Case::new(title, real, move || moved(server, of, line));
            // Each side leaves its own first second out: when that ends is a matter of both their clocks.
            match line.contains("-O") {
                true => timed.push(case.alone()),
                false => cases.push(case),
            }
        }
        let title = format!("{of:?} to {server:?}: over a cable").to_lowercase();
        let mut needs = vec![Need::Root, Need::Tool("unshare"), Need::Tool("nsenter"), Need::Tool("ip")];
        needs.extend_from_slice(real);
        cases.push(Case::new(title, &needs, move || over_a_cable(server, of)));
    }
    for line in TEXTS {
        let title = format!("text is the original's: {line}");
        cases.push(Case::new(title, &[Need::Tool("iperf3")], move || text_is_the_originals(line)));
    }
    cases.push(Case::new("tokens", &[Need::Tool("openssl")], tokens));
    cases.push(Case::new(
        "tokens of the original",
        &[Need::Tool("openssl"), Need::Tool("iperf3")],
        real_tokens,
    ));
    let newer: Vec<Need> = Newer.needs().into_iter().chain([Need::Tool("openssl")]).collect();
    cases.push(Case::new("tokens of the newer original", &newer, newer_tokens));
    for (server, of) in [(Ours, Ours), (Ours, Newer), (Newer, Ours), (Ours, Real), (Real, Ours)] {
        let real: Vec<Need> = server.needs().into_iter().chain(of.needs()).collect();
        let title = format!("{of:?} to {server:?}: a file").to_lowercase();
        cases.push(Case::new(title, &real, move || a_file(server, of)));
    }
    cases.push(Case::new("files that cannot be had", &[], no_file));
    cases.push(Case::new("a server in the background", &[], in_the_background));
    cases.push(Case::new("sctp, or why not", &[], sctp));
    cases.push(Case::new("many clients at once", &[], many_at_once));
    cases.push(Case::new("limits", &[], limits));
    cases.push(Case::new("nobody there", &[], nobody_there));
    cases.push(Case::new("a log file and a pid file", &[], files));
    cases.extend(timed);
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
fn moved(server: Program, of: Program, line: &str) -> Outcome {
    let port = free_port()?;
    let listener = Server::start(server, HERE, port, &["-1"])?;
    let mut more = words(line);
    more.push("-J");
    let said = client(command(of, HERE), "127.0.0.1", port, &more)?;
    if said.status != 0 {
        return Err(format!("{said:?}").into());
    }
    let document: Value =
        serde_json::from_str(&said.out).map_err(|error| format!("{error}: {}", said.out))?;
    listener.end()?;
    agrees(&document, line, of)?;
    Ok(())
}

fn agrees(document: &Value, line: &str, of: Program) -> Result<(), String> {
    let tails: &[&str] = if line.contains("bidir") { &["", "_bidir_reverse"] } else { &[""] };
    for tail in tails {
        let sent = number(document, &format!("/end/sum_sent{tail}/bytes"))?;
        let received = number(document, &format!("/end/sum_received{tail}/bytes"))?;
        if sent <= 0.0 || received <= 0.0 || received > sent * 1.5 {
            return Err(format!("{sent} sent and {received} received: {document:#}"));
        }
    }
    let exactly = match line {
        line if line.starts_with("-n 5M") => Some(5.0 * 1_048_576.0),
        line if line.contains("-k 40 -l 64K") => Some(40.0 * 65_536.0),
        line if line.contains("-k 30 -l 1000") => Some(30_000.0),
        _ => None,
    };
    // The original sends whole blocks, and more of them than it was asked for.
    let sends = !line.contains("-R");
    if let Some(exactly) = exactly.filter(|_| of == Ours && sends) {
        let (sent, received) =
            (number(document, "/end/sum_sent/bytes")?, number(document, "/end/sum_received/bytes")?);
        if sent != exactly || received > exactly {
            return Err(format!("{sent} sent and {received} received instead of {exactly}"));
        }
    }
    Ok(())
}

fn over_a_cable(server: Program, of: Program) -> Outcome {
    let cable = Cable::lay()?;
    let [near, far] = cable.hosts();
    let listener = Server::start(server, far, 5201, &[])?;
    for line in ["-t 1", "-t 1 -u -b 20M -R", "-t 1 --bidir -P 2"] {
        let mut more = words(line);
        more.push("-J");
        let said = client(command(of, near), Cable::FAR, 5201, &more)?;
        let document: Value =
            serde_json::from_str(&said.out).map_err(|error| format!("{line}: {error}: {said:?}"))?;
        agrees(&document, line, of).map_err(|why| format!("{line}: {why}"))?;
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

fn let_in(
    server: Program,
    of: Program,
    padding: &[&str],
    password: &str,
    expected: i32,
) -> Result<(), String> {
    let directory = tempfile::tempdir().map_err(|error| error.to_string())?;
    let [private, public, users] = keys(directory.path())?;
    let port = free_port().map_err(|error| error.to_string())?;
    let mut more = vec!["--rsa-private-key-path", &private, "--authorized-users-path", &users];
    more.extend(if server == Ours { padding } else { &[] });
    let listener = Server::start(server, HERE, port, &more)?;
    let mut asking = command(of, HERE);
    asking.env("IPERF3_PASSWORD", password);
    let mut more = vec!["-n", "1M", "--username", "mario", "--rsa-public-key-path", &public];
    more.extend(if of == Ours { padding } else { &[] });
    let said = client(asking, "127.0.0.1", port, &more)?;
    drop(listener);
    match said.status == expected {
        true => Ok(()),
        false => Err(format!("{of:?} to {server:?} with `{password}`: {said:?}")),
    }
}

fn tokens() -> Outcome {
    for (password, status) in [("rossi", 0), ("verdi", 1)] {
        let_in(Ours, Ours, &[], password, status)?;
        let_in(Ours, Ours, &["--use-pkcs1-padding"], password, status)?;
    }
    Ok(())
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
    if said.status != 0 || !named {
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
        if said.status != 1 || !said.err.contains(words) {
            return Err(format!("{line:?}: {said:?}").into());
        }
    }
    let listener = Server::start(Ours, HERE, port, &["-F", &path("kept")])?;
    let said = client(command(Ours, HERE), "127.0.0.1", port, &["-n", "1M"])?;
    drop(listener);
    let kept = std::fs::read_to_string(path("kept"))?;
    match said.status != 0 && kept == "kept" {
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
    let until = std::time::Instant::now() + std::time::Duration::from_secs(60);
    while std::path::Path::new(&path("pid")).exists() && std::time::Instant::now() < until {
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    let said = said?;
    let taken = String::from_utf8_lossy(&second.stderr).contains("Address already in use");
    let left = std::path::Path::new(&path("pid")).exists();
    let well = started.status.success() && started.stdout.is_empty() && said.status == 0 && ended.success();
    if well && taken && second.status.code() == Some(1) && !left {
        return Ok(());
    }
    Err(format!("{started:?}\n{second:?}\n{said:?}\n{ended} {left}").into())
}

/// SCTP moves data where this kernel has it; elsewhere both sides say that it is the kernel's lack.
fn sctp() -> Outcome {
    let port = free_port()?;
    let listener = Server::start(Ours, HERE, port, &[])?;
    let said = client(command(Ours, HERE), "127.0.0.1", port, &["--sctp", "-n", "1M"])?;
    drop(listener);
    match said.status {
        0 if said.out.contains("1.00 MBytes") => Ok(()),
        1 if said.err.contains("no SCTP") => Ok(()),
        _ => Err(format!("{said:?}").into()),
    }
}

/// 3.12 pads as iperf3 did before 3.17.
fn real_tokens() -> Outcome {
    for (password, status) in [("rossi", 0), ("verdi", 1)] {
        let_in(Ours, Real, &["--use-pkcs1-padding"], password, status)?;
        let_in(Real, Ours, &["--use-pkcs1-padding"], password, status)?;
    }
    Ok(())
}

fn newer_tokens() -> Outcome {
    for (password, status) in [("rossi", 0), ("verdi", 1)] {
        let_in(Ours, Newer, &[], password, status)?;
        let_in(Newer, Ours, &[], password, status)?;
    }
    Ok(())
}

fn many_at_once() -> Outcome {
    let port = free_port()?;
    let listener = Server::start(Ours, HERE, port, &[])?;
    let lines = ["-t 2 -b 20M -J", "-t 2 -u -b 5M -J", "-t 2 -u -b 5M -R -J", "-t 2 --bidir -b 20M -J"];
    let clients = lines.map(|line| {
        std::thread::spawn(move || {
            client(command(Ours, HERE), "127.0.0.1", port, &words(line)).map(|said| (line, said))
        })
    });
    for client in clients {
        let (line, said) = client.join().map_err(|_| "a client panicked")??;
        if said.status != 0 {
            return Err(format!("{line}: {said:?}").into());
        }
        let document: Value = serde_json::from_str(&said.out)?;
        agrees(&document, line, Ours)?;
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
        if said.status != 1 || !said.err.contains(words_of_it) {
            return Err(format!("{line}: {said:?}").into());
        }
    }
    // And it serves on.
    let said = client(command(Ours, HERE), "127.0.0.1", port, &words("-t 1 -b 5M"))?;
    drop(listener);
    if said.status == 0 { Ok(()) } else { Err(format!("{said:?}").into()) }
}

fn nobody_there() -> Outcome {
    let port = free_port()?;
    let said = client(command(Ours, HERE), "127.0.0.1", port, &[])?;
    if said.status != 1
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
    if said.status == 0 && said.out.is_empty() && report.ends_with("iperf Done.\n") && number > 1 && !left {
        return Ok(());
    }
    Err(format!("{said:?}\n{report}\n{number} {left}").into())
}
