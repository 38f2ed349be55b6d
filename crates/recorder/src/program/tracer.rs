//! The loop that answers all stops.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io::{self, Read};

use iodyno_trace::calls::{CallTracker, FileCall, PendingCall};
use iodyno_trace::descriptors::SharedState;
use iodyno_trace::{Batch, TraceClock, TraceError, TraceHeader, TraceLevel};

use super::calls::{CallTable, is_plain};
use super::facts::{LiveFacts, descriptors};
use super::forward::{SignalForwarding, send};
use super::launch::Launch;
use super::memory::ProcessMemory;
use super::ptrace::{self, Report, Resume, Stop};
use super::ring::{CallEvent, CallPart};
use super::tracepoints::CallTracepoints;
use crate::sink::RecordSink;
use crate::{ProgramEnd, RecordedProgram};

/// How many records go to the sink at once.
const BATCH: usize = 4096;
/// A stop at the begin or end of a call, as `PTRACE_O_TRACESYSGOOD` marks it.
const SYSCALL_STOP: i32 = libc::SIGTRAP | 0x80;
/// Results by which the kernel asks for the call to be made again after a signal.
const RESTARTS: std::ops::RangeInclusive<i64> = -516..=-512;

/// A call that a thread is in.
struct EnteredCall {
    call: PendingCall,
    /// Its end stops, too, although tracepoints tell of it.
    stops_again: bool,
    /// We interrupted it: the kernel makes it again, which is the same call.
    restarts: bool,
    /// When the thread went on with it.
    went_on_ns: u64,
}

struct Tracer<'a> {
    tracepoints: Option<CallTracepoints>,
    events: Vec<CallEvent>,
    clock: fn() -> u64,
    sink: &'a mut dyn RecordSink,
    table: CallTable,
    tracker: CallTracker,
    facts: LiveFacts,
    threads: HashMap<u32, Option<EnteredCall>>,
    /// Threads that stopped before their makers said that there are any.
    early: HashSet<u32>,
    /// Threads that were asked to stop because they make calls faster than we understand them.
    interrupted: HashSet<u32>,
    root: u32,
    /// Whether the program itself runs: what comes before is ours.
    runs: bool,
    end: Option<ProgramEnd>,
    foreign: u64,
    entries: u64,
    exits: u64,
    records: u64,
    batch: Batch,
    failure: Option<TraceError>,
}

/// Follows a program until it and all that it started have ended.
pub fn follow(
    launch: Launch,
    tracepoints: Option<CallTracepoints>,
    clock: fn() -> u64,
    sink: &mut dyn RecordSink,
) -> Result<RecordedProgram, TraceError> {
    let root = launch.process;
    let mut tracer = Tracer {
        tracepoints,
        events: Vec::new(),
        clock,
        sink,
        table: CallTable::new(),
        tracker: CallTracker::default(),
        facts: LiveFacts::default(),
        threads: HashMap::from([(root, None)]),
        early: HashSet::new(),
        interrupted: HashSet::new(),
        root,
        runs: false,
        end: None,
        foreign: 0,
        entries: 0,
        exits: 0,
        records: 0,
        batch: Batch::new(),
        failure: None,
    };
    let mut forwarding = SignalForwarding::begin(root);
    let ended_processes = tracer.run(&mut forwarding)?;
    drop(forwarding);
    tracer.take_events();
    let Some(end) = tracer.end.filter(|_| tracer.runs) else {
        return Err(launch.failure());
    };
    tracer.tracker.finish();
    tracer.drain(1);
    if let Some(failure) = tracer.failure {
        return Err(failure);
    }
    Ok(RecordedProgram {
        end,
        header: tracer.header(),
        began_ns: tracer.tracker.began_ns(),
        records: tracer.records,
        entries: tracer.entries,
        exits: tracer.exits,
        ended_processes,
    })
}

