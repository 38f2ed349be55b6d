//! Events of calls and of requests to devices, read from the kernel's tracing while a program runs.
//!
//! Two trace buffers of our own: one has the calls of the watched threads and of all that they start, the other has the
//! requests of everybody, because a device completes them while any thread runs. Both use the monotonic clock, whose times
//! the kernel prints in µs; their events are merged by time before they are analysed.

use std::collections::HashMap;
use std::fs::{self, File};

use iodyno_model::Verb;
use iodyno_trace::TraceError;
use iodyno_trace::anatomy::{Anatomy, AnatomyAnalysis, AnatomyEvent, BlockRange, TimedEvent, parse_line};

use crate::tracefs::{TraceBuffer, Tracefs, read_available};

/// System calls by number. Those that only submit or wait for operations of a ring are `wait`: their thread's requests are
/// the program's.
const CALLS: &[(i64, Verb)] = &[
    (libc::SYS_read, Verb::Read),
    (libc::SYS_pread64, Verb::Read),
    (libc::SYS_readv, Verb::Read),
    (libc::SYS_preadv, Verb::Read),
    (libc::SYS_preadv2, Verb::Read),
    (libc::SYS_write, Verb::Write),
    (libc::SYS_pwrite64, Verb::Write),
    (libc::SYS_writev, Verb::Write),
    (libc::SYS_pwritev, Verb::Write),
    (libc::SYS_pwritev2, Verb::Write),
    (libc::SYS_fsync, Verb::Fsync),
    (libc::SYS_fdatasync, Verb::Fdatasync),
    (libc::SYS_sync_file_range, Verb::SyncFileRange),
    (libc::SYS_syncfs, Verb::Syncfs),
    (libc::SYS_msync, Verb::Msync),
    (libc::SYS_io_uring_enter, Verb::Wait),
    (libc::SYS_io_submit, Verb::Wait),
];
/// The size of each processor's part of a buffer, KiB.
const BUFFER_KIB: u32 = 4096;
/// How often the threads of a process are listed, which may start others all the time.
const LISTS_MOST: usize = 16;
/// Bytes that are read at a time.
const CHUNK: usize = 1 << 16;
/// Bytes that one look reads of a pipe, at most: events may come faster than they are read.
const LOOK_MOST: usize = 4 << 20;

/// A recording that goes on.
pub struct AnatomyRecorder {
    analysis: AnatomyAnalysis,
    calls: EventPipe,
    block: EventPipe,
    /// Events that are not yet older than all that may still come.
    pending: Vec<TimedEvent>,
    /// The latest time of the round before.
    horizon_ns: u64,
    /// The disk of each device that was met.
    disks: HashMap<u32, u32>,
    /// Our own thread's calls are nobody's.
    ignored: Option<u32>,
}

/// A buffer with its pipe.
struct EventPipe {
    buffer: TraceBuffer,
    pipe: File,
    text: Vec<u8>,
    last_ns: u64,
}

impl AnatomyRecorder {
    /// Of a process that runs, with all its threads and what they start.
    ///
    /// # Errors
    /// The process is not there, or the kernel's tracing cannot be had: why.
    pub fn of_process(process: u32) -> Result<AnatomyRecorder, TraceError> {
        let mut threads = threads_of(process);
        if threads.is_empty() {
            return Err(
                TraceError::new(format!("there is no process {process}")).hint("ps -e lists processes")
            );
        }
        // Who watches his own process does not watch himself.
        let is_own = process == std::process::id();
        let recorder = AnatomyRecorder::start(&threads, is_own.then(own_thread), is_own)?;
        // What a watched thread starts is watched; what was started while they were listed is not yet.
        for _ in 0..LISTS_MOST {
            let mut new = threads_of(process);
            new.retain(|thread| !threads.contains(thread));
            if new.is_empty() {
                break;
            }
            recorder.calls.buffer.append("set_event_pid", &listed(&new))?;
            threads.extend(new);
        }
        Ok(recorder)
    }

    /// Of what this thread starts from now on, without itself.
    ///
    /// # Errors
    /// The kernel's tracing cannot be had: why.
    pub fn of_children() -> Result<AnatomyRecorder, TraceError> {
        let own = own_thread();
        AnatomyRecorder::start(&[own], Some(own), false)
    }

