//! `psync`: one system call for each operation, in the worker itself. `call`, and nothing else.

use super::{Engine, EngineFacts, Failure, Setup, Single};
use iodyno_model::EngineTrait;

use crate::call;
use crate::clock::Tick;
use crate::io::{Files, Io, Slot};

/// Positioned synchronous calls.
pub struct Psync {
    done: Single,
}

impl Engine for Psync {
    const FACTS: EngineFacts = EngineFacts {
        about: "pread and pwrite, one call for each operation",
        most_depth: 1,
        performs: true,
        takes_turns: true,
        traits: &[EngineTrait::CountedByBlockLayer, EngineTrait::OneAtATime],
        ..EngineFacts::named("psync")
    };

    fn start(_setup: &Setup<'_>) -> Result<Self, Failure> {
        Ok(Psync { done: Single::default() })
    }

    #[inline(always)]
    fn perform(&mut self, io: &Io, files: &mut Files) -> i64 {
        call::perform(io, files)
    }

    #[inline(always)]
    fn push(&mut self, slot: Slot, io: &Io, files: &mut Files) {
        self.done.keep(slot, call::perform(io, files));
    }

    #[inline(always)]
    fn poll(&mut self, _min: u32, _until: Tick, done: impl FnMut(Slot, i64, Tick)) -> Result<(), Failure> {
        self.done.hand_back(done);
        Ok(())
    }
}
