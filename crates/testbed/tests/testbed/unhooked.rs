//! A program whose `main` does not pass the hook is refused: it says what is missing and ends, and nothing is left of it.

use std::path::Path;
use std::process::{Command, Stdio};
use testbed::{Case, Outcome};

/// Whatever descends from such a program carries this variable.
const MARK: &str = "TESTBED_UNHOOKED";

pub fn cases() -> Vec<Case> {
    let refused = |name: &str, kind: &'static str| Case::new(name, &[], move || is_refused(kind)).waits();
    vec![
        refused("a_program_without_the_hook_mounts_no_device", "device"),
        refused("a_program_without_the_hook_mounts_no_rogue", "rogue"),
    ]
}

fn is_refused(kind: &str) -> Outcome {
    let scratch = tempfile::tempdir()?;
    let mark = scratch.path().display().to_string();
    let child = Command::new(env!("CARGO_BIN_EXE_testbed-unhooked"))
        .arg(kind)
        .env("TMPDIR", scratch.path())
        .env(MARK, &mark)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    let pid = child.id();
    let ended = child.wait_with_output()?;
    let said = String::from_utf8_lossy(&ended.stderr);
    assert_eq!(ended.status.code(), Some(101), "{said}");
    assert!(said.contains("cannot mount a staged file system") && said.contains("testbed::run"), "{said}");
    assert_eq!(std::fs::read_dir(scratch.path())?.count(), 0, "it made something");
    assert_eq!(made_by(pid), Vec::<String>::new());
    assert_eq!(processes(&mark), 0, "it started something");
    Ok(())
}

/// What a process has made in the memory's own file system, where devices keep their content.
fn made_by(pid: u32) -> Vec<String> {
    let prefix = format!("testbed-{pid}-");
    let names = std::fs::read_dir("/dev/shm").into_iter().flatten().flatten();
    names
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .filter(|name| name.starts_with(&prefix))
        .collect()
}

/// Processes with this mark in their environment.
fn processes(mark: &str) -> usize {
    let wanted = format!("{MARK}={mark}");
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let of = |path: &Path| std::fs::read(path.join("environ")).unwrap_or_default();
    let is_one =
        |environment: &Vec<u8>| environment.split(|byte| *byte == 0).any(|one| one == wanted.as_bytes());
    entries.map(|entry| of(&entry.path())).filter(is_one).count()
}
