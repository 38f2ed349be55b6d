//! Sandboxes: loop devices, mounts, full disks, other users, a forbidden io_uring. Each undoes itself when dropped.
//!
//! What the machine lacks (a privilege, a tool, a file system) is a [`Skip`]; anything else that goes wrong
//! is a bug in the test and panics at the caller's line. Only devices made here are ever written to, and the one
//! that every test of a machine shares, zram, only under a lock.

mod hosts;
mod loop_device;
mod mount;
mod process;
mod sessions;
mod zram;

pub use hosts::{HOST_NEEDS, Hosts};
pub use loop_device::{LoopDevice, LoopOptions};
pub use mount::{FullDisk, Mount, hidden};
pub use process::{NOBODY, UnprivilegedUser, keep_to_one_processor, seccomp_forbid_io_uring};
pub use sessions::keep_sessions;
pub use zram::{Zram, ZramLock, zram_lock};

use crate::Skip;
use std::io;

/// Sorts an error into a lack of the machine, which is a skip, and a bug, which panics.
#[track_caller]
fn skip_or_panic(what: &str, error: io::Error) -> Skip {
    match error.raw_os_error() {
        Some(libc::EPERM | libc::EACCES | libc::ENODEV | libc::ENXIO | libc::ENOSYS) => {
            Skip::new(format!("{what}: {error}"))
        }
        _ => panic!("{what}: {error}"),
    }
}
