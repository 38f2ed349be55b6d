//! What a worker writes down while it runs: entries of fixed layout in a file of memory that processes share.
//!
//! The worker copies a few words for each entry and publishes how far it is: no lock, no formatting, no allocation; new
//! room is made in large steps on a cold path. The conductor reads behind it, gives the room back, and informs reporters
//! in parts. Room that is written and not yet read is limited: a journal never fills the machine.

use std::fs::File;
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::fs::FileExt;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use iodyno_model::histogram::{BUCKETS, bucket_of};
use iodyno_model::{Histogram, Job, Journal, JournalEntry, Kind, Verb};

use crate::clock::{NEVER, Tick};
use crate::failure::Failure;
use crate::io::{Io, PACED};
use crate::memory::{Mapping, errno};

/// Room for one worker in the file, bytes; what is not written takes no memory.
const REGION: u64 = 1 << 40;
/// The first and the largest step in which a worker's room grows, bytes.
const STEPS: (usize, usize) = (64 << 10, 8 << 20);
const PAGE: u64 = 4096;

/// Tags of entries, in the low byte of their first word.
const BEGAN: u64 = 1;
const DONE: u64 = 2;
const DONE_PACED: u64 = 3;
const WINDOW: u64 = 4;
const DISTRIBUTION: u64 = 5;

/// Directions that windows tell apart.
const KINDS: [Kind; 3] = [Kind::Read, Kind::Write, Kind::Trim];

fn direction(verb: Verb) -> Option<usize> {
    KINDS.iter().position(|kind| *kind == verb.kind())
}

/// The journals of all workers of a phase.
pub struct Journals {
    file: File,
    /// Bytes that are taken and not yet given back, by all workers.
    held: Mapping,
    limit: u64,
    /// The largest step in which a worker's room grows, bytes.
    step: usize,
}

impl Journals {
    /// Empty journals. `limit` is how much may be written and not yet read, in bytes.
    ///
    /// # Errors
    /// When there is no room.
    pub fn new(workers: usize, limit: u64) -> Result<Self, Failure> {
        let failed = |errno| Failure::call("making the journal", errno);
        let file = make().map_err(failed)?;
        file.set_len(REGION * workers as u64).map_err(|error| failed(error.raw_os_error().unwrap_or(0)))?;
        let held = Mapping::shared(PAGE as usize).map_err(failed)?;
        let step = (limit / 8 / workers.max(1) as u64).clamp(STEPS.0 as u64, STEPS.1 as u64) as usize;
        Ok(Journals { file, held, limit, step: step / PAGE as usize * PAGE as usize })
    }

    /// Bytes that are taken and not yet given back.
    fn held(&self) -> &AtomicU64 {
        // SAFETY: the mapping is zeroed, aligned to a page, and holds this one atomic.
        unsafe { &*self.held.start().cast::<AtomicU64>() }
    }

    /// How much that is, bytes.
    pub fn held_bytes(&self) -> u64 {
        self.held().load(Relaxed)
    }

    /// The writer of one worker; `published` is where it says how many bytes can be read.
    pub fn writer<'a>(&'a self, worker: usize, published: &'a AtomicU64) -> JournalWriter<'a> {
        JournalWriter {
            journals: self,
            base: worker as u64 * REGION,
            written: 0,
            room: None,
            at: std::ptr::null_mut(),
            left: 0,
            published,
            failure: None,
        }
    }

    /// Takes memory for a part of the file.
    fn reserve(&self, offset: u64, bytes: usize) -> Result<(), Failure> {
        let held = self.held().fetch_add(bytes as u64, Relaxed) + bytes as u64;
        if held > self.limit {
            return Err(Failure::new(format!(
                "the journal reached its limit of {} MiB: operations are written down faster than they can be reported",
                self.limit >> 20
            ))
            .hint("write down windows instead of every operation, lower the rate, or run shorter"));
        }
        allocate(self.file.as_raw_fd(), offset, bytes).map_err(|errno| {
            Failure::call("making room for the journal", errno)
                .hint("memory is full: write down windows instead of every operation, or run shorter")
        })
    }
}

