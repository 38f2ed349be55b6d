//! Operations that wait for each other: those read ahead, what each still waits for, and which may be issued now.
//!
//! As many as the window holds are looked at; one that is further back has ended. All memory is there from the start.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use iodyno_model::Verb;
use iodyno_trace::replay::{EDGES_MOST, OperationFlags, ReplayOperation, WINDOW};

use super::ends::WorkerEnds;
use super::ring::OperationRing;
use crate::clock::Tick;
use crate::io::Slot;

/// Operations that are taken in for each one that is issued: enough to fill the window without a stall.
const INTAKE: usize = 64;
const NONE: u32 = u32::MAX;
const SIZE: usize = WINDOW as usize;
const EDGES: usize = SIZE * EDGES_MOST;
/// Edges beyond those that each operation has itself. Where all are taken, an operation waits for all before it.
const OTHERS: usize = 8 * SIZE;

/// What the window answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WindowAnswer {
    /// The operation of this number, which could have been issued since then.
    Operation(u64, Tick),
    Later(Tick),
    /// Until something ends.
    Wait,
    /// The trace is not read fast enough.
    Starved,
    Done,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Waiting,
    Ready,
    InFlight,
    /// Another worker issues it.
    Elsewhere,
    Ended,
}

#[derive(Clone, Copy, Debug)]
struct WindowEntry {
    operation: ReplayOperation,
    state: State,
    /// What it still waits for.
    waits: u32,
    /// When it may be issued, by all that is known.
    ready: Tick,
    ended: Tick,
    /// The first of the edges that wait for it: an index into `edges`, or beyond them into `others`.
    dependents: u32,
    /// The next of its stream that has yet to be let go.
    next: u32,
}

/// A recorded thread.
#[derive(Clone, Copy, Debug)]
struct ThreadQueue {
    head: u32,
    tail: u32,
    in_flight: u32,
    /// When its last operation ended.
    ended: Tick,
}

pub(super) struct Window {
    entries: Box<[WindowEntry]>,
    /// By entry and edge: the next edge that waits for the same operation.
    edges: Box<[u32]>,
    /// Edges of entries that wait for more: the entry, and the next edge that waits for the same operation, or the next that
    /// is free.
    others: Box<[(u32, u32)]>,
    free: u32,
    /// Further distances of the operation that is taken in next.
    more: Vec<u32>,
    streams: Box<[ThreadQueue]>,
    ready: BinaryHeap<Reverse<(Tick, u64)>>,
    /// Operations taken in so far, and the oldest that has not ended.
    taken: u64,
    oldest: u64,
    /// Those of this worker among them that have not ended.
    own: u32,
    in_flight: u32,
    /// By slot: the operation in flight there.
    slots: Box<[u64]>,
    start: Tick,
    elsewhere: Option<Box<Elsewhere>>,
}

/// What is known of the other workers' operations.
struct Elsewhere {
    ends: WorkerEnds,
    /// Operations that some of this worker wait for.
    awaited: Vec<u64>,
    /// Files whose names mean something else now.
    renamed: Vec<u32>,
    /// Since when nothing could be issued; none: something was issued last.
    waits_since: Option<Tick>,
}

/// The shortest and the longest pause before it is asked again whether others' operations have ended, ns: above what a thread
/// spins for, since those that are waited for may need its processor.
const PAUSE_NS: (u64, u64) = (30_000, 1_000_000);

/// Operations of others that are looked at for each one that is issued; where nothing can be issued all of them are.
const AWAITED: usize = 64;

fn index(number: u64) -> usize {
    number as usize % SIZE
}

impl Window {
    /// `ends`: where others issue operations of the same trace.
    pub fn new(streams: u32, depth: u32, start: Tick, ends: Option<WorkerEnds>) -> Window {
        let stream = ThreadQueue { head: NONE, tail: NONE, in_flight: 0, ended: start };
        let entry = WindowEntry {
            operation: ReplayOperation::NOTHING,
            state: State::Ended,
            waits: 0,
            ready: 0,
            ended: 0,
            dependents: NONE,
            next: NONE,
        };
        Window {
            entries: vec![entry; SIZE].into(),
            edges: vec![NONE; EDGES].into(),
            others: (1..=OTHERS as u32)
                .map(|next| (0, if next < OTHERS as u32 { next } else { NONE }))
                .collect(),
            free: 0,
            more: Vec::with_capacity(SIZE),
            streams: vec![stream; streams.max(1) as usize].into(),
            ready: BinaryHeap::with_capacity(SIZE),
            taken: 0,
            oldest: 0,
            own: 0,
            in_flight: 0,
            slots: vec![0; depth.max(1) as usize].into(),
            start,
            elsewhere: ends.map(|ends| {
                let (awaited, renamed) = (Vec::with_capacity(SIZE), Vec::with_capacity(2 * SIZE));
                Box::new(Elsewhere { ends, awaited, renamed, waits_since: None })
            }),
        }
    }

