//! smallfile: events of runs that never were, and the text, JSON and response times that are made of them.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{self, Write};

use iodyno_dialect::Request;
use iodyno_model::{Event, Fatal, JobRecord, JournalEntry, JournalPart, PhaseRecord, Verb, WorkerRecord};
use iodyno_report::{Files, Output};

use super::{golden, request};

/// Files in memory.
#[derive(Default)]
struct Shelf(BTreeMap<String, Vec<u8>>);

impl Files for Shelf {
    fn file(&mut self, path: &str) -> io::Result<&mut dyn Write> {
        Ok(self.0.entry(path.into()).or_default())
    }

    fn folder(&mut self, _path: &str) -> io::Result<()> {
        Ok(())
    }

    fn close(&mut self, _path: &str) -> io::Result<()> {
        Ok(())
    }
}

/// Each worker does its files one after the other, the second at half the speed of the first.
fn journal(index: u32, files: u64) -> JournalPart {
    let took_ns = 1_000_000 * u64::from(index + 1);
    let done = |file: u64| JournalEntry::Done {
        at_ns: (file + 1) * took_ns,
        verb: Verb::Create,
        file: 0,
        offset: file,
        bytes: 0,
        submission_ns: 0,
        completion_ns: took_ns,
        latency_ns: took_ns - 1000,
        priority: 0,
    };
    JournalPart { worker: index, entries: (0..files).map(done).collect(), ..JournalPart::default() }
}

fn told(line: &str, change: impl Fn(&mut PhaseRecord)) -> String {
    let Request::Run(mut run) = request(line) else { panic!("{line}: not run") };
    let job = &run.plan.phases[0].jobs[0];
    let number = |name: &str| job.setting(name).and_then(|value| value.parse::<u64>().ok());
    let (workers, kib) = (job.workers, number("kib").unwrap_or(64));
    let files = 20;
    let moves = matches!(job.name.as_str(), "create" | "read");
    let has_journal = job.measure.journal.is_some();
    let worker = |index: u32| WorkerRecord {
        index,
        operations: files,
        bytes: if moves { files * kib * 1024 } else { 0 },
        ended_ns: files * 1_000_000 * u64::from(index + 1),
        facts: if moves { vec![("blocks".into(), files * 2)] } else { Vec::new() },
        ..WorkerRecord::default()
    };
    let record = JobRecord {
        name: job.name.clone(),
        workers: (0..workers).map(worker).collect(),
        ..JobRecord::default()
    };
    let mut phase = PhaseRecord { jobs: vec![record], ..PhaseRecord::default() };
    change(&mut phase);
    let mut events = vec![Event::Started(Box::default())];
    if has_journal {
        events.extend((0..workers).map(|index| Event::Journal(Box::new(journal(index, files)))));
    }
    events.push(Event::PhaseEnded(Box::new(phase)));
    events.push(Event::Ended(Box::default()));
    let (mut out, mut err, mut shelf) = (Vec::new(), Vec::new(), Shelf::default());
    for event in &events {
        run.reporter.event(event, &mut Output { out: &mut out, err: &mut err, files: &mut shelf }).unwrap();
    }
    let mut text = format!("$ {line}\n");
    let streams = [("out".to_string(), out), ("err".to_string(), err)];
    for (name, bytes) in streams.into_iter().chain(shelf.0) {
        let bytes = String::from_utf8(bytes).unwrap();
        bytes.lines().for_each(|line| _ = writeln!(text, "{name}|{line}"));
    }
    text + "\n"
}

#[test]
fn golden_texts_of_smallfile() {
    let nothing = |_: &mut PhaseRecord| ();
    let failed = |phase: &mut PhaseRecord| {
        let worker = &mut phase.jobs[0].workers[1];
        worker.fatal = Some(Fatal { errno: 28, ..Fatal::default() });
        worker.operations = 3;
    };
    let text = [
        "# Events of runs, and smallfile's text and files for them.\n\n".to_string(),
        told(
            "smallfile --top dir --operation create --files 20 --file-size 8 --record-size 4 --output-json j",
            nothing,
        ),
        told(
            "smallfile --top dir --operation stat --files 20 --response-times Y --stonewall N --threads 1",
            nothing,
        ),
        told("smallfile --top dir --operation read --files 20 --stonewall N --file-size 8", failed),
    ];
    golden("golden/smallfile/texts.txt", &text.concat());
}
