//! The client's half of the conversation: connect, agree, open streams, run, tell the end, compare.
//!
//! It waits for nothing longer than the receive timeout, and reads nothing longer than it must.

use iodyno_model::conversation::{Action, Connection, Conversation, Happening, Input, RunNumber};
use iodyno_model::{Event, Record};
use rsa::RsaPublicKey;

use super::auth::{Padding, RandomSource, token};
use super::command::Command;
use super::json::CJSON;
use super::lower;
use super::meter::Interval;
use super::report::document;
use super::report::text::{self, TextStyle};
use super::report::{OutputStyle, Report};
use super::results::TestResults;
use super::settings::{DATAGRAM_LEAST, DATAGRAM_MOST};
use super::state::{self, Inbox};
use super::test::{TestRun, TestStream, id};
use crate::address::{host_and_port, joined};
use crate::json_tree::JsonTree;

const CONTROL: Connection = 1;
/// The first stream's connection.
pub const FIRST: Connection = 2;
const RUN: RunNumber = 1;
const SECOND_NS: u64 = 1_000_000_000;
/// A server says this where it has heard the hello of a UDP stream; older ones say something else of the same length.
const HELLO: [u8; 4] = *b"9876";
/// How often a hello is sent before the stream is given up.
const HELLOS: u32 = 30;
/// When nothing more comes of an amount, it is over after this.
const STALL_NS: u64 = 2 * SECOND_NS;

/// What the control connection is to bring next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum NextReply {
    State,
    Error,
    Results,
}

/// How far it has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ClientStage {
    Connecting,
    Agreeing,
    /// The stream that is being opened, by its index, and how often its hello was sent.
    Opening(usize, u32),
    Opened,
    Running,
    /// The user ended it: the signal.
    Interrupted(i32),
    Ended,
    Over,
}

/// What a client shows who it is with.
pub struct Credentials {
    pub user: String,
    pub password: String,
    /// The server's key.
    pub key: RsaPublicKey,
    pub padding: Padding,
}

pub struct Iperf3Client {
    command: Command,
    report: Report,
    test: TestRun,
    badge: Option<Credentials>,
    chance: RandomSource,
    seed: u64,
    stage: ClientStage,
    expected: NextReply,
    inbox: Inbox,
    cookie: Vec<u8>,
    /// When the peer last sent something, ns.
    heard_ns: u64,
    /// What had come in the run when something last did, and when that was.
    progress: (u64, u64),
    stopped: bool,
    /// When the run passed its start line, ns.
    began_ns: u64,
    at_ns: u64,
    unix_ns: u64,
    out: Vec<Action>,
}

impl Iperf3Client {
    /// A client that has not begun.
    pub fn new(
        command: Command,
        system: String,
        badge: Option<Credentials>,
        entropy: [u8; 32],
        east_s: i64,
    ) -> Iperf3Client {
        let mut chance = RandomSource::new(entropy);
        let cookie = chance.cookie().to_vec();
        let test = TestRun {
            params: command.test.clone(),
            cookie: String::from_utf8_lossy(&cookie[..cookie.len() - 1]).into_owned(),
            goal: (command.host.clone().unwrap_or_default(), command.port),
            interval_s: command.interval_s,
            file: command.file.clone().map(|name| (name, command.file_bytes)),
            ..TestRun::default()
        };
        let style = TextStyle { format: command.format, verbose: command.verbose };
        Iperf3Client {
            report: Report::new(OutputStyle::new(&command, east_s), style, system),
            test,
            badge,
            seed: u64::from(entropy[0]) + 1,
            chance,
            stage: ClientStage::Connecting,
            expected: NextReply::State,
            inbox: Inbox::default(),
            cookie,
            heard_ns: 0,
            progress: (0, 0),
            stopped: false,
            began_ns: 0,
            at_ns: 0,
            unix_ns: 0,
            out: Vec::new(),
            command,
        }
    }

    fn print(&mut self, text: &str) {
        self.out.extend(self.report.output.text(text, self.unix_ns));
    }

