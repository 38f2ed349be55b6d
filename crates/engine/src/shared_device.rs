//! A simulated device that workers share, with the one virtual clock of all of them.
//!
//! One thread runs them in turn: always the one to which something happens next. Events of the device and of the workers
//! are in one order, so a run is the same each time. The clock moves when all that was to happen before has happened, and no
//! further than to the next time at which somebody wants to hear how it stands.

use std::cell::{Cell, RefCell};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::rc::Rc;

use iodyno_simulation::{Completion, DeviceRequest, Simulation};

use crate::clock::{NEVER, Tick};
use crate::coroutine::{self, NEEDED_MOST, Pause, WaitedWord, WorkerCoroutine};
use crate::failure::Failure;
use crate::futex;
use crate::io::Slot;
use crate::start_barrier::StartBarrier;

/// Stack of a worker, as large as that of one on a thread of its own.
const STACK_BYTES: usize = 256 << 10;

/// Turns after which those who wait for a word are looked at though nobody on this thread has changed one.
const LOOK_TURNS: u32 = 4096;

/// A device with its clock.
pub struct SharedDevice {
    simulation: RefCell<Simulation>,
    /// What time it was for the device when the phase began.
    base: Tick,
    now: Cell<Tick>,
    members: RefCell<Vec<Member>>,
}

/// A worker, as its device knows it.
struct Member {
    /// Operations that were answered and not yet reaped.
    answered: Vec<Slot>,
    /// How many of them it waits for; 0: it waits for none.
    least: usize,
    /// Until when it pauses at most; `NEVER`: until it is answered.
    until: Tick,
    /// The earliest time that is noted for it; `NEVER`: none is.
    noted: Tick,
    /// Where its stack ended when it paused last, and what else it needs in its next turn.
    stack_end: usize,
    needed: [usize; NEEDED_MOST],
}

impl Member {
    fn new() -> Self {
        Member {
            answered: Vec::new(),
            least: 0,
            until: NEVER,
            noted: NEVER,
            stack_end: 0,
            needed: [0; NEEDED_MOST],
        }
    }
}

thread_local! {
    /// The device whose workers this thread runs.
    static DEVICE: RefCell<Option<Rc<SharedDevice>>> = const { RefCell::new(None) };
    /// The worker that runs.
    static MEMBER: Cell<u32> = const { Cell::new(0) };
}

/// A worker's place at a shared device.
pub struct DeviceSeat {
    device: Rc<SharedDevice>,
    member: u32,
}

impl DeviceSeat {
    /// That of the worker that runs on this thread; none: it shares no device.
    pub fn current() -> Option<DeviceSeat> {
        let device = DEVICE.with_borrow(Clone::clone)?;
        Some(DeviceSeat { device, member: MEMBER.get() })
    }

    #[inline]
    pub fn now(&self) -> Tick {
        self.device.now.get()
    }

    /// What the device holds, bytes; 0: there is no end.
    pub fn capacity_bytes(&self) -> u64 {
        self.device.simulation.borrow().capacity_bytes()
    }

    /// Hands over an operation.
    #[inline]
    pub fn push(&self, slot: Slot, request: DeviceRequest) {
        let token = u64::from(self.member) << 32 | u64::from(slot);
        let now = self.device.base + self.device.now.get();
        self.device.simulation.borrow_mut().arrive(now, token, request);
    }

    /// An operation that the device has no part in is answered at once.
    pub fn answer(&self, slot: Slot) {
        self.device.members.borrow_mut()[self.member as usize].answered.push(slot);
    }

    /// Waits for so many answers or until a time, and moves what was answered to `reaped`.
    #[inline]
    pub fn poll(&self, least: u32, until: Tick, reaped: &mut Vec<Slot>) {
        let device = &*self.device;
        {
            let mut members = device.members.borrow_mut();
            let member = &mut members[self.member as usize];
            if member.answered.len() >= least as usize || until <= device.now.get() {
                reaped.append(&mut member.answered);
                return;
            }
            member.least = least as usize;
        }
        coroutine::pause(Pause::Until(until));
        let mut members = device.members.borrow_mut();
        reaped.append(&mut members[self.member as usize].answered);
    }
}

