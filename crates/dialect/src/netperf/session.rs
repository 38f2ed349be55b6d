//! One client of netserver: its records, its socket, its run, and the times after which it is left.

use iodyno_model::conversation::{Action, Connection, Ends, Input, SocketFacts};
use iodyno_model::{Event, PhaseRecord, Record};

use super::control::{DRAIN_NS, last_datagrams};
use super::figures::{self, Cpu, RunFigures};
use super::lower::{self, ConnectionUse, DataFlow, DataRole};
use super::omni_client::{self, DatagramCounts};
use super::settings::other;
use super::wire::{self, Message, OmniRequest, OmniResponse, OmniResults};
use crate::address::{host_of, joined, port_of, transport};
use crate::conversation::{SocketOptions, is_same_secret};

const SECOND_NS: u64 = 1_000_000_000;
/// How long a client may be silent before its first record, and between two tests, ns.
const FIRST_NS: u64 = 60 * SECOND_NS;
const IDLE_NS: u64 = 600 * SECOND_NS;
/// After which silence between tests its place may go to somebody else, ns.
const SILENT_NS: u64 = 5_000_000_000;
/// How long the data connection may take to come (`-s` of netperf waits), ns.
const COMING_NS: u64 = 300 * SECOND_NS;
/// How long data may stand still beyond the test's time, ns.
const STILL_NS: u64 = 60 * SECOND_NS;
/// How long another netserver may take to answer a call, ns.
const CALL_NS: u64 = 10 * SECOND_NS;
/// A run whose end is not signalled is over when its time is and nothing has moved for so long, ns.
const QUIET_NS: u64 = 300_000_000;
/// How often that is checked, ns.
const LOOK_NS: u64 = 100_000_000;
/// The longest test, s.
const LENGTH_MOST_S: i64 = 7 * 86_400;
/// The largest block, bytes.
const BLOCK_MOST: i32 = 16 << 20;
/// What is received at a time where a datagram may be as long, bytes.
const DATAGRAM_MOST: u64 = 65_507;

/// What sessions share.
pub(super) struct ServerState {
    /// The next number of a place or connection, and the bounds of such numbers.
    pub(super) next: u32,
    pub(super) first: u32,
    pub(super) last: u32,
    /// The word that clients must send.
    pub(super) word: Option<String>,
}

impl ServerState {
    fn number(&mut self) -> u32 {
        let number = self.next;
        self.next = if number + 1 >= self.last { self.first } else { number + 1 };
        number
    }
}

/// How far a test has come.
#[derive(Default)]
enum SessionStage {
    /// None is under way.
    #[default]
    Idle,
    /// The place where data comes is made.
    Opening,
    /// The peer is to connect there.
    Awaiting,
    /// It has connected to another netserver at the client's request; data moves when the client asks for it.
    Armed,
    /// Data moves.
    Running,
    /// Ours is through; the peer reads the rest.
    Draining,
    /// The client is gone; the run ends.
    Leaving,
    Over,
}

/// The form of a client's request, which the answer has as well.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum RequestForm {
    #[default]
    Omni,
    /// The older stream, and the older connections.
    Stream,
    Connections,
    /// Ours: this end connects to another netserver and does the client's part.
    Call,
}

/// One client.
#[derive(Default)]
pub(super) struct Session {
    control: Connection,
    host: String,
    inbox: Vec<u8>,
    has_spoken: bool,
    trusted: bool,
    stage: SessionStage,
    tongue: RequestForm,
    request: OmniRequest,
    response: OmniResponse,
    congestion: String,
    /// Our own switches, of a client of ours.
    ours: Option<i32>,
    /// What such a client gets beyond netperf's figures.
    extra: [u64; omni_client::EXTRA],
    processor: Option<u32>,
    place: Connection,
    data: Option<Connection>,
    facts: SocketFacts,
    run: u32,
    measured: RunFigures,
    /// When it is left, ns since the conversation began.
    due_ns: u64,
    /// When data began to move and when it last did, and how much there was.
    began_ns: u64,
    moved: (u64, u64),
    /// The datagram that the last peer is known by.
    peer: Option<String>,
}

