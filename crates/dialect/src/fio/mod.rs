//! fio: job files and command lines as they are, reports in its own layout.
//!
//! ```text
//!   argv, job files ─ syntax ─► Settings of each job ─ lower ─► Plan and View ─ the engine room ─► events ─ report ─► text
//! ```
//! It refuses the server (no authentication, and jobs may run shell commands), and engines whose hardware or library is
//! not here, each by name with what to use instead.

pub mod lower;
pub mod options;
pub mod report;
pub mod settings;
pub mod value;
pub mod view;

/// The version that reports and `--version` name: that of the layouts we write, with our own name behind it.
pub const VERSION: &str = "fio-3.42";