/// A file of memory that nobody else can name.
#[cfg(target_os = "linux")]
fn make() -> Result<File, i32> {
    use std::os::fd::FromRawFd;
    // SAFETY: the name is zero-terminated; the descriptor is new and owned by the file alone.
    unsafe {
        match libc::memfd_create(c"iodyno-journal".as_ptr(), libc::MFD_CLOEXEC) {
            fd @ 0.. => Ok(File::from_raw_fd(fd)),
            _ => Err(errno()),
        }
    }
}

/// A file in the directory for temporary files whose name is removed at once.
#[cfg(not(target_os = "linux"))]
fn make() -> Result<File, i32> {
    let path = std::env::temp_dir().join(format!("iodyno-journal-{}", std::process::id()));
    let number = |error: std::io::Error| error.raw_os_error().unwrap_or(libc::EIO);
    let file = File::options().read(true).write(true).create_new(true).open(&path).map_err(number)?;
    std::fs::remove_file(&path).map_err(number)?;
    Ok(file)
}

#[cfg(target_os = "linux")]
fn allocate(fd: RawFd, offset: u64, bytes: usize) -> Result<(), i32> {
    // SAFETY: the call takes no pointers.
    match unsafe { libc::fallocate(fd, 0, offset as libc::off_t, bytes as libc::off_t) } {
        0 => Ok(()),
        _ => Err(errno()),
    }
}

#[cfg(not(target_os = "linux"))]
fn allocate(_fd: RawFd, _offset: u64, _bytes: usize) -> Result<(), i32> {
    Ok(())
}

/// Gives memory back.
#[cfg(target_os = "linux")]
fn release(fd: RawFd, offset: u64, bytes: u64) {
    let mode = libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE;
    // SAFETY: the call takes no pointers; nobody looks at this part of the file again.
    unsafe { libc::fallocate(fd, mode, offset as libc::off_t, bytes as libc::off_t) };
}

#[cfg(not(target_os = "linux"))]
fn release(_fd: RawFd, _offset: u64, _bytes: u64) {}

/// One worker's place to write.
pub struct JournalWriter<'a> {
    journals: &'a Journals,
    base: u64,
    /// Bytes written so far.
    written: u64,
    room: Option<Mapping>,
    at: *mut u64,
    /// Words left in the room.
    left: usize,
    published: &'a AtomicU64,
    failure: Option<Failure>,
}

impl JournalWriter<'_> {
    /// Writes one entry.
    #[inline]
    fn put(&mut self, words: &[u64]) {
        if self.left < words.len() && !self.make_room(words.len()) {
            return;
        }
        // SAFETY: `at` has room for `left` words, of which there are enough.
        unsafe {
            std::ptr::copy_nonoverlapping(words.as_ptr(), self.at, words.len());
            self.at = self.at.add(words.len());
        }
        self.left -= words.len();
        self.written += words.len() as u64 * 8;
        self.published.store(self.written, Release);
    }

    /// Goes on in a new room that begins where the last entry ended; `false`: there is none.
    #[cold]
    fn make_room(&mut self, words: usize) -> bool {
        if self.failure.is_some() {
            return false;
        }
        let last = self.room.take().map_or(0, |room| room.bytes());
        let bytes = (last * 2)
            .clamp(STEPS.0, self.journals.step)
            .max((words * 8 + PAGE as usize).next_power_of_two());
        let start = self.written / PAGE * PAGE;
        let reserved = self.journals.reserve(self.base + start, bytes);
        let mapped = reserved.and_then(|()| {
            Mapping::of_file(self.journals.file.as_raw_fd(), self.base + start, bytes)
                .map_err(|errno| Failure::call("mapping the journal", errno))
        });
        match mapped {
            Ok(room) => {
                let skip = (self.written - start) as usize;
                self.left = (bytes - skip) / 8;
                // SAFETY: `skip` is less than a page, and the room is larger.
                self.at = unsafe { room.start().add(skip) }.cast();
                self.room = Some(room);
                true
            }
            Err(failure) => {
                (self.failure, self.left) = (Some(failure), 0);
                false
            }
        }
    }
}

