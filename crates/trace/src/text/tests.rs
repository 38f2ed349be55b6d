//! What is written is read again, and what is wrong is said with its line.

use proptest::prelude::*;

use crate::format::{Reader, Writer};
use crate::testing::traces;
use crate::text::{FIRST_LINE, TextSource, TextWriter};
use crate::{MemorySource, TraceError};

fn text(trace: &MemorySource) -> Vec<u8> {
    let mut text = Vec::new();
    TextWriter::new(&mut text).write_source(&mut trace.clone()).unwrap();
    text
}

fn read(text: &[u8]) -> Result<MemorySource, TraceError> {
    MemorySource::of(&mut TextSource::new(text)?)
}

proptest! {
    #[test]
    fn any_trace_goes_through_text_and_back(trace in traces()) {
        let back = read(&text(&trace)).unwrap();
        prop_assert_eq!(&back.header, &trace.header);
        prop_assert_eq!(&back.tables, &trace.tables);
        prop_assert_eq!(&back.records, &trace.records);
    }

    #[test]
    fn any_trace_goes_through_our_format_and_back(trace in traces()) {
        let mut bytes = Vec::new();
        let mut writer = Writer::new(&mut bytes, trace.header.clone()).unwrap();
        writer.write_source(&mut trace.clone()).unwrap();
        writer.finish().unwrap();
        let back = MemorySource::of(&mut Reader::new(&bytes[..]).unwrap()).unwrap();
        prop_assert_eq!(&back.header, &trace.header);
        prop_assert_eq!(&back.tables, &trace.tables);
        prop_assert_eq!(&back.records, &trace.records);
        prop_assert_eq!(text(&back), text(&trace));
    }
}

#[test]
fn the_text_is_as_documented() {
    let page = include_str!("../../../../docs/trace.md");
    let (_, rest) = page.split_once("```text\n").expect("the page has an example");
    let (example, _) = rest.split_once("```").expect("that ends");
    let trace = read(example.as_bytes()).unwrap();
    assert_eq!(String::from_utf8(text(&trace)).unwrap(), example);
}

#[test]
fn what_is_wrong_has_its_line_and_a_hint() {
    let said = |rest: &str| {
        let error = read(format!("{FIRST_LINE}\n# file 0 file name=a\n{rest}\n").as_bytes()).unwrap_err();
        format!("{error}; {}", error.hint.as_deref().unwrap_or_default())
    };
    for (line, expected) in [
        (
            "0 raed 0 0 1",
            "line 3: the operation `raed` is unknown; a record is: TIME OPERATION FILE OFFSET BYTES",
        ),
        ("0 WRITE 0 0 1", "line 3: the operation `WRITE` is unknown; did you mean `write`?"),
        (
            "0 read 1 0 1",
            "line 3: file 1 is not defined, and 1 are; a line before it must say: # file 1 file \
                name=NAME",
        ),
        ("0 read 0 0", "line 3: the size is missing; a record is: TIME OPERATION FILE OFFSET BYTES"),
        ("0 read 0 0 4k", "line 3: `4k` is no size; a whole number is expected"),
        (
            "5 read 0 0 1\n4 read 0 0 1",
            "line 4: the time goes backwards: 4 after 5; the lines of records must be in the order of their \
                times",
        ),
        ("0 read 0 0 1 thread=1", "line 3: thread 1 is not defined, and 0 are; "),
        (
            "0 read 0 0 1 speed=1",
            "line 3: `speed=1` means nothing here; what may follow: thread=, latency=, result=, other=, flags=, \
                compressible=, digest= and after=",
        ),
        (
            "0 read 0 0 1 flags=fua,quick",
            "line 3: `quick` is no flag; one of preflush, fua, sync, meta, readahead, direct, append, mapped, created, \
                truncated, spread, keepsize, collapse, insert, unshare, samerange",
        ),
        ("0 read 0 0 1 after=1+0", "line 3: the record 1 before this one does not exist; "),
        ("0 read 0 0 1 digest=12", "line 3: `12` is no digest; 32 hexadecimal digits are expected"),
        ("0 read 0 0 1 compressible=101", "line 3: `101` is more than 100 %; "),
        ("# file 2 file name=b", "line 3: file 2 is defined before file 1; "),
        (
            "# file 1 socket name=b",
            "line 3: `socket` is no kind of file; one of file, device, directory, link, other",
        ),
        ("# note: a\\b", "line 3: a backslash without a meaning; \\\\, \\n and \\r are those that have one"),
    ] {
        assert_eq!(said(line), expected);
    }
    assert_eq!(
        read(b"hello").unwrap_err().to_string(),
        format!("line 1: the first line is not `{FIRST_LINE}`")
    );
    let long = [FIRST_LINE.as_bytes(), b"\n", &vec![b'1'; 2 << 20]].concat();
    assert_eq!(read(&long).unwrap_err().to_string(), "line 2: the line is longer than 1048576 bytes");
    let binary = [FIRST_LINE.as_bytes(), b"\n\xff\xfe\n"].concat();
    assert_eq!(read(&binary).unwrap_err().to_string(), "line 2: the line is no UTF-8 text");
}
