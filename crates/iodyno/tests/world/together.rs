//! What workers do together on all ranks: segments of a shared file, another's data, meetings, wearing out.

use std::path::Path;

use serde_json::Value;
use testbed::{Case, Outcome};

use crate::launch::{LAUNCHER, ranks};
use crate::program::{plan, scratch, told};

pub fn cases() -> Vec<Case> {
    vec![
        Case::new("ranks write a shared file whole, and read each other's part", LAUNCHER, shared_segments),
        Case::new("slower workers on all ranks do as much as the fastest", LAUNCHER, worn_out),
        Case::new("nobody waits for a rank without workers, or with failed ones", LAUNCHER, not_waited_for),
    ]
}

/// The record of a plan on two ranks, and how the program ended.
fn record(home: &Path, text: &str) -> Result<(Value, i32), String> {
    plan(home, text);
    let _ = std::fs::remove_file(home.join("r.json"));
    let run = told(ranks(2, home, &["run", "--quiet", "--json", "r.json", "plan.toml"]));
    let record = std::fs::read_to_string(home.join("r.json")).map_err(|error| format!("{error}: {run}"))?;
    Ok((serde_json::from_str(&record).map_err(|error| format!("{error}: {record}"))?, run.code()))
}

fn number(worker: &Value, path: &[&str]) -> u64 {
    path.iter()
        .fold(worker, |value, key| match key.parse::<usize>() {
            Ok(index) => &value[index],
            Err(_) => &value[*key],
        })
        .as_u64()
        .unwrap_or_else(|| panic!("no {path:?}: {worker}"))
}

fn workers(record: &Value, phase: usize) -> &Vec<Value> {
    record["phases"][phase]["jobs"][0]["workers"].as_array().expect("workers")
}

const SHARED: &str = "[target.f]\nfile = 'f'\ncreate = true\n";
const MEASURED: &str = "on = 'f'\nworkers = 2\nblock = '16KiB'\n\
    pick = { segments = { block = '64KiB', count = 3 } }\nstart = { open = true, barrier = true }\n";

fn shared_segments() -> Outcome {
    let home = scratch();
    let write = format!(
        "[[phase]]\n[[phase.job]]\nname = 'w'\ndo = 'write'\n{MEASURED}\
        finish = {{ sync = 'fsync', close = true, barrier = true }}\n"
    );
    let read = format!(
        "[[phase]]\n[[phase.job]]\nname = 'r'\ndo = 'read'\n{MEASURED}\
        place = {{ shift_ranks = 2 }}\nfinish = {{ close = true, barrier = true }}\n"
    );
    let (record, status) = record(home.path(), &format!("{SHARED}{write}{read}"))?;
    assert_eq!((status, &record["errors"]), (0, &Value::Array(Vec::new())), "{record:#}");
    let file = std::fs::read(home.path().join("f"))?;
    assert_eq!(file.len(), 3 * 4 * (64 << 10), "three segments of four blocks");
    assert!(file.chunks(16 << 10).all(|part| part.iter().any(|byte| *byte != 0)), "without a hole");
    let error_ns = number(&record["world"], &["clock_error_ns"]);
    for phase in 0..2 {
        let all = workers(&record, phase);
        assert!(all.len() == 4 && all.iter().all(|worker| number(worker, &["operations"]) == 12), "{all:?}");
        let last = |path: &[&str]| all.iter().map(|worker| number(worker, path)).max().unwrap_or(0);
        let (opened, ended) = (last(&["opening", "1"]), last(&["ended_ns"]));
        for worker in all {
            assert!(
                number(worker, &["began_ns"]) + error_ns >= opened,
                "begins when all have opened: {all:?}"
            );
            assert!(
                number(worker, &["closing", "0"]) + error_ns >= ended,
                "closes when all are done: {all:?}"
            );
        }
    }
    Ok(())
}

fn worn_out() -> Outcome {
    let home = scratch();
    let job = "[[phase]]\n[[phase.job]]\nname = 'w'\non = 'n'\nengine = 'null'\ndo = 'write'\nworkers = 3\n\
        until = { time = '50ms', wear_out = true }\nfinish = { barrier = true }\n";
    let (record, status) = record(home.path(), &format!("[target.n]\nnothing = '1TiB'\n{job}"))?;
    assert_eq!(status, 0, "{record:#}");
    let (job, all) = (&record["phases"][0]["jobs"][0], workers(&record, 0));
    let most = number(&job["worn"], &["operations_most"]);
    assert!(all.len() == 6 && all.iter().all(|worker| number(worker, &["operations"]) == most), "{job:#}");
    assert!(
        number(&job["worn"], &["operations_least"]) <= most && number(&job["worn"], &["at_ns"]) >= 50_000_000
    );
    Ok(())
}

fn not_waited_for() -> Outcome {
    let home = scratch();
    let target = "[target.f]\nfile = '{worker:a|missing/b}'\ncreate = true\n";
    let job = format!(
        "[[phase]]\nstop = 'alone'\n[[phase.job]]\nname = 'w'\ndo = 'write'\n{}\
        finish = {{ close = true, barrier = true }}\n",
        MEASURED.replace("workers = 2\n", "")
    );
    let (first, status) = record(home.path(), &format!("{target}{job}"))?;
    assert!(status != 0 && number(&workers(&first, 0)[0], &["operations"]) == 12, "{first:#}");
    assert!(
        workers(&first, 0)[1]["failure"].as_str().is_some_and(|text| text.contains("missing/b")),
        "{first:#}"
    );
    let only = format!(
        "{SHARED}[[phase]]\n[[phase.job]]\nname = 'w'\ndo = 'write'\nranks = {{ only = 1 }}\n{MEASURED}"
    );
    let (record, status) = record(home.path(), &only)?;
    assert!(status == 0 && workers(&record, 0).len() == 2, "{record:#}");
    Ok(())
}
