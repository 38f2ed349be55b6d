//! One test over one link, for commands of ours that talk netperf's protocol: `iodyno net latency`, `check` and `mesh`.
//!
//! A link has a control connection of its own, and a netserver at its other end: ours, or the real one. It says what is to
//! be run and hears what the other end has measured; when it runs, beside what, and what is printed is its owner's
//! business. Where both ends are ours, datagrams are numbered, and a netserver can be called to be our end of the test.

use iodyno_model::conversation::{Action, Connection, Ends, Input};
use iodyno_model::{Histogram, Job, JobRecord, Target};

use super::client::{host_of, port_of};
use super::figures::fact;
use super::lower::{self, Flow, Over, What};
use super::wire::{self, Message, OmniRequest, OmniResponse, OmniResults};
use crate::address::joined;

/// How many numbers a link takes for its connections.
pub(crate) const NUMBERS: Connection = 4;
/// How long a connection may take to come about, ns.
const CONNECT_NS: u64 = 10_000_000_000;
/// How long an answer may take, beyond what was asked to be done, ns.
const ANSWER_NS: u64 = 30_000_000_000;
/// Where the other end waits beyond our time, s.
const BEYOND_S: u64 = 2;
/// Requests under way at a time: a response that is late must not keep the next request from being sent.
const UNDER_WAY: u32 = 64;

/// What is measured over it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Requests and responses of so many bytes, over a stream.
    RoundTrips(u64),
    /// Connections that are closed at once; to a port of netserver's choice.
    Connects,
    /// The same to netserver's own port: whether somebody is there.
    Knocks,
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
pub(crate) struct Ask {
    /// What reports call it.
    pub(crate) name: String,
    pub(crate) kind: Kind,
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
pub(crate) struct Server {
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
pub(crate) enum Part {
    /// The other end of ours.
    Peer,
    /// The other end of a netserver's that will call there.
    Called,
    /// It calls another netserver, by host and port, and does what would be ours.
    Caller(String, u16),
}

/// What has become of it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum News {
    /// Both ends are ready; data may move.
    Ready,
    /// The other end has told what it measured.
    Heard(Box<Heard>),
    /// It cannot be had: what, and what to do about it.
    Broken(String, &'static str),
}

/// What the other end has measured.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Heard {
    pub(crate) received_bytes: u64,
    pub(crate) sent_bytes: u64,
    pub(crate) elapsed_s: f64,
    /// Calls by which it sent.
    pub(crate) sends: u64,
    /// Of numbered datagrams.
    pub(crate) account: Option<Account>,
    /// Round trips, where it asked.
    pub(crate) trips: Option<Trips>,
}

/// Counts that a client of ours is told beside netperf's.
pub(super) const EXTRA: usize = 7;

/// What became of numbered datagrams where they arrived.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Account {
    pub(crate) came: u64,
    /// Numbers that were passed over and did not come later.
    pub(crate) gaps: u64,
    pub(crate) late: u64,
    pub(crate) duplicates: u64,
    pub(crate) highest: u64,
    pub(crate) jitter_ns: u64,
    /// Those that found the receive buffer full.
    pub(crate) overflow: u64,
}

impl Account {
    /// Of a job that took datagrams.
    pub(crate) fn of(job: &JobRecord) -> Account {
        let of = |name| fact(job, name).unwrap_or(0);
        Account {
            came: of("datagrams"),
            gaps: of("lost"),
            late: of("late"),
            duplicates: of("duplicates"),
            highest: of("highest"),
            jitter_ns: of("jitter_ns"),
            overflow: of("overflow"),
        }
    }

    fn words(self) -> [u64; EXTRA] {
        let Account { came, gaps, late, duplicates, highest, jitter_ns, overflow } = self;
        [came, gaps, late, duplicates, highest, jitter_ns, overflow]
    }

    pub(super) fn from_words(
        [came, gaps, late, duplicates, highest, jitter_ns, overflow]: [u64; EXTRA],
    ) -> Account {
        Account { came, gaps, late, duplicates, highest, jitter_ns, overflow }
    }
}