    fn debug(&mut self, what: &str) {
        if self.command.debug {
            self.print(&format!("{what}\n"));
        }
    }

    fn send_state(&mut self, state: u8) {
        self.debug(&format!("State change: State set to {state}-{}", state::name(state)));
        self.out.push(Action::Send(CONTROL, vec![state]));
    }

    fn began(&mut self) {
        if self.command.verbose {
            let system = format!("{}\n{}\n", super::banner(), self.report.document.system);
            self.print(&system);
        }
        let (host, port) = &self.test.goal;
        let mut socket_options = self.near(0, false);
        socket_options.push(("nodelay".into(), "on".into()));
        if let Some(keepalive) = &self.command.keepalive {
            socket_options.push(("keepalive".into(), keepalive.clone()));
        }
        self.out.push(Action::Connect {
            connection: CONTROL,
            transport: self.transport("tcp"),
            address: joined(host, *port),
            socket_options,
            timeout_ns: self.command.connect_timeout_ms * 1_000_000,
        });
    }

    fn transport(&self, protocol: &str) -> String {
        let family = self.command.family.map(|family| family.to_string()).unwrap_or_default();
        format!("{protocol}{family}")
    }

    /// The options for our own address, device and port.
    fn near(&self, port: u16, is_data: bool) -> Vec<(String, String)> {
        let mut socket_options = Vec::new();
        if let Some(device) = &self.command.device {
            socket_options.push(("device".to_string(), device.clone()));
        }
        let any = if self.test.control.peer.starts_with('[') { "::" } else { "0.0.0.0" };
        if let Some((first, further)) = self.command.sctp_near.split_first().filter(|_| is_data) {
            let bound = self.command.bind.as_ref().map_or_else(|| first.clone(), Clone::clone);
            let begins = if self.command.bind.is_some() { &self.command.sctp_near } else { further };
            socket_options.push(("bind".into(), joined(&bound, port)));
            if !begins.is_empty() {
                socket_options.push(("sctp_bind".into(), begins.join("+")));
            }
            return socket_options;
        }
        match (&self.command.bind, port) {
            (None, 0) => {}
            (bind, port) => {
                socket_options.push(("bind".into(), joined(bind.as_deref().unwrap_or(any), port)))
            }
        }
        socket_options
    }

    fn connected(&mut self) {
        let mss = self.test.control.socket.mss;
        if self.command.verbose {
            self.print(&format!("Control connection MSS {mss}\n"));
        }
        let params = &mut self.test.params;
        if params.block_bytes == 0 && params.udp {
            params.block_bytes = if (DATAGRAM_LEAST..=DATAGRAM_MOST).contains(&mss) { mss } else { 1460 };
            let bytes = params.block_bytes;
            if self.command.verbose {
                self.print(&format!("Setting UDP block size to {bytes}\n"));
            }
        } else if params.block_bytes == 0 {
            params.block_bytes = params.usual_block_bytes();
        }
        self.stage = ClientStage::Agreeing;
        self.out.push(Action::Send(CONTROL, self.cookie.clone()));
    }

    /// What came on the control connection, as far as it can be understood.
    fn read_control(&mut self) {
        while !matches!(self.stage, ClientStage::Over) {
            match self.expected {
                // The start may overtake the answer to the last hello: it waits for it.
                NextReply::State if self.starts_early() => return,
                NextReply::State => match self.inbox.state() {
                    Some(state) => self.state(state),
                    None => return,
                },
                NextReply::Error => match self.inbox.error() {
                    Some((error, errno)) => self.server_error(error, errno),
                    None => return,
                },
                NextReply::Results => match self.inbox.json(state::SERVER_RESULTS_MOST) {
                    Ok(Some(value)) => self.results(&value),
                    Ok(None) => return,
                    Err(why) => self.fail(&format!("unable to receive results: {why}")),
                },
            }
        }
    }

    fn starts_early(&self) -> bool {
        let starts = [state::TEST_START, state::TEST_RUNNING].map(Some).contains(&self.inbox.first());
        starts && matches!(self.stage, ClientStage::Opening(..))
    }

