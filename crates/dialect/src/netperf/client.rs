//! netperf's side of the control protocol: asks netserver for its end, runs ours, hears what it measured, repeats
//! where an interval was asked for, and prints.

use iodyno_model::conversation::{Action, Connection, Conversation, Ends, Happening, Input, SocketFacts};
use iodyno_model::{Event, PhaseRecord};

use super::assemble;
use super::command::Command;
use super::figures::{Confidence, Figures, Measured};
use super::lower::{self, Over, What};
use super::omni_client::Account;
use super::test::Shape;
use super::wire::{self, Message, OmniResponse};
use super::{confidence, figures, text};
use crate::address::joined;

const CONTROL: Connection = 1;
const PROBE: Connection = 2;
const DATA: Connection = 3;
const RUN: u32 = 1;
/// How long netserver may take to answer, beyond what it was asked to do, ns.
const ANSWER_NS: u64 = 30_000_000_000;
/// How long a data connection may take, ns.
const CONNECT_NS: u64 = 60_000_000_000;
/// How long the end of a data connection is waited for, ns.
const PARTING_NS: u64 = 10_000_000_000;
const SECOND: f64 = 1e9;

/// How far it has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// The control connection is made.
    Calling,
    /// A socket like that of the data shows what the system makes of our socket_options.
    Probing,
    /// netserver was asked.
    Asked,
    /// It is ready; we wait as the user said.
    Pausing,
    /// The data connection is made.
    Opening,
    /// Data moves.
    Running,
    /// Our data is through, netserver reads the rest.
    Draining,
    /// netserver tells what it measured.
    Hearing,
    /// Everything was said.
    Over,
}

/// The whole of it.
pub(super) struct Client {
    wanted: Command,
    uuid: String,
    stage: Stage,
    came: Vec<u8>,
    /// Ends of the control connection.
    control: Ends,
    /// A socket like that of the data, before it is connected; and connected.
    probe: Ends,
    data: SocketFacts,
    response: OmniResponse,
    measured: Measured,
    /// When our run ended, ns since the conversation began.
    ended_ns: u64,
    /// The figures of each repetition.
    rounds: Vec<Figures>,
    demo: Demo,
    interrupted: bool,
}

/// What was told at the last interim result.
#[derive(Default)]
struct Demo {
    told: u64,
    /// Counts and time of the run then.
    before: (u64, u64),
    elapsed_ns: u64,
}

impl Client {
    /// One that is about to begin.
    pub(super) fn new(wanted: Command, uuid: String) -> Self {
        Client {
            wanted,
            uuid,
            stage: Stage::Calling,
            came: Vec::new(),
            control: Ends::default(),
            probe: Ends::default(),
            data: SocketFacts::default(),
            response: OmniResponse::default(),
            measured: Measured::default(),
            ended_ns: 0,
            rounds: Vec::new(),
            demo: Demo::default(),
            interrupted: false,
        }
    }

