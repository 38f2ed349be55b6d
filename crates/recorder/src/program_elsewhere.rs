//! Systems whose programs cannot be recorded: a refusal.

use iodyno_trace::TraceError;

use crate::sink::RecordSink;
use crate::{CallSource, RecordedProgram};

/// # Errors
/// Always.
pub fn record(
    _command: &[String],
    _source: CallSource,
    _clock: fn() -> u64,
    _sink: &mut dyn RecordSink,
) -> Result<RecordedProgram, TraceError> {
    Err(TraceError::new("programs are recorded on Linux only, on x86-64 and aarch64")
        .hint("where strace or truss runs, its text can be imported: iodyno trace import"))
}
