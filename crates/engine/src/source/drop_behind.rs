//! Cached pages that are dropped right behind the operations that moved them.
//!
//! An advice to the kernel after each operation, which is not tallied and not paced. It promises nothing: what is dirty
//! stays until it is written back.

use std::collections::VecDeque;

use iodyno_model::Verb;

use super::SourceContext;
use super::general_source::Drawer;
use crate::io::{AT_END, Io, SILENT};

/// `POSIX_FADV_DONTNEED`, as every system of ours numbers it.
const DONT_NEED: u64 = 4;

/// The largest page of a page cache, bytes.
const UNIT_BYTES: u64 = 2 << 20;

/// What was moved and is to leave the cache.
#[derive(Default)]
pub struct Behind {
    /// By handle, whether its pages are dropped; empty: nobody's are.
    wanted: Vec<bool>,
    due: VecDeque<(u32, u64, u64)>,
}

/// Whether any target of a drawn or recorded job drops its pages.
pub fn is_wanted(context: &SourceContext<'_>) -> bool {
    context.job.targets.iter().any(|target| context.plan.targets[*target].open.drop_behind)
}

impl Behind {
    /// For a worker; scripts see to it themselves.
    pub fn new(context: &SourceContext<'_>, drawer: &Drawer) -> Self {
        if matches!(drawer, Drawer::Script(_)) || !is_wanted(context) {
            return Behind::default();
        }
        let targets = &context.plan.targets;
        let of = |handle: &crate::io::Handle| targets[handle.target as usize].open.drop_behind;
        let wanted = context.files.handles.iter().map(of).collect();
        // An advice is due for each operation in flight, and each of those is one itself.
        Behind { wanted, due: VecDeque::with_capacity(2 * context.depth as usize) }
    }

    /// Whether completions must be reported.
    pub fn listens(&self) -> bool {
        !self.wanted.is_empty()
    }

    /// The next advice that is due.
    pub fn next(&mut self, io: &mut Io) -> bool {
        let Some((file, offset, bytes)) = self.due.pop_front() else { return false };
        *io =
            Io { verb: Verb::Fadvise, flags: SILENT, file, offset, bytes, other: DONT_NEED, ..Io::default() };
        true
    }

    /// Takes note of a completion; whether it was an advice.
    pub fn completed(&mut self, io: &Io, result: i64) -> bool {
        if !self.wanted.get(io.file as usize).copied().unwrap_or(false) {
            return false;
        }
        if io.verb == Verb::Fadvise && io.flags & SILENT != 0 {
            return true;
        }
        if result > 0 && io.verb.moves_data() && io.offset < AT_END {
            // Large pages leave only as a whole: with its last part, the beginning of the unit is advised once more.
            let start = io.offset / UNIT_BYTES * UNIT_BYTES;
            self.due.push_back((io.file, start, io.offset - start + result as u64));
        }
        false
    }
}
