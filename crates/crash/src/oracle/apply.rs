//! What each step changes in the model, and what it promises once it has returned.

use super::tree::Entry;
use super::{ModelInode, ModelKind, ModelTree, PromiseKind};
use crate::script::{FallocateMode, OpenDurability, RenameMode, StepOperation};
use crate::stamp::ByteOrigin;
use std::collections::BTreeMap;

/// Files under test stay small: a state is read as a whole, some thousands of times.
pub const LARGEST_FILE: u64 = 16 << 20;

type Applied = Result<(), String>;

impl ModelTree {
    /// A step that has returned: its change, and its promise.
    ///
    /// # Errors
    /// What the step needs and does not find, with a hint.
    pub fn apply(&mut self, operation: &StepOperation) -> Applied {
        self.change(operation)?;
        self.promise(operation);
        Ok(())
    }

    /// The same for the step of this number.
    ///
    /// # Errors
    /// As [`ModelTree::apply`].
    pub fn apply_step(&mut self, step: u32, operation: &StepOperation) -> Applied {
        self.step = Some(step);
        self.apply(operation)
    }

    /// A step that had begun, and need not have done anything.
    ///
    /// # Errors
    /// As [`ModelTree::apply`].
    pub fn begin_step(&mut self, step: u32, operation: &StepOperation) -> Applied {
        self.step = Some(step);
        self.change(operation)
    }

    fn existing(&self, path: &str) -> Result<u32, String> {
        let hint = if path.starts_with('@') {
            format!("open it with an earlier step, tmpfile {path} DIR")
        } else {
            format!("make it with an earlier step, create {path}")
        };
        self.lookup(path).ok_or_else(|| format!("there is no `{path}` then\n hint: {hint}"))
    }

    fn file(&self, path: &str) -> Result<u32, String> {
        let number = self.existing(path)?;
        match self.inode(number).kind {
            ModelKind::File => Ok(number),
            _ => Err(format!("`{path}` is no regular file\n hint: for a directory write fsync-dir {path}")),
        }
    }

    fn directory(&self, path: &str) -> Result<u32, String> {
        let number = self.existing(path)?;
        let is_directory = self.entries_of(number).is_some();
        is_directory
            .then_some(number)
            .ok_or_else(|| format!("`{path}` is no directory\n hint: for a file write fsync {path}"))
    }

    fn vacant(&self, path: &str) -> Result<Entry, String> {
        let entry = self.entry_of(path)?;
        match self.lookup(path) {
            None => Ok(entry),
            Some(_) => {
                Err(format!("`{path}` is there already\n hint: unlink {path} first, or take another name"))
            }
        }
    }

    fn add(&mut self, kind: ModelKind) -> u32 {
        self.inodes.push(ModelInode::new(kind));
        self.inodes.len() as u32 - 1
    }

    /// Another inode in an entry. What it named before need not be found any more.
    fn name(&mut self, entry: &Entry, number: Option<u32>) {
        let before = self.entry_mut(entry).and_then(|state| {
            let before = state.current;
            state.change(number);
            before
        });
        if let Some(before) = before
            && before != number.unwrap_or(u32::MAX)
        {
            self.inode_mut(before).required = None;
        }
        if let Some(number) = number {
            let names = self.names(number);
            let inode = self.inode_mut(number);
            inode.most_names = inode.most_names.max(names);
        }
    }

    fn write(&mut self, number: u32, offset: u64, length: u64) -> Applied {
        check_size(self.inode(number).size.current.max(offset + length))?;
        self.generation += 1;
        let origin = ByteOrigin::Write { file: number, generation: self.generation, shift: 0 };
        let inode = self.inode_mut(number);
        inode.bytes.change(offset, offset + length, origin);
        inode.size.change(inode.size.current.max(offset + length));
        Ok(())
    }

