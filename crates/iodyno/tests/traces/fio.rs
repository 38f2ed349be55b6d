//! fio's logs in both directions: what fio replays of ours, what we replay of fio's, and that memory does not follow a log.

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;
use testbed::{Case, Need, Outcome};

use crate::import::trace;
use crate::program::{iodyno, scratch, told};

pub fn cases() -> Vec<Case> {
    let fio = &[Need::Tool("fio")];
    vec![
        Case::new("fio_replays_three_million_lines_in_64_mib", &[], replays_in_little_memory),
        Case::new("fio_opens_and_closes_files_where_its_log_does", &[Need::Tool("strace")], opens_and_closes),
        Case::new("fio_and_ours_replay_a_log_alike", fio, replay_alike),
        Case::new("fio_replays_what_we_export", fio, replays_exports),
        Case::new("we_replay_what_fio_wrote", fio, replays_what_fio_wrote),
        Case::new("blkparse_and_ours_read_a_block_trace_alike", &[Need::Tool("blkparse")], parse_alike),
    ]
}

/// The most memory of a child that has ended, and of its children, bytes; its exit status.
fn run_measured(mut command: Command) -> (u64, i32) {
    // It is waited for by a call that tells its memory as well.
    #[allow(clippy::zombie_processes)]
    let child = command.stdout(Stdio::null()).process_group(0).spawn().expect("starting");
    let (mut status, mut usage) = (0, std::mem::MaybeUninit::<libc::rusage>::zeroed());
    // SAFETY: the child is ours and is waited for once; both pointers are valid for the call.
    let ended = unsafe { libc::wait4(child.id() as i32, &raw mut status, 0, usage.as_mut_ptr()) };
    assert_eq!(ended, child.id() as i32);
    // SAFETY: the call has filled it, and zeroes are valid too.
    let usage = unsafe { usage.assume_init() };
    (usage.ru_maxrss as u64 * 1024, libc::WEXITSTATUS(status))
}

fn replays_in_little_memory() -> Outcome {
    const LINES: u64 = 3_000_000;
    let home = scratch();
    let mut log = BufWriter::new(File::create(home.path().join("long.log"))?);
    writeln!(log, "fio version 2 iolog\ndata add\ndata open")?;
    for line in 0..LINES {
        let verb = if line % 3 == 0 { "write" } else { "read" };
        writeln!(log, "data {verb} {} 4096", line * 7919 % 100_000 * 4096)?;
    }
    writeln!(log, "data close")?;
    log.into_inner()?.sync_all()?;
    for kind in ["--thread=0", "--thread=1"] {
        let mut command = iodyno(["fio", "--name=j", "--read_iolog=long.log", "--ioengine=null"]);
        command.args(["--replay_no_stall=1", kind, "--output-format=json", "--output=o.json"]);
        command.current_dir(home.path());
        let (peak, status) = run_measured(command);
        let job = first_job(&home.path().join("o.json"));
        assert_eq!((status, job["read"]["total_ios"].as_u64()), (0, Some(LINES * 2 / 3)), "{kind}");
        assert_eq!(job["write"]["total_ios"].as_u64(), Some(LINES / 3), "{kind}");
        assert!(peak < 64 << 20, "{kind}: {} MiB", peak >> 20);
    }
    Ok(())
}

const STAMPED: &str = "fio version 3 iolog\n0 a add\n0 b add\n0 a open\n1000 a read 0 4096\n2000 a write 9000 4096\n\
    2500 a datasync 0 0\n2600 a close\n3000 b open\n4000 b read 8192 4096\n4500 b sync 0 0\n5000 b close\n\
    5500 a open\n6000 a read 4096 512\n6500 a close\n";

fn first_job(path: &Path) -> Value {
    let text = fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let start = text.find('{').expect("a document");
    let document: Value = serde_json::from_str(&text[start..]).expect("JSON");
    document["jobs"][0].clone()
}

/// Operations and bytes of reads and writes, as a fio counts them.
fn totals(home: &Path, mut program: Command, words: &[&str]) -> Vec<u64> {
    fs::write(home.join("a"), vec![1; 1 << 20]).expect("a file");
    fs::write(home.join("b"), vec![2; 1 << 20]).expect("a file");
    program.args(words).args(["--output-format=json", "--output=o.json"]).current_dir(home);
    let said = told(program);
    assert_eq!(said.code(), 0, "{}", said.all());
    let job = first_job(&home.join("o.json"));
    let of = |way: &str, what: &str| job[way][what].as_u64().unwrap_or_else(|| panic!("{way} {what}: {job}"));
    vec![of("read", "total_ios"), of("read", "io_bytes"), of("write", "total_ios"), of("write", "io_bytes")]
}

