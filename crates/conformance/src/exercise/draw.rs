//! What is done next: kinds by weight, places and sizes where file systems have their edges.
//!
//! Everything follows from the seed and from how long the files are, so the same seed does the same on the same file
//! system. It draws nothing that means nothing: what needs bytes is not drawn of an empty file.

use super::image::applies;
use super::operation::{OpKind, Operation, Way};
use iodyno_engine::random::Random;

/// What can be drawn.
#[derive(Clone, Debug)]
pub struct Choice {
    /// Kinds with their weights; none is 0.
    pub weights: Vec<(OpKind, u32)>,
    /// Engines for reads and writes through the page cache, and past it.
    pub ways: Vec<Way>,
    /// The longest a file may become, bytes.
    pub most: u64,
    /// The longest operation, bytes.
    pub operation: u64,
    /// What moves blocks must be a multiple of, bytes.
    pub block: u64,
    /// What goes past the page cache must be a multiple of, bytes.
    pub direct: u64,
    /// A page of memory, bytes.
    pub page: u64,
}

/// Draws operations.
pub struct Draw {
    choice: Choice,
    random: Random,
    total: u64,
}

/// In so many draws, one begins a few operations that are in flight together.
const TOGETHER_IN: u64 = 6;
/// In so many draws, one is of the second file.
const OTHER_IN: u64 = 6;

impl Draw {
    pub fn new(choice: Choice, seed: u64) -> Draw {
        let total = choice.weights.iter().map(|(_, weight)| u64::from(*weight)).sum();
        Draw { choice, random: Random::from_seed(seed, 0), total }
    }

    /// The next operation, or a few that go together.
    pub fn next(&mut self, sizes: [u64; 2], into: &mut Vec<Operation>) {
        into.clear();
        let first = self.one(sizes);
        let together = first.kind.has_way() && self.random.below(TOGETHER_IN) == 0;
        into.push(first);
        if together {
            self.fellows(sizes, into);
        }
        let last = into.len() - 1;
        into[..last].iter_mut().for_each(|operation| operation.beside = true);
    }

    /// Further reads and writes beside the first, in pages of their own.
    fn fellows(&mut self, sizes: [u64; 2], into: &mut Vec<Operation>) {
        let direct = into[0].kind.is_direct();
        let (read, write) = match direct {
            true => (OpKind::DirectRead, OpKind::DirectWrite),
            false => (OpKind::Read, OpKind::Write),
        };
        for _ in 0..1 + self.random.below(3) {
            let kind = if self.random.below(2) == 0 { read } else { write };
            let has = self.choice.weights.iter().any(|(known, _)| *known == kind);
            let Some(operation) = has.then(|| self.of(kind, sizes)).flatten() else { continue };
            into.push(operation);
            if !super::harness::are_apart(into, self.choice.page, sizes) {
                into.pop();
            }
        }
    }

    fn one(&mut self, sizes: [u64; 2]) -> Operation {
        loop {
            let mut place = self.random.below(self.total);
            let mut kinds = self.choice.weights.iter().map(|(kind, weight)| (*kind, u64::from(*weight)));
            let kind = kinds.find(|(_, weight)| {
                let here = place < *weight;
                place = place.saturating_sub(*weight);
                here
            });
            let Some((kind, _)) = kind else { continue };
            if let Some(operation) = self.of(kind, sizes) {
                return operation;
            }
        }
    }

    /// An operation of a kind, if there is one to be had at these sizes.
    fn of(&mut self, kind: OpKind, sizes: [u64; 2]) -> Option<Operation> {
        let file = usize::from(self.random.below(OTHER_IN) == 0);
        let (size, unit) = (sizes[file], self.unit(kind));
        let mut operation = Operation { file, ..Operation::new(kind, 0, 0) };
        match kind {
            OpKind::Truncate => operation.bytes = self.size(size),
            OpKind::Append => operation.bytes = self.bytes().min(self.choice.most.saturating_sub(size)),
            OpKind::Fsync | OpKind::Fdatasync | OpKind::Reopen | OpKind::DropCache | OpKind::Check => {}
            OpKind::Seek => operation.offset = self.random.below(size),
            OpKind::Copy | OpKind::Clone | OpKind::Dedupe | OpKind::Sendfile | OpKind::Splice => {
                self.pair(&mut operation, sizes, unit);
            }
            OpKind::CollapseRange | OpKind::InsertRange => {
                operation.offset = aligned(self.random.below(size), unit);
                operation.bytes = self.bytes().next_multiple_of(unit);
            }
            OpKind::Read | OpKind::MappedRead | OpKind::Readahead | OpKind::SyncRange => {
                operation.offset = self.offset(size, size);
                operation.bytes =
                    self.bytes().min((size + self.choice.page).saturating_sub(operation.offset));
            }
            _ => {
                operation.offset = aligned(self.offset(size, self.choice.most), unit);
                operation.bytes = self.bytes().min(self.choice.most - operation.offset);
                operation.bytes = aligned(operation.bytes, unit);
            }
        }
        if kind.has_seed() {
            operation.seed = self.random.next() >> 32;
        }
        if kind.has_way() {
            operation.way = self.choice.ways[self.random.below(self.choice.ways.len() as u64) as usize];
        }
        operation.sync = kind == OpKind::MappedWrite && self.random.below(4) == 0;
        let means = kind.shape() == super::operation::LineShape::Bare
            || kind == OpKind::Truncate
            || kind == OpKind::Seek;
        ((means || operation.bytes > 0) && applies(&operation, sizes, self.choice.most)).then_some(operation)
    }

