//! One client's test, as the server has it: from the parameters to the last word.
//!
//! It speaks to its own client and its own streams only; who may come in at all is the server's business.

use iodyno_model::conversation::{Action, Connection, Ends, RunNumber};
use iodyno_model::{Event, Record};
use serde_json::Value;

use super::json::CJSON;
use super::lower;
use super::meter::Interval;
use super::report::Report;
use super::report::document;
use super::report::text;
use super::results::TestResults;
use super::settings::Params;
use super::state::{self, Inbox};
use super::test::{TestRun, TestStream, id};
use crate::address::host_and_port;
use crate::json_tree::JsonTree;

const SECOND_NS: u64 = 1_000_000_000;
/// How long a client may take for its next message.
const PATIENCE_NS: u64 = 30 * SECOND_NS;
/// After how long without a word, or without all its streams, its place may go to somebody else.
const SILENT_NS: u64 = 2 * SECOND_NS;
const OPENING_NS: u64 = 10 * SECOND_NS;
/// How much longer than agreed a test may take.
const GRACE_NS: u64 = 40 * SECOND_NS;
/// When nothing more comes of an amount after the client has ended the test.
const STALL_NS: u64 = 200_000_000;
/// The longest report that is sent to a client.
const OUTPUT_MOST: usize = 4 << 20;

/// When and what time it is: ns since the beginning, and since 1970.
type At = (u64, u64);

/// How far a test has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// The client sends its parameters.
    Agreeing,
    /// It waits until it may open its streams.
    Queued,
    Opening,
    /// Data flows, or is about to.
    Running,
    /// The client has ended the test; data under way may still come.
    Ending,
    /// The run is to end.
    Stopping,
    /// The client sends its results.
    Comparing,
    /// The client may go.
    Parting,
    Over,
}

/// What a server demands of its clients.
#[derive(Clone, Copy, Debug, Default)]
pub struct Rules {
    /// Bits per second, over so many seconds.
    pub rate_limit: Option<(u64, u64)>,
    pub most_time_s: Option<u64>,
    /// How long nothing may come, ns.
    pub receive_timeout_ns: u64,
    /// The processor to run on.
    pub cpu: Option<u32>,
    /// How long unacknowledged data may wait, ms; 0: as the system does.
    pub user_timeout_ms: u64,
    /// Whether every message is printed (`-d`).
    pub debug: bool,
}

/// A client's test.
pub struct Session {
    /// The cookie, which names the test.
    pub cookie: Vec<u8>,
    pub stage: Stage,
    /// What was agreed and counted.
    pub test: TestRun,
    /// What came and was not yet understood.
    pub inbox: Inbox,
    pub run: Option<RunNumber>,
    control: Connection,
    rules: Rules,
    report: Report,
    /// UDP streams whose answer is under way: to whom, on which connection.
    asked: Vec<(String, Connection)>,
    /// The part of the report that is sent to the client.
    output: String,
    since_ns: u64,
    /// When the run passed its start line, and when the client said that it was over, ns.
    bounds_ns: (u64, Option<u64>),
    has_ended: bool,
    failed: bool,
    /// What had come when something last did, and when that was.
    progress: (u64, u64),
    /// Bytes by time, for the average rate: ns, bytes.
    window: std::collections::VecDeque<(u64, u64)>,
}

impl Session {
    /// A client that has sent its cookie.
    pub fn new(
        control: Connection,
        cookie: Vec<u8>,
        ends: Ends,
        rules: Rules,
        report: Report,
        at: At,
    ) -> Self {
        let name = cookie.split(|byte| *byte == 0).next().unwrap_or_default();
        let test = TestRun {
            server: true,
            cookie: String::from_utf8_lossy(name).into_owned(),
            control: ends,
            began_unix_ns: at.1,
            ..TestRun::default()
        };
        Session {
            cookie,
            stage: Stage::Agreeing,
            test,
            inbox: Inbox::default(),
            run: None,
            control,
            rules,
            report,
            asked: Vec::new(),
            output: String::new(),
            since_ns: at.0,
            bounds_ns: (at.0, None),
            has_ended: false,
            failed: false,
            progress: (0, at.0),
            window: std::collections::VecDeque::new(),
        }
    }

