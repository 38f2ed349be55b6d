//! `socket`: streams, datagrams and exchanges between two sockets.

#[cfg(target_os = "linux")]
mod options;
pub mod wishes;
