//! The ranks of a phase while it runs: who must stop, which jobs have ended, and the progress of each rank.
//!
//! A reason to stop goes to the first rank, which tells all ranks; so every rank does the same. Polling for messages costs the
//! conductor's thread a moment between two sleeps, and the workers nothing.

use iodyno_model::{JobRecord, Live, PhaseRecord, Record, Stop, WorkerRecord};

use super::rank_mail::{
    FinalReport, LeaderMessage, Mailbox, PhaseOutcome, RankMessage, StopScope, pack, unpack,
};
use super::{Emit, PhaseContext};
use crate::clock::{self, Tick};
use crate::signal;
use crate::world::{BrokenWorld, Topic, World};

/// Between two records so far, ns, at least.
const SO_FAR_NS: u64 = 1_000_000_000;
/// At most: it says that the rank is there, too, ns.
const SO_FAR_MOST_NS: u64 = 20_000_000_000;
/// And at least so many times what one of them costs.
const SO_FAR_COSTS: u64 = 50;
/// A rank that was silent for so long is taken for lost, ns: launchers notice a dead one much sooner.
const SILENT_NS: u64 = 60_000_000_000;
/// Between two looks at the mail while workers run, ns.
const LOOK_NS: u64 = 50_000_000;
/// The same where jobs wait for others' ends, ns.
const AWAITED_NS: u64 = 5_000_000;
/// The same when only other ranks are waited for: at first, and at most.
const WAIT_NS: (u64, u64) = (200_000, 20_000_000);

/// The other ranks, as the conductor of one of them sees them during a phase.
pub struct Ranks<'a> {
    world: &'a World,
    post: &'a Mailbox,
    phase: usize,
    /// On the first rank: the others, each at its own place.
    others: Vec<Other>,
    /// Jobs of which this rank was seen to have no worker left.
    told_over: Vec<bool>,
    /// Jobs of which no rank has a worker left.
    over: Vec<bool>,
    next_so_far: Tick,
    /// Whether some job waits for another's end.
    waits: bool,
    /// Whether the mail was looked at.
    looks: bool,
    /// Ranks that have ended before their last word.
    gone: Vec<u32>,
    /// Whether some rank wants no further phase.
    pub ends_run: bool,
}

/// What the first rank knows of another.
#[derive(Default)]
struct Other {
    heard_at: Tick,
    jobs_over: Vec<bool>,
    live: Option<Live>,
    so_far: Option<Box<PhaseRecord>>,
    last: Option<Box<FinalReport>>,
}

impl<'a> Ranks<'a> {
    /// At the start line of a phase.
    pub fn new(world: &'a World, post: &'a Mailbox, context: &PhaseContext) -> Self {
        let jobs = context.phase().jobs.len();
        let now = clock::now();
        let other = |_| Other { heard_at: now, jobs_over: vec![false; jobs], ..Other::default() };
        let count = if world.is_first() { world.size() } else { 0 };
        if !world.is_alone() {
            let awaited = context.phase().jobs.iter().filter_map(|job| job.start.after_job.as_ref());
            let place = |name: &String| context.phase().jobs.iter().position(|job| job.name == *name);
            awaited.filter_map(place).for_each(|job| context.barrier.hold(job));
        }
        Ranks {
            world,
            post,
            phase: context.phase,
            others: (0..count).map(other).collect(),
            told_over: vec![false; jobs],
            over: vec![false; jobs],
            next_so_far: now + SO_FAR_NS,
            waits: context.phase().jobs.iter().any(|job| job.start.after_job.is_some()),
            looks: false,
            gone: Vec::new(),
            ends_run: false,
        }
    }

    /// Whether there are no others.
    pub fn is_alone(&self) -> bool {
        self.world.is_alone()
    }

    /// Between two looks at the mail while workers run, ns; 0: there is none.
    pub fn look_ns(&self) -> u64 {
        match (self.is_alone(), self.waits) {
            (true, _) => 0,
            (_, true) => AWAITED_NS,
            (_, false) => LOOK_NS,
        }
    }

