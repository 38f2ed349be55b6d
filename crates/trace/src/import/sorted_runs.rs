//! Records of any order sorted by time in bounded memory: runs that fit are sorted and written to a scratch file, and
//! merged as they are read back.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fmt;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::mem::take;

use iodyno_model::Verb;
use iodyno_model::origin::plain;

use crate::{TraceError, TraceRecord};

/// Records of a run, which are in memory at once: 34 MiB.
const RUN: usize = 1 << 18;
/// Runs at most. Each has a buffer while they are merged: 32 MiB for all of 536,870,912 records.
const MOST_RUNS: usize = 2048;
/// Bytes of a record in the file, and records of a run's buffer.
const RECORD: usize = 41;
const BUFFERED: usize = 400;

/// A file for what does not fit into memory.
pub trait ScratchFile: Read + Write + Seek + Send {}

impl<F: Read + Write + Seek + Send> ScratchFile for F {}

/// Makes a scratch file, which is gone when it is dropped.
#[derive(Clone, Copy)]
pub struct Scratch(pub fn() -> io::Result<Box<dyn ScratchFile>>);

impl fmt::Debug for Scratch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Scratch")
    }
}

/// Records to be sorted, then the sorted ones. Kept of a record: time, latency, verb, file, thread, offset and bytes.
pub struct SortedRuns {
    scratch: Option<Scratch>,
    file: Option<Box<dyn ScratchFile>>,
    held: Vec<TraceRecord>,
    /// Records per run.
    most: usize,
    runs: Vec<SortedRun>,
    bytes: u64,
    /// The first record of each run that was not taken, by time and then by run: the order of the input among equals.
    next: BinaryHeap<Reverse<(u64, usize)>>,
    buffer: Vec<u8>,
}

/// A sorted part of the file.
struct SortedRun {
    next: u64,
    end: u64,
    /// Backwards.
    records: Vec<TraceRecord>,
}

