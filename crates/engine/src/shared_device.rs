//! A simulated device that workers share, with the one virtual clock of all of them.
//!
//! One thread runs them in turn: always the one to which something happens next. Events of the device and of the workers
//! are in one order, so a run is the same each time. The clock moves when all that was to happen before has happened, and no
//! further than to the next time at which somebody wants to hear how it stands.

use std::cell::{Cell, RefCell};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, VecDeque};
use std::ptr::NonNull;
use std::rc::Rc;
use std::sync::atomic::AtomicU64;

use iodyno_model::histogram::bucket_of;
use iodyno_simulation::{Completion, DeviceRequest, RequestKind, Simulation};

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

/// So many workers and more have no room in a processor's caches: what each needs is fetched before its turn. To fetch what
/// is there costs fewer a tenth of their rate.
const FETCHING_WORKERS: usize = 256;

/// A device with its clock.
pub struct SharedDevice {
    simulation: RefCell<Simulation>,
    /// What time it was for the device when the phase began.
    base: Tick,
    now: Cell<Tick>,
    members: RefCell<Vec<Member>>,
    /// Of each member, operations that were answered and not yet reaped.
    answered: RefCell<Vec<Vec<Slot>>>,
}

/// A worker, as its device knows it: what is looked at for each operation.
struct Member {
    /// How many answers it waits for; 0: it waits for none.
    least: u32,
    /// The one operation of a worker that needs no stack was answered.
    is_answered: bool,
    /// Until when it pauses at most; `NEVER`: until it is answered.
    until: Tick,
    /// What it goes on with as soon as that changes; 0: nothing.
    asks: usize,
    /// What it is listed for as one that asks, perhaps no longer; 0: nothing.
    listed: usize,
    /// The earliest time that is noted for it; `NEVER`: none is.
    noted: Tick,
    /// What goes on in its place.
    stackless: Option<StacklessMember>,
}

impl Member {
    fn new() -> Self {
        Member {
            least: 0,
            is_answered: false,
            until: NEVER,
            asks: 0,
            listed: 0,
            noted: NEVER,
            stackless: None,
        }
    }

    /// It waits for nothing any more.
    fn goes_on(&mut self) {
        (self.least, self.until, self.asks) = (0, NEVER, 0);
    }
}

/// Where a worker's next operation comes from, as long as that takes nothing of its stack. One operation is in flight at a
/// time.
pub trait StacklessWorker {
    /// Its operation was answered: the next one; none: the worker itself has to take the answer.
    fn answered(&mut self, now: Tick) -> Option<DeviceRequest>;

    /// Somebody wants to read what was counted.
    fn write_down(&mut self);

    /// What it keeps for latencies, that for 0 first, in the order of `histogram::bucket_of`.
    fn buckets(&self) -> *const AtomicU64;

    /// What it needs besides itself: where that begins, and bytes.
    fn besides(&self) -> (usize, usize);
}

#[derive(Clone, Copy)]
struct StacklessMember {
    worker: NonNull<dyn StacklessWorker>,
    buckets: *const AtomicU64,
    besides: (usize, usize),
}

/// What the operations of a worker have in common that differ in their place alone.
#[derive(Clone, Copy, Debug)]
pub struct RequestTemplate {
    pub kind: RequestKind,
    pub bytes: u64,
    /// Past the memory of the client, and durable once it is answered.
    pub past_memory: (bool, bool),
    /// Where the target begins on the device, and where the device ends.
    pub begin: u64,
    pub capacity: u64,
}

impl RequestTemplate {
    /// The request for that place of the target.
    #[inline]
    pub fn at(&self, offset: u64) -> DeviceRequest {
        let (direct, durable) = self.past_memory;
        let offset = self.begin.wrapping_add(offset) % self.capacity;
        DeviceRequest { kind: self.kind, offset, bytes: self.bytes, direct, durable }
    }
}

