//! What can be asked and what is answered: users, wrong words, full and read-only places, every form of report.

use super::report::{beside, iodyno, judge, judged, said, testbed_home};
use super::traces::Trace;
use std::path::Path;
use std::process::Command;
use testbed::rogue::{Fault, Rogue};
use testbed::sandbox::{FullDisk, Mount, UnprivilegedUser, keep_to_one_processor};
use testbed::{Case, Need, Outcome};

pub fn cases() -> Vec<Case> {
    let mount = [Need::Root, Need::Mount];
    let fuse = [Need::Root, Need::Fuse];
    vec![
        Case::new("a_user_does_what_he_can", &[Need::Root], as_a_user),
        Case::new("a_missing_directory_is_one_error", &[], missing),
        Case::new("a_file_is_no_directory", &[], no_directory),
        Case::new("a_read_only_place_is_one_error", &mount, read_only),
        Case::new("a_full_disk_is_told", &mount, full),
        Case::new("an_unknown_option_is_refused", &[], unknown_option),
        Case::new("an_unknown_group_is_refused", &[], unknown_group),
        Case::new("a_baseline_shows_differences", &fuse, baseline),
        Case::new("it_runs_beside_a_job_file", &mount, with_a_job),
        Case::new("junit_is_xml", &fuse, junit),
        Case::new("tap_has_a_plan", &fuse, tap),
        Case::new("a_report_overwrites_nothing", &mount, overwrites_nothing),
        Case::new("a_failure_says_what_and_how", &fuse, says_what_and_how),
        Case::new("many_broken_rules_are_a_dozen_causes", &fuse, causes),
    ]
}

fn as_a_user() -> Outcome {
    let user = UnprivilegedUser::new()?;
    let place = user.directory().join("place");
    std::fs::create_dir(&place)?;
    std::os::unix::fs::chown(&place, Some(65534), Some(65534))?;
    let mut command = user.command(super::report::IODYNO);
    command.arg("posix").arg(&place);
    let trace = Trace::of(&mut command, &place);
    let report = judged(command);
    report.print("as a user");
    assert_eq!(report.status, 0, "{}", report.said);
    assert!(report.total("pass") > 100, "{}", report.said);
    assert!(report.total("skip") + report.total("not_applicable") > 1000, "{}", report.said);
    assert!(report.said.out.contains("root"), "what it could not is not said: {}", report.said);
    trace.vanishes("as a user");
    Ok(())
}

/// It ends with this status, one error, and nothing on stdout.
#[track_caller]
fn refused(command: Command, expected: &[i32], words: &[&str]) {
    let said = said(command);
    assert!(expected.contains(&said.code()), "{}", said);
    let errors = said.err.lines().filter(|line| line.starts_with("error:")).count();
    assert_eq!(errors, 1, "{}", said);
    for word in words {
        assert!(said.err.contains(word), "`{word}` is not said: {}", said);
    }
}

fn posix(directory: &Path, arguments: &[&str]) -> Command {
    let mut command = iodyno(["posix"]);
    command.args(arguments).arg(directory);
    command
}

fn missing() -> Outcome {
    refused(posix(Path::new("/nowhere/at/all"), &[]), &[1, 2], &["/nowhere/at/all"]);
    Ok(())
}

fn no_directory() -> Outcome {
    let home = testbed_home();
    let file = home.path().join("file");
    std::fs::write(&file, "mine")?;
    refused(posix(&file, &[]), &[1, 2], &["directory"]);
    assert_eq!(std::fs::read_to_string(&file)?, "mine");
    Ok(())
}

fn read_only() -> Outcome {
    let below = Mount::tmpfs(1 << 20)?;
    let mount = Mount::read_only(below.path())?;
    refused(posix(mount.path(), &["--only", "mkdir"]), &[1, 2], &["cannot be written to"]);
    Ok(())
}

