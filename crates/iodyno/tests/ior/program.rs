//! The program in a directory of its own, and what it said in IOR's tables.

use std::ops::Deref;
use std::path::Path;
use std::process::Command;

use tempfile::TempDir;
use testbed::program::{Program, ProgramOutput};

/// The built program.
pub const IODYNO: &str = env!("CARGO_BIN_EXE_iodyno");

/// What it said and how it ended.
pub struct IorOutput(pub ProgramOutput);

impl Deref for IorOutput {
    type Target = ProgramOutput;

    fn deref(&self) -> &ProgramOutput {
        &self.0
    }
}

impl IorOutput {
    /// It ended like this, and no figure is none.
    #[track_caller]
    pub fn expect(&self, code: i32, words: &[&str]) -> &IorOutput {
        let all = self.all();
        assert_eq!(self.code(), code, "{all}");
        for word in words {
            assert!(all.contains(word), "`{word}` was not said:\n{all}");
        }
        assert!(!all.contains("panicked") && !all.contains("NaN") && !all.contains("nan "), "{all}");
        self
    }

    /// The rows of the table that begin with a word, as words.
    pub fn rows(&self, access: &str) -> Vec<Vec<String>> {
        let words = |line: &str| line.split_whitespace().map(String::from).collect::<Vec<_>>();
        let table = self.out.split("Summary of all tests:").next().unwrap_or_default();
        table.lines().filter(|line| line.starts_with(&format!("{access} "))).map(words).collect()
    }

    /// The rows of the summary.
    pub fn summary(&self) -> Vec<Vec<String>> {
        let part = self.out.split("Summary of all tests:").nth(1).unwrap_or_default();
        let rows = part.lines().filter(|line| line.starts_with("write ") || line.starts_with("read "));
        rows.map(|line| line.split_whitespace().map(String::from).collect()).collect()
    }
}

/// A directory on the build's own file system.
pub fn scratch() -> TempDir {
    tempfile::Builder::new()
        .prefix("ior-")
        .tempdir_in(env!("CARGO_TARGET_TMPDIR"))
        .expect("a scratch directory")
}

/// `iodyno ior LINE` in a directory.
pub fn command(home: &Path, line: &str) -> Command {
    let mut command = Command::new(IODYNO);
    command.arg("ior").args(line.split_whitespace()).current_dir(home);
    command.env_remove("IODYNO_FINDINGS").env_remove("IODYNO_ALSO");
    apart(&mut command);
    command
}

/// Lets what is started with MPI keep its sessions where nobody removes the directory; the library makes one also
/// without a launcher. Where another user made the place it keeps them where it likes.
pub fn apart(command: &mut Command) {
    let _ = testbed::sandbox::keep_sessions(command, Path::new(env!("CARGO_TARGET_TMPDIR")));
}

/// Runs it.
#[track_caller]
pub fn ior(home: &Path, line: &str) -> IorOutput {
    told(command(home, line))
}

/// Runs a command to its end.
#[track_caller]
pub fn told(command: Command) -> IorOutput {
    IorOutput(Program::new(command).run())
}

/// The names in a directory, sorted.
pub fn names(home: &Path) -> Vec<String> {
    let mut names: Vec<_> = std::fs::read_dir(home)
        .expect("a directory")
        .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}
