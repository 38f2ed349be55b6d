//! The runs of a conversation: each has a thread in which its conductor sits.

use std::io::Write;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::mpsc::SyncSender;
use std::thread::JoinHandle;

use iodyno_model::conversation::{Connection, RunNumber};
use iodyno_model::{Diagnostic, Event, Origin, Plan, Record};

use super::pump::RunMessage;
use crate::conductor::{Halt, Options, run};

/// A run under way.
pub struct Running {
    /// Its conductor's.
    pub thread: JoinHandle<()>,
    /// How it is stopped.
    pub halt: Halt,
    pub lent: Vec<Connection>,
}

impl Running {
    /// Ends it with what it has.
    pub fn stop(&self) {
        self.halt.ask();
    }
}

/// How a run's thread tells the pump what happens.
pub struct Teller {
    /// Its number.
    pub run: RunNumber,
    /// Where words go.
    pub mouth: SyncSender<RunMessage>,
    /// Rings the pump's bell.
    pub rope: Arc<UnixStream>,
}

impl Teller {
    /// Tells one thing. Live figures are left out where nobody has had the time to hear the last.
    fn tell(&self, word: RunMessage, may_wait: bool) {
        // The pump may be gone already.
        let _ = match may_wait {
            true => self.mouth.send(word).map_err(|_| ()),
            false => self.mouth.try_send(word).map_err(|_| ()),
        };
        // A full pipe has rung often enough.
        let _ = (&*self.rope).write(&[1]);
    }
}

/// Starts a plan.
///
/// # Errors
/// When there is no thread for it.
pub fn spawn(plan: Plan, options: Options, teller: Teller) -> Result<JoinHandle<()>, Diagnostic> {
    let name = format!("run {}", teller.run);
    let conduct = move || {
        let mut emit = |event: &Event| {
            if !matches!(event, Event::Ended(_)) {
                let may_wait = !matches!(event, Event::Live(_));
                teller.tell(RunMessage::Told(teller.run, Box::new(event.clone())), may_wait);
            }
        };
        let record = run(&plan, &options, &mut emit).map_or_else(unbegun, Box::new);
        teller.tell(RunMessage::Ended(teller.run, record), true);
    };
    std::thread::Builder::new()
        .name(name)
        .spawn(conduct)
        .map_err(|error| Diagnostic::error(&Origin::Default, format!("no thread for a run: {error}")))
}

/// The record of a run that could not begin.
pub fn unbegun(errors: Vec<Diagnostic>) -> Box<Record> {
    Box::new(Record { errors, ..Record::default() })
}

/// Whether a conversation is told of an event: not of what is kept or shown here. Live figures and journals are there only
/// where they were asked for.
pub fn concerns(event: &Event) -> bool {
    !matches!(event, Event::Kept(_) | Event::Watched(_))
}
