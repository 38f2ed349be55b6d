//! The boundary between what is done to a file system and what is recorded below it.

use crate::promise::Violation;
use std::io;
use std::path::{Path, PathBuf};

/// How far a workload had come when the power went. Its steps are numbered from 0 in the order in which they began.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Reach {
    /// Steps that had begun.
    pub begun: u32,
    /// Steps that had returned: each of them has begun, and none later has.
    pub ended: u32,
}

/// Takes a workload's steps into the log of what is written below it, so that their order is known exactly.
pub trait Marks {
    /// # Errors
    /// The log's own.
    fn begin(&mut self, step: u32) -> io::Result<()>;
    /// # Errors
    /// The log's own.
    fn end(&mut self, step: u32) -> io::Result<()>;
    /// A file to which other programs append marks; none: the log takes none of theirs.
    fn file(&self) -> Option<PathBuf> {
        None
    }
}

/// What is done to a mounted file system, once, while what it writes is recorded.
pub trait Workload {
    /// One word, as it stands in reports and command lines.
    fn name(&self) -> &str;
    /// What lies there before the recording begins; it is synced and unmounted afterwards.
    ///
    /// # Errors
    /// The file system's own.
    fn prepare(&self, directory: &Path) -> io::Result<()>;
    /// Does the steps, and returns what knows their promises.
    ///
    /// # Errors
    /// The file system's own, or the log's.
    fn run(&self, directory: &Path, marks: &mut dyn Marks) -> io::Result<Box<dyn Oracle>>;
}

/// Knows what was promised when.
pub trait Oracle: Send + Sync {
    /// The promises that the mounted state does not keep, the gravest first; none: it is an honest state. The loss of what
    /// nobody synced is never among them.
    ///
    /// # Errors
    /// What kept it from looking; an error of the file system under test is a violation instead.
    fn judge(&self, reach: Reach, directory: &Path) -> io::Result<Vec<Violation>>;
    /// A step in words, for the description of a state: `fsync a/x`.
    fn step(&self, step: u32) -> String;
}
