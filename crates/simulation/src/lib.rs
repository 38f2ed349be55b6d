//! Simulated devices: what a device that a file describes would do with requests, event by event.
//!
//! Pure computation on values: no clock, no I/O, no thread. Who drives it says what time it is and when requests arrive;
//! it says when the next thing happens and what is done then. All times are whole nanoseconds, all chance comes from one
//! seeded stream, and floats are only added, multiplied, divided and rooted, which every processor does alike: the same
//! seed gives the same answers everywhere. Memory is bounded by the device and by what is in flight, never by how long it runs.
//!
//! ```text
//!   arrive ─► part ─► part behind ─► …        each part: queue, servers, figures of its own
//!   done   ◄─ part ◄─ part behind ◄─ …        kernel: events in order of time, then of their making
//! ```
//!
//! [`promises`] stands beside it: what a store of many such devices can promise.
#![forbid(unsafe_code)]

mod build;
pub mod calibration;
mod event_queue;
mod kernel;
mod parts;
pub mod promises;
pub mod random;

pub use build::scaled;
pub use kernel::{Completion, DeviceRequest, RequestKind, Simulation};

/// A point in virtual time, ns.
pub type Tick = u64;
