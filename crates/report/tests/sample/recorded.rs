//! A recorded load: a database with hot pages, a log written in bursts, a scan that interleaves with both.

use iodyno_model::Verb;
use iodyno_trace::{
    FileKind, MemorySource, RecordFlags, Tables, TraceClock, TraceFile, TraceHeader, TraceLevel, TraceRecord,
    TraceThread,
};

use super::Noise;

/// So many operations of it.
pub fn recorded(count: u64) -> MemorySource {
    let mut noise = Noise::new(11);
    let (mut at, mut log, mut scan) = (0u64, 0u64, 0u64);
    let mut records = Vec::new();
    for index in 0..count {
        // Every other second is busy.
        let pause = if (at / 1_000_000_000).is_multiple_of(2) { 150_000.0 } else { 3_000_000.0 };
        at += (noise.next() * 2.0 * pause) as u64;
        let record = match noise.next() {
            draw if draw < 0.55 => {
                let page = (noise.next() * noise.next() * noise.next() * 60_000.0) as u64;
                let record = TraceRecord::new(at, Verb::Read, 0, page * 16_384, 16_384);
                TraceRecord { flags: RecordFlags::DIRECT, ..record }
            }
            draw if draw < 0.70 => {
                let page = (noise.next() * noise.next() * 60_000.0) as u64;
                TraceRecord::new(at, Verb::Write, 0, page * 16_384, 16_384)
            }
            draw if draw < 0.85 => {
                let bytes = 512 * (1 + (noise.next() * 16.0) as u64);
                log += bytes;
                TraceRecord { thread: 1, ..TraceRecord::new(at, Verb::Write, 1, log - bytes, bytes) }
            }
            draw if draw < 0.90 => TraceRecord { thread: 1, ..TraceRecord::new(at, Verb::Fsync, 1, 0, 0) },
            _ => {
                scan += 131_072;
                TraceRecord { thread: 2, ..TraceRecord::new(at, Verb::Read, 0, scan - 131_072, 131_072) }
            }
        };
        let latency = match record.verb {
            Verb::Fsync => 2_000_000.0 * (0.5 + noise.next()),
            _ => 90_000.0 * (1.0 + noise.next()) + record.bytes as f64 * 3.0,
        };
        let tail = if noise.next() > 0.995 { 20.0 } else { 1.0 };
        let result = if index % 4001 == 4000 { -5 } else { record.bytes as i64 };
        let latency_ns = Some((latency * tail) as u64);
        records.push(TraceRecord { latency_ns, result: Some(result), ..record });
    }
    let file = |name: &str| TraceFile { name: name.into(), kind: FileKind::File, ..TraceFile::default() };
    let thread = |thread, name: &str| TraceThread { process: 4100, thread, name: name.into() };
    let header = TraceHeader {
        source: "iodyno record".into(),
        level: TraceLevel::File,
        clock: TraceClock::Monotonic,
        began_unix_ns: Some(1_764_000_000_000_000_000),
        resolution_ns: 1,
        notes: vec!["12 events were lost".into()],
    };
    let tables = Tables {
        files: vec![file("/var/lib/database/tables.db"), file("/var/lib/database/journal/write-ahead.log")],
        threads: vec![thread(4100, "query"), thread(4101, "log"), thread(4102, "scan")],
    };
    MemorySource::new(header, tables, records)
}
