//! `iodyno whatif --calibrate`: a device of known service times, behind a real loop device, is found again.
//!
//! The device's own log is the judge: what was fitted to a run predicts what the log says of the cells that were held out. Where the
//! run itself is further from the log than the machine's own part, others disturbed it, and the case is a counted skip.

use std::os::unix::process::CommandExt;
use std::process::Command;

use serde_json::Value;
use testbed::fuse::{Config, Device, Request, RequestKind, Service};
use testbed::sandbox::{LoopDevice, LoopOptions};
use testbed::{Case, Need, Outcome, Skip};

use crate::program::{iodyno, plan, scratch, told};

pub fn cases() -> Vec<Case> {
    let name = "a loop device over a device of known service times is found again from its run";
    vec![Case::new(name, &[Need::Fuse, Need::Loop], found_again).waits().against()]
}

/// A cell: name, verb or mix, order, block, depth, requests.
type Cell = (&'static str, &'static str, &'static str, u64, u32, u64);

/// The kernel splits requests of more than 128 segments, which are pages here: what it makes of longer ones is chance.
const LONG: u64 = 256 << 10;

const CELLS: [Cell; 12] = [
    ("r1", "do = \"read\"", "random", 4096, 1, 400),
    ("r2", "do = \"read\"", "random", 4096, 2, 400),
    ("r8", "do = \"read\"", "random", 4096, 8, 1100),
    ("r16", "do = \"read\"", "random", 4096, 16, 800),
    ("R1", "do = \"read\"", "sequential", LONG, 1, 60),
    ("R4", "do = \"read\"", "sequential", LONG, 4, 200),
    ("w1", "do = \"write\"", "random", 4096, 1, 100),
    ("w4", "do = \"write\"", "random", 4096, 4, 400),
    ("w16", "do = \"write\"", "random", 4096, 16, 300),
    ("W1", "do = \"write\"", "sequential", LONG, 1, 60),
    ("W4", "do = \"write\"", "sequential", LONG, 4, 200),
    ("mix", "mix = { read = 70, write = 30 }", "random", 4096, 8, 1100),
];

/// What a prediction may be off by.
const CLOSE: f64 = 0.10;
/// What the machine's own part may be: way through two file systems and the scheduler, beside services of milliseconds.
const DISTURBED: f64 = 0.025;

/// A reply that is later than this was kept from the processor by others.
const LATE_NS: u64 = 5_000_000;

fn found_again() -> Outcome {
    let config = Config {
        read: Service::Bimodal { a_ns: 2_000_000, b_ns: 5_000_000, b_percent: 5, seed: 1 },
        write: Service::Constant(2_200_000),
        bytes_per_s: Some(100_000_000),
        parallelism: 4,
        queue_depth: 64,
        ..Config::default()
    };
    let device = Device::mount(config)?;
    let options = LoopOptions { direct_io: true, ..LoopOptions::default() };
    let disk = LoopDevice::over(device.path(), &options)?;
    let path = disk.path().display().to_string();
    let home = scratch();
    plan(home.path(), &text(&path));
    device.reset();
    let within = |line: &str| {
        let mut command = iodyno(line.split_whitespace());
        command
            .current_dir(home.path())
            .env_remove("IODYNO_ALSO")
            .env("IODYNO_HISTORY", home.path().join("h"));
        in_real_time(&mut command);
        told(command)
    };
    within(&format!("run plan.toml --destroy {path}")).expect(0, &["r16", "mix"]);
    let log = device.take_log();
    let said = within("whatif --calibrate last --to found.toml --json");
    assert!([0, 1].contains(&said.code()), "{said}");
    said.expect(
        said.code(),
        &["iodyno.calibration/1", "found fitted to run 1", "\"fitted\": \"reads, writes\""],
    );
    let report: Value = serde_json::from_str(&said.out)?;
    judge(&report, &each_cell(&log.requests)?)
}

/// Others that compute at the same time keep it from seeing that a request is done; where it is not permitted, it goes on as it is.
fn in_real_time(command: &mut Command) {
    let enter = || {
        let priority = libc::sched_param { sched_priority: 5 };
        // SAFETY: `priority` is valid for reading; the call changes this process alone, and is safe between fork and exec.
        unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO, &priority) };
        Ok(())
    };
    // SAFETY: the closure makes one system call and allocates nothing.
    unsafe { command.pre_exec(enter) };
}

fn text(path: &str) -> String {
    let mut text = format!("name = \"cells\"\n[target.t]\ndevice = \"{path}\"\n");
    for (name, verb, pick, block, depth, operations) in CELLS {
        text.push_str(&format!(
            "[[phase]]\nname = \"{name}\"\n[[phase.job]]\nname = \"{name}\"\non = \"t\"\nengine = \"libaio\"\ndepth = {depth}\n{verb}\n\
             pick = \"{pick}\"\nblock = {block}\nuntil = {{ operations = {operations} }}\n"
        ));
    }
    text.replace("device = \"", "direct = true\ndevice = \"")
}