impl Session {
    /// A client that has just come.
    pub(super) fn new(control: Connection, host: String, now_ns: u64) -> Self {
        Session { control, host, due_ns: now_ns + FIRST_NS, ..Session::default() }
    }

    /// The address it came from.
    pub(super) fn host(&self) -> &str {
        &self.host
    }

    /// Whether a place, connection or run is its own.
    pub(super) fn has(&self, number: u32) -> bool {
        number != 0 && (self.place == number || self.data == Some(number) || self.run == number)
    }

    /// Whether it has sent no whole record yet, or has asked for no test for a while.
    pub(super) fn is_silent(&self, now_ns: u64) -> bool {
        let idle = matches!(self.stage, SessionStage::Idle) && now_ns + IDLE_NS >= self.due_ns + SILENT_NS;
        !self.has_spoken || idle
    }

    /// When it is left if nothing happens, ns since the conversation began.
    pub(super) fn due_ns(&self) -> u64 {
        self.due_ns
    }

    /// Whether it may be forgotten.
    pub(super) fn is_over(&self) -> bool {
        matches!(self.stage, SessionStage::Over)
    }

    /// What is to be done.
    pub(super) fn step(&mut self, now_ns: u64, input: Input, share: &mut ServerState) -> Vec<Action> {
        match input {
            Input::Bytes(number, bytes) if number == self.control => self.receive(now_ns, bytes, share),
            Input::Closed(number) | Input::Failed(number, ..) if number == self.control => self.leave(),
            Input::Ready(number, ends) if number == self.place && self.data.is_none() => {
                self.opened(now_ns, &ends, share)
            }
            Input::Ready(number, ends) if self.data == Some(number) => {
                self.facts = ends.socket;
                if self.tongue == RequestForm::Call { self.arm(now_ns) } else { self.start(now_ns, share) }
            }
            Input::Accepted { connection, ends, .. } => self.accepted(now_ns, connection, ends, share),
            Input::Failed(number, errno, _) if number == self.place => self.refuse(errno.max(1)),
            Input::Failed(number, errno, _)
                if self.data == Some(number) && matches!(self.stage, SessionStage::Opening) =>
            {
                self.refuse(errno.max(1))
            }
            Input::Closed(number) | Input::Failed(number, ..)
                if self.data == Some(number) && matches!(self.stage, SessionStage::Draining) =>
            {
                self.send_results(now_ns)
            }
            Input::Told(_, event) => match &*event {
                Event::Interim(phase) => self.look(now_ns, phase),
                _ => Vec::new(),
            },
            Input::Ended(_, record) => self.ended(now_ns, &record),
            Input::Tick if now_ns >= self.due_ns => self.late(now_ns),
            _ => Vec::new(),
        }
    }

    /// Records of the client, one after the other.
    fn receive(&mut self, now_ns: u64, bytes: Vec<u8>, share: &mut ServerState) -> Vec<Action> {
        self.inbox.extend(bytes);
        let mut actions = Vec::new();
        // A record that comes during a test waits for its end.
        while matches!(self.stage, SessionStage::Idle | SessionStage::Armed) {
            let Some(message) = Message::take(&mut self.inbox) else { break };
            actions.extend(self.record(now_ns, &message, share));
        }
        if self.inbox.len() > 4 * wire::RECORD_BYTES {
            actions.extend(self.drop_it("says more than it may at a time"));
        }
        actions
    }

    fn record(&mut self, now_ns: u64, message: &Message, share: &mut ServerState) -> Vec<Action> {
        (self.due_ns, self.has_spoken) = (now_ns + IDLE_NS, true);
        if let Some(word) = &share.word
            && !self.trusted
        {
            self.trusted = message.kind() == wire::PASSPHRASE && is_same_secret(&message.text(0, 64), word);
            return if self.trusted { Vec::new() } else { self.drop_it("does not know the word (-Z)") };
        }
        match message.kind() {
            wire::GO if matches!(self.stage, SessionStage::Armed) => self.start(now_ns, share),
            _ if matches!(self.stage, SessionStage::Armed) => {
                self.drop_it("asks for more before what it called for")
            }
            wire::CALL if self.trusted => self.call(message, share),
            wire::CALL => {
                self.drop_it("is to prove that it knows the word (-Z) before it may send us elsewhere")
            }
            wire::OMNI => self.ask(message, OmniRequest::read(message), RequestForm::Omni, share),
            wire::TCP_STREAM => self.ask(message, of_stream(message), RequestForm::Stream, share),
            wire::TCP_CC => self.ask(message, of_connections(message), RequestForm::Connections, share),
            wire::DEBUG_ON | wire::DEBUG_OFF => {
                vec![Action::Send(self.control, Message::new(wire::DEBUG_OK, 0).bytes())]
            }
            wire::CPU_CALIBRATE => {
                let mut answer = Message::new(wire::CPU_CALIBRATE, 0);
                answer.set(0, wire::bits(100.0));
                vec![Action::Send(self.control, answer.bytes())]
            }
            wire::PASSPHRASE => Vec::new(),
            kind => self.drop_it(&format!("asks for a test of type {kind}, which is not known here")),
        }
    }

