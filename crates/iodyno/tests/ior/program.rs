//! The program in a directory of its own, bounded in time, and what it said.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

/// Longer than any case takes on a busy machine of two cores.
const PATIENCE: Duration = Duration::from_secs(100);

/// The built program.
pub const IODYNO: &str = env!("CARGO_BIN_EXE_iodyno");

/// What it said and how it ended.
pub struct Told {
    /// The exit status; 128 + n after signal n.
    pub code: i32,
    /// Standard output.
    pub out: String,
    /// Standard error.
    pub err: String,
}

impl Told {
    /// It ended like this.
    #[track_caller]
    pub fn expect(&self, code: i32, words: &[&str]) -> &Told {
        let all = format!("{}{}", self.out, self.err);
        assert_eq!(self.code, code, "{all}");
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
    command.arg("ior").args(line.split_whitespace()).current_dir(home).stdin(Stdio::null());
    command.env_remove("IODYNO_FINDINGS").env_remove("IODYNO_ALSO");
    command
}

/// Runs it.
#[track_caller]
pub fn ior(home: &Path, line: &str) -> Told {
    told(command(home, line))
}

/// Runs a command to its end.
#[track_caller]
pub fn told(mut command: Command) -> Told {
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
    end(child)
}

/// Waits for the end of a started command.
#[track_caller]
pub fn end(mut child: Child) -> Told {
    use std::io::Read;
    use std::os::unix::process::ExitStatusExt;
    let mut streams = (child.stdout.take(), child.stderr.take());
    let out = std::thread::spawn(move || {
        let mut text = String::new();
        let _ = streams.0.as_mut().map(|stream| stream.read_to_string(&mut text));
        text
    });
    let err = std::thread::spawn(move || {
        let mut text = String::new();
        let _ = streams.1.as_mut().map(|stream| stream.read_to_string(&mut text));
        text
    });
    let begun = Instant::now();
    let status = loop {
        match child.try_wait().expect("waiting") {
            Some(status) => break status,
            None if begun.elapsed() > PATIENCE => {
                let _ = child.kill();
                let _ = child.wait();
                panic!("it did not end within {PATIENCE:?}");
            }
            None => std::thread::sleep(Duration::from_millis(5)),
        }
    };
    let code = status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0));
    Told { code, out: out.join().expect("listening"), err: err.join().expect("listening") }
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
