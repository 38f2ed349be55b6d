//! A peer that says whatever it likes: to a conversation it is what the sockets are to the real one.

use std::collections::BTreeSet;

use iodyno_model::conversation::{
    Action, Connection, Conversation, Ends, FIRST_ACCEPTED, Happening, Input, RunNumber,
};

/// Things that happen before the user has had enough.
const STEPS: u64 = 96;

/// Has the conversation; `said` is all that the peer ever says, in pieces of odd lengths.
pub fn talk(conversation: Box<dyn Conversation>, said: &[u8]) {
    let mut peer = Peer {
        conversation,
        said,
        due: Vec::new(),
        open: BTreeSet::new(),
        datagrams: BTreeSet::new(),
        running: BTreeSet::new(),
        accepted: FIRST_ACCEPTED,
        steps: 0,
        over: false,
    };
    peer.happens(Input::Began);
    while !peer.over && peer.steps < STEPS {
        let input = peer.next();
        peer.happens(input);
    }
    peer.happens(Input::Interrupted(2));
}

struct Peer<'a> {
    conversation: Box<dyn Conversation>,
    said: &'a [u8],
    /// What is to happen before anything else is said.
    due: Vec<Input>,
    /// Connections on which the peer may speak.
    open: BTreeSet<Connection>,
    /// Places at which it may speak without one.
    datagrams: BTreeSet<Connection>,
    running: BTreeSet<RunNumber>,
    accepted: Connection,
    steps: u64,
    over: bool,
}

impl Peer<'_> {
    fn happens(&mut self, input: Input) {
        let at_ns = self.steps * 50_000_000;
        self.steps += 1;
        let happening = Happening { at_ns, unix_ns: 1_700_000_000_000_000_000 + at_ns, input };
        for action in self.conversation.step(happening) {
            self.act(action);
        }
    }

    fn act(&mut self, action: Action) {
        match action {
            Action::Listen { place, transport, .. } => {
                self.due.push(Input::Ready(place, ends()));
                if transport.starts_with("udp") {
                    self.datagrams.insert(place);
                } else {
                    for _ in 0..2 {
                        self.due.push(Input::Accepted { at: place, connection: self.accepted, ends: ends() });
                        self.open.insert(self.accepted);
                        self.accepted += 1;
                    }
                }
            }
            Action::Connect { connection, .. } | Action::Answer { connection, .. } => {
                self.due.push(Input::Ready(connection, ends()));
                self.open.insert(connection);
            }
            Action::Run { run, .. } => {
                self.running.insert(run);
            }
            Action::Stop(run) if self.running.remove(&run) => {
                self.due.push(Input::Ended(run, Box::default()));
            }
            Action::Close(connection) => {
                self.open.remove(&connection);
                self.datagrams.remove(&connection);
            }
            Action::End(_) => self.over = true,
            _ => {}
        }
    }

    /// What happens next: what is due, or what the peer says, or nothing but time.
    fn next(&mut self) -> Input {
        if !self.due.is_empty() {
            return self.due.remove(0);
        }
        let turn = self.steps as usize;
        let place = self.datagrams.iter().next().copied();
        if let Some(at) = place.filter(|_| turn.is_multiple_of(3)) {
            return Input::Datagram { at, from: "1.2.3.4:5".into(), bytes: self.say(turn) };
        }
        let speakers: Vec<Connection> = self.open.iter().copied().collect();
        match (speakers.get(turn % speakers.len().max(1)), turn % 7) {
            (_, 5) => match self.running.pop_first() {
                Some(run) => Input::Ended(run, Box::default()),
                None => Input::Tick,
            },
            (None, _) | (_, 6) => Input::Tick,
            (Some(speaker), _) if self.said.is_empty() => {
                self.open.remove(speaker);
                Input::Closed(*speaker)
            }
            (Some(speaker), _) => Input::Bytes(*speaker, self.say(turn)),
        }
    }

    fn say(&mut self, turn: usize) -> Vec<u8> {
        let length = [1, 4, 37, 16, 260, 3, 5000][turn % 7].min(self.said.len());
        let (now, later) = self.said.split_at(length);
        self.said = later;
        now.to_vec()
    }
}

fn ends() -> Ends {
    Ends { local: "1.2.3.4:5201".into(), peer: "1.2.3.4:40000".into(), ..Ends::default() }
}
