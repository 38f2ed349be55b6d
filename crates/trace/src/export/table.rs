//! A table with a row for each record (CSV), for spreadsheets and scripts.

use csv_core::{WriteResult, Writer};

use crate::export::{ExportLosses, Exporter};
use crate::text::flag_words;
use crate::{RecordedContent, Tables, TraceRecord};

const COLUMNS: [&str; 16] = [
    "time_ns",
    "operation",
    "file",
    "offset",
    "bytes",
    "latency_ns",
    "result",
    "process",
    "thread",
    "command",
    "flags",
    "other",
    "digest",
    "compressible_percent",
    "after_records",
    "think_ns",
];

#[derive(Default)]
pub struct CsvRows {
    writer: Writer,
    fields: usize,
}

impl CsvRows {
    fn field(&mut self, out: &mut Vec<u8>, text: &str) {
        if self.fields > 0 {
            self.write(out, 1, |writer, buffer| writer.delimiter(buffer));
        }
        self.fields += 1;
        // A quote for each letter at most, and two around them.
        self.write(out, 2 * text.len() + 2, |writer, buffer| {
            let (result, _, written) = writer.field(text.as_bytes(), buffer);
            (result, written)
        });
    }

    fn end_row(&mut self, out: &mut Vec<u8>) {
        self.fields = 0;
        self.write(out, 4, |writer, buffer| writer.terminator(buffer));
    }

    fn write(
        &mut self,
        out: &mut Vec<u8>,
        most: usize,
        put: impl FnOnce(&mut Writer, &mut [u8]) -> (WriteResult, usize),
    ) {
        let before = out.len();
        out.resize(before + most + 1, 0);
        let (_, written) = put(&mut self.writer, &mut out[before..]);
        out.truncate(before + written);
    }
}

impl Exporter for CsvRows {
    fn begin(&mut self, out: &mut Vec<u8>) {
        COLUMNS.iter().for_each(|column| self.field(out, column));
        self.end_row(out);
    }

    fn record(&mut self, record: &TraceRecord, tables: &Tables, out: &mut Vec<u8>, _: &mut ExportLosses) {
        let name = |file: u32| tables.files.get(file as usize).map_or("", |file| file.name.as_str());
        let number = |value: Option<u64>| value.map_or_else(String::new, |value| value.to_string());
        let thread = tables.threads.get(record.thread as usize);
        let (digest, compressible) = match record.content {
            Some(RecordedContent::Digest(digest)) => {
                (digest.iter().map(|byte| format!("{byte:02x}")).collect(), None)
            }
            Some(RecordedContent::Compressible(percent)) => (String::new(), Some(u64::from(percent))),
            None => (String::new(), None),
        };
        let fields: [&str; COLUMNS.len()] = [
            &record.at_ns.to_string(),
            record.verb.name(),
            name(record.file),
            &record.offset.to_string(),
            &record.bytes.to_string(),
            &number(record.latency_ns),
            &record.result.map_or_else(String::new, |result| result.to_string()),
            &number(thread.map(|thread| u64::from(thread.process))),
            &number(thread.map(|thread| u64::from(thread.thread))),
            thread.map_or("", |thread| &thread.name),
            &flag_words(record.flags),
            record.other.map_or("", name),
            &digest,
            &number(compressible),
            &number(record.after.map(|after| after.back)),
            &number(record.after.map(|after| after.think_ns)),
        ];
        fields.iter().for_each(|field| self.field(out, field));
        self.end_row(out);
    }

    fn end(&mut self, tables: &Tables, _: &mut Vec<u8>, losses: &mut ExportLosses) {
        let has_facts = |file: &crate::TraceFile| file.bytes.is_some() || file.device.is_some();
        if tables.files.iter().any(has_facts) {
            losses.lose_of_all("sizes, kinds and device numbers of files");
        }
    }
}
