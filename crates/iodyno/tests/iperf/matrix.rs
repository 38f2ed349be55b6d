//! The matrix of programs, roles, protocols and directions.

use testbed::{Case, Need, Outcome, free_port};

use crate::peers::{Program, client, server};
use Program::{Ours, Real};

/// What is run besides who is who: the client's options, the server's, and how many totals each prints.
const TESTS: &[(&str, &str, &str, usize, usize)] = &[
    ("tcp", "-t 1", "", 1, 1),
    ("tcp-four", "-t 1 -P 4", "", 4, 4),
    ("tcp-bytes", "-n 5M -l 8K", "", 1, 1),
    ("tcp-rate", "-t 1 -b 20m -i 0.5", "-i 0.5", 1, 1),
    ("tcp-reverse", "-t 1 -R", "", 1, 1),
    ("tcp-dual", "-t 1 -d -L BACK", "", 2, 2),
    ("tcp-tradeoff", "-t 1 -r -L BACK", "", 2, 2),
    ("tcp-enhanced", "-t 1 -e -i 0.5", "-e", 1, 1),
    ("tcp-options", "-t 1 -m -M 1000 -w 64K -N -S ef -f m", "", 1, 1),
    ("udp", "-u -t 1 -b 5m", "-u", 2, 1),
    ("udp-four", "-u -t 1 -b 2m -P 4 -l 1000", "-u", 8, 4),
    ("udp-enhanced", "-u -e -i 1 -t 1", "-u -e -i 1", 2, 1),
    ("udp-bytes", "-u -n 100K -b 10m", "-u", 2, 1),
    ("udp-reverse", "-u -t 1 -R -b 5m", "-u", 1, 1),
    ("udp-dual", "-u -t 1 -b 2m -d -L BACK", "-u", 3, 3),
];

/// All of them.
pub fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for (at, of) in [(Ours, Ours), (Ours, Real), (Real, Ours)] {
        let real: &[Need] = if (at, of) == (Ours, Ours) { &[] } else { &[Need::Tool("iperf")] };
        for test in TESTS {
            let title = format!("{of:?} to {at:?}: {}", test.0).to_lowercase();
            cases.push(Case::new(title, real, move || moved(at, of, test)));
        }
    }
    cases.push(Case::new("values are the original's", &[Need::Tool("iperf")], values));
    cases.push(Case::new("nobody listens", &[], nobody));
    cases.push(Case::new("one client, then the end", &[], one_client));
    cases
}

fn words(line: &str) -> Vec<&str> {
    line.split_whitespace().collect()
}

/// A row of a stream: its label, when it begins and ends as written, and its bytes.
fn row(line: &str) -> Option<(&str, &str, &str, f64)> {
    let (label, rest) = line.split_once("] ")?;
    let (times, rest) = rest.split_once(" sec")?;
    let (start, end) = times.trim().split_once('-')?;
    let mut words = rest.split_whitespace();
    let number: f64 = words.next()?.parse().ok()?;
    let unit = match words.next()? {
        "Bytes" => 1.0,
        "KBytes" => 1024.0,
        "MBytes" => 1024.0 * 1024.0,
        "GBytes" => 1024.0 * 1024.0 * 1024.0,
        _ => return None,
    };
    (!label.contains("SUM") && start.contains('.')).then_some((label, start, end, number * unit))
}

/// Bytes of the total rows: those that begin at 0, and after which no interval of the same stream goes on.
fn totals(text: &str) -> Vec<f64> {
    let rows: Vec<_> = text.lines().filter_map(row).collect();
    let goes_on = |label: &str, end: &str| rows.iter().any(|row| (row.0, row.1) == (label, end));
    let whole = |row: &&(&str, &str, &str, f64)| row.1 == "0.0000" && !goes_on(row.0, row.2);
    rows.iter().filter(whole).map(|row| row.3).collect()
}

/// One of the matrix: it comes to its end, and both sides agree on what was moved.
fn moved(at: Program, of: Program, test: &(&str, &str, &str, usize, usize)) -> Outcome {
    let (name, line, server_line, told, heard) = *test;
    let (port, back) = (free_port()?, free_port()?);
    let line = line.replace("BACK", &back.to_string());
    let mut listener = server(at, port, &words(server_line))?;
    let (status, said) = client(of, port, &words(&line))?;
    if status != 0 {
        return Err(format!("status {status}:\n{said}\nserver:\n{}", listener.said()).into());
    }
    let theirs = listener.says(" sec ")?;
    std::thread::sleep(std::time::Duration::from_millis(700));
    let theirs = if totals(&theirs).len() < heard { listener.interrupt()?.1 } else { theirs };
    let (mine, theirs_all) = (totals(&said), totals(&theirs));
    let shown = || format!("client:\n{said}\nserver:\n{theirs}");
    if mine.len() < told || theirs_all.len() < heard {
        return Err(format!("{} and {} totals:\n{}", mine.len(), theirs_all.len(), shown()).into());
    }
    let (sent, came): (f64, f64) = (
        mine.iter().take(told).sum::<f64>() / told as f64,
        theirs_all.iter().sum::<f64>() / theirs_all.len() as f64,
    );
    // Both ends count the same bytes: what is under way at the end, and what datagrams lose on a busy machine, apart.
    let agree = (sent - came).abs() <= 0.25 * sent.max(came);
    if sent <= 0.0 || !agree {
        return Err(format!("{sent} sent and {came} came:\n{}", shown()).into());
    }
    if name == "tcp-bytes" && (mine[0], theirs_all[0]) != (5242880.0, 5242880.0) {
        return Err(format!("not exactly 5 MiB:\n{}", shown()).into());
    }
    Ok(())
}

/// Comma-separated values have the original's fields.
fn values() -> Outcome {
    for line in ["-t 1 -y C -P 2", "-u -t 1 -y C"] {
        let mut fields = Vec::new();
        for of in [Real, Ours] {
            let port = free_port()?;
            let udp: &[&str] = if line.contains("-u") { &["-u"] } else { &[] };
            let _listener = server(Ours, port, udp)?;
            let (status, said) = client(of, port, &words(line))?;
            let shape: Vec<usize> = said.lines().map(|line| line.split(',').count()).collect();
            fields.push((status, shape));
        }
        if fields[0] != fields[1] {
            return Err(format!("{line}: {fields:?}").into());
        }
    }
    Ok(())
}

fn nobody() -> Outcome {
    let (status, said) = client(Ours, free_port()?, &["-t", "1"])?;
    if status != 1 || !said.contains("tcp connect failed: ") {
        return Err(format!("status {status}: {said}").into());
    }
    Ok(())
}

fn one_client() -> Outcome {
    let port = free_port()?;
    let listener = server(Ours, port, &["-1"])?;
    client(Ours, port, &["-n", "1M"])?;
    let (status, said) = listener.end()?;
    if status != 0 || !said.contains("1.00 MBytes") {
        return Err(format!("status {status}: {said}").into());
    }
    Ok(())
}
