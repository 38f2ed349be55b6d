//! Makes a drive like new by its own commands. What is on it is lost.

#[cfg(target_os = "linux")]
mod commands;
#[cfg(not(target_os = "linux"))]
#[path = "drive_purge/elsewhere.rs"]
mod commands;

pub use commands::{check, purge};

/// How a drive is made like new.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DrivePurge {
    /// Format NVM, user data erase, in the format that it has.
    Format,
    /// Sanitize, block erase.
    Sanitize,
}

impl DrivePurge {
    pub fn name(self) -> &'static str {
        match self {
            DrivePurge::Format => "NVMe format with user data erase",
            DrivePurge::Sanitize => "NVMe sanitize by block erase",
        }
    }
}
