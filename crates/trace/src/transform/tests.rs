//! What each adapter makes of a trace, as text.

use proptest::prelude::*;

use crate::testing::traces;
use crate::text::{TextSource, TextWriter};
use crate::transform::{
    Anonymise, Cut, CutRange, Factor, Filter, Merge, MergeStart, NameStyle, PlaceRule, RecordFilter,
    Relocate, Scale, Source,
};
use crate::{MemorySource, RecordFlags, RecordSource, TraceError};
use iodyno_model::{Remap, Verb};

const TRACE: &str = "# iodyno trace 1
# source: test
# level: file
# began: 1000
# note: The user is /home/mallory.
# file 0 file bytes=8192 name=/home/mallory/a.db
# file 1 file name=/home/mallory/a.db-wal
# file 2 device bytes=1048576 device=8:16 name=sdb
# thread 0 7 7 name=sqlite3
# thread 1 8 8 name=kworker/0:1
0 open 0 0 0 result=3
10 read 0 4096 4096 latency=5
20 write 1 0 512 flags=sync after=2+3
30 write 2 8192 4096 thread=1 flags=sync,meta digest=00112233445566778899aabbccddeeff after=1+4
40 rename 1 0 0 other=0
50 trim 2 0 65536 thread=1 after=2+1
60 truncate 0 0 2048
";

fn source(text: &str) -> Source {
    Box::new(TextSource::new(std::io::Cursor::new(text.as_bytes().to_vec())).unwrap())
}

fn text(mut source: impl RecordSource) -> Result<String, TraceError> {
    let mut text = Vec::new();
    TextWriter::new(&mut text).write_source(&mut source)?;
    Ok(String::from_utf8(text).unwrap())
}

/// The lines that hold no header.
fn lines(source: impl RecordSource) -> Vec<String> {
    let text = text(source).unwrap();
    let is_table =
        |line: &&str| !line.starts_with('#') || line.starts_with("# file") || line.starts_with("# thread");
    text.lines().filter(is_table).map(str::to_string).collect()
}

#[test]
fn a_cut_begins_at_zero_and_names_only_its_files() {
    let cut = Cut::of(source(TRACE), CutRange::Time(25..55), 0);
    let expected = "# iodyno trace 1
# source: test
# level: file
# began: 1025
# note: The user is /home/mallory.
# file 0 device bytes=1048576 device=8:16 name=sdb
# file 1 file name=/home/mallory/a.db-wal
# file 2 file bytes=8192 name=/home/mallory/a.db
# thread 0 8 8 name=kworker/0:1
# thread 1 7 7 name=sqlite3
5 write 0 8192 4096 flags=sync,meta digest=00112233445566778899aabbccddeeff
15 rename 1 0 0 thread=1 other=2
25 trim 0 0 65536 after=2+1
# note: 1 dependencies were removed: the records before them are not here.
";
    assert_eq!(text(cut).unwrap(), expected);
    let cut = lines(Cut::of(source(TRACE), CutRange::Records(5..6), 0));
    assert_eq!(cut[2], "0 trim 0 0 65536");
    let all = text(Cut::of(source(TRACE), CutRange::Records(0..u64::MAX), 0)).unwrap();
    assert_eq!(all, TRACE);
}

#[test]
fn a_cut_reads_no_farther_than_it_must() {
    let broken = format!("{TRACE}70 nonsense\n");
    assert!(text(Cut::of(source(&broken), CutRange::Records(0..7), 0)).is_err(), "one batch holds both");
    let mut records: String = (0..5000).map(|time| format!("{} read 0 0 1\n", 60 + time)).collect();
    records.push_str("70 nonsense\n");
    let cut = lines(Cut::of(source(&format!("{TRACE}{records}")), CutRange::Records(0..7), 0));
    assert_eq!(cut.last().unwrap(), "60 truncate 0 0 2048");
}

#[test]
fn a_filter_keeps_what_meets_all_of_it() {
    let kept = |filter: RecordFilter| -> Vec<String> {
        let lines = lines(Filter::of(source(TRACE), filter));
        lines.into_iter().filter(|line| !line.starts_with('#')).collect()
    };
    let filter = RecordFilter { verbs: Some(vec![Verb::Write, Verb::Trim]), ..RecordFilter::default() };
    assert_eq!(
        kept(filter),
        [
            "20 write 0 0 512 flags=sync",
            "30 write 1 8192 4096 thread=1 flags=sync,meta digest=00112233445566778899aabbccddeeff after=1+4",
            "50 trim 1 0 65536 thread=1 after=1+1",
        ]
    );
    let files = |files: &[&str], except: &[&str]| RecordFilter {
        files: files.iter().map(|file| file.to_string()).collect(),
        except_files: except.iter().map(|file| file.to_string()).collect(),
        ..RecordFilter::default()
    };
    assert_eq!(kept(files(&["sd?"], &[])).len(), 2);
    assert_eq!(kept(files(&["*.db*"], &["*-wal"])).len(), 4, "rename names the other file too");
    for (who, count) in [("8", 2), ("sql*", 5), ("9", 0)] {
        let filter = RecordFilter { threads: vec![who.into()], ..RecordFilter::default() };
        assert_eq!(kept(filter).len(), count, "{who}");
    }
    let filter =
        RecordFilter { offsets: Some(4096..=8192), sizes: Some(4096..=4096), ..RecordFilter::default() };
    assert_eq!(kept(filter).len(), 2);
    let filter = RecordFilter {
        flags: RecordFlags::SYNC,
        without_flags: RecordFlags::META,
        ..RecordFilter::default()
    };
    assert_eq!(kept(filter), ["20 write 0 0 512 flags=sync"]);
}

