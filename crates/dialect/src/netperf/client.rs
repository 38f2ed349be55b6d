//! netperf itself: asks netserver for its end, runs ours, reads what it measured, repeats where an interval of confidence was
//! asked for, and prints.

use iodyno_model::conversation::{Action, Connection, Conversation, Ends, Happening, Input, SocketFacts};
use iodyno_model::{Event, PhaseRecord, Record};

use super::command::Command;
use super::control::{ControlConnection, ControlEvent, Wording, last_datagrams};
use super::figures::{Confidence, ReportFigures, RunFigures};
use super::lower::{self, ConnectionUse};
use super::omni_client::DatagramCounts;
use super::report::{self, rounds};
use super::test::TestShape;
use super::wire::{self, Message, OmniResponse};
use super::{confidence, figures, settings};
use crate::address::{host_of, joined, port_of, transport};
use crate::conversation::end_by;

const CONTROL: Connection = 1;
const PROBE: Connection = 2;
const DATA: Connection = 3;
const RUN: u32 = 1;
/// How long a connection may take, ns.
const CONNECT_NS: u64 = 60_000_000_000;
const SECOND: f64 = 1e9;

/// netperf's side of the control connection.
fn control() -> ControlConnection {
    let wording = Wording {
        control: String::new(),
        data: "data connection to ",
        refused: "look at the options behind --",
        listen: "see the options behind --: -s, -K, -L, -P",
        silent: "does it expect a word (-Z)?",
    };
    ControlConnection::new([CONTROL, DATA, PROBE], CONNECT_NS, wording)
}

/// Connects to the netserver that the command line names.
fn connect(command: &Command, control: &mut ControlConnection, now_ns: u64) -> Action {
    let near = command.local.as_ref().map(|local| joined(local, command.local_port.unwrap_or(0)));
    let socket_options = near.into_iter().map(|near| ("bind".to_string(), near)).collect();
    let connect = control.connect(now_ns, (&command.host, command.port, command.family), socket_options);
    // Nothing beside this connection is waited for, and it has a time limit of its own.
    control.due_ns = u64::MAX;
    connect
}

/// A test of netperf.
pub(super) struct NetperfClient {
    command: Command,
    uuid: String,
    control: ControlConnection,
    /// A socket like that of the data, before it is connected; and connected.
    probe: Ends,
    data: SocketFacts,
    response: OmniResponse,
    measured: RunFigures,
    /// When our run ended, ns since the conversation began.
    ended_ns: u64,
    /// The figures of each repetition.
    rounds: Vec<ReportFigures>,
    demo: InterimState,
    is_running: bool,
    interrupted: bool,
    /// The tick that was asked for last, ns.
    wake_ns: u64,
}

/// The state at the last interim result.
#[derive(Default)]
struct InterimState {
    told: u64,
    /// Counts and time of the run then.
    before: (u64, u64),
    elapsed_ns: u64,
}

impl NetperfClient {
    /// One that is about to begin.
    pub(super) fn new(command: Command, uuid: String) -> Self {
        NetperfClient {
            command,
            uuid,
            control: control(),
            probe: Ends::default(),
            data: SocketFacts::default(),
            response: OmniResponse::default(),
            measured: RunFigures::default(),
            ended_ns: 0,
            rounds: Vec::new(),
            demo: InterimState::default(),
            is_running: false,
            interrupted: false,
            wake_ns: u64::MAX,
        }
    }

    fn is_six(&self) -> bool {
        match self.command.family {
            0 => self.control.is_six() || self.probe.local.starts_with('['),
            family => family == 6,
        }
    }

