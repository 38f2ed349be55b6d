//! What the recording of a program comes to.

use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

use iodyno_trace::TraceHeader;

/// How a program ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProgramEnd {
    Exited(i32),
    Killed(i32),
}

impl From<ExitStatus> for ProgramEnd {
    fn from(status: ExitStatus) -> ProgramEnd {
        match status.signal() {
            Some(signal) => ProgramEnd::Killed(signal),
            None => ProgramEnd::Exited(status.code().unwrap_or(1)),
        }
    }
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

/// What tells of a program's calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CallSource {
    /// Tracepoints where they can be had.
    #[default]
    Best,
    /// The kernel's tracepoints tell what calls came to, and of calls on descriptors all: few calls stop.
    Tracepoints,
    /// `ptrace` alone: a call stops at its begin and at its end.
    Ptrace,
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
