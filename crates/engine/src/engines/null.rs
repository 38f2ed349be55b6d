//! `null`: takes every operation and completes it at once. What is left is the loop itself.
//!
//! The yardstick of our own cost; it moves no byte and opens no file.

use iodyno_model::VerbSet;

use super::{Engine, Failure, Setup};
use crate::clock::{self, Tick};
use crate::io::{Files, Io, Slot};

/// Completes everything at once.
pub struct Null {
    taken: Vec<(Slot, i64)>,
}

impl Engine for Null {
    const NAME: &'static str = "null";
    const ABOUT: &'static str = "completes every operation at once: the cost of the loop itself";
    const VERBS: VerbSet = VerbSet::ALL;
    const FILES: bool = false;

    fn start(setup: &Setup<'_>) -> Result<Self, Failure> {
        Ok(Null { taken: Vec::with_capacity(setup.depth as usize) })
    }

    #[inline(always)]
    fn push(&mut self, slot: Slot, io: &Io, _files: &mut Files) {
        self.taken.push((slot, io.bytes as i64));
    }

    #[inline(always)]
    fn poll(
        &mut self,
        _min: u32,
        _until: Tick,
        mut done: impl FnMut(Slot, i64, Tick),
    ) -> Result<(), Failure> {
        let now = clock::now();
        for &(slot, result) in &self.taken {
            done(slot, result, now);
        }
        self.taken.clear();
        Ok(())
    }
}
