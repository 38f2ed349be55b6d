//! dbench: events of runs that never were, and the lines and tables that are made of them.

use std::fmt::Write as _;

use iodyno_dialect::Request;
use iodyno_model::{
    Event, Fatal, JobRecord, Line, Live, LiveJob, PhaseRecord, Record, Tally, Verb, WorkerRecord,
};
use iodyno_report::{NoFiles, Output};

use super::{golden, request};

const SECOND: u64 = 1_000_000_000;

/// What each of two workers had done by a second, or all that it did.
fn tally(second: u64) -> Tally {
    let line = |label: &str, verb: Verb, count: u64, bytes: u64| {
        let mut line = Line { operations: count, bytes: count * bytes, ..Line::empty(label, verb) };
        (0..count.min(50)).for_each(|number| line.latency.add(2000 + 400_000 * second + number * 1000));
        line
    };
    let lines = vec![
        line("NTCreateX", Verb::Open, 10 * second, 0),
        line("Close", Verb::Close, 10 * second, 0),
        line("Rename", Verb::Rename, 0, 0),
        line("Deltree", Verb::Rmdir, 1, 0),
        line("WriteX", Verb::Write, 30 * second, 65536),
        line("ReadX", Verb::Read, 40 * second, 32768),
    ];
    Tally { lines, ..Tally::default() }
}

/// `second`: since counting began; `passed`: since the start.
fn phase(workers: u32, second: u64, passed: u64) -> PhaseRecord {
    let mut job = JobRecord { name: "clients".into(), ..JobRecord::default() };
    for index in 0..workers {
        let tally = tally(second);
        job.tally.merge(&tally);
        job.workers.push(WorkerRecord {
            index,
            bytes: tally.all_bytes(),
            facts: vec![("lines".into(), 94 * passed + u64::from(index))],
            tally: Some(Box::new(tally)),
            ..WorkerRecord::default()
        });
    }
    PhaseRecord { name: "clients".into(), jobs: vec![job], ..PhaseRecord::default() }
}

/// The text of a command line and its run; `until`: seconds that it lasted, of which the first `warm` were the warm-up.
fn told(line: &str, (warm, until): (u64, u64), change: impl Fn(&mut PhaseRecord, &mut Record)) -> String {
    let Request::Run(mut run) = request(line) else { panic!("{line}: not run") };
    let workers = run.plan.phases[0].jobs[0].workers;
    let mut events = vec![
        Event::Started(Box::default()),
        Event::PhaseStarted {
            index: 0,
            count: 1,
            name: "clients".into(),
            repetition: 0,
            coordinates: Vec::new(),
        },
    ];
    for second in 1..=until {
        let running = if second == until { 1 } else { workers };
        let jobs = vec![LiveJob { name: "clients".into(), running, ..LiveJob::default() }];
        events.push(Event::Live(Box::new(Live {
            elapsed_ns: second * SECOND + 2_000_000,
            jobs,
            ..Live::default()
        })));
        let counted = if second > warm { second - warm } else { second };
        events.push(Event::Interim(Box::new(phase(workers, counted, second))));
    }
    let (mut last, mut record) = (phase(workers, until - warm, until), Record::default());
    change(&mut last, &mut record);
    events.push(Event::PhaseEnded(Box::new(last)));
    events.push(Event::Ended(Box::new(record)));
    let (mut out, mut err) = (Vec::new(), Vec::new());
    for event in &events {
        run.reporter.event(event, &mut Output { out: &mut out, err: &mut err, files: &mut NoFiles }).unwrap();
    }
    let mut text = format!("$ {line}\n");
    for (name, bytes) in [("out", out), ("err", err)] {
        let bytes = String::from_utf8(bytes).unwrap();
        bytes.lines().for_each(|line| _ = writeln!(text, "{name}|{line}"));
    }
    text + "\n"
}

#[test]
fn golden_texts_of_dbench() {
    let nothing = |_: &mut PhaseRecord, _: &mut Record| ();
    let failed = |phase: &mut PhaseRecord, _: &mut Record| {
        let worker = &mut phase.jobs[0].workers[0];
        worker.complaints = vec!["client0, line 12: WriteX handle 10: no space left on device".into()];
        worker.fatal = Some(Fatal::default());
    };
    let stopped = |_: &mut PhaseRecord, record: &mut Record| record.stopped_by = Some(2);
    let text = [
        "# Events of runs, and dbench's text for them.\n\n".to_string(),
        told("dbench -t 5 -c load.txt -D dir 2", (1, 6), nothing),
        told("dbench -t 1 -c load.txt -D dir -s -S --per-client-results 2", (0, 1), nothing),
        told("dbench -t 10 -c load.txt -D dir --clients-per-process 3 2", (2, 13), nothing),
        told("dbench --run-once -c load.txt -D dir 1", (0, 2), nothing),
        told("dbench -t 5 -c load.txt -D dir 2", (1, 3), failed),
        told("dbench -t 5 -c load.txt -D dir 2", (1, 3), stopped),
    ];
    golden("golden/dbench/texts.txt", &text.concat());
}
