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

use iodyno_trace::TraceError;

use crate::RecordedProgram;
use crate::sink::RecordSink;

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