impl SortedRuns {
    /// Without a scratch file what does not fit is refused.
    pub fn new(scratch: Option<Scratch>) -> SortedRuns {
        SortedRuns {
            scratch,
            file: None,
            held: Vec::new(),
            most: RUN,
            runs: Vec::new(),
            bytes: 0,
            next: BinaryHeap::new(),
            buffer: Vec::new(),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.held.is_empty() && self.runs.is_empty()
    }

    /// # Errors
    /// What does not fit anywhere; those of the scratch file.
    pub fn push(&mut self, record: TraceRecord) -> Result<(), TraceError> {
        if self.held.len() == self.most {
            self.write_run()?;
        }
        self.held.push(record);
        Ok(())
    }

    fn write_run(&mut self) -> Result<(), TraceError> {
        let most = self.most;
        let Some(scratch) = self.scratch.filter(|_| self.runs.len() < MOST_RUNS) else {
            let records = self.runs.len().max(1) * most;
            return Err(TraceError::new(format!("more than {records} records that have to be sorted")));
        };
        let failed = |error: io::Error| {
            TraceError::new(format!("what does not fit into memory cannot be kept: {}", plain(&error)))
                .hint("TMPDIR names a directory with room for it, 41 bytes a record")
        };
        let file = match &mut self.file {
            Some(file) => file,
            none => none.insert((scratch.0)().map_err(failed)?),
        };
        self.held.sort_by_key(|record| record.at_ns);
        let begin = self.bytes;
        for records in self.held.chunks(BUFFERED) {
            self.buffer.clear();
            records.iter().for_each(|record| put(&mut self.buffer, record));
            file.write_all(&self.buffer).map_err(failed)?;
            self.bytes += self.buffer.len() as u64;
        }
        self.held.clear();
        self.runs.push(SortedRun { next: begin, end: self.bytes, records: Vec::new() });
        Ok(())
    }

    /// All are there: sorts them.
    ///
    /// # Errors
    /// Those of the scratch file.
    pub fn sort(&mut self) -> Result<(), TraceError> {
        self.held.sort_by_key(|record| record.at_ns);
        // What is in memory is the last run, all of it read.
        let mut records = take(&mut self.held);
        records.reverse();
        self.runs.push(SortedRun { next: 0, end: 0, records });
        for run in 0..self.runs.len() {
            self.refill(run)?;
        }
        Ok(())
    }

    /// The next record; none: the end.
    ///
    /// # Errors
    /// Those of the scratch file.
    pub fn next(&mut self) -> Result<Option<TraceRecord>, TraceError> {
        let Some(Reverse((_, run))) = self.next.pop() else { return Ok(None) };
        let record = self.runs[run].records.pop();
        self.refill(run)?;
        Ok(record)
    }

    /// Announces a run's next record, once there is one.
    fn refill(&mut self, index: usize) -> Result<(), TraceError> {
        let run = &mut self.runs[index];
        if run.records.is_empty()
            && run.next < run.end
            && let Some(file) = &mut self.file
        {
            let bytes = (run.end - run.next).min((BUFFERED * RECORD) as u64);
            self.buffer.resize(bytes as usize, 0);
            file.seek(SeekFrom::Start(run.next))?;
            file.read_exact(&mut self.buffer)?;
            run.next += bytes;
            run.records.extend(self.buffer.chunks_exact(RECORD).rev().map(record));
        }
        if let Some(record) = run.records.last() {
            self.next.push(Reverse((record.at_ns, index)));
        }
        Ok(())
    }
}

fn put(out: &mut Vec<u8>, record: &TraceRecord) {
    let latency_ns = record.latency_ns.unwrap_or(u64::MAX);
    for word in [record.at_ns, latency_ns, record.offset, record.bytes] {
        out.extend(word.to_le_bytes());
    }
    out.extend(record.file.to_le_bytes());
    out.extend(record.thread.to_le_bytes());
    out.push(record.verb.index() as u8);
}

fn record(bytes: &[u8]) -> TraceRecord {
    let long = |at: usize| bytes[at..].first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes));
    let word = |at: usize| bytes[at..].first_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes));
    let verb = Verb::ALL.get(usize::from(bytes[40])).copied().unwrap_or(Verb::Read);
    TraceRecord {
        latency_ns: Some(long(8)).filter(|latency| *latency != u64::MAX),
        thread: word(36),
        ..TraceRecord::new(long(0), verb, word(32), long(16), long(24))
    }
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::*;

    fn in_memory() -> io::Result<Box<dyn ScratchFile>> {
        Ok(Box::new(Cursor::new(Vec::new())))
    }

    #[test]
    fn records_come_back_in_order_whatever_fits_into_memory() {
        let records: Vec<TraceRecord> = (0..5000u64)
            .map(|index| TraceRecord {
                latency_ns: (index % 3 > 0).then_some(index),
                thread: index as u32 % 7,
                ..TraceRecord::new(
                    index * 7919 % 1000,
                    Verb::ALL[index as usize % 5],
                    index as u32,
                    index << 40,
                    9,
                )
            })
            .collect();
        let mut sorted = records.clone();
        sorted.sort_by_key(|record| record.at_ns);
        for most in [1000, 4999, 5000, 1 << 18, 37] {
            let mut runs = SortedRuns { most, ..SortedRuns::new(Some(Scratch(in_memory))) };
            assert!(runs.is_empty());
            records.iter().for_each(|record| runs.push(*record).unwrap());
            assert!(!runs.is_empty() && runs.held.len() <= most);
            runs.sort().unwrap();
            let read: Vec<TraceRecord> = std::iter::from_fn(|| runs.next().unwrap()).collect();
            assert!(read == sorted, "{most} in memory");
        }
    }

    #[test]
    fn without_a_scratch_file_the_limit_is_told() {
        let mut runs = SortedRuns { most: 3, ..SortedRuns::new(None) };
        let record = TraceRecord::new(0, Verb::Read, 0, 0, 1);
        (0..3).for_each(|_| runs.push(record).unwrap());
        let error = runs.push(record).unwrap_err();
        assert_eq!(error.message, "more than 3 records that have to be sorted");
        let full = || -> io::Result<Box<dyn ScratchFile>> { Err(io::ErrorKind::StorageFull.into()) };
        let mut runs = SortedRuns { most: 3, ..SortedRuns::new(Some(Scratch(full))) };
        (0..3).for_each(|_| runs.push(record).unwrap());
        assert!(runs.push(record).unwrap_err().hint.is_some_and(|hint| hint.starts_with("TMPDIR ")));
    }
}
