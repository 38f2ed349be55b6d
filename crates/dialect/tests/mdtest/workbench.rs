//! md-workbench, the package's third program: the same of its command lines and texts.

use iodyno_dialect::{DIALECTS, Request, Run, md_workbench};
use iodyno_model::{ErrorCount, JobRecord, Line, PhaseRecord, Tally, Verb, WearOut, WorkerRecord, Workload};

use super::texts::reported;
use super::world::World;
use super::{golden, golden_answers, told_text};

fn request(line: &str, tasks: &str) -> Request {
    let words: Vec<String> = line.split(' ').skip(1).map(String::from).collect();
    let dialect = DIALECTS.iter().find(|dialect| dialect.name == "md-workbench").unwrap();
    let also = vec![("threads".to_string(), tasks.to_string())];
    (dialect.lower)(&words, &mut World { also }).unwrap_or_else(|wrong| panic!("{}", wrong[0]))
}

#[test]
fn golden_plans_of_md_workbench() {
    golden_answers("golden/md-workbench/plans.txt", |command| match request(command, "4") {
        Request::Run(run) => iodyno_report::plan::print(&run.plan),
        Request::Print { out, status } => format!("status {status}, on standard output:\n{out}"),
        Request::Refuse { err, status } => format!("status {status}, on standard error:\n{err}"),
        _ => "neither run nor printed\n".into(),
    });
}

#[test]
fn golden_documents_of_md_workbench() {
    golden("docs/md-workbench.md", &md_workbench::options::document());
    golden("golden/md-workbench/help.txt", &md_workbench::options::help());
}

/// The lines of a phase in which each step was done as often as there are passes.
fn lines(run: &Run, index: usize, tasks: u64) -> Vec<Line> {
    let job = &run.plan.phases[index].jobs[0];
    let Workload::Script(script) = &job.workload else { panic!("no script") };
    let mut lines: Vec<Line> = Vec::new();
    for step in &script.steps {
        let iodyno_model::Action::Do(operation) = &step.action else { continue };
        let verb = operation.verb;
        let count = step.repeat * job.limit.passes.unwrap_or(1) * tasks;
        if !lines.iter().any(|line| line.verb == verb) {
            lines.push(Line::empty(&step.label, verb));
        }
        let line = lines.iter_mut().find(|line| line.verb == verb).unwrap();
        line.operations += count;
        let base = 1000 * (verb as u64 % 7 + 1);
        (0..100).for_each(|number| line.latency.add(base + number * 100));
    }
    lines
}

fn phase(run: &Run, index: usize, tasks: u32) -> PhaseRecord {
    let plan = &run.plan.phases[index];
    let count = if plan.name == "directory removal" { 1 } else { tasks };
    let worker = |number: u32| WorkerRecord {
        index: number,
        ended_ns: (index as u64 + 1) * 10_000_000 + u64::from(number) * 1_000_000,
        tally: plan.jobs[0]
            .measure
            .each
            .then(|| Box::new(Tally { lines: lines(run, index, 1), ..Tally::default() })),
        ..WorkerRecord::default()
    };
    let mut job = JobRecord {
        name: plan.name.clone(),
        workers: (0..count).map(worker).collect(),
        ..JobRecord::default()
    };
    job.tally.lines = lines(run, index, count.into());
    let worn = WearOut { at_ns: 5_003_000_000, operations_most: 250, ..WearOut::default() };
    job.worn = plan.jobs[0].limit.wear_out.then_some(worn);
    PhaseRecord {
        name: plan.name.clone(),
        index,
        repetition: plan.repetition,
        elapsed_ns: 20_000_000,
        jobs: vec![job],
        ..PhaseRecord::default()
    }
}

/// What a command line's reporter writes of a run in which something may be changed.
fn told(line: &str, tasks: u32, change: impl Fn(&mut PhaseRecord)) -> String {
    let Request::Run(mut run) = request(line, &tasks.to_string()) else { panic!("{line}: not run") };
    let verbs = [Verb::Stat, Verb::Open, Verb::Unlink, Verb::Create];
    let written = reported(&mut run, &verbs, |run, index| {
        let mut phase = phase(run, index, tasks);
        change(&mut phase);
        phase
    });
    told_text(&format!("{line}   # --also threads={tasks}"), written, "\n")
}

#[test]
fn golden_texts_of_md_workbench() {
    let failed = |phase: &mut PhaseRecord| {
        if phase.name == "benchmark" {
            let stat = phase.jobs[0].tally.lines.iter_mut().find(|line| line.verb == Verb::Stat).unwrap();
            (stat.operations, stat.failed) = (stat.operations - 3, 3);
            let error = ErrorCount { verb: Verb::Stat, errno: 2, count: 3, first_offset: 7, first_target: 0 };
            phase.jobs[0].tally.errors = vec![error];
        }
        if phase.name == "directory removal" {
            phase.jobs[0].tally.lines[0].failed = 1;
        }
    };
    let text = [
        told("md-workbench -o dir -D 2 -I 100 -P 300 -R 2", 2, |_| ()),
        told("md-workbench -o dir -D 2 -I 100 -P 300 -R 1 -q", 1, |_| ()),
        told("md-workbench -o dir -D 2 -I 400 -P 300 -R 1", 2, failed),
        told("md-workbench -o dir -D 2 -I 400 -P 300 -R 1 --print-detailed-stats", 2, failed),
        told("md-workbench -o dir -D 2 -I 300 -P 300 -R 1 --process-reports", 2, |_| ()),
        told("md-workbench -o dir -D 2 -I 300 -P 300 -R 2 -w 5 -W -1 -2", 2, |_| ()),
        told("md-workbench -o dir -D 1 -I 30 -P 30 -R 1 -T -L lat", 1, |_| ()),
        told("md-workbench -o dir -D 1 -I 30 -P 30 -R 2 -2 --read-only --start-item 90", 1, |_| ()),
    ]
    .concat();
    golden("golden/md-workbench/texts.txt", &text);
}
