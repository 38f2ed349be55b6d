//! `cargo xtask bench build`: what building costs a newcomer and a contributor.
//!
//! A cold release build in a folder of its own, with cargo's own times for each crate (`--timings`), then the build after
//! a change of one dialect. It refuses to pass or fail anything: a shared machine builds as fast as it is left to.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use serde_json::Value;

use crate::shell;

/// How long a cold build may take at all.
const LIMIT: Duration = Duration::from_secs(40 * 60);
/// Crates that are named.
const NAMED: usize = 25;
/// The file that stands for a change of one dialect: its time is set anew, its text stays.
const TOUCHED: &str = "crates/dialect/src/dd/mod.rs";
/// What cargo's report assigns its data to.
const DATA: &str = "const UNIT_DATA = ";

/// Builds cold and after a change, and prints what each took.
pub fn chore(root: &Path) -> Result<bool, String> {
    let folder = root.join("target/bench-build");
    if folder.exists() {
        fs::remove_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    }
    let cold = build(root, &folder)?;
    let crates = times(&report(&folder)?)?;
    let work: f64 = crates.iter().map(|(_, seconds)| seconds).sum();
    println!("cold release build: {:.0} s; its crates, one after the other: {work:.0} s", cold.as_secs_f64());
    crates.iter().take(NAMED).for_each(|(name, seconds)| println!("{seconds:>9.1} s  {name}"));
    touch(&root.join(TOUCHED))?;
    let changed = build(root, &folder)?;
    println!("after a change of one dialect ({TOUCHED}): {:.0} s", changed.as_secs_f64());
    fs::remove_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    Ok(true)
}

fn build(root: &Path, folder: &Path) -> Result<Duration, String> {
    let mut command: Command = shell::cargo();
    command.current_dir(root).args(["build", "--release", "--timings"]).env("CARGO_TARGET_DIR", folder);
    let outcome = shell::run(command, Some(&root.join("target/bench/build.log")), LIMIT)?;
    match outcome.success {
        true => Ok(outcome.duration),
        false => Err(format!("it does not build: {}", outcome.last_words())),
    }
}

/// The newest of cargo's reports.
fn report(folder: &Path) -> Result<String, String> {
    let folder = folder.join("cargo-timings");
    let wrong = |error: std::io::Error| format!("{}: {error}", folder.display());
    let files = fs::read_dir(&folder).map_err(wrong)?.flatten().map(|entry| entry.path());
    let newest: Option<PathBuf> = files.max();
    fs::read_to_string(newest.ok_or_else(|| format!("{}: no report", folder.display()))?).map_err(wrong)
}

/// Seconds by crate, with its build scripts, the longest first.
fn times(report: &str) -> Result<Vec<(String, f64)>, String> {
    let data = report.split_once(DATA).ok_or("cargo's report has no data that we know")?.1;
    let mut values = serde_json::Deserializer::from_str(data).into_iter::<Value>();
    let units = values.next().and_then(Result::ok).ok_or("cargo's report cannot be read")?;
    let mut all: BTreeMap<String, f64> = BTreeMap::new();
    for unit in units.as_array().into_iter().flatten() {
        let (name, seconds) = (unit["name"].as_str(), unit["duration"].as_f64());
        *all.entry(name.unwrap_or("?").to_string()).or_default() += seconds.unwrap_or(0.0);
    }
    let mut all: Vec<(String, f64)> = all.into_iter().collect();
    all.sort_by(|one, other| other.1.total_cmp(&one.1));
    Ok(all)
}

/// Makes a file look changed without changing it.
fn touch(path: &Path) -> Result<(), String> {
    let file = fs::File::options().append(true).open(path);
    let touched = file.and_then(|file| file.set_modified(std::time::SystemTime::now()));
    touched.map_err(|error| format!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cargos_report_is_summed_by_crate() {
        let report = "<script>\nconst UNIT_DATA = [{\"name\":\"syn\",\"duration\":2.5},\
                      {\"name\":\"model\",\"duration\":40.0},{\"name\":\"syn\",\"duration\":1.5}];\nconst X = 1;";
        let times = times(report).expect("data");
        assert_eq!(times, [("model".to_string(), 40.0), ("syn".to_string(), 4.0)]);
        assert!(super::times("<html>").is_err());
    }

    #[test]
    fn what_stands_for_a_change_is_there() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        assert!(root.join(TOUCHED).is_file());
    }
}
