//! Results of workers that are no counters: verdicts of cases, the outcome of an exercise.
//!
//! Worker threads write now and then; the conductor reads while it reports progress. The hot loop never comes here.

use std::sync::{Mutex, PoisonError};

use iodyno_model::{CaseRecord, ExerciseRecord, ReplayRecord};

/// The findings of one phase's workers, by job.
pub struct WorkerFindings {
    jobs: Mutex<Vec<Entries>>,
}

/// What the workers of one job wrote.
#[derive(Clone, Debug, Default)]
pub struct Entries {
    /// Cases in the order in which they ended.
    pub cases: Vec<CaseRecord>,
    /// How many of them were told of.
    told: usize,
    /// An exercise that is over.
    pub exercise: Option<ExerciseRecord>,
    /// How faithful the workers that have ended replayed their trace.
    pub replay: Option<Box<ReplayRecord>>,
    /// Features and why they are missing, where they are.
    pub features: Vec<(String, Option<String>)>,
}

impl Entries {
    /// Adds what one worker's replay came to.
    pub fn replay(&mut self, record: ReplayRecord) {
        match &mut self.replay {
            Some(all) => all.merge(&record),
            None => self.replay = Some(Box::new(record)),
        }
    }
}

impl WorkerFindings {
    pub fn new(jobs: usize) -> Self {
        WorkerFindings { jobs: Mutex::new(vec![Entries::default(); jobs]) }
    }

    /// Changes what is written for a job.
    pub fn write<T>(&self, job: usize, change: impl FnOnce(&mut Entries) -> T) -> T {
        // A worker that panicked has written whole entries only.
        change(&mut self.jobs.lock().unwrap_or_else(PoisonError::into_inner)[job])
    }

    /// Cases that ended since the last call.
    pub fn news(&self, job: usize) -> Vec<CaseRecord> {
        self.write(job, |entries| {
            let new = entries.cases[entries.told..].to_vec();
            entries.told = entries.cases.len();
            new
        })
    }

    /// All that is written for a job.
    pub fn read(&self, job: usize) -> Entries {
        self.write(job, |entries| entries.clone())
    }
}
