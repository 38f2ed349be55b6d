//! What the workers of a phase share and the conductor sets up for them: control groups and I/O schedulers. Put back
//! on drop.

use std::path::PathBuf;

use iodyno_model::{Diagnostic, Job, Phase, Plan};

use super::{cgroup, scheduler};
use crate::clock;
use crate::failure::Failure;
use crate::names::templates::{Asker, resolve};

/// How often a group is tried to be removed while its last members go.
const TRIES: u32 = 100;
/// Between two tries, ns.
const RETRY_NS: u64 = 5_000_000;

/// Control groups that were made, and schedulers that were chosen.
#[derive(Debug, Default)]
pub struct Surroundings {
    groups: Vec<PathBuf>,
    schedulers: Vec<scheduler::SchedulerChoice>,
}

impl Surroundings {
    /// Sets up what a phase's jobs ask for.
    ///
    /// # Errors
    /// One diagnostic for each job that cannot have it.
    pub fn new(plan: &Plan, phase: &Phase) -> Result<Self, Vec<Diagnostic>> {
        let (mut all, mut wrong) = (Surroundings::default(), Vec::new());
        for job in &phase.jobs {
            if let Err(failure) = all.add(plan, phase, job) {
                wrong.push(failure.diagnostic(&job.origin, &format!("job {}: ", job.name)));
            }
        }
        if wrong.is_empty() { Ok(all) } else { Err(wrong) }
    }

    fn add(&mut self, plan: &Plan, phase: &Phase, job: &Job) -> Result<(), Failure> {
        if let Some(group) = &job.placement.cgroup {
            self.groups.extend(cgroup::make(group)?);
        }
        let Some(name) = &job.placement.io_scheduler else { return Ok(()) };
        let asker = Asker::first(&job.name, phase.repetition);
        for target in job.targets.iter().map(|index| &plan.targets[*index]) {
            if let Some(path) = target.path() {
                self.schedulers.extend(scheduler::choose(&resolve(path, asker), name)?);
            }
        }
        Ok(())
    }
}

impl Drop for Surroundings {
    fn drop(&mut self) {
        for group in self.groups.drain(..).rev() {
            // A group is busy until the kernel has buried its last member.
            for _ in 0..TRIES {
                match std::fs::remove_dir(&group) {
                    Err(error) if error.raw_os_error() == Some(libc::EBUSY) => clock::sleep_ns(RETRY_NS),
                    _ => break,
                }
            }
        }
        // The last that was chosen goes first.
        while self.schedulers.pop().is_some() {}
    }
}