#[test]
fn times_and_places_are_scaled_exactly() {
    let scaled = text(Scale::of(source(TRACE), "0.5".parse().unwrap(), "3/4".parse().unwrap(), 512)).unwrap();
    for line in [
        "# note: Times were multiplied by 5/10.",
        "# note: Offsets were multiplied by 3/4.",
        "# file 0 file bytes=6144 name=/home/mallory/a.db",
        "5 read 0 3072 4096 latency=5",
        "10 write 1 0 512 flags=sync after=2+1",
        "15 write 2 6144 4096 thread=1 flags=sync,meta digest=00112233445566778899aabbccddeeff after=1+2",
        "30 truncate 0 0 1536",
    ] {
        assert!(scaled.contains(&format!("\n{line}\n")), "{line} in\n{scaled}");
    }
    let error =
        text(Scale::of(source(TRACE), "18446744073709551615".parse().unwrap(), Factor::ONE, 1)).unwrap_err();
    assert_eq!(error.to_string(), "the time 10 becomes too large");
    for wrong in ["", ".", "0", "-1", "1/0", "x", "1e3", "1.0000000001", "0.0"] {
        assert!(wrong.parse::<Factor>().is_err(), "{wrong}");
    }
}

const OTHER: &str = "# iodyno trace 1
# source: other
# began: 1015
# file 0 device bytes=2097152 device=8:16 name=sdb
# file 1 device name=sdc
0 read 0 0 512
1 read 1 0 512 after=1+0
";

#[test]
fn traces_are_merged_by_the_time_of_day() {
    let merged = text(Merge::of(vec![source(TRACE), source(OTHER)], MergeStart::Known, false)).unwrap();
    let expected = "# iodyno trace 1
# source: merge of test, other
# level: file
# began: 1000
# note: Trace 1: The user is /home/mallory.
# file 0 file bytes=8192 name=/home/mallory/a.db
# file 1 file name=/home/mallory/a.db-wal
# file 2 device bytes=2097152 device=8:16 name=sdb
# file 3 device name=sdc
# thread 0 7 7 name=sqlite3
# thread 1 8 8 name=kworker/0:1
# thread 2 0 0 name=
0 open 0 0 0 result=3
10 read 0 4096 4096 latency=5
15 read 2 0 512 thread=2
16 read 3 0 512 thread=2 after=1+0
20 write 1 0 512 flags=sync after=4+3
30 write 2 8192 4096 thread=1 flags=sync,meta digest=00112233445566778899aabbccddeeff after=1+4
40 rename 1 0 0 other=0
50 trim 2 0 65536 thread=1 after=2+1
60 truncate 0 0 2048
";
    assert_eq!(merged, expected);
    let together = text(Merge::of(vec![source(TRACE), source(OTHER)], MergeStart::Together, true)).unwrap();
    for line in ["# file 3 device bytes=2097152 device=8:16 name=2:sdb", "0 read 3 0 512 thread=2"] {
        assert!(together.contains(&format!("\n{line}\n")), "{line} in\n{together}");
    }
    let unknown = OTHER.replace("# began: 1015\n", "");
    let merged = text(Merge::of(vec![source(TRACE), source(&unknown)], MergeStart::Known, false)).unwrap();
    assert!(
        merged.contains("# note: The merged traces begin together: not all of them tell when they began.\n")
    );
    let broken = format!("{OTHER}0 read 0 0 1\n");
    let error = text(Merge::of(vec![source(TRACE), source(&broken)], MergeStart::Known, false)).unwrap_err();
    assert_eq!(error.to_string(), "trace 2, line 8: the time goes backwards: 0 after 1");
}

