//! The job files and command lines that must run, word for word, on a loop device: only sizes and times are cut down.

use testbed::Case;

use crate::job::Holds;
use crate::pairs::Line;

/// Command lines as people type them.
const LINES: &[(&str, &str, &[Holds])] = &[
    (
        "thirty_readers",
        "-filename=${DEV} -direct=1 -iodepth 1 -thread -rw=read -ioengine=psync -bs=16k -size=2M -numjobs=30 \
         -runtime=10 -group_reporting -name=x",
        &[Holds::Counts, Holds::Text],
    ),
    (
        "quoted_name",
        "-ioengine=libaio -bs=4k -direct=1 -thread -rw=read -filename=${DEV} -name=BS\u{a0}4KB\u{a0}read\u{a0}test \
         -iodepth=16 -runtime=6 -size=8M",
        &[Holds::Counts, Holds::Text],
    ),
    (
        "timed_randwrite",
        "-name iops -rw=randwrite -bs=4k -runtime=1 -iodepth 32 -filename ${DEV} -ioengine libaio -direct=1 \
         -time_based",
        &[Holds::Text, Holds::Runtime],
    ),
    (
        "large_blocks",
        "-ioengine=libaio -bs=512k -direct=1 -thread -rw=write -size=16M -filename=${DEV} \
         -name=EBS\u{a0}512KB\u{a0}seqwrite\u{a0}test -iodepth=64 -runtime=6",
        &[Holds::Counts, Holds::Text],
    ),
    (
        "whole_device",
        "--name=whole --filename=${DEV} --rw=read --bs=1m --direct=1",
        &[Holds::Counts, Holds::Text],
    ),
    (
        "tenth_of_the_device",
        "--name=tenth --filename=${DEV} --rw=read --bs=4k --size=10%",
        &[Holds::Counts, Holds::Text],
    ),
    (
        "two_devices",
        "--name=both --filename=${DEV}:${DEV2} --rw=randwrite --bs=4k --size=2m --direct=1 --ioengine=libaio \
         --iodepth=8",
        &[Holds::Counts, Holds::Text],
    ),
    (
        "beyond_the_end",
        "--name=beyond --filename=${DEV} --rw=read --bs=4k --offset=1g --size=4k",
        &[Holds::Text],
    ),
    (
        "readonly_refuses_to_write",
        "--readonly --name=ro --filename=${DEV} --rw=write --bs=4k --size=64k",
        &[Holds::Text],
    ),
];

/// Four jobs in the shape of a small database.
const DATABASE: &str = "\
[global]
filename=${DEV}
direct=1
invalidate=1
bs=4k
size=4m
runtime=1
time_based

[background-writer]
ioengine=libaio
rw=randwrite
iodepth=32

[query-one]
ioengine=mmap
direct=0
rw=randread
thinktime=3

[query-two]
ioengine=mmap
direct=0
rw=randread
thinktime=5

[background-updater]
ioengine=libaio
rw=randrw
iodepth=16
thinktime=40
";

/// What the timed ones last, ms, less what their clock may round off.
const TIMED_MS: u64 = 990;

pub fn cases() -> Vec<Case> {
    let words = |text: &str| text.split_whitespace_ascii().collect::<Vec<_>>();
    let json = "--output-format=normal,terse,json".to_string();
    let line = |(name, text, holds): &(&str, &str, &[Holds])| Line {
        name: format!("device_{name}"),
        arguments: std::iter::once(json.clone()).chain(words(text)).collect(),
        files: Vec::new(),
        holds: holds.to_vec(),
        devices: if text.contains("${DEV2}") { 2 } else { 1 },
        least_ms: if holds.contains(&Holds::Runtime) { TIMED_MS } else { 0 },
    };
    let database = Line {
        name: "device_small_database".into(),
        arguments: vec![json.clone(), "database.fio".into()],
        files: vec![("database.fio".into(), DATABASE.into())],
        holds: vec![Holds::Text, Holds::Runtime],
        devices: 1,
        least_ms: TIMED_MS,
    };
    LINES.iter().map(line).chain([database]).map(Line::case).collect()
}

/// Words split at blanks, where a no-break space stands for a blank within a word.
trait Words {
    fn split_whitespace_ascii(&self) -> Box<dyn Iterator<Item = String> + '_>;
}

impl Words for str {
    fn split_whitespace_ascii(&self) -> Box<dyn Iterator<Item = String> + '_> {
        Box::new(self.split_ascii_whitespace().map(|word| word.replace('\u{a0}', " ")))
    }
}
