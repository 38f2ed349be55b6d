//! Records what programs and devices do, on Linux: the calls of a program on files, those in a directory, and the
//! requests to a block device.
//!
//! A recorder gives its records to a [`RecordSink`](sink::RecordSink) as it meets them; memory stays bounded. The clock is
//! the caller's. Whatever a recorder changes in the kernel's tracing is put back when it ends, also by an error.
#![allow(unsafe_code)]

#[cfg(target_os = "linux")]
pub mod anatomy;
#[cfg(not(target_os = "linux"))]
#[path = "anatomy_elsewhere.rs"]
pub mod anatomy;
#[cfg(target_os = "linux")]
pub mod device;
#[cfg(not(target_os = "linux"))]
#[path = "device_elsewhere.rs"]
pub mod device;
#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
pub mod mounted;
#[cfg(not(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64"))))]
#[path = "mounted_elsewhere.rs"]
pub mod mounted;
#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
mod private_mount;
#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
pub mod program;
#[cfg(not(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64"))))]
#[path = "program_elsewhere.rs"]
pub mod program;
mod recorded_program;
pub mod sink;
#[cfg(target_os = "linux")]
pub mod tracefs;
#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
pub mod view;
#[cfg(not(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64"))))]
#[path = "view_elsewhere.rs"]
pub mod view;
#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
mod waiting_child;

pub use recorded_program::{CallSource, ProgramEnd, RecordedProgram};