/// A time at which a worker may have waited long enough: when, of equals the first that was noted, who.
type Due = Reverse<(Tick, u64, u32)>;

/// Who runs next.
struct Turns<'a> {
    device: &'a SharedDevice,
    barrier: &'a StartBarrier,
    numbers: &'a [u32],
    workers: Vec<Option<WorkerCoroutine>>,
    left: usize,
    /// Those who may go on now.
    ready: VecDeque<u32>,
    due: BinaryHeap<Due>,
    order: u64,
    /// Those who wait for words, in the order in which they began to.
    waiting: Vec<(u32, WaitedWord)>,
    /// Those who passed the start line and wait for the others.
    line: Vec<u32>,
    /// How far the clock may go, as far as is known.
    horizon: Tick,
}

impl SharedDevice {
    /// Runs the workers with these numbers to their ends, each with its task; the device as it is then, and why they could
    /// not be started: there is no memory for their stacks.
    pub fn run(
        simulation: Simulation,
        barrier: &StartBarrier,
        numbers: &[u32],
        mut task: impl FnMut(u32) -> Box<dyn FnOnce()>,
    ) -> (Simulation, Option<Failure>) {
        let members = numbers.iter().map(|_| Member::new()).collect();
        let workers = numbers.iter().map(|number| WorkerCoroutine::new(STACK_BYTES, task(*number)));
        let workers = match workers.collect::<Result<Vec<_>, _>>() {
            Ok(workers) => workers,
            Err(error) => {
                let failure =
                    Failure::new(format!("no memory for so many workers: {error}")).hint("fewer workers");
                return (simulation, Some(failure));
            }
        };
        let base = simulation.now();
        let simulation = RefCell::new(simulation);
        let device =
            Rc::new(SharedDevice { simulation, base, now: Cell::new(0), members: RefCell::new(members) });
        DEVICE.set(Some(Rc::clone(&device)));
        let mut turns = Turns {
            device: &device,
            barrier,
            numbers,
            left: workers.len(),
            ready: (0..workers.len() as u32).collect(),
            workers: workers.into_iter().map(Some).collect(),
            due: BinaryHeap::new(),
            order: 0,
            waiting: Vec::new(),
            line: Vec::new(),
            horizon: 0,
        };
        turns.take();
        drop(turns);
        DEVICE.set(None);
        match Rc::try_unwrap(device) {
            Ok(device) => (device.simulation.into_inner(), None),
            Err(_) => unreachable!("all workers are over, and their seats are gone with them"),
        }
    }
}

