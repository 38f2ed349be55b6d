//! The kernel: requests on their way through the parts of a device, and the events that move them on.

use std::collections::VecDeque;

use iodyno_model::Device;
use iodyno_model::device::{PartCount, PartRecord};

use crate::Tick;
use crate::build;
use crate::event_queue::{EventQueue, PartEvent};
use crate::parts::Part;
use crate::random::Random;

/// What is asked of a device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DeviceRequest {
    pub kind: RequestKind,
    /// Where on the device, bytes.
    pub offset: u64,
    pub bytes: u64,
    /// Past the memory of the client.
    pub direct: bool,
    /// A write that must be on the device before it is answered.
    pub durable: bool,
}

/// Kinds of requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RequestKind {
    #[default]
    Read,
    Write,
    /// What was answered becomes durable.
    Flush,
    /// The bytes are given up.
    Trim,
    /// Of names and attributes: a server answers it from memory, a device takes it as a command.
    Metadata,
}

/// A request that was answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completion {
    /// As it was given with the request.
    pub token: u64,
    pub at: Tick,
}

/// A request within a part; a number that is used again.
pub(crate) type TaskId = u32;

/// Nobody.
pub(crate) const NONE: u32 = u32::MAX;

/// A request that is in a part.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PartTask {
    pub(crate) request: DeviceRequest,
    /// The part that it is in.
    pub(crate) part: u32,
    /// The task of the part in front, which is told of its answer.
    parent: TaskId,
    token: u64,
    arrived: Tick,
    /// Tasks of the part behind that it waits for.
    pub(crate) waits: u32,
    /// The part's own: how far it is.
    pub(crate) stage: u32,
    answered: bool,
    /// Whether something was asked of a part behind for it.
    has_sent: bool,
    /// Whether it is work of the part's own, which nobody asked for and no figure counts.
    inner: bool,
}

/// What is to be done at once.
#[derive(Clone, Copy, Debug)]
enum Action {
    Arrive(TaskId),
    /// A task of a part behind was answered.
    Return(TaskId, DeviceRequest),
}

/// What is known of a part in time.
#[derive(Clone, Copy, Debug, Default)]
struct PartStatistics {
    requests: u64,
    bytes: u64,
    /// Servers, for its utilisation.
    servers: u32,
    working: u32,
    inside: u32,
    changed: Tick,
    /// Requests inside × ns.
    inside_area: u128,
    /// Working servers × ns.
    working_area: u128,
    /// From arrival to answer, of those that were answered.
    response: u128,
    answered: u64,
}

impl PartStatistics {
    /// Adds the time since the last change.
    fn pass(&mut self, now: Tick) {
        let passed = u128::from(now - self.changed);
        self.inside_area += passed * u128::from(self.inside);
        self.working_area += passed * u128::from(self.working);
        self.changed = now;
    }

    /// What was added since another time.
    fn since(self, before: &PartStatistics) -> PartStatistics {
        PartStatistics {
            requests: self.requests - before.requests,
            bytes: self.bytes - before.bytes,
            inside_area: self.inside_area - before.inside_area,
            working_area: self.working_area - before.working_area,
            response: self.response - before.response,
            answered: self.answered - before.answered,
            ..self
        }
    }
}

/// What the parts share: time, tasks, events, chance and figures.
pub(crate) struct Core {
    pub(crate) now: Tick,
    pub(crate) random: Random,
    tasks: Vec<PartTask>,
    free: Vec<TaskId>,
    events: EventQueue,
    actions: VecDeque<Action>,
    statistics: Vec<PartStatistics>,
    done: Vec<Completion>,
    /// Whether the first part has others behind it.
    has_behind: bool,
}

impl Core {
    pub(crate) fn task(&self, task: TaskId) -> &PartTask {
        &self.tasks[task as usize]
    }

    pub(crate) fn task_mut(&mut self, task: TaskId) -> &mut PartTask {
        &mut self.tasks[task as usize]
    }

    pub(crate) fn request(&self, task: TaskId) -> DeviceRequest {
        self.tasks[task as usize].request
    }

