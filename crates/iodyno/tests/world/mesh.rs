//! Every link between ranks, over real sockets: the matrix has a figure wherever there is a link, and nowhere else.

use std::net::TcpListener;

use testbed::{Case, Outcome};

use crate::launch::{LAUNCHER, ranks};
use crate::program::{iodyno, scratch, told};

pub fn cases() -> Vec<Case> {
    vec![
        Case::new("a mesh of three ranks has every link", LAUNCHER, every_link),
        Case::new("a mesh needs two ranks", &[], alone),
    ]
}

/// A port with free ones after it: nobody listens there now.
fn port() -> u16 {
    let free = |port: &u16| (*port..port + 12).all(|port| TcpListener::bind(("127.0.0.1", port)).is_ok());
    let first = 20_000 + (std::process::id() % 20_000) as u16;
    (first..first + 400).step_by(12).find(free).expect("a dozen free ports")
}

/// The rows of the table below a heading: each row's cells behind its name.
fn rows(report: &str, heading: &str) -> Vec<Vec<String>> {
    let below = report.split(heading).nth(1).unwrap_or_default();
    let rows = below.lines().skip(2).take_while(|line| !line.is_empty() && !line.starts_with("slow"));
    rows.map(|row| row.split_whitespace().skip(1).map(String::from).collect()).collect()
}

fn every_link() -> Outcome {
    let (home, port) = (scratch(), port().to_string());
    let mesh = ["net", "mesh", "--time", "200ms", "--latency-time", "100ms", "--address", "127.0.0.1"];
    let run = told(ranks(3, home.path(), &[&mesh[..], &["--port", &port, "--json", "r.json"]].concat()));
    run.expect(0, &["net mesh: 3 ranks on 1 host, 6 rounds"]);
    for heading in ["throughput, Gbit/s", "round trip, median, µs", "round trip, 99th percentile, µs"] {
        let rows = rows(&run.out, heading);
        assert_eq!(rows.len(), 3, "{heading}: {run}");
        for (from, row) in rows.iter().enumerate() {
            assert_eq!(row.len(), 3, "{heading}: {run}");
            for (to, cell) in row.iter().enumerate() {
                let figure = cell.replace(',', "").parse::<f64>();
                assert_eq!(figure.is_ok_and(|figure| figure > 0.0), from != to, "{heading}: {cell}: {run}");
            }
        }
    }
    let record = std::fs::read_to_string(home.path().join("r.json")).expect("the record");
    let record: serde_json::Value = serde_json::from_str(&record).expect("JSON");
    assert_eq!(record["phases"].as_array().map(Vec::len), Some(12));
    Ok(())
}

fn alone() -> Outcome {
    let run = told(iodyno(["net", "mesh"]));
    run.expect(2, &["one rank has no link to another", "--hosts"]);
    Ok(())
}