fn full() -> Outcome {
    let disk = FullDisk::tmpfs(0)?;
    let mut command = posix(disk.path(), &["--only", "mkdir"]);
    let trace = Trace::of(&mut command, disk.path());
    let said = said(command);
    assert_ne!(said.code(), 0, "{}", said);
    let all = format!("{}{}", said.out, said.err);
    assert!(all.contains("ENOSPC") || all.contains("No space"), "{}", said);
    trace.vanishes("a full disk");
    assert!(disk.path().join("ballast").exists());
    Ok(())
}

fn unknown_option() -> Outcome {
    refused(posix(Path::new("/tmp"), &["--no-such-option"]), &[2], &["--no-such-option"]);
    Ok(())
}

fn unknown_group() -> Outcome {
    refused(posix(Path::new("/tmp"), &["--only", "chmodd"]), &[2], &["chmodd", "chmod"]);
    Ok(())
}

fn baseline() -> Outcome {
    let broken = Rogue::mount(Some(Fault::ChmodKeepsChanged))?;
    let sound = Mount::tmpfs(64 << 20)?;
    let sound_path = sound.path().display().to_string();
    let report = judge(broken.path(), &["--only", "chmod", "--baseline", &sound_path]);
    assert_eq!(report.status, 1, "{}", report.said);
    assert_eq!(report.json["file_systems"].as_array().map(Vec::len), Some(2));
    let differences = report.json["differences"].as_array().map_or(0, Vec::len);
    assert!(differences > 0, "{}", report.said);
    Ok(())
}

fn with_a_job() -> Outcome {
    let mount = Mount::tmpfs(128 << 20)?;
    let home = testbed_home();
    let job = home.path().join("load.fio");
    std::fs::write(&job, "[load]\nrw=randrw\nbs=4k\nsize=4m\nruntime=60\ntime_based\nioengine=psync\n")?;
    let job = job.display().to_string();
    let mut command = posix(mount.path(), &["--only", "mkdir", "--only", "fallocate", "--with", &job]);
    let trace = Trace::of(&mut command, mount.path());
    let report = judged(command);
    report.is_clean("beside a job file");
    trace.vanishes("beside a job file");
    Ok(())
}

/// Whether XML is well-formed as far as its elements go, and how many of each there are.
fn elements(text: &str) -> Result<std::collections::BTreeMap<String, usize>, String> {
    let (mut open, mut counts) = (Vec::new(), std::collections::BTreeMap::new());
    let mut rest = text;
    while let Some(at) = rest.find('<') {
        check_text(&rest[..at])?;
        let end = rest[at..].find('>').ok_or("a tag without an end")? + at;
        let tag = &rest[at + 1..end];
        rest = &rest[end + 1..];
        if tag.starts_with(['?', '!']) {
            continue;
        }
        if let Some(name) = tag.strip_prefix('/') {
            let last = open.pop();
            if last.as_deref() != Some(name.trim()) {
                return Err(format!("</{name}> closes {last:?}"));
            }
            continue;
        }
        check_text(tag)?;
        if !tag.matches('"').count().is_multiple_of(2) {
            return Err(format!("<{tag}>: a value without an end"));
        }
        let name = tag.split([' ', '/', '\n']).next().unwrap_or_default().to_string();
        *counts.entry(name.clone()).or_insert(0) += 1;
        if !tag.ends_with('/') {
            open.push(name);
        }
    }
    if open.is_empty() { Ok(counts) } else { Err(format!("not closed: {open:?}")) }
}

/// No control characters, and every `&` begins an entity.
fn check_text(text: &str) -> Result<(), String> {
    if let Some(wild) = text.chars().find(|letter| letter.is_control() && !"\n\t\r".contains(*letter)) {
        return Err(format!("{wild:?} in {text:?}"));
    }
    for entity in text.split('&').skip(1) {
        let name = entity.split(';').next().unwrap_or_default();
        if !["lt", "gt", "amp", "quot", "apos"].contains(&name) && !name.starts_with('#') {
            return Err(format!("&{name} in {text:?}"));
        }
    }
    Ok(())
}

