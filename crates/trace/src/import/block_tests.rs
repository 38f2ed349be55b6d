//! Block traces: generated binary records of both versions and byte orders, text of blkparse and ftrace, and how events
//! become requests.

use iodyno_model::Verb;

use super::testing::{input, named, read_all, read_text};
use super::*;
use crate::{MemorySource, RecordFlags, TraceRecord};

const R: u32 = 1;
const W: u32 = 1 << 1;
const FLUSH: u32 = 1 << 2;
const SYNC: u32 = 1 << 3;
const PC: u32 = 1 << 9;
const NOTIFY: u32 = 1 << 10;
const META: u32 = 1 << 12;
const DISCARD: u32 = 1 << 13;
const FUA: u32 = 1 << 15;
const CGROUP: u32 = 1 << 8;

/// One event to be written.
#[derive(Clone, Copy)]
struct RawEvent<'a> {
    time: u64,
    sector: u64,
    bytes: u32,
    event: u32,
    traits: u32,
    process: u32,
    minor: u32,
    sequence: u32,
    error: u16,
    data: &'a [u8],
}

fn at(time: u64, event: u8, traits: u32, sector: u64, sectors: u32) -> RawEvent<'static> {
    let event = match event {
        b'Q' => 1,
        b'M' => 2,
        b'F' => 3,
        b'G' => 4,
        b'R' => 6,
        b'D' => 7,
        b'C' => 8,
        b'X' => 13,
        _ => u32::from(event - b'0'),
    };
    RawEvent {
        time,
        sector,
        bytes: sectors * 512,
        event,
        traits,
        process: 7,
        minor: 1,
        sequence: 0,
        error: 0,
        data: b"",
    }
}

