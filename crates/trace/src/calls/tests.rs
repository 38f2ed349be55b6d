//! Whether descriptors, positions, names and the order of issue come out as the kernel has them.

use iodyno_model::Verb;

use super::*;
use crate::descriptors::SharedState;
use crate::{Batch, FileKind, RecordFlags, TraceRecord, TraceThread};

/// A machine with one file of 100 bytes, `/old`, and a pipe at descriptor 1.
struct OneFile;

impl FileFacts for OneFile {
    fn thread(&mut self, thread: u32) -> TraceThread {
        TraceThread { process: thread, thread, name: "test".into() }
    }

    fn descriptor(&mut self, _: u32, fd: i32) -> Option<DescriptorState> {
        let state = FileState { kind: FileKind::Other, ..FileState::default() };
        (fd == 1).then(|| DescriptorState { name: "pipe:[7]".into(), state, ..DescriptorState::default() })
    }

    fn opened(&mut self, _: u32, _: i32) -> Option<(String, FileKind)> {
        None
    }

    fn lookup(&mut self, _: u32, name: &str, _: bool) -> Lookup {
        match name {
            "/old" => Lookup::Found(FileState { bytes: Some(100), ..FileState::default() }),
            _ => Lookup::Absent,
        }
    }

    fn length(&mut self, _: u32, _: i32) -> Option<u64> {
        None
    }

    fn directory(&mut self, _: u32) -> Option<String> {
        Some("/".into())
    }
}

fn open(path: &str, options: OpenOptions) -> FileCall {
    FileCall::Open { at: AT_FDCWD, path: path.into(), options }
}

fn transfer(verb: Verb, fd: i32, offset: Option<u64>, bytes: u64) -> FileCall {
    FileCall::Transfer { verb, fd, offset, bytes, durable: false, append: false }
}

#[derive(Default)]
struct Calls {
    tracker: CallTracker,
    now: u64,
}

impl Calls {
    /// A call of a thread that ends at once.
    fn call(&mut self, thread: u32, call: FileCall, result: i64) {
        self.now += 10;
        if let Some(pending) = self.tracker.begin(thread, self.now, call, &mut OneFile) {
            self.tracker.end(pending, Some(result), Some(1), &mut OneFile);
        }
    }

    /// The records as verb, name, offset and result.
    fn records(&mut self) -> Vec<(Verb, String, u64, Option<i64>)> {
        let mut batch = Batch::new();
        self.tracker.take(&mut batch, usize::MAX);
        let tell = |record: &TraceRecord| {
            let name = self.tracker.tables.files[record.file as usize].name.clone();
            (record.verb, name, record.offset, record.result)
        };
        batch.iter().map(tell).collect()
    }
}

fn told(verb: Verb, name: &str, offset: u64, result: i64) -> (Verb, String, u64, Option<i64>) {
    (verb, name.to_string(), offset, Some(result))
}

#[test]
fn duplicates_children_and_seeks_move_one_position() {
    let mut calls = Calls::default();
    calls.call(1, open("old", OpenOptions::default()), 3);
    calls.call(1, transfer(Verb::Read, 3, None, 60), 60);
    calls.call(1, FileCall::Duplicate { fd: 3, close_on_exec: false }, 9);
    calls.tracker.started(1, 2, SharedState::default(), false, &mut OneFile);
    calls.call(2, transfer(Verb::Read, 9, None, 60), 40);
    calls.call(1, transfer(Verb::Read, 3, Some(7), 5), 5);
    calls.call(1, transfer(Verb::Read, 3, None, 5), 0);
    calls.call(1, FileCall::Seek { fd: 3, offset: -30, whence: SEEK_CUR }, 70);
    calls.call(1, transfer(Verb::Read, 3, None, 5), -5);
    calls.call(1, FileCall::Seek { fd: 3, offset: 0, whence: 2 }, 100);
    calls.call(1, transfer(Verb::Read, 3, None, 5), 0);
    let offsets: Vec<u64> = calls.records().iter().skip(1).map(|record| record.2).collect();
    assert_eq!(offsets, [0, 60, 7, 100, 70, 100]);
    assert_eq!(calls.tracker.tables.files[0].bytes, Some(100));
    assert_eq!(calls.tracker.tables.threads.len(), 2);
}

#[test]
fn appends_begin_at_the_end_and_made_files_are_marked() {
    let mut calls = Calls::default();
    let append = OpenMode { append: true, ..Default::default() };
    let options = OpenOptions { mode: append, creates: true, permissions: 0o644, ..OpenOptions::default() };
    calls.call(1, open("/old", options), 3);
    calls.call(1, transfer(Verb::Write, 3, None, 10), 10);
    calls.call(1, open("/new", OpenOptions { truncates: true, ..options }), 4);
    calls.call(1, transfer(Verb::Write, 4, None, 10), 10);
    calls.call(1, transfer(Verb::Write, 4, None, 10), 10);
    let mut batch = Batch::new();
    calls.tracker.take(&mut batch, 100);
    let flags: Vec<(bool, bool)> = batch
        .iter()
        .map(|record| (record.flags.has(RecordFlags::CREATED), record.flags.has(RecordFlags::TRUNCATED)))
        .collect();
    assert_eq!(flags[0], (false, false));
    assert_eq!(flags[2], (true, true));
    assert_eq!(batch.iter().map(|record| record.offset).collect::<Vec<_>>(), [0, 100, 0, 0, 10]);
    assert!(batch[1].flags.has(RecordFlags::APPEND));
    assert_eq!(calls.tracker.tables.files[1].bytes, None);
}

