//! dbench: what a load asks for is done, nothing is left, and beside the original the same calls and, up to figures, the same text.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use testbed::{Case, Need, Outcome};

use crate::program::{IODYNO, Program, ProgramOutput, dressed, iodyno, told};

const LOAD: &str = include_str!("../../../../suites/dbench/short.txt");
/// Calls of each client that are compared: more than two passes.
const COMPARED: usize = 450;

pub fn cases() -> Vec<Case> {
    let case = |name: &str, body: fn() -> Outcome| Case::new(format!("dbench_{name}"), &[], body);
    let strace = [Need::Tool("dbench"), Need::Tool("strace")];
    vec![
        case("does_the_load_once_and_leaves_nothing", once),
        case("tells_what_fails_with_its_line_and_leaves_nothing", failing),
        case("what_it_cannot_do_is_one_message_and_nothing_is_left", wrong),
        Case::new("dbench_says_what_the_original_says", &[Need::Tool("dbench")], beside).against(),
        Case::new("dbench_makes_the_originals_calls", &strace, calls).against(),
    ]
}

/// A directory with a load in it, and an empty one for the clients.
fn place() -> std::io::Result<tempfile::TempDir> {
    let home = tempfile::tempdir()?;
    fs::write(home.path().join("load.txt"), LOAD)?;
    fs::create_dir(home.path().join("d"))?;
    Ok(home)
}

fn dbench(home: &Path, line: &str) -> ProgramOutput {
    let mut command = iodyno(["dbench"].into_iter().chain(line.split_whitespace()));
    command.current_dir(home).env("IODYNO_FINDINGS", "0");
    told(command)
}

fn is_empty(home: &Path) -> bool {
    fs::read_dir(home.join("d")).is_ok_and(|mut entries| entries.next().is_none())
}

/// Each request is counted as often as it stands in the load, by each client.
fn once() -> Outcome {
    let home = place()?;
    let home = home.path();
    for (line, clients) in
        [("1", 1), ("2", 2), ("--clients-per-process 3 2", 6), ("-x -sSF --stat-check 1", 1)]
    {
        let told = dbench(home, &format!("--run-once -c load.txt -D d {line}"));
        told.expect(0, &["releasing clients", "Throughput 0 MB/sec"]);
        for (word, name) in [("WriteX", "WriteX"), ("FIND_FIRST", "Find"), ("NTCreateX", "NTCreateX")] {
            let count = LOAD.lines().filter(|line| line.starts_with(word)).count() * clients;
            let row = told.out.lines().find(|line| line.trim_start().starts_with(name)).unwrap_or_default();
            let counted = row.split_whitespace().nth(1).and_then(|count| count.parse::<usize>().ok());
            assert_eq!(counted, Some(count), "{line}: {name}: {told}");
        }
        assert!(is_empty(home), "{line} left something");
    }
    dbench(home, "--run-once -c load.txt -D d --skip-cleanup 1").expect(0, &["Throughput"]);
    // The load ends with `Deltree`, which removes files and leaves directories, as in dbench 4.0.
    assert_eq!(fs::read_dir(home.join("d/clients/client0"))?.count(), 0);
    Ok(())
}

/// A write to what is not open, and the removal of what is not there, end the run; a file that does not open does not.
fn failing() -> Outcome {
    let home = place()?;
    let home = home.path();
    let begin = "Mkdir \"\\clients\" NT_STATUS_OK\nNTCreateX \"\\clients\\client1\" 1 2 1 NT_STATUS_OK\n";
    for (request, status, words) in [
        ("WriteX 7 0 10 10 NT_STATUS_OK", 1, "client0, line 3: WriteX handle 7: "),
        ("Unlink \"\\clients\\client1\\x\" 6 NT_STATUS_OK", 1, "line 3: Unlink /clients/client0/x: "),
        ("Rmdir \"\\clients\\client1\" NT_STATUS_ACCESS_DENIED", 1, "(it was to fail)"),
        ("NTCreateX \"\\clients\\client1\\x\" 0x40 1 2 NT_STATUS_OK", 1, "line 3: NTCreateX"),
    ] {
        fs::write(home.join("load.txt"), format!("{begin}{request}\nClose 1 NT_STATUS_OK\n"))?;
        let told = dbench(home, "--run-once -c load.txt -D d 1");
        told.expect(status, &[words]);
        assert_eq!(told.out.contains("Throughput"), request.starts_with("NTCreateX"), "{told}");
        assert!(is_empty(home), "{request} left something");
    }
    Ok(())
}

