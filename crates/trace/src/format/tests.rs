//! What is written is read again: whole, cut off, damaged, from the middle.

#[path = "../../examples/format/requests.rs"]
mod requests;

use std::io::{self, Cursor, Write};

use iodyno_model::Verb;

use crate::format::{CutBack, KeptTrace, Reader, Writer};
use crate::{
    Dependency, FileKind, MemorySource, RecordFlags, RecordSource, RecordedContent, TraceClock, TraceFile,
    TraceHeader, TraceLevel, TraceRecord, TraceThread,
};

use requests::Requests;

fn header() -> TraceHeader {
    TraceHeader {
        source: "test 1".into(),
        level: TraceLevel::File,
        clock: TraceClock::Realtime,
        began_unix_ns: Some(-7),
        resolution_ns: 100,
        notes: vec!["One event was lost.".into()],
    }
}

fn file(name: &str) -> TraceFile {
    TraceFile { name: name.into(), ..TraceFile::default() }
}

/// A generator that a test can begin anywhere.
fn spread(index: u64) -> u64 {
    let mixed = (index ^ 0x5851_f42d_4c95_7f2d).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed ^ mixed >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9)
}

/// Records with everything that a record can have.
fn rich(count: u64) -> Vec<TraceRecord> {
    (0..count)
        .map(|index| {
            let random = spread(index);
            TraceRecord {
                at_ns: index * 100 + random % 100,
                latency_ns: (index % 3 != 0).then_some(random >> 40),
                verb: Verb::ALL[(random % Verb::COUNT as u64) as usize],
                flags: RecordFlags((random >> 20) as u32 & 0xffff),
                file: (random % 3) as u32,
                other: (index % 11 == 0).then_some((random % 2) as u32),
                thread: (random >> 8 & 1) as u32,
                offset: if index % 5 == 0 { u64::MAX - random % 7 } else { random >> 30 },
                bytes: random >> 45,
                result: [None, Some((random >> 45) as i64), Some(0), Some(-28), Some(i64::MIN)]
                    [(index % 5) as usize],
                content: match index % 4 {
                    0 => Some(RecordedContent::Digest([random as u8; 16])),
                    1 => Some(RecordedContent::Compressible((random % 101) as u8)),
                    _ => None,
                },
                after: (index % 2 == 1)
                    .then_some(Dependency { back: 1 + random % index.max(1), think_ns: random >> 50 }),
            }
        })
        .collect()
}

fn written(records: &[TraceRecord]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut writer = Writer::new(&mut bytes, header()).unwrap();
    define(&mut writer);
    writer.push_all(records).unwrap();
    writer.finish().unwrap();
    bytes
}

fn define(writer: &mut Writer<&mut Vec<u8>>) {
    let device = TraceFile {
        name: "8,16".into(),
        kind: FileKind::Device,
        bytes: Some(1 << 40),
        device: Some((8, 16)),
    };
    for one in [file("/a"), device, file("ä\0\n")] {
        writer.define_file(one).unwrap();
    }
    for thread in [1, 2] {
        writer.define_thread(TraceThread { process: 1, thread, name: "sh".into() }).unwrap();
    }
}

fn all(bytes: &[u8]) -> MemorySource {
    MemorySource::of(&mut Reader::new(bytes).unwrap()).unwrap()
}

#[test]
fn every_field_comes_back() {
    let records = rich(70_000);
    let bytes = written(&records);
    let mut reader = Reader::new(&bytes[..]).unwrap();
    let read = MemorySource::of(&mut reader).unwrap();
    assert_eq!(read.header, header());
    assert_eq!(read.records, records);
    assert_eq!(read.tables.files[1].device, Some((8, 16)));
    assert_eq!(read.tables.files[2].name, "ä\0\n");
    assert_eq!(read.tables.threads[1].thread, 2);
    let totals = reader.totals().unwrap();
    assert_eq!(totals.records, 70_000);
    let read_totals = totals.verbs.iter().find(|total| total.verb == Verb::Read).unwrap();
    let reads = records.iter().filter(|record| record.verb == Verb::Read);
    assert_eq!(read_totals.records, reads.clone().count() as u64);
    assert_eq!(read_totals.bytes, reads.map(|record| record.bytes).sum::<u64>());
}

