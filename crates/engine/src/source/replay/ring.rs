//! The operations of a trace on their way from the thread that reads it to the loop that issues them.
//!
//! A few batches of fixed size that go round: the reader fills one after the other and sleeps when all are full; the loop
//! takes what is filled and never wakes, locks, allocates or waits.

use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

use iodyno_model::origin::plain;
use iodyno_trace::TraceError;
use iodyno_trace::replay::{Feed, FeedReport, OperationBatch, RangeOperation, ReplayOperation};

use crate::failure::Failure;
use crate::signal;

/// Operations of a batch, and batches: 32,768 operations ahead, 2.3 MiB, and 0.5 MiB where they are ranges.
const BATCH: usize = 4096;
const BATCHES: usize = 8;
/// How long the reader sleeps when it is ahead: the loop needs 0.3 ms for what it has, where nothing is slower than it.
const AHEAD: Duration = Duration::from_micros(100);
/// How long the loop's side waits at a time, before the start line and in virtual time.
const WAIT: Duration = Duration::from_micros(50);

struct BatchExchange {
    batches: [UnsafeCell<OperationBatch>; BATCHES],
    /// Batches filled and batches given back so far.
    filled: AtomicUsize,
    drained: AtomicUsize,
    /// Nothing more is filled.
    over: AtomicBool,
    /// Nothing more is wanted.
    stopped: AtomicBool,
    outcome: Mutex<Option<Result<FeedReport, TraceError>>>,
}

// SAFETY: batch n belongs to the reader while n is not filled, and to the loop from then until it is given back; both
// counters change hands with release and acquire.
unsafe impl Sync for BatchExchange {}

/// The loop's end.
pub struct OperationRing {
    shared: Arc<BatchExchange>,
    reader: Option<JoinHandle<()>>,
    /// Where the batch that is being taken lies, and how far it is taken: operations or ranges, the other is empty.
    batch: *const ReplayOperation,
    at: usize,
    length: usize,
    /// Ranges are counted over all batches: where the first one of all would lie, how many were taken, and how many there are.
    ranges: *const RangeOperation,
    range: usize,
    range_count: usize,
    /// Whether the ranges of this batch were recorded to have succeeded.
    pub ranges_succeeded: bool,
    /// Whether ranges were left out.
    is_cut: bool,
    /// Whether it has a batch.
    holds: bool,
    drained: usize,
}

// SAFETY: the pointers are into a batch that belongs to whoever has this end.
unsafe impl Send for OperationRing {}

impl OperationRing {
    /// Starts a thread that reads ahead, and waits until the first operations are there.
    ///
    /// # Errors
    /// No thread can be started.
    pub fn start(feed: Feed) -> Result<OperationRing, Failure> {
        let shared = Arc::new(BatchExchange {
            batches: std::array::from_fn(|_| UnsafeCell::new(OperationBatch::with_capacity(BATCH))),
            filled: AtomicUsize::new(0),
            drained: AtomicUsize::new(0),
            over: AtomicBool::new(false),
            stopped: AtomicBool::new(false),
            outcome: Mutex::new(None),
        });
        let theirs = Arc::clone(&shared);
        let reader = Builder::new().name("trace reader".into()).spawn(move || read(feed, &theirs));
        let reader = reader.map_err(|error| {
            Failure::new(format!("cannot start the thread that reads the trace: {}", plain(&error)))
                .errno(error.raw_os_error().unwrap_or(libc::EAGAIN))
        })?;
        let ring = OperationRing {
            shared,
            reader: Some(reader),
            batch: std::ptr::null(),
            at: 0,
            length: 0,
            ranges: std::ptr::null(),
            range: 0,
            range_count: 0,
            ranges_succeeded: false,
            is_cut: false,
            holds: false,
            drained: 0,
        };
        ring.await_filled();
        Ok(ring)
    }

    /// Waits until something is there, or nothing more comes: outside the loop, and where time stands still meanwhile.
    pub fn await_filled(&self) {
        while self.shared.filled.load(Ordering::Acquire) == self.drained + usize::from(self.holds)
            && !self.shared.over.load(Ordering::Acquire)
        {
            std::thread::park_timeout(WAIT);
        }
    }

    /// Takes the next range, where it is at hand.
    #[inline(always)]
    pub fn take_range(&mut self) -> Option<RangeOperation> {
        if self.range == self.range_count {
            return None;
        }
        // SAFETY: `range` numbers one of the ranges in the batch, which belongs to this end until it is given back.
        let range = unsafe { *self.ranges.wrapping_add(self.range) };
        self.range += 1;
        Some(range)
    }

