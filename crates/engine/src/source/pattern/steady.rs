//! The common case of a pattern: one verb, one size, one file, and nothing in between.
//!
//! Stripped to what the loop's instruction budget allows. It draws exactly what the general source would, or is not
//! made at all.

use iodyno_model::Verb;

use super::super::Next;
use super::super::distribution::Sizes;
use super::super::random::Random;
use super::super::walk::Walk;
use super::{Class, PatternSource};
use crate::io::Io;

/// Draws without choices.
#[derive(Clone, Debug)]
pub struct Steady {
    walk: Walk,
    random: Random,
    left: u64,
    /// Operations of a pass; 0: something else than the last of them ends it.
    pass: u64,
    base: u64,
    bytes: u64,
    verb: Verb,
    label: u16,
    file: u32,
}

impl Steady {
    /// The same draws as a general source's, if that is simple enough.
    pub fn of(source: &PatternSource) -> Option<Steady> {
        let ([share], [file], true) = (&source.shares[..], &source.files[..], source.every.is_empty()) else {
            return None;
        };
        let Sizes::Fixed(bytes) = share.sizes else { return None };
        if file.joint.is_some() || share.sizes_random.is_some() {
            return None;
        }
        if !file.walks[0].is_plain() || share.class != Class::Range || share.whole {
            return None;
        }
        let pass = file.pass_units / bytes;
        let of_passes = pass.saturating_mul(source.left.passes);
        let left = of_passes.min(source.left.operations).min(source.left.bytes.div_ceil(bytes));
        Some(Steady {
            walk: file.walks[0].clone(),
            random: source.random.clone(),
            left,
            pass: if left == of_passes && source.left.passes != u64::MAX { pass } else { 0 },
            base: file.base,
            bytes,
            verb: share.verb,
            label: share.label,
            file: file.handle,
        })
    }

    /// What all its operations have in common.
    pub fn template(&self) -> Io {
        Io { verb: self.verb, label: self.label, file: self.file, bytes: self.bytes, ..Io::default() }
    }

    /// Draws the next operation into a copy of the template.
    #[inline(always)]
    pub fn next(&mut self, io: &mut Io) -> Next {
        if self.left == 0 {
            return Next::Done;
        }
        self.left -= 1;
        io.offset = self.base + self.walk.next(&mut self.random, self.bytes);
        Next::Io
    }

    /// Operations left; what this one's content is told apart by.
    #[inline(always)]
    pub fn left(&self) -> u64 {
        self.left
    }

    /// Sets how many operations are left; as many were before.
    pub fn set_left(&mut self, left: u64) -> u64 {
        std::mem::replace(&mut self.left, left)
    }

    /// It has come to its end: whether it begins again, and with how many operations.
    pub fn repeat(&mut self) -> u64 {
        if self.left == 0 {
            self.left = self.pass;
        }
        self.left
    }
}