/// A histogram in brief: how many, and percentiles in ns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Trips {
    pub(crate) count: u64,
    pub(crate) p50_ns: u64,
    pub(crate) p90_ns: u64,
    pub(crate) p99_ns: u64,
    pub(crate) p999_ns: u64,
    pub(crate) max_ns: u64,
}

impl Trips {
    pub(super) fn of(latency: &Histogram) -> Trips {
        let at = |percent| latency.percentile(percent);
        let (p50_ns, p90_ns) = (at(50.0), at(90.0));
        let (p99_ns, p999_ns) = (at(99.0), at(99.9));
        Trips { count: latency.count(), p50_ns, p90_ns, p99_ns, p999_ns, max_ns: latency.max }
    }

    fn from_words([count, p50_ns, p90_ns, p99_ns, p999_ns, max_ns]: [u64; 6]) -> Trips {
        Trips { count, p50_ns, p90_ns, p99_ns, p999_ns, max_ns }
    }
}

/// What is told of a run beyond what netperf's records hold: of datagrams, or of requests.
pub(super) fn extra(account: Account, latency: &Histogram, asks: bool) -> [u64; EXTRA] {
    if !asks {
        return account.words();
    }
    let trips = Trips::of(latency);
    [trips.count, trips.p50_ns, trips.p90_ns, trips.p99_ns, trips.p999_ns, trips.max_ns, 0]
}

/// How far it has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    New,
    /// The control connection is made.
    Calling,
    /// The place where datagrams come is made.
    Placing,
    /// netserver was asked.
    Asked,
    /// The data connection is made.
    Opening,
    /// Data may move.
    Ready,
    /// Our data is through, netserver reads the rest.
    Draining,
    /// netserver tells what it measured.
    Hearing,
    Over,
}

/// One test over one link.
pub(crate) struct Link {
    pub(crate) ask: Ask,
    server: Server,
    part: Part,
    /// Its numbers are `control`, and the next.
    control: Connection,
    stage: Stage,
    came: Vec<u8>,
    ends: Ends,
    /// Port of the place where datagrams come.
    near_port: u16,
    /// netserver's port of the data.
    far_port: u16,
    /// netserver is ours: what it agreed to.
    ours: Option<i32>,
    due_ns: u64,
}

impl Link {
    /// One that has not begun; it takes [`NUMBERS`] numbers from `control` on.
    pub(crate) fn new(ask: Ask, server: Server, part: Part, control: Connection) -> Link {
        Link {
            ask,
            server,
            part,
            control,
            stage: Stage::New,
            came: Vec::new(),
            ends: Ends::default(),
            near_port: 0,
            far_port: 0,
            ours: None,
            due_ns: u64::MAX,
        }
    }

    fn data(&self) -> Connection {
        self.control + 1
    }

    fn place(&self) -> Connection {
        self.control + 2
    }

    /// Whether a connection or place is one of its own.
    pub(crate) fn has(&self, number: Connection) -> bool {
        (self.control..self.control + NUMBERS).contains(&number)
    }

    /// Both ends of the control connection.
    pub(crate) fn ends(&self) -> &Ends {
        &self.ends
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
        self.due_ns
    }

    fn six(&self) -> bool {
        self.ends.peer.starts_with('[')
    }