    /// Whether a job has no worker left anywhere.
    pub fn is_over(&self, context: &PhaseContext, job: usize) -> bool {
        if self.is_alone() { context.barrier.running(job) == 0 } else { self.over[job] }
    }

    /// Stops whom something on this rank gives reason to, on every rank.
    pub fn stop(&mut self, context: &PhaseContext, whom: StopScope) {
        self.obey(context, whom);
        match self.world.is_first() {
            true => self.order(LeaderMessage::Stop(whom)),
            false => self.tell(RankMessage::Stop(whom)),
        }
    }

    fn obey(&mut self, context: &PhaseContext, whom: StopScope) {
        match whom {
            StopScope::Set(set) => context.stop_set(set),
            StopScope::Phase => context.barrier.stop(),
            StopScope::Run => {
                self.ends_run = true;
                context.barrier.stop();
            }
            StopScope::Signal(signal) => {
                signal::interrupted_elsewhere(signal);
                context.barrier.stop();
            }
        }
    }

    fn order(&self, order: LeaderMessage) {
        let bytes = pack(&(self.phase, order));
        (1..self.world.size()).for_each(|rank| self.world.send(rank, Topic::Stop, bytes.clone()));
    }

    fn tell(&self, word: RankMessage) {
        self.world.send(0, Topic::Progress, pack(&(self.phase, word)));
    }

    /// Reads the mail, and does what it says.
    pub fn look(&mut self, context: &PhaseContext, now: Tick, emit: Emit<'_>) {
        if self.is_alone() {
            return;
        }
        self.tell_over(context);
        if !self.world.is_first() {
            while let Some(order) = self.post.order(self.world, self.phase) {
                match order {
                    LeaderMessage::Stop(whom) => self.obey(context, whom),
                    LeaderMessage::JobOver(job) => self.release(context, job),
                    LeaderMessage::Heard(_) | LeaderMessage::Done(_) => {}
                }
            }
            if !context.barrier.stopped() && self.is_first_gone() {
                self.obey(context, StopScope::Run);
            }
            return;
        }
        if !std::mem::replace(&mut self.looks, true) {
            // Before the line nobody tells how it stands.
            self.others.iter_mut().for_each(|other| other.heard_at = now);
        }
        while let Some((rank, event)) = self.post.next_event(self.world) {
            self.others[rank as usize].heard_at = now;
            event.iter().for_each(&mut *emit);
        }
        while let Some((rank, bytes)) = self.world.receive(Topic::Progress) {
            if let Some((phase, word)) = unpack::<(usize, RankMessage)>(&bytes)
                && phase == self.phase
            {
                self.hear(context, rank, word, now);
            }
        }
        self.look_for_ends(context);
        self.miss(context);
    }

    /// Stops everybody as soon as a rank has ended that was to have a last word: its launcher will kill the others, and
    /// what there is must have been reported by then.
    fn miss(&mut self, context: &PhaseContext) {
        let new = |rank: &u32| !self.gone.contains(rank) && self.others[*rank as usize].last.is_none();
        let gone: Vec<u32> = self.world.gone().into_iter().filter(new).collect();
        if !gone.is_empty() {
            self.gone.extend(gone);
            self.stop(context, StopScope::Run);
        }
    }

    fn is_first_gone(&self) -> bool {
        self.world.gone().contains(&0)
    }

    fn hear(&mut self, context: &PhaseContext, rank: u32, word: RankMessage, now: Tick) {
        let other = &mut self.others[rank as usize];
        other.heard_at = now;
        match word {
            RankMessage::Live(live) => other.live = Some(live),
            RankMessage::SoFar(record) => other.so_far = Some(record),
            RankMessage::JobsOver(jobs) => jobs.into_iter().for_each(|job| other.jobs_over[job] = true),
            RankMessage::FinalReport(last) => {
                other.jobs_over.fill(true);
                let running = other.live.iter_mut().flat_map(|live| &mut live.jobs);
                running.for_each(|job| job.running = 0);
                self.ends_run |= last.ends_run;
                other.last = Some(last);
            }
            RankMessage::Stop(whom) => {
                self.obey(context, whom);
                self.order(LeaderMessage::Stop(whom));
            }
        }
    }

