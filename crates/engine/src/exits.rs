//! Who ends with whom: workers that end take others along where their jobs say so, and each failure is told.
//!
//! The conductor looks whenever somebody is over. Ends nobody by itself: it only says stop.

use std::sync::atomic::Ordering::Relaxed;

use iodyno_model::{Diagnostic, ExitOn, ExitWhat, PhaseRecord, Plan, WorkerRecord};

use crate::conductor::{Stage, Whom, worker_failure};
use crate::open::strerror;

/// What ends have been seen in a phase.
pub struct Exits {
    /// By worker; empty where no job takes anybody along.
    seen: Vec<bool>,
    known: u32,
}

impl Exits {
    /// Nobody has ended yet.
    pub(crate) fn new(stage: &Stage) -> Self {
        let takes_along = stage.phase().jobs.iter().any(|job| job.exit.is_some());
        let workers = if takes_along { stage.seats.len() } else { 0 };
        Exits { seen: vec![false; workers], known: 0 }
    }

    /// Whom newly ended workers take along; `over` workers have ended so far.
    pub(crate) fn look(&mut self, stage: &Stage, over: u32) -> Vec<Whom> {
        let mut along = Vec::new();
        if self.seen.is_empty() || over == self.known {
            return along;
        }
        self.known = over;
        for number in 0..self.seen.len() {
            let sheet = stage.sheets.sheet(number);
            if self.seen[number] || sheet.head.over.load(Relaxed) == 0 {
                continue;
            }
            self.seen[number] = true;
            let job = &stage.phase().jobs[stage.seats[number].0];
            let failed = sheet.ended_by().is_some();
            if let Some(exit) = job.exit.filter(|exit| failed || exit.on == ExitOn::End) {
                along.push(match exit.what {
                    ExitWhat::Set => Whom::Set(job.set),
                    ExitWhat::Phase => Whom::Phase,
                    ExitWhat::Run => Whom::Run,
                });
            }
        }
        along
    }
}

/// What ended each worker that failed, where each stands alone.
pub fn failures(plan: &Plan, phase: &PhaseRecord) -> Vec<Diagnostic> {
    let of = |job: &iodyno_model::JobRecord| {
        let who = |worker: &WorkerRecord| match job.workers.len() {
            1 => format!("{}: ", job.name),
            _ => format!("{}, worker {}: ", job.name, worker.index),
        };
        let told = |worker: &WorkerRecord| {
            let text = worker.failure.clone().or_else(|| by_operation(plan, worker))?;
            Some(worker_failure(&who(worker), &text))
        };
        job.workers.iter().filter_map(told).collect::<Vec<_>>()
    };
    phase.jobs.iter().flat_map(of).collect()
}

/// The operation whose error ended a worker.
fn by_operation(plan: &Plan, worker: &WorkerRecord) -> Option<String> {
    let fatal = worker.fatal.as_ref()?;
    let target = fatal.target.and_then(|index| plan.targets.get(index as usize));
    let on = target.map_or(String::new(), |target| format!(" of {}", target.name));
    let verb = fatal.verb.map_or(String::from("operation"), |verb| verb.to_string());
    let why = match fatal.errno {
        code if code < 0 => iodyno_model::tally::corruption(code).unwrap_or("corrupt").to_string(),
        errno => strerror(errno),
    };
    Some(format!("{verb}{on} at {}: {why}", fatal.offset))
}
