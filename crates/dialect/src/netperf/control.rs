//! A client's control connection to netserver, and the data connection that it leads to: what is awaited, until when, and
//! what is wrong when it does not come.
//!
//! ```text
//!   connect ─► listen (for datagrams) ─► ask ─► open the data connection ─► ready ─► drain ─► results
//! ```
//! The owner decides at each [`ControlEvent`] what comes next: netperf itself, a test of `iodyno net`, or one question.

use iodyno_model::conversation::{Action, Connection, Ends, Input};

use super::wire::{self, Message};
use crate::address::joined;
use crate::strerror;

/// How long an answer may take, beyond what was asked to be done, ns.
pub(super) const ANSWER_NS: u64 = 30_000_000_000;
/// How long the end of a data connection is waited for, ns.
pub(super) const DRAIN_NS: u64 = 10_000_000_000;

/// How far it has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ControlStage {
    Idle,
    Connecting,
    Listening,
    Asked,
    Opening,
    Ready,
    Draining,
    AwaitingResults,
    Over,
}

/// What the owner is to go on with.
pub(super) enum ControlEvent {
    /// The control connection stands.
    Connected,
    /// Datagrams can come, at this end.
    Listening(Ends),
    /// netserver has answered what it was asked.
    Answered(Message),
    /// The data connection stands.
    Opened(Ends),
    /// The time that [`ControlConnection::ready`] named has come.
    Due,
    /// The data connection has ended on both sides.
    Drained,
    /// What netserver measured.
    Results(Message),
    /// netserver has closed the control connection too early.
    HungUp,
    /// There is no netserver: the system's reason.
    Unreachable(String),
    /// It cannot go on: why, and what to do about it.
    Broken(String, &'static str),
}

/// What differs in the messages of those who use it.
#[derive(Clone, Debug, Default)]
pub(super) struct Wording {
    /// What stands before a message about the control connection, and about the data connection.
    pub(super) control: String,
    pub(super) data: &'static str,
    /// What to do where netserver refuses the test, where no port can be had, and where it does not answer.
    pub(super) refused: &'static str,
    pub(super) listen: &'static str,
    pub(super) silent: &'static str,
}

/// Both connections of a client.
pub(super) struct ControlConnection {
    /// The numbers of the control connection, of the data connection, and of the socket at which datagrams come.
    pub(super) number: Connection,
    pub(super) data: Connection,
    pub(super) place: Connection,
    /// Both ends of the control connection.
    pub(super) ends: Ends,
    /// When it is given up, ns.
    pub(super) due_ns: u64,
    wording: Wording,
    stage: ControlStage,
    inbox: Vec<u8>,
    connect_ns: u64,
    data_address: String,
    has_sent_word: bool,
}

impl ControlConnection {
    /// A client whose connections have these numbers and may take so long to come about.
    pub(super) fn new(numbers: [Connection; 3], connect_ns: u64, wording: Wording) -> ControlConnection {
        let [number, data, place] = numbers;
        ControlConnection {
            number,
            data,
            place,
            ends: Ends::default(),
            due_ns: u64::MAX,
            wording,
            stage: ControlStage::Idle,
            inbox: Vec::new(),
            connect_ns,
            data_address: String::new(),
            has_sent_word: false,
        }
    }

    pub(super) fn is_six(&self) -> bool {
        self.ends.peer.starts_with('[')
    }

    pub(super) fn is_ready(&self) -> bool {
        self.stage == ControlStage::Ready
    }

    pub(super) fn is_draining(&self) -> bool {
        self.stage == ControlStage::Draining
    }

    pub(super) fn is_idle(&self) -> bool {
        self.stage == ControlStage::Idle
    }

    pub(super) fn is_over(&self) -> bool {
        self.stage == ControlStage::Over
    }

    /// Connects to netserver, over IPv4, IPv6 or (0) either.
    pub(super) fn connect(
        &mut self,
        now_ns: u64,
        (host, port, family): (&str, u16, u8),
        socket_options: Vec<(String, String)>,
    ) -> Action {
        (self.stage, self.due_ns) = (ControlStage::Connecting, now_ns + 2 * self.connect_ns);
        Action::Connect {
            connection: self.number,
            transport: crate::address::transport("tcp", family),
            address: joined(host, port),
            socket_options,
            timeout_ns: self.connect_ns,
        }
    }

    /// Makes the socket at which datagrams come.
    pub(super) fn listen(
        &mut self,
        transport: String,
        address: String,
        socket_options: Vec<(String, String)>,
    ) -> Action {
        self.stage = ControlStage::Listening;
        Action::Listen { place: self.place, transport, address, socket_options }
    }

    /// Asks netserver for its part, after the word where it wants one.
    pub(super) fn ask(&mut self, now_ns: u64, word: Option<&str>, request: &Message) -> Vec<Action> {
        (self.stage, self.due_ns) = (ControlStage::Asked, now_ns + ANSWER_NS);
        let word = word.filter(|_| !std::mem::replace(&mut self.has_sent_word, true));
        let records = word.map(passphrase).into_iter().chain([request.bytes()]);
        records.map(|record| Action::Send(self.number, record)).collect()
    }

    /// Makes the data connection.
    pub(super) fn open(
        &mut self,
        now_ns: u64,
        transport: String,
        address: String,
        socket_options: Vec<(String, String)>,
    ) -> Action {
        (self.stage, self.due_ns) = (ControlStage::Opening, now_ns + 2 * self.connect_ns);
        self.data_address = address.clone();
        Action::Connect {
            connection: self.data,
            transport,
            address,
            socket_options,
            timeout_ns: self.connect_ns,
        }
    }