fn binary(events: &[RawEvent<'_>], version: u8, is_big: bool) -> Vec<u8> {
    let short = |number: u16| if is_big { number.to_be_bytes() } else { number.to_le_bytes() };
    let word = |number: u32| if is_big { number.to_be_bytes() } else { number.to_le_bytes() };
    let long = |number: u64| if is_big { number.to_be_bytes() } else { number.to_le_bytes() };
    let mut out = Vec::new();
    for one in events {
        let begin = out.len();
        out.extend(word(0x6561_7400 | u32::from(version)));
        out.extend(word(one.sequence));
        out.extend(long(one.time));
        out.extend(long(one.sector));
        out.extend(word(one.bytes));
        if version == 7 {
            out.extend(word(one.event | one.traits << 16));
            out.extend(word(one.process));
        } else {
            out.extend(word(one.process));
            out.extend(long(u64::from(one.event) | u64::from(one.traits) << 32));
        }
        out.extend(word(8 << 20 | one.minor));
        out.extend(word(0));
        out.extend(short(one.error));
        out.extend(short(one.data.len() as u16));
        out.resize(begin + if version == 7 { 48 } else { 64 }, 0);
        out.extend(one.data);
    }
    out
}

fn read(events: &[RawEvent<'_>], options: &ImportOptions) -> MemorySource {
    read_all(&[input("t", binary(events, 7, false))], options).unwrap().0
}

fn taken_at(point: BlockPoint) -> ImportOptions {
    ImportOptions { events: Some(point), ..ImportOptions::default() }
}

type Told = (u64, Option<u64>, Verb, u64, u64);

fn told(record: &TraceRecord) -> Told {
    (record.at_ns, record.latency_ns, record.verb, record.offset / 512, record.bytes / 512)
}

fn all(source: &MemorySource) -> Vec<Told> {
    source.records.iter().map(told).collect()
}

fn typical() -> Vec<RawEvent<'static>> {
    let clock: &[u8] = &[0, 0, 0, 100, 0, 0, 0, 5];
    vec![
        RawEvent { data: b"dd\0\0\0\0\0\0\0\0\0\0\0\0\0\0", ..at(900, b'0', NOTIFY, 0, 0) },
        RawEvent { data: clock, ..at(950, b'1', NOTIFY, 0, 0) },
        RawEvent { sequence: 1, ..at(1000, b'Q', R, 8, 8) },
        RawEvent { sequence: 2, data: &[9; 8], ..RawEvent { event: 7 | CGROUP, ..at(1100, b'D', R, 8, 8) } },
        RawEvent { sequence: 4, ..at(1200, b'D', FLUSH | W | SYNC | FUA | META, 16, 2) },
        RawEvent { sequence: 5, ..at(1300, b'C', R, 8, 8) },
        RawEvent { sequence: 6, error: -5_i16 as u16, ..at(1400, b'C', W | SYNC | FUA | META, 16, 2) },
        RawEvent { sequence: 7, ..at(1500, b'D', W | DISCARD, 64, 128) },
        RawEvent { sequence: 8, ..at(1600, b'D', R | FLUSH, 0, 0) },
        RawEvent { sequence: 9, ..at(1700, b'C', R | FLUSH, 0, 0) },
        RawEvent { sequence: 10, ..at(1800, b'D', R | PC, 0, 8) },
    ]
}

#[test]
fn both_versions_and_byte_orders_say_the_same() {
    for version in [7, 8] {
        for is_big in [false, true] {
            let mut events = typical();
            let clock =
                [100_u32, 5].map(|number| if is_big { number.to_be_bytes() } else { number.to_le_bytes() });
            let clock = clock.concat();
            events[1].data = &clock;
            let (source, messages) =
                read_all(&[input("t", binary(&events, version, is_big))], &ImportOptions::default()).unwrap();
            assert_eq!(
                all(&source),
                [
                    (0, Some(200), Verb::Read, 8, 8),
                    (100, Some(200), Verb::Write, 16, 2),
                    (400, None, Verb::Trim, 64, 128),
                    (500, Some(100), Verb::Fsync, 0, 0),
                ]
            );
            let write = source.records[1];
            assert!(write.flags.has(RecordFlags::PREFLUSH.with(RecordFlags::FUA).with(RecordFlags::META)));
            assert_eq!((write.result, source.records[0].result), (Some(-5), Some(4096)));
            assert_eq!(source.header.source, format!("blktrace {version}"));
            assert_eq!(source.header.began_unix_ns, Some(100_000_000_005 + 150));
            assert_eq!((source.tables.threads[0].process, source.tables.threads[0].name.as_str()), (7, "dd"));
            assert_eq!(source.tables.files[0].device, Some((8, 1)));
            assert_eq!(
                source.header.notes,
                [
                    "requests are taken at D, their issue to the driver; --events Q takes them before merging",
                    "commands past the file systems and of zones, left out: 1",
                    "events that the tracer lost (gaps in its numbers): 1",
                    "requests without a completion, whose latency is unknown: 1",
                ]
            );
            assert!(messages.is_empty());
        }
    }
}

#[test]
fn what_a_pipe_of_ftrace_says_is_lost_is_counted() {
    let events = typical();
    let mut bytes = b"CPU:0 [LOST 7 EVENTS]\n".to_vec();
    for (index, event) in events.iter().enumerate() {
        if index == 3 {
            bytes.extend(b"CPU:12 [LOST 123456789 EVENTS]\nCPU:1 [LOST EVENTS]\n");
        }
        bytes.extend(binary(std::slice::from_ref(event), 7, false));
    }
    let plain = read_all(&[input("t", binary(&events, 7, false))], &ImportOptions::default()).unwrap().0;
    let (source, messages) = read_all(&[input("t", bytes)], &ImportOptions::default()).unwrap();
    assert_eq!((source.records, messages), (plain.records, Vec::<String>::new()));
    let note = "events that the tracer lost, as it says itself: 123456797";
    assert!(source.header.notes.iter().any(|known| known == note), "{:?}", source.header.notes);
    let text = "CPU:1 [LOST 40 EVENTS]\n  7,1    0   930.643071424  3500  D  WS 18592 + 2 [sqlite3]\n\
                CPU:0 [LOST 2 EVENTS]\nCPU0 (loop):\n";
    let source = read_text(text, &ImportOptions::default()).unwrap();
    let note = "events that the tracer lost, as it says itself: 42";
    assert!(source.header.notes.iter().any(|known| known == note), "{:?}", source.header.notes);
}

#[test]
fn other_versions_and_damage_are_named() {
    let error = read_all(&[input("t", binary(&typical(), 6, false))], &ImportOptions::default()).unwrap_err();
    assert_eq!(error.to_string(), "t: a blktrace of version 6: only versions 7 and 8 can be read");
    let whole = binary(&typical(), 7, false);
    let cut = &whole[..whole.len() - 5];
    let (source, messages) = read_all(&[input("t", cut)], &ImportOptions::default()).unwrap();
    assert_eq!((source.records.len(), messages.len()), (4, 1));
    assert!(messages[0].ends_with("the last record is cut off"), "{messages:?}");
    assert!(source.header.notes.iter().any(|note| note == "bytes of last records that were cut off: 43"));
    let mut damaged = whole.clone();
    damaged.splice(48 + 16..48 + 16, [1, 2, 3, 4, 5]);
    let (source, messages) = read_all(&[input("t", damaged)], &ImportOptions::default()).unwrap();
    assert_eq!(source.records.len(), 4);
    assert_eq!(messages, ["t: byte 64: no record of a blktrace; the next one is looked for"]);
    assert!(source.header.notes.iter().any(|note| note == "bytes between records that are none, skipped: 5"));
    let noise = [&whole[..64], &vec![7; 3 << 20]].concat();
    let error = read_all(&[input("t", noise)], &ImportOptions::default()).unwrap_err();
    assert!(error.message.ends_with("bytes of 1048641 are no records"), "{error}");
}

#[test]
fn the_files_of_several_processors_are_merged_by_time() {
    let first = binary(&[at(10, b'D', R, 8, 8), at(40, b'C', R, 16, 8), at(50, b'C', R, 8, 8)], 7, false);
    let second = binary(&[at(20, b'D', R, 16, 8), at(30, b'D', R, 24, 8)], 7, false);
    let inputs = [input("a.blktrace.0", first), input("a.blktrace.1", second)];
    let (source, _) = read_all(&inputs, &ImportOptions::default()).unwrap();
    assert_eq!(
        all(&source),
        [(0, Some(40), Verb::Read, 8, 8), (10, Some(20), Verb::Read, 16, 8), (20, None, Verb::Read, 24, 8),]
    );
}

#[test]
fn requests_are_taken_at_q_d_or_c() {
    // A dm device (minor 9) above a disk (minor 1).
    let upper = |event: RawEvent<'static>| RawEvent { minor: 9, ..event };
    let events = [
        upper(at(0, b'Q', W, 100, 8)),
        at(1, b'Q', W, 8, 8),
        at(2, b'G', W, 8, 8),
        at(3, b'Q', W, 16, 8),
        at(4, b'M', W, 16, 8),
        at(5, b'Q', W, 0, 8),
        at(6, b'F', W, 0, 8),
        at(9, b'D', W, 0, 24),
        at(15, b'C', W, 0, 24),
        upper(at(16, b'C', W, 100, 8)),
    ];
    let usual = read(&events, &ImportOptions::default());
    assert_eq!(all(&usual), [(0, Some(16), Verb::Write, 100, 8), (9, Some(6), Verb::Write, 0, 24)]);
    assert_eq!(usual.header.notes[0], "requests of device 8,9 are taken at Q, for it has no D");
    let queued = read(&events, &taken_at(BlockPoint::Queue));
    assert_eq!(all(&queued), [(0, Some(16), Verb::Write, 100, 8), (1, Some(14), Verb::Write, 0, 24)]);
    let note = "requests of Q that were merged into another one and are a part of it: 2";
    assert_eq!(queued.header.notes, ["requests are taken at Q, as asked for", note]);
    let issued = read(&events, &taken_at(BlockPoint::Issue));
    assert_eq!(all(&issued), [(0, Some(6), Verb::Write, 0, 24)]);
    assert!(issued.header.notes[1].starts_with("device 8,9 has 1 Q and no D"), "{:?}", issued.header.notes);
    let completed = read(&events, &taken_at(BlockPoint::Complete));
    assert_eq!(all(&completed), [(0, None, Verb::Write, 0, 24), (1, None, Verb::Write, 100, 8)]);
}

#[test]
fn parts_splits_and_requeues_end_their_own_request() {
    let parts = [at(0, b'D', R, 8, 16), at(5, b'C', R, 8, 8), at(9, b'C', R, 16, 8)];
    assert_eq!(all(&read(&parts, &ImportOptions::default())), [(0, Some(9), Verb::Read, 8, 16)]);
    let sector = 16_u64.to_be_bytes();
    let split = [
        at(0, b'Q', R, 8, 24),
        RawEvent { data: &sector, ..at(1, b'X', R, 8, 8) },
        at(5, b'C', R, 8, 8),
        at(9, b'C', R, 16, 16),
    ];
    assert_eq!(all(&read(&split, &taken_at(BlockPoint::Queue))), [(0, Some(9), Verb::Read, 8, 24)]);
    let again = [at(0, b'D', R, 8, 8), at(1, b'R', R, 8, 8), at(4, b'D', R, 8, 8), at(6, b'C', R, 8, 8)];
    assert_eq!(all(&read(&again, &ImportOptions::default())), [(0, Some(2), Verb::Read, 8, 8)]);
    let twice = [at(0, b'D', R, 8, 8), at(1, b'D', R, 8, 8), at(4, b'C', R, 8, 8), at(6, b'C', R, 8, 8)];
    assert!(all(&read(&twice, &ImportOptions::default())).iter().all(|one| one.1.is_some()));
}

#[test]
fn lost_completions_hold_up_a_bounded_number_of_requests() {
    let lost = std::iter::once(at(0, b'D', R, 8, 8));
    let others = (1..100_000).flat_map(|n| [at(2 * n, b'D', W, 8 * n, 8), at(2 * n + 1, b'C', W, 8 * n, 8)]);
    let events: Vec<RawEvent<'_>> = lost.chain(others).collect();
    let source = read(&events, &ImportOptions::default());
    assert_eq!((source.records.len(), source.records[0].latency_ns), (100_000, None));
    assert!(source.records[1..].iter().all(|record| record.latency_ns == Some(1)));
    assert!(source.records.is_sorted_by_key(|record| record.at_ns));
}

const BLKPARSE: &str = "cpu 0 trace info has error cpu 1\n\
      7,1    0        1     0.000000000 13000  Q  WS 18592 + 2 [my prog]\n\
      7,1    0        2     0.000001000 13000  G  WS 18592 + 2 [my prog]\n\
      7,1    0        3     0.000002000 13000  P   N [my prog]\n\
      7,1    0        4     0.000003000 13000  U   N [my prog] 1\n\
      7,1    0        0     0.000003500     0  m   N cfq13000 alloced\n\
      7,1    0        5     0.000004000 13000  D  WS 18592 + 2 [my prog]\n\
      7,1    0        6     0.000004500 13000  A  WS 5 + 2 <- (8,1) 3\n\
      7,1    1        7     0.000005000 13000  X   R 8 / 16 [my prog]\n\
      7,1    0        8     0.000010000    14  C  WS 18592 + 2 [0]\n\
      7,1    0        9     0.218221038 23957  Q FWFSM 230116 + 2 [(null)]\n\
      7,1    0       10     0.218232745    58  D  FN [(null)]\n\
      7,1    0       11     0.218240000    58  D FWFSM 230116 + 2 [(null)]\n\
      7,1    0       12     3.969731352    14  C  FN 0 [0]\n\
      7,1    0       13     3.969731353    14  C  WFSM 230116 ( 9) + 2 [65531]\n\
    CPU0 (loop):\n Reads Queued:           2,        8KiB\t Writes Queued:          83,     6651KiB\n\n\
    Throughput (R/W): 2KiB/s / 1677KiB/s\nEvents (loop): 359 entries\nSkips: 0 forward (0 -   0.0%)\n";

#[test]
fn text_of_blkparse_and_of_ftrace_says_the_same() {
    let expected = [
        (0, Some(6_000), Verb::Write, 18_592, 2),
        (218_228_745, Some(3_751_498_607), Verb::Fsync, 0, 0),
        (218_236_000, Some(3_751_491_353), Verb::Write, 230_116, 2),
    ];
    let source = read_text(BLKPARSE, &ImportOptions::default()).unwrap();
    assert_eq!(all(&source), expected);
    assert_eq!(source.header.source, "blkparse text");
    assert_eq!(source.tables.threads[0].name, "my prog");
    assert_eq!(
        (source.records[2].result, source.records[2].flags.has(RecordFlags::PREFLUSH)),
        (Some(-5), true)
    );
    assert!(!source.header.notes.iter().any(|note| note.contains("wrong")), "{:?}", source.header.notes);

    let mut classic = String::new();
    let mut prefixed = String::from("# tracer: blk\n#\n");
    for line in BLKPARSE.lines().filter(|line| line.trim_start().starts_with("7,1")) {
        let words: Vec<&str> = line.split_whitespace().collect();
        let rest = words[5..].join(" ");
        classic.push_str(&format!("  7,1    {} {} {} {rest}\n", words[1], words[3], words[4]));
        let task = format!("my prog-x-{}", words[4]);
        prefixed.push_str(&format!("  {task}    [00{}] d..1. {}:   7,1    {rest}\n", words[1], words[3]));
    }
    let classic = read_text(&classic, &ImportOptions::default()).unwrap();
    assert_eq!((all(&classic), classic.tables.threads[0].name.as_str()), (expected.to_vec(), "my prog"));
    let prefixed = read_text(&prefixed, &ImportOptions::default()).unwrap();
    assert_eq!((all(&prefixed), prefixed.tables.threads[0].name.as_str()), (expected.to_vec(), "my prog-x"));
    let wrong = BLKPARSE.replace("18592 + 2 [0]", "18592 + 2");
    let (source, messages) = read_all(&[input("b", wrong)], &named("blkparse")).unwrap();
    assert_eq!((source.records[0].latency_ns, messages.len()), (None, 1));
    assert!(messages[0].starts_with("b:10: no [error] at the end"), "{messages:?}");
}

fn part(bytes: Vec<u8>, percent: f64, iterations: u32) -> BlktracePart {
    BlktracePart { input: input("p", bytes), percent, iterations }
}

/// Times, sectors and events of a merged trace.
fn merged(parts: &[BlktracePart]) -> Vec<(u64, u64, u32)> {
    let mut bytes = Vec::new();
    let count = merge_blktraces(parts, &mut bytes).unwrap();
    assert_eq!(bytes.len() as u64, 48 * count);
    let field = |record: &[u8], at: usize| u64::from_ne_bytes(record[at..at + 8].try_into().unwrap());
    bytes.chunks(48).map(|record| (field(record, 8), field(record, 16), field(record, 28) as u32)).collect()
}

#[test]
fn blktraces_are_merged_with_their_speeds_and_iterations() {
    let first = [
        at(1000, b'Q', R, 8, 8),
        at(2000, b'Q', W, 16, 8),
        at(2500, b'D', W, 16, 8),
        at(3000, b'C', W, 16, 8),
    ];
    let second = [
        at(1500, b'Q', W | DISCARD, 80, 8),
        at(1600, b'Q', FLUSH, 0, 0),
        RawEvent { event: 1 | CGROUP, data: &[1; 8], ..at(1700, b'Q', R, 88, 8) },
    ];
    let (read, write, trim) = (R << 16 | 1, W << 16 | 1, (W | DISCARD) << 16 | 1);
    let traces = |version, is_big| (binary(&first, version, is_big), binary(&second, version, is_big));
    for (version, is_big) in [(7, false), (7, true), (8, false)] {
        let (a, b) = traces(version, is_big);
        let plain = merged(&[part(a, 100.0, 1), part(b, 100.0, 1)]);
        assert_eq!(plain, [(1000, 8, read), (1500, 80, trim), (1700, 88, read), (2000, 16, write)]);
    }
    let (a, b) = traces(7, false);
    // The first lasts 2000 ns and runs twice at twice the speed.
    let scaled = merged(&[part(a.clone(), 50.0, 2), part(b, 200.0, 1)]);
    let expected = [
        (1000, 8, read),
        (1500, 16, write),
        (2000, 8, read),
        (2000, 80, trim),
        (2400, 88, read),
        (2500, 16, write),
    ];
    assert_eq!(scaled, expected);
    let error = merge_blktraces(&[part(b"hello".to_vec(), 100.0, 1)], &mut Vec::new()).unwrap_err();
    assert_eq!(error.to_string(), "p: it is no blktrace");
    assert!(merge_blktraces(&[part(a, f64::NAN, 1)], &mut Vec::new()).is_err());
}