/// What completed in a window, of one direction.
#[derive(Clone, Copy, Default)]
struct Sums {
    operations: u64,
    bytes: u64,
    submission: (u64, u64),
    completion: (u64, u64),
    latency: (u64, u64),
}

/// Completion latencies in a window, of one direction.
struct WindowCounts {
    counts: Box<[u32]>,
    sum: u64,
    min: u64,
    max: u64,
}

/// Windows of one length.
struct Windows<T> {
    length_ns: u64,
    start: Tick,
    next: Tick,
    of: [T; 3],
}

impl<T> Windows<T> {
    /// Windows from a point in time on; a length of 0: none.
    fn new(length_ns: u64, start: Tick, of: impl Fn() -> T) -> Self {
        let next = if length_ns == 0 { NEVER } else { start + length_ns };
        Windows { length_ns, start, next, of: [of(), of(), of()] }
    }

    /// The window that a point in time lies in begins; answers when the one before ended and how long it was.
    fn turn(&mut self, now: Tick) -> (Tick, u64) {
        let ended = (self.next, self.next - self.start);
        self.start += (now - self.start) / self.length_ns * self.length_ns;
        self.next = self.start + self.length_ns;
        ended
    }
}

/// One worker's journal: what its job wants written down, and the writer.
pub struct WorkerJournal<'a> {
    writer: JournalWriter<'a>,
    wants: Journal,
    priority: u16,
    windows: Windows<Sums>,
    distributions: Windows<WindowCounts>,
    /// When the next window of either kind ends.
    turn: Tick,
    scratch: Box<[u64]>,
}

impl<'a> WorkerJournal<'a> {
    /// A journal of a worker that begins now.
    pub fn new(writer: JournalWriter<'a>, wants: &Journal, job: &Job, begin: Tick) -> Self {
        let buckets = if wants.histogram_ns > 0 { BUCKETS } else { 0 };
        let counts = || WindowCounts { counts: vec![0; buckets].into(), sum: 0, min: u64::MAX, max: 0 };
        let windows = Windows::new(wants.window_ns, begin, Sums::default);
        let distributions = Windows::new(wants.histogram_ns, begin, counts);
        let (class, level) = job.placement.io_priority.unwrap_or((0, 0));
        let mut journal = WorkerJournal {
            turn: windows.next.min(distributions.next),
            windows,
            distributions,
            writer,
            wants: wants.clone(),
            priority: u16::from(class) << 13 | u16::from(level),
            scratch: vec![0; buckets].into(),
        };
        // The first room is made before anything is timed.
        journal.writer.make_room(1);
        journal
    }

    /// Whether starts are written down.
    pub fn wants_starts(&self) -> bool {
        self.wants.starts
    }

    /// Why nothing more can be written.
    pub fn failure(&self) -> Option<&Failure> {
        self.writer.failure.as_ref()
    }

    /// An operation began.
    pub fn began(&mut self, io: &Io) {
        let head = BEGAN | (io.verb as u64) << 8 | u64::from(io.file) << 32;
        self.writer.put(&[head, io.started, io.offset, io.bytes]);
    }

    /// Each of so many files was opened or closed.
    pub fn files(&mut self, verb: Verb, count: u32, at: Tick) {
        if self.wants.starts {
            let at = Io { verb, started: at, ..Io::default() };
            (0..count).for_each(|file| self.began(&Io { file, ..at }));
        }
    }