    /// How many ranges were taken so far.
    #[inline(always)]
    pub fn ranges_taken(&self) -> u64 {
        self.range as u64
    }

    /// How many ranges come next; nothing else comes before them.
    pub fn ranges(&mut self) -> usize {
        if self.at == self.length && self.range == self.range_count {
            self.turn();
        }
        self.range_count - self.range
    }

    /// Waits until the next operation is at hand, or nothing more comes.
    pub fn await_next(&mut self) {
        while self.ranges() == 0 && self.is_taken() && !self.is_over() {
            self.await_filled();
        }
    }

    /// No more than so many of the ranges at hand are wanted.
    pub fn limit_ranges(&mut self, most: usize) {
        let count = self.range_count.min(self.range.saturating_add(most));
        self.is_cut |= count < self.range_count;
        self.range_count = count;
    }

    /// The next operation, which stays the next until it is [taken](Self::take); none where ranges come next.
    #[inline(always)]
    pub fn peek(&mut self) -> Option<&ReplayOperation> {
        if self.at == self.length && (self.ranges() > 0 || self.length == 0) {
            return None;
        }
        // SAFETY: `at` is below the length of the batch, which belongs to this end until it is given back.
        Some(unsafe { &*self.batch.add(self.at) })
    }

    /// Takes the operation that was looked at.
    #[inline(always)]
    pub fn take(&mut self) {
        self.at += 1;
    }

    /// Gives the batch back and goes on with the next, where there is one.
    #[inline(never)]
    fn turn(&mut self) {
        if std::mem::take(&mut self.holds) {
            self.drained += 1;
            self.shared.drained.store(self.drained, Ordering::Release);
            (self.at, self.length, self.range_count) = (0, 0, self.range);
        }
        if self.shared.filled.load(Ordering::Acquire) == self.drained {
            return;
        }
        // SAFETY: the batch is filled, so the reader does not touch it until it is given back.
        let batch = unsafe { &*self.shared.batches[self.drained % BATCHES].get() };
        (self.batch, self.length) = (batch.operations.as_ptr(), batch.operations.len());
        self.ranges = batch.ranges.as_ptr().wrapping_sub(self.range);
        self.range_count = self.range + batch.ranges.len();
        (self.ranges_succeeded, self.holds) = (batch.ranges_succeeded, true);
    }

    /// Whether nothing is left of what was filled so far.
    fn is_taken(&self) -> bool {
        self.at == self.length && self.range == self.range_count
    }

    /// Whether all was taken, also after another look.
    pub fn is_empty(&mut self) -> bool {
        self.ranges() == 0 && self.is_taken() && !self.is_cut
    }

    /// Whether nothing more comes, once [`peek`](Self::peek) finds nothing.
    pub fn is_over(&self) -> bool {
        self.shared.over.load(Ordering::Acquire)
            && self.shared.filled.load(Ordering::Acquire) == self.drained + usize::from(self.holds)
            && self.is_taken()
    }

    /// What the reader has come to, once it is over.
    pub fn outcome(&self) -> Option<Result<FeedReport, TraceError>> {
        self.shared.outcome.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Ends the reader; what it has come to, or why it ended early.
    pub fn close(&mut self) -> Option<Result<FeedReport, TraceError>> {
        self.shared.stopped.store(true, Ordering::Release);
        if let Some(reader) = self.reader.take() {
            reader.thread().unpark();
            _ = reader.join();
        }
        self.outcome()
    }
}

impl Drop for OperationRing {
    fn drop(&mut self) {
        _ = self.close();
    }
}

/// What the reader does.
fn read(mut feed: Feed, shared: &BatchExchange) {
    signal::block_in_this_thread();
    let mut outcome = Ok(());
    while !shared.stopped.load(Ordering::Acquire) {
        let filled = shared.filled.load(Ordering::Relaxed);
        if filled - shared.drained.load(Ordering::Acquire) == BATCHES {
            std::thread::park_timeout(AHEAD);
            continue;
        }
        // SAFETY: the batch was given back, or never filled: it belongs to this thread until `filled` says otherwise.
        let batch = unsafe { &mut *shared.batches[filled % BATCHES].get() };
        outcome = feed.fill(BATCH, batch);
        if batch.is_empty() {
            break;
        }
        shared.filled.store(filled + 1, Ordering::Release);
        if outcome.is_err() {
            break;
        }
    }
    let outcome = outcome.map(|()| feed.report());
    *shared.outcome.lock().unwrap_or_else(PoisonError::into_inner) = Some(outcome);
    shared.over.store(true, Ordering::Release);
}
