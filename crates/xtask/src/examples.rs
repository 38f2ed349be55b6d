//! The examples: what the program is asked to do with each.
//!
//! `cargo xtask against release` makes the README's build and asks it for all of them; continuous integration asks the
//! program that it has built for its tests.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::shell;

/// Explaining or running an example takes moments.
pub const LIMIT: Duration = Duration::from_secs(120);
const BUILD_LIMIT: Duration = Duration::from_secs(40 * 60);

/// Builds the program as the README does, and asks it for every example; true when all went well.
///
/// # Errors
/// What cannot be built.
pub fn with_release_build(root: &Path) -> Result<bool, String> {
    let mut build = shell::cargo();
    build.current_dir(root).args(["build", "--release"]);
    let built = shell::run(build, Some(&root.join("target/against/release-build.log")), BUILD_LIMIT)?;
    if !built.success {
        return Err(format!("it does not build: target/against/release-build.log: {}", built.last_words()));
    }
    let (mut passed, mut failed) = (1, 0);
    for example in all(root) {
        for verb in verbs(root, &example) {
            let outcome = shell::run(command(root, "release", verb, &example), None, LIMIT)?;
            if outcome.success {
                passed += 1;
            } else {
                failed += 1;
                println!("failed: {verb} {}: {}", example.display(), outcome.last_words());
            }
        }
    }
    println!("{passed} passed, {failed} failed, 0 skipped");
    Ok(failed == 0)
}

/// The native plans in `examples/`, in order of their names, relative to the root.
pub fn all(root: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(root.join("examples")) else { return Vec::new() };
    let names = entries.flatten().map(|entry| Path::new("examples").join(entry.file_name()));
    let mut found: Vec<PathBuf> =
        names.filter(|path| path.extension().is_some_and(|e| e == "toml")).collect();
    found.sort();
    found
}

/// Every plan is explained. One whose engines touch no storage may run anywhere.
pub fn verbs(root: &Path, example: &Path) -> &'static [&'static str] {
    let text = std::fs::read_to_string(root.join(example)).unwrap_or_default();
    if names_synthetic_engines(&text) { &["plan", "run"] } else { &["plan"] }
}

/// Asks the program of a build.
pub fn command(root: &Path, build: &str, verb: &str, example: &Path) -> Command {
    let mut command = Command::new(root.join("target").join(build).join("iodyno"));
    command.current_dir(root).arg(verb).arg(example).env("IODYNO_HISTORY", "off");
    command
}

fn names_synthetic_engines(text: &str) -> bool {
    let engine = |line: &str| {
        let (key, value) = line.split_once('=')?;
        let value = value.split('#').next()?.trim();
        (key.trim() == "engine").then(|| value.trim_matches('"').to_string())
    };
    let engines: Vec<String> = text.lines().filter_map(engine).collect();
    !engines.is_empty() && engines.iter().all(|engine| engine == "null" || engine == "sim")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plans_wholly_on_null_or_sim_are_run() {
        assert!(names_synthetic_engines("[job]\nengine = \"sim\" # virtual\n[[job]]\nengine = \"null\""));
        assert!(!names_synthetic_engines("engine = \"null\"\nengine = \"psync\""));
        assert!(!names_synthetic_engines("depth = 4"));
    }
}
