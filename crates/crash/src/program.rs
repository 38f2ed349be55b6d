//! A program of the user's as a workload, and another one that checks what is left of it.

use std::io;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use crate::file_system::{DIRECTORY_VARIABLE, said, shell};
use crate::log::{LogEntry, LogFile, WriteLog};
use crate::promise::{Authority, Damage, Violation};
use crate::workload::{Marks, Oracle, Reach, Workload};

/// Names the file to which `iodyno crash mark` appends.
pub const MARKS_VARIABLE: &str = "IODYNO_MARKS";
/// The marks that had been made when the power went, a line each, for the program that checks.
pub const REACHED_VARIABLE: &str = "IODYNO_REACHED";

/// How often a program is asked whether it has ended.
const LOOK: Duration = Duration::from_millis(2);

/// A command that is run once on the mounted file system.
pub struct CommandWorkload {
    /// Program and arguments, in which `{dir}` is replaced.
    pub command: Vec<String>,
    /// Judges a state, for a shell; none: states are mounted, checked and written only.
    pub check: Option<String>,
    /// Whether the user wants an end.
    pub is_stopped: fn() -> bool,
    /// Where the marks stand, once the log is known.
    marks: Arc<OnceLock<Vec<String>>>,
}

impl CommandWorkload {
    pub fn new(command: Vec<String>, check: Option<String>, is_stopped: fn() -> bool) -> CommandWorkload {
        CommandWorkload { command, check, is_stopped, marks: Arc::default() }
    }

    /// Takes the texts of the marks from the recording.
    pub fn take_marks(&self, log: &WriteLog) {
        let text = |entry: &LogEntry| match entry {
            LogEntry::Note(text) => Some(text.clone()),
            _ => None,
        };
        let _ = self.marks.set(log.entries.iter().filter_map(text).collect());
    }
}

impl Workload for CommandWorkload {
    fn name(&self) -> &str {
        "command"
    }

    fn prepare(&self, _directory: &Path) -> io::Result<()> {
        Ok(())
    }

    fn run(&self, directory: &Path, marks: &mut dyn Marks) -> io::Result<Box<dyn Oracle>> {
        let dir = directory.display().to_string();
        let mut words = self.command.iter().map(|word| word.replace("{dir}", &dir));
        let mut command = Command::new(words.next().unwrap_or_default());
        command.args(words).env(DIRECTORY_VARIABLE, directory);
        if let Some(file) = marks.file() {
            command.env(MARKS_VARIABLE, file);
        }
        command.stdin(Stdio::null()).stdout(io::stderr());
        let status = run_to_end(&mut command, self.is_stopped)
            .map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", self.command[0])))?;
        if !status.success() && !(self.is_stopped)() {
            return Err(io::Error::other(format!("the command ended with {status}")));
        }
        Ok(Box::new(CommandOracle { check: self.check.clone(), marks: Arc::clone(&self.marks) }))
    }
}

/// Waits for a command, and ends it and what it started when the user wants an end.
fn run_to_end(command: &mut Command, is_stopped: fn() -> bool) -> io::Result<ExitStatus> {
    let mut process = tied(command).spawn()?;
    loop {
        if let Some(status) = process.try_wait()? {
            return Ok(status);
        }
        if is_stopped() {
            // SAFETY: the call takes numbers only; the group is the command's, which has not been waited for.
            unsafe { libc::kill(-(process.id() as libc::pid_t), libc::SIGKILL) };
        }
        std::thread::sleep(LOOK);
    }
}

/// A command in a group of its own, which Ctrl-C does not reach, and that ends with this thread.
pub fn tied(command: &mut Command) -> &mut Command {
    command.process_group(0);
    // SAFETY: between fork and exec the closure makes one system call that takes numbers.
    unsafe {
        command.pre_exec(|| {
            libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
            Ok(())
        })
    }
}

struct CommandOracle {
    check: Option<String>,
    marks: Arc<OnceLock<Vec<String>>>,
}

impl CommandOracle {
    fn reached(&self, reach: Reach) -> &[String] {
        let marks = self.marks.get().map_or(&[][..], Vec::as_slice);
        &marks[..(reach.ended as usize).min(marks.len())]
    }
}

impl Oracle for CommandOracle {
    fn judge(&self, reach: Reach, directory: &Path) -> io::Result<Vec<Violation>> {
        let Some(check) = &self.check else { return Ok(Vec::new()) };
        let mut command = shell(check, None, Some(directory));
        command.env(REACHED_VARIABLE, self.reached(reach).join("\n")).stdin(Stdio::null());
        let output = tied(&mut command).output()?;
        if output.status.success() {
            return Ok(Vec::new());
        }
        if let Some(code @ (126 | 127)) = output.status.code() {
            return Err(io::Error::other(format!("--check could not be run ({code}): {}", said(&output))));
        }
        Ok(vec![Violation {
            authority: Authority::Application,
            promise: "what --check looks at".into(),
            source: check.clone(),
            path: ".".into(),
            damage: Damage::Unusable,
            // States are mounted in several places.
            found: said(&output).replace(&directory.display().to_string(), "{dir}"),
        }])
    }

    fn step(&self, step: u32) -> String {
        let text = self.marks.get().and_then(|marks| marks.get(step as usize));
        text.map_or_else(|| format!("mark {}", step + 1), |text| format!("mark `{text}`"))
    }
}

/// Places a mark of the user's program into the log of the recording that it runs under.
///
/// # Errors
/// NotFound: no recording is under way; else the log's own.
pub fn mark(text: &str) -> io::Result<()> {
    let path = std::env::var_os(MARKS_VARIABLE)
        .ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, "no recording is under way"))?;
    let file = std::fs::File::options().append(true).open(path)?;
    LogFile::inherit(file).note(text)
}