    /// Says of which jobs this rank has no worker left, where somebody waits for that.
    fn tell_over(&mut self, context: &PhaseContext) {
        let new = |job: &usize| !self.told_over[*job] && context.barrier.running(*job) == 0;
        let jobs: Vec<usize> = (0..self.told_over.len()).filter(new).collect();
        if jobs.is_empty() {
            return;
        }
        jobs.iter().for_each(|job| self.told_over[*job] = true);
        let phase = context.phase();
        if !self.world.is_first() && (phase.stop == Stop::FirstJobDone || self.waits) {
            self.tell(RankMessage::JobsOver(jobs));
        }
    }

    /// On the first rank: jobs that are over everywhere.
    fn look_for_ends(&mut self, context: &PhaseContext) {
        for job in 0..self.over.len() {
            let others = || self.others.iter().skip(1).all(|other| other.jobs_over[job]);
            if !self.over[job] && self.told_over[job] && others() {
                self.release(context, job);
                self.order(LeaderMessage::JobOver(job));
            }
        }
    }

    fn release(&mut self, context: &PhaseContext, job: usize) {
        self.over[job] = true;
        context.barrier.let_go(job);
    }

    /// From another rank than the first: the counters by now.
    pub fn tell_live(&self, live: Live) {
        self.tell(RankMessage::Live(live));
    }

    /// From another rank than the first: the record so far, if it is time for one.
    pub fn tell_so_far(&mut self, now: Tick, record: impl FnOnce() -> PhaseRecord) {
        if now < self.next_so_far {
            return;
        }
        self.tell(RankMessage::SoFar(Box::new(record())));
        let cost_ns = clock::now().saturating_sub(now);
        self.next_so_far = now + (cost_ns * SO_FAR_COSTS).clamp(SO_FAR_NS, SO_FAR_MOST_NS);
    }

    /// Whether this rank is the one that tells the user.
    pub fn is_first(&self) -> bool {
        self.world.is_first()
    }

    /// On the first rank: adds the others' counters, as far as they are known.
    pub fn add_live(&self, live: &mut Live) {
        self.others.iter().filter_map(|other| other.live.as_ref()).for_each(|other| live.merge(other));
    }

    /// On the first rank: adds the others' records so far.
    pub fn add_so_far(&self, record: &mut PhaseRecord) {
        for other in &self.others {
            match (&other.last, &other.so_far) {
                (Some(last), _) => record.merge(last.record.clone()),
                (None, Some(so_far)) => record.merge((**so_far).clone()),
                (None, None) => {}
            }
        }
    }

    /// Whether nobody is waited for any more: on the first rank when all others have said their last word and all that
    /// came before it was heard.
    pub fn are_in(&self) -> bool {
        let said = |(rank, other): (usize, &Other)| {
            let is_gone = other.last.is_none() && self.gone.contains(&(rank as u32));
            is_gone || other.last.as_ref().is_some_and(|last| last.events <= self.post.received(rank as u32))
        };
        self.others.iter().enumerate().skip(1).all(said)
    }

    /// Whether a rank has been silent for so long that it must be gone.
    pub fn are_silent(&self, now: Tick) -> bool {
        let silent = |other: &Other| other.last.is_none() && now > other.heard_at + SILENT_NS;
        self.others.iter().skip(1).any(silent)
    }

