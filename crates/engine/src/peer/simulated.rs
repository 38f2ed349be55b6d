//! Conversations over a network that is only simulated: several of them, in one thread, in virtual time.
//!
//! It exists so that whole tests of two hosts, from the first byte of the control protocol to the last line of both
//! reports, can be tested by their exact text in no time. What happens is a queue of events ordered by time and then by
//! the order in which they were made, so that a run of it is the same everywhere. It looks at no clock, makes no socket
//! and starts no thread. It refuses what it cannot simulate: files, and exchanges with a connection each.

use std::collections::BTreeMap;

use iodyno_model::conversation::{Action, Conversation, Input, RunNumber};
use iodyno_model::{Diagnostic, Plan};

use super::Listener;
use super::pump::{Outside, Pump, RunMessage};
use wire::Wires;

mod calls;
mod flow;
mod moves;
mod record;
mod runs;
mod sockets;
mod wire;

pub use wire::Link;

/// When every simulated conversation begins, ns since 1970.
pub const BEGAN_UNIX_NS: u64 = 1_795_287_537_110_000_000;
/// A conversation that goes on for longer than this is given up, ns: a day.
const MOST_NS: u64 = 86_400_000_000_000;
/// For how long those go on who are not awaited, once nobody is any more, ns: they may have a last word to say.
const AFTERWARDS_NS: u64 = 10_000_000_000;

/// One of those who talk.
pub struct Party<'a> {
    /// The address of its host, without a port.
    pub host: String,
    /// What it says.
    pub conversation: &'a mut dyn Conversation,
    /// Who hears it.
    pub listener: &'a mut dyn Listener,
    /// When it is started, ns.
    pub begins_ns: u64,
    /// The network goes on until all of those have ended who are awaited, and a little longer. A server may not end.
    pub awaited: bool,
    /// When it is interrupted, ns, and the signals.
    pub signals: Vec<(u64, i32)>,
    /// When its process is killed, ns.
    pub killed_ns: Option<u64>,
}

/// Carries conversations over links of that kind between all their hosts, until all have ended, those who are awaited have
/// ended a while ago, or nothing can happen any more; the exit status of each that has ended.
pub fn converse(link: &Link, parties: Vec<Party<'_>>) -> Vec<Option<u8>> {
    let hosts = parties.iter().map(|party| party.host.clone()).collect();
    let mut network = Network::new(link, hosts);
    for (number, party) in parties.iter().enumerate() {
        network.later(party.begins_ns, Happens::Begins(number));
        let signals = party.signals.iter();
        signals.for_each(|(at_ns, signal)| network.later(*at_ns, Happens::Interrupted(number, *signal)));
        party.killed_ns.iter().for_each(|at_ns| network.later(*at_ns, Happens::Killed(number)));
    }
    let mut talks: Vec<Talk<'_>> = parties.into_iter().map(Talk::new).collect();
    while network.advance(&mut talks) {
        while network.tell(&mut talks) {}
    }
    talks.into_iter().map(|talk| talk.status).collect()
}

/// A party under way.
struct Talk<'a> {
    party: Party<'a>,
    pump: Pump,
    /// It has begun, and has neither ended nor been killed.
    is_there: bool,
    is_over: bool,
    status: Option<u8>,
}

impl<'a> Talk<'a> {
    fn new(party: Party<'a>) -> Self {
        Talk { party, pump: Pump::new(), is_there: false, is_over: false, status: None }
    }

    fn leave(&mut self, status: Option<u8>) {
        (self.is_there, self.is_over, self.status) = (false, true, status);
    }
}

/// What happens at a time.
enum Happens {
    Begins(usize),
    Interrupted(usize, i32),
    Killed(usize),
    Socket(sockets::Happens),
    Run(runs::Happens),
}

/// What a party is to be told.
enum News {
    Input(Input),
    RunMessage(RunMessage),
}

/// Everything between the conversations.
struct Network {
    now_ns: u64,
    /// When it comes to its end, ns.
    until_ns: u64,
    /// Events by time and by the order in which they were made.
    queue: BTreeMap<(u64, u64), Happens>,
    made: u64,
    hosts: Vec<String>,
    wires: Wires,
    sockets: sockets::Sockets,
    runs: Vec<runs::SimulatedRun>,
    news: Vec<(usize, News)>,
}

