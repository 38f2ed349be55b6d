//! What systems do differently: Linux's calls, and the nearest that others have.

#[cfg(target_os = "linux")]
pub use linux::*;
#[cfg(not(target_os = "linux"))]
pub use others::*;

#[cfg(target_os = "linux")]
#[path = "linux.rs"]
mod linux;
#[cfg(not(target_os = "linux"))]
#[path = "others.rs"]
mod others;
