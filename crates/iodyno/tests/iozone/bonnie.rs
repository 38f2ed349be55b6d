//! bonnie++: what it does is what it says, and beside the original, up to figures, the same calls and the same text.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use testbed::{Case, Need, Outcome};

use crate::program::{IODYNO, Program, ProgramOutput, dressed, iodyno, told};

pub fn cases() -> Vec<Case> {
    let case = |name: &str, body: fn() -> Outcome| Case::new(format!("bonnie_{name}"), &[], body);
    let original = [Need::Tool("bonnie++"), Need::Tool("bon_csv2html"), Need::Tool("bon_csv2txt")];
    let strace = [Need::Tool("bonnie++"), Need::Tool("strace")];
    vec![
        case("does_what_it_says_and_leaves_nothing", whole),
        case("values_alone_are_on_standard_output", quiet),
        case("what_it_cannot_do_is_one_message_and_nothing_is_left", wrong),
        Case::new("bonnie_another_user_makes_the_files", &[Need::Root], another_user),
        Case::new("bonnie_says_what_the_original_says", &original, beside).against(),
        Case::new("bonnie_makes_the_originals_calls", &strace, calls).against(),
    ]
}

/// The options that every line needs here: root says as whom.
fn words(line: &str) -> Vec<String> {
    // SAFETY: the call takes no pointers and cannot fail.
    let is_root = unsafe { libc::geteuid() } == 0;
    let user = if is_root { "-u root " } else { "" };
    format!("{user}-r 0 -z 7 -m laboratory {line}").split_whitespace().map(String::from).collect()
}

fn bonnie(home: &Path, line: &str) -> ProgramOutput {
    let mut command = iodyno(["bonnie++".to_string()].into_iter().chain(words(line)));
    command.current_dir(home).env("IODYNO_FINDINGS", "0");
    told(command)
}

fn is_empty(home: &Path) -> bool {
    fs::read_dir(home).is_ok_and(|mut entries| entries.next().is_none())
}

/// The lines of progress, each once, and after all of them nothing.
fn whole() -> Outcome {
    let home = tempfile::tempdir()?;
    for line in ["-s 3:4k:57:4 -n 1 -f1", "-s 2 -f -b -n 1:9k:1:1:1k", "-s 0 -n 1:-1:0:3", "-s 0 -n 1:-2 -b"]
    {
        let told = bonnie(home.path(), line);
        told.expect(0, &["1.98,2.00a,laboratory,1,7,"]);
        let files =
            ["Create", "Stat", "Delete"].iter().map(|what| format!("{what} files in random order...done."));
        for what in files {
            assert!(told.err.contains(&what), "{told}");
        }
        assert_eq!(told.err.contains("Writing a byte at a time...done"), line.contains("-f1"), "{told}");
        assert_eq!(told.err.contains("start 'em...done"), !line.contains("-s 0"), "{told}");
        assert!(is_empty(home.path()), "{line} left something");
    }
    Ok(())
}

fn quiet() -> Outcome {
    let home = tempfile::tempdir()?;
    let one = bonnie(home.path(), "-s 2 -f -n 0 -q");
    one.expect(0, &[]);
    assert_eq!(one.out.lines().count(), 1, "{one}");
    assert!(one.err.starts_with("Version 2.00a") && !one.err.contains("done"), "{one}");
    let two = bonnie(home.path(), "-s 2 -f -n 1 -x 2");
    two.expect(0, &[]);
    let lines: Vec<&str> = two.out.lines().collect();
    assert!(lines.len() == 3 && lines[0].starts_with("format_version,bonnie_version,name,"), "{two}");
    Ok(())
}

fn wrong() -> Outcome {
    let home = tempfile::tempdir()?;
    for (line, words) in [
        ("-d nowhere", "nowhere is no directory"),
        ("-s 100 -r 100", "less than twice the memory"),
        ("-s 2:5000", "a power of two"),
        ("-p 2", "several jobs"),
    ] {
        bonnie(home.path(), line).expect(1, &[words]);
        assert!(is_empty(home.path()), "{line} left something");
    }
    // What it is to make is there already, and stays.
    fs::write(home.path().join("f"), "mine")?;
    bonnie(home.path(), "-d f").expect(1, &["no directory"]);
    assert_eq!(fs::read_to_string(home.path().join("f"))?, "mine");
    Ok(())
}

/// A directory that only another user may write to: files are made and deleted in it, and all of it goes.
fn another_user() -> Outcome {
    use std::os::unix::fs::{PermissionsExt, chown};
    let home = tempfile::tempdir()?;
    fs::set_permissions(home.path(), fs::Permissions::from_mode(0o711))?;
    let place = home.path().join("theirs");
    fs::create_dir(&place)?;
    chown(&place, Some(65534), Some(65534))?;
    let line = "bonnie++ -u 65534:65534 -r 0 -s 1 -f -n 1:100 -d theirs";
    let mut command = iodyno(line.split(' '));
    command.current_dir(home.path()).env("IODYNO_FINDINGS", "0");
    told(command).expect(0, &["1.98,2.00a,", "Using uid:65534, gid:65534."]);
    assert!(is_empty(&place));
    Ok(())
}

fn original(home: &Path, line: &str) -> Result<(String, String), Box<dyn std::error::Error>> {
    let mut command = Command::new("bonnie++");
    command.args(words(line)).current_dir(home);
    let told = Program::new(command).outcome()?;
    Ok((told.out, told.err))
}

