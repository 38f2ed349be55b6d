//! Whether storage keeps what it promised when the power goes: workloads that note each promise, the states that a crash can
//! leave, and the judgement of what is found in them.
#![cfg_attr(target_os = "linux", allow(unsafe_code))]

pub mod enumeration;
#[cfg(target_os = "linux")]
pub mod executor;
pub mod oracle;
pub mod promise;
pub mod script;
pub mod stamp;
pub mod workload;
