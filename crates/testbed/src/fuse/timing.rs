//! The server's clock: reading it, and waking at a moment with microseconds to spare at most.
//!
//! Sleeping alone overshoots by the timer's and scheduler's latency; spinning alone starves the program under test.
//! So one thread at a time spins through the last stretch, and all others sleep up to the deadline itself.

use std::sync::atomic::{AtomicBool, Ordering};

static SPINNING: AtomicBool = AtomicBool::new(false);

/// `CLOCK_MONOTONIC` in ns, the same in every process.
pub fn now_ns() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is valid for writing; this clock always exists on Linux.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Returns at `due_ns` or as little later as can be had, never earlier.
pub(crate) fn wait_until(due_ns: u64, spin_ns: u64) {
    if now_ns() >= due_ns {
        return;
    }
    sleep_until(due_ns.saturating_sub(spin_ns));
    if SPINNING.compare_exchange(false, true, Ordering::Relaxed, Ordering::Relaxed).is_ok() {
        while now_ns() < due_ns {
            std::hint::spin_loop();
        }
        SPINNING.store(false, Ordering::Relaxed);
    } else {
        sleep_until(due_ns);
    }
}

fn sleep_until(ns: u64) {
    let time = libc::timespec {
        tv_sec: (ns / 1_000_000_000) as libc::time_t,
        tv_nsec: (ns % 1_000_000_000) as libc::c_long,
    };
    while now_ns() < ns {
        // SAFETY: `time` is a valid absolute time; no remainder is asked for.
        unsafe {
            libc::clock_nanosleep(libc::CLOCK_MONOTONIC, libc::TIMER_ABSTIME, &time, std::ptr::null_mut())
        };
    }
}

/// Makes this thread, and those it will start, wake promptly: timer slack of 1 ns, real-time class where permitted.
pub(crate) fn wake_promptly() {
    // SAFETY: plain integers; failure leaves the default slack.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1, 0, 0, 0) };
    let priority = libc::sched_param { sched_priority: 10 };
    // SAFETY: `priority` is valid for reading; where it is forbidden the thread stays as it was.
    unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO, &priority) };
}
