//! Tests over links, one stage after the other: what the commands of `net` that look at one host have in common.
//!
//! ```text
//!   stage ─► a link for each test ─► all ready ─► one plan, a job each ─► what the other ends counted ─► next stage
//! ```
//! Tests of a stage run at the same time, so that one can be seen under another's load. It prints nothing of its own: its owner
//! reports what became of the stages.

use iodyno_model::conversation::{Action, Connection, Conversation, Happening, Input};
use iodyno_model::{Intent, Level, Phase, PhaseRecord, Plan, Record};

use super::snmp::{PortActivity, PortAddress, PortReader};
use crate::conversation::{connection_of, end_by};
use crate::netperf::omni_client::{
    DatagramCounts, LinkEvent, LinkRole, LinkTest, Measurement, NUMBERS, PeerCounts, ServerAddress, TestLink,
};

/// The connection of a switch's agent: no link has so high a number.
const AGENT: Connection = 1 << 16;
/// What a port is called where it cannot be told, and the first phase, which keeps what is told of it.
pub(super) const PORT: &str = "switch port";
/// How long a run may go on beyond its time, ns: a peer that never ends a stream is left.
const BEYOND_NS: u64 = 60_000_000_000;

/// Tests that run at the same time.
#[derive(Clone, Debug)]
pub(super) struct TestStage {
    /// The phase's name.
    pub(super) name: String,
    pub(super) asks: Vec<LinkTest>,
    /// The others go on without it.
    pub(super) spare: bool,
}

/// What became of a stage.
#[derive(Debug)]
pub(super) struct FinishedStage {
    pub(super) stage: TestStage,
    pub(super) phase: PhaseRecord,
    /// The results of the other end, for each test.
    pub(super) heard: Vec<PeerCounts>,
}

/// What became of all of them.
#[derive(Debug, Default)]
pub(super) struct SequenceOutcome {
    pub(super) done: Vec<FinishedStage>,
    /// Stages that could not be had: their names, and why.
    pub(super) missing: Vec<(String, String)>,
    /// Why it ended before its time, and what to do about it.
    pub(super) broken: Option<(String, &'static str)>,
    pub(super) interrupted: Option<i32>,
    /// Not even the host's address is known.
    pub(super) unresolved: bool,
    /// netserver's address, and whether it is ours.
    pub(super) peer: String,
    pub(super) ours: bool,
    /// When it began, ns since 1970.
    pub(super) began_unix_ns: u64,
    /// What a switch's port moved from the beginning to the end.
    pub(super) port: Option<PortActivity>,
}

/// What is printed at the end.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct FinalText {
    pub(super) out: String,
    pub(super) err: String,
    pub(super) status: u8,
}

/// Who says it.
pub(super) type Summarise = Box<dyn FnMut(&SequenceOutcome) -> FinalText + Send>;

/// What the stage under way is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SequencePhase {
    /// A switch's port is read: before everything, and after it.
    Reading,
    ReadingAgain,
    Preparing,
    Running,
    Hearing,
    Over,
}

/// Stages under way.
pub(super) struct TestSequence {
    server: ServerAddress,
    stages: Vec<TestStage>,
    report: Summarise,
    at: SequencePhase,
    number: usize,
    links: Vec<TestLink>,
    ready: Vec<bool>,
    heard: Vec<Option<PeerCounts>>,
    phase: PhaseRecord,
    run_due_ns: u64,
    outcome: SequenceOutcome,
    port: Option<PortReader>,
    out: Vec<Action>,
}

impl TestSequence {
    /// One that has not begun.
    pub(super) fn new(server: ServerAddress, stages: Vec<TestStage>, report: Summarise) -> TestSequence {
        TestSequence {
            server,
            stages,
            report,
            at: SequencePhase::Over,
            number: 0,
            links: Vec::new(),
            ready: Vec::new(),
            heard: Vec::new(),
            phase: PhaseRecord::default(),
            run_due_ns: u64::MAX,
            outcome: SequenceOutcome::default(),
            port: None,
            out: Vec::new(),
        }
    }