    /// A test is asked for.
    fn ask(
        &mut self,
        message: &Message,
        request: OmniRequest,
        tongue: RequestForm,
        share: &mut ServerState,
    ) -> Vec<Action> {
        self.tongue = tongue;
        (self.ours, self.extra) =
            (message.ours().filter(|_| tongue == RequestForm::Omni), [0; omni_client::EXTRA]);
        self.congestion = match tongue {
            RequestForm::Omni => message.text(wire::REQUEST_CONGESTION, wire::CONGESTION_BYTES),
            _ => String::new(),
        };
        self.processor = u32::try_from(message.second()).ok().filter(|cpu| *cpu < 4096);
        self.request = request;
        if let Some(why) = impossible(&self.request) {
            let mut actions = vec![Action::Complain(format!("netserver: {}: {why}\n", self.host))];
            actions.extend(self.refuse(95));
            return actions;
        }
        (self.place, self.data, self.peer) = (share.number(), None, None);
        (self.facts, self.measured, self.stage) =
            (SocketFacts::default(), RunFigures::default(), SessionStage::Opening);
        let udp = self.request.socket_type == 2;
        let six = self.request.ipfamily == 6;
        let protocol = match self.request.protocol {
            wire::SCTP => "sctp",
            _ if udp => "udp",
            _ => "tcp",
        };
        let transport = transport(protocol, if six { 6 } else { 4 });
        let any = if six { "::" } else { "0.0.0.0" };
        let port = u16::try_from(self.request.data_port).unwrap_or(0);
        let (address, socket_options) = (joined(any, port), self.socket_options());
        vec![Action::Listen { place: self.place, transport, address, socket_options }]
    }

    /// Another netserver is to be called.
    fn call(&mut self, message: &Message, share: &mut ServerState) -> Vec<Action> {
        (self.tongue, self.request) = (RequestForm::Call, OmniRequest::read(message));
        (self.ours, self.extra) = (Some(message.ours().unwrap_or(0)), [0; omni_client::EXTRA]);
        self.congestion = message.text(wire::REQUEST_CONGESTION, wire::CONGESTION_BYTES);
        let (host, port) = message.called();
        let timed = self.request.test_length > 0 && self.request.flags & wire::CONNECTIONS == 0;
        let sends = self.request.direction & wire::TRANSMITS != 0;
        let is_tcp = self.request.socket_type == 1 && self.request.protocol != wire::SCTP;
        let known = impossible(&self.request).is_none() && is_tcp;
        if !(known && timed && sends) || host.is_empty() || port == 0 {
            return self.refuse(95);
        }
        let number = share.number();
        (self.place, self.data, self.peer) = (0, Some(number), None);
        (self.facts, self.measured, self.stage) =
            (SocketFacts::default(), RunFigures::default(), SessionStage::Opening);
        vec![Action::Connect {
            connection: number,
            transport: "tcp".into(),
            address: joined(&host, port),
            socket_options: self.socket_options(),
            timeout_ns: CALL_NS,
        }]
    }

    /// The other netserver has answered.
    fn arm(&mut self, now_ns: u64) -> Vec<Action> {
        (self.stage, self.due_ns) = (SessionStage::Armed, now_ns + COMING_NS);
        self.response =
            OmniResponse { send_size: self.facts.send_buffer_bytes as i32, ..OmniResponse::default() };
        if self.request.send_size > 0 {
            self.response.send_size = self.request.send_size;
        }
        let mut message = Message::new(wire::CALL + 1, 0);
        self.response.write(&mut message);
        message.set_ours(0);
        vec![Action::Send(self.control, message.bytes())]
    }