#[test]
fn a_copy_is_a_read_and_a_write_and_a_pipe_has_neither() {
    let mut calls = Calls::default();
    calls.call(1, open("/old", OpenOptions::default()), 3);
    calls.call(1, open("/new", OpenOptions { creates: true, exclusive: true, ..OpenOptions::default() }), 4);
    let copy = |to, to_offset| FileCall::Copy {
        verb: Verb::CopyFileRange,
        from: 3,
        from_offset: None,
        to,
        to_offset,
        bytes: 80,
    };
    calls.call(1, copy(4, Some(500)), 70);
    calls.call(1, copy(1, None), 30);
    assert_eq!(
        calls.records(),
        [
            told(Verb::Open, "/old", 0, 3),
            told(Verb::Create, "/new", 0, 4),
            told(Verb::Read, "/old", 0, 70),
            told(Verb::CopyFileRange, "/new", 500, 70),
            told(Verb::Read, "/old", 70, 30),
        ]
    );
}

#[test]
fn a_copy_to_the_end_has_the_bytes_that_were_there() {
    let mut calls = Calls::default();
    calls.call(1, open("/old", OpenOptions::default()), 3);
    calls.call(1, open("/new", OpenOptions { creates: true, ..OpenOptions::default() }), 4);
    let all = FileCall::Copy {
        verb: Verb::CopyFileRange,
        from: 3,
        from_offset: None,
        to: 4,
        to_offset: None,
        bytes: 9_223_372_035_781_033_984,
    };
    calls.call(1, all.clone(), 300_000);
    calls.call(1, all, 0);
    let mut batch = Batch::default();
    calls.tracker.take(&mut batch, usize::MAX);
    let bytes: Vec<u64> = batch.iter().map(|record| record.bytes).collect();
    assert_eq!(bytes[2..], [300_000, 300_000, 0, 0]);
}

#[test]
fn records_come_in_the_order_of_issue_and_unended_calls_have_no_result() {
    let mut calls = Calls::default();
    calls.call(1, open("/old", OpenOptions::default()), 3);
    calls.now += 10;
    let slow = calls.tracker.begin(1, calls.now, transfer(Verb::Read, 3, Some(0), 9), &mut OneFile);
    calls.call(
        2,
        FileCall::OnPath { verb: Verb::Stat, at: AT_FDCWD, path: "../old".into(), follows: true, bytes: 0 },
        0,
    );
    assert_eq!(calls.records(), [told(Verb::Open, "/old", 0, 3)]);
    calls.tracker.end(slow.unwrap(), Some(9), Some(30), &mut OneFile);
    assert_eq!(calls.records(), [told(Verb::Read, "/old", 0, 9), told(Verb::Stat, "/old", 0, 0)]);
    let lost = calls.tracker.begin(1, calls.now, FileCall::Close { fd: 3 }, &mut OneFile);
    assert!(lost.is_some());
    calls.tracker.ended(1, lost, &mut OneFile);
    assert_eq!(calls.records(), [(Verb::Close, "/old".to_string(), 0, None)]);
}

#[test]
fn a_call_that_outlasts_many_others_gives_up_its_result() {
    let mut calls = Calls::default();
    let waiting = calls.tracker.begin(1, 5, transfer(Verb::Read, 1, None, 9), &mut OneFile).unwrap();
    for _ in 0..65_537 {
        calls.call(2, transfer(Verb::Write, 1, None, 1), 1);
    }
    let records = calls.records();
    assert_eq!((records.len(), records[0].3), (65_538, None));
    calls.tracker.end(waiting, Some(9), None, &mut OneFile);
    assert_eq!(calls.records(), []);
    assert!(calls.tracker.notes().iter().any(|note| note.starts_with("1 calls have no result")));
}

#[test]
fn mappings_are_noted_and_synced_by_address() {
    let mut calls = Calls::default();
    calls.call(1, open("/old", OpenOptions::default()), 3);
    let map = FileCall::Map { fd: 3, offset: 4096, bytes: 8192, is_shared: true, writes: true };
    calls.call(1, map, 0x7000_0000);
    calls.call(1, FileCall::Msync { address: 0x7000_1000, bytes: 100 }, 0);
    calls.call(1, FileCall::Msync { address: 0x9000_0000, bytes: 100 }, 0);
    let records = calls.records();
    assert_eq!(records[1..], [told(Verb::Write, "/old", 4096, 0), told(Verb::Msync, "/old", 8192, 0)]);
    assert_eq!((calls.tracker.gaps.mappings, calls.tracker.gaps.addresses), (1, 1));
}

#[test]
fn no_range_ends_where_no_file_can_end() {
    let mut calls = Calls::default();
    calls.call(1, open("/old", OpenOptions::default()), 3);
    calls.call(1, transfer(Verb::Write, 3, Some(i64::MAX as u64 - 1), 4096), -27);
    assert_eq!(calls.records().last(), Some(&told(Verb::Write, "/old", i64::MAX as u64 - 1, -27)));
    assert!(
        calls.tracker.notes()[0].starts_with("1 ranges of calls reach beyond"),
        "{:?}",
        calls.tracker.notes()
    );
}

#[test]
fn paths_are_made_whole_by_their_text() {
    assert_eq!(joined(Some("/a/b"), "../c//./d"), "/a/c/d");
    assert_eq!(joined(Some("/a"), "/x/../.."), "/");
    assert_eq!(joined(None, "x/../../y"), "../y");
    assert_eq!(joined(None, "./"), ".");
}
