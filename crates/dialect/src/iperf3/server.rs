//! The server: everybody who connects, until they say whom they belong to, and the tests that go on.
//!
//! Many clients are served at once, within quotas; what a peer may cost in memory and time is bounded. A test's own
//! course is `session`'s business.

use std::collections::BTreeMap;

use iodyno_model::conversation::{Action, Connection, Conversation, Ends, FIRST_ACCEPTED, Happening, Input};

use super::auth::Authenticator;
use super::client::by;
use super::command::Command;
use super::report::text;
use super::report::{OutputStyle, Report};
use super::session::{Rules, Session, Stage};
use super::settings::Params;
use super::state::{self, Inbox};
use crate::address::{host_and_port, joined};
use crate::conversation::longest_silent;

const PLACE: Connection = 1;
const UDP_PLACE: Connection = 2;
const SCTP_PLACE: Connection = 3;
/// Connections that answer datagrams have numbers from here on.
const FIRST_ANSWER: Connection = 16;
const SECOND_NS: u64 = 1_000_000_000;
/// Tests at once.
const TESTS_MOST: usize = 32;
/// Tests of one address at once.
const TESTS_OF_ONE_MOST: usize = 8;
/// Streams at once, over all tests.
const STREAMS_MOST: u32 = 512;
/// Connections that have sent no cookie yet.
const STRANGERS_MOST: usize = 256;
/// Of one address: more than it needs for the most streams of a test.
const STRANGERS_OF_ONE_MOST: usize = 160;
/// How long they may take.
const STRANGER_NS: u64 = 10 * SECOND_NS;

/// A connection that has sent no cookie yet.
struct UnknownPeer {
    inbox: Inbox,
    ends: Ends,
    since_ns: u64,
}

/// Where datagrams, or SCTP's associations, come. Once open it stays so: beside the sockets of tests that go on it could not
/// be had again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ListenState {
    Closed,
    Opening,
    Open,
}

pub struct Iperf3Server {
    command: Command,
    voice: OutputStyle,
    system: String,
    gate: Option<Authenticator>,
    seed: u64,
    strangers: BTreeMap<Connection, UnknownPeer>,
    /// By their control connections.
    sessions: BTreeMap<Connection, Session>,
    mailbox: ListenState,
    sctp: ListenState,
    next_answer: Connection,
    next_run: u32,
    number: u64,
    port: u16,
    idle_since_ns: u64,
    over: bool,
    out: Vec<Action>,
}

impl Iperf3Server {
    /// A server that does not listen yet.
    pub fn new(
        command: Command,
        system: String,
        gate: Option<Authenticator>,
        seed: u64,
        east_s: i64,
    ) -> Iperf3Server {
        Iperf3Server {
            voice: OutputStyle::new(&command, east_s),
            port: command.port,
            command,
            system,
            gate,
            seed,
            strangers: BTreeMap::new(),
            sessions: BTreeMap::new(),
            mailbox: ListenState::Closed,
            sctp: ListenState::Closed,
            next_answer: FIRST_ANSWER,
            next_run: 1,
            number: 1,
            idle_since_ns: 0,
            over: false,
            out: Vec::new(),
        }
    }

    fn place(&self, place: Connection, protocol: &str) -> Action {
        let family = self.command.family.map(|family| family.to_string()).unwrap_or_default();
        let mut socket_options = Vec::new();
        if let Some(device) = &self.command.device {
            socket_options.push(("device".to_string(), device.clone()));
        }
        if protocol == "tcp" && self.command.mptcp {
            socket_options.push(("mptcp".into(), "on".into()));
        }
        Action::Listen {
            place,
            transport: format!("{protocol}{family}"),
            address: joined(self.command.bind.as_deref().unwrap_or(""), self.port),
            socket_options,
        }
    }

    fn listening(&mut self, unix_ns: u64) {
        let text = text::listening(self.port, self.number);
        self.out.extend(self.voice.text(&text, unix_ns));
    }

    fn began(&mut self, unix_ns: u64) {
        if self.command.verbose {
            let text = format!("{}\n{}\n", super::banner(), self.system);
            self.out.extend(self.voice.text(&text, unix_ns));
        }
        self.out.push(self.place(PLACE, "tcp"));
    }

