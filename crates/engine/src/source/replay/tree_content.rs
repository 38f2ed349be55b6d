//! What the files of a tree hold, so that a read can be checked: byte for byte, by file, place and generation.
//!
//! Content follows the file, as its descriptor does: a file is known by its device and inode, so that renames and links need
//! no rule of their own. Bytes that were there before the replay are not judged, and counted. Operations on the same bytes
//! are not in flight together. It looks at the tree by path when a file is opened or truncated: nothing else is in flight
//! then.

use std::collections::{BTreeMap, HashMap};
use std::os::fd::RawFd;

use iodyno_model::Verb;

use super::super::SourceContext;
use super::super::content::WorkerContent;
use super::tree::{self, FileFacts};
use crate::failure::Failure;
use crate::io::{AT_END, Io, KEEP, Names, OPEN_CREATES, OPEN_TRUNCATES, PathBuffer, Slot};
use crate::random::mix;

/// A larger file without a single block is a hole: no file system keeps that much beside its blocks.
const INLINE_MOST: u64 = 4096;

/// Of `fallocate`, in Linux numbers.
const COLLAPSES: i32 = 0x08;
const INSERTS: i32 = 0x20;

/// What is known of some bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Known {
    /// They were there before, or a write of them failed.
    Nothing,
    /// They were never written, or a truncation or a hole took them.
    Zero,
    /// The replay wrote them.
    Generation(u64),
}

/// Device and inode.
type FileKey = (u64, u64);

/// A file of the tree, from its creation to its end.
#[derive(Debug)]
struct KnownFile {
    /// By which its content is told from that of any other, and of one that had its name or inode before.
    id: u64,
    /// It is at least this long.
    bytes: u64,
    /// Whether it is exactly that long.
    is_exact: bool,
    generation: u64,
    /// By where they begin: all bytes, each up to the next.
    ranges: BTreeMap<u64, Known>,
    /// No name is left of it.
    is_unlinked: bool,
}

impl KnownFile {
    fn new(id: u64, bytes: u64, before: Known) -> KnownFile {
        let ranges = BTreeMap::from([(0, before), (bytes, Known::Zero)]);
        KnownFile { id, bytes, is_exact: true, generation: 0, ranges, is_unlinked: false }
    }

    fn at(&self, offset: u64) -> Known {
        self.ranges.range(..=offset).next_back().map_or(Known::Nothing, |(_, known)| *known)
    }

    /// From here to there this is known now.
    fn set(&mut self, from: u64, to: u64, known: Known) {
        if from >= to {
            return;
        }
        let behind = self.at(to);
        while let Some((start, _)) = self.ranges.range(from..=to).next() {
            let start = *start;
            self.ranges.remove(&start);
        }
        self.ranges.insert(from, known);
        if to < u64::MAX {
            self.ranges.insert(to, behind);
        }
    }

    /// What is known from an offset on, and where that ends.
    fn stretch(&self, offset: u64) -> (u64, Known) {
        let end = self.ranges.range(offset.saturating_add(1)..).next().map_or(u64::MAX, |(start, _)| *start);
        (end, self.at(offset))
    }

    /// After a `fallocate` with the mode in `other`.
    fn allocated(&mut self, io: &Io) {
        match io.other as i32 {
            // Longer at most.
            0 => self.bytes = self.bytes.max(io.offset.saturating_add(io.bytes)),
            mode if mode & (COLLAPSES | INSERTS) == 0 => {}
            // What lies behind has moved.
            mode => {
                self.set(io.offset, u64::MAX, Known::Nothing);
                self.is_exact = false;
                if mode & COLLAPSES != 0 {
                    self.bytes = self.bytes.saturating_sub(io.bytes);
                }
            }
        }
    }

    fn truncated(&mut self, bytes: u64) {
        self.set(bytes, u64::MAX, Known::Zero);
        (self.bytes, self.is_exact) = (bytes, true);
    }
}

