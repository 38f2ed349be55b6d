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
    /// What both have reported.
    heard: [Option<PeerCounts>; 2],
    armed: bool,
    /// Why it cannot be.
    broken: Option<String>,
}

impl MeshCall {
    fn links(&mut self) -> impl Iterator<Item = &mut TestLink> {
        std::iter::once(&mut self.called).chain(&mut self.caller)
    }

    fn take_actions(&mut self, out: &mut Vec<Action>) {
        self.links().for_each(|link| out.append(&mut link.out));
    }
}

/// A mesh under way.
pub(super) struct ServedMesh {
    settings: MeshSettings,
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
    out: Vec<Action>,
}

impl ServedMesh {
    /// One that has not begun: hosts and ports of the servers, the word that they know.
    pub(super) fn new(
        settings: MeshSettings,
        servers: Vec<(String, u16)>,
        word: String,
        matrix: Matrix,
    ) -> ServedMesh {
        let kinds =
            [(MeshMeasure::RoundTrip, settings.latency_ns), (MeshMeasure::Throughput, settings.time_ns)];
        let of = |flows: &Vec<RankPair>| {
            let settings = kinds.into_iter().filter(|(_, time_ns)| *time_ns > 0);
            settings.map(|(kind, _)| (kind, flows.clone())).collect::<Vec<_>>()
        };
        let steps = settings.rounds.iter().flat_map(of).collect();
        ServedMesh {
            settings,
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
            out: Vec::new(),
        }
    }

    fn server(&self, rank: u32) -> ServerAddress {
        let (host, port) = self.servers.get(rank as usize).cloned().unwrap_or_default();
        let socket_options =
            self.settings.socket_options.iter().filter(|(name, _)| name == "congestion").cloned().collect();
        ServerAddress { host, port, family: 0, word: Some(self.word.clone()), socket_options }
    }

    /// A connection to each server that stays, so that none ends between two rounds.
    fn anchor(&mut self) {
        for index in 0..self.servers.len() as u32 {
            self.out.push(Action::Connect {
                connection: ANCHOR + index,
                transport: "tcp".into(),
                address: crate::netperf::omni_client::address(&self.server(index)),
                socket_options: Vec::new(),
                timeout_ns: CONNECT_NS,
            });
        }
    }

    /// Begins a round.
    fn begin(&mut self, now_ns: u64) {
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
        self.out.extend(anchors.map(|index| Action::Send(ANCHOR + index, greeting(None))));
        for index in 0..self.calls.len() {
            let event = self.calls[index].called.begin(now_ns);
            self.follow(index, 0, event, now_ns);
        }
    }

    fn ask(&self, kind: MeshMeasure) -> LinkTest {
        let (kind, time_ns) = match kind {
            MeshMeasure::RoundTrip => {
                (Measurement::RoundTrips(self.settings.message_bytes), self.settings.latency_ns)
            }
            MeshMeasure::Throughput => (Measurement::Sends(self.settings.block_bytes), self.settings.time_ns),
        };
        LinkTest { name: "mesh".into(), kind, time_ns, delay_ns: 0, rate: None, leads: false }
    }

    /// What one end of a flow wants done, and what has become of it: 0 is who is called.
    fn follow(&mut self, index: usize, end: usize, event: Option<LinkEvent>, now_ns: u64) {
        let call = &mut self.calls[index];
        call.take_actions(&mut self.out);
        match event {
            None => return,
            Some(LinkEvent::Ready) if end == 0 => self.call(index, now_ns),
            Some(LinkEvent::Ready) => call.armed = true,
            Some(LinkEvent::Heard(heard)) => call.heard[end] = Some(*heard),
            Some(LinkEvent::Broken(what, _)) => {
                call.broken.get_or_insert(what);
                call.links().for_each(TestLink::close);
                call.take_actions(&mut self.out);
            }
        }
        self.go_on(now_ns);
    }

    /// Who is called waits at a port: the other one is asked to connect there.
    fn call(&mut self, index: usize, now_ns: u64) {
        let flow = self.calls[index].flow;
        let to = self.server(flow.to).host;
        let part = LinkRole::Caller(to, self.calls[index].called.far_port());
        let number = (2 * index as Connection + 2) * NUMBERS;
        let (ask, server) = (self.calls[index].called.ask.clone(), self.server(flow.from));
        let caller = self.calls[index].caller.insert(TestLink::new(ask, server, part, number));
        let event = caller.begin(now_ns);
        self.follow(index, 1, event, now_ns);
    }

