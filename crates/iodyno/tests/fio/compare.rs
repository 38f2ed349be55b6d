//! Two runs of one job file, held against each other.
//!
//! Every run is judged on its exit status, on whether it spoke on standard error, on its JSON's layout and on the files
//! it left; what else must hold, the job file says. All mismatches are told at once.

use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::ExitStatus;

use serde_json::Value;

use crate::differences::Mismatch;
use crate::job::{Holds, JobFile};
use crate::output::Output;
use crate::program::{ProgramOutput, Sandbox};
use crate::trace::Io;
use crate::{layout, mask, statistics, trace};

/// The directions of a job's JSON.
const DIRECTIONS: [&str; 3] = ["read", "write", "trim"];
/// A run that takes so many times what it was to take has misread its time.
const MOST_TIMES: u64 = 10;
/// fio prints shares with a tenth, and never 0 where there was one.
const ROUNDING: f64 = 0.15;
/// More mismatches than this of one comparison say nothing new.
const SHOWN: usize = 6;

/// One program's run.
pub struct Run<'a> {
    pub said: &'a ProgramOutput,
    /// Where it ran.
    pub sandbox: &'a Sandbox,
}

/// Everything in which the candidate's run differs from the reference's.
pub fn compare(job: &JobFile, reference: &Run<'_>, candidate: &Run<'_>) -> Vec<Mismatch> {
    let (there, here) = (Output::read(&reference.said.out), Output::read(&candidate.said.out));
    let mut wrong = streams(reference.said, candidate.said);
    wrong.extend(files(reference, candidate));
    if there.order != here.order {
        wrong.push(Mismatch::new("order", format!("{:?} there and {:?} here", there.order, here.order)));
    }
    if there.json.is_empty() && here.json.is_empty() {
        wrong.extend(normal_text(&there, &here));
        return wrong;
    }
    wrong.extend(json(&there, &here));
    match (there.document(), here.document()) {
        (Ok(a), Ok(b)) => job.holds.iter().for_each(|holds| {
            let outputs = (&there, &here);
            let mut found = one(*holds, job.least_ms, (&a, &b), outputs, (reference, candidate));
            found.truncate(SHOWN);
            wrong.extend(found);
        }),
        (a, b) => wrong.extend([a.err(), b.err()].into_iter().flatten().map(|e| Mismatch::new("json", e))),
    }
    wrong
}

fn one(
    holds: Holds,
    least_ms: u64,
    documents: (&Value, &Value),
    outputs: (&Output, &Output),
    runs: (&Run<'_>, &Run<'_>),
) -> Vec<Mismatch> {
    let (a, b) = documents;
    match holds {
        Holds::Counts => counts(a, b),
        Holds::Total => differs("total", total(a), total(b)),
        Holds::Text => [normal_text(outputs.0, outputs.1), terse(outputs.0, outputs.1)].concat(),
        Holds::Runtime => runtime(least_ms, a, b),
        Holds::Mix => judged("mix", statistics::same_proportions(&per_direction(a), &per_direction(b))),
        Holds::Depths => depths(a, b),
        Holds::Content => content(runs.0, runs.1),
        Holds::Logs | Holds::Columns => logs(holds == Holds::Logs, runs.0, runs.1),
        Holds::Cross => Vec::new(), // is a run of its own
        Holds::Offsets | Holds::Set | Holds::Distribution | Holds::Popularity | Holds::Sizes => {
            traces(holds, runs.0, runs.1)
        }
    }
}

fn differs<T: PartialEq + std::fmt::Debug>(topic: &'static str, a: T, b: T) -> Vec<Mismatch> {
    if a == b { Vec::new() } else { vec![Mismatch::new(topic, format!("{a:?} there and {b:?} here"))] }
}

fn judged(topic: &'static str, verdict: Result<(), String>) -> Vec<Mismatch> {
    verdict.err().map(|said| Mismatch::new(topic, said)).into_iter().collect()
}

