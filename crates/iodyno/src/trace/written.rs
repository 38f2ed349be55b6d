//! Writes the traces that commands make.

use iodyno_trace::format::Writer;
use iodyno_trace::{RecordSource, TraceError};

use super::Answer;
use super::output::{Interruption, Output, OutputArgs};

/// Writes all of a source as a trace of ours. `path`: what was read, for messages.
pub fn write(source: &mut dyn RecordSource, output: &OutputArgs, path: &str) -> Answer {
    let mut output = Output::open_binary(output, Interruption::Removes)?;
    let written = whole(source, &mut output);
    output.finish(written, path)
}

fn whole(source: &mut dyn RecordSource, output: &mut Output) -> Result<(), TraceError> {
    let mut writer = Writer::new(output, source.header().clone())?;
    writer.write_source(source)?;
    writer.finish().map(drop)
}
