//! What all inputs of an import share: the tables with their indices, and what was repaired.

use std::collections::{BTreeMap, HashMap};

use super::lines::{Line, Lines};
use crate::{FileKind, Tables, TraceError, TraceFile, TraceHeader, TraceRecord, TraceThread};

/// More threads than this are one, which is counted.
const MOST_THREADS: usize = 1 << 20;
/// More files or devices than this are refused: their names would not fit into memory.
const MOST_FILES: usize = 1 << 20;
/// The longest name of a file, bytes.
const LONGEST_NAME: usize = 4096;
/// Wrong lines that are told; of the others only the number is.
const TOLD: u64 = 5;
/// Lines after which a file that is mostly wrong is given up.
const JUDGED: u64 = 1000;

/// Why a line is wrong: a fragment, and the column it is in, from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LineFault {
    pub why: &'static str,
    pub column: Option<u32>,
}

impl LineFault {
    pub const fn new(why: &'static str) -> LineFault {
        LineFault { why, column: None }
    }

    pub const fn in_column(why: &'static str, column: usize) -> LineFault {
        LineFault { why, column: Some(column as u32) }
    }
}

/// A line's fault, or the end of the import.
pub enum LineFailure {
    Line(LineFault),
    End(TraceError),
}

impl From<LineFault> for LineFailure {
    fn from(fault: LineFault) -> LineFailure {
        LineFailure::Line(fault)
    }
}

impl From<TraceError> for LineFailure {
    fn from(error: TraceError) -> LineFailure {
        LineFailure::End(error)
    }
}

/// The header, the tables and the repairs of an import.
#[derive(Default)]
pub struct ImportContext {
    pub header: TraceHeader,
    pub tables: Tables,
    /// From the source's clock to the Unix epoch, where the source tells.
    pub unix_offset_ns: Option<i64>,
    files: HashMap<Box<[u8]>, u32>,
    threads: HashMap<u64, u32>,
    last_file: Option<(Box<[u8]>, u32)>,
    strict: bool,
    messages: Vec<String>,
    lines: u64,
    wrong: u64,
    /// The first wrong line, for the note.
    first: String,
    counts: BTreeMap<&'static str, u64>,
    /// Notes of the formats, beside those of the repairs.
    notes: Vec<String>,
    changed: bool,
    /// Sizes of devices by name, where they are known beforehand.
    sizes: HashMap<String, u64>,
    /// Files whose size has been looked up.
    sized: usize,
}

impl ImportContext {
    pub fn new(strict: bool) -> ImportContext {
        ImportContext { strict, ..ImportContext::default() }
    }

    /// The index of a file or device of that name, which is added where it is not known.
    ///
    /// # Errors
    /// A name that is too long; more files than fit.
    pub fn file(&mut self, name: &[u8], kind: FileKind) -> Result<u32, TraceError> {
        if let Some((_, index)) = self.last_file.as_ref().filter(|(last, _)| **last == *name) {
            return Ok(*index);
        }
        let index = match self.files.get(name) {
            Some(index) => *index,
            None => self.new_file(name, kind)?,
        };
        self.last_file = Some((name.into(), index));
        Ok(index)
    }

    fn new_file(&mut self, name: &[u8], kind: FileKind) -> Result<u32, TraceError> {
        let index = self.tables.files.len();
        if index >= MOST_FILES {
            return Err(TraceError::new(format!("it names more than {MOST_FILES} files or devices"))
                .hint("cut it into parts by file or device, and merge the traces with `trace merge`"));
        }
        let shown = String::from_utf8_lossy(&name[..name.len().min(LONGEST_NAME)]).into_owned();
        self.tables.files.push(TraceFile { name: shown, kind, ..TraceFile::default() });
        self.files.insert(name.into(), index as u32);
        Ok(index as u32)
    }

    /// The index of a block device.
    ///
    /// # Errors
    /// More devices than fit.
    pub fn device(&mut self, major: u32, minor: u32) -> Result<u32, TraceError> {
        let index = self.file(format!("{major},{minor}").as_bytes(), FileKind::Device)?;
        self.tables.files[index as usize].device = Some((major, minor));
        Ok(index)
    }

    /// The index of a thread of a process, which is added where it is not known.
    pub fn thread(&mut self, process: u32, thread: u32) -> u32 {
        let key = u64::from(process) << 32 | u64::from(thread);
        if let Some(index) = self.threads.get(&key) {
            return *index;
        }
        if self.tables.threads.len() >= MOST_THREADS {
            self.count("records of threads beyond 1,048,576, which are counted as the last of these", 1);
            return MOST_THREADS as u32 - 1;
        }
        self.tables.threads.push(TraceThread { process, thread, name: String::new() });
        let index = self.tables.threads.len() as u32 - 1;
        self.threads.insert(key, index);
        index
    }

    /// Names a thread that has no name.
    pub fn name_thread(&mut self, index: u32, name: &[u8]) {
        let thread = &mut self.tables.threads[index as usize];
        if thread.name.is_empty() {
            thread.name = String::from_utf8_lossy(&name[..name.len().min(256)]).into_owned();
        }
    }