fn both(home: &Path, words: &[&str]) -> [Vec<u64>; 2] {
    [totals(home, Command::new("fio"), words), totals(home, iodyno(["fio"]), words)]
}

fn replay_alike() -> Outcome {
    let home = scratch();
    let home = home.path();
    fs::write(home.join("stamped.log"), STAMPED)?;
    let second = "fio version 2 iolog\na add\na open\na read 0 4096\na wait 20 0\na write 512 512\nnonsense\n\
                  a what 1 2\na close\n";
    fs::write(home.join("second.log"), second)?;
    let stamped = "--read_iolog=stamped.log";
    for words in [
        &["--name=j", stamped][..],
        &["--name=j", stamped, "--replay_no_stall=1"],
        &["--name=j", stamped, "--replay_time_scale=300"],
        &["--name=j", stamped, "--replay_redirect=a"],
        &["--name=j", stamped, "--replay_scale=2", "--replay_align=512"],
        &["--name=j", stamped, "--readonly"],
        &["--name=j", stamped, "--numjobs=3", "--group_reporting"],
        &["--name=j", stamped, "--read_iolog_chunked=1"],
        &["--name=j", "--read_iolog=second.log"],
        &["--name=j", "--read_iolog=stamped.log:second.log", "--numjobs=2", "--group_reporting"],
    ] {
        let [theirs, ours] = both(home, words);
        assert_eq!(theirs, ours, "{words:?}");
    }
    // fio 3.33 takes the option for block traces alone; ours for its own logs too.
    let [_, ours] = both(home, &["--name=j", stamped, "--replay_skip=write"]);
    assert_eq!(ours, [3, 8704, 0, 0]);
    Ok(())
}

/// What a program did with two files: a letter for each call.
fn opens_and_closes() -> Outcome {
    let home = scratch();
    let home = home.path();
    fs::write(home.join("a"), vec![1; 1 << 20])?;
    fs::write(home.join("b"), vec![2; 1 << 20])?;
    fs::write(home.join("stamped.log"), STAMPED)?;
    let mut command = Command::new("strace");
    command.args([
        "-f",
        "-y",
        "-o",
        "calls",
        "-e",
        "trace=openat,open,pread64,pwrite64,fsync,fdatasync,close",
    ]);
    command.arg(crate::program::IODYNO).args(["fio", "--name=j", "--thread", "--read_iolog=stamped.log"]);
    command.current_dir(home);
    let said = told(command);
    assert_eq!(said.code(), 0, "{}", said.all());
    let text = fs::read_to_string(home.join("calls"))?;
    let letter = |line: &str| {
        let file = ["a", "b"]
            .into_iter()
            .find(|name| line.contains(&format!("\"{name}\"")) || line.contains(&format!("/{name}>")))?;
        let call = line.split_whitespace().nth(1)?.split('(').next()?;
        let kind = match call {
            "openat" | "open" if line.contains("O_RDWR") => "open",
            "pread64" => "read",
            "pwrite64" => "write",
            "fsync" | "fdatasync" | "close" => call,
            _ => return None,
        };
        Some(format!("{kind} {file}"))
    };
    let calls: Vec<String> =
        text.lines().filter(|line| !line.contains("resumed")).filter_map(letter).collect();
    let first = calls.iter().position(|call| call == "read a").expect("a read");
    let expected = [
        "open a",
        "read a",
        "write a",
        "fdatasync a",
        "close a",
        "open b",
        "read b",
        "fsync b",
        "close b",
        "open a",
        "read a",
        "close a",
    ];
    assert_eq!(calls[first - 1..first - 1 + expected.len()], expected, "{calls:#?}");
    Ok(())
}

fn replays_exports() -> Outcome {
    let home = scratch();
    let home = home.path();
    fs::write(home.join("stamped.log"), STAMPED)?;
    trace(home, &["import", "stamped.log", "-o", "t.iot"]).expect(0, &["of 2 files"]);
    for (format, name) in [("fio2", "two.log"), ("fio3", "three.log")] {
        trace(home, &["export", "t.iot", "--as", format, "-o", name]).expect(0, &[]);
        let log = format!("--read_iolog={name}");
        let [theirs, ours] = both(home, &["--name=j", &log]);
        assert_eq!(theirs, [3, 8704, 1, 4096], "{format}");
        assert_eq!(theirs, ours, "{format}");
    }
    Ok(())
}