/// Every figure, with its unit and what stands in its place, becomes one sign; blanks do not count.
fn skeleton(text: &str) -> Vec<String> {
    let is_figure = |letter: char| letter.is_ascii_digit() || "+.".contains(letter);
    let unit = |word: &str| {
        let rest = word.trim_start_matches(is_figure);
        rest.len() < word.len() && matches!(rest, "" | "us" | "ms" | "s" | "k" | "m" | "g")
    };
    let figures = |line: &str, sign: char| {
        let words = line.split(sign).filter(|word| sign == ',' || !word.is_empty());
        words.map(|word| if unit(word) { "#" } else { word }).collect::<Vec<_>>().join(&sign.to_string())
    };
    text.lines().map(|line| figures(line, if line.starts_with("1.98") { ',' } else { ' ' })).collect()
}

/// What a reader of Debian's makes of a line of values.
fn read_by(reader: &str, values: &str) -> Result<String, Box<dyn std::error::Error>> {
    let mut child = Command::new(reader).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    std::io::Write::write_all(&mut child.stdin.take().ok_or("no pipe")?, format!("{values}\n").as_bytes())?;
    Ok(String::from_utf8(child.wait_with_output()?.stdout)?)
}

fn beside() -> Outcome {
    let home = tempfile::tempdir()?;
    for line in ["-s 1:64k:9:2 -f -n 1:100:10:3 -c 2", "-s 0 -n 1:-1"] {
        let (out, err) = original(home.path(), line)?;
        let ours = bonnie(home.path(), line);
        assert_eq!(skeleton(&ours.out), skeleton(&out), "{line}\n{}\n{out}", ours.out);
        assert_eq!(ours.err, err, "{line}");
        let values = |text: &str| text.lines().last().unwrap_or_default().to_string();
        let page = |out: &str| read_by("bon_csv2html", &values(out));
        let cells = |page: &str| page.matches("<td").count();
        assert_eq!(cells(&page(&ours.out)?), cells(&page(&out)?), "{line}");
        assert!(page(&ours.out)?.contains("laboratory"), "{line}");
        assert_eq!(
            skeleton(&read_by("bon_csv2txt", &values(&ours.out))?),
            skeleton(&read_by("bon_csv2txt", &values(&out))?)
        );
    }
    Ok(())
}

/// The calls that are counted.
const CALLS: &str =
    "trace=read,write,pread64,pwrite64,openat,openat2,mkdir,mkdirat,unlink,unlinkat,newfstatat,statx";

/// What a traced call is, with the bytes that it moved; none: it is no part of the tests.
fn kind(call: &str) -> Option<String> {
    let (name, rest) = call.split_once('(')?;
    let result =
        rest.rsplit_once(" = ").map_or("", |(_, result)| result.split([' ', '<']).next().unwrap_or(""));
    // Every name of a file has a number of ten digits, of which seven are zeros.
    let is_file = rest.contains("0000000");
    let what = match name {
        "unlink" | "unlinkat" if result == "0" && (is_file || rest.contains("Bonnie.")) => "unlink".into(),
        _ if !rest.contains("Bonnie.") => return None,
        "read" | "pread64" => format!("read {result}"),
        "write" | "pwrite64" => format!("write {result}"),
        "openat" | "openat2" if rest.contains("O_CREAT") => "create".into(),
        "mkdir" | "mkdirat" => "mkdir".into(),
        "newfstatat" | "statx" if is_file => "stat".into(),
        _ => return None,
    };
    (!rest.contains("AT_REMOVEDIR")).then_some(what)
}

/// Calls of a program by what they are and how many bytes they move.
fn counted(
    home: &Path,
    program: &[&str],
    line: &str,
) -> Result<BTreeMap<String, u64>, Box<dyn std::error::Error>> {
    // A file for each process: no call is told in two halves.
    let traces = tempfile::tempdir()?;
    let mut command = Command::new("strace");
    command.args(["-ff", "-qq", "-y", "-e", CALLS, "-o"]).arg(traces.path().join("calls"));
    let mut command = dressed(command, program.iter().map(|word| word.to_string()).chain(words(line)));
    command.current_dir(home).env("IODYNO_FINDINGS", "0");
    let told = Program::new(command).outcome()?;
    assert!(told.status.success(), "{}", told.err);
    let mut counts = BTreeMap::new();
    for entry in fs::read_dir(traces.path())? {
        let text = fs::read(entry?.path())?;
        for what in String::from_utf8_lossy(&text).lines().filter_map(kind) {
            *counts.entry(what).or_default() += 1;
        }
    }
    Ok(counts)
}

/// As many chunks read and written, files made, looked at, read and deleted; only how many seeks update is drawn.
fn calls() -> Outcome {
    let home = tempfile::tempdir()?;
    let line = "-s 1:16k:40:4 -f -n 1:300:300";
    let mut theirs = counted(home.path(), &["bonnie++"], line)?;
    let mut ours = counted(home.path(), &[IODYNO, "bonnie++"], line)?;
    // The original makes the file once more, and removes it, before the first test.
    ["create", "unlink"].iter().for_each(|what| *theirs.entry(what.to_string()).or_insert(1) -= 1);
    let updates =
        |calls: &mut BTreeMap<String, u64>| calls.remove("write 16384").unwrap_or(0).checked_sub(128);
    assert_eq!(updates(&mut ours), Some(4), "{ours:?}");
    assert!(updates(&mut theirs).is_some_and(|updates| updates <= 40), "{theirs:?}");
    assert_eq!((ours.get("read 16384"), ours.get("create")), (Some(&168), Some(&2049)));
    assert_eq!(ours, theirs);
    Ok(())
}
