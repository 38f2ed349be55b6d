//! Purges of drives where their commands are not known: refused.

use super::DrivePurge;

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