    /// An operation completed and moved so many bytes.
    #[inline]
    pub fn done(&mut self, io: &Io, bytes: u64, issued: Tick, ended: Tick) {
        if ended >= self.turn {
            self.turn(ended);
        }
        let submission = issued.saturating_sub(io.started);
        let completion = ended.saturating_sub(issued);
        let paced = io.flags & PACED != 0;
        let latency = ended.saturating_sub(if paced { io.intended } else { io.started });
        if self.wants.completions {
            let head = (io.verb as u64) << 8 | u64::from(self.priority) << 16 | u64::from(io.file) << 32;
            match paced {
                false => self.writer.put(&[head | DONE, ended, io.offset, bytes, submission, completion]),
                true => self.writer.put(&[
                    head | DONE_PACED,
                    ended,
                    io.offset,
                    bytes,
                    submission,
                    completion,
                    latency,
                ]),
            }
        }
        let Some(direction) = direction(io.verb) else { return };
        if self.wants.window_ns > 0 {
            let sums = &mut self.windows.of[direction];
            sums.operations += 1;
            sums.bytes += bytes;
            let add = |pair: &mut (u64, u64), ns: u64| *pair = (pair.0.saturating_add(ns), pair.1.max(ns));
            add(&mut sums.submission, submission);
            add(&mut sums.completion, completion);
            add(&mut sums.latency, submission + completion);
        }
        if self.wants.histogram_ns > 0 {
            let counts = &mut self.distributions.of[direction];
            counts.counts[bucket_of(completion)] += 1;
            counts.sum = counts.sum.saturating_add(completion);
            counts.min = counts.min.min(completion);
            counts.max = counts.max.max(completion);
        }
    }

    /// What was counted so far is forgotten: the ramp is over. The windows stay where they are.
    #[cold]
    pub fn forget(&mut self) {
        self.windows.of = [Sums::default(); 3];
        self.distributions.of.iter_mut().for_each(WindowCounts::clear);
    }

    /// Windows that have ended by now are written down.
    #[cold]
    fn turn(&mut self, now: Tick) {
        if now >= self.windows.next {
            let (at, length) = self.windows.turn(now);
            self.put_windows(at, length);
        }
        if now >= self.distributions.next {
            let (at, _) = self.distributions.turn(now);
            self.put_distributions(at);
        }
        self.turn = self.windows.next.min(self.distributions.next);
    }

    /// The worker has ended: the last windows are written down, however short.
    pub fn close(&mut self, ended: Tick) {
        if ended >= self.turn {
            self.turn(ended);
        }
        self.put_windows(ended, ended.saturating_sub(self.windows.start));
        self.put_distributions(ended);
    }

    fn put_windows(&mut self, at: Tick, length: u64) {
        for (direction, sums) in std::mem::take(&mut self.windows.of).iter().enumerate() {
            if sums.operations > 0 {
                let (s, c, l) = (sums.submission, sums.completion, sums.latency);
                let head = WINDOW | (direction as u64) << 8;
                self.writer.put(&[
                    head,
                    at,
                    length,
                    sums.operations,
                    sums.bytes,
                    s.0,
                    s.1,
                    c.0,
                    c.1,
                    l.0,
                    l.1,
                ]);
            }
        }
    }

    fn put_distributions(&mut self, at: Tick) {
        for direction in 0..KINDS.len() {
            let counts = &mut self.distributions.of[direction];
            if counts.max == 0 && counts.min == u64::MAX {
                continue;
            }
            let mut pairs = 0;
            for bucket in bucket_of(counts.min)..=bucket_of(counts.max) {
                if counts.counts[bucket] > 0 {
                    self.scratch[pairs] = (bucket as u64) << 48 | u64::from(counts.counts[bucket]);
                    pairs += 1;
                }
            }
            let head = DISTRIBUTION | (direction as u64) << 8 | (pairs as u64) << 32;
            let words = [head, at, counts.sum, counts.min, counts.max];
            counts.clear();
            // Both together or nothing: a reader takes an entry only when all of it is there.
            if self.writer.left < words.len() + pairs && !self.writer.make_room(words.len() + pairs) {
                return;
            }
            self.writer.put(&words);
            self.writer.put(&self.scratch[..pairs]);
        }
    }
}

impl WindowCounts {
    fn clear(&mut self) {
        if self.max > 0 || self.min != u64::MAX {
            self.counts[bucket_of(self.min)..=bucket_of(self.max)].fill(0);
        }
        (self.sum, self.min, self.max) = (0, u64::MAX, 0);
    }
}