#[test]
fn an_empty_trace_is_one() {
    let bytes = written(&[]);
    let read = all(&bytes);
    assert!(read.records.is_empty());
    assert_eq!(read.header, header());
}

#[test]
fn how_far_records_reach_is_told_beside_the_sizes() {
    let bytes = written(&[
        TraceRecord::new(0, Verb::Write, 0, 4096, 512),
        TraceRecord::new(1, Verb::Mkdir, 2, 0, 0o777),
    ]);
    let reader = Reader::open(Cursor::new(&bytes)).unwrap();
    let sizes: Vec<Option<u64>> = reader.tables().files.iter().map(|file| file.bytes).collect();
    assert_eq!(sizes, [None, Some(1 << 40), None]);
    assert_eq!(reader.reaches(), [Some(4608), None, None]);
}

#[test]
fn a_file_that_is_cut_anywhere_is_read_to_its_last_whole_block() {
    let records = rich(70_000);
    let bytes = written(&records);
    let whole = all(&bytes).records.len();
    for length in (0..bytes.len()).step_by(bytes.len() / 40).chain([bytes.len() - 1]) {
        let Ok(mut reader) = Reader::new(&bytes[..length]) else {
            assert!(length < 1000, "the header is there, and {length} bytes are refused");
            continue;
        };
        let read = MemorySource::of(&mut reader).unwrap();
        assert!([0, 32_768, 65_536, whole].contains(&read.records.len()), "{} records", read.records.len());
        assert_eq!(read.records, records[..read.records.len()]);
        let note = read.header.notes.last().unwrap();
        let is_cut = note.contains(&format!("its first {} records are here", read.records.len()));
        assert_eq!(is_cut, length < bytes.len() - 20, "{length} of {}: {note}", bytes.len());
    }
}

#[test]
fn a_writer_that_is_dropped_leaves_all_of_its_records() {
    let records = rich(40_000);
    let mut bytes = Vec::new();
    let mut writer = Writer::new(&mut bytes, header()).unwrap();
    define(&mut writer);
    writer.push_all(&records).unwrap();
    drop(writer);
    let read = all(&bytes);
    assert_eq!(read.records, records);
    assert!(read.header.notes[1].starts_with("The trace was not finished or is cut off"));
}

/// A disk of so many bytes.
struct Disk {
    bytes: Vec<u8>,
    size: usize,
}

