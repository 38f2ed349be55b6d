//! What to do next.

pub mod distribution;
pub mod permutation;
pub mod random;
