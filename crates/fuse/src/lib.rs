//! File systems in user space, on Linux: one that passes every call on to a directory and tells of it, and what mounting needs.
#![cfg(target_os = "linux")]
#![allow(unsafe_code)]

mod caller;
mod calls;
mod control;
pub mod image;
mod locks;
pub mod mount;
mod nodes;
mod observer;
mod passthrough;
mod serve;
mod unsynced;
mod unsynced_names;

pub use control::{ControlSocket, ask};
pub use nodes::hold;
pub use observer::{CallFlags, CallObserver, ObservedCall, ObservedFile};
pub use passthrough::Passthrough;
pub use serve::{KernelPages, serve, serve_holding};
pub use unsynced::{UnsyncedBytes, UnsyncedStore, UnsyncedTerms};
pub use unsynced_names::UnsyncedNames;
