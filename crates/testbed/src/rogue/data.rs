//! What is in a file: reading, writing, lengths, allocation, holes, copies.

use super::content::{Content, PAGE};
use super::fault::Fault;
use super::node::NodeKind;
use super::tree::{PAGES, Tree, Try};

/// What comes of fallocate's modes.
const KEEP_SIZE: i32 = libc::FALLOC_FL_KEEP_SIZE;
const PUNCH: i32 = libc::FALLOC_FL_PUNCH_HOLE | KEEP_SIZE;
const ZERO: i32 = libc::FALLOC_FL_ZERO_RANGE;
const ZERO_KEEPING: i32 = ZERO | KEEP_SIZE;

/// How far garbage reaches before a write that leaves a hole.
const GARBAGE: u64 = 16;

impl Tree {
    fn content(&self, number: u64) -> Try<&Content> {
        match &self.node(number)?.kind {
            NodeKind::Regular(content) => Ok(content),
            NodeKind::Directory(..) => Err(libc::EISDIR),
            _ => Err(libc::EINVAL),
        }
    }

    fn content_mut(&mut self, number: u64) -> Try<&mut Content> {
        match &mut self.node_mut(number)?.kind {
            NodeKind::Regular(content) => Ok(content),
            NodeKind::Directory(..) => Err(libc::EISDIR),
            _ => Err(libc::EINVAL),
        }
    }

    /// Reads, and notes that somebody did, unless he asked not to (`O_NOATIME`).
    pub fn read(&mut self, number: u64, offset: u64, count: u64, flags: i32) -> Try<Vec<u8>> {
        let bytes = self.content(number)?.read(offset, count);
        if flags & libc::O_NOATIME == 0 && count > 0 {
            self.note_access(number);
        }
        if self.breaks(Fault::ReadTouchesModified) {
            self.stamp(number);
        }
        Ok(bytes)
    }

    /// Writes, which takes privileges away where the kernel says so.
    pub fn write(&mut self, number: u64, offset: u64, bytes: &[u8], flags: i32, strip: bool) -> Try<u64> {
        let appends = flags & libc::O_APPEND != 0 && self.breaks(Fault::AppendOverwrites);
        let offset = if appends { 0 } else { offset };
        let kept = match self.breaks(Fault::WriteCut) {
            true => &bytes[..bytes.len().min(PAGE as usize)],
            false => bytes,
        };
        self.put(number, offset, kept)?;
        if !self.breaks(Fault::WriteKeepsModified) {
            self.stamp(number);
        }
        let node = self.node_mut(number)?;
        node.drop_capabilities();
        if strip && !self.breaks(Fault::WriteKeepsPrivileges) {
            self.node_mut(number)?.drop_privileges();
        }
        Ok(bytes.len() as u64)
    }

    fn put(&mut self, number: u64, offset: u64, bytes: &[u8]) -> Try<()> {
        self.has_room(number, offset, bytes.len() as u64)?;
        let soils = self.breaks(Fault::HoleHoldsGarbage);
        let before = self.room(number);
        let content = self.content_mut(number)?;
        let gap = offset.saturating_sub(content.size()).min(GARBAGE);
        if soils && gap > 0 {
            content.write(offset - gap, &vec![b'X'; gap as usize]);
        }
        content.write(offset, bytes);
        self.account(number, before);
        Ok(())
    }

    fn has_room(&self, number: u64, offset: u64, length: u64) -> Try<()> {
        let taken = self.pages + self.content(number)?.missing(offset, length);
        if taken > PAGES { Err(libc::ENOSPC) } else { Ok(()) }
    }

    /// Gives a file another length.
    pub fn resize(&mut self, number: u64, size: u64) -> Try<()> {
        let (uncovers, stays) =
            (self.breaks(Fault::TruncateUncovers), self.breaks(Fault::TruncateGrowsNothing));
        let before = self.room(number);
        let content = match &mut self.node_mut(number)?.kind {
            NodeKind::Regular(content) => content,
            NodeKind::Directory(..) => return Err(libc::EISDIR),
            // What a file that lost its name is emptied for.
            _ => return Ok(()),
        };
        match size < content.size() {
            true if uncovers => content.set_size(size),
            false if stays => {}
            _ => content.resize(size),
        }
        self.account(number, before);
        Ok(())
    }

