//! The request log: a file mapped by the device's server, which writes it, and by the test, which reads it.
//!
//! Shared memory keeps logging out of the measured time and lets the log survive either side. All of it is
//! atomics, so a reader never sees half a record: a record counts once its seal carries the current generation.
//! A full log drops later records and counts them; it never overwrites.

use super::config::RequestKind;
use serde::Serialize;
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering::Acquire, Ordering::Relaxed, Ordering::Release};

/// How many faults of one device can count their matches.
pub(crate) const FAULTS_MAX: usize = 256;

/// One request as the device saw it. Times are `CLOCK_MONOTONIC`, in ns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Request {
    /// What was asked.
    pub kind: RequestKind,
    /// The server had read the request.
    pub arrival_ns: u64,
    /// The device began on it: at arrival, or when one of its `parallelism` became free.
    pub start_ns: u64,
    /// `start_ns` and the programmed service time.
    pub due_ns: u64,
    /// The reply was about to be sent.
    pub end_ns: u64,
    /// First byte.
    pub offset: u64,
    /// Bytes asked for.
    pub bytes: u32,
    /// Bytes transferred, or a negative errno.
    pub result: i32,
}

impl Request {
    /// What the device took, waiting excluded: at least the programmed service time.
    pub fn service_ns(&self) -> u64 {
        self.end_ns - self.start_ns
    }

    /// What a client with no overhead would have seen, waiting included.
    pub fn latency_ns(&self) -> u64 {
        self.end_ns - self.arrival_ns
    }
}

/// What was logged since the mount or the last reset.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Log {
    /// In the order of arrival.
    pub requests: Vec<Request>,
    /// How many did not fit; see [`Config::log_capacity`](super::Config::log_capacity).
    pub dropped: u64,
}

impl Log {
    pub fn of(&self, kind: RequestKind) -> impl Iterator<Item = &Request> {
        self.requests.iter().filter(move |request| request.kind == kind)
    }

    /// [`Request::latency_ns`] of one kind, ascending: ready to take percentiles of.
    pub fn latencies_ns(&self, kind: RequestKind) -> Vec<u64> {
        let mut latencies: Vec<u64> = self.of(kind).map(Request::latency_ns).collect();
        latencies.sort_unstable();
        latencies
    }

    /// The largest number of reads and writes that were in service at one moment, by the programmed times.
    pub fn overlap_max(&self) -> usize {
        let served = self.requests.iter().filter(|request| request.kind != RequestKind::Sync);
        let mut edges: Vec<(u64, i64)> = served.flat_map(|r| [(r.start_ns, 1), (r.due_ns, -1)]).collect();
        // At equal times the end sorts first: a request may begin at the moment another one ends.
        edges.sort_unstable();
        let mut overlap = 0;
        edges.iter().fold(0, |most, (_, step)| {
            overlap += step;
            most.max(overlap)
        }) as usize
    }
}

/// How many requests the device took since the mount or the last reset; complete even where the log was full.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Read requests.
    pub reads: u64,
    /// Write requests.
    pub writes: u64,
    /// `fsync` and `fdatasync`.
    pub syncs: u64,
    /// Those of `syncs` that were `fdatasync`.
    pub data_syncs: u64,
    /// Bytes that reads returned.
    pub read_bytes: u64,
    /// Bytes that writes acknowledged.
    pub written_bytes: u64,
}

/// The start of the mapping.
#[repr(C)]
pub(crate) struct Header {
    generation: AtomicU64,
    next: AtomicU64,
    pub(crate) reads: AtomicU64,
    pub(crate) writes: AtomicU64,
    pub(crate) syncs: AtomicU64,
    pub(crate) data_syncs: AtomicU64,
    pub(crate) read_bytes: AtomicU64,
    pub(crate) written_bytes: AtomicU64,
    pub(crate) matches: [AtomicU64; FAULTS_MAX],
}

/// One record: a seal, then `Request`'s fields.
#[repr(C)]
struct Slot([AtomicU64; 8]);

/// The log file, mapped.
pub(crate) struct SharedLog {
    start: NonNull<Header>,
    capacity: usize,
}

// SAFETY: the mapping is only ever accessed through atomics, and lives as long as the value.
unsafe impl Send for SharedLog {}
// SAFETY: as above.
unsafe impl Sync for SharedLog {}

