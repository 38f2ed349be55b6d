//! A drawn workload.

use iodyno_model::{Pattern, Pick, Size, Verb};

use super::{Brief, Next};
use crate::clock::Tick;
use crate::failure::Failure;
use crate::io::Io;

/// Draws operations.
pub struct PatternSource {
    verb: Verb,
    random: bool,
    state: u64,
    blocks: u64,
    block_bytes: u64,
    next: u64,
    left: u64,
}

impl PatternSource {
    /// A source for one worker.
    ///
    /// # Errors
    /// What the pattern asks for and cannot have.
    pub fn new(brief: &Brief<'_>, pattern: &Pattern) -> Result<Self, Failure> {
        let block_bytes = match &pattern.size.read {
            Size::Fixed(bytes) => *bytes,
            _ => return Err(Failure::new("only fixed sizes yet")),
        };
        let bytes = brief.files.handles.first().map_or(0, |handle| handle.bytes);
        let blocks = (bytes / block_bytes).max(1);
        let left = match (brief.job.limit.operations, brief.job.limit.time_ns) {
            (Some(operations), _) => operations,
            (None, Some(_)) => u64::MAX,
            (None, None) => blocks,
        };
        Ok(PatternSource {
            verb: pattern.mix.shares[0].verb,
            random: pattern.pick.read == Pick::Uniform,
            state: brief.plan.seed | 1,
            blocks,
            block_bytes,
            next: 0,
            left,
        })
    }

    /// Draws the next operation.
    #[inline(always)]
    pub fn next(&mut self, _now: Tick, io: &mut Io) -> Next {
        if self.left == 0 {
            return Next::Done;
        }
        self.left -= 1;
        let block = if self.random {
            self.state ^= self.state << 13;
            self.state ^= self.state >> 7;
            self.state ^= self.state << 17;
            ((u128::from(self.state) * u128::from(self.blocks)) >> 64) as u64
        } else {
            let block = self.next;
            self.next = if block + 1 == self.blocks { 0 } else { block + 1 };
            block
        };
        io.verb = self.verb;
        io.offset = block * self.block_bytes;
        io.bytes = self.block_bytes;
        Next::Io
    }
}
