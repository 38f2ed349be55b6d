//! One test over one link, for commands of ours that talk netperf's protocol: `iodyno net latency`, `check` and `mesh`.
//!
//! A link has a control connection of its own, and a netserver at its other end: ours, or the real one. It says what is to
//! be run and hears what the other end has measured; when it runs, beside what, and what is printed is its owner's
//! business. Where both ends are ours, datagrams are numbered, and a netserver can be called to be our end of the test.

use iodyno_model::conversation::{Action, Connection, Ends, Input};
use iodyno_model::{Histogram, Job, JobRecord, Target};

use super::control::{ControlConnection, ControlEvent, Wording, last_datagrams, passphrase};
use super::lower::{self, ConnectionUse, DataFlow, DataRole};
use super::wire::{self, Message, OmniRequest, OmniResponse, OmniResults};
use crate::address::{host_of, joined, port_of, transport};
use crate::conversation::fact_of;

const SECOND_NS: u64 = 1_000_000_000;
/// How many numbers a link takes for its connections.
pub(crate) const NUMBERS: Connection = 4;
/// How long a connection may take to come about, ns.
const CONNECT_NS: u64 = 10_000_000_000;
/// Where the other end waits beyond our time, s.
const BEYOND_S: u64 = 2;
/// Requests under way at a time: a response that is late must not keep the next request from being sent.
const UNDER_WAY: u32 = 64;

/// What is measured over it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Measurement {
    /// Requests and responses of so many bytes, over a stream.
    RoundTrips(u64),
    /// Connections that are closed at once; to a port of netserver's choice.
    Connects,
    /// The same to netserver's own port: whether somebody is there.
    Knocks,
    /// ICMP's echo requests of so many bytes to the host: no netserver is needed.
    Echoes(u64),
    /// A stream to netserver, in blocks of so many bytes.
    Sends(u64),
    /// A stream from netserver.
    Receives(u64),
    /// Datagrams of so many bytes to netserver.
    SendsDatagrams(u64),
    /// Datagrams from netserver.
    TakesDatagrams(u64),
}

/// A test that is wanted.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct LinkTest {
    /// What reports call it.
    pub(crate) name: String,
    pub(crate) kind: Measurement,
    /// Our time, ns, and how long after the phase it begins.
    pub(crate) time_ns: u64,
    pub(crate) delay_ns: u64,
    /// Operations a second by a schedule; none: as fast as they go.
    pub(crate) rate: Option<f64>,
    /// What is run beside it ends with it.
    pub(crate) leads: bool,
}

/// Where netserver is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ServerAddress {
    pub(crate) host: String,
    pub(crate) port: u16,
    /// 4 or 6; 0: either.
    pub(crate) family: u8,
    /// The word that it wants to hear.
    pub(crate) word: Option<String>,
    /// Options of our sockets.
    pub(crate) socket_options: Vec<(String, String)>,
}

/// Whose end of a test a netserver is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum LinkRole {
    /// The other end of ours.
    Peer,
    /// The other end of a netserver's that will call there.
    Called,
    /// It calls another netserver, by host and port, and does what would be ours.
    Caller(String, u16),
}

/// What has become of it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum LinkEvent {
    /// Both ends are ready; data may move.
    Ready,
    /// The results of the other end.
    Heard(Box<PeerCounts>),
    /// It cannot be had: what, and what to do about it.
    Broken(String, &'static str),
}

/// What the other end has measured.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct PeerCounts {
    pub(crate) received_bytes: u64,
    pub(crate) sent_bytes: u64,
    pub(crate) elapsed_s: f64,
    /// Calls by which it sent.
    pub(crate) sends: u64,
    /// Of numbered datagrams.
    pub(crate) account: Option<DatagramCounts>,
    /// Round trips, where it asked.
    pub(crate) trips: Option<RoundTripSummary>,
}

/// Counts that a netserver of ours sends to a client of ours beside netperf's.
pub(super) const EXTRA: usize = 7;

/// What became of numbered datagrams where they arrived: those that came, gaps in their numbers, and so on. On the wire and in
/// records they have the order and the names of [`DATAGRAM_FACTS`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct DatagramCounts([u64; EXTRA]);

/// `lost`: numbers that were passed over and did not come later; `overflow`: those that found the receive buffer full.
const DATAGRAM_FACTS: [&str; EXTRA] =
    ["datagrams", "lost", "late", "duplicates", "highest", "jitter_ns", "overflow"];