    fn accepted(&mut self, connection: Connection, ends: Ends, at_ns: u64) {
        if let Some(silent) = self.silent(&host_and_port(&ends.peer).0) {
            self.strangers.remove(&silent);
            self.out.push(Action::Close(silent));
        }
        self.out.push(Action::Read { connection, most: Some(state::COOKIE_BYTES) });
        self.strangers.insert(connection, UnknownPeer { inbox: Inbox::default(), ends, since_ns: at_ns });
    }

    /// The stranger that gives way to a new one of an address, where there are too many.
    fn silent(&self, host: &str) -> Option<Connection> {
        let strangers = || {
            let since = |(number, stranger): (&Connection, &UnknownPeer)| {
                (*number, host_and_port(&stranger.ends.peer).0, stranger.since_ns)
            };
            self.strangers.iter().map(since)
        };
        let of_host = strangers().filter(|(_, of, _)| of == host).count();
        match (of_host >= STRANGERS_OF_ONE_MOST, self.strangers.len() >= STRANGERS_MOST) {
            (true, _) => longest_silent(strangers(), Some(host)),
            (_, true) => longest_silent(strangers(), None),
            _ => None,
        }
    }

    /// A stranger says something: whom it belongs to.
    fn introduced(&mut self, connection: Connection, bytes: &[u8], at: (u64, u64)) {
        let Some(stranger) = self.strangers.get_mut(&connection) else { return };
        stranger.inbox.add(bytes);
        let Some(cookie) = stranger.inbox.exact(state::COOKIE_BYTES) else { return };
        let Some(stranger) = self.strangers.remove(&connection) else { return };
        let expects = |session: &Session| session.cookie == cookie;
        match self.sessions.iter().find(|(_, session)| expects(session)).map(|(control, _)| *control) {
            Some(control) => self.stream(control, connection, stranger.ends, at),
            None => self.client(connection, stranger.ends, cookie, at),
        }
    }

    /// A stream of a test.
    fn stream(&mut self, control: Connection, connection: Connection, ends: Ends, at: (u64, u64)) {
        let Some(session) = self.sessions.get_mut(&control) else { return };
        if session.stage != Stage::Opening || session.test.params.udp || session.is_full() {
            return self.turn_away(connection);
        }
        let socket_options = session.socket_options();
        self.out.push(Action::Read { connection, most: Some(0) });
        if !socket_options.is_empty() {
            self.out.push(Action::Set(connection, socket_options));
        }
        session.add(connection, ends, at);
        self.start_if_full(control, at);
    }

    fn start_if_full(&mut self, control: Connection, at: (u64, u64)) {
        let Some(session) = self.sessions.get_mut(&control) else { return };
        if session.is_full() {
            session.start(self.next_run, self.seed, at, &mut self.out);
            self.next_run += 1;
            self.next_in_line(at);
        }
    }

    fn turn_away(&mut self, connection: Connection) {
        self.out.push(Action::Send(connection, vec![state::ACCESS_DENIED]));
        self.out.push(Action::Close(connection));
    }

    /// A client: accepted, or turned away where there is no room.
    fn client(&mut self, control: Connection, ends: Ends, cookie: Vec<u8>, at: (u64, u64)) {
        let host = host_and_port(&ends.peer).0;
        let of_one = self.sessions.values().filter(|session| session.host() == host).count();
        let full = self.sessions.len() >= TESTS_MOST || of_one >= TESTS_OF_ONE_MOST;
        let full = full && !self.give_way((of_one >= TESTS_OF_ONE_MOST).then_some(&host), at);
        if full || (self.command.one_off && !self.sessions.is_empty()) {
            return self.turn_away(control);
        }
        let rules = Rules {
            rate_limit: self.command.rate_limit,
            most_time_s: self.command.most_time_s,
            receive_timeout_ns: self.command.receive_timeout_ms * 1_000_000,
            cpu: self.command.affinity.map(|(cpu, _)| cpu),
            user_timeout_ms: self.command.send_timeout_ms,
            debug: self.command.debug,
        };
        let style = text::TextStyle { format: self.command.format, verbose: self.command.verbose };
        let report = Report::new(self.voice.clone(), style, self.system.clone());
        let mut session = Session::new(control, cookie, ends, rules, report, at);
        session.test.interval_s = self.command.interval_s;
        session.test.file = self.command.file.clone().map(|name| (name, 0));
        self.out.push(Action::Read { connection: control, most: None });
        if let Some(keepalive) = &self.command.keepalive {
            self.out.push(Action::Set(control, vec![("keepalive".into(), keepalive.clone())]));
        }
        self.out.push(Action::Set(control, vec![("nodelay".into(), "on".into())]));
        session.send_state(state::PARAM_EXCHANGE, at, &mut self.out);
        self.sessions.insert(control, session);
    }

