//! What was measured elsewhere, as runs of the history: fio's, IOR's and iperf3's own JSON, and ours.
//!
//! Only what a file says is taken in. A latency distribution is taken from its buckets where they were written
//! (`--output-format=json+`), else from its percentiles, which then are exact and nothing between them is; what has no
//! series has no interval of its own. It refuses to fill a gap with a guess.

mod fio;
mod ior;
mod iperf3;
mod own;

use iodyno_model::{Diagnostic, Machine, Origin, PhaseRecord, Plan, Record, Started};
use serde_json::Value;

use crate::entry::Opening;

/// A run that another tool measured.
#[derive(Clone, Debug, Default)]
pub struct Import {
    /// The tool's name and version: `fio-3.33`.
    pub version: String,
    /// What its command or job was called.
    pub name: String,
    /// The command line, where the tool wrote it down.
    pub words: Vec<String>,
    /// The host, where the tool wrote it down.
    pub host: String,
    /// The kernel, where the tool wrote it down.
    pub kernel: String,
    /// When it began, ns since 1970; 0: the tool did not say.
    pub began_unix_ns: u64,
    /// What it measured.
    pub phases: Vec<PhaseRecord>,
}

/// One tool's reader; `None`: the document is not its.
type Reader = fn(&Value) -> Option<Result<Vec<Import>, String>>;

const READERS: [(&str, Reader); 3] = [("fio", fio::read), ("ior", ior::read), ("iperf3", iperf3::read)];

/// A run to put into the history.
pub type Imported = (Opening, Started, Record);

/// The runs in a file of another tool, of which each test may be one.
///
/// # Errors
/// What is wrong with it, by the file's name.
pub fn read(path: &str, bytes: &[u8]) -> Result<Vec<Imported>, Diagnostic> {
    let wrong = |message: &str| {
        Diagnostic::error(&Origin::argument(path), message)
            .hint("fio --output-format=json+, ior -O summaryFormat=JSON and iperf3 --json write such files, and so does --json of iodyno")
    };
    let documents = documents(bytes).map_err(|error| wrong(&error))?;
    let mut runs = Vec::new();
    for document in &documents {
        if let Some(own) = own::read(document, path) {
            runs.push(own.map_err(|error| wrong(&format!("as our own JSON: {error}")))?);
            continue;
        }
        let known = READERS.iter().find_map(|(tool, read)| Some((*tool, read(document)?)));
        let (tool, found) =
            known.ok_or_else(|| wrong("it is JSON, but neither fio's nor IOR's nor iperf3's nor ours"))?;
        let found = found.map_err(|error| wrong(&format!("as {tool}'s JSON: {error}")))?;
        runs.extend(found.into_iter().map(|import| import.run(tool, path)));
    }
    Ok(runs)
}

/// The documents of a file: tools write warnings before them, and one after the other.
fn documents(bytes: &[u8]) -> Result<Vec<Value>, String> {
    let text = String::from_utf8_lossy(bytes);
    let starts = std::iter::once(text.trim_start().starts_with('{').then_some(0)).flatten();
    let lines = text.match_indices("\n{").map(|(at, _)| at + 1);
    let Some(start) = starts.chain(lines).next() else { return Err("there is no JSON in it".into()) };
    let mut documents = Vec::new();
    for document in serde_json::Deserializer::from_str(&text[start..]).into_iter::<Value>() {
        match document {
            Ok(document) => documents.push(document),
            // What follows a whole document is talk.
            Err(_) if !documents.is_empty() => break,
            Err(error) => return Err(format!("it is no JSON: {error}")),
        }
    }
    Ok(documents)
}

impl Import {
    fn run(self, tool: &str, path: &str) -> Imported {
        let machine =
            Machine { host: self.host, kernel: self.kernel, version: self.version, ..Machine::default() };
        let plan = Plan { name: self.name.clone(), ..Plan::default() };
        let words = match self.words.is_empty() {
            true => vec!["import".into(), path.into()],
            false => self.words,
        };
        let record =
            Record { name: self.name, machine: machine.clone(), phases: self.phases, ..Record::default() };
        let opening = Opening { tool: tool.into(), words, plan: plan.clone(), ..Opening::default() };
        let at_unix_ns = self.began_unix_ns;
        (
            opening,
            Started { plan, targets: Vec::new(), machine, at_unix_ns, world: Default::default() },
            record,
        )
    }
}