    fn state(&mut self, state: u8) {
        self.debug(&format!(
            "State change: client received and changed State to {state}-{}",
            state::name(state)
        ));
        match (state, self.stage) {
            (state::PARAM_EXCHANGE, ClientStage::Agreeing) => self.agree(),
            (state::CREATE_STREAMS, ClientStage::Agreeing) => {
                self.stage = ClientStage::Opening(0, 0);
                self.open();
            }
            (state::TEST_START, _) => {}
            (state::TEST_RUNNING, ClientStage::Opened) => self.run(),
            (state::EXCHANGE_RESULTS, ClientStage::Ended) => {
                let text = self.test.results().json();
                self.debug(&format!("send_results\n{}", text.print(&CJSON)));
                self.out.push(Action::Send(CONTROL, state::message(&text.line(&CJSON))));
                self.expected = NextReply::Results;
            }
            (state::DISPLAY_RESULTS, ClientStage::Ended) => self.display(),
            (state::SERVER_TERMINATE, _) => self.terminated(),
            (state::ACCESS_DENIED, _) => self.fail(&state::meaning(state::BUSY)),
            (state::SERVER_ERROR, _) => self.expected = NextReply::Error,
            (state, _) => self.fail(&format!("received an unknown control message (state {state})")),
        }
    }

    fn agree(&mut self) {
        self.test.began_unix_ns = self.unix_ns;
        if let Some(badge) = &self.badge {
            let now_s = self.unix_ns / SECOND_NS;
            match token(&badge.user, &badge.password, now_s, &badge.key, badge.padding, &mut self.chance) {
                Ok(token) => self.test.params.token = Some(token),
                Err(why) => return self.fail(&why),
            }
        }
        let params = self.test.params.json();
        self.debug(&format!("send_parameters:\n{}", params.print(&CJSON)));
        self.out.push(Action::Send(CONTROL, state::message(&params.line(&CJSON))));
        let text = text::connecting(&self.test, self.report.style);
        self.print(&text);
    }

    /// Opens the next stream, or waits for the start.
    fn open(&mut self) {
        let ClientStage::Opening(made, _) = self.stage else { return };
        let params = &self.test.params;
        if made as u32 >= params.streams() {
            self.stage = ClientStage::Opened;
            let lines: String = self.test.streams.iter().map(text::connected).collect();
            self.print(&lines);
            return self.read_control();
        }
        let (peer, port) = host_and_port(&self.test.control.peer);
        let near_port = match self.command.near_port {
            0 => 0,
            first => first.saturating_add(made as u16),
        };
        let mut socket_options = lower::socket_options(params);
        let sends = params.client_sends(made as u32);
        socket_options.extend(lower::room(params, sends));
        socket_options.extend(self.near(near_port, true));
        let mut more = |name: &str, value: String| socket_options.push((name.into(), value));
        if params.mptcp && params.is_tcp() {
            more("mptcp", "on".into());
        }
        if let Some(count) = self.command.sctp_streams.filter(|_| params.sctp) {
            more("sctp_streams", count.to_string());
        }
        if params.flow_label > 0 {
            more("flow_label", params.flow_label.to_string());
        }
        if self.command.send_timeout_ms > 0 && params.is_tcp() {
            more("user_timeout_ms", self.command.send_timeout_ms.to_string());
        }
        let connection = FIRST + made as u32;
        self.test.streams.push(TestStream {
            connection,
            id: id(made as u32),
            index: made as u32 % params.parallel,
            sends,
            ..TestStream::default()
        });
        self.out.push(Action::Connect {
            connection,
            transport: self.transport(&self.test.params.protocol().to_ascii_lowercase()),
            address: joined(&peer, port),
            socket_options,
            timeout_ns: self.command.connect_timeout_ms * 1_000_000,
        });
    }