impl DatagramCounts {
    /// Of a job that took datagrams.
    pub(crate) fn of(job: &JobRecord) -> DatagramCounts {
        DatagramCounts(DATAGRAM_FACTS.map(|name| fact_of(job, name).unwrap_or(0)))
    }

    /// As a netserver of ours sent them.
    pub(super) fn read(message: &Message) -> DatagramCounts {
        DatagramCounts(message.counts())
    }

    /// Each count by its name.
    pub(crate) fn facts(self) -> impl Iterator<Item = (&'static str, u64)> {
        DATAGRAM_FACTS.into_iter().zip(self.0)
    }
}

/// A histogram in brief: how many, and percentiles in ns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct RoundTripSummary {
    pub(crate) count: u64,
    pub(crate) p50_ns: u64,
    pub(crate) p90_ns: u64,
    pub(crate) p99_ns: u64,
    pub(crate) p999_ns: u64,
    pub(crate) max_ns: u64,
}

impl RoundTripSummary {
    pub(super) fn of(latency: &Histogram) -> RoundTripSummary {
        let at = |percent| latency.percentile(percent);
        let (p50_ns, p90_ns) = (at(50.0), at(90.0));
        let (p99_ns, p999_ns) = (at(99.0), at(99.9));
        RoundTripSummary { count: latency.count(), p50_ns, p90_ns, p99_ns, p999_ns, max_ns: latency.max }
    }

    fn from_words([count, p50_ns, p90_ns, p99_ns, p999_ns, max_ns]: [u64; 6]) -> RoundTripSummary {
        RoundTripSummary { count, p50_ns, p90_ns, p99_ns, p999_ns, max_ns }
    }
}

/// What a netserver of ours sends beyond netperf's records: counts of datagrams, or latencies of requests.
pub(super) fn extra(account: DatagramCounts, latency: &Histogram, asks: bool) -> [u64; EXTRA] {
    if !asks {
        return account.0;
    }
    let trips = RoundTripSummary::of(latency);
    [trips.count, trips.p50_ns, trips.p90_ns, trips.p99_ns, trips.p999_ns, trips.max_ns, 0]
}

/// One test over one link.
pub(crate) struct TestLink {
    pub(crate) ask: LinkTest,
    server: ServerAddress,
    part: LinkRole,
    control: ControlConnection,
    /// What is to be done, for its owner to take.
    pub(crate) out: Vec<Action>,
    /// Port of the socket at which datagrams come.
    near_port: u16,
    /// netserver's port of the data.
    far_port: u16,
    /// netserver is ours: what it agreed to.
    ours: Option<i32>,
}

impl TestLink {
    /// One that has not begun; it takes [`NUMBERS`] numbers from `first` on.
    pub(crate) fn new(ask: LinkTest, server: ServerAddress, part: LinkRole, first: Connection) -> TestLink {
        let wording = Wording {
            control: format!("{}: ", address(&server)),
            data: "",
            refused: "see what netserver says",
            listen: "see who has the ports",
            silent: "is it a netserver, and does it expect a word (--word)?",
        };
        let control = ControlConnection::new([first, first + 1, first + 2], CONNECT_NS, wording);
        TestLink { ask, server, part, control, out: Vec::new(), near_port: 0, far_port: 0, ours: None }
    }

    /// Whether a connection or place is one of its own.
    pub(crate) fn has(&self, number: Connection) -> bool {
        (self.control.number..self.control.number + NUMBERS).contains(&number)
    }

    /// Both ends of the control connection.
    pub(crate) fn ends(&self) -> &Ends {
        &self.control.ends
    }

    /// netserver's port of the data.
    pub(crate) fn far_port(&self) -> u16 {
        self.far_port
    }

    /// Whether the netserver is one of ours.
    pub(crate) fn is_ours(&self) -> bool {
        self.ours.is_some()
    }

    /// When it is given up, ns.
    pub(crate) fn due_ns(&self) -> u64 {
        self.control.due_ns
    }

    fn family(&self) -> u8 {
        if self.control.is_six() { 6 } else { 4 }
    }

    fn is_udp(&self) -> bool {
        matches!(self.ask.kind, Measurement::SendsDatagrams(_) | Measurement::TakesDatagrams(_))
    }

    /// Begins; one that only knocks is ready at once.
    pub(crate) fn begin(&mut self, now_ns: u64) -> Option<LinkEvent> {
        if matches!(self.ask.kind, Measurement::Knocks | Measurement::Echoes(_)) {
            return self.ready();
        }
        let ServerAddress { host, port, family, .. } = &self.server;
        self.out.push(self.control.connect(now_ns, (host, *port, *family), Vec::new()));
        None
    }

