//! How the field's programs read fio's output, re-stated: by key with strict types, by column, by word.
//!
//! Each rule takes an output and answers with what the tool would have understood, or why it would have given up.

use serde_json::Value;

/// What a strictly typed reader makes of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Type {
    /// A whole number: `8.0` is an error.
    Int,
    /// Any number.
    Float,
    /// Text; a number is an error.
    Text,
}
use Type::{Float, Int, Text};

/// kubestr's document: what it declares of the top, of a job, of a direction, of a latency and of a disk.
const TOP: &[(&str, Type)] =
    &[("fio version", Text), ("timestamp", Int), ("timestamp_ms", Int), ("time", Text)];
const GLOBAL: &[(&str, Type)] = &[
    ("directory", Text),
    ("randrepeat", Text),
    ("verify", Text),
    ("ioengine", Text),
    ("direct", Text),
    ("gtod_reduce", Text),
];
const JOB: &[(&str, Type)] = &[
    ("jobname", Text),
    ("groupid", Int),
    ("error", Int),
    ("eta", Int),
    ("elapsed", Int),
    ("job_runtime", Int),
    ("usr_cpu", Float),
    ("sys_cpu", Float),
    ("ctx", Int),
    ("majf", Int),
    ("minf", Int),
    ("latency_depth", Int),
    ("latency_target", Int),
    ("latency_percentile", Float),
    ("latency_window", Int),
];
const JOB_OPTIONS: &[(&str, Type)] = &[
    ("name", Text),
    ("bs", Text),
    ("iodepth", Text),
    ("size", Text),
    ("ramp_time", Text),
    ("runtime", Text),
];
const DIRECTION: &[(&str, Type)] = &[
    ("io_bytes", Int),
    ("io_kbytes", Int),
    ("bw_bytes", Int),
    ("bw", Int),
    ("iops", Float),
    ("runtime", Int),
    ("total_ios", Int),
    ("short_ios", Int),
    ("drop_ios", Int),
    ("bw_min", Int),
    ("bw_max", Int),
    ("bw_agg", Float),
    ("bw_mean", Float),
    ("bw_dev", Float),
    ("bw_samples", Int),
    ("iops_min", Int),
    ("iops_max", Int),
    ("iops_mean", Float),
    ("iops_stddev", Float),
    ("iops_samples", Int),
];
const LATENCY: &[(&str, Type)] =
    &[("min", Int), ("max", Int), ("mean", Float), ("stddev", Float), ("N", Int)];
const DISK: &[(&str, Type)] = &[
    ("name", Text),
    ("read_ios", Int),
    ("write_ios", Int),
    ("read_merges", Int),
    ("write_merges", Int),
    ("read_ticks", Int),
    ("write_ticks", Int),
    ("in_queue", Int),
    ("util", Float),
];
const DEPTHS: &[&str] = &["1", "2", "4", "8", "16", "32", ">=64"];
const SUBMITS: &[&str] = &["0", "4", "8", "16", "32", "64", ">=64"];
const NANOS: &[&str] = &["2", "4", "10", "20", "50", "100", "250", "500", "750", "1000"];
const MILLIS: &[&str] = &["2", "4", "10", "20", "50", "100", "250", "500", "750", "1000", "2000", ">=2000"];

/// Every key that kubestr declares, with its type; all that is wrong.
pub fn kubestr(document: &Value) -> Vec<String> {
    let mut wrong = Vec::new();
    expect(&mut wrong, document, "", TOP);
    expect(&mut wrong, &document["global options"], "global options", GLOBAL);
    let jobs = document["jobs"].as_array().cloned().unwrap_or_default();
    if jobs.is_empty() {
        wrong.push("no jobs".into());
    }
    jobs.iter().for_each(|job| kubestr_job(&mut wrong, job));
    for disk in document["disk_util"].as_array().into_iter().flatten() {
        expect(&mut wrong, disk, "disk_util", DISK);
    }
    wrong
}

fn kubestr_job(wrong: &mut Vec<String>, job: &Value) {
    expect(wrong, job, "job", JOB);
    expect(wrong, &job["job options"], "job options", JOB_OPTIONS);
    for direction in ["read", "write", "trim"] {
        expect(wrong, &job[direction], direction, DIRECTION);
        for latency in ["slat_ns", "clat_ns", "lat_ns"] {
            expect(wrong, &job[direction][latency], &format!("{direction}/{latency}"), LATENCY);
        }
    }
    expect(wrong, &job["sync"], "sync", &[("total_ios", Int)]);
    expect(wrong, &job["sync"]["lat_ns"], "sync/lat_ns", LATENCY);
    let shares = [
        ("iodepth_level", DEPTHS),
        ("iodepth_submit", SUBMITS),
        ("iodepth_complete", SUBMITS),
        ("latency_ns", NANOS),
        ("latency_us", NANOS),
        ("latency_ms", MILLIS),
    ];
    for (key, labels) in shares {
        let fields: Vec<(&str, Type)> = labels.iter().map(|label| (*label, Float)).collect();
        expect(wrong, &job[key], key, &fields);
    }
}