    /// The same, and a switch's port is read before it and after it.
    pub(super) fn with_port(self, address: Option<PortAddress>) -> TestSequence {
        TestSequence { port: address.map(|address| PortReader::new(address, AGENT)), ..self }
    }

    fn start(&mut self, now_ns: u64) {
        let Some(port) = &mut self.port else { return self.begin(now_ns) };
        self.at = SequencePhase::Reading;
        port.begin(now_ns);
        self.out.append(&mut port.out);
    }

    /// Something has happened to the agent.
    fn read_port(&mut self, input: &Input, now_ns: u64) {
        let Some(port) = &mut self.port else { return };
        let is_read = port.step(now_ns, input);
        self.out.append(&mut port.out);
        match self.at {
            SequencePhase::Reading if is_read => self.begin(now_ns),
            SequencePhase::ReadingAgain if is_read => self.tell(),
            _ => {}
        }
    }

    /// What the port moved, for the report and for the record.
    fn add_port(&mut self) {
        let Some(port) = &self.port else { return };
        self.out.push(Action::Close(AGENT));
        let moved = match port.activity() {
            Ok(moved) => moved,
            Err(why) => return self.outcome.missing.push((PORT.into(), why)),
        };
        if let Some(job) = self.outcome.done.first_mut().and_then(|done| done.phase.jobs.first_mut()) {
            job.peer.extend(moved.facts());
            self.out.push(Action::Peer(job.name.clone(), moved.facts()));
        }
        self.outcome.port = Some(moved);
    }

    /// What will be run, as far as that is known before the peer was asked.
    pub(super) fn plan(&self, name: &str) -> Plan {
        let mut plan = Plan { name: name.into(), seed: 1, intent: Intent::Network, ..Plan::default() };
        for stage in &self.stages {
            let links = self.links_of(stage);
            add(&mut plan, &stage.name, &links);
        }
        plan
    }

    fn links_of(&self, stage: &TestStage) -> Vec<TestLink> {
        let number = |index: usize| (index as Connection + 1) * NUMBERS;
        let link = |(index, ask): (usize, &LinkTest)| {
            TestLink::new(ask.clone(), self.server.clone(), LinkRole::Peer, number(index))
        };
        stage.asks.iter().enumerate().map(link).collect()
    }

    /// Begins the stage whose turn it is; the end, when there is none.
    fn begin(&mut self, now_ns: u64) {
        let Some(stage) = self.stages.get_mut(self.number) else { return self.end(now_ns) };
        if !self.outcome.ours && self.number > 0 {
            // The real netserver sends datagrams as fast as it can, whatever rate it is asked for.
            stage.asks.retain(|ask| !matches!(ask.kind, Measurement::TakesDatagrams(_)));
        }
        let stage = stage.clone();
        self.links = self.links_of(&stage);
        self.ready = vec![false; self.links.len()];
        self.heard = vec![None; self.links.len()];
        self.at = SequencePhase::Preparing;
        for index in 0..self.links.len() {
            let event = self.links[index].begin(now_ns);
            self.follow(index, event, now_ns);
        }
    }

    /// What a link wants done, and what has become of it.
    fn follow(&mut self, index: usize, event: Option<LinkEvent>, now_ns: u64) {
        self.out.append(&mut self.links[index].out);
        match event {
            Some(LinkEvent::Ready) => {
                self.ready[index] = true;
                if self.at == SequencePhase::Preparing && self.ready.iter().all(|ready| *ready) {
                    self.run(now_ns);
                }
            }
            Some(LinkEvent::Heard(heard)) => {
                self.heard[index] = Some(*heard);
                if self.at == SequencePhase::Hearing && self.heard.iter().all(Option::is_some) {
                    self.conclude(now_ns);
                }
            }
            // What runs ends by itself; what it counted is not lost for it.
            Some(LinkEvent::Broken(..)) if self.at == SequencePhase::Running => {}
            Some(LinkEvent::Broken(what, hint)) => self.missing(what, hint, now_ns),
            None => {}
        }
    }

