//! The only place that reads time. Everything is nanoseconds of one monotonic clock, the same in every process.
//!
//! Reading the clock is the largest cost of a fast loop (time-stamp counter 14-17 ns, system clock 24-30 ns), so where
//! the kernel itself trusts the counter as its clock source we read it directly, scaled by a factor measured against
//! `CLOCK_MONOTONIC` over at least two milliseconds (error below 30 ppm). `IODYNO_CLOCK=monotonic` forbids it.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

/// A point in time: nanoseconds of the monotonic clock.
pub type Tick = u64;

/// Far in the future.
pub const NEVER: Tick = u64::MAX;

/// How counter ticks become ns; together, so that they share a cache line.
#[repr(align(64))]
struct Counter {
    /// Counter ticks to ns, as a fraction of 2^32; 0 while the system clock is read instead.
    scale: AtomicU64,
    base_count: AtomicU64,
    base_ns: AtomicU64,
}

static COUNTER: Counter =
    Counter { scale: AtomicU64::new(0), base_count: AtomicU64::new(0), base_ns: AtomicU64::new(0) };

/// How long the counter is watched against the system clock, ns.
const CALIBRATION_NS: u64 = 2_000_000;

#[inline(always)]
pub fn now() -> Tick {
    let scale = COUNTER.scale.load(Relaxed);
    if scale == 0 {
        return monotonic();
    }
    let passed = counter().wrapping_sub(COUNTER.base_count.load(Relaxed));
    COUNTER.base_ns.load(Relaxed) + ((u128::from(passed) * u128::from(scale)) >> 32) as u64
}

