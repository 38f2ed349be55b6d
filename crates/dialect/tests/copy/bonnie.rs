//! bonnie++: events of runs that never were, and the tables and lines of values that are made of them.

use std::fmt::Write as _;

use iodyno_dialect::{DIALECTS, Request, Run};
use iodyno_model::{ErrorCount, Event, JobRecord, Line, PhaseRecord, Verb, WorkerRecord};
use iodyno_report::{NoFiles, Output};

use super::world::World;
use super::{golden, request};

/// What a phase came to, by its name and what the plan asks: how long it took, the processor's time, the longest operation.
type Phases = fn(&str) -> (u64, u64, u64);

fn phase(run: &Run, index: usize, came_to: Phases, failed: Option<&str>) -> PhaseRecord {
    let plan = &run.plan.phases[index];
    let (elapsed_ns, cpu_ns, longest_ns) = came_to(&plan.name);
    let jobs = plan.jobs.iter().map(|job| {
        let worker =
            WorkerRecord { user_ns: cpu_ns / 4, system_ns: cpu_ns - cpu_ns / 4, ..WorkerRecord::default() };
        let mut record = JobRecord { name: job.name.clone(), workers: vec![worker], ..JobRecord::default() };
        let mut line = Line::empty("timed", Verb::Wait);
        if longest_ns > 0 {
            line.latency.add(longest_ns);
        }
        // What a step of a composite took is no latency of the report.
        let mut step = Line::empty("read", Verb::Read);
        step.latency.add(longest_ns * 2 + 7);
        record.tally.lines = vec![line, step];
        if failed == Some(plan.name.as_str()) {
            let error =
                ErrorCount { verb: Verb::Write, errno: 28, count: 1, first_offset: 0, first_target: 0 };
            record.tally.errors = vec![error];
        }
        record
    });
    PhaseRecord { name: plan.name.clone(), index, elapsed_ns, jobs: jobs.collect(), ..PhaseRecord::default() }
}

/// The text of a command line and its run, streams apart.
fn told(line: &str, came_to: Phases, failed: Option<&str>) -> String {
    let Request::Run(mut run) = request(line) else { panic!("{line}: not run") };
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let mut events = vec![Event::Started(Box::default())];
    for index in 0..run.plan.phases.len() {
        let name = run.plan.phases[index].name.clone();
        events.push(Event::PhaseStarted {
            index,
            count: 0,
            name: name.clone(),
            repetition: 0,
            coordinates: Vec::new(),
        });
        events.push(Event::PhaseEnded(Box::new(phase(&run, index, came_to, failed))));
        if failed == Some(name.as_str()) {
            break;
        }
    }
    events.push(Event::Ended(Box::default()));
    for event in &events {
        run.reporter.event(event, &mut Output { out: &mut out, err: &mut err, files: &mut NoFiles }).unwrap();
    }
    let mut text = format!("$ {line}\n");
    for (name, bytes) in [("out", out), ("err", err)] {
        let bytes = String::from_utf8(bytes).unwrap();
        bytes.split_inclusive('\n').for_each(|line| _ = writeln!(text, "{name}|{}", line.replace('\n', "␊")));
    }
    text + "\n"
}

/// Every unit of rates and latencies, and times that are too short.
fn usual(name: &str) -> (u64, u64, u64) {
    match name {
        "write byte by byte" => (2_000_000_000, 1_980_000_000, 5_389_000),
        "write" => (3_000_000_000, 600_000_000, 123_456_000),
        "rewrite" => (7_000_000_000, 700_000_000, 100_000_000_000),
        "read byte by byte" => (499_999_999, 490_000_000, 6_013_000),
        "read" => (1_000_000_000, 900_000_000, 99_999_000),
        "seeks" => (6_500_000_000, 100_000_000, 999),
        "create in order" => (500_000_000, 450_000_000, 212_000),
        "read in order" => (600_000_000, 599_000_000, 71_000),
        // Both parts of the test count.
        "delete in order" => (400_000_000, 100_000_000, 360_000),
        "delete the directory" => (200_000_000, 50_000_000, 0),
        _ => (800_000_000, 80_000_000, 55_000),
    }
}

fn fast(_: &str) -> (u64, u64, u64) {
    (800_000_000, 800_000_000, 1000)
}

fn slow(_: &str) -> (u64, u64, u64) {
    (1_000_000_000_000, 7_000_000_000, 250_000_000_000)
}

#[test]
fn golden_texts_of_bonnie() {
    let own = "-z 7 -m laboratory.example.org";
    let text = [
        "# Events of runs, and bonnie++'s text for them; ␊ stands for the end of a line.\n\n".to_string(),
        told(&format!("bonnie++ {own} -d dir -u 5:6"), usual, None),
        told(&format!("bonnie++ {own} -d dir -q -c 3 -s 20000g:16k:1k:7 -n 4:100k:1k:5:512"), fast, None),
        told(&format!("bonnie++ {own} -d dir -s 2 -r 0 -f -n 0"), slow, None),
        told(&format!("bonnie++ {own} -d dir -s 0 -n 1:-1"), slow, None),
        told(&format!("bonnie++ {own} -d dir -s 0 -n 1:200 -x 1"), usual, None),
        told(&format!("bonnie++ {own} -d dir -s 1g -r 0 -n 1:-2 -x 2"), usual, None),
        told(&format!("bonnie++ {own} -d dir -s 1g -r 0 -n 1 -m m"), usual, Some("write")),
    ];
    golden("golden/bonnie/texts.txt", &text.concat());
}

/// The values of a line by the names of the heading that stands above several lines.
#[test]
fn every_line_of_values_has_as_many_as_the_heading() {
    for line in [
        "-s 1g -r 0",
        "-s 0 -n 1:-1",
        "-s 1g -r 0 -n 0",
        "-s 0 -n 3:100:10:7",
        "-s 0 -n 3:1k",
        "-s 1g -r 0 -f -n 1",
    ] {
        let text = told(&format!("bonnie++ -x 2 -z 7 -m h {line}"), usual, None);
        let lines: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("out|")).collect();
        assert_eq!(lines.len(), 3, "{text}");
        let counts: Vec<usize> = lines.iter().map(|line| line.matches(',').count()).collect();
        // The original's heading has no names for how many seeks there are, and how many processes.
        assert_eq!(counts[1], counts[2], "{text}");
        assert_eq!(counts[1], counts[0] + 2, "{text}");
    }
}

#[test]
fn mangled_lines_are_refused_or_lowered_and_never_more() {
    let dialect = DIALECTS.iter().find(|dialect| dialect.name == "bonnie++").unwrap();
    let words = [
        "-s",
        "-n",
        "-f",
        "-x",
        "-z",
        "-u",
        "-d",
        "-r",
        "0",
        "1",
        "-1",
        "9g",
        "1:2:3:4:5",
        "::",
        "18446744073709551615",
        "é",
    ];
    let mut state = 5u64;
    for _ in 0..3000 {
        let mut line = Vec::new();
        for _ in 0..6 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            line.push(words[(state >> 33) as usize % words.len()].to_string());
        }
        let _ = (dialect.lower)(&line, &mut World);
    }
}