    /// Everybody is ready: data moves.
    fn run(&mut self, now_ns: u64) {
        self.at = SequencePhase::Running;
        for link in self.links.iter().filter(|link| !link.ends().peer.is_empty()) {
            self.outcome.peer = link.ends().peer.clone();
            self.outcome.ours |= link.is_ours();
        }
        let mut plan = Plan { name: "net".into(), seed: 1, intent: Intent::Network, ..Plan::default() };
        add(&mut plan, &self.stages[self.number].name, &self.links);
        let longest = self.links.iter().map(|link| link.ask.time_ns + link.ask.delay_ns).max().unwrap_or(0);
        self.run_due_ns = now_ns + longest + BEYOND_NS;
        self.out.push(Action::Run { run: self.number as u32 + 1, plan: Box::new(plan), interim_ns: 0 });
    }

    /// The run is over: the other ends are heard.
    fn ended(&mut self, record: &Record, now_ns: u64) {
        (self.at, self.run_due_ns) = (SequencePhase::Hearing, u64::MAX);
        self.outcome.interrupted = record.stopped_by.or(self.outcome.interrupted);
        let Some(phase) = record.phases.last() else {
            let wrong = record.errors.iter().find(|error| error.level == Level::Error);
            let what = wrong.map_or_else(|| "it could not be run".into(), |wrong| wrong.message.clone());
            return self.missing(what, "see whether a firewall lets the data's ports through", now_ns);
        };
        self.phase = phase.clone();
        for index in 0..self.links.len() {
            // A failure on the way may have ended the stage already.
            if self.at != SequencePhase::Hearing {
                break;
            }
            let event = self.links[index].ended(now_ns);
            self.follow(index, event, now_ns);
        }
    }

    /// The stage is done.
    fn conclude(&mut self, now_ns: u64) {
        let stage = self.stages[self.number].clone();
        let heard: Vec<PeerCounts> = self.heard.iter().map(|heard| heard.unwrap_or_default()).collect();
        let told = stage.asks.iter().zip(&heard).filter(|(_, heard)| **heard != PeerCounts::default());
        self.out.extend(told.map(|(ask, heard)| Action::Peer(ask.name.clone(), facts(heard))));
        let nobody = stage.asks.iter().all(|ask| ask.kind == Measurement::Knocks)
            && self.phase.jobs.iter().all(|job| job.tally.all_operations() == 0);
        let mut phase = std::mem::take(&mut self.phase);
        // Who could not begin has not asked anybody.
        let failure =
            phase.jobs.iter().flat_map(|job| &job.workers).find_map(|worker| worker.failure.clone());
        phase.jobs.iter_mut().zip(&heard).for_each(|(job, heard)| job.peer = facts(heard));
        self.outcome.done.push(FinishedStage { stage, phase, heard });
        self.number += 1;
        match failure.filter(|_| nobody) {
            Some(why) => {
                self.outcome.unresolved = true;
                self.outcome.broken =
                    Some((why, "give the host's name as the resolver knows it, or its address"));
            }
            None if nobody => {
                let why = "nobody takes connections there";
                self.outcome.broken = Some((why.into(), "start one there: iodyno netserver -D"));
            }
            None => {}
        }
        if nobody || self.outcome.interrupted.is_some() { self.end(now_ns) } else { self.begin(now_ns) }
    }

    /// A stage cannot be had: the next one, or the end.
    fn missing(&mut self, what: String, hint: &'static str, now_ns: u64) {
        self.close();
        let stage = &self.stages[self.number];
        let spare = stage.spare && self.outcome.interrupted.is_none();
        self.outcome.missing.push((stage.name.clone(), what.clone()));
        self.number += 1;
        if spare {
            return self.begin(now_ns);
        }
        self.outcome.broken = Some((what, hint));
        self.end(now_ns);
    }

    fn close(&mut self) {
        for link in &mut self.links {
            link.close();
            self.out.append(&mut link.out);
        }
    }

    /// All is measured: a port is read once more, unless the user waits for the end.
    fn end(&mut self, now_ns: u64) {
        let waits = self.outcome.interrupted.is_some();
        if let Some(port) = self.port.as_mut().filter(|_| !waits)
            && port.again(now_ns)
        {
            self.at = SequencePhase::ReadingAgain;
            self.out.append(&mut port.out);
            return;
        }
        self.tell();
    }

