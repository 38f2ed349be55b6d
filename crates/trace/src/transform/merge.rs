//! Several traces in one, by their times.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

use crate::transform::positions::Positions;
use crate::transform::{Source, note_dropped};
use crate::{
    Batch, FileKind, RecordSource, Tables, TraceClock, TraceError, TraceFile, TraceHeader, TraceLevel,
    TraceThread,
};

/// How the times of traces meet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MergeStart {
    /// By the time of day at which each began, where all tell it; else together.
    #[default]
    Known,
    /// All begin at once.
    Together,
}

/// Records of a batch.
const BATCH: usize = 4096;

/// Merges traces. Files of one name, kind and device are one file, unless they are kept apart; and so are threads.
pub struct Merge {
    inputs: Vec<Input>,
    /// The next time of each input that has one.
    next: BinaryHeap<Reverse<(u64, usize)>>,
    header: TraceHeader,
    tables: Tables,
    known: Known,
    is_apart: bool,
    start: MergeStart,
    has_begun: bool,
    records: u64,
}

/// What is in the tables already.
#[derive(Default)]
struct Known {
    files: HashMap<FileKey, u32>,
    threads: HashMap<TraceThread, u32>,
}

/// What makes two files one: name, kind, device.
type FileKey = (String, FileKind, Option<(u32, u32)>);

struct Input {
    source: Source,
    batch: Batch,
    at: usize,
    shift_ns: u64,
    /// By the input's number: ours.
    files: Vec<u32>,
    threads: Vec<u32>,
    positions: Positions,
}

impl Merge {
    /// `is_apart`: files of the trace N are called `N:NAME`, and no two traces share a file or thread.
    pub fn of(sources: Vec<Source>, start: MergeStart, is_apart: bool) -> Merge {
        let input = |source: Source| Input {
            source,
            batch: Batch::new(),
            at: 0,
            shift_ns: 0,
            files: Vec::new(),
            threads: Vec::new(),
            positions: Positions::default(),
        };
        let mut merge = Merge {
            inputs: sources.into_iter().map(input).collect(),
            next: BinaryHeap::new(),
            header: TraceHeader::default(),
            tables: Tables::default(),
            known: Known::default(),
            is_apart,
            start,
            has_begun: false,
            records: 0,
        };
        merge.header = merge.merged_header();
        merge
    }

    /// When each began, if all tell it and that counts.
    fn begins(&self) -> Option<Vec<i64>> {
        let begins = self.inputs.iter().map(|input| input.source.header().began_unix_ns).collect();
        begins_if(self.start, begins)
    }

    fn merged_header(&self) -> TraceHeader {
        let headers: Vec<&TraceHeader> = self.inputs.iter().map(|input| input.source.header()).collect();
        let Some(first) = headers.first() else { return TraceHeader::default() };
        let sources: Vec<&str> = headers.iter().map(|header| header.source.as_str()).collect();
        let has_files = headers.iter().any(|header| header.level == TraceLevel::File);
        let is_one_clock = headers.iter().all(|header| header.clock == first.clock);
        let mut notes = Vec::new();
        if self.begins().is_none() && self.start == MergeStart::Known {
            notes.push("The merged traces begin together: not all of them tell when they began.".into());
        }
        for (number, header) in headers.iter().enumerate() {
            notes.extend(header.notes.iter().map(|note| format!("Trace {}: {note}", number + 1)));
        }
        let mut merged = TraceHeader {
            source: format!("merge of {}", sources.join(", ")),
            level: if has_files { TraceLevel::File } else { TraceLevel::Block },
            clock: if is_one_clock { first.clock } else { TraceClock::Relative },
            began_unix_ns: self.begins().and_then(|begins| begins.into_iter().min()),
            resolution_ns: headers.iter().map(|header| header.resolution_ns).max().unwrap_or(0),
            notes,
        };
        note_dropped(&mut merged, self.inputs.iter().map(|input| input.positions.dropped()).sum());
        merged
    }

