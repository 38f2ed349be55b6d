//! `psync`: one system call for each operation, in the worker itself. `call`, and nothing else.

use iodyno_model::VerbSet;

use super::{Engine, Failure, Setup, Single};
use crate::call;
use crate::clock::Tick;
use crate::io::{Files, Io, Slot};

/// Positioned synchronous calls.
pub struct Psync {
    done: Single,
}

impl Engine for Psync {
    const NAME: &'static str = "psync";
    const ABOUT: &'static str = "pread and pwrite, one call for each operation";
    const VERBS: VerbSet = VerbSet::ALL;
    const MOST_DEPTH: u32 = 1;
    const WAITS: bool = true;

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
