//! Traces as their users shape them: text, formats of others, parts, and what is wrong with a file.

use std::path::Path;

use iodyno_trace::format::Writer;
use iodyno_trace::text::TextSource;
use iodyno_trace::{RecordSource, TraceFile};
use testbed::{Case, Outcome};

use crate::program::{Program, ProgramOutput, iodyno, names, scratch, told};

pub fn cases() -> Vec<Case> {
    vec![
        Case::new("a trace is printed and exported", &[], printed),
        Case::new(
            "a trace replaces what exists with --force only, and nothing is left of what failed",
            &[],
            replaced,
        ),
        Case::new("traces are shaped one after the other", &[], shaped),
        Case::new("what is no trace, or half of one, has one message", &[], wrong),
        Case::new("a damaged block of a trace is named, and what is before it is cut out", &[], damaged),
        Case::new("wrong words of iodyno trace have a hint", &[], words),
    ]
}

const TEXT: &str = "# iodyno trace 1
# source: test
# file 0 device bytes=1048576 device=8:16 name=sdb
# file 1 file name=/home/mallory/a
# thread 0 7 7 name=dd
0 read 0 0 4096 latency=100
1000000 write 0 8192 512 latency=200 flags=fua
2000000 fsync 1 0 0
3000000 read 1 4096 4096
";

/// Writes the text as a trace of ours.
fn trace(path: &Path, text: &str) {
    let mut source = TextSource::new(text.as_bytes()).expect("a text");
    let file = std::fs::File::create_new(path).expect("a new file");
    let mut writer = Writer::new(file, source.header().clone()).expect("a trace");
    writer.write_source(&mut source).expect("writing");
    writer.finish().expect("the end");
}

/// `iodyno trace …` in a directory.
#[track_caller]
fn says(home: &Path, words: &[&str]) -> ProgramOutput {
    let mut command = iodyno(["trace"]);
    command.args(words).current_dir(home);
    told(command)
}

fn printed() -> Outcome {
    let home = scratch();
    let home = home.path();
    trace(&home.join("t.iot"), TEXT);
    assert_eq!(says(home, &["dump", "t.iot"]).out, TEXT);
    let piped = Program::new(iodyno(["trace", "dump", "-"])).input(std::fs::File::open(home.join("t.iot"))?);
    assert_eq!(piped.run().out, TEXT);
    let said = says(home, &["export", "t.iot", "--as", "fio3"]);
    said.expect(0, &["note: fio3 does not hold all of the trace", "not told: latencies, of 2 records"]);
    assert!(
        said.out.starts_with("fio version 3 iolog\n0 sdb add\n0 sdb open\n0 sdb read 0 4096\n"),
        "{said}"
    );
    let said = says(home, &["export", "t.iot", "--as", "dump", "-o", "t.txt"]);
    assert!(said.out.is_empty() && said.err.is_empty(), "{said}");
    assert_eq!(std::fs::read_to_string(home.join("t.txt"))?, TEXT);
    says(home, &["export", "t.iot", "--as", "fio4"]).expect(2, &["fio4"]);
    let (help, page) = (told(iodyno(["trace", "--help"])), told(iodyno(["man", "trace"])));
    for command in ["dump", "export", "cut", "filter", "scale", "merge", "remap", "anonymise"] {
        assert!(
            help.out.contains(&format!("\n  {command} ")) && page.out.contains(command),
            "{command}: {help}"
        );
        assert!(says(home, &[command, "--help"]).out.contains("Usage: iodyno trace "), "{command}");
    }
    assert!(told(iodyno(["--help"])).out.contains("\n  trace        "));
    Ok(())
}

