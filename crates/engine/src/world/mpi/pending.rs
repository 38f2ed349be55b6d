//! A call of MPI that goes on while something else is done: it is tested now and then, and never waited for by
//! spinning, since on a crowded machine that takes the processor from the very ranks that are waited for.

use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use super::abi::Handle;
use super::library::{Calls, Library};
use crate::clock::{self, Tick};
use crate::world::{BrokenWorld, Patience};

/// A request, and the memory that the library uses until it is done.
///
/// The memory is whatever is on the heap behind `kept`. Dropped too early, it is leaked rather than freed.
pub(crate) struct Pending<B: Default> {
    library: &'static Library,
    call: &'static str,
    request: Handle,
    done: bool,
    kept: B,
}

impl<B: Default> Pending<B> {
    /// Begins a call: `start` hands the memory behind `kept` over to the library.
    ///
    /// # Errors
    /// The library refuses it.
    pub(crate) fn begin(
        library: &'static Library,
        call: &'static str,
        mut kept: B,
        start: impl FnOnce(&Calls, &mut B, *mut Handle) -> c_int,
    ) -> Result<Self, BrokenWorld> {
        let mut request = 0;
        let class = start(&library.calls, &mut kept, &raw mut request);
        let flight = Pending { library, call, request, done: false, kept };
        if class == 0 { Ok(flight) } else { Err(BrokenWorld(library.words(call, class))) }
    }

    /// Whether it is done; never waits.
    ///
    /// # Errors
    /// It went wrong, mostly because a rank is gone.
    pub(crate) fn is_done(&mut self) -> Result<bool, BrokenWorld> {
        if self.done {
            return Ok(true);
        }
        let mut done = 0;
        let ignore = self.library.abi.status_ignore as *mut _;
        // SAFETY: the request is one of this library's that was not completed yet, the flag is valid for writing.
        let class = unsafe { (self.library.calls.test)(&raw mut self.request, &raw mut done, ignore) };
        if class != 0 {
            return Err(BrokenWorld(self.library.words(self.call, class)));
        }
        self.done = done != 0;
        Ok(self.done)
    }

    /// What it worked on, once it is done.
    pub(crate) fn kept(&mut self) -> B {
        debug_assert!(self.done, "the library still uses it");
        std::mem::take(&mut self.kept)
    }

    /// Waits until it is done.
    ///
    /// # Errors
    /// It went wrong, or patience has ended; then the library keeps the memory.
    pub(crate) fn wait(mut self, patience: Patience<'_>) -> Result<B, BrokenWorld> {
        let pause = Pause::begin();
        while !self.is_done()? {
            if !patience() {
                return Err(BrokenWorld(format!("given up while waiting for other ranks ({})", self.call)));
            }
            pause.once();
        }
        Ok(self.kept())
    }
}

impl<B: Default> Drop for Pending<B> {
    fn drop(&mut self) {
        if !self.done {
            std::mem::forget(std::mem::take(&mut self.kept));
        }
    }
}

/// How long to sleep between two looks: the longer it has taken, the longer, so that each step of a wait grows by
/// little: a collective has several, and what one rank is late by, all others sleep longer for.
pub(crate) struct Pause {
    since: Tick,
}

/// For so long it is only yielded: most of what is waited for on a quiet machine arrives by then, ns.
const YIELD_NS: u64 = 10_000;
const SHORTEST_NS: u64 = 20_000;
/// The longest pause, ns: longer where many ranks share few processors.
static LONGEST_NS: AtomicU64 = AtomicU64::new(1_000_000);

/// What one look costs, ns, and the share of a machine that waiting may take.
const LOOK_NS: u64 = 8_000;
const SHARE: u64 = 20;

/// So many ranks are on this machine, with so many processors: all of them looking must leave it to those who work.
pub(super) fn crowd(ranks: u32, cpus: u32) {
    let fair_ns = LOOK_NS * SHARE * u64::from(ranks) / u64::from(cpus.max(1));
    LONGEST_NS.store(fair_ns.clamp(1_000_000, 10_000_000), Relaxed);
}

/// Where a list lies that is handed to MPI. An empty one's address is a small number in Rust, and one of them is what
/// some libraries take for `MPI_IN_PLACE`.
pub(super) fn start_of<T>(list: &[T]) -> *const c_void {
    if list.is_empty() { std::ptr::null() } else { list.as_ptr().cast() }
}

/// The same for a list that the library writes to.
pub(super) fn room_of<T>(list: &mut [T]) -> *mut c_void {
    if list.is_empty() { std::ptr::null_mut() } else { list.as_mut_ptr().cast() }
}

impl Pause {
    pub(crate) fn begin() -> Pause {
        Pause { since: clock::monotonic() }
    }

    /// One pause.
    pub(crate) fn once(&self) {
        let waited = clock::monotonic().saturating_sub(self.since);
        if waited < YIELD_NS {
            std::thread::yield_now();
        } else {
            clock::sleep_ns((waited / 32).clamp(SHORTEST_NS, LONGEST_NS.load(Relaxed)));
        }
    }
}