/// An operation that is in flight on bytes.
#[derive(Clone, Copy, Debug)]
struct FlyingRange {
    file: FileKey,
    from: u64,
    to: u64,
    changes: bool,
    generation: u64,
}

/// What a worker's tree holds.
pub(super) struct TreeContent {
    root: RawFd,
    names: Names,
    files: HashMap<FileKey, KnownFile>,
    handle: u32,
    /// By handle.
    open: Vec<Option<FileKey>>,
    /// By slot.
    flying: Box<[Option<FlyingRange>]>,
    /// What the next unlink or rename takes the last name of.
    last_name: Option<FileKey>,
    /// Files met so far.
    met: u64,
    /// Bytes that were checked, and that were read but not judged.
    pub judged: [u64; 2],
}

impl TreeContent {
    /// Of the tree in this handle.
    ///
    /// # Errors
    /// Engines that have no files.
    pub fn new(context: &SourceContext<'_>, handle: u32) -> Result<TreeContent, Failure> {
        let set = &context.files.handles[handle as usize];
        let Some(names) = set.names.as_deref().filter(|_| context.engine.uses_files) else {
            let failure = format!("engine {} stores nothing that could be verified", context.job.engine);
            return Err(Failure::new(failure).hint("use an engine that works on files, such as psync"));
        };
        Ok(TreeContent {
            root: set.fd,
            names: names.clone(),
            files: HashMap::new(),
            handle,
            open: vec![None; context.files.handles.len()],
            flying: vec![None; context.depth.max(1) as usize].into(),
            last_name: None,
            met: 0,
            judged: [0; 2],
        })
    }

    fn look(&self, item: u64, flags: libc::c_int) -> Option<FileFacts> {
        tree::look(self.root, &self.names, item, flags)
    }

    /// Where an operation is: its file, and the first and the last byte that it may touch.
    fn range(&self, handle: u32, verb: Verb, offset: u64, bytes: u64) -> Option<FlyingRange> {
        let changes = match verb {
            Verb::Read => false,
            Verb::Write | Verb::Trim | Verb::Discard | Verb::WriteZeroes => true,
            _ => return None,
        };
        let key = self.open.get(handle as usize).copied().flatten()?;
        let file = self.files.get(&key)?;
        // What is appended goes to the end, wherever that is.
        let (from, to) = match offset >= AT_END {
            true => (file.bytes, u64::MAX),
            false => (offset, offset.saturating_add(bytes)),
        };
        Some(FlyingRange { file: key, from, to, changes, generation: 0 })
    }

    /// Whether what is in flight must end before an operation on a handle.
    pub fn is_in_the_way(&self, handle: u32, verb: Verb, offset: u64, bytes: u64) -> bool {
        let Some(next) = self.range(handle, verb, offset, bytes) else { return false };
        self.flying.iter().flatten().any(|flying| {
            let overlap = flying.from < next.to && next.from < flying.to;
            flying.file == next.file && overlap && (flying.changes || next.changes)
        })
    }

    /// Makes an operation ready: what a write carries is that of the next generation of its place.
    pub fn ready(&mut self, content: &mut WorkerContent, slot: Slot, io: &Io) {
        self.flying[slot as usize] = None;
        match io.verb {
            Verb::Unlink | Verb::Rename => {
                let goes = if io.verb == Verb::Rename { io.other } else { io.offset };
                let facts = self.look(goes, libc::AT_SYMLINK_NOFOLLOW);
                self.last_name = facts.filter(|facts| facts.links == 1).map(|facts| facts.key);
                // Onto itself nothing is taken away.
                if io.verb == Verb::Rename
                    && self.look(io.offset, libc::AT_SYMLINK_NOFOLLOW).map(|facts| facts.key)
                        == self.last_name
                {
                    self.last_name = None;
                }
            }
            _ => {}
        }
        let range = self.range(io.file, io.verb, io.offset, io.bytes);
        if io.verb == Verb::Write {
            let file = range.and_then(|range| self.files.get_mut(&range.file));
            let (id, generation) = file.map_or((0, 0), |file| {
                file.generation += 1;
                (file.id, file.generation)
            });
            let from = range.map_or(0, |range| range.from);
            content.fill_as(io, id, from, generation);
            self.flying[slot as usize] = range.map(|range| FlyingRange { generation, ..range });
            return;
        }
        content.spoil(io);
        self.flying[slot as usize] = range;
    }