    /// What has happened to one of its connections, or its time is up.
    pub(crate) fn step(&mut self, now_ns: u64, input: &Input) -> Option<LinkEvent> {
        self.control.step(now_ns, input).and_then(|progress| self.go_on(progress, now_ns))
    }

    fn go_on(&mut self, progress: ControlEvent, now_ns: u64) -> Option<LinkEvent> {
        match progress {
            ControlEvent::Connected if self.part == LinkRole::Peer && self.takes_datagrams() => self.listen(),
            ControlEvent::Connected => self.request(now_ns),
            ControlEvent::Listening(ends) => {
                self.near_port = port_of(&ends.local).unwrap_or(0);
                self.request(now_ns)
            }
            ControlEvent::Answered(message) => self.answered(&message, now_ns),
            ControlEvent::Opened(_) => self.ready(),
            ControlEvent::Drained => {
                self.out.push(Action::Close(self.control.data));
                self.await_results(now_ns)
            }
            ControlEvent::Results(message) => self.heard(&message),
            ControlEvent::HungUp if !self.control.is_ready() => {
                self.broken("netserver hung up", "does it expect a word (--word), or serve somebody else?")
            }
            ControlEvent::HungUp | ControlEvent::Due => None,
            ControlEvent::Unreachable(why) => {
                let what = format!("{}: {why}", address(&self.server));
                self.broken(&what, "start one there: iodyno netserver -D")
            }
            ControlEvent::Broken(what, hint) => self.broken(&what, hint),
        }
    }

    fn takes_datagrams(&self) -> bool {
        matches!(self.ask.kind, Measurement::TakesDatagrams(_))
    }

    /// The socket at which netserver's datagrams come.
    fn listen(&mut self) -> Option<LinkEvent> {
        let any = if self.control.is_six() { "::" } else { "0.0.0.0" };
        let near = host_of(&self.control.ends.local).unwrap_or_else(|| any.into());
        let (udp, options) = (transport("udp", self.family()), self.server.socket_options.clone());
        self.out.push(self.control.listen(udp, joined(&near, 0), options));
        None
    }

    /// Sends the request to netserver.
    fn request(&mut self, now_ns: u64) -> Option<LinkEvent> {
        let kind = if matches!(self.part, LinkRole::Caller(..)) { wire::CALL } else { wire::OMNI };
        let mut message = Message::new(kind, -1);
        self.words().write(&mut message);
        let stamped = if self.is_udp() { wire::STAMPED } else { 0 };
        let elsewhere = if self.part == LinkRole::Called { wire::ELSEWHERE } else { 0 };
        message.set_ours(stamped | elsewhere);
        if let LinkRole::Caller(host, port) = &self.part {
            message.set_called(host, *port);
        }
        let congestion = self.server.socket_options.iter().find(|(name, _)| name == "congestion");
        if let Some((_, name)) = congestion.filter(|_| !self.is_udp()) {
            message.set_text(wire::REQUEST_CONGESTION, wire::CONGESTION_BYTES, name);
        }
        self.out.extend(self.control.ask(now_ns, self.server.word.as_deref(), &message));
        None
    }

    /// The request to netserver.
    fn words(&self) -> OmniRequest {
        let (direction, block) = match self.ask.kind {
            Measurement::RoundTrips(_) => (wire::RECEIVES | wire::TRANSMITS, -1),
            Measurement::Connects | Measurement::Knocks | Measurement::Echoes(_) => (0, -1),
            Measurement::Sends(bytes) | Measurement::SendsDatagrams(bytes) => (wire::RECEIVES, bytes as i32),
            Measurement::Receives(bytes) | Measurement::TakesDatagrams(bytes) => {
                (wire::TRANSMITS, bytes as i32)
            }
        };
        // Who calls does what would be ours.
        let direction = match (&self.part, direction) {
            (LinkRole::Caller(..), wire::RECEIVES) => wire::TRANSMITS,
            (LinkRole::Caller(..), wire::TRANSMITS) => wire::RECEIVES,
            (_, direction) => direction,
        };
        let message = if let Measurement::RoundTrips(bytes) = self.ask.kind { bytes as i32 } else { -1 };
        let paced = self.ask.rate.filter(|_| matches!(self.ask.kind, Measurement::TakesDatagrams(_)));
        let (connects, nodelay) = (self.ask.kind == Measurement::Connects, message >= 0);
        OmniRequest {
            send_size: if direction == wire::TRANSMITS { block } else { -1 },
            receive_size: if direction == wire::RECEIVES { block } else { -1 },
            request_size: message,
            response_size: message,
            flags: wire::ROUTED
                | if connects { wire::CONNECTIONS } else { 0 }
                | if nodelay { wire::NODELAY } else { 0 },
            test_length: self.length_s() as i32,
            direction,
            netperf_port: i32::from(self.near_port),
            interval_burst: i32::from(paced.is_some()),
            interval_usecs: paced.map_or(0, |rate| (1e6 / rate).max(1.0) as i32),
            ..OmniRequest::of(self.is_udp(), self.control.is_six())
        }
    }