    /// The operation that may be issued next. It stays the next until it is [begun](Self::begin).
    pub fn next(&mut self, now: Tick, ring: &mut OperationRing) -> WindowAnswer {
        if self.elsewhere.is_some() {
            self.look_elsewhere(now);
        }
        let (mut starved, mut intake) = (false, 0);
        while self.taken - self.oldest < SIZE as u64 && (intake < INTAKE || !self.has_ready(now)) {
            intake += 1;
            let Some(operation) = ring.peek() else {
                starved = !ring.is_over();
                break;
            };
            if operation.flags.has(OperationFlags::FENCE) && self.oldest < self.taken {
                break;
            }
            let operation = *operation;
            ring.take();
            if operation.flags.has(OperationFlags::MORE) {
                self.more.extend(operation.edges.iter().filter(|back| **back > 0));
                continue;
            }
            self.take_in(operation, now);
        }
        match self.ready.peek() {
            Some(Reverse((ready, number))) if *ready <= now => WindowAnswer::Operation(*number, *ready),
            // Those that are not taken in yet are due later, or wait for something.
            Some(Reverse((ready, _))) if !starved => WindowAnswer::Later(*ready),
            _ if starved => WindowAnswer::Starved,
            // What is left is others'.
            _ if self.own == 0 && ring.is_over() => WindowAnswer::Done,
            _ if self.oldest < self.taken && self.elsewhere.is_some() => self.await_others(now),
            _ if self.oldest < self.taken && self.in_flight > 0 => WindowAnswer::Wait,
            _ if self.oldest < self.taken => WindowAnswer::Later(now),
            _ if ring.is_over() => WindowAnswer::Done,
            _ => WindowAnswer::Later(now),
        }
    }

    fn has_ready(&self, now: Tick) -> bool {
        self.ready.peek().is_some_and(|Reverse((ready, _))| *ready <= now)
    }

    pub fn operation(&self, number: u64) -> &ReplayOperation {
        &self.entries[index(number)].operation
    }

    /// It is issued.
    pub fn begin(&mut self, number: u64, slot: Slot) {
        self.ready.pop();
        self.entries[index(number)].state = State::InFlight;
        self.slots[slot as usize] = number;
        self.in_flight += 1;
        if let Some(elsewhere) = &mut self.elsewhere {
            elsewhere.waits_since = None;
        }
    }

    /// It has ended, and with it what others waited for.
    pub fn end(&mut self, slot: Slot, now: Tick) -> ReplayOperation {
        let number = self.slots[slot as usize];
        self.in_flight -= 1;
        self.own -= 1;
        if let Some(elsewhere) = &self.elsewhere {
            elsewhere.ends.end(number, now);
        }
        let operation = self.entries[index(number)].operation;
        self.settle(number, now);
        let stream = &mut self.streams[operation.stream as usize];
        stream.ended = now;
        if operation.depth > 0 {
            stream.in_flight -= 1;
            self.let_go(operation.stream);
        }
        self.advance();
        operation
    }

    /// An operation has ended: what waits for it has one thing less to wait for.
    fn settle(&mut self, number: u64, now: Tick) {
        let entry = &mut self.entries[index(number)];
        (entry.state, entry.ended) = (State::Ended, now);
        let mut edge = std::mem::replace(&mut entry.dependents, NONE);
        while edge != NONE {
            let (waiting, first) = match (edge as usize).checked_sub(EDGES) {
                None => {
                    let own = edge as usize;
                    edge = self.edges[own];
                    (own / EDGES_MOST, own.is_multiple_of(EDGES_MOST))
                }
                Some(other) => {
                    let (waiting, next) = std::mem::replace(&mut self.others[other], (0, self.free));
                    self.free = other as u32;
                    edge = next;
                    (waiting as usize, false)
                }
            };
            let dependent = &mut self.entries[waiting];
            let think_ns = if first { dependent.operation.think_ns } else { 0 };
            dependent.ready = dependent.ready.max(now + think_ns);
            self.relieve(waiting);
        }
    }

