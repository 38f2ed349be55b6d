//! Tests over links, one stage after the other: what the commands of `net` that look at one host have in common.
//!
//! ```text
//!   stage ─► a link for each test ─► all ready ─► one plan, a job each ─► what the other ends counted ─► next stage
//! ```
//! Tests of a stage run at the same time, so that one can be seen under another's load. It prints nothing of its own: who
//! wants the stages says what became of them.

use iodyno_model::conversation::{Action, Connection, Conversation, Happening, Input};
use iodyno_model::{Intent, Level, Phase, PhaseRecord, Plan, Record};

use crate::conversation::connection_of;
use crate::netperf::omni_client::{
    DatagramCounts, LinkEvent, LinkRole, LinkTest, Measurement, NUMBERS, PeerCounts, ServerAddress, TestLink,
};

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
    /// Of each test, what the other end told.
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
    /// netserver's address, and whether it is ours.
    pub(super) peer: String,
    pub(super) ours: bool,
    /// When it began, ns since 1970.
    pub(super) began_unix_ns: u64,
}

/// What is said in the end.
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
    Preparing,
    Running,
    Hearing,
    Over,
}

/// Stages under way.
pub(super) struct TestSequence {
    server: ServerAddress,
    stages: Vec<TestStage>,
    tell: Summarise,
    at: SequencePhase,
    number: usize,
    links: Vec<TestLink>,
    ready: Vec<bool>,
    heard: Vec<Option<PeerCounts>>,
    phase: PhaseRecord,
    run_due_ns: u64,
    outcome: SequenceOutcome,
}

impl TestSequence {
    /// One that has not begun.
    pub(super) fn new(server: ServerAddress, stages: Vec<TestStage>, tell: Summarise) -> TestSequence {
        TestSequence {
            server,
            stages,
            tell,
            at: SequencePhase::Over,
            number: 0,
            links: Vec::new(),
            ready: Vec::new(),
            heard: Vec::new(),
            phase: PhaseRecord::default(),
            run_due_ns: u64::MAX,
            outcome: SequenceOutcome::default(),
        }
    }

    /// What will be run, as far as that is known before a word was said to the peer.
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
    fn begin(&mut self, now_ns: u64) -> Vec<Action> {
        let Some(stage) = self.stages.get_mut(self.number) else { return self.end() };
        if !self.outcome.ours && self.number > 0 {
            // The real netserver sends datagrams as fast as it can, whatever rate it is asked for.
            stage.asks.retain(|ask| !matches!(ask.kind, Measurement::TakesDatagrams(_)));
        }
        let stage = stage.clone();
        self.links = self.links_of(&stage);
        self.ready = vec![false; self.links.len()];
        self.heard = vec![None; self.links.len()];
        self.at = SequencePhase::Preparing;
        let mut actions = Vec::new();
        for index in 0..self.links.len() {
            let said = self.links[index].begin(now_ns);
            actions.extend(self.take(index, said, now_ns));
        }
        actions
    }

    /// What a link wants done, and what has become of it.
    fn take(
        &mut self,
        index: usize,
        (mut actions, news): (Vec<Action>, Option<LinkEvent>),
        now_ns: u64,
    ) -> Vec<Action> {
        match news {
            Some(LinkEvent::Ready) => {
                self.ready[index] = true;
                if self.at == SequencePhase::Preparing && self.ready.iter().all(|ready| *ready) {
                    actions.extend(self.run(now_ns));
                }
            }
            Some(LinkEvent::Heard(heard)) => {
                self.heard[index] = Some(*heard);
                if self.at == SequencePhase::Hearing && self.heard.iter().all(Option::is_some) {
                    actions.extend(self.conclude(now_ns));
                }
            }
            // What runs ends by itself; what it counted is not lost for it.
            Some(LinkEvent::Broken(..)) if self.at == SequencePhase::Running => {}
            Some(LinkEvent::Broken(what, hint)) => actions.extend(self.missing(what, hint, now_ns)),
            None => {}
        }
        actions
    }

    /// Everybody is ready: data moves.
    fn run(&mut self, now_ns: u64) -> Vec<Action> {
        self.at = SequencePhase::Running;
        for link in self.links.iter().filter(|link| !link.ends().peer.is_empty()) {
            self.outcome.peer = link.ends().peer.clone();
            self.outcome.ours |= link.is_ours();
        }
        let mut plan = Plan { name: "net".into(), seed: 1, intent: Intent::Network, ..Plan::default() };
        add(&mut plan, &self.stages[self.number].name, &self.links);
        let longest = self.links.iter().map(|link| link.ask.time_ns + link.ask.delay_ns).max().unwrap_or(0);
        self.run_due_ns = now_ns + longest + BEYOND_NS;
        vec![Action::Run { run: self.number as u32 + 1, plan: Box::new(plan), interim_ns: 0 }]
    }