    fn change(&mut self, operation: &StepOperation) -> Applied {
        use StepOperation as S;
        match operation {
            S::Create { path } => self.make(path, ModelKind::File),
            S::Mkdir { path } => self.make(path, ModelKind::Directory(BTreeMap::new())),
            S::Symlink { target, path } => self.make(path, ModelKind::Symlink(target.clone())),
            S::Rmdir { path } => self.rmdir(path),
            S::Append { path, length, durability } => {
                let number = self.file(path)?;
                let size = self.inode(number).size.current;
                check_direct(*durability, size, *length)?;
                self.write(number, size, *length)
            }
            S::Overwrite { path, offset, length, durability } => {
                let number = self.file(path)?;
                check_direct(*durability, *offset, *length)?;
                self.write(number, *offset, *length)
            }
            S::MmapWrite { path, offset, length } => {
                let number = self.mapped(path, *offset, *length)?;
                self.write(number, *offset, *length)
            }
            S::Fallocate { path, mode, offset, length } => self.fallocate(path, *mode, *offset, *length),
            S::Truncate { path, size } => {
                let number = self.file(path)?;
                let inode = self.inode_mut(number);
                inode.bytes.change(*size, u64::MAX, ByteOrigin::Zero);
                inode.size.change(*size);
                Ok(())
            }
            S::Link { from, to } => {
                let (number, entry) = (self.file(from)?, self.vacant(to)?);
                self.name(&entry, Some(number));
                Ok(())
            }
            S::Unlink { path } => self.unlink(path),
            S::Rename { from, to, mode } => self.rename(from, to, *mode),
            S::SetXattr { path, name } => self.set_xattr(path, name, true),
            S::RemoveXattr { path, name } => self.set_xattr(path, name, false),
            S::Chmod { path, mode } => {
                let number = self.existing(path)?;
                self.inode_mut(number).mode.change(*mode);
                Ok(())
            }
            S::Tmpfile { handle, directory } => {
                self.directory(directory)?;
                let number = self.add(ModelKind::File);
                self.handles.insert(handle.clone(), number);
                Ok(())
            }
            S::Clone { from, to } => self.clone_file(from, to),
            S::Fsync { path } | S::Fdatasync { path } => self.file(path).map(|_| ()),
            S::Promise { path } | S::PromisePages { path } => self.file(path).map(|_| ()),
            S::FsyncDirectory { path } => self.directory(path).map(|_| ()),
            S::Msync { path, offset, length } => self.mapped(path, *offset, *length).map(|_| ()),
            S::SyncFileRange { path, .. } => self.file(path).map(|_| ()),
            S::Sync | S::Syncfs => Ok(()),
        }
    }

    fn make(&mut self, path: &str, kind: ModelKind) -> Applied {
        let entry = self.vacant(path)?;
        let number = self.add(kind);
        self.name(&entry, Some(number));
        Ok(())
    }

    fn mapped(&self, path: &str, offset: u64, length: u64) -> Result<u32, String> {
        let number = self.file(path)?;
        let size = self.inode(number).size.current;
        if offset.is_multiple_of(4096) && offset + length <= size {
            return Ok(number);
        }
        let end = offset + length;
        let hint = "offsets are multiples of 4k, and the file is made longer first: truncate FILE SIZE";
        Err(format!("bytes {offset} to {end} of `{path}`, which has {size}, cannot be mapped\n hint: {hint}"))
    }

    fn is_empty(&self, number: u32) -> bool {
        self.entries_of(number).is_some_and(|entries| entries.values().all(|entry| entry.current.is_none()))
    }

    fn rmdir(&mut self, path: &str) -> Applied {
        let number = self.directory(path)?;
        if !self.is_empty(number) {
            return Err(format!("`{path}` is not empty then\n hint: unlink what is in it first"));
        }
        let entry = self.entry_of(path)?;
        self.name(&entry, None);
        Ok(())
    }