/// What a worker needs in a turn on its stack.
#[derive(Clone, Copy, Default)]
struct NeededMemory {
    /// Where its stack ended when it paused last.
    stack_end: usize,
    places: [usize; NEEDED_MOST],
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
        self.device.answered.borrow_mut()[self.member as usize].push(slot);
    }

    /// Waits for so many answers or until a time, and moves what was answered to `reaped`.
    #[inline]
    pub fn poll(&self, least: u32, until: Tick, reaped: &mut Vec<Slot>) {
        if !self.has_answers(least, until) {
            self.device.members.borrow_mut()[self.member as usize].least = least;
            coroutine::pause(Pause::Until(until));
        }
        reaped.append(&mut self.device.answered.borrow_mut()[self.member as usize]);
    }

    /// Whether there is nothing to wait for.
    fn has_answers(&self, least: u32, until: Tick) -> bool {
        let answered = self.device.answered.borrow()[self.member as usize].len();
        answered >= least as usize || until <= self.device.now.get()
    }

    /// Pauses with one operation in flight, and lets another take its answer and go on, until that one answers no operation
    /// or the time has come. An answer that was not taken is there for `poll`.
    pub fn leave_to(&self, worker: &mut dyn StacklessWorker, until: Tick) {
        if self.has_answers(1, until) {
            return;
        }
        let (buckets, besides) = (worker.buckets(), worker.besides());
        let worker: NonNull<dyn StacklessWorker + '_> = NonNull::from(worker);
        // SAFETY: only the lifetime changes. The device uses it while this worker pauses here, and forgets it before it goes on.
        let worker: NonNull<dyn StacklessWorker> = unsafe { std::mem::transmute(worker) };
        {
            let member = &mut self.device.members.borrow_mut()[self.member as usize];
            (member.least, member.stackless) = (1, Some(StacklessMember { worker, buckets, besides }));
        }
        coroutine::pause(Pause::Until(until));
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
    needed: Vec<NeededMemory>,
    left: usize,
    /// Those who may go on now.
    ready: VecDeque<u32>,
    due: BinaryHeap<Due>,
    order: u64,
    /// Those who wait for words, in the order in which they began to.
    waiting: Vec<(u32, WaitedWord)>,
    /// By where it lies, who asks for what workers share; what has changed of it.
    asking: HashMap<usize, Vec<u32>>,
    changed: Vec<usize>,
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
        let members = RefCell::new(numbers.iter().map(|_| Member::new()).collect());
        let answered = RefCell::new(vec![Vec::new(); numbers.len()]);
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
        let device = Rc::new(SharedDevice { simulation, base, now: Cell::new(0), members, answered });
        DEVICE.set(Some(Rc::clone(&device)));
        let mut turns = Turns {
            device: &device,
            barrier,
            numbers,
            needed: vec![NeededMemory::default(); workers.len()],
            left: workers.len(),
            ready: (0..workers.len() as u32).collect(),
            workers: workers.into_iter().map(Some).collect(),
            due: BinaryHeap::new(),
            order: 0,
            waiting: Vec::new(),
            asking: HashMap::new(),
            changed: Vec::new(),
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

impl StacklessMember {
    /// Has fetched what it needs when an operation is answered after so long.
    #[inline]
    fn fetch(&self, latency: Tick) {
        // SAFETY: as in `goes_on_stackless`; only its size is asked for.
        let bytes = size_of_val(unsafe { self.worker.as_ref() });
        coroutine::fetch_all(self.worker.as_ptr().addr(), bytes);
        coroutine::fetch_all(self.besides.0, self.besides.1);
        coroutine::fetch_all(self.buckets.wrapping_add(bucket_of(latency)).addr(), 1);
    }
}

impl NeededMemory {
    #[inline]
    fn fetch(&self) {
        coroutine::fetch(self.stack_end, &self.places);
    }
}

impl Turns<'_> {
    /// Until all workers are over.
    fn take(&mut self) {
        let (mut done, mut turns) = (Vec::new(), 0_u32);
        loop {
            while let Some(member) = self.ready.pop_front() {
                if !self.goes_on_stackless(member) {
                    self.resume(member);
                    coroutine::move_changed(&mut self.changed);
                    if !self.changed.is_empty() {
                        self.ask_again();
                    }
                }
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
                    let mut simulation = self.device.simulation.borrow_mut();
                    if self.workers.len() < FETCHING_WORKERS {
                        simulation.advance_to_answer(until, &mut done);
                    } else {
                        let members = self.device.members.borrow();
                        let fetch = |token: u64, passed: Tick| {
                            let member = (token >> 32) as usize;
                            match members.get(member).map(|member| member.stackless) {
                                Some(Some(stackless)) => stackless.fetch(passed),
                                Some(None) => self.needed[member].fetch(),
                                None => {}
                            }
                        };
                        simulation.advance_and_tell(until, &mut done, fetch);
                    }
                    drop(simulation);
                    self.deliver(&mut done);
                }
                (_, Some(at)) => {
                    self.pass(at);
                    if let Some(Reverse((.., member))) = self.due.pop() {
                        let waits = &mut self.device.members.borrow_mut()[member as usize];
                        waits.goes_on();
                        waits.noted = NEVER;
                        self.ready.push_back(member);
                    }
                }
                (Some(_), None) => unreachable!("the device comes first where no worker is due"),
            }
        }
    }

    /// Whether a worker that waited has gone on without its stack.
    #[inline]
    fn goes_on_stackless(&mut self, number: u32) -> bool {
        let device = self.device;
        let member = &mut device.members.borrow_mut()[number as usize];
        let Some(mut stackless) = member.stackless else { return false };
        if std::mem::take(&mut member.is_answered) {
            // SAFETY: the worker pauses in `leave_to`, which borrows it until then.
            let next = unsafe { stackless.worker.as_mut() }.answered(device.now.get());
            if let Some(request) = next {
                let now = device.base + device.now.get();
                device.simulation.borrow_mut().arrive(now, u64::from(number) << 32, request);
                return true;
            }
            device.answered.borrow_mut()[number as usize].push(0);
        }
        member.goes_on();
        member.stackless = None;
        false
    }

    fn resume(&mut self, member: u32) {
        MEMBER.set(member);
        let Some(worker) = &mut self.workers[member as usize] else { return };
        let paused = worker.resume();
        if paused.is_some() {
            let needed = &mut self.needed[member as usize];
            needed.stack_end = coroutine::stack_end();
            coroutine::add_needed(&mut needed.places);
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
                (waits.until, waits.asks) = (until, coroutine::asks_after_change());
                if waits.asks != 0 && waits.asks != waits.listed {
                    waits.listed = waits.asks;
                    self.asking.entry(waits.asks).or_default().push(member);
                }
                if until < waits.noted {
                    waits.noted = until;
                    self.order += 1;
                    self.due.push(Reverse((until, self.order, member)));
                }
            }
        }
    }

    /// Those whom what has changed did not let go on ask again, at the very time at which it changed, in their order.
    fn ask_again(&mut self) {
        let mut members = self.device.members.borrow_mut();
        let first = self.ready.len();
        for at in self.changed.drain(..) {
            for number in self.asking.get_mut(&at).into_iter().flat_map(|asking| asking.drain(..)) {
                let member = &mut members[number as usize];
                if member.listed == at {
                    member.listed = 0;
                }
                if member.asks == at {
                    member.goes_on();
                    self.ready.push_back(number);
                }
            }
        }
        self.ready.make_contiguous()[first..].sort_unstable();
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
        let mut all = self.device.answered.borrow_mut();
        for Completion { token, .. } in done.drain(..) {
            let (number, slot) = ((token >> 32) as u32, token as Slot);
            let member = &mut members[number as usize];
            if member.stackless.is_some() {
                member.is_answered = true;
                self.ready.push_back(number);
                continue;
            }
            let answered = &mut all[number as usize];
            answered.push(slot);
            if member.least > 0 && answered.len() >= member.least as usize {
                member.goes_on();
                self.ready.push_back(number);
            }
        }
    }

    /// The clock moves on, as far as it may; never back.
    fn pass(&mut self, to: Tick) {
        if to > self.device.now.get() {
            if to > self.horizon {
                self.write_down();
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

    /// Somebody may look at the counters before the clock moves on.
    fn write_down(&self) {
        let members = self.device.members.borrow();
        for mut stackless in members.iter().filter_map(|member| member.stackless) {
            // SAFETY: as in `goes_on_stackless`.
            unsafe { stackless.worker.as_mut() }.write_down();
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
