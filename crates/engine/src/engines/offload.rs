//! Operations handed over by helper threads, one for each slot: a call that blocks holds up neither the worker's schedule
//! nor the other operations.
//!
//! Not an engine of its own name: jobs that ask for [`iodyno_model::Submit::Offload`] are driven by it instead of their
//! engine. Each helper makes the plain call of every verb. It refuses to open: helpers see the files that were open at
//! the start.

use std::mem::ManuallyDrop;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU32, Ordering};
use std::thread::{Builder, JoinHandle, Thread};
use std::time::Duration;

use super::{Engine, EngineFacts, Failure, Setup};
use crate::call;
use crate::clock::{self, NEVER, Tick};
use crate::io::{Files, Handle, Io, Slot};
use crate::signal;

const IDLE: u32 = 0;
const POSTED: u32 = 1;
const DONE: u32 = 2;
const QUIT: u32 = 3;

/// Stack of a helper; it makes one call.
const STACK_BYTES: usize = 128 * 1024;
/// The longest sleep without looking, ns.
const SLICE_NS: u64 = 50_000_000;

/// What passes between the worker and one helper.
struct Post {
    state: AtomicU32,
    result: AtomicI64,
    /// Written by the worker while idle, read by the helper while posted.
    io: std::cell::UnsafeCell<Io>,
}

// SAFETY: `io` belongs to the worker while the state is idle or done, and to the helper while it is posted; the state
// changes hands with release and acquire. The buffer it points to belongs to the slot.
unsafe impl Sync for Post {}
// SAFETY: as above.
unsafe impl Send for Post {}

/// The helpers of one worker.
pub struct Offload {
    posts: Arc<[Post]>,
    helpers: Vec<JoinHandle<()>>,
    in_flight: u32,
}

impl Engine for Offload {
    const FACTS: EngineFacts =
        EngineFacts { about: "calls made by helper threads", is_slow: true, ..EngineFacts::named("offload") };

    fn start(setup: &Setup<'_>) -> Result<Self, Failure> {
        let post = |_| Post {
            state: AtomicU32::new(IDLE),
            result: AtomicI64::new(0),
            io: std::cell::UnsafeCell::new(Io::default()),
        };
        let posts: Arc<[Post]> = (0..setup.depth).map(post).collect();
        let mut offload = Offload { posts, helpers: Vec::new(), in_flight: 0 };
        for slot in 0..setup.depth as usize {
            let (posts, files, worker) =
                (Arc::clone(&offload.posts), copied(setup.files), std::thread::current());
            let helper = Builder::new()
                .name(format!("helper {slot}"))
                .stack_size(STACK_BYTES)
                .spawn(move || help(&posts[slot], files, &worker))
                .map_err(|error| {
                    Failure::new(format!("cannot start a helper thread: {error}"))
                        .errno(error.raw_os_error().unwrap_or(libc::EAGAIN))
                        .hint("a smaller depth needs fewer helpers")
                })?;
            offload.helpers.push(helper);
        }
        Ok(offload)
    }

    fn push(&mut self, slot: Slot, io: &Io, _files: &mut Files) {
        let post = &self.posts[slot as usize];
        // SAFETY: the slot is free, so its helper does not look at it before the state says so.
        unsafe { *post.io.get() = *io };
        post.state.store(POSTED, Ordering::Release);
        self.helpers[slot as usize].thread().unpark();
        self.in_flight += 1;
    }

    fn poll(&mut self, min: u32, until: Tick, mut done: impl FnMut(Slot, i64, Tick)) -> Result<(), Failure> {
        let mut count = 0;
        loop {
            let now = clock::now();
            for (slot, post) in self.posts.iter().enumerate() {
                if post.state.load(Ordering::Acquire) == DONE {
                    post.state.store(IDLE, Ordering::Relaxed);
                    count += 1;
                    self.in_flight -= 1;
                    done(slot as Slot, post.result.load(Ordering::Relaxed), now);
                }
            }
            if count >= min || self.in_flight == 0 || (until != NEVER && now >= until) {
                return Ok(());
            }
            std::thread::park_timeout(Duration::from_nanos(until.saturating_sub(now).min(SLICE_NS)));
        }
    }
}

impl Drop for Offload {
    fn drop(&mut self) {
        for (post, helper) in self.posts.iter().zip(&self.helpers) {
            post.state.store(QUIT, Ordering::Release);
            helper.thread().unpark();
        }
        // A helper that hangs in a call ends with the process.
        let ended = self.helpers.drain(..).filter(|helper| helper.is_finished() || self.in_flight == 0);
        ended.for_each(|helper| {
            let _ = helper.join();
        });
    }
}

/// The same open files for a helper, which closes none of them.
fn copied(files: &Files) -> ManuallyDrop<Files> {
    let handle = |handle: &Handle| Handle {
        fd: handle.fd,
        target: handle.target,
        bytes: handle.bytes,
        base: handle.base,
        names: handle.names.clone(),
    };
    ManuallyDrop::new(Files::of(files.handles.iter().map(handle).collect()))
}

/// What a helper does: one call after the other, as they are posted.
fn help(post: &Post, mut files: ManuallyDrop<Files>, worker: &Thread) {
    signal::block_in_this_thread();
    loop {
        match post.state.load(Ordering::Acquire) {
            POSTED => {
                // SAFETY: while the state is posted, the worker does not touch it.
                let io = unsafe { *post.io.get() };
                post.result.store(call::perform(&io, &mut files), Ordering::Relaxed);
                let posted = post.state.compare_exchange(POSTED, DONE, Ordering::AcqRel, Ordering::Acquire);
                if posted.is_err() {
                    return;
                }
                worker.unpark();
            }
            QUIT => return,
            _ => std::thread::park(),
        }
    }
}