    /// Takes the place of the client that has kept others waiting for longest without a test: of a host, or of that which
    /// has most such. Whether there was one.
    fn give_way(&mut self, host: Option<&String>, at: (u64, u64)) -> bool {
        let idle = self
            .sessions
            .iter()
            .filter_map(|(control, session)| Some((*control, session.host(), session.idle_since(at.0)?)));
        let Some(control) = longest_silent(idle, host.map(String::as_str)) else { return false };
        if let Some(mut session) = self.sessions.remove(&control) {
            session.send_state(state::ACCESS_DENIED, at, &mut self.out);
            session.close(&mut self.out);
        }
        true
    }

    /// What a test's control connection brings.
    fn read_control(&mut self, control: Connection, bytes: &[u8], at: (u64, u64)) {
        let Some(session) = self.sessions.get_mut(&control) else { return };
        session.inbox.add(bytes);
        if session.stage == Stage::Agreeing {
            match session.inbox.json(state::PARAMS_MOST) {
                Ok(None) => return,
                Ok(Some(value)) => self.agreed(control, &value, at),
                Err(_) => self.refuse(control, state::RECEIVE_PARAMS, at),
            }
        }
        if let Some(session) = self.sessions.get_mut(&control) {
            session.read_control(at, &mut self.out);
        }
        self.tidy(at);
    }

    fn agreed(&mut self, control: Connection, value: &serde_json::Value, at: (u64, u64)) {
        let params = match Params::of(value) {
            Ok(params) => params,
            Err(error) => return self.refuse(control, error, at),
        };
        if let Some(error) = self.objection(control, &params, at) {
            return self.refuse(control, error, at);
        }
        let Some(session) = self.sessions.get_mut(&control) else { return };
        session.agree(params, value, at, &mut self.out);
        self.next_in_line(at);
    }

    /// Why a test cannot be.
    fn objection(&mut self, control: Connection, params: &Params, at: (u64, u64)) -> Option<i32> {
        if let Some(gate) = &mut self.gate {
            let admitted = gate.admit(params.token.as_deref().unwrap_or(""), at.1 / SECOND_NS);
            match admitted {
                Ok(user) if self.command.debug => {
                    let text = format!("Authentication succeeded for user '{user}'\n");
                    self.out.extend(self.voice.text(&text, at.1));
                }
                Ok(_) => {}
                Err(why) => {
                    self.out.extend(self.voice.complain(&format!("not let in: {why}")));
                    return Some(state::NOT_ALLOWED);
                }
            }
        }
        let all = params.rate.saturating_mul(params.streams().into());
        if self.command.rate_limit.is_some_and(|(limit, _)| all > limit) {
            return Some(state::TOTAL_RATE);
        }
        let long = params.time_s + params.omit_s;
        if self.command.most_time_s.is_some_and(|most| long > most) {
            return Some(state::MOST_TIME);
        }
        if self.command.file.is_some() && (params.udp || params.bidir) {
            self.out
                .extend(self.voice.complain("a test that cannot be had with -F: files go one way, over TCP"));
            return Some(state::RUN);
        }
        let others = self.sessions.iter().filter(|(other, _)| **other != control);
        let busy: u32 = others.map(|(_, session)| session.test.params.streams()).sum();
        (busy + params.streams() > STREAMS_MOST).then_some(state::BUSY)
    }

    fn refuse(&mut self, control: Connection, error: i32, at: (u64, u64)) {
        if let Some(session) = self.sessions.get_mut(&control) {
            session.refuse(error, 0, &mut self.out);
        }
        self.tidy(at);
    }

    /// Lets tests open their streams: of UDP, one of an address at a time, for hellos tell no more than that.
    fn next_in_line(&mut self, at: (u64, u64)) {
        let waiting: Vec<Connection> = self
            .sessions
            .iter()
            .filter(|(_, session)| session.stage == Stage::Queued)
            .map(|(control, _)| *control)
            .collect();
        for control in waiting {
            let Some(session) = self.sessions.get(&control) else { continue };
            let host = session.host();
            let is_udp = session.test.params.udp;
            let opens = |other: &Session| {
                other.stage == Stage::Opening && other.test.params.udp && other.host() == host
            };
            if is_udp && self.sessions.values().any(opens) {
                continue;
            }
            let further = match (is_udp, session.test.params.sctp) {
                (true, _) => Some((UDP_PLACE, "udp")),
                (_, true) => Some((SCTP_PLACE, "sctp")),
                _ => None,
            };
            if let Some((place, protocol)) = further
                && !self.is_listening(place, protocol)
            {
                continue;
            }
            if let Some(session) = self.sessions.get_mut(&control) {
                session.open(at, &mut self.out);
            }
        }
    }

