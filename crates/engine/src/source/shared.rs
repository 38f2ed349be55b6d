//! What workers of a phase share: tokens, semaphores, counters and weights, in a mapping that threads and forked
//! processes see alike.
//!
//! An object grants, or says when to ask again; only for lanes and barriers there is a sleep that ends with the change, as
//! training input would ask for them thousands of times in a batch. One cache line of atomics for each object; no lock,
//! so a worker that is killed leaves nothing held but what it had taken.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU32, AtomicU64, Ordering::Relaxed};

use iodyno_model::{Phase, Plan, SharedKind, SharedObject, SharedUse, Verb};

use super::cache_requests::{CacheRequest, RequestList};
use super::pools::{Found, Pools};
use super::samples::SampleLists;
use super::step_barrier::{Arrival, MEMBERS_MOST, StepBarrier};
use crate::clock::Tick;
use crate::coroutine;
use crate::failure::Failure;
use crate::futex;
use crate::memory::Mapping;
use crate::start_barrier::Bell;

/// Steps of a nanosecond in which token arrivals are kept, as a power of two: 1/256 ns, good for two years.
const FRACTION_BITS: u32 = 8;

/// The shared objects of a phase. A clone is another view of the same objects.
#[derive(Clone, Debug)]
pub struct SharedObjects {
    mapping: Arc<Mapping>,
    kinds: Arc<[SharedObject]>,
    /// By object, the requests that it has.
    requests: Arc<[Option<RequestList>]>,
    /// Which items of shared sets exist.
    pub pools: Option<Pools>,
    /// In which order samples of training input are read.
    pub sample_lists: SampleLists,
    /// What the conductor is called by, where it has other ranks to hear: barriers go over all of them.
    bell: Option<Bell>,
    /// The rank, and how many there are: of requests that each rank has, it takes every so many.
    turn: (u64, u64),
}

/// One object's state; zero is: nothing happened yet.
#[repr(C, align(64))]
struct Cell {
    /// Semaphore: posts less waits; one for each waiter: posts. Counter, count of what is done: its value. Weights:
    /// operations of all.
    value: AtomicI64,
    /// Weights: the sum of them. A count of what is done: how much of it is settled. Semaphore: waiters that have come.
    weight: AtomicI64,
    /// Tokens: arrival of the next unclaimed one, in fractions of a ns.
    arrival: AtomicU64,
    barrier: StepBarrier,
}

/// What an object answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Taken, or posted.
    Granted,
    /// Not before that time.
    At(Tick),
    /// When somebody else has moved.
    Wait,
    /// Never again.
    Over,
}

/// A worker's view of one object.
#[derive(Debug)]
pub struct Object {
    objects: SharedObjects,
    index: usize,
    /// Weights: this worker's share and the operations it has been granted.
    weight: i64,
    granted: i64,
    /// Signals: the posts there had been when it was woken last.
    seen: i64,
    /// Semaphores that waiters have one each of: the number of its own.
    own: Option<usize>,
    /// Lanes: the first that this worker uses, how many, and the number of the next turn.
    lanes: (usize, usize, usize),
    /// The lower half of the lane's value that did not let it go on.
    lane_seen: u32,
    /// Barriers: that this worker comes to it, and the round that it has come to and waits for the end of.
    member: Option<Arc<BarrierMember>>,
    round: Option<u32>,
    /// Tokens: when the last of those arrives that it has claimed and waits for. Servers: when what it asked for is done.
    due: Option<Tick>,
    /// Requests: when the phase began, and the number of the one that it has taken.
    start: Tick,
    taken: Option<u64>,
}

impl SharedObjects {
    /// The objects of a phase, in their initial state. To be made before any worker exists.
    ///
    /// # Errors
    /// The system's error number.
    pub fn new(shared: &[SharedObject]) -> Result<Self, i32> {
        let waiters: usize = shared.iter().map(|shared| waiters(&shared.kind)).sum();
        let bytes = shared.len().max(1) * size_of::<Cell>() + waiters * size_of::<AtomicI64>();
        let mapping = Mapping::shared(bytes)?;
        let requests = shared.iter().map(|shared| match &shared.kind {
            // What is wrong with them the check has said.
            SharedKind::Requests(asked) => RequestList::new(asked).ok(),
            _ => None,
        });
        let requests = requests.collect();
        Ok(SharedObjects {
            mapping: Arc::new(mapping),
            kinds: shared.into(),
            requests,
            pools: None,
            sample_lists: SampleLists::default(),
            bell: None,
            turn: (0, 1),
        })
    }

    /// All that a phase's workers share: its objects, and which items of its sets exist; `found` says so of sets that are
    /// not as their plan says. To be made before any worker exists.
    ///
    /// # Errors
    /// The system's error number.
    pub fn of(plan: &Plan, phase: &Phase, found: impl FnMut(usize) -> Option<Found>) -> Result<Self, i32> {
        let pools = Some(Pools::new(plan, phase, found)?);
        Ok(SharedObjects { pools, ..SharedObjects::new(&phase.shared)? })
    }

