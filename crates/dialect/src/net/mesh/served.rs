//! The mesh over a netserver on each host: for each flow one host is asked to wait for data, and another to call it.
//!
//! ```text
//!   each round:  called ─► its port ─► caller connects ─► all have ─► go ─► both tell ─► next round
//! ```
//! All flows of a round begin when the last of them stands. What cannot be measured is missing in the matrix and said below
//! it; the others go on.

use iodyno_model::conversation::{Action, Connection, Conversation, Happening, Input};

use super::plan::{MeshMeasure, MeshSettings};
use super::report::Matrix;
use super::rounds::RankPair;
use crate::conversation::connection_of;
use crate::netperf::omni_client::{
    LinkEvent, LinkRole, LinkTest, Measurement, NUMBERS, PeerCounts, ServerAddress, TestLink, greeting,
};

/// The first number of a connection that keeps a host's server there.
const ANCHOR: Connection = 1 << 20;
/// How long such a connection may take, ns.
const CONNECT_NS: u64 = 20_000_000_000;

/// A flow under way.
struct MeshCall {
    flow: RankPair,
    called: TestLink,
    caller: Option<TestLink>,
    /// What both have told.
    heard: [Option<PeerCounts>; 2],
    armed: bool,
    /// Why it cannot be.
    broken: Option<String>,
}

/// A mesh under way.
pub(super) struct ServedMesh {
    wanted: MeshSettings,
    servers: Vec<(String, u16)>,
    word: String,
    matrix: Matrix,
    anchored: usize,
    /// Rounds with what is measured, and the one under way.
    steps: Vec<(MeshMeasure, Vec<RankPair>)>,
    step: usize,
    calls: Vec<MeshCall>,
    gone: bool,
    throughput: Vec<(RankPair, f64)>,
    trips: [Vec<(RankPair, f64)>; 2],
    missing: Vec<String>,
    over: bool,
}

impl ServedMesh {
    /// One that has not begun: hosts and ports of the servers, the word that they know.
    pub(super) fn new(
        wanted: MeshSettings,
        servers: Vec<(String, u16)>,
        word: String,
        matrix: Matrix,
    ) -> ServedMesh {
        let kinds = [(MeshMeasure::RoundTrip, wanted.latency_ns), (MeshMeasure::Throughput, wanted.time_ns)];
        let of = |flows: &Vec<RankPair>| {
            let wanted = kinds.into_iter().filter(|(_, time_ns)| *time_ns > 0);
            wanted.map(|(kind, _)| (kind, flows.clone())).collect::<Vec<_>>()
        };
        let steps = wanted.rounds.iter().flat_map(of).collect();
        ServedMesh {
            wanted,
            servers,
            word,
            matrix,
            anchored: 0,
            steps,
            step: 0,
            calls: Vec::new(),
            gone: false,
            throughput: Vec::new(),
            trips: [Vec::new(), Vec::new()],
            missing: Vec::new(),
            over: false,
        }
    }

    fn server(&self, rank: u32) -> ServerAddress {
        let (host, port) = self.servers.get(rank as usize).cloned().unwrap_or_default();
        let socket_options =
            self.wanted.socket_options.iter().filter(|(name, _)| name == "congestion").cloned().collect();
        ServerAddress { host, port, family: 0, word: Some(self.word.clone()), socket_options }
    }

    /// A connection to each server that stays, so that none ends between two rounds.
    fn anchor(&self) -> Vec<Action> {
        let connect = |(index, _): (usize, &(String, u16))| {
            let server = self.server(index as u32);
            Action::Connect {
                connection: ANCHOR + index as Connection,
                transport: "tcp".into(),
                address: crate::netperf::omni_client::address(&server),
                socket_options: Vec::new(),
                timeout_ns: CONNECT_NS,
            }
        };
        self.servers.iter().enumerate().map(connect).collect()
    }