/// Exit status, and whether there was anything on standard error.
pub fn streams(reference: &ProgramOutput, candidate: &ProgramOutput) -> Vec<Mismatch> {
    let mut wrong = Vec::new();
    if reference.code() != candidate.code() {
        let said = candidate.err.lines().chain(candidate.out.lines()).next().unwrap_or_default();
        let both = format!("{} there and {} here", reference.code(), candidate.code());
        wrong.push(Mismatch::new("status", format!("{both} ({said})")));
    }
    let spoke = |err: &str| err.trim().lines().next().unwrap_or("nothing").to_string();
    let said = DISK_UTIL.iter().fold(reference.err.clone(), |err, words| err.replace(words, ""));
    let (there, here) = (spoke(&said), spoke(&candidate.err));
    if (there == "nothing") != (here == "nothing") {
        wrong.push(Mismatch::new("stderr", format!("`{there}` there and `{here}` here")));
    }
    wrong
}

/// fio looks for the disks of files that it has not made yet (`create_serialize=0`), and complains of each. In a pipe the
/// two halves of that line come apart. We look when the files are there, and have nothing to complain of.
const DISK_UTIL: [&str; 2] = ["disk util ", "stat: No such file or directory"];

/// Names and sizes of what lies in the sandbox afterwards; of logs, whose size follows the times, the names.
fn files(reference: &Run<'_>, candidate: &Run<'_>) -> Vec<Mismatch> {
    let listed = |run: &Run<'_>| {
        let timed = |name: &str| name.ends_with("log") || name.ends_with("trace") || name.ends_with("json");
        let entry = |(name, bytes): (String, u64)| {
            let bytes = if timed(&name) { 0 } else { bytes };
            format!("{name} {bytes}")
        };
        run.sandbox.files().into_iter().map(entry).collect::<Vec<_>>()
    };
    let (a, b) = (listed(reference), listed(candidate));
    let only = |these: &[String], those: &[String]| {
        these.iter().filter(|name| !those.contains(name)).cloned().collect::<Vec<_>>()
    };
    let (there, here) = (only(&a, &b), only(&b, &a));
    if there.is_empty() && here.is_empty() {
        return Vec::new();
    }
    vec![Mismatch::new("files", format!("{there:?} only there, {here:?} only here"))]
}

fn json(there: &Output, here: &Output) -> Vec<Mismatch> {
    let (Some(a), Some(b)) = (there.json.last(), here.json.last()) else {
        return vec![Mismatch::new("json", "one of the two printed none")];
    };
    let mut lacks = layout::lacks(&layout::lines(a), &layout::lines(b));
    lacks.truncate(SHOWN);
    lacks.into_iter().map(|(path, what)| Mismatch::new("json", format!("{path} {what}"))).collect()
}

fn normal_text(there: &Output, here: &Output) -> Vec<Mismatch> {
    let ill = |whose: &str, output: &Output| {
        let faults = mask::ill_formed(&output.normal).into_iter();
        faults.map(|fault| Mismatch::new("text", format!("{whose}: {fault}"))).collect::<Vec<_>>()
    };
    let mut wrong = [ill("there", there), ill("here", here)].concat();
    wrong.extend(lines("text", &mask::normal(&there.normal), &mask::normal(&here.normal)));
    wrong
}

/// The first line in which two texts part, and the lines they do not share.
fn lines(topic: &'static str, a: &[String], b: &[String]) -> Vec<Mismatch> {
    if a == b {
        return Vec::new();
    }
    let missing = a.iter().filter(|line| !b.contains(line)).map(|line| format!("lacks `{line}`"));
    let extra = b.iter().filter(|line| !a.contains(line)).map(|line| format!("adds `{line}`"));
    let mut said: Vec<String> = missing.chain(extra).collect();
    if said.is_empty() {
        let at = a.iter().zip(b).position(|(a, b)| a != b).unwrap_or(a.len().min(b.len()));
        said.push(format!(
            "another order or number of lines from line {}: {:?} and {:?}",
            at + 1,
            a.get(at),
            b.get(at)
        ));
    }
    said.into_iter().map(|said| Mismatch::new(topic, said)).collect()
}

fn terse(there: &Output, here: &Output) -> Vec<Mismatch> {
    if there.terse.len() != here.terse.len() {
        return differs("terse", there.terse.len(), here.terse.len());
    }
    let pairs = there.terse.iter().zip(&here.terse);
    pairs.flat_map(|(a, b)| fields(&mask::terse(a), &mask::terse(b))).collect()
}