    /// What our end does.
    fn role(&self) -> DataRole {
        match other(self.request.direction) {
            DataRole::Answers if self.tongue == RequestForm::Call => DataRole::Asks,
            role => role,
        }
    }

    fn socket_options(&self) -> Vec<(String, String)> {
        let request = &self.request;
        let stream = request.socket_type == 1;
        let size = |bytes: i32| (bytes > 0).then(|| bytes.min(1 << 30));
        let mut options = SocketOptions::default();
        options.set("send_buffer_bytes", size(request.send_buf_size));
        options.set("receive_buffer_bytes", size(request.recv_buf_size));
        options.set("congestion", Some(&self.congestion).filter(|name| stream && !name.is_empty()));
        options.set("tos", Some(request.socket_tos).filter(|tos| (0..=255).contains(tos)));
        // Higher ones are the administrator's to give away.
        options.set("priority", Some(request.socket_prio).filter(|priority| (0..=6).contains(priority)));
        options.switch([
            ("nodelay", stream && request.flags & wire::NODELAY != 0),
            ("keepalive", stream && request.flags & wire::KEEPALIVE != 0),
            ("dont_fragment", request.flags & wire::DISCOVER_MTU != 0),
        ]);
        options.0
    }

    /// The data socket listens: the client gets its port, and datagrams are awaited at once.
    fn opened(&mut self, now_ns: u64, ends: &Ends, share: &mut ServerState) -> Vec<Action> {
        self.facts = ends.socket.clone();
        self.respond(ends);
        let mut message = Message::new(wire::OMNI + 1, 0);
        match self.tongue {
            RequestForm::Omni | RequestForm::Call => {
                self.response.write(&mut message);
                self.ours.into_iter().for_each(|ours| message.set_ours(ours));
            }
            RequestForm::Stream => message = self.old_response(wire::TCP_STREAM + 1, true),
            RequestForm::Connections => message = self.old_response(wire::TCP_CC + 1, false),
        }
        let mut actions = vec![Action::Send(self.control, message.bytes())];
        (self.stage, self.due_ns) = (SessionStage::Awaiting, now_ns + COMING_NS);
        let bound =
            self.request.flags & wire::CONNECTED != 0 || other(self.request.direction) == DataRole::Sends;
        if self.request.socket_type == 2 && bound {
            let number = share.number();
            self.data = Some(number);
            let port = u16::try_from(self.request.netperf_port).unwrap_or(0);
            let to = joined(&self.host, port);
            actions.push(Action::Answer { at: self.place, connection: number, to });
        } else if self.request.socket_type == 2 || self.request.flags & wire::CONNECTIONS != 0 {
            actions.extend(self.start(now_ns, share));
        }
        actions
    }

    /// The response that describes our end.
    fn respond(&mut self, ends: &Ends) {
        let (request, socket) = (&self.request, &ends.socket);
        let role = other(request.direction);
        let port = port_of(&ends.local).unwrap_or(0);
        let (send, receive) = (socket.send_buffer_bytes as i32, socket.receive_buffer_bytes as i32);
        let or = |asked: i32, usual: i32| if asked > 0 { asked } else { usual };
        let most = if request.socket_type == 2 { DATAGRAM_MOST as i32 } else { i32::MAX };
        self.response = OmniResponse {
            recv_buf_size: receive,
            send_buf_size: send,
            receive_size: match role {
                DataRole::Receives => or(request.receive_size, receive),
                DataRole::Answers => request.request_size,
                _ => -1,
            },
            send_size: match role {
                DataRole::Sends => or(request.send_size, send.min(most)),
                DataRole::Answers => request.response_size,
                _ => -1,
            },
            recv_width: request.recv_width.max(1),
            send_width: request.send_width.max(1),
            flags: request.flags & wire::MEASURE_CPU,
            cpu_rate: if request.flags & wire::MEASURE_CPU != 0 { wire::bits(100.0) } else { 0 },
            data_port: i32::from(port),
            interval_burst: request.interval_burst,
            interval_usecs: request.interval_usecs,
            socket_prio: request.socket_prio,
            socket_tos: request.socket_tos,
            ..OmniResponse::default()
        };
    }