fn replays_what_fio_wrote() -> Outcome {
    let home = scratch();
    let home = home.path();
    let job = [
        "--name=w",
        "--rw=randrw",
        "--size=1m",
        "--bs=4k",
        "--filename=a",
        "--write_iolog=w.log",
        "--fsync=16",
    ];
    let written = totals(home, Command::new("fio"), &job);
    let [theirs, ours] = both(home, &["--name=j", "--read_iolog=w.log", "--replay_no_stall=1"]);
    assert_eq!((&theirs, &ours), (&written, &written));
    // The other way round.
    let written = totals(home, iodyno(["fio"]), &job);
    let [theirs, ours] = both(home, &["--name=j", "--read_iolog=w.log", "--replay_no_stall=1"]);
    assert_eq!((&theirs, &ours), (&written, &written));
    // And as a trace, by our own replay.
    trace(home, &["import", "w.log", "-o", "w.iot"]).expect(0, &["of 1 file"]);
    let mut replay = iodyno(["replay", "w.iot", "a", "--destroy", "a", "--mode", "fast", "--cached"]);
    replay.current_dir(home);
    told(replay).expect(0, &[]);
    Ok(())
}

/// A record of version 7.
fn event(sequence: u32, time_ns: u64, (sector, bytes): (u64, u32), (traits, action): (u32, u32)) -> Vec<u8> {
    let mut out = Vec::new();
    out.extend([0x6561_7407_u32, sequence].iter().flat_map(|word| word.to_le_bytes()));
    out.extend([time_ns, sector].iter().flat_map(|word| word.to_le_bytes()));
    let words = [bytes, traits << 16 | action, 77, 8 << 20 | 16, 0, 0];
    out.extend(words.iter().flat_map(|word| word.to_le_bytes()));
    out
}

/// The lines of events, by what they say of a request: time, letter, traits, and its place.
fn events(text: &str, letters: &[&str]) -> Vec<String> {
    let told = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [device, _, _, time, _, letter, traits, rest @ ..] = &words[..] else { return None };
        let is_event = device.contains(',') && letters.contains(letter);
        let place: Vec<&str> =
            rest.iter().take_while(|word| !word.starts_with(['[', '('])).copied().collect();
        is_event.then(|| format!("{device} {time} {letter} {traits} {}", place.join(" ")))
    };
    text.lines().filter_map(told).collect()
}

fn parse_alike() -> Outcome {
    const READ: u32 = 1;
    const WRITE: u32 = 1 << 1;
    const SYNC: u32 = 1 << 3;
    const META: u32 = 1 << 12;
    const DISCARD: u32 = 1 << 13;
    const FLUSH: u32 = 1 << 2;
    const FUA: u32 = 1 << 15;
    let home = scratch();
    let home = home.path();
    let (queue, issue, complete) = (1 | 1 << 20, 7 | 1 << 22, 8 | 1 << 23);
    let requests = [
        (1_000, (8, 4096), READ),
        (2_000, (64, 8192), WRITE | SYNC),
        (2_500, (1024, 512), READ | META),
        (3_000, (128, 4096), WRITE | DISCARD),
        (9_000_000, (256, 4096), WRITE | FUA | SYNC),
        (1_500_000_000, (264, 4096), WRITE | FLUSH | FUA),
    ];
    let mut all = Vec::new();
    for (at_ns, place, traits) in requests {
        all.push((at_ns, place, (traits, queue)));
        all.push((at_ns, place, (traits, issue)));
        all.push((at_ns + 50_000, place, (traits, complete)));
    }
    all.sort_by_key(|one| one.0);
    let bytes =
        all.iter().enumerate().flat_map(|(number, one)| event(number as u32 + 1, one.0, one.1, one.2));
    fs::write(home.join("x.blktrace.0"), bytes.collect::<Vec<u8>>())?;
    let mut blkparse = Command::new("blkparse");
    blkparse.args(["-i", "x"]).current_dir(home);
    let theirs = told(blkparse);
    assert_eq!(theirs.code(), 0, "{}", theirs.all());
    trace(home, &["import", "x.blktrace.0", "-o", "x.iot"]).expect(0, &["6 records"]);
    let ours = trace(home, &["export", "x.iot", "--as", "blkparse"]);
    let letters = ["Q", "D", "C"];
    let (mut theirs, mut ours) = (events(&theirs.out, &letters), events(&ours.out, &letters));
    theirs.sort();
    ours.sort();
    assert_eq!(theirs.len(), 18, "{theirs:#?}");
    assert_eq!(theirs, ours);
    // What is exported is imported again as the same trace.
    let text = trace(home, &["export", "x.iot", "--as", "blkparse", "-o", "x.txt"]);
    text.expect(0, &[]);
    trace(home, &["import", "x.txt", "-o", "y.iot"]).expect(0, &["6 records"]);
    Ok(())
}
