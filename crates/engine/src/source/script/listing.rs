//! The items of a set in the order in which the file system lists their directories.
//!
//! A directory is read on as its items are worked on, as a program does that looks at what it lists (bonnie++, `ls -l`).
//! The standard library's reader allocates for each entry; that is part of what such a program measures.

use std::collections::HashMap;
use std::fs::ReadDir;
use std::os::unix::ffi::OsStrExt;

use iodyno_model::TargetKind;

use super::super::SourceContext;
use crate::failure::Failure;
use crate::io::PathBuffer;
use crate::names::templates::{set_root, split};

#[derive(Default)]
pub struct Listing {
    /// Where the directories' paths begin.
    base: String,
    directories: Vec<String>,
    /// By its path below the base: which item it is.
    items: HashMap<Vec<u8>, u64>,
    reader: Option<ReadDir>,
    /// The directory that is next.
    at: usize,
    /// Items that no directory lists, as none is there: in their order.
    in_turn: Option<std::ops::Range<u64>>,
}

impl Listing {
    /// Of the set that a handle is of; nothing is listed yet.
    ///
    /// # Errors
    /// It is no set of files.
    pub fn new(context: &SourceContext<'_>, file: u32) -> Result<Self, Failure> {
        let handle = &context.files.handles[file as usize];
        let target = context.plan.targets.get(handle.target as usize).map(|target| &target.kind);
        let (Some(TargetKind::FileSet { root, items }), Some(names)) = (target, &handle.names) else {
            return Err(Failure::new("items in the order of their directory, of what is no set of files"));
        };
        if !context.engine.uses_files {
            let in_turn = Some(0..names.count);
            return Ok(Listing { in_turn, ..Listing::default() });
        }
        let root = set_root(root, items, context.asker);
        let base = if names.root.is_empty() { root } else { split(&root).0.into() };
        let mut buffer = PathBuffer::default();
        let directories = (0..names.directories())
            .map(|number| names.directory(number, &mut buffer).to_string_lossy().into_owned())
            .collect();
        let items =
            (0..names.count).map(|item| (names.path(item, &mut buffer).to_bytes().to_vec(), item)).collect();
        Ok(Listing { base, directories, items, ..Listing::default() })
    }

    /// The next item; none: all directories were listed. What is no item of the set is passed over.
    pub fn next(&mut self) -> Option<u64> {
        if let Some(items) = &mut self.in_turn {
            return items.next();
        }
        loop {
            let Some(reader) = &mut self.reader else {
                let directory = self.directories.get(self.at)?;
                self.reader = Some(std::fs::read_dir(format!("{}/{directory}", self.base)).ok()?);
                self.at += 1;
                continue;
            };
            let Some(Ok(entry)) = reader.next() else {
                self.reader = None;
                continue;
            };
            let name = entry.file_name();
            let path = match self.directories[self.at - 1].as_str() {
                "." => name.as_bytes().to_vec(),
                directory => [directory.as_bytes(), b"/", name.as_bytes()].concat(),
            };
            if let Some(item) = self.items.get(&path) {
                return Some(*item);
            }
        }
    }
}
