//! iperf3's JSON, of a client or a server: what was sent, what arrived, and both over time.

use iodyno_model::{JobRecord, PhaseRecord, Series, SeriesRow, Verb, WorkerRecord};
use serde_json::Value;

use crate::import::{ForeignRun, Import, count, facts, list, number, text};

/// iperf3's document; `None`: it is not one.
pub fn read(document: &Value) -> Option<Result<Vec<ForeignRun>, String>> {
    let (start, end) = (document.get("start")?, document.get("end")?);
    let version = text(start, "version");
    if !version.starts_with("iperf") {
        return None;
    }
    if let Some(error) = document.get("error").and_then(Value::as_str) {
        return Some(Err(format!("the test failed: {error}")));
    }
    let test = start.get("test_start").unwrap_or(&Value::Null);
    let jobs = jobs(document, test, end);
    if jobs.is_empty() {
        return Some(Err("nothing was sent or received".into()));
    }
    let system = text(start, "system_info");
    let system: Vec<&str> = system.split_whitespace().collect();
    let word = |index: usize| system.get(index).copied().unwrap_or_default();
    let name = text(test, "protocol");
    let elapsed_ns = jobs.iter().map(|job| job.tally.last_done_ns).max().unwrap_or(0);
    let import = Import {
        version,
        name: name.clone(),
        words: Vec::new(),
        host: word(1).into(),
        kernel: [word(0), word(2)].join(" ").trim().into(),
        began_unix_ns: start.get("timestamp").map_or(0, |time| count(time, "timesecs")) * 1_000_000_000,
        phases: vec![PhaseRecord { name, elapsed_ns, jobs, ..PhaseRecord::default() }],
    };
    Some(Ok(vec![import.into()]))
}

fn jobs(document: &Value, test: &Value, end: &Value) -> Vec<JobRecord> {
    // Of UDP, older versions tell one sum of both.
    let sent = end.get("sum_sent").or_else(|| end.get("sum"));
    let directions = [
        ("sent", Verb::Send, sent, "sum"),
        ("received", Verb::Recv, end.get("sum_received"), "sum"),
        ("sent back", Verb::Send, end.get("sum_sent_bidir_reverse"), "sum_bidir_reverse"),
        ("received back", Verb::Recv, end.get("sum_received_bidir_reverse"), "sum_bidir_reverse"),
    ];
    let told = directions.into_iter().filter_map(|(name, verb, sum, row)| {
        let sum = sum.filter(|sum| count(sum, "bytes") > 0)?;
        // Intervals are those of the side that wrote them down.
        let is_sender = sum.get("sender").and_then(Value::as_bool) != Some(false);
        let rows = if (verb == Verb::Send) == is_sender { rows(document, row, verb) } else { Vec::new() };
        Some(job(name, verb, sum, test, rows))
    });
    told.collect()
}

fn job(name: &str, verb: Verb, sum: &Value, test: &Value, rows: Vec<SeriesRow>) -> JobRecord {
    let block = count(test, "blksize").max(1);
    let streams = count(test, "num_streams").max(1) as u32;
    let mut job = JobRecord { name: name.into(), engine: "iperf3".into(), depth: 1, ..JobRecord::default() };
    let line = job.tally.line_mut(if verb == Verb::Send { "send" } else { "recv" }, verb);
    line.bytes = count(sum, "bytes");
    // Blocks of the size that was asked for; of UDP, packets.
    line.operations = count(sum, "packets").max(line.bytes.div_ceil(block));
    line.failed = count(sum, "lost_packets");
    let ns = (number(sum, "seconds") * 1e9) as u64;
    (job.tally.first_done_ns, job.tally.last_done_ns) = (ns, ns);
    job.tally.series = Series { interval_ns: 1_000_000_000, rows, ..Series::default() };
    job.workers = (0..streams).map(|index| WorkerRecord { index, ..WorkerRecord::default() }).collect();
    job.engine_facts = facts(Some(test));
    let told = ["retransmits", "jitter_ms", "lost_percent"].into_iter();
    job.engine_facts.extend(told.filter_map(|name| Some((name.into(), sum.get(name)?.to_string()))));
    job
}

/// Whole seconds, one after the other; other intervals are no rows of one length.
fn rows(document: &Value, name: &str, verb: Verb) -> Vec<SeriesRow> {
    let intervals = list(document, "intervals").iter().filter_map(|interval| interval.get(name));
    let measured = intervals.filter(|sum| sum.get("omitted").and_then(Value::as_bool) != Some(true));
    let whole = measured.take_while(|sum| (number(sum, "seconds") - 1.0).abs() < 0.05);
    let row = |sum: &Value| match verb {
        Verb::Send => SeriesRow { write_bytes: count(sum, "bytes"), ..SeriesRow::default() },
        _ => SeriesRow { read_bytes: count(sum, "bytes"), ..SeriesRow::default() },
    };
    whole.map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use iodyno_model::Kind;

    #[test]
    fn iperf3_is_taken_in_with_its_intervals() {
        let text = r#"{ "start": { "version": "iperf 3.12", "system_info": "Linux h9 6.1.0-13-amd64 #1 SMP",
   "timestamp": { "timesecs": 1795306503 }, "connecting_to": { "host": "10.0.0.1", "port": 5201 },
   "test_start": { "protocol": "TCP", "num_streams": 2, "blksize": 1000, "duration": 2 } },
  "intervals": [ { "sum": { "start": 0, "end": 1, "seconds": 1, "bytes": 5000, "omitted": false } },
                 { "sum": { "start": 1, "end": 2, "seconds": 1, "bytes": 7000, "omitted": false } } ],
  "end": { "sum_sent": { "seconds": 2.0, "bytes": 12000, "bits_per_second": 48000, "retransmits": 3 },
           "sum_received": { "seconds": 2.0, "bytes": 11000 } } }"#;
        let (words, started, record) = &read(&serde_json::from_str(text).unwrap()).unwrap().unwrap()[0];
        assert_eq!((words.len(), started.machine.host.as_str()), (0, "h9"));
        assert_eq!(started.machine.kernel, "Linux 6.1.0-13-amd64");
        let [sent, received] = record.phases[0].jobs.as_slice() else { panic!("two jobs") };
        assert_eq!((sent.tally.operations(Kind::Network), sent.tally.all_bytes()), (12, 12000));
        assert_eq!((received.tally.lines[0].verb, received.tally.all_bytes()), (Verb::Recv, 11000));
        assert_eq!(sent.tally.series.rows.len(), 2);
    }
}
