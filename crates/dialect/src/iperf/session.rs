//! A test with iperf 2's peers as a state machine: what happened in, what is to be done out.
//!
//! One machine plays both roles, because a client of `-d` or `-r` is a server too. Who opens is in `handshake`, who is
//! opened in `incoming`, who falls silent in `silence`, what is printed in `report`. A peer that says nothing is given up
//! after a while; one that asks for much gets no more than a day and one of 1024 places.

use std::collections::HashMap;

use iodyno_model::conversation::{Action, Connection, Conversation, Happening, Input, RunNumber};
use iodyno_model::{Event, Record};

use super::command::Command;
use super::flow::{StreamCounts, StreamState, TestStream};
use super::handshake::BACK_AGAIN_NS;
use super::header::{self, Amount};
use super::quota::{Quota, Range};
use super::report::text::{RULE, ReportFormat};

/// Where peers are awaited.
pub(super) const PLACE: Connection = 1 << 20;
/// How often streams that wait are checked, ns.
const TICK_NS: u64 = 250_000_000;
/// The time limit for a peer's first bytes and for its last ones, ns.
pub(super) const PATIENCE_NS: u64 = 10_000_000_000;
/// How long a peer may take to read what is under way, ns: a server waits less, because others wait for it.
const DRAIN_NS: (u64, u64) = (10_000_000_000, 60_000_000_000);
/// How long a repeated end is still answered, ns.
const LINGER_NS: u64 = 1_500_000_000;
/// The same of a client, whose user waits: a server that got no answer sends its end again after a quarter of a second.
const CLIENT_LINGER_NS: u64 = 200_000_000;
/// How often the last datagram is sent.
const MOST_FINALS: u32 = 10;

/// A test, or a server.
#[derive(Default)]
pub struct IperfConversation {
    pub(super) command: Command,
    pub(super) view: ReportFormat,
    /// What is sent, where the user named a file.
    pub(super) content: Option<Vec<u8>>,
    pub(super) flows: Vec<TestStream>,
    pub(super) next_id: u32,
    pub(super) next_run: RunNumber,
    pub(super) next_connection: Connection,
    /// Streams of datagrams by their sender's address.
    pub(super) senders: HashMap<String, Connection>,
    /// Headings that were printed since the last connection was.
    pub(super) headings: Vec<&'static str>,
    /// Rows of streams of one group and number: how many, and their sum.
    pub(super) sums: HashMap<(String, u64), (usize, StreamCounts)>,
    /// Of a server: what it does for whom.
    pub(super) quota: Quota,
    pub(super) failed: bool,
    /// Streams that the server still owes us.
    pub(super) owed: usize,
    /// When those that wait are looked after next, ns.
    wake_ns: Option<u64>,
    /// When the total of the last stream was printed, ns.
    pub(super) idle_since_ns: u64,
    pub(super) ending: bool,
    pub(super) now_ns: u64,
    pub(super) unix_ns: u64,
    pub(super) out: Vec<Action>,
}

impl IperfConversation {
    /// What the command line wants; `content` is what is sent instead of digits.
    pub fn new(command: Command, east_s: i64, content: Option<Vec<u8>>) -> Self {
        let view = ReportFormat {
            format: command.format,
            csv: command.csv,
            enhanced: command.enhanced,
            udp: command.udp,
            east_s,
        };
        IperfConversation {
            command,
            view,
            content,
            next_id: 1,
            next_connection: 1,
            ..IperfConversation::default()
        }
    }

    /// A server that lets some addresses have what they ask for.
    pub fn knowing(self, known: Vec<Range>) -> Self {
        IperfConversation { quota: Quota::new(known), ..self }
    }

    pub(super) fn is_server(&self) -> bool {
        self.command.host.is_none()
    }

    /// Streams that are not at their end.
    pub(super) fn open_flows(&self) -> usize {
        self.flows.iter().filter(|flow| flow.state != StreamState::Done).count()
    }

    pub(super) fn position(&self, connection: Connection) -> Option<usize> {
        // A number is used once, so the first is the only one.
        self.flows.iter().position(|flow| flow.connection == connection)
    }

    pub(super) fn of_run(&self, run: RunNumber) -> Vec<usize> {
        let is = |flow: &TestStream| flow.run.is_some_and(|(of, _)| of == run);
        (0..self.flows.len()).filter(|index| is(&self.flows[*index])).collect()
    }