    /// When all are connected, they start; when all have reported, the next round begins.
    fn go_on(&mut self, now_ns: u64) {
        let ready = |call: &MeshCall| call.armed || call.broken.is_some();
        if !self.gone && self.calls.iter().all(ready) {
            self.gone = true;
            for call in self.calls.iter_mut().filter(|call| call.broken.is_none()) {
                call.caller.iter_mut().for_each(|caller| caller.go(now_ns));
                call.take_actions(&mut self.out);
                call.called.await_call(now_ns);
                call.take_actions(&mut self.out);
            }
            if self.calls.iter().any(|call| call.broken.is_none()) {
                return;
            }
        }
        let told = |call: &MeshCall| call.broken.is_some() || call.heard.iter().all(Option::is_some);
        if !self.gone || !self.calls.iter().all(told) {
            return;
        }
        self.keep();
        self.step += 1;
        self.begin(now_ns);
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

    fn end(&mut self, signal: Option<i32>) {
        self.over = true;
        let [median, high] = &self.trips;
        let mut text = self.matrix.matrices(&self.throughput, [median, high]);
        self.missing.iter().for_each(|line| text += &format!("not measured: {line}\n"));
        if let Some(signal) = signal {
            text += &format!("\nstopped by signal {signal}: rounds are missing\n");
        }
        let status = signal.map_or(u8::from(!self.missing.is_empty()), |signal| (128 + signal) as u8);
        self.out.extend([Action::Print(text), Action::End(status)]);
    }

    fn anchor_failed(&mut self, number: Connection, errno: i32, what: &str) {
        let rank = (number - ANCHOR) as usize;
        let (host, port) = self.servers.get(rank).cloned().unwrap_or_default();
        let why = crate::strerror::reason(errno, what);
        self.over = true;
        let text = format!(
            "iodyno net mesh: {host}:{port}: {why}\n hint: it was started there; see whether a firewall is in between, and \
             whether --address names the host as the others know it\n"
        );
        self.out.extend([Action::Complain(text), Action::End(1)]);
    }

    fn link(&mut self, index: usize, end: usize, input: &Input, now_ns: u64) {
        let link = self.calls.get_mut(index).and_then(|call| call.links().nth(end));
        let Some(event) = link.map(|link| link.step(now_ns, input)) else { return };
        self.follow(index, end, event, now_ns);
    }

    fn tick(&mut self, now_ns: u64) {
        let step = self.step;
        for (index, end) in (0..self.calls.len()).flat_map(|index| [(index, 0), (index, 1)]) {
            if self.step == step && !self.over {
                self.link(index, end, &Input::Tick, now_ns);
            }
        }
    }
}

impl Conversation for ServedMesh {
    fn step(&mut self, happening: Happening) -> Vec<Action> {
        let now_ns = happening.at_ns;
        match &happening.input {
            _ if self.over => return Vec::new(),
            Input::Began => self.anchor(),
            Input::Interrupted(signal) => self.end(Some(*signal)),
            Input::Tick => self.tick(now_ns),
            Input::Ready(number, _) if *number >= ANCHOR => {
                self.anchored += 1;
                self.out.push(Action::Send(*number, greeting(Some(&self.word))));
                if self.anchored == self.servers.len() {
                    self.begin(now_ns);
                }
            }
            Input::Failed(number, errno, what) if *number >= ANCHOR => {
                self.anchor_failed(*number, *errno, what);
            }
            Input::Closed(number) if *number >= ANCHOR => self.anchor_failed(*number, 0, "it has ended"),
            input => {
                // A call has two links, and a link several numbers.
                let link = connection_of(input).filter(|number| (NUMBERS..ANCHOR).contains(number));
                let Some(link) = link.map(|number| number / NUMBERS - 1) else { return Vec::new() };
                self.link(link as usize / 2, link as usize % 2, input, now_ns);
            }
        }
        let links = self.calls.iter().flat_map(|call| std::iter::once(&call.called).chain(&call.caller));
        let due_ns = links.map(TestLink::due_ns).min().unwrap_or(u64::MAX);
        if due_ns < u64::MAX && !self.over {
            self.out.push(Action::Wake(due_ns));
        }
        std::mem::take(&mut self.out)
    }
}