fn fields(a: &[String], b: &[String]) -> Vec<Mismatch> {
    if a.len() != b.len() {
        return vec![Mismatch::new("terse", format!("{} fields there and {} here", a.len(), b.len()))];
    }
    let unequal = a.iter().zip(b).enumerate().filter(|(_, (a, b))| a != b);
    unequal
        .map(|(i, (a, b))| Mismatch::new("terse", format!("field {i}: `{a}` there and `{b}` here")))
        .collect()
}

/// The jobs of a document: of this machine, or of clients.
pub fn jobs(document: &Value) -> &[Value] {
    document["jobs"].as_array().map(Vec::as_slice).unwrap_or_default()
}

/// A whole number of a job's JSON; 0 where it is absent.
fn number(job: &Value, direction: &str, key: &str) -> u64 {
    job[direction][key].as_u64().unwrap_or(0)
}

fn counts(a: &Value, b: &Value) -> Vec<Mismatch> {
    let keys = ["io_bytes", "total_ios", "short_ios", "drop_ios"];
    let facts = |document: &Value| {
        let mut facts = Vec::new();
        for (index, job) in jobs(document).iter().enumerate() {
            for direction in DIRECTIONS {
                let said =
                    |key: &&str| (format!("job {index} {direction} {key}"), number(job, direction, key));
                facts.extend(keys.iter().map(said));
            }
            facts.push((format!("job {index} syncs"), number(job, "sync", "total_ios")));
            facts.push((format!("job {index} error"), job["error"].as_u64().unwrap_or(0)));
        }
        facts
    };
    let (a, b) = (facts(a), facts(b));
    if a.len() != b.len() {
        return differs("counts", a.len(), b.len());
    }
    let unequal = a.iter().zip(&b).filter(|(a, b)| a != b);
    unequal
        .map(|(a, b)| Mismatch::new("counts", format!("{}: {} there and {} here", a.0, a.1, b.1)))
        .collect()
}

/// Shares of depths and batches that differ by more than fio rounds, in percent.
fn depths(a: &Value, b: &Value) -> Vec<Mismatch> {
    let shares = |document: &Value| {
        let mut shares = Vec::new();
        for (index, job) in jobs(document).iter().enumerate() {
            for spectrum in ["iodepth_level", "iodepth_submit"] {
                let named = job[spectrum].as_object().into_iter().flatten();
                shares.extend(named.map(|(name, share)| {
                    (format!("job {index} {spectrum} {name}"), share.as_f64().unwrap_or(-1.0))
                }));
            }
        }
        shares
    };
    let (a, b) = (shares(a), shares(b));
    if a.is_empty() || a.len() != b.len() {
        return vec![Mismatch::new("depths", format!("{} shares there and {} here", a.len(), b.len()))];
    }
    let unequal = a.iter().zip(&b).filter(|(a, b)| a.0 != b.0 || (a.1 - b.1).abs() > ROUNDING);
    unequal
        .map(|(a, b)| Mismatch::new("depths", format!("{}: {} % there and {} % here", a.0, a.1, b.1)))
        .collect()
}

fn total(document: &Value) -> Vec<(u64, u64)> {
    let sum = |job: &Value, key: &str| DIRECTIONS.iter().map(|direction| number(job, direction, key)).sum();
    jobs(document).iter().map(|job| (sum(job, "io_bytes"), sum(job, "total_ios"))).collect()
}

fn per_direction(document: &Value) -> Vec<u64> {
    let of = |direction: &str| jobs(document).iter().map(|job| number(job, direction, "total_ios")).sum();
    DIRECTIONS.iter().map(|direction| of(direction)).collect()
}

/// No job ends before its time, and none misreads it. The directions of a job are one: the longer counts.
fn runtime(least_ms: u64, a: &Value, b: &Value) -> Vec<Mismatch> {
    let longest = |job: &Value| DIRECTIONS.iter().map(|d| number(job, d, "runtime")).max().unwrap_or(0);
    // What does no I/O has no direction that lasted.
    let lasted = |job: &Value| longest(job).max(job["job_runtime"].as_u64().unwrap_or(0));
    let wrong = |ms: &u64| !(least_ms..least_ms * MOST_TIMES).contains(ms);
    let told = |whose: &str, document: &Value| {
        let all: Vec<u64> = jobs(document).iter().map(lasted).collect();
        let said = |ms: &u64| Mismatch::new("runtime", format!("{ms} ms {whose}, of at least {least_ms}"));
        all.iter().filter(|ms| wrong(ms)).map(said).collect::<Vec<_>>()
    };
    [told("there", a), told("here", b)].concat()
}