    /// Hears of a completion; the answer is its result, or the code of what is wrong with its content.
    pub fn done(&mut self, content: &mut WorkerContent, slot: Slot, io: &Io, result: i64) -> i64 {
        let flying = self.flying[slot as usize].take();
        match io.verb {
            Verb::Open | Verb::Create if io.flags & KEEP != 0 => self.opened(content, io, result),
            Verb::Close if result >= 0 => self.close(io.file),
            Verb::Truncate if result >= 0 => {
                let key = self.look(io.offset, 0).map(|facts| facts.key);
                if let Some(file) = key.and_then(|key| self.files.get_mut(&key)) {
                    file.truncated(io.bytes);
                }
            }
            Verb::Unlink | Verb::Rename => {
                let gone = self.last_name.take().filter(|_| result >= 0);
                if let Some((key, file)) = gone.and_then(|key| Some((key, self.files.get_mut(&key)?))) {
                    file.is_unlinked = true;
                    self.forget(key);
                }
            }
            Verb::Fallocate if result >= 0 => {
                let key = self.open.get(io.file as usize).copied().flatten();
                if let Some(file) = key.and_then(|key| self.files.get_mut(&key)) {
                    file.allocated(io);
                }
            }
            // What the source holds is the target's too, under another file's stamps: it is not judged.
            Verb::Clone if result >= 0 => {
                let key = self.open.get(io.other as usize).copied().flatten();
                if let Some(file) = key.and_then(|key| self.files.get_mut(&key)) {
                    file.set(0, u64::MAX, Known::Nothing);
                    file.is_exact = false;
                }
            }
            _ => {}
        }
        let Some(flying) = flying else { return result };
        if io.verb == Verb::Read {
            return if result >= 0 { self.check(content, io, flying, result as u64) } else { result };
        }
        if let Some(file) = self.files.get_mut(&flying.file) {
            changed(file, io, flying, result);
        }
        result
    }

    fn opened(&mut self, content: &mut WorkerContent, io: &Io, result: i64) {
        let handle = io.other as u32;
        self.close(handle);
        let Some(facts) = self.look(io.offset, 0).filter(|facts| result >= 0 && facts.is_file) else {
            return;
        };
        let empties = io.verb == Verb::Create || io.other & (OPEN_CREATES | OPEN_TRUNCATES) != 0;
        // What is empty after such a call is new, or as good as new, whatever its inode was before.
        let is_new = empties && facts.bytes == 0;
        if is_new || !self.files.contains_key(&facts.key) {
            self.met += 1;
            let is_hole = facts.blocks == 0 && facts.bytes > INLINE_MOST;
            let before = if is_new || is_hole { Known::Zero } else { Known::Nothing };
            self.files.insert(facts.key, KnownFile::new(mix(self.met), facts.bytes, before));
        }
        self.open[handle as usize] = Some(facts.key);
        let mut buffer = PathBuffer::default();
        let name = self.names.path(io.offset, &mut buffer).to_string_lossy();
        content.name_handle(handle, (self.handle, &name));
    }

    fn close(&mut self, handle: u32) {
        if let Some(key) = self.open.get_mut(handle as usize).and_then(Option::take) {
            self.forget(key);
        }
    }

