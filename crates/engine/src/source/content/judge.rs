//! Looks at what was read, for the worker or one of its helpers: which check it is, and every fact about what is wrong.
//!
//! Writes bad blocks to files where that is asked for. Refuses to know what is in flight.

use std::path::Path;

use iodyno_model::Wrong;

use crate::payload::{Checker, ExpectedBlock, Explainer, Flaw, Inspector, Marker, stamp_owner};

/// Generations of a block that may be there, which are tried one by one.
const GENERATIONS_TRIED: u64 = 16;

/// A part of a read that is checked as a whole.
#[derive(Clone, Copy, Debug)]
pub struct CheckedPiece {
    /// The handle it was read from.
    pub handle: u32,
    /// The file, as stamps know it.
    pub file: u64,
    /// Where it lies in the file, bytes.
    pub offset: u64,
    /// What its marks say of its place: the offset, or an item's number.
    pub place: u64,
    /// Whose marks it carries, where they are not the worker's own.
    pub owner: Option<u32>,
    /// Its generation and number, where this run wrote it.
    pub written: Option<(u64, u32)>,
    /// The oldest generation that may be there in its place.
    pub oldest: u64,
    /// The read that brought it: offset and bytes.
    pub read: (u64, u64),
    /// The line that read is tallied in.
    pub label: u16,
}

/// What is wrong with a piece.
#[derive(Clone, Debug)]
pub struct PieceFault {
    pub piece: CheckedPiece,
    /// Every flaw, with the files it was dumped to.
    pub flaws: Vec<(Flaw, Option<(String, String)>)>,
}

/// One kind of check.
#[derive(Clone)]
enum Check {
    /// Our own stamps, or the content itself.
    Own(Box<Checker>),
    /// Headers or patterns.
    Headed(Box<Inspector>),
    /// Words that name their owner.
    Marked { explainer: Box<Explainer>, own: u32 },
    /// None.
    Nothing,
}

/// Checks pieces.
#[derive(Clone)]
pub struct Judge {
    check: Check,
    /// By handle, the last part of its path; empty: nothing is dumped.
    dumps: Vec<String>,
    flaws: Vec<Flaw>,
}

impl Judge {
    /// With our own stamps or content.
    pub fn own(checker: Checker) -> Self {
        Judge { check: Check::Own(Box::new(checker)), dumps: Vec::new(), flaws: Vec::new() }
    }

    /// With headers or patterns.
    pub fn headed(inspector: Inspector) -> Self {
        Judge { check: Check::Headed(Box::new(inspector)), dumps: Vec::new(), flaws: Vec::new() }
    }

    /// With the words of an owner.
    pub fn marked(marker: Marker) -> Self {
        let check = Check::Marked { own: marker.owner(), explainer: Box::new(Explainer::new(marker)) };
        Judge { check, dumps: Vec::new(), flaws: Vec::new() }
    }

    /// Whether it is words that are checked: of a short read as well.
    pub fn checks_marks(&self) -> bool {
        matches!(self.check, Check::Marked { .. })
    }

    /// That finds everything right.
    pub fn nothing() -> Self {
        Judge { check: Check::Nothing, dumps: Vec::new(), flaws: Vec::new() }
    }

    /// The same, but bad blocks are written to files beside, named after these paths.
    pub fn dumping(self, paths: &[String]) -> Self {
        let last = |path: &String| {
            let name = Path::new(path).file_name().unwrap_or_default();
            name.to_string_lossy().into_owned()
        };
        Judge { dumps: paths.iter().map(last).collect(), ..self }
    }

    /// Whether whole writes are checked one by one, rather than whatever a read brings.
    pub fn wants_whole_writes(&self) -> bool {
        matches!(self.check, Check::Headed(_) | Check::Marked { .. })
    }

