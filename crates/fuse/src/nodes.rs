//! The files that the kernel knows, by their numbers.
//!
//! Each is held by a descriptor that opens nothing (`O_PATH`), so its number stays its own until the kernel forgets it. A
//! node has the file's own number where that is free: programs see the same numbers as outside.

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::fs::{File, Metadata};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::PathBuf;
use std::sync::Arc;

/// Numbers of files whose own number another file system's file has, or the root, begin here.
const OTHERS: u64 = 1 << 63;

pub struct Node {
    pub file: Arc<File>,
    /// Device and number.
    identity: (u64, u64),
    lookups: u64,
    /// The last name by which it was found.
    parent: u64,
    name: OsString,
}

/// All nodes; the root is number 1.
pub struct NodeTable {
    nodes: HashMap<u64, Node>,
    numbers: HashMap<(u64, u64), u64>,
    next: u64,
    /// The root's own name.
    root: PathBuf,
}

pub const ROOT: u64 = 1;

/// A name that leads to what a descriptor holds.
pub fn through(file: &File) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()))
}

/// What tells a file from all others: its device and its number there.
pub fn identity(metadata: &Metadata) -> (u64, u64) {
    (metadata.dev(), metadata.ino())
}

/// Holds a file without opening it.
pub fn hold(path: &std::path::Path) -> io::Result<File> {
    File::options().read(true).custom_flags(libc::O_PATH | libc::O_NOFOLLOW).open(path)
}

impl NodeTable {
    pub fn new(root: PathBuf, file: File) -> io::Result<NodeTable> {
        let metadata = file.metadata()?;
        let identity = identity(&metadata);
        let node = Node { file: Arc::new(file), identity, lookups: 1, parent: ROOT, name: OsString::new() };
        Ok(NodeTable {
            nodes: HashMap::from([(ROOT, node)]),
            numbers: HashMap::from([(identity, ROOT)]),
            next: OTHERS,
            root,
        })
    }

    pub fn file(&self, node: u64) -> io::Result<Arc<File>> {
        let found = self.nodes.get(&node).map(|node| Arc::clone(&node.file));
        found.ok_or_else(|| io::Error::from_raw_os_error(libc::ESTALE))
    }

    /// A file was found under a name: its number.
    pub fn found(&mut self, parent: u64, name: &OsStr, file: File, metadata: &Metadata) -> u64 {
        let identity = identity(metadata);
        let number = match self.numbers.get(&identity) {
            Some(number) => *number,
            None if metadata.ino() > ROOT && !self.nodes.contains_key(&metadata.ino()) => metadata.ino(),
            None => {
                self.next += 1;
                self.next
            }
        };
        self.numbers.insert(identity, number);
        let node = self.nodes.entry(number).or_insert_with(|| Node {
            file: Arc::new(file),
            identity,
            lookups: 0,
            parent,
            name: name.into(),
        });
        node.lookups += 1;
        if number != ROOT {
            (node.parent, node.name) = (parent, name.into());
        }
        number
    }

    /// The file that the kernel knows no longer, if so.
    pub fn forget(&mut self, number: u64, lookups: u64) -> Option<Arc<File>> {
        let node = self.nodes.get_mut(&number)?;
        node.lookups = node.lookups.saturating_sub(lookups);
        if node.lookups > 0 || number == ROOT {
            return None;
        }
        let node = self.nodes.remove(&number)?;
        self.numbers.remove(&node.identity);
        Some(node.file)
    }

    /// What had one name has another.
    pub fn renamed(&mut self, from: (u64, &OsStr), to: (u64, &OsStr), is_exchange: bool) {
        for node in self.nodes.values_mut() {
            let place = (node.parent, node.name.as_os_str());
            if place == from {
                (node.parent, node.name) = (to.0, to.1.into());
            } else if is_exchange && place == to {
                (node.parent, node.name) = (from.0, from.1.into());
            }
        }
    }

    /// The whole name of a node.
    pub fn name(&self, number: u64) -> String {
        let (mut parts, mut at) = (Vec::new(), number);
        // A loop cannot be, and would end here.
        while let Some(node) = self.nodes.get(&at).filter(|_| at != ROOT && parts.len() < 4096) {
            parts.push(node.name.to_string_lossy());
            at = node.parent;
        }
        let mut name = self.root.to_string_lossy().into_owned();
        for part in parts.iter().rev() {
            name.push('/');
            name.push_str(part);
        }
        name
    }
}
