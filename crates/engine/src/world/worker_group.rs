//! The workers of one rank: seats on threads of this process or in forked processes.
//!
//! A group starts its workers, notices when one of them dies, and waits for them. It does not know what they do.

use std::sync::Arc;

use super::processes;
use super::threads::{ThreadPool, WorkerThread};
use crate::clock::{self, Tick};
use crate::signal;

/// What a worker does on its seat. The number is its place among all workers of the phase.
pub type Task = Arc<dyn Fn(u32) + Send + Sync>;

/// Workers that were started.
#[derive(Default)]
pub struct WorkerGroup {
    threads: Vec<(u32, WorkerThread)>,
    children: Vec<processes::Child>,
    /// Before this time nobody asks again who died: with thousands of processes the question is dear.
    next_look: Tick,
}

/// Those who were started, the numbers of those who could not be, and why.
pub type Missing = (WorkerGroup, Vec<u32>, String);

/// With thousands of workers a user need not wait until all are there.
fn not_stopped() -> Result<(), String> {
    match signal::interruptions().0 {
        0 => Ok(()),
        _ => Err("stopped while workers were started".into()),
    }
}

/// How often it is asked who died, ns.
const LOOK_NS: u64 = 20_000_000;

impl WorkerGroup {
    /// Forks the processes first, while there is no other thread, then starts the threads that the pool has not kept.
    ///
    /// # Errors
    /// Those who could not be started, from the first on, and why.
    pub fn start(
        task: &Task,
        processes: &[u32],
        threads: &[u32],
        pool: &mut ThreadPool,
    ) -> Result<WorkerGroup, Missing> {
        let mut group = WorkerGroup::default();
        if !processes.is_empty() {
            pool.clear();
        }
        for (place, number) in processes.iter().enumerate() {
            match not_stopped().and_then(|()| processes::fork(task, *number)) {
                Ok(child) => group.children.push(child),
                Err(reason) => return Err((group, [&processes[place..], threads].concat(), reason)),
            }
        }
        for (place, number) in threads.iter().enumerate() {
            match not_stopped().and_then(|()| pool.take(*number)) {
                Ok(thread) => {
                    thread.run(task);
                    group.threads.push((*number, thread));
                }
                Err(reason) => return Err((group, threads[place..].to_vec(), reason)),
            }
        }
        Ok(group)
    }

    /// Numbers of processes that have died since the last call, and how.
    pub fn deaths(&mut self) -> Vec<(u32, String)> {
        let now = clock::monotonic();
        if now < self.next_look {
            return Vec::new();
        }
        self.next_look = now + LOOK_NS;
        processes::reap(&mut self.children)
    }

    /// Interrupts the system calls in which chosen workers wait: a read of a silent pipe would never see the stop flag.
    pub fn nudge(&self, whom: impl Fn(u32) -> bool) {
        self.threads.iter().filter(|(number, _)| whom(*number)).for_each(|(_, thread)| thread.nudge());
        self.children.iter().filter(|child| whom(child.number)).for_each(processes::nudge);
    }

    /// Waits for everybody.
    pub fn join(self) {
        self.join_and_keep(&mut ThreadPool::default(), |_| false);
    }

    /// The same; the pool keeps those threads whose worker left them as they were.
    pub fn join_and_keep(mut self, pool: &mut ThreadPool, is_unchanged: impl Fn(u32) -> bool) {
        for (number, thread) in self.threads.drain(..) {
            match thread.wait() && is_unchanged(number) {
                true => pool.keep(number, thread),
                false => thread.end(),
            }
        }
        processes::wait(&mut self.children);
    }

    /// Leaves threads behind that hang in the kernel, and kills processes.
    pub fn abandon(mut self) {
        processes::kill(&mut self.children);
    }
}
