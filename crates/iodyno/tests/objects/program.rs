//! The program in a directory of its own, and libraries that are built for it.

use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;
use testbed::program::{Program, ProgramOutput};
use testbed::{Outcome, Skip};

pub const IODYNO: &str = env!("CARGO_BIN_EXE_iodyno");

/// Says that `cargo xtask against objects` runs the tests, and where it keeps what it fetched.
const FETCHED: &str = "IODYNO_OBJECTS";

/// A directory on the build's own file system.
pub fn scratch() -> TempDir {
    let made = tempfile::Builder::new().prefix("objects-").tempdir_in(env!("CARGO_TARGET_TMPDIR"));
    made.expect("a scratch directory")
}

/// Where real stores' programs are kept; else the stores are not started.
///
/// # Errors
/// A skip that says who starts them.
pub fn fetched() -> Result<PathBuf, Skip> {
    let kept = std::env::var_os(FETCHED).map(PathBuf::from);
    kept.ok_or_else(|| Skip::new("only `cargo xtask against objects` installs and starts real stores"))
}

/// As [`fetched`], for a need.
pub fn is_fetched() -> Result<(), Skip> {
    fetched().map(drop)
}

/// `iodyno LINE` in a directory, whose words have no blanks.
pub fn command(home: &Path, line: &str) -> Command {
    let mut command = Command::new(IODYNO);
    command.args(line.split_whitespace()).current_dir(home);
    command.env_remove("IODYNO_ALSO").env("IODYNO_FINDINGS", "0").env("IODYNO_HISTORY", "off");
    command
}

/// Runs it, and judges its status and words.
#[track_caller]
pub fn expect(command: Command, code: i32, words: &[&str]) -> ProgramOutput {
    let told = Program::new(command).run();
    let all = told.all();
    assert_eq!(told.code(), code, "{all}");
    for word in words {
        assert!(all.contains(word), "`{word}` was not said:\n{all}");
    }
    assert!(!all.contains("panicked") && !all.contains("NaN"), "{all}");
    told
}

/// Builds a library of a test's own.
///
/// # Errors
/// What the compiler said.
pub fn library(home: &Path, name: &str, text: &str) -> Outcome {
    std::fs::write(home.join("library.rs"), text)?;
    let mut rustc = Command::new("rustc");
    rustc.args(["--edition", "2021", "-A", "warnings", "--crate-type", "cdylib", "-o", name, "library.rs"]);
    // The toolchain of this directory, not of the scratch one.
    let built = rustc.current_dir(home).env_remove("RUSTFLAGS").output()?;
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    Ok(())
}
