//! Operations that wait for each other: those read ahead, what each still waits for, and which may be issued now.
//!
//! As many as the window holds are looked at; one that is further back has ended. All memory is there from the start.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use iodyno_trace::replay::{EDGES_MOST, OperationFlags, ReplayOperation, WINDOW};

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
    in_flight: u32,
    /// By slot: the operation in flight there.
    slots: Box<[u64]>,
    start: Tick,
}

fn index(number: u64) -> usize {
    number as usize % SIZE
}

impl Window {
    pub fn new(streams: u32, depth: u32, start: Tick) -> Window {
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
            in_flight: 0,
            slots: vec![0; depth.max(1) as usize].into(),
            start,
        }
    }

    /// The operation that may be issued next. It stays the next until it is [begun](Self::begin).
    pub fn next(&mut self, now: Tick, ring: &mut OperationRing) -> WindowAnswer {
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
    }

    /// It has ended, and with it what others waited for.
    pub fn end(&mut self, slot: Slot, now: Tick) -> ReplayOperation {
        let number = self.slots[slot as usize];
        self.in_flight -= 1;
        let entry = &mut self.entries[index(number)];
        (entry.state, entry.ended) = (State::Ended, now);
        let operation = entry.operation;
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
        let stream = &mut self.streams[operation.stream as usize];
        stream.ended = now;
        if operation.depth > 0 {
            stream.in_flight -= 1;
            self.let_go(operation.stream);
        }
        self.advance();
        operation
    }

    /// Whether some wait for their time, or for others.
    pub fn is_waiting(&self) -> bool {
        self.oldest < self.taken
    }

    /// What an entry waits for beside its own edges: how many have yet to end, when the last that has did, and whether
    /// there was no room to note one.
    fn meet_others(&mut self, number: u64) -> (u32, Tick, bool) {
        let (mut waits, mut ended, mut is_full) = (0, 0, false);
        let mut more = std::mem::take(&mut self.more);
        for back in more.drain(..) {
            let other = number.checked_sub(u64::from(back)).filter(|other| *other + (SIZE as u64) > number);
            let Some(other) = other.map(index) else { continue };
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
        let mut ready = if operation.due_ns > 0 { self.start + operation.due_ns } else { self.start };
        let mut waits = 0;
        for (turn, back) in operation.edges.iter().enumerate().filter(|(_, back)| **back > 0) {
            let thinks = turn == 0 && operation.flags.has(OperationFlags::THINKS);
            let think_ns = if turn == 0 { operation.think_ns } else { 0 };
            let other = number.checked_sub(u64::from(*back));
            match other.filter(|other| *other + (SIZE as u64) > number) {
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

    /// The oldest moves on; what waited for all before it may go.
    fn advance(&mut self) {
        while self.oldest < self.taken && self.entries[index(self.oldest)].state == State::Ended {
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
