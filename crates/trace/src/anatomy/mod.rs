//! Where the time of calls and of requests to devices goes, from events of the kernel.
//!
//! A call's time is split so that the parts sum to it exactly. A device works for it while one of its requests is issued;
//! otherwise the scheduler has it while one is queued; otherwise the journal: of a sync while a commit runs (jbd2), of any
//! call from where it asks for its log to be written (xfs). What is left
//! before its first request is submission, after its last one completion, between two the page cache or the file system.
//! A call without a request is all page cache or file system. Requests of threads that are not watched (write-back, a
//! journal's thread) are told apart. Memory is bounded by what is in flight.

mod ftrace;
mod parts;

use std::collections::{BTreeMap, HashMap, VecDeque};

use iodyno_model::Verb;
use iodyno_model::verb::Kind;

pub use ftrace::{CallNumbers, parse_line};
pub use parts::{LatencyPart, PARTS, PartTable};

/// Requests that are followed at the same time, at most.
const REQUESTS_MOST: usize = 1 << 16;
/// Commits of journals that are remembered, at most.
const COMMITS_MOST: usize = 4096;

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnatomyEvent {
    /// A watched thread began a call.
    Enter(Verb),
    /// Its call returned.
    Exit,
    /// The thread handed a request to the block layer.
    Queued(BlockRange),
    /// The device was given it, or a part of it, or it with others.
    Issued(BlockRange),
    /// The device has done it.
    Completed(BlockRange),
    /// A journal began and ended to commit.
    CommitBegan(u32),
    CommitEnded(u32),
    /// The thread asked for its log to be written: its call waits for that until it returns (xfs).
    LogForced,
    /// So many events are missing before this moment.
    Lost(u64),
}

/// A range of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockRange {
    /// `major << 20 | minor`.
    pub device: u32,
    pub sector: u64,
    /// 0: a flush of the device's cache.
    pub sectors: u32,
    pub kind: RequestKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum RequestKind {
    Read,
    Write,
    Flush,
    Discard,
    Other,
}

impl RequestKind {
    pub const fn name(self) -> &'static str {
        match self {
            RequestKind::Read => "read",
            RequestKind::Write => "write",
            RequestKind::Flush => "flush",
            RequestKind::Discard => "discard",
            RequestKind::Other => "other",
        }
    }
}

impl BlockRange {
    fn end(&self) -> u64 {
        self.sector.saturating_add(u64::from(self.sectors))
    }

    /// How many sectors of another it has; of flushes: whether both are.
    fn overlap(&self, other: &BlockRange) -> Option<u32> {
        if self.device != other.device {
            return None;
        }
        if self.sectors == 0 || other.sectors == 0 {
            return (self.sectors == other.sectors).then_some(0);
        }
        let (start, end) = (self.sector.max(other.sector), self.end().min(other.end()));
        (end > start).then(|| (end - start) as u32)
    }
}

/// An event with its time and the thread that ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimedEvent {
    pub at_ns: u64,
    pub thread: u32,
    pub event: AnatomyEvent,
}

/// What was found.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Anatomy {
    /// Calls of watched threads.
    pub calls: BTreeMap<Verb, PartTable>,
    /// Requests by whether a watched thread made them; their parts are scheduler and device.
    pub requests: BTreeMap<(bool, RequestKind), PartTable>,
    /// Events that the kernel dropped.
    pub lost: u64,
    /// Calls and requests that are left out, because events of theirs are missing.
    pub dropped: u64,
    pub first_ns: Option<u64>,
    pub last_ns: u64,
}

#[derive(Clone, Debug)]
struct OpenCall {
    verb: Verb,
    entered_ns: u64,
    forced_ns: Option<u64>,
    /// Requests of it that have completed: queued, issued, completed.
    done: Vec<(u64, u64, u64)>,
}

#[derive(Clone, Debug)]
struct OpenRequest {
    thread: u32,
    is_watched: bool,
    range: BlockRange,
    /// Sectors that have not completed.
    left: u32,
    queued_ns: u64,
    issued_ns: Option<u64>,
}

/// Takes events in the order of their times.
#[derive(Clone, Debug, Default)]
pub struct AnatomyAnalysis {
    found: Anatomy,
    /// Threads that made a watched call.
    watched: HashMap<u32, Option<OpenCall>>,
    requests: VecDeque<OpenRequest>,
    /// Commits that run: device and beginning.
    committing: Vec<(u32, u64)>,
    commits: VecDeque<(u64, u64)>,
}

impl AnatomyAnalysis {
    /// Threads whose requests count as the program's, besides those that are seen calling (of rings and workers).
    pub fn watch(&mut self, thread: u32) {
        self.watched.entry(thread).or_default();
    }

