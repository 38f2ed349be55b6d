//! From thousands of operations to the few that matter: the list is cut, done again on new files, and kept if it still
//! fails.
//!
//! Delta debugging: first everything behind the failure goes, then ever smaller parts of the rest, then what single
//! lines hold. It looks at nothing but whether file and model part again, and stops at a limit of time or tries: what it
//! has then is a reproducer all the same.

use super::divergence::FileDifference;
use super::harness::{End, Harness, Log};
use super::operation::{LineShape, OpKind, Operation, Way};
use iodyno_engine::Failure;
use iodyno_engine::clock;

/// Replays at most.
const TRIES: u32 = 4000;
/// Time at most, ns.
const TIME_NS: u64 = 30_000_000_000;
/// So often the whole list is done again before it is said not to fail again.
const PATIENCE: u32 = 3;

/// What came of it.
pub struct MinimalReplay {
    /// The shortest list found.
    pub operations: Vec<Operation>,
    /// What it shows; none: it did not fail again.
    pub text: Option<String>,
}

/// Shortens lists on a harness.
pub struct Minimiser<'a> {
    harness: &'a mut Harness,
    stop: &'a dyn Fn() -> bool,
    tries: u32,
    until: u64,
    /// The last failure, and what was done until then.
    last: Option<(Box<FileDifference>, Log)>,
    broken: Option<Failure>,
}

/// Does a list on new files: where it failed, if it did.
///
/// # Errors
/// What broke.
pub fn replay(
    harness: &mut Harness,
    operations: &[Operation],
    stop: &dyn Fn() -> bool,
) -> Result<Option<Box<FileDifference>>, Failure> {
    harness.renew()?;
    match harness.run(operations, stop).and_then(|()| harness.conclude()) {
        Ok(()) => Ok(None),
        Err(End::Parted(divergence)) => Ok(Some(divergence)),
        Err(End::Broken(failure)) => Err(failure),
    }
}

impl<'a> Minimiser<'a> {
    /// On a harness, until asked to stop.
    pub fn new(harness: &'a mut Harness, stop: &'a dyn Fn() -> bool) -> Self {
        let until = clock::now() + TIME_NS;
        Minimiser { harness, stop, tries: 0, until, last: None, broken: None }
    }

    /// Shortens a list that failed.
    ///
    /// # Errors
    /// What broke.
    pub fn run(mut self, operations: Vec<Operation>) -> Result<MinimalReplay, Failure> {
        let mut again = false;
        let mut operations = operations;
        for _ in 0..PATIENCE {
            again = again || self.fails(&mut operations);
        }
        if again {
            self.cut_tail(&mut operations);
            self.remove_parts(&mut operations);
            self.simplify(&mut operations);
            self.remove_parts(&mut operations);
        }
        match self.broken {
            Some(failure) => Err(failure),
            None => {
                let text = self.last.map(|(divergence, log)| divergence.explain(&log));
                Ok(MinimalReplay { operations, text })
            }
        }
    }

    fn is_over(&self) -> bool {
        self.broken.is_some() || self.tries >= TRIES || clock::now() >= self.until || (self.stop)()
    }

    /// Whether a list still fails; then it is cut to what was done when it did.
    fn fails(&mut self, operations: &mut Vec<Operation>) -> bool {
        if self.is_over() {
            return false;
        }
        self.tries += 1;
        match replay(self.harness, operations, self.stop) {
            Ok(None) => false,
            Ok(Some(divergence)) => {
                // What was left out because it meant nothing is not in the log, nor what would have followed.
                let done = self.harness.log.iter().map(|(operation, _)| operation);
                let done: Vec<Operation> = done.take(divergence.number as usize + 1).cloned().collect();
                if done.len() < operations.len() {
                    *operations = done;
                }
                self.last = Some((divergence, self.harness.log.clone()));
                true
            }
            Err(failure) => {
                self.broken = Some(failure);
                false
            }
        }
    }

    fn try_without(&mut self, operations: &mut Vec<Operation>, start: usize, end: usize) -> bool {
        let mut shorter = operations[..start].to_vec();
        shorter.extend_from_slice(&operations[end..]);
        let fails = self.fails(&mut shorter);
        if fails {
            *operations = shorter;
        }
        fails
    }

    /// The last few operations often do alone: less and less of the beginning is kept away.
    fn cut_tail(&mut self, operations: &mut Vec<Operation>) {
        let mut keep = 8;
        while keep < operations.len() / 2 && !self.is_over() {
            let before = operations.len() - keep;
            if self.try_without(operations, 0, before) {
                return;
            }
            keep *= 2;
        }
    }

    /// Takes parts away, from large ones to single operations, as long as it still fails.
    fn remove_parts(&mut self, operations: &mut Vec<Operation>) {
        let mut size = operations.len().div_ceil(2).max(1);
        loop {
            let mut removed = false;
            let mut end = operations.len();
            while end > 0 && !self.is_over() {
                end = end.min(operations.len());
                let start = end.saturating_sub(size);
                removed |= operations.len() > 1 && self.try_without(operations, start, end);
                end = start;
            }
            if self.is_over() || (size == 1 && !removed) {
                return;
            }
            size = if removed && size == 1 { 1 } else { (size / 2).max(1) };
        }
    }

    /// Makes single operations plainer.
    fn simplify(&mut self, operations: &mut Vec<Operation>) {
        let mut index = 0;
        while index < operations.len() && !self.is_over() {
            for plainer in plainer(&operations[index]) {
                let mut changed = operations.clone();
                changed[index] = plainer;
                let length = changed.len();
                if self.fails(&mut changed) {
                    *operations = changed;
                    if operations.len() < length {
                        break;
                    }
                }
            }
            index += 1;
        }
    }
}

/// Plainer forms of an operation, each to be tried alone.
fn plainer(operation: &Operation) -> Vec<Operation> {
    let mut forms = Vec::new();
    let mut with = |change: &dyn Fn(&mut Operation)| {
        let mut form = operation.clone();
        change(&mut form);
        if form != *operation {
            forms.push(form);
        }
    };
    with(&|form| form.beside = false);
    with(&|form| form.sync = false);
    with(&|form| form.way = if form.kind.has_way() { Way::Psync } else { form.way });
    with(&|form| {
        form.kind = match form.kind {
            OpKind::DirectRead | OpKind::MappedRead => OpKind::Read,
            OpKind::DirectWrite | OpKind::MappedWrite | OpKind::Append => OpKind::Write,
            kind => kind,
        };
    });
    with(&|form| (form.file, form.to) = (0, 0));
    if operation.kind.shape() == LineShape::Range {
        with(&|form| form.offset = 0);
        with(&|form| form.offset -= form.offset % 4096);
        with(&|form| form.bytes = form.bytes.min(1));
        with(&|form| form.bytes = form.bytes.min(4096));
        with(&|form| form.bytes = form.bytes.div_ceil(2));
    }
    forms
}