    /// The run is over: the other ends are heard.
    fn ended(&mut self, record: &Record, now_ns: u64) -> Vec<Action> {
        (self.at, self.run_due_ns) = (SequencePhase::Hearing, u64::MAX);
        if let Some(signal) = record.stopped_by {
            self.outcome.interrupted = Some(signal);
        }
        let Some(phase) = record.phases.last() else {
            let wrong = record.errors.iter().find(|error| error.level == Level::Error);
            let what = wrong.map_or_else(|| "it could not be run".into(), |wrong| wrong.message.clone());
            return self.missing(what, "see whether a firewall lets the data's ports through", now_ns);
        };
        self.phase = phase.clone();
        let mut actions = Vec::new();
        for index in 0..self.links.len() {
            // A failure on the way may have ended the stage already.
            if self.at != SequencePhase::Hearing {
                break;
            }
            let said = self.links[index].ended(now_ns);
            actions.extend(self.take(index, said, now_ns));
        }
        actions
    }

    /// The stage is done.
    fn conclude(&mut self, now_ns: u64) -> Vec<Action> {
        let stage = self.stages[self.number].clone();
        let heard: Vec<PeerCounts> = self.heard.iter().map(|heard| heard.unwrap_or_default()).collect();
        let mut actions: Vec<Action> = stage
            .asks
            .iter()
            .zip(&heard)
            .filter(|(_, heard)| **heard != PeerCounts::default())
            .map(|(ask, heard)| Action::Peer(ask.name.clone(), facts(heard)))
            .collect();
        let nobody = stage.asks.iter().all(|ask| ask.kind == Measurement::Knocks)
            && self.phase.jobs.iter().all(|job| job.tally.all_operations() == 0);
        let mut phase = std::mem::take(&mut self.phase);
        phase.jobs.iter_mut().zip(&heard).for_each(|(job, heard)| job.peer = facts(heard));
        self.outcome.done.push(FinishedStage { stage, phase, heard });
        self.number += 1;
        if nobody {
            let why = "nobody takes connections there";
            self.outcome.broken = Some((why.into(), "start one there: iodyno netserver -D"));
        }
        actions.extend(match nobody || self.outcome.interrupted.is_some() {
            true => self.end(),
            false => self.begin(now_ns),
        });
        actions
    }

    /// A stage cannot be had: the next one, or the end.
    fn missing(&mut self, what: String, hint: &'static str, now_ns: u64) -> Vec<Action> {
        let mut actions: Vec<Action> = self.links.iter_mut().flat_map(TestLink::close).collect();
        let stage = &self.stages[self.number];
        let spare = stage.spare && self.outcome.interrupted.is_none();
        self.outcome.missing.push((stage.name.clone(), what.clone()));
        self.number += 1;
        if spare {
            actions.extend(self.begin(now_ns));
            return actions;
        }
        self.outcome.broken = Some((what, hint));
        actions.extend(self.end());
        actions
    }

    fn end(&mut self) -> Vec<Action> {
        self.at = SequencePhase::Over;
        let said = (self.tell)(&self.outcome);
        let mut actions: Vec<Action> = self.links.iter_mut().flat_map(TestLink::close).collect();
        actions.extend([Action::Print(said.out), Action::Complain(said.err)].into_iter().filter(is_word));
        let status =
            self.outcome.interrupted.map_or(said.status, |signal| (128 + signal).clamp(1, 255) as u8);
        actions.push(Action::End(status));
        actions
    }

    fn interrupted(&mut self, signal: i32) -> Vec<Action> {
        let again = self.outcome.interrupted.replace(signal).is_some();
        match self.at {
            SequencePhase::Running if !again => vec![Action::Stop(self.number as u32 + 1)],
            _ => self.end(),
        }
    }

    fn tick(&mut self, now_ns: u64) -> Vec<Action> {
        if self.at == SequencePhase::Running {
            let late = now_ns >= self.run_due_ns;
            return late.then(|| Action::Stop(self.number as u32 + 1)).into_iter().collect();
        }
        let mut actions = Vec::new();
        let number = self.number;
        for index in 0..self.links.len() {
            if self.number != number || self.at == SequencePhase::Over {
                break;
            }
            let said = self.links[index].step(now_ns, &Input::Tick);
            actions.extend(self.take(index, said, now_ns));
        }
        actions
    }

    fn link(&mut self, number: Connection, input: &Input, now_ns: u64) -> Vec<Action> {
        let Some(index) = self.links.iter().position(|link| link.has(number)) else { return Vec::new() };
        let said = self.links[index].step(now_ns, input);
        self.take(index, said, now_ns)
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
    if let Some(account) = heard.account {
        let DatagramCounts { came, gaps, late, duplicates, highest, jitter_ns, overflow } = account;
        facts.extend([("datagrams", came), ("lost", gaps), ("late", late), ("duplicates", duplicates)]);
        facts.extend([("highest", highest), ("jitter_ns", jitter_ns), ("overflow", overflow)]);
    }
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
        let mut actions = match &happening.input {
            Input::Began => {
                self.outcome.began_unix_ns = happening.unix_ns;
                self.begin(now_ns)
            }
            _ if self.at == SequencePhase::Over => return Vec::new(),
            Input::Interrupted(signal) => self.interrupted(*signal),
            Input::Tick => self.tick(now_ns),
            Input::Ended(_, record) => self.ended(record, now_ns),
            input => match connection_of(input) {
                Some(number) => self.link(number, input, now_ns),
                None => return Vec::new(),
            },
        };
        let due_ns = self.links.iter().map(TestLink::due_ns).min().unwrap_or(u64::MAX).min(self.run_due_ns);
        if due_ns < u64::MAX && self.at != SequencePhase::Over {
            actions.push(Action::Wake(due_ns));
        }
        actions
    }
}
