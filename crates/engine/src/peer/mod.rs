//! Pumps a conversation: owns its sockets, tells it what happens, does what it says, and runs its plans beside it.
//!
//! One thread waits for everything at once. A run has a conductor's thread of its own, so that the control connection
//! is heard while it goes on, and so that one server serves many clients. It understands no byte of what it carries.

use std::collections::{BTreeMap, VecDeque};
use std::io::Read;
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, SyncSender};

use iodyno_model::conversation::{Action, Conversation, Happening, Input, RunNumber};
use iodyno_model::{Event, Plan, Record};

use crate::clock;
use crate::conductor::{Halt, Options};
use crate::failure::Failure;
use crate::signal;

pub mod background;
mod runs;
mod sockets;
mod table;

use runs::Running;
use table::Table;

/// How long it waits at most before it looks whether it was interrupted, ms.
const GLANCE_MS: i32 = 100;
/// How long the runs that an end leaves behind have to stop, ns.
const PARTING_NS: u64 = 10_000_000_000;
/// Messages of a run that may wait to be told.
const QUEUE: usize = 1024;

/// Who is told what a conversation prints and what its runs tell.
pub trait Listener {
    /// A place where peers are awaited stands: from now on there is something to connect to.
    fn stands(&mut self) {}
    /// Something a run tells, its [`Event::Ended`] too.
    fn event(&mut self, run: RunNumber, event: &Event);
    /// What the other end counted, for the record of the last job of that name.
    fn peer(&mut self, _job: &str, _facts: Vec<(String, u64)>) {}
    /// Text for standard output; `false`: nobody reads it any more.
    fn print(&mut self, text: &str) -> bool;
    /// Text for standard error.
    fn complain(&mut self, text: &str);
}

/// Carries a conversation until it ends; its exit status.
///
/// # Errors
/// When the pump itself cannot be had; what goes wrong with a peer is the conversation's to say.
pub fn converse(
    conversation: &mut dyn Conversation,
    options: &Options,
    listener: &mut dyn Listener,
) -> Result<u8, Failure> {
    signal::install();
    // A peer that has gone is told by the call that meets it.
    signal::ignore_pipes();
    let mut pump = Pump::new(options)?;
    let status = pump.carry(conversation, listener);
    pump.part(listener);
    Ok(status)
}

/// What runs tell the pump.
enum Word {
    Told(RunNumber, Box<Event>),
    Ended(RunNumber, Box<Record>),
}

struct Pump<'a> {
    options: &'a Options,
    began: clock::Tick,
    table: Table,
    running: BTreeMap<RunNumber, Running>,
    words: Receiver<Word>,
    mouth: SyncSender<Word>,
    /// Readable when a word waits.
    bell: UnixStream,
    rope: Arc<UnixStream>,
    wake_at: Option<u64>,
    /// Interruptions that the conversation knows of.
    interrupted: u32,
    /// What happened and was not told yet.
    inputs: VecDeque<Input>,
}

impl<'a> Pump<'a> {
    fn new(options: &'a Options) -> Result<Self, Failure> {
        let failed = |error: std::io::Error| Failure::call("socketpair", error.raw_os_error().unwrap_or(0));
        let (bell, rope) = UnixStream::pair().map_err(failed)?;
        bell.set_nonblocking(true).and_then(|()| rope.set_nonblocking(true)).map_err(failed)?;
        let (mouth, words) = mpsc::sync_channel(QUEUE);
        Ok(Pump {
            options,
            began: clock::monotonic(),
            table: Table::default(),
            running: BTreeMap::new(),
            words,
            mouth,
            bell,
            rope: Arc::new(rope),
            wake_at: None,
            interrupted: 0,
            inputs: [Input::Began].into(),
        })
    }

    fn now_ns(&self) -> u64 {
        clock::monotonic() - self.began
    }

    /// Until it says that it is over.
    fn carry(&mut self, conversation: &mut dyn Conversation, listener: &mut dyn Listener) -> u8 {
        loop {
            while let Some(input) = self.inputs.pop_front() {
                let happening = Happening { at_ns: self.now_ns(), unix_ns: clock::unix_ns(), input };
                for action in conversation.step(happening) {
                    if let Some(status) = self.act(action, listener) {
                        return status;
                    }
                }
            }
            self.wait();
            self.hear(listener);
        }
    }