    /// What the check is called.
    pub fn name(&self) -> &'static str {
        match &self.check {
            Check::Own(_) => "content",
            Check::Marked { .. } => "marks",
            Check::Headed(inspector) => inspector.check_name(),
            Check::Nothing => "null",
        }
    }

    /// Everything that is wrong with a piece, if anything. The buffer is as before when it returns.
    pub fn look(&mut self, buffer: &mut [u8], piece: CheckedPiece) -> Option<Box<PieceFault>> {
        let newest = piece.written.map_or(0, |(generation, _)| generation);
        if newest.saturating_sub(piece.oldest) > GENERATIONS_TRIED {
            // One of so many: any that is whole.
            return self.look_for(buffer, CheckedPiece { written: None, ..piece });
        }
        let mut fault = self.look_for(buffer, piece)?;
        for generation in piece.oldest..newest {
            let written = piece.written.map(|(_, number)| (generation, number));
            let other = self.look_for(buffer, CheckedPiece { written, ..piece })?;
            let overlaps = |flaw: &Flaw| {
                let meets = |other: &Flaw| {
                    other.offset < flaw.offset + flaw.bytes && flaw.offset < other.offset + other.bytes
                };
                other.flaws.iter().any(|(other, _)| meets(other))
            };
            fault.flaws.retain(|(flaw, _)| overlaps(flaw));
        }
        (!fault.flaws.is_empty()).then_some(fault)
    }

    /// The same for the one generation that is written there, or any where none is said.
    fn look_for(&mut self, buffer: &mut [u8], piece: CheckedPiece) -> Option<Box<PieceFault>> {
        match &mut self.check {
            Check::Nothing => return None,
            Check::Own(checker) => {
                let generation = piece.written.map(|(generation, _)| generation);
                let verdict = checker.check(buffer, piece.file, piece.offset, generation);
                if verdict.is_clean() {
                    return None;
                }
                self.flaws.extend(verdict.corruptions.into_iter().map(|corruption| Flaw {
                    offset: corruption.offset,
                    bytes: corruption.bytes,
                    what: Wrong::Content,
                    expected: String::new(),
                    found: corruption.class.name().into(),
                    corruption,
                }));
            }
            Check::Marked { explainer, own } => {
                explainer.turn_to(piece.owner.unwrap_or(*own));
                if explainer.is_right(buffer, piece.place) {
                    return None;
                }
                let accused = stamp_owner(0, piece.file);
                self.flaws = explainer.explain(buffer, piece.offset, piece.place, accused);
            }
            Check::Headed(inspector) => {
                let expected =
                    ExpectedBlock { file: piece.file, offset: piece.offset, written: piece.written };
                inspector.check(buffer, expected, &mut self.flaws);
            }
        }
        (!self.flaws.is_empty()).then(|| self.tell(buffer, piece))
    }

    #[cold]
    fn tell(&mut self, buffer: &[u8], piece: CheckedPiece) -> Box<PieceFault> {
        let flaws = std::mem::take(&mut self.flaws);
        let dumped = |flaw: Flaw| {
            let files = self.dump(buffer, piece, &flaw);
            (flaw, files)
        };
        let flaws = flaws.into_iter().map(dumped).collect();
        Box::new(PieceFault { piece, flaws })
    }

    /// Writes an interval as it is and as it should be to `NAME.OFFSET.received` and `NAME.OFFSET.expected`. What
    /// cannot be written is not reported: the fault itself is.
    fn dump(&self, buffer: &[u8], piece: CheckedPiece, flaw: &Flaw) -> Option<(String, String)> {
        let name = self.dumps.get(piece.handle as usize)?;
        let at = (flaw.offset - piece.offset) as usize;
        let interval = buffer.get(at..at + flaw.bytes as usize)?;
        let expected = match &self.check {
            Check::Headed(inspector) => {
                let expected =
                    ExpectedBlock { file: piece.file, offset: piece.offset, written: piece.written };
                inspector.remake(interval, at, expected)
            }
            Check::Own(checker) => {
                let generation = piece.written.map_or(0, |(generation, _)| generation);
                checker.remake(piece.file, flaw.offset, generation, interval.len())
            }
            Check::Marked { explainer, .. } => {
                explainer.remake(piece.place, at + interval.len()).split_off(at)
            }
            Check::Nothing => return None,
        };
        let files = (format!("{name}.{}.received", flaw.offset), format!("{name}.{}.expected", flaw.offset));
        std::fs::write(&files.0, interval).ok()?;
        std::fs::write(&files.1, expected).ok()?;
        Some(files)
    }
}