    /// Whole seconds that netserver is asked for.
    fn length_s(&self) -> u64 {
        let whole = (self.ask.time_ns + self.ask.delay_ns).div_ceil(1_000_000_000).max(1);
        match (self.ask.kind, &self.part) {
            // It ends these by its own clock.
            (Measurement::Receives(_) | Measurement::TakesDatagrams(_), LinkRole::Peer)
            | (_, LinkRole::Caller(..)) => whole,
            _ => whole + BEYOND_S,
        }
    }

    /// netserver has accepted the test.
    fn answered(&mut self, message: &Message, now_ns: u64) -> Option<LinkEvent> {
        self.ours = message.ours();
        if matches!(self.part, LinkRole::Caller(..)) {
            return self.ready();
        }
        let port = OmniResponse::read(message).data_port;
        match u16::try_from(port) {
            Ok(port @ 1..) if message.kind() == wire::OMNI + 1 => self.far_port = port,
            _ => {
                let hint = "is it a netserver of 2.5 or newer?";
                return self.broken("netserver names no port for the data", hint);
            }
        }
        self.open(now_ns)
    }

    /// Makes the data connection, where there is one of ours.
    fn open(&mut self, now_ns: u64) -> Option<LinkEvent> {
        if self.part == LinkRole::Called || self.ask.kind == Measurement::Connects || self.takes_datagrams() {
            return self.ready();
        }
        let mut socket_options = self.server.socket_options.clone();
        if matches!(self.ask.kind, Measurement::RoundTrips(_)) {
            socket_options.push(("nodelay".into(), "on".into()));
        }
        let transport = transport(if self.is_udp() { "udp" } else { "tcp" }, self.family());
        let address = self.data_address();
        self.out.push(self.control.open(now_ns, transport, address, socket_options));
        None
    }

    fn data_address(&self) -> String {
        let host = host_of(&self.control.ends.peer).unwrap_or_else(|| self.server.host.clone());
        joined(&host, self.far_port)
    }

    fn ready(&mut self) -> Option<LinkEvent> {
        self.control.ready(u64::MAX);
        Some(LinkEvent::Ready)
    }

    /// Our part in the test: the target, and the job on it.
    pub(crate) fn job(&self, target: usize) -> (Target, Job) {
        let flow = self.flow();
        let mut job = lower::job(&flow, target);
        job.start.after_ns = self.ask.delay_ns;
        if self.ask.leads {
            let what = iodyno_model::ExitWhat::Phase;
            job.exit = Some(iodyno_model::Exit { what, ..iodyno_model::Exit::default() });
        }
        (lower::target(&flow), job)
    }

    fn flow(&self) -> DataFlow {
        let mut flow = DataFlow { name: self.ask.name.clone(), depth: 1, ..DataFlow::default() };
        flow.time_ns = Some(self.ask.time_ns);
        flow.over = ConnectionUse::Lent(self.control.data);
        match self.ask.kind {
            Measurement::RoundTrips(bytes) => {
                flow.role = DataRole::Asks;
                (flow.request_bytes, flow.response_bytes) = (bytes, bytes);
                flow.depth = if self.ask.rate.is_some() { UNDER_WAY } else { 1 };
            }
            Measurement::Connects => {
                (flow.role, flow.over) = (DataRole::Asks, ConnectionUse::Each(self.data_address()))
            }
            Measurement::Knocks => {
                (flow.role, flow.over) =
                    (DataRole::Asks, ConnectionUse::Each(joined(&self.server.host, self.server.port)));
                flow.operations = Some(5);
            }
            Measurement::Echoes(bytes) => {
                (flow.role, flow.over) =
                    (DataRole::Asks, ConnectionUse::Echoes(joined(&self.server.host, 0)));
                (flow.request_bytes, flow.response_bytes) = (bytes, bytes);
                let family = Some(self.server.family).filter(|family| *family > 0);
                flow.socket_options.extend(family.map(|family| ("family".into(), family.to_string())));
            }
            Measurement::Sends(bytes) => (flow.role, flow.block_bytes) = (DataRole::Sends, bytes),
            // The end comes from the sender.
            Measurement::Receives(bytes) => {
                (flow.role, flow.block_bytes, flow.time_ns) = (DataRole::Receives, bytes, None);
            }
            Measurement::SendsDatagrams(bytes) => (flow.role, flow.block_bytes) = (DataRole::Sends, bytes),
            Measurement::TakesDatagrams(_) => {
                (flow.role, flow.block_bytes, flow.over) =
                    (DataRole::Receives, 65_507, ConnectionUse::Lent(self.control.place));
                flow.time_ns = Some(self.length_s() * SECOND_NS + SECOND_NS);
            }
        }
        if self.is_udp() {
            flow.socket_options.push(("stamp".into(), STAMP.into()));
        }
        let ours = !matches!(self.ask.kind, Measurement::TakesDatagrams(_));
        flow.pace = self.ask.rate.filter(|_| ours).map(|rate| (1, (1e9 / rate).max(1.0) as u64));
        flow
    }