/// The requests of each cell: those of the log from its end back, until its bytes are complete. What is read of the device before
/// it is opened (its signatures) comes first.
fn each_cell(requests: &[Request]) -> Result<Vec<&[Request]>, Box<dyn std::error::Error>> {
    let mut left = requests;
    let mut cells = Vec::new();
    for (name, _, _, block, _, operations) in CELLS.into_iter().rev() {
        let (mut bytes, mut at) = (0, left.len());
        while bytes < block * operations {
            at = at.checked_sub(1).ok_or_else(|| format!("{name}: the log has {bytes} bytes of it"))?;
            bytes += if left[at].kind == RequestKind::Sync { 0 } else { u64::from(left[at].bytes) };
        }
        if bytes > block * operations {
            return Err(format!("{name}: {bytes} bytes in the log, {} were asked", block * operations).into());
        }
        cells.insert(0, &left[at..]);
        left = &left[..at];
    }
    Ok(cells)
}

fn judge(report: &Value, logs: &[&[Request]]) -> Outcome {
    let late = logs
        .iter()
        .flat_map(|log| log.iter())
        .map(|request| request.end_ns.saturating_sub(request.due_ns))
        .max();
    if let Some(late) = late.filter(|late| *late > LATE_NS) {
        return Err(Skip::new(format!(
            "the machine was disturbed: the device replied {} ms late",
            late / 1_000_000
        ))
        .into());
    }
    let mut judged = Vec::new();
    for (cell, log) in CELLS.iter().zip(logs) {
        let (begin, end) = (log.iter().map(|r| r.arrival_ns).min(), log.iter().map(|r| r.due_ns).max());
        let known = cell.5 as f64 * 1e9 / end.zip(begin).map_or(0.0, |(end, begin)| (end - begin) as f64);
        judged.extend(
            row(&report["sections"][0], cell, None).map(|row| (format!("{} rate", cell.0), known, row)),
        );
        // Of so few requests no percentile is sure.
        if cell.3 > 4096 {
            continue;
        }
        for (kind, direction) in [(RequestKind::Read, "read"), (RequestKind::Write, "write")] {
            let of = log.iter().filter(|request| request.kind == kind);
            let mut latencies: Vec<u64> = of.map(|request| request.due_ns - request.arrival_ns).collect();
            latencies.sort_unstable();
            // Of a device with two service times p99 lies on a step, which the noise of a busy machine moves: it is reported.
            for percent in [50] {
                let what = format!("{direction} p{percent}");
                let Some(row) = row(&report["sections"][1], cell, Some(&what)) else { continue };
                let rank = (latencies.len() * percent).div_ceil(100);
                judged.push((format!("{} {what}", cell.0), latencies[rank - 1] as f64, row));
            }
        }
    }
    let held_out: Vec<_> = judged.iter().filter(|(.., row)| row.is_held_out).collect();
    let names: Vec<&str> = held_out.iter().map(|(name, ..)| name.as_str()).collect();
    assert!(
        ["r2 rate", "r8 rate", "r8 read p50", "w4 rate", "w4 write p50", "mix rate", "mix write p50",]
            .iter()
            .all(|name| names.contains(name)),
        "{names:?}"
    );
    let off = |value: f64, known: f64| (value / known - 1.0).abs();
    let text = |(name, known, row): &(String, f64, Row)| {
        format!("{name}: log {known:.0}, run {:.0}, predicted {:.0}", row.measured, row.simulated)
    };
    if let Some(one) = judged.iter().find(|(_, known, row)| off(row.measured, *known) > DISTURBED) {
        return Err(Skip::new(format!("the machine was disturbed: {}", text(one))).into());
    }
    match held_out.iter().find(|(_, known, row)| off(row.simulated, *known) > CLOSE) {
        Some(one) => Err(format!("not within 10 % of the device's log: {}", text(one)).into()),
        None => Ok(()),
    }
}

/// A row of the report.
struct Row {
    measured: f64,
    simulated: f64,
    is_held_out: bool,
}

fn row(section: &Value, cell: &Cell, of: Option<&str>) -> Option<Row> {
    let (_, verb, _, block, depth, _) = *cell;
    let reads = match verb {
        "do = \"read\"" => 100.0,
        "do = \"write\"" => 0.0,
        _ => 70.0,
    };
    let asked = [(0, block as f64), (2, reads), (3, f64::from(depth))];
    let is = |row: &&Value| {
        asked.iter().all(|(at, value)| row[*at] == *value) && of.is_none_or(|name| row[4] == name)
    };
    let row = section["rows"].as_array()?.iter().find(is)?;
    let first = if of.is_some() { 5 } else { 4 };
    let number = |at: usize| row[at].as_f64();
    Some(Row {
        measured: number(first)?,
        simulated: number(first + 1)?,
        is_held_out: row[first + 3] == "held out",
    })
}