fn replaced() -> Outcome {
    let home = scratch();
    let home = home.path();
    trace(&home.join("t.iot"), TEXT);
    std::fs::write(home.join("thesis"), "mine")?;
    says(home, &["cut", "t.iot", "--records", "0..2", "-o", "thesis"])
        .expect(2, &["thesis: it exists already", "--force"]);
    assert_eq!(std::fs::read_to_string(home.join("thesis"))?, "mine");
    std::fs::write(home.join("garbage"), [0xff; 4096])?;
    for words in [
        &["cut", "garbage", "--records", "0..2", "-o", "new"][..],
        &["cut", "garbage", "--records", "0..2", "-o", "thesis", "--force"],
        &["remap", "t.iot", "--map", "sdx=sdy", "-o", "new"],
        &["remap", "t.iot", "--map", "sdx=sdy", "-o", "thesis", "--force"],
    ] {
        assert_eq!(says(home, words).code(), 2);
    }
    assert_eq!(names(home), ["garbage", "t.iot", "thesis"]);
    assert_eq!(std::fs::read_to_string(home.join("thesis"))?, "mine");
    // A trace in its own place.
    says(home, &["cut", "t.iot", "--records", "1..2", "-o", "t.iot", "--force"]).expect(0, &[]);
    assert!(says(home, &["dump", "t.iot"]).out.ends_with("\n0 write 0 8192 512 latency=200 flags=fua\n"));
    assert_eq!(names(home), ["garbage", "t.iot", "thesis"]);
    Ok(())
}

fn shaped() -> Outcome {
    let home = scratch();
    let home = home.path();
    trace(&home.join("t.iot"), TEXT);
    let last = |words: &[&str]| {
        says(home, words).expect(0, &[]);
        let dumped = says(home, &["dump", "new.iot"]).out;
        std::fs::remove_file(home.join("new.iot")).expect("a new trace");
        dumped
    };
    let cut = last(&["cut", "t.iot", "--time", "1ms..3ms", "-o", "new.iot"]);
    assert!(cut.ends_with("\n0 write 0 8192 512 latency=200 flags=fua\n1000000 fsync 1 0 0\n"), "{cut}");
    let filtered =
        last(&["filter", "t.iot", "--only", "reads,fsync", "--except-file", "sd*", "-o", "new.iot"]);
    assert!(filtered.ends_with("name=dd\n2000000 fsync 0 0 0\n3000000 read 0 4096 4096\n"), "{filtered}");
    let scaled = last(&["scale", "t.iot", "--time", "1/2", "-o", "new.iot"]);
    assert!(scaled.contains("\n500000 write 0 8192 512 "), "{scaled}");
    let merged = last(&["merge", "t.iot", "t.iot", "--apart", "-o", "new.iot"]);
    assert!(merged.contains("name=2:sdb\n") && merged.contains("\n0 read 2 0 4096 thread=1 "), "{merged}");
    let renamed = last(&["remap", "t.iot", "--map", "sdb=/dev/sdz", "-o", "new.iot"]);
    assert!(renamed.contains("name=/dev/sdz\n"), "{renamed}");
    let shorter = last(&["remap", "t.iot", "--size", "8k", "--by", "linear", "-o", "new.iot"]);
    assert!(shorter.contains("\n1000000 write 0 0 512 "), "{shorter}");
    let hidden = last(&["anonymise", "t.iot", "-o", "new.iot"]);
    assert!(!hidden.contains("mallory") && !hidden.contains("sdb") && !hidden.contains("dd\n"), "{hidden}");
    std::fs::write(home.join("key"), "short")?;
    says(home, &["anonymise", "t.iot", "--key", "key", "-o", "new.iot"])
        .expect(2, &["a key of 5 bytes", "hint"]);
    std::fs::write(home.join("key"), [7; 32])?;
    let once = last(&["anonymise", "t.iot", "--key", "key", "--keep-paths", "-o", "new.iot"]);
    assert_eq!(once, last(&["anonymise", "t.iot", "--key", "key", "--keep-paths", "-o", "new.iot"]));
    Ok(())
}

