//! What an option of a table does to what a tool's command line is parsed into: one row is the whole option.
//!
//! It checks a number against the bounds of the option's kind; the error's words are the tool's.

use super::{Entry, Kind};

/// An option and what it sets in an `S`; a value that is wrong is an `E`.
#[derive(Debug)]
pub struct Setter<S, E> {
    /// Its names, its value, its help, and what we do about it.
    pub entry: Entry,
    /// What it sets.
    pub set: Set<S, E>,
}

/// Options under one heading.
pub type SetterGroup<S, E> = (&'static str, &'static [Setter<S, E>]);

/// What an option sets.
#[derive(Debug)]
pub enum Set<S, E> {
    /// Nothing, where it has no effect or is refused.
    Nothing,
    /// Something is on.
    On(fn(&mut S)),
    /// Its value as it was typed.
    Text(fn(&mut S, &str)),
    /// A whole number within the bounds of its kind, and what it is a number of.
    Whole(&'static str, fn(&mut S, u64)),
    /// What the value is parsed into.
    Parsed(fn(&mut S, &str) -> Result<(), E>),
}

/// A whole number was expected, within both bounds.
#[derive(Clone, Copy, Debug)]
pub struct OutOfBounds {
    /// What it is a number of.
    pub what: &'static str,
    /// The least.
    pub least: u64,
    /// The most.
    pub most: u64,
}

impl Entry {
    /// Sets nothing.
    pub const fn inert<S, E>(self) -> Setter<S, E> {
        Setter { entry: self, set: Set::Nothing }
    }

    /// Sets something on.
    pub const fn on<S, E>(self, set: fn(&mut S)) -> Setter<S, E> {
        Setter { entry: self, set: Set::On(set) }
    }

    /// Sets a text.
    pub const fn text<S, E>(self, set: fn(&mut S, &str)) -> Setter<S, E> {
        Setter { entry: self, set: Set::Text(set) }
    }

    /// Sets a whole number of something.
    pub const fn whole<S, E>(self, what: &'static str, set: fn(&mut S, u64)) -> Setter<S, E> {
        Setter { entry: self, set: Set::Whole(what, set) }
    }

    /// Sets what its value is parsed into.
    pub const fn parsed<S, E>(self, set: fn(&mut S, &str) -> Result<(), E>) -> Setter<S, E> {
        Setter { entry: self, set: Set::Parsed(set) }
    }
}

impl<S, E> Clone for Setter<S, E> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<S, E> Copy for Setter<S, E> {}

impl<S, E> Clone for Set<S, E> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<S, E> Copy for Set<S, E> {}

impl<S, E> Setter<S, E> {
    /// Sets what it sets.
    ///
    /// # Errors
    /// That its value is not of its kind.
    pub fn apply(&self, to: &mut S, value: &str, wrong: impl Fn(OutOfBounds) -> E) -> Result<(), E> {
        match self.set {
            Set::Nothing => {}
            Set::On(set) => set(to),
            Set::Text(set) => set(to, value),
            Set::Whole(what, set) => {
                let (least, most) = match self.entry.kind {
                    Kind::Whole(least, most) => (least.unsigned_abs(), most.unsigned_abs()),
                    _ => (0, u64::MAX),
                };
                let number = value.parse().ok().filter(|number| (least..=most).contains(number));
                set(to, number.ok_or_else(|| wrong(OutOfBounds { what, least, most }))?);
            }
            Set::Parsed(set) => set(to, value)?,
        }
        Ok(())
    }
}

/// The option of that name.
pub fn setter<S, E>(setters: &'static [Setter<S, E>], entry: &Entry) -> Option<&'static Setter<S, E>> {
    setters.iter().find(|setter| setter.entry.name == entry.name)
}

/// The options without what they set, for help and the documents.
pub const fn entries<S, E, const N: usize>(setters: &[Setter<S, E>]) -> [Entry; N] {
    let mut entries = [setters[0].entry; N];
    let mut index = 0;
    while index < N {
        entries[index] = setters[index].entry;
        index += 1;
    }
    entries
}

/// How many options there are under all headings.
pub const fn count<S, E>(groups: &[SetterGroup<S, E>]) -> usize {
    let (mut count, mut group) = (0, 0);
    while group < groups.len() {
        count += groups[group].1.len();
        group += 1;
    }
    count
}

/// The options of all headings, each under its own.
pub const fn grouped<S, E, const N: usize>(groups: &[SetterGroup<S, E>]) -> [Setter<S, E>; N] {
    let mut all = [groups[0].1[0]; N];
    let (mut at, mut group) = (0, 0);
    while group < groups.len() {
        let (category, part) = groups[group];
        let mut index = 0;
        while index < part.len() {
            all[at] = part[index];
            all[at].entry.category = category;
            (at, index) = (at + 1, index + 1);
        }
        group += 1;
    }
    all
}
