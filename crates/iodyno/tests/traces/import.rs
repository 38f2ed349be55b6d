//! `trace import`: what it prints, what it refuses, what it leaves behind.

use std::fs;
use std::io::Write;
use std::path::Path;

use testbed::{Case, Need, Outcome};

use crate::program::{Program, ProgramOutput, iodyno, names, scratch, told};

const MSR: &str = "128166372003061629,usr,0,Read,7014609920,24576,41286\n\
                   128166372013061629,usr,0,Write,0,512,7\n";

pub fn cases() -> Vec<Case> {
    vec![
        Case::new("import_tells_what_it_made_and_overwrites_nothing", &[], makes_a_trace),
        Case::new("import_names_wrong_lines_and_leaves_nothing_of_a_failure", &[], names_wrong_lines),
        Case::new("import_ended_by_the_user_leaves_a_whole_trace", &[], ended_by_the_user),
        Case::new("import_lists_formats_with_examples", &[], lists_formats),
        Case::new("import_reads_what_fio_wrote", &[Need::Tool("fio")], reads_logs_of_fio),
        Case::new("a_load_of_dbench_ends_as_it_says", &[], replays_a_load),
        Case::new(
            "dbench_counts_the_operations_of_a_load_as_ours",
            &[Need::Tool("dbench")],
            counts_as_dbench,
        )
        .against(),
    ]
}

/// Runs `iodyno trace` in a directory.
pub fn trace(home: &Path, words: &[&str]) -> ProgramOutput {
    let mut command = iodyno(["trace"].iter().chain(words));
    command.current_dir(home);
    told(command)
}

/// The lines of a trace's records.
pub fn records(home: &Path, name: &str) -> Vec<String> {
    let dumped = trace(home, &["dump", name]);
    assert_eq!(dumped.code(), 0, "{}", dumped.all());
    dumped.out.lines().filter(|line| !line.starts_with('#')).map(String::from).collect()
}

fn makes_a_trace() -> Outcome {
    let home = scratch();
    let home = home.path();
    fs::write(home.join("usr.csv"), MSR)?;
    let made = trace(home, &["import", "usr.csv", "-o", "t.iot"]);
    made.expect(0, &["t.iot: 2 records of 1 file over 1 s, ", "bytes each), from csv:msr"]);
    assert!(made.out.is_empty());
    assert_eq!(records(home, "t.iot").len(), 2);
    let before = fs::read(home.join("t.iot"))?;
    trace(home, &["import", "usr.csv", "-o", "t.iot"]).expect(2, &["t.iot", "--force"]);
    assert_eq!(fs::read(home.join("t.iot"))?, before);
    trace(home, &["import", "usr.csv", "-o", "t.iot", "--force"]).expect(0, &["2 records"]);
    // To a pipe, and from one.
    let mut command = std::process::Command::new("sh");
    let line = format!(
        "'{0}' trace import - < usr.csv | '{0}' trace dump - | grep -c -v '^#'",
        crate::program::IODYNO
    );
    command.args(["-c", &line]).current_dir(home);
    assert_eq!(told(command).out.trim(), "2");
    assert_eq!(names(home), ["t.iot", "usr.csv"]);
    Ok(())
}

fn names_wrong_lines() -> Outcome {
    let home = scratch();
    let home = home.path();
    fs::write(home.join("usr.csv"), format!("{MSR}128166372013061630,usr,0,Rite,0,512,7\n"))?;
    let made = trace(home, &["import", "usr.csv", "--as", "msr", "-o", "t.iot"]);
    made.expect(
        0,
        &["warning: usr.csv:3: column 3: no operation that is known", "note: wrong lines, left out: 1"],
    );
    trace(home, &["import", "usr.csv", "--as", "msr", "--strict", "-o", "s.iot"])
        .expect(2, &["usr.csv:3: column 3", "--strict"]);
    fs::write(home.join("noise"), "hello\n")?;
    trace(home, &["import", "noise", "-o", "s.iot"])
        .expect(2, &["noise", "no format that is known begins with `hello`"]);
    trace(home, &["import", "noise", "--as", "mrs", "-o", "s.iot"]).expect(2, &["`mrs` is no format", "msr"]);
    trace(home, &["import", "noise", "--csv", "ts=0", "-o", "s.iot"]).expect(2, &["`ts` needs a unit"]);
    trace(home, &["import", "none", "-o", "s.iot"]).expect(2, &["none", "cannot be read"]);
    trace(home, &["import", "usr.csv", "--as", "fio", "-o", "s.iot"]).expect(2, &["usr.csv:1", "no iolog"]);
    assert_eq!(names(home), ["noise", "t.iot", "usr.csv"]);
    Ok(())
}

