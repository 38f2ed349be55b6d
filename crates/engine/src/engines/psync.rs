//! `psync`: one system call for each operation, by `call`, in the worker itself.

use super::{EngineFacts, Failure, Setup, SyncEngine};
use iodyno_model::EngineTrait;

use crate::call;
use crate::io::{Files, Io};

/// Positioned synchronous calls.
pub struct Psync;

impl SyncEngine for Psync {
    const FACTS: EngineFacts = EngineFacts {
        about: "pread and pwrite, one call for each operation",
        performs: true,
        takes_turns: true,
        traits: &[EngineTrait::CountedByBlockLayer, EngineTrait::OneAtATime],
        ..EngineFacts::named("psync")
    };

    fn start(_setup: &Setup<'_>) -> Result<Self, Failure> {
        Ok(Psync)
    }

    #[inline(always)]
    fn perform(&mut self, io: &Io, files: &mut Files) -> i64 {
        call::perform(io, files)
    }
}