    /// Has a part told at that time.
    #[inline]
    pub(crate) fn at(&mut self, at: Tick, part: u32, what: u32) {
        self.events.push(PartEvent { at: at.max(self.now), part, what });
    }

    /// Sends a request to the part behind; `parent` is told when it is answered, `NONE`: nobody is.
    pub(crate) fn send(&mut self, parent: TaskId, part: u32, request: DeviceRequest) {
        if parent != NONE {
            let parent = &mut self.tasks[parent as usize];
            (parent.waits, parent.has_sent) = (parent.waits + 1, true);
        }
        let task = self.task_of(part, parent, 0, request);
        self.actions.push_back(Action::Arrive(task));
    }

    fn task_of(&mut self, part: u32, parent: TaskId, token: u64, request: DeviceRequest) -> TaskId {
        let (arrived, now) = (self.now, self.now);
        let task = PartTask {
            request,
            part,
            parent,
            token,
            arrived,
            waits: 0,
            stage: 0,
            answered: false,
            has_sent: false,
            inner: false,
        };
        let statistics = &mut self.statistics[part as usize];
        statistics.pass(now);
        statistics.inside += 1;
        statistics.requests += 1;
        statistics.bytes += request.bytes;
        self.keep(task)
    }

    /// Work of a part's own: a request that nobody waits for.
    pub(crate) fn inner(&mut self, part: u32, request: DeviceRequest) -> TaskId {
        let (parent, token, arrived) = (NONE, 0, self.now);
        self.keep(PartTask {
            request,
            part,
            parent,
            token,
            arrived,
            waits: 0,
            stage: 0,
            answered: false,
            has_sent: false,
            inner: true,
        })
    }

    /// The request from outside that something happens to a few events later, if it is one, and how long after its arrival.
    #[inline]
    fn token_ahead(&self) -> Option<(u64, Tick)> {
        let event = self.events.ahead()?;
        // What is no task of the part's is some number of its own.
        let task = self.tasks.get(event.what as usize)?;
        // What has yet to go to the part behind is not answered by this event.
        let is_last = task.has_sent || !self.has_behind;
        let token = if task.part == event.part && is_last { task.token.checked_sub(1) } else { None };
        token.map(|token| (token, event.at - task.arrived))
    }

    fn keep(&mut self, task: PartTask) -> TaskId {
        match self.free.pop() {
            Some(free) => {
                self.tasks[free as usize] = task;
                free
            }
            None => {
                self.tasks.push(task);
                (self.tasks.len() - 1) as TaskId
            }
        }
    }

    /// The task is answered; its place is free once nothing behind it is outstanding.
    pub(crate) fn finish(&mut self, task: TaskId) {
        let found = &mut self.tasks[task as usize];
        if !found.answered {
            found.answered = true;
            if found.inner {
                self.release(task);
                return;
            }
            let PartTask { part, parent, token, arrived, request, .. } = *found;
            let statistics = &mut self.statistics[part as usize];
            statistics.pass(self.now);
            statistics.inside -= 1;
            statistics.answered += 1;
            statistics.response += u128::from(self.now - arrived);
            match parent {
                NONE => self.done.push(Completion { token: token - 1, at: self.now }),
                parent => self.actions.push_back(Action::Return(parent, request)),
            }
        }
        self.release(task);
    }

    fn release(&mut self, task: TaskId) {
        if self.tasks[task as usize].waits == 0 {
            self.free.push(task);
        }
    }

    /// So many servers of a part begin to work.
    pub(crate) fn works(&mut self, part: u32, servers: u32) {
        let statistics = &mut self.statistics[part as usize];
        statistics.pass(self.now);
        statistics.working += servers;
    }

    /// So many servers of a part have nothing to do.
    pub(crate) fn rests(&mut self, part: u32, servers: u32) {
        let statistics = &mut self.statistics[part as usize];
        statistics.pass(self.now);
        statistics.working -= servers;
    }

    /// A server of a part works for so long, now or later.
    pub(crate) fn works_for(&mut self, part: u32, ns: u64) {
        self.statistics[part as usize].working_area += u128::from(ns);
    }
}

