//! postmark: what it does is what it says, and beside the original the same text, up to the rates, and the same calls.

use std::fs;
use std::path::Path;
use std::process::Command;

use testbed::program::Running;
use testbed::{Case, Need, Outcome};

use crate::program::{IODYNO, Program, ProgramOutput, dressed, iodyno, told};

pub fn cases() -> Vec<Case> {
    let case = |name: &str, body: fn() -> Outcome| Case::new(format!("postmark_{name}"), &[], body);
    let strace = [Need::Tool("postmark"), Need::Tool("strace")];
    vec![
        case("does_what_it_says_and_leaves_nothing", whole).waits(),
        case("what_it_cannot_do_is_one_message_with_its_line", wrong).waits(),
        Case::new("postmark_interrupted_leaves_nothing", &[], interrupted).waits(),
        Case::new("postmark_says_and_calls_what_the_original_does", &strace, beside).against(),
    ]
}

fn postmark(home: &Path, commands: &str) -> ProgramOutput {
    fs::write(home.join("commands"), commands).expect("a file of commands");
    let mut command = iodyno(["postmark", "commands"]);
    command.current_dir(home).env("IODYNO_FINDINGS", "0");
    told(command)
}

/// The names in a directory but that of the commands.
fn left(home: &Path) -> Vec<String> {
    crate::program::names(home).into_iter().filter(|name| name != "commands").collect()
}

fn whole() -> Outcome {
    let home = tempfile::tempdir()?;
    let commands = "set number 30\nset transactions 60\nset subdirectories 3\nset size 5 9000\nrun\n\
                    set buffering false\nset report terse\nrun out\nquit\n";
    let told = postmark(home.path(), commands);
    told.expect(
        0,
        &["Creating subdirectories...Done", "Performing transactions..........Done", "seconds total"],
    );
    assert_eq!(fs::read_to_string(home.path().join("out"))?.split_whitespace().count(), 13);
    assert_eq!(left(home.path()), ["out"]);
    Ok(())
}

fn wrong() -> Outcome {
    let home = tempfile::tempdir()?;
    for (commands, words) in [
        ("set number 5\nset sise 4\nrun\nquit\n", "commands:2: postmark has no command `set sise 4`"),
        ("!touch x\nquit\n", "commands:1: `!` is not supported"),
        ("set location nowhere\nrun\nquit\n", "commands:2: nowhere is no directory"),
        ("set read 0\nquit\n", "expected a whole number from 1"),
    ] {
        postmark(home.path(), commands).expect(1, &[words]);
        assert_eq!(left(home.path()), [""; 0], "{commands}");
    }
    // What its report would be appended to is there already, and stays.
    fs::write(home.path().join("mine"), "dear")?;
    assert_ne!(postmark(home.path(), "run mine\nquit\n").code(), 0);
    assert_eq!(fs::read_to_string(home.path().join("mine"))?, "dear");
    Ok(())
}

fn interrupted() -> Outcome {
    let home = tempfile::tempdir()?;
    fs::write(
        home.path().join("commands"),
        "set number 50\nset transactions 200000\nset size 5 90\nset bias create 8\nrun\nquit\n",
    )?;
    let mut command = iodyno(["postmark", "commands"]);
    command.current_dir(home.path());
    let mut running = Running::start(command);
    running.says("Performing transactions");
    running.signal(libc::SIGINT);
    let told = running.end();
    assert!(!told.out.contains("seconds total"), "{told}");
    assert_eq!(left(home.path()), [""; 0]);
    Ok(())
}

/// Sessions that are done by both.
const SESSIONS: [&str; 4] = [
    "set number 40\nset transactions 100\nshow\nrun\nquit\n",
    "set number 20\nset transactions 50\nset buffering false\nset write 300\nset read 4096\nset report terse\nrun\nquit\n",
    "set number 20\nset transactions 60\nset size 1000 60000\n\
     set write 10000\nset read 9000\nset subdirectories 4\nset seed 7\nrun\nquit\n",
    "set location a 2\nset location +b\nset number 25\nset transactions 40\nset bias read 8\n\
     set bias create 3\nset size 4096\nrun\n\
     set bias read -1\nrun\nhelp set b\nquit\n",
];