    fn unlink(&mut self, path: &str) -> Applied {
        let number = self.existing(path)?;
        if self.entries_of(number).is_some() {
            return Err(format!("`{path}` is a directory\n hint: rmdir {path}"));
        }
        let entry = self.entry_of(path)?;
        self.name(&entry, None);
        Ok(())
    }

    fn rename(&mut self, from: &str, to: &str, mode: RenameMode) -> Applied {
        let number = self.existing(from)?;
        let (source, destination) = (self.entry_of(from)?, self.entry_of(to)?);
        let replaced = self.lookup(to);
        let is_below = to.strip_prefix(from).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
        if is_below || replaced == Some(number) {
            return Err(format!(
                "`{from}` cannot become `{to}`\n hint: both must be different files, none in the other"
            ));
        }
        match (mode, replaced) {
            (RenameMode::NoReplace, Some(_)) => {
                return Err(format!("`{to}` is there already\n hint: rename {from} {to} replaces it"));
            }
            (RenameMode::Exchange, None) => {
                return Err(format!("there is no `{to}` then\n hint: rename {from} {to} needs none"));
            }
            (RenameMode::Exchange, Some(other)) => {
                let kept = (self.inode(number).required, self.inode(other).required);
                self.name(&destination, Some(number));
                self.name(&source, Some(other));
                self.inode_mut(number).required = kept.0;
                self.inode_mut(other).required = kept.1;
                self.inode_mut(number).most_names = self.names(number).max(1);
                return Ok(());
            }
            (RenameMode::Replace, Some(other))
                if self.entries_of(number).is_some() != self.entries_of(other).is_some() =>
            {
                return Err(format!(
                    "one of `{from}` and `{to}` is a directory\n hint: exchange {from} {to}"
                ));
            }
            (RenameMode::Replace, Some(other))
                if self.entries_of(other).is_some() && !self.is_empty(other) =>
            {
                return Err(format!("`{to}` is not empty then\n hint: unlink what is in it first"));
            }
            _ => {}
        }
        let required = self.inode(number).required;
        self.name(&source, None);
        self.name(&destination, Some(number));
        let may_keep_both = self.practice.keeps_both_names && source.0 != destination.0;
        let inode = self.inode_mut(number);
        inode.required = required;
        if may_keep_both && !matches!(inode.kind, ModelKind::Directory(_)) {
            inode.most_names += 1;
        }
        Ok(())
    }

    fn set_xattr(&mut self, path: &str, name: &str, is_set: bool) -> Applied {
        let number = self.existing(path)?;
        self.generation += u32::from(is_set);
        let value = is_set.then(|| format!("generation {}", self.generation));
        let known = self.inode(number).xattrs.get(name).is_some_and(|value| value.current.is_some());
        if !is_set && !known {
            return Err(format!("`{path}` has no `{name}` then\n hint: setxattr {path} {name} first"));
        }
        let inode = self.inode_mut(number);
        let promise = inode.mode.promise;
        let state = inode
            .xattrs
            .entry(name.to_string())
            .or_insert_with(|| super::Alternatives { promise, ..super::Alternatives::new(None) });
        state.change(value);
        Ok(())
    }

