//! What a script learns from its completions: how much was moved, what is still to come, what exists now.
//!
//! Decides what the tally sees: parts of one operation and the end of the input are not counted. It refuses to issue
//! anything; what is due next it leaves in the flight.

use iodyno_model::Verb;

use super::super::UNTALLIED;
use super::compile::{Code, OperationDetail, Spot, Which};
use super::file::removes;
use super::{Flight, ScriptSource, StepProgress, TO_THE_END, seek};
use crate::clock::Tick;
use crate::io::{AT_POSITION, DIRECTORY, Io};

/// What one call copies at least of a file that is longer, bytes.
const COPIED_MOST: u64 = 1 << 30;

impl ScriptSource {
    /// Hears of the completion; the answer is what is tallied.
    pub fn done(&mut self, io: &mut Io, result: i64, _now: Tick) -> i64 {
        if self.background.is_of(io.label) {
            return self.landed(io, result);
        }
        match std::mem::replace(&mut self.flight, Flight::Nothing) {
            Flight::Nothing => result,
            Flight::Length => 0,
            Flight::Mark => {
                self.counts.mark(io.label);
                0
            }
            Flight::Value(value) => {
                self.counts.mark(io.label);
                i64::try_from(value).unwrap_or(i64::MAX)
            }
            Flight::Discard(file) => {
                for discard in self.discards.iter_mut().filter(|discard| discard.file == file) {
                    let counted = if discard.exact { result.max(0) as u64 } else { io.bytes };
                    discard.left = if result > 0 { discard.left.saturating_sub(counted) } else { 0 };
                }
                self.ending |= result <= 0;
                result
            }
            Flight::Hole { code, bytes } => {
                io.bytes = bytes;
                let part = StepProgress {
                    code,
                    start: 0,
                    moved: 0,
                    wanted: bytes,
                    nominal: bytes,
                    began: 0,
                    reported: 0,
                    again: false,
                };
                self.moved(part, io, bytes as i64)
            }
            Flight::Step(part) => {
                let Code::Do(step, _) = &self.code[part.code] else { return result };
                match (step.verb.moves_data(), result) {
                    (false, _) => self.noted(part.code, io, result),
                    (true, ..0) => self.failed(part, io, result),
                    (true, _) => self.moved(part, io, result),
                }
            }
        }
    }

    /// What was handed over and not waited for is done.
    fn landed(&mut self, io: &Io, result: i64) -> i64 {
        self.background.flying -= 1;
        self.counts.add(io.label, result.max(0) as u64);
        result
    }

    /// A failed read leaves nothing, or zeros; the next one begins behind it.
    fn failed(&mut self, part: StepProgress, io: &Io, result: i64) -> i64 {
        let Code::Do(step, _) = &self.code[part.code] else { return result };
        if part.moved > part.reported {
            // What was moved counts; the rest is tried on its own, and fails on its own.
            self.flight = Flight::Step(StepProgress { reported: part.moved, again: true, ..part });
            return (part.moved - part.reported) as i64;
        }
        if step.verb == Verb::Read {
            let (file, buffer) = (&mut self.files[io.file as usize], &mut self.buffers[step.buffer]);
            let padded = if step.transfer.pad { part.wanted } else { 0 };
            buffer.load(0, padded, step.transfer.gather || buffer.gathers);
            file.position += part.wanted;
            if io.offset == AT_POSITION && file.seekable {
                seek(file.fd, part.wanted as i64, libc::SEEK_CUR);
            }
        }
        result
    }

    fn moved(&mut self, part: StepProgress, io: &mut Io, result: i64) -> i64 {
        let Code::Do(step, _) = &mut self.code[part.code] else { return result };
        let (file, buffer) = (&mut self.files[io.file as usize], &mut self.buffers[step.buffer]);
        let (reads, total) = (step.verb == Verb::Read, part.moved + result as u64);
        if file.drops && result > 0 {
            self.behind = Some((io.file, file.base + file.position, result as u64));
        }
        if !matches!(step.what, OperationDetail::Range(Spot::Again, _)) {
            file.position += result as u64;
        }
        if reads && total == 0 && part.wanted > 0 {
            if step.finish_at_end {
                self.ending = true;
                return UNTALLIED;
            }
            file.position = 0;
            if file.seekable {
                seek(file.fd, file.base as i64, libc::SEEK_SET);
            }
            return 0;
        }
        let goes_on = step.whole || step.transfer.full || (!reads && step.carried);
        // A short read is the last one of a file whose length nobody knows.
        let ended = part.wanted == TO_THE_END && (result as u64) < io.bytes.min(COPIED_MOST);
        if goes_on && !ended && result > 0 && total < part.wanted {
            self.flight = Flight::Step(StepProgress { moved: total, again: true, ..part });
            return UNTALLIED;
        }
        if reads {
            let padded = if step.transfer.pad { part.nominal } else { total };
            buffer.load(total, padded, buffer.gathers);
        } else {
            file.end = file.end.max(file.position);
            buffer.taken += if step.carried && step.transfer.gather { total } else { 0 };
        }
        if !self.limits.reads_only || reads {
            let left = &mut self.limits.bytes;
            *left = if *left == u64::MAX { u64::MAX } else { left.saturating_sub(total) };
        }
        if reads && step.total_left != u64::MAX {
            // A short read used up what it asked for.
            step.total_left = step.total_left.saturating_sub(part.wanted);
        }
        io.bytes = if part.wanted == TO_THE_END { total } else { part.nominal };
        self.results[step.label as usize] = total;
        self.counts.add(step.label, total);
        (total - part.reported) as i64
    }