fn wrong() -> Outcome {
    let home = scratch();
    let home = home.path();
    trace(&home.join("t.iot"), TEXT);
    let whole = std::fs::read(home.join("t.iot"))?;
    for (name, bytes, message) in [
        ("empty", &b""[..], "empty: it is empty"),
        ("garbage", &[0xfe; 100_000], "garbage: it is no trace of ours (.iot)"),
        ("text", b"hello\n", "text: it is no trace of ours (.iot)"),
        ("newer", b"\x89IOT\r\n\x1a\n\x07\0", "newer: it has version 7 of the format"),
        ("head", &whole[..40], "head: it ends within its header"),
    ] {
        std::fs::write(home.join(name), bytes)?;
        let said = says(home, &["dump", name]);
        said.expect(2, &[message]);
        assert!(said.out.is_empty() && said.err.lines().count() <= 2, "{said}");
    }
    says(home, &["dump", "nowhere"]).expect(2, &["nowhere: cannot be read: No such file"]);
    says(home, &["dump", "."]).expect(2, &[".: cannot be read"]);
    std::fs::write(home.join("half"), &whole[..whole.len() - 1])?;
    let said = says(home, &["dump", "half"]);
    assert!(said.code() == 0 && said.out.contains("\n3000000 read 1 4096 4096\n"), "{said}");
    let mut writer = Writer::new(std::fs::File::create_new(home.join("killed"))?, Default::default())?;
    writer.define_file(TraceFile::default())?;
    writer.flush()?;
    std::mem::forget(writer);
    let said = says(home, &["dump", "killed"]);
    assert!(
        said.code() == 0 && said.out.contains("# note: The trace was not finished or is cut off, at byte "),
        "{said}"
    );
    says(home, &["remap", "killed", "--size", "1m", "--by", "linear", "-o", "new"]).expect(
        2,
        &["how far its records reach is not known", "hint: --by linear needs a file that was finished"],
    );
    Ok(())
}

fn damaged() -> Outcome {
    let home = scratch();
    let home = home.path();
    let lines: String = (0..100_000).map(|at| format!("{at} read 0 {} 1\n", at * 7919 % 65_536)).collect();
    trace(&home.join("t.iot"), &format!("# iodyno trace 1\n# file 0 file name=a\n{lines}"));
    let mut bytes = std::fs::read(home.join("t.iot"))?;
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(home.join("t.iot"), &bytes)?;
    let said = says(home, &["dump", "t.iot", "-o", "new"]);
    said.expect(
        2,
        &[
            "t.iot: block ",
            "the checksum is wrong",
            "records before it are whole: iodyno trace cut --records 0..",
        ],
    );
    let advice = said.err.split_once("--records ").map_or("", |(_, range)| range.trim()).to_string();
    says(home, &["cut", "t.iot", "--records", &advice, "-o", "new"]).expect(0, &[]);
    let count = says(home, &["dump", "new"]).out.lines().filter(|line| !line.starts_with('#')).count();
    assert_eq!(format!("0..{count}"), advice);
    assert!(count >= 32_768, "{count}");
    Ok(())
}

fn words() -> Outcome {
    let home = scratch();
    let home = home.path();
    trace(&home.join("t.iot"), TEXT);
    for (words, messages) in [
        (&["cut", "t.iot"][..], &["--time", "--records"][..]),
        (&["cut", "t.iot", "--records", "5"], &["expected a range A..B"]),
        (&["cut", "t.iot", "--time", "2s..1s"], &["the range is empty"]),
        (&["filter", "t.iot", "--only", "raed"], &["`raed` is no operation", "did you mean `read`?"]),
        (&["filter", "t.iot", "--flag", "quick"], &["`quick` is no flag", "one of preflush, fua"]),
        (&["scale", "t.iot"], &["nothing is scaled", "--time FACTOR"]),
        (&["scale", "t.iot", "--time", "0"], &["the factor must be above 0"]),
        (&["remap", "t.iot"], &["nothing is changed", "--map OLD=NEW"]),
        (&["remap", "t.iot", "--map", "a"], &["expected OLD=NEW"]),
        (&["remap", "t.iot", "--map", "x=y", "-o", "new"], &["no file is called `x`"]),
        (&["merge", "-", "-"], &["standard input can be read once"]),
        (&["merge", "t.iot"], &["2"]),
        (&["dump", "t.iot", "-o", "nowhere/new"], &["nowhere/new: No such file"]),
        (&["sing"], &["iodyno trace --help"]),
    ] {
        says(home, words).expect(2, messages);
    }
    assert_eq!(names(home), ["t.iot"]);
    Ok(())
}
