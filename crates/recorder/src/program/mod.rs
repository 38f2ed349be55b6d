//! Records a program and all that it starts: their calls on files, by `ptrace` with a filter of calls.
//!
//! Only calls of interest stop (seccomp); all others run at full speed. Where the kernel's tracepoints can be had, calls on
//! descriptors do not stop either, calls with names stop once, and latencies are the kernel's. Elsewhere a call whose result
//! matters stops again at its end, and latencies are those that a tracer sees: from the moment the call goes on until its end
//! is reported.

mod calls;
mod facts;
mod filter;
pub(crate) mod forward;
mod launch;
mod memory;
mod ptrace;
mod ring;
mod tracepoints;
mod tracer;

pub use facts::device_bytes;

use iodyno_trace::TraceError;
use tracepoints::CallTracepoints;

use crate::sink::RecordSink;
use crate::{CallSource, RecordedProgram};

/// Runs a command and records it. `clock` is `CLOCK_MONOTONIC`, ns.
///
/// # Errors
/// It cannot be started or traced; or the sink refuses records, which is said once the program has ended.
pub fn record(
    command: &[String],
    source: CallSource,
    clock: fn() -> u64,
    sink: &mut dyn RecordSink,
) -> Result<RecordedProgram, TraceError> {
    let (tracepoints, missing) = match source {
        CallSource::Ptrace => (None, Some(String::new())),
        CallSource::Tracepoints => (Some(tracepoints()?), None),
        CallSource::Best => match tracepoints() {
            Ok(tracepoints) => (Some(tracepoints), None),
            Err(error) => (None, Some(format!(", because {error}"))),
        },
    };
    let stopping = if tracepoints.is_some() { calls::stopping() } else { calls::traced() };
    let mut launch = launch::Launch::start(command, &filter::program(&stopping))?;
    if let Some(tracepoints) = &tracepoints {
        tracepoints.follow(launch.process)?;
    }
    launch.execute()?;
    let mut recorded = tracer::follow(launch, tracepoints, clock, sink)?;
    if let Some(missing) = missing {
        recorded.header.notes.push(format!("latencies have the stops in them: by ptrace alone{missing}"));
    }
    Ok(recorded)
}

fn tracepoints() -> Result<CallTracepoints, TraceError> {
    let calls: Vec<i64> = calls::traced().iter().map(|call| call.number).collect();
    CallTracepoints::begin(&calls)
}