    /// The answer to an older request; a stream tells its block too.
    fn old_response(&self, kind: i32, stream: bool) -> Message {
        let mut message = Message::new(kind, 0);
        let nodelay = self.request.flags & wire::NODELAY;
        let measures = i32::from(self.request.flags & wire::MEASURE_CPU != 0);
        let (response, mut at) = (&self.response, 0);
        let mut put = |word: i32| {
            message.set(at, word);
            at += 1;
        };
        put(response.recv_buf_size);
        if stream {
            put(response.receive_size);
        }
        let rest = [nodelay, measures, 0, response.send_buf_size, response.data_port, response.cpu_rate];
        rest.into_iter().for_each(put);
        message
    }

    fn accepted(
        &mut self,
        now_ns: u64,
        connection: Connection,
        ends: Ends,
        share: &mut ServerState,
    ) -> Vec<Action> {
        let stranger = host_of(&ends.peer).is_none_or(|host| host != self.host && self.is_guarded());
        if self.data.is_some() || stranger || !matches!(self.stage, SessionStage::Awaiting) {
            return vec![Action::Close(connection)];
        }
        self.data = Some(connection);
        self.facts = ends.socket;
        self.peer = Some(ends.peer);
        let mut actions = vec![Action::Close(self.place)];
        actions.extend(self.start(now_ns, share));
        actions
    }

    /// Whether data may only come from where the control connection came; with a word nobody else knows it.
    fn is_guarded(&self) -> bool {
        let elsewhere = self.ours.is_some_and(|ours| ours & wire::ELSEWHERE != 0);
        self.trusted && !elsewhere
    }

    /// Starts our end of the data.
    fn start(&mut self, now_ns: u64, share: &mut ServerState) -> Vec<Action> {
        self.run = share.number();
        (self.stage, self.began_ns, self.moved) = (SessionStage::Running, now_ns, (0, now_ns));
        let length_ns = self.length_ns();
        self.due_ns = now_ns + length_ns + COMING_NS;
        let plan = lower::plan(&self.flow());
        let mut actions = Vec::new();
        if self.request.socket_type == 2 && self.data.is_some() {
            actions.push(Action::Close(self.place));
        }
        actions.push(Action::Run { run: self.run, plan: Box::new(plan), interim_ns: LOOK_NS });
        actions
    }

    fn length_ns(&self) -> u64 {
        i64::from(self.request.test_length.max(0)).min(LENGTH_MOST_S) as u64 * SECOND_NS
    }

    fn flow(&self) -> DataFlow {
        let request = &self.request;
        let role = self.role();
        let size = |bytes: i32| bytes.clamp(0, BLOCK_MOST) as u64;
        let over = match (self.data, request.flags & wire::CONNECTIONS != 0) {
            (Some(data), _) => ConnectionUse::Lent(data),
            (None, true) => ConnectionUse::Taken(self.place),
            (None, false) => ConnectionUse::Lent(self.place),
        };
        let timed = request.test_length > 0;
        let count = u64::from(request.test_length.unsigned_abs()).max(1);
        // Only who answers datagrams, or new connections, sees no end.
        let counts = !timed
            && role == DataRole::Answers
            && !matches!(over, ConnectionUse::Lent(number) if Some(number) == self.data);
        DataFlow {
            name: "netserver".into(),
            role,
            over,
            block_bytes: match role {
                DataRole::Sends => size(self.response.send_size),
                _ => size(self.response.receive_size),
            },
            request_bytes: size(request.request_size.max(0)),
            response_bytes: size(request.response_size.max(0)),
            depth: 1,
            time_ns: (timed && matches!(role, DataRole::Sends | DataRole::Asks)).then(|| self.length_ns()),
            bytes: (!timed && role == DataRole::Sends).then_some(count),
            operations: counts.then_some(count),
            pace: self.pace(),
            processor: self.processor,
            socket_options: self.stamps(),
            ..DataFlow::default()
        }
    }