    fn family(&self) -> &'static str {
        match self.wanted.family {
            4 => "4",
            6 => "6",
            _ => "",
        }
    }

    fn is_six(&self) -> bool {
        match self.wanted.family {
            0 => self.control.peer.starts_with('[') || self.probe.local.starts_with('['),
            family => family == 6,
        }
    }

    /// Everything that begins.
    fn begin(&mut self) -> Vec<Action> {
        if self.wanted.alone {
            return self.probe();
        }
        let mut socket_options = Vec::new();
        if let Some(local) = &self.wanted.local {
            socket_options.push(("bind".to_string(), joined(local, self.wanted.local_port.unwrap_or(0))));
        }
        vec![Action::Connect {
            connection: CONTROL,
            transport: format!("tcp{}", self.family()),
            address: joined(&self.wanted.host, self.wanted.port),
            socket_options,
            timeout_ns: CONNECT_NS,
        }]
    }

    /// Looks at what the system makes of our socket_options; netperf tells it beside what was asked for.
    fn probe(&mut self) -> Vec<Action> {
        self.stage = Stage::Probing;
        let six = self.is_six();
        let near = self.wanted.data_local.clone().or_else(|| host_of(&self.control.local));
        let near = near.unwrap_or_else(|| (if six { "::" } else { "0.0.0.0" }).into());
        vec![Action::Listen {
            place: PROBE,
            transport: format!("{}{}", self.wanted.test.transport(), if six { "6" } else { "4" }),
            address: joined(&near, self.wanted.data_ports.0.unwrap_or(0)),
            socket_options: assemble::socket_options(&self.wanted),
        }]
    }

    /// Asks netserver for its end.
    fn ask(&mut self, now_ns: u64) -> Vec<Action> {
        self.stage = Stage::Asked;
        let mut actions = Vec::new();
        if self.rounds.is_empty() {
            actions.push(Action::Print(text::title(&self.wanted, self.is_six())));
            actions
                .extend(self.wanted.word.iter().map(|word| Action::Send(CONTROL, passphrase(word).bytes())));
        }
        if !self.keeps_probe() {
            actions.push(Action::Close(PROBE));
        }
        if self.wanted.alone {
            actions.extend(self.open(now_ns));
            return actions;
        }
        let port = port_of(&self.probe.local).filter(|_| self.wanted.test.is_udp());
        let request = assemble::request(&self.wanted, port.unwrap_or(0), self.is_six());
        let mut message = Message::new(wire::OMNI, self.wanted.processors.1.map_or(-1, |cpu| cpu as i32));
        request.write(&mut message);
        // A netserver of ours tells what its buffer had no room for; the original looks at none of these words.
        message.set_ours(0);
        if let Some(name) = &self.wanted.congestion.1 {
            message.set_text(wire::REQUEST_CONGESTION, wire::CONGESTION_BYTES, name);
        }
        actions.push(Action::Send(CONTROL, message.bytes()));
        actions.push(Action::Wake(now_ns + ANSWER_NS));
        actions
    }

    /// Whether datagrams come to the very socket that was looked at.
    fn keeps_probe(&self) -> bool {
        self.wanted.test.is_udp() && self.wanted.test.shape() == Shape::Receives
    }

    /// What netserver says.
    fn hear(&mut self, message: &Message, now_ns: u64) -> Vec<Action> {
        match (self.stage, message.second()) {
            (Stage::Asked | Stage::Hearing, errno @ 1..) => {
                let what = crate::strerror::of_system(errno);
                self.fail(&format!("netserver cannot do it: {what}"), "look at the options behind --")
            }
            (Stage::Asked, _) if message.kind() == wire::OMNI + 1 => {
                self.response = OmniResponse::read(message);
                if self.port().is_none() {
                    return self.fail("netserver names no port for the data", "is it a netserver?");
                }
                let mut actions: Vec<Action> =
                    self.small_buffer().map(Action::Complain).into_iter().collect();
                actions.extend(match self.wanted.wait_s > 0.0 {
                    true => {
                        self.stage = Stage::Pausing;
                        vec![Action::Wake(now_ns + (self.wanted.wait_s * SECOND) as u64)]
                    }
                    false => self.open(now_ns),
                });
                actions
            }
            // The type of results is turned round by some servers.
            (Stage::Hearing, _) => self.conclude(Some(message), now_ns),
            _ => self.fail("netserver says something unexpected", "is it a netserver of 2.5 or newer?"),
        }
    }

    /// What is wrong with buffers of datagrams, before any is sent: what leaves the sender's at once does not fit the
    /// receiver's.
    fn small_buffer(&self) -> Option<String> {
        let ours = &self.probe.socket;
        let theirs = |bytes: i32| u64::try_from(bytes).unwrap_or(0);
        let (send, receive, option) = match self.wanted.test.shape() {
            Shape::Sends => (ours.send_buffer_bytes, theirs(self.response.recv_buf_size), "-S"),
            Shape::Receives => (theirs(self.response.send_buf_size), ours.receive_buffer_bytes, "-s"),
            Shape::Transactions => return None,
        };
        (self.wanted.test.is_udp() && receive > 0 && receive < send && self.rounds.is_empty()).then(|| {
            format!(
                "netperf: the receiver's buffer is of {receive} bytes, the sender's of {send}: datagrams that find it full \
                 are lost, and not by the network\n hint: give the receiver a larger one ({option} behind --)\n"
            )
        })
    }

    /// The port of netserver's data socket.
    fn port(&self) -> Option<u16> {
        u16::try_from(self.response.data_port).ok().filter(|port| *port > 0)
    }

    fn data_address(&self) -> String {
        let named = self.wanted.data_host.clone();
        let host = named.or_else(|| host_of(&self.control.peer)).unwrap_or_else(|| self.wanted.host.clone());
        let port = if self.wanted.alone { self.wanted.data_ports.1 } else { self.port() };
        joined(&host, port.unwrap_or(0))
    }

    /// Makes the data connection, or goes on at once where each transaction makes its own.
    fn open(&mut self, now_ns: u64) -> Vec<Action> {
        if self.keeps_probe() || self.wanted.test.connects {
            self.data = self.probe.socket.clone();
            return self.run(now_ns);
        }
        self.stage = Stage::Opening;
        let mut socket_options = assemble::socket_options(&self.wanted);
        let near = self.wanted.data_local.clone().or_else(|| self.wanted.local.clone());
        let port =
            self.wanted.data_ports.0.or_else(|| port_of(&self.probe.local).filter(|_| self.wanted.bound));
        if near.is_some() || port.is_some() {
            let any = if self.is_six() { "::" } else { "0.0.0.0" };
            socket_options.push(("bind".into(), joined(near.as_deref().unwrap_or(any), port.unwrap_or(0))));
        }
        let transport = format!("{}{}", self.wanted.test.transport(), if self.is_six() { "6" } else { "4" });
        let (address, timeout_ns) = (self.data_address(), CONNECT_NS);
        vec![
            Action::Wake(now_ns + CONNECT_NS + ANSWER_NS),
            Action::Connect { connection: DATA, transport, address, socket_options, timeout_ns },
        ]
    }

    /// The largest segment is all that was asked for.
    fn segment(&mut self) -> Vec<Action> {
        self.stage = Stage::Over;
        let said = text::segment(&self.wanted, self.data.mss);
        vec![Action::Print(said), Action::Close(DATA), Action::Close(CONTROL), Action::End(0)]
    }

    /// Starts our end.
    fn run(&mut self, now_ns: u64) -> Vec<Action> {
        self.stage = Stage::Running;
        self.demo = Demo { told: self.demo.told, ..Demo::default() };
        let over = match (self.wanted.test.connects, self.keeps_probe()) {
            (true, _) => Over::Each(self.data_address()),
            (_, true) => Over::Lent(PROBE),
            _ => Over::Lent(DATA),
        };
        let flow = assemble::flow(&self.wanted, over, &self.probe.socket);
        let interim_ns = self.wanted.demo_s.map_or(0, |s| (s * SECOND) as u64);
        // A run that receives ends with the peer; one that never does is stopped.
        let most_s = self.wanted.length.max(60) as u64 + 60;
        vec![
            Action::Run { run: RUN, plan: Box::new(lower::plan(&flow)), interim_ns },
            Action::Wake(now_ns + most_s.saturating_mul(1_000_000_000)),
        ]
    }

    /// An interim result.
    fn told(&mut self, phase: &PhaseRecord, unix_ns: u64) -> Vec<Action> {
        let now = figures::so_far(phase);
        let over_ns = phase.elapsed_ns.saturating_sub(self.demo.elapsed_ns);
        let done = (now.0.saturating_sub(self.demo.before.0), now.1.saturating_sub(self.demo.before.1));
        if self.wanted.demo_s.is_none() || over_ns == 0 || done.0 == 0 {
            return Vec::new();
        }
        let over_s = over_ns as f64 / SECOND;
        let letter = self.letter();
        let rate = if letter == 'x' { done.0 as f64 / over_s } else { figures::rate(done.1, over_s, letter) };
        let (number, unit) = (self.demo.told, figures::units(letter));
        self.demo = Demo { told: number + 1, before: now, elapsed_ns: phase.elapsed_ns };
        let ends_s = unix_ns as f64 / SECOND;
        vec![Action::Print(text::interim(&self.wanted.output, number, rate, unit, over_s, ends_s))]
    }

    fn letter(&self) -> char {
        let usual = if self.wanted.test.shape() == Shape::Transactions { 'x' } else { 'm' };
        self.wanted.units.filter(|letter| (*letter == 'x') == (usual == 'x')).unwrap_or(usual)
    }

    /// Our end has done its part.
    fn ended(&mut self, record: &iodyno_model::Record, at: (u64, u64)) -> Vec<Action> {
        let (now_ns, unix_ns) = at;
        let mut actions = Vec::new();
        if let Some(phase) = record.phases.last() {
            actions.extend(self.told(phase, unix_ns));
        }
        self.measured = Measured::of(record);
        self.interrupted |= record.stopped_by.is_some();
        if let Some(why) = self.measured.failure.clone() {
            actions.extend(
                self.fail(&format!("data: {why}"), "see whether a firewall lets the data's port through"),
            );
            return actions;
        }
        self.ended_ns = now_ns;
        if self.keeps_probe() {
            actions.push(Action::Close(PROBE));
        } else if self.wanted.test.is_udp() {
            // An empty datagram says that it was the last; one may be lost.
            actions.extend((0..3).map(|_| Action::Send(DATA, Vec::new())));
            actions.push(Action::Close(DATA));
        } else if !self.wanted.test.connects {
            self.stage = Stage::Draining;
            actions.extend([Action::Shut(DATA), Action::Wake(now_ns + PARTING_NS)]);
            return actions;
        }
        actions.extend(self.await_results(now_ns));
        actions
    }

    /// The data connection has ended on both sides.
    fn drained(&mut self, now_ns: u64) -> Vec<Action> {
        // What was still under way belongs to a stream's time.
        if self.wanted.test.shape() == Shape::Sends {
            self.measured.elapsed_s += now_ns.saturating_sub(self.ended_ns) as f64 / SECOND;
        }
        let mut actions = vec![Action::Close(DATA)];
        actions.extend(self.await_results(now_ns));
        actions
    }

    fn await_results(&mut self, now_ns: u64) -> Vec<Action> {
        self.stage = Stage::Hearing;
        match Message::take(&mut self.came) {
            Some(message) => self.conclude(Some(&message), now_ns),
            None if self.wanted.alone => self.conclude(None, now_ns),
            None => vec![Action::Wake(now_ns + ANSWER_NS)],
        }
    }

    /// Both ends have told what they measured: again, or the report.
    fn conclude(&mut self, results: Option<&Message>, now_ns: u64) -> Vec<Action> {
        let seen = assemble::Seen {
            control: &self.control,
            probe: &self.probe,
            data: &self.data,
            response: &self.response,
            uuid: &self.uuid,
        };
        self.rounds.push(assemble::figures(&self.wanted, &self.measured, results, &seen));
        let sure = self.sure();
        if !sure.attained && self.rounds.len() < self.wanted.most_rounds() && !self.interrupted {
            return self.probe_again(now_ns);
        }
        let mut report = assemble::mean(&self.rounds);
        report.confidence = sure;
        (report.local.confidence, report.remote.confidence) =
            (report.confidence.widths[1], report.confidence.widths[2]);
        self.stage = Stage::Over;
        let mut actions: Vec<Action> =
            results.and_then(|results| self.of_netserver(results)).into_iter().collect();
        actions.extend([
            Action::Print(text::report(&self.wanted, &report)),
            Action::Close(CONTROL),
            Action::End(0),
        ]);
        actions
    }

    /// What a netserver of ours counted of the datagrams that came to it.
    fn of_netserver(&self, results: &Message) -> Option<Action> {
        let tells = self.wanted.test.is_udp() && self.wanted.test.shape() == Shape::Sends;
        results.ours().filter(|_| tells)?;
        let account = Account::from_words(results.counts());
        let facts = [("datagrams", account.came), ("overflow", account.overflow)];
        let facts = facts.map(|(name, count)| (name.to_string(), count)).to_vec();
        Some(Action::Peer(self.wanted.test.name.into(), facts))
    }

    fn probe_again(&mut self, now_ns: u64) -> Vec<Action> {
        if self.keeps_probe() || (self.wanted.test.is_udp() && self.wanted.bound) {
            return self.probe();
        }
        self.ask(now_ns)
    }

    /// How sure the result is after as many rounds as there were.
    fn sure(&self) -> Confidence {
        let runs = self.rounds.len() as u32;
        let Some((level, width)) = self.wanted.confidence() else {
            return Confidence { runs, ..Confidence::default() };
        };
        let of = |value: fn(&Figures) -> f64| {
            confidence::width_percent(&self.rounds.iter().map(value).collect::<Vec<_>>(), level)
        };
        let used = |side: &figures::Side| side.cpu.as_ref().map_or(0.0, |cpu| cpu.used_percent);
        let of_processors = |ours: bool| {
            let values: Vec<f64> = self
                .rounds
                .iter()
                .map(|round| used(if ours { &round.local } else { &round.remote }))
                .collect();
            confidence::width_percent(&values, level)
        };
        let measured = [true, self.wanted.cpu.0, self.wanted.cpu.1];
        let widths = [of(|round| round.throughput), of_processors(true), of_processors(false)];
        let widths = [0, 1, 2].map(|index| if measured[index] { widths[index] } else { 0.0 });
        let narrow = |index: usize| (0.0..=width).contains(&widths[index]);
        let enough = self.rounds.len() >= self.wanted.least_rounds();
        let all = narrow(0) && (self.wanted.result_only || (narrow(1) && narrow(2)));
        let asked = self.wanted.most_rounds() > 1;
        Confidence { level, wanted: width / 100.0, runs, widths, attained: !asked || (enough && all) }
    }

    fn fail(&mut self, what: &str, hint: &str) -> Vec<Action> {
        self.stage = Stage::Over;
        vec![Action::Complain(format!("netperf: {what}\n hint: {hint}\n")), Action::End(1)]
    }

    /// Something could not be had.
    fn failed(&mut self, number: Connection, errno: i32, what: &str) -> Vec<Action> {
        let why = if errno == 0 { what.to_string() } else { crate::strerror::of_system(errno) };
        match (number, self.stage) {
            (CONTROL, Stage::Calling) => {
                let (host, port) = (&self.wanted.host, self.wanted.port);
                self.stage = Stage::Over;
                let text = format!(
                    "establish control: are you sure there is a netserver listening on {host} at port {port}?\n\
                     netperf: {host}:{port}: {why}\n"
                );
                vec![Action::Complain(text), Action::End(255)]
            }
            (CONTROL, _) => {
                self.fail(&format!("the control connection broke: {why}"), "see what netserver says")
            }
            (PROBE, Stage::Probing) => {
                self.fail(&format!("{what}: {why}"), "see the options behind --: -s, -K, -L, -P")
            }
            (DATA, Stage::Opening) => {
                let hint = "see whether a firewall lets the data's port through";
                self.fail(&format!("data connection to {}: {why}", self.data_address()), hint)
            }
            // A reset ends a connection too.
            (DATA, Stage::Draining) => Vec::new(),
            _ => Vec::new(),
        }
    }

    /// It took too long.
    fn late(&mut self, now_ns: u64) -> Vec<Action> {
        match self.stage {
            Stage::Pausing => self.open(now_ns),
            Stage::Draining => self.drained(now_ns),
            Stage::Running => vec![Action::Stop(RUN)],
            Stage::Asked => self.fail("netserver does not answer", "does it expect a word (-Z)?"),
            Stage::Opening => {
                self.fail("the data connection is not made", "see whether a firewall is in between")
            }
            Stage::Hearing => {
                self.fail("netserver does not tell what it measured", "see what netserver says")
            }
            _ => Vec::new(),
        }
    }
}