    /// The same where there are other ranks that the conductor brings together when it is called; none: there are none.
    pub fn over_ranks(self, bell: Option<Bell>) -> Self {
        SharedObjects { bell, ..self }
    }

    /// The same on a rank of so many.
    #[must_use]
    pub fn on_rank(self, rank: u32, ranks: u32) -> Self {
        SharedObjects { turn: (rank.into(), ranks.max(1).into()), ..self }
    }

    /// The object of that name, for one worker.
    ///
    /// # Errors
    /// There is none.
    pub fn object(&self, wanted: &SharedUse) -> Result<Object, Failure> {
        let index = self.kinds.iter().position(|shared| shared.name == wanted.name).ok_or_else(|| {
            Failure::new(format!("no shared object `{}` in this phase", wanted.name))
                .hint("declare it in the phase, under `shared`")
        })?;
        let divided = wanted.lanes > 0 || wanted.first_lane > 0 || wanted.sharers > 0;
        if divided && !matches!(self.kinds[index].kind, SharedKind::Lanes { .. }) {
            return Err(Failure::new(format!("`{}` has no lanes", wanted.name))
                .hint("declare it by lanes = COUNT, or leave out lanes, first_lane and sharers"));
        }
        let mut object = self.at(index);
        if let SharedKind::Weights { .. } = self.kinds[index].kind {
            if wanted.amount < 1 {
                return Err(Failure::new(format!(
                    "weight {} of `{}`: expected 1 or more",
                    wanted.amount, wanted.name
                )));
            }
            object.weight = wanted.amount;
            object.cell().weight.fetch_add(object.weight, Relaxed);
        }
        Ok(object)
    }

    /// Those of some labels, by their place, that are counted for everybody: whether by bytes, and the count.
    pub fn watched(&self, labels: &[(String, Verb)]) -> Vec<(u16, bool, Object)> {
        let mut watched = Vec::new();
        for (index, shared) in self.kinds.iter().enumerate() {
            let SharedKind::Done { of, bytes } = &shared.kind else { continue };
            let own = labels.iter().enumerate().filter(|(_, (label, _))| of.contains(label));
            watched.extend(own.map(|(label, _)| (label as u16, *bytes, self.at(index))));
        }
        watched
    }

    fn at(&self, index: usize) -> Object {
        Object {
            objects: self.clone(),
            index,
            weight: 0,
            granted: 0,
            seen: 0,
            own: None,
            lanes: (0, 1, 0),
            lane_seen: 0,
            member: None,
            round: None,
            due: None,
            start: 0,
            taken: None,
        }
    }

    /// Whether only workers of this rank use it.
    fn is_own(&self, index: usize) -> bool {
        self.bell.is_none() || self.kinds[index].each_rank
    }

    /// Somebody has come to a barrier, or left it.
    fn tell(&self, index: usize, arrival: Arrival) {
        match arrival {
            Arrival::Waits => {}
            Arrival::Opened => {
                futex::wake(self.cell(index).barrier.round_word());
                coroutine::shared_changed(self.cell(index));
            }
            Arrival::Full => self.bell.iter().for_each(Bell::ring),
        }
    }

    /// Barriers that go over all ranks, in the order that all ranks know.
    fn common_barriers(&self) -> impl Iterator<Item = (usize, &StepBarrier)> {
        let common = |(index, shared): &(usize, &SharedObject)| {
            shared.kind == SharedKind::Barrier && !self.is_own(*index)
        };
        self.kinds.iter().enumerate().filter(common).map(|(index, _)| (index, &self.cell(index).barrier))
    }

    /// What this rank tells the others of the barriers that go over all of them: of each whether somebody is missing, then how
    /// many workers still come to any. None: nobody waits for other ranks; or there is no such barrier.
    pub fn barriers_brought(&self) -> Option<Vec<u64>> {
        let members = self.common_barriers().map(|(_, barrier)| barrier.members());
        let (count, left, waits) = members.fold((0, 0, false), |(count, left, waits), (members, arrived)| {
            (count + 1, left + members, waits || arrived > 0 && arrived >= members)
        });
        let missing = self.common_barriers().map(|(_, barrier)| u64::from(!barrier.is_full()));
        (count > 0 && (waits || left == 0)).then(|| missing.chain([left]).collect())
    }

    /// What all ranks have told together: where nobody is missing all go on. Whether nobody is left anywhere.
    pub fn open_barriers(&self, told: &[u64]) -> bool {
        for ((index, barrier), _) in self.common_barriers().zip(told).filter(|(_, missing)| **missing == 0) {
            barrier.open();
            self.tell(index, Arrival::Opened);
        }
        told.last().is_none_or(|left| *left == 0)
    }

