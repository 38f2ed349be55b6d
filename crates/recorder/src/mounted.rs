//! Records what a program does in a directory, by a file system that covers the directory for it: mapped memory and static
//! programs are recorded, too.
//!
//! The threads that serve the file system make the records; the one that follows the program gives them to the sink.

use std::collections::HashMap;
use std::fs;
use std::os::unix::fs::FileTypeExt;
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use iodyno_fuse::{CallObserver, ObservedCall, ObservedFile};
use iodyno_model::Verb;
use iodyno_trace::calls::{IssueOrder, IssueTicket};
use iodyno_trace::{
    Batch, FileKind, RecordFlags, Tables, TraceClock, TraceError, TraceFile, TraceHeader, TraceLevel,
    TraceRecord, TraceThread,
};

use crate::private_mount::PrivateMount;
use crate::program::forward::{SignalForwarding, send};
use crate::sink::RecordSink;
use crate::waiting_child::reap_ended;
use crate::{ProgramEnd, RecordedProgram};

/// How many records go to the sink at once.
const BATCH: usize = 4096;
/// How long the program is not looked at.
const LOOK: Duration = Duration::from_millis(10);

/// What the serving threads share.
struct RecordExchange {
    clock: fn() -> u64,
    state: Mutex<CallRecords>,
    /// There are records, or the file system is gone.
    news: Condvar,
}

#[derive(Default)]
struct CallRecords {
    tables: Tables,
    names: HashMap<String, u32>,
    threads: HashMap<u32, u32>,
    order: IssueOrder,
    /// Calls that have not ended, by their numbers, with when they began.
    open: HashMap<u64, (IssueTicket, u64)>,
    next: u64,
    began_ns: Option<u64>,
}

/// The observer that the file system has.
struct MountObserver(Arc<RecordExchange>);

impl RecordExchange {
    fn lock(&self) -> MutexGuard<'_, CallRecords> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl CallRecords {
    fn file(&mut self, name: &str, met: Option<ObservedFile>) -> u32 {
        if let Some(file) = self.names.get(name) {
            return *file;
        }
        let file = self.tables.files.len() as u32;
        self.tables.files.push(TraceFile {
            name: name.to_string(),
            kind: met.map_or(FileKind::File, kind_of),
            bytes: met.map(|met| met.bytes),
            device: met.and_then(|met| met.device),
        });
        self.names.insert(name.to_string(), file);
        file
    }

    fn thread(&mut self, thread: u32) -> u32 {
        if let Some(index) = self.threads.get(&thread) {
            return *index;
        }
        let index = self.tables.threads.len() as u32;
        self.tables.threads.push(thread_of(thread));
        self.threads.insert(thread, index);
        index
    }

    fn record(&mut self, call: &ObservedCall, at_ns: u64, latency_ns: u64) -> TraceRecord {
        let file = self.file(&call.name, None);
        let mut record = TraceRecord::new(at_ns, call.verb, file, call.offset, call.bytes);
        record.other = call.other.as_ref().map(|other| self.file(other, None));
        record.thread = self.thread(call.thread);
        record.result = Some(call.result);
        record.latency_ns = Some(latency_ns);
        let writes = !matches!(call.verb, Verb::Read);
        for (is_set, flag) in [
            (call.flags.direct, RecordFlags::DIRECT),
            (call.flags.append && writes, RecordFlags::APPEND),
            (call.flags.durable && writes, RecordFlags::FUA),
            (call.flags.mapped, RecordFlags::MAPPED),
            (call.flags.created, RecordFlags::CREATED),
            (call.flags.truncated, RecordFlags::TRUNCATED),
        ] {
            if is_set {
                record.flags = record.flags.with(flag);
            }
        }
        if call.result >= 0 {
            self.made(call);
        }
        record
    }

    /// What a call made is of a kind that its name did not have before.
    fn made(&mut self, call: &ObservedCall) {
        let kind = match call.verb {
            Verb::Mkdir => FileKind::Directory,
            Verb::Symlink => FileKind::Link,
            Verb::Mkfifo => FileKind::Other,
            _ => return,
        };
        let file = self.file(&call.name, None);
        self.tables.files[file as usize].kind = kind;
    }
}

fn kind_of(met: ObservedFile) -> FileKind {
    match met.kind {
        kind if kind.is_file() => FileKind::File,
        kind if kind.is_dir() => FileKind::Directory,
        kind if kind.is_symlink() => FileKind::Link,
        kind if kind.is_block_device() => FileKind::Device,
        _ => FileKind::Other,
    }
}

fn thread_of(thread: u32) -> TraceThread {
    if thread == 0 {
        return TraceThread { process: 0, thread: 0, name: "write-back".into() };
    }
    let status = fs::read_to_string(format!("/proc/{thread}/status")).unwrap_or_default();
    let field = |name: &str| status.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
    let process = field("Tgid:").and_then(|id| id.parse().ok()).unwrap_or(thread);
    TraceThread { process, thread, name: field("Name:").unwrap_or_default().to_string() }
}

impl CallObserver for MountObserver {
    fn began(&self) -> u64 {
        let mut state = self.0.lock();
        let at_ns = (self.0.clock)();
        let began = *state.began_ns.get_or_insert(at_ns);
        let ticket = state.order.hold(at_ns.saturating_sub(began), None);
        state.next += 1;
        let number = state.next;
        state.open.insert(number, (ticket, at_ns));
        number
    }

