//! Where records of a source went, so that dependencies are told by their new distance.

use std::collections::VecDeque;

use crate::{Dependency, TraceRecord};

/// Positions that are kept: a dependency that goes farther back is given up, so that memory is bounded.
const LIMIT: usize = 1 << 20;

/// A record that was left out.
const LEFT_OUT: u64 = u64::MAX;

/// The new positions of the last records of a source.
#[derive(Default)]
pub struct Positions {
    positions: VecDeque<u64>,
    dropped: u64,
}

impl Positions {
    pub fn leave_out(&mut self) {
        self.put(LEFT_OUT);
    }

    /// Keeps the next record of the source, at a position of the result, and fits its dependency.
    pub fn keep(&mut self, record: &mut TraceRecord, position: u64) {
        if let Some(after) = record.after {
            record.after = self.fitted(after, position);
            self.dropped += u64::from(record.after.is_none());
        }
        self.put(position);
    }

    /// Dependencies that were given up.
    pub fn dropped(&self) -> u64 {
        self.dropped
    }

    fn put(&mut self, position: u64) {
        if self.positions.len() == LIMIT {
            self.positions.pop_front();
        }
        self.positions.push_back(position);
    }

    fn fitted(&self, after: Dependency, position: u64) -> Option<Dependency> {
        let index = self.positions.len().checked_sub(usize::try_from(after.back).ok()?)?;
        let before = *self.positions.get(index)?;
        (before != LEFT_OUT).then(|| Dependency { back: position - before, ..after })
    }
}
