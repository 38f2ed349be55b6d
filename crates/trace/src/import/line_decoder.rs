//! Inputs of text whose lines are understood one by one.

use super::context::{ImportContext, LineFailure};
use super::lines::Lines;
use super::order::Decoder;
use super::unpack::Stream;
use crate::{TraceError, TraceRecord};

/// Lines that are read at a time.
const LINES: usize = 4096;

/// Understands a line.
pub trait LineParser {
    /// Adds the records of a line, if it has any.
    ///
    /// # Errors
    /// A line that is wrong; what ends the import.
    fn records(
        &mut self,
        line: &[u8],
        context: &mut ImportContext,
        records: &mut Vec<TraceRecord>,
    ) -> Result<(), LineFailure>;
}

/// Understands a line with a record, at most.
pub trait RecordParser {
    /// The record of a line; none: it has none.
    ///
    /// # Errors
    /// A line that is wrong; what ends the import.
    fn line(&mut self, line: &[u8], context: &mut ImportContext) -> Result<Option<TraceRecord>, LineFailure>;
}

impl<P: RecordParser> LineParser for P {
    fn records(
        &mut self,
        line: &[u8],
        context: &mut ImportContext,
        records: &mut Vec<TraceRecord>,
    ) -> Result<(), LineFailure> {
        records.extend(self.line(line, context)?);
        Ok(())
    }
}

/// One input of lines.
pub struct LineDecoder<P> {
    lines: Lines,
    parser: P,
}

impl<P: LineParser> LineDecoder<P> {
    pub fn new(stream: Stream, parser: P) -> LineDecoder<P> {
        LineDecoder { lines: Lines::new(stream.name, stream.reader), parser }
    }
}

impl<P: LineParser> Decoder for LineDecoder<P> {
    fn decode(
        &mut self,
        context: &mut ImportContext,
        records: &mut Vec<TraceRecord>,
    ) -> Result<bool, TraceError> {
        for _ in 0..LINES {
            let Some(line) = context.next_line(&mut self.lines)? else { return Ok(false) };
            match self.parser.records(line, context, records) {
                Ok(()) => context.good_line(),
                Err(LineFailure::Line(fault)) => {
                    let place = self.lines.place();
                    context.wrong_line(&place, fault, self.lines.current())?;
                }
                Err(LineFailure::End(error)) => return Err(error.at(self.lines.place())),
            }
        }
        Ok(true)
    }
}
