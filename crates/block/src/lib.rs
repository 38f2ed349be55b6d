//! Block devices of our own, on Linux: loop devices over an image, and mounts that go with their owner.
#![cfg(target_os = "linux")]
#![allow(unsafe_code)]
