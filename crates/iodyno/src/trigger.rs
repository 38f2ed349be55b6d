//! Triggers: a file or a time ends a run, and a command runs once the jobs have ended and their states are kept.
//!
//! The command may cut the power of the machine, which is what triggers are for: so it runs before the report.

use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::time::Duration;

use iodyno_dialect::Trigger;
use iodyno_engine::{Halt, clock};
use iodyno_model::{Diagnostic, Origin};

use crate::loader::plain;
use crate::session::say;

/// How often the file is looked for, as fio does it.
const EACH: Duration = Duration::from_millis(100);

/// Waits for a trigger while a run goes on; dropped, it waits no more.
pub struct TriggerWatch {
    halt: Halt,
    has_fired: Arc<AtomicBool>,
    /// The command, until it was run.
    command: Option<String>,
    /// Closed, it ends the thread.
    _ends: Sender<()>,
}

impl TriggerWatch {
    pub fn start(trigger: Trigger) -> TriggerWatch {
        let (halt, has_fired) = (Halt::default(), Arc::new(AtomicBool::new(false)));
        let (ends, ended) = mpsc::channel::<()>();
        let (stopped, fired, began) = (halt.clone(), has_fired.clone(), clock::monotonic());
        let Trigger { file, after_ns, command } = trigger;
        let watch = move || {
            while ended.recv_timeout(EACH) == Err(RecvTimeoutError::Timeout) {
                let is_time =
                    after_ns.is_some_and(|after_ns| clock::monotonic().saturating_sub(began) >= after_ns);
                if is_time || file.as_deref().is_some_and(is_there) {
                    // Fired first: whoever sees the run end must find the reason.
                    fired.store(true, SeqCst);
                    stopped.ask();
                    return;
                }
            }
        };
        if let Err(error) = std::thread::Builder::new().name("trigger".into()).spawn(watch) {
            say(Diagnostic::warning(&Origin::argument("--trigger"), format!("no thread for it: {error}")));
        }
        TriggerWatch { halt, has_fired, command, _ends: ends }
    }

    /// How it ends the run.
    pub fn halt(&self) -> Halt {
        self.halt.clone()
    }

    /// Runs the command if the trigger has fired; once.
    pub fn run(&mut self) {
        if self.has_fired.load(SeqCst)
            && let Some(text) = self.command.take()
        {
            command(&text);
        }
    }
}

/// Whether the file is there; it is taken away, so that it ends one run only.
fn is_there(path: &str) -> bool {
    let is_there = Path::new(path).exists();
    if is_there && let Err(error) = std::fs::remove_file(path) {
        say(Diagnostic::warning(&Origin::argument(path), format!("it stays there: {}", plain(&error))));
    }
    is_there
}

/// Runs a command in a shell; what it prints goes where the report goes, as the original's does.
pub fn command(text: &str) {
    let ended = Command::new("/bin/sh").args(["-c", text]).stdin(Stdio::null()).status();
    if let Err(error) = ended {
        say(Diagnostic::warning(&Origin::argument("--trigger"), format!("/bin/sh: {}", plain(&error))));
    }
}