fn ended_by_the_user() -> Outcome {
    let home = scratch();
    let home = home.path();
    let mut command = iodyno(["trace", "import", "-", "--as", "disksim", "-o", "t.iot"]);
    command.current_dir(home);
    let mut running = Program::new(command).input(std::process::Stdio::piped()).start();
    let mut input = running.input().expect("a pipe");
    let feeder = std::thread::spawn(move || {
        let line = (0..2000).map(|n| format!("{n}.0 0 {n} 8 1\n")).collect::<String>();
        // Until the program ends.
        while input.write_all(line.as_bytes()).is_ok() {}
    });
    let path = home.join("t.iot");
    running.until("the trace", || path.exists());
    running.signal(libc::SIGINT);
    let ended = running.end();
    feeder.join().expect("the feeder");
    assert!(ended.err.contains("note: the import was interrupted: the trace ends early"), "{}", ended.all());
    let dumped = trace(home, &["dump", "t.iot"]);
    assert!(dumped.code() == 0 && dumped.out.contains("note: the import was interrupted"), "{}", dumped.err);
    Ok(())
}

fn lists_formats() -> Outcome {
    let home = scratch();
    let listed = trace(home.path(), &["import", "--list"]);
    listed.expect(0, &["msr ", "--csv 'ts=0:filetime", "blktrace ", "iodedup "]);
    Ok(())
}

fn reads_logs_of_fio() -> Outcome {
    let home = scratch();
    let home = home.path();
    let mut command = std::process::Command::new("fio");
    let words = "--name=a --filename=data --size=1m --rw=randrw --bs=4k --fsync=16 --write_iolog=log --output-format=json";
    command.args(words.split(' ')).current_dir(home);
    let ran = told(command);
    assert_eq!(ran.code(), 0, "{}", ran.all());
    let json: serde_json::Value = serde_json::from_str(&ran.out[ran.out.find('{').expect("JSON")..])?;
    trace(home, &["import", "log", "-o", "t.iot"]).expect(0, &["fio iolog 3"]);
    let records = records(home, "t.iot");
    for (verb, key) in [("read", "read"), ("write", "write"), ("fsync", "sync")] {
        let found = records.iter().filter(|line| line.split_whitespace().any(|word| word == verb)).count();
        let total = &json["jobs"][0][key]["total_ios"];
        assert_eq!(Some(found as u64), total.as_u64(), "{verb}");
    }
    Ok(())
}

/// A load of dbench with the operations that dbench has, in the words of its table and of a trace.
const LOAD: &str = include_str!("../../../../suites/dbench/short.txt");
const OPERATIONS: [(&str, &str); 14] = [
    ("NTCreateX", "open"),
    ("Close", "close"),
    ("Rename", "rename"),
    ("Unlink", "unlink"),
    ("Qpathinfo", "stat"),
    ("Qfileinfo", "fstat"),
    ("Qfsinfo", "statfs"),
    ("Sfileinfo", "utimens"),
    ("Find", "readdir"),
    ("WriteX", "write"),
    ("ReadX", "read"),
    ("LockX", "lock"),
    ("UnlockX", "unlock"),
    ("Flush", "fsync"),
];

/// How many records of a verb there are.
fn count_of(records: &[String], verb: &str) -> u64 {
    records.iter().filter(|line| line.split_whitespace().nth(1) == Some(verb)).count() as u64
}

fn replays_a_load() -> Outcome {
    let home = scratch();
    let home = home.path();
    fs::write(home.join("load.txt"), LOAD)?;
    let mut command = iodyno(["replay", "load.txt", "tree", "--mode", "fast", "--copies", "2"]);
    command.current_dir(home);
    told(command).expect(0, &["186 of 186 operations", "182 compared, 0 differ"]);
    for copy in ["copy1", "copy2"] {
        assert_eq!(names(&home.join("tree").join(copy)), ["clients"], "its client's directory is gone");
    }
    Ok(())
}

/// dbench goes round until its time is up, so each operation was done as often as there are rounds, or once more.
fn counts_as_dbench() -> Outcome {
    let home = scratch();
    let home = home.path();
    fs::write(home.join("load.txt"), LOAD)?;
    trace(home, &["import", "load.txt", "-o", "t.iot"]).expect(0, &["from dbench"]);
    let records = records(home, "t.iot");
    let mut command = std::process::Command::new("dbench");
    command.args(["-t", "1", "-c", "load.txt", "-D", ".", "1"]).current_dir(home);
    let ran = told(command);
    assert_eq!(ran.code(), 0, "{}", ran.all());
    let counted = |name: &str| {
        let mut lines = ran.out.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
        let line = lines.find(|words| words.len() == 4 && words[0] == name);
        line.and_then(|words| words[1].parse::<u64>().ok()).unwrap_or_else(|| panic!("{name}: {}", ran.all()))
    };
    let rounds = counted("Find");
    for (name, verb) in OPERATIONS {
        let (theirs, ours) = (counted(name), count_of(&records, verb));
        assert!(
            ours > 0 && theirs >= ours * (rounds - 1) && theirs <= ours * (rounds + 1),
            "{name}: {theirs}"
        );
    }
    Ok(())
}
