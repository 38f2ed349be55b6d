//! What may be found after a crash: the last value that was promised, and each that followed it.

use super::Given;
use crate::stamp::ByteOrigin;
use std::collections::BTreeMap;

/// A value of which a crash may leave an earlier one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Alternatives<T> {
    pub current: T,
    /// What may be found, the current one among them.
    pub allowed: Vec<T>,
    /// All that it ever was: what is found and not allowed is an old one, or one that nobody gave.
    pub ever: Vec<T>,
    /// What narrowed it last.
    pub promise: Option<Given>,
}

fn push_new<T: PartialEq>(values: &mut Vec<T>, value: T) {
    if !values.contains(&value) {
        values.push(value);
    }
}

impl<T: Clone + PartialEq> Alternatives<T> {
    pub fn new(value: T) -> Self {
        Alternatives {
            allowed: vec![value.clone()],
            ever: vec![value.clone()],
            current: value,
            promise: None,
        }
    }

    /// A change that may or may not be found.
    pub fn change(&mut self, value: T) {
        push_new(&mut self.ever, value.clone());
        push_new(&mut self.allowed, value.clone());
        self.current = value;
    }

    /// What may be found on the way to another value.
    pub fn allow(&mut self, value: T) {
        push_new(&mut self.allowed, value);
    }

    /// From here on nothing but the current value is allowed.
    pub fn keep(&mut self, promise: Given) {
        self.allowed = vec![self.current.clone()];
        self.promise = Some(promise);
    }

    pub fn allows(&self, value: &T) -> bool {
        self.allowed.contains(value)
    }
}

/// The bytes of a file, as ranges that were treated alike.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ByteRanges {
    /// By their first byte; each ends where the next begins, the last one never.
    ranges: BTreeMap<u64, Alternatives<ByteOrigin>>,
}

impl Default for ByteRanges {
    fn default() -> Self {
        ByteRanges { ranges: BTreeMap::from([(0, Alternatives::new(ByteOrigin::Zero))]) }
    }
}

impl ByteRanges {
    fn split(&mut self, at: u64) {
        if at == u64::MAX || self.ranges.contains_key(&at) {
            return;
        }
        if let Some((_, before)) = self.ranges.range(..at).next_back() {
            let copy = before.clone();
            self.ranges.insert(at, copy);
        }
    }

    /// Calls it for each range between two offsets.
    fn each(&mut self, start: u64, end: u64, mut change: impl FnMut(&mut Alternatives<ByteOrigin>)) {
        if start >= end {
            return;
        }
        self.split(start);
        self.split(end);
        self.ranges.range_mut(start..end).for_each(|(_, range)| change(range));
    }

    pub fn change(&mut self, start: u64, end: u64, origin: ByteOrigin) {
        self.each(start, end, |range| range.change(origin));
    }

    pub fn keep(&mut self, start: u64, end: u64, promise: Given) {
        self.each(start, end, |range| range.keep(promise));
    }

    /// Start, end and state of each range below `end`.
    pub fn below(&self, end: u64) -> impl Iterator<Item = (u64, u64, &Alternatives<ByteOrigin>)> {
        let ends = self.ranges.keys().skip(1).copied().chain([u64::MAX]);
        let all = self.ranges.iter().zip(ends);
        all.map(move |((start, range), next)| (*start, next.min(end), range))
            .take_while(move |(start, ..)| *start < end)
    }

    fn origins(&self) -> Vec<(u64, u64, ByteOrigin)> {
        self.below(u64::MAX).map(|(start, end, range)| (start, end, range.current)).collect()
    }

    /// What lay at `from` and behind lies at `to` and behind. File systems move one extent after the other, and an extent that is
    /// on its way leaves a hole.
    pub fn shift(&mut self, from: u64, to: u64) {
        let by = from as i64 - to as i64;
        let moved: Vec<_> = self.origins().into_iter().filter(|(_, end, _)| *end > from).collect();
        self.each(from.min(to), u64::MAX, |range| range.allow(ByteOrigin::Zero));
        if to > from {
            self.change(from, to, ByteOrigin::Zero);
        }
        for (start, end, origin) in moved {
            let start = start.max(from).wrapping_add_signed(-by);
            let end = if end == u64::MAX { end } else { end.wrapping_add_signed(-by) };
            self.change(start, end, origin.shifted(by));
        }
    }

    /// The whole of another file's bytes.
    pub fn copy(&mut self, other: &ByteRanges) {
        for (start, end, origin) in other.origins() {
            self.change(start, end, origin);
        }
    }
}

/// The size of a file: between a smallest and a largest one, for file systems grow and cut a file in pieces.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SizeBounds {
    pub current: u64,
    pub smallest: u64,
    pub largest: u64,
    /// The size that was promised last: bytes behind it are covered by no promise.
    pub promised: u64,
    pub promise: Option<Given>,
}

impl SizeBounds {
    pub fn change(&mut self, size: u64) {
        self.current = size;
        self.smallest = self.smallest.min(size);
        self.largest = self.largest.max(size);
    }

    pub fn keep(&mut self, promise: Given) {
        (self.smallest, self.largest, self.promised) = (self.current, self.current, self.current);
        self.promise = Some(promise);
    }

    /// The bytes before `end` can be read from here on.
    pub fn keep_up_to(&mut self, end: u64, promise: Given) {
        let end = end.min(self.current);
        self.promised = self.promised.max(end);
        if end > self.smallest {
            self.smallest = end;
            self.promise = Some(promise);
        }
    }
}
