//! What is known of files besides the calls themselves.

use crate::descriptors::OpenMode;
use crate::{FileKind, TraceThread};

/// A file as it is before a call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FileState {
    pub kind: FileKind,
    pub bytes: Option<u64>,
    /// Of a device: its numbers.
    pub device: Option<(u32, u32)>,
}

/// Whether a name has a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lookup {
    Found(FileState),
    Absent,
    /// The source cannot tell.
    Unknown,
}

/// A descriptor that no call has made as far as was seen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DescriptorState {
    pub name: String,
    pub state: FileState,
    pub position: Option<u64>,
    pub mode: OpenMode,
    pub close_on_exec: bool,
}

/// Answers questions about the threads and files of the source, at the moment of the call.
pub trait FileFacts {
    /// Process and name of a thread.
    fn thread(&mut self, thread: u32) -> TraceThread;

    fn descriptor(&mut self, thread: u32, fd: i32) -> Option<DescriptorState>;

    /// The name of the file that was just opened, links resolved, and its kind.
    fn opened(&mut self, thread: u32, fd: i32) -> Option<(String, FileKind)>;

    /// The whole name of a path that begins in a directory.
    fn locate(&mut self, thread: u32, directory: Option<&str>, path: &str) -> String {
        let _ = thread;
        joined(directory, path)
    }

    fn lookup(&mut self, thread: u32, name: &str, follows: bool) -> Lookup;

    /// How long an open file is now, bytes.
    fn length(&mut self, thread: u32, fd: i32) -> Option<u64>;

    fn directory(&mut self, thread: u32) -> Option<String>;
}

/// A path made whole by its text alone: `.`, `..` and double slashes are resolved, links are not.
pub fn joined(directory: Option<&str>, path: &str) -> String {
    let whole = match directory {
        Some(directory) if !path.starts_with('/') => format!("{directory}/{path}"),
        _ => path.to_string(),
    };
    let mut parts: Vec<&str> = Vec::new();
    let is_absolute = whole.starts_with('/');
    for part in whole.split('/') {
        match part {
            "" | "." => {}
            ".." if parts.last().is_some_and(|last| *last != "..") => {
                parts.pop();
            }
            ".." if is_absolute => {}
            part => parts.push(part),
        }
    }
    match (is_absolute, parts.join("/")) {
        (true, rest) => format!("/{rest}"),
        (false, rest) if rest.is_empty() => ".".to_string(),
        (false, rest) => rest,
    }
}