fn wrong() -> Outcome {
    let home = place()?;
    let home = home.path();
    fs::write(home.join("bad.txt"), "Close 1 NT_STATUS_OK\nMkdir \"\\..\\x\" NT_STATUS_OK\n")?;
    for (line, words) in [
        ("-c load.txt -D nowhere 1", "nowhere is no directory"),
        ("-c load.txt -D d", "how many processes"),
        ("-c nothing.txt -D d 1", "nothing.txt"),
        ("-c bad.txt -D d 1", "bad.txt:2: "),
        ("-c load.txt -D d -B nfs 1", "over a network"),
        ("-c load.txt -D d --also engine=psync 1", "file server"),
    ] {
        dbench(home, line).expect(1, &[words]);
        assert!(is_empty(home), "{line} left something");
    }
    Ok(())
}

/// Figures and blanks become one sign; what only the original says is left out.
fn skeleton(text: &str) -> Vec<String> {
    let figure = |word: &str| word.chars().all(|letter| letter.is_ascii_digit() || letter == '.');
    let word = |word: &str| match word.split_once("max_latency=") {
        Some(_) => "max_latency=#".to_string(),
        None if figure(word) => "#".to_string(),
        None => word.to_string(),
    };
    let lines = text.lines().map(|line| line.split_whitespace().map(word).collect::<Vec<_>>().join(" "));
    let mut lines: Vec<String> = lines.filter(|line| !line.contains("barrier semaphore")).collect();
    lines.dedup_by(|line, before| line == before && line.contains("prepared for launch"));
    lines
}

fn original(home: &Path, line: &str) -> Result<ProgramOutput, Box<dyn std::error::Error>> {
    let mut command = Command::new("dbench");
    command.args(line.split_whitespace()).current_dir(home).stdin(Stdio::null());
    Ok(Program::new(command).outcome()?)
}

/// With and without a table for each client, durable opens and directories, and where no second has a line.
fn beside() -> Outcome {
    for line in ["-t 2 -c load.txt -D d 2", "-t 1 -c load.txt -D d -s -S --per-client-results 2"] {
        let home = place()?;
        let theirs = original(home.path(), line)?;
        let ours = dbench(home.path(), line);
        ours.expect(0, &["Throughput"]);
        assert_eq!(skeleton(&ours.out), skeleton(&theirs.out), "{ours}");
    }
    Ok(())
}

/// A traced call as far as both programs make it alike: its name, the file below the directory, and what came back.
fn alike(call: &str) -> Option<String> {
    let (name, rest) = call.split_once('(')?;
    let result = rest.rsplit_once(" = ")?.1.split([' ', '<']).next()?;
    let below = match rest.find("/clients") {
        Some(at) => rest[at..].split(['"', '>']).next()?,
        None if name == "statfs" => "",
        None => return None,
    };
    let result = if name == "openat" && !result.starts_with('-') { "open" } else { result };
    Some(format!("{name} {below} = {result}"))
}

/// The calls of each client, by its name, without those on the directory of all of them.
fn traced(
    home: &Path,
    program: &[&str],
    clients: usize,
    line: &str,
) -> Result<Vec<Vec<String>>, Box<dyn std::error::Error>> {
    let traces = tempfile::tempdir()?;
    let mut command = Command::new("strace");
    command.args(["-ff", "-qq", "-y", "-e", "trace=file,desc", "-o"]).arg(traces.path().join("calls"));
    let mut command = dressed(command, program.iter().copied().chain(line.split_whitespace()));
    command.current_dir(home).env("IODYNO_FINDINGS", "0");
    let told = Program::new(command).outcome()?;
    assert!(told.status.success(), "{}", told.err);
    let mut all = vec![Vec::new(); clients];
    for entry in fs::read_dir(traces.path())? {
        let text = fs::read(entry?.path())?;
        let text = String::from_utf8_lossy(&text);
        let calls: Vec<String> = text.lines().filter_map(alike).collect();
        let own = |number: &usize| calls.iter().any(|call| call.contains(&format!("/client{number}")));
        if let Some(number) = (0..clients).find(own) {
            all[number] =
                calls.into_iter().filter(|call| clients == 1 || !call.contains("/clients =")).collect();
        }
    }
    Ok(all)
}

/// The same calls in the same order with the same results, of one client and of two, and with all that a server does besides.
fn calls() -> Outcome {
    for (clients, further) in [(1, ""), (2, ""), (1, "-x -s -S -F"), (1, "--stat-check --no-resolve")] {
        // dbench leaves directories, which a run after it would find.
        let (home, other) = (place()?, place()?);
        let line = format!("-t 1 -c load.txt -D d {further} {clients}");
        let theirs = traced(other.path(), &["dbench"], clients, &line)?;
        let ours = traced(home.path(), &[IODYNO, "dbench"], clients, &line)?;
        for (ours, theirs) in ours.iter().zip(&theirs) {
            assert!(ours.len() > COMPARED && theirs.len() > COMPARED, "{} {}", ours.len(), theirs.len());
            let same = ours.iter().zip(theirs).take(COMPARED).position(|(ours, theirs)| ours != theirs);
            assert_eq!(same, None, "{line}: {:?}", same.map(|at| (&ours[at..at + 4], &theirs[at..at + 4])));
        }
    }
    Ok(())
}