fn content(reference: &Run<'_>, candidate: &Run<'_>) -> Vec<Mismatch> {
    let names =
        reference.sandbox.files().into_keys().filter(|name| !name.ends_with("log") && !name.ends_with('/'));
    let differing = names.filter_map(|name| {
        let a = std::fs::read(reference.sandbox.path().join(&name)).ok()?;
        let b = std::fs::read(candidate.sandbox.path().join(&name)).ok()?;
        let at = a.iter().zip(&b).position(|(a, b)| a != b)?;
        Some(Mismatch::new(
            "content",
            format!("{name} differs from byte {at}: {:#04x} there and {:#04x} here", a[at], b[at]),
        ))
    });
    differing.collect()
}

fn named(run: &Run<'_>, ending: &str) -> Vec<(String, PathBuf)> {
    let names = run.sandbox.files().into_keys().filter(|name| name.ends_with(ending));
    names.map(|name| (name.clone(), run.sandbox.path().join(name))).collect()
}

/// Logs by name: their columns, and where asked how many lines they have.
fn logs(whole: bool, reference: &Run<'_>, candidate: &Run<'_>) -> Vec<Mismatch> {
    let mut wrong = Vec::new();
    let found = named(reference, ".log");
    if found.is_empty() {
        wrong.push(Mismatch::new("logs", "the reference left no log"));
    }
    for (name, there) in found {
        let read = |path: &std::path::Path| std::fs::read_to_string(path).unwrap_or_default();
        let (a, b) = (read(&there), read(&candidate.sandbox.path().join(&name)));
        if whole && a.lines().count() != b.lines().count() {
            let both = format!("{} lines there and {} here", a.lines().count(), b.lines().count());
            wrong.push(Mismatch::new("logs", format!("{name}: {both}")));
        }
        if a.is_empty() != b.is_empty() {
            wrong
                .push(Mismatch::new("logs", format!("{name}: {} bytes there and {} here", a.len(), b.len())));
        }
        let columns = |text: &str| text.lines().next().map(columns);
        wrong.extend(
            differs("logs", columns(&a), columns(&b)).into_iter().filter(|_| !a.is_empty() && !b.is_empty()),
        );
        if let Some(line) = b.lines().find(|line| Some(self::columns(line)) != columns(&b)) {
            wrong.push(Mismatch::new(
                "logs",
                format!("{name}: `{line}` has other columns than the first line"),
            ));
        }
    }
    wrong
}

/// What separates the fields of a log line, and the kind of each.
fn columns(line: &str) -> String {
    let kind = |field: &str| if field.starts_with("0x") { "0x" } else { "#" };
    line.split(", ").map(kind).collect::<Vec<_>>().join(", ")
}

fn traces(holds: Holds, reference: &Run<'_>, candidate: &Run<'_>) -> Vec<Mismatch> {
    let found = named(reference, ".iolog");
    if found.is_empty() {
        return vec![Mismatch::new("trace", "the reference left no iolog")];
    }
    let mut wrong = Vec::new();
    for (name, there) in found {
        match (trace::read(&there), trace::read(&candidate.sandbox.path().join(&name))) {
            (Ok(a), Ok(b)) => {
                wrong.extend(judged(topic(holds), alike(holds, &a, &b).map_err(|e| format!("{name}: {e}"))));
            }
            (a, b) => {
                wrong.extend([a.err(), b.err()].into_iter().flatten().map(|e| Mismatch::new("trace", e)))
            }
        }
    }
    wrong
}

fn topic(holds: Holds) -> &'static str {
    match holds {
        Holds::Offsets => "offsets",
        Holds::Set => "set",
        Holds::Sizes => "sizes",
        Holds::Popularity => "popularity",
        _ => "distribution",
    }
}

fn alike(holds: Holds, a: &[Io], b: &[Io]) -> Result<(), String> {
    let offsets = |ios: &[Io]| ios.iter().map(|io| io.offset).collect::<Vec<_>>();
    match holds {
        Holds::Offsets => same_order(a, b),
        Holds::Set => same_set(a, b),
        Holds::Distribution => statistics::same_distribution(&offsets(a), &offsets(b)),
        Holds::Popularity => {
            statistics::same_distribution(&statistics::ranks(&offsets(a)), &statistics::ranks(&offsets(b)))
        }
        _ => same_sizes(a, b),
    }
}

