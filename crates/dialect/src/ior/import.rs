//! IOR's JSON: a run for each test, in it a phase for each row of its results; rows of one access are its repetitions.

use iodyno_model::{JobRecord, PhaseRecord, Verb, WorkerRecord};
use serde_json::Value;

use crate::date::parse_ctime;
use crate::import::{ForeignRun, Import, count, facts, list, number, text};

/// IOR's document; `None`: it is not one.
pub fn read(document: &Value) -> Option<Result<Vec<ForeignRun>, String>> {
    let tests = document.get("tests")?.as_array()?;
    document.get("Command line").or_else(|| document.get("Began"))?;
    if tests.is_empty() {
        return Some(Err("there are no tests in it".into()));
    }
    let machine = text(document, "Machine");
    let mut machine = machine.split_whitespace().filter(|word| *word != "=");
    let (kernel, host) = (machine.next().unwrap_or_default(), machine.next().unwrap_or_default());
    let words: Vec<String> = text(document, "Command line").split_whitespace().map(String::from).collect();
    let version = match text(document, "Version") {
        version if version.is_empty() => "ior".into(),
        version => format!("ior-{version}"),
    };
    let run = |test: &Value| Import {
        version: version.clone(),
        name: format!("test {}", text(test, "TestID")),
        words: words.clone(),
        host: host.into(),
        kernel: kernel.into(),
        began_unix_ns: parse_ctime(&text(document, "Began")).unwrap_or(0),
        phases: phases(test),
    };
    Some(Ok(tests.iter().map(|test| run(test).into()).collect()))
}

/// Older versions put the rows of a repetition into a list of their own.
fn rows(of: &[Value]) -> Vec<&Value> {
    of.iter().flat_map(|row| row.as_array().map_or_else(|| vec![row], |rows| rows.iter().collect())).collect()
}

fn phases(test: &Value) -> Vec<PhaseRecord> {
    let mut phases: Vec<PhaseRecord> = Vec::new();
    let mut options = facts(test.get("Parameters"));
    options.extend(facts(test.get("Options")));
    for row in rows(list(test, "Results")) {
        let (name, verb) = match text(row, "access").as_str() {
            "write" => ("write", Verb::Write),
            "read" => ("read", Verb::Read),
            _ => continue,
        };
        let repetition = phases.iter().filter(|phase| phase.name == name).count() as u32;
        let index = phases.len();
        let mut job = job(row, name, verb);
        job.engine_facts.clone_from(&options);
        let elapsed_ns = job.tally.last_done_ns;
        phases.push(PhaseRecord {
            name: name.into(),
            index,
            repetition,
            elapsed_ns,
            jobs: vec![job],
            ..PhaseRecord::default()
        });
    }
    phases
}

fn job(row: &Value, name: &str, verb: Verb) -> JobRecord {
    let seconds = number(row, "totalTime");
    let mut job = JobRecord { name: name.into(), engine: "ior".into(), depth: 1, ..JobRecord::default() };
    let bytes = number(row, "bwMiB") * seconds * (1u64 << 20) as f64;
    let transfer = number(row, "xferKiB") * 1024.0;
    let line = job.tally.line_mut(name, verb);
    line.bytes = bytes.round() as u64;
    // Its iops are of the time between opening and closing; how many there were follows from the bytes.
    line.operations = match transfer > 0.0 {
        true => (bytes / transfer).round() as u64,
        false => (number(row, "iops") * seconds).round() as u64,
    };
    job.tally.last_done_ns = (seconds * 1e9) as u64;
    job.tally.first_done_ns = job.tally.last_done_ns;
    let (operations, bytes) = (job.tally.all_operations(), job.tally.all_bytes());
    let errors = count(row, "errors");
    job.workers.push(WorkerRecord { operations, bytes, errors, ..WorkerRecord::default() });
    job
}

#[cfg(test)]
mod tests {
    use super::*;
    use iodyno_model::Kind;

    #[test]
    fn ior_is_taken_in_by_repetition() {
        let text = r#"{ "Version": "4.0.0", "Began": "Sun Nov 22 00:15:03 2026", "Command line": "ior -a POSIX -i 2",
  "Machine": "Linux n1", "tests": [ { "TestID": 0, "StartTime": "x", "Path": "f", "Parameters": { "testID": 0 },
  "Options": { "api": "POSIX", "tasks": "4" },
  "Results": [ { "access": "write", "bwMiB": 100.0, "blockKiB": 1024, "xferKiB": 256, "iops": 400.0,
     "latency": 0.01, "openTime": 0.1, "wrRdTime": 1.8, "closeTime": 0.1, "totalTime": 2.0 },
   { "access": "read", "bwMiB": 200.0, "iops": 800.0, "totalTime": 1.0, "xferKiB": 256 },
   [ { "access": "write", "bwMiB": 110.0, "iops": 440.0, "totalTime": 2.0, "xferKiB": 256 } ] ] } ] }"#;
        let (words, started, record) = &read(&serde_json::from_str(text).unwrap()).unwrap().unwrap()[0];
        assert_eq!((words.join(" "), started.machine.host.as_str()), ("ior -a POSIX -i 2".into(), "n1"));
        let told: Vec<_> =
            record.phases.iter().map(|phase| (phase.name.as_str(), phase.repetition)).collect();
        assert_eq!(told, [("write", 0), ("read", 0), ("write", 1)]);
        let write = &record.phases[0].jobs[0];
        assert_eq!((write.tally.operations(Kind::Write), write.tally.bytes(Kind::Write)), (800, 200 << 20));
        assert_eq!(write.tally.lines[0].verb, Verb::Write);
        assert_eq!(started.at_unix_ns, 1795306503000000000);
    }
}
