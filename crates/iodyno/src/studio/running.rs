//! Runs that were started here: this program once more each, with what it says while it runs.
//!
//! Its report comes over standard output and is kept. What happens comes over standard error as lines of JSON; all other lines
//! there are messages for the user.

use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use iodyno_model::{Diagnostic, Origin};
use serde_json::{Value, json};

use super::command_line::StudioCommand;
use super::folder;
use crate::loader::plain;

/// Lines that are kept of a run: beyond them only the latest figures are.
const LINES_MOST: usize = 20_000;
/// A report may be so long, bytes.
const REPORT_MOST: u64 = 256 << 20;
/// A reader that has all waits so long for the next line.
const PATIENCE: Duration = Duration::from_millis(900);
/// A run that was told to stop is asked again after so many looks.
const STOP_LOOKS: u32 = 300;

/// All of them, in their order.
#[derive(Default)]
pub struct Runs(Mutex<Vec<Arc<StudioRun>>>);

/// One of them.
pub struct StudioRun {
    pub number: usize,
    pub name: String,
    /// The words that it is run with.
    pub words: Vec<String>,
    /// How often its gauges move, s.
    pub update_s: u64,
    process: u32,
    state: Mutex<RunState>,
    changed: Condvar,
}

#[derive(Default)]
struct RunState {
    /// What happened, as lines of JSON.
    lines: Vec<String>,
    /// The latest figures.
    latest: String,
    messages: Vec<String>,
    /// Its number in the history.
    kept: Option<i64>,
    /// Its report.
    report: Option<PathBuf>,
    stopped: bool,
    ended: bool,
    /// Its exit status, or the signal that it died of plus 128.
    status: Option<i32>,
}

/// How a run is begun.
pub struct Start<'a> {
    pub name: String,
    pub stem: String,
    pub update_s: u64,
    pub command: StudioCommand,
    pub folder: &'a Path,
}

impl Runs {
    fn all(&self) -> MutexGuard<'_, Vec<Arc<StudioRun>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The run of a number.
    pub fn get(&self, number: usize) -> Option<Arc<StudioRun>> {
        self.all().get(number).cloned()
    }

    /// All of them, in few words.
    pub fn list(&self) -> Vec<Value> {
        self.all().iter().map(|run| run.summary()).collect()
    }

    /// Begins a run; one at a time, since two of them would measure each other.
    ///
    /// # Errors
    /// One is running, or this program cannot be started again.
    pub fn start(&self, start: Start<'_>) -> Result<Arc<StudioRun>, Diagnostic> {
        let mut all = self.all();
        if let Some(busy) = all.iter().find(|run| !run.state().ended) {
            let what = format!("`{}` is still running: the two would measure each other", busy.name);
            return Err(
                Diagnostic::error(&Origin::argument("start"), what).hint("wait for its end, or stop it")
            );
        }
        let mut child = spawn(&start.command.words)?;
        let (out, err) = (child.stdout.take(), child.stderr.take());
        let run = Arc::new(StudioRun {
            number: all.len(),
            name: start.name,
            words: start.command.words.clone(),
            update_s: start.update_s,
            process: child.id(),
            state: Mutex::default(),
            changed: Condvar::new(),
        });
        all.push(Arc::clone(&run));
        drop(all);
        let (heard, folder) = (Arc::clone(&run), start.folder.to_path_buf());
        let (stem, extension) = (format!("{}-report", start.stem), start.command.extension);
        let hear = move || {
            let reports = Arc::clone(&heard);
            let report = std::thread::spawn(move || {
                let mut bytes = Vec::new();
                let _ = out.map(|out| out.take(REPORT_MOST).read_to_end(&mut bytes));
                if !bytes.is_empty() {
                    reports.keep_report(&folder, &stem, extension, &bytes);
                }
            });
            err.into_iter().for_each(|err| heard.listen(BufReader::new(err)));
            let _ = report.join();
            heard.end(child);
        };
        std::thread::spawn(hear);
        Ok(run)
    }

    /// Stops what runs, and waits until it has.
    pub fn end(&self) {
        let running: Vec<_> = self.all().iter().filter(|run| !run.state().ended).cloned().collect();
        running.iter().for_each(|run| run.stop());
        for run in running {
            for look in 0_u32.. {
                if run.state().ended {
                    break;
                }
                if look % STOP_LOOKS == STOP_LOOKS - 1 {
                    run.stop();
                }
                std::thread::sleep(super::LOOK);
            }
        }
    }
}

/// Asks a process that was started here to end, as Ctrl-C does.
fn interrupt(process: u32) {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let signal = if ignores_interrupts(&status) { "-TERM" } else { "-INT" };
    // Without `kill` (a bare container) it runs to its end.
    let _ = Command::new("kill").args([signal, &process.to_string()]).status();
}

/// Whether SIGINT, signal 2, does nothing to a process: a shell starts all in the background (`iodyno studio &`) so, and what
/// those start inherits it.
fn ignores_interrupts(status: &str) -> bool {
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).is_some_and(|mask| mask & 0b10 > 0)
}