    /// Data may move; results that come meanwhile wait.
    pub(super) fn ready(&mut self, due_ns: u64) {
        (self.stage, self.due_ns) = (ControlStage::Ready, due_ns);
    }

    /// Our data is through: netserver reads the rest.
    pub(super) fn drain(&mut self, now_ns: u64) -> Action {
        (self.stage, self.due_ns) = (ControlStage::Draining, now_ns + DRAIN_NS);
        Action::Shut(self.data)
    }

    /// Our end is through: results may have come already.
    pub(super) fn await_results(&mut self, now_ns: u64) -> Option<ControlEvent> {
        (self.stage, self.due_ns) = (ControlStage::AwaitingResults, now_ns + ANSWER_NS);
        self.receive()
    }

    /// Nothing more is awaited.
    pub(super) fn finish(&mut self) {
        (self.stage, self.due_ns) = (ControlStage::Over, u64::MAX);
    }

    /// What follows from what happened.
    pub(super) fn step(&mut self, now_ns: u64, input: &Input) -> Option<ControlEvent> {
        match (input, self.stage) {
            (_, ControlStage::Idle | ControlStage::Over) => None,
            (Input::Ready(number, ends), ControlStage::Connecting) if *number == self.number => {
                self.ends = ends.clone();
                Some(ControlEvent::Connected)
            }
            (Input::Ready(number, ends), ControlStage::Listening) if *number == self.place => {
                Some(ControlEvent::Listening(ends.clone()))
            }
            (Input::Ready(number, ends), ControlStage::Opening) if *number == self.data => {
                Some(ControlEvent::Opened(ends.clone()))
            }
            (Input::Bytes(number, bytes), _) if *number == self.number => {
                self.inbox.extend(bytes);
                self.receive()
            }
            // A reset ends a connection too.
            (Input::Closed(number) | Input::Failed(number, ..), ControlStage::Draining)
                if *number == self.data =>
            {
                Some(ControlEvent::Drained)
            }
            // Who has sent its results may go.
            (Input::Closed(number), _) if *number == self.number => {
                (self.inbox.len() < wire::RECORD_BYTES).then_some(ControlEvent::HungUp)
            }
            (Input::Failed(number, errno, what), _) => self.failed(*number, *errno, what),
            (Input::Tick, _) if now_ns >= self.due_ns => Some(self.late()),
            _ => None,
        }
    }

    /// The record that is awaited, once it is there; records that come before their time wait.
    fn receive(&mut self) -> Option<ControlEvent> {
        if self.inbox.len() > 4 * wire::RECORD_BYTES {
            let what = "netserver says more than it was asked";
            return Some(ControlEvent::Broken(what.into(), "is it a netserver?"));
        }
        if !matches!(self.stage, ControlStage::Asked | ControlStage::AwaitingResults) {
            return None;
        }
        let message = Message::take(&mut self.inbox)?;
        Some(match (message.second(), self.stage) {
            (errno @ 1.., _) => {
                let what = format!("netserver cannot do it: {}", strerror::of_system(errno));
                ControlEvent::Broken(what, self.wording.refused)
            }
            (_, ControlStage::Asked) => ControlEvent::Answered(message),
            _ => ControlEvent::Results(message),
        })
    }

    fn failed(&self, number: Connection, errno: i32, what: &str) -> Option<ControlEvent> {
        let why = strerror::reason(errno, what);
        let Wording { control, data, .. } = &self.wording;
        match (number, self.stage) {
            (number, ControlStage::Connecting) if number == self.number => {
                Some(ControlEvent::Unreachable(why))
            }
            (number, _) if number == self.number => {
                let what = format!("{control}the control connection broke: {why}");
                Some(ControlEvent::Broken(what, "see what netserver says"))
            }
            (number, ControlStage::Listening) if number == self.place => {
                Some(ControlEvent::Broken(format!("{what}: {why}"), self.wording.listen))
            }
            (number, ControlStage::Opening) if number == self.data => {
                let what = format!("{data}{}: {why}", self.data_address);
                Some(ControlEvent::Broken(what, "see whether a firewall lets the data's port through"))
            }
            _ => None,
        }
    }

    /// The time is up.
    fn late(&mut self) -> ControlEvent {
        let broken = |what: &str, hint| ControlEvent::Broken(what.into(), hint);
        match self.stage {
            ControlStage::Ready => {
                self.due_ns = u64::MAX;
                ControlEvent::Due
            }
            ControlStage::Draining => ControlEvent::Drained,
            ControlStage::AwaitingResults => {
                broken("netserver does not tell what it measured", "see what netserver says")
            }
            ControlStage::Opening => {
                broken("the data connection is not made", "see whether a firewall is in between")
            }
            _ => broken("netserver does not answer", self.wording.silent),
        }
    }
}

/// The record that proves knowledge of a word.
pub(super) fn passphrase(word: &str) -> Vec<u8> {
    let mut record = Message::new(wire::PASSPHRASE, -1);
    record.set_text(0, 64, word);
    record.bytes()
}

/// The last datagrams of a sender: empty ones, three of them, for one may be lost.
pub(super) fn last_datagrams(connection: Connection) -> impl Iterator<Item = Action> {
    (0..3).map(move |_| Action::Send(connection, Vec::new()))
}