    /// A stream stands.
    fn stream_opened(&mut self, connection: Connection, ends: iodyno_model::conversation::Ends) {
        let ClientStage::Opening(made, _) = self.stage else { return };
        let Some(stream) = self.test.streams.last_mut().filter(|stream| stream.connection == connection)
        else {
            return;
        };
        stream.ends = ends;
        if self.test.params.udp {
            self.hello();
            return;
        }
        // What the server sends before the run begins waits for it.
        self.out.push(Action::Read { connection, most: Some(0) });
        self.out.push(Action::Send(connection, self.cookie.clone()));
        self.stage = ClientStage::Opening(made + 1, 0);
        self.open();
    }

    fn hello(&mut self) {
        let ClientStage::Opening(made, said) = self.stage else { return };
        if said >= HELLOS {
            return self.fail("unable to connect stream: the server does not answer a hello over UDP");
        }
        self.stage = ClientStage::Opening(made, said + 1);
        self.out.push(Action::Send(FIRST + made as u32, HELLO.to_vec()));
        self.out.push(Action::Wake(self.at_ns + SECOND_NS));
    }

    /// A datagram on a stream that waits for its answer; data that overtook it is no answer.
    fn answered(&mut self, connection: Connection, bytes: &[u8]) {
        let ClientStage::Opening(made, said) = self.stage else { return };
        if connection != FIRST + made as u32 || said == 0 || !self.test.params.udp || bytes.len() != 4 {
            return;
        }
        self.out.push(Action::Read { connection, most: Some(0) });
        self.stage = ClientStage::Opening(made + 1, 0);
        self.open();
    }

    fn run(&mut self) {
        self.stage = ClientStage::Running;
        self.test.begin();
        self.progress = (0, self.at_ns);
        if self.command.verbose {
            let text = text::starting(&self.test);
            self.print(&text);
        }
        self.out.extend(self.report.start(&self.test));
        let own = lower::LocalSettings {
            server: false,
            cpu: self.command.affinity.map(|(cpu, _)| cpu),
            file: self.command.file.as_deref(),
            seed: self.seed,
        };
        let plan = lower::plan(&self.test.params, &self.test.streams, &own);
        self.out.push(Action::Run { run: RUN, plan: Box::new(plan), interim_ns: self.test.interim_ns() });
    }

    fn intervals(&mut self, intervals: &[Interval]) {
        for interval in intervals {
            let (text, event) = self.report.interval(&self.test, interval);
            self.print(&text);
            self.out.extend(event);
        }
    }

    fn run_event(&mut self, event: &Event) {
        if let Event::PhaseStarted { .. } = event {
            self.began_ns = self.at_ns;
        }
        let Event::Interim(phase) = event else { return };
        let ended = self.test.interim(phase);
        self.intervals(&ended);
        let receives = self.test.streams.iter().any(|stream| !stream.sends);
        let moved = self.test.moved(true) + self.test.moved(false);
        if moved > self.progress.0 {
            self.progress = (moved, self.at_ns);
        }
        let idle_ns = self.at_ns.saturating_sub(self.progress.1);
        if receives && idle_ns > self.command.receive_timeout_ms * 1_000_000 {
            return self.fail(&state::meaning(state::NO_DATA));
        }
        if let Some(whole) = self.test.params.whole_bytes().filter(|_| self.test.awaits_amount()) {
            let enough = self.test.moved(self.test.params.bidir) >= whole;
            if !self.stopped && (enough || (moved > 0 && idle_ns > STALL_NS)) {
                self.stopped = true;
                self.out.push(Action::Stop(RUN));
            }
        }
    }

    fn ended(&mut self, record: &Record) {
        if !matches!(self.stage, ClientStage::Running | ClientStage::Interrupted(_)) {
            return;
        }
        let cut_ns = self.stopped.then(|| self.progress.1.saturating_sub(self.began_ns));
        let ended = match self.test.end(record, cut_ns) {
            Ok(ended) => ended,
            Err(why) => return self.fail(&why),
        };
        self.intervals(&ended);
        match self.stage {
            ClientStage::Interrupted(signal) => {
                self.partial(&format!("the client has terminated{}", by(signal)), 0)
            }
            ClientStage::Running if self.test.obstacle().is_some() => {
                self.send_state(state::CLIENT_TERMINATE);
                let why = self.test.obstacle().unwrap_or_default();
                self.fail(&why);
            }
            ClientStage::Running => {
                self.stage = ClientStage::Ended;
                self.heard_ns = self.at_ns;
                self.send_state(state::TEST_END);
                // The server reports what broke, or does not answer any more.
                if let Some(why) = self.test.failure().map(String::from) {
                    self.debug(&format!("a stream failed: {why}"));
                }
                self.read_control();
            }
            _ => {}
        }
    }