    /// Takes note of which items exist now and what a handle holds.
    fn noted(&mut self, code: usize, io: &Io, result: i64) -> i64 {
        let Code::Do(step, _) = &self.code[code] else { return result };
        let is_gone = step.missing_done && result == -i64::from(libc::ENOENT);
        let result = if is_gone { 0 } else { result };
        self.counts.add(step.label, result.max(0) as u64);
        if result < 0 {
            self.at = (self.at + step.skips as usize).min(self.code.len());
        }
        self.tell_pool(code, io, result >= 0);
        let Code::Do(step, _) = &self.code[code] else { return result };
        if result < 0 || io.flags & DIRECTORY != 0 {
            return result;
        }
        if let Some(keep) = step.keep {
            let (set, created) = (&self.files[step.file as usize], step.verb == Verb::Create);
            let bytes = set.bytes;
            let nominal =
                set.sizes.as_ref().filter(|_| self.asks_sizes).map_or(0, |sizes| sizes.of(io.offset));
            let keep = if step.rotates > 0 { io.other as u32 } else { keep };
            let kept = &mut self.files[keep as usize];
            kept.nominal = nominal;
            (kept.position, kept.item, kept.set, kept.held) = (0, io.offset, step.file, true);
            (kept.bytes, kept.end) = if created { (0, 0) } else { (bytes, bytes) };
        }
        if let Some(pool) = self.files[step.file as usize].pool.as_mut() {
            match step.verb {
                Verb::Create | Verb::Mkdir | Verb::Symlink => pool.set(io.offset, true),
                Verb::Link => pool.set(io.other, true),
                Verb::Unlink | Verb::Rmdir => pool.set(io.offset, false),
                Verb::Rename => {
                    pool.set(io.offset, false);
                    pool.set(io.other, true);
                }
                _ => {}
            }
        }
        result
    }

    /// Tells the pool of all workers what became of an item that was claimed or held.
    fn tell_pool(&mut self, code: usize, io: &Io, went_well: bool) {
        let Code::Do(step, _) = &self.code[code] else { return };
        let (verb, file) = (step.verb, step.file as usize);
        match &step.what {
            OperationDetail::File if verb == Verb::Close => self.let_go(io.file as usize),
            OperationDetail::Item(which, other) => {
                let Some(common) = self.files[file].common.clone() else { return };
                match which {
                    Which::Missing(..) => {
                        common.settle(io.offset, went_well, went_well && step.keep.is_some())
                    }
                    Which::Existing(..) | Which::Drawn(_) if removes(verb) => {
                        common.settle(io.offset, !went_well, false);
                    }
                    Which::Existing(..) | Which::Drawn(_) if step.keep.is_some() && went_well => {}
                    Which::Existing(..) | Which::Drawn(_) => common.release(io.offset),
                    Which::Held(_) if verb == Verb::Unlink && !went_well => common.keep(io.offset),
                    _ => {}
                }
                match (other, step.keep) {
                    (Some(Which::Missing(..)), None) => common.settle(io.other, went_well, false),
                    (Some(Which::Existing(..)), None) => common.release(io.other),
                    _ => {}
                }
                // What an opening finds in its handle goes out of it.
                if step.keep.is_some() && went_well {
                    self.let_go(io.other as u32 as usize);
                }
            }
            _ => {}
        }
    }

    /// A handle no longer holds its item.
    fn let_go(&mut self, handle: usize) {
        if !std::mem::take(&mut self.files[handle].held) {
            return;
        }
        let (set, item) = (self.files[handle].set as usize, self.files[handle].item);
        self.files[set].common.iter().for_each(|common| common.release(item));
    }
}
