//! Traces in the formats of others, with what those cannot hold.

mod blkparse;
pub mod fio;
mod losses;
mod table;

#[cfg(test)]
mod tests;

use std::io::Write;

pub use losses::ExportLosses;

use crate::text::TextWriter;
use crate::{Batch, RecordSource, Tables, TraceError, TraceRecord};

/// A format that is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExportFormat {
    /// fio's iolog without times but `wait`.
    Fio2,
    /// fio's iolog with times.
    Fio3,
    /// The text of blkparse: queued, issued, completed.
    Blkparse,
    Csv,
    /// Our own text, which holds everything.
    Dump,
}

impl ExportFormat {
    pub const ALL: [(&str, ExportFormat); 5] = [
        ("fio2", ExportFormat::Fio2),
        ("fio3", ExportFormat::Fio3),
        ("blkparse", ExportFormat::Blkparse),
        ("csv", ExportFormat::Csv),
        ("dump", ExportFormat::Dump),
    ];

    pub fn name(self) -> &'static str {
        ExportFormat::ALL.iter().find(|(_, format)| *format == self).map_or("", |(name, _)| name)
    }
}

/// Writes a source in a format; what it could not hold.
///
/// # Errors
/// Those of the source and of the output.
pub fn export(
    source: &mut dyn RecordSource,
    format: ExportFormat,
    write: &mut dyn Write,
) -> Result<ExportLosses, TraceError> {
    let mut losses = ExportLosses::default();
    let mut exporter: Box<dyn Exporter> = match format {
        ExportFormat::Fio2 => Box::new(fio::Iolog::new(false)),
        ExportFormat::Fio3 => Box::new(fio::Iolog::new(true)),
        ExportFormat::Blkparse => Box::new(blkparse::Blkparse::default()),
        ExportFormat::Csv => Box::new(table::CsvRows::default()),
        ExportFormat::Dump => {
            TextWriter::new(write).write_source(source)?;
            return Ok(losses);
        }
    };
    let (mut batch, mut text) = (Batch::new(), Vec::new());
    exporter.begin(&mut text);
    loop {
        source.next_batch(&mut batch)?;
        if batch.is_empty() {
            exporter.end(source.tables(), &mut text, &mut losses);
            write.write_all(&text)?;
            write.flush()?;
            return Ok(losses);
        }
        for record in &batch {
            exporter.record(record, source.tables(), &mut text, &mut losses);
        }
        write.write_all(&text)?;
        text.clear();
    }
}

/// A format's own part.
trait Exporter {
    fn begin(&mut self, out: &mut Vec<u8>);

    fn record(&mut self, record: &TraceRecord, tables: &Tables, out: &mut Vec<u8>, losses: &mut ExportLosses);

    fn end(&mut self, tables: &Tables, out: &mut Vec<u8>, losses: &mut ExportLosses);
}

/// The decimal digits of a number.
pub fn put_number(out: &mut Vec<u8>, mut number: u64) {
    let mut digits = [0; 20];
    let mut first = digits.len();
    loop {
        first -= 1;
        digits[first] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            return out.extend_from_slice(&digits[first..]);
        }
    }
}
