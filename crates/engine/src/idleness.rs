//! How much of the processors a run leaves idle, by how much work of the lowest priority (`SCHED_IDLE`) gets done beside it.
//!
//! A thread on each processor repeats a unit of work whose length it measured before, in processor time, so that other
//! load does not stretch it. Refuses to look at the kernel's own counters: what they call idle says nothing of a sibling
//! thread's share of a core, or of a low frequency. The threads allocate nothing while they run, as workers may be forked.

use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicI32, AtomicU32, AtomicU64};
use std::thread::JoinHandle;

use iodyno_model::Idleness;

use crate::clock;
use crate::failure::Failure;
use crate::memory::errno;
use crate::placement;

/// Bytes that a unit of work writes, one by one.
const UNIT_BYTES: usize = 4096;
/// Units that are measured at once, and how often: the shortest counts.
const MEASURED_UNITS: u64 = 100;
const MEASUREMENTS: u32 = 10;

const WAITS: u32 = 0;
const RUNS: u32 = 1;
const ENDS: u32 = 2;

/// Threads that count what they get done on each processor.
#[derive(Debug)]
pub struct IdlenessProfiler {
    threads: Vec<JoinHandle<()>>,
    profile: Arc<ProfileState>,
    began: clock::Tick,
}

#[derive(Debug)]
struct ProfileState {
    state: AtomicU32,
    counters: Vec<Counter>,
}

/// Of one processor, on a cache line of its own.
#[derive(Debug)]
#[repr(align(64))]
struct Counter {
    cpu: u32,
    units: AtomicU64,
    /// The length of a unit, ns, in the bits of a float; 0: not measured yet.
    unit_ns: AtomicU64,
    errno: AtomicI32,
}

impl IdlenessProfiler {
    /// Measures the unit on each processor that may be used, and lets the threads wait for their start.
    ///
    /// # Errors
    /// Not on Linux, or the system has no such threads for us.
    pub fn calibrate() -> Result<IdlenessProfiler, Failure> {
        let counter = |cpu| Counter {
            cpu,
            units: AtomicU64::new(0),
            unit_ns: AtomicU64::new(0),
            errno: AtomicI32::new(0),
        };
        let counters = processors()?.into_iter().map(counter).collect();
        let profile = Arc::new(ProfileState { state: AtomicU32::new(WAITS), counters });
        let mut profiler = IdlenessProfiler { threads: Vec::new(), profile, began: 0 };
        for index in 0..profiler.profile.counters.len() {
            let profile = Arc::clone(&profiler.profile);
            let named = std::thread::Builder::new().name(format!("idle {index}"));
            let thread = named.spawn(move || work(&profile, &profile.counters[index]));
            profiler.threads.push(thread.map_err(|error| Failure::io("a thread for a processor", &error))?);
        }
        let counters = &profiler.profile.counters;
        let measured =
            |counter: &Counter| counter.unit_ns.load(Acquire) != 0 || counter.errno.load(Acquire) != 0;
        while !counters.iter().all(measured) {
            clock::sleep_ns(1_000_000);
        }
        match counters.iter().map(|counter| counter.errno.load(Acquire)).find(|errno| *errno != 0) {
            Some(errno) => Err(Failure::call("a thread of the lowest priority on a processor", errno)),
            None => Ok(profiler),
        }
    }

    /// Lets them run.
    pub fn start(&mut self) {
        self.began = clock::monotonic();
        self.tell(RUNS);
    }

    /// Ends them: what they got done.
    pub fn stop(mut self) -> Idleness {
        let ran_ns = clock::monotonic().saturating_sub(self.began) as f64;
        self.end();
        let lengths: Vec<f64> =
            self.profile.counters.iter().map(|one| f64::from_bits(one.unit_ns.load(Acquire))).collect();
        let started = self.began > 0;
        let share = |(counter, length): (&Counter, &f64)| {
            (counter.units.load(Relaxed) as f64 * length / ran_ns * 100.0).min(100.0)
        };
        let cpus = self.profile.counters.iter().zip(&lengths).filter(|_| started).map(share).collect();
        let count = lengths.len() as f64;
        let mean = lengths.iter().sum::<f64>() / count;
        let squares: f64 = lengths.iter().map(|length| (length - mean).powi(2)).sum();
        let deviation = if count > 1.0 { (squares / (count - 1.0)).sqrt() } else { 0.0 };
        Idleness { cpus, unit_mean_us: mean / 1e3, unit_deviation_us: deviation / 1e3 }
    }