    /// Whether there are barriers that go over all ranks.
    pub fn has_common_barriers(&self) -> bool {
        self.common_barriers().next().is_some()
    }

    /// What each waiter of a semaphore has taken; of lanes, their values.
    fn taken(&self, index: usize) -> &[AtomicI64] {
        let before = self.kinds[..index].iter().map(|shared| waiters(&shared.kind)).sum();
        // SAFETY: behind the cells the mapping holds a number for each waiter of each object, in the objects' order; it
        // is zeroed, and zero is a value of an atomic.
        unsafe {
            let first = self.mapping.start().cast::<Cell>().add(self.kinds.len()).cast::<AtomicI64>();
            std::slice::from_raw_parts(first.add(before), waiters(&self.kinds[index].kind))
        }
    }

    fn cell(&self, index: usize) -> &Cell {
        assert!(index < self.kinds.len());
        // SAFETY: the mapping holds a cell for each object (the index is checked), is zeroed and aligned to pages, and
        // a cell consists of atomics only, for which zero is a value.
        unsafe { &*self.mapping.start().cast::<Cell>().add(index) }
    }
}

/// That a worker comes to a barrier, as long as it is there.
#[derive(Debug)]
pub struct BarrierMember {
    objects: SharedObjects,
    index: usize,
}

impl Drop for BarrierMember {
    fn drop(&mut self) {
        let (objects, index) = (&self.objects, self.index);
        let arrival = objects.cell(index).barrier.leave(objects.is_own(index));
        objects.tell(index, arrival);
    }
}

/// How many semaphores of their own there are.
fn waiters(kind: &SharedKind) -> usize {
    match kind {
        SharedKind::Semaphore { waiters, .. } => *waiters as usize,
        SharedKind::Lanes { count, .. } | SharedKind::Servers { count } => *count as usize,
        _ => 0,
    }
}

impl Object {
    fn cell(&self) -> &Cell {
        self.objects.cell(self.index)
    }

    /// Takes so much: tokens, semaphore counts, or one operation's part of a weight. A counter is raised.
    pub fn take(&mut self, amount: i64, now: Tick) -> Answer {
        match self.objects.kinds[self.index].kind {
            SharedKind::Tokens { per_second, queue_s } => self.take_tokens(amount, per_second, queue_s, now),
            SharedKind::Semaphore { initial, waiters: 0, .. } => {
                self.change(-amount, 0, i64::MAX, initial as i64)
            }
            SharedKind::Semaphore { initial, .. } => self.take_own(amount, initial as i64),
            SharedKind::Counter | SharedKind::Done { .. } => self.change(amount, i64::MIN, i64::MAX, 0),
            SharedKind::Barrier => self.meet(),
            SharedKind::Weights { most } => self.take_turn(most),
            SharedKind::Lanes { initial, .. } => self.change_lane(-amount, initial as i64),
            SharedKind::Servers { .. } => self.take_server(amount, now),
            SharedKind::Requests(_) => self.take_request(now),
            SharedKind::Signal => self.await_signal(),
        }
    }

    /// Gives so much back, or raises a counter.
    pub fn post(&mut self, amount: i64) -> Answer {
        match self.objects.kinds[self.index].kind {
            SharedKind::Semaphore { initial, most, waiters } => {
                if waiters > 0 {
                    coroutine::shared_changed(self.cell());
                }
                // Whoever has taken least has most left, and the least room.
                let taken = self.objects.taken(self.index).iter().map(|taken| taken.load(Relaxed)).min();
                let most = i64::try_from(most).unwrap_or(i64::MAX).saturating_add(taken.unwrap_or(0));
                self.change(amount, i64::MIN, most, initial as i64)
            }
            SharedKind::Counter | SharedKind::Done { .. } => self.change(amount, i64::MIN, i64::MAX, 0),
            SharedKind::Signal => self.change(1, i64::MIN, i64::MAX, 0),
            SharedKind::Lanes { .. } => self.change_lane(amount, i64::MAX / 2),
            SharedKind::Tokens { .. }
            | SharedKind::Barrier
            | SharedKind::Weights { .. }
            | SharedKind::Servers { .. }
            | SharedKind::Requests(_) => Answer::Granted,
        }
    }

    /// Gives so much, even where that leads beyond the highest value.
    pub fn post_beyond(&mut self, amount: i64) -> Answer {
        match self.objects.kinds[self.index].kind {
            SharedKind::Semaphore { .. } => self.change(amount, i64::MIN, i64::MAX, 0),
            _ => self.post(amount),
        }
    }

    /// A counter's value, or the posts of a semaphore less its waits.
    pub fn value(&self) -> i64 {
        self.cell().value.load(Relaxed)
    }

