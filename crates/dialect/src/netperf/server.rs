//! netserver's side of the control protocol: many clients at once, each with its own end of the data.
//!
//! A peer may say anything and nothing: records have one size, sizes and times have ends, clients have a quota, and who
//! is silent for too long is left. No file is read for a peer, and no memory is taken by what it says.

use std::collections::BTreeMap;

use iodyno_model::conversation::{Action, Connection, Conversation, Happening, Input};

use super::command::ServerCommand;
use super::session::{ServerState, Session};
use crate::address::{host_of, joined, transport};
use crate::conversation::{connection_of, longest_silent, run_of};

const PLACE: Connection = 1;
/// The other family, where one place does not serve both.
const FIRST: Connection = 16;
const LAST: Connection = 1 << 23;
/// Clients at once.
const CLIENTS_MOST: usize = 256;
/// Of one address.
const OF_ONE_MOST: usize = 64;
/// How long a server of ours, started for one command, waits for that command to come, ns.
const ALONE_NS: u64 = 60_000_000_000;
/// How often time limits are checked, ns.
const GLANCE_NS: u64 = 1_000_000_000;

/// The whole of it.
pub(super) struct Netserver {
    command: ServerCommand,
    sessions: BTreeMap<Connection, Session>,
    share: ServerState,
    served: bool,
    interrupted: bool,
}

impl Netserver {
    /// One that is about to begin.
    pub(super) fn new(command: ServerCommand) -> Self {
        let share = ServerState { next: FIRST, last: LAST, first: FIRST, word: command.word.clone() };
        Netserver { command, sessions: BTreeMap::new(), share, served: false, interrupted: false }
    }

    fn begin(&self) -> Vec<Action> {
        let address = match &self.command.host {
            Some(host) => joined(host, self.command.port),
            None => format!(":{}", self.command.port),
        };
        vec![Action::Listen {
            place: PLACE,
            transport: transport("tcp", self.command.family),
            address,
            socket_options: Vec::new(),
        }]
    }

    fn listening(&self, local: &str) -> Vec<Action> {
        let note = match &self.command.host {
            None => ", at every address: -L 127.0.0.1 keeps it to this machine",
            Some(_) => "",
        };
        vec![Action::Print(format!("Starting netserver at {local}{note}\n")), Action::Wake(GLANCE_NS)]
    }

    fn accepted(&mut self, connection: Connection, peer: &str, now_ns: u64) -> Vec<Action> {
        let host = host_of(peer).unwrap_or_default();
        let of_one = self.sessions.values().filter(|session| session.host() == host).count();
        let of_one = of_one >= OF_ONE_MOST && !self.command.crowd;
        let full = self.sessions.len() >= CLIENTS_MOST;
        // Who says nothing holds no place that somebody wants: of one address its own first, else of that with most.
        let silent = match (of_one, full) {
            (true, _) => self.silent(Some(&host), now_ns),
            (_, true) => self.silent(None, now_ns),
            _ => None,
        };
        if (of_one || full) && silent.is_none() || (self.command.once && self.served && !self.command.crowd) {
            let said = format!("netserver: {host} is turned away: too many clients at once\n");
            return vec![Action::Complain(said), Action::Close(connection)];
        }
        self.served = true;
        self.sessions.insert(connection, Session::new(connection, host, now_ns));
        silent
            .into_iter()
            .filter_map(|silent| self.sessions.remove(&silent).map(|_| Action::Close(silent)))
            .collect()
    }

    /// The connection that gives way to a new one: of an address, or of that which has most that are silent.
    fn silent(&self, host: Option<&str>, now_ns: u64) -> Option<Connection> {
        let silent = self.sessions.iter().filter(|(_, session)| session.is_silent(now_ns));
        let silent = silent.map(|(number, session)| (*number, session.host().to_string(), session.due_ns()));
        longest_silent(silent, host)
    }

    /// The session that a number belongs to.
    fn of(&self, number: Connection) -> Option<Connection> {
        self.sessions
            .iter()
            .find(|(control, session)| **control == number || session.has(number))
            .map(|(c, _)| *c)
    }

    /// Hands what happened to a session, and lets go of it when it is over.
    fn hand(&mut self, number: Connection, now_ns: u64, input: Input) -> Vec<Action> {
        let Some(control) = self.of(number) else { return Vec::new() };
        let Some(session) = self.sessions.get_mut(&control) else { return Vec::new() };
        let mut actions = session.step(now_ns, input, &mut self.share);
        if session.is_over() {
            self.sessions.remove(&control);
            actions.extend(self.client_left());
        }
        actions
    }

    fn client_left(&self) -> Option<Action> {
        let last = self.command.once || self.interrupted;
        (last && self.sessions.is_empty()).then_some(Action::End(0))
    }

    fn glance(&mut self, now_ns: u64) -> Vec<Action> {
        if self.command.crowd && !self.served && now_ns >= ALONE_NS {
            return vec![Action::Complain("netserver: nobody has come\n".into()), Action::End(1)];
        }
        let mut actions = vec![Action::Wake(now_ns + GLANCE_NS)];
        let controls: Vec<Connection> = self.sessions.keys().copied().collect();
        for control in controls {
            actions.extend(self.hand(control, now_ns, Input::Tick));
        }
        actions
    }
}

impl Conversation for Netserver {
    fn step(&mut self, happening: Happening) -> Vec<Action> {
        let now_ns = happening.at_ns;
        match happening.input {
            Input::Began => self.begin(),
            Input::Ready(PLACE, ends) => self.listening(&ends.local),
            Input::Failed(PLACE, errno, what) => {
                let why = crate::strerror::reason(errno, &what);
                let text = format!(
                    "netserver: port {}: {what}: {why}\n hint: -p names another\n",
                    self.command.port
                );
                vec![Action::Complain(text), Action::End(1)]
            }
            Input::Accepted { at: PLACE, connection, ends } => self.accepted(connection, &ends.peer, now_ns),
            Input::Tick => self.glance(now_ns),
            Input::Interrupted(_) => vec![Action::End(0)],
            input => match connection_of(&input).or(run_of(&input)) {
                Some(number) => self.hand(number, now_ns, input),
                None => Vec::new(),
            },
        }
    }
}
