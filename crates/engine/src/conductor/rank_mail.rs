//! Messages between ranks, and their bytes. Each goes to or from the first rank.
//!
//! A sender does not wait for delivery, except with much data in flight: then it waits for acknowledgements, so that a slow receiver
//! costs no memory.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;

use iodyno_model::merge::Seen;
use iodyno_model::reflect::Reflect;
use iodyno_model::{Diagnostic, Event, Live, PhaseRecord};

use crate::clock;
use crate::signal;
use crate::world::{Topic, World};

/// Events of one rank that are under way at most.
const UNHEARD_MOST: u64 = 8;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Reflect)]
pub enum StopScope {
    /// Workers of the jobs of that set.
    Set(u32),
    /// Everybody in this phase.
    Phase,
    /// Everybody, and there is no next phase.
    Run,
    /// Everybody, because of that signal.
    Signal(i32),
}

/// What a rank tells the first one of a phase.
#[derive(Debug, Reflect)]
pub enum RankMessage {
    /// Counters by now.
    Live(Live),
    /// The record so far: what is told of this rank should it be lost.
    SoFar(Box<PhaseRecord>),
    /// Of these jobs this rank has no worker left.
    JobsOver(Vec<usize>),
    /// Somebody here has a reason to stop others.
    Stop(StopScope),
    /// The last word.
    FinalReport(Box<FinalReport>),
}

/// The last that a rank tells of a phase.
#[derive(Debug, Default, Reflect)]
pub struct FinalReport {
    /// Its workers' record.
    pub record: PhaseRecord,
    /// What its witnesses saw, where it had any.
    pub seen: Option<Seen>,
    /// How many events it has told since the run began.
    pub events: u64,
    /// Whether one of its workers wants no further phase.
    pub ends_run: bool,
    /// What went wrong besides.
    pub errors: Vec<Diagnostic>,
}

/// What the first rank tells the others.
#[derive(Debug, Reflect)]
pub enum LeaderMessage {
    /// Somebody is to stop.
    Stop(StopScope),
    /// No rank has a worker of this job left.
    JobOver(usize),
    /// So many of your events were heard since the run began.
    Heard(u64),
    /// The phase is over everywhere.
    Done(Box<PhaseOutcome>),
}

/// What everybody must know of a phase that is over.
#[derive(Debug, Default, Reflect)]
pub struct PhaseOutcome {
    /// Whether no phase follows.
    pub ends: bool,
    /// The record, as far as later phases refer to it.
    pub record: PhaseRecord,
}

/// One rank's mail, over all phases. Words and orders carry the phase they are about: late ones are dropped.
#[derive(Default)]
pub struct Mailbox {
    sent: Cell<u64>,
    heard: Cell<u64>,
    orders: RefCell<VecDeque<(usize, LeaderMessage)>>,
    /// Events heard of each rank.
    received: RefCell<Vec<u64>>,
}

impl Mailbox {
    /// Tells the first rank what happened, if it is for the user to know.
    pub fn forward(&self, world: &World, event: &Event) {
        if !matches!(event, Event::Message(_) | Event::Said(_) | Event::Journal(_) | Event::LayingOut { .. })
        {
            return;
        }
        let mut pause_ns = 100_000;
        while self.sent.get() >= self.heard.get() + UNHEARD_MOST && !signal::is_hurried() {
            self.receive(world);
            clock::sleep_ns(pause_ns);
            pause_ns = (pause_ns * 2).min(10_000_000);
        }
        self.sent.set(self.sent.get() + 1);
        world.send(0, Topic::Event, pack(event));
    }

    /// How many events were sent.
    pub fn sent(&self) -> u64 {
        self.sent.get()
    }

    /// On the first rank: the next event of another, and which it is.
    pub fn next_event(&self, world: &World) -> Option<(u32, Option<Event>)> {
        let (rank, bytes) = world.receive(Topic::Event)?;
        let count = {
            let mut received = self.received.borrow_mut();
            received.resize(world.size() as usize, 0);
            received[rank as usize] += 1;
            received[rank as usize]
        };
        world.send(rank, Topic::Stop, pack(&(0_usize, LeaderMessage::Heard(count))));
        Some((rank, unpack(&bytes)))
    }

    /// On the first rank: how many events of a rank were heard.
    pub fn received(&self, rank: u32) -> u64 {
        self.received.borrow().get(rank as usize).copied().unwrap_or(0)
    }

    /// Takes in what the first rank says.
    fn receive(&self, world: &World) {
        while let Some((_, bytes)) = world.receive(Topic::Stop) {
            match unpack(&bytes) {
                Some((_, LeaderMessage::Heard(count))) => self.heard.set(count),
                Some(order) => self.orders.borrow_mut().push_back(order),
                None => {}
            }
        }
    }

    /// The next order that concerns a phase.
    pub fn order(&self, world: &World, phase: usize) -> Option<LeaderMessage> {
        self.receive(world);
        let mut orders = self.orders.borrow_mut();
        while let Some((about, order)) = orders.pop_front() {
            if about == phase {
                return Some(order);
            }
        }
        None
    }
}

/// A value in bytes. What cannot be packed is nothing, which nobody can unpack.
pub fn pack(value: &impl Reflect) -> Vec<u8> {
    iodyno_model::pack::named(value).unwrap_or_default()
}

/// The value in bytes that a rank of the same program packed.
pub fn unpack<T: Reflect>(bytes: &[u8]) -> Option<T> {
    iodyno_model::pack::unpack(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use iodyno_model::{JobRecord, Verb, WorkerRecord};

    #[test]
    fn what_is_packed_comes_out_the_same() {
        let mut job = JobRecord { name: "j".into(), ..JobRecord::default() };
        let line = job.tally.line_mut("read", Verb::Read);
        (0..1000).for_each(|value| line.latency.add(value * value * 977));
        line.latency.add(u64::MAX);
        job.workers.push(WorkerRecord { index: 7, failure: Some("é\nhint".into()), ..Default::default() });
        let record = PhaseRecord { jobs: vec![job], ..PhaseRecord::default() };
        let last = FinalReport { record, events: u64::MAX, ends_run: true, ..FinalReport::default() };
        let bytes = pack(&(3_usize, RankMessage::FinalReport(Box::new(last))));
        let Some((3_usize, RankMessage::FinalReport(back))) = unpack(&bytes) else {
            panic!("{} bytes", bytes.len())
        };
        let again = pack(&(3_usize, RankMessage::FinalReport(back)));
        assert_eq!(again, bytes);
        assert!(unpack::<RankMessage>(b"nonsense").is_none() && unpack::<RankMessage>(b"").is_none());
    }
}