    /// What is called begins.
    pub(crate) fn go(&mut self, now_ns: u64) {
        if matches!(self.part, LinkRole::Caller(..)) {
            self.out.push(Action::Send(self.control.number, Message::new(wire::GO, -1).bytes()));
            self.await_call(now_ns);
        }
    }

    /// The caller goes: what it measured is awaited of one who is called.
    pub(crate) fn await_call(&mut self, now_ns: u64) -> Option<LinkEvent> {
        let heard = self.await_results(now_ns);
        self.control.due_ns = self.control.due_ns.saturating_add(self.length_s() * SECOND_NS);
        heard
    }

    /// Our end is through: the other end's figures are awaited where they are wanted.
    pub(crate) fn ended(&mut self, now_ns: u64) -> Option<LinkEvent> {
        match self.ask.kind {
            _ if self.control.is_over() => return Some(LinkEvent::Heard(Box::default())),
            Measurement::Sends(_) => {
                self.out.push(self.control.drain(now_ns));
                return None;
            }
            Measurement::SendsDatagrams(_) => {
                self.out.extend(last_datagrams(self.control.data));
                self.out.push(Action::Close(self.control.data));
            }
            Measurement::TakesDatagrams(_) => self.out.push(Action::Close(self.control.place)),
            _ => {
                self.close();
                return Some(LinkEvent::Heard(Box::default()));
            }
        }
        self.await_results(now_ns)
    }

    /// Results that may have come already.
    fn await_results(&mut self, now_ns: u64) -> Option<LinkEvent> {
        self.control.await_results(now_ns).and_then(|progress| self.go_on(progress, now_ns))
    }

    fn heard(&mut self, message: &Message) -> Option<LinkEvent> {
        let results = OmniResults::read(message);
        let ours = message.ours().is_some();
        let asks =
            matches!(self.part, LinkRole::Caller(..)) && matches!(self.ask.kind, Measurement::RoundTrips(_));
        let heard = PeerCounts {
            received_bytes: results.received(),
            sent_bytes: results.sent(),
            elapsed_s: wire::fraction(results.elapsed_time),
            sends: u64::from(results.send_calls.max(0) as u32),
            account: (ours && !asks).then(|| DatagramCounts::read(message)),
            trips: (ours && asks).then(|| RoundTripSummary::from_words(message.counts())),
        };
        self.close();
        Some(LinkEvent::Heard(Box::new(heard)))
    }

    /// Leaves it.
    pub(crate) fn close(&mut self) {
        let ControlConnection { number, data, place, .. } = self.control;
        if !self.control.is_idle() && !self.control.is_over() && self.ask.kind != Measurement::Knocks {
            self.out.extend([data, place, number].map(Action::Close));
        }
        self.control.finish();
    }

    fn broken(&mut self, what: &str, hint: &'static str) -> Option<LinkEvent> {
        self.close();
        Some(LinkEvent::Broken(what.into(), hint))
    }
}

/// What keeps a netserver's control connection: the word at first, and later a question without consequence.
pub(crate) fn greeting(word: Option<&str>) -> Vec<u8> {
    word.map_or_else(|| Message::new(wire::DEBUG_OFF, 0).bytes(), passphrase)
}

pub(crate) fn address(server: &ServerAddress) -> String {
    joined(&server.host, server.port)
}

/// How datagrams are numbered.
pub(super) const STAMP: &str = "seconds_micros_u64";