    /// The size of a device that may be met, bytes.
    pub fn known_size(&mut self, name: &str, bytes: u64) {
        self.sizes.insert(name.into(), bytes);
    }

    /// Gives the files that were met since the last time their known sizes.
    pub fn fill_sizes(&mut self) {
        if !self.sizes.is_empty() {
            for file in &mut self.tables.files[self.sized..] {
                file.bytes = self.sizes.get(&file.name).copied().or(file.bytes);
            }
        }
        self.sized = self.tables.files.len();
    }

    /// Counts records that reach beyond the known sizes of their devices, which keep their places.
    pub fn check_sizes(&mut self, records: &[TraceRecord]) {
        if self.sizes.is_empty() {
            return;
        }
        let size = |record: &TraceRecord| self.tables.files.get(record.file as usize)?.bytes;
        let beyond = records.iter().filter(|record| {
            record.verb.moves_data() && size(record).is_some_and(|bytes| record.end() > bytes)
        });
        let beyond = beyond.count() as u64;
        self.count("records that reach beyond the size of their device, kept", beyond);
    }

    /// Counts something that was repaired or left out; the kind is the note's text before the number.
    pub fn count(&mut self, kind: &'static str, count: u64) {
        if count > 0 {
            *self.counts.entry(kind).or_default() += count;
            self.changed = true;
        }
    }

    /// Tells something at once, if not too much was told already.
    pub fn tell(&mut self, message: String) {
        if self.messages.len() < 2 * TOLD as usize {
            self.messages.push(message);
        }
    }

    /// Whether nothing may be wrong.
    pub fn is_strict(&self) -> bool {
        self.strict
    }

    /// Adds a note once.
    pub fn note(&mut self, note: String) {
        if !self.notes.contains(&note) {
            self.notes.push(note);
            self.changed = true;
        }
    }

    /// A line that was understood or is known to hold no record.
    pub fn good_line(&mut self) {
        self.lines += 1;
    }

    /// Counts a wrong line, and tells the first few.
    ///
    /// # Errors
    /// If nothing may be wrong, or most of the lines are.
    #[cold]
    pub fn wrong_line(&mut self, place: &str, fault: LineFault, shown: &[u8]) -> Result<(), TraceError> {
        let place = match fault.column {
            Some(column) => format!("{place}: column {column}"),
            None => place.to_string(),
        };
        let shown = shown.escape_ascii().to_string();
        let shown: String = shown.chars().take(80).collect();
        let why = format!("{}: `{shown}`", fault.why);
        if self.strict {
            return Err(TraceError::new(why)
                .at(place)
                .hint("without --strict such lines are counted and left out"));
        }
        (self.lines, self.wrong, self.changed) = (self.lines + 1, self.wrong + 1, true);
        if self.wrong == 1 {
            self.first = format!("{place}: {}", fault.why);
        }
        if self.wrong <= TOLD {
            self.messages.push(format!("{place}: {why}"));
        }
        if self.lines >= JUDGED { self.judge() } else { Ok(()) }
    }

    /// Reads a line, and takes what is too long as wrong.
    ///
    /// # Errors
    /// Those of the input, and of [`ImportContext::wrong_line`].
    pub fn next_line<'a>(&mut self, lines: &'a mut Lines) -> Result<Option<&'a [u8]>, TraceError> {
        loop {
            // A second look at the same line: the borrow checker cannot see that the first one is over.
            match lines.next_line()? {
                None => return Ok(None),
                Some(Line::Text(_)) => break,
                Some(Line::TooLong) => {}
            }
            let place = lines.place();
            self.wrong_line(&place, LineFault::new("a line of more than 64 KiB"), b"")?;
        }
        Ok(Some(lines.current()))
    }

    /// Whether most of the lines are wrong.
    ///
    /// # Errors
    /// If they are.
    pub fn judge(&self) -> Result<(), TraceError> {
        if self.wrong * 2 <= self.lines {
            return Ok(());
        }
        let (wrong, lines) = (self.wrong, self.lines);
        let message = format!("{wrong} of {lines} lines are wrong; the first is {}", self.first);
        Err(TraceError::new(message).hint("--as NAME or --csv MAP says what it is; --list names the formats"))
    }

    /// What should be told at once; it is told once.
    pub fn take_messages(&mut self) -> Vec<String> {
        std::mem::take(&mut self.messages)
    }

    /// Puts the notes into the header where they have changed.
    pub fn update_notes(&mut self) {
        if !std::mem::take(&mut self.changed) {
            return;
        }
        let mut notes = self.notes.clone();
        if self.wrong > 0 {
            let more = self.first.chars().take(200).collect::<String>();
            notes.push(format!("wrong lines, left out: {}; the first: {more}", self.wrong));
        }
        notes.extend(self.counts.iter().map(|(kind, count)| format!("{kind}: {count}")));
        self.header.notes = notes;
    }
}
