//! How fast a worker goes: rates, think time, shared gates, and the slowest rate allowed.
//!
//! A pacer is asked before an operation goes out and answers when it may. In an open loop it also says when the operation
//! should have gone: latency counts from there, so a stall cannot hide behind the operations it delayed. It refuses to
//! wait itself; only think time that burns CPU is burnt here, in slices.

use iodyno_model::{Arrivals, FoundDepth, Job, Kind, Per, PerDirection, Rate, SharedUse, Think};

use super::depth_search::DepthSearch;
use super::random::Random;
use super::shared::{Answer, Object};
use super::{Next, SourceContext};
use crate::clock::{self, Tick};
use crate::failure::Failure;
use crate::io::{Io, PACED};

/// CPU is burnt in slices of this, ns, so that completions are reaped meanwhile.
const SPIN_SLICE_NS: u64 = 5_000_000;
/// Pauses that depend on an operation's latency are spun where they are shorter than this, ns.
const SLEPT_LEAST_NS: u64 = 10_000_000;
/// How often the slowest rate allowed is checked, ns, where nothing is said.
const WINDOW_NS: u64 = 1_000_000_000;
/// How long a worker may settle before its rate is checked, ns.
const SETTLE_NS: u64 = 2_000_000_000;
/// How soon a barrier that says "wait" is asked again, ns: at first and at most.
const ASK_AGAIN_NS: (u64, u64) = (10_000, 1_000_000);

/// Slows a worker down.
#[derive(Debug)]
pub struct Pacer {
    /// One for each direction, and one for all operations together.
    tracks: [Track; 4],
    open_loop: bool,
    think: Option<Thinking>,
    gates: Vec<(Object, SharedUse)>,
    /// Gates that the held operation has passed.
    passed: usize,
    again_ns: u64,
    intended: Option<Tick>,
    floor: Option<Floor>,
    search: Option<DepthSearch>,
    /// Latencies that end the worker, ns, for each direction; 0: none does.
    slowest_ns: [u64; 3],
    shifts: bool,
    random: Random,
}

/// The schedule of one direction.
#[derive(Debug)]
struct Track {
    start: Tick,
    /// ns for each operation or byte; 0: no rate.
    gap_ns: f64,
    by_bytes: bool,
    poisson: bool,
    /// Operations that are due together, and how many of them still are.
    burst: u32,
    burst_left: u32,
    due: Tick,
    /// Operations or bytes sent; with Poisson arrivals the time of the next, ns after the start.
    sent: f64,
}

#[derive(Debug)]
struct Thinking {
    rule: Think,
    count: u64,
    began: Option<Tick>,
    until: Option<Tick>,
    /// When the present pause began.
    since: Tick,
    spin_left_ns: u64,
    /// How long the last operation took.
    latency_ns: u64,
    /// What is written to empty the processor's caches, and whether it has been for the pause that is due.
    memory: Box<[u64]>,
    purged: bool,
}

/// The slowest rates allowed, and what was done in the present window.
#[derive(Debug)]
struct Floor {
    least: PerDirection<Rate>,
    /// Whether the time to settle is over.
    settled: bool,
    window_ns: u64,
    window_end: Tick,
    operations: [u64; 3],
    bytes: [u64; 3],
}

/// The track of all operations together.
const ALL: usize = 3;

/// 0 read, 1 write, 2 trim, for verbs that have a direction.
fn direction(io: &Io) -> Option<usize> {
    match io.verb.kind() {
        Kind::Read => Some(0),
        Kind::Write => Some(1),
        Kind::Trim => Some(2),
        _ => None,
    }
}

fn each<T>(directed: &PerDirection<T>) -> [&T; 3] {
    [&directed.read, &directed.write, &directed.trim]
}

/// Whether a job's pace and its limit of latency change anything.
pub fn is_free(job: &Job) -> bool {
    let Job { pace, limit, .. } = job;
    let unlimited = |rates| each(rates).iter().all(|rate| **rate == Rate::Unlimited);
    !pace.has_rate()
        && unlimited(&pace.rate_least)
        && pace.think.is_none()
        && pace.shared.is_empty()
        && pace.latency_target.is_none()
        && limit.latency_ns == PerDirection::default()
}