    /// fallocate.
    pub fn allocate(&mut self, number: u64, offset: u64, length: u64, mode: i32) -> Try<()> {
        if ![0, KEEP_SIZE, PUNCH, ZERO, ZERO_KEEPING].contains(&mode) {
            return Err(libc::EOPNOTSUPP);
        }
        let moves = mode & !KEEP_SIZE != 0;
        if self.is_immutable(number) || moves && self.is_append_only(number) {
            return Err(libc::EPERM);
        }
        if mode != PUNCH {
            self.has_room(number, offset, length)?;
        }
        let before = self.room(number);
        let fault = self.fault;
        let content = self.content_mut(number)?;
        let size = content.size();
        let grown = match (mode & KEEP_SIZE != 0, fault) {
            (true, Some(Fault::KeepSizeGrows)) if mode != PUNCH => size.max(offset + length),
            (true, _) => size,
            (false, Some(Fault::AllocateKeepsSize)) if mode == 0 => size,
            (false, _) => size.max(offset + length),
        };
        match (mode, fault) {
            (PUNCH, Some(Fault::PunchKeepsData)) => {}
            (PUNCH, Some(Fault::PunchTruncates)) => content.resize(size.min(offset)),
            (PUNCH, _) => content.punch(offset, length),
            (ZERO | ZERO_KEEPING, Some(Fault::ZeroKeepsData)) => {}
            (ZERO | ZERO_KEEPING, _) => {
                content.punch(offset, length);
                content.allocate(offset, length);
            }
            (_, Some(Fault::AllocateClears)) => content.punch(offset, length),
            _ => content.allocate(offset, length),
        }
        if !(mode == PUNCH && fault == Some(Fault::PunchTruncates)) {
            content.set_size(grown);
        }
        self.account(number, before);
        self.stamp(number);
        Ok(())
    }

    /// lseek with `SEEK_DATA` or `SEEK_HOLE`.
    pub fn seek(&self, number: u64, offset: u64, whence: i32) -> Try<u64> {
        let content = self.content(number)?;
        if offset >= content.size() {
            let past = whence == libc::SEEK_DATA && self.breaks(Fault::SeekPastEnd);
            return if past { Ok(offset) } else { Err(libc::ENXIO) };
        }
        match whence {
            libc::SEEK_DATA => {
                let data = content.next_data(offset).ok_or(libc::ENXIO)?;
                let skipped = if self.breaks(Fault::SeekSkipsData) { 1 } else { 0 };
                Ok(data + skipped)
            }
            libc::SEEK_HOLE => Ok(content.next_hole(offset)),
            _ => Err(libc::EINVAL),
        }
    }

    /// copy_file_range, at most 16 MiB of it.
    pub fn copy(&mut self, from: (u64, u64), to: (u64, u64), length: u64, strip: bool) -> Try<u64> {
        let mut bytes = self.content(from.0)?.read(from.1, length.min(16 << 20));
        if self.breaks(Fault::CopyForgets) {
            bytes.fill(0);
        }
        if !bytes.is_empty() {
            self.put(to.0, to.1, &bytes)?;
            self.note_access(from.0);
            self.stamp(to.0);
            if strip {
                self.node_mut(to.0)?.drop_privileges();
            }
        }
        Ok(bytes.len() as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::super::access::Caller;
    use super::super::names::NewNode;
    use super::super::tree::ROOT;
    use super::*;
    use std::ffi::OsStr;

    fn file(fault: Option<Fault>) -> (Tree, u64) {
        let mut tree = Tree::new(fault, false);
        let caller = Caller { uid: 0, gid: 0, pid: 0 };
        let kind = NodeKind::Regular(Content::default());
        let order = NewNode { kind, mode: 0o644, umask: 0, quiet: Fault::CreateKeepsParent };
        let number = tree.create(&caller, ROOT, OsStr::new("f"), order).expect("room");
        (tree, number)
    }

    #[test]
    fn space_is_what_files_take() {
        let (mut tree, number) = file(None);
        tree.write(number, 0, &[1; 9000], 0, false).expect("room");
        assert_eq!(tree.pages, 3);
        tree.allocate(number, 0, 4 * PAGE, PUNCH).expect("a hole");
        assert_eq!((tree.pages, tree.content(number).map(Content::size)), (0, Ok(9000)));
        assert_eq!(tree.allocate(number, 0, (PAGES + 1) * PAGE, 0), Err(libc::ENOSPC));
    }

    #[test]
    fn a_fault_breaks_what_it_says() {
        let (mut tree, number) = file(Some(Fault::TruncateUncovers));
        tree.write(number, 0, b"secret", 0, false).expect("room");
        tree.resize(number, 0).expect("shorter");
        tree.resize(number, 6).expect("longer");
        assert_eq!(tree.read(number, 0, 6, 0), Ok(b"secret".to_vec()));
    }
}