impl Tracer<'_> {
    fn header(&self) -> TraceHeader {
        let mut notes = self.tracker.notes();
        if self.foreign > 0 {
            notes.push(format!("not traced: 32-bit programs ({} were executed)", self.foreign));
        }
        let lost = self.tracepoints.as_ref().map_or(0, CallTracepoints::lost);
        if lost > 0 {
            notes.push(format!("lost: {lost} begins or ends of calls came faster than they could be read"));
        }
        TraceHeader {
            source: concat!("iodyno record ", env!("CARGO_PKG_VERSION")).to_string(),
            level: TraceLevel::File,
            clock: TraceClock::Monotonic,
            began_unix_ns: None,
            resolution_ns: 1,
            notes,
        }
    }

    /// Answers stops until nobody is left; how many processes had to be ended.
    fn run(&mut self, forwarding: &mut SignalForwarding) -> Result<usize, TraceError> {
        let (mut answered, mut ended, mut ends) = (0, 0, false);
        loop {
            // Once the program ends signals are for us: no wait may miss one.
            match ptrace::wait(!ends) {
                Ok(Some((thread, report))) => {
                    let is_last = matches!(
                        report,
                        Report::Stopped { event: libc::PTRACE_EVENT_EXIT, .. }
                            | Report::Exited(_)
                            | Report::Killed(_)
                    );
                    if is_last && thread == self.root && !ends {
                        ends = true;
                        forwarding.program_ended();
                    }
                    self.answer(thread, report);
                }
                Ok(None) if forwarding.unanswered() > answered => {
                    answered += 1;
                    let signal = if answered == 1 { libc::SIGTERM } else { libc::SIGKILL };
                    ended = ended.max(self.threads.len());
                    self.threads.keys().for_each(|thread| send(*thread, signal));
                }
                Ok(None) => {
                    forwarding.pause();
                    self.take_events();
                }
                Err(error) => match error.raw_os_error() {
                    Some(libc::EINTR) => self.take_events(),
                    Some(libc::ECHILD) => return Ok(ended),
                    _ => return Err(error.into()),
                },
            }
            if self.tracker.ready() >= BATCH {
                self.drain(BATCH);
            }
        }
    }

    /// Gives complete records to the sink, while there are at least so many.
    fn drain(&mut self, least: usize) {
        while self.tracker.ready() >= least {
            self.batch.clear();
            self.tracker.take(&mut self.batch, BATCH);
            if self.failure.is_none() {
                self.failure = self.sink.put(&self.tracker.tables, &self.batch).err();
                self.records += self.batch.len() as u64;
            }
        }
    }

    /// Takes what tracepoints have told up to now.
    fn take_events(&mut self) {
        let Some(mut tracepoints) = self.tracepoints.take() else { return };
        let mut events = std::mem::take(&mut self.events);
        self.facts.is_late = true;
        loop {
            let has_more = tracepoints.take((self.clock)(), &mut events);
            // Calls come faster than they are understood: who makes them waits.
            for event in events.iter().filter(|_| has_more) {
                if self.threads.contains_key(&event.thread) && self.interrupted.insert(event.thread) {
                    ptrace::interrupt(event.thread);
                }
            }
            if self.runs && self.failure.is_none() {
                events.iter().for_each(|event| self.told(event));
            }
            if self.tracker.ready() >= BATCH {
                self.drain(BATCH);
            }
            if !has_more {
                break;
            }
        }
        self.facts.is_late = false;
        self.events = events;
        self.tracepoints = Some(tracepoints);
    }

    /// The begin or the end of a call, by its tracepoint.
    fn told(&mut self, event: &CallEvent) {
        let CallEvent { at_ns, thread, part } = *event;
        // Not ours: one that must not be traced, or that ended.
        let Some(slot) = self.threads.get_mut(&thread) else { return };
        match part {
            CallPart::Enter { .. } if slot.as_ref().is_some_and(|entered| entered.restarts) => {
                slot.iter_mut().for_each(|entered| entered.restarts = false);
            }
            CallPart::Enter { number, arguments } if is_plain(number as i64, &arguments) => {
                let former = slot.take();
                self.give_up(former);
                let Some(call) = self.table.decode(number, &arguments, &ProcessMemory { thread }) else {
                    return;
                };
                if let Some(call) = self.tracker.begin(thread, at_ns, call, &mut self.facts) {
                    let entered =
                        EnteredCall { call, stops_again: false, restarts: false, went_on_ns: at_ns };
                    self.threads.insert(thread, Some(entered));
                }
            }
            CallPart::Enter { .. } => {
                if let Some(entered) = slot {
                    entered.went_on_ns = at_ns;
                }
            }
            CallPart::Exit { result, .. }
                if RESTARTS.contains(&result) && self.interrupted.contains(&thread) =>
            {
                slot.iter_mut().for_each(|entered| entered.restarts = true);
            }
            CallPart::Exit { result, .. } => {
                if let Some(entered) = slot.take_if(|entered| !entered.stops_again) {
                    let latency = at_ns.saturating_sub(entered.went_on_ns);
                    self.tracker.end(entered.call, Some(told(result)), Some(latency), &mut self.facts);
                }
            }
        }
    }

    fn answer(&mut self, thread: u32, report: Report) {
        self.take_events();
        match report {
            Report::Exited(status) => self.ended(thread, ProgramEnd::Exited(status)),
            Report::Killed(signal) => self.ended(thread, ProgramEnd::Killed(signal)),
            Report::Stopped { signal: SYSCALL_STOP, .. } => self.exit(thread),
            Report::Stopped { event: libc::PTRACE_EVENT_SECCOMP, .. } => self.entry(thread),
            Report::Stopped {
                event: libc::PTRACE_EVENT_FORK | libc::PTRACE_EVENT_VFORK | libc::PTRACE_EVENT_CLONE,
                ..
            } => self.made(thread),
            Report::Stopped { event: libc::PTRACE_EVENT_EXEC, .. } => self.executed(thread),
            Report::Stopped { event: libc::PTRACE_EVENT_STOP, signal: libc::SIGTRAP } => {
                self.interrupted.remove(&thread);
                if self.threads.contains_key(&thread) {
                    self.go_on(thread, 0);
                } else {
                    self.early.insert(thread);
                }
            }
            Report::Stopped { event: libc::PTRACE_EVENT_STOP, .. } => {
                ptrace::resume(thread, Resume::StayStopped);
            }
            Report::Stopped { event: 0, signal } => self.go_on(thread, signal),
            Report::Stopped { .. } => self.go_on(thread, 0),
        }
    }

    /// A thread that is in a call of interest runs to its end, which is reported before any signal is.
    fn go_on(&self, thread: u32, signal: i32) {
        ptrace::resume(thread, Resume::Run(signal));
    }

    fn entry(&mut self, thread: u32) {
        let restarts =
            self.threads.get(&thread).and_then(|entered| entered.as_ref()).is_some_and(|e| e.restarts);
        if !self.runs || self.failure.is_some() || restarts {
            return self.go_on(thread, 0);
        }
        self.entries += 1;
        let at_ns = (self.clock)();
        let Ok(Stop::Entry { number, arguments }) = ptrace::syscall_info(thread) else {
            return self.go_on(thread, 0);
        };
        let call = self.table.decode(number, &arguments, &ProcessMemory { thread });
        let changes_names = matches!(call, Some(FileCall::OnPaths { .. } | FileCall::Symlink { .. }));
        // At its end the length of the file is asked for, which later calls change.
        let stops_again = self.tracepoints.is_none() || call.as_ref().is_some_and(has_moving_length);
        let is_telling = call.as_ref().is_some_and(FileCall::has_telling_result);
        let pending = call.and_then(|call| self.tracker.begin(thread, at_ns, call, &mut self.facts));
        if changes_names {
            self.facts.forget_directories();
        }
        match pending {
            None => self.go_on(thread, 0),
            Some(call) if !is_telling => {
                self.go_on(thread, 0);
                self.tracker.end(call, None, None, &mut self.facts);
            }
            Some(call) => {
                let entered = EnteredCall { call, stops_again, restarts: false, went_on_ns: (self.clock)() };
                let former = self.threads.insert(thread, Some(entered)).flatten();
                self.give_up(former);
                ptrace::resume(thread, if stops_again { Resume::ToExit } else { Resume::Run(0) });
            }
        }
    }

    fn exit(&mut self, thread: u32) {
        let now_ns = (self.clock)();
        let entered = self.threads.get_mut(&thread).and_then(Option::take);
        if let Some(entered) = entered {
            self.exits += 1;
            let result = match ptrace::syscall_info(thread) {
                Ok(Stop::Exit { result }) => Some(told(result)),
                _ => None,
            };
            let latency = now_ns.saturating_sub(entered.went_on_ns);
            self.tracker.end(entered.call, result, Some(latency), &mut self.facts);
        }
        self.go_on(thread, 0);
    }

    /// A call whose end was not seen.
    fn give_up(&mut self, entered: Option<EnteredCall>) {
        if let Some(entered) = entered {
            self.tracker.end(entered.call, None, None, &mut self.facts);
        }
    }

    fn made(&mut self, parent: u32) {
        if let Ok(child) = ptrace::event_message(parent) {
            let child = child as u32;
            let flags = clone_flags(parent);
            let has = |flag: libc::c_int| flags & flag as u64 != 0;
            let shared = SharedState { descriptors: has(libc::CLONE_FILES), directory: has(libc::CLONE_FS) };
            self.tracker.started(parent, child, shared, has(libc::CLONE_THREAD), &mut self.facts);
            self.threads.insert(child, None);
            if self.early.remove(&child) {
                self.go_on(child, 0);
            }
        }
        self.go_on(parent, 0);
    }

    fn executed(&mut self, thread: u32) {
        let former = ptrace::event_message(thread).map_or(thread, |former| former as u32);
        let entered = self.threads.remove(&former).flatten();
        self.give_up(entered);
        if former != thread {
            let leader = self.threads.remove(&thread).flatten();
            self.give_up(leader);
        }
        self.threads.insert(thread, None);
        self.tracker.executed(former, thread);
        if !self.runs {
            self.runs = true;
            self.tracker.inherit(thread, &descriptors(thread), &mut self.facts);
        }
        self.foreign += u64::from(is_foreign(thread));
        self.go_on(thread, 0);
    }

    fn ended(&mut self, thread: u32, end: ProgramEnd) {
        let entered = self.threads.remove(&thread).flatten();
        self.early.remove(&thread);
        self.interrupted.remove(&thread);
        self.tracker.ended(thread, entered.map(|entered| entered.call), &mut self.facts);
        if thread == self.root {
            self.end = Some(end);
        }
    }
}

