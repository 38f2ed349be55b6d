//! Importers of traces, each with what it is known to take.

use std::io::{Cursor, Read, Write};

use iodyno_model::Verb;
use iodyno_trace::import::{BlockPoint, ColumnMap, ImportOptions, Input, formats, import};
use iodyno_trace::{Batch, RecordSource, TraceError};

use crate::Seed;

/// Targets, and the format that a target's input is said to have; "": it is told by the content.
pub const TARGETS: &[(&str, &str)] = &[
    ("blktrace", "blktrace"),
    ("blkparse", "blkparse"),
    ("iolog", "fio"),
    ("load", "dbench"),
    ("dxt", "dxt"),
    ("nbw", "nbw"),
    ("strace", "strace"),
    ("tables", ""),
    ("packed", ""),
];

/// Imports an input: words of the first line are options, the rest is the file.
pub fn feed(name: &str, input: &[u8]) {
    let end = input.iter().position(|byte| *byte == b'\n').unwrap_or(input.len());
    let rest = input.get(end + 1..).unwrap_or_default();
    let words = String::from_utf8_lossy(&input[..end]).into_owned();
    let format = TARGETS.iter().find(|target| target.0 == name).map(|target| target.1.to_string());
    let mut options =
        ImportOptions { format: format.filter(|format| !format.is_empty()), ..Default::default() };
    for word in words.split_whitespace() {
        match word {
            "strict" => options.strict = true,
            "compat" => options.fio_wait = true,
            word if BlockPoint::lettered(word).is_some() => options.events = BlockPoint::lettered(word),
            word if formats().iter().any(|format| format.name == word) => options.format = Some(word.into()),
            word => match ColumnMap::parse(word) {
                Ok(map) => (options.format, options.csv) = (None, Some(map)),
                // A refusal has its reason.
                Err(error) => assert!(!error.message.is_empty()),
            },
        }
    }
    let bytes = rest.to_vec();
    let open = move || -> std::io::Result<Box<dyn Read + Send>> { Ok(Box::new(Cursor::new(bytes.clone()))) };
    let input = Input { name: "f".into(), open: Box::new(open), is_seekable: true };
    match read(&[input], &options) {
        Ok(()) => {}
        Err(error) => assert!(!error.message.is_empty()),
    }
}

fn read(inputs: &[Input], options: &ImportOptions) -> Result<(), TraceError> {
    let mut importer = import(inputs, options)?;
    let (mut batch, mut last) = (Batch::new(), 0);
    loop {
        importer.next_batch(&mut batch)?;
        if batch.is_empty() {
            return Ok(());
        }
        let tables = importer.tables();
        for record in &batch {
            assert!(record.at_ns >= last, "out of order");
            assert!((record.file as usize) < tables.files.len(), "a file that is not in the table");
            assert!(
                (record.thread as usize) < tables.threads.len().max(1),
                "a thread that is not in the table"
            );
            // The bytes of a change of owner are the owners.
            let has_range = record.verb != Verb::Chown;
            assert!(!has_range || record.end() <= i64::MAX as u64, "beyond 2^63");
            last = record.at_ns;
        }
    }
}

/// What a target is known to take.
pub fn seeds(name: &str) -> Vec<Seed> {
    let example = |format: &str| {
        let found = formats().into_iter().find(|known| known.name == format);
        found.map(|found| format!("{}\n", found.example)).unwrap_or_default()
    };
    let text = |words: &str, text: String| [words.as_bytes(), b"\n", text.as_bytes()].concat();
    match name {
        "blktrace" => vec![
            [b"\n".to_vec(), blktrace(7, false)].concat(),
            [b"Q\n".to_vec(), blktrace(7, true)].concat(),
            [b"C\n".to_vec(), blktrace(8, false)].concat(),
            [b"strict\n".to_vec(), blktrace(8, true)].concat(),
        ],
        "blkparse" => vec![text("", blkparse()), text("Q", blkparse()), text("", example("blkparse"))],
        "iolog" => vec![
            text("", IOLOG.into()),
            text("compat", "fio version 2 iolog\na add\na open\na wait 3 0\na read 0 9\na close\n".into()),
            text("fio1", example("fio1")),
        ],
        "load" => vec![
            text("", include_str!("../../suites/dbench/short.txt").into()),
            text("strict", example("dbench")),
        ],
        "dxt" => vec![text("", example("dxt"))],
        "nbw" => vec![text("", example("nbw"))],
        "strace" => vec![text("", STRACE.into()), text("strict", example("strace"))],
        "tables" => tables(),
        "packed" => packed(),
        _ => Vec::new(),
    }
}