impl Conversation for Client {
    fn step(&mut self, happening: Happening) -> Vec<Action> {
        let Happening { at_ns: now_ns, unix_ns, input } = happening;
        match input {
            _ if self.stage == Stage::Over => Vec::new(),
            Input::Began => self.begin(),
            Input::Ready(CONTROL, ends) => {
                self.control = ends;
                self.probe()
            }
            Input::Ready(PROBE, ends) => {
                self.probe = ends;
                self.ask(now_ns)
            }
            Input::Ready(DATA, ends) => {
                self.data = ends.socket;
                match self.wanted.test.name {
                    "TCP_MSS" => self.segment(),
                    _ => self.run(now_ns),
                }
            }
            Input::Failed(DATA, ..) if self.stage == Stage::Draining => self.drained(now_ns),
            Input::Failed(number, errno, what) => self.failed(number, errno, &what),
            Input::Bytes(CONTROL, bytes) => {
                self.came.extend(bytes);
                if self.came.len() > 4 * wire::RECORD_BYTES {
                    return self.fail("netserver says more than it was asked", "is it a netserver?");
                }
                // Results may come before our own end is through.
                match self.stage {
                    Stage::Asked | Stage::Hearing => Message::take(&mut self.came)
                        .map_or_else(Vec::new, |message| self.hear(&message, now_ns)),
                    _ => Vec::new(),
                }
            }
            // Who has told its results may go.
            Input::Closed(CONTROL) if self.came.len() >= wire::RECORD_BYTES => Vec::new(),
            Input::Closed(CONTROL) if matches!(self.stage, Stage::Running | Stage::Draining) => {
                self.fail("netserver has gone in the midst of the test", "see what netserver says")
            }
            Input::Closed(CONTROL) => {
                self.fail("netserver hung up", "does it expect a word (-Z), or serve somebody else?")
            }
            Input::Closed(DATA) if self.stage == Stage::Draining => self.drained(now_ns),
            Input::Told(RUN, event) => match &*event {
                Event::Interim(phase) => self.told(phase, unix_ns),
                _ => Vec::new(),
            },
            Input::Ended(RUN, record) => self.ended(&record, (now_ns, unix_ns)),
            Input::Tick => self.late(now_ns),
            Input::Interrupted(signal) if self.interrupted || self.stage != Stage::Running => {
                vec![Action::End((128 + signal).clamp(1, 255) as u8)]
            }
            Input::Interrupted(_) => {
                self.interrupted = true;
                vec![Action::Stop(RUN)]
            }
            _ => Vec::new(),
        }
    }
}

