//! `null`: takes every operation and completes it at once. What is left is the loop itself.
//!
//! The yardstick of our own cost; it moves no byte and opens no file.

use super::{Engine, EngineFacts, Failure, Setup};
use iodyno_model::EngineTrait;

use crate::clock::{self, Tick};
use crate::io::{Files, Io, Slot};

/// Completes everything at once.
pub struct Null {
    /// As many as the depth, so that nothing grows; the first `count` are in flight.
    taken: Box<[(Slot, i64)]>,
    count: usize,
}

impl Engine for Null {
    const FACTS: EngineFacts = EngineFacts {
        about: "completes every operation at once: the cost of the loop itself",
        submits: true,
        uses_files: false,
        traits: &[EngineTrait::Pretends, EngineTrait::KeepsProcessorBusy],
        ..EngineFacts::named("null")
    };

    fn start(setup: &Setup<'_>) -> Result<Self, Failure> {
        Ok(Null { taken: vec![(0, 0); setup.depth as usize].into(), count: 0 })
    }

    #[inline(always)]
    fn push(&mut self, slot: Slot, io: &Io, _files: &mut Files) {
        self.taken[self.count] = (slot, io.bytes as i64);
        self.count += 1;
    }

    #[inline(always)]
    fn poll(
        &mut self,
        _min: u32,
        _until: Tick,
        mut done: impl FnMut(Slot, i64, Tick),
    ) -> Result<(), Failure> {
        let now = clock::now();
        for &(slot, result) in &self.taken[..self.count] {
            done(slot, result, now);
        }
        self.count = 0;
        Ok(())
    }
}
