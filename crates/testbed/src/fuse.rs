//! A staged device: a FUSE file whose requests take a programmed time, are logged, and go wrong on command.
//!
//! A measuring tool is right when it reports what the device itself saw, so the device keeps a log of its own, in
//! its own process, in shared memory. Expectations are drawn from that log (plus the floor that
//! [`Device::overhead_ns`] measures: 10 to 15 µs, and as much again where idle CPUs have to wake up), not from wall-clock constants.
//!
//! ```no_run
//! use testbed::fuse::{Config, Device, Kind, Service};
//! # fn main() -> Result<(), testbed::Skip> {
//! let config = Config {
//!     read: Service::Bimodal { a_ns: 1_000_000, b_ns: 5_000_000, b_percent: 10, seed: 1 },
//!     parallelism: 4,
//!     ..Config::default()
//! };
//! let device = Device::mount(config)?;
//! // … read device.path() …
//! let p99 = { let sorted = device.log().latencies_ns(Kind::Read); sorted[sorted.len() * 99 / 100] };
//! # Ok(()) }
//! ```
//!
//! The model is the textbook queue of `parallelism` servers, first come first served: what arrives while all are
//! busy waits, and its wait is in the log. It refuses to grow: one file of a fixed size and no other names.

mod config;
mod device;
mod fault;
mod held;
mod log;
mod queue;
mod serve;
mod server;
mod timing;

pub use config::{Config, Content, Fault, Pick, RequestKind, Service};
pub use device::Device;
pub(crate) use device::{await_ready, end, require_hook};
pub use held::HeldDirectory;
pub(crate) use held::serve_held_when_asked;
pub(crate) use iodyno_fuse::mount::{block_signals, detach, is_mounted, wait_for_signal};
pub use log::{Counts, Log, Request};
pub(crate) use serve::spawn;
pub use serve::{DeviceOrder, order_for, serve, serve_when_asked};
pub use timing::now_ns;
