//! What fio replays, as records: both versions of its log, block traces, and what would end fio by a signal.

use iodyno_model::Verb;

use super::testing::{input, named, read_all, read_text};
use crate::{MemorySource, RecordFlags, TraceError};

const SECOND: &str = "fio version 2 iolog\na add\nb add\na open\na read 0 4096\nb open\nx wait 300 0\n\
    b write 1000 512\na sync 0 0\nb trim 512 512\na nonsense\nwhat is this line\na close\nb close\n";

const THIRD: &str = "fio version 3 iolog\n1000 a add\n1000 a open\n2000 a read 0 4096\n102000 a read 9000 4096\n\
    102500 a datasync 0 0\n102510 x wait 4 0\n102600 a close\n";

fn of(text: &str) -> Result<MemorySource, TraceError> {
    read_text(text, &named("fio-replay"))
}

/// Time (µs), verb, file, offset, bytes.
fn told(source: &MemorySource) -> Vec<(u64, Verb, u32, u64, u64)> {
    let records = source.records.iter();
    records.map(|one| (one.at_ns / 1000, one.verb, one.file, one.offset, one.bytes)).collect()
}

#[test]
fn version_2_waits_from_the_start_and_passes_over_what_it_does_not_know() {
    let source = of(SECOND).unwrap();
    let expected = [
        (0, Verb::Open, 0, 0, 0),
        (0, Verb::Read, 0, 0, 4096),
        (0, Verb::Open, 1, 0, 0),
        (300_000, Verb::Write, 1, 1000, 512),
        (300_000, Verb::Fsync, 0, 0, 0),
        (300_000, Verb::Trim, 1, 512, 512),
        (300_000, Verb::Close, 0, 0, 0),
        (300_000, Verb::Close, 1, 0, 0),
    ];
    assert_eq!(told(&source), expected);
    let notes = ["fio: bad iolog file action: nonsense", "fio: bad iolog file action: is"];
    assert_eq!(source.header.notes, notes);
}

#[test]
fn version_3_has_its_times_and_no_wait() {
    let source = of(THIRD).unwrap();
    let times: Vec<u64> = told(&source).iter().map(|one| one.0).collect();
    assert_eq!(times, [0, 1000, 101_000, 101_500, 101_600]);
    assert_eq!(source.header.notes, ["iolog: ignoring wait command with version 3 for file x"]);
}

#[test]
fn numbers_end_where_their_digits_end_and_lengths_have_bounds() {
    let text = "fio version 2 iolog\na add\na open\na read 4096x 512y\na read 0 0\na read 0 99999999999\n\
        a write 18446744073709551615 4096\na read q 1\na close\n";
    let source = of(text).unwrap();
    assert_eq!(told(&source)[1..2], [(0, Verb::Read, 0, 4096, 512)]);
    assert_eq!(source.records.len(), 3);
    assert_eq!(source.header.notes.len(), 4, "{:?}", source.header.notes);
}

#[test]
fn what_would_end_fio_by_a_signal_is_refused_with_its_line() {
    for (text, why) in [
        ("fio version 2 iolog\na add\na read 0 4096\n", "f:3: a: no line opens this file before it is used"),
        ("fio version 2 iolog\nz open\n", "f:2: z: no line adds this file"),
        ("fio version 2 iolog\na add\na open\na close\na sync 0 0\n", "f:5: a: no line opens"),
        ("fio version 1 iolog\na add\n", "versions 2 and 3"),
        ("nothing of the kind\n", "neither"),
    ] {
        let said = of(text).unwrap_err().to_string();
        assert!(said.contains(why), "{text}: {said}");
    }
}

/// A record of version 7: time, sector and bytes, event with its properties.
fn block(time_ns: u64, (sector, bytes): (u64, u32), traits: u32, event: u32) -> Vec<u8> {
    let mut out = Vec::new();
    out.extend([0x6561_7407_u32, 0].iter().flat_map(|word| word.to_le_bytes()));
    out.extend([time_ns, sector].iter().flat_map(|word| word.to_le_bytes()));
    let words = [bytes, traits << 16 | event, 9, 8 << 20 | 3, 0, 0];
    out.extend(words.iter().flat_map(|word| word.to_le_bytes()));
    out
}

const READ: u32 = 1;
const WRITE: u32 = 1 << 1;
const FLUSH: u32 = 1 << 2;
const FUA: u32 = 1 << 15;

#[test]
fn each_queued_request_of_a_block_trace_is_one_and_flushes_keep_their_data() {
    let (queue, merge, issue, complete) = (1, 2, 7, 8);
    let bytes = [
        block(0, (8, 4096), READ, queue),
        block(500, (16, 4096), READ, queue),
        block(600, (16, 4096), READ, merge),
        block(700, (8, 8192), READ, issue),
        block(1000, (64, 8192), WRITE | FLUSH | FUA, queue),
        block(1500, (8, 8192), READ, complete),
        block(2000, (0, 0), WRITE | FLUSH, queue),
        block(2500, (64, 8192), WRITE | FLUSH | FUA, complete),
    ]
    .concat();
    let (source, _) = read_all(&[input("t", bytes)], &named("fio-replay")).unwrap();
    let records: Vec<_> =
        source.records.iter().map(|one| (one.at_ns, one.verb, one.offset, one.bytes)).collect();
    let expected = [
        (0, Verb::Read, 4096, 4096),
        (500, Verb::Read, 8192, 4096),
        (1000, Verb::Write, 32_768, 8192),
        (2000, Verb::Fsync, 0, 0),
    ];
    assert_eq!(records, expected);
    assert!(source.records[2].flags.has(RecordFlags::PREFLUSH.with(RecordFlags::FUA)));
    assert_eq!(source.records[1].latency_ns, None, "it ends as a part of another one");
    assert_eq!(source.header.notes, ["requests without a completion, whose latency is unknown: 1"]);
}

#[test]
fn mangled_logs_and_traces_make_no_panic() {
    let mut state = 1_u64;
    let mut draw = |most: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % most.max(1)
    };
    let blocks = [block(0, (8, 4096), READ, 1), block(900, (64, 8192), WRITE | FUA, 1)].concat();
    let read = |bytes: &[u8]| _ = read_all(&[input("f", bytes)], &named("fio-replay"));
    for whole in [SECOND.as_bytes().to_vec(), THIRD.as_bytes().to_vec(), blocks] {
        for length in 0..whole.len() {
            read(&whole[..length]);
        }
        for _ in 0..1000 {
            let mut mangled = whole.clone();
            for _ in 0..=draw(4) {
                let at = draw(mangled.len());
                mangled[at] = draw(256) as u8;
            }
            read(&mangled);
        }
    }
    let long = format!("fio version 3 iolog\n{0} a add\n{0} a open\n{0} a read {0} {0}\n", u64::MAX);
    assert_eq!(of(&long).unwrap().records.len(), 1, "the open alone");
}
