//! Who is told of the calls that pass through.

use std::fs::FileType;

use iodyno_model::Verb;

/// Learns of calls; from several threads at once.
pub trait CallObserver: Send + Sync + 'static {
    /// A call begins; what comes back is given to [`ended`](CallObserver::ended).
    fn began(&self) -> u64;

    /// A call that began ends; none: it is none that a program made.
    fn ended(&self, began: u64, calls: &[ObservedCall]);

    /// A name is met before a call on it; none: nothing has it.
    fn met(&self, name: &str, file: Option<ObservedFile>);
}

/// Nobody is told.
impl CallObserver for () {
    fn began(&self) -> u64 {
        0
    }

    fn ended(&self, _began: u64, _calls: &[ObservedCall]) {}

    fn met(&self, _name: &str, _file: Option<ObservedFile>) {}
}

/// A file as it is before a call.
#[derive(Clone, Copy, Debug)]
pub struct ObservedFile {
    pub kind: FileType,
    pub bytes: u64,
    /// Of a device: its numbers.
    pub device: Option<(u32, u32)>,
}

/// A call, with what came back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObservedCall {
    pub verb: Verb,
    /// The whole name.
    pub name: String,
    /// The second name of rename, link, symlink and copies.
    pub other: Option<String>,
    pub offset: u64,
    pub bytes: u64,
    /// Bytes or 0; below 0 the negative errno.
    pub result: i64,
    /// The calling thread; 0: the kernel itself writes pages back.
    pub thread: u32,
    pub flags: CallFlags,
}

/// Properties of a call or of its open file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CallFlags {
    pub append: bool,
    pub direct: bool,
    pub durable: bool,
    /// Pages of a mapping.
    pub mapped: bool,
    pub created: bool,
    pub truncated: bool,
}
