//! What a run issued, as a trace: `--also record=FILE`.
//!
//! Made from the journals of all workers, which are told in parts: records wait until those of other workers that are
//! earlier can have come. What waits is bounded; what comes later still gets the time of the record before it, and the
//! header's notes say how many did.

use std::cell::RefCell;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::io::{self, Write};
use std::rc::Rc;

use iodyno_model::{Event, JournalEntry, JournalPart, Record};
use iodyno_trace::format::Writer;
use iodyno_trace::{
    FileKind, TraceClock, TraceError, TraceFile, TraceHeader, TraceLevel, TraceRecord, TraceThread,
};

use crate::{Output, Reporter};

/// Records that wait for earlier ones, at most.
const WAITING: usize = 1 << 18;

/// The offset in the journal of an operation that has none: it is at the position of the file, or at its end.
const AT_POSITION: u64 = u64::MAX;

/// Bytes on their way from the format's writer to the output that an event brings.
#[derive(Clone, Default)]
struct Passage(Rc<RefCell<Vec<u8>>>);

impl Write for Passage {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.borrow_mut().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A record that waits, ordered by its time and then as it came.
struct WaitingRecord {
    number: u64,
    record: TraceRecord,
}

impl WaitingRecord {
    fn key(&self) -> (u64, u64) {
        (self.record.at_ns, self.number)
    }
}

impl PartialEq for WaitingRecord {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl Eq for WaitingRecord {}

impl PartialOrd for WaitingRecord {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for WaitingRecord {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.key().cmp(&other.key())
    }
}

/// Writes the trace.
#[derive(Default)]
pub struct IssuedTrace {
    passage: Passage,
    writer: Option<Writer<Passage>>,
    files: HashMap<String, u32>,
    /// By phase, job and worker.
    threads: HashMap<(usize, usize, u32), u32>,
    waiting: BinaryHeap<Reverse<WaitingRecord>>,
    /// Of each thread's file: where operations at its position have come to, bytes.
    positions: HashMap<(u32, u32), u64>,
    number: u64,
    last_ns: u64,
    late: u64,
    /// Wall-clock time of the first phase's start line, ns since 1970.
    began_unix_ns: Option<u64>,
    version: String,
}

impl IssuedTrace {
    pub fn new() -> IssuedTrace {
        IssuedTrace::default()
    }

    fn writer(&mut self) -> Result<&mut Writer<Passage>, TraceError> {
        if self.writer.is_none() {
            let header = TraceHeader {
                source: format!("iodyno {}", self.version),
                level: TraceLevel::File,
                clock: TraceClock::Monotonic,
                resolution_ns: 1,
                ..TraceHeader::default()
            };
            self.writer = Some(Writer::new(self.passage.clone(), header)?);
        }
        self.writer.as_mut().ok_or_else(|| TraceError::new("the trace has no writer"))
    }

    fn part(&mut self, part: &JournalPart) -> Result<(), TraceError> {
        let wall_ns = part.clocks.iter().find(|(number, _)| *number == 0).map_or(0, |(_, ns)| *ns);
        let began_ns = *self.began_unix_ns.get_or_insert(wall_ns);
        let base_ns = wall_ns.saturating_sub(began_ns);
        let thread = self.thread(part)?;
        for entry in &part.entries {
            let JournalEntry::Done { at_ns, verb, file, offset, bytes, submission_ns, completion_ns, .. } =
                *entry
            else {
                continue;
            };
            let took_ns = submission_ns + completion_ns;
            let file = self.file(part, file)?;
            let offset = match offset {
                AT_POSITION => {
                    let position = self.positions.entry((thread, file)).or_default();
                    let at = *position;
                    *position += bytes;
                    at
                }
                offset => offset,
            };
            let record = TraceRecord {
                latency_ns: Some(took_ns),
                thread,
                ..TraceRecord::new(base_ns + at_ns.saturating_sub(took_ns), verb, file, offset, bytes)
            };
            self.number += 1;
            self.waiting.push(Reverse(WaitingRecord { number: self.number, record }));
            if self.waiting.len() > WAITING {
                self.release()?;
            }
        }
        Ok(())
    }

    fn release(&mut self) -> Result<(), TraceError> {
        let Some(Reverse(WaitingRecord { mut record, .. })) = self.waiting.pop() else { return Ok(()) };
        if record.at_ns < self.last_ns {
            record.at_ns = self.last_ns;
            self.late += 1;
        }
        self.last_ns = record.at_ns;
        self.writer()?.push(&record)
    }

