//! What a regular file holds: pages in memory, with holes between them.
//!
//! A page that was allocated and never written takes up room and reads as zeros, as an unwritten extent does. It refuses
//! to know of faults, times or room: those are the tree's.

use std::collections::BTreeMap;

/// Bytes of a page, and of a block as `statfs` counts them.
pub const PAGE: u64 = 4096;

/// The bytes of one file.
#[derive(Debug, Clone, Default)]
pub struct Content {
    size: u64,
    pages: BTreeMap<u64, Option<Box<[u8]>>>,
}

impl Content {
    /// The length of the file in bytes.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// How many pages take up room.
    pub fn allocated(&self) -> u64 {
        self.pages.len() as u64
    }

    /// How many further pages a write or an allocation of this range would take.
    pub fn missing(&self, offset: u64, length: u64) -> u64 {
        let (Some(first), Some(last)) = (pages_of(offset, length).next(), pages_of(offset, length).last())
        else {
            return 0;
        };
        (last - first + 1) - self.pages.range(first..=last).count() as u64
    }

    /// What can be read at `offset`, at most `count` bytes.
    pub fn read(&self, offset: u64, count: u64) -> Vec<u8> {
        let end = self.size.min(offset.saturating_add(count));
        let mut bytes = vec![0; end.saturating_sub(offset) as usize];
        if bytes.is_empty() {
            return bytes;
        }
        for (index, page) in self.pages.range(offset / PAGE..=(end - 1) / PAGE) {
            let Some(page) = page else { continue };
            let (from, to) = (offset.max(index * PAGE), end.min((index + 1) * PAGE));
            let source = &page[(from - index * PAGE) as usize..(to - index * PAGE) as usize];
            bytes[(from - offset) as usize..(to - offset) as usize].copy_from_slice(source);
        }
        bytes
    }

    /// Puts these bytes there; the file grows as far as they reach.
    pub fn write(&mut self, offset: u64, bytes: &[u8]) {
        let end = offset + bytes.len() as u64;
        for index in pages_of(offset, bytes.len() as u64) {
            let page = self.pages.entry(index).or_default().get_or_insert_with(blank);
            let (from, to) = (offset.max(index * PAGE), end.min((index + 1) * PAGE));
            let source = &bytes[(from - offset) as usize..(to - offset) as usize];
            page[(from - index * PAGE) as usize..(to - index * PAGE) as usize].copy_from_slice(source);
        }
        if !bytes.is_empty() {
            self.size = self.size.max(end);
        }
    }

    /// Gives the file this length. What it loses is gone: when it grows again there are zeros.
    pub fn resize(&mut self, size: u64) {
        if size < self.size {
            self.punch(size, self.size - size);
            self.pages.split_off(&size.div_ceil(PAGE));
        }
        self.size = size;
    }

    /// Changes the length and leaves what lies behind it as it is.
    pub fn set_size(&mut self, size: u64) {
        self.size = size;
    }

    /// Takes up room for a range without changing what is read there.
    pub fn allocate(&mut self, offset: u64, length: u64) {
        for index in pages_of(offset, length) {
            self.pages.entry(index).or_default();
        }
    }

    /// Makes a range read as zeros and gives its whole pages back.
    pub fn punch(&mut self, offset: u64, length: u64) {
        let end = offset.saturating_add(length);
        self.pages.retain(|index, _| index * PAGE < offset || (index + 1) * PAGE > end);
        for index in [offset / PAGE, end / PAGE] {
            let Some(Some(page)) = self.pages.get_mut(&index) else { continue };
            let (from, to) = (offset.max(index * PAGE), end.min((index + 1) * PAGE));
            if from < to {
                page[(from - index * PAGE) as usize..(to - index * PAGE) as usize].fill(0);
            }
        }
    }

    /// Where data begins at or behind `offset`.
    pub fn next_data(&self, offset: u64) -> Option<u64> {
        let (index, _) = self.pages.range(offset / PAGE..).find(|(_, page)| page.is_some())?;
        let at = offset.max(index * PAGE);
        (at < self.size).then_some(at)
    }

    /// Where a hole begins at or behind `offset`; the end of the file is one.
    pub fn next_hole(&self, offset: u64) -> u64 {
        let mut at = offset / PAGE;
        while self.pages.get(&at).is_some_and(Option::is_some) {
            at += 1;
        }
        (at * PAGE).clamp(offset, self.size)
    }
}

fn blank() -> Box<[u8]> {
    vec![0; PAGE as usize].into_boxed_slice()
}

/// The indexes of all pages that a range touches.
fn pages_of(offset: u64, length: u64) -> std::ops::Range<u64> {
    match length {
        0 => 0..0,
        _ => offset / PAGE..offset.saturating_add(length).div_ceil(PAGE),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hole_reads_as_zeros_and_takes_no_room() {
        let mut content = Content::default();
        content.write(3 * PAGE, b"end");
        assert_eq!((content.size(), content.allocated()), (3 * PAGE + 3, 1));
        assert_eq!(content.read(PAGE - 1, 2), [0, 0]);
        assert_eq!(content.read(3 * PAGE, 9), b"end");
        assert_eq!((content.next_data(0), content.next_hole(0)), (Some(3 * PAGE), 0));
        assert_eq!(content.next_hole(3 * PAGE), 3 * PAGE + 3);
        assert_eq!(content.missing(0, 4 * PAGE), 3);
    }

    #[test]
    fn what_was_cut_off_does_not_come_back() {
        let mut content = Content::default();
        content.write(0, &[7; 10_000]);
        content.resize(5_000);
        content.resize(10_000);
        assert_eq!(content.read(4_999, 3), [7, 0, 0]);
        assert_eq!(content.allocated(), 2);
    }

    #[test]
    fn a_punched_range_is_zero_and_its_edges_stay() {
        let mut content = Content::default();
        content.write(0, &[7; 4 * PAGE as usize]);
        content.punch(100, 2 * PAGE);
        assert_eq!((content.size(), content.allocated()), (4 * PAGE, 3));
        assert_eq!((content.read(99, 2), content.read(2 * PAGE + 99, 2)), (vec![7, 0], vec![0, 7]));
        content.punch(10, 5);
        assert_eq!(content.read(9, 1), [7]);
    }
}
