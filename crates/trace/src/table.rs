//! What records refer to: the header, the files and the threads.

/// Where a trace comes from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TraceHeader {
    /// The source's format or recorder, with its version: `blktrace 7`, `strace`, `csv:msr`.
    pub source: String,
    pub level: TraceLevel,
    pub clock: TraceClock,
    /// When its first record was issued, ns since the Unix epoch, where the source tells.
    pub began_unix_ns: Option<i64>,
    /// The step of the source's clock, ns: 1 where it tells nanoseconds, 1,000,000,000 where it tells seconds.
    pub resolution_ns: u64,
    /// What a reader should know: repairs, lost events, what was chosen. One sentence each.
    pub notes: Vec<String>,
}

/// What was recorded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TraceLevel {
    /// Requests to block devices.
    #[default]
    Block,
    /// Calls on files.
    File,
}

/// The clock of the source.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TraceClock {
    /// Counts from an unknown moment.
    #[default]
    Relative,
    /// Time of day.
    Realtime,
    /// Since the machine booted.
    Monotonic,
}

/// A file or a device that records name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TraceFile {
    /// Its path, or its name in the source; any text.
    pub name: String,
    pub kind: FileKind,
    /// How large it was when it was first met, where the source tells; else what its records reach, once known. None: it did
    /// not exist then, or nothing is known.
    pub bytes: Option<u64>,
    /// Of a device: its numbers.
    pub device: Option<(u32, u32)>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum FileKind {
    #[default]
    File,
    Device,
    Directory,
    Link,
    /// Pipes, sockets, terminals: recorded, not replayed.
    Other,
}

/// A thread that issued records.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct TraceThread {
    pub process: u32,
    pub thread: u32,
    /// The command's name, where the source tells; else empty.
    pub name: String,
}

/// The files and threads met so far. Indices never change; both only grow while a source is read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tables {
    pub files: Vec<TraceFile>,
    pub threads: Vec<TraceThread>,
}