    fn ended(&self, began: u64, calls: &[ObservedCall]) {
        let now_ns = (self.0.clock)();
        let mut state = self.0.lock();
        let Some((ticket, at_ns)) = state.open.remove(&began) else { return };
        let since = at_ns.saturating_sub(state.began_ns.unwrap_or(at_ns));
        let latency = now_ns.saturating_sub(at_ns);
        let records = calls.iter().map(|call| state.record(call, since, latency)).collect();
        state.order.end(ticket, records);
        if state.order.ready() >= BATCH {
            self.0.news.notify_one();
        }
    }

    fn met(&self, name: &str, file: Option<ObservedFile>) {
        self.0.lock().file(name, file);
    }
}

/// Runs a command over a covered directory and records what it does there. `clock` is monotonic, ns.
///
/// # Errors
/// The directory cannot be covered; the command cannot be executed; or the sink refuses records, which is said once the
/// command has ended.
pub fn record(
    directory: &Path,
    command: &[String],
    clock: fn() -> u64,
    sink: &mut dyn RecordSink,
) -> Result<RecordedProgram, TraceError> {
    let shared = Arc::new(RecordExchange { clock, state: Mutex::default(), news: Condvar::new() });
    let mount = PrivateMount::begin(directory, command)?;
    let (process, covered) = (mount.process, mount.directory.clone());
    let forwarding = SignalForwarding::begin(process);
    let session = mount.serve(MountObserver(Arc::clone(&shared)))?;
    let mut follower = Follower {
        shared: &shared,
        sink,
        tables: Tables::default(),
        batch: Batch::new(),
        records: 0,
        failure: None,
        process,
        end: None,
    };
    let mut ended_processes = 0;
    let mut answered = 0;
    while !session.is_finished() {
        follower.take();
        reap_ended(follower.process, &mut follower.end, &forwarding);
        if follower.end.is_some() && forwarding.unanswered() > answered {
            answered += 1;
            let left = descendants();
            ended_processes = ended_processes.max(left.len());
            let signal = if answered == 1 { libc::SIGTERM } else { libc::SIGKILL };
            left.iter().for_each(|process| send(*process, signal));
        }
    }
    while follower.end.is_none() {
        follower.take();
        reap_ended(follower.process, &mut follower.end, &forwarding);
    }
    drop(forwarding);
    let served = session.join().unwrap_or(Ok(()));
    shared.lock().order.finish();
    follower.take_all();
    let Follower { records, failure, end, .. } = follower;
    if let Some(failure) = failure {
        return Err(failure);
    }
    let state = shared.lock();
    let mut notes = vec![format!("calls in {} alone, as a file system sees them", covered.display())];
    if let Err(error) = served {
        notes.push(format!("the file system ended early: {error}"));
    }
    Ok(RecordedProgram {
        end: end.unwrap_or(ProgramEnd::Exited(1)),
        header: TraceHeader {
            source: concat!("iodyno record --fuse ", env!("CARGO_PKG_VERSION")).to_string(),
            level: TraceLevel::File,
            clock: TraceClock::Monotonic,
            began_unix_ns: None,
            resolution_ns: 1,
            notes,
        },
        began_ns: state.began_ns,
        records,
        entries: 0,
        exits: 0,
        ended_processes,
    })
}

/// The thread that follows the program.
struct Follower<'a> {
    shared: &'a RecordExchange,
    sink: &'a mut dyn RecordSink,
    /// What the sink has been told of.
    tables: Tables,
    batch: Batch,
    records: u64,
    failure: Option<TraceError>,
    process: u32,
    end: Option<ProgramEnd>,
}

impl Follower<'_> {
    /// Waits for a moment, and gives the sink what there is.
    fn take(&mut self) {
        let state = self.shared.lock();
        if state.order.ready() < BATCH {
            drop(self.shared.news.wait_timeout(state, LOOK).unwrap_or_else(PoisonError::into_inner));
        } else {
            drop(state);
        }
        self.give(BATCH);
    }

    fn take_all(&mut self) {
        while self.give(BATCH) {}
    }

    /// Gives at most so many records; whether there were any.
    fn give(&mut self, most: usize) -> bool {
        self.batch.clear();
        {
            let mut state = self.shared.lock();
            state.order.take(&mut self.batch, most);
            let (files, threads) = (self.tables.files.len(), self.tables.threads.len());
            self.tables.files.extend_from_slice(&state.tables.files[files..]);
            self.tables.threads.extend_from_slice(&state.tables.threads[threads..]);
        }
        if self.batch.is_empty() {
            return false;
        }
        if self.failure.is_none() {
            self.failure = self.sink.put(&self.tables, &self.batch).err();
            self.records += self.batch.len() as u64;
        }
        true
    }
}

/// All processes that come from this one: those that lost their parents became ours.
fn descendants() -> Vec<u32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let parent = |process: u32| -> Option<(u32, u32)> {
        let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
        // The name, in brackets, may have any letters; the state and the parent follow.
        let (_, rest) = stat.rsplit_once(") ")?;
        Some((process, rest.split(' ').nth(1)?.parse().ok()?))
    };
    let parents: Vec<(u32, u32)> =
        entries.filter_map(|entry| parent(entry.file_name().to_str()?.parse().ok()?)).collect();
    let mut found = vec![std::process::id()];
    let mut at = 0;
    while let Some(of) = found.get(at).copied() {
        found.extend(parents.iter().filter(|(_, parent)| *parent == of).map(|(process, _)| *process));
        at += 1;
    }
    found.split_off(1)
}
