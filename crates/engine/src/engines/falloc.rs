//! `falloc`: file space instead of bytes. A write reserves and lengthens, a read reserves behind the file's length, a
//! trim punches a hole; no data moves.

use iodyno_model::{Verb, VerbSet};

use super::{Engine, EngineFacts, Failure, Setup, Single};
use crate::call;
use crate::clock::Tick;
use crate::io::{Files, Io, Slot};

/// `FALLOC_FL_KEEP_SIZE`.
const KEEP_SIZE: u64 = 1;
/// `FALLOC_FL_PUNCH_HOLE`.
const PUNCH_HOLE: u64 = 2;

/// Space instead of bytes.
pub struct Falloc {
    done: Single,
}

impl Engine for Falloc {
    const FACTS: EngineFacts = EngineFacts {
        about: "fallocate instead of data: writes reserve, reads reserve behind the end, trims punch",
        verbs: VerbSet::of(&[Verb::Read, Verb::Write, Verb::Trim]),
        most_depth: 1,
        writes_to_read: true,
        is_slow: true,
        ..EngineFacts::named("falloc")
    };

    fn start(_setup: &Setup<'_>) -> Result<Self, Failure> {
        Ok(Falloc { done: Single::default() })
    }

    fn push(&mut self, slot: Slot, io: &Io, files: &mut Files) {
        let mode = match io.verb {
            Verb::Read => KEEP_SIZE,
            Verb::Write => 0,
            Verb::Trim => KEEP_SIZE | PUNCH_HOLE,
            _ => return self.done.keep(slot, call::perform(io, files)),
        };
        let result = call::perform(&Io { verb: Verb::Fallocate, other: mode, ..*io }, files);
        self.done.keep(slot, if result == 0 { io.bytes as i64 } else { result });
    }

    fn poll(&mut self, _min: u32, _until: Tick, done: impl FnMut(Slot, i64, Tick)) -> Result<(), Failure> {
        self.done.hand_back(done);
        Ok(())
    }
}