    /// How many whole units a count has risen by that nobody has settled; they are settled by it.
    pub fn settle(&self, unit: u64) -> i64 {
        let (unit, value, mut due) = (i64::try_from(unit).unwrap_or(i64::MAX).max(1), self.value(), 0);
        let _ = self.cell().weight.fetch_update(Relaxed, Relaxed, |settled| {
            due = (value - settled).max(0) / unit;
            (due > 0).then_some(settled + due * unit)
        });
        due
    }

    /// Takes from this waiter's own semaphore, which got every post.
    fn take_own(&mut self, amount: i64, initial: i64) -> Answer {
        let taken = self.objects.taken(self.index);
        let come = || self.cell().weight.fetch_add(1, Relaxed) as usize % taken.len();
        let own = self.own.unwrap_or_else(come);
        let mine = taken[own].load(Relaxed);
        let granted = self.value().saturating_add(initial).saturating_sub(mine) >= amount;
        if granted {
            taken[own].store(mine.saturating_add(amount), Relaxed);
        }
        self.own = Some(own);
        if !granted {
            coroutine::ask_after_change(self.cell());
        }
        if granted { Answer::Granted } else { Answer::Wait }
    }

    /// The same object for the lanes of a worker, in a phase that began then.
    pub fn of_worker(mut self, worker: u32, wanted: &SharedUse, start: Tick) -> Self {
        self.start = start;
        let each = wanted.lanes.max(1) as usize;
        self.lanes = ((worker / wanted.sharers.max(1)) as usize * each, each, wanted.first_lane as usize);
        self
    }

    /// Moves the value of the lane whose turn it is, unless that leads below 0.
    fn change_lane(&mut self, by: i64, initial: i64) -> Answer {
        let lane = self.lane();
        let seen = lane.load(Relaxed) as u32;
        if !moved(lane, by, (0, i64::MAX), initial) {
            coroutine::ask_after_change(lane);
            self.lane_seen = seen;
            return Answer::Wait;
        }
        // What is taken lets nobody go on.
        if by > 0 {
            futex::wake(lower_half(lane));
            coroutine::shared_changed(lane);
        }
        self.lanes.2 = self.lanes.2.wrapping_add(1);
        Answer::Granted
    }

    fn lane(&self) -> &AtomicI64 {
        let (first, each, uses) = self.lanes;
        let all = self.objects.taken(self.index);
        &all[(first + uses % each) % all.len()]
    }

    /// Sleeps until the lane or barrier changes that did not let it go on, at most so long. Whether it is one.
    pub fn await_change(&self, most_ns: u64) -> bool {
        match (&self.objects.kinds[self.index].kind, self.round) {
            (SharedKind::Lanes { .. }, _) => futex::wait(lower_half(self.lane()), self.lane_seen, most_ns),
            (SharedKind::Barrier, Some(round)) => {
                futex::wait(self.cell().barrier.round_word(), round, most_ns);
            }
            _ => return false,
        }
        true
    }

    /// Joins those who come to a barrier: once for each worker, whose earlier uses are told by what they have joined.
    ///
    /// # Errors
    /// There are too many.
    pub fn join(mut self, joined: &mut Vec<Arc<BarrierMember>>) -> Result<Self, Failure> {
        if !self.is_barrier() {
            return Ok(self);
        }
        let known = joined.iter().find(|member| member.index == self.index);
        self.member = Some(match known {
            Some(member) => Arc::clone(member),
            None => {
                if self.cell().barrier.members().0 >= MEMBERS_MOST {
                    let name = &self.objects.kinds[self.index].name;
                    return Err(Failure::new(format!("more than {MEMBERS_MOST} workers come to `{name}`")));
                }
                self.cell().barrier.join();
                let member = Arc::new(BarrierMember { objects: self.objects.clone(), index: self.index });
                joined.push(Arc::clone(&member));
                member
            }
        });
        Ok(self)
    }

    pub fn is_barrier(&self) -> bool {
        self.objects.kinds[self.index].kind == SharedKind::Barrier
    }

    /// Comes to a barrier, or asks whether those have come that were missing.
    fn meet(&mut self) -> Answer {
        let barrier = &self.cell().barrier;
        let is_granted = match self.round {
            None => {
                let (round, arrival) = barrier.arrive(self.objects.is_own(self.index));
                self.objects.tell(self.index, arrival);
                self.round = Some(round);
                arrival == Arrival::Opened
            }
            Some(round) => barrier.round() != round,
        };
        if is_granted {
            self.round = None;
            return Answer::Granted;
        }
        coroutine::ask_after_change(self.cell());
        Answer::Wait
    }

    /// Takes time of the server that is free first: at once, in the order of asking. It is over when the time is.
    fn take_server(&mut self, ns: i64, now: Tick) -> Answer {
        let due = match self.due {
            Some(due) => due,
            None => self.claim_server(ns, i64::try_from(now).unwrap_or(i64::MAX)) as Tick,
        };
        self.due = (now < due).then_some(due);
        if now < due { Answer::At(due) } else { Answer::Granted }
    }