/// A line with every figure as one sign.
fn skeleton(text: &str) -> Vec<String> {
    let is_rate = |word: &str| word.trim_matches(['(', ')']).parse::<f64>().is_ok();
    let line = |line: &str| {
        let words = line.split(' ').map(|word| if is_rate(word) { "#" } else { word });
        words.collect::<Vec<_>>().join(" ")
    };
    text.lines().map(line).collect()
}

/// What a traced call does with a file, and how many bytes it moved; none: it is no part of a run.
fn kind(call: &str) -> Option<String> {
    let (name, rest) = call.split_once('(')?;
    let result =
        rest.rsplit_once(" = ").map_or("", |(_, result)| result.split([' ', '<']).next().unwrap_or(""));
    // What is opened or removed is named in quotes, what is open in angle brackets.
    let ends =
        if matches!(name, "openat" | "openat2" | "unlink" | "unlinkat") { ['"', '"'] } else { ['<', '>'] };
    let path = rest.split_once(ends[0])?.1.split(ends[1]).next()?;
    let is_of_system = ["/proc/", "/sys/", "/dev/"].iter().any(|place| path.starts_with(place));
    let (_, file) = path.rsplit_once('/').unwrap_or(("", path));
    if is_of_system || file.is_empty() || !file.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    Some(match name {
        "read" | "pread64" => format!("read {result}"),
        "write" | "pwrite64" => format!("write {result}"),
        "openat" | "openat2" if rest.contains("O_APPEND") => "append".into(),
        "openat" | "openat2" if rest.contains("O_CREAT") => "create".into(),
        "openat" | "openat2" => "open".into(),
        "unlink" | "unlinkat" => "unlink".into(),
        "close" => "close".into(),
        _ => return None,
    })
}

/// The text and the calls, in their order, of a program.
fn traced(home: &Path, program: &[&str]) -> Result<(String, Vec<String>), Box<dyn std::error::Error>> {
    let traces = tempfile::tempdir()?;
    let mut command = Command::new("strace");
    command.args([
        "-ff",
        "-qq",
        "-y",
        "-e",
        "trace=read,write,pread64,pwrite64,openat,openat2,unlink,unlinkat,close",
        "-o",
    ]);
    command.arg(traces.path().join("calls"));
    let mut command = dressed(command, program);
    command.current_dir(home).env("IODYNO_FINDINGS", "0");
    let told = Program::new(command).outcome()?;
    assert!(told.status.success(), "{}", told.err);
    let mut calls = Vec::new();
    for entry in fs::read_dir(traces.path())? {
        let text = fs::read(entry?.path())?;
        calls.extend(String::from_utf8_lossy(&text).lines().filter_map(kind));
    }
    Ok((told.out, calls))
}

fn beside() -> Outcome {
    for session in SESSIONS {
        let home = tempfile::tempdir()?;
        for place in ["a", "b"] {
            fs::create_dir(home.path().join(place))?;
        }
        fs::write(home.path().join("commands"), session)?;
        let (theirs, their_calls) = traced(home.path(), &["postmark", "commands"])?;
        let (ours, our_calls) = traced(home.path(), &[IODYNO, "postmark", "commands"])?;
        assert_eq!(skeleton(&ours), skeleton(&theirs), "{session}\n{ours}\n{theirs}");
        assert!(their_calls.len() > 200, "{session}: {}", their_calls.len());
        if let Some(at) = (0..their_calls.len()).find(|at| our_calls.get(*at) != their_calls.get(*at)) {
            panic!("{session}: call {at} is {:?}, theirs {}", our_calls.get(at), their_calls[at]);
        }
        assert_eq!(our_calls.len(), their_calls.len(), "{session}");
    }
    Ok(())
}
