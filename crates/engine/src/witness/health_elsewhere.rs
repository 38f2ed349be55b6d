//! Where the kernel has no such commands, drives tell nothing of their health.

use iodyno_model::HealthActivity;

/// Of no drive.
#[derive(Clone, Debug, PartialEq)]
pub enum HealthReading {}

/// Asks a drive.
///
/// # Errors
/// Always.
pub fn read(_disk: &str) -> Result<HealthReading, String> {
    Err("drives are asked for their health on Linux only".into())
}

/// What became of a drive.
pub fn since(_disk: &str, before: HealthReading, _after: HealthReading) -> HealthActivity {
    match before {}
}
