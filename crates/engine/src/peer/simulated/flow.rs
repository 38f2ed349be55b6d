//! A job of a simulated run: what it does over its socket, how far it has come, and what it has counted.
//!
//! It is read from the plan as the `socket` engine reads it, and counts as that engine does.

use std::collections::VecDeque;
use std::sync::Arc;

use iodyno_model::{Content, ErrorCount, Job, Line, Mix, Rate, Verb, Workload};

use super::sockets::SocketId;
use crate::engines::socket::datagram_stats::DatagramStats;
use crate::engines::socket::stamp::Stamp;
use crate::engines::{setting, switched_on, whole_number};
use crate::worker_counters::{Count, Counts};

/// When an answer over datagrams that does not come is given up where nothing is said, ms.
const TIMEOUT_MS: u64 = 1000;

/// What is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlowRole {
    /// Bytes go out.
    Sends,
    /// Bytes come in.
    Receives,
    /// Requests go out, responses come in.
    Asks,
    /// Requests come in, responses go out.
    Answers,
}

/// A schedule: ns from one operation to the next on average, and how many are due together.
#[derive(Clone, Copy, Debug)]
struct Schedule {
    each_ns: f64,
    burst: u64,
}

/// A job under way.
pub struct Flow {
    pub job: Job,
    /// What it does.
    pub what: FlowRole,
    /// Over what.
    pub socket: SocketId,
    /// Its target's name.
    pub target: String,
    /// Bytes of an operation.
    pub block: u64,
    /// Bytes of a datagram.
    pub datagram: u64,
    /// The header of datagrams.
    pub stamp: Option<Stamp>,
    /// What is sent.
    pub content: Arc<[u8]>,
    /// Bytes of a request and of its response.
    pub sizes: (u64, u64),
    /// When an answer is given up, ns.
    pub timeout_ns: u64,
    schedule: Option<Schedule>,
    /// When it begins to count, ns.
    pub began_ns: u64,
    /// When it began at all, ns.
    pub first_ns: u64,
    /// When what was counted so far is forgotten, ns; 0: it was, or need not be.
    pub ramp_end_ns: u64,
    /// When nothing more is begun, ns.
    pub deadline_ns: u64,
    /// Operations begun, and their bytes.
    pub begun: (u64, u64),
    /// An operation is on its way out.
    pub busy: bool,
    /// It will be its turn at a time that is known.
    pub waits: bool,
    /// Requests that are not answered: their numbers, and since when.
    pub asked: VecDeque<(u64, u64)>,
    /// Bytes of a request or response that have come.
    pub come: u64,
    /// Answers in a row that did not come.
    pub silent: u32,
    /// When its last operation was done, ns.
    pub ended_ns: u64,
    /// It does nothing more.
    pub over: bool,
    /// What the engine counts of its own.
    pub counts: Box<Counts>,
    account: DatagramStats,
    /// What the loop counts.
    pub line: Line,
    /// The error that ended it.
    pub error: Option<ErrorCount>,
    /// Segments that were sent again.
    pub retransmits: u64,
}

impl Flow {
    /// A job that begins at a time, ns.
    ///
    /// # Errors
    /// What is not simulated.
    pub fn new(
        job: &Job,
        socket: SocketId,
        target: &str,
        datagrams: bool,
        now_ns: u64,
    ) -> Result<Flow, String> {
        let Workload::Pattern(pattern) = &job.workload else {
            return Err(format!("{}: only patterns are simulated", job.name));
        };
        if job.engine != "socket" || ["from", "into"].iter().any(|name| setting(job, name).is_some()) {
            return Err(format!("{}: only streams and datagrams without files are simulated", job.name));
        }
        if switched_on(job, "connect_each") || switched_on(job, "accept_each") {
            return Err(format!("{}: a connection for each exchange is not simulated", job.name));
        }
        let (what, verb) = what(job, &pattern.mix);
        let size = if what == FlowRole::Receives { &pattern.size.read } else { &pattern.size.write };
        let block = size.most_bytes().or(pattern.size.read.most_bytes()).unwrap_or(1).max(1);
        let begins_ns = now_ns + job.start.after_ns;
        let ramp_end_ns = begins_ns + job.limit.ramp_ns;
        let counts = Box::new(Counts::new());
        counts.begin();
        Ok(Flow {
            what,
            socket,
            target: target.into(),
            block,
            datagram: if datagrams {
                whole_number(job, "datagram_bytes").unwrap_or(block).clamp(1, block)
            } else {
                0
            },
            stamp: Stamp::of(job),
            content: content(job),
            sizes: (
                whole_number(job, "request_bytes").unwrap_or(block),
                whole_number(job, "response_bytes").unwrap_or(block),
            ),
            timeout_ns: whole_number(job, "response_timeout_ms").unwrap_or(TIMEOUT_MS) * 1_000_000,
            schedule: schedule(job, block),
            began_ns: begins_ns,
            first_ns: begins_ns,
            ramp_end_ns: if job.limit.ramp_ns > 0 { ramp_end_ns } else { 0 },
            deadline_ns: job.limit.time_ns.map_or(u64::MAX, |time_ns| ramp_end_ns.saturating_add(time_ns)),
            begun: (0, 0),
            busy: false,
            waits: false,
            asked: VecDeque::new(),
            come: 0,
            silent: 0,
            ended_ns: begins_ns,
            over: false,
            counts,
            account: DatagramStats::of(whole_number(job, "first_number").unwrap_or(1), Stamp::of(job), false),
            line: Line::empty(verb.name(), verb),
            error: None,
            retransmits: 0,
            job: job.clone(),
        })
    }

