//! Calls that need no stop: the kernel's tracepoints tell when they began and ended, and what came back.
//!
//! A call on a descriptor has all that matters in its arguments, so it runs at full speed. A call with a name stops at its
//! begin, when its name is read, and its result comes from here. Each stop, and a timer between stops, first takes what the
//! buffers have: all that a stopped thread did before is in them. So whatever is asked of `/proc` is asked before the thread
//! can close, rename or replace what it did it with.

use std::fs::{self, File};
use std::io::Read;
use std::time::Duration;

use iodyno_trace::TraceError;

use super::ring::{CallEvent, EventNumbers, parse_page};
use crate::tracefs::{TraceBuffer, Tracefs};

/// How often buffers are emptied while nothing stops.
const INTERVAL: Duration = Duration::from_millis(4);
/// The room for the events of all processors, KiB; one has at most [`MOST_KIB`].
const ROOM_KIB: usize = 256 << 10;
const MOST_KIB: usize = 16 << 10;
const LEAST_KIB: usize = 1 << 10;
/// The number of the first namespace of processes, in which the kernel's events name threads.
const FIRST_NAMESPACE: &str = "pid:[4026531836]";
/// Pages are at most this large.
const PAGE: usize = 64 << 10;

/// A trace buffer with the calls of a program and of all that it starts.
pub struct CallTracepoints {
    buffer: TraceBuffer,
    pipes: Vec<File>,
    numbers: EventNumbers,
    page: Vec<u8>,
    /// Read, and later than what could be read of all processors.
    waiting: Vec<CallEvent>,
    /// Bytes of a processor that are taken at once; where it has more, it may come to lose events.
    alarm: usize,
    _timer: IntervalTimer,
}

impl CallTracepoints {
    /// Gets ready to trace these calls.
    ///
    /// # Errors
    /// Tracepoints cannot be had: why.
    pub fn begin(calls: &[i64]) -> Result<CallTracepoints, TraceError> {
        let namespace = fs::read_link("/proc/self/ns/pid")?;
        if namespace.as_os_str() != FIRST_NAMESPACE {
            return Err(TraceError::new("processes have other numbers here than in the kernel's events"));
        }
        let mut buffer = Tracefs::open()?.instance("program")?;
        let number = |event: &str| -> Result<u16, TraceError> {
            let text = buffer.read(&format!("events/raw_syscalls/{event}/id"))?;
            text.parse().map_err(|_| TraceError::new(format!("{event} has the number {text}")))
        };
        let numbers = EventNumbers { enter: number("sys_enter")?, exit: number("sys_exit")? };
        buffer.write("trace_clock", "mono")?;
        let processors = buffer.raw_pipes()?.len().max(1);
        let room_kib = (ROOM_KIB / processors).clamp(LEAST_KIB, MOST_KIB);
        buffer.write("buffer_size_kb", &room_kib.to_string())?;
        // What is lost is the newest: a call that began keeps its begin.
        buffer.set_option("overwrite", false)?;
        buffer.set_option("event-fork", true)?;
        buffer.write("tracing_on", "0")?;
        let filter: Vec<String> = calls.iter().map(|number| format!("id == {number}")).collect();
        for event in ["raw_syscalls/sys_enter", "raw_syscalls/sys_exit"] {
            buffer.enable_event(event, Some(&filter.join(" || ")))?;
        }
        let pipes = buffer.raw_pipes()?.into_iter().map(|(_, pipe)| pipe).collect();
        Ok(CallTracepoints {
            pipes,
            buffer,
            numbers,
            page: vec![0; PAGE],
            waiting: Vec::new(),
            alarm: room_kib << 10 >> 4,
            _timer: IntervalTimer::begin(),
        })
    }

    /// From now on the calls of this process and of all that it starts are traced.
    ///
    /// # Errors
    /// The kernel refuses it.
    pub fn follow(&self, process: u32) -> Result<(), TraceError> {
        self.buffer.write("set_event_pid", &process.to_string())?;
        self.buffer.write("tracing_on", "1")
    }

    /// Takes the events up to now, in the order of their times; whether there are more, because they come faster than they are
    /// taken.
    pub fn take(&mut self, now_ns: u64, events: &mut Vec<CallEvent>) -> bool {
        events.clear();
        let (mut until_ns, mut has_more) = (now_ns, false);
        for pipe in &mut self.pipes {
            let mut bytes = 0;
            // A buffer that is filled as fast as it is read must not keep the others waiting.
            while bytes < self.alarm {
                match pipe.read(&mut self.page) {
                    Ok(read) if read > 0 => {
                        bytes += read;
                        parse_page(&self.page[..read], self.numbers, &mut self.waiting);
                    }
                    _ => break,
                }
            }
            if bytes >= self.alarm {
                has_more = true;
                until_ns = self.waiting.last().map_or(until_ns, |event| event.at_ns.min(until_ns));
            }
        }
        // Each processor's events are in order, and a thread may have moved to another processor while they were read.
        self.waiting.sort_by_key(|event| event.at_ns);
        let ripe = self.waiting.partition_point(|event| event.at_ns <= until_ns);
        events.extend(self.waiting.drain(..ripe));
        has_more
    }

    /// How many events found no room.
    pub fn lost(&self) -> u64 {
        self.buffer.lost()
    }
}

/// A signal that interrupts waits again and again.
struct IntervalTimer {
    former: libc::sigaction,
}

extern "C" fn interrupt(_: libc::c_int) {}

impl IntervalTimer {
    fn begin() -> IntervalTimer {
        // SAFETY: both structures are valid for the calls; the handler does nothing.
        unsafe {
            let mut former: libc::sigaction = std::mem::zeroed();
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = interrupt as *const () as libc::sighandler_t;
            libc::sigaction(libc::SIGALRM, &raw const action, &raw mut former);
            set_interval(INTERVAL);
            IntervalTimer { former }
        }
    }
}

fn set_interval(interval: Duration) {
    let time = libc::timeval { tv_sec: 0, tv_usec: interval.subsec_micros().into() };
    let timer = libc::itimerval { it_interval: time, it_value: time };
    // SAFETY: the structure is valid for the call, and the former value is not asked for.
    unsafe { libc::setitimer(libc::ITIMER_REAL, &raw const timer, std::ptr::null_mut()) };
}

impl Drop for IntervalTimer {
    fn drop(&mut self) {
        set_interval(Duration::ZERO);
        // SAFETY: the structure is the one that the kernel gave.
        unsafe { libc::sigaction(libc::SIGALRM, &raw const self.former, std::ptr::null_mut()) };
    }
}