    /// Asks again after a quarter of the time that it has waited for others: few wake-ups, and little time lost.
    fn await_others(&mut self, now: Tick) -> WindowAnswer {
        let Some(elsewhere) = &mut self.elsewhere else { return WindowAnswer::Wait };
        let since = *elsewhere.waits_since.get_or_insert(now);
        WindowAnswer::Later(now + ((now - since) / 4).clamp(PAUSE_NS.0, PAUSE_NS.1))
    }

    /// Hears which operations of others have ended that something waits for.
    #[inline(never)]
    fn look_elsewhere(&mut self, now: Tick) {
        let most = if self.has_ready(now) { AWAITED } else { SIZE };
        let mut at = 0;
        while let Some(elsewhere) = &mut self.elsewhere
            && at < elsewhere.awaited.len().min(most)
        {
            let number = elsewhere.awaited[at];
            let is_known = number < self.oldest || self.entries[index(number)].state != State::Elsewhere;
            if is_known || self.has_ended_elsewhere(number) {
                if let Some(elsewhere) = &mut self.elsewhere {
                    elsewhere.awaited.swap_remove(at);
                }
            } else {
                at += 1;
            }
        }
        self.advance();
    }

    /// Whether an operation of another worker has ended; it is settled then.
    fn has_ended_elsewhere(&mut self, number: u64) -> bool {
        let operation = self.entries[index(number)].operation;
        let Some(elsewhere) = &mut self.elsewhere else { return false };
        let Some(ended) = elsewhere.ends.ended(number, operation.stream) else { return false };
        elsewhere.renamed.extend(renamed(&operation));
        self.settle(number, ended);
        true
    }

    /// A file whose name means something else since an operation of another worker; each is told once.
    pub fn renamed(&mut self) -> Option<u32> {
        self.elsewhere.as_mut()?.renamed.pop()
    }

    /// Another worker's operation will be waited for, unless it has ended.
    fn await_elsewhere(&mut self, number: u64) {
        let entry = &self.entries[index(number)];
        let is_new = entry.state == State::Elsewhere && entry.dependents == NONE;
        if is_new
            && !self.has_ended_elsewhere(number)
            && let Some(elsewhere) = &mut self.elsewhere
        {
            elsewhere.awaited.push(number);
        }
    }

    /// Whether some wait for their time, or for others.
    pub fn is_waiting(&self) -> bool {
        self.own > 0
    }

    /// What an entry waits for beside its own edges: how many have yet to end, when the last that has did, and whether
    /// there was no room to note one.
    fn meet_others(&mut self, number: u64) -> (u32, Tick, bool) {
        let (mut waits, mut ended, mut is_full) = (0, 0, false);
        let mut more = std::mem::take(&mut self.more);
        for back in more.drain(..) {
            let other = number.checked_sub(u64::from(back)).filter(|other| *other + (SIZE as u64) > number);
            let Some(other) = other else { continue };
            self.await_elsewhere(other);
            let other = index(other);
            match (self.entries[other].state, self.others.get_mut(self.free as usize)) {
                (State::Ended, _) => ended = ended.max(self.entries[other].ended),
                (_, None) => is_full = true,
                (_, Some(node)) => {
                    let edge = self.free + EDGES as u32;
                    self.free = node.1;
                    let next = std::mem::replace(&mut self.entries[other].dependents, edge);
                    *node = (index(number) as u32, next);
                    waits += 1;
                }
            }
        }
        // Its room is used again.
        self.more = more;
        (waits, ended, is_full)
    }