/// A number of an object; 0 where it is missing.
fn number(of: &Value, name: &str) -> f64 {
    of.get(name).and_then(Value::as_f64).unwrap_or(0.0)
}

/// A count of an object; 0 where it is missing.
fn count(of: &Value, name: &str) -> u64 {
    number(of, name).max(0.0) as u64
}

/// A text of an object; a number as its digits; empty where it is missing.
fn text(of: &Value, name: &str) -> String {
    match of.get(name) {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Number(number)) => number.to_string(),
        _ => String::new(),
    }
}

/// The members of a list; none where it is missing.
fn list<'a>(of: &'a Value, name: &str) -> &'a [Value] {
    of.get(name).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// The texts and numbers of an object as facts, by name.
fn facts(of: Option<&Value>) -> Vec<(String, String)> {
    let members = of.and_then(Value::as_object).into_iter().flatten();
    let told = members.filter(|(_, value)| value.is_string() || value.is_number() || value.is_boolean());
    told.map(|(name, value)| {
        let value = value.as_str().map_or_else(|| value.to_string(), String::from);
        (name.clone(), value)
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use iodyno_model::{Kind, Verb};

    #[test]
    fn fio_is_taken_in_with_its_buckets() {
        let text = br#"fio: a warning that was printed first
{ "fio version" : "fio-3.33", "timestamp_ms" : 1795306503972, "jobs" : [
  { "jobname" : "a", "groupid" : 0, "job options" : { "bs" : "4k", "iodepth" : "8", "ioengine" : "libaio" },
    "read" : { "io_bytes" : 4096000, "total_ios" : 1000, "runtime" : 2000, "short_ios" : 0,
      "lat_ns" : { "min" : 90, "max" : 5000, "mean" : 300.0, "N" : 1000 },
      "clat_ns" : { "min" : 80, "max" : 4900, "mean" : 290.0, "N" : 1000, "bins" : { "80" : 1, "200" : 900, "4900" : 99 } } },
    "write" : { "io_bytes" : 0, "total_ios" : 0, "runtime" : 0 } },
  { "jobname" : "a", "groupid" : 0, "read" : { "io_bytes" : 409600, "total_ios" : 100, "runtime" : 2000,
      "clat_ns" : { "min" : 100, "max" : 900, "mean" : 200.0, "N" : 100,
        "percentile" : { "50.000000" : 150, "99.000000" : 800 } } } },
  { "jobname" : "b", "groupid" : 1, "write" : { "io_bytes" : 10, "total_ios" : 1, "runtime" : 1 } } ] }"#;
        let runs = read("r.json", text).unwrap();
        let (opening, started, record) = &runs[0];
        assert_eq!((opening.tool.as_str(), opening.words[1].as_str()), ("fio", "r.json"));
        assert_eq!((started.machine.version.as_str(), started.at_unix_ns), ("fio-3.33", 1795306503972000000));
        assert_eq!(record.phases.len(), 2, "a phase for each group");
        let job = &record.phases[0].jobs[0];
        assert_eq!((job.depth, job.engine.as_str(), job.workers.len()), (8, "libaio", 2));
        assert_eq!((job.tally.operations(Kind::Read), job.tally.bytes(Kind::Read)), (1100, 4505600));
        assert!(job.engine_facts.contains(&("bs".into(), "4k".into())));
        let latency = job.tally.latency(Kind::Read);
        assert_eq!((latency.count(), latency.min, latency.max), (1100, 80, 4900));
        assert_eq!(record.phases[0].elapsed_ns, 2_000_000_000);
    }

    #[test]
    fn ior_is_taken_in_by_repetition() {
        let text = br#"{ "Version": "4.0.0", "Began": "Sun Nov 22 00:15:03 2026", "Command line": "ior -a POSIX -i 2",
  "Machine": "Linux n1", "tests": [ { "TestID": 0, "StartTime": "x", "Path": "f", "Parameters": { "testID": 0 },
  "Options": { "api": "POSIX", "tasks": "4" },
  "Results": [ { "access": "write", "bwMiB": 100.0, "blockKiB": 1024, "xferKiB": 256, "iops": 400.0,
     "latency": 0.01, "openTime": 0.1, "wrRdTime": 1.8, "closeTime": 0.1, "totalTime": 2.0 },
   { "access": "read", "bwMiB": 200.0, "iops": 800.0, "totalTime": 1.0, "xferKiB": 256 },
   [ { "access": "write", "bwMiB": 110.0, "iops": 440.0, "totalTime": 2.0, "xferKiB": 256 } ] ] } ] }"#;
        let (opening, started, record) = &read("i.json", text).unwrap()[0];
        assert_eq!(
            (opening.words.join(" "), started.machine.host.as_str()),
            ("ior -a POSIX -i 2".into(), "n1")
        );
        let told: Vec<_> =
            record.phases.iter().map(|phase| (phase.name.as_str(), phase.repetition)).collect();
        assert_eq!(told, [("write", 0), ("read", 0), ("write", 1)]);
        let write = &record.phases[0].jobs[0];
        assert_eq!((write.tally.operations(Kind::Write), write.tally.bytes(Kind::Write)), (800, 200 << 20));
        assert_eq!(write.tally.lines[0].verb, Verb::Write);
        assert_eq!(started.at_unix_ns, 1795306503000000000);
    }

    #[test]
    fn iperf3_is_taken_in_with_its_intervals() {
        let text = br#"{ "start": { "version": "iperf 3.12", "system_info": "Linux h9 6.1.0-13-amd64 #1 SMP",
   "timestamp": { "timesecs": 1795306503 }, "connecting_to": { "host": "10.0.0.1", "port": 5201 },
   "test_start": { "protocol": "TCP", "num_streams": 2, "blksize": 1000, "duration": 2 } },
  "intervals": [ { "sum": { "start": 0, "end": 1, "seconds": 1, "bytes": 5000, "omitted": false } },
                 { "sum": { "start": 1, "end": 2, "seconds": 1, "bytes": 7000, "omitted": false } } ],
  "end": { "sum_sent": { "seconds": 2.0, "bytes": 12000, "bits_per_second": 48000, "retransmits": 3 },
           "sum_received": { "seconds": 2.0, "bytes": 11000 } } }"#;
        let (opening, started, record) = &read("n.json", text).unwrap()[0];
        assert_eq!((opening.tool.as_str(), started.machine.host.as_str()), ("iperf3", "h9"));
        assert_eq!(started.machine.kernel, "Linux 6.1.0-13-amd64");
        let [sent, received] = record.phases[0].jobs.as_slice() else { panic!("two jobs") };
        assert_eq!((sent.tally.operations(Kind::Network), sent.tally.all_bytes()), (12, 12000));
        assert_eq!((received.tally.lines[0].verb, received.tally.all_bytes()), (Verb::Recv, 11000));
        assert_eq!(sent.tally.series.rows.len(), 2);
    }

    #[test]
    fn another_version_of_ours_is_refused() {
        let wrong = |text: &str| read("f", text.as_bytes()).unwrap_err().message;
        assert!(wrong(r#"{ "schema": "iodyno.record/2" }"#).contains("iodyno.record/2"));
        assert!(wrong(r#"{ "schema": "iodyno.record/1", "name": "x" }"#).contains("missing field"));
        assert!(wrong(r#"{ "schema": "other" }"#).contains("neither"));
    }

    #[test]
    fn what_is_nobodys_is_refused() {
        for text in ["", "no JSON", "{", "{}", "[1]", r#"{ "jobs": 7 }"#] {
            assert!(read("f", text.as_bytes()).is_err(), "{text}");
        }
    }
}