/// Reads one worker's journal from where it was left.
#[derive(Default)]
pub struct Reader {
    /// Bytes read.
    read: u64,
    /// Bytes whose memory was given back.
    released: u64,
    buffer: Vec<u8>,
}

/// Bytes read from the file at once.
const READ_BYTES: u64 = 1 << 20;

impl Reader {
    /// At most `most` entries that can be read by now, times counted from `start`.
    ///
    /// # Errors
    /// The system's error number.
    pub fn entries(
        &mut self,
        journals: &Journals,
        worker: usize,
        published: &AtomicU64,
        start: Tick,
        most: usize,
    ) -> Result<Vec<JournalEntry>, i32> {
        let mut entries = Vec::new();
        let end = published.load(Acquire);
        while self.read < end && entries.len() < most {
            let bytes = (end - self.read).min(READ_BYTES) as usize;
            self.buffer.resize(bytes, 0);
            let read = journals.file.read_exact_at(&mut self.buffer, worker as u64 * REGION + self.read);
            read.map_err(|error| error.raw_os_error().unwrap_or(libc::EIO))?;
            let words: Vec<u64> = self.buffer.chunks_exact(8).map(word).collect();
            let mut at = 0;
            while at < words.len() && entries.len() < most {
                let length = length(words[at]);
                if at + length > words.len() {
                    break;
                }
                entries.push(entry(&words[at..at + length], start));
                at += length;
            }
            if at == 0 {
                break;
            }
            self.read += at as u64 * 8;
        }
        self.give_back(journals, worker);
        Ok(entries)
    }

    /// Gives back the memory of whole steps that were read.
    fn give_back(&mut self, journals: &Journals, worker: usize) {
        let whole = (self.read / PAGE * PAGE).saturating_sub(self.released);
        if whole >= STEPS.0 as u64 {
            release(journals.file.as_raw_fd(), worker as u64 * REGION + self.released, whole);
            self.released += whole;
            journals.held().fetch_sub(whole.min(journals.held().load(Relaxed)), Relaxed);
        }
    }
}

fn word(bytes: &[u8]) -> u64 {
    bytes.try_into().map_or(0, u64::from_ne_bytes)
}

/// Words of the entry that begins with this one.
fn length(head: u64) -> usize {
    match head & 0xff {
        BEGAN => 4,
        DONE => 6,
        DONE_PACED => 7,
        WINDOW => 11,
        _ => 5 + (head >> 32) as usize,
    }
}

fn entry(words: &[u64], start: Tick) -> JournalEntry {
    let (head, at_ns) = (words[0], words[1].saturating_sub(start));
    let field = (head >> 8 & 0xff) as usize;
    let (verb, kind) = (Verb::ALL[field % Verb::COUNT], KINDS[field % KINDS.len()]);
    match head & 0xff {
        BEGAN => {
            JournalEntry::Began { at_ns, verb, file: (head >> 32) as u32, offset: words[2], bytes: words[3] }
        }
        DONE | DONE_PACED => JournalEntry::Done {
            at_ns,
            verb,
            file: (head >> 32) as u32,
            offset: words[2],
            bytes: words[3],
            submission_ns: words[4],
            completion_ns: words[5],
            latency_ns: words.get(6).copied().unwrap_or(words[4] + words[5]),
            priority: (head >> 16) as u16,
        },
        WINDOW => JournalEntry::Window {
            at_ns,
            kind,
            length_ns: words[2],
            operations: words[3],
            bytes: words[4],
            submission_ns: (words[5], words[6]),
            completion_ns: (words[7], words[8]),
            latency_ns: (words[9], words[10]),
        },
        _ => {
            let pair = |word: &u64| ((word >> 48) as usize, word & 0xffff_ffff);
            let mut counts = vec![0; BUCKETS];
            words[5..].iter().map(pair).for_each(|(bucket, count)| counts[bucket.min(BUCKETS - 1)] = count);
            let completion =
                Histogram::from_counts(counts.into_iter(), u128::from(words[2]), words[3], words[4]);
            JournalEntry::Distribution { at_ns, kind, completion }
        }
    }
}

#[cfg(test)]
mod tests;