    /// The client's host.
    pub fn host(&self) -> String {
        host_and_port(&self.test.control.peer).0
    }

    /// Whether nothing more is to be done.
    pub fn is_over(&self) -> bool {
        self.stage == Stage::Over
    }

    /// Since when it keeps its place without a test, ns; none: it has one, or has only just come.
    pub fn idle_since(&self, now_ns: u64) -> Option<u64> {
        let patience_ns = match self.stage {
            Stage::Agreeing => SILENT_NS,
            Stage::Queued | Stage::Opening => OPENING_NS,
            _ => return None,
        };
        (now_ns.saturating_sub(self.since_ns) >= patience_ns).then_some(self.since_ns)
    }

    /// Whether it ended other than it should.
    pub fn has_failed(&self) -> bool {
        self.failed
    }

    /// Whether it was a test, not only an attempt.
    pub fn counts(&self) -> bool {
        self.run.is_some()
    }

    /// Whether it has all its streams.
    pub fn is_full(&self) -> bool {
        self.test.streams.len() as u32 >= self.test.params.streams()
    }

    /// Whether a connection is one of its streams, or will be.
    pub fn has(&self, connection: Connection) -> bool {
        self.has_asked(connection) || self.test.streams.iter().any(|stream| stream.connection == connection)
    }

    /// Whether a connection answers one of its hellos.
    pub fn has_asked(&self, connection: Connection) -> bool {
        self.asked.iter().any(|(_, asked)| *asked == connection)
    }

    /// Whether a hello may be for it.
    pub fn expects_hello(&self) -> bool {
        let under_way = (self.test.streams.len() + self.asked.len()) as u32;
        self.stage == Stage::Opening && self.test.params.udp && under_way < self.test.params.streams()
    }

    /// To whom it has answered, and on which connection.
    pub fn answers(&self) -> Vec<(String, Connection)> {
        let stands = self.test.streams.iter().map(|stream| (stream.ends.peer.clone(), stream.connection));
        let opening = matches!(self.stage, Stage::Opening);
        stands.filter(|_| opening && self.test.params.udp).collect()
    }

    /// Answers a hello on a connection.
    pub fn answer(&mut self, connection: Connection, to: &str) {
        self.asked.push((to.into(), connection));
    }

    /// What is wished of the next stream's socket.
    pub fn socket_options(&self) -> Vec<(String, String)> {
        let mut socket_options = lower::socket_options(&self.test.params);
        socket_options.extend(lower::room(&self.test.params, self.sends(self.test.streams.len() as u32)));
        if self.rules.user_timeout_ms > 0 && self.test.params.is_tcp() {
            socket_options.push(("user_timeout_ms".into(), self.rules.user_timeout_ms.to_string()));
        }
        socket_options
    }

    fn sends(&self, made: u32) -> bool {
        !self.test.params.client_sends(made)
    }

    fn print(&mut self, text: &str, at: At, out: &mut Vec<Action>) {
        if self.test.params.get_server_output && self.output.len() + text.len() <= OUTPUT_MOST {
            self.output.push_str(text);
        }
        out.extend(self.report.output.text(text, at.1));
    }

    /// Sends the client a state.
    pub fn send_state(&mut self, state: u8, at: At, out: &mut Vec<Action>) {
        if self.rules.debug {
            let text = format!("State change: State set to {state}-{}\n", state::name(state));
            out.extend(self.report.output.text(&text, at.1));
        }
        out.push(Action::Send(self.control, vec![state]));
    }