    fn file(&mut self, part: &JournalPart, index: u32) -> Result<u32, TraceError> {
        // Of a set of files the journal tells the set.
        let name = part.files.get(index as usize).or(part.files.first());
        let name = name.cloned().unwrap_or_else(|| format!("worker {}", part.worker));
        if let Some(file) = self.files.get(&name) {
            return Ok(*file);
        }
        let kind = if name.starts_with("/dev/") { FileKind::Device } else { FileKind::File };
        let file =
            self.writer()?.define_file(TraceFile { name: name.clone(), kind, ..TraceFile::default() })?;
        self.files.insert(name, file);
        Ok(file)
    }

    fn thread(&mut self, part: &JournalPart) -> Result<u32, TraceError> {
        let key = (part.phase, part.job, part.worker);
        if let Some(thread) = self.threads.get(&key) {
            return Ok(*thread);
        }
        let number = self.threads.len() as u32;
        let name = format!("phase {} job {} worker {}", part.phase, part.job, part.worker);
        let entry = TraceThread { process: part.pid, thread: number, name };
        let thread = self.writer()?.define_thread(entry)?;
        self.threads.insert(key, thread);
        Ok(thread)
    }

    fn end(&mut self, record: &Record) -> Result<(), TraceError> {
        while !self.waiting.is_empty() {
            self.release()?;
        }
        let (late, began, has_positions) = (self.late, self.began_unix_ns, !self.positions.is_empty());
        let source = format!("iodyno {}", record.machine.version);
        let writer = self.writer()?;
        let header = writer.header_mut();
        header.source = source;
        header.began_unix_ns = began.and_then(|began| i64::try_from(began).ok());
        if has_positions {
            header.notes.push(
                "operations without an offset are counted on from 0, whatever was skipped first".into(),
            );
        }
        if late > 0 {
            header
                .notes
                .push(format!("{late} records came late and have the time of the record before them"));
        }
        match self.writer.take() {
            Some(writer) => writer.finish().map(drop),
            None => Ok(()),
        }
    }
}

impl Reporter for IssuedTrace {
    fn event(&mut self, event: &Event, output: &mut Output<'_>) -> io::Result<()> {
        let done = match event {
            Event::Started(started) => {
                self.version.clone_from(&started.machine.version);
                Ok(())
            }
            Event::Journal(part) => self.part(part),
            Event::Ended(record) => self.end(record),
            _ => return Ok(()),
        };
        done.map_err(|error| io::Error::other(error.to_string()))?;
        output.out.write_all(&std::mem::take(&mut *self.passage.0.borrow_mut()))
    }
}

#[cfg(test)]
mod tests {
    use iodyno_model::Verb;
    use iodyno_trace::MemorySource;
    use iodyno_trace::format::Reader;

    use super::*;
    use crate::NoFiles;

    fn done(at_ns: u64, file: u32) -> JournalEntry {
        JournalEntry::Done {
            at_ns,
            verb: Verb::Write,
            file,
            offset: at_ns * 4096,
            bytes: 4096,
            submission_ns: 1,
            completion_ns: 4,
            latency_ns: 9,
            priority: 0,
        }
    }

    #[test]
    fn the_journals_of_all_workers_are_one_trace_in_the_order_of_issue() {
        let part = |worker, clocks, times: &[u64]| JournalPart {
            worker,
            files: vec!["/a".into(), "/b".into()],
            clocks: vec![(0, clocks)],
            entries: times.iter().map(|at| done(*at, worker)).collect(),
            ..JournalPart::default()
        };
        let parts = [part(0, 1000, &[10, 30]), part(1, 1000, &[20, 40]), part(1, 1100, &[6])];
        let mut trace = IssuedTrace::new();
        let mut bytes = Vec::new();
        let events = parts.into_iter().map(|part| Event::Journal(Box::new(part)));
        for event in events.chain([Event::Ended(Box::default())]) {
            let mut output = Output { out: &mut bytes, err: &mut io::sink(), files: &mut NoFiles };
            trace.event(&event, &mut output).unwrap();
        }
        let read = MemorySource::of(&mut Reader::new(bytes.as_slice()).unwrap()).unwrap();
        let records: Vec<_> = read
            .records
            .iter()
            .map(|record| (record.at_ns, record.latency_ns, record.file, record.thread))
            .collect();
        assert_eq!(
            records,
            [
                (5, Some(5), 0, 0),
                (15, Some(5), 1, 1),
                (25, Some(5), 0, 0),
                (35, Some(5), 1, 1),
                (101, Some(5), 1, 1)
            ]
        );
        assert_eq!(read.tables.files[1].name, "/b");
        assert_eq!(read.header.began_unix_ns, Some(1000));
    }
}
