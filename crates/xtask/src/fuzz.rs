//! `cargo xtask fuzz NAME`: one parser under libFuzzer, guided by what was covered, on the stable toolchain.
//!
//! The coverage that libFuzzer needs is the compiler's own instrumentation, which stable switches on by plain flags; so no
//! nightly and no further tool are needed, only a C++ compiler. It begins with the seeds of the tests, keeps what it found
//! under `target/fuzz`, and refuses nothing: what breaks a parser is written there and said.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::shell;

/// Seconds, where nobody says how many.
const SECONDS: &str = "60";

const COVERAGE: &str = "-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
                        -Cllvm-args=-sanitizer-coverage-inline-8bit-counters \
                        -Cllvm-args=-sanitizer-coverage-pc-table -Cdebug-assertions -Coverflow-checks --cfg fuzzing";

/// Builds the target and lets it run; true where nothing was found.
///
/// # Errors
/// There is no such target, or it cannot be built.
pub fn chore(root: &Path, arguments: &[String]) -> Result<bool, String> {
    let names = names(root)?;
    let Some(name) = arguments.first().filter(|name| names.contains(name)) else {
        return Err(format!("usage: cargo xtask fuzz NAME [SECONDS]\n\nNAME is one of {}", names.join(", ")));
    };
    let seconds = arguments.get(1).map_or(SECONDS, String::as_str);
    if seconds.parse::<u32>().is_err() {
        return Err(format!("`{seconds}`: expected seconds, 0: without end"));
    }
    let (host, folder) = (host()?, root.join("target/fuzz"));
    build(root, name, &host)?;
    let (corpus, found) = (folder.join("corpus").join(name), folder.join("found"));
    for place in [&corpus, &found] {
        fs::create_dir_all(place).map_err(|error| format!("{}: {error}", place.display()))?;
    }
    let mut seeds = shell::cargo();
    seeds.current_dir(root).args(["run", "--quiet", "-p", "iodyno-fuzz", "--bin", "seeds", "--", name]);
    run(seeds.arg(&corpus))?;
    let mut program = Command::new(folder.join(host).join("debug").join(name));
    program.args([&format!("-max_total_time={seconds}"), "-timeout=60", "-max_len=8192"]);
    program.arg(format!("-artifact_prefix={}/{name}-", found.display())).arg(&corpus);
    let outcome = program.status().map_err(|error| format!("{name}: {error}"))?;
    Ok(outcome.success())
}

/// The targets: a file each.
fn names(root: &Path) -> Result<Vec<String>, String> {
    let folder = root.join("fuzz/fuzz_targets");
    let entries = fs::read_dir(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let files = entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned());
    let mut names: Vec<String> =
        files.filter_map(|file| Some(file.strip_suffix(".rs")?.to_string())).collect();
    names.sort();
    Ok(names)
}

fn build(root: &Path, name: &str, host: &str) -> Result<(), String> {
    let mut command = shell::cargo();
    command.current_dir(root).env("RUSTFLAGS", COVERAGE);
    command.args(["build", "-p", "iodyno-fuzz", "--features", "libfuzzer", "--bin", name, "--target", host]);
    command.args(["--target-dir", "target/fuzz", "--config", "profile.dev.opt-level=1"]);
    run(&mut command)
}

fn run(command: &mut Command) -> Result<(), String> {
    let status = command.status().map_err(|error| format!("cannot run cargo: {error}"))?;
    if status.success() { Ok(()) } else { Err("it cannot be built; a C++ compiler is needed".into()) }
}

/// This machine's triple: with it flags are not for build scripts too.
fn host() -> Result<String, String> {
    let said = Command::new("rustc").arg("-vV").output().map_err(|error| format!("rustc: {error}"))?;
    let said = String::from_utf8_lossy(&said.stdout).into_owned();
    let host = said.lines().find_map(|line| line.strip_prefix("host: "));
    host.map(String::from).ok_or_else(|| "rustc does not say what machine this is".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_target_feeds_the_parser_of_its_name_and_is_built() {
        let root = crate::root();
        let manifest = fs::read_to_string(root.join("fuzz/Cargo.toml")).unwrap();
        let names = names(&root).unwrap();
        assert!(names.len() > 20, "{names:?}");
        for name in names {
            let target = fs::read_to_string(root.join(format!("fuzz/fuzz_targets/{name}.rs"))).unwrap();
            assert!(target.contains(&format!("feed(\"{name}\", input)")), "{name}");
            assert!(manifest.contains(&format!("path = \"fuzz_targets/{name}.rs\"")), "{name}");
        }
        assert!(chore(&root, &["no-such-parser".into()]).unwrap_err().contains("filebench"));
    }
}