    pub fn add(&mut self, timed: &TimedEvent) {
        let TimedEvent { at_ns, thread, event } = *timed;
        self.found.first_ns.get_or_insert(at_ns);
        self.found.last_ns = self.found.last_ns.max(at_ns);
        match event {
            AnatomyEvent::Enter(verb) => {
                let call = OpenCall { verb, entered_ns: at_ns, forced_ns: None, done: Vec::new() };
                if self.watched.insert(thread, Some(call)).flatten().is_some() {
                    self.found.dropped += 1;
                }
            }
            AnatomyEvent::Exit => {
                if let Some(call) = self.watched.get_mut(&thread).and_then(Option::take) {
                    self.exit(call, thread, at_ns);
                }
            }
            AnatomyEvent::Queued(range) => self.queued(range, thread, at_ns),
            AnatomyEvent::Issued(range) => self.issued(range, at_ns),
            AnatomyEvent::Completed(range) => self.completed(range, at_ns),
            AnatomyEvent::CommitBegan(device) => self.committing.push((device, at_ns)),
            AnatomyEvent::CommitEnded(device) => {
                if let Some(at) = self.committing.iter().position(|(of, _)| *of == device) {
                    let (_, began) = self.committing.swap_remove(at);
                    self.commits.push_back((began, at_ns));
                    while self.commits.len() > COMMITS_MOST {
                        self.commits.pop_front();
                    }
                }
            }
            AnatomyEvent::LogForced => {
                if let Some(call) = self.watched.get_mut(&thread).and_then(Option::as_mut) {
                    call.forced_ns.get_or_insert(at_ns);
                }
            }
            AnatomyEvent::Lost(events) => self.lose(events),
        }
    }

    /// What is open may have ended unseen.
    fn lose(&mut self, events: u64) {
        self.found.lost += events;
        let open = self.watched.values_mut().filter_map(Option::take).count();
        self.found.dropped += (open + self.requests.len()) as u64;
        self.requests.clear();
        self.committing.clear();
    }

    fn queued(&mut self, range: BlockRange, thread: u32, at_ns: u64) {
        if self.requests.len() >= REQUESTS_MOST {
            self.requests.pop_front();
            self.found.dropped += 1;
        }
        let is_watched = self.watched.contains_key(&thread);
        let request =
            OpenRequest { thread, is_watched, range, left: range.sectors, queued_ns: at_ns, issued_ns: None };
        self.requests.push_back(request);
    }

    fn issued(&mut self, range: BlockRange, at_ns: u64) {
        for request in &mut self.requests {
            if request.issued_ns.is_none() && request.range.overlap(&range).is_some() {
                request.issued_ns = Some(at_ns);
            }
        }
    }

    fn completed(&mut self, range: BlockRange, at_ns: u64) {
        let mut index = 0;
        while index < self.requests.len() {
            let request = &mut self.requests[index];
            let overlap = request.issued_ns.and_then(|_| request.range.overlap(&range));
            if let Some(sectors) = overlap {
                request.left = request.left.saturating_sub(sectors);
                if request.left == 0 {
                    if let Some(request) = self.requests.remove(index) {
                        self.done(&request, at_ns);
                    }
                    continue;
                }
            }
            index += 1;
        }
    }

    fn done(&mut self, request: &OpenRequest, at_ns: u64) {
        let issued = request.issued_ns.unwrap_or(at_ns);
        let mut parts = [0; PARTS];
        parts[LatencyPart::Scheduler as usize] = issued.saturating_sub(request.queued_ns);
        parts[LatencyPart::Device as usize] = at_ns.saturating_sub(issued);
        self.found.requests.entry((request.is_watched, request.range.kind)).or_default().add(&parts);
        let call = self.watched.get_mut(&request.thread).and_then(Option::as_mut);
        if let Some(call) = call.filter(|call| call.entered_ns <= request.queued_ns) {
            call.done.push((request.queued_ns, issued, at_ns));
        }
    }

    fn exit(&mut self, call: OpenCall, thread: u32, at_ns: u64) {
        // An event that was read late belongs to an earlier call.
        if at_ns < call.entered_ns {
            self.found.dropped += 1;
            return;
        }
        let mut requests = call.done;
        // What goes on after the call had it until now.
        for request in self.requests.iter().filter(|request| request.thread == thread) {
            if request.queued_ns >= call.entered_ns {
                requests.push((request.queued_ns, request.issued_ns.unwrap_or(at_ns), at_ns));
            }
        }
        let mut commits: Vec<(u64, u64)> = match call.verb.kind() {
            Kind::Sync => {
                let running = self.committing.iter().map(|(_, began)| (*began, at_ns));
                self.commits.iter().copied().chain(running).collect()
            }
            _ => Vec::new(),
        };
        commits.extend(call.forced_ns.map(|forced| (forced, at_ns)));
        let parts = parts::split((call.entered_ns, at_ns), &requests, &commits);
        self.found.calls.entry(call.verb).or_default().add(&parts);
    }

    pub fn finish(mut self) -> Anatomy {
        let open = self.watched.values().flatten().count();
        self.found.dropped += open as u64;
        self.found
    }

    /// So many events were dropped by the kernel at times that are not known.
    pub fn lost(&mut self, events: u64) {
        self.found.lost += events;
    }
}

#[cfg(test)]
mod tests;