/// A result as the program would see it.
fn told(result: i64) -> i64 {
    if RESTARTS.contains(&result) { -i64::from(libc::EINTR) } else { result }
}

/// Whether writes go to the end of its file, wherever that is.
fn has_moving_length(call: &FileCall) -> bool {
    match call {
        FileCall::Open { options, .. } => options.mode.append,
        FileCall::SetStatus { append, .. } | FileCall::Transfer { append, .. } => *append,
        _ => false,
    }
}

/// What a thread that makes another shares with it, as the flags of `clone`.
fn clone_flags(parent: u32) -> u64 {
    match ptrace::current_call(parent) {
        Some((libc::SYS_clone, flags)) => flags,
        // `struct clone_args` begins with the flags.
        Some((libc::SYS_clone3, structure)) => ProcessMemory { thread: parent }.word(structure).unwrap_or(0),
        _ => 0,
    }
}

/// Whether a program is of another architecture than this one, whose calls the filter lets pass.
fn is_foreign(thread: u32) -> bool {
    let header = |path: &str| -> io::Result<[u8; 20]> {
        let mut header = [0; 20];
        File::open(path)?.read_exact(&mut header)?;
        Ok(header)
    };
    let (Ok(own), Ok(other)) = (header("/proc/self/exe"), header(&format!("/proc/{thread}/exe"))) else {
        return false;
    };
    // Class and machine of the ELF header.
    own[4] != other[4] || own[18..20] != other[18..20]
}