impl Turns<'_> {
    /// Until all workers are over.
    fn take(&mut self) {
        let (mut done, mut turns) = (Vec::new(), 0_u32);
        loop {
            while let Some(member) = self.ready.pop_front() {
                self.resume(member);
                turns = turns.wrapping_add(1);
                if !self.waiting.is_empty() && (coroutine::was_woken() || turns.is_multiple_of(LOOK_TURNS)) {
                    self.look();
                }
            }
            if self.left == 0 {
                return;
            }
            if !self.line.is_empty() {
                self.pass_line();
                continue;
            }
            self.forget_past_times();
            let device_at = self.device.simulation.borrow().next_event().map(|at| at - self.device.base);
            match (device_at, self.due.peek().map(|Reverse(due)| due.0)) {
                // Only rebuilding and the like goes on while everybody waits for a word.
                (_, None) if self.waiting.len() == self.left => self.sleep(),
                (None, None) => self.sleep(),
                (Some(device), worker) if worker.is_none_or(|worker| device <= worker) => {
                    let until = worker.map_or(NEVER, |worker| worker.saturating_add(self.device.base));
                    let members = self.device.members.borrow();
                    let fetch = |token: u64| {
                        if let Some(member) = members.get((token >> 32) as usize) {
                            coroutine::fetch(member.stack_end, &member.needed);
                        }
                    };
                    self.device.simulation.borrow_mut().advance_and_tell(until, &mut done, fetch);
                    drop(members);
                    self.deliver(&mut done);
                }
                (_, Some(at)) => {
                    self.pass(at);
                    if let Some(Reverse((.., member))) = self.due.pop() {
                        let waits = &mut self.device.members.borrow_mut()[member as usize];
                        (waits.least, waits.until, waits.noted) = (0, NEVER, NEVER);
                        self.ready.push_back(member);
                    }
                }
                (Some(_), None) => unreachable!("the device comes first where no worker is due"),
            }
        }
    }

    fn resume(&mut self, member: u32) {
        MEMBER.set(member);
        let Some(worker) = &mut self.workers[member as usize] else { return };
        let paused = worker.resume();
        if paused.is_some() {
            let member = &mut self.device.members.borrow_mut()[member as usize];
            member.stack_end = coroutine::stack_end();
            coroutine::add_needed(&mut member.needed);
        }
        match paused {
            None => {
                self.workers[member as usize] = None;
                self.left -= 1;
            }
            Some(Pause::Line) => self.line.push(member),
            Some(Pause::Word(word)) => self.waiting.push((member, word)),
            Some(Pause::Until(until)) => {
                let waits = &mut self.device.members.borrow_mut()[member as usize];
                waits.until = until;
                if until < waits.noted {
                    waits.noted = until;
                    self.order += 1;
                    self.due.push(Reverse((until, self.order, member)));
                }
            }
        }
    }

    /// A worker that was answered in time pauses anew before what was noted for it: one time for each is enough. So the
    /// times take no more memory however long it runs.
    fn forget_past_times(&mut self) {
        let mut members = self.device.members.borrow_mut();
        while let Some(Reverse((at, _, member))) = self.due.peek().copied() {
            let waits = &mut members[member as usize];
            if waits.noted == at && waits.until == at {
                return;
            }
            self.due.pop();
            if waits.noted == at {
                waits.noted = waits.until;
                if waits.until < NEVER {
                    self.order += 1;
                    self.due.push(Reverse((waits.until, self.order, member)));
                }
            }
        }
    }

    /// Hands answers to those who wait for them.
    fn deliver(&mut self, done: &mut Vec<Completion>) {
        let Some(first) = done.first() else { return };
        self.pass(first.at - self.device.base);
        let mut members = self.device.members.borrow_mut();
        for Completion { token, .. } in done.drain(..) {
            let (number, slot) = ((token >> 32) as u32, token as Slot);
            let member = &mut members[number as usize];
            member.answered.push(slot);
            if member.least > 0 && member.answered.len() >= member.least {
                (member.least, member.until) = (0, NEVER);
                self.ready.push_back(number);
            }
        }
    }

    /// The clock moves on, as far as it may; never back.
    fn pass(&mut self, to: Tick) {
        if to > self.device.now.get() {
            if to > self.horizon {
                let numbers = self.workers.iter().zip(self.numbers);
                let waits = |index: usize| self.waiting.iter().any(|(member, _)| *member as usize == index);
                let running: Vec<u32> = numbers
                    .enumerate()
                    .filter(|(index, (worker, _))| worker.is_some() && !waits(*index))
                    .map(|(_, (_, number))| *number)
                    .collect();
                self.horizon = self.barrier.wait_for_horizon_together(&running, to);
            }
            self.device.now.set(to);
        }
    }

    /// Those whose words have changed go on.
    fn look(&mut self) {
        let ready = &mut self.ready;
        self.waiting.retain(|(member, word)| {
            let stays = !word.has_changed();
            if !stays {
                ready.push_back(*member);
            }
            stays
        });
    }

    /// Once the line is open, nobody is left before it: then all of them go on.
    fn pass_line(&mut self) {
        self.look();
        if self.ready.is_empty() {
            self.line.sort_unstable();
            self.ready.extend(self.line.drain(..));
        }
    }

    /// Everybody waits for words that another thread changes.
    fn sleep(&mut self) {
        if let Some((_, word)) = self.waiting.first() {
            futex::wait(word.word(), word.value(), 100_000_000);
        }
        // What they wait for is looked at again by themselves: a stop changes no word.
        let all = self.waiting.drain(..).map(|(member, _)| member);
        self.ready.extend(all);
    }
}
