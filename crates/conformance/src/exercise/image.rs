//! The model: what two files hold, and what each operation makes of them.
//!
//! Kept over any kind of cell, so that one meaning of the operations serves twice: over bytes it says what must be
//! there, over numbers of operations it says who put it there. It never looks at a real file.

use std::ops::Range;

use super::operation::{OpKind, Operation};

/// What an operation puts into cells of its own.
pub trait Ink<T> {
    fn write(&self, cells: &mut [T]);
    /// What cells hold that became part of the file without being written: zeros.
    fn blank(&self) -> T;
    /// What becomes of cells that are copied.
    fn copied(&self, _cells: &mut [T]) {}
}

/// Bytes, as an operation's seed says.
pub struct Bytes<'a>(pub &'a [u8]);

impl Ink<u8> for Bytes<'_> {
    fn write(&self, cells: &mut [u8]) {
        let count = cells.len().min(self.0.len());
        cells[..count].copy_from_slice(&self.0[..count]);
    }

    fn blank(&self) -> u8 {
        0
    }
}

/// The number of the operation.
pub struct Number(pub u32);

impl Ink<u32> for Number {
    fn write(&self, cells: &mut [u32]) {
        cells.fill(self.0);
    }

    fn blank(&self) -> u32 {
        self.0
    }

    fn copied(&self, cells: &mut [u32]) {
        cells.fill(self.0);
    }
}

/// Two files.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Image<T> {
    /// What each holds.
    pub files: [Vec<T>; 2],
}

impl<T: Copy> Image<T> {
    /// How long a file is.
    pub fn size(&self, file: usize) -> u64 {
        self.files[file].len() as u64
    }

    /// A part of a file, as far as it goes.
    pub fn part(&self, file: usize, range: Range<u64>) -> &[T] {
        let cells = &self.files[file];
        let end = (range.end.min(cells.len() as u64)) as usize;
        &cells[(range.start as usize).min(end)..end]
    }

    /// Does what an operation does of which `count` bytes took effect.
    pub fn apply(&mut self, operation: &Operation, count: u64, ink: &impl Ink<T>) {
        let (start, end) = (operation.offset as usize, operation.offset.saturating_add(count) as usize);
        let cells = &mut self.files[operation.file];
        match operation.kind {
            OpKind::Write | OpKind::MappedWrite | OpKind::DirectWrite => {
                grow(cells, end, ink);
                ink.write(&mut cells[start..end]);
            }
            OpKind::Append => {
                let start = cells.len();
                grow(cells, start + count as usize, ink);
                ink.write(&mut cells[start..]);
            }
            OpKind::Truncate => cells.resize(operation.bytes as usize, ink.blank()),
            OpKind::Fallocate => grow(cells, end, ink),
            OpKind::PunchHole | OpKind::ZeroKeepSize => blank(cells, start, end, ink),
            OpKind::ZeroRange => {
                grow(cells, end, ink);
                blank(cells, start, end, ink);
            }
            OpKind::CollapseRange => drop(cells.drain(start.min(cells.len())..end.min(cells.len()))),
            OpKind::InsertRange => {
                let at = start.min(cells.len());
                drop(cells.splice(at..at, std::iter::repeat_n(ink.blank(), operation.bytes as usize)));
            }
            OpKind::Copy | OpKind::Clone | OpKind::Sendfile | OpKind::Splice => {
                self.copy(operation, count, ink)
            }
            _ => {}
        }
    }

    fn copy(&mut self, operation: &Operation, count: u64, ink: &impl Ink<T>) {
        if count == 0 {
            return;
        }
        let mut taken = self.part(operation.file, operation.offset..operation.offset + count).to_vec();
        ink.copied(&mut taken);
        let cells = &mut self.files[operation.to];
        let start = operation.target as usize;
        grow(cells, start + taken.len(), ink);
        cells[start..start + taken.len()].copy_from_slice(&taken);
    }
}

fn grow<T: Copy>(cells: &mut Vec<T>, end: usize, ink: &impl Ink<T>) {
    if end > cells.len() {
        cells.resize(end, ink.blank());
    }
}

fn blank<T: Copy>(cells: &mut [T], start: usize, end: usize, ink: &impl Ink<T>) {
    let end = end.min(cells.len());
    cells[start.min(end)..end].fill(ink.blank());
}