    /// Datagrams of a client of ours are numbered.
    fn stamps(&self) -> Vec<(String, String)> {
        let stamped =
            self.ours.is_some_and(|ours| ours & wire::STAMPED != 0) && self.request.socket_type == 2;
        stamped.then(|| ("stamp".into(), omni_client::STAMP.into())).into_iter().collect()
    }

    fn pace(&self) -> Option<(u32, u64)> {
        let (burst, us) = (self.request.interval_burst, self.request.interval_usecs);
        let sends = other(self.request.direction) == DataRole::Sends;
        (sends && burst > 0 && us > 0).then(|| (burst as u32, us as u64 * 1000))
    }

    /// Whether a run whose end is not signalled is over, or stands still.
    fn look(&mut self, now_ns: u64, phase: &PhaseRecord) -> Vec<Action> {
        let (operations, bytes) = figures::so_far(phase);
        let now = operations + bytes;
        if now != self.moved.0 {
            if self.moved.0 == 0 {
                self.began_ns = now_ns.saturating_sub(LOOK_NS);
            }
            self.moved = (now, now_ns);
            self.due_ns = now_ns + self.length_ns() + STILL_NS;
        }
        let untold = self.request.socket_type == 2 || self.request.flags & wire::CONNECTIONS != 0;
        let passed = now_ns >= self.began_ns + self.length_ns();
        let quiet = now_ns >= self.moved.1 + QUIET_NS;
        if untold && self.moved.0 > 0 && self.request.test_length > 0 && passed && quiet {
            return vec![Action::Stop(self.run)];
        }
        Vec::new()
    }

    fn ended(&mut self, now_ns: u64, record: &Record) -> Vec<Action> {
        self.run = 0;
        self.measured = RunFigures::of(record);
        let job = record.phases.last().and_then(|phase| phase.jobs.first());
        let account = job.map(DatagramCounts::of).unwrap_or_default();
        self.extra = omni_client::extra(account, &self.measured.latency, self.role() == DataRole::Asks);
        if matches!(self.stage, SessionStage::Leaving) {
            self.stage = SessionStage::Over;
            return self.data.into_iter().chain([self.place]).map(Action::Close).collect();
        }
        let sends = matches!(self.role(), DataRole::Sends | DataRole::Asks);
        match (self.data, self.request.socket_type) {
            (Some(data), 1) if sends => {
                (self.stage, self.due_ns) = (SessionStage::Draining, now_ns + DRAIN_NS);
                vec![Action::Shut(data)]
            }
            (Some(data), 2) if sends => {
                let mut actions: Vec<Action> = last_datagrams(data).collect();
                actions.extend(self.send_results(now_ns));
                actions
            }
            _ => self.send_results(now_ns),
        }
    }

    /// Sends the results; the client may ask for the next test.
    fn send_results(&mut self, now_ns: u64) -> Vec<Action> {
        let mut actions: Vec<Action> =
            self.data.take().into_iter().chain([self.place]).map(Action::Close).collect();
        (self.place, self.stage, self.due_ns) = (0, SessionStage::Idle, now_ns + IDLE_NS);
        if let Some(why) = &self.measured.failure {
            actions.push(Action::Complain(format!("netserver: {}: {why}\n", self.host)));
        }
        let message = match self.tongue {
            RequestForm::Omni | RequestForm::Call => self.results(),
            RequestForm::Stream => self.old_results(wire::TCP_STREAM + 1, true),
            RequestForm::Connections => self.old_results(wire::TCP_CC + 1, false),
        };
        actions.push(Action::Send(self.control, message.bytes()));
        actions
    }

    fn measured_cpu(&self) -> Option<&Cpu> {
        self.measured.cpu.as_ref().filter(|_| self.request.flags & wire::MEASURE_CPU != 0)
    }

    /// Bytes received and sent, and calls of each.
    fn counts(&self) -> (u64, u64, u64, u64) {
        let measured = &self.measured;
        match other(self.request.direction) {
            DataRole::Receives => (measured.bytes, 0, measured.calls, 0),
            DataRole::Sends => (0, measured.bytes, 0, measured.calls),
            _ => {
                let size = |bytes: i32| measured.operations * bytes.max(0) as u64;
                let calls = measured.operations;
                (size(self.request.request_size), size(self.request.response_size), calls, calls)
            }
        }
    }

