//! Systems whose programs cannot be recorded: a refusal.

use iodyno_trace::{TraceError, TraceHeader};

use crate::sink::RecordSink;

/// How a program ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProgramEnd {
    Exited(i32),
    Killed(i32),
}

impl ProgramEnd {
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
    pub began_ns: Option<u64>,
    pub records: u64,
    pub entries: u64,
    pub exits: u64,
    pub ended_processes: usize,
}

/// # Errors
/// Always.
pub fn record(
    _command: &[String],
    _clock: fn() -> u64,
    _sink: &mut dyn RecordSink,
) -> Result<RecordedProgram, TraceError> {
    Err(TraceError::new("programs are recorded on Linux only, on x86-64 and aarch64")
        .hint("where strace or truss runs, its text can be imported: iodyno trace import"))
}