/// The record that proves knowledge of a word.
fn passphrase(word: &str) -> Message {
    let mut message = Message::new(wire::PASSPHRASE, -1);
    message.set_text(0, 64, word);
    message
}

/// What netserver's processors are good for, in one request: netperf's REM_CPU.
pub(super) struct Calibration {
    wanted: Command,
    came: Vec<u8>,
}

impl Calibration {
    /// One that is about to begin.
    pub(super) fn new(wanted: Command) -> Self {
        Calibration { wanted, came: Vec::new() }
    }
}

impl Conversation for Calibration {
    fn step(&mut self, happening: Happening) -> Vec<Action> {
        let fail = |what: &str| vec![Action::Complain(format!("netperf: {what}\n")), Action::End(1)];
        match happening.input {
            Input::Began => Client::new(self.wanted.clone(), String::new()).begin(),
            Input::Ready(CONTROL, _) => {
                let mut actions = vec![Action::Wake(happening.at_ns + ANSWER_NS)];
                actions.extend(
                    self.wanted.word.iter().map(|word| Action::Send(CONTROL, passphrase(word).bytes())),
                );
                actions.push(Action::Send(CONTROL, Message::new(wire::CPU_CALIBRATE, -1).bytes()));
                actions
            }
            Input::Bytes(CONTROL, bytes) => {
                self.came.extend(bytes);
                let Some(message) = Message::take(&mut self.came) else { return Vec::new() };
                let rate = wire::fraction(message.word(0));
                vec![Action::Print(format!("{rate:.6}\n")), Action::End(0)]
            }
            Input::Failed(..) => {
                let (host, port) = (&self.wanted.host, self.wanted.port);
                fail(&format!("are you sure there is a netserver listening on {host} at port {port}?"))
            }
            Input::Closed(_) => fail("netserver hung up"),
            Input::Tick => fail("netserver does not answer"),
            Input::Interrupted(signal) => vec![Action::End((128 + signal).clamp(1, 255) as u8)],
            _ => Vec::new(),
        }
    }
}

/// The host of an address; none: there is none.
pub(super) fn host_of(address: &str) -> Option<String> {
    let host = address.rsplit_once(':')?.0.trim_start_matches('[').trim_end_matches(']');
    (!host.is_empty()).then(|| host.to_string())
}

/// The port of an address.
pub(super) fn port_of(address: &str) -> Option<u16> {
    address.rsplit_once(':')?.1.parse().ok()
}

/// What the flow of a test is, seen from netperf.
pub(super) fn what(shape: Shape) -> What {
    match shape {
        Shape::Sends => What::Sends,
        Shape::Receives => What::Receives,
        Shape::Transactions => What::Asks,
    }
}