    pub(super) fn act(&mut self, action: Action) {
        self.out.push(action);
    }

    pub(super) fn complain(&mut self, text: impl Into<String>) {
        self.act(Action::Complain(text.into() + "\n"));
    }

    fn handle(&mut self, input: Input) {
        match input {
            Input::Began => self.begin(),
            Input::Ready(PLACE, ends) => self.listening(&ends),
            Input::Ready(connection, ends) => self.connected(connection, ends),
            Input::Failed(connection, errno, words) => self.fail(connection, errno, &words),
            Input::Accepted { connection, ends, .. } => self.accept(connection, ends),
            Input::Bytes(connection, bytes) => self.read(connection, &bytes),
            Input::Datagram { from, bytes, .. } => self.datagram(&from, &bytes),
            Input::Closed(connection) => self.closed(connection),
            Input::Tick => {
                self.wake_ns = None;
                self.look_after();
            }
            Input::Told(run, event) => self.run_event(run, &event),
            Input::Ended(run, record) => self.ended(run, &record),
            Input::Interrupted(_) => self.interrupted(),
            Input::Slow(..) => {}
        }
    }

    fn run_event(&mut self, run: RunNumber, event: &Event) {
        match event {
            Event::PhaseStarted { .. } => {
                for index in self.of_run(run) {
                    let flow = &mut self.flows[index];
                    flow.started_ns = self.now_ns;
                    // What a peer sends was under way before the start line; what we send begins there.
                    let before_ns = self.now_ns.saturating_sub(flow.begun_ns);
                    flow.offset_ns = if flow.sends { 0 } else { before_ns };
                }
            }
            Event::Interim(found) => {
                for index in self.of_run(run) {
                    let flow = &mut self.flows[index];
                    let before = (flow.now.bytes, flow.now.datagrams);
                    flow.update(found);
                    if (flow.now.bytes, flow.now.datagrams) != before {
                        flow.since_ns = self.now_ns;
                    }
                    // Of a running worker there is no end yet.
                    flow.lasted_ns = flow.offset_ns + found.elapsed_ns;
                    if self.command.interval_ns > 0 {
                        self.interval(index);
                    }
                }
            }
            _ => {}
        }
    }

    fn ended(&mut self, run: RunNumber, record: &Record) {
        for error in &record.errors {
            self.complain(format!("iperf: {}", error.message));
            self.failed = true;
        }
        let ended = self.of_run(run);
        for index in &ended {
            if let Some(found) = record.phases.last() {
                self.flows[*index].update(found);
            }
        }
        let (paused, ended): (Vec<usize>, _) =
            ended.into_iter().partition(|index| self.flows[*index].pauses && !self.ending);
        paused.into_iter().for_each(|index| self.paused(index));
        // All of them still count as running, so that the last interval has its sum.
        ended.iter().for_each(|index| self.last_interval(*index));
        ended.into_iter().for_each(|index| self.run_over(index));
        self.settle();
    }

    /// A stream's run is over: what its protocol sends at the end.
    fn run_over(&mut self, index: usize) {
        let now_ns = self.now_ns;
        let (udp, no_final) = (self.command.udp, self.command.no_final);
        let flow = &mut self.flows[index];
        flow.run = None;
        flow.enter(StreamState::Closing, now_ns);
        let connection = flow.connection;
        if flow.is_duplex() {
            // Both directions have ended by themselves.
            flow.enter(StreamState::Done, now_ns);
            self.total(index);
            return self.act(Action::Close(connection));
        }
        match (udp, flow.sends) {
            (false, true) => self.act(Action::Shut(connection)),
            (false, false) => self.act(Action::Close(connection)),
            (true, true) => self.send_final(index),
            (true, false) => self.answer_final(index),
        }
        // What was sent over a stream, and the time that it took, is printed once the peer has read it.
        if udp || !self.flows[index].sends {
            self.total(index);
        }
        let flow = &mut self.flows[index];
        // Nobody waits for a word of a client that datagrams were sent to at its wish.
        let at_its_wish = !flow.sends && self.command.reverse;
        let silent =
            udp && (at_its_wish || flow.sends && (no_final || flow.test.is_some_and(|test| test.reverse)));
        if silent {
            self.act(Action::Close(connection));
        }
        let flow = &mut self.flows[index];
        if silent || !udp && !flow.sends {
            flow.enter(StreamState::Done, now_ns);
        }
        self.give_back(index);
    }