    /// A file that has no name and is open nowhere is no more.
    fn forget(&mut self, key: FileKey) {
        let is_over = self.files.get(&key).is_some_and(|file| file.is_unlinked);
        if is_over && !self.open.contains(&Some(key)) {
            self.files.remove(&key);
        }
    }

    /// Checks what was read of each stretch of one generation.
    fn check(&mut self, content: &mut WorkerContent, io: &Io, flying: FlyingRange, got: u64) -> i64 {
        let Some(file) = self.files.get(&flying.file) else { return got as i64 };
        // SAFETY: the buffer holds at least as many bytes as the read was asked for, and the read is complete.
        let buffer = unsafe { std::slice::from_raw_parts_mut(io.buffer, got.min(io.bytes) as usize) };
        let (mut bad, mut start, length) = (0, 0, buffer.len());
        while start < length {
            let offset = io.offset + start as u64;
            let (end, known) = file.stretch(offset);
            let bytes = usize::try_from(end - offset).unwrap_or(usize::MAX).min(length - start);
            let part = &mut buffer[start..start + bytes];
            let code = match known {
                Known::Nothing => 0,
                Known::Zero => content.check_zeros(io, part, offset),
                Known::Generation(generation) => content.check_as(io, part, (file.id, offset), generation),
            };
            self.judged[usize::from(known == Known::Nothing)] += bytes as u64;
            bad = if bad == 0 { code } else { bad };
            start += bytes;
        }
        // The file ends before what it holds does.
        let there = file.bytes.min(io.offset.saturating_add(io.bytes));
        let end = io.offset.saturating_add(got);
        if end < there {
            let code = content.misses(io, end, there - end);
            bad = if bad == 0 { code } else { bad };
        }
        if bad == 0 { got as i64 } else { i64::from(bad) }
    }
}

/// Takes note of a change of a file's bytes that has ended.
fn changed(file: &mut KnownFile, io: &Io, flying: FlyingRange, result: i64) {
    let FlyingRange { from, generation, .. } = flying;
    let appends = io.offset >= AT_END;
    let end = from.saturating_add(io.bytes);
    let whole = result == io.bytes as i64 || (io.verb != Verb::Write && result >= 0);
    if appends && !(file.is_exact && whole) {
        // Where it went, or how much of it, is not known.
        file.set(file.bytes, u64::MAX, Known::Nothing);
        file.is_exact = false;
        return;
    }
    match io.verb {
        Verb::Write if whole => file.set(from, end, Known::Generation(generation)),
        Verb::Write => {
            file.set(from, end, Known::Nothing);
            file.is_exact &= end <= file.bytes;
        }
        _ if whole => file.set(from, end, Known::Zero),
        _ => file.set(from, end, Known::Nothing),
    }
    if whole && io.verb == Verb::Write {
        file.bytes = file.bytes.max(end);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_known_of_bytes_is_what_was_last_done_to_them() {
        let mut file = KnownFile::new(1, 1000, Known::Nothing);
        // Against a plain array.
        let mut plain = vec![Known::Zero; 4000];
        plain[..1000].fill(Known::Nothing);
        for step in 0..2000 {
            let draw = |of: u64, salt: u64| mix(step << 8 | salt) % of;
            let (from, to) = (draw(3000, 1), draw(3000, 2));
            let known = [Known::Nothing, Known::Zero, Known::Generation(step)][draw(3, 3) as usize];
            file.set(from, to, known);
            if from < to {
                plain[from as usize..to as usize].fill(known);
            }
            if step % 50 == 0 {
                let cut = draw(3000, 4);
                file.truncated(cut);
                plain[cut as usize..].fill(Known::Zero);
            }
            let mut offset = 0;
            while offset < 4000 {
                let (end, known) = file.stretch(offset);
                assert!(end > offset);
                let end = end.min(4000);
                assert!(
                    plain[offset as usize..end as usize].iter().all(|one| *one == known),
                    "{step} {offset}"
                );
                offset = end;
            }
        }
    }
}