    fn results(&mut self, value: &serde_json::Value) {
        self.expected = NextReply::State;
        self.debug(&format!("get_results\n{}", JsonTree::from(value).print(&CJSON)));
        let results = match TestResults::of(value) {
            Ok(results) => results,
            Err(why) => return self.fail(&format!("unable to receive results: {why}")),
        };
        let known = |id: u64| self.test.streams.iter().any(|stream| u64::from(stream.id) == id);
        if results.streams.iter().any(|stream| !known(stream.id)) {
            return self.fail("unable to receive results: a stream that there is not");
        }
        self.test.peer = Some(results);
        if self.test.params.udp {
            self.tell_of_datagrams();
        }
    }

    /// What the server counted of the datagrams that went to it.
    fn tell_of_datagrams(&mut self) {
        let Some(results) = &self.test.peer else { return };
        for stream in self.test.streams.iter().filter(|stream| stream.sends) {
            let Some(told) = results.stream(stream.id) else { continue };
            let count = |number: i64| number.max(0) as u64;
            let came = count(told.packets).saturating_sub(count(told.lost));
            let facts = [("datagrams", came), ("lost", count(told.lost)), ("overflow", told.overflow)];
            let facts = facts.map(|(name, count)| (name.to_string(), count)).to_vec();
            self.out.push(Action::Peer(lower::name(stream), facts));
        }
    }

    fn display(&mut self) {
        let mut text = text::summary(&self.test, self.report.style);
        let end = document::end(&self.test);
        self.out.extend(self.report.output.event("end", &end));
        self.report.document.end = Some(end);
        self.report.document.name(&self.test.params);
        let output = self.test.peer.as_ref().and_then(|peer| peer.server_output.clone());
        if let Some(output) = output {
            let (name, said) = match &output {
                serde_json::Value::String(text) => ("server_output_text", text.clone()),
                document => ("server_output_json", JsonTree::from(document).print(&CJSON)),
            };
            text.push_str(&format!("\nServer output:\n{said}\n"));
            self.out.extend(self.report.output.event(name, &JsonTree::from(&output)));
            self.report.document.more.push((name.into(), JsonTree::from(&output)));
        }
        text.push_str("\niperf Done.\n");
        self.print(&text);
        self.send_state(state::IPERF_DONE);
        self.out.extend(self.report.print());
        self.part(0);
    }

    /// Everything is closed.
    fn part(&mut self, status: u8) {
        self.stage = ClientStage::Over;
        let streams: Vec<Connection> = self.test.streams.iter().map(|stream| stream.connection).collect();
        self.out.extend(streams.into_iter().map(Action::Close));
        self.out.push(Action::Close(CONTROL));
        self.out.push(Action::End(status));
    }

    fn server_error(&mut self, error: i32, errno: i32) {
        self.expected = NextReply::State;
        let mut text = state::meaning(error);
        if errno != 0 {
            text = format!("{text}: {}", crate::strerror::of_system(errno));
        }
        if !self.report.output.json {
            self.out.extend(self.report.output.complain(&format!("SERVER ERROR - {text}")));
        }
        self.fail(&text);
    }

    fn fail(&mut self, text: &str) {
        if self.stage == ClientStage::Over {
            return;
        }
        self.out.extend(self.report.error(text, text, &format!("error - {text}")));
        self.part(1);
    }

    fn terminated(&mut self) {
        match self.stage {
            ClientStage::Running => {
                self.out.push(Action::Stop(RUN));
                self.fail("the server has terminated");
            }
            _ => self.fail("the server has terminated"),
        }
    }

