//! A run that is being kept: it listens to the events and writes them down where they are safe.
//!
//! What cannot be kept never disturbs the run: the first trouble is remembered and told at the end.

use std::io;

use iodyno_model::{Diagnostic, Event, Record, RunStart};

use crate::entry::{Opening, State};
use crate::journal::Journal;
use crate::store::History;

/// A run under way that is kept.
pub struct Keeping {
    history: History,
    opening: Opening,
    id: Option<i64>,
    /// Its journal, while it runs.
    journal: Option<Journal>,
    trouble: Option<Diagnostic>,
}

impl Keeping {
    /// Prepares to keep a run; nothing is written before it has begun.
    pub fn new(history: History, opening: Opening) -> Self {
        Keeping { history, opening, id: None, journal: None, trouble: None }
    }

    /// Its number, once it has begun.
    pub fn id(&self) -> Option<i64> {
        self.id
    }

    /// Keeps what happened.
    pub fn tell(&mut self, event: &Event) {
        let told = match event {
            Event::Started(started) => self.begin(started),
            Event::Kept(phase) => self.journal(|journal| journal.so_far(phase)),
            Event::Watched(sample) => self.journal(|journal| journal.watched(sample)),
            Event::PhaseEnded(phase) => self.journal(|journal| journal.ended(phase)),
            Event::Ended(record) => self.end(record),
            _ => Ok(()),
        };
        if let Err(wrong) = told {
            self.trouble.get_or_insert(wrong);
        }
    }

    /// The run is over.
    ///
    /// # Errors
    /// The first thing that kept it from being kept.
    pub fn close(self) -> Result<(), Diagnostic> {
        self.trouble.map_or(Ok(()), Err)
    }

    fn begin(&mut self, started: &RunStart) -> Result<(), Diagnostic> {
        let (id, journal) = self.history.begin(&self.opening, started)?;
        (self.id, self.journal) = (Some(id), Some(journal));
        Ok(())
    }

    fn journal(&mut self, write: impl FnOnce(&mut Journal) -> io::Result<()>) -> Result<(), Diagnostic> {
        let Some(journal) = &mut self.journal else { return Ok(()) };
        write(journal).map_err(|error| self.history.unkept(&error))
    }

    fn end(&mut self, record: &Record) -> Result<(), Diagnostic> {
        let (Some(id), Some(journal)) = (self.id, self.journal.take()) else { return Ok(()) };
        let state = if record.stopped_by.is_some() { State::Stopped } else { State::Complete };
        self.history.complete(id, record, state)?;
        journal.remove();
        Ok(())
    }
}
