//! The history: every run that is kept, with its plan, its record, all that may have made a difference, and its tags.
//!
//! ```text
//!   events of a run ─► Keeping ─► journal (plain files, each second) ─► store (SQLite, when it is over)
//!                                                                         │
//!                            runs, report, rerun, compare ◄── Kept ◄──────┘
//! ```
//!
//! While something is measured the store is not touched: what happened lies in two plain files that are never synced, so
//! that a killed program loses at most its last second and a benchmark never waits for its own archive. It reads no
//! clock, prints nothing, and refuses a file that is not its own.
#![forbid(unsafe_code)]

mod entry;
pub mod import;
mod journal;
mod keep;
mod pack;
mod reference;
mod store;
#[cfg(test)]
mod store_tests;

pub use entry::{Entry, Filter, Opening, PartFilter, State, StoredRun};
pub use keep::Keeping;
pub use store::{History, check_tag};