    /// The last datagram of a sender: the next number, negated.
    fn send_final(&mut self, index: usize) {
        let flow = &mut self.flows[index];
        flow.finals += 1;
        let number = -(flow.now.datagrams as i64) - 1;
        let connection = flow.connection;
        let mut bytes = self.first_datagram(index, number);
        bytes.resize((self.block_of(index) as usize).max(bytes.len()).min(65_507), b'0');
        self.act(Action::Send(connection, bytes));
    }

    /// Sends the report of a receiver of datagrams.
    pub(super) fn answer_final(&mut self, index: usize) {
        let flow = &self.flows[index];
        if flow.sends || self.command.reverse {
            return;
        }
        let counts = &flow.now;
        let report = header::Report {
            bytes: counts.bytes,
            time_ns: flow.lasted_ns,
            lost: counts.lost(),
            late: counts.late,
            datagrams: counts.highest,
            jitter_ns: counts.jitter_ns,
            one_way: counts.one_way,
            overflow: counts.overflow,
        };
        let connection = flow.connection;
        self.act(Action::Send(connection, header::report(&report)));
    }

    fn closed(&mut self, connection: Connection) {
        let Some(index) = self.position(connection) else {
            return self.act(Action::Close(connection));
        };
        match self.flows[index].state {
            StreamState::Closing => {
                let flow = &mut self.flows[index];
                if flow.sends && !flow.totalled {
                    flow.lasted_ns = flow.lasted_ns.max(self.now_ns.saturating_sub(flow.started_ns));
                }
                self.leave(index);
                self.settle();
            }
            StreamState::Header if !self.flows[index].head.is_empty() => self.begin_receiving(index),
            StreamState::Paused => self.finish(index),
            StreamState::Header | StreamState::Standing => self.forget(index),
            _ => {}
        }
    }

    /// A stream's peer has read everything, or is not waited for any longer.
    pub(super) fn leave(&mut self, index: usize) {
        if !self.flows[index].totalled {
            self.total(index);
        }
        self.act(Action::Close(self.flows[index].connection));
        self.flows[index].enter(StreamState::Done, self.now_ns);
    }

    /// A stream's peer does not close: how long it took to read is not known.
    fn give_up_draining(&mut self, index: usize, waited_ns: u64) {
        let (server, client) = DRAIN_NS;
        if waited_ns <= if self.is_server() { server } else { client } {
            return;
        }
        if !self.flows[index].totalled {
            let id = self.flows[index].label();
            self.complain(format!(
                "[{id:>3}] WARNING: the peer did not close: the time is that until all was handed over"
            ));
        }
        self.leave(index);
    }

    /// A stream that never was one.
    pub(super) fn forget(&mut self, index: usize) {
        let flow = self.flows.remove(index);
        self.senders.retain(|_, connection| *connection != flow.connection);
        self.act(Action::Close(flow.connection));
        self.settle();
    }

    fn look_after(&mut self) {
        let mut index = 0;
        while index < self.flows.len() {
            let flow = &self.flows[index];
            let waited_ns = self.now_ns.saturating_sub(flow.since_ns);
            let count = self.flows.len();
            match flow.state {
                StreamState::Opening(_) => self.open_again(index),
                StreamState::Header if flow.due_ns.is_some() => self.return_first(index),
                StreamState::Header if waited_ns > PATIENCE_NS => self.forget(index),
                StreamState::Closing if self.command.udp => self.last_word(index, waited_ns),
                StreamState::Closing => self.give_up_draining(index, waited_ns),
                StreamState::Running => self.watch(index),
                StreamState::Paused => self.pass_time(index),
                _ => {}
            }
            index += usize::from(self.flows.len() == count);
        }
        self.settle();
    }

    /// Sends the last datagram again until the receiver answers; a receiver listens on for a while.
    fn last_word(&mut self, index: usize, waited_ns: u64) {
        let flow = &self.flows[index];
        let connection = flow.connection;
        let over = if flow.sends {
            if flow.finals < MOST_FINALS {
                self.send_final(index);
                false
            } else {
                let id = self.flows[index].label();
                let tries = MOST_FINALS;
                self.complain(format!(
                    "[{id:>3}] WARNING: did not receive ack of last datagram after {tries} tries."
                ));
                true
            }
        } else {
            waited_ns > if self.is_server() { LINGER_NS } else { CLIENT_LINGER_NS }
        };
        if over {
            self.act(Action::Close(connection));
            self.flows[index].enter(StreamState::Done, self.now_ns);
        }
    }