/// Descriptors over fork, dup, exec and chdir, calls that another interrupts, and what has no offset.
const STRACE: &str = r#"7  1.000100 execve("/usr/bin/db", ["db"], 0x7ffe /* 35 vars */) = 0 <0.000254>
7  1.000200 openat(AT_FDCWD</mnt/t>, "s\tdb", O_RDWR|O_CREAT|O_CLOEXEC, 0644) = 3</mnt/t/s.db> <0.000010>
7  1.000250 clone(child_stack=NULL, flags=CLONE_FILES|CLONE_VM|SIGCHLD) = 8 <0.000010>
7  1.000300 read(3</mnt/t/s.db>, <unfinished ...>
8  1.000310 pwrite64(3</mnt/t/s.db>, "\r\0"..., 4096, 8192) = -1 ENOSPC (No space left on device) <0.000020>
7  1.000400 <... read resumed> "SQLite"..., 100) = 100 <0.000104>
8  1.000450 dup2(3</mnt/t/s.db>, 9) = 9</mnt/t/s.db>
8  1.000460 lseek(9</mnt/t/s.db>, -5, SEEK_END) = 4091
8  1.000470 writev(9</mnt/t/s.db>, [{iov_base="a", iov_len=1}, {iov_base="bc", iov_len=2}], 2) = 3
8  1.000480 chdir("../x") = 0
8  1.000490 renameat2(AT_FDCWD, "a", AT_FDCWD, "b", RENAME_NOREPLACE) = 0
8  1.000500 ftruncate(9</mnt/t/s.db>, 0) = 0
8  1.000510 mmap(NULL, 4096, PROT_READ, MAP_SHARED, 9</mnt/t/s.db>, 0) = 0x7f00
8  1.000520 --- SIGUSR1 {si_signo=SIGUSR1, si_code=SI_USER} ---
8  1.000530 close_range(3, 4294967295, 0) = 0
8  1.000540 +++ exited with 0 +++
7  1.000550 exit_group(0) = ?
"#;

const IOLOG: &str = "fio version 3 iolog\n385 a add\n521 a open\n528 a read 0 4096\n951 a write 45056 4096\n\
                     1441 a sync 61440 0\n1500 a trim 0 4096\n1501 a datasync 0 0\n1600 a close\n";

fn tables() -> Vec<Seed> {
    let seed = |words: &str, text: &str| [words.as_bytes(), b"\n", text.as_bytes(), b"\n"].concat();
    let presets = formats().into_iter().filter(|format| format.map().is_some());
    let mut seeds: Vec<Seed> = presets
        .flat_map(|format| {
            let map = format.map().unwrap_or_default();
            [seed("", format.example), seed(format.name, format.example), seed(map, format.example)]
        })
        .collect();
    seeds.push(seed("ts=a:us,op=b,len=c,sep=;,header=yes", "a;b;c\n1;\"read\";3\n2;\"wri\"\"te\";9"));
    seeds
}

fn packed() -> Vec<Seed> {
    let line = b"0,20941264,8192,W,0.551706\n".repeat(3);
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    let gzip = gzip.write_all(&line).and_then(|()| gzip.finish()).unwrap_or_default();
    let zstd = ruzstd::encoding::compress_to_vec(&line[..], ruzstd::encoding::CompressionLevel::Fastest);
    let mut archive = tar::Builder::new(Vec::new());
    for (name, bytes) in [("a.gz", &gzip), ("b", &line)] {
        let mut header = tar::Header::new_gnu();
        header.set_size(bytes.len() as u64);
        archive.append_data(&mut header, name, &bytes[..]).unwrap_or_default();
    }
    let archive = archive.into_inner().unwrap_or_default();
    // An empty stream of xz, and the beginning of one.
    let xz = b"\xfd7zXZ\0\0\x04\xe6\xd6\xb4\x46\x02\0\x21\x01\x16\0\0\0\x74\x2f\xe5\xa3".to_vec();
    [gzip, zstd, archive, xz].into_iter().map(|bytes| [b"\n".to_vec(), bytes].concat()).collect()
}

/// A request from Q to C with a name and a clock, as records of a version and byte order.
fn blktrace(version: u8, is_big: bool) -> Vec<u8> {
    let word = |number: u32| if is_big { number.to_be_bytes() } else { number.to_le_bytes() };
    let long = |number: u64| if is_big { number.to_be_bytes() } else { number.to_le_bytes() };
    let events: [(u32, u32, u32, &[u8]); 8] = [
        (0, 1 << 10, 0, b"dd\0\0"),
        (1, 1 << 10, 0, b"\0\0\0\x09\0\0\0\x01"),
        (1, 2, 4096, b""),
        (13, 2, 2048, b"\0\0\0\0\0\0\0\x0c"),
        (7 | 0x100, 2, 4096, b"12345678"),
        (8, 2, 4096, b""),
        (1, 2 | 4, 0, b""),
        (8, 2 | 4, 0, b""),
    ];
    let mut out = Vec::new();
    for (step, (event, traits, bytes, data)) in events.into_iter().enumerate() {
        let begin = out.len();
        out.extend(word(0x6561_7400 | u32::from(version)));
        out.extend(word(step as u32));
        out.extend(long(1000 * step as u64));
        out.extend(long(8));
        out.extend(word(bytes));
        if version == 7 {
            out.extend(word(event | traits << 16));
            out.extend(word(7));
        } else {
            out.extend(word(7));
            out.extend(long(u64::from(event) | u64::from(traits) << 32));
        }
        out.extend(word(8 << 20 | 1));
        out.extend(word(0));
        let length = data.len() as u16;
        out.extend([0, 0]);
        out.extend(if is_big { length.to_be_bytes() } else { length.to_le_bytes() });
        out.resize(begin + if version == 7 { 48 } else { 64 }, 0);
        out.extend(data);
    }
    out
}

fn blkparse() -> String {
    let lines = [
        "  7,1    0        1     0.000000000 13000  Q  WS 18592 + 2 [my prog]",
        "  7,1    0   930.643071424  3500  D FWFSM 18592 + 2 [sqlite3]",
        "  kjournald-697 [003] d..1. 930.643072:   8,0 D WS 223490 + 8 [kjournald]",
        "  7,1    1        7     0.000005000 13000  X   R 8 / 16 [my prog]",
        "  7,1    0        8   930.000010000    14  C  WS 18592 ( 9) + 2 [65531]",
        "CPU0 (loop):",
    ];
    lines.map(|line| format!("{line}\n")).concat()
}
