//! Workers as threads of this process.

use std::sync::Arc;
use std::thread::{Builder, JoinHandle};

use super::Task;
use crate::signal;

/// Stack of a worker; its buffers are elsewhere.
const STACK_BYTES: usize = 256 * 1024;

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