    fn interrupted(&mut self) {
        self.ending = true;
        self.owed = 0;
        let paused = |index: &usize| self.flows[*index].state == StreamState::Paused;
        let silent: Vec<usize> = (0..self.flows.len()).filter(paused).collect();
        silent.into_iter().for_each(|index| self.report_paused(index));
        let runs: Vec<RunNumber> =
            self.flows.iter().filter_map(|flow| flow.run.map(|(run, _)| run)).collect();
        if runs.is_empty() {
            let draining = |index: &usize| self.flows[*index].state == StreamState::Closing;
            let left: Vec<usize> = (0..self.flows.len()).filter(draining).collect();
            left.into_iter().for_each(|index| self.leave(index));
            return self.act(Action::End(u8::from(self.failed)));
        }
        runs.into_iter().for_each(|run| self.act(Action::Stop(run)));
    }

    /// Ends where nothing more is to come; forgets what a server no longer needs.
    pub(super) fn settle(&mut self) {
        let done = self.flows.iter().all(|flow| flow.state == StreamState::Done);
        if self.is_server() {
            // Those that still run need the others' figures for their sum.
            let open = |flow: &&TestStream| flow.state != StreamState::Done;
            let tests = self.flows.iter().filter(open).map(|flow| flow.test_group().to_string());
            let tests: Vec<String> = tests.collect();
            let is_kept = |flow: &TestStream| tests.iter().any(|test| test == flow.test_group());
            self.flows.retain(|flow| flow.state != StreamState::Done || is_kept(flow));
            let known: Vec<Connection> = self.flows.iter().map(|flow| flow.connection).collect();
            self.senders.retain(|_, connection| known.contains(connection));
            let served = self.next_id > 1;
            if self.ending && done || self.command.single && served && self.flows.is_empty() {
                self.act(Action::End(u8::from(self.failed)));
            }
        } else if done && (self.owed == 0 || self.failed) && !self.flows.is_empty() {
            self.print_connect_times();
            self.act(Action::End(u8::from(self.failed)));
        }
    }

    /// Whether somebody is to be looked after.
    fn waits(&self) -> bool {
        let timed = self.is_server() && self.command.amount.is_some() || self.owed > 0;
        timed
            || self.flows.iter().any(|flow| !matches!(flow.state, StreamState::Done | StreamState::Standing))
    }

    /// A server's time is up, or what a server owes us does not come.
    fn time_up(&mut self) {
        let idle_ns = self.now_ns.saturating_sub(self.idle_since_ns);
        match self.command.amount {
            Some(Amount::Time(ns)) if self.is_server() && self.now_ns >= ns && !self.ending => {
                self.interrupted();
            }
            _ => {}
        }
        let quiet = self.flows.iter().all(|flow| flow.state == StreamState::Done);
        if !self.is_server() && self.owed > 0 && quiet && idle_ns > PATIENCE_NS {
            self.complain("iperf: the server did not connect back");
            self.failed = true;
            self.settle();
        }
    }

    pub(super) fn rule(&mut self, text: &str) {
        if !self.view.csv && !self.command.excluded.contains('S') {
            self.act(Action::Print(format!("{RULE}{text}{RULE}")));
        }
    }
}

impl Conversation for IperfConversation {
    fn step(&mut self, happening: Happening) -> Vec<Action> {
        (self.now_ns, self.unix_ns) = (happening.at_ns, happening.unix_ns);
        self.handle(happening.input);
        self.time_up();
        let at_ns = self.now_ns + if self.tries_back() { BACK_AGAIN_NS } else { TICK_NS };
        let held = self.flows.iter().filter(|flow| flow.state == StreamState::Header);
        let at_ns = held.filter_map(|flow| flow.due_ns).min().unwrap_or(u64::MAX).min(at_ns);
        if self.waits() && self.wake_ns.is_none_or(|wake_ns| at_ns < wake_ns) {
            self.wake_ns = Some(at_ns);
            self.act(Action::Wake(at_ns));
        }
        std::mem::take(&mut self.out)
    }
}
