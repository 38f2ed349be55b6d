//! A worker that runs cases: it finds a place for the sandbox, starts the guardian, hears what becomes of each case, and says stop.

use std::io::{PipeReader, pipe};
use std::os::fd::AsRawFd;
use std::path::Path;
use std::time::Duration;

use iodyno_model::{CaseRecord, Cases, Outcome, TargetKind, Workload};

use super::cleanup::{self, Task};
use super::keeper::News;
use super::order::RunMemory;
use super::process::{collect_within, is_privileged, readable, spawn};
use super::sandbox;
use super::watchdog::{self, Ending, Left};
use super::wire::{self, Inbox};
use crate::script::unrun;
use crate::start::run_from_start;
use iodyno_engine::Failure;
use iodyno_engine::clock::moment;
use iodyno_engine::worker::Worker;

/// How often it looks whether it is to stop.
const GLANCE: Duration = Duration::from_millis(20);
/// How long the guardian is waited for: a file system that hangs may keep it for ever.
const PATIENCE: Duration = Duration::from_secs(20);

/// Runs a job's cases.
///
/// # Errors
/// What keeps all of them from running, or what was left behind.
pub fn drive(worker: &mut Worker<'_>) -> Result<(), Failure> {
    let Workload::Cases(cases) = &worker.job.workload else {
        return Err(Failure::new("the engine cases runs cases"));
    };
    let target = worker.job.targets.first().map(|target| &worker.plan.targets[*target].kind);
    let Some(TargetKind::FileSet { root, .. }) = target else {
        return Err(Failure::new("cases want a directory"));
    };
    run_from_start(worker, |worker| run(worker, cases, Path::new(root)))
}

fn run(worker: &Worker<'_>, cases: &Cases, directory: &Path) -> Result<(), Failure> {
    let sandbox = sandbox::place(directory)?;
    let mut run = CaseRun { worker, cases, told: vec![false; cases.cases.len()] };
    let left = run.guarded(&sandbox);
    run.fill(if worker.barrier.is_stopped(worker.number) {
        "the run was stopped before"
    } else {
        "the processes that run the cases ended before"
    });
    match left? {
        left if left.is_empty() => Ok(()),
        left => Err(Failure::new(format!("{}: cannot be removed: {}", sandbox.display(), left.join("; ")))),
    }
}

/// A run as the worker sees it.
struct CaseRun<'a, 'b> {
    worker: &'a Worker<'b>,
    cases: &'a Cases,
    /// Which cases have a record.
    told: Vec<bool>,
}

impl CaseRun<'_, '_> {
    /// Starts the guardian, hears everybody out, and lets the guardian end the run. What is left is answered.
    fn guarded(&mut self, sandbox: &Path) -> Result<Left, Failure> {
        let told = |error| Failure::io("pipe", &error);
        let (their_life, life) = pipe().map_err(told)?;
        let (news, their_news) = pipe().map_err(told)?;
        let (report, their_report) = pipe().map_err(told)?;
        let order = RunMemory::new(self.cases, sandbox, is_privileged());
        let order = order.map_err(|errno| Failure::call("memory to share", errno))?;
        // Before the guardian is there, nothing is made that it would have to remove.
        let guardian = spawn(|| watchdog::guard(&order, their_life, their_news, their_report));
        let guardian = guardian.map_err(|errno| Failure::call("fork", errno))?;
        self.listen(news);
        // This is what it waits for.
        drop(life);
        await_report(report, guardian).unwrap_or_else(|| Ok(cleanup::clean(sandbox, Task::Remove)))
    }

    /// Hears what becomes of each case, until all is told or it is to stop.
    fn listen(&mut self, mut news: PipeReader) {
        let mut inbox = Inbox::default();
        while !self.worker.barrier.is_stopped(self.worker.number) {
            if !readable(&[news.as_raw_fd()], GLANCE)[0] {
                continue;
            }
            let goes_on = inbox.fill(&mut news);
            while let Some(news) = inbox.next() {
                self.hear(news);
            }
            if !goes_on {
                return;
            }
        }
    }

    fn hear(&mut self, news: News) {
        match news {
            News::Features(features) => {
                self.worker.findings.write(self.worker.index, |entries| entries.features = features);
            }
            News::Case(record) => self.note(record),
        }
    }

    fn note(&mut self, record: CaseRecord) {
        if let Some(told) = self.told.get_mut(record.case) {
            *told = true;
            self.worker.findings.write(self.worker.index, |entries| entries.cases.push(record));
        }
    }

    /// Makes a record for every case that has none.
    fn fill(&mut self, why: &str) {
        for index in (0..self.told.len()).filter(|index| !self.told[*index]).collect::<Vec<_>>() {
            self.note(unrun(&self.cases.cases[index].script, index, &Outcome::CouldNotRun(why.into())));
        }
    }
}

/// Waits for the guardian's report, and for its end where nothing is left; none: it ended without one.
fn await_report(mut report: PipeReader, guardian: libc::pid_t) -> Option<Ending> {
    let until = moment() + PATIENCE;
    while !readable(&[report.as_raw_fd()], Duration::from_millis(200))[0] {
        if moment() > until {
            return Some(Ok(vec!["the file system does not answer; it is removed once it does".into()]));
        }
    }
    let ending = wire::receive::<Ending>(&mut report).ok();
    if !matches!(&ending, Some(Ok(left)) if !left.is_empty()) {
        collect_within(guardian, PATIENCE);
    }
    ending
}