    /// The time that counts: from the first data to the last.
    fn elapsed_s(&self) -> f64 {
        self.measured.elapsed_s.max(1e-6)
    }

    fn results(&self) -> Message {
        let (received, sent, receives, sends) = self.counts();
        let ((received_hi, received_lo), (sent_hi, sent_lo)) = (wire::halves(received), wire::halves(sent));
        let answers = other(self.request.direction) == DataRole::Answers;
        let cpu = self.measured_cpu();
        let share = |of: fn(&Cpu) -> f64| cpu.map_or(0, |cpu| wire::bits(of(cpu)));
        let results = OmniResults {
            bytes_received_hi: received_hi,
            bytes_received_lo: received_lo,
            recv_calls: receives as i32,
            recv_buf_size: self.facts.receive_buffer_bytes as i32,
            bytes_sent_hi: sent_hi,
            bytes_sent_lo: sent_lo,
            send_calls: sends as i32,
            send_buf_size: self.facts.send_buffer_bytes as i32,
            failed_sends: self.measured.failed as i32,
            trans_received: if answers { self.measured.operations as i32 } else { 0 },
            elapsed_time: wire::bits(self.elapsed_s()),
            cpu_util: share(|cpu| cpu.used_percent),
            cpu_user: share(|cpu| cpu.user_percent),
            cpu_system: share(|cpu| cpu.system_percent),
            cpu_iowait: share(|cpu| cpu.iowait_percent),
            cpu_irq: share(|cpu| cpu.irq_percent),
            cpu_swintr: share(|cpu| cpu.softirq_percent),
            serv_dem: wire::bits(-1.0),
            cpu_method: if cpu.is_some() { wire::PROC_STAT } else { 0 },
            num_cpus: cpu.map_or(0, |cpu| cpu.count as i32),
            peak_cpu_id: cpu.map_or(0, |cpu| cpu.peak as i32),
            peak_cpu_util: share(|cpu| cpu.peak_percent),
            transport_retrans: self.measured.retransmits.map_or(-1, |count| count as i32),
            ..OmniResults::default()
        };
        let mut message = Message::new(wire::OMNI + 1, 0);
        results.write(&mut message);
        if self.request.socket_type == 1 {
            message.set_text(wire::RESULTS_CONGESTION, wire::CONGESTION_BYTES, &self.facts.congestion);
        }
        if self.ours.is_some() {
            message.set_ours(0);
            message.set_counts(&self.extra);
        }
        message
    }

    /// Results as older requests have them: a stream's bytes are a fraction of 64 bits.
    fn old_results(&self, kind: i32, stream: bool) -> Message {
        let (received, _, receives, _) = self.counts();
        let cpu = self.measured_cpu();
        let used = wire::bits(cpu.map_or(0.0, |cpu| cpu.used_percent));
        let tail = [
            wire::bits(self.elapsed_s()),
            used,
            wire::bits(-1.0),
            if cpu.is_some() { wire::PROC_STAT } else { 0 },
            cpu.map_or(0, |cpu| cpu.count as i32),
        ];
        let mut words = if stream {
            let (hi, lo) = wire::halves((received as f64).to_bits());
            vec![hi, lo, receives as i32]
        } else {
            let operations = self.measured.operations;
            vec![received as i32, 0, operations as i32]
        };
        words.extend(tail);
        let mut message = Message::new(kind, 0);
        words.iter().enumerate().for_each(|(index, word)| message.set(index, *word));
        message
    }

    /// Refuses the test with the system's error number.
    fn refuse(&mut self, errno: i32) -> Vec<Action> {
        let kind = match self.tongue {
            RequestForm::Omni => wire::OMNI,
            RequestForm::Stream => wire::TCP_STREAM,
            RequestForm::Connections => wire::TCP_CC,
            RequestForm::Call => wire::CALL,
        };
        self.stage = SessionStage::Idle;
        (self.place, self.data) = (0, None);
        vec![Action::Send(self.control, Message::new(kind + 1, errno).bytes())]
    }

