//! Daemons of other projects with a scratch directory of their own, gone with it when the test is, however it ends.
//!
//! Why not [`program`](crate::program): such a daemon serves several cases, so it must not die with the thread that
//! started it, and it leaves files that a killed test cannot remove. So a shell starts the daemons as its children. It reads
//! their command lines from a pipe, whose end comes when the test lets go of it or dies: then the shell kills its children,
//! waits for them, and removes the directory.
//! It refuses to restart a daemon that ended: who asks it something fails, and the log says why.

use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};

/// What the shell runs. A killed daemon may have a file open until it is waited for.
const KEEP: &str = r#"children=
while IFS= read -r line; do eval "$line &"; children="$children $!"; done
[ -z "$children" ] || kill -9 $children
wait
rm -rf -- "$0""#;
/// Lines of a log that a message shows.
const SHOWN_LINES: usize = 5;

/// Daemons and the directory that they have for themselves.
#[derive(Debug)]
pub struct DaemonGroup {
    home: PathBuf,
    shell: Child,
    lines: Option<ChildStdin>,
}

impl DaemonGroup {
    /// Nobody yet, in a new directory.
    ///
    /// # Errors
    /// There can be no directory, or no shell.
    pub fn new() -> std::io::Result<DaemonGroup> {
        let home = tempfile::Builder::new().prefix("testbed-daemons-").tempdir()?.keep();
        let mut command = Command::new("/bin/sh");
        command.args(["-c", KEEP]).arg(&home).current_dir(&home);
        // Ctrl-C at the test's terminal ends the test, and the pipe tells the shell.
        command.process_group(0).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut shell = command.spawn()?;
        let lines = shell.stdin.take();
        Ok(DaemonGroup { home, shell, lines })
    }

    /// Their directory, which is where they run.
    pub fn home(&self) -> &Path {
        &self.home
    }

    /// Starts a daemon, which says what it says into `NAME.log`.
    ///
    /// # Errors
    /// The shell is gone.
    pub fn start(&mut self, name: &str, command: &[&str]) -> std::io::Result<()> {
        let words: Vec<String> = command.iter().map(|word| quoted(word)).collect();
        let line = format!("{} >{name}.log 2>&1 </dev/null\n", words.join(" "));
        let shell = self.lines.as_mut().ok_or(std::io::ErrorKind::BrokenPipe)?;
        shell.write_all(line.as_bytes())
    }

    /// The last lines that a daemon said.
    pub fn last_words(&self, name: &str) -> String {
        let text = std::fs::read(self.home.join(format!("{name}.log"))).unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
        lines[lines.len().saturating_sub(SHOWN_LINES)..].join("\n")
    }
}

impl Drop for DaemonGroup {
    fn drop(&mut self) {
        drop(self.lines.take());
        let _ = self.shell.wait();
    }
}

/// A word of a shell's line that means itself.
fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}