impl Write for Disk {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let room = bytes.len().min(self.size - self.bytes.len());
        self.bytes.extend_from_slice(&bytes[..room]);
        if room > 0 || bytes.is_empty() { Ok(room) } else { Err(io::ErrorKind::StorageFull.into()) }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl CutBack for Disk {
    fn cut_back(&mut self, bytes: u64) -> io::Result<()> {
        self.bytes.truncate(bytes as usize);
        Ok(())
    }
}

#[test]
fn a_full_disk_leaves_what_is_whole() {
    let records = rich(70_000);
    let length = written(&records).len();
    let (mut wholes, mut finished) = (0, 0);
    for size in (1..=20).map(|part| length * part / 20).chain([length + 1000]) {
        let mut disk = Disk { bytes: Vec::new(), size };
        let mut writer = Writer::new(&mut disk, header()).unwrap();
        for name in ["/a", "8,16", "b"] {
            writer.define_file(file(name)).unwrap();
        }
        for thread in [1, 2] {
            writer.define_thread(TraceThread { process: 1, thread, name: "sh".into() }).unwrap();
        }
        let pushed = writer.push_all(&records);
        let kept = writer.finish_kept(pushed).unwrap();
        let read = all(&disk.bytes);
        match kept {
            KeptTrace::Whole(totals) => {
                wholes += 1;
                assert_eq!((totals.records, read.records.len()), (70_000, 70_000));
            }
            KeptTrace::Short { records: count, is_finished, .. } => {
                finished += u32::from(is_finished);
                assert_eq!(read.records, records[..count as usize], "{size} of {length} bytes");
                let note = if is_finished { "The trace ends early: " } else { "The trace was not finished" };
                assert!(read.header.notes.last().unwrap().starts_with(note), "{:?}", read.header.notes);
            }
        }
    }
    assert!(wholes > 0 && finished > 10, "{wholes} {finished}");
}

#[test]
fn a_changed_byte_is_found_with_its_place() {
    let bytes = written(&rich(1000));
    for place in (0..bytes.len() - 20).step_by(31) {
        let mut changed = bytes.clone();
        changed[place] ^= 0x10;
        let read = Reader::new(&changed[..]).and_then(|mut reader| MemorySource::of(&mut reader));
        if let Ok(read) = read {
            // A length that grew beyond the file looks like one that was cut off.
            assert!(read.header.notes.iter().any(|note| note.contains("is cut off")), "byte {place}");
        }
    }
    let header = u32::from_le_bytes(bytes[14..18].try_into().unwrap()) as usize;
    let block = 10 + 16 + header;
    assert_eq!(bytes[block], b'B');
    let mut changed = bytes.clone();
    changed[block + 40] ^= 1;
    let mut reader = Reader::new(&changed[..]).unwrap();
    let error = reader.next_batch(&mut Vec::new()).unwrap_err();
    assert!(
        error.to_string().contains("(byte ") && error.to_string().contains("checksum is wrong"),
        "{error}"
    );
}

#[test]
fn records_a_little_out_of_order_are_sorted_and_others_refused() {
    let mut records: Vec<TraceRecord> =
        (0..100_000).map(|index| TraceRecord::new(index, Verb::Read, 0, 0, index)).collect();
    records.swap(10, 9000);
    records.swap(50_000, 50_001);
    let read = all(&written(&records));
    assert!(read.records.is_sorted_by_key(|record| record.at_ns));
    assert!(read.records.iter().all(|record| record.at_ns == record.bytes));
    let mut bytes = Vec::new();
    let mut writer = Writer::new(&mut bytes, header()).unwrap();
    define(&mut writer);
    writer.push_all(&records).unwrap();
    let error = writer.push(&records[0]).unwrap_err();
    assert_eq!(error.to_string(), "record 100000 is 65535 ns earlier than those written before it");
}

#[test]
fn what_is_not_defined_is_refused() {
    let mut bytes = Vec::new();
    let mut writer = Writer::new(&mut bytes, header()).unwrap();
    let record = TraceRecord::new(0, Verb::Read, 0, 0, 0);
    assert_eq!(writer.push(&record).unwrap_err().to_string(), "record 0 names file 0, and 0 are defined");
    writer.define_file(file("a")).unwrap();
    writer.push(&record).unwrap();
    let error = writer.push(&TraceRecord { thread: 3, ..record }).unwrap_err();
    assert_eq!(error.to_string(), "record 1 names thread 3, and 0 are defined");
    let after = Some(Dependency { back: 2, think_ns: 0 });
    let error = writer.push(&TraceRecord { after, ..record }).unwrap_err();
    assert_eq!(error.to_string(), "record 1 depends on the one 2 before it, which does not exist");
}

#[test]
fn a_time_and_a_record_are_found_with_an_index_and_without() {
    let records: Vec<TraceRecord> =
        (0..150_000).map(|index| TraceRecord::new(index / 3 * 10, Verb::Read, 0, index, 1)).collect();
    let bytes = written(&records);
    for bytes in [&bytes[..], &bytes[..bytes.len() - 1]] {
        let mut reader = Reader::open(Cursor::new(bytes)).unwrap();
        let mut batch = Vec::new();
        for record in [0, 1, 32_767, 32_768, 99_999, 149_999, 32_769] {
            reader.seek_to_record(record).unwrap();
            reader.next_batch(&mut batch).unwrap();
            assert_eq!(batch[0], records[record as usize]);
        }
        for at_ns in [0, 5, 10, 109_220, 109_230, 499_990] {
            reader.seek_to_time(at_ns).unwrap();
            reader.next_batch(&mut batch).unwrap();
            let expected = records.iter().find(|record| record.at_ns >= at_ns).unwrap();
            assert_eq!(&batch[0], expected);
        }
        reader.seek_to_time(500_000).unwrap();
        reader.next_batch(&mut batch).unwrap();
        assert_eq!(batch, []);
    }
}

#[test]
fn what_is_no_trace_has_one_message() {
    let said = |bytes: &[u8]| Reader::new(bytes).err().map(|error| error.to_string()).unwrap_or_default();
    assert_eq!(said(b""), "it is empty");
    assert_eq!(said(b"hello world, this is text"), "it is no trace of ours (.iot)");
    assert_eq!(said(&[0xff; 100]), "it is no trace of ours (.iot)");
    assert_eq!(said(b"\x89IOT"), "it ends within its signature");
    assert_eq!(said(b"\x89IOT\n\x1a\n\x01\0\0\0\0"), "a transfer as text has changed its line ends");
    assert_eq!(said(b"\x89IOT\r\n\x1a\n\x02\0"), "it has version 2 of the format, and this program reads 1");
    let huge = [b"\x89IOT\r\n\x1a\n\x01\0".as_slice(), b"H\0\0\0", &[0xff; 12]].concat();
    assert_eq!(said(&huge), "the header: a section of 4294967295 bytes, where 33554432 are the most");
}

#[test]
fn requests_of_a_server_take_ten_bytes_each() {
    let trace: Vec<TraceRecord> = Requests::default().take(200_000).collect();
    let bytes = written(&trace);
    assert_eq!(all(&bytes).records, trace);
    let each = bytes.len() as f64 / trace.len() as f64;
    assert!(each <= 10.0, "{each:.2} bytes a record");
}

/// The bytes of a code block: two digits each, up to a `#`.
fn bytes_of(block: &str) -> Vec<u8> {
    let digits = block.lines().flat_map(|line| line.split('#').next().unwrap_or_default().split_whitespace());
    digits.map(|digits| u8::from_str_radix(digits, 16).unwrap()).collect()
}

#[test]
fn the_documented_file_is_read() {
    let page = include_str!("../../../../docs/trace-format.md");
    let (_, rest) = page.split_once("```hex\n").expect("the page has an example");
    let (example, _) = rest.split_once("```").expect("that ends");
    let bytes = bytes_of(example);
    let mut reader = Reader::open(Cursor::new(&bytes)).unwrap();
    assert_eq!(reader.reaches(), [Some(12_288)]);
    assert_eq!(reader.totals().unwrap().ended_ns, 1_100_000);
    assert_eq!(reader.blocks().len(), 1);
    let latency_ns = Some(100_000);
    let expected = [
        TraceRecord { latency_ns, ..TraceRecord::new(0, Verb::Write, 0, 8192, 4096) },
        TraceRecord { latency_ns, ..TraceRecord::new(1_000_000, Verb::Read, 0, 8192, 4096) },
    ];
    for read in [MemorySource::of(&mut reader).unwrap(), all(&bytes)] {
        assert_eq!(read.records, expected);
        assert_eq!((read.header.source.as_str(), read.header.level), ("by hand", TraceLevel::File));
        assert_eq!(read.tables.files, [file("a")]);
    }
    reader.seek_to_record(1).unwrap();
    assert_eq!(MemorySource::of(&mut reader).unwrap().records, expected[1..]);
}
