//! Block devices of our own, on Linux: loop devices over an image, and mounts that go with their owner.
#![cfg(target_os = "linux")]
#![allow(unsafe_code)]

mod loop_device;
mod mount;

pub use loop_device::{AttachOptions, AttachedDevice};
pub use mount::{MountedDirectory, free_bytes, hide_mounts, mount, unmount};
