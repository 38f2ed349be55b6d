//! The pump: tells a conversation what happens and does what it says, whatever lies outside.
//!
//! What lies outside is real sockets and threads (`live`), or a network that is only simulated (`simulated`). Both have one
//! pump, so that what a conversation lives through is the same. It refuses to know a socket, and never waits.

use std::collections::VecDeque;

use iodyno_model::conversation::{Action, Conversation, Happening, Input, RunNumber};
use iodyno_model::{Diagnostic, Event, Plan, Record};

use super::{Listener, runs};

/// What a conversation has around itself.
pub trait Outside {
    /// ns since the conversation began.
    fn now_ns(&self) -> u64;
    /// Wall-clock time, ns since 1970.
    fn unix_ns(&self) -> u64;
    /// Does what concerns sockets; what came of it at once.
    fn act(&mut self, action: Action) -> Vec<Input>;
    /// Starts a plan.
    ///
    /// # Errors
    /// Why it cannot begin.
    fn run(&mut self, run: RunNumber, plan: Plan, interim_ns: u64) -> Result<(), Diagnostic>;
    /// Ends a run with what it has.
    fn stop(&mut self, run: RunNumber);
    /// Nobody reads any more what is printed.
    fn nobody_listens(&mut self) {}
}

/// What a run tells.
pub enum RunMessage {
    /// Something on its way.
    Told(RunNumber, Box<Event>),
    Ended(RunNumber, Box<Record>),
}

/// One conversation's.
pub struct Pump {
    wake_at: Option<u64>,
    /// What happened and was not told yet.
    inputs: VecDeque<Input>,
}

impl Pump {
    /// Of a conversation that has not begun.
    pub fn new() -> Self {
        Pump { wake_at: None, inputs: [Input::Began].into() }
    }

    /// When the conversation wants to be woken, ns since it began.
    pub fn wake_at(&self) -> Option<u64> {
        self.wake_at
    }

    /// Something happened.
    pub fn tell(&mut self, news: impl IntoIterator<Item = Input>) {
        self.inputs.extend(news);
    }

    /// What happened and was not told is forgotten: nobody listens any more.
    pub fn forget(&mut self) {
        self.inputs.clear();
    }

    /// Wakes the conversation, if it is time.
    pub fn wake(&mut self, now_ns: u64) {
        if self.wake_at.is_some_and(|at| at <= now_ns) {
            self.wake_at = None;
            self.inputs.push_back(Input::Tick);
        }
    }

    /// Hears what a run tells.
    pub fn hear(&mut self, word: RunMessage, listener: &mut dyn Listener) {
        match word {
            RunMessage::Told(run, event) => {
                listener.event(run, &event);
                if runs::concerns(&event) {
                    self.inputs.push_back(Input::Told(run, event));
                }
            }
            RunMessage::Ended(run, record) => {
                listener.event(run, &Event::Ended(record.clone()));
                self.inputs.push_back(Input::Ended(run, record));
            }
        }
    }

    /// Tells all that happened, and does all that is to be done then; the exit status once it is over.
    pub fn turn(
        &mut self,
        conversation: &mut dyn Conversation,
        outside: &mut dyn Outside,
        listener: &mut dyn Listener,
    ) -> Option<u8> {
        while let Some(input) = self.inputs.pop_front() {
            let happening = Happening { at_ns: outside.now_ns(), unix_ns: outside.unix_ns(), input };
            for action in conversation.step(happening) {
                if let Some(status) = self.act(action, outside, listener) {
                    return Some(status);
                }
            }
        }
        None
    }

    /// Does one thing; the exit status once it is over.
    fn act(&mut self, action: Action, outside: &mut dyn Outside, listener: &mut dyn Listener) -> Option<u8> {
        match action {
            Action::Print(text) => {
                if !listener.print(&text) {
                    outside.nobody_listens();
                }
            }
            Action::Complain(text) => listener.complain(&text),
            Action::Write { path, bytes } => listener.write(&path, &bytes),
            Action::Remove(path) => listener.remove(&path),
            Action::Command(command) => listener.command(&command),
            Action::Peer(job, facts) => listener.peer(&job, facts),
            Action::Wake(at_ns) => self.wake_at = Some(at_ns),
            Action::Run { run, plan, interim_ns } => {
                if let Err(wrong) = outside.run(run, *plan, interim_ns) {
                    self.inputs.push_back(Input::Ended(run, runs::unbegun(vec![wrong])));
                }
            }
            Action::Stop(run) => outside.stop(run),
            Action::End(status) => return Some(status),
            other => {
                let listens = matches!(other, Action::Listen { .. });
                let news = outside.act(other);
                if listens && matches!(news.first(), Some(Input::Ready(..))) {
                    listener.stands();
                }
                self.inputs.extend(news);
            }
        }
        None
    }
}
