//! Whether storage keeps what it promised when the power goes: workloads that note each promise, the states that a crash can
//! leave, and the judgement of what is found in them.
#![cfg_attr(target_os = "linux", allow(unsafe_code))]

#[cfg(target_os = "linux")]
mod calls;
#[cfg(target_os = "linux")]
pub mod disk;
pub mod enumeration;
#[cfg(target_os = "linux")]
pub mod executor;
#[cfg(target_os = "linux")]
pub mod explore;
#[cfg(target_os = "linux")]
pub mod file_system;
#[cfg(target_os = "linux")]
pub mod image;
#[cfg(target_os = "linux")]
pub mod lie;
#[cfg(target_os = "linux")]
pub mod log;
pub mod oracle;
#[cfg(target_os = "linux")]
pub mod powerfail;
#[cfg(target_os = "linux")]
pub mod program;
pub mod promise;
#[cfg(target_os = "linux")]
pub mod recording;
pub mod request;
pub mod script;
#[cfg(target_os = "linux")]
pub mod session;
#[cfg(not(target_os = "linux"))]
#[path = "session_elsewhere.rs"]
pub mod session;
pub mod stamp;
#[cfg(target_os = "linux")]
pub mod state;
pub mod workload;