#[test]
fn names_are_replaced_and_none_is_left() {
    let key = Anonymise::key(b"a key that nobody knows");
    let whole = text(Anonymise::of(source(TRACE), key, NameStyle::Whole)).unwrap();
    for word in ["mallory", "home", ".db", "sqlite", "sdb", "kworker", "ccddeeff"] {
        assert!(!whole.contains(word), "{word} in\n{whole}");
    }
    assert_eq!(whole, text(Anonymise::of(source(TRACE), key, NameStyle::Whole)).unwrap());
    assert_ne!(
        whole,
        text(Anonymise::of(source(TRACE), Anonymise::key(b"another"), NameStyle::Whole)).unwrap()
    );
    let lengths: Vec<usize> =
        whole.lines().filter_map(|line| line.split_once("name=")).map(|(_, name)| name.len()).collect();
    assert_eq!(lengths, [16; 5]);
    assert!(whole.contains("# note: 1 notes of the source were left out, because they may hold names.\n"));
    let parts = text(Anonymise::of(source(TRACE), key, NameStyle::Parts)).unwrap();
    let names: Vec<&str> =
        parts.lines().filter_map(|line| line.split_once("name=")).map(|(_, name)| name).collect();
    let (first, second) = (names[0].rsplit_once('/').unwrap(), names[1].rsplit_once('/').unwrap());
    assert_eq!(first.0, second.0, "one directory");
    assert_ne!(first.1, second.1);
    assert_eq!(names[0].split('/').map(str::len).collect::<Vec<_>>(), [0, 16, 16, 16]);
}

#[test]
fn files_are_renamed_and_ranges_moved_into_a_shorter_one() {
    let names = || vec![("sdb".to_string(), "/dev/sdz".to_string())];
    let renamed = text(Relocate::of(source(TRACE), names(), None)).unwrap();
    assert!(renamed.contains("\n# file 2 device bytes=1048576 name=/dev/sdz\n"), "{renamed}");
    let rule = |remap, length| PlaceRule {
        remap,
        align: 0,
        length,
        reaches: vec![Some(8192), Some(512), Some(65_536)],
    };
    let moved = |remap| text(Relocate::of(source(TRACE), Vec::new(), Some(rule(remap, 65_536)))).unwrap();
    let linear = moved(Remap::Linear);
    for line in [
        "# file 2 device bytes=65536 device=8:16 name=sdb",
        "# note: Offsets beyond 65536 bytes were scaled.",
        "10 read 0 4096 4096 latency=5",
        "30 write 2 512 4096 thread=1 flags=sync,meta digest=00112233445566778899aabbccddeeff after=1+4",
        "50 trim 2 0 65536 thread=1 after=2+1",
    ] {
        assert!(linear.contains(&format!("\n{line}\n")), "{line} in\n{linear}");
    }
    assert!(moved(Remap::Modulo).contains("\n30 write 2 8192 4096 "));
    let error = text(Relocate::of(source(TRACE), Vec::new(), Some(rule(Remap::Hash, 4096)))).unwrap_err();
    assert_eq!(error.to_string(), "record 5: 65536 bytes do not fit");
    let error = text(Relocate::of(source(TRACE), vec![("sdx".into(), "a".into())], None)).unwrap_err();
    assert_eq!(error.to_string(), "no file is called `sdx`");
}

proptest! {
    #[test]
    fn nothing_that_a_trace_can_hold_makes_an_adapter_fail(trace in traces(), other in traces(), from in any::<u64>(), to in any::<u64>()) {
        let source = |trace: &MemorySource| Box::new(trace.clone()) as Source;
        let range = from.min(to)..from.max(to);
        let is_whole = |source: &mut dyn RecordSource| {
            let read = MemorySource::of(source).unwrap();
            read.records.iter().enumerate().all(|(index, record)| {
                let names = std::iter::once(record.file).chain(record.other);
                names.map(|file| file as usize).all(|file| file < read.tables.files.len())
                    && (record.thread as usize) < read.tables.threads.len().max(1)
                    && record.after.is_none_or(|after| after.back >= 1 && after.back <= index as u64)
            }) && read.records.is_sorted_by_key(|record| record.at_ns)
        };
        prop_assert!(is_whole(&mut Cut::of(source(&trace), CutRange::Time(range.clone()), 0)));
        prop_assert!(is_whole(&mut Cut::of(source(&trace), CutRange::Records(from % 50..from % 50 + to % 50), 0)));
        let filter = RecordFilter { sizes: Some(range.start..=range.end), ..RecordFilter::default() };
        prop_assert!(is_whole(&mut Filter::of(source(&trace), filter)));
        prop_assert!(is_whole(&mut Scale::of(source(&trace), "1/3".parse().unwrap(), "1/7".parse().unwrap(), 512)));
        prop_assert!(is_whole(&mut Merge::of(vec![source(&trace), source(&other)], MergeStart::Together, false)));
        prop_assert!(is_whole(&mut Anonymise::of(source(&trace), [7; 32], NameStyle::Parts)));
    }
}