    fn interrupted(&mut self, signal: i32) {
        match self.stage {
            ClientStage::Running => {
                self.stage = ClientStage::Interrupted(signal);
                self.send_state(state::CLIENT_TERMINATE);
                self.out.push(Action::Stop(RUN));
            }
            ClientStage::Over => {}
            _ => {
                if !matches!(self.stage, ClientStage::Connecting) {
                    self.send_state(state::CLIENT_TERMINATE);
                }
                self.partial(&format!("the client has terminated{}", by(signal)), 0);
            }
        }
    }

    /// What there is, and why there is no more.
    fn partial(&mut self, why: &str, status: u8) {
        if !self.test.totals.is_empty() {
            let text = text::summary(&self.test, self.report.style);
            self.print(&text);
            self.report.document.end = Some(document::end(&self.test));
        }
        let error = format!("interrupt - {why}");
        self.out.extend(self.report.error(why, &error, &error));
        self.part(status);
    }

    fn failed(&mut self, connection: Connection, errno: i32, what: &str) {
        let reason = crate::strerror::reason(errno, what);
        match (connection, self.stage) {
            (_, ClientStage::Over) => {}
            (CONTROL, ClientStage::Connecting) => self.fail(&format!(
                "unable to connect to server - server may have stopped running or use a different port, firewall issue, etc.: {reason}"
            )),
            (CONTROL, ClientStage::Interrupted(_)) => {}
            (CONTROL, _) => self.fail(&state::meaning(state::CONTROL_CLOSED)),
            (_, ClientStage::Opening(..)) => {
                let named = if errno == 0 || what == "connect" { String::new() } else { format!(" ({what})") };
                self.fail(&format!("unable to connect stream{named}: {reason}"));
            }
            _ => {}
        }
    }

    fn tick(&mut self) {
        if let ClientStage::Opening(_, said) = self.stage
            && self.test.params.udp
            && said > 0
        {
            return self.hello();
        }
        let silent_ns = self.at_ns.saturating_sub(self.heard_ns);
        let waits = matches!(self.stage, ClientStage::Agreeing | ClientStage::Opened | ClientStage::Ended);
        if waits && silent_ns > self.command.receive_timeout_ms * 1_000_000 {
            self.fail("the server does not answer any more");
        }
    }
}

/// Who ended it.
pub fn by(signal: i32) -> String {
    let name = match signal {
        1 => "Hangup",
        2 => "Interrupt",
        15 => "Terminated",
        _ => return String::new(),
    };
    format!(" by signal {name}({signal})")
}

impl Conversation for Iperf3Client {
    fn step(&mut self, happening: Happening) -> Vec<Action> {
        (self.at_ns, self.unix_ns) = (happening.at_ns, happening.unix_ns);
        match happening.input {
            Input::Began => self.began(),
            Input::Ready(CONTROL, ends) => {
                self.test.control = ends;
                self.heard_ns = self.at_ns;
                self.connected();
            }
            Input::Ready(connection, ends) => self.stream_opened(connection, ends),
            Input::Failed(connection, errno, what) => self.failed(connection, errno, &what),
            Input::Bytes(CONTROL, bytes) => {
                self.heard_ns = self.at_ns;
                self.inbox.add(&bytes);
                self.read_control();
            }
            Input::Bytes(connection, bytes) => self.answered(connection, &bytes),
            Input::Closed(CONTROL) => self.failed(CONTROL, 0, "closed"),
            Input::Tick => self.tick(),
            Input::Told(RUN, event) => self.run_event(&event),
            Input::Ended(RUN, record) => self.ended(&record),
            Input::Interrupted(signal) => self.interrupted(signal),
            _ => {}
        }
        if matches!(self.stage, ClientStage::Agreeing | ClientStage::Opened | ClientStage::Ended) {
            self.out.push(Action::Wake(self.at_ns + SECOND_NS));
        }
        std::mem::take(&mut self.out)
    }
}
