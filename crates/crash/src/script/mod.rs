//! The language of workloads: steps as short lines, as they stand in `suites/crash/` (docs/crash-workloads.md).

mod operation;
mod parse;
mod suite;

pub use operation::{FallocateMode, OpenDurability, RenameMode, StepOperation};
pub(crate) use parse::nearest;
pub use parse::parse_step;
pub use suite::{WrittenWorkload, builtin, read_suite};

#[cfg(test)]
mod tests;
