//! Systems whose directories cannot be covered: a refusal.

use std::path::Path;

use iodyno_trace::TraceError;

use crate::ProgramEnd;

/// What a file would lose.
pub struct UnsyncedBytes {
    pub name: String,
    pub bytes: u64,
}

/// How a program ended, and what it left unsynced.
pub struct ViewedProgram {
    pub end: ProgramEnd,
    pub left: Vec<UnsyncedBytes>,
    pub failure: Option<String>,
}

/// What a view holds back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ViewTerms {
    pub most_bytes: u64,
    pub has_names: bool,
}

fn refusal() -> TraceError {
    TraceError::new("directories are covered on Linux only, on x86-64 and aarch64, through FUSE")
}

/// # Errors
/// Always.
pub fn view(
    _directory: &Path,
    _command: &[String],
    _terms: ViewTerms,
    _told: impl Fn(&[UnsyncedBytes], usize) + Send + 'static,
) -> Result<ViewedProgram, TraceError> {
    Err(refusal())
}

/// # Errors
/// Always.
pub fn ask(_directory: &Path, _word: &str) -> Result<String, TraceError> {
    Err(refusal())
}