/// A device in virtual time.
pub struct Simulation {
    parts: Vec<Box<dyn Part + Send>>,
    /// The name and kind of each part's instances: they lie side by side.
    groups: Vec<PartGroup>,
    core: Core,
    capacity_bytes: u64,
    mark: Mark,
}

/// From where records count.
#[derive(Default)]
struct Mark {
    at: Tick,
    statistics: Vec<PartStatistics>,
    counts: Vec<Vec<Count>>,
}

/// What a part counted: name, amount, and what the amount is divided by, 0: nothing.
pub(crate) type Count = (&'static str, u64, u64);

/// The instances of one part.
pub(crate) struct PartGroup {
    pub(crate) name: String,
    pub(crate) kind: &'static str,
    pub(crate) members: Vec<u32>,
}

impl Simulation {
    /// The device at time 0, with nothing in flight.
    ///
    /// # Errors
    /// The first thing that is wrong with it; `Device::problems` tells all.
    pub fn new(device: &Device, seed: u64) -> Result<Simulation, String> {
        if let Some(problem) = device.problems().into_iter().next() {
            return Err(problem.message);
        }
        let mut core = Core {
            now: 0,
            random: Random::from_seed(seed, STREAM),
            tasks: Vec::new(),
            free: Vec::new(),
            events: EventQueue::new(),
            actions: VecDeque::new(),
            statistics: Vec::new(),
            done: Vec::new(),
            has_behind: device.entry().is_some_and(|part| !part.kind.behind().is_empty()),
        };
        let (parts, groups) = build::parts(device, &mut core.random)?;
        core.statistics = parts
            .iter()
            .map(|part| PartStatistics { servers: part.servers(), ..Default::default() })
            .collect();
        let capacity_bytes = device.capacity_bytes();
        let mut simulation = Simulation { parts, groups, core, capacity_bytes, mark: Mark::default() };
        for part in &mut simulation.parts {
            part.start(&mut simulation.core);
        }
        simulation.act();
        simulation.mark();
        Ok(simulation)
    }

    /// What it holds, bytes; 0: there is no end.
    pub fn capacity_bytes(&self) -> u64 {
        self.capacity_bytes
    }

    /// What time it is: that of the last arrival or event.
    pub fn now(&self) -> Tick {
        self.core.now
    }

    /// A request arrives. Events before that time must have been handled: `advance` to it first.
    pub fn arrive(&mut self, now: Tick, token: u64, request: DeviceRequest) {
        debug_assert!(now >= self.core.now, "time does not run backwards");
        self.core.now = self.core.now.max(now);
        let task = self.core.task_of(0, NONE, token + 1, request);
        self.core.actions.push_back(Action::Arrive(task));
        self.act();
    }

    /// When something happens next; none: nothing does until a request arrives.
    #[inline]
    pub fn next_event(&self) -> Option<Tick> {
        match self.core.done.first() {
            Some(_) => Some(self.core.now),
            None => self.core.events.next_at(),
        }
    }

    /// Handles everything up to a time, that time included, and hands over what was answered, in order.
    pub fn advance(&mut self, to: Tick, done: &mut Vec<Completion>) {
        while self.core.events.next_at().is_some_and(|at| at <= to) {
            self.step();
        }
        self.core.now = self.core.now.max(to);
        done.append(&mut self.core.done);
    }

    /// Handles events until something is answered, none is left, or the next one lies beyond `to`; hands over what was
    /// answered.
    pub fn advance_to_answer(&mut self, to: Tick, done: &mut Vec<Completion>) {
        self.advance_and_tell(to, done, |_, _| ());
    }

    /// The same, and tells the tokens of requests that something happens to a few events later, and how long that is after
    /// their arrival: what will be needed for their answers can be fetched meanwhile.
    pub fn advance_and_tell(
        &mut self,
        to: Tick,
        done: &mut Vec<Completion>,
        mut soon: impl FnMut(u64, Tick),
    ) {
        while self.core.done.is_empty() && self.core.events.next_at().is_some_and(|at| at <= to) {
            self.step();
            if let Some((token, passed)) = self.core.token_ahead() {
                soon(token, passed);
            }
        }
        done.append(&mut self.core.done);
    }

    fn step(&mut self) {
        let Some(event) = self.core.events.pop() else { return };
        self.core.now = event.at;
        self.parts[event.part as usize].event(event.what, &mut self.core);
        self.act();
    }

    /// Does what is to be done at once.
    fn act(&mut self) {
        while let Some(action) = self.core.actions.pop_front() {
            match action {
                Action::Arrive(task) => {
                    let part = self.core.task(task).part;
                    self.parts[part as usize].arrive(task, &mut self.core);
                }
                Action::Return(parent, request) => {
                    let task = self.core.task_mut(parent);
                    task.waits -= 1;
                    let PartTask { part, answered, .. } = *task;
                    if answered {
                        self.core.release(parent);
                        self.parts[part as usize].late(request, &mut self.core);
                    } else {
                        self.parts[part as usize].returned(parent, request, &mut self.core);
                    }
                }
            }
        }
    }

    /// Room for requests in its parts: as many as ever were there at a time.
    pub fn tasks(&self) -> usize {
        self.core.tasks.len()
    }

    /// Records count from now on.
    pub fn mark(&mut self) {
        let at = self.core.now;
        self.core.statistics.iter_mut().for_each(|statistics| statistics.pass(at));
        let counts = self.parts.iter().map(|part| part.counts()).collect();
        self.mark = Mark { at, statistics: self.core.statistics.clone(), counts };
    }

    /// What each part has done since the mark, or the start; of several instances, all together.
    pub fn records(&self) -> Vec<PartRecord> {
        self.groups.iter().map(|group| self.record(group)).collect()
    }

    fn record(&self, group: &PartGroup) -> PartRecord {
        let now = self.core.now;
        let passed = now - self.mark.at;
        let each: Vec<PartStatistics> = group
            .members
            .iter()
            .map(|member| {
                let mut statistics = self.core.statistics[*member as usize];
                statistics.pass(now);
                statistics.since(&self.mark.statistics[*member as usize])
            })
            .collect();
        let share = |statistics: &PartStatistics| {
            let whole = u128::from(passed) * u128::from(statistics.servers.max(1));
            if whole == 0 { 0.0 } else { (statistics.working_area as f64 / whole as f64).min(1.0) }
        };
        let (instances, sum) = (each.len() as f64, |of: &dyn Fn(&PartStatistics) -> u128| {
            each.iter().map(of).sum::<u128>() as f64
        });
        let answered = sum(&|one| u128::from(one.answered));
        PartRecord {
            name: group.name.clone(),
            kind: group.kind.into(),
            instances: each.len() as u64,
            requests: each.iter().map(|one| one.requests).sum(),
            bytes: each.iter().map(|one| one.bytes).sum(),
            utilisation: each.iter().map(share).sum::<f64>() / instances,
            busiest: each.iter().map(share).fold(0.0, f64::max),
            queue: sum(&|one| one.inside_area) / (passed.max(1) as f64) / instances,
            response_ns: if answered > 0.0 { sum(&|one| one.response) / answered } else { 0.0 },
            counts: self.counts(group),
        }
    }

    /// What the instances counted of their own: amounts are added; figures that are quotients come from the sums.
    fn counts(&self, group: &PartGroup) -> Vec<PartCount> {
        let mut counts: Vec<Count> = Vec::new();
        for member in &group.members {
            let before = &self.mark.counts[*member as usize];
            for (name, amount, of) in self.parts[*member as usize].counts() {
                let known = before.iter().find(|(known, ..)| *known == name);
                let (amount, of) = known.map_or((amount, of), |known| (amount - known.1, of - known.2));
                match counts.iter_mut().find(|(known, ..)| *known == name) {
                    Some((_, amounts, ofs)) => (*amounts, *ofs) = (*amounts + amount, *ofs + of),
                    None => counts.push((name, amount, of)),
                }
            }
        }
        let count = |(name, amount, of): Count| PartCount {
            name: name.into(),
            value: if of > 0 { amount as f64 / of as f64 } else { amount as f64 },
        };
        counts.into_iter().map(count).collect()
    }
}

/// The stream of random numbers that belongs to a device.
const STREAM: u64 = 0x5349_4d44_0000_0000;