    /// What the client wants is granted.
    pub fn agree(&mut self, params: Params, said: &Value, at: At, out: &mut Vec<Action>) {
        if self.rules.debug {
            out.extend(
                self.report
                    .output
                    .text(&format!("get_parameters:\n{}\n", JsonTree::from(said).print(&CJSON)), at.1),
            );
        }
        self.test.params = params;
        // Its title is for its own lines.
        self.stage = Stage::Queued;
        self.since_ns = at.0;
        let text = text::connecting(&self.test, self.report.style);
        self.print(&text, at, out);
    }

    /// It may open its streams.
    pub fn open(&mut self, at: At, out: &mut Vec<Action>) {
        self.stage = Stage::Opening;
        self.since_ns = at.0;
        self.send_state(state::CREATE_STREAMS, at, out);
    }

    /// A stream stands.
    pub fn add(&mut self, connection: Connection, ends: Ends, at: At) {
        self.asked.retain(|(_, asked)| *asked != connection);
        let made = self.test.streams.len() as u32;
        self.test.streams.push(TestStream {
            connection,
            id: id(made),
            index: made % self.test.params.parallel.max(1),
            sends: self.sends(made),
            ends,
        });
        self.since_ns = at.0;
    }

    /// All streams stand: starts the run; the client gets TEST_START once it has begun.
    pub fn start(&mut self, run: RunNumber, seed: u64, at: At, out: &mut Vec<Action>) {
        let mut lines: String = self.test.streams.iter().map(text::connected).collect();
        if self.report.style.verbose {
            lines.push_str(&text::starting(&self.test));
        }
        self.print(&lines, at, out);
        self.stage = Stage::Running;
        self.run = Some(run);
        self.since_ns = at.0;
        self.progress = (0, at.0);
        self.test.begin();
        out.extend(self.report.start(&self.test));
        let cpu = self.test.params.affinity.or(self.rules.cpu);
        let file = self.test.file.as_ref().map(|(name, _)| name.as_str());
        let own = lower::LocalSettings { server: true, cpu, file, seed };
        let plan = lower::plan(&self.test.params, &self.test.streams, &own);
        out.push(Action::Run { run, plan: Box::new(plan), interim_ns: self.interim_ns() });
    }

    /// At least each second: somebody has to look whether anything still comes.
    fn interim_ns(&self) -> u64 {
        let interval_ns = self.test.interim_ns();
        let parts = interval_ns.div_ceil(SECOND_NS);
        interval_ns / parts.max(1)
    }

    /// What the control connection has brought, as far as it can be understood.
    pub fn read_control(&mut self, at: At, out: &mut Vec<Action>) {
        loop {
            match self.stage {
                Stage::Agreeing | Stage::Over => return,
                Stage::Comparing => match self.inbox.json(state::CLIENT_RESULTS_MOST) {
                    Ok(Some(value)) => self.compared(&value, at, out),
                    Ok(None) => return,
                    Err(why) => return self.fail(&format!("unable to receive results: {why}"), out),
                },
                _ => match self.inbox.state() {
                    Some(state) => self.state(state, at, out),
                    None => return,
                },
            }
        }
    }

    fn state(&mut self, state: u8, at: At, out: &mut Vec<Action>) {
        if self.rules.debug {
            let text = format!(
                "State change: server received and changed State to {state}-{}\n",
                state::name(state)
            );
            out.extend(self.report.output.text(&text, at.1));
        }
        match (state, self.stage) {
            (state::TEST_END, Stage::Running) => {
                self.since_ns = at.0;
                self.bounds_ns.1 = Some(at.0);
                self.progress.1 = at.0;
                self.stage = Stage::Ending;
                if self.has_ended {
                    return self.compare(at, out);
                }
                self.stop_if_all(at, out);
            }
            (state::CLIENT_TERMINATE, _) => self.fail("the client has terminated", out),
            (state::IPERF_DONE, Stage::Parting) => self.part(out),
            (state::TEST_START | state::TEST_RUNNING | state::IPERF_DONE, _) => {}
            _ => self.fail(&format!("received an unknown control message (state {state})"), out),
        }
    }

