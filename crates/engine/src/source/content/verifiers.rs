//! Threads that check beside the worker: it hands over a copy and goes on reading.
//!
//! A bounded queue: when all helpers are behind, the worker checks itself, so that no memory grows. Buffers come back
//! to be used again. Refuses to decide what a fault means: the worker asks for what was found.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use super::judge::{CheckedPiece, Judge, PieceFault};
use crate::failure::Failure;
use crate::placement;

/// Pieces that may wait for each helper.
const QUEUE: usize = 4;

struct Task {
    buffer: Vec<u8>,
    piece: CheckedPiece,
}

/// What worker and helpers share.
#[derive(Default)]
struct VerifyQueue {
    found: Mutex<Vec<PieceFault>>,
    spare: Mutex<Vec<Vec<u8>>>,
    trouble: AtomicBool,
}

/// The helpers of one worker. Dropping them waits until they are done.
pub struct Helpers {
    tasks: Option<SyncSender<Task>>,
    threads: Vec<JoinHandle<()>>,
    desk: Arc<VerifyQueue>,
}

fn locked<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Helpers {
    /// So many threads on these CPUs (none: any), each with its own judge.
    ///
    /// # Errors
    /// CPUs that cannot be used.
    pub fn new(count: u32, cpus: &[u32], judge: &Judge) -> Result<Self, Failure> {
        let (tasks, queue) = sync_channel(count as usize * QUEUE);
        let queue = Arc::new(Mutex::new(queue));
        let desk = Arc::new(VerifyQueue::default());
        let (ready, placed) = sync_channel(count as usize);
        let help = |_| {
            let (queue, desk, judge) = (queue.clone(), desk.clone(), judge.clone());
            let (ready, cpus) = (ready.clone(), cpus.to_vec());
            std::thread::spawn(move || {
                let place = if cpus.is_empty() { Ok(()) } else { placement::affinity(&cpus) };
                // Nobody listens only when the worker has given up already.
                let _ = ready.send(place);
                help(&queue, &desk, judge);
            })
        };
        let helpers = Helpers { tasks: Some(tasks), threads: (0..count).map(help).collect(), desk };
        drop(ready);
        placed.iter().take(count as usize).collect::<Result<(), Failure>>().map(|()| helpers)
    }

    /// Hands over a copy of a piece; whether somebody took it.
    pub fn take(&self, buffer: &[u8], piece: CheckedPiece) -> bool {
        let Some(tasks) = &self.tasks else { return false };
        let mut copy = locked(&self.desk.spare).pop().unwrap_or_default();
        copy.clear();
        copy.extend_from_slice(buffer);
        match tasks.try_send(Task { buffer: copy, piece }) {
            Ok(()) => true,
            Err(TrySendError::Full(task) | TrySendError::Disconnected(task)) => {
                locked(&self.desk.spare).push(task.buffer);
                false
            }
        }
    }

    /// Whether something was found that was not asked for yet.
    #[inline]
    pub fn trouble(&self) -> bool {
        self.desk.trouble.load(Ordering::Acquire)
    }

    /// What was found since the last time.
    #[cold]
    pub fn found(&self) -> Vec<PieceFault> {
        self.desk.trouble.store(false, Ordering::Release);
        std::mem::take(&mut *locked(&self.desk.found))
    }

    /// Waits until all pieces are checked.
    pub fn finish(&mut self) {
        self.tasks = None;
        for thread in self.threads.drain(..) {
            // A helper that panicked has reported it itself.
            let _ = thread.join();
        }
    }
}

impl Drop for Helpers {
    fn drop(&mut self) {
        self.finish();
    }
}

fn help(queue: &Mutex<Receiver<Task>>, desk: &VerifyQueue, mut judge: Judge) {
    loop {
        let task = locked(queue).recv();
        let Ok(mut task) = task else { return };
        if let Some(found) = judge.look(&mut task.buffer, task.piece) {
            locked(&desk.found).push(*found);
            desk.trouble.store(true, Ordering::Release);
        }
        locked(&desk.spare).push(task.buffer);
    }
}