    /// Whether a further place stands; asks for it where nobody has.
    fn is_listening(&mut self, place: Connection, protocol: &str) -> bool {
        let mailbox = if place == UDP_PLACE { &mut self.mailbox } else { &mut self.sctp };
        if *mailbox == ListenState::Closed {
            *mailbox = ListenState::Opening;
            let listen = self.place(place, protocol);
            self.out.push(listen);
            return false;
        }
        *mailbox == ListenState::Open
    }

    /// A hello of a UDP stream: answered where a test waits for it, and once more where it was answered before.
    fn hello(&mut self, from: &str, bytes: &[u8]) {
        let host = host_and_port(from).0;
        let wants = |session: &&mut Session| session.expects_hello() && session.host() == host;
        // What is longer is data of a test that is over.
        if bytes.len() != 4 {
            return;
        }
        if let Some((_, again)) =
            self.sessions.values().flat_map(|session| session.answers()).find(|(to, _)| to == from)
        {
            self.out.push(Action::Send(again, state::HELLO_ANSWER.to_vec()));
            return;
        }
        let Some(session) = self.sessions.values_mut().find(wants) else { return };
        let connection = self.next_answer;
        self.next_answer =
            if self.next_answer + 1 < FIRST_ACCEPTED { self.next_answer + 1 } else { FIRST_ANSWER };
        session.answer(connection, from);
        self.out.push(Action::Answer { at: UDP_PLACE, connection, to: from.into() });
    }

    /// A socket that answers a hello stands.
    fn answered(&mut self, connection: Connection, ends: Ends, at: (u64, u64)) {
        let Some((control, session)) =
            self.sessions.iter_mut().find(|(_, session)| session.has_asked(connection))
        else {
            self.out.push(Action::Close(connection));
            return;
        };
        let control = *control;
        let socket_options = session.socket_options();
        self.out.push(Action::Read { connection, most: Some(0) });
        if !socket_options.is_empty() {
            self.out.push(Action::Set(connection, socket_options));
        }
        self.out.push(Action::Send(connection, state::HELLO_ANSWER.to_vec()));
        session.add(connection, ends, at);
        self.start_if_full(control, at);
    }

    fn failed(&mut self, connection: Connection, errno: i32, what: &str, at: (u64, u64)) {
        let reason = crate::strerror::reason(errno, what);
        if connection == PLACE && what != "accept" {
            let text = format!("error - unable to start listener for connections: {reason}");
            self.out.extend(self.voice.complain(&text));
            return self.end(1);
        }
        if matches!(connection, UDP_PLACE | SCTP_PLACE) {
            return self.has_no_place(connection == UDP_PLACE, errno, at);
        }
        self.strangers.remove(&connection);
        if let Some(session) = self.sessions.get_mut(&connection) {
            session.control_closed(&mut self.out);
        } else if let Some(session) = self.sessions.values_mut().find(|session| session.has(connection)) {
            session.stream_failed(errno, what, &mut self.out);
        }
        self.tidy(at);
    }

    /// A further place cannot be had: those who wait for it hear so.
    fn has_no_place(&mut self, is_udp: bool, errno: i32, at: (u64, u64)) {
        let error = if is_udp { state::LISTEN } else { state::NO_SCTP };
        *(if is_udp { &mut self.mailbox } else { &mut self.sctp }) = ListenState::Closed;
        let wants = |session: &&mut Session| {
            let params = &session.test.params;
            session.stage == Stage::Queued && if is_udp { params.udp } else { params.sctp }
        };
        for session in self.sessions.values_mut().filter(wants) {
            session.refuse(error, errno, &mut self.out);
        }
        self.tidy(at);
    }

    /// What is over is taken off; the server listens on, or ends.
    fn tidy(&mut self, at: (u64, u64)) {
        let over: Vec<Connection> = self
            .sessions
            .iter()
            .filter(|(_, session)| session.is_over())
            .map(|(control, _)| *control)
            .collect();
        for control in over {
            let Some(session) = self.sessions.remove(&control) else { continue };
            self.number += u64::from(session.counts());
            self.idle_since_ns = at.0;
            if self.command.one_off {
                return self.end(u8::from(session.has_failed()));
            }
            if self.sessions.is_empty() {
                self.listening(at.1);
            }
        }
        self.next_in_line(at);
    }

