//! Called by an original's name: signals answered as the original answers them, and our own words beside its options.

use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Command, Stdio};

use testbed::{Case, Need, Outcome};

use crate::program::{IODYNO, Program, Running, dressed, names, scratch, told};

pub fn cases() -> Vec<Case> {
    vec![
        Case::new("dd says its figures when asked, and goes on", &[], asked),
        Case::new("dd that is interrupted says its figures and dies of it", &[], || {
            interrupted(libc::SIGINT, 3)
        }),
        Case::new("dd that is terminated dies without a word", &[], || interrupted(libc::SIGTERM, 0)),
        Case::new("dd says how it goes each second", &[], progress),
        Case::new("our words stand beside the original's", &[], also),
        Case::new("a word that is none of ours is refused", &[], no_word),
        Case::new("fio's pattern is the whole file that it names", &[], pattern),
        Case::new("fio's buffers hold what fio's hold", &[], buffers),
        Case::new("the original's buffers hold that, too", &[Need::Tool("fio")], originals_buffers),
    ]
}

fn dd(line: &str, home: &Path) -> Command {
    let mut command = dressed(Command::new(IODYNO), line.split_whitespace());
    command.arg0("dd").current_dir(home).env_remove("IODYNO_ALSO");
    command
}

/// A copy from a pipe that holds 1,000 bytes and stays open.
fn slow(line: &str, home: &Path) -> Running {
    let mut slow = Program::new(dd(line, home)).input(Stdio::piped()).start();
    slow.tell(&[7; 1000]);
    // What was copied was read and written: the handlers stand, and the next read waits.
    slow.until("1,000 bytes in F", || {
        std::fs::metadata(home.join("F")).is_ok_and(|facts| facts.len() == 1000)
    });
    slow
}

const FIGURES: [&str; 3] = ["0+1 records in", "0+1 records out", "1000 bytes (1.0 kB) copied, "];

#[track_caller]
fn expect_figures(text: &[&str], figures: &[&str]) {
    assert_eq!(text.len(), figures.len(), "{text:#?}");
    text.iter().zip(figures).for_each(|(line, begin)| assert!(line.starts_with(begin), "{text:#?}"));
}

fn asked() -> Outcome {
    let home = scratch();
    let mut slow = slow("of=F bs=4k", home.path());
    slow.signal(libc::SIGUSR1);
    slow.warns(" copied, ");
    slow.tell(&[8; 500]);
    drop(slow.input());
    let told = slow.end();
    assert_eq!(told.code(), 0, "{told}");
    let lines: Vec<&str> = told.err.lines().collect();
    expect_figures(&lines[..3], &FIGURES);
    expect_figures(
        &lines[3..],
        &["0+2 records in", "0+2 records out", "1500 bytes (1.5 kB, 1.5 KiB) copied, "],
    );
    Ok(())
}

fn interrupted(signal: i32, lines: usize) -> Outcome {
    let home = scratch();
    let slow = slow("of=F bs=4k", home.path());
    slow.signal(signal);
    let told = slow.end();
    assert_eq!(told.status.signal(), Some(signal), "{told}");
    expect_figures(&told.err.lines().collect::<Vec<_>>(), &FIGURES[..lines]);
    Ok(())
}

fn progress() -> Outcome {
    let home = scratch();
    let mut slow = slow("of=F bs=4k status=progress", home.path());
    slow.warns(" copied, ");
    drop(slow.input());
    let told = slow.end();
    assert_eq!(told.code(), 0, "{told}");
    let (live, end) = told.err.split_once('\n').ok_or("one line only")?;
    // A line a second; how many there were before this test looked is the machine's doing.
    let first = live.strip_prefix("\r1000 bytes (1.0 kB) copied, ").and_then(|rest| rest.split_once(" s, "));
    assert!(
        first.is_some_and(|(seconds, _)| seconds.parse::<u32>().is_ok_and(|seconds| seconds >= 1)),
        "{told}"
    );
    expect_figures(&end.lines().collect::<Vec<_>>(), &FIGURES);
    Ok(())
}

fn also() -> Outcome {
    let home = scratch();
    let line = "if=/dev/zero of=F bs=4k count=3 --also=json=r.json,witness=off";
    let told = told({
        let mut command = dd(line, home.path());
        command.env("IODYNO_ALSO", "csv=r.csv");
        command
    });
    told.expect(0, &["3+0 records out", "12288 bytes"]);
    assert_eq!(told.err.lines().count(), 3, "{told}");
    assert_eq!(names(home.path()), ["F", "r.csv", "r.json"]);
    let json: serde_json::Value = serde_json::from_slice(&std::fs::read(home.path().join("r.json"))?)?;
    assert!(json.is_object(), "{json}");
    Ok(())
}

