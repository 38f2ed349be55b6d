//! What may be found after a crash, and the judgement of what was.
//!
//! The model is a tree of inodes and entries. Each value in it (an entry, a size, a range of bytes, a mode) has the set of those that
//! a crash may leave: a change adds one, a persistence point leaves the current one alone. So no state is a fault for what nobody
//! synced, and none is held against an order that nobody promised.

mod alternatives;
mod apply;
mod bytes;
mod found;
mod judge;
mod promises;
mod tree;

pub use alternatives::{Alternatives, ByteRanges, SizeBounds};
pub use apply::LARGEST_FILE;
#[cfg(target_os = "linux")]
pub use found::read_found;
pub use found::{FoundBody, FoundBytes, FoundNode};
pub use judge::{InodeNumbers, judge_found};
pub use promises::{Given, MountPractice, PromiseKind};
pub use tree::{ModelInode, ModelKind, ModelTree};

#[cfg(test)]
mod tests;
