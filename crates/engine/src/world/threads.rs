//! Workers as threads of this process.

use std::os::unix::thread::JoinHandleExt;
use std::sync::Arc;
use std::thread::{Builder, JoinHandle};

use super::crew::Task;
use crate::signal;

/// Stack of a worker; its buffers are elsewhere.
const STACK_BYTES: usize = 256 * 1024;

/// Interrupts the system call that a thread is in.
pub fn nudge(thread: &JoinHandle<()>) {
    if !thread.is_finished() {
        // SAFETY: the thread was not joined, so its handle is valid; the signal has a handler that does nothing.
        unsafe { libc::pthread_kill(thread.as_pthread_t() as libc::pthread_t, signal::NUDGE) };
    }
}

/// Starts a thread for one worker.
///
/// # Errors
/// The system's reason.
pub fn spawn(task: &Task, number: u32) -> Result<JoinHandle<()>, String> {
    let task = Arc::clone(task);
    Builder::new()
        .name(format!("worker {number}"))
        .stack_size(STACK_BYTES)
        .spawn(move || {
            signal::block_in_this_thread();
            task(number);
        })
        .map_err(|error| format!("cannot start a thread: {error}"))
}