    fn fallocate(&mut self, path: &str, mode: FallocateMode, offset: u64, length: u64) -> Applied {
        let number = self.file(path)?;
        let size = self.inode(number).size.current;
        let end = offset + length;
        let is_shift = matches!(mode, FallocateMode::Collapse | FallocateMode::Insert);
        if is_shift && (!offset.is_multiple_of(4096) || !length.is_multiple_of(4096)) {
            return Err(format!(
                "{offset} and {length} are no multiples of 4k\n hint: whole blocks are collapsed and inserted"
            ));
        }
        if (mode == FallocateMode::Collapse && end >= size)
            || (mode == FallocateMode::Insert && offset >= size)
        {
            return Err(format!(
                "`{path}` has {size} bytes then\n hint: what is collapsed or inserted ends before the end of the file"
            ));
        }
        if mode != FallocateMode::Collapse {
            check_size(if mode == FallocateMode::Insert { size + length } else { size.max(end) })?;
        }
        let inode = self.inode_mut(number);
        match mode {
            FallocateMode::Extend => inode.size.change(size.max(end)),
            FallocateMode::KeepSize => {}
            FallocateMode::Punch => inode.bytes.change(offset, end, ByteOrigin::Zero),
            FallocateMode::Zero => {
                inode.bytes.change(offset, end, ByteOrigin::Zero);
                inode.size.change(size.max(end));
            }
            FallocateMode::Collapse => {
                inode.bytes.shift(end, offset);
                inode.size.change(size - length);
            }
            FallocateMode::Insert => {
                inode.bytes.shift(offset, end);
                inode.size.change(size + length);
            }
        }
        Ok(())
    }

    fn clone_file(&mut self, from: &str, to: &str) -> Applied {
        let source = self.file(from)?;
        if self.lookup(to).is_none() {
            self.make(to, ModelKind::File)?;
        }
        let destination = self.file(to)?;
        let (bytes, size) = (self.inode(source).bytes.clone(), self.inode(source).size.current);
        let inode = self.inode_mut(destination);
        if inode.size.current > size {
            return Err(format!("`{to}` is longer than `{from}`\n hint: truncate {to} 0 first"));
        }
        inode.bytes.copy(&bytes);
        inode.size.change(size);
        Ok(())
    }

    fn promise(&mut self, operation: &StepOperation) {
        use StepOperation as S;
        match operation {
            S::Fsync { path } => self.keep_file(path, PromiseKind::Fsync),
            S::Fdatasync { path } => self.keep_file(path, PromiseKind::Fdatasync),
            S::Promise { path } => self.keep_for_users(path),
            S::PromisePages { path } => self.keep_pages(path),
            S::FsyncDirectory { path } => self.keep_directory(path),
            S::Sync => self.keep_all(PromiseKind::Sync),
            S::Syncfs => self.keep_all(PromiseKind::Syncfs),
            S::Msync { path, offset, length } => self.keep_range(path, *offset, *length, PromiseKind::Msync),
            S::Append { path, length, durability } => {
                let kind = kind_of(*durability);
                let end = self.lookup(path).map_or(0, |number| self.inode(number).size.current);
                kind.into_iter().for_each(|kind| self.keep_range(path, end - length, *length, kind));
            }
            S::Overwrite { path, offset, length, durability } => {
                kind_of(*durability)
                    .into_iter()
                    .for_each(|kind| self.keep_range(path, *offset, *length, kind));
            }
            _ => {}
        }
    }

    fn keep_range(&mut self, path: &str, offset: u64, length: u64, kind: PromiseKind) {
        let promise = self.given(kind);
        let Some(number) = self.lookup(path) else { return };
        let inode = self.inode_mut(number);
        inode.bytes.keep(offset, offset + length, promise);
        inode.size.keep_up_to(offset + length, promise);
        self.keep_new_names(path, PromiseKind::NewName);
    }

    fn keep_file(&mut self, path: &str, kind: PromiseKind) {
        let promise = self.given(kind);
        let Some(number) = self.lookup(path) else { return };
        let inode = self.inode_mut(number);
        inode.keep_data(promise);
        if kind == PromiseKind::Fsync {
            inode.keep_attributes(promise);
        }
        self.keep_new_names(path, PromiseKind::NewName);
        if kind == PromiseKind::Fsync && self.practice.syncs_changed_names {
            self.keep_changed_names(number);
        }
    }

    fn keep_pages(&mut self, path: &str) {
        let promise = self.given(PromiseKind::WholePages);
        let Some(number) = self.lookup(path) else { return };
        self.inode_mut(number).whole_pages = Some(promise);
    }

