//! Traces for tests.

use iodyno_model::Verb;
use proptest::collection::vec;
use proptest::prelude::*;

use crate::format::Writer;
use crate::{
    Dependency, FileKind, MemorySource, RecordFlags, RecordedContent, Tables, TraceClock, TraceFile,
    TraceHeader, TraceLevel, TraceRecord, TraceThread,
};

fn headers() -> impl Strategy<Value = TraceHeader> {
    let levels = prop_oneof![Just(TraceLevel::Block), Just(TraceLevel::File)];
    let clocks =
        prop_oneof![Just(TraceClock::Relative), Just(TraceClock::Realtime), Just(TraceClock::Monotonic)];
    (any::<String>(), levels, clocks, any::<Option<i64>>(), any::<u64>(), vec(any::<String>(), 0..3))
        .prop_map(|(source, level, clock, began_unix_ns, resolution_ns, notes)| TraceHeader {
            source,
            level,
            clock,
            began_unix_ns,
            resolution_ns,
            notes,
        })
}

fn files() -> impl Strategy<Value = TraceFile> {
    let kinds = prop_oneof![
        Just(FileKind::File),
        Just(FileKind::Device),
        Just(FileKind::Directory),
        Just(FileKind::Link),
        Just(FileKind::Other)
    ];
    (any::<String>(), kinds, any::<Option<u64>>(), any::<Option<(u32, u32)>>())
        .prop_map(|(name, kind, bytes, device)| TraceFile { name, kind, bytes, device })
}

fn threads() -> impl Strategy<Value = TraceThread> {
    (any::<u32>(), any::<u32>(), any::<String>()).prop_map(|(process, thread, name)| TraceThread {
        process,
        thread,
        name,
    })
}

fn contents() -> impl Strategy<Value = Option<RecordedContent>> {
    prop_oneof![
        Just(None),
        any::<[u8; 16]>().prop_map(|digest| Some(RecordedContent::Digest(digest))),
        (0..=100u8).prop_map(|percent| Some(RecordedContent::Compressible(percent))),
    ]
}

/// What a record is made of; indices and times are fitted in.
type Parts = (
    (u32, Option<u64>, usize, u32, u32, Option<u32>, u32),
    (u64, u64, Option<i64>, Option<RecordedContent>, Option<(u64, u64)>),
);

fn records() -> impl Strategy<Value = Parts> {
    (
        (
            any::<u32>(),
            any::<Option<u64>>(),
            0..Verb::COUNT,
            any::<u32>(),
            any::<u32>(),
            any::<Option<u32>>(),
            any::<u32>(),
        ),
        (any::<u64>(), any::<u64>(), any::<Option<i64>>(), contents(), any::<Option<(u64, u64)>>()),
    )
}

/// Any trace.
pub fn traces() -> impl Strategy<Value = MemorySource> {
    (headers(), vec(files(), 1..4), vec(threads(), 0..3), vec(records(), 0..60)).prop_map(
        |(header, files, threads, parts)| {
            let mut at_ns = 0;
            let record = |(index, parts): (usize, Parts)| {
                let (
                    (gap, latency_ns, verb, flags, file, other, thread),
                    (offset, bytes, result, content, after),
                ) = parts;
                at_ns += u64::from(gap);
                let after = after.filter(|_| index > 0);
                TraceRecord {
                    at_ns,
                    latency_ns,
                    verb: Verb::ALL[verb],
                    flags: RecordFlags(flags),
                    file: file % files.len() as u32,
                    other: other.map(|other| other % files.len() as u32),
                    thread: thread % threads.len().max(1) as u32,
                    offset,
                    bytes,
                    result,
                    content,
                    after: after
                        .map(|(back, think_ns)| Dependency { back: 1 + back % index as u64, think_ns }),
                }
            };
            let records = parts.into_iter().enumerate().map(record).collect();
            MemorySource::new(header, Tables { files, threads }, records)
        },
    )
}

/// The same in our format.
pub fn written(source: &MemorySource) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut writer = Writer::new(&mut bytes, source.header.clone()).unwrap();
    source.tables.files.iter().for_each(|file| _ = writer.define_file(file.clone()).unwrap());
    source.tables.threads.iter().for_each(|thread| _ = writer.define_thread(thread.clone()).unwrap());
    writer.push_all(&source.records).unwrap();
    writer.finish().unwrap();
    bytes
}
