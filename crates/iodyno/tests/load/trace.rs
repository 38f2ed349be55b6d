//! A small trace that is written to a file.

use std::path::{Path, PathBuf};

use iodyno_model::Verb;
use iodyno_trace::format::Writer;
use iodyno_trace::{MemorySource, Tables, TraceFile, TraceHeader, TraceRecord, TraceThread};

/// One second of hot random reads and writes, and of a log that is synced.
pub fn written(directory: &Path) -> PathBuf {
    let path = directory.join("small.iot");
    let mut state = 7u64;
    let mut draw = |below: u64| {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 33) % below
    };
    let (mut records, mut log) = (Vec::new(), 0);
    for at in (0..1000).map(|step| step * 1_000_000) {
        // The first quarter of 8 MiB gets three of four accesses.
        let block = if draw(4) < 3 { draw(512) } else { 512 + draw(1536) };
        let verb = if draw(10) < 7 { Verb::Read } else { Verb::Write };
        let latency_ns = Some(100_000 + draw(3_000_000));
        records.push(TraceRecord { latency_ns, ..TraceRecord::new(at, verb, 0, block * 4096, 4096) });
        if at % 4_000_000 == 0 {
            let record = TraceRecord::new(at + 1000, Verb::Write, 1, log, 512 * (1 + draw(4)));
            log = record.end();
            records.push(TraceRecord { thread: 1, ..record });
            records.push(TraceRecord { thread: 1, ..TraceRecord::new(at + 2000, Verb::Fsync, 1, 0, 0) });
        }
    }
    let file = |name: &str| TraceFile { name: name.into(), ..TraceFile::default() };
    let thread = |thread| TraceThread { process: 7, thread, name: "db".into() };
    let tables = Tables { files: vec![file("data"), file("log")], threads: vec![thread(7), thread(8)] };
    let header = TraceHeader { source: "test".into(), resolution_ns: 1, ..TraceHeader::default() };
    let file = std::fs::File::create_new(&path).expect("a new trace");
    let mut writer = Writer::new(file, header.clone()).expect("a writer");
    writer.write_source(&mut MemorySource::new(header, tables, records)).expect("records");
    writer.finish().expect("an end");
    path
}
