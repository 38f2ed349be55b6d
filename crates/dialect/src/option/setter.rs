//! What an option of a table does to what a tool's command line is parsed into: one row is the whole option.
//!
//! It checks a number against the bounds of the option's kind; the error's words are the tool's.

use super::{Entry, Kind};

/// An option of a table, and the rule of its dialect that says what is done with its value.
#[derive(Clone, Copy, Debug)]
pub struct OptionRow<R> {
    /// Its names, its value, its help, and what we do about it.
    pub entry: Entry,
    /// The dialect's rule.
    pub rule: R,
}

/// An option and what it sets in an `S`; a value that is wrong is an `E`.
pub type Setter<S, E> = OptionRow<Set<S, E>>;

/// Options under one heading.
pub type OptionGroup<R> = (&'static str, &'static [OptionRow<R>]);

/// Options under one heading, with what they set.
pub type SetterGroup<S, E> = OptionGroup<Set<S, E>>;

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
    pub least: u64,
    pub most: u64,
}

impl Entry {
    /// Sets nothing.
    pub const fn inert<S, E>(self) -> Setter<S, E> {
        OptionRow { entry: self, rule: Set::Nothing }
    }

    /// Sets something on.
    pub const fn on<S, E>(self, set: fn(&mut S)) -> Setter<S, E> {
        OptionRow { entry: self, rule: Set::On(set) }
    }

    pub const fn text<S, E>(self, set: fn(&mut S, &str)) -> Setter<S, E> {
        OptionRow { entry: self, rule: Set::Text(set) }
    }

    /// Sets a whole number of something.
    pub const fn whole<S, E>(self, what: &'static str, set: fn(&mut S, u64)) -> Setter<S, E> {
        OptionRow { entry: self, rule: Set::Whole(what, set) }
    }

    /// Sets what its value is parsed into.
    pub const fn parsed<S, E>(self, set: fn(&mut S, &str) -> Result<(), E>) -> Setter<S, E> {
        OptionRow { entry: self, rule: Set::Parsed(set) }
    }
}

impl<R: Copy> OptionRow<R> {
    /// With other names.
    pub const fn also(self, aliases: &'static [&'static str]) -> Self {
        OptionRow { entry: self.entry.also(aliases), ..self }
    }

    /// With a default value.
    pub const fn or(self, default: &'static str) -> Self {
        OptionRow { entry: self.entry.or(default), ..self }
    }

    /// Accepted without effect.
    pub const fn ignored(self, why: &'static str) -> Self {
        OptionRow { entry: self.entry.ignored(why), ..self }
    }

    /// An error.
    pub const fn refused(self, why: &'static str, hint: &'static str) -> Self {
        OptionRow { entry: self.entry.refused(why, hint), ..self }
    }
}

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
        match self.rule {
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

/// The options without their rules, for help and the documents.
pub const fn entries<R: Copy, const N: usize>(rows: &[OptionRow<R>]) -> [Entry; N] {
    let mut entries = [rows[0].entry; N];
    let mut index = 0;
    while index < N {
        entries[index] = rows[index].entry;
        index += 1;
    }
    entries
}

/// How many options there are under all headings.
pub const fn count<R: Copy>(groups: &[OptionGroup<R>]) -> usize {
    let (mut count, mut group) = (0, 0);
    while group < groups.len() {
        count += groups[group].1.len();
        group += 1;
    }
    count
}

/// The options of all headings, each under its own.
pub const fn grouped<R: Copy, const N: usize>(groups: &[OptionGroup<R>]) -> [OptionRow<R>; N] {
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
