//! `iodyno record --fuse DIR -- COMMAND`.

use std::path::Path;

use iodyno_engine::clock;
use iodyno_model::{Diagnostic, Origin};
use iodyno_recorder::{RecordedProgram, mounted};
use iodyno_trace::format::KeptTrace;
use iodyno_trace::{TraceError, TraceLevel};

use super::program::ended_later;
use super::{Answer, RecordOutput, TraceOutput, open};
use crate::session::say;
use crate::trace::output::Output;

pub fn answer(directory: &str, command: &[String], words: &RecordOutput) -> Answer {
    let mut output = open(words)?;
    let (recorded, kept) = record(directory, command, &mut output).map_err(|error| {
        let origin = Origin::argument(directory);
        Diagnostic { hint: error.hint.clone(), ..Diagnostic::error(&origin, error.to_string()) }
    })?;
    output.finish_kept(kept)?;
    if !words.quiet {
        say(format_args!("recorded {} operations in {}", recorded.records, words.output));
        ended_later(&recorded).iter().for_each(say);
    }
    Ok(recorded.end.status())
}

fn record(
    directory: &str,
    command: &[String],
    output: &mut Output,
) -> Result<(RecordedProgram, KeptTrace), TraceError> {
    let mut trace = TraceOutput::begin(output, TraceLevel::File)?;
    let recorded = mounted::record(Path::new(directory), command, clock::monotonic, &mut trace)?;
    let kept = trace.finish(recorded.header.clone(), recorded.began_ns)?;
    Ok((recorded, kept))
}