    /// On the first rank: what the others have said at last, or so far; and those who had no last word.
    pub fn collect(&mut self) -> (Vec<(u32, FinalReport)>, Vec<u32>) {
        let (mut all, mut lost) = (Vec::new(), Vec::new());
        for (rank, other) in self.others.iter_mut().enumerate().skip(1) {
            let rank = rank as u32;
            match (other.last.take(), other.so_far.take()) {
                (Some(last), _) => all.push((rank, *last)),
                (None, so_far) => {
                    lost.push(rank);
                    let record = so_far.map(|record| *record);
                    all.extend(record.map(|record| (rank, FinalReport { record, ..FinalReport::default() })));
                }
            }
        }
        (all, lost)
    }

    /// From another rank than the first: the last word; then waits until the phase is over everywhere.
    ///
    /// # Errors
    /// The first rank did not answer in time.
    pub fn part(self, last: FinalReport) -> Result<PhaseOutcome, BrokenWorld> {
        self.tell(RankMessage::FinalReport(Box::new(FinalReport {
            events: self.post.sent(),
            ends_run: self.ends_run,
            ..last
        })));
        let (mut pause_ns, mut told) = (WAIT_NS.0, signal::interruptions().0 > 0);
        loop {
            match self.post.order(self.world, self.phase) {
                Some(LeaderMessage::Done(done)) => return Ok(*done),
                Some(LeaderMessage::Stop(StopScope::Signal(signal))) => signal::interrupted_elsewhere(signal),
                Some(_) => continue,
                None if signal::is_hurried() || self.is_first_gone() => {
                    return Err(BrokenWorld("the first rank did not answer".into()));
                }
                None => {}
            }
            if let (1.., signal) = signal::interruptions()
                && !std::mem::replace(&mut told, true)
            {
                self.tell(RankMessage::Stop(StopScope::Signal(signal)));
            }
            clock::sleep_ns(pause_ns);
            pause_ns = longer(pause_ns);
        }
    }
}

/// On the first rank: tells everybody that a phase is over everywhere.
pub fn dismiss(world: &World, record: &PhaseRecord, is_referred_to: bool, ends: bool) {
    let phase = record.index;
    let record = if is_referred_to { skeleton(record) } else { PhaseRecord::default() };
    let bytes = pack(&(phase, LeaderMessage::Done(Box::new(PhaseOutcome { ends, record }))));
    (1..world.size()).for_each(|rank| world.send(rank, Topic::Stop, bytes.clone()));
}

/// The next pause of somebody who only waits for other ranks, ns; 0: the first.
pub fn longer(pause_ns: u64) -> u64 {
    (pause_ns + pause_ns / 4).clamp(WAIT_NS.0, WAIT_NS.1)
}

/// What later phases may want to know of one: how much each worker did.
fn skeleton(record: &PhaseRecord) -> PhaseRecord {
    let worker = |worker: &WorkerRecord| WorkerRecord {
        index: worker.index,
        rank: worker.rank,
        operations: worker.operations,
        bytes: worker.bytes,
        ..WorkerRecord::default()
    };
    let job = |job: &JobRecord| JobRecord {
        name: job.name.clone(),
        workers: job.workers.iter().map(worker).collect(),
        worn: job.worn,
        ..JobRecord::default()
    };
    let jobs = record.jobs.iter().map(job).collect();
    let (name, index, repetition) = (record.name.clone(), record.index, record.repetition);
    PhaseRecord { name, index, repetition, jobs, ..PhaseRecord::default() }
}

/// Notes that ranks were lost, by the hosts they were on.
pub fn lose(record: &mut Record, lost: &[u32]) -> Option<iodyno_model::Diagnostic> {
    if lost.is_empty() {
        return None;
    }
    record.world.lost.extend(lost);
    let named = super::agree::named(&record.world, lost);
    let (verb, whose) = if lost.len() == 1 { ("was", "its") } else { ("were", "their") };
    let message = format!("{named} {verb} lost: {whose} figures are those of the last time they were told");
    let wrong = iodyno_model::Diagnostic::error(&Default::default(), message);
    Some(wrong.hint("see what happened on those hosts; what was told until then is in the report"))
}