/// The system's monotonic clock, ns.
#[inline(never)]
pub fn monotonic() -> Tick {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is valid for writing.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// A point in time that time limits are computed from, where nothing is measured.
pub fn moment() -> std::time::Instant {
    std::time::Instant::now()
}

/// Seconds that local time is east of Greenwich now; 0 where nobody knows.
pub fn east_s() -> i64 {
    let seconds = (unix_ns() / 1_000_000_000) as libc::time_t;
    // SAFETY: both structures are valid, the second one for writing; its pointer is not read.
    unsafe {
        let mut local: libc::tm = std::mem::zeroed();
        match libc::localtime_r(&raw const seconds, &raw mut local).is_null() {
            true => 0,
            false => local.tm_gmtoff as i64,
        }
    }
}

/// Wall-clock time, ns since 1970.
pub fn unix_ns() -> u64 {
    by(None)
}

/// The time by a clock of the system's, ns; 0 where there is no such clock. None: the wall clock.
pub fn by(clock_id: Option<i32>) -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    let id = clock_id.map_or(libc::CLOCK_REALTIME, |id| id as libc::clockid_t);
    // SAFETY: `time` is valid for writing; an unknown clock is refused.
    unsafe { libc::clock_gettime(id, &raw mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// The clocks of the system: their numbers, and what they show, ns. 0 is wall-clock time.
pub fn all() -> Vec<(i32, u64)> {
    let read = |id: i32| {
        let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: `time` is valid for writing; a clock that is not there is an error.
        let known = unsafe { libc::clock_gettime(id as libc::clockid_t, &raw mut time) } == 0;
        known.then(|| (id, time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64))
    };
    (0..12).filter_map(read).collect()
}

/// How time is read during a run, also while the counter is still being calibrated.
pub fn source() -> &'static str {
    if COUNTER.scale.load(Relaxed) != 0 || trusted() { COUNTER_NAME } else { "monotonic" }
}

/// Where the watch over the counter began: both clocks at one moment.
static WATCHED_SINCE: std::sync::OnceLock<(u64, u64)> = std::sync::OnceLock::new();

/// Begins to watch the counter, so that [`calibrate`] need not wait when other work lies between.
pub fn begin_calibration() {
    WATCHED_SINCE.get_or_init(pair);
}

/// Begins to use the processor's counter, where it can be trusted. Cheap when called again.
pub fn calibrate() {
    if COUNTER.scale.load(Relaxed) != 0 || !trusted() {
        return;
    }
    let (first_ns, first_count) = *WATCHED_SINCE.get_or_init(pair);
    while monotonic() < first_ns + CALIBRATION_NS {
        std::hint::spin_loop();
    }
    let (last_ns, last_count) = pair();
    let (ns, counts) = (last_ns - first_ns, last_count.wrapping_sub(first_count));
    if counts == 0 || counts > 1 << 40 {
        return;
    }
    COUNTER.base_ns.store(last_ns, Relaxed);
    COUNTER.base_count.store(last_count, Relaxed);
    COUNTER.scale.store(((u128::from(ns) << 32) / u128::from(counts)) as u64, Relaxed);
}

/// Both clocks at the same moment: the tightest of a few tries.
fn pair() -> (u64, u64) {
    (0..8)
        .map(|_| {
            let before = counter();
            let ns = monotonic();
            let after = counter();
            (after.wrapping_sub(before), ns, before.wrapping_add(after.wrapping_sub(before) / 2))
        })
        .min()
        .map_or((0, 0), |(_, ns, count)| (ns, count))
}

#[cfg(target_arch = "x86_64")]
const COUNTER_NAME: &str = "tsc";
#[cfg(target_arch = "aarch64")]
const COUNTER_NAME: &str = "cntvct";
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
const COUNTER_NAME: &str = "none";

#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn counter() -> u64 {
    // SAFETY: every x86-64 processor has the instruction.
    unsafe { core::arch::x86_64::_rdtsc() }
}

#[cfg(target_arch = "aarch64")]
#[inline(always)]
fn counter() -> u64 {
    let count: u64;
    // SAFETY: reading the virtual counter is allowed in user space on Linux.
    unsafe { core::arch::asm!("mrs {}, cntvct_el0", out(reg) count, options(nomem, nostack)) };
    count
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn counter() -> u64 {
    0
}

/// Whether the kernel itself keeps time by the counter.
#[cfg(target_os = "linux")]
fn trusted() -> bool {
    if std::env::var_os("IODYNO_CLOCK").is_some_and(|wish| wish == "monotonic") {
        return false;
    }
    let path = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
    let source = std::fs::read_to_string(path).unwrap_or_default();
    matches!((COUNTER_NAME, source.trim()), ("tsc", "tsc") | ("cntvct", "arch_sys_counter"))
}

#[cfg(not(target_os = "linux"))]
fn trusted() -> bool {
    false
}

/// How long the last part of a wait is spun rather than slept, ns: what a timer is late by.
pub const SPIN_NS: u64 = 3_000;

/// A wait of no more is spun as a whole, ns: falling asleep and waking up take as long, on virtual machines longer.
const SHORT_NS: u64 = 20_000;

/// Has the timers of this thread fire when they are due. Linux else lets them be 50 µs late, to wake up for several at once.
pub fn wake_in_time() {
    #[cfg(target_os = "linux")]
    // SAFETY: the call sets an attribute of this thread and touches no memory.
    unsafe {
        libc::prctl(libc::PR_SET_TIMERSLACK, 1);
    }
}

/// Sleeps until a point in time, or at most for one slice, so that a stop is noticed. Returns early when a signal
/// arrives.
pub fn sleep_until(tick: Tick, slice_ns: u64) {
    let left = tick.saturating_sub(now());
    if left > SHORT_NS {
        sleep_ns((left - SPIN_NS).min(slice_ns));
    }
    if left <= slice_ns {
        while now() < tick {
            std::hint::spin_loop();
        }
    }
}

/// Sleeps; a signal ends it early.
pub fn sleep_ns(ns: u64) {
    let time = libc::timespec { tv_sec: (ns / 1_000_000_000) as _, tv_nsec: (ns % 1_000_000_000) as _ };
    // SAFETY: `time` is valid for reading; the remainder is not wanted.
    unsafe { libc::nanosleep(&raw const time, std::ptr::null_mut()) };
}

/// Nanoseconds as the standard library's duration.
pub fn duration(ns: u64) -> Duration {
    Duration::from_nanos(ns)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_counter_agrees_with_the_system_clock() {
        calibrate();
        let mut worst = 0;
        for _ in 0..50 {
            let before = monotonic();
            let ours = now();
            let after = monotonic();
            worst = worst.max(before.saturating_sub(ours).max(ours.saturating_sub(after)));
            sleep_ns(1_000_000);
        }
        assert!(worst < 100_000, "{worst} ns apart by the {} clock", source());
    }
}