fn spawn(words: &[String]) -> Result<Child, Diagnostic> {
    let wrong = |error: std::io::Error| {
        Diagnostic::error(
            &Origin::argument("start"),
            format!("this program cannot be started: {}", plain(&error)),
        )
    };
    let program = std::env::current_exe().map_err(wrong)?;
    let mut command = Command::new(program);
    command.args(words).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.env("NO_COLOR", "1");
    // Ctrl-C in a terminal reaches the whole group: the run would be told twice, and not wait for its workers.
    command.process_group(0);
    command.spawn().map_err(wrong)
}

impl StudioRun {
    fn state(&self) -> MutexGuard<'_, RunState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads what it says, until it says nothing more.
    fn listen(&self, lines: impl BufRead) {
        for line in lines.split(b'\n').map_while(Result::ok) {
            let line = String::from_utf8_lossy(&line).trim_end().to_string();
            let is_event = line.starts_with("{\"") && serde_json::from_str::<Value>(&line).is_ok();
            let mut state = self.state();
            match line.strip_prefix("kept as run ").and_then(|rest| rest.split(':').next()?.parse().ok()) {
                Some(id) => state.kept = Some(id),
                None if is_event => state.event(line),
                None if !line.is_empty() => state.messages.push(line),
                None => {}
            }
            drop(state);
            self.changed.notify_all();
        }
    }

    fn keep_report(&self, folder: &Path, stem: &str, extension: &str, bytes: &[u8]) {
        let kept = folder::keep(folder, stem, extension, bytes);
        let mut state = self.state();
        match kept {
            Ok(path) => state.report = Some(path),
            Err(wrong) => state.messages.push(wrong.to_string()),
        }
    }

    fn end(&self, mut child: Child) {
        let status = child.wait();
        let mut state = self.state();
        state.status = status.ok().and_then(|status| {
            use std::os::unix::process::ExitStatusExt;
            status.code().or_else(|| status.signal().map(|signal| 128 + signal))
        });
        state.ended = true;
        drop(state);
        self.changed.notify_all();
    }

    /// Asks it to stop, as Ctrl-C does: what it has measured by then is reported.
    pub fn stop(&self) {
        let mut state = self.state();
        if !state.ended {
            state.stopped = true;
            interrupt(self.process);
        }
    }

    /// What happened from the line of a number on; waits a moment for it.
    pub fn since(&self, from: usize) -> Value {
        let mut state = self.state();
        if state.lines.len() <= from && !state.ended {
            state = match self.changed.wait_timeout(state, PATIENCE) {
                Ok((state, _)) => state,
                Err(poisoned) => poisoned.into_inner().0,
            };
        }
        let lines: Vec<Value> =
            state.lines.iter().skip(from).filter_map(|line| serde_json::from_str(line).ok()).collect();
        let mut value = self.summary_of(&state);
        value["next"] = json!(state.lines.len());
        value["lines"] = json!(lines);
        value["latest"] = serde_json::from_str(&state.latest).unwrap_or_default();
        value["messages"] = json!(state.messages);
        value
    }

    fn summary(&self) -> Value {
        self.summary_of(&self.state())
    }

    fn summary_of(&self, state: &RunState) -> Value {
        json!({
            "number": self.number, "name": self.name, "words": self.words, "update_s": self.update_s, "kept": state.kept,
            "ended": state.ended, "stopped": state.stopped, "status": state.status,
            "report": state.report.as_ref().and_then(|path| path.file_name()).map(|name| name.to_string_lossy()),
        })
    }
}

impl RunState {
    fn event(&mut self, line: String) {
        let is_live = line.contains("\"event\":\"live\"");
        if is_live {
            self.latest.clone_from(&line);
        }
        // What is left out of a run of many hours is in its record.
        if self.lines.len() < LINES_MOST || !(is_live || line.contains("\"event\":\"watched\"")) {
            self.lines.push(line);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn idle() -> StudioRun {
        StudioRun {
            number: 0,
            name: "x".into(),
            words: Vec::new(),
            update_s: 1,
            process: 0,
            state: Mutex::default(),
            changed: Condvar::new(),
        }
    }

    #[test]
    fn a_run_of_a_studio_in_the_background_can_be_stopped() {
        assert!(ignores_interrupts("SigBlk:\t0000000000000000\nSigIgn:\t0000000000001006\n"));
        assert!(!ignores_interrupts("SigIgn:\t0000000000001000\n") && !ignores_interrupts(""));
    }

    #[test]
    fn events_messages_and_the_number_are_told_apart() {
        let run = idle();
        let text = b"note: slow\n{\"event\":\"live\",\"phase\":0}\n{no event\nkept as run 12: iodyno runs show 12\n\n";
        run.listen(&text[..]);
        let told = run.since(0);
        assert_eq!(
            (&told["next"], &told["lines"][0]["event"], &told["kept"]),
            (&json!(1), &json!("live"), &json!(12))
        );
        assert_eq!(told["messages"], json!(["note: slow", "{no event"]));
    }
}