    /// When the next operation is due, ns; none: as soon as it can be.
    pub fn due_ns(&self) -> Option<u64> {
        let schedule = self.schedule?;
        let bursts = self.begun.0 / schedule.burst;
        Some(self.first_ns + (schedule.each_ns * (bursts * schedule.burst) as f64) as u64)
    }

    /// Bytes of the next operation; none: it has done its part.
    pub fn next_bytes(&self) -> Option<u64> {
        let limit = &self.job.limit;
        if limit.operations.is_some_and(|most| self.begun.0 >= most) {
            return None;
        }
        let left = limit.bytes.map_or(u64::MAX, |most| most.saturating_sub(self.begun.1));
        (left > 0).then(|| self.block.min(left))
    }

    /// An operation is begun; its number.
    pub fn begin(&mut self, bytes: u64) -> u64 {
        self.begun = (self.begun.0 + 1, self.begun.1 + bytes);
        self.begun.0 - 1
    }

    /// Operations were done that moved so many bytes together, and began at that time, ns.
    pub fn done(&mut self, operations: u64, bytes: u64, began_ns: u64, now_ns: u64) {
        self.line.operations += operations;
        self.line.bytes += bytes;
        (0..operations).for_each(|_| self.line.latency.add(now_ns.saturating_sub(began_ns)));
        self.ended_ns = now_ns;
        self.end_ramp(now_ns);
    }

    /// Forgets what was counted so far where the ramp is over; the engine's own counters are kept as they were then.
    pub fn end_ramp(&mut self, now_ns: u64) {
        if self.ramp_end_ns > 0 && now_ns >= self.ramp_end_ns {
            let empty = Line::empty(&self.line.label, self.line.verb);
            self.line = empty;
            self.counts.end_ramp();
            (self.began_ns, self.ramp_end_ns) = (self.ramp_end_ns, 0);
        }
    }

    /// A call moved bytes.
    pub fn moved(&self, bytes: u64) {
        self.counts.add(Count::Bytes, bytes);
        self.counts.add(Count::Blocks, 1);
    }

    /// The number of the next datagram that is sent.
    pub fn next_number(&self) -> u64 {
        whole_number(&self.job, "first_number").unwrap_or(1) + self.counts.get(Count::Datagrams)
    }

    /// A datagram is sent.
    pub fn count_datagram(&self) {
        self.counts.set(Count::Highest, self.next_number());
        self.counts.add(Count::Datagrams, 1);
    }

    /// A datagram has come; whether its sender takes leave.
    pub fn take(&mut self, head: &[u8], arrived_ns: u64) -> bool {
        let read = self.stamp.and_then(|stamp| stamp.read(head));
        match read {
            Some(read) => self.account.take(&read, arrived_ns, &self.counts),
            None => self.account.take_bare(),
        }
        self.account.tell(&self.counts);
        read.is_some_and(|read| read.leaves)
    }

    /// It ends now. What it waited for until now was no operation, but took its time; so did the wait for the next one's.
    pub fn stop_waiting(&mut self, now_ns: u64) {
        let begins = matches!(self.what, FlowRole::Sends | FlowRole::Asks) && self.asked.is_empty();
        let done = begins && self.next_bytes().is_none();
        if !done {
            self.ended_ns = self.ended_ns.max(now_ns);
        }
    }

    /// It ends by an error.
    pub fn fail(&mut self, errno: i32) {
        self.line.failed += 1;
        let verb = self.line.verb;
        self.error = Some(ErrorCount { verb, errno, count: 1, first_offset: 0, first_target: 0 });
    }
}

fn what(job: &Job, mix: &Mix) -> (FlowRole, Verb) {
    if mix.has(Verb::Exchange) {
        let what = if switched_on(job, "answers") { FlowRole::Answers } else { FlowRole::Asks };
        return (what, Verb::Exchange);
    }
    match mix.has(Verb::Recv) || mix.has(Verb::Read) {
        true => (FlowRole::Receives, Verb::Recv),
        false => (FlowRole::Sends, Verb::Send),
    }
}

fn content(job: &Job) -> Arc<[u8]> {
    match &job.payload.content {
        Content::Pattern(bytes) => bytes.as_slice().into(),
        _ => Vec::new().into(),
    }
}

fn schedule(job: &Job, block: u64) -> Option<Schedule> {
    let per_second = match job.pace.rate_all {
        Rate::Unlimited => return None,
        Rate::Operations(per_second) => per_second,
        Rate::Bytes(bytes) => bytes as f64 / block as f64,
    };
    Some(Schedule { each_ns: 1e9 / per_second.max(1e-9), burst: u64::from(job.pace.burst.max(1)) })
}
