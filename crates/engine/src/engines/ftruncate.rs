//! `ftruncate`: a write cuts or lengthens the file to where it would begin. No data moves; reads and trims have no
//! meaning here and are refused.

use iodyno_model::{Diagnostic, Job, Verb, VerbSet};

use super::{EngineFacts, Failure, Setup, SyncEngine, only_verbs};
use crate::call;
use crate::io::{Files, Io};

/// Lengths instead of bytes.
pub struct Ftruncate;

impl SyncEngine for Ftruncate {
    const FACTS: EngineFacts = EngineFacts {
        about: "ftruncate to each write's offset; no data moves",
        verbs: VerbSet::of(&[Verb::Write]),
        is_slow: true,
        check: Self::check,
        ..EngineFacts::named("ftruncate")
    };

    fn start(_setup: &Setup<'_>) -> Result<Self, Failure> {
        Ok(Ftruncate)
    }

    fn perform(&mut self, io: &Io, files: &mut Files) -> i64 {
        match io.verb {
            Verb::Write => {
                let cut = Io { verb: Verb::Truncate, bytes: io.offset, offset: 0, ..*io };
                match call::perform(&cut, files) {
                    0 => io.bytes as i64,
                    failed => failed,
                }
            }
            _ => call::perform(io, files),
        }
    }
}

impl Ftruncate {
    fn check(job: &Job) -> Vec<Diagnostic> {
        only_verbs(job, Self::FACTS.name, &[Verb::Write])
    }
}