fn no_word() -> Outcome {
    let home = scratch();
    let told = |line: &str| told(dd(line, home.path()));
    let words = "hint: --also help lists the words";
    told("if=/dev/zero of=F count=3 --also lively")
        .refused(&["no word `lively`; did you mean `live`?", words]);
    told("if=/dev/zero of=F count=3 --also live").expect(1, &["live: standard error is no terminal"]);
    told("if=/dev/zero of=F count=3 --also").refused(&[words]);
    assert_eq!(names(home.path()), Vec::<String>::new());
    Ok(())
}

fn pattern() -> Outcome {
    let home = scratch();
    let pattern: Vec<u8> = (0..16_384u32).map(|index| (index % 251 + index / 512) as u8).collect();
    std::fs::write(home.path().join("P"), &pattern).expect("writing the pattern");
    let fio = |line: &str| {
        let line = format!("fio --name=j --filename=F --size=64k --fallocate=none {line}");
        let mut command = dressed(Command::new(IODYNO), line.split_whitespace());
        command.current_dir(home.path()).env_remove("IODYNO_ALSO");
        told(command)
    };
    let blocks = |bytes: usize| {
        let written = std::fs::read(home.path().join("F")).expect("what was written");
        assert_eq!(written.len(), 65_536);
        written.chunks(bytes).enumerate().for_each(|(number, block)| {
            let wanted: Vec<u8> = pattern.iter().copied().cycle().take(block.len()).collect();
            assert!(block == wanted, "block {number} of {bytes} bytes");
        });
    };
    for (bytes, more) in [(16_384, ""), (32_768, ""), (16_384, "--verify=pattern --verify_pattern='P'")] {
        let told = fio(&format!("--rw=write --bs={bytes} --buffer_pattern='P' {more}"));
        assert_eq!(told.code(), 0, "{told}");
        assert!(!told.err.contains("buffer_pattern"), "{told}");
        blocks(bytes);
    }
    let told = fio("--rw=write --bs=4k --buffer_pattern='P'");
    assert!(told.code() == 0 && told.out.contains("the first 4096 of its 16384 bytes"), "{told}");
    blocks(4096);
    // No end, no bytes, too many: said, not begun.
    std::fs::write(home.path().join("E"), "").expect("an empty file");
    let long = std::fs::File::create(home.path().join("L")).expect("a long file");
    long.set_len((128 << 20) + 1).expect("its length");
    for (pattern, reason) in [
        ("'/dev/zero'", "it is no regular file"),
        ("'E'", "it is empty"),
        ("'L'", "it is longer than 128 MiB"),
        ("0xff%o", "%o has no meaning here"),
    ] {
        let told = fio(&format!("--rw=write --bs=4k --buffer_pattern={pattern}"));
        assert!(told.code() == 1 && told.err.contains(reason), "{told}");
    }
    Ok(())
}

/// What bytes of a block its successor repeats, percent, at least and at most, with options of both.
const REPEATED: [(&str, f64, f64); 6] = [
    ("", 90.0, 99.9),
    ("--scramble_buffers=0", 100.0, 100.0),
    ("--refill_buffers", 0.0, 2.0),
    ("--zero_buffers", 100.0, 100.0),
    ("--verify=crc32c --do_verify=0", 0.0, 2.0),
    ("--buffer_compress_percentage=50", 45.0, 55.0),
];

fn buffers() -> Outcome {
    let ours = || dressed(Command::new(IODYNO), ["fio"]);
    REPEATED.iter().for_each(|(options, least, most)| hold(ours(), options, *least, *most));
    hold(ours(), "--also data=unique", 0.0, 2.0);
    Ok(())
}

fn originals_buffers() -> Outcome {
    REPEATED.iter().for_each(|(options, least, most)| hold(Command::new("fio"), options, *least, *most));
    Ok(())
}

/// Writes 64 blocks and counts which bytes are those of the block before.
#[track_caller]
fn hold(mut command: Command, options: &str, least: f64, most: f64) {
    let home = scratch();
    let line = format!("--name=j --filename=F --size=256k --bs=4k --rw=write --fallocate=none {options}");
    command.args(line.split_whitespace()).current_dir(home.path()).env_remove("IODYNO_ALSO");
    let told = told(command);
    assert_eq!(told.code(), 0, "{told}");
    let written = std::fs::read(home.path().join("F")).expect("what was written");
    assert_eq!(written.len(), 262_144);
    let same = written.iter().zip(&written[4096..]).filter(|(one, next)| one == next).count();
    let share = 100.0 * same as f64 / (written.len() - 4096) as f64;
    assert!((least..=most).contains(&share), "{options}: {share} % are repeated");
}
