//! Load files of dbench: what becomes of each operation, and what is left out.

use iodyno_model::Verb;

use super::ImportOptions;
use super::dbench::{CLOSED, FOREIGN, PATTERN, PAUSE};
use super::testing::{named, read_text};
use crate::{MemorySource, RecordFlags, TraceRecord};

const LOAD: &str = include_str!("../../../../suites/dbench/short.txt");

fn told(trace: &MemorySource) -> Vec<String> {
    let name = |file: u32| trace.tables.files[file as usize].name.as_str();
    let one = |record: &TraceRecord| {
        let other = record.other.map(|other| format!(" {}", name(other))).unwrap_or_default();
        let result = record.result.map_or("?".into(), |result| result.to_string());
        let (offset, bytes) = (record.offset, record.bytes);
        format!("{} {}{other} {offset}+{bytes} = {result}", record.verb, name(record.file))
    };
    trace.records.iter().map(one).collect()
}

fn read(text: &str) -> MemorySource {
    read_text(text, &named("dbench")).unwrap()
}

#[test]
fn operations_become_records_in_their_order() {
    let load = "Mkdir \"\\clients\" NT_STATUS_OK\n\
                NTCreateX \"\\clients\\D E\" 0x1 0x2 7 NT_STATUS_OK\n\
                Close 7 NT_STATUS_OK\n\
                NTCreateX \"\\clients\\d e\\A\" 0x40 0x2 8 NT_STATUS_OK\n\
                WriteX 8 65534 1 1 NT_STATUS_OK\n\
                ReadX 8 0 4096 100 NT_STATUS_OK\n\
                LockX 8 5 10 NT_STATUS_OK\n\
                FIND_FIRST \"\\clients\\d e\\*\" 260 1366 0 NT_STATUS_NO_SUCH_FILE\n\
                QUERY_PATH_INFORMATION \"\\clients\\no\" 1004 NT_STATUS_OBJECT_NAME_NOT_FOUND\n\
                Rename \"\\clients\\d e\\a\" \"\\clients\\d e\\b\" NT_STATUS_OK\n\
                Deltree \"\\clients\" NT_STATUS_OK\n";
    let trace = read(load);
    let expected = [
        "mkdir clients 0+448 = 0",
        "mkdir clients/d e 0+448 = 0",
        "open clients/d e 0+384 = 0",
        "close clients/d e 0+0 = 0",
        "open clients/d e/a 0+384 = 0",
        "write clients/d e/a 65534+1 = 1",
        "read clients/d e/a 0+4096 = 100",
        "lock clients/d e/a 5+10 = 0",
        "readdir clients/d e 0+0 = ?",
        "stat clients/no 0+0 = -2",
        "rename clients/d e/a clients/d e/b 0+0 = 0",
        "unlink clients/d e/b 0+0 = ?",
        "rmdir clients/d e 0+0 = ?",
        "rmdir clients 0+0 = ?",
    ];
    assert_eq!(told(&trace), expected);
    assert!(trace.records[4].flags.has(RecordFlags::CREATED));
    let waits = trace.records.iter().filter(|record| record.after.is_some()).count();
    assert_eq!(waits, expected.len() - 1, "each waits for the one before");
    assert_eq!(read_text(load, &ImportOptions::default()).unwrap().records, trace.records);
}

#[test]
fn what_cannot_be_played_is_counted() {
    let trace = read(
        "# a load\nClose 3 NT_STATUS_OK\nSleep 5 NT_STATUS_OK\nUnlink \"\\a\\*.tmp\" 0x6 NT_STATUS_OK\n\
         Unlink \"\\a\" 0x6 NT_STATUS_SHARING_VIOLATION\n0.5 Mkdir \"\\a\" NT_STATUS_OK\nWriteX 1 2\n\
         Mkdir \"\\..\\a\" NT_STATUS_OK\n",
    );
    assert_eq!(told(&trace), ["mkdir a 0+448 = 0"]);
    let notes = trace.header.notes.join("\n");
    for kind in [CLOSED, PAUSE, PATTERN, FOREIGN] {
        assert!(notes.contains(&format!("{kind}: 1")), "{kind} in {notes}");
    }
    assert!(notes.contains("wrong lines, left out: 2"), "{notes}");
}

#[test]
fn our_load_has_each_operation_and_leaves_one_directory() {
    let trace = read(LOAD);
    assert_eq!(trace.header.notes, Vec::<String>::new());
    let there = |verb| trace.records.iter().filter(|record| record.verb == verb).count();
    for verb in [Verb::Read, Verb::Write, Verb::Lock, Verb::Fsync, Verb::Statfs, Verb::Fstat, Verb::Utimens] {
        assert!(there(verb) > 0, "{verb}");
    }
    assert_eq!(there(Verb::Mkdir), there(Verb::Rmdir) + 1);
    assert_eq!(there(Verb::Open), there(Verb::Close) + 1, "one is not found");
}

#[test]
fn a_load_that_is_cut_or_mangled_is_read_as_far_as_it_goes() {
    let whole = read(LOAD).records.len();
    for end in (0..LOAD.len()).step_by(7) {
        match read_text(&LOAD[..end], &named("dbench")) {
            Ok(read) => assert!(read.records.len() <= whole, "{end}"),
            Err(error) => assert!(error.to_string().contains("f:"), "{end}: {error}"),
        }
    }
    let mangled = format!("{LOAD}\u{1}\u{2} \"\nWriteX 10 9223372036854775807 9 9 NT_STATUS_OK\n");
    let notes = read(&mangled).header.notes;
    assert!(notes.iter().any(|note| note.starts_with("wrong lines, left out: 2; ")), "{notes:?}");
}
