//! The model of the tree.

use super::{Alternatives, ByteRanges, Given, MountPractice, PromiseKind, SizeBounds};
use std::collections::BTreeMap;

/// What an inode is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ModelKind {
    File,
    Symlink(String),
    /// Its entries by name; an entry that is gone is `None`.
    Directory(BTreeMap<String, Alternatives<Option<u32>>>),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelInode {
    pub kind: ModelKind,
    pub bytes: ByteRanges,
    pub size: SizeBounds,
    pub mode: Alternatives<u32>,
    /// Values of extended attributes by name; `None`: it has none of this name.
    pub xattrs: BTreeMap<String, Alternatives<Option<String>>>,
    /// Whether a promise covers a name of it already.
    pub is_named: bool,
    /// It must be found under one of its names, until one of them is removed.
    pub required: Option<Given>,
    /// Each of its pages is found old or new.
    pub whole_pages: Option<Given>,
    /// The most names that it had at once.
    pub most_names: usize,
}

impl ModelInode {
    pub(super) fn new(kind: ModelKind) -> ModelInode {
        let mode = match kind {
            ModelKind::File => 0o600,
            ModelKind::Symlink(_) => 0o777,
            ModelKind::Directory(_) => 0o700,
        };
        ModelInode {
            kind,
            bytes: ByteRanges::default(),
            size: SizeBounds::default(),
            mode: Alternatives::new(mode),
            xattrs: BTreeMap::new(),
            is_named: false,
            required: None,
            whole_pages: None,
            most_names: 0,
        }
    }

    /// Attributes as they are now are promised.
    pub(super) fn keep_attributes(&mut self, promise: Given) {
        self.mode.keep(promise);
        self.xattrs.values_mut().for_each(|value| value.keep(promise));
    }

    pub(super) fn keep_name(&mut self, promise: Given) {
        self.is_named = true;
        self.required = Some(promise);
    }

    pub(super) fn keep_data(&mut self, promise: Given) {
        self.size.keep(promise);
        self.bytes.keep(0, u64::MAX, promise);
    }
}

/// The tree, with all that a crash may leave of it. The number of an inode is its index; that of the directory under test is 0.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelTree {
    pub inodes: Vec<ModelInode>,
    /// Files without a name, by their handle.
    pub handles: BTreeMap<String, u32>,
    pub practice: MountPractice,
    /// Writes so far.
    pub(super) generation: u32,
    /// The step that is being done; `None` before the first one.
    pub(super) step: Option<u32>,
}

impl Default for ModelTree {
    fn default() -> Self {
        ModelTree::new(MountPractice::posix())
    }
}

/// Where an entry is: its directory's inode and its name.
pub(super) type Entry = (u32, String);

impl ModelTree {
    /// An empty directory.
    pub fn new(practice: MountPractice) -> ModelTree {
        let mut root = ModelInode::new(ModelKind::Directory(BTreeMap::new()));
        root.is_named = true;
        ModelTree { inodes: vec![root], handles: BTreeMap::new(), practice, generation: 0, step: None }
    }

    pub fn inode(&self, number: u32) -> &ModelInode {
        &self.inodes[number as usize]
    }

    pub(super) fn inode_mut(&mut self, number: u32) -> &mut ModelInode {
        &mut self.inodes[number as usize]
    }

    /// The directory under test as it was prepared and unmounted is promised, and steps begin to count.
    pub fn keep_prepared(&mut self) {
        self.keep_all(PromiseKind::Prepared);
        self.handles.clear();
    }

    /// The number that the next write gets.
    pub fn next_generation(&self) -> u32 {
        self.generation + 1
    }

    pub(super) fn given(&self, kind: PromiseKind) -> Given {
        Given { kind, step: self.step }
    }

    pub(super) fn keep_all(&mut self, kind: PromiseKind) {
        let promise = self.given(kind);
        for number in 0..self.inodes.len() as u32 {
            let is_linked = self.names(number) > 0;
            let inode = self.inode_mut(number);
            inode.keep_data(promise);
            inode.keep_attributes(promise);
            if let ModelKind::Directory(entries) = &mut inode.kind {
                entries.values_mut().for_each(|entry| entry.keep(promise));
            }
            if is_linked {
                inode.keep_name(promise);
            }
        }
    }

    /// Its entries, if it is a directory.
    pub fn entries_of(&self, directory: u32) -> Option<&BTreeMap<String, Alternatives<Option<u32>>>> {
        match &self.inode(directory).kind {
            ModelKind::Directory(entries) => Some(entries),
            _ => None,
        }
    }

    /// The entry's state, which is made where nothing was ever there.
    pub(super) fn entry_mut(&mut self, entry: &Entry) -> Option<&mut Alternatives<Option<u32>>> {
        match &mut self.inode_mut(entry.0).kind {
            ModelKind::Directory(entries) => {
                Some(entries.entry(entry.1.clone()).or_insert_with(|| Alternatives::new(None)))
            }
            _ => None,
        }
    }

    /// How many names an inode has now.
    pub(super) fn names(&self, number: u32) -> usize {
        let directories = (0..self.inodes.len() as u32).filter_map(|directory| self.entries_of(directory));
        directories.flat_map(BTreeMap::values).filter(|entry| entry.current == Some(number)).count()
    }

    /// What a path names now.
    pub fn lookup(&self, path: &str) -> Option<u32> {
        if path.starts_with('@') {
            return self.handles.get(path).copied();
        }
        path.split('/')
            .filter(|part| *part != ".")
            .try_fold(0, |directory, name| self.entries_of(directory)?.get(name)?.current)
    }

    /// The directory that a path's last name is in, and this name.
    pub(super) fn entry_of(&self, path: &str) -> Result<Entry, String> {
        let (parent, name) = path.rsplit_once('/').unwrap_or((".", path));
        let directory = self.lookup(parent).filter(|number| self.entries_of(*number).is_some());
        let directory = directory.ok_or_else(|| {
            format!(
                "there is no directory `{parent}` then\n hint: make it with an earlier step, mkdir {parent}"
            )
        })?;
        Ok((directory, name.to_string()))
    }

    /// Paths of all that is there now, directories before what is in them.
    pub fn paths(&self) -> Vec<(String, u32)> {
        let mut found = Vec::new();
        let mut waiting = vec![(String::new(), 0)];
        while let Some((path, number)) = waiting.pop() {
            for (name, entry) in self.entries_of(number).into_iter().flatten() {
                let Some(child) = entry.current else { continue };
                let path = joined(&path, name);
                found.push((path.clone(), child));
                waiting.push((path, child));
            }
        }
        found
    }
}

/// The path of a name in a directory.
pub(super) fn joined(path: &str, name: &str) -> String {
    if path.is_empty() { name.into() } else { format!("{path}/{name}") }
}