    /// Does one thing; the exit status once it is over.
    fn act(&mut self, action: Action, listener: &mut dyn Listener) -> Option<u8> {
        match action {
            Action::Print(text) => {
                if !listener.print(&text) {
                    signal::nobody_listens();
                }
            }
            Action::Complain(text) => listener.complain(&text),
            Action::Peer(job, facts) => listener.peer(&job, facts),
            Action::Wake(at_ns) => self.wake_at = Some(at_ns),
            Action::Run { run, plan, interim_ns } => self.run(run, *plan, interim_ns),
            Action::Stop(run) => self.running.get(&run).into_iter().for_each(Running::stop),
            Action::End(status) => return Some(status),
            other => {
                let now_ns = self.now_ns();
                let listens = matches!(other, Action::Listen { .. });
                let news = self.table.act(other, now_ns);
                if listens && matches!(news.first(), Some(Input::Ready(..))) {
                    listener.stands();
                }
                self.inputs.extend(news);
            }
        }
        None
    }

    /// Starts a plan in a thread of its own.
    fn run(&mut self, run: RunNumber, mut plan: Plan, interim_ns: u64) {
        let lent = match self.table.lend(&mut plan, run) {
            Ok(lent) => lent,
            Err(wrong) => {
                self.inputs.push_back(Input::Ended(run, runs::unbegun(vec![wrong])));
                return;
            }
        };
        let halt = Halt::default();
        let options = Options { interim_ns, halt: Some(halt.clone()), ..self.options.clone() };
        let tell = runs::Teller { run, mouth: self.mouth.clone(), rope: self.rope.clone() };
        match runs::spawn(plan, options, tell) {
            Ok(thread) => drop(self.running.insert(run, Running { thread, halt, lent })),
            Err(wrong) => {
                self.table.take_back(&lent);
                self.inputs.push_back(Input::Ended(run, runs::unbegun(vec![wrong])));
            }
        }
    }

    /// Until something happens, or it is time to look.
    fn wait(&mut self) {
        let now_ns = self.now_ns();
        let due_ns = self.wake_at.into_iter().chain(self.table.due_ns()).min();
        let left_ms = due_ns.map_or(GLANCE_MS, |due| due.saturating_sub(now_ns).div_ceil(1_000_000) as i32);
        let bell = libc::pollfd { fd: self.bell.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        let mut polled = vec![bell];
        let numbers = self.table.polled(&mut polled);
        let room = polled.len() as libc::nfds_t;
        // SAFETY: the array is valid for the call.
        let ready = unsafe { libc::poll(polled.as_mut_ptr(), room, left_ms.clamp(0, GLANCE_MS)) };
        if ready > 0 {
            for (number, polled) in numbers.into_iter().zip(&polled[1..]).filter(|(_, p)| p.revents != 0) {
                let news = self.table.stir(number, polled.revents);
                self.inputs.extend(news);
            }
        }
        let now_ns = self.now_ns();
        self.inputs.extend(self.table.overdue(now_ns));
        if self.wake_at.is_some_and(|at| at <= now_ns) {
            self.wake_at = None;
            self.inputs.push_back(Input::Tick);
        }
        if let (count @ 1.., signal) = signal::interruptions()
            && count > self.interrupted
        {
            self.interrupted = count;
            self.inputs.push_back(Input::Interrupted(signal));
        }
    }

    /// Hears what runs have told.
    fn hear(&mut self, listener: &mut dyn Listener) {
        let mut rung = [0; 64];
        while matches!((&self.bell).read(&mut rung), Ok(1..)) {}
        while let Ok(word) = self.words.try_recv() {
            match word {
                Word::Told(run, event) => {
                    listener.event(run, &event);
                    if runs::concerns(&event) {
                        self.inputs.push_back(Input::Told(run, event));
                    }
                }
                Word::Ended(run, record) => {
                    if let Some(running) = self.running.remove(&run) {
                        self.table.take_back(&running.lent);
                        // It has said its last word.
                        let _ = running.thread.join();
                    }
                    listener.event(run, &Event::Ended(record.clone()));
                    self.inputs.push_back(Input::Ended(run, record));
                }
            }
        }
    }

    /// Stops what still runs, and sends what was still to be sent.
    fn part(mut self, listener: &mut dyn Listener) {
        self.running.values().for_each(Running::stop);
        let until = clock::monotonic() + PARTING_NS;
        while clock::monotonic() < until && (!self.running.is_empty() || self.table.has_to_send()) {
            self.wait();
            self.hear(listener);
            self.inputs.clear();
        }
    }
}
