//! The Python module: its tests on every Python from 3.9 to 3.13 that is found, and its types by mypy.
//!
//! pytest is installed once, by the oldest Python, into a folder that all of them read; mypy by the newest. What cannot be had is a
//! skip with its reason. pandas and matplotlib are left to `cargo xtask against dist`.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use super::{CiRun, announce, show};
use crate::shell;

/// The minor versions of Python 3 that the module is for.
const MINORS: std::ops::RangeInclusive<u32> = 9..=13;
/// The last one that runs on 3.9 and on 3.13.
const PYTEST: &str = "pytest==8.4.2";
const MYPY: &str = "mypy>=1.18";
/// A registry that does not answer by then is not to be had.
const INSTALL_LIMIT: Duration = Duration::from_secs(180);
const TEST_LIMIT: Duration = Duration::from_secs(300);
const ASK_LIMIT: Duration = Duration::from_secs(30);

/// A Python of this machine.
struct Python {
    minor: u32,
    path: PathBuf,
}

/// Runs the tests and judges the types, each Python's tests counted one by one.
pub fn check(run: &mut CiRun, may_install: bool) {
    let pythons: Vec<Python> = MINORS.filter_map(find).collect();
    for minor in MINORS.filter(|minor| pythons.iter().all(|python| python.minor != *minor)) {
        run.skip(&format!("the module on Python 3.{minor}"), "not installed");
    }
    let (Some(oldest), Some(newest)) = (pythons.first(), pythons.last()) else { return };
    let pytest = installed(run, oldest, "pytest", PYTEST, may_install);
    match &pytest {
        Ok(site) => pythons.iter().for_each(|python| test(run, python, site)),
        Err(why) => run.skip("the module's tests", why),
    }
    match installed(run, newest, "mypy", MYPY, may_install).and_then(|site| Ok([site, pytest?])) {
        Ok(sites) => types(run, newest, &sites),
        Err(why) => run.skip("the module's types", &why),
    }
    run.skip("the module with pandas and matplotlib", "only `cargo xtask against dist` installs them");
}

/// The Python of a minor version: on PATH, or among those of pyenv.
fn find(minor: u32) -> Option<Python> {
    let name = format!("python3.{minor}");
    let on_path = shell::find(&name).into_iter();
    on_path.chain(of_pyenv(minor)).find(|path| says(path, minor)).map(|path| Python { minor, path })
}

/// Where pyenv keeps versions that no shell has chosen.
fn of_pyenv(minor: u32) -> Vec<PathBuf> {
    let root = std::env::var_os("PYENV_ROOT").map(PathBuf::from);
    let root = root.or_else(|| std::env::var_os("HOME").map(|home| Path::new(&home).join(".pyenv")));
    let Some(entries) = root.and_then(|root| std::fs::read_dir(root.join("versions")).ok()) else {
        return Vec::new();
    };
    let begins = format!("3.{minor}.");
    let is_of = |entry: &std::fs::DirEntry| entry.file_name().to_string_lossy().starts_with(&begins);
    let mut found: Vec<PathBuf> =
        entries.flatten().filter(is_of).map(|entry| entry.path().join("bin/python3")).collect();
    found.sort();
    found.reverse();
    found
}

/// Whether it runs, and is of that version: a shim of pyenv may be neither.
fn says(path: &Path, minor: u32) -> bool {
    let mut command = Command::new(path);
    command.args(["-c", "import sys; print('%d.%d' % sys.version_info[:2])"]);
    let said = shell::run(command, None, ASK_LIMIT);
    said.is_ok_and(|said| said.success && said.last_words() == format!("3.{minor}"))
}