    /// What a kind's places must be multiples of.
    fn unit(&self, kind: OpKind) -> u64 {
        match kind {
            OpKind::CollapseRange | OpKind::InsertRange | OpKind::Clone | OpKind::Dedupe => self.choice.block,
            OpKind::DirectRead | OpKind::DirectWrite => self.choice.direct,
            _ => 1,
        }
    }

    /// How many bytes: as often few as many, often whole pages.
    fn bytes(&mut self) -> u64 {
        let most = self.choice.operation;
        let bytes = match self.random.below(4) {
            0 => 1 + self.random.below(most.min(512)),
            1 => 1 + self.random.below(most.min(2 * self.choice.page)),
            2 => aligned(self.random.below(most) + self.choice.page, self.choice.page),
            _ => 1 + self.random.below(most),
        };
        bytes.clamp(1, most)
    }

    /// Where: anywhere, at pages, around the end, at the beginning.
    fn offset(&mut self, size: u64, below: u64) -> u64 {
        let page = self.choice.page;
        let offset = match self.random.below(8) {
            0 => 0,
            1 => (size + self.random.below(3)).saturating_sub(1),
            2 => size.saturating_sub(self.random.below(page)),
            3 => aligned(self.random.below(below), page),
            4 => (aligned(self.random.below(below), page) + self.random.below(3)).saturating_sub(1),
            5 | 6 => self.random.below(size.max(1)),
            _ => self.random.below(below),
        };
        offset.min(below.saturating_sub(1))
    }

    /// A new size: shorter and longer, at pages and beside them.
    fn size(&mut self, size: u64) -> u64 {
        let most = self.choice.most;
        let bytes = match self.random.below(6) {
            0 => size.saturating_sub(self.random.below(self.choice.page)),
            1 => size + self.random.below(self.choice.page),
            2 => aligned(self.random.below(most), self.choice.page),
            3 => self.random.below(size.max(1)),
            _ => self.random.below(most + 1),
        };
        bytes.min(most)
    }

    fn pair(&mut self, operation: &mut Operation, sizes: [u64; 2], unit: u64) {
        let size = sizes[operation.file];
        operation.to = if self.random.below(2) == 0 { operation.file } else { 1 - operation.file };
        operation.offset = aligned(self.random.below(size.max(1)), unit);
        operation.bytes = self.bytes().next_multiple_of(unit).min(size - operation.offset.min(size));
        // The last block may be cut short by the end of the file it is taken from, and then must be the last there.
        let whole = operation.bytes.is_multiple_of(unit);
        let bound = if operation.kind == OpKind::Dedupe { sizes[operation.to] } else { self.choice.most };
        let room = bound.saturating_sub(operation.bytes);
        operation.target = aligned(self.random.below(room + 1), unit);
        if operation.kind == OpKind::Dedupe
            || (!whole && operation.target + operation.bytes < sizes[operation.to])
        {
            operation.bytes = aligned(operation.bytes, unit);
        }
        if operation.kind == OpKind::Dedupe && self.random.below(2) == 0 {
            // Two files have the same places alike more often than any others.
            operation.target = operation.offset;
        }
    }
}

fn aligned(value: u64, unit: u64) -> u64 {
    value - value % unit.max(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exercise::operation::KINDS;

    fn draw(seed: u64) -> Draw {
        let choice = Choice {
            weights: KINDS.iter().map(|(kind, ..)| (*kind, 1)).collect(),
            ways: vec![Way::Psync, Way::Uring],
            most: 100_000,
            operation: 20_000,
            block: 4096,
            direct: 512,
            page: 4096,
        };
        Draw::new(choice, seed)
    }

    fn drawn(seed: u64, count: usize) -> Vec<Operation> {
        let (mut draw, mut batch, mut all) = (draw(seed), Vec::new(), Vec::new());
        for number in 0..count {
            draw.next([number as u64 * 997 % 100_000, number as u64 * 13 % 50_000], &mut batch);
            all.append(&mut batch);
        }
        all
    }

    #[test]
    fn the_same_seed_draws_the_same() {
        assert_eq!(drawn(5, 2000), drawn(5, 2000));
        assert_ne!(drawn(5, 2000), drawn(6, 2000));
    }

    #[test]
    fn what_is_drawn_is_aligned_and_within_bounds() {
        let all = drawn(1, 20_000);
        for operation in &all {
            let of =
                |unit: u64| operation.offset.is_multiple_of(unit) && operation.target.is_multiple_of(unit);
            let bound = if operation.kind.changes() { 100_000 } else { 100_000 + 4096 };
            assert!(operation.reach(0).2 <= 200_000 && operation.bytes <= bound, "{operation}");
            match operation.kind {
                kind if kind.is_direct() => assert!(of(512) && operation.bytes % 512 == 0, "{operation}"),
                OpKind::CollapseRange | OpKind::InsertRange | OpKind::Clone | OpKind::Dedupe => {
                    assert!(of(4096), "{operation}");
                }
                _ => {}
            }
        }
        assert!(KINDS.iter().all(|(kind, ..)| all.iter().any(|operation| operation.kind == *kind)));
        assert!(all.iter().any(|operation| operation.beside));
    }
}