impl SharedLog {
    /// Maps a log of this capacity over `file`, growing the file as needed; an empty file is an empty log.
    pub(crate) fn map(file: &File, capacity: usize) -> io::Result<SharedLog> {
        let bytes = Self::bytes(capacity);
        file.set_len(bytes as u64)?;
        // SAFETY: a new mapping at an address of the kernel's choice, over a file of at least this length.
        let start = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                bytes,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED,
                file.as_raw_fd(),
                0,
            )
        };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let start = NonNull::new(start.cast()).ok_or_else(|| io::Error::other("the log was mapped at 0"))?;
        Ok(SharedLog { start, capacity })
    }

    fn bytes(capacity: usize) -> usize {
        size_of::<Header>() + capacity * size_of::<Slot>()
    }

    pub(crate) fn header(&self) -> &Header {
        // SAFETY: the mapping is page-aligned, longer than a header, and zeros are valid atomics.
        unsafe { self.start.as_ref() }
    }

    fn slots(&self) -> &[Slot] {
        // SAFETY: `map` made room for `capacity` slots behind the header, whose size is a multiple of 8.
        unsafe { std::slice::from_raw_parts(self.start.add(1).cast().as_ptr(), self.capacity) }
    }

    pub(crate) fn append(&self, request: &Request) {
        let index = self.header().next.fetch_add(1, Relaxed) as usize;
        let Some(Slot(cells)) = self.slots().get(index) else { return };
        let fields = [
            request.kind as u64,
            request.arrival_ns,
            request.start_ns,
            request.due_ns,
            request.end_ns,
            request.offset,
            u64::from(request.bytes) << 32 | u64::from(request.result as u32),
        ];
        cells[1..].iter().zip(fields).for_each(|(cell, field)| cell.store(field, Relaxed));
        cells[0].store(self.seal(), Release);
    }

    fn seal(&self) -> u64 {
        self.header().generation.load(Acquire) + 1
    }

    /// Everything logged so far.
    pub(crate) fn read(&self) -> Log {
        let appended = self.header().next.load(Acquire) as usize;
        let seal = self.seal();
        let slots = &self.slots()[..appended.min(self.capacity)];
        let mut requests: Vec<Request> = slots.iter().filter_map(|slot| slot.read(seal)).collect();
        requests.sort_by_key(|request| (request.arrival_ns, request.start_ns));
        Log { requests, dropped: appended.saturating_sub(self.capacity) as u64 }
    }

    pub(crate) fn counts(&self) -> Counts {
        let header = self.header();
        Counts {
            reads: header.reads.load(Acquire),
            writes: header.writes.load(Acquire),
            syncs: header.syncs.load(Acquire),
            data_syncs: header.data_syncs.load(Acquire),
            read_bytes: header.read_bytes.load(Acquire),
            written_bytes: header.written_bytes.load(Acquire),
        }
    }

    /// Forgets records, counts and the faults' numbering. Requests in flight may land on either side of it.
    pub(crate) fn reset(&self) {
        let header = self.header();
        header.generation.fetch_add(1, Release);
        let counters = [&header.next, &header.reads, &header.writes, &header.syncs, &header.data_syncs];
        counters.into_iter().chain([&header.read_bytes, &header.written_bytes]).for_each(zero);
        header.matches.iter().for_each(zero);
    }
}

fn zero(counter: &AtomicU64) {
    counter.store(0, Release);
}

impl Slot {
    fn read(&self, seal: u64) -> Option<Request> {
        let Slot(cells) = self;
        if cells[0].load(Acquire) != seal {
            return None;
        }
        let field = |index: usize| cells[index].load(Relaxed);
        let kind = [RequestKind::Read, RequestKind::Write, RequestKind::Sync][field(1) as usize % 3];
        Some(Request {
            kind,
            arrival_ns: field(2),
            start_ns: field(3),
            due_ns: field(4),
            end_ns: field(5),
            offset: field(6),
            bytes: (field(7) >> 32) as u32,
            result: field(7) as u32 as i32,
        })
    }
}

impl Drop for SharedLog {
    fn drop(&mut self) {
        // SAFETY: exactly what `map` mapped; no reference into it outlives the value.
        unsafe { libc::munmap(self.start.as_ptr().cast(), Self::bytes(self.capacity)) };
    }
}