    fn tell(&self, state: u32) {
        self.profile.state.store(state, Release);
        self.threads.iter().for_each(|thread| thread.thread().unpark());
    }

    fn end(&mut self) {
        self.tell(ENDS);
        for thread in self.threads.drain(..) {
            // A thread that panicked has counted nothing more.
            let _ = thread.join();
        }
    }
}

impl Drop for IdlenessProfiler {
    fn drop(&mut self) {
        self.end();
    }
}

fn work(profile: &ProfileState, counter: &Counter) {
    let mut page = [0u8; UNIT_BYTES];
    if let Err(failure) = placement::affinity(&[counter.cpu]) {
        return counter.errno.store(failure.errno, Release);
    }
    let mut shortest = f64::INFINITY;
    for _ in 0..MEASUREMENTS {
        let before = processor_time();
        (0..MEASURED_UNITS).for_each(|_| unit(&mut page));
        shortest = shortest.min(processor_time().saturating_sub(before) as f64 / MEASURED_UNITS as f64);
    }
    match lower() {
        Ok(()) => counter.unit_ns.store(shortest.max(1.0).to_bits(), Release),
        Err(errno) => return counter.errno.store(errno, Release),
    }
    while profile.state.load(Acquire) == WAITS {
        std::thread::park();
    }
    while profile.state.load(Relaxed) == RUNS {
        unit(&mut page);
        counter.units.fetch_add(1, Relaxed);
    }
}

/// Byte by byte, which no compiler may do at once.
fn unit(page: &mut [u8; UNIT_BYTES]) {
    for byte in page.iter_mut() {
        *black_box(byte) = 0xAA;
    }
}

#[cfg(target_os = "linux")]
fn processor_time() -> u64 {
    clock::by(Some(libc::CLOCK_THREAD_CPUTIME_ID))
}

#[cfg(not(target_os = "linux"))]
fn processor_time() -> u64 {
    clock::monotonic()
}

/// The numbers of the processors that may be used.
fn processors() -> Result<Vec<u32>, Failure> {
    if !cfg!(target_os = "linux") {
        return Err(
            Failure::new("the idleness of processors is measured on Linux only").hint("leave it out here")
        );
    }
    match placement::allowed() {
        none if none.is_empty() => Err(Failure::call("sched_getaffinity", errno())),
        some => Ok(some),
    }
}

/// Gives this thread only what nobody else wants.
#[cfg(target_os = "linux")]
fn lower() -> Result<(), i32> {
    // SAFETY: the structure is of numbers only, for which 0 is right, and the call reads it.
    let lowered = unsafe {
        let none: libc::sched_param = std::mem::zeroed();
        libc::sched_setscheduler(0, libc::SCHED_IDLE, &raw const none)
    };
    if lowered < 0 { Err(errno()) } else { Ok(()) }
}

#[cfg(not(target_os = "linux"))]
fn lower() -> Result<(), i32> {
    Err(libc::ENOSYS)
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn a_calibration_alone_has_no_shares() {
        let told = IdlenessProfiler::calibrate().unwrap().stop();
        assert!(told.cpus.is_empty() && told.unit_mean_us > 0.0 && told.unit_deviation_us >= 0.0, "{told:?}");
    }

    #[test]
    fn each_processor_has_a_share() {
        let mut profiler = IdlenessProfiler::calibrate().unwrap();
        profiler.start();
        let counts = || profiler.profile.counters.iter().map(|one| one.units.load(Relaxed));
        // However busy the machine is, the lowest priority gets its turn in the end.
        while counts().any(|units| units == 0) {
            std::thread::yield_now();
        }
        let count = counts().count();
        let told = profiler.stop();
        assert_eq!(told.cpus.len(), count);
        assert!(told.cpus.iter().all(|share| *share > 0.0 && *share <= 100.0), "{told:?}");
    }
}