    fn begin(&mut self) -> Result<(), TraceError> {
        self.has_begun = true;
        if let Some(begins) = self.begins() {
            let first = begins.iter().min().copied().unwrap_or(0);
            for (input, began) in self.inputs.iter_mut().zip(begins) {
                input.shift_ns = began.abs_diff(first);
            }
        }
        (0..self.inputs.len()).try_for_each(|index| self.refill(index))
    }

    /// Reads the next batch of an input where the last one is used up, and puts its next time in line.
    fn refill(&mut self, index: usize) -> Result<(), TraceError> {
        let input = &mut self.inputs[index];
        if input.at == input.batch.len() {
            input.at = 0;
            input.source.next_batch(&mut input.batch).map_err(|error| of_input(index, error))?;
            self.take_tables(index);
        }
        let input = &self.inputs[index];
        if let Some(record) = input.batch.get(input.at) {
            let at_ns = record.at_ns.checked_add(input.shift_ns);
            let at_ns = at_ns
                .ok_or_else(|| of_input(index, TraceError::new("its times are too far from the others'")))?;
            self.next.push(Reverse((at_ns, index)));
        }
        Ok(())
    }

    /// Puts what is new in the tables of an input into ours.
    fn take_tables(&mut self, index: usize) {
        let Input { source, files, threads, .. } = &mut self.inputs[index];
        let tables = source.tables();
        for file in tables.files.iter().skip(files.len()) {
            let mut file = file.clone();
            if self.is_apart {
                file.name = format!("{}:{}", index + 1, file.name);
            }
            let key = (file.name.clone(), file.kind, file.device);
            let next = self.tables.files.len() as u32;
            let number = *self.known.files.entry(key).or_insert(next);
            if number == next {
                self.tables.files.push(file);
            } else {
                grow(&mut self.tables.files[number as usize], &file);
            }
            files.push(number);
        }
        // A thread for the records of a source that tells none.
        let none = [TraceThread::default()];
        let told = if tables.threads.is_empty() { &none[..] } else { &tables.threads };
        for thread in told.iter().skip(threads.len()) {
            let next = self.tables.threads.len() as u32;
            let number =
                if self.is_apart { next } else { *self.known.threads.entry(thread.clone()).or_insert(next) };
            if number == next {
                self.tables.threads.push(thread.clone());
            }
            threads.push(number);
        }
    }

    /// Sizes that became known at the end.
    fn take_sizes(&mut self) {
        for input in &self.inputs {
            for (number, file) in input.files.iter().zip(&input.source.tables().files) {
                grow(&mut self.tables.files[*number as usize], file);
            }
        }
    }
}

fn begins_if(start: MergeStart, begins: Option<Vec<i64>>) -> Option<Vec<i64>> {
    begins.filter(|_| start == MergeStart::Known)
}

fn of_input(index: usize, error: TraceError) -> TraceError {
    let place = if error.place.is_empty() { String::new() } else { format!(", {}", error.place) };
    error.at(format!("trace {}{place}", index + 1))
}

/// Of two sizes of a file the larger one.
fn grow(file: &mut TraceFile, other: &TraceFile) {
    file.bytes = file.bytes.max(other.bytes);
}

impl RecordSource for Merge {
    fn header(&self) -> &TraceHeader {
        &self.header
    }

    fn tables(&self) -> &Tables {
        &self.tables
    }

    fn next_batch(&mut self, batch: &mut Batch) -> Result<(), TraceError> {
        batch.clear();
        if !self.has_begun {
            self.begin()?;
        }
        while batch.len() < BATCH {
            let Some(Reverse((at_ns, index))) = self.next.pop() else { break };
            let input = &mut self.inputs[index];
            let mut record = input.batch[input.at];
            input.at += 1;
            record.at_ns = at_ns;
            input.positions.keep(&mut record, self.records);
            record.file = input.files[record.file as usize];
            record.other = record.other.map(|other| input.files[other as usize]);
            record.thread = input.threads[record.thread as usize];
            self.records += 1;
            batch.push(record);
            self.refill(index)?;
        }
        if batch.is_empty() {
            self.take_sizes();
            self.header = self.merged_header();
        }
        Ok(())
    }
}
