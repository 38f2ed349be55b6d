//! System calls on files, by meaning, and the records that come of them.
//!
//! Whatever sees calls (a tracer, the text of strace) says what a thread calls and what came back. [`CallTracker`] follows
//! the descriptors, the positions and the names, and makes the records, in the order of their issue.

mod facts;
mod order;
#[cfg(test)]
mod tests;
mod tracker;

pub use facts::{DescriptorState, FileFacts, FileState, Lookup, joined};
pub use order::{IssueOrder, IssueTicket};
pub use tracker::{CallTracker, PendingCall, TrackingGaps};

use iodyno_model::Verb;

use crate::descriptors::OpenMode;

/// The descriptor that stands for the working directory.
pub const AT_FDCWD: i32 = -100;

/// Positions that [`FileCall::Seek`] counts from, in Linux numbers.
pub const SEEK_SET: u32 = 0;
pub const SEEK_CUR: u32 = 1;

/// What `open` is asked for, as far as it matters here.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OpenOptions {
    pub mode: OpenMode,
    /// `O_CREAT`.
    pub creates: bool,
    /// `O_EXCL`.
    pub exclusive: bool,
    /// `O_TRUNC`.
    pub truncates: bool,
    /// `O_TMPFILE`: a file without a name.
    pub nameless: bool,
    /// `O_NOFOLLOW`.
    pub follows_no_link: bool,
    pub close_on_exec: bool,
    /// The mode bits of a new file.
    pub permissions: u32,
}

/// A call on files, with all of its arguments that matter.
#[derive(Clone, Debug, PartialEq)]
pub enum FileCall {
    Open {
        at: i32,
        path: String,
        options: OpenOptions,
    },
    Close {
        fd: i32,
    },
    CloseRange {
        first: i32,
        last: i32,
        unshares: bool,
        /// Marks them instead of closing them.
        close_on_exec: bool,
    },
    /// Its result is the new descriptor.
    Duplicate {
        fd: i32,
        close_on_exec: bool,
    },
    SetCloseOnExec {
        fd: i32,
        on: bool,
    },
    SetStatus {
        fd: i32,
        append: bool,
        direct: bool,
    },
    /// Reads and writes; without an offset they move the position.
    Transfer {
        verb: Verb,
        fd: i32,
        offset: Option<u64>,
        bytes: u64,
        /// `RWF_DSYNC`, `RWF_SYNC`.
        durable: bool,
        /// `RWF_APPEND`.
        append: bool,
    },
    /// Its result is the new position.
    Seek {
        fd: i32,
        offset: i64,
        whence: u32,
    },
    /// Bytes from one descriptor to another inside the kernel: a record for each side that is a file.
    Copy {
        /// The verb of the side that is written.
        verb: Verb,
        from: i32,
        from_offset: Option<u64>,
        to: i32,
        to_offset: Option<u64>,
        bytes: u64,
    },
    OnDescriptor {
        verb: Verb,
        fd: i32,
        offset: u64,
        bytes: u64,
    },
    /// An empty path means the descriptor itself.
    OnPath {
        verb: Verb,
        at: i32,
        path: String,
        follows: bool,
        bytes: u64,
    },
    OnPaths {
        verb: Verb,
        at: i32,
        path: String,
        other_at: i32,
        other: String,
    },
    Symlink {
        text: String,
        at: i32,
        path: String,
    },
    /// Mkfifo and mknod.
    MakeNode {
        verb: Verb,
        at: i32,
        path: String,
        /// With the type.
        mode: u64,
        /// Major × 2³² + minor.
        device: u64,
    },
    /// An extended attribute; an empty path means the descriptor itself.
    OnAttribute {
        verb: Verb,
        at: i32,
        path: String,
        follows: bool,
        name: String,
        bytes: u64,
    },
    /// `fallocate`, with its mode in Linux numbers.
    Allocate {
        fd: i32,
        mode: u32,
        offset: u64,
        bytes: u64,
    },
    /// `FICLONE` and `FICLONERANGE`.
    Reflink {
        from: i32,
        from_offset: u64,
        to: i32,
        to_offset: u64,
        bytes: u64,
    },
    ChangeDirectory {
        path: String,
    },
    ChangeDirectoryTo {
        fd: i32,
    },
    /// Its result is the address.
    Map {
        fd: i32,
        offset: u64,
        bytes: u64,
        is_shared: bool,
        writes: bool,
    },
    Msync {
        address: u64,
        bytes: u64,
    },
    Unshare {
        descriptors: bool,
        directory: bool,
    },
    /// I/O that does not go through calls on files, and its name.
    Unseen(&'static str),
}

impl FileCall {
    /// The verb of a call of `fallocate` with this mode.
    pub fn allocation(mode: u32) -> Verb {
        const PUNCH_HOLE: u32 = 0x02;
        const ZERO_RANGE: u32 = 0x10;
        match mode {
            mode if mode & PUNCH_HOLE != 0 => Verb::Trim,
            mode if mode & ZERO_RANGE != 0 => Verb::WriteZeroes,
            _ => Verb::Fallocate,
        }
    }

    /// Whether what comes back matters: some calls change nothing and do not fail on an open file.
    pub fn has_telling_result(&self) -> bool {
        match self {
            FileCall::OnDescriptor { verb, .. } => !matches!(verb, Verb::Fstat | Verb::Fadvise),
            FileCall::OnPath { verb, at, path, .. } => {
                !(*verb == Verb::Fstat && path.is_empty() && *at != AT_FDCWD)
            }
            FileCall::Map { is_shared, .. } => *is_shared,
            _ => true,
        }
    }
}
