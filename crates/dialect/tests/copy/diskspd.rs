//! Events of runs that never were, and the exact text and XML that diskspd makes of them.

use iodyno_dialect::Request;
use iodyno_model::{Event, Histogram, JobRecord, Line, PhaseRecord, Sighting, Tally, Verb, WorkerRecord};
use iodyno_report::Output;

use super::{golden, request};

fn line(verb: Verb, count: u64, block: u64) -> Line {
    let mut latency = Histogram::default();
    (0..count).for_each(|number| latency.add(100_000 + number * 1_000));
    Line { operations: count, bytes: count * block, latency, ..Line::empty("", verb) }
}

fn worker(index: u32, reads: u64, writes: u64, block: u64) -> WorkerRecord {
    let lines = vec![line(Verb::Read, reads, block), line(Verb::Write, writes, block)];
    let mut tally = Tally { lines, last_done_ns: 10_000_000_000, ..Tally::default() };
    tally.series.rows = (0..10)
        .map(|at| iodyno_model::SeriesRow { reads: reads / 10 + at % 2, ..Default::default() })
        .collect();
    WorkerRecord { index, tally: Some(Box::new(tally)), ..WorkerRecord::default() }
}

/// What a command line makes of a phase with two targets of two threads.
fn told(command: &str) -> String {
    let Request::Run(mut run) = request(command) else { panic!("{command}: not run") };
    let jobs = run.plan.phases[0].jobs.iter().map(|job| JobRecord {
        workers: (0..job.workers).map(|index| worker(index, 1000 + u64::from(index), 430, 4096)).collect(),
        tally: Tally { last_done_ns: 10_000_000_000, ..Tally::default() },
        ..JobRecord::default()
    });
    let cpu = Sighting::Cpu {
        user_percent: 12.5,
        system_percent: 25.25,
        iowait_percent: 1.0,
        steal_percent: 0.0,
        cpus: 4,
    };
    let phase = PhaseRecord { jobs: jobs.collect(), sightings: vec![cpu], ..PhaseRecord::default() };
    let (mut out, mut err) = (Vec::new(), Vec::new());
    for event in [Event::PhaseEnded(Box::new(phase)), Event::Ended(Box::default())] {
        let mut output = Output { out: &mut out, err: &mut err, files: &mut iodyno_report::NoFiles };
        run.reporter.event(&event, &mut output).unwrap();
    }
    assert!(err.is_empty(), "{}", String::from_utf8_lossy(&err));
    format!("$ {command}\n{}\n", String::from_utf8(out).unwrap())
}

#[test]
fn golden_texts_of_diskspd() {
    let text: String = [
        "diskspd -b4K -t2 -w30 -r -L -D in.img old.img",
        "diskspd -b4K in.img",
        "diskspd -b4K -w30 -L -D -Rxml in.img old.img",
    ]
    .iter()
    .map(|command| told(command))
    .collect();
    golden("golden/diskspd/texts.txt", &text);
}
