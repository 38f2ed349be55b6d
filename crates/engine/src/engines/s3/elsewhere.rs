//! Where there is no epoll there is no engine, but other clients of stores have the same settings.

pub mod blocking;
mod instance;
mod peer;
pub mod settings;
#[cfg_attr(not(feature = "tls"), path = "tls_absent.rs")]
mod tls;