impl Pacer {
    /// A pacer for one worker, where its pace asks for one.
    ///
    /// # Errors
    /// Rates that are none, shared objects that are not there, and what is not done yet.
    pub fn new(context: &SourceContext<'_>, seed: u64) -> Result<Option<Self>, Failure> {
        let pace = &context.job.pace;
        if is_free(context.job) {
            return Ok(None);
        }
        let all = context.rate.map_or(pace.rate_all, Rate::Operations);
        let rates = [pace.rate.read, pace.rate.write, pace.rate.trim, all];
        let tracks = rates.map(|rate| Track::new(rate, pace.arrivals, pace.burst.max(1), context.start));
        let mut gates = Vec::new();
        for wanted in &pace.shared {
            if wanted.of.is_some() {
                return Err(Failure::new(format!("`{}`: a pace has no steps to count by", wanted.name)));
            }
            let object = super::object(context, wanted)?;
            if object.is_barrier() {
                return Err(Failure::new(format!("`{}`: a pace has no barrier", wanted.name))
                    .hint("wait for it in a step"));
            }
            gates.push((object, wanted.clone()));
        }
        let has_floor = each(&pace.rate_least).iter().any(|rate| **rate != Rate::Unlimited);
        let window_ns = if pace.rate_window_ns > 0 { pace.rate_window_ns } else { WINDOW_NS };
        let floor = has_floor.then(|| Floor {
            least: pace.rate_least.clone(),
            settled: false,
            window_ns,
            window_end: context.start + context.job.limit.ramp_ns + SETTLE_NS,
            operations: [0; 3],
            bytes: [0; 3],
        });
        let [a, b, c, all] = tracks;
        Ok(Some(Pacer {
            tracks: [a?, b?, c?, all?],
            open_loop: pace.open_loop,
            think: pace.think.clone().map(Thinking::new),
            gates,
            passed: 0,
            again_ns: ASK_AGAIN_NS.0,
            intended: None,
            floor,
            search: pace.latency_target.as_ref().map(|target| {
                DepthSearch::new(target, context.depth, context.start + context.job.limit.ramp_ns)
            }),
            slowest_ns: each(&context.job.limit.latency_ns).map(|ns| *ns),
            shifts: pace.think_shifts_rate,
            random: Random::from_seed(seed, 1),
        }))
    }

    /// Whether completions must be reported.
    pub fn listens(&self) -> bool {
        self.floor.is_some()
            || self.search.is_some()
            || self.slowest_ns != [0; 3]
            || self.think.as_ref().is_some_and(|think| {
                think.rule.drain || think.rule.completed || think.rule.times_latency > 0.0
            })
    }

    /// The depth that a latency target allowed.
    pub fn found_depth(&self) -> Option<FoundDepth> {
        self.search.as_ref().map(DepthSearch::found)
    }

    /// Whether the worker has found what it was looking for.
    pub fn is_over(&self) -> bool {
        self.search.as_ref().is_some_and(DepthSearch::is_over)
    }

    /// Whether what was counted so far is to be forgotten; asked once.
    pub fn takes_restart(&mut self) -> bool {
        self.search.as_mut().is_some_and(DepthSearch::takes_restart)
    }

    /// Whether the operation may go now; if not, what to answer. Asked again until it may.
    pub fn barrier(&mut self, now: Tick, io: &mut Io, in_flight: u32) -> Result<(), Next> {
        if self.search.as_ref().is_some_and(|search| search.holds(in_flight)) {
            return Err(Next::Wait);
        }
        if let Some(think) = &mut self.think
            && let Some(paused_ns) = think.barrier(now, in_flight)?
            && self.shifts
        {
            self.tracks.iter_mut().for_each(|track| track.start += paused_ns);
        }
        while let Some((object, wanted)) = self.gates.get_mut(self.passed) {
            let amount = match wanted.per {
                Per::Use | Per::Operation => wanted.amount,
                Per::Bytes(unit) => wanted.amount * io.bytes.div_ceil(unit.max(1)) as i64,
            };
            match object.take(amount, now) {
                Answer::Granted => self.passed += 1,
                Answer::At(tick) => return Err(Next::Later(tick)),
                Answer::Wait if wanted.retry_ns > 0 => return Err(Next::Later(now + wanted.retry_ns)),
                Answer::Wait => return Err(self.ask_again(now)),
                Answer::Over => return Err(Next::Done),
            }
        }
        self.rate(now, io)?;
        self.sent(now);
        Ok(())
    }