    fn keep_for_users(&mut self, path: &str) {
        let promise = self.given(PromiseKind::Application);
        let Some(number) = self.lookup(path) else { return };
        self.inode_mut(number).keep_data(promise);
        self.keep_path(path, PromiseKind::Application);
    }

    fn keep_directory(&mut self, path: &str) {
        let promise = self.given(PromiseKind::FsyncDirectory);
        let Some(number) = self.lookup(path) else { return };
        self.inode_mut(number).keep_attributes(promise);
        let mut linked = Vec::new();
        if let ModelKind::Directory(entries) = &mut self.inode_mut(number).kind {
            for entry in entries.values_mut() {
                entry.keep(promise);
                linked.extend(entry.current);
            }
        }
        for child in linked {
            self.inode_mut(child).keep_name(promise);
        }
        self.keep_new_names(path, PromiseKind::NewName);
    }

    /// Entries along a path whose inodes no promise has named yet.
    fn keep_new_names(&mut self, path: &str, kind: PromiseKind) {
        for entry in self.entries_along(path) {
            let number = self.entry_mut(&entry).and_then(|state| state.current);
            if number.is_some_and(|number| !self.inode(number).is_named) {
                self.keep_entry(&entry, kind);
            }
        }
    }

    fn keep_path(&mut self, path: &str, kind: PromiseKind) {
        self.entries_along(path).iter().for_each(|entry| self.keep_entry(entry, kind));
    }

    fn keep_entry(&mut self, entry: &Entry, kind: PromiseKind) {
        let promise = self.given(kind);
        let number = self.entry_mut(entry).and_then(|state| {
            state.keep(promise);
            state.current
        });
        if let Some(number) = number {
            self.inode_mut(number).keep_name(promise);
        }
    }

    fn entries_along(&self, path: &str) -> Vec<Entry> {
        if path == "." || path.starts_with('@') {
            return Vec::new();
        }
        let ends = path.match_indices('/').map(|(end, _)| end).chain([path.len()]);
        ends.filter_map(|end| self.entry_of(&path[..end]).ok()).collect()
    }

    /// Wherever an inode was named since the last promise, it is named or not as it is now.
    fn keep_changed_names(&mut self, number: u32) {
        let promise = self.given(PromiseKind::ChangedNames);
        for inode in &mut self.inodes {
            let ModelKind::Directory(entries) = &mut inode.kind else { continue };
            for entry in
                entries.values_mut().filter(|entry| entry.allowed.len() > 1 && entry.allows(&Some(number)))
            {
                if entry.current == Some(number) {
                    entry.keep(promise);
                } else {
                    entry.allowed.retain(|value| *value != Some(number));
                    entry.promise = Some(promise);
                }
            }
        }
    }
}

/// The promise of a write that is made durable as it is done.
fn kind_of(durability: OpenDurability) -> Option<PromiseKind> {
    match durability {
        OpenDurability::None | OpenDurability::Direct => None,
        OpenDurability::Sync => Some(PromiseKind::Osync),
        OpenDurability::Dsync => Some(PromiseKind::Odsync),
        OpenDurability::RwfSync => Some(PromiseKind::RwfSync),
        OpenDurability::RwfDsync => Some(PromiseKind::RwfDsync),
    }
}

fn check_size(size: u64) -> Applied {
    if size > LARGEST_FILE {
        return Err(format!(
            "the file has {size} bytes then, over 16m\n hint: each state is read as a whole, so files stay small"
        ));
    }
    Ok(())
}

fn check_direct(durability: OpenDurability, offset: u64, length: u64) -> Applied {
    if durability == OpenDurability::Direct && (!offset.is_multiple_of(4096) || !length.is_multiple_of(4096))
    {
        return Err(format!(
            "direct writes are aligned, and {offset} or {length} is no multiple of 4k\n hint: append 4k, or overwrite at 0 4k"
        ));
    }
    Ok(())
}
