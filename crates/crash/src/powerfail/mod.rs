//! Promises that are logged elsewhere, until the power goes, and checked afterwards: works on any storage, without root.
//!
//! ```text
//!   write: lay out ─► begin (log) ─► step + durability call ─► kept (log) ─► begin …
//!   verify: log ─► what was promised, what was in flight ─► directory or device ─► findings
//! ```
//!
//! A step in flight may have happened or not, in part too: that is never a fault.

mod calls;
pub mod channel;
pub mod device;
mod directory;
pub mod entry;
pub mod log;
pub mod log_reader;
mod sector;
pub mod step;
pub mod verify;
pub mod writer;

pub use calls::go_down;
pub use directory::{DirectoryLayout, lay_out};
pub use sector::BLOCK_BYTES;