    fn tell(&mut self) {
        self.at = SequencePhase::Over;
        self.add_port();
        let said = (self.report)(&self.outcome);
        self.close();
        self.out.extend([Action::Print(said.out), Action::Complain(said.err)].into_iter().filter(is_word));
        self.out.push(self.outcome.interrupted.map_or(Action::End(said.status), end_by));
    }

    fn interrupted(&mut self, signal: i32, now_ns: u64) {
        let again = self.outcome.interrupted.replace(signal).is_some();
        match self.at {
            SequencePhase::Running if !again => self.out.push(Action::Stop(self.number as u32 + 1)),
            _ => self.end(now_ns),
        }
    }

    fn tick(&mut self, now_ns: u64) {
        if self.at == SequencePhase::Running {
            self.out.extend((now_ns >= self.run_due_ns).then(|| Action::Stop(self.number as u32 + 1)));
            return;
        }
        if matches!(self.at, SequencePhase::Reading | SequencePhase::ReadingAgain) {
            return self.read_port(&Input::Tick, now_ns);
        }
        let number = self.number;
        for index in 0..self.links.len() {
            if self.number != number || self.at == SequencePhase::Over {
                break;
            }
            self.link(index, &Input::Tick, now_ns);
        }
    }

    fn link(&mut self, index: usize, input: &Input, now_ns: u64) {
        let event = self.links[index].step(now_ns, input);
        self.follow(index, event, now_ns);
    }
}

fn is_word(action: &Action) -> bool {
    matches!(action, Action::Print(text) | Action::Complain(text) if !text.is_empty())
}

/// What the other end counted, by the names that records have it by.
fn facts(heard: &PeerCounts) -> Vec<(String, u64)> {
    if *heard == PeerCounts::default() {
        return Vec::new();
    }
    let mut facts = vec![
        ("received_bytes", heard.received_bytes),
        ("sent_bytes", heard.sent_bytes),
        ("sends", heard.sends),
        ("elapsed_ns", (heard.elapsed_s * 1e9) as u64),
    ];
    facts.extend(heard.account.into_iter().flat_map(DatagramCounts::facts));
    facts.into_iter().map(|(name, value)| (name.to_string(), value)).collect()
}

/// Adds a phase with a job for each link.
fn add(plan: &mut Plan, name: &str, links: &[TestLink]) {
    let mut phase = Phase { name: name.into(), ..Phase::default() };
    for link in links {
        let (target, job) = link.job(plan.targets.len());
        plan.targets.push(target);
        phase.jobs.push(job);
    }
    plan.phases.push(phase);
}

impl Conversation for TestSequence {
    fn step(&mut self, happening: Happening) -> Vec<Action> {
        let now_ns = happening.at_ns;
        match &happening.input {
            Input::Began => {
                self.outcome.began_unix_ns = happening.unix_ns;
                self.start(now_ns);
            }
            _ if self.at == SequencePhase::Over => return Vec::new(),
            Input::Interrupted(signal) => self.interrupted(*signal, now_ns),
            Input::Tick => self.tick(now_ns),
            Input::Ended(_, record) => self.ended(record, now_ns),
            input => {
                let Some(number) = connection_of(input) else { return Vec::new() };
                if self.port.as_ref().is_some_and(|port| port.has(number)) {
                    self.read_port(input, now_ns);
                } else if let Some(index) = self.links.iter().position(|link| link.has(number)) {
                    self.link(index, input, now_ns);
                }
            }
        }
        let due_ns = self.links.iter().map(TestLink::due_ns).min().unwrap_or(u64::MAX).min(self.run_due_ns);
        let due_ns = due_ns.min(self.port.as_ref().map_or(u64::MAX, PortReader::due_ns));
        if due_ns < u64::MAX && self.at != SequencePhase::Over {
            self.out.push(Action::Wake(due_ns));
        }
        std::mem::take(&mut self.out)
    }
}
