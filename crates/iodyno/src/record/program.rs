//! `iodyno record -- COMMAND`.

use clap::ValueEnum;
use iodyno_engine::clock;
use iodyno_model::{Diagnostic, Origin};
use iodyno_recorder::{CallSource, RecordedProgram, program};
use iodyno_trace::format::KeptTrace;
use iodyno_trace::{TraceError, TraceLevel};

use super::{Answer, RecordOutput, TraceOutput, open};
use crate::session::say;
use crate::trace::output::Output;

/// [`CallSource`] as a word.
#[derive(Clone, Copy, Default, ValueEnum)]
pub enum CallSourceWord {
    /// Tracepoints, or ptrace alone where they cannot be had
    #[default]
    Best,
    Tracepoints,
    /// ptrace alone: each call stops twice
    Ptrace,
}

impl From<CallSourceWord> for CallSource {
    fn from(word: CallSourceWord) -> CallSource {
        match word {
            CallSourceWord::Best => CallSource::Best,
            CallSourceWord::Tracepoints => CallSource::Tracepoints,
            CallSourceWord::Ptrace => CallSource::Ptrace,
        }
    }
}

pub fn answer(command: &[String], source: CallSource, words: &RecordOutput) -> Answer {
    let mut output = open(words)?;
    let (recorded, kept) = record(command, source, &mut output).map_err(|error| {
        let origin = Origin::argument(&command[0]);
        Diagnostic { hint: error.hint.clone(), ..Diagnostic::error(&origin, error.to_string()) }
    })?;
    output.finish_kept(kept)?;
    if !words.quiet {
        summary(words, &recorded).iter().for_each(say);
    }
    Ok(recorded.end.status())
}

fn record(
    command: &[String],
    source: CallSource,
    output: &mut Output,
) -> Result<(RecordedProgram, KeptTrace), TraceError> {
    let mut trace = TraceOutput::begin(output, TraceLevel::File)?;
    let recorded = program::record(command, source, clock::monotonic, &mut trace)?;
    let kept = trace.finish(recorded.header.clone(), recorded.began_ns)?;
    Ok((recorded, kept))
}

/// What the recording came to, a line each.
fn summary(words: &RecordOutput, recorded: &RecordedProgram) -> Vec<String> {
    let RecordedProgram { records, entries, exits, .. } = recorded;
    let mut lines = vec![format!(
        "recorded {records} operations in {}; calls stopped {} times",
        words.output,
        entries + exits
    )];
    lines.extend(ended_later(recorded));
    lines
}

/// What went on after the command, and what a reader should know.
pub fn ended_later(recorded: &RecordedProgram) -> Vec<String> {
    let RecordedProgram { ended_processes, header, .. } = recorded;
    let mut lines = Vec::new();
    if *ended_processes > 0 {
        lines.push(format!("ended {ended_processes} processes that went on after the command"));
    }
    lines.extend(header.notes.iter().map(|note| format!("  {note}")));
    lines
}
