//! Systems whose directories cannot be covered: a refusal.

use std::path::Path;

use iodyno_trace::TraceError;

use crate::RecordedProgram;
use crate::sink::RecordSink;

/// # Errors
/// Always.
pub fn record(
    _directory: &Path,
    _command: &[String],
    _clock: fn() -> u64,
    _sink: &mut dyn RecordSink,
) -> Result<RecordedProgram, TraceError> {
    Err(TraceError::new("directories are recorded on Linux only, on x86-64 and aarch64, through FUSE")
        .hint("where strace or truss runs, its text can be imported: iodyno trace import"))
}