fn same_order(a: &[Io], b: &[Io]) -> Result<(), String> {
    if a == b {
        return Ok(());
    }
    let at = a.iter().zip(b).position(|(a, b)| a != b).unwrap_or(a.len().min(b.len()));
    let said = |ios: &[Io]| {
        ios.get(at)
            .map_or("nothing".to_string(), |io| format!("{} {} {}+{}", io.verb, io.file, io.offset, io.bytes))
    };
    Err(format!("I/O {at}: {} there and {} here ({} and {} in all)", said(a), said(b), a.len(), b.len()))
}

fn same_set(a: &[Io], b: &[Io]) -> Result<(), String> {
    let (left, right) = (trace::blocks(a), trace::blocks(b));
    if left == right && a.len() == b.len() {
        return Ok(());
    }
    let only = (left.difference(&right).count(), right.difference(&left).count());
    Err(format!("{} blocks only there, {} only here, of {} and {} I/Os", only.0, only.1, a.len(), b.len()))
}

fn same_sizes(a: &[Io], b: &[Io]) -> Result<(), String> {
    let sizes: std::collections::BTreeSet<(&str, u64)> =
        a.iter().chain(b).map(|io| (io.verb.as_str(), io.bytes)).collect();
    let count = |ios: &[Io]| {
        let of = |(verb, bytes): &(&str, u64)| {
            ios.iter().filter(|io| io.verb == *verb && io.bytes == *bytes).count() as u64
        };
        sizes.iter().map(of).collect::<Vec<_>>()
    };
    statistics::same_proportions(&count(a), &count(b))
}

/// The cases of this file.
pub fn checks() -> Vec<(&'static str, fn())> {
    vec![
        ("compare_counts_see_one_byte", counts_see_one_byte),
        ("compare_streams_see_a_word_on_stderr", streams_see_a_word_on_stderr),
        ("compare_traces_see_order_and_blocks", traces_see_order_and_blocks),
        ("compare_texts_name_the_line", texts_name_the_line),
    ]
}

fn counts_see_one_byte() {
    let document = |bytes: u64| serde_json::json!({"jobs": [{"error": 0, "read": {"io_bytes": bytes}}]});
    assert!(counts(&document(4096), &document(4096)).is_empty());
    assert_eq!(counts(&document(4096), &document(4097)).len(), 1);
    assert!(!counts(&document(1), &serde_json::json!({"jobs": []})).is_empty());
}

fn streams_see_a_word_on_stderr() {
    let quiet = ProgramOutput::default();
    let loud = ProgramOutput { err: "warning\n".into(), ..ProgramOutput::default() };
    assert!(streams(&quiet, &quiet).is_empty());
    assert_eq!(streams(&quiet, &loud)[0].topic, "stderr");
    let apart = "disk util disk util stat: No such file or directory\nstat: No such file or directory\n";
    let apart = ProgramOutput { err: apart.into(), ..ProgramOutput::default() };
    assert!(streams(&apart, &quiet).is_empty());
    assert_eq!(streams(&quiet, &apart)[0].topic, "stderr");
    assert_eq!(
        streams(&quiet, &ProgramOutput { status: ExitStatus::from_raw(1 << 8), ..ProgramOutput::default() })
            [0]
        .topic,
        "status"
    );
}

fn traces_see_order_and_blocks() {
    let io = |offset| Io { file: "a".into(), verb: "read".into(), offset, bytes: 512 };
    let (up, down) = ([io(0), io(512)], [io(512), io(0)]);
    assert!(same_order(&up, &down).is_err() && same_set(&up, &down).is_ok());
    assert!(same_set(&up, &[io(0), io(0)]).is_err());
}

fn texts_name_the_line() {
    let text = |lines: &[&str]| lines.iter().map(|line| line.to_string()).collect::<Vec<_>>();
    assert_eq!(lines("text", &text(&["a", "b"]), &text(&["a"]))[0].said, "lacks `b`");
    assert!(lines("text", &text(&["a"]), &text(&["a"])).is_empty());
    assert!(!lines("text", &text(&["a", "b"]), &text(&["b", "a"])).is_empty());
}
