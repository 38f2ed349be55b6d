//! Whole conversations in virtual time: two ends of ours talk over a network that is only reckoned, from their command
//! lines to the last line of their reports.
//!
//! Nothing here depends on the machine: no socket, no clock, no thread of a run. So every figure is exact, and what is
//! printed is compared with a golden file (`cargo xtask bless` rewrites them). What a figure must be is asserted beside
//! that where it can be worked out on paper.

mod golden;
mod stage;
