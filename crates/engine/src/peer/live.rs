//! What lies outside a conversation for real: sockets of the system, its clock, and a conductor's thread for each run.
//!
//! One thread waits for everything at once. A run has a thread of its own, so that the control connection is heard while
//! it goes on, and so that one server serves many clients.

use std::collections::BTreeMap;
use std::io::Read;
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, SyncSender};

use iodyno_model::conversation::{Action, Input, RunNumber};
use iodyno_model::{Diagnostic, Plan};

use super::Listener;
use super::pump::{Outside, Pump, RunMessage};
use super::runs::{self, Running};
use super::table::Table;
use crate::clock;
use crate::conductor::{Halt, Options};
use crate::failure::Failure;
use crate::signal;

/// How long it waits at most before it looks whether it was interrupted, ms.
const GLANCE_MS: i32 = 100;
/// How long the runs that an end leaves behind have to stop, ns.
const PARTING_NS: u64 = 10_000_000_000;
/// Messages of a run that may wait to be reported.
const QUEUE: usize = 1024;

/// The sockets and runs of one conversation.
pub struct Live<'a> {
    options: &'a Options,
    began: clock::Tick,
    table: Table,
    running: BTreeMap<RunNumber, Running>,
    words: Receiver<RunMessage>,
    mouth: SyncSender<RunMessage>,
    /// Readable when a word waits.
    bell: UnixStream,
    rope: Arc<UnixStream>,
    /// Interruptions that the conversation knows of.
    interrupted: u32,
}

impl Outside for Live<'_> {
    fn now_ns(&self) -> u64 {
        clock::monotonic() - self.began
    }

    fn unix_ns(&self) -> u64 {
        clock::unix_ns()
    }

    fn act(&mut self, action: Action) -> Vec<Input> {
        let now_ns = self.now_ns();
        self.table.act(action, now_ns)
    }

    /// Starts a plan in a thread of its own.
    fn run(&mut self, run: RunNumber, mut plan: Plan, interim_ns: u64) -> Result<(), Diagnostic> {
        let lent = self.table.lend(&mut plan, run)?;
        let halt = Halt::default();
        let options = Options { interim_ns, halt: Some(halt.clone()), ..self.options.clone() };
        let tell = runs::Teller { run, mouth: self.mouth.clone(), rope: self.rope.clone() };
        match runs::spawn(plan, options, tell) {
            Ok(thread) => drop(self.running.insert(run, Running { thread, halt, lent })),
            Err(wrong) => {
                self.table.take_back(&lent);
                return Err(wrong);
            }
        }
        Ok(())
    }

    fn stop(&mut self, run: RunNumber) {
        self.running.get(&run).into_iter().for_each(Running::stop);
    }

    fn nobody_listens(&mut self) {
        signal::nobody_listens();
    }
}

impl<'a> Live<'a> {
    /// Without sockets yet.
    ///
    /// # Errors
    /// When there is no bell to be had.
    pub fn new(options: &'a Options) -> Result<Self, Failure> {
        let failed = |error| Failure::io("socketpair", &error);
        let (bell, rope) = UnixStream::pair().map_err(failed)?;
        bell.set_nonblocking(true).and_then(|()| rope.set_nonblocking(true)).map_err(failed)?;
        let (mouth, words) = mpsc::sync_channel(QUEUE);
        Ok(Live {
            options,
            began: clock::monotonic(),
            table: Table::default(),
            running: BTreeMap::new(),
            words,
            mouth,
            bell,
            rope: Arc::new(rope),
            interrupted: 0,
        })
    }

    /// Until something happens, or it is time to look.
    pub fn wait(&mut self, pump: &mut Pump) {
        let now_ns = self.now_ns();
        let due_ns = pump.wake_at().into_iter().chain(self.table.due_ns()).min();
        let left_ms = due_ns.map_or(GLANCE_MS, |due| due.saturating_sub(now_ns).div_ceil(1_000_000) as i32);
        let bell = libc::pollfd { fd: self.bell.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        let mut polled = vec![bell];
        let numbers = self.table.polled(&mut polled);
        let room = polled.len() as libc::nfds_t;
        // SAFETY: the array is valid for the call.
        let ready = unsafe { libc::poll(polled.as_mut_ptr(), room, left_ms.clamp(0, GLANCE_MS)) };
        if ready > 0 {
            for (number, polled) in numbers.into_iter().zip(&polled[1..]).filter(|(_, p)| p.revents != 0) {
                pump.tell(self.table.stir(number, polled.revents));
            }
        }
        let now_ns = self.now_ns();
        pump.tell(self.table.overdue(now_ns));
        pump.wake(now_ns);
        if let (count @ 1.., signal) = signal::interruptions()
            && count > self.interrupted
        {
            self.interrupted = count;
            pump.tell([Input::Interrupted(signal)]);
        }
    }

    /// Hears what runs have told.
    pub fn hear(&mut self, pump: &mut Pump, listener: &mut dyn Listener) {
        let mut rung = [0; 64];
        while matches!((&self.bell).read(&mut rung), Ok(1..)) {}
        while let Ok(word) = self.words.try_recv() {
            if let RunMessage::Ended(run, _) = &word
                && let Some(running) = self.running.remove(run)
            {
                self.table.take_back(&running.lent);
                // It has said its last word.
                let _ = running.thread.join();
            }
            pump.hear(word, listener);
        }
    }

    /// Stops what still runs, and sends what was still to be sent.
    pub fn part(mut self, pump: &mut Pump, listener: &mut dyn Listener) {
        self.running.values().for_each(Running::stop);
        let until = clock::monotonic() + PARTING_NS;
        while clock::monotonic() < until && (!self.running.is_empty() || self.table.has_to_send()) {
            self.wait(pump);
            self.hear(pump, listener);
            pump.forget();
        }
    }
}