    /// The first time it is a counted wait, then sleeps that grow: what moves the object makes no noise.
    fn ask_again(&mut self, now: Tick) -> Next {
        let ns = self.again_ns;
        self.again_ns = (ns * 2).min(ASK_AGAIN_NS.1);
        if ns == ASK_AGAIN_NS.0 { Next::Wait } else { Next::Later(now + ns) }
    }

    fn rate(&mut self, now: Tick, io: &mut Io) -> Result<(), Next> {
        let direction = if self.tracks[ALL].gap_ns > 0.0 { Some(ALL) } else { direction(io) };
        let track = direction.map(|direction| &mut self.tracks[direction]).filter(|track| track.gap_ns > 0.0);
        let Some(track) = track else { return Ok(()) };
        let intended = *self.intended.get_or_insert_with(|| track.intended(io.bytes, &mut self.random));
        if intended > now {
            return Err(Next::Later(intended));
        }
        track.sent += if track.poisson {
            0.0
        } else if track.by_bytes {
            io.bytes as f64
        } else {
            1.0
        };
        if self.open_loop {
            io.intended = intended;
            io.flags |= PACED;
        }
        Ok(())
    }

    fn sent(&mut self, now: Tick) {
        self.intended = None;
        self.passed = 0;
        self.again_ns = ASK_AGAIN_NS.0;
        if let Some(think) = &mut self.think {
            think.count += u64::from(!think.rule.completed);
            think.began.get_or_insert(now);
        }
    }

    /// Counts a completion, with `in_flight` others still out; says what is wrong when the worker was slower than
    /// allowed.
    pub fn done(&mut self, io: &Io, result: i64, now: Tick, in_flight: u32) -> Option<Failure> {
        if let Some(think) = self.think.as_mut().filter(|think| think.rule.completed) {
            think.count += u64::from(direction(io).is_some());
        }
        let latency_ns = now.saturating_sub(io.started);
        if let Some(think) = self.think.as_mut() {
            think.latency_ns = latency_ns;
        }
        if let Some(most_ns) = direction(io).map(|direction| self.slowest_ns[direction]).filter(|ns| *ns > 0)
            && latency_ns > most_ns
        {
            return Some(took_too_long(latency_ns, most_ns));
        }
        if let Some(search) = self.search.as_mut().filter(|_| direction(io).is_some()) {
            let failure = search.done(latency_ns, now, in_flight);
            if failure.is_some() {
                return failure;
            }
        }
        let floor = self.floor.as_mut()?;
        if let Some(direction) = direction(io).filter(|_| result >= 0) {
            floor.operations[direction] += 1;
            floor.bytes[direction] += result as u64;
        }
        (now >= floor.window_end).then(|| floor.judge(now)).flatten()
    }
}

fn took_too_long(latency_ns: u64, most_ns: u64) -> Failure {
    let message = format!("an operation took {latency_ns} ns: at most {most_ns} were demanded");
    Failure::new(message).errno(libc::ETIMEDOUT).hint("allow more time, or find out what stalls the target")
}

impl Track {
    fn new(rate: Rate, arrivals: Arrivals, burst: u32, start: Tick) -> Result<Self, Failure> {
        let (gap_ns, by_bytes) = match rate {
            Rate::Unlimited => (0.0, false),
            Rate::Operations(rate) if rate > 0.0 && rate.is_finite() => (1e9 / rate, false),
            Rate::Bytes(rate) if rate > 0 => (1e9 / rate as f64, true),
            _ => return Err(Failure::new(format!("rate {rate:?}: expected more than 0"))),
        };
        let poisson = arrivals == Arrivals::Poisson && gap_ns > 0.0;
        Ok(Track { start, gap_ns, by_bytes, poisson, burst, burst_left: 0, due: start, sent: 0.0 })
    }

    /// When the next operation should go. Even arrivals are multiplied out from the start, so that no error adds up.
    fn intended(&mut self, bytes: u64, random: &mut Random) -> Tick {
        if self.burst_left > 0 {
            self.burst_left -= 1;
            return self.due;
        }
        self.burst_left = self.burst - 1;
        if self.poisson {
            let units = if self.by_bytes { bytes as f64 } else { 1.0 };
            self.sent += random.exponential(self.gap_ns * units * f64::from(self.burst));
            self.due = self.start + self.sent as u64;
        } else {
            self.due = self.start + (self.sent * self.gap_ns) as u64;
        }
        self.due
    }
}

