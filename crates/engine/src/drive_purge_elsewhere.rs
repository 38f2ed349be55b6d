//! Purges of drives where their commands are not known: refused.

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

/// # Errors
/// Always.
pub fn purge(_path: &str, _how: DrivePurge) -> Result<(), String> {
    Err("NVMe commands are sent on Linux only".into())
}

/// # Errors
/// Always.
pub fn check(path: &str, how: DrivePurge) -> Result<(), String> {
    purge(path, how)
}
