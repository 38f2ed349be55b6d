//! `cargo xtask against wrappers [PART]`: the examples for Ansible, ReFrame, Ramble, PerfKit Benchmarker and Phoronix, run for real
//! where their program is to be had.
//!
//! ansible-core and ReFrame come from PyPI into `target/wrappers`. The other three are in no registry: their examples run with
//! stand-ins, and a skip says that the program itself did not. It measures a simulated disk, whose answer is known, and writes
//! below `target/wrappers` only.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use quick_xml::Reader;
use quick_xml::events::Event;

use crate::shell;

/// Pinned, so that a change of theirs is no failure of ours.
const PINNED: [&str; 2] = ["ansible-core==2.19.14", "ReFrame-HPC==4.10.4"];
const LIMIT: Duration = Duration::from_secs(15 * 60);
/// The disk of the examples' plans: operations a second.
const KNOWN: &str = "75.9";

/// What a part came to: each step that passed, in words.
type Tried = Result<Vec<String>, String>;
type Part = (&'static str, fn(&Site) -> Tried, Option<&'static str>);

/// The parts, and why a program itself did not run.
const PARTS: &[Part] = &[
    ("ansible", ansible, None),
    ("reframe", reframe, None),
    ("ramble", ramble, Some("Ramble is installed from its repository only, so its own engine did not run")),
    ("perfkit", perfkit, Some("PerfKit Benchmarker is no package, and its machines cost money")),
    ("phoronix", phoronix, Some("the Phoronix Test Suite is in no registry of ours")),
];

/// Where everything is.
struct Site {
    root: PathBuf,
    folder: PathBuf,
    program: PathBuf,
}

impl Site {
    fn example(&self, path: &str) -> PathBuf {
        self.root.join("examples").join(path)
    }

    /// A program of the environment from PyPI, with a home of its own.
    fn tool(&self, name: &str) -> Command {
        let mut command = Command::new(self.folder.join("environment/bin").join(name));
        command.env("HOME", self.folder.join("home")).env("IODYNO_HISTORY", "off").env("NO_COLOR", "1");
        command.env("ANSIBLE_NOCOLOR", "1").env("ANSIBLE_LOCALHOST_WARNING", "0");
        command.env("PYTHONDONTWRITEBYTECODE", "1");
        command
    }
}

/// Runs all parts, or those whose name begins so; true where none failed.
///
/// # Errors
/// The program does not build, or there is no such part.
pub fn chore(root: &Path, wanted: Option<&str>) -> Result<bool, String> {
    let parts: Vec<&Part> =
        PARTS.iter().filter(|(name, ..)| wanted.is_none_or(|part| name.starts_with(part))).collect();
    if parts.is_empty() {
        let names: Vec<&str> = PARTS.iter().map(|(name, ..)| *name).collect();
        return Err(format!("against wrappers: no such part\n hint: parts are {}", names.join(", ")));
    }
    let mut build = shell::cargo();
    build.current_dir(root).args(["build", "--workspace", "--bin", "iodyno"]);
    lines(build, true)?;
    let folder = root.join("target/wrappers");
    std::fs::create_dir_all(folder.join("home")).map_err(|error| format!("{}: {error}", folder.display()))?;
    let site = Site { root: root.into(), folder, program: root.join("target/debug/iodyno") };
    let (mut passed, mut failed, mut skipped) = (0, 0, 0);
    for (name, part, lacking) in parts {
        match part(&site) {
            Ok(said) => {
                passed += said.len();
                said.iter().for_each(|said| println!("ok       {name}: {said}"));
            }
            Err(why) => {
                failed += 1;
                println!("failed: {name}: {why}");
            }
        }
        if let Some(why) = lacking {
            skipped += 1;
            println!("skipped: {name}: {why}");
        }
    }
    println!("{passed} passed, {failed} failed, {skipped} skipped");
    Ok(failed == 0)
}