    fn any(&self) -> &'static str {
        if self.is_six() { "::" } else { "0.0.0.0" }
    }

    fn transport(&self) -> String {
        transport(self.command.test.transport(), if self.is_six() { 6 } else { 4 })
    }

    fn begin(&mut self, now_ns: u64) -> Vec<Action> {
        match self.command.alone {
            true => self.probe(),
            false => vec![connect(&self.command, &mut self.control, now_ns)],
        }
    }

    /// Looks at what the system makes of our socket options; netperf prints it beside what was asked for.
    fn probe(&mut self) -> Vec<Action> {
        let near = self.command.data_local.clone().or_else(|| host_of(&self.control.ends.local));
        let near = near.unwrap_or_else(|| self.any().into());
        let address = joined(&near, self.command.data_ports.0.unwrap_or(0));
        vec![self.control.listen(self.transport(), address, settings::socket_options(&self.command))]
    }

    /// Asks netserver for its end.
    fn ask(&mut self, now_ns: u64) -> Vec<Action> {
        let mut actions = Vec::new();
        if self.rounds.is_empty() {
            actions.push(Action::Print(report::title(&self.command, self.is_six())));
        }
        if !self.keeps_probe() {
            actions.push(Action::Close(PROBE));
        }
        if self.command.alone {
            actions.extend(self.open(now_ns));
            return actions;
        }
        let port = port_of(&self.probe.local).filter(|_| self.command.test.is_udp());
        let request = settings::request(&self.command, port.unwrap_or(0), self.is_six());
        let mut message = Message::new(wire::OMNI, self.command.processors.1.map_or(-1, |cpu| cpu as i32));
        request.write(&mut message);
        // A netserver of ours reports what its buffer had no room for; the original looks at none of these words.
        message.set_ours(0);
        if let Some(name) = &self.command.congestion.1 {
            message.set_text(wire::REQUEST_CONGESTION, wire::CONGESTION_BYTES, name);
        }
        actions.extend(self.control.ask(now_ns, self.command.word.as_deref(), &message));
        actions
    }

    /// Whether datagrams come to the very socket that was looked at.
    fn keeps_probe(&self) -> bool {
        self.command.test.is_udp() && self.command.test.shape() == TestShape::Receives
    }

    /// netserver has accepted the test.
    fn answered(&mut self, message: &Message, now_ns: u64) -> Vec<Action> {
        if message.kind() != wire::OMNI + 1 {
            let hint = "is it a netserver of 2.5 or newer?";
            return self.fail("netserver says something unexpected", hint);
        }
        self.response = OmniResponse::read(message);
        if self.port().is_none() {
            return self.fail("netserver names no port for the data", "is it a netserver?");
        }
        let mut actions: Vec<Action> = self.small_buffer().map(Action::Complain).into_iter().collect();
        if self.command.wait_s > 0.0 {
            self.control.ready(now_ns + (self.command.wait_s * SECOND) as u64);
        } else {
            actions.extend(self.open(now_ns));
        }
        actions
    }

    /// What is wrong with buffers of datagrams, before any is sent: what leaves the sender's at once does not fit the
    /// receiver's.
    fn small_buffer(&self) -> Option<String> {
        let ours = &self.probe.socket;
        let theirs = |bytes: i32| u64::try_from(bytes).unwrap_or(0);
        let (send, receive, option) = match self.command.test.shape() {
            TestShape::Sends => (ours.send_buffer_bytes, theirs(self.response.recv_buf_size), "-S"),
            TestShape::Receives => (theirs(self.response.send_buf_size), ours.receive_buffer_bytes, "-s"),
            TestShape::Transactions => return None,
        };
        (self.command.test.is_udp() && receive > 0 && receive < send && self.rounds.is_empty()).then(|| {
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
        let named = self.command.data_host.clone();
        let host =
            named.or_else(|| host_of(&self.control.ends.peer)).unwrap_or_else(|| self.command.host.clone());
        let port = if self.command.alone { self.command.data_ports.1 } else { self.port() };
        joined(&host, port.unwrap_or(0))
    }

    /// Makes the data connection, or goes on at once where each transaction makes its own.
    fn open(&mut self, now_ns: u64) -> Vec<Action> {
        if self.keeps_probe() || self.command.test.connects {
            self.data = self.probe.socket.clone();
            return self.run(now_ns);
        }
        let mut socket_options = settings::socket_options(&self.command);
        let near = self.command.data_local.clone().or_else(|| self.command.local.clone());
        let port =
            self.command.data_ports.0.or_else(|| port_of(&self.probe.local).filter(|_| self.command.bound));
        if near.is_some() || port.is_some() {
            let near = near.as_deref().unwrap_or(self.any());
            socket_options.push(("bind".into(), joined(near, port.unwrap_or(0))));
        }
        let (transport, address) = (self.transport(), self.data_address());
        vec![self.control.open(now_ns, transport, address, socket_options)]
    }

    /// The data connection stands. TCP_MSS asks for no more than its largest segment.
    fn opened(&mut self, ends: Ends, now_ns: u64) -> Vec<Action> {
        self.data = ends.socket;
        if self.command.test.name != "TCP_MSS" {
            return self.run(now_ns);
        }
        self.control.finish();
        let text = report::segment(&self.command, self.data.mss);
        vec![Action::Print(text), Action::Close(DATA), Action::Close(CONTROL), Action::End(0)]
    }

    /// Starts our end.
    fn run(&mut self, now_ns: u64) -> Vec<Action> {
        self.is_running = true;
        self.demo = InterimState { told: self.demo.told, ..InterimState::default() };
        let over = match (self.command.test.connects, self.keeps_probe()) {
            (true, _) => ConnectionUse::Each(self.data_address()),
            (_, true) => ConnectionUse::Lent(PROBE),
            _ => ConnectionUse::Lent(DATA),
        };
        let flow = settings::flow(&self.command, over, &self.probe.socket);
        let interim_ns = self.command.demo_s.map_or(0, |s| (s * SECOND) as u64);
        // A run that receives ends with the peer; one that never does is stopped.
        let most_s = self.command.length.max(60) as u64 + 60;
        self.control.ready(now_ns.saturating_add(most_s.saturating_mul(1_000_000_000)));
        vec![Action::Run { run: RUN, plan: Box::new(lower::plan(&flow)), interim_ns }]
    }

    /// An interim result.
    fn interim(&mut self, phase: &PhaseRecord, unix_ns: u64) -> Vec<Action> {
        let now = figures::so_far(phase);
        let over_ns = phase.elapsed_ns.saturating_sub(self.demo.elapsed_ns);
        let done = (now.0.saturating_sub(self.demo.before.0), now.1.saturating_sub(self.demo.before.1));
        if self.command.demo_s.is_none() || over_ns == 0 || done.0 == 0 {
            return Vec::new();
        }
        let over_s = over_ns as f64 / SECOND;
        let letter = self.command.letter();
        let rate = if letter == 'x' { done.0 as f64 / over_s } else { figures::rate(done.1, over_s, letter) };
        let (number, unit) = (self.demo.told, figures::units(letter));
        self.demo = InterimState { told: number + 1, before: now, elapsed_ns: phase.elapsed_ns };
        let ends_s = unix_ns as f64 / SECOND;
        vec![Action::Print(report::interim(&self.command.output, number, rate, unit, over_s, ends_s))]
    }

    /// Our end has done its part.
    fn ended(&mut self, record: &Record, at: (u64, u64)) -> Vec<Action> {
        let (now_ns, unix_ns) = at;
        let mut actions = Vec::new();
        if let Some(phase) = record.phases.last() {
            actions.extend(self.interim(phase, unix_ns));
        }
        self.is_running = false;
        self.measured = RunFigures::of(record);
        self.interrupted |= record.stopped_by.is_some();
        if let Some(why) = self.measured.failure.clone() {
            let hint = "see whether a firewall lets the data's port through";
            actions.extend(self.fail(&format!("data: {why}"), hint));
            return actions;
        }
        if self.command.test.connects && self.measured.operations == 0 && !self.interrupted {
            actions.extend(self.fail(
                &format!("no connection to {} came about", self.data_address()),
                "nobody listens there, or a firewall is in the way",
            ));
            return actions;
        }
        self.ended_ns = now_ns;
        if self.keeps_probe() {
            actions.push(Action::Close(PROBE));
        } else if self.command.test.is_udp() {
            actions.extend(last_datagrams(DATA));
            actions.push(Action::Close(DATA));
        } else if !self.command.test.connects {
            actions.push(self.control.drain(now_ns));
            return actions;
        }
        actions.extend(self.await_results(now_ns));
        actions
    }

    /// The data connection has ended on both sides.
    fn drained(&mut self, now_ns: u64) -> Vec<Action> {
        // What was still under way belongs to a stream's time.
        if self.command.test.shape() == TestShape::Sends {
            self.measured.elapsed_s += now_ns.saturating_sub(self.ended_ns) as f64 / SECOND;
        }
        let mut actions = vec![Action::Close(DATA)];
        actions.extend(self.await_results(now_ns));
        actions
    }

    fn await_results(&mut self, now_ns: u64) -> Vec<Action> {
        match self.control.await_results(now_ns) {
            Some(progress) => self.go_on(progress, now_ns),
            None if self.command.alone => self.conclude(None, now_ns),
            None => Vec::new(),
        }
    }

    /// Both ends have reported what they measured: again, or the report.
    fn conclude(&mut self, results: Option<&Message>, now_ns: u64) -> Vec<Action> {
        let seen = rounds::EndSightings {
            control: &self.control.ends,
            probe: &self.probe,
            data: &self.data,
            response: &self.response,
            uuid: &self.uuid,
        };
        self.rounds.push(rounds::figures(&self.command, &self.measured, results, &seen));
        let sure = self.sure();
        if !sure.attained && self.rounds.len() < self.command.most_rounds() && !self.interrupted {
            let probes = self.keeps_probe() || (self.command.test.is_udp() && self.command.bound);
            return if probes { self.probe() } else { self.ask(now_ns) };
        }
        let mut report = rounds::mean(&self.rounds);
        report.confidence = sure;
        (report.local.confidence, report.remote.confidence) =
            (report.confidence.widths[1], report.confidence.widths[2]);
        self.control.finish();
        let mut actions: Vec<Action> =
            results.and_then(|results| self.of_netserver(results)).into_iter().collect();
        actions.extend([
            Action::Print(report::report(&self.command, &report)),
            Action::Close(CONTROL),
            Action::End(0),
        ]);
        actions
    }

    /// What a netserver of ours counted of the datagrams that came to it.
    fn of_netserver(&self, results: &Message) -> Option<Action> {
        let tells = self.command.test.is_udp() && self.command.test.shape() == TestShape::Sends;
        results.ours().filter(|_| tells)?;
        let facts = DatagramCounts::read(results).facts();
        let facts = facts.filter(|(name, _)| ["datagrams", "overflow"].contains(name));
        let facts = facts.map(|(name, count)| (name.to_string(), count)).collect();
        Some(Action::Peer(self.command.test.name.into(), facts))
    }

    /// How sure the result is after as many rounds as there were.
    fn sure(&self) -> Confidence {
        let runs = self.rounds.len() as u32;
        let Some((level, width)) = self.command.confidence() else {
            return Confidence { runs, ..Confidence::default() };
        };
        let of = |value: fn(&ReportFigures) -> f64| {
            confidence::width_percent(&self.rounds.iter().map(value).collect::<Vec<_>>(), level)
        };
        let used = |side: &figures::EndFigures| side.cpu.as_ref().map_or(0.0, |cpu| cpu.used_percent);
        let of_processors = |ours: bool| {
            let values: Vec<f64> = self
                .rounds
                .iter()
                .map(|round| used(if ours { &round.local } else { &round.remote }))
                .collect();
            confidence::width_percent(&values, level)
        };
        let measured = [true, self.command.cpu.0, self.command.cpu.1];
        let widths = [of(|round| round.throughput), of_processors(true), of_processors(false)];
        let widths = [0, 1, 2].map(|index| if measured[index] { widths[index] } else { 0.0 });
        let narrow = |index: usize| (0.0..=width).contains(&widths[index]);
        let enough = self.rounds.len() >= self.command.least_rounds();
        let all = narrow(0) && (self.command.result_only || (narrow(1) && narrow(2)));
        let asked = self.command.most_rounds() > 1;
        Confidence { level, target: width / 100.0, runs, widths, attained: !asked || (enough && all) }
    }

    fn fail(&mut self, what: &str, hint: &str) -> Vec<Action> {
        self.control.finish();
        vec![Action::Complain(format!("netperf: {what}\n hint: {hint}\n")), Action::End(1)]
    }

    fn go_on(&mut self, progress: ControlEvent, now_ns: u64) -> Vec<Action> {
        match progress {
            ControlEvent::Connected => self.probe(),
            ControlEvent::Listening(ends) => {
                self.probe = ends;
                self.ask(now_ns)
            }
            ControlEvent::Answered(message) => self.answered(&message, now_ns),
            ControlEvent::Opened(ends) => self.opened(ends, now_ns),
            ControlEvent::Due if self.is_running => vec![Action::Stop(RUN)],
            ControlEvent::Due => self.open(now_ns),
            ControlEvent::Drained => self.drained(now_ns),
            ControlEvent::Results(message) => self.conclude(Some(&message), now_ns),
            ControlEvent::HungUp if self.is_running || self.control.is_draining() => {
                self.fail("netserver has gone in the midst of the test", "see what netserver says")
            }
            ControlEvent::HungUp => {
                self.fail("netserver hung up", "does it expect a word (-Z), or serve somebody else?")
            }
            ControlEvent::Unreachable(why) => {
                let (host, port) = (&self.command.host, self.command.port);
                self.control.finish();
                let text = format!(
                    "establish control: are you sure there is a netserver listening on {host} at port {port}?\n\
                     netperf: {host}:{port}: {why}\n"
                );
                vec![Action::Complain(text), Action::End(255)]
            }
            ControlEvent::Broken(what, hint) => self.fail(&what, hint),
        }
    }

    fn react(&mut self, Happening { at_ns: now_ns, unix_ns, input }: Happening) -> Vec<Action> {
        match input {
            Input::Began => self.begin(now_ns),
            Input::Told(RUN, event) => match &*event {
                Event::Interim(phase) => self.interim(phase, unix_ns),
                _ => Vec::new(),
            },
            Input::Ended(RUN, record) => self.ended(&record, (now_ns, unix_ns)),
            Input::Interrupted(signal) if self.interrupted || !self.is_running => vec![end_by(signal)],
            Input::Interrupted(_) => {
                self.interrupted = true;
                vec![Action::Stop(RUN)]
            }
            input => match self.control.step(now_ns, &input) {
                Some(progress) => self.go_on(progress, now_ns),
                None => Vec::new(),
            },
        }
    }
}

impl Conversation for NetperfClient {
    fn step(&mut self, happening: Happening) -> Vec<Action> {
        if self.control.is_over() {
            return Vec::new();
        }
        let mut actions = self.react(happening);
        let due_ns = self.control.due_ns;
        if due_ns < u64::MAX && due_ns != std::mem::replace(&mut self.wake_ns, due_ns) {
            actions.push(Action::Wake(due_ns));
        }
        actions
    }
}

/// What netserver's processors are good for, in one request: netperf's REM_CPU.
pub(super) struct Calibration {
    command: Command,
    control: ControlConnection,
}

impl Calibration {
    /// One that is about to begin.
    pub(super) fn new(command: Command) -> Self {
        Calibration { command, control: control() }
    }

    fn go_on(&mut self, progress: ControlEvent, now_ns: u64) -> Vec<Action> {
        let fail = |what: &str| vec![Action::Complain(format!("netperf: {what}\n")), Action::End(1)];
        match progress {
            ControlEvent::Connected => {
                let question = Message::new(wire::CPU_CALIBRATE, -1);
                let mut actions = self.control.ask(now_ns, self.command.word.as_deref(), &question);
                actions.push(Action::Wake(self.control.due_ns));
                actions
            }
            ControlEvent::Answered(message) => {
                let rate = wire::fraction(message.word(0));
                vec![Action::Print(format!("{rate:.6}\n")), Action::End(0)]
            }
            ControlEvent::Unreachable(_) => {
                let (host, port) = (&self.command.host, self.command.port);
                fail(&format!("are you sure there is a netserver listening on {host} at port {port}?"))
            }
            ControlEvent::HungUp => fail("netserver hung up"),
            ControlEvent::Broken(what, _) => fail(&what),
            _ => Vec::new(),
        }
    }
}

impl Conversation for Calibration {
    fn step(&mut self, Happening { at_ns: now_ns, input, .. }: Happening) -> Vec<Action> {
        match input {
            Input::Began => vec![connect(&self.command, &mut self.control, now_ns)],
            Input::Interrupted(signal) => vec![end_by(signal)],
            input => match self.control.step(now_ns, &input) {
                Some(progress) => self.go_on(progress, now_ns),
                None => Vec::new(),
            },
        }
    }
}