fn expect(wrong: &mut Vec<String>, object: &Value, place: &str, fields: &[(&str, Type)]) {
    for (key, kind) in fields {
        let value = &object[*key];
        let fits = match kind {
            Int => value.is_i64() || value.is_u64(),
            Float => value.is_number(),
            Text => value.is_string(),
        };
        if !fits {
            wrong.push(format!("{place}/{key}: expected {kind:?}, found {value}"));
        }
    }
}

/// What YABS takes from terse output: the line of its job, then bandwidth and IOPS of reads and writes by position.
pub fn yabs(output: &str, job: &str) -> Option<[f64; 4]> {
    let line = output.lines().find(|line| line.contains(job))?;
    let columns: Vec<&str> = line.split(';').collect();
    // As awk counts, from 1: 7 and 8 are the reads', 48 and 49 the writes'.
    let column = |position: usize| columns.get(position - 1)?.parse::<f64>().ok();
    Some([column(7)?, column(8)?, column(48)?, column(49)?])
}

/// What TKperf takes from a terse line, counted from 0: IOPS and bandwidth of both ways, mean and greatest latency.
pub fn tkperf(line: &str) -> Option<[f64; 8]> {
    let columns: Vec<&str> = line.trim().split(';').collect();
    let column = |position: usize| columns.get(position)?.parse::<f64>().ok();
    // Reads: bandwidth 6, IOPS 7, total latency 37 to 39; the writes' stand 41 further.
    Some([
        column(6)?,
        column(7)?,
        column(38)?,
        column(39)?,
        column(47)?,
        column(48)?,
        column(79)?,
        column(80)?,
    ])
}

/// What the Phoronix Test Suite takes from normal text: the number before a unit after `bw=`, and after `IOPS=`.
pub fn phoronix(text: &str) -> Option<(f64, f64)> {
    let bandwidth =
        text.lines().filter(|line| line.contains("io=") && line.contains("run=")).find_map(|line| {
            let value = line.split("bw=").nth(1)?;
            ["KiB/s", "MiB/s", "GiB/s"].iter().zip([1.0, 1024.0, 1048576.0]).find_map(|(unit, scale)| {
                let number = value.split(unit).next()?;
                number.trim().parse::<f64>().ok().map(|number| number * scale)
            })
        })?;
    let rate = text.lines().find_map(|line| {
        let value = line.split("IOPS=").nth(1)?.split(',').next()?;
        let (number, scale) = match value.strip_suffix('k') {
            Some(number) => (number, 1000.0),
            None => (value.strip_suffix('M').unwrap_or(value), if value.ends_with('M') { 1e6 } else { 1.0 }),
        };
        number.parse::<f64>().ok().map(|number| number * scale)
    })?;
    Some((bandwidth, rate))
}

/// What KDiskMark takes from JSON: error, bandwidth, IOPS and mean completion latency of the summed read or write.
pub fn disk_mark(document: &Value, direction: &str) -> Option<[f64; 3]> {
    let job = document["jobs"].as_array()?.first()?;
    (job["error"].as_i64()? == 0).then_some(())?;
    let side = &job[direction];
    Some([side["bw"].as_f64()?, side["iops"].as_f64()?, side["clat_ns"]["mean"].as_f64()?])
}

/// The cases of this file.
pub fn checks() -> Vec<(&'static str, fn())> {
    vec![
        ("reading_types_are_strict", types_are_strict),
        ("reading_columns_are_positions", columns_are_positions),
        ("reading_text_needs_its_words", text_needs_its_words),
    ]
}

fn types_are_strict() {
    let mut wrong = Vec::new();
    let object = serde_json::json!({"a": 1, "b": 1.0, "c": "x"});
    expect(&mut wrong, &object, "", &[("a", Int), ("a", Float), ("b", Float), ("c", Text)]);
    assert_eq!(wrong, Vec::<String>::new());
    expect(&mut wrong, &object, "", &[("b", Int), ("c", Int), ("a", Text), ("missing", Int)]);
    assert_eq!(wrong.len(), 4);
}

fn columns_are_positions() {
    let line = (1..=130).map(|n| n.to_string()).collect::<Vec<_>>().join(";");
    assert_eq!(yabs(&format!("fio\n{line};name"), "name"), Some([7.0, 8.0, 48.0, 49.0]));
    assert_eq!(yabs(&line, "name"), None);
    assert_eq!(tkperf(&line).map(|columns| columns[1]), Some(8.0));
    assert_eq!(tkperf("3;fio;x"), None);
}

fn text_needs_its_words() {
    let text = "  read: IOPS=10.5k, BW=1MiB/s\n   READ: bw=2.5MiB/s (2621kB/s), io=3MiB (3MB), run=1-1msec\n";
    assert_eq!(phoronix(text), Some((2560.0, 10500.0)));
    assert_eq!(phoronix("nothing"), None);
}