    fn take_in(&mut self, mut operation: ReplayOperation, now: Tick) {
        let number = self.taken;
        let place = index(number);
        self.taken += 1;
        if operation.flags.has(OperationFlags::ELSEWHERE) {
            let state = State::Elsewhere;
            let (waits, ready, ended, dependents, next) = (0, 0, 0, NONE, NONE);
            self.entries[place] = WindowEntry { operation, state, waits, ready, ended, dependents, next };
            return;
        }
        self.own += 1;
        let mut ready = if operation.due_ns > 0 { self.start + operation.due_ns } else { self.start };
        let mut waits = 0;
        for (turn, back) in operation.edges.iter().enumerate().filter(|(_, back)| **back > 0) {
            let thinks = turn == 0 && operation.flags.has(OperationFlags::THINKS);
            let think_ns = if turn == 0 { operation.think_ns } else { 0 };
            let other = number.checked_sub(u64::from(*back));
            let other = other.filter(|other| *other + (SIZE as u64) > number);
            other.into_iter().for_each(|other| self.await_elsewhere(other));
            match other {
                Some(other) if self.entries[index(other)].state != State::Ended => {
                    let edge = place * EDGES_MOST + turn;
                    self.edges[edge] =
                        std::mem::replace(&mut self.entries[index(other)].dependents, edge as u32);
                    waits += 1;
                }
                Some(other) => ready = ready.max(self.entries[index(other)].ended + think_ns),
                // It ended long ago: no later than the last of its thread.
                None if thinks => {
                    ready = ready.max(self.streams[operation.stream as usize].ended + think_ns);
                }
                None => {}
            }
        }
        if !self.more.is_empty() {
            let (others, ended, is_full) = self.meet_others(number);
            (waits, ready) = (waits + others, ready.max(ended));
            if is_full {
                operation.flags = operation.flags.with(OperationFlags::BARRIER);
            }
        }
        let is_held = operation.flags.has(OperationFlags::BARRIER) && self.oldest < number;
        waits += u32::from(is_held) + u32::from(operation.depth > 0);
        // It could have been issued no earlier than it was known, where no time is its own.
        let ready = if operation.due_ns == 0 && operation.think_ns == 0 { ready.max(now) } else { ready };
        self.entries[place] = WindowEntry {
            operation,
            state: State::Waiting,
            waits,
            ready,
            ended: 0,
            dependents: NONE,
            next: NONE,
        };
        if operation.depth > 0 {
            self.enqueue(operation.stream, place as u32);
        } else if waits == 0 {
            self.release(place);
        }
    }

    /// One thing less that an entry waits for.
    fn relieve(&mut self, place: usize) {
        let entry = &mut self.entries[place];
        entry.waits -= 1;
        match (entry.waits, entry.operation.depth) {
            (0, 0) => self.release(place),
            (1, 1..) => self.let_go(self.entries[place].operation.stream),
            _ => {}
        }
    }

    fn release(&mut self, place: usize) {
        let entry = &mut self.entries[place];
        entry.state = State::Ready;
        let ready = entry.ready;
        // The number is the one of this window that lies at this place.
        let behind = index(self.taken - 1 + SIZE as u64 - place as u64);
        self.ready.push(Reverse((ready, self.taken - 1 - behind as u64)));
    }

    fn enqueue(&mut self, stream: u32, place: u32) {
        let state = &mut self.streams[stream as usize];
        let last = std::mem::replace(&mut state.tail, place);
        match last {
            NONE => state.head = place,
            last => self.entries[last as usize].next = place,
        }
        self.let_go(stream);
    }

    /// Lets those of a stream go that may be in flight beside the others, in their order.
    fn let_go(&mut self, stream: u32) {
        loop {
            let ThreadQueue { head, in_flight, .. } = self.streams[stream as usize];
            if head == NONE {
                return;
            }
            let WindowEntry { waits, next, operation, .. } = self.entries[head as usize];
            if waits > 1 || in_flight >= operation.depth {
                return;
            }
            let state = &mut self.streams[stream as usize];
            (state.head, state.in_flight) = (next, in_flight + 1);
            if next == NONE {
                state.tail = NONE;
            }
            self.entries[head as usize].waits = 0;
            self.release(head as usize);
        }
    }

    fn has_ended(&mut self, number: u64) -> bool {
        match self.entries[index(number)].state {
            State::Ended => true,
            State::Elsewhere => self.has_ended_elsewhere(number),
            _ => false,
        }
    }

    /// The oldest moves on; what waited for all before it may go.
    fn advance(&mut self) {
        while self.oldest < self.taken && self.has_ended(self.oldest) {
            self.oldest += 1;
            if self.oldest < self.taken {
                let place = index(self.oldest);
                let entry = &mut self.entries[place];
                if entry.state == State::Waiting && entry.operation.flags.has(OperationFlags::BARRIER) {
                    entry.operation.flags = entry.operation.flags.without(OperationFlags::BARRIER);
                    self.relieve(place);
                }
            }
        }
    }
}

/// The files whose names mean something else once an operation has ended.
fn renamed(operation: &ReplayOperation) -> Option<u32> {
    match operation.verb {
        Verb::Create => Some(operation.file),
        Verb::Open if operation.flags.has(OperationFlags::CREATES) => Some(operation.file),
        Verb::Rename | Verb::Link => Some(operation.other),
        _ => None,
    }
}
