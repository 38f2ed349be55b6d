//! The threads that do steps and log what each of them promises.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

use iodyno_model::origin::plain;
use iodyno_simulation::random::Random;

use super::device::DeviceWriter;
use super::directory::DirectoryWriter;
use super::entry::{LogEntry, LogHeader};
use super::log::PromiseLog;
use super::step::{LAID_OUT, PromiseStep};

/// What does the steps of one thread.
pub(super) trait StepWriter: Send {
    /// The next step, which nothing speaks against.
    fn next(&mut self, generation: u32) -> PromiseStep;

    /// Does it, with its durability call. `now`: wall-clock time.
    ///
    /// # Errors
    /// The storage's own.
    fn perform(&mut self, step: &PromiseStep, now: u64) -> io::Result<()>;
}

/// How a thread ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ThreadEnd {
    pub thread: u32,
    /// What the storage, or the log, answered.
    pub failure: Option<String>,
    /// Whether it was the log.
    pub is_of_log: bool,
}

/// A writer at work.
pub struct Writing {
    log: Arc<PromiseLog>,
    threads: u32,
    stop: Arc<AtomicBool>,
    steps: Arc<AtomicU64>,
    ends: Receiver<ThreadEnd>,
    pub ended: Vec<ThreadEnd>,
}

/// Starts the threads of a writer whose target is laid out. `most`: steps of all threads together.
///
/// # Errors
/// What is laid out cannot be opened, or the log not be written.
pub fn start(
    target: &Path,
    header: &LogHeader,
    log: PromiseLog,
    seed: u64,
    most: Option<u64>,
) -> io::Result<Writing> {
    let log = Arc::new(log);
    let (stop, steps) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
    let (sender, ends) = channel();
    let mut writers: Vec<Box<dyn StepWriter>> = Vec::new();
    for thread in 0..header.threads {
        let random = Random::from_seed(seed, thread.into());
        writers.push(match header.is_device {
            true => Box::new(DeviceWriter::open(target, header, thread, random)?),
            false => Box::new(DirectoryWriter::open(target, header, thread, random)?),
        });
    }
    log.put(0, &[LogEntry::Ready])?;
    for (thread, writer) in (0..).zip(writers) {
        let worker = WriterThread {
            thread,
            writer,
            log: Arc::clone(&log),
            stop: Arc::clone(&stop),
            steps: Arc::clone(&steps),
            most: most.unwrap_or(u64::MAX),
        };
        let sender: Sender<ThreadEnd> = sender.clone();
        let run = move || drop(sender.send(worker.run()));
        std::thread::Builder::new().name(format!("powerfail {thread}")).spawn(run)?;
    }
    Ok(Writing { log, threads: header.threads, stop, steps, ends, ended: Vec::new() })
}

impl Writing {
    /// Whether all threads have ended, at the latest after this time.
    pub fn has_ended_within(&mut self, time: Duration) -> bool {
        while self.ended.len() < self.threads as usize {
            match self.ends.recv_timeout(time) {
                Ok(end) => self.ended.push(end),
                Err(RecvTimeoutError::Timeout) => return false,
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        true
    }

    /// Steps that have begun.
    pub fn steps(&self) -> u64 {
        self.steps.load(SeqCst)
    }

    /// Notes that the trigger is pulled now.
    ///
    /// # Errors
    /// The log's own.
    pub fn cut(&self) -> io::Result<()> {
        self.log.put(0, &[LogEntry::Cut])
    }

    /// Asks the threads to end after their steps.
    pub fn stop(&self) {
        self.stop.store(true, SeqCst);
    }
}

struct WriterThread {
    thread: u32,
    writer: Box<dyn StepWriter>,
    log: Arc<PromiseLog>,
    stop: Arc<AtomicBool>,
    steps: Arc<AtomicU64>,
    most: u64,
}

impl WriterThread {
    fn run(mut self) -> ThreadEnd {
        let (failure, is_of_log) = match self.steps() {
            Ok(()) => (None, false),
            Err((error, is_of_log)) => (Some(plain(&error)), is_of_log),
        };
        ThreadEnd { thread: self.thread, failure, is_of_log }
    }

    /// The error, and whether it is the log's.
    fn steps(&mut self) -> Result<(), (io::Error, bool)> {
        let of_log = |error| (error, true);
        let mut kept = None;
        for generation in LAID_OUT + 1.. {
            if self.stop.load(SeqCst) || self.steps.fetch_add(1, SeqCst) >= self.most {
                break;
            }
            let step = self.writer.next(generation);
            let begin = LogEntry::Begin(step);
            let entries: Vec<LogEntry> = kept.take().into_iter().chain([begin]).collect();
            self.log.put(self.thread, &entries).map_err(of_log)?;
            self.writer.perform(&step, self.log.now()).map_err(|error| (error, false))?;
            kept = Some(LogEntry::Kept(generation));
        }
        let entries: Vec<LogEntry> = kept.into_iter().chain([LogEntry::End]).collect();
        self.log.put(self.thread, &entries).map_err(of_log)
    }
}
