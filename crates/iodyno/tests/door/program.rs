//! The built program, how it is started without what the caller's environment says, and what it left.

use std::ffi::OsStr;
use std::fs::File;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

#[allow(unused_imports, reason = "shared by several test programs, none of which uses all of it")]
pub use testbed::program::{Program, ProgramOutput, Running};

/// The built program.
pub const IODYNO: &str = env!("CARGO_BIN_EXE_iodyno");

/// The program with arguments, its voice undisturbed by the caller's environment and terminal.
pub fn iodyno<S: AsRef<OsStr>>(arguments: impl IntoIterator<Item = S>) -> Command {
    dressed(Command::new(IODYNO), arguments)
}

/// A command for the program, dressed the same way.
pub fn dressed<S: AsRef<OsStr>>(mut command: Command, arguments: impl IntoIterator<Item = S>) -> Command {
    command.args(arguments).env_remove("IODYNO_FINDINGS").env_remove("COLUMNS");
    command
}

/// Starts a command and waits for its end.
#[track_caller]
pub fn told(command: Command) -> ProgramOutput {
    Program::new(command).run()
}

/// `iodyno measure` at its shortest, of a path.
pub fn quick(path: impl AsRef<Path>) -> Vec<String> {
    let path = path.as_ref().display().to_string();
    ["measure", "--quick", "--time", "50ms", "--size", "16MiB", &path].map(String::from).to_vec()
}

/// A directory on the build's own file system, which is usually a disk; /tmp often is none.
pub fn scratch() -> TempDir {
    let mut builder = tempfile::Builder::new();
    builder.prefix("door-").tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a scratch directory")
}

/// Writes a plan into a directory.
pub fn plan(home: &Path, text: &str) -> PathBuf {
    let path = home.join("plan.toml");
    std::fs::write(&path, text).expect("writing a plan");
    path
}

/// Runs a plan, quietly, in a directory.
#[track_caller]
pub fn run(home: &Path, text: &str, arguments: &[&str]) -> ProgramOutput {
    let path = plan(home, text);
    let mut command = iodyno(["run", "--quiet"]);
    command.arg(path).args(arguments).current_dir(home);
    told(command)
}

/// Names in a directory, sorted.
pub fn names(directory: &Path) -> Vec<String> {
    let listed = std::fs::read_dir(directory).expect("a directory");
    let mut names: Vec<_> =
        listed.map(|entry| entry.expect("a name").file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

/// Titles of the sections of a command's report.
pub fn section_titles(report: &serde_json::Value) -> Vec<&str> {
    let sections = report["sections"].as_array().expect("sections");
    sections.iter().filter_map(|section| section["title"].as_str()).collect()
}

/// A fingerprint of a file's or device's content.
pub fn fingerprint(path: &Path) -> u64 {
    let (mut hasher, mut chunk) = (DefaultHasher::new(), vec![0; 1 << 20]);
    let mut file = File::open(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    loop {
        match file.read(&mut chunk).expect("reading") {
            0 => return hasher.finish(),
            bytes => chunk[..bytes].hash(&mut hasher),
        }
    }
}

/// Writes a file of this many MiB that does not repeat.
pub fn noise(path: &Path, mib: u32) {
    let mut state = 1u64;
    let words = (0..mib << 17).map(|_| {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        state
    });
    let bytes: Vec<u8> = words.flat_map(u64::to_le_bytes).collect();
    std::fs::write(path, bytes).expect("writing noise");
}
