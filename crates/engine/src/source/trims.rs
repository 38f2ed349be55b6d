//! Written blocks that are trimmed again before they are read back.
//!
//! Which ones is drawn when they are written; after every so many writes those that are due go out, the oldest first.
//! Refuses to read anything back.

use std::collections::VecDeque;

use iodyno_model::{Verb, Verify};

use super::pattern::worker_seed;
use super::random::{GOLDEN, Random, mix};
use super::{SourceContext, label_of, labels};
use crate::io::Io;

/// The trims of one worker.
pub struct Trims {
    label: u16,
    /// Writes whose draw is below this are trimmed, of 100.
    percent: u64,
    every: u64,
    batch: u64,
    writes: u64,
    /// How many of the due ones may go out now.
    left: u64,
    due: VecDeque<(u32, u64, u64)>,
    random: Random,
}

impl Trims {
    /// As a job verifies, if it trims at all.
    pub fn new(context: &SourceContext<'_>, verify: &Verify) -> Option<Self> {
        let trim = verify.trim.filter(|trim| trim.percent > 0 && trim.every_writes > 0 && !verify.only)?;
        Some(Trims {
            label: label_of(&labels(context.job), Verb::Trim.name(), Verb::Trim),
            percent: u64::from(trim.percent),
            every: trim.every_writes,
            batch: if trim.batch == 0 { trim.every_writes } else { trim.batch },
            writes: 0,
            left: 0,
            due: VecDeque::new(),
            random: Random::from_seed(mix(worker_seed(context) ^ GOLDEN), 0),
        })
    }

    /// Takes note of a write that is done.
    pub fn wrote(&mut self, io: &Io) {
        if self.random.below(100) < self.percent {
            self.due.push_back((io.file, io.offset, io.bytes));
        }
        self.writes += 1;
        if self.writes == self.every {
            self.writes = 0;
            self.left = self.batch;
        }
    }

    /// The next trim, where one is due.
    pub fn due(&mut self) -> Option<Io> {
        if self.left == 0 {
            return None;
        }
        self.left -= 1;
        let Some((file, offset, bytes)) = self.due.pop_front() else {
            self.left = 0;
            return None;
        };
        Some(Io { verb: Verb::Trim, label: self.label, file, offset, bytes, ..Io::default() })
    }
}
