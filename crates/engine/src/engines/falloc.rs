//! `falloc`: file space instead of bytes. A write reserves and lengthens, a read reserves behind the file's length, a
//! trim punches a hole; no data moves.

use iodyno_model::{Verb, VerbSet};

use super::{EngineFacts, Failure, Setup, SyncEngine};
use crate::call;
use crate::io::{Files, Io};

/// `FALLOC_FL_KEEP_SIZE`.
const KEEP_SIZE: u64 = 1;
/// `FALLOC_FL_PUNCH_HOLE`.
const PUNCH_HOLE: u64 = 2;

/// Space instead of bytes.
pub struct Falloc;

impl SyncEngine for Falloc {
    const FACTS: EngineFacts = EngineFacts {
        about: "fallocate instead of data: writes reserve, reads reserve behind the end, trims punch",
        verbs: VerbSet::of(&[Verb::Read, Verb::Write, Verb::Trim]),
        writes_to_read: true,
        is_slow: true,
        ..EngineFacts::named("falloc")
    };

    fn start(_setup: &Setup<'_>) -> Result<Self, Failure> {
        Ok(Falloc)
    }

    fn perform(&mut self, io: &Io, files: &mut Files) -> i64 {
        let mode = match io.verb {
            Verb::Read => KEEP_SIZE,
            Verb::Write => 0,
            Verb::Trim => KEEP_SIZE | PUNCH_HOLE,
            _ => return call::perform(io, files),
        };
        let result = call::perform(&Io { verb: Verb::Fallocate, other: mode, ..*io }, files);
        if result == 0 { io.bytes as i64 } else { result }
    }
}
