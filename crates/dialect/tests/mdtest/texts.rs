//! Records of runs that never were, and the exact text that mdtest's reporter makes of them.

use iodyno_dialect::{Request, Run};
use iodyno_model::{
    ErrorCount, Event, JobRecord, JournalEntry, JournalPart, Line, Machine, PhaseRecord, RunStart, Verb,
    WearOut, WorkerRecord, Workload,
};
use iodyno_report::{FilesInMemory, Output};

use super::{golden, request};

/// The verb of a phase's first job, and how many items each worker has.
fn work(run: &Run, index: usize) -> (Verb, u64) {
    let job = &run.plan.phases[index].jobs[0];
    match &job.workload {
        Workload::Pattern(pattern) => (pattern.mix.shares[0].verb, 1000),
        Workload::Script(script) => match &script.steps[0].action {
            iodyno_model::Action::Do(operation) => (operation.verb, 1),
            iodyno_model::Action::Block(_) | iodyno_model::Action::Call(_) => (Verb::Wait, 0),
        },
        Workload::Trace(_) | Workload::Cases(_) | Workload::Exercise(_) => (Verb::Wait, 0),
    }
}

/// A phase in which every worker did its items in as many milliseconds as its number says.
pub fn phase(run: &Run, index: usize, tasks: u32) -> PhaseRecord {
    let (verb, items) = work(run, index);
    let plan = &run.plan.phases[index];
    let alone = plan.jobs[0].ranks == iodyno_model::Ranks::Workers(1);
    let chain = u64::from(verb == Verb::Rename);
    let count = if alone { 1 } else { tasks };
    let ms = |number: u64| (index as u64 + 1) * 1_000_000 + number * 500_000;
    let workers: Vec<WorkerRecord> = (0..count)
        .map(|number| WorkerRecord {
            index: number,
            operations: items + chain,
            ended_ns: ms(number.into()),
            ..WorkerRecord::default()
        })
        .collect();
    let mut line = Line::empty(verb.name(), verb);
    line.operations = (items + chain) * u64::from(count);
    (0..100).for_each(|number| line.latency.add(1000 + number * 100));
    let mut job = JobRecord { name: plan.name.clone(), workers, ..JobRecord::default() };
    job.tally.lines = vec![line];
    PhaseRecord {
        name: plan.name.clone(),
        index,
        repetition: plan.repetition,
        elapsed_ns: ms(count.into()),
        jobs: vec![job],
        ..PhaseRecord::default()
    }
}

/// What a command line's reporter writes of a run in which something may be changed.
pub fn told(
    line: &str,
    also: &[(&str, &str)],
    change: impl Fn(&mut PhaseRecord),
) -> (String, String, FilesInMemory) {
    let Request::Run(mut run) = request(line, also) else { panic!("{line}: not run") };
    let tasks =
        also.iter().find(|(name, _)| *name == "threads").map_or(1, |(_, count)| count.parse().unwrap());
    reported(&mut run, &[Verb::Create], |run, index| {
        let mut phase = phase(run, index, tasks);
        change(&mut phase);
        phase
    })
}

/// What a run's reporter writes where its phases went so, and each that keeps a journal has an entry of each verb.
pub fn reported(
    run: &mut Run,
    journaled: &[Verb],
    phase: impl Fn(&Run, usize) -> PhaseRecord,
) -> (String, String, FilesInMemory) {
    let started = RunStart {
        plan: run.plan.clone(),
        targets: Vec::new(),
        machine: Machine::default(),
        at_unix_ns: 1_795_287_492_000_000_000,
        world: Default::default(),
    };
    let mut events = vec![Event::Started(Box::new(started))];
    for index in 0..run.plan.phases.len() {
        let phase = phase(run, index);
        events.push(Event::PhaseStarted {
            index,
            count: run.plan.phases.len(),
            name: phase.name.clone(),
            repetition: phase.repetition,
            coordinates: Vec::new(),
        });
        if run.plan.phases[index].jobs[0].measure.journal.is_some() {
            let done = |verb| JournalEntry::Done {
                at_ns: 37_000,
                verb,
                file: 0,
                offset: 0,
                bytes: 0,
                submission_ns: 0,
                completion_ns: 30_000,
                latency_ns: 30_000,
                priority: 0,
            };
            events.push(Event::Journal(Box::new(JournalPart {
                phase: index,
                entries: journaled.iter().copied().map(done).collect(),
                ..Default::default()
            })));
        }
        events.push(Event::PhaseEnded(Box::new(phase)));
    }
    events.push(Event::Ended(Box::default()));
    let (mut out, mut err, mut files) = (Vec::new(), Vec::new(), FilesInMemory::default());
    for event in &events {
        run.reporter.event(event, &mut Output { out: &mut out, err: &mut err, files: &mut files }).unwrap();
    }
    (String::from_utf8(out).unwrap(), String::from_utf8(err).unwrap(), files)
}

#[test]
fn golden_texts_of_mdtest() {
    let mut text = String::new();
    let mut case = |line: &str, also: &[(&str, &str)], change: &dyn Fn(&mut PhaseRecord)| {
        let words: Vec<String> = also.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let (out, err, files) = told(line, also, change);
        text += &format!("$ {line}   # --also {}\n{out}", words.join(","));
        if !err.is_empty() {
            text += &format!("on standard error:\n{err}");
        }
        for (name, bytes) in files.0 {
            text += &format!("in {name}:\n{}\n", String::from_utf8(bytes).unwrap());
        }
        text += "\n";
    };
    let four = ("threads", "4");
    case("mdtest -n 1000 -d dir -i 3", &[four], &|_| ());
    case("mdtest -n 1000 -d dir -i 2", &[four, ("text", "3")], &|_| ());
    case("mdtest -n 1000 -d dir -F -w 8 -e 8 -P", &[four, ("percentiles", "")], &|_| ());
    let each = "mdtest -n 1000 -d dir -u -N 1 --print-all-procs --showRankStatistics --saveRankPerformanceDetails=R -R --random-seed 5";
    case(each, &[four], &|_| ());
    case("mdtest -n 1000 -F -C -d dir/new --savePerOpDataCSV=P", &[], &|_| ());
    let stonewall = |phase: &mut PhaseRecord| {
        if phase.name == "File creation" {
            let worn = WearOut {
                at_ns: 1_000_000_000,
                operations: 2500,
                operations_least: 400,
                operations_most: 800,
                ..WearOut::default()
            };
            phase.jobs[0].worn = Some(worn);
            phase.jobs[0].workers.iter_mut().for_each(|worker| worker.operations = 800);
        }
    };
    case("mdtest -n 1000000 -F -W 1 -x status -d dir -C -T", &[four], &stonewall);
    let failing = |phase: &mut PhaseRecord| {
        if phase.name == "File stat" {
            let error =
                ErrorCount { verb: Verb::Stat, errno: 2, count: 4000, first_offset: 0, first_target: 0 };
            phase.jobs[0].tally.errors = vec![error];
            phase.jobs[0].tally.lines[0].operations = 0;
            phase.jobs[0].workers.iter_mut().for_each(|worker| worker.operations = 0);
        }
    };
    case("mdtest -n 1000 -F -T -d dir -v", &[four], &failing);
    case("mdtest -n 1000 -D -f 2 -l 4 -s 2 -d dir -Z", &[four], &|_| ());
    golden("golden/mdtest/texts.txt", &text);
}
