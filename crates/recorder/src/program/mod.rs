//! Records a program and all that it starts: their calls on files, by `ptrace` with a filter of calls.
//!
//! Only calls of interest stop (seccomp); all others run at full speed. A call whose result matters stops again at its end.
//! Latencies are those that a tracer sees: from the moment the call goes on until its end is reported.

mod calls;
mod facts;
mod filter;
mod forward;
mod launch;
mod memory;
mod ptrace;
mod tracer;

pub use facts::device_bytes;

use iodyno_trace::{TraceError, TraceHeader};

use crate::sink::RecordSink;

/// How a program ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProgramEnd {
    Exited(i32),
    Killed(i32),
}

impl ProgramEnd {
    /// The status that a shell gives it.
    pub fn status(self) -> u8 {
        match self {
            ProgramEnd::Exited(status) => status as u8,
            ProgramEnd::Killed(signal) => (128 + signal) as u8,
        }
    }
}

/// What a recording came to.
#[derive(Clone, Debug)]
pub struct RecordedProgram {
    pub end: ProgramEnd,
    pub header: TraceHeader,
    /// When its first call began, by the clock of the caller; none: it made none.
    pub began_ns: Option<u64>,
    pub records: u64,
    /// How often a thread stopped at the begin of a call, and at the end of one.
    pub entries: u64,
    pub exits: u64,
    /// Processes that went on after the program and were ended by a signal to this one.
    pub ended_processes: usize,
}

/// Runs a command and records it. `clock` is monotonic, ns.
///
/// # Errors
/// It cannot be started or traced; or the sink refuses records, which is said once the program has ended.
pub fn record(
    command: &[String],
    clock: fn() -> u64,
    sink: &mut dyn RecordSink,
) -> Result<RecordedProgram, TraceError> {
    let filter = filter::program(&calls::traced());
    let launch = launch::Launch::start(command, &filter)?;
    tracer::follow(launch, clock, sink)
}