/// What a command printed; it must succeed, or fail, as is said.
fn lines(command: Command, succeeds: bool) -> Result<Vec<String>, String> {
    let what = format!("{command:?}");
    let ended = shell::run(command, None, LIMIT)?;
    if ended.success == succeeds {
        return Ok(ended.lines);
    }
    let from = ended.lines.len().saturating_sub(15);
    let how = if succeeds { "failed" } else { "did not fail" };
    Err(format!("{what} {how}:\n    {}", ended.lines[from..].join("\n    ")))
}

fn expect(lines: &[String], word: &str) -> Result<(), String> {
    match lines.iter().any(|line| line.contains(word)) {
        true => Ok(()),
        false => Err(format!("`{word}` is not in what was printed:\n    {}", lines.join("\n    "))),
    }
}

/// An empty folder of a part.
fn work(site: &Site, name: &str) -> Result<PathBuf, String> {
    let folder = site.folder.join(name);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    Ok(folder)
}

/// The environment from PyPI, which pip fills once.
fn environment(site: &Site) -> Result<(), String> {
    let folder = site.folder.join("environment");
    let (mark, pinned) = (folder.join("pinned"), PINNED.join("\n"));
    if std::fs::read_to_string(&mark).is_ok_and(|text| text == pinned) {
        return Ok(());
    }
    let mut venv = Command::new(shell::find("python3").ok_or("python3 is not installed")?);
    venv.args(["-m", "venv", "--clear"]).arg(&folder);
    lines(venv, true)?;
    let mut pip = site.tool("python");
    pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]).args(PINNED);
    lines(pip, true)?;
    std::fs::write(&mark, pinned).map_err(|error| format!("{}: {error}", mark.display()))
}

