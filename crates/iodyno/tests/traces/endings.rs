//! How the commands end that write traces: Ctrl-C and full disks leave a whole file or none.

use std::fs;
use std::io::Write;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::Stdio;

use iodyno_trace::format::Writer;
use iodyno_trace::{TraceFile, TraceRecord};
use testbed::sandbox::FullDisk;
use testbed::{Case, Need, Outcome};

use super::import::{records, trace};
use crate::program::{Program, iodyno, names, scratch, told};

pub fn cases() -> Vec<Case> {
    vec![
        Case::new("interrupted_commands_leave_nothing_of_their_results", &[], interrupted),
        Case::new("interrupted_commands_leave_what_they_were_to_replace", &[], replacing),
        Case::new("a_full_disk_keeps_what_was_imported_and_removes_results", &[Need::Mount], full),
        Case::new("a_recording_on_a_full_disk_lets_its_program_end", &[Need::Mount], recording),
    ]
}

/// A number that tells nothing of the one it was made from, so that a trace of them does not shrink (splitmix64).
fn mixed(number: u64) -> u64 {
    let mut z = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z ^ (z >> 27)
}

/// Reads of pseudo-random places, as a trace of ours.
fn requests(count: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut writer = Writer::new(&mut bytes, Default::default()).expect("a trace");
    writer.define_file(TraceFile { name: "a".into(), ..TraceFile::default() }).expect("a file");
    for index in 0..count {
        writer
            .push(&TraceRecord::new(index, iodyno_model::Verb::Read, 0, mixed(index) >> 24, 512))
            .expect("a record");
    }
    writer.finish().expect("the end");
    bytes
}

/// Starts a command on the beginning of a trace, and interrupts it once its output is there. What it said.
fn interrupt(
    home: &Path,
    words: &[&str],
    output: &str,
    signal: i32,
) -> Result<String, Box<dyn std::error::Error>> {
    let mut command = iodyno(["trace"].iter().chain(words));
    command.current_dir(home);
    let mut running = Program::new(command).input(Stdio::piped()).start();
    let mut input = running.input().ok_or("no pipe")?;
    // Less than a pipe holds, and far from the end of the trace.
    input.write_all(&requests(40_000)[..40_000])?;
    let path = home.join(output);
    running.until("the output", || path.exists());
    running.signal(signal);
    // Whoever missed the signal by a moment sees it at the end of its input.
    drop(input);
    let ended = running.end();
    assert_eq!(ended.status.signal(), Some(signal), "{words:?}: {}", ended.all());
    Ok(ended.err)
}

fn interrupted() -> Outcome {
    let home = scratch();
    let home = home.path();
    fs::write(home.join("t.iot"), requests(10))?;
    for words in [
        &["cut", "-", "--records", "0..", "-o", "new"][..],
        &["filter", "-", "--only", "reads", "-o", "new"],
        &["scale", "-", "--time", "2", "-o", "new"],
        &["merge", "-", "t.iot", "-o", "new"],
        &["remap", "-", "--map", "a=b", "-o", "new"],
        &["anonymise", "-", "-o", "new"],
        &["dump", "-", "-o", "new"],
        &["export", "-", "--as", "csv", "-o", "new"],
        &["fit", "-", "-o", "new"],
        &["stat", "-", "--html", "new"],
    ] {
        for signal in [libc::SIGINT, libc::SIGTERM] {
            let said = interrupt(home, words, "new", signal)?;
            assert!(said.contains("interrupted: new was not written"), "{words:?}: {said}");
            assert_eq!(names(home), ["t.iot"], "{words:?}");
        }
    }
    Ok(())
}

fn replacing() -> Outcome {
    let home = scratch();
    let home = home.path();
    fs::write(home.join("mine"), "mine")?;
    let beside = |home: &Path| names(home).into_iter().find(|name| name.starts_with(".mine."));
    let mut command = iodyno(["trace", "cut", "-", "--records", "0..", "-o", "mine", "--force"]);
    command.current_dir(home);
    let mut running = Program::new(command).input(Stdio::piped()).start();
    let mut input = running.input().ok_or("no pipe")?;
    input.write_all(&requests(40_000)[..40_000])?;
    running.until("the output", || beside(home).is_some());
    running.signal(libc::SIGINT);
    drop(input);
    let ended = running.end();
    assert_eq!(ended.status.signal(), Some(libc::SIGINT), "{}", ended.all());
    assert_eq!((names(home), fs::read_to_string(home.join("mine"))?), (vec!["mine".into()], "mine".into()));
    Ok(())
}

fn full() -> Outcome {
    let home = scratch();
    let home = home.path();
    let line = |at: u64| format!("{at}.0 0 {} 8 1\n", mixed(at) >> 30);
    fs::write(home.join("t.txt"), (0..150_000).map(line).collect::<String>())?;
    fs::write(home.join("t.iot"), requests(150_000))?;
    let disk = FullDisk::tmpfs(512 << 10)?;
    let at = |name: &str| disk.path().join(name).display().to_string();
    let before = names(disk.path());
    for words in [
        &["cut", "t.iot", "--records", "0..", "-o"][..],
        &["dump", "t.iot", "-o"],
        &["export", "t.iot", "--as", "fio3", "-o"],
    ] {
        let new = at("new");
        let said = trace(home, &[words, &[new.as_str()]].concat());
        said.expect(2, &["new: No space left on device", "make room where it goes"]);
        assert_eq!(names(disk.path()), before, "{words:?}");
    }
    let new = at("new");
    let said = trace(home, &["import", "t.txt", "--as", "disksim", "-o", &new]);
    said.expect(2, &["new: No space left on device", "records are kept and readable"]);
    let kept =
        said.err.split("the first ").nth(1).and_then(|rest| rest.split(' ').next()).unwrap_or_default();
    assert_eq!(records(disk.path(), "new").len().to_string(), kept);
    let dumped = trace(disk.path(), &["dump", "new"]).out;
    assert!(dumped.contains("# note: The trace ends early: "), "{}", &dumped[..dumped.len().min(1000)]);
    Ok(())
}

fn recording() -> Outcome {
    let home = scratch();
    let home = home.path();
    let disk = FullDisk::tmpfs(4096)?;
    let before = names(disk.path());
    let trace = disk.path().join("new").display().to_string();
    let program = "i=0; while [ $i -lt 2000 ]; do : >name-$((i * 7919))-$i; i=$((i+1)); done; echo done >end";
    let mut command = iodyno(["record", "-o", &trace, "--", "sh", "-c", program]);
    command.current_dir(home);
    let said = told(command);
    assert_eq!(fs::read_to_string(home.join("end"))?, "done\n", "{}", said.all());
    said.expect(2, &["new: No space left on device", "make room where it goes"]);
    assert_eq!(names(disk.path()), before);
    Ok(())
}
