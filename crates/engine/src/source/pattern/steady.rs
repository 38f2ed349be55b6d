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
        if source.again_until > 0 || file.joint.is_some() || share.sizes_random.is_some() {
            return None;
        }
        if !file.walks[0].is_plain() || share.class != Class::Range || share.whole {
            return None;
        }
        let of_passes = (file.pass_units / bytes).saturating_mul(source.left.passes);
        Some(Steady {
            walk: file.walks[0].clone(),
            random: source.random.clone(),
            left: of_passes.min(source.left.operations).min(source.left.bytes.div_ceil(bytes)),
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

    /// Nothing more is to be drawn.
    pub fn end(&mut self) {
        self.left = 0;
    }
}
