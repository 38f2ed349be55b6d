//! What was done, through what, and what failed.

use iodyno_model::ExerciseRecord;

use super::operation::{KINDS, OpKind, Operation, WAYS, Way};
use iodyno_engine::failure::strerror;

/// Counts of an exercise.
#[derive(Default)]
pub struct Tallies {
    kinds: [u64; KINDS.len()],
    ways: [u64; WAYS.len()],
    failed: Vec<(&'static str, i32, u64)>,
    /// Operations that ran beside another.
    beside: u64,
}

impl Tallies {
    /// Counts an operation and its answer.
    pub fn count(&mut self, operation: &Operation, result: Result<u64, i32>) {
        self.kinds[operation.kind.index()] += 1;
        self.beside += u64::from(operation.beside);
        match operation.kind {
            kind if kind.has_way() => self.ways[operation.way as usize] += 1,
            OpKind::MappedRead | OpKind::MappedWrite => self.ways[Way::Mmap as usize] += 1,
            _ => {}
        }
        if let Err(errno) = result {
            self.fail(operation.kind.name(), errno);
        }
    }

    /// Counts a failure.
    pub fn fail(&mut self, name: &'static str, errno: i32) {
        match self.failed.iter_mut().find(|(known, number, _)| (*known, *number) == (name, errno)) {
            Some((.., count)) => *count += 1,
            None => self.failed.push((name, errno, 1)),
        }
    }

    /// Writes them down.
    pub fn tell(&self, record: &mut ExerciseRecord) {
        let counted = |names: &mut dyn Iterator<Item = (&'static str, u64)>| {
            let some = names.filter(|(_, count)| *count > 0);
            some.map(|(name, count)| (name.to_string(), count)).collect::<Vec<_>>()
        };
        record.done = counted(&mut KINDS.iter().map(|(_, name, _)| *name).zip(self.kinds));
        record.through = counted(&mut WAYS.iter().map(|(_, name)| *name).zip(self.ways));
        if self.beside > 0 {
            record.through.push(("beside another".into(), self.beside));
        }
        let told =
            |(name, errno, count): &(&str, i32, u64)| (format!("{name}: {}", strerror(*errno)), *count);
        record.failed = self.failed.iter().map(told).collect();
    }
}
