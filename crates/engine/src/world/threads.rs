//! Workers as threads of this process, which stay from phase to phase.
//!
//! A small file's second pass runs from the caches of the processor that made the first. Only a thread that stays finds
//! them: a new one begins on whichever processor is idle.

use std::collections::BTreeMap;
use std::os::unix::thread::JoinHandleExt;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{Builder, JoinHandle};

use super::worker_group::Task;
use crate::{clock, signal};

/// Stack of a worker; its buffers are elsewhere.
const STACK_BYTES: usize = 256 * 1024;

/// A thread that carries out one worker's task after another.
pub struct WorkerThread {
    thread: JoinHandle<()>,
    tasks: Sender<Task>,
    done: Receiver<()>,
}

impl WorkerThread {
    /// Starts a thread for the worker of that number.
    ///
    /// # Errors
    /// The system's reason.
    pub fn start(number: u32) -> Result<WorkerThread, String> {
        let (tasks, todo) = channel::<Task>();
        let (finished, done) = channel();
        let thread = Builder::new()
            .name(format!("worker {number}"))
            .stack_size(STACK_BYTES)
            .spawn(move || {
                signal::block_in_this_thread();
                clock::wake_in_time();
                for task in todo {
                    task(number);
                    // What the phase shares is gone before the phase is over.
                    drop(task);
                    if finished.send(()).is_err() {
                        return;
                    }
                }
            })
            .map_err(|error| format!("cannot start a thread: {error}"))?;
        Ok(WorkerThread { thread, tasks, done })
    }

    /// Has it carry out a task.
    pub fn run(&self, task: &Task) {
        // It takes tasks as long as this end of the channel is there.
        let _ = self.tasks.send(Arc::clone(task));
    }

    /// Waits until the task is done. Whether the thread can take another: it cannot after a panic.
    pub fn wait(&self) -> bool {
        self.done.recv().is_ok()
    }

    /// Interrupts the system call that it is in.
    pub fn nudge(&self) {
        if !self.thread.is_finished() {
            let thread = self.thread.as_pthread_t() as libc::pthread_t;
            // SAFETY: the thread was not joined, so its handle is valid; the signal has a handler that does nothing.
            unsafe { libc::pthread_kill(thread, signal::NUDGE) };
        }
    }

    /// Ends it, once its task is done.
    pub fn end(self) {
        drop(self.tasks);
        // A worker's panic was caught and noted on its counters.
        let _ = self.thread.join();
    }
}

/// Threads between two phases, by the number of their worker.
#[derive(Default)]
pub struct ThreadPool {
    idle: BTreeMap<u32, WorkerThread>,
    /// Workers of this number and above have none that stays.
    most: u32,
}

impl ThreadPool {
    /// A pool that keeps a thread for each of so many processors. Beyond that they take the caches from each other anyway.
    pub fn of(processors: usize) -> ThreadPool {
        ThreadPool { idle: BTreeMap::new(), most: processors as u32 }
    }

    /// The thread that the worker of that number had in the phase before, or a new one.
    ///
    /// # Errors
    /// The system's reason.
    pub fn take(&mut self, number: u32) -> Result<WorkerThread, String> {
        self.idle.remove(&number).map_or_else(|| WorkerThread::start(number), Ok)
    }

    /// Keeps a thread for the next phase, if there is a processor for it.
    pub fn keep(&mut self, number: u32, thread: WorkerThread) {
        match number < self.most {
            true => drop(self.idle.insert(number, thread)),
            false => thread.end(),
        }
    }

    /// Ends all of them.
    pub fn clear(&mut self) {
        std::mem::take(&mut self.idle).into_values().for_each(WorkerThread::end);
    }
}

impl Drop for ThreadPool {
    fn drop(&mut self) {
        self.clear();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;
    use std::thread::{ThreadId, current};

    use super::*;

    fn ids(pool: &mut ThreadPool, numbers: &[u32], kept: bool) -> Vec<ThreadId> {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let task: Task = Arc::new({
            let seen = Arc::clone(&seen);
            move |_| seen.lock().unwrap().push(current().id())
        });
        for number in numbers {
            let thread = pool.take(*number).unwrap();
            thread.run(&task);
            assert!(thread.wait());
            if kept { pool.keep(*number, thread) } else { thread.end() }
        }
        Arc::try_unwrap(seen)
            .map_or_else(|seen| seen.lock().unwrap().clone(), |seen| seen.into_inner().unwrap())
    }

    #[test]
    fn the_next_phase_has_the_same_thread() {
        let mut pool = ThreadPool::of(1);
        let first = ids(&mut pool, &[0], true);
        assert_eq!(ids(&mut pool, &[0], false), first);
        assert_ne!(ids(&mut pool, &[0], true), first, "it was ended");
    }

    #[test]
    fn a_task_is_gone_when_it_is_done() {
        let mut pool = ThreadPool::of(1);
        let shared = Arc::new(());
        let task: Task = Arc::new({
            let shared = Arc::clone(&shared);
            move |_| assert!(Arc::strong_count(&shared) > 1)
        });
        let thread = pool.take(0).unwrap();
        thread.run(&task);
        drop(task);
        assert!(thread.wait());
        assert_eq!(Arc::strong_count(&shared), 1);
        pool.keep(0, thread);
    }
}
