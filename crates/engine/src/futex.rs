//! Waiting for a word in memory to change, between threads and between processes that share it.
//!
//! A worker that shares its thread with others lets them have their turn instead (`coroutine`).
//! Where the system has no futex a wait is a short sleep: it only ever wakes too early, so callers look again.

use std::sync::atomic::AtomicU32;

use crate::coroutine;

/// Waits while the word has this value, at most so many ns; it may return early.
#[cfg(target_os = "linux")]
pub fn wait(word: &AtomicU32, value: u32, ns: u64) {
    if coroutine::pause_for(word, value) {
        return;
    }
    let time = libc::timespec { tv_sec: (ns / 1_000_000_000) as _, tv_nsec: (ns % 1_000_000_000) as _ };
    // SAFETY: the word and the time-out are valid for the call; the futex is shared between processes.
    unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAIT, value, &raw const time) };
}

/// Wakes everybody who waits for the word.
#[cfg(target_os = "linux")]
pub fn wake(word: &AtomicU32) {
    coroutine::wake();
    // SAFETY: the word is valid for the call.
    unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAKE, i32::MAX) };
}

/// As above.
#[cfg(not(target_os = "linux"))]
pub fn wait(word: &AtomicU32, value: u32, ns: u64) {
    if coroutine::pause_for(word, value) {
        return;
    }
    if word.load(std::sync::atomic::Ordering::Acquire) == value {
        crate::clock::sleep_ns(ns.min(1_000_000));
    }
}

/// As above.
#[cfg(not(target_os = "linux"))]
pub fn wake(_word: &AtomicU32) {
    coroutine::wake();
}
