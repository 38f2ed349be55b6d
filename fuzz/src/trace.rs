//! Traces: our own format, whose checksums are put right so that what is behind them is reached, and its text.

use std::io::Cursor;

use iodyno_trace::format::{Reader, Writer};
use iodyno_trace::text::{TextSource, TextWriter};
use iodyno_trace::{Batch, RecordSource};

/// Signature and version.
const START: usize = 10;
const HEAD: usize = 16;

/// A file of ours.
pub fn iot(input: &[u8]) {
    if let Ok(mut reader) = Reader::new(input) {
        drain(&mut reader);
    }
    let repaired = repaired(input);
    if let Ok(mut reader) = Reader::new(&repaired[..]) {
        drain(&mut reader);
    }
    if let Ok(mut reader) = Reader::open(Cursor::new(&repaired))
        && reader.seek_to_time(1_000_000).is_ok()
    {
        drain(&mut reader);
        let _ = reader.seek_to_record(3);
        drain(&mut reader);
    }
}

/// The text of a trace; what is read is written as one of our own.
pub fn dump(input: &[u8]) {
    let Ok(mut source) = TextSource::new(input) else { return };
    let written = Writer::new(Vec::new(), source.header().clone());
    if let Ok(mut writer) = written
        && writer.write_source(&mut source).is_ok()
    {
        let _ = writer.finish();
    }
}

fn drain(source: &mut dyn RecordSource) {
    let mut batch = Batch::new();
    while source.next_batch(&mut batch).is_ok() && !batch.is_empty() {}
    let _ = TextWriter::new(std::io::sink()).write_source(source);
}

/// The file with the right checksum in the head of each section.
fn repaired(input: &[u8]) -> Vec<u8> {
    let mut bytes = input.to_vec();
    let mut at = START;
    while let Some(head) = bytes.get(at..at + HEAD) {
        let stored = u32::from_le_bytes([head[4], head[5], head[6], head[7]]) as usize;
        let Some(body) = bytes.get(at + HEAD..(at + HEAD).saturating_add(stored)) else { break };
        let checksum = crc32c::crc32c_append(crc32c::crc32c(&head[..12]), body);
        bytes[at + 12..at + HEAD].copy_from_slice(&checksum.to_le_bytes());
        at += HEAD + stored;
    }
    bytes
}

/// The example of docs/trace.md.
fn example() -> &'static str {
    let page = include_str!("../../docs/trace.md");
    let rest = page.split_once("```text\n").map_or("", |(_, rest)| rest);
    rest.split_once("```").map_or("", |(example, _)| example)
}

/// What is mangled: the example, in both forms.
pub fn seeds(name: &str) -> Option<Vec<u8>> {
    match name {
        "dump" => Some(example().into()),
        "iot" => {
            let (mut source, mut bytes) = (TextSource::new(example().as_bytes()).ok()?, Vec::new());
            let mut writer = Writer::new(&mut bytes, source.header().clone()).ok()?;
            writer.write_source(&mut source).ok()?;
            writer.finish().ok()?;
            Some(bytes)
        }
        _ => None,
    }
}
