//! What every importer of text does with input that is wrong, by one table: a message or a counted repair, and no panic.

use super::testing::{input, named, read_all};
use super::*;
use crate::MemorySource;

/// Text of a format whose records are made by a function.
struct FormatSample {
    format: &'static str,
    head: &'static str,
    /// A record at a time (counted in steps of the format), at a sector, of a thread.
    line: fn(u64, u64, u64) -> String,
    /// The largest sector is too far for it.
    is_placed: bool,
}

const SAMPLES: &[FormatSample] = &[
    FormatSample {
        format: "msr",
        head: "",
        line: |at, sector, thread| {
            format!("{},usr{thread},0,Read,{},512,7", 128_166_372_003_061_629 + at, bytes(sector))
        },
        is_placed: true,
    },
    FormatSample {
        format: "spc",
        head: "",
        line: |at, sector, thread| format!("{thread},{sector},512,W,0.{at:06}"),
        is_placed: true,
    },
    FormatSample {
        format: "iodedup",
        head: "",
        line: |at, sector, thread| {
            format!("{at} {thread} sh {sector} 1 W 6 0 531e779e27c5a4e0b4c4f4b6d8a8b3c0")
        },
        is_placed: true,
    },
    FormatSample {
        format: "alibaba",
        head: "",
        line: |at, sector, thread| format!("{thread},W,{},512,{}", bytes(sector), 1_577_808_144_360_767 + at),
        is_placed: true,
    },
    FormatSample {
        format: "tencent",
        head: "",
        line: |at, sector, thread| format!("{},{sector},1,0,{thread}", 1_538_323_199 + at),
        is_placed: true,
    },
    FormatSample {
        format: "systor",
        head: "",
        line: |at, sector, thread| format!("1455592301.{at:06},0.1,R,{thread},{},512", bytes(sector)),
        is_placed: true,
    },
    FormatSample {
        format: "cachelib",
        head: "op_time,block_id,block_id_size,io_size,io_offset,user_name,user_namespace,op_name,op_count,host_name,\
               rs_shard_id\n",
        line: |at, sector, thread| {
            format!(
                "{},{thread},40,512,{},7,1,getChunkData.Permanent,1,4,3",
                1_677_628_800 + at,
                bytes(sector)
            )
        },
        is_placed: true,
    },
    FormatSample {
        format: "disksim",
        head: "",
        line: |at, sector, thread| format!("{at}.5 {thread} {sector} 1 1"),
        is_placed: true,
    },
    FormatSample {
        format: "blkparse",
        head: "",
        line: |at, sector, thread| format!("  8,0 3 1 0.{at:09} {thread} D WS {sector} + 1 [sh]"),
        is_placed: true,
    },
    FormatSample {
        format: "fio",
        head: "fio version 3 iolog\n0 a add\n",
        line: |at, sector, _| format!("{at} a read {} 512", bytes(sector)),
        is_placed: true,
    },
    FormatSample {
        format: "dxt",
        head: "# DXT, file_id: 1, file_name: /a\n# DXT, rank: 0, hostname: n\n",
        line: |at, sector, thread| format!(" X_POSIX {thread} write 0 {} 512 0.{at:04} 1.0", bytes(sector)),
        is_placed: true,
    },
    FormatSample {
        format: "nbw",
        head: "",
        line: |at, sector, thread| format!("1 {at} write {thread} 8192 {} 512 MISS", bytes(sector)),
        is_placed: true,
    },
    FormatSample {
        format: "strace",
        head: "",
        line: |at, sector, thread| {
            format!(
                "{thread} 1700000000.{at:06} pwrite64(3</a>, \"x\"..., 512, {}) = 512 <0.000010>",
                bytes(sector)
            )
        },
        is_placed: false,
    },
];

/// As a decimal number, also where it is beyond 64 bits.
fn bytes(sector: u64) -> u128 {
    u128::from(sector) * 512
}

impl FormatSample {
    fn text(&self, lines: impl IntoIterator<Item = (u64, u64, u64)>) -> String {
        let line = |(at, sector, thread)| (self.line)(at, sector, thread) + "\n";
        lines.into_iter().fold(self.head.to_string(), |text, place| text + &line(place))
    }

    fn read(&self, bytes: impl Into<Vec<u8>>) -> Result<(MemorySource, Vec<String>), crate::TraceError> {
        read_all(&[input("f", bytes)], &named(self.format))
    }

    fn whole(&self, bytes: impl Into<Vec<u8>>) -> (MemorySource, Vec<String>) {
        self.read(bytes).unwrap_or_else(|error| panic!("{}: {error}", self.format))
    }
}