    fn claim_server(&self, ns: i64, now: i64) -> i64 {
        let servers = self.objects.taken(self.index);
        loop {
            let free = servers.iter().map(|server| (server.load(Relaxed), server));
            let Some((until, server)) = free.min_by_key(|(until, _)| *until) else { return now };
            let done = until.max(now).saturating_add(ns);
            if server.compare_exchange(until, done, Relaxed, Relaxed).is_ok() {
                return done;
            }
        }
    }

    /// Takes the next request, and has it when it has arrived.
    fn take_request(&mut self, now: Tick) -> Answer {
        let number = match self.due {
            Some(_) => self.taken.unwrap_or(u64::MAX),
            None => {
                let (rank, ranks) = self.objects.turn;
                (self.cell().value.fetch_add(1, Relaxed) as u64).saturating_mul(ranks) + rank
            }
        };
        self.taken = Some(number);
        let Some(arrival) = self.request().map(|(_, _, arrival)| arrival) else { return Answer::Over };
        self.due = (now < arrival).then_some(arrival);
        if now < arrival { Answer::At(arrival) } else { Answer::Granted }
    }

    /// The request that this worker has taken, with all others, and when it arrived; where they have no times, none.
    pub fn request(&self) -> Option<(&RequestList, &CacheRequest, Tick)> {
        let list = self.objects.requests.get(self.index)?.as_ref()?;
        let request = list.get(self.taken?)?;
        Some((list, request, self.start + request.at_ns))
    }

    /// Moves the value, unless that leads out of its bounds.
    fn change(&self, by: i64, least: i64, most: i64, initial: i64) -> Answer {
        if moved(&self.cell().value, by, (least, most), initial) { Answer::Granted } else { Answer::Wait }
    }

    /// Tokens arrive at equal distances; those that nobody took within the queue's length are lost. Whoever asks claims
    /// the next ones, so that one who wants many is not overtaken for ever by those who want few.
    fn take_tokens(&mut self, amount: i64, per_second: f64, queue_s: f64, now: Tick) -> Answer {
        if per_second <= 0.0 {
            return Answer::Wait;
        }
        let due = match self.due {
            Some(due) => due,
            None => self.claim(amount.max(1) as f64, per_second, queue_s, now),
        };
        self.due = (now < due).then_some(due);
        if now < due { Answer::At(due) } else { Answer::Granted }
    }

    /// Claims tokens; when the last of them arrives.
    fn claim(&self, amount: f64, per_second: f64, queue_s: f64, now: Tick) -> Tick {
        let fraction = f64::from(1u32 << FRACTION_BITS);
        let (gap, ticks) = (1e9 / per_second * fraction, now << FRACTION_BITS);
        let oldest = ticks.saturating_sub((queue_s * 1e9 * fraction) as u64);
        let mut last = 0;
        // Nothing has queued up before anybody asked; from then on it does.
        let _ = self.cell().arrival.compare_exchange(0, ticks.max(1), Relaxed, Relaxed);
        let _ = self.cell().arrival.fetch_update(Relaxed, Relaxed, |arrival| {
            let first = arrival.max(oldest);
            last = first + (gap * (amount - 1.0)) as u64;
            Some(first + (gap * amount) as u64)
        });
        if last <= ticks { now } else { (last >> FRACTION_BITS) + 1 }
    }

    /// Waits for a post that this worker has not been woken by: one that comes just before it waits is not lost, or two
    /// that wake each other by turns would both sleep for ever.
    fn await_signal(&mut self) -> Answer {
        let posts = self.cell().value.load(Relaxed);
        if std::mem::replace(&mut self.seen, posts) == posts {
            return Answer::Wait;
        }
        Answer::Granted
    }

    /// A worker may be ahead of its share of all operations by so many.
    fn take_turn(&mut self, most: u64) -> Answer {
        let (total, weights) = (self.cell().value.load(Relaxed), self.cell().weight.load(Relaxed));
        let mine = i128::from(self.granted) * i128::from(weights);
        let due = i128::from(total) * i128::from(self.weight);
        if mine > due + i128::from(most) * i128::from(weights) {
            return Answer::Wait;
        }
        self.granted += 1;
        self.cell().value.fetch_add(1, Relaxed);
        Answer::Granted
    }
}

impl Drop for Object {
    /// A worker that has ended no longer holds the others back.
    fn drop(&mut self) {
        if self.weight != 0 {
            self.cell().weight.fetch_sub(self.weight, Relaxed);
            self.cell().value.fetch_sub(self.granted, Relaxed);
        }
        if let Some(own) = self.own {
            self.objects.taken(self.index)[own].store(i64::MAX / 2, Relaxed);
        }
    }
}