    fn family(&self) -> &'static str {
        if self.six() { "6" } else { "4" }
    }

    fn is_udp(&self) -> bool {
        matches!(self.ask.kind, Kind::SendsDatagrams(_) | Kind::TakesDatagrams(_))
    }

    /// Begins; one that only knocks is ready at once.
    pub(crate) fn begin(&mut self, now_ns: u64) -> (Vec<Action>, Option<News>) {
        if self.ask.kind == Kind::Knocks {
            self.stage = Stage::Ready;
            return (Vec::new(), Some(News::Ready));
        }
        (self.stage, self.due_ns) = (Stage::Calling, now_ns + 2 * CONNECT_NS);
        let family = match self.server.family {
            4 => "4",
            6 => "6",
            _ => "",
        };
        let connect = Action::Connect {
            connection: self.control,
            transport: format!("tcp{family}"),
            address: joined(&self.server.host, self.server.port),
            socket_options: Vec::new(),
            timeout_ns: CONNECT_NS,
        };
        (vec![connect], None)
    }

    /// What has happened to one of its connections, or its time is up.
    pub(crate) fn step(&mut self, now_ns: u64, input: &Input) -> (Vec<Action>, Option<News>) {
        match (input, self.stage) {
            (_, Stage::New | Stage::Over) => (Vec::new(), None),
            (Input::Ready(number, ends), Stage::Calling) if *number == self.control => {
                self.ends = ends.clone();
                self.called(now_ns)
            }
            (Input::Ready(number, ends), Stage::Placing) if *number == self.place() => {
                self.near_port = port_of(&ends.local).unwrap_or(0);
                (self.request(now_ns), None)
            }
            (Input::Ready(number, _), Stage::Opening) if *number == self.data() => self.ready(),
            (Input::Bytes(number, bytes), _) if *number == self.control => {
                self.came.extend(bytes);
                self.hear(now_ns)
            }
            (Input::Closed(number) | Input::Failed(number, ..), Stage::Draining)
                if *number == self.data() =>
            {
                let mut actions = vec![Action::Close(self.data())];
                let (more, news) = self.listen(now_ns);
                actions.extend(more);
                (actions, news)
            }
            (Input::Closed(number), _) if *number == self.control => self.hung_up(),
            (Input::Failed(number, errno, what), _) => self.failed(*number, *errno, what),
            (Input::Tick, _) if now_ns >= self.due_ns => self.late(now_ns),
            _ => (Vec::new(), None),
        }
    }

    /// The control connection stands.
    fn called(&mut self, now_ns: u64) -> (Vec<Action>, Option<News>) {
        if !matches!(self.ask.kind, Kind::TakesDatagrams(_)) || self.part != Part::Peer {
            return (self.request(now_ns), None);
        }
        self.stage = Stage::Placing;
        let any = if self.six() { "::" } else { "0.0.0.0" };
        let near = host_of(&self.ends.local).unwrap_or_else(|| any.into());
        let place = Action::Listen {
            place: self.place(),
            transport: format!("udp{}", self.family()),
            address: joined(&near, 0),
            socket_options: self.server.socket_options.clone(),
        };
        (vec![place], None)
    }

    /// Asks netserver for its part.
    fn request(&mut self, now_ns: u64) -> Vec<Action> {
        (self.stage, self.due_ns) = (Stage::Asked, now_ns + ANSWER_NS);
        let mut actions: Vec<Action> = Vec::new();
        if let Some(word) = &self.server.word {
            actions.push(Action::Send(self.control, proof(word)));
        }
        let kind = if matches!(self.part, Part::Caller(..)) { wire::CALL } else { wire::OMNI };
        let mut message = Message::new(kind, -1);
        self.words().write(&mut message);
        let stamped = if self.is_udp() { wire::STAMPED } else { 0 };
        let elsewhere = if self.part == Part::Called { wire::ELSEWHERE } else { 0 };
        message.set_ours(stamped | elsewhere);
        if let Part::Caller(host, port) = &self.part {
            message.set_called(host, *port);
        }
        let congestion = self.server.socket_options.iter().find(|(name, _)| name == "congestion");
        if let Some((_, name)) = congestion.filter(|_| !self.is_udp()) {
            message.set_text(wire::REQUEST_CONGESTION, wire::CONGESTION_BYTES, name);
        }
        actions.push(Action::Send(self.control, message.bytes()));
        actions
    }

    /// What is asked of netserver, in netperf's words.
    fn words(&self) -> OmniRequest {
        let (direction, block) = match self.ask.kind {
            Kind::RoundTrips(_) => (wire::RECEIVES | wire::TRANSMITS, -1),
            Kind::Connects | Kind::Knocks => (0, -1),
            Kind::Sends(bytes) | Kind::SendsDatagrams(bytes) => (wire::RECEIVES, bytes as i32),
            Kind::Receives(bytes) | Kind::TakesDatagrams(bytes) => (wire::TRANSMITS, bytes as i32),
        };
        // Who calls does what would be ours.
        let direction = match (&self.part, direction) {
            (Part::Caller(..), wire::RECEIVES) => wire::TRANSMITS,
            (Part::Caller(..), wire::TRANSMITS) => wire::RECEIVES,
            (_, direction) => direction,
        };
        let message = if let Kind::RoundTrips(bytes) = self.ask.kind { bytes as i32 } else { -1 };
        let paced = self.ask.rate.filter(|_| matches!(self.ask.kind, Kind::TakesDatagrams(_)));
        let (connects, nodelay) = (self.ask.kind == Kind::Connects, message >= 0);
        OmniRequest {
            send_buf_size: -1,
            recv_buf_size: -1,
            send_size: if direction == wire::TRANSMITS { block } else { -1 },
            receive_size: if direction == wire::RECEIVES { block } else { -1 },
            send_alignment: 8,
            recv_alignment: 8,
            send_width: 1,
            recv_width: 1,
            request_size: message,
            response_size: message,
            flags: wire::ROUTED
                | if connects { wire::CONNECTIONS } else { 0 }
                | if nodelay { wire::NODELAY } else { 0 },
            test_length: self.length_s() as i32,
            send_dirty_count: -1,
            recv_dirty_count: -1,
            recv_clean_count: -1,
            ipfamily: if self.six() { 6 } else { 4 },
            socket_type: if self.is_udp() { 2 } else { 1 },
            protocol: if self.is_udp() { 17 } else { 6 },
            direction,
            netperf_port: i32::from(self.near_port),
            interval_burst: i32::from(paced.is_some()),
            interval_usecs: paced.map_or(0, |rate| (1e6 / rate).max(1.0) as i32),
            socket_prio: -1,
            socket_tos: -1,
            ..OmniRequest::default()
        }
    }

    /// Whole seconds that netserver is asked for.
    fn length_s(&self) -> u64 {
        let whole = (self.ask.time_ns + self.ask.delay_ns).div_ceil(1_000_000_000).max(1);
        match (self.ask.kind, &self.part) {
            // It ends these by its own clock.
            (Kind::Receives(_) | Kind::TakesDatagrams(_), Part::Peer) | (_, Part::Caller(..)) => whole,
            _ => whole + BEYOND_S,
        }
    }

    /// What netserver says.
    fn hear(&mut self, now_ns: u64) -> (Vec<Action>, Option<News>) {
        if self.came.len() > 4 * wire::RECORD_BYTES {
            return self.broken("netserver says more than it was asked", "is it a netserver?");
        }
        // Results may come before our own end is through.
        if !matches!(self.stage, Stage::Asked | Stage::Hearing) {
            return (Vec::new(), None);
        }
        let Some(message) = Message::take(&mut self.came) else { return (Vec::new(), None) };
        if message.second() > 0 {
            let what = format!("netserver cannot do it: {}", crate::strerror::of_system(message.second()));
            return self.broken(&what, "see what netserver says");
        }
        if self.stage == Stage::Hearing {
            return self.heard(&message);
        }
        self.ours = message.ours();
        if matches!(self.part, Part::Caller(..)) {
            return self.ready();
        }
        let port = OmniResponse::read(&message).data_port;
        match u16::try_from(port) {
            Ok(port @ 1..) if message.kind() == wire::OMNI + 1 => self.far_port = port,
            _ => {
                return self
                    .broken("netserver names no port for the data", "is it a netserver of 2.5 or newer?");
            }
        }
        self.open(now_ns)
    }

    /// Makes the data connection, where there is one of ours.
    fn open(&mut self, now_ns: u64) -> (Vec<Action>, Option<News>) {
        if self.part == Part::Called || matches!(self.ask.kind, Kind::Connects | Kind::TakesDatagrams(_)) {
            return self.ready();
        }
        (self.stage, self.due_ns) = (Stage::Opening, now_ns + 2 * CONNECT_NS);
        let transport = format!("{}{}", if self.is_udp() { "udp" } else { "tcp" }, self.family());
        let mut socket_options = self.server.socket_options.clone();
        if matches!(self.ask.kind, Kind::RoundTrips(_)) {
            socket_options.push(("nodelay".into(), "on".into()));
        }
        let connect = Action::Connect {
            connection: self.data(),
            transport,
            address: self.data_address(),
            socket_options,
            timeout_ns: CONNECT_NS,
        };
        (vec![connect], None)
    }

    fn data_address(&self) -> String {
        let host = host_of(&self.ends.peer).unwrap_or_else(|| self.server.host.clone());
        joined(&host, self.far_port)
    }

    fn ready(&mut self) -> (Vec<Action>, Option<News>) {
        (self.stage, self.due_ns) = (Stage::Ready, u64::MAX);
        (Vec::new(), Some(News::Ready))
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

    fn flow(&self) -> Flow {
        let mut flow = Flow { name: self.ask.name.clone(), depth: 1, ..Flow::default() };
        flow.time_ns = Some(self.ask.time_ns);
        flow.over = Over::Lent(self.data());
        match self.ask.kind {
            Kind::RoundTrips(bytes) => {
                flow.what = What::Asks;
                (flow.request_bytes, flow.response_bytes) = (bytes, bytes);
                flow.depth = if self.ask.rate.is_some() { UNDER_WAY } else { 1 };
            }
            Kind::Connects => (flow.what, flow.over) = (What::Asks, Over::Each(self.data_address())),
            Kind::Knocks => {
                (flow.what, flow.over) =
                    (What::Asks, Over::Each(joined(&self.server.host, self.server.port)));
                flow.operations = Some(5);
            }
            Kind::Sends(bytes) => (flow.what, flow.block_bytes) = (What::Sends, bytes),
            // The end comes from the sender.
            Kind::Receives(bytes) => {
                (flow.what, flow.block_bytes, flow.time_ns) = (What::Receives, bytes, None);
            }
            Kind::SendsDatagrams(bytes) => (flow.what, flow.block_bytes) = (What::Sends, bytes),
            Kind::TakesDatagrams(_) => {
                (flow.what, flow.block_bytes, flow.over) = (What::Receives, 65_507, Over::Lent(self.place()));
                flow.time_ns = Some(self.length_s() * 1_000_000_000 + ANSWER_NS / 30);
            }
        }
        if self.is_udp() {
            flow.socket_options.push(("stamp".into(), STAMP.into()));
        }
        let ours = !matches!(self.ask.kind, Kind::TakesDatagrams(_));
        flow.pace = self.ask.rate.filter(|_| ours).map(|rate| (1, (1e9 / rate).max(1.0) as u64));
        flow
    }

    /// What is called begins.
    pub(crate) fn go(&mut self, now_ns: u64) -> Vec<Action> {
        if !matches!(self.part, Part::Caller(..)) {
            return Vec::new();
        }
        let length_ns = self.length_s() * 1_000_000_000;
        (self.stage, self.due_ns) = (Stage::Hearing, now_ns + length_ns + ANSWER_NS);
        vec![Action::Send(self.control, Message::new(wire::GO, -1).bytes())]
    }

    /// The caller goes: what it measured is awaited of one who is called.
    pub(crate) fn await_call(&mut self, now_ns: u64) -> (Vec<Action>, Option<News>) {
        let length_ns = self.length_s() * 1_000_000_000;
        let heard = self.listen(now_ns);
        self.due_ns = self.due_ns.saturating_add(length_ns);
        heard
    }

    /// Our end is through: the other end's figures are awaited where they are wanted.
    pub(crate) fn ended(&mut self, now_ns: u64) -> (Vec<Action>, Option<News>) {
        if self.stage == Stage::Over {
            return (Vec::new(), Some(News::Heard(Box::default())));
        }
        match self.ask.kind {
            Kind::Sends(_) => {
                (self.stage, self.due_ns) = (Stage::Draining, now_ns + CONNECT_NS);
                (vec![Action::Shut(self.data())], None)
            }
            Kind::SendsDatagrams(_) => {
                // An empty datagram says that it was the last; one may be lost.
                let mut actions: Vec<Action> =
                    (0..3).map(|_| Action::Send(self.data(), Vec::new())).collect();
                actions.push(Action::Close(self.data()));
                let (more, news) = self.listen(now_ns);
                actions.extend(more);
                (actions, news)
            }
            Kind::TakesDatagrams(_) => {
                let mut actions = vec![Action::Close(self.place())];
                let (more, news) = self.listen(now_ns);
                actions.extend(more);
                (actions, news)
            }
            _ => (self.close(), Some(News::Heard(Box::default()))),
        }
    }

    /// Hears what may have come already.
    fn listen(&mut self, now_ns: u64) -> (Vec<Action>, Option<News>) {
        self.stage = Stage::Hearing;
        self.due_ns = now_ns + ANSWER_NS;
        self.hear(now_ns)
    }

    fn heard(&mut self, message: &Message) -> (Vec<Action>, Option<News>) {
        let results = OmniResults::read(message);
        let ours = message.ours().is_some();
        let asks = matches!(self.part, Part::Caller(..)) && matches!(self.ask.kind, Kind::RoundTrips(_));
        let heard = Heard {
            received_bytes: results.received(),
            sent_bytes: results.sent(),
            elapsed_s: wire::fraction(results.elapsed_time),
            sends: u64::from(results.send_calls.max(0) as u32),
            account: (ours && !asks).then(|| Account::from_words(message.counts())),
            trips: (ours && asks).then(|| Trips::from_words(message.counts())),
        };
        (self.close(), Some(News::Heard(Box::new(heard))))
    }

    /// Leaves it.
    pub(crate) fn close(&mut self) -> Vec<Action> {
        if matches!(self.stage, Stage::New | Stage::Over) || self.ask.kind == Kind::Knocks {
            self.stage = Stage::Over;
            return Vec::new();
        }
        (self.stage, self.due_ns) = (Stage::Over, u64::MAX);
        [self.data(), self.place(), self.control].map(Action::Close).into()
    }

    fn broken(&mut self, what: &str, hint: &'static str) -> (Vec<Action>, Option<News>) {
        let actions = self.close();
        (actions, Some(News::Broken(what.into(), hint)))
    }

    fn hung_up(&mut self) -> (Vec<Action>, Option<News>) {
        // What it said before it did so counts.
        if self.stage == Stage::Hearing && self.came.len() >= wire::RECORD_BYTES {
            return self.hear(0);
        }
        if self.stage == Stage::Ready {
            return (Vec::new(), None);
        }
        self.broken("netserver hung up", "does it expect a word (--word), or serve somebody else?")
    }

    fn failed(&mut self, number: Connection, errno: i32, what: &str) -> (Vec<Action>, Option<News>) {
        let why = if errno == 0 { what.to_string() } else { crate::strerror::of_system(errno) };
        let address = joined(&self.server.host, self.server.port);
        match (number, self.stage) {
            (number, Stage::Calling) if number == self.control => {
                self.broken(&format!("{address}: {why}"), "start one there: iodyno netserver -D")
            }
            (number, _) if number == self.control => self.broken(
                &format!("{address}: the control connection broke: {why}"),
                "see what netserver says",
            ),
            (_, Stage::Opening) => {
                let to = self.data_address();
                self.broken(&format!("{to}: {why}"), "see whether a firewall lets the data's port through")
            }
            (_, Stage::Placing) => self.broken(&format!("{what}: {why}"), "see who has the ports"),
            _ => (Vec::new(), None),
        }
    }

    fn late(&mut self, now_ns: u64) -> (Vec<Action>, Option<News>) {
        match self.stage {
            Stage::Draining => {
                let mut actions = vec![Action::Close(self.data())];
                let (more, news) = self.listen(now_ns);
                actions.extend(more);
                (actions, news)
            }
            Stage::Hearing => {
                self.broken("netserver does not tell what it measured", "see what netserver says")
            }
            Stage::Opening => {
                self.broken("the data connection is not made", "see whether a firewall is in between")
            }
            _ => self.broken(
                "netserver does not answer",
                "is it a netserver, and does it expect a word (--word)?",
            ),
        }
    }
}

/// The record that proves knowledge of a word.
fn proof(word: &str) -> Vec<u8> {
    let mut proof = Message::new(wire::PASSPHRASE, -1);
    proof.set_text(0, 64, word);
    proof.bytes()
}

/// What keeps a netserver's control connection: the word at first, and later a question without consequence.
pub(crate) fn greeting(word: Option<&str>) -> Vec<u8> {
    word.map_or_else(|| Message::new(wire::DEBUG_OFF, 0).bytes(), proof)
}

/// Where a server is.
pub(crate) fn address(server: &Server) -> String {
    joined(&server.host, server.port)
}

/// How datagrams are numbered.
pub(super) const STAMP: &str = "seconds_micros_u64";
