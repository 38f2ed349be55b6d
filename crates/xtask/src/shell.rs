//! How the chores start other programs: with a time limit, a log, and every line seen in the order it was written.
//!
//! Standard output and standard error share one pipe, so a test's reason stands before the summary it belongs to.
//! The child leads its own process group, which is ended as a whole when the time is up. No shell is involved.

use std::fs::File;
use std::io::{BufRead, BufReader, PipeReader, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

/// What became of a program that was run to its end or to its limit.
#[derive(Debug)]
pub struct ProcessResult {
    /// True when it exited by itself with status 0.
    pub success: bool,
    /// True when it was ended because its time was up.
    pub timed_out: bool,
    /// Every line of both streams, in order, without line ends.
    pub lines: Vec<String>,
    /// How long it took.
    pub duration: Duration,
}

impl ProcessResult {
    /// The last line that says anything: most programs put their reason there.
    pub fn last_words(&self) -> &str {
        self.lines.iter().rev().map(|line| line.trim()).find(|line| !line.is_empty()).unwrap_or("no output")
    }
}

/// The program that runs us, or the one on the path.
pub fn cargo() -> Command {
    Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

/// Where an executable of this name lies on `PATH`, if it does.
pub fn find(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(program)).find(|candidate| candidate.is_file())
}

/// Makes a program of a C source, which is kept beside it.
pub fn compile(text: &str, program: &Path) -> Result<PathBuf, String> {
    let source = program.with_extension("c");
    std::fs::write(&source, text).map_err(|error| format!("{}: {error}", source.display()))?;
    let compiler = find("cc").ok_or("there is no C compiler (cc)")?;
    let mut command = Command::new(compiler);
    match command.args(["-O2", "-pthread", "-o"]).arg(program).arg(&source).arg("-lm").status() {
        Ok(status) if status.success() => Ok(program.to_path_buf()),
        _ => Err("the C compiler refused the loop".to_string()),
    }
}

/// Runs a program to its end or for at most `limit`, and writes all that it said to `log`.
///
/// Fails only when it could not be started at all, with a sentence that names it.
pub fn run(command: Command, log: Option<&Path>, limit: Duration) -> Result<ProcessResult, String> {
    let started = Instant::now();
    run_until(command, log, &|| started.elapsed() > limit)
}

/// Runs a program to its end, or until it is to be over.
fn run_until(
    mut command: Command,
    log: Option<&Path>,
    over: &dyn Fn() -> bool,
) -> Result<ProcessResult, String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let cannot = |error: std::io::Error| format!("cannot run {name}: {error}");
    let started = Instant::now();
    let (reader, writer) = std::io::pipe().map_err(cannot)?;
    command.stdin(Stdio::null()).stdout(writer.try_clone().map_err(cannot)?).stderr(writer).process_group(0);
    let mut child = command.spawn().map_err(cannot)?;
    drop(command); // it holds the pipe's writing end: the reader would never see the end of the file
    let (sender, receiver) = channel();
    std::thread::spawn(move || read_lines(reader, &sender));
    let (lines, status) = listen(&mut child, &receiver, over);
    let outcome = ProcessResult {
        success: status.is_some_and(|status| status.success()),
        timed_out: status.is_none(),
        lines,
        duration: started.elapsed(),
    };
    write_log(log, &outcome.lines)?;
    Ok(outcome)
}

/// Collects lines until the child has ended and is silent; `None` when it had to be ended.
fn listen(
    child: &mut Child,
    lines: &Receiver<String>,
    over: &dyn Fn() -> bool,
) -> (Vec<String>, Option<ExitStatus>) {
    let mut seen = Vec::new();
    let mut ended = None;
    loop {
        match lines.recv_timeout(Duration::from_millis(100)) {
            Ok(line) => seen.push(line),
            Err(RecvTimeoutError::Disconnected) => {
                ended = ended.or_else(|| child.wait().ok());
                return (seen, ended);
            }
            // A daemon left behind may hold the pipe open for ever: silence after the end is the end.
            Err(RecvTimeoutError::Timeout) if ended.is_some() => return (seen, ended),
            Err(RecvTimeoutError::Timeout) => ended = child.try_wait().ok().flatten(),
        }
        if ended.is_none() && over() {
            end_group(child);
            return (seen, None);
        }
    }
}

fn read_lines(reader: PipeReader, sender: &Sender<String>) {
    let mut reader = BufReader::new(reader);
    let mut line = Vec::new();
    while reader.read_until(b'\n', &mut line).is_ok_and(|count| count > 0) {
        let text = String::from_utf8_lossy(&line).trim_end_matches(['\n', '\r']).to_string();
        if sender.send(text).is_err() {
            return;
        }
        line.clear();
    }
}

/// Ends the child and everything it started that did not leave its process group.
fn end_group(child: &mut Child) {
    let group = format!("-{}", child.id());
    let _ = Command::new("kill").args(["-KILL", "--", &group]).stderr(Stdio::null()).status();
    let _ = child.kill();
    let _ = child.wait();
}

fn write_log(log: Option<&Path>, lines: &[String]) -> Result<(), String> {
    let Some(path) = log else { return Ok(()) };
    let write = || -> std::io::Result<()> {
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder)?;
        }
        let mut file = File::create(path)?;
        lines.iter().try_for_each(|line| writeln!(file, "{line}"))
    };
    write().map_err(|error| format!("cannot write {}: {error}", path.display()))
}

/// Makes room for a file that a program is to write anew: its folder is there, and nothing of an earlier one is left.
///
/// # Errors
/// The folder or the file that stands in the way.
pub fn fresh(file: &Path) -> Result<(), String> {
    let folder = file.parent().unwrap_or(file);
    std::fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    match std::fs::remove_file(file) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(format!("{}: {error}", file.display()))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sh(script: &str, limit: Duration) -> ProcessResult {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        run(command, None, limit).expect("sh starts")
    }

    #[test]
    fn both_streams_arrive_in_the_order_they_were_written() {
        let outcome = sh("echo one; echo two >&2; echo three; exit 3", Duration::from_secs(60));
        assert_eq!(outcome.lines, ["one", "two", "three"]);
        assert!(!outcome.success && !outcome.timed_out);
        assert_eq!(outcome.last_words(), "three");
    }

    #[test]
    fn a_program_that_never_ends_is_ended_with_its_children() {
        let folder = tempfile::TempDir::new().expect("a folder");
        let mark = folder.path().join("begun");
        let mut command = Command::new("sh");
        command.args(["-c", "sleep 600 & echo $!; touch begun; sleep 600"]).current_dir(folder.path());
        let outcome = run_until(command, None, &|| mark.exists()).expect("sh starts");
        assert!(outcome.timed_out && !outcome.success);
        let child = Path::new("/proc").join(outcome.last_words()).join("cmdline");
        // One that was killed and not yet waited for has no command line any more.
        while std::fs::read(&child).is_ok_and(|words| !words.is_empty()) {
            std::thread::yield_now();
        }
    }

    #[test]
    fn a_daemon_that_holds_the_pipe_does_not_hold_us() {
        let outcome = sh("setsid sleep 3600 & echo $!", Duration::from_secs(3000));
        let killed = Command::new("kill").arg(outcome.last_words()).status().expect("kill is here");
        assert!(outcome.success && killed.success(), "it was there when we went on");
    }

    #[test]
    fn a_missing_program_is_a_sentence() {
        let error = run(Command::new("no-such-program-here"), None, Duration::from_secs(1)).unwrap_err();
        assert!(error.starts_with("cannot run no-such-program-here: "), "{error}");
    }
}