impl Network {
    fn new(link: &Link, hosts: Vec<String>) -> Self {
        Network {
            now_ns: 0,
            until_ns: MOST_NS,
            queue: BTreeMap::new(),
            made: 0,
            hosts,
            wires: Wires::new(link),
            sockets: sockets::Sockets::default(),
            runs: Vec::new(),
            news: Vec::new(),
        }
    }

    /// Something will happen; what is past happens now.
    fn later(&mut self, at_ns: u64, happens: Happens) {
        self.made += 1;
        self.queue.insert((at_ns.max(self.now_ns), self.made), happens);
    }

    fn tell_input(&mut self, party: usize, input: Input) {
        self.news.push((party, News::Input(input)));
    }

    /// Goes on to what happens next; `false`: nothing does, or nobody waits for it.
    fn advance(&mut self, talks: &mut [Talk<'_>]) -> bool {
        let nobody_is_awaited = talks.iter().all(|talk| talk.is_over || !talk.party.awaited);
        if nobody_is_awaited {
            self.until_ns = self.until_ns.min(self.now_ns + AFTERWARDS_NS);
        }
        if talks.iter().all(|talk| talk.is_over) {
            return false;
        }
        let wakes = talks.iter().filter(|talk| talk.is_there).filter_map(|talk| talk.pump.wake_at());
        let (event, wake) = (self.queue.keys().next().map(|key| key.0), wakes.min());
        let Some(at_ns) = event.into_iter().chain(wake).min().filter(|at_ns| *at_ns <= self.until_ns) else {
            return false;
        };
        self.now_ns = self.now_ns.max(at_ns);
        // Whoever is to be woken at the time of something else hears of that first.
        match self.queue.first_entry().filter(|first| first.key().0 <= at_ns) {
            Some(first) => {
                let happens = first.remove();
                self.happen(happens, talks);
            }
            None => talks.iter_mut().filter(|talk| talk.is_there).for_each(|talk| talk.pump.wake(at_ns)),
        }
        true
    }

    fn happen(&mut self, happens: Happens, talks: &mut [Talk<'_>]) {
        match happens {
            Happens::Begins(party) => talks[party].is_there = true,
            Happens::Interrupted(party, signal) => {
                self.interrupt_runs(party, signal);
                self.tell_input(party, Input::Interrupted(signal));
            }
            Happens::Killed(party) => {
                self.forget_runs(party);
                self.close_all(party);
                talks[party].leave(None);
            }
            Happens::Socket(happens) => self.socket_happens(happens),
            Happens::Run(happens) => self.run_happens(happens),
        }
    }

    /// Tells everybody what happened; whether more has happened by that.
    fn tell(&mut self, talks: &mut [Talk<'_>]) -> bool {
        for (party, news) in std::mem::take(&mut self.news) {
            let talk = &mut talks[party];
            match news {
                News::Input(input) => talk.pump.tell([input]),
                News::RunMessage(word) => talk.pump.hear(word, talk.party.listener),
            }
        }
        for (number, talk) in talks.iter_mut().enumerate().filter(|(_, talk)| talk.is_there) {
            let mut door = Door { network: self, party: number, begins_ns: talk.party.begins_ns };
            let status = talk.pump.turn(talk.party.conversation, &mut door, talk.party.listener);
            if let Some(status) = status {
                self.end_runs(number);
                self.close_all(number);
                talk.leave(Some(status));
            }
        }
        !self.news.is_empty()
    }
}

/// What one party has of the network.
struct Door<'n> {
    network: &'n mut Network,
    party: usize,
    begins_ns: u64,
}

impl Outside for Door<'_> {
    fn now_ns(&self) -> u64 {
        self.network.now_ns - self.begins_ns
    }

    fn unix_ns(&self) -> u64 {
        BEGAN_UNIX_NS + self.network.now_ns
    }

    fn act(&mut self, action: Action) -> Vec<Input> {
        self.network.act(self.party, action)
    }

    fn run(&mut self, run: RunNumber, plan: Plan, interim_ns: u64) -> Result<(), Diagnostic> {
        self.network.begin_run(self.party, run, plan, interim_ns)
    }

    fn stop(&mut self, run: RunNumber) {
        self.network.stop_run(self.party, run);
    }
}