fn ansible(site: &Site) -> Tried {
    environment(site)?;
    let playbook = |more: &[&str]| {
        let mut command = site.tool("ansible-playbook");
        command.current_dir(site.example("ansible"));
        command.args(["-i", "localhost,", "-c", "local", "site.yml"]);
        for (name, value) in [
            ("iodyno_plan", site.example("ansible/plan.toml")),
            ("iodyno_program", site.program.clone()),
            ("ansible_python_interpreter", site.folder.join("environment/bin/python")),
        ] {
            command.arg("-e").arg(format!("{name}={}", serde_json::json!(value)));
        }
        command.args(more);
        command
    };
    expect(&lines(playbook(&[]), true)?, &format!("random read read {KNOWN}"))?;
    let on_device = lines(playbook(&["-e", "iodyno_simulated=nvme-ssd"]), true)?;
    expect(&on_device, "random read read ")?;
    if on_device.iter().any(|line| line.contains(KNOWN)) {
        return Err("another device is as fast as the disk".into());
    }
    let refused = lines(playbook(&["-e", r#"{"iodyno_fail_if": ["read.iops < 1000"]}"#]), false)?;
    expect(&refused, "fails    read.iops < 1000")?;
    Ok([
        "the playbook gives the disk's figures as facts",
        "on another device they are others",
        "a condition fails it",
    ]
    .map(String::from)
    .to_vec())
}

fn reframe(site: &Site) -> Tried {
    environment(site)?;
    let prefix = work(site, "reframe")?;
    let reframe = |more: &[&str]| {
        let mut command = site.tool("reframe");
        command.current_dir(&prefix).env("IODYNO", &site.program);
        command.arg("-c").arg(site.example("reframe/iodyno_checks.py")).arg("--prefix").arg(&prefix);
        command.args(["-r", "--performance-report"]).args(more);
        command
    };
    let passed = lines(reframe(&[]), true)?;
    expect(&passed, "random_read.read.iops: 75.9")?;
    expect(&passed, "Ran 1/1 test case(s)")?;
    // Another device does not answer as the reference says.
    let failed = lines(reframe(&["-S", "simulated=nvme-ssd"]), false)?;
    expect(&failed, "failed to meet reference")?;
    Ok(["the test class meets its reference", "another device does not"].map(String::from).to_vec())
}

/// An example of a program that is not there, with stand-ins.
fn stood_in(site: &Site, name: &str) -> Tried {
    let mut command = Command::new(shell::find("python3").ok_or("python3 is not installed")?);
    command.current_dir(work(site, name)?).env("PYTHONDONTWRITEBYTECODE", "1").env("IODYNO_HISTORY", "off");
    command.arg(site.root.join("crates/xtask/src/wrappers.py")).arg(name).arg(site.root.join("examples"));
    command.arg(&site.program).arg(site.example("reframe/plans/plan.toml"));
    let said = lines(command, true)?;
    Ok(vec![format!("with stand-ins: {}", said.join(", "))])
}

fn ramble(site: &Site) -> Tried {
    stood_in(site, "ramble")
}

fn perfkit(site: &Site) -> Tried {
    stood_in(site, "perfkit")
}

fn phoronix(site: &Site) -> Tried {
    let profile = site.example("phoronix/iodyno-1.0.0");
    let mut passed = Vec::new();
    for name in ["test-definition.xml", "results-definition.xml"] {
        let text = std::fs::read_to_string(profile.join(name)).map_err(|error| format!("{name}: {error}"))?;
        let count = elements(&text).map_err(|why| format!("{name}: {why}"))?;
        passed.push(format!("{name} has {count} elements"));
    }
    let folder = work(site, "phoronix")?;
    let mut install = Command::new("sh");
    install.arg("-e").arg(profile.join("install.sh"));
    install.current_dir(&folder).env("HOME", &folder).env("IODYNO", &site.program);
    lines(install, true)?;
    let test = |words: &[&str]| {
        let mut command = Command::new(folder.join("iodyno"));
        command.args(words).current_dir(&folder).env("HOME", &folder);
        // As short as it can be: what it says of this machine's storage is not judged.
        command.env("IODYNO_OPTIONS", "--time 10ms --size 16MiB");
        command
    };
    let said = lines(test(&["RND4K_Q1T1", "read"]), true)?;
    let figure = said.iter().find_map(|line| line.strip_prefix("result: ")?.strip_suffix(" MB/s"));
    let figure = figure.and_then(|figure| figure.parse::<f64>().ok()).filter(|figure| *figure > 0.0);
    let figure = figure.ok_or_else(|| format!("no result in {said:?}"))?;
    passed.push(format!("install.sh makes a command, whose result is read: {figure} MB/s"));
    expect(&lines(test(&["NO_SUCH", "read"]), false)?, "the card has no NO SUCH read")?;
    passed.push("a test that the card does not have gives no result".into());
    Ok(passed)
}

/// The elements of a document that is well-formed.
fn elements(text: &str) -> Result<usize, String> {
    let mut reader = Reader::from_str(text);
    reader.config_mut().check_end_names = true;
    let (mut count, mut depth) = (0, 0i32);
    loop {
        match reader.read_event() {
            Ok(Event::Start(_)) => (count, depth) = (count + 1, depth + 1),
            Ok(Event::Empty(_)) => count += 1,
            Ok(Event::End(_)) => depth -= 1,
            Ok(Event::Eof) if depth == 0 => return Ok(count),
            Ok(Event::Eof) => return Err("an element is not closed".into()),
            Ok(_) => {}
            Err(error) => return Err(format!("at byte {}: {error}", reader.error_position())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn broken_documents_are_found() {
        assert_eq!(elements("<?xml version=\"1.0\"?><a><b/><c>d</c></a>"), Ok(3));
        assert!(elements("<a><b></a>").is_err() && elements("<a>").is_err());
    }

    #[test]
    fn profiles_are_whole() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/phoronix/iodyno-1.0.0");
        for name in ["test-definition.xml", "results-definition.xml"] {
            let text = std::fs::read_to_string(root.join(name)).expect(name);
            assert!(elements(&text).expect(name) > 4);
        }
    }
}