    fn end(&mut self, status: u8) {
        self.over = true;
        self.out.push(Action::End(status));
    }

    fn tick(&mut self, at: (u64, u64)) {
        let late = |stranger: &UnknownPeer| at.0.saturating_sub(stranger.since_ns) > STRANGER_NS;
        let gone: Vec<Connection> = self
            .strangers
            .iter()
            .filter(|(_, stranger)| late(stranger))
            .map(|(connection, _)| *connection)
            .collect();
        for connection in gone {
            self.strangers.remove(&connection);
            self.out.push(Action::Close(connection));
        }
        for session in self.sessions.values_mut() {
            session.tick(at, &mut self.out);
        }
        self.tidy(at);
        let idle_ns = at.0.saturating_sub(self.idle_since_ns);
        let limit_ns = self.command.idle_timeout_s.map(|seconds| seconds * SECOND_NS);
        if self.sessions.is_empty() && limit_ns.is_some_and(|limit| idle_ns > limit) {
            self.idle_since_ns = at.0;
            if self.command.one_off {
                self.end(0);
            } else {
                self.out.extend([Action::Close(PLACE), self.place(PLACE, "tcp")]);
            }
        }
    }

    fn interrupted(&mut self, signal: i32, at: (u64, u64)) {
        for session in self.sessions.values_mut() {
            session.send_state(state::SERVER_TERMINATE, at, &mut self.out);
            session.close(&mut self.out);
        }
        self.out.extend(self.voice.complain(&format!("interrupt - the server has terminated{}", by(signal))));
        self.end(0);
    }

    fn heed(&mut self, input: Input, at: (u64, u64)) {
        match input {
            Input::Began => self.began(at.1),
            Input::Ready(PLACE, ends) => {
                self.port = match host_and_port(&ends.local).1 {
                    0 => self.port,
                    port => port,
                };
                self.listening(at.1);
            }
            Input::Ready(place @ (UDP_PLACE | SCTP_PLACE), _) => {
                *(if place == UDP_PLACE { &mut self.mailbox } else { &mut self.sctp }) = ListenState::Open;
                self.next_in_line(at);
            }
            Input::Ready(connection, ends) => self.answered(connection, ends, at),
            Input::Accepted { connection, ends, .. } => self.accepted(connection, ends, at.0),
            Input::Bytes(connection, bytes) if self.sessions.contains_key(&connection) => {
                self.read_control(connection, &bytes, at);
            }
            Input::Bytes(connection, bytes) => self.introduced(connection, &bytes, at),
            Input::Datagram { from, bytes, .. } => self.hello(&from, &bytes),
            Input::Closed(connection) => self.closed(connection, at),
            Input::Failed(connection, errno, what) => self.failed(connection, errno, &what, at),
            Input::Told(run, event) => {
                if let Some(session) = self.sessions.values_mut().find(|session| session.run == Some(run)) {
                    session.run_event(&event, at, &mut self.out);
                }
                self.tidy(at);
            }
            Input::Ended(run, record) => {
                if let Some(session) = self.sessions.values_mut().find(|session| session.run == Some(run)) {
                    session.ended(&record, at, &mut self.out);
                }
                self.tidy(at);
            }
            Input::Interrupted(signal) => self.interrupted(signal, at),
            Input::Tick => self.tick(at),
            Input::Slow(..) => {}
        }
    }

    fn closed(&mut self, connection: Connection, at: (u64, u64)) {
        if self.strangers.remove(&connection).is_some() {
            self.out.push(Action::Close(connection));
        }
        if let Some(session) = self.sessions.get_mut(&connection) {
            session.control_closed(&mut self.out);
        }
        self.tidy(at);
    }
}

impl Conversation for Iperf3Server {
    fn step(&mut self, happening: Happening) -> Vec<Action> {
        if self.over {
            return Vec::new();
        }
        let at = (happening.at_ns, happening.unix_ns);
        self.heed(happening.input, at);
        let waits =
            !self.strangers.is_empty() || !self.sessions.is_empty() || self.command.idle_timeout_s.is_some();
        if waits && !self.over {
            self.out.push(Action::Wake(at.0 + SECOND_NS));
        }
        std::mem::take(&mut self.out)
    }
}