/// Whether an operation means anything at these sizes, with files of at most so many bytes. In a shortened script some
/// do not any more, and are left out.
pub fn applies(operation: &Operation, sizes: [u64; 2], most: u64) -> bool {
    let size = sizes[operation.file];
    let (_, _, reach) = operation.reach(size);
    match operation.kind {
        OpKind::CollapseRange => operation.bytes > 0 && operation.end() < size,
        OpKind::InsertRange => operation.offset < size && size + operation.bytes <= most,
        OpKind::Copy | OpKind::Clone | OpKind::Dedupe | OpKind::Sendfile | OpKind::Splice => {
            copies(operation, sizes) && reach <= most
        }
        OpKind::Fallocate
        | OpKind::KeepSize
        | OpKind::PunchHole
        | OpKind::ZeroRange
        | OpKind::ZeroKeepSize
        | OpKind::MappedWrite => operation.bytes > 0 && reach <= most,
        OpKind::MappedRead => operation.bytes > 0 && operation.offset < size,
        OpKind::Seek => operation.offset < size,
        _ => !operation.kind.changes() || reach <= most,
    }
}

/// Whether a copy has something to copy, and does not run into itself.
fn copies(operation: &Operation, sizes: [u64; 2]) -> bool {
    let (from, to) =
        (operation.offset..operation.end(), operation.target..operation.target + operation.bytes);
    let apart = operation.file != operation.to || from.end <= to.start || to.end <= from.start;
    let within = operation.kind != OpKind::Dedupe || to.end <= sizes[operation.to];
    operation.bytes > 0 && from.end <= sizes[operation.file] && apart && within
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(lines: &[&str]) -> Vec<u8> {
        let mut image = Image::<u8>::default();
        for line in lines {
            let operation = Operation::parse(line).unwrap();
            assert!(applies(&operation, [image.size(0), image.size(1)], 1000), "{line}");
            let letters: Vec<u8> = (0..operation.bytes).map(|_| b'a' + operation.seed as u8).collect();
            image.apply(&operation, operation.bytes, &Bytes(&letters));
        }
        image.files[0].iter().map(|byte| if *byte == 0 { b'.' } else { *byte }).collect()
    }

    #[test]
    fn operations_mean_what_they_mean() {
        let shown = |lines: &[&str]| String::from_utf8(after(lines)).unwrap();
        assert_eq!(shown(&["write 2 3 seed=0"]), "..aaa");
        assert_eq!(shown(&["write 0 4 seed=0", "truncate 2", "truncate 5"]), "aa...");
        assert_eq!(shown(&["append 2 seed=0", "append 2 seed=1"]), "aabb");
        assert_eq!(shown(&["write 0 4 seed=0", "punch_hole 1 9"]), "a...");
        assert_eq!(shown(&["write 0 4 seed=0", "zero_range 3 3"]), "aaa...");
        assert_eq!(shown(&["write 0 4 seed=0", "zero_range_keep_size 3 3"]), "aaa.");
        assert_eq!(shown(&["write 0 2 seed=0", "append 3 seed=1", "collapse_range 1 2"]), "abb");
        assert_eq!(shown(&["write 0 2 seed=0", "insert_range 1 2"]), "a..a");
        assert_eq!(shown(&["write 0 2 seed=0", "copy_file_range 0 4 2"]), "aa..aa");
        assert_eq!(shown(&["fallocate 1 2", "fallocate_keep_size 1 9"]), "...");
    }

    #[test]
    fn what_means_nothing_is_left_out() {
        let at = |line: &str, size| applies(&Operation::parse(line).unwrap(), [size, 0], 100);
        assert!(!at("collapse_range 0 8", 8) && at("collapse_range 0 8", 9));
        assert!(!at("insert_range 8 8", 8) && !at("insert_range 4 8", 96));
        assert!(!at("copy_file_range 0 4 8", 50) && !at("clone_range 0 50 8", 7));
        assert!(!at("write 99 2 seed=1", 0) && !at("seek 5", 5) && at("read 5 5", 0));
    }

    #[test]
    fn who_put_it_there_moves_along() {
        let mut image = Image::<u32>::default();
        for (number, line) in ["write 0 4 seed=1", "insert_range 2 3", "truncate 6"].iter().enumerate() {
            let operation = Operation::parse(line).unwrap();
            image.apply(&operation, operation.bytes, &Number(number as u32));
        }
        assert_eq!(image.files[0], [0, 0, 1, 1, 1, 0]);
    }
}