    fn drop_it(&mut self, why: &str) -> Vec<Action> {
        let mut actions = vec![Action::Complain(format!("netserver: {} {why}\n", self.host))];
        actions.extend(self.leave());
        actions
    }

    /// The client is gone, or is left.
    fn leave(&mut self) -> Vec<Action> {
        let mut actions = vec![Action::Close(self.control)];
        if self.run != 0 && matches!(self.stage, SessionStage::Running) {
            actions.push(Action::Stop(self.run));
            self.stage = SessionStage::Leaving;
            return actions;
        }
        if !matches!(self.stage, SessionStage::Leaving) {
            actions.extend(
                self.data.into_iter().chain([self.place]).filter(|number| *number != 0).map(Action::Close),
            );
            self.stage = SessionStage::Over;
        }
        actions
    }

    /// Its time is up.
    fn late(&mut self, now_ns: u64) -> Vec<Action> {
        match self.stage {
            SessionStage::Draining => self.send_results(now_ns),
            SessionStage::Running => {
                self.due_ns = now_ns + DRAIN_NS;
                vec![Action::Stop(self.run)]
            }
            SessionStage::Leaving | SessionStage::Over => Vec::new(),
            _ => self.drop_it("was silent for too long"),
        }
    }
}

/// Why a request cannot be met; none: it can.
fn impossible(request: &OmniRequest) -> Option<&'static str> {
    let udp = request.socket_type == 2;
    match (request.socket_type, request.protocol) {
        (1, 6 | 0 | wire::SCTP) | (2, 17 | 0) => {}
        _ => return Some("asks for none of TCP, UDP and SCTP"),
    }
    let directions = request.direction & !(wire::RECEIVES | wire::TRANSMITS);
    let connects = request.flags & wire::CONNECTIONS != 0;
    match request.direction & (wire::RECEIVES | wire::TRANSMITS) {
        _ if directions != 0 => Some("asks for a direction that there is not"),
        0 if !connects => Some("asks for nothing"),
        wire::RECEIVES | wire::TRANSMITS if connects => {
            Some("asks for connections with data of one direction")
        }
        _ if connects && (udp || request.protocol == wire::SCTP) => {
            Some("asks for connections over another protocol than TCP")
        }
        6 if !connects && (request.request_size <= 0 || request.response_size <= 0) => {
            Some("asks for transactions without content")
        }
        _ if request.request_size > BLOCK_MOST || request.response_size > BLOCK_MOST => {
            Some("asks for too much at a time")
        }
        _ if request.test_length == 0 => Some("asks for no time"),
        _ => None,
    }
}

/// The older request for a stream.
fn of_stream(message: &Message) -> OmniRequest {
    let word = |index| message.word(index);
    let flags = (word(5) != 0, word(6) != 0);
    OmniRequest {
        send_buf_size: old_size(word(0)),
        recv_buf_size: old_size(word(1)),
        receive_size: old_size(word(2)),
        flags: old_flags(flags),
        test_length: if word(8) == 0 { 1 } else { word(8) },
        data_port: word(13),
        ipfamily: if word(14) == 6 { 6 } else { 4 },
        direction: wire::RECEIVES,
        ..of_old()
    }
}

/// The older request for connections that are closed at once.
fn of_connections(message: &Message) -> OmniRequest {
    let word = |index| message.word(index);
    OmniRequest {
        recv_buf_size: old_size(word(0)),
        send_buf_size: old_size(word(1)),
        flags: old_flags((word(8) != 0, word(9) != 0)) | wire::CONNECTIONS,
        test_length: if word(11) == 0 { 1 } else { word(11) },
        data_port: word(14),
        ipfamily: if word(15) == 6 { 6 } else { 4 },
        direction: 0,
        ..of_old()
    }
}

fn of_old() -> OmniRequest {
    OmniRequest {
        socket_type: 1,
        protocol: 6,
        request_size: -1,
        response_size: -1,
        socket_tos: -1,
        ..OmniRequest::default()
    }
}

fn old_size(bytes: i32) -> i32 {
    if bytes > 0 { bytes } else { -1 }
}

fn old_flags((nodelay, measures): (bool, bool)) -> i32 {
    (if nodelay { wire::NODELAY } else { 0 }) | (if measures { wire::MEASURE_CPU } else { 0 })
}