fn in_order(count: u64) -> impl Iterator<Item = (u64, u64, u64)> {
    (0..count).map(|at| (at, 8 * at, 7))
}

#[test]
fn every_format_of_text_is_in_the_table() {
    // What fio passes over is passed over with its words: `fio_replay_tests` mangles it. A range of a load file needs a line
    // that opens its file: its own tests cut and mangle it.
    let not_here = ["iot", "dump", "blktrace", "fio1", "fio-replay", "dbench"];
    for format in formats().iter().filter(|format| !not_here.contains(&format.name)) {
        assert!(SAMPLES.iter().any(|sample| sample.format == format.name), "{}", format.name);
    }
}

#[test]
fn what_is_cut_off_anywhere_is_read_to_there_or_has_a_message() {
    for sample in SAMPLES {
        let text = sample.text(in_order(3));
        let (whole, _) = sample.whole(text.clone());
        assert_eq!(whole.records.len(), 3, "{}", sample.format);
        for end in 0..text.len() {
            match sample.read(&text.as_bytes()[..end]) {
                Ok((read, _)) => assert!(read.records.len() <= 3, "{} at {end}", sample.format),
                Err(error) => {
                    let told = error.to_string();
                    assert!(
                        told.starts_with("f:") || told.contains(" is f:"),
                        "{} at {end}: {told}",
                        sample.format
                    );
                }
            }
        }
    }
}

#[test]
fn binary_parts_and_very_long_lines_are_wrong_lines() {
    let binary: Vec<u8> = (0..4000u32).map(|index| (index.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    let binary: Vec<u8> = binary.into_iter().filter(|byte| *byte != b'\n').collect();
    let long = vec![b'7'; 1 << 20];
    for sample in SAMPLES {
        let lines = sample.text(in_order(20));
        for wrong in [&binary, &long] {
            let text = [lines.as_bytes(), wrong, b"\n"].concat();
            let (read, messages) = sample.whole(text.clone());
            assert_eq!(read.records.len(), 20, "{}", sample.format);
            let told = read.header.notes.iter().chain(&messages).any(|note| note.contains("1"));
            assert!(told, "{}: {:?} {messages:?}", sample.format, read.header.notes);
        }
        let error = sample.read(binary.clone()).map(|(read, _)| read.records.len());
        assert!(!matches!(error, Ok(1..)), "{}", sample.format);
    }
}

#[test]
fn times_that_go_backwards_are_sorted_and_far_ones_counted() {
    for sample in SAMPLES {
        let text = sample.text([(5, 40, 7), (3, 24, 7), (4, 32, 7)]);
        let (read, _) = sample.whole(text);
        let offsets: Vec<u64> = read.records.iter().map(|record| record.offset / 4096).collect();
        assert!(read.records.is_sorted_by_key(|record| record.at_ns), "{}", sample.format);
        if sample.format == "strace" {
            // The order of its lines is that of the calls.
            let note = "lines with a time before that of the line above, taken at that one: 2";
            assert_eq!(offsets, [5, 3, 4]);
            assert!(read.header.notes.iter().any(|known| known == note), "{:?}", read.header.notes);
            continue;
        }
        assert_eq!((offsets, read.records[0].at_ns), (vec![3, 4, 5], 0), "{}", sample.format);
    }
}

#[test]
fn places_beyond_63_bits_are_wrong_lines() {
    for sample in SAMPLES.iter().filter(|sample| sample.is_placed) {
        let far = [(20, (1 << 54) - 1, 7), (21, 1 << 54, 7), (22, u64::MAX, 7)];
        let (read, messages) = sample.whole(sample.text(in_order(20).chain(far)));
        assert_eq!(read.records.len(), 20, "{}: {messages:?}", sample.format);
        let counted =
            ["wrong lines, left out: 3; ", "events whose range reaches beyond 2^63 bytes, left out: 3"];
        let note = read.header.notes.iter().find(|note| counted.iter().any(|text| note.starts_with(text)));
        assert!(note.is_some(), "{}: {:?}", sample.format, read.header.notes);
    }
}

#[test]
fn many_threads_are_many_or_counted() {
    for sample in SAMPLES {
        let (read, _) = sample.whole(sample.text((0..3000).map(|at| (at, 8, at + 1))));
        assert_eq!(read.records.len(), 3000, "{}", sample.format);
        assert!(read.tables.threads.len() <= 3001 && read.tables.files.len() <= 3000, "{}", sample.format);
    }
}
