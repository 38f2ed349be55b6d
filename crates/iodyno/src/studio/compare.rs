//! Two runs or more held against the first, by the command that does so.

use std::process::{Command, Stdio};

use iodyno_model::{Diagnostic, Origin};
use serde_json::{Value, json};

use crate::loader::plain;

/// The comparison of runs that are named by their numbers; `across`: all differences are meant.
///
/// # Errors
/// Fewer than two runs, or what the command refuses.
pub fn compare(numbers: &[&str], across: bool) -> Result<Value, Diagnostic> {
    let wrong = |what: &str| Diagnostic::error(&Origin::argument("compare"), what);
    let is_number = |text: &&str| !text.is_empty() && text.bytes().all(|digit| digit.is_ascii_digit());
    if numbers.len() < 2 || !numbers.iter().all(is_number) {
        return Err(wrong("two runs are compared, or more").hint("tick them in the list"));
    }
    let unable = |error: std::io::Error| wrong(&format!("this program cannot be started: {}", plain(&error)));
    let mut command = Command::new(std::env::current_exe().map_err(unable)?);
    command.arg("compare").args(numbers).arg("--json").stdin(Stdio::null());
    if across {
        command.args(["--across", "all"]);
    }
    let output = command.output().map_err(unable)?;
    match serde_json::from_slice::<Value>(&output.stdout) {
        Ok(told) => Ok(json!({ "comparison": told })),
        Err(_) => Err(wrong(String::from_utf8_lossy(&output.stderr).trim())),
    }
}