    /// Begins a round.
    fn begin(&mut self, now_ns: u64) -> Vec<Action> {
        let Some((kind, flows)) = self.steps.get(self.step).cloned() else { return self.end(None) };
        self.gone = false;
        let ask = self.ask(kind);
        let call = |(index, flow): (usize, RankPair)| MeshCall {
            flow,
            called: TestLink::new(
                ask.clone(),
                self.server(flow.to),
                LinkRole::Called,
                (2 * index as Connection + 1) * NUMBERS,
            ),
            caller: None,
            heard: [None, None],
            armed: false,
            broken: None,
        };
        self.calls = flows.into_iter().enumerate().map(call).collect();
        // A connection that says nothing for long is left by its server.
        let anchors = 0..self.servers.len() as Connection;
        let mut actions: Vec<Action> =
            anchors.map(|index| Action::Send(ANCHOR + index, greeting(None))).collect();
        for index in 0..self.calls.len() {
            let said = self.calls[index].called.begin(now_ns);
            actions.extend(self.take(index, 0, said, now_ns));
        }
        actions
    }

    fn ask(&self, kind: MeshMeasure) -> LinkTest {
        let (kind, time_ns) = match kind {
            MeshMeasure::RoundTrip => {
                (Measurement::RoundTrips(self.wanted.message_bytes), self.wanted.latency_ns)
            }
            MeshMeasure::Throughput => (Measurement::Sends(self.wanted.block_bytes), self.wanted.time_ns),
        };
        LinkTest { name: "mesh".into(), kind, time_ns, delay_ns: 0, rate: None, leads: false }
    }

    /// What one end of a flow wants done, and what has become of it: 0 is who is called.
    fn take(
        &mut self,
        index: usize,
        end: usize,
        (mut actions, news): (Vec<Action>, Option<LinkEvent>),
        now_ns: u64,
    ) -> Vec<Action> {
        match news {
            None => return actions,
            Some(LinkEvent::Ready) if end == 0 => actions.extend(self.call(index, now_ns)),
            Some(LinkEvent::Ready) => self.calls[index].armed = true,
            Some(LinkEvent::Heard(heard)) => self.calls[index].heard[end] = Some(*heard),
            Some(LinkEvent::Broken(what, _)) => actions.extend(self.give_up(index, what)),
        }
        actions.extend(self.go_on(now_ns));
        actions
    }

    /// Who is called waits at a port: the other one is told to call there.
    fn call(&mut self, index: usize, now_ns: u64) -> Vec<Action> {
        let flow = self.calls[index].flow;
        let to = self.server(flow.to).host;
        let part = LinkRole::Caller(to, self.calls[index].called.far_port());
        let number = (2 * index as Connection + 2) * NUMBERS;
        let (ask, server) = (self.calls[index].called.ask.clone(), self.server(flow.from));
        let caller = self.calls[index].caller.insert(TestLink::new(ask, server, part, number));
        let said = caller.begin(now_ns);
        self.take(index, 1, said, now_ns)
    }

    fn give_up(&mut self, index: usize, what: String) -> Vec<Action> {
        let call = &mut self.calls[index];
        call.broken.get_or_insert(what);
        let mut actions = call.called.close();
        actions.extend(call.caller.iter_mut().flat_map(TestLink::close));
        actions
    }

    /// Everybody stands: go. Everybody has told: the next round.
    fn go_on(&mut self, now_ns: u64) -> Vec<Action> {
        let ready = |call: &MeshCall| call.armed || call.broken.is_some();
        if !self.gone && self.calls.iter().all(ready) {
            self.gone = true;
            let mut actions = Vec::new();
            for call in self.calls.iter_mut().filter(|call| call.broken.is_none()) {
                actions.extend(call.caller.iter_mut().flat_map(|caller| caller.go(now_ns)));
                actions.extend(call.called.await_call(now_ns).0);
            }
            if self.calls.iter().any(|call| call.broken.is_none()) {
                return actions;
            }
        }
        let told = |call: &MeshCall| call.broken.is_some() || call.heard.iter().all(Option::is_some);
        if !self.gone || !self.calls.iter().all(told) {
            return Vec::new();
        }
        self.keep();
        self.step += 1;
        self.begin(now_ns)
    }

