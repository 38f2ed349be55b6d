//! The common case of a pattern: one verb, one size, one file, and nothing in between.
//!
//! Stripped to what the loop's instruction budget allows. It draws exactly what the general source would, or is not
//! made at all.

use iodyno_model::Verb;

use super::super::Next;
use super::super::random::Random;
use super::super::walk::Walk;
use super::{ObjectClass, PatternSource};
use crate::distribution::Sizes;
use crate::io::Io;

/// Whether a verb on an item needs nothing but the item.
fn has_no_argument(verb: Verb) -> bool {
    let on_one = matches!(verb, Verb::Create | Verb::Open | Verb::Stat | Verb::Lstat | Verb::Unlink);
    on_one || matches!(verb, Verb::Mkdir | Verb::Rmdir | Verb::Mknod | Verb::Access | Verb::Readdir)
}

/// Draws without choices.
#[derive(Clone, Debug)]
pub struct Steady {
    walk: Walk,
    random: Random,
    left: u64,
    /// As it was at the start, where it may begin again.
    again: Option<Box<Steady>>,
    base: u64,
    /// Bytes, or items, that a place is long.
    step: u64,
    bytes: u64,
    flags: u8,
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
        let Sizes::Fixed(step) = share.sizes else { return None };
        // Where the last operation is shorter than the others, they are not all alike.
        let uneven = source.exact && source.left.bytes != u64::MAX && !source.left.bytes.is_multiple_of(step);
        if file.joint.is_some() || share.sizes_random.is_some() || uneven {
            return None;
        }
        let served = match share.class {
            ObjectClass::Range => !share.whole,
            ObjectClass::Item => has_no_argument(share.verb),
            ObjectClass::File => false,
        };
        // Peers that say one thing after the other, without an end of their own.
        let streams = file.walks[0].is_stream()
            && !source.ends_on_nothing
            && file.base == 0
            && file.pass_units >= u64::MAX >> 2
            && step <= share.most;
        if !(file.walks[0].is_plain() || streams) || !served {
            return None;
        }
        let of_passes = (file.pass_units / step).saturating_mul(source.left.passes);
        let of_bytes = match share.class {
            ObjectClass::Range => source.left.bytes.div_ceil(step),
            _ => u64::MAX,
        };
        let left = of_passes.min(source.left.operations).min(of_bytes);
        let mut steady = Steady {
            walk: file.walks[0].clone(),
            random: source.random.clone(),
            left,
            again: None,
            base: file.base,
            step,
            bytes: if share.class == ObjectClass::Item { share.item_bytes } else { step },
            flags: share.item_flags,
            verb: share.verb,
            label: share.label,
            file: file.handle,
        };
        steady.again = source.again.is_some().then(|| Box::new(steady.clone()));
        Some(steady)
    }

    /// What all its operations have in common.
    pub fn template(&self) -> Io {
        Io {
            verb: self.verb,
            flags: self.flags,
            label: self.label,
            file: self.file,
            bytes: self.bytes,
            ..Io::default()
        }
    }

    /// Draws the next operation into a copy of the template.
    #[inline(always)]
    pub fn next(&mut self, io: &mut Io) -> Next {
        if self.left == 0 {
            return Next::Done;
        }
        io.offset = self.place();
        Next::Io
    }

    /// Draws the place of the next operation. There must be one left.
    #[inline(always)]
    pub fn place(&mut self) -> u64 {
        self.left -= 1;
        self.base + self.walk.next(&mut self.random, self.step)
    }

    /// Whether each operation says its own place.
    pub fn has_places(&self) -> bool {
        self.walk.is_plain()
    }

    /// Where the state of its walk begins that does not lie in it, and bytes.
    pub fn state_elsewhere(&self) -> (usize, usize) {
        match &self.walk {
            Walk::Once(once) => (std::ptr::from_ref(&**once).addr(), size_of_val(&**once)),
            _ => (0, 0),
        }
    }

    /// The next operations' places, at equal distances: the first, the distance, and how many, at most `most`; 0: there
    /// is nothing more. What is not used of them is [given back](Steady::give_back).
    #[inline(never)]
    pub fn run(&mut self, most: u64) -> (u64, u64, u64) {
        let most = most.min(self.left);
        if most == 0 {
            return (0, 0, 0);
        }
        let (place, distance, count) = self.walk.run(&mut self.random, self.step, most);
        self.left -= count;
        (self.base + place, distance, count)
    }

    /// So many of the last run were not used; the first of them would have been at this place.
    pub fn give_back(&mut self, count: u64, place: u64) {
        self.left += count;
        self.walk.resume(place - self.base);
    }

    /// Operations left; what distinguishes this one's content.
    #[inline(always)]
    pub fn left(&self) -> u64 {
        self.left
    }

    /// Sets how many operations are left; as many were before.
    pub fn set_left(&mut self, left: u64) -> u64 {
        std::mem::replace(&mut self.left, left)
    }

    /// It has come to its end: whether it begins again.
    pub fn repeat(&mut self) -> bool {
        let Some(again) = self.again.take() else { return false };
        *self = Steady { again: Some(again.clone()), ..*again };
        true
    }
}
