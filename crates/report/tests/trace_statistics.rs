//! Golden text and JSON of a trace's statistics, in `golden/report/`.

mod sample;

use iodyno_report::number::RateUnit;
use iodyno_report::paint::Paint;
use iodyno_report::trace_statistics::{json, text};
use iodyno_trace::statistics::TraceStatistics;
use iodyno_trace::{MemorySource, Tables, TraceHeader};
use sample::recorded::recorded;

fn statistics(count: u64) -> TraceStatistics {
    TraceStatistics::of(&mut recorded(count)).unwrap()
}

#[test]
fn the_text_is_golden_and_fits() {
    let text = text("database.iot", &statistics(12_000), Paint::PLAIN);
    let wide: Vec<&str> = text.lines().filter(|line| line.chars().count() > 80).collect();
    assert!(wide.is_empty(), "{wide:#?}");
    sample::golden("report", "trace.txt", &text);
}

#[test]
fn rates_are_in_the_unit_that_was_chosen() {
    let paint = Paint { rates: RateUnit::MebibytesPerSecond, ..Paint::PLAIN };
    let text = text("database.iot", &statistics(2_000), paint);
    assert!(text.contains("MiB/s") && text.contains("read MiB/s") && !text.contains("MB/s "));
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
}

#[test]
fn the_json_says_the_same() {
    let statistics = statistics(12_000);
    let json = json("database.iot", &statistics);
    assert_eq!(json["format"], "iodyno.trace_statistics/1");
    assert_eq!(json["operations"], 12_000);
    let of_verbs: u64 =
        json["verbs"].as_object().unwrap().values().map(|verb| verb["operations"].as_u64().unwrap()).sum();
    assert_eq!(of_verbs, 12_000);
    let rows = json["series"]["rows"].as_array().unwrap();
    let sum = |key: &str| rows.iter().map(|row| row[key].as_u64().unwrap()).sum::<u64>();
    assert_eq!(sum("reads") + sum("writes") + sum("others"), 12_000);
    assert!(rows.len() <= 1000);
    assert_eq!(
        json["miss_ratio_curve"]["sampled_percent"].as_f64().map(|percent| percent < 100.0),
        Some(true)
    );
    assert_eq!(json["errors"][0]["errno"], 5);
    sample::golden("report", "trace.json", &format!("{:#}\n", keys(&json)));
}

/// The shape of a document: its keys, of lists the first entry.
fn keys(value: &serde_json::Value) -> serde_json::Value {
    use serde_json::Value;
    match value {
        Value::Object(map) => {
            Value::Object(map.iter().map(|(key, value)| (key.clone(), keys(value))).collect())
        }
        Value::Array(list) => Value::Array(list.first().map(keys).into_iter().collect()),
        Value::Number(_) => "number".into(),
        other => other.clone(),
    }
}

#[test]
fn a_trace_without_records_or_times_is_told_so() {
    let empty =
        TraceStatistics::of(&mut MemorySource::new(TraceHeader::default(), Tables::default(), Vec::new()));
    assert!(text("e", &empty.unwrap(), Paint::PLAIN).ends_with("\nit has no records\n"));
    let mut bare = recorded(50);
    bare.records.iter_mut().for_each(|record| record.latency_ns = None);
    let text = text("bare.iot", &TraceStatistics::of(&mut bare).unwrap(), Paint::PLAIN);
    assert!(text.contains("cannot tell: the trace has no completion times"), "{text}");
    assert!(text.contains("Hurst parameter: cannot tell"), "{text}");
}