impl Thinking {
    fn new(rule: Think) -> Self {
        let every = if rule.after_ns > 0 { rule.every } else { rule.every.max(1) };
        Thinking {
            // Caches are emptied before the first operation, too.
            count: if rule.purge_bytes > 0 { every } else { 0 },
            memory: vec![1; rule.purge_bytes.div_ceil(8) as usize].into(),
            rule: Think { every, ..rule },
            began: None,
            until: None,
            since: 0,
            spin_left_ns: 0,
            latency_ns: 0,
            purged: false,
        }
    }

    fn is_due(&self, now: Tick) -> bool {
        let Think { after_ns, every, .. } = self.rule;
        let is_long = || self.began.is_some_and(|began| now.saturating_sub(began) >= after_ns);
        (every > 0 && self.count >= every) || (after_ns > 0 && is_long())
    }

    /// Whether the next operation may go; with it, how long the pause was that has just ended.
    fn barrier(&mut self, now: Tick, in_flight: u32) -> Result<Option<u64>, Next> {
        if self.until.is_none() && self.is_due(now) {
            if self.rule.drain && in_flight > 0 {
                return Err(Next::Wait);
            }
            if !self.memory.is_empty() && !self.purged {
                walk(&mut self.memory);
                self.purged = true;
                // It is no part of the operation that follows: the clock is read again.
                return Err(Next::Later(now));
            }
            self.purged = false;
            let besides_ns = (self.latency_ns as f64 * self.rule.times_latency) as u64;
            // A short sleep lasts longer than it is told to.
            let spun_ns = if besides_ns < SLEPT_LEAST_NS { besides_ns } else { 0 };
            self.until = Some(now.saturating_add(self.rule.spin_ns + self.rule.sleep_ns + besides_ns));
            self.since = now;
            self.spin_left_ns = self.rule.spin_ns + spun_ns;
            (self.count, self.began) = (0, None);
            turn(self.rule.spin_cycles);
        }
        let Some(until) = self.until else { return Ok(None) };
        if self.spin_left_ns > 0 {
            let slice = self.spin_left_ns.min(SPIN_SLICE_NS);
            self.spin_left_ns -= slice;
            burn(slice);
            return Err(Next::Later(now));
        }
        if now < until {
            return Err(Next::Later(until));
        }
        self.until = None;
        Ok(Some(now.saturating_sub(self.since)))
    }
}

/// Writes memory, a word in each line of the smallest kind.
fn walk(memory: &mut [u64]) {
    memory.iter_mut().step_by(4).for_each(|word| *word = word.wrapping_add(1));
    std::hint::black_box(memory);
}

/// Turns a loop so many times.
fn turn(cycles: u64) {
    for cycle in 0..cycles {
        std::hint::black_box(cycle);
    }
}

/// Burns CPU for so long, ns of real time.
pub fn burn(ns: u64) {
    let end = clock::now() + ns;
    while clock::now() < end {
        std::hint::spin_loop();
    }
}

impl Floor {
    fn judge(&mut self, now: Tick) -> Option<Failure> {
        let seconds = (now - self.window_end + self.window_ns) as f64 / 1e9;
        if !std::mem::replace(&mut self.settled, true) {
            self.begin(now);
            return None;
        }
        let names = ["read", "write", "trim"];
        let slow = each(&self.least).into_iter().enumerate().find_map(|(index, least)| {
            let (rate, least, unit) = match least {
                Rate::Unlimited => return None,
                Rate::Operations(least) => (self.operations[index] as f64 / seconds, *least, "operations"),
                Rate::Bytes(least) => (self.bytes[index] as f64 / seconds, *least as f64, "bytes"),
            };
            (rate < least).then(|| {
                let message =
                    format!("{} rate {rate:.0} {unit}/s: at least {least:.0} were demanded", names[index]);
                Failure::new(message)
                    .errno(libc::EIO)
                    .hint("lower the least rate, or find out what slows the target down")
            })
        });
        self.begin(now);
        slow
    }

    fn begin(&mut self, now: Tick) {
        (self.operations, self.bytes) = ([0; 3], [0; 3]);
        self.window_end = now + self.window_ns;
    }
}