/// What changes of a number with each small change of it, as a word to wait for.
fn lower_half(number: &AtomicI64) -> &AtomicU32 {
    let half = usize::from(cfg!(target_endian = "big"));
    // SAFETY: both halves lie in the number, are aligned for a word, and only atomics ever touch them.
    unsafe { &*number.as_ptr().cast::<AtomicU32>().add(half) }
}

/// Moves a value, unless that leads out of its bounds; whether it was moved.
fn moved(cell: &AtomicI64, by: i64, (least, most): (i64, i64), initial: i64) -> bool {
    let next = |value: i64| {
        let next = value.saturating_add(by);
        let level = next.saturating_add(initial);
        (level >= least && level <= most).then_some(next)
    };
    cell.fetch_update(Relaxed, Relaxed, next).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn objects(kind: SharedKind) -> SharedObjects {
        SharedObjects::new(&[SharedObject::new("s", kind)]).unwrap()
    }

    fn used(objects: &SharedObjects, amount: i64) -> Object {
        objects.object(&SharedUse::new("s", amount)).unwrap()
    }

    #[test]
    fn tokens_arrive_on_time_and_the_queue_is_bounded() {
        let objects = objects(SharedKind::Tokens { per_second: 1000.0, queue_s: 0.01 });
        let (mut a, mut b) = (used(&objects, 1), used(&objects, 1));
        let (first, second) = (1_000_000_000, 2_000_000_000);
        let taken = (0..100).filter(|_| a.take(1, first) == Answer::Granted).count();
        assert_eq!(taken, 1, "nothing queued up before the first question");
        // The one that it has claimed, ten tokens of 1 ms that queue up, and the one that arrives now.
        let taken = (0..100).take_while(|_| a.take(1, second) == Answer::Granted).count();
        assert_eq!(taken, 12);
        assert_eq!(b.take(1, second), Answer::At(second + 2_000_001), "a has claimed the next one");
        assert_eq!(b.take(1, second + 2_000_001), Answer::Granted);
        assert_eq!(a.take(1, second + 2_000_001), Answer::Granted);
        assert!(matches!(a.take(3, second + 2_000_001), Answer::At(at) if at > second + 4_900_000));
    }

    #[test]
    fn whoever_wants_many_tokens_is_not_overtaken_for_ever() {
        let objects = objects(SharedKind::Tokens { per_second: 1000.0, queue_s: 0.01 });
        let (mut many, mut one) = (used(&objects, 1), used(&objects, 1));
        let (mut few, mut all) = (0, 0);
        for ms in 0..100 {
            let now = 1_000_000_000 + ms * 1_000_001;
            few += u64::from(one.take(1, now) == Answer::Granted);
            all += u64::from(many.take(9, now) == Answer::Granted) * 9;
        }
        assert!(all >= 81 && few >= 9 && few + all <= 100, "{few} {all}");
    }

    #[test]
    fn whoever_asks_for_many_tokens_at_once_gets_them_in_their_time() {
        let objects = objects(SharedKind::Tokens { per_second: 1000.0, queue_s: 0.01 });
        let mut a = used(&objects, 1);
        let first = 1_000_000_000;
        assert!(matches!(a.take(10, first), Answer::At(at) if at > first + 8_900_000));
        assert_eq!(a.take(10, first + 9_000_001), Answer::Granted, "it was asked for at the first time");
        // More than the queue holds.
        let second = first + 10_000_000;
        assert!(matches!(a.take(50, second), Answer::At(_)));
        assert_eq!(a.take(50, second + 50_000_000), Answer::Granted);
    }

    #[test]
    fn each_worker_has_lanes_of_its_own_and_takes_them_in_turn() {
        let objects = objects(SharedKind::Lanes { count: 4, initial: 1 });
        let lane = |worker, lanes, sharers| {
            let wanted = SharedUse { lanes, sharers, ..SharedUse::new("s", 1) };
            objects.object(&wanted).unwrap().of_worker(worker, &wanted, 0)
        };
        // The second of two workers that have two lanes each, and whoever fills the last of them.
        let (mut second, mut fills) = (lane(1, 2, 0), lane(3, 0, 0));
        let taken = [(); 3].map(|()| second.take(1, 0));
        assert_eq!(taken, [Answer::Granted, Answer::Granted, Answer::Wait], "the turn is the third lane's");
        assert_eq!([fills.post(1), second.take(1, 0)], [Answer::Granted, Answer::Wait]);
        assert_eq!([lane(5, 0, 2).post(1), second.take(1, 0)], [Answer::Granted, Answer::Granted]);
        assert_eq!(lane(0, 2, 0).take(1, 0), Answer::Granted, "the first worker's are untouched");
    }

    #[test]
    fn who_sleeps_for_a_lane_is_woken_by_a_post_before_or_after() {
        for posted_first in [true, false] {
            let objects = objects(SharedKind::Lanes { count: 1, initial: 0 });
            let (mut waits, mut posts) = (objects.at(0), objects.at(0));
            assert_eq!(waits.take(1, 0), Answer::Wait);
            let mut post = move || assert_eq!(posts.post(1), Answer::Granted);
            std::thread::scope(|scope| {
                if posted_first {
                    post()
                } else {
                    drop(scope.spawn(post))
                }
                assert!(waits.await_change(u64::MAX / 4));
            });
            assert_eq!(waits.take(1, 0), Answer::Granted);
        }
    }

    #[test]
    fn a_barrier_lets_all_go_on_together_and_waits_for_nobody_who_is_over() {
        let objects = objects(SharedKind::Barrier);
        // The second worker comes to it in two places of its script.
        let (mut first, mut second) = (Vec::new(), Vec::new());
        let mut a = used(&objects, 1).join(&mut first).unwrap();
        let [mut b, mut later] = [(); 2].map(|()| used(&objects, 1).join(&mut second).unwrap());
        assert_eq!([a.take(1, 0), a.take(1, 0), b.take(1, 0)], [Answer::Wait, Answer::Wait, Answer::Granted]);
        assert_eq!([later.take(1, 0), a.take(1, 0)], [Answer::Wait, Answer::Granted]);
        assert_eq!([a.take(1, 0), later.take(1, 0)], [Answer::Granted, Answer::Granted]);
        assert_eq!(a.take(1, 0), Answer::Wait);
        drop((b, later, second));
        assert_eq!([a.take(1, 0), a.take(1, 0)], [Answer::Granted; 2], "nobody else is left");
    }

    #[test]
    fn who_sleeps_at_a_barrier_is_woken_by_the_last_to_come() {
        let objects = objects(SharedKind::Barrier);
        let [mut waits, mut comes] = [(); 2].map(|()| used(&objects, 1).join(&mut Vec::new()).unwrap());
        assert_eq!(waits.take(1, 0), Answer::Wait);
        std::thread::scope(|scope| {
            scope.spawn(move || assert_eq!(comes.take(1, 0), Answer::Granted));
            assert!(waits.await_change(u64::MAX / 4));
        });
        assert_eq!(waits.take(1, 0), Answer::Granted);
    }

    #[test]
    fn a_barrier_over_ranks_opens_when_no_rank_misses_anybody() {
        let shared =
            [SharedObject::new("s", SharedKind::Barrier), SharedObject::new("t", SharedKind::Barrier)];
        let start = crate::start_barrier::StartBarrier::new(&[2]).unwrap();
        let objects = SharedObjects::new(&shared).unwrap().over_ranks(Some(start.bell()));
        let [mut a, mut b] = [(); 2].map(|()| used(&objects, 1).join(&mut Vec::new()).unwrap());
        assert_eq!((a.take(1, 0), objects.barriers_brought()), (Answer::Wait, None));
        assert_eq!((b.take(1, 0), objects.barriers_brought()), (Answer::Wait, Some(vec![0, 0, 2])));
        // On another rank somebody is missing; then nobody is.
        assert!(!objects.open_barriers(&[1, 0, 4]));
        assert_eq!([a.take(1, 0), b.take(1, 0)], [Answer::Wait; 2]);
        assert!(!objects.open_barriers(&[0, 0, 4]));
        assert_eq!([a.take(1, 0), b.take(1, 0)], [Answer::Granted; 2]);
        drop((a, b));
        assert_eq!(
            objects.barriers_brought(),
            Some(vec![0, 0, 0]),
            "others are not held up by a rank that is over"
        );
        assert!(objects.open_barriers(&[0, 0, 0]));
    }

    #[test]
    fn servers_take_the_first_free_one_in_the_order_of_asking() {
        let objects = objects(SharedKind::Servers { count: 2 });
        let [mut a, mut b, mut c] = [0, 1, 2].map(|_| objects.at(0));
        assert_eq!([a.take(100, 10), b.take(30, 10), c.take(50, 20)], [110, 40, 90].map(Answer::At));
        assert_eq!([b.take(30, 40), c.take(50, 90)], [Answer::Granted, Answer::Granted]);
        assert_eq!(b.take(5, 200), Answer::At(205), "time that nobody took is lost");
    }

    #[test]
    fn ranks_take_requests_in_turn() {
        let asked = iodyno_model::kv_cache::CacheRequests { count: 5, capacity: 1, ..Default::default() };
        let taken = |rank, ranks| {
            let objects = objects(SharedKind::Requests(Box::new(asked.clone()))).on_rank(rank, ranks);
            let mut one = objects.at(0);
            let taken = std::iter::from_fn(|| (one.take(1, 0) == Answer::Granted).then_some(one.taken?));
            taken.collect::<Vec<_>>()
        };
        assert_eq!([taken(0, 2), taken(1, 2)], [vec![0, 2, 4], vec![1, 3]]);
        assert_eq!(taken(0, 1), [0, 1, 2, 3, 4]);
    }

    #[test]
    fn what_has_no_lanes_is_not_divided_into_some() {
        let objects = objects(SharedKind::Counter);
        let divided = SharedUse { lanes: 2, ..SharedUse::new("s", 1) };
        let refused = objects.object(&divided).expect_err("it has no lanes");
        assert_eq!(refused.message, "`s` has no lanes");
    }

    #[test]
    fn a_semaphore_counts_and_has_a_top() {
        let objects = objects(SharedKind::Semaphore { initial: 2, most: 3, waiters: 0 });
        let (mut a, mut b) = (used(&objects, 1), used(&objects, 1));
        assert_eq!(
            [a.take(1, 0), b.take(1, 0), a.take(1, 0)],
            [Answer::Granted, Answer::Granted, Answer::Wait]
        );
        assert_eq!([b.post(3), b.post(1)], [Answer::Granted, Answer::Wait]);
        assert_eq!([b.post_beyond(1), b.post(1)], [Answer::Granted, Answer::Wait]);
        assert_eq!(a.take(4, 0), Answer::Granted);
    }

    #[test]
    fn a_post_goes_to_every_waiter_that_has_its_own_semaphore() {
        let objects = objects(SharedKind::Semaphore { initial: 0, most: 3, waiters: 2 });
        let (mut a, mut b, mut poster) = (used(&objects, 1), used(&objects, 1), used(&objects, 1));
        assert_eq!([a.take(1, 0), poster.post(2)], [Answer::Wait, Answer::Granted]);
        assert_eq!([a.take(2, 0), a.take(1, 0)], [Answer::Granted, Answer::Wait]);
        assert_eq!([poster.post(1), poster.post(1)], [Answer::Granted, Answer::Wait], "b has no room");
        assert_eq!([b.take(3, 0), a.take(1, 0)], [Answer::Granted, Answer::Granted]);
        drop(b);
        assert_eq!([poster.post(3), poster.post(1)], [Answer::Granted, Answer::Wait], "a has no room");
        assert_eq!([a.take(3, 0), poster.post(3)], [Answer::Granted, Answer::Granted]);
    }

    #[test]
    fn weights_hold_the_one_ahead_until_the_other_leaves() {
        let objects = objects(SharedKind::Weights { most: 0 });
        let (mut one, mut three) = (used(&objects, 1), used(&objects, 3));
        let mut counts = [0, 0];
        for _ in 0..400 {
            counts[0] += i32::from(one.take(1, 0) == Answer::Granted);
            counts[1] += i32::from(three.take(1, 0) == Answer::Granted);
        }
        assert_eq!(counts[1], 400, "the heavier is never held");
        assert!((132..=135).contains(&counts[0]), "{counts:?}");
        drop(three);
        assert!((0..100).all(|_| one.take(1, 0) == Answer::Granted));
    }

    #[test]
    fn a_signal_wakes_everybody_once_and_none_is_lost() {
        let objects = objects(SharedKind::Signal);
        let (mut a, mut b, mut poster) = (used(&objects, 1), used(&objects, 1), used(&objects, 1));
        assert_eq!([a.take(1, 0), b.take(1, 0)], [Answer::Wait, Answer::Wait]);
        assert_eq!([poster.post(1), poster.post(1)], [Answer::Granted, Answer::Granted]);
        assert_eq!(
            [a.take(1, 0), b.take(1, 0), a.take(1, 0)],
            [Answer::Granted, Answer::Granted, Answer::Wait]
        );
    }

    #[test]
    fn an_unknown_name_is_said() {
        let objects = objects(SharedKind::Counter);
        let failure = objects.object(&SharedUse::new("t", 1)).unwrap_err();
        assert!(failure.message.contains("`t`"));
        used(&objects, 1).take(5, 0);
        assert_eq!(used(&objects, 1).value(), 5);
    }

    #[test]
    fn what_is_done_is_settled_once() {
        let kind = SharedKind::Done { of: vec!["read".into()], bytes: false };
        let objects = objects(kind);
        let labels = [("write".to_string(), Verb::Write), ("read".to_string(), Verb::Read)];
        let mut watched = objects.watched(&labels);
        assert_eq!((watched.len(), watched[0].0, watched[0].1), (1, 1, false));
        (0..7).for_each(|_| _ = watched[0].2.post(1));
        let (a, b) = (used(&objects, 1), used(&objects, 1));
        assert_eq!([a.settle(2), b.settle(2), b.settle(1), a.settle(1)], [3, 0, 1, 0]);
        assert_eq!(a.value(), 7, "what is settled was done all the same");
    }
}