    /// What a round has measured.
    fn keep(&mut self) {
        let kind = self.steps[self.step].0;
        for call in std::mem::take(&mut self.calls) {
            let name = |rank: u32| self.matrix.names.get(rank as usize).map_or("?", String::as_str);
            if let Some(why) = &call.broken {
                let line = format!("{} to {}: {why}", name(call.flow.from), name(call.flow.to));
                if !self.missing.contains(&line) {
                    self.missing.push(line);
                }
                continue;
            }
            let [called, caller] = call.heard.map(Option::unwrap_or_default);
            match kind {
                MeshMeasure::Throughput if called.elapsed_s > 0.0 && called.received_bytes > 0 => {
                    let bits = called.received_bytes as f64 * 8.0;
                    self.throughput.push((call.flow, bits / called.elapsed_s / 1e9));
                }
                MeshMeasure::RoundTrip => {
                    let trips = caller.trips.unwrap_or_default();
                    for (all, ns) in self.trips.iter_mut().zip([trips.p50_ns, trips.p99_ns]) {
                        all.extend((trips.count > 0).then_some((call.flow, ns as f64 / 1e3)));
                    }
                }
                MeshMeasure::Throughput => {}
            }
        }
    }

    fn end(&mut self, signal: Option<i32>) -> Vec<Action> {
        self.over = true;
        let [median, high] = &self.trips;
        let mut text = self.matrix.matrices(&self.throughput, [median, high]);
        self.missing.iter().for_each(|line| text += &format!("not measured: {line}\n"));
        if let Some(signal) = signal {
            text += &format!("\nstopped by signal {signal}: rounds are missing\n");
        }
        let status = signal.map_or(u8::from(!self.missing.is_empty()), |signal| (128 + signal) as u8);
        vec![Action::Print(text), Action::End(status)]
    }

    fn anchor_failed(&mut self, number: Connection, errno: i32, what: &str) -> Vec<Action> {
        let rank = (number - ANCHOR) as usize;
        let (host, port) = self.servers.get(rank).cloned().unwrap_or_default();
        let why = crate::strerror::reason(errno, what);
        self.over = true;
        let text = format!(
            "iodyno net mesh: {host}:{port}: {why}\n hint: it was started there; see whether a firewall is in between, and \
             whether --address names the host as the others know it\n"
        );
        vec![Action::Complain(text), Action::End(1)]
    }

    fn link(&mut self, number: Connection, input: &Input, now_ns: u64) -> Vec<Action> {
        let index = ((number / NUMBERS).saturating_sub(1) / 2) as usize;
        let Some(call) = self.calls.get_mut(index) else { return Vec::new() };
        let end = usize::from(!call.called.has(number));
        let link = if end == 0 { Some(&mut call.called) } else { call.caller.as_mut() };
        let Some(said) = link.filter(|link| link.has(number)).map(|link| link.step(now_ns, input)) else {
            return Vec::new();
        };
        self.take(index, end, said, now_ns)
    }

    fn tick(&mut self, now_ns: u64) -> Vec<Action> {
        let mut actions = Vec::new();
        let step = self.step;
        for index in 0..self.calls.len() {
            for end in 0..2 {
                if self.step != step || self.over {
                    return actions;
                }
                let call = &mut self.calls[index];
                let link = if end == 0 { Some(&mut call.called) } else { call.caller.as_mut() };
                if let Some(said) = link.map(|link| link.step(now_ns, &Input::Tick)) {
                    actions.extend(self.take(index, end, said, now_ns));
                }
            }
        }
        actions
    }
}

impl Conversation for ServedMesh {
    fn step(&mut self, happening: Happening) -> Vec<Action> {
        let now_ns = happening.at_ns;
        let mut actions = match &happening.input {
            _ if self.over => return Vec::new(),
            Input::Began => self.anchor(),
            Input::Interrupted(signal) => return self.end(Some(*signal)),
            Input::Tick => self.tick(now_ns),
            Input::Ready(number, _) if *number >= ANCHOR => {
                self.anchored += 1;
                let mut actions = vec![Action::Send(*number, greeting(Some(&self.word)))];
                if self.anchored == self.servers.len() {
                    actions.extend(self.begin(now_ns));
                }
                actions
            }
            Input::Failed(number, errno, what) if *number >= ANCHOR => {
                self.anchor_failed(*number, *errno, what)
            }
            Input::Closed(number) if *number >= ANCHOR => self.anchor_failed(*number, 0, "it has ended"),
            input => match connection_of(input) {
                Some(number) if number < ANCHOR => self.link(number, input, now_ns),
                _ => return Vec::new(),
            },
        };
        let links = self.calls.iter().flat_map(|call| std::iter::once(&call.called).chain(&call.caller));
        let due_ns = links.map(TestLink::due_ns).min().unwrap_or(u64::MAX);
        if due_ns < u64::MAX && !self.over {
            actions.push(Action::Wake(due_ns));
        }
        actions
    }
}
