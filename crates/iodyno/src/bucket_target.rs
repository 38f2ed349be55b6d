//! A bucket as the target of a command: a prefix of the run's own, and the settings of its engine.
//!
//! What is in a bucket is not looked at, and must not be overwritten: so everything lies below a name that nobody else has.

use iodyno_model::{Diagnostic, Origin, Setting};

use crate::leftovers;

/// Whether a target is meant as a bucket.
pub fn is_meant(target: &str) -> bool {
    target.contains("://")
}

/// The prefix of a command below the one that a user names.
///
/// # Errors
/// It is no address of a bucket.
pub fn own_prefix(url: &str, command: &str) -> Result<String, Diagnostic> {
    if !url.starts_with("s3://") {
        let wrong = Diagnostic::error(&Origin::argument(url), "no address of a bucket");
        return Err(wrong.hint("e.g. s3://BUCKET/PREFIX, or a directory"));
    }
    Ok(format!("{}/iodyno-{command}-{}", url.trim_end_matches('/'), leftovers::own_name()))
}

/// What `--set` says, for a job.
pub fn settings(set: &[(String, String)]) -> Vec<Setting> {
    let setting = |(name, value): &(String, String)| Setting {
        name: name.clone(),
        value: value.clone(),
        origin: Origin::argument(&format!("--set {name}={value}")),
    };
    set.iter().map(setting).collect()
}

/// Refuses settings where there is no bucket.
///
/// # Errors
/// There are some.
pub fn no_settings(set: &[(String, String)]) -> Result<(), Diagnostic> {
    if set.is_empty() {
        return Ok(());
    }
    let wrong = Diagnostic::error(&Origin::argument("--set"), "settings are those of a bucket's engine");
    Err(wrong.hint("leave it out, or name s3://BUCKET/PREFIX"))
}
