//! Which workers end together: a worker that ends stops others where its job says so, and each failure is reported.
//!
//! The conductor asks whenever a worker has ended. This module only sets stop flags.

use std::sync::atomic::Ordering::Relaxed;

use iodyno_model::{Diagnostic, ExitOn, ExitWhat, PhaseRecord, Plan, WorkerRecord};

use super::{PhaseContext, StopScope, worker_failure};
use crate::failure::strerror;

/// What ends have been seen in a phase.
pub struct ExitPolicy {
    /// By worker; empty where no job takes anybody along.
    seen: Vec<bool>,
    known: u32,
}

impl ExitPolicy {
    /// Nobody has ended yet.
    pub(crate) fn new(context: &PhaseContext) -> Self {
        let takes_along = context.phase().jobs.iter().any(|job| job.exit.is_some());
        let workers = if takes_along { context.seats.len() } else { 0 };
        ExitPolicy { seen: vec![false; workers], known: 0 }
    }

    /// StopScope newly ended workers take along; `over` workers have ended so far.
    pub(crate) fn look(&mut self, context: &PhaseContext, over: u32) -> Vec<StopScope> {
        let mut along = Vec::new();
        if self.seen.is_empty() || over == self.known {
            return along;
        }
        self.known = over;
        for number in 0..self.seen.len() {
            let counters = context.counters.of(number);
            if self.seen[number] || counters.head.over.load(Relaxed) == 0 {
                continue;
            }
            self.seen[number] = true;
            let job = &context.phase().jobs[context.seats[number].0];
            let failed = counters.ended_by().is_some();
            if let Some(exit) = job.exit.filter(|exit| failed || exit.on == ExitOn::End) {
                along.push(match exit.what {
                    ExitWhat::Set => StopScope::Set(job.set),
                    ExitWhat::Phase => StopScope::Phase,
                    ExitWhat::Run => StopScope::Run,
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
