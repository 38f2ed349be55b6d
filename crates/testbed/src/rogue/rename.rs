//! Renaming: plain, without replacing, and exchanging.
//!
//! What no file system is asked, for the kernel answers it (a directory into itself, a directory over a file, two names
//! of the same file), is not looked at here.

use super::access::Caller;
use super::fault::Fault;
use super::node::now;
use super::tree::{Tree, Try};
use std::ffi::{OsStr, OsString};

/// A name in a directory, and what it leads to.
struct DirectoryEntry {
    directory: u64,
    name: OsString,
    child: u64,
}

impl Tree {
    fn place(&self, directory: u64, name: &OsStr) -> Try<DirectoryEntry> {
        let name = self.known_as(directory, name)?;
        Ok(DirectoryEntry { directory, child: self.child(directory, &name)?, name })
    }

    /// Renames, with the flags of renameat2. What comes back is to be done some time later.
    pub fn rename(
        &mut self,
        caller: &Caller,
        from: (u64, &OsStr),
        to: (u64, &OsStr),
        flags: u32,
    ) -> Try<Option<(u64, OsString, u64)>> {
        if flags & !(libc::RENAME_NOREPLACE | libc::RENAME_EXCHANGE) != 0 {
            return Err(libc::EINVAL);
        }
        let source = self.place(from.0, from.1)?;
        self.may_remove(caller, source.directory, source.child)?;
        if source.directory != to.0 && self.node(source.child)?.is_directory() {
            self.may_move(caller, source.child)?;
        }
        let name = self.known_as(to.0, to.1)?;
        let target = self.child(to.0, &name).ok();
        match target {
            Some(target) => self.may_remove(caller, to.0, target)?,
            None => self.may_change(caller, to.0)?,
        }
        if target.is_some() && flags & libc::RENAME_NOREPLACE != 0 {
            return Err(libc::EEXIST);
        }
        if flags & libc::RENAME_EXCHANGE != 0 && !self.breaks(Fault::ExchangeMoves) {
            let target = DirectoryEntry { directory: to.0, name, child: target.ok_or(libc::ENOENT)? };
            return self.exchange(&source, &target).map(|()| None);
        }
        if self.breaks(Fault::RenameIgnored) {
            return Ok(None);
        }
        self.replace(&source, to.0, name, target)
    }

    fn exchange(&mut self, one: &DirectoryEntry, other: &DirectoryEntry) -> Try<()> {
        self.names_mut(one.directory)?.point(&one.name, other.child);
        if !self.breaks(Fault::ExchangeLosesOne) {
            self.names_mut(other.directory)?.point(&other.name, one.child);
        }
        for (moved, from, to) in
            [(one.child, one.directory, other.directory), (other.child, other.directory, one.directory)]
        {
            self.settle(moved, from, to)?;
            self.mark(moved);
            self.stamp(to);
        }
        Ok(())
    }

    fn replace(
        &mut self,
        source: &DirectoryEntry,
        directory: u64,
        name: OsString,
        target: Option<u64>,
    ) -> Try<Option<(u64, OsString, u64)>> {
        if let Some(target) = target {
            self.give_way(directory, &name, target)?;
        }
        let child = self.moved(source)?;
        if !self.breaks(Fault::RenameKeepsOld) {
            self.drop_name(source.directory, &source.name, source.child)?;
        }
        if !self.breaks(Fault::RenameKeepsCounts) {
            self.settle(child, source.directory, directory)?;
        }
        self.touch(source.directory, Fault::RenameKeepsSource);
        if source.directory != directory || !self.breaks(Fault::RenameKeepsSource) {
            self.touch(directory, Fault::RenameKeepsTarget);
        }
        self.mark(child);
        if self.breaks(Fault::RenameNotAtomic) {
            return Ok(Some((directory, name, child)));
        }
        self.names_mut(directory)?.add(&name, child);
        Ok(None)
    }

    /// What had the new name loses it.
    fn give_way(&mut self, directory: u64, name: &OsStr, target: u64) -> Try<()> {
        if self.node(target)?.is_directory() {
            self.make_room(directory, target)?;
            self.drop_name(directory, name, target)?;
            let above = self.node_mut(directory)?;
            above.links = above.links.saturating_sub(1);
            return self.lose_directory(target);
        }
        self.drop_name(directory, name, target)?;
        let lowers = !self.breaks(Fault::RenameCountStays);
        let marks = !self.breaks(Fault::RenameKeepsReplaced);
        self.lose_link(target, lowers, marks)
    }

    /// A directory is replaced only when it is empty.
    fn make_room(&mut self, directory: u64, target: u64) -> Try<()> {
        if self.names(target)?.0.is_empty() || self.breaks(Fault::RenameReplacesFull) {
            return Ok(());
        }
        if self.breaks(Fault::FailedRenameTouches) {
            self.stamp(directory);
        }
        let denied = self.breaks(Fault::RenameFullIsDenied);
        Err(if denied { libc::EACCES } else { libc::ENOTEMPTY })
    }

    /// The file under its new name, and what a fault does to it.
    fn moved(&mut self, source: &DirectoryEntry) -> Try<u64> {
        let number = match self.breaks(Fault::RenameChangesInode) && !self.node(source.child)?.is_directory()
        {
            true => self.renumber(source.child)?,
            false => source.child,
        };
        let fault = self.fault;
        let node = self.node_mut(number)?;
        match fault {
            Some(Fault::RenameDropsMode) => node.mode &= !0o077,
            Some(Fault::RenameTouchesModified) => node.modified = now(),
            Some(Fault::RenameLosesAttributes) => node.attributes.clear(),
            _ => {}
        }
        Ok(number)
    }

    /// A directory knows the one it is in, and is counted there.
    fn settle(&mut self, child: u64, from: u64, to: u64) -> Try<()> {
        use super::node::NodeKind::Directory;
        let Directory(_, parent) = &mut self.node_mut(child)?.kind else { return Ok(()) };
        *parent = to;
        if from != to {
            let left = self.node_mut(from)?;
            left.links = left.links.saturating_sub(1);
            self.node_mut(to)?.links += 1;
        }
        Ok(())
    }

    /// The part of a rename that came too late.
    pub fn arrive(&mut self, directory: u64, name: &OsStr, child: u64) {
        if let Ok(names) = self.names_mut(directory) {
            names.point(name, child);
        }
    }
}
