//! What that which was seen from outside means for the result.
//!
//! A [`Sighting`](crate::Sighting) is a fact without opinion; a [`Finding`] is the opinion, with the figures that prove it.
//! The crate `truth` turns one into the other. A finding that has no figure is not a finding.

use crate::reflect::Reflect;

/// How much a finding spoils.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Reflect)]
pub enum Severity {
    /// Worth knowing; the figure stands.
    Note,
    /// The figure may not be what it seems.
    Doubtful,
    /// The figure is not what was asked for.
    Invalid,
}

/// What a sighting means for a result.
#[derive(Clone, Debug, PartialEq, Reflect)]
pub struct Finding {
    /// Its number in the list of known lies, 1 to 26.
    pub code: u8,
    /// How much it spoils.
    pub severity: Severity,
    /// The phase it concerns.
    pub phase: String,
    /// The job it concerns, if one.
    #[reflect(default)]
    pub job: Option<String>,
    /// What is the matter, one sentence.
    pub sentence: String,
    /// The figures that prove it, at least one.
    pub figures: Vec<Figure>,
    /// What to do, with the exact option.
    pub advice: String,
    /// The number of the finding of the same run that explains it; none: it stands for itself.
    #[reflect(omit_empty)]
    pub explained_by: Option<u8>,
}

/// A number with its name and unit.
#[derive(Clone, Debug, PartialEq, Reflect)]
pub struct Figure {
    /// What it is.
    pub name: String,
    /// Its value.
    pub value: f64,
    /// Its unit: `%`, `bytes`, `ns`, `1/s`, or nothing.
    pub unit: String,
}

impl Figure {
    /// A figure.
    pub fn new(name: &str, value: f64, unit: &str) -> Self {
        Figure { name: name.into(), value, unit: unit.into() }
    }
}