    fn start(threads: &[u32], ignored: Option<u32>, is_own: bool) -> Result<AnatomyRecorder, TraceError> {
        let tracefs = Tracefs::open()?;
        let buffer = |purpose: &str| -> Result<TraceBuffer, TraceError> {
            let buffer = tracefs.instance(purpose)?;
            buffer.write("trace_clock", "mono")?;
            buffer.write("buffer_size_kb", &BUFFER_KIB.to_string())?;
            Ok(buffer)
        };
        let (mut calls, mut block) = (buffer("calls")?, buffer("requests")?);
        calls.set_option("event-fork", true)?;
        calls.write("set_event_pid", &listed(threads))?;
        // The kernel would leave out what an ignored thread starts, too: only where that is nothing may it be asked.
        if let Some(ignored) = ignored.filter(|_| is_own) {
            calls.write("set_event_notrace_pid", &ignored.to_string())?;
        }
        let filter: Vec<String> = CALLS.iter().map(|(number, _)| format!("id == {number}")).collect();
        for event in ["block/block_bio_queue", "block/block_rq_issue", "block/block_rq_complete"] {
            block.enable_event(event, None)?;
        }
        for event in ["jbd2/jbd2_start_commit", "jbd2/jbd2_end_commit"] {
            // A kernel without ext4 has none.
            if block.path(&format!("events/{event}")).exists() {
                block.enable_event(event, None)?;
            }
        }
        // A kernel without xfs has none. It is the caller's, so that others' are not looked at.
        if calls.path("events/xfs/xfs_log_force").exists() {
            calls.enable_event("xfs/xfs_log_force", None)?;
        }
        for event in ["raw_syscalls/sys_enter", "raw_syscalls/sys_exit"] {
            calls.enable_event(event, Some(&filter.join(" || ")))?;
        }
        let pipe = |buffer: TraceBuffer| -> Result<EventPipe, TraceError> {
            let pipe = buffer.pipe()?;
            Ok(EventPipe { buffer, pipe, text: Vec::new(), last_ns: 0 })
        };
        Ok(AnatomyRecorder {
            analysis: AnatomyAnalysis::default(),
            calls: pipe(calls)?,
            block: pipe(block)?,
            pending: Vec::new(),
            horizon_ns: 0,
            disks: HashMap::new(),
            ignored,
        })
    }

    /// What was to be started has been: from now on this thread's own calls, which read the events, make none. What it
    /// starts later is not watched.
    ///
    /// # Errors
    /// The kernel refuses it.
    pub fn started(&mut self) -> Result<(), TraceError> {
        self.calls.buffer.write("set_event_notrace_pid", &own_thread().to_string())
    }

    /// Takes what has happened since the last time; to be called a few times a second, because buffers are finite.
    ///
    /// # Errors
    /// A pipe cannot be read.
    pub fn poll(&mut self) -> Result<(), TraceError> {
        let before = self.calls.last_ns.max(self.block.last_ns);
        self.calls.read(&mut self.pending)?;
        self.block.read(&mut self.pending)?;
        self.analyse(self.horizon_ns);
        self.horizon_ns = before;
        Ok(())
    }

    fn analyse(&mut self, until_ns: u64) {
        self.pending.sort_by_key(|timed| timed.at_ns);
        let ripe = self.pending.partition_point(|timed| timed.at_ns <= until_ns);
        for mut timed in self.pending.drain(..ripe) {
            if Some(timed.thread) == self.ignored {
                continue;
            }
            match &mut timed.event {
                AnatomyEvent::Enter(Verb::Wait) => {
                    self.analysis.watch(timed.thread);
                    continue;
                }
                AnatomyEvent::Queued(range)
                | AnatomyEvent::Issued(range)
                | AnatomyEvent::Completed(range) => {
                    on_disk(range, &mut self.disks);
                }
                _ => {}
            }
            self.analysis.add(&timed);
        }
    }

    /// Ends it.
    ///
    /// # Errors
    /// A pipe cannot be read.
    pub fn finish(mut self) -> Result<Anatomy, TraceError> {
        self.poll()?;
        self.analyse(u64::MAX);
        Ok(self.analysis.finish())
    }
}

impl EventPipe {
    fn read(&mut self, events: &mut Vec<TimedEvent>) -> Result<(), TraceError> {
        let (mut chunk, mut total) = (vec![0; CHUNK], 0);
        loop {
            let count = read_available(&mut self.pipe, &mut chunk)?;
            total += count;
            if count == 0 {
                return Ok(());
            }
            self.text.extend_from_slice(&chunk[..count]);
            let whole = self.text.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
            for line in self.text[..whole].split(|byte| *byte == b'\n') {
                let Some(mut timed) = parse_line(&String::from_utf8_lossy(line), CALLS) else { continue };
                // What is lost was between the last event and the next one.
                if matches!(timed.event, AnatomyEvent::Lost(_)) {
                    timed.at_ns = self.last_ns;
                }
                self.last_ns = self.last_ns.max(timed.at_ns);
                events.push(timed);
            }
            self.text.drain(..whole);
            if total > LOOK_MOST {
                return Ok(());
            }
        }
    }
}

fn own_thread() -> u32 {
    // The C library has a function for it since glibc 2.30, and the program starts with 2.28.
    // SAFETY: the call takes nothing.
    unsafe { libc::syscall(libc::SYS_gettid) as u32 }
}

fn listed(threads: &[u32]) -> String {
    threads.iter().map(u32::to_string).collect::<Vec<_>>().join(" ")
}

fn threads_of(process: u32) -> Vec<u32> {
    let entries = fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

/// Requests to a partition are queued by its number and issued by that of its disk.
fn on_disk(range: &mut BlockRange, disks: &mut HashMap<u32, u32>) {
    range.device = *disks.entry(range.device).or_insert_with_key(|device| {
        let directory = format!("/sys/dev/block/{}:{}", device >> 20, device & 0xf_ffff);
        if fs::metadata(format!("{directory}/partition")).is_err() {
            return *device;
        }
        let disk = fs::read_to_string(format!("{directory}/../dev")).unwrap_or_default();
        let numbers = disk
            .trim()
            .split_once(':')
            .and_then(|(major, minor)| Some(major.parse::<u32>().ok()? << 20 | minor.parse::<u32>().ok()?));
        numbers.unwrap_or(*device)
    });
}