fn junit() -> Outcome {
    let broken = Rogue::mount(Some(Fault::RmdirFullIsBusy))?;
    let home = testbed_home();
    let file = home.path().join("report.xml");
    let report = judge(broken.path(), &["--only", "rmdir", "--junit", &file.display().to_string()]);
    assert_eq!(report.status, 1, "{}", report.said);
    let text = std::fs::read_to_string(&file)?;
    let elements = elements(&text)?;
    assert!(elements.get("testcase").is_some_and(|count| *count > 10), "{elements:?}");
    assert!(elements.get("failure").is_some_and(|count| *count > 0), "{elements:?}");
    Ok(())
}

fn tap() -> Outcome {
    let broken = Rogue::mount(Some(Fault::RmdirFullIsBusy))?;
    let told = said(posix(broken.path(), &["--only", "rmdir", "--tap"]));
    assert_eq!(told.code(), 1, "{}", told);
    let lines: Vec<&str> = told.out.lines().collect();
    let plan = lines.iter().find_map(|line| line.strip_prefix("1..")).expect("a plan");
    let points: Vec<_> =
        lines.iter().filter(|line| line.starts_with("ok ") || line.starts_with("not ok ")).collect();
    assert_eq!(plan.split(' ').next(), Some(points.len().to_string().as_str()), "{}", told);
    assert!(points.iter().any(|line| line.starts_with("not ok ") && !line.contains("# TODO")));
    Ok(())
}

fn overwrites_nothing() -> Outcome {
    let mount = Mount::tmpfs(16 << 20)?;
    let home = testbed_home();
    let file = home.path().join("precious");
    for option in ["--json", "--junit"] {
        std::fs::write(&file, "precious")?;
        let told = said(posix(mount.path(), &["--only", "rmdir", option, &file.display().to_string()]));
        assert_ne!(told.code(), 0, "{option}: {}", told);
        assert!(told.err.contains("precious"), "{option}: {}", told);
        assert_eq!(std::fs::read_to_string(&file)?, "precious", "{option}");
    }
    Ok(())
}

fn says_what_and_how() -> Outcome {
    let broken = Rogue::mount(Some(Fault::RmdirFullIsBusy))?;
    let profile = beside("rogue.toml").display().to_string();
    let report = judge(broken.path(), &["--only", "rmdir", "--profile", &profile]);
    assert_eq!(report.status, 1);
    for word in ["rmdir", "EBUSY", "ENOTEMPTY"] {
        assert!(report.said.out.contains(word), "`{word}` is not said: {}", report.said);
    }
    Ok(())
}

/// What one missing check breaks in dozens of rules is told in a dozen lines, with a command that shows one of them.
fn causes() -> Outcome {
    keep_to_one_processor();
    let broken = Rogue::mount(Some(Fault::ParentWriteIgnored))?;
    let profile = beside("rogue.toml").display().to_string();
    let report = judge(broken.path(), &["--profile", &profile]);
    assert_eq!(report.status, 1, "{}", report.said);
    let rules = report.failed().into_iter().collect::<std::collections::BTreeSet<_>>().len();
    assert!(rules > 40, "only {rules} rules: {}", report.said);
    let (_, told) = report.said.out.split_once("rules are broken, of ").expect("causes");
    let told = told.split("\n\n").next().unwrap_or_default();
    let lines: Vec<&str> = told.lines().collect();
    assert!(lines.len() < 30, "{told}");
    let first = lines[1];
    assert!(first.contains("EACCES is due, and it succeeds") && first.contains("rename ("), "{told}");
    assert!(!report.said.out.contains("    steps\n"), "{told}");
    let again = lines.iter().find_map(|line| line.trim().strip_prefix("iodyno ")).expect("a command");
    let words: Vec<&str> = again.split(' ').chain(["--profile", &profile]).collect();
    let again = said(iodyno(words));
    assert_eq!(again.code(), 1, "{again}");
    assert!(again.out.contains("    steps\n") && again.out.contains("expected EACCES"), "{again}");
    Ok(())
}