    /// Ends the run once everything has come that was to come.
    fn stop_if_all(&mut self, at: At, out: &mut Vec<Action>) {
        let whole =
            self.test.params.whole_bytes().filter(|_| self.test.streams.iter().any(|stream| !stream.sends));
        let waits = whole.is_some_and(|whole| self.test.moved(false) < whole);
        if waits && at.0.saturating_sub(self.progress.1) < STALL_NS {
            return;
        }
        self.stage = Stage::Stopping;
        out.extend(self.run.map(Action::Stop));
    }

    pub fn run_event(&mut self, event: &Event, at: At, out: &mut Vec<Action>) {
        match event {
            Event::PhaseStarted { .. } => {
                self.bounds_ns.0 = at.0;
                self.send_state(state::TEST_START, at, out);
                self.send_state(state::TEST_RUNNING, at, out);
            }
            Event::Interim(phase) if matches!(self.stage, Stage::Running | Stage::Ending) => {
                let ended = self.test.interim(phase);
                self.intervals(&ended, at, out);
                let moved = self.test.moved(false) + self.test.moved(true);
                if moved > self.progress.0 {
                    self.progress = (moved, at.0);
                }
                if self.stage == Stage::Ending {
                    return self.stop_if_all(at, out);
                }
                self.police(moved, at, out);
            }
            _ => {}
        }
    }

    /// Looks whether it still keeps within what is allowed.
    fn police(&mut self, moved: u64, at: At, out: &mut Vec<Action>) {
        let receives = self.test.streams.iter().any(|stream| !stream.sends);
        if receives && at.0.saturating_sub(self.progress.1) > self.rules.receive_timeout_ns {
            return self.refuse(state::NO_DATA, 0, out);
        }
        let Some((limit, seconds)) = self.rules.rate_limit else { return };
        self.window.push_back((at.0, moved));
        while self.window.front().is_some_and(|(then, _)| at.0.saturating_sub(*then) > seconds * SECOND_NS) {
            self.window.pop_front();
        }
        let Some((then, bytes)) = self.window.front().copied() else { return };
        let length_ns = at.0.saturating_sub(then);
        let rate = moved.saturating_sub(bytes) as f64 * 8.0 / (length_ns as f64 / 1e9);
        if length_ns * 2 >= seconds * SECOND_NS && rate > limit as f64 {
            self.refuse(state::TOTAL_RATE, 0, out);
        }
    }

    fn intervals(&mut self, intervals: &[Interval], at: At, out: &mut Vec<Action>) {
        for interval in intervals {
            let (text, event) = self.report.interval(&self.test, interval);
            self.print(&text, at, out);
            out.extend(event);
        }
    }

    /// The run has ended.
    pub fn ended(&mut self, record: &Record, at: At, out: &mut Vec<Action>) {
        self.has_ended = true;
        if self.stage == Stage::Over {
            return;
        }
        // Of an amount the last that came counts, not what was waited for in vain after it.
        let last_ns = if self.test.awaits_amount() { Some(self.progress.1) } else { self.bounds_ns.1 };
        let cut_ns = self.bounds_ns.1.and(last_ns).map(|ns| ns.saturating_sub(self.bounds_ns.0));
        let ended = self.test.end(record, cut_ns);
        match ended.and_then(|ended| self.test.obstacle().map_or(Ok(ended), Err)) {
            Ok(ended) => self.intervals(&ended, at, out),
            Err(why) => {
                out.push(Action::Send(self.control, state::server_error(state::RUN, 0)));
                return self.fail(&why, out);
            }
        }
        // One that ended by itself waits for the client to say so.
        if matches!(self.stage, Stage::Ending | Stage::Stopping) {
            self.compare(at, out);
        }
    }

    fn compare(&mut self, at: At, out: &mut Vec<Action>) {
        let text = text::summary(&self.test, self.report.style);
        self.print(&text, at, out);
        // As the original's: of what the client counted nothing is known yet.
        self.report.document.end = Some(document::end(&self.test));
        self.close_streams(out);
        self.stage = Stage::Comparing;
        self.since_ns = at.0;
        self.send_state(state::EXCHANGE_RESULTS, at, out);
        self.read_control(at, out);
    }

