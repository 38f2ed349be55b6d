//! Every link between ranks, over real sockets: the matrix has a figure wherever there is a link, and nowhere else.

use testbed::{Case, Outcome, free_port};

use crate::launch::{LAUNCHER, ranks};
use crate::program::{iodyno, scratch, told};

pub fn cases() -> Vec<Case> {
    vec![
        Case::new("a mesh of three ranks has every link", LAUNCHER, every_link),
        Case::new("a mesh needs two ranks", &[], alone),
    ]
}

/// The first of a dozen ports that follow each other, all of them held for this test.
fn port() -> std::io::Result<u16> {
    let mut last = free_port()?;
    let mut first = last;
    while last - first < 11 {
        let next = free_port()?;
        first = if next == last + 1 { first } else { next };
        last = next;
    }
    Ok(first)
}

/// The rows of the table below a heading: each row's cells behind its name.
fn rows(report: &str, heading: &str) -> Vec<Vec<String>> {
    let below = report.split(heading).nth(1).unwrap_or_default();
    let rows = below.lines().skip(2).take_while(|line| !line.is_empty() && !line.starts_with("slow"));
    rows.map(|row| row.split_whitespace().skip(1).map(String::from).collect()).collect()
}

fn every_link() -> Outcome {
    let (home, port) = (scratch(), port()?.to_string());
    let mesh = ["net", "mesh", "--time", "200ms", "--latency-time", "100ms", "--address", "127.0.0.1"];
    let run = told(ranks(3, home.path(), &[&mesh[..], &["--port", &port, "--json", "r.json"]].concat()));
    run.expect(0, &["net mesh: 3 ranks on 1 host, 6 rounds"]);
    // On a busy machine there are too few round trips for a percentile, which is told.
    let few = run.out.contains("p99 of exchange rests on");
    for heading in ["throughput, Gbit/s", "round trip, median, µs", "round trip, 99th percentile, µs"] {
        let rows = rows(&run.out, heading);
        assert_eq!(rows.len(), 3, "{heading}: {run}");
        for (from, row) in rows.iter().enumerate() {
            assert_eq!(row.len(), 3, "{heading}: {run}");
            for (to, cell) in row.iter().enumerate() {
                let figure = cell.replace(',', "").parse::<f64>().is_ok_and(|figure| figure > 0.0);
                let is_told = few && heading.contains("99th") && cell == "-";
                assert!(figure == (from != to) || is_told, "{heading}: {cell}: {run}");
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
