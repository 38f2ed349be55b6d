//! Systems other than Linux have no loop devices to record on.

use iodyno_model::{Diagnostic, Origin};

use crate::request::{CrashHooks, CrashReport, CrashRequest};

/// Refuses.
///
/// # Errors
/// Always.
pub fn run(_request: &CrashRequest, _hooks: &mut CrashHooks<'_>) -> Result<CrashReport, Diagnostic> {
    Err(refusal())
}

/// Refuses.
///
/// # Errors
/// Always.
pub fn mark(_text: &str) -> Result<(), Diagnostic> {
    Err(refusal())
}

/// No disk is served here.
pub fn serve_when_asked() {}

fn refusal() -> Diagnostic {
    Diagnostic::error(&Origin::Default, "crash tests run on Linux only, so far")
        .hint("`iodyno powerfail` works everywhere")
}