    fn compared(&mut self, value: &Value, at: At, out: &mut Vec<Action>) {
        match TestResults::of(value) {
            Ok(results) => self.test.peer = Some(results),
            Err(why) => return self.fail(&format!("unable to receive results: {why}"), out),
        }
        let mut results = self.test.results();
        if self.test.params.get_server_output {
            results.server_output = Some(match self.report.output.json {
                true => serde_json::from_str(&self.report.document.json().line(&CJSON)).unwrap_or_default(),
                false => Value::String(std::mem::take(&mut self.output)),
            });
        }
        out.push(Action::Send(self.control, state::message(&results.json().line(&CJSON))));
        self.stage = Stage::Parting;
        self.since_ns = at.0;
        self.send_state(state::DISPLAY_RESULTS, at, out);
        if let Some(end) = &self.report.document.end {
            out.extend(self.report.output.event("end", end));
        }
        self.report.document.name(&self.test.params);
        out.extend(self.report.print());
        self.read_control(at, out);
    }

    fn close_streams(&self, out: &mut Vec<Action>) {
        out.extend(self.test.streams.iter().map(|stream| Action::Close(stream.connection)));
        out.extend(self.asked.iter().map(|(_, connection)| Action::Close(*connection)));
    }

    fn part(&mut self, out: &mut Vec<Action>) {
        self.stage = Stage::Over;
        out.push(Action::Close(self.control));
    }

    /// Everything of it is closed.
    pub fn close(&mut self, out: &mut Vec<Action>) {
        if !self.has_ended {
            out.extend(self.run.map(Action::Stop));
        }
        self.close_streams(out);
        self.part(out);
    }

    /// Sends the client an error's number and ends the test.
    pub fn refuse(&mut self, error: i32, errno: i32, out: &mut Vec<Action>) {
        out.push(Action::Send(self.control, state::server_error(error, errno)));
        self.fail(&state::meaning(error), out);
    }

    fn fail(&mut self, text: &str, out: &mut Vec<Action>) {
        if self.stage == Stage::Over {
            return;
        }
        self.failed = true;
        out.extend(self.report.error(text, text, &format!("error - {text}")));
        self.close(out);
    }

    /// The control connection is gone.
    pub fn control_closed(&mut self, out: &mut Vec<Action>) {
        match self.stage {
            Stage::Parting => self.part(out),
            _ => self.fail(&state::meaning(state::CONTROL_CLOSED), out),
        }
    }

    /// A stream broke, or does not take an option.
    pub fn stream_failed(&mut self, errno: i32, what: &str, out: &mut Vec<Action>) {
        if !matches!(self.stage, Stage::Opening) {
            return;
        }
        let error = match what {
            "congestion" => state::CONGESTION,
            "mss" => state::MSS,
            "tos" => state::TOS,
            _ => state::STREAM,
        };
        self.refuse(error, errno, out);
    }

    /// Time has passed.
    pub fn tick(&mut self, at: At, out: &mut Vec<Action>) {
        let waited_ns = at.0.saturating_sub(self.since_ns);
        let params = &self.test.params;
        match self.stage {
            Stage::Over => {}
            Stage::Running => {
                let agreed_ns = (params.time_s + params.omit_s) * SECOND_NS + GRACE_NS;
                let most_ns = self.rules.most_time_s.map(|seconds| seconds * SECOND_NS + GRACE_NS);
                let timed = (params.time_s > 0 && !params.is_counted()).then_some(agreed_ns);
                if timed.into_iter().chain(most_ns).min().is_some_and(|most| waited_ns > most) {
                    self.refuse(state::EXPIRED, 0, out);
                }
            }
            Stage::Parting if waited_ns > PATIENCE_NS => self.part(out),
            _ if waited_ns > PATIENCE_NS => self.fail("the client says nothing any more", out),
            _ => {}
        }
    }
}