/// A folder of packages, filled by pip once; no package of the machine is touched.
fn installed(
    run: &CiRun,
    python: &Python,
    name: &str,
    package: &str,
    may_install: bool,
) -> Result<PathBuf, String> {
    let site = run.root.join("target/python").join(format!("{name}-3.{}", python.minor));
    let mark = site.join("installed");
    if std::fs::read_to_string(&mark).is_ok_and(|text| text == package) {
        return Ok(site);
    }
    if !may_install {
        return Err(format!("{name} is not here, and --no-install leaves it out"));
    }
    let _ = std::fs::remove_dir_all(&site);
    let mut pip = Command::new(&python.path);
    pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-compile", "--target"]);
    pip.arg(&site).arg(package);
    let ended = shell::run(pip, None, INSTALL_LIMIT.min(run.remaining()))?;
    if !ended.success {
        let _ = std::fs::remove_dir_all(&site);
        return Err(format!("{name} cannot be installed: {}", ended.last_words()));
    }
    std::fs::write(&mark, package).map_err(|error| format!("{}: {error}", mark.display()))?;
    Ok(site)
}

/// The tests on one Python; what pytest counts is counted here.
fn test(run: &mut CiRun, python: &Python, site: &Path) {
    let name = format!("the module on Python 3.{}", python.minor);
    let folder = run.root.join("python");
    let mut command = Command::new(&python.path);
    command.args(["-B", "-m", "pytest", "-q", "-m", "not extras", "-p", "no:randomly"]).current_dir(&folder);
    let paths = std::env::join_paths([folder.join("src"), site.to_path_buf()]).unwrap_or_default();
    command.env("PYTHONPATH", paths).env("PYTHONNOUSERSITE", "1");
    command.env("IODYNO", run.root.join("target/debug/iodyno"));
    let Some(outcome) = run.launch(&name, command, TEST_LIMIT) else { return };
    let [passed, failed, skipped] = counts(outcome.last_words());
    run.score.passed += passed;
    for reason in outcome.lines.iter().filter(|line| line.starts_with("SKIPPED")) {
        run.score.skip(&name, reason);
    }
    if outcome.success && passed > 0 {
        let text = format!("{passed} passed, {skipped} skipped");
        return announce("ok", outcome.duration, &name, &text);
    }
    // A run that broke off counts nothing: it has failed all the same.
    run.score.failed += failed.max(1);
    announce("FAILED", outcome.duration, &name, outcome.last_words());
    show(&name, &outcome, |_| true);
}

/// How many passed, failed and were skipped, by the last line of pytest. Errors count as failed.
fn counts(line: &str) -> [u64; 3] {
    let words: Vec<&str> =
        line.trim_matches(['=', ' ']).split([' ', ',']).filter(|word| !word.is_empty()).collect();
    let before = |names: &[&str]| {
        let of = |pair: &&[&str]| names.contains(&pair[1]);
        words.windows(2).filter(of).filter_map(|pair| pair[0].parse::<u64>().ok()).sum()
    };
    [before(&["passed"]), before(&["failed", "error", "errors"]), before(&["skipped"])]
}

/// The types, as strict as mypy is.
fn types(run: &mut CiRun, python: &Python, sites: &[PathBuf]) {
    let mut command = Command::new(&python.path);
    let cache = run.root.join("target/python/mypy-cache");
    command.args(["-B", "-m", "mypy", "--cache-dir"]).arg(cache).current_dir(run.root.join("python"));
    let paths = std::env::join_paths(sites).unwrap_or_default();
    command.env("PYTHONPATH", paths).env("PYTHONNOUSERSITE", "1");
    run.step("the module's types (mypy --strict)", command, TEST_LIMIT);
}

#[cfg(test)]
mod unit {
    use super::*;

    #[test]
    fn pytest_counts_are_read() {
        assert_eq!(counts("36 passed, 5 deselected in 2.80s"), [36, 0, 0]);
        assert_eq!(counts("= 2 failed, 30 passed, 1 skipped, 1 error in 3.1s ="), [30, 3, 1]);
        assert_eq!(counts("no tests ran in 0.01s"), [0, 0, 0]);
    }

    #[test]
    fn versions_that_are_not_there_are_not_found() {
        assert!(find(99).is_none());
        assert!(!says(Path::new("/bin/false"), 9) && !says(Path::new("/no/such/python"), 9));
    }
}
