//! Which operations have ended of a trace that several workers divide, for those that wait for them.
//!
//! A ring of as many places as a window holds, in memory that threads and forked processes share. An operation is taken into
//! a window only once all that lie as far back have ended, so that nobody asks for the one that had its place before.

use std::sync::Arc;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicU32, AtomicU64};

use iodyno_trace::replay::WINDOW;

use crate::clock::Tick;
use crate::memory::Mapping;

const SIZE: usize = WINDOW as usize;

/// The end of an operation; zero is: none had this place.
#[repr(C)]
struct End {
    /// The operation's number + 1.
    number: AtomicU64,
    at: AtomicU64,
}

/// What the workers of a job share. A clone is another view of the same.
#[derive(Clone, Debug)]
pub struct SharedEnds {
    mapping: Arc<Mapping>,
    workers: u32,
}

impl SharedEnds {
    /// For so many workers. To be made before any of them exists.
    ///
    /// # Errors
    /// The system's error number.
    pub fn new(workers: u32) -> Result<SharedEnds, i32> {
        let bytes = SIZE * size_of::<End>() + workers as usize * size_of::<AtomicU32>();
        Ok(SharedEnds { mapping: Arc::new(Mapping::shared(bytes)?), workers })
    }

    fn place(&self, number: u64) -> &End {
        // SAFETY: the mapping begins with that many places, is zeroed and aligned to pages, and a place consists of atomics
        // only, for which zero is a value.
        unsafe { &*self.mapping.start().cast::<End>().add(number as usize % SIZE) }
    }

    /// Whether a worker has left.
    fn left(&self, worker: u32) -> &AtomicU32 {
        assert!(worker < self.workers);
        // SAFETY: behind the places the mapping holds a number for each worker (checked), zeroed and aligned.
        unsafe {
            &*self.mapping.start().add(SIZE * size_of::<End>()).cast::<AtomicU32>().add(worker as usize)
        }
    }
}

/// One worker's end of it. Once it is dropped nobody waits for the worker any more.
#[derive(Debug)]
pub struct WorkerEnds {
    shared: SharedEnds,
    worker: u32,
}

impl WorkerEnds {
    pub fn new(shared: SharedEnds, worker: u32) -> WorkerEnds {
        WorkerEnds { shared, worker }
    }

    /// An operation of this worker has ended.
    #[inline]
    pub fn end(&self, number: u64, at: Tick) {
        let place = self.shared.place(number);
        place.at.store(at, Relaxed);
        place.number.store(number + 1, Release);
    }

    /// When an operation of another worker ended; of one that has left nothing is waited for.
    #[inline]
    pub fn ended(&self, number: u64, worker: u32) -> Option<Tick> {
        let place = self.shared.place(number);
        if place.number.load(Acquire) > number {
            return Some(place.at.load(Relaxed));
        }
        (self.shared.left(worker).load(Acquire) > 0).then_some(0)
    }
}

impl Drop for WorkerEnds {
    fn drop(&mut self) {
        self.shared.left(self.worker).store(1, Release);
    }
}
