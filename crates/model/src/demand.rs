//! What is demanded of a result: a line of service level, and whether it was kept.
//!
//! A demand is worded by the user (`read.p99 > 5ms` fails the run); it is judged in `truth`, and makes the exit status.

use crate::reflect::Reflect;

use crate::origin::Origin;

/// A condition on which a run fails.
#[derive(Clone, Debug, Default, PartialEq, Reflect)]
pub struct Demand {
    /// As it was typed: `read.p99 > 5ms`.
    pub text: String,
    /// Where.
    #[reflect(default)]
    pub origin: Origin,
}

/// What became of a demand.
#[derive(Clone, Debug, Default, PartialEq, Reflect)]
pub struct DemandRecord {
    /// As it was typed.
    pub text: String,
    /// The phase and job that it was held against; the worst of several.
    pub place: String,
    /// What was found, in the unit below; none: there was nothing to hold it against, which fails as well.
    pub found: Option<f64>,
    /// `1/s`, `bytes/s`, `ns`, `%`, or nothing.
    pub unit: String,
    /// Whether the run fails for it.
    pub failed: bool,
}
