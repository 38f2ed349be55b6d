//! What a trace holds: read once before a replay, so that its labels, buffers, targets and tree are known.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, HashSet};
use std::sync::Arc;

use iodyno_model::{Kind, TraceFacts, Verb};

use crate::columns::{Fields, RecordColumns};
use crate::{
    Batch, FileKind, RecordFlags, RecordSource, Tables, TraceError, TraceFile, TraceHeader, TraceLevel,
    TraceRecord,
};

/// Completions that are kept to know how many were in flight; of a trace with more the depth is a lower bound.
const IN_FLIGHT_MOST: usize = 1 << 16;

/// How a verb of a trace is played back; none: it is not.
pub fn replayed(verb: Verb) -> Option<Verb> {
    match verb {
        // A range of a file is discarded by punching a hole.
        Verb::Discard => Some(Verb::Trim),
        // What was mapped is synced by the file.
        Verb::Msync => Some(Verb::Fdatasync),
        verb if matches!(verb.kind(), Kind::Network | Kind::Control) => None,
        // A copy inside the kernel is a write of what was read beside it.
        Verb::CopyFileRange => Some(Verb::Write),
        verb => Some(verb),
    }
}

/// The pipes and device nodes that a trace makes: of what is no file, these alone are replayed, by their names.
#[derive(Debug, Default)]
pub(super) struct MadeNodes(HashSet<u32>);

impl MadeNodes {
    /// Whether a record on what is no file is replayed. Each record is to be shown, in the order of the trace.
    pub fn allow(&mut self, record: &TraceRecord) -> bool {
        let went_well = record.result.is_none_or(|result| result >= 0);
        match record.verb {
            Verb::Mkfifo | Verb::Mknod => {
                if went_well {
                    self.0.insert(record.file);
                }
                true
            }
            Verb::Rename | Verb::Link if self.0.contains(&record.file) => {
                self.0.extend(record.other.filter(|_| went_well));
                true
            }
            Verb::Unlink
            | Verb::Stat
            | Verb::Lstat
            | Verb::Access
            | Verb::Chmod
            | Verb::Chown
            | Verb::Utimens => self.0.contains(&record.file),
            _ => false,
        }
    }
}

/// What must be there of a file before the first record.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Need {
    /// Nothing, or it must not be there.
    #[default]
    Nothing,
    /// A file of so many bytes at least.
    File(u64),
    Directory,
    /// A link to wherever.
    Link,
}

/// Linux's numbers, which results of records have.
const EEXIST: i64 = 17;
const EISDIR: i64 = 21;
const EINVAL: i64 = 22;

/// What a trace holds.
#[derive(Clone, Debug, Default)]
pub struct Survey {
    pub facts: TraceFacts,
    pub header: TraceHeader,
    pub tables: Tables,
    /// By file: what must be there, of a trace of files.
    pub needs: Vec<Need>,
    /// By file: whether a call on it went well, so that the directories above it were there.
    pub met: Vec<bool>,
    /// By file: whether the trace made a directory of this name.
    pub directories_made: Vec<bool>,
    /// By file: how many records change its content, and how many read it.
    pub changes: Vec<u64>,
    pub reads: Vec<u64>,
}

/// The survey of a trace, and what it depends on.
#[derive(Clone, Debug)]
pub struct KnownSurvey {
    pub path: String,
    /// The name of its format; empty: its content tells.
    pub format: String,
    /// Verbs that are left out.
    pub skip: Vec<Verb>,
    pub survey: Arc<Survey>,
}

/// What is known of one file while a trace is surveyed.
#[derive(Clone, Copy, Debug, Default)]
struct FileState {
    met: bool,
    /// Whether it is no pipe or the like, and was met.
    is_simple: bool,
    /// Whether the trace made it, or took it away: nothing of it must be there.
    made: bool,
    /// Whether nothing can have been there before: it was made where nothing may be.
    is_new: bool,
    /// Whether the trace made a directory of this name.
    directory_made: bool,
    /// How far the trace itself has written it.
    written: u64,
    need: Need,
    end: u64,
    open: u32,
    changes: u64,
    reads: u64,
}

struct Surveyor {
    facts: TraceFacts,
    /// By verb and by thread: whether there are any.
    verbs: [bool; Verb::COUNT],
    threads: Vec<bool>,
    files: Vec<FileState>,
    flying: BinaryHeap<Reverse<u64>>,
    open: u32,
    is_files: bool,
    nodes: MadeNodes,
}

impl Survey {
    /// Reads a trace to its end. `skip`: verbs that will be left out.
    ///
    /// # Errors
    /// What makes it unreadable.
    pub fn of(source: &mut dyn RecordSource, skip: &[Verb]) -> Result<Survey, TraceError> {
        let mut surveyor = Surveyor::of(source.header());
        let mut columns = RecordColumns::default();
        while let Some(by_column) = source.columns() {
            by_column.next_columns(SURVEYED, &mut columns)?;
            if columns.records == 0 {
                break;
            }
            surveyor.columns(&columns, source.tables(), skip);
        }
        surveyor.rest(source, skip, &mut |_| {})
    }

    /// The same; each record is shown.
    ///
    /// # Errors
    /// Those of [`Survey::of`].
    pub fn watched(
        source: &mut dyn RecordSource,
        skip: &[Verb],
        watch: &mut dyn FnMut(&TraceRecord),
    ) -> Result<Survey, TraceError> {
        Surveyor::of(source.header()).rest(source, skip, watch)
    }

    /// The paths of a tree's files below its root, by file.
    pub fn paths(&self) -> Vec<String> {
        self.tables.files.iter().map(|file| path_below(&file.name)).collect()
    }
}

/// The fields that say anything of a trace as a whole: a second name does, and comes with content and dependencies.
const SURVEYED: Fields =
    Fields::TIMES.with(Fields::THREADS).with(Fields::LATENCIES).with(Fields::RESULTS).with(Fields::REST);

/// Of reads and writes that have one of these, more is to be known than where they are.
const SAYS_MORE: RecordFlags =
    RecordFlags::PREFLUSH.with(RecordFlags::FUA).with(RecordFlags::APPEND).with(RecordFlags::MAPPED);

impl Surveyor {
    fn of(header: &TraceHeader) -> Surveyor {
        Surveyor {
            facts: TraceFacts::default(),
            verbs: [false; Verb::COUNT],
            threads: Vec::new(),
            files: Vec::new(),
            flying: BinaryHeap::new(),
            open: 0,
            is_files: header.level == TraceLevel::File,
            nodes: MadeNodes::default(),
        }
    }

    /// Reads to the end, record by record.
    fn rest(
        mut self,
        source: &mut dyn RecordSource,
        skip: &[Verb],
        watch: &mut dyn FnMut(&TraceRecord),
    ) -> Result<Survey, TraceError> {
        let mut batch = Batch::new();
        loop {
            source.next_batch(&mut batch)?;
            if batch.is_empty() {
                return Ok(self.finish(source.header(), source.tables()));
            }
            for record in &batch {
                watch(record);
                self.record(record, source.tables(), skip);
            }
        }
    }

    fn columns(&mut self, columns: &RecordColumns, tables: &Tables, skip: &[Verb]) {
        let is_kept = [Verb::Read, Verb::Write].map(|verb| !skip.contains(&verb));
        for index in 0..columns.records {
            let (verb, bytes, latency_ns) =
                (columns.verb.get(index), columns.bytes.get(index), columns.latency_ns.get(index));
            let result = columns.result.get(index);
            let moves = (verb == Verb::Read && is_kept[0]) || (verb == Verb::Write && is_kept[1]);
            let is_whole = result.is_none_or(|result| u64::try_from(result) == Ok(bytes));
            let is_range = moves
                && is_whole
                && columns.flags.get(index).0 & SAYS_MORE.0 == 0
                && self.range(verb, columns.file.get(index), columns.offset.get(index), bytes);
            if is_range {
                self.told(columns.at_ns.get(index), columns.thread.get(index), latency_ns, result.is_some());
            } else {
                self.record(&columns.record(index), tables, skip);
            }
        }
    }

    /// What a read or write, all of which went well, says of a file that was met, in few steps; no: there is more to it.
    #[inline(always)]
    fn range(&mut self, verb: Verb, file: u32, offset: u64, bytes: u64) -> bool {
        let Some(state) = self.files.get_mut(file as usize).filter(|state| state.is_simple) else {
            return false;
        };
        let (is_read, end) = (verb == Verb::Read, offset.saturating_add(bytes));
        if bytes == 0 {
            return false;
        }
        match &mut state.need {
            _ if !self.is_files => {}
            _ if !is_read => state.written = state.written.max(end),
            _ if end <= state.written => {}
            Need::File(known) if !state.made => *known = (*known).max(end),
            _ => return false,
        }
        state.end = state.end.max(end);
        state.changes += u64::from(!is_read);
        state.reads += u64::from(is_read);
        self.verbs[verb.index()] = true;
        self.facts.largest_bytes = self.facts.largest_bytes.max(bytes);
        self.facts.odd |= !(bytes | offset).is_multiple_of(512);
        self.facts.moved_bytes = self.facts.moved_bytes.saturating_add(bytes);
        true
    }

    /// What any record says by its times, its thread and its result.
    #[inline(always)]
    fn told(&mut self, at_ns: u64, thread: u32, latency_ns: Option<u64>, has_result: bool) {
        self.facts.records += 1;
        self.facts.length_ns = self.facts.length_ns.max(at_ns);
        self.facts.results += u64::from(has_result);
        mark(&mut self.threads, thread);
        let Some(latency_ns) = latency_ns else { return };
        self.facts.timed += 1;
        while self.flying.peek().is_some_and(|Reverse(end)| *end <= at_ns) {
            self.flying.pop();
        }
        if self.flying.len() < IN_FLIGHT_MOST {
            self.flying.push(Reverse(at_ns.saturating_add(latency_ns)));
        }
        self.facts.depth = self.facts.depth.max(self.flying.len() as u32);
    }

    fn record(&mut self, record: &TraceRecord, tables: &Tables, skip: &[Verb]) {
        self.told(record.at_ns, record.thread, record.latency_ns, record.result.is_some());
        let facts = &mut self.facts;
        let kind = tables.files.get(record.file as usize).map_or(FileKind::File, |file| file.kind);
        let is_replayed = kind != FileKind::Other || self.nodes.allow(record);
        let verb = replayed(record.verb).filter(|_| is_replayed);
        if let Some(verb) = verb.filter(|_| !skip.contains(&record.verb)) {
            self.verbs[verb.index()] = true;
            if verb.moves_data() {
                facts.largest_bytes = facts.largest_bytes.max(record.bytes);
                facts.odd |= !record.bytes.is_multiple_of(512) || !record.offset.is_multiple_of(512);
                facts.moved_bytes = facts.moved_bytes.saturating_add(record.bytes);
            }
            let carries = record.flags.has(RecordFlags::PREFLUSH)
                || (record.flags.has(RecordFlags::FUA) && !self.is_files);
            if carries && verb == Verb::Write {
                facts.flushes = true;
            }
        }
        self.file(record, tables, skip);
        let state = &mut self.files[record.file as usize];
        state.is_simple = kind != FileKind::Other && (state.met || !self.is_files);
    }

    fn file(&mut self, record: &TraceRecord, tables: &Tables, skip: &[Verb]) {
        let most = record.file.max(record.other.unwrap_or(0)) as usize;
        if self.files.len() <= most {
            self.files.resize(most + 1, FileState::default());
        }
        let failed = record.result.is_some_and(|result| result < 0);
        let file = &mut self.files[record.file as usize];
        let ranged = record.verb.moves_data() || matches!(record.verb, Verb::Trim | Verb::Discard);
        if ranged && !failed {
            file.end = file.end.max(record.end());
        }
        let kept = !skip.contains(&record.verb);
        file.changes += u64::from(record.verb.changes() && !failed && kept);
        file.reads += u64::from(record.verb == Verb::Read && kept);
        if self.is_files && !failed {
            let kind = tables.files.get(record.file as usize).map_or(FileKind::File, |file| file.kind);
            self.tree(record, kind);
        } else if self.is_files {
            self.failure(record);
        }
    }

    /// What a call that failed says of the tree: some fail because something is there.
    fn failure(&mut self, record: &TraceRecord) {
        let file = &mut self.files[record.file as usize];
        let need = match (record.verb, -record.result.unwrap_or(0)) {
            (Verb::Mkdir, EEXIST) | (_, EISDIR) => Need::Directory,
            (Verb::Create | Verb::Open | Verb::Symlink, EEXIST) | (Verb::Readlink, EINVAL) => Need::File(0),
            _ => return,
        };
        if !file.met {
            (file.met, file.need) = (true, need);
        }
    }

    /// What a call that went well says of the tree before the first record.
    fn tree(&mut self, record: &TraceRecord, kind: FileKind) {
        let file = &mut self.files[record.file as usize];
        let makes = match record.verb {
            Verb::Create | Verb::Mkdir | Verb::Mknod | Verb::Mkfifo | Verb::Symlink => true,
            Verb::Open => record.flags.has(RecordFlags::CREATED) && !file.met,
            _ => false,
        };
        file.directory_made |= record.verb == Verb::Mkdir;
        file.is_new |= record.verb == Verb::Create && file.need == Need::Nothing;
        if makes {
            (file.met, file.made, file.written) = (true, true, 0);
        } else if !file.met {
            file.met = true;
            file.need = match kind {
                _ if matches!(record.verb, Verb::Readdir | Verb::Rmdir) => Need::Directory,
                FileKind::Directory => Need::Directory,
                FileKind::Other => Need::Nothing,
                FileKind::Link => Need::Link,
                _ if record.verb == Verb::Readlink => Need::Link,
                _ => Need::File(0),
            };
        }
        match record.verb {
            // What was read and not written before was there.
            Verb::Read => {
                let got = record.result.map_or(record.bytes, |result| result.max(0) as u64);
                let end = record.offset.saturating_add(got);
                if got > 0 && end > file.written && !file.made {
                    if let Need::File(bytes) = &mut file.need {
                        *bytes = (*bytes).max(end);
                    }
                } else if got > 0
                    && end > file.written
                    && (file.is_new || record.flags.has(RecordFlags::MAPPED))
                {
                    file.written = end;
                } else if got > 0 && end > file.written {
                    // Opened with leave to make it, and not empty: it was there.
                    (file.made, file.need) = (false, Need::File(end));
                }
            }
            // Where an append went is not always known.
            Verb::Write if record.flags.has(RecordFlags::APPEND) => {
                file.written = record.end().max(file.written.saturating_add(record.bytes));
            }
            Verb::Write => file.written = file.written.max(record.end()),
            Verb::Truncate => file.written = file.written.max(record.bytes),
            Verb::Open | Verb::Create => {
                file.open += 1;
                self.open += 1;
                self.facts.open_files = self.facts.open_files.max(self.open);
            }
            Verb::Close if file.open > 0 => {
                file.open -= 1;
                self.open -= 1;
            }
            // What it was may be open and be read on.
            Verb::Unlink | Verb::Rmdir => file.made = true,
            _ => {}
        }
        if let (Verb::Rename | Verb::Link, Some(other)) = (record.verb, record.other) {
            let FileState { written, directory_made, .. } = self.files[record.file as usize];
            let other = &mut self.files[other as usize];
            // What it stood for is no longer what this name had before.
            (other.met, other.made, other.written) = (true, true, written.max(other.written));
            other.directory_made |= directory_made;
        }
    }

    fn finish(mut self, header: &TraceHeader, tables: &Tables) -> Survey {
        self.files.resize(self.files.len().max(tables.files.len()), FileState::default());
        let known = |index: usize| tables.files.get(index);
        let need = |(index, state): (usize, &FileState)| match (state.need, known(index)) {
            // A source that knows sizes knows them better.
            (Need::File(bytes), Some(TraceFile { bytes: Some(told), .. })) => Need::File(bytes.max(*told)),
            (need, _) => need,
        };
        let needs = self.files.iter().enumerate().map(need).collect();
        let known = Verb::ALL.iter().filter(|verb| self.verbs[verb.index()]);
        let mut verbs: Vec<Verb> = known.copied().collect();
        if self.facts.flushes && !verbs.contains(&Verb::Fdatasync) {
            verbs.push(Verb::Fdatasync);
        }
        verbs.sort();
        self.facts.verbs = verbs;
        self.facts.threads = self.threads.iter().filter(|is_there| **is_there).count() as u32;
        self.facts.source.clone_from(&header.source);
        self.facts.resolution_ns = header.resolution_ns;
        self.facts.ends = self.files.iter().map(|file| file.end).collect();
        Survey {
            facts: self.facts,
            header: header.clone(),
            tables: tables.clone(),
            needs,
            met: self.files.iter().map(|file| file.met).collect(),
            directories_made: self.files.iter().map(|file| file.directory_made).collect(),
            changes: self.files.iter().map(|file| file.changes).collect(),
            reads: self.files.iter().map(|file| file.reads).collect(),
        }
    }
}

fn mark(marks: &mut Vec<bool>, index: u32) {
    let index = index as usize;
    if marks.len() <= index {
        marks.resize(index + 1, false);
    }
    marks[index] = true;
}

/// A recorded name as a path below a directory: `..` leads no higher than to it. A name without a part is the directory.
pub fn path_below(name: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in name.split('/') {
        match part {
            "" | "." => {}
            ".." => _ = parts.pop(),
            part => parts.push(part),
        }
    }
    if parts.is_empty() { ".".into() } else { parts.join("/") }
}

/// What must be there by path: directories first, those above before those below, then the rest. Names that are the same
/// path are one.
pub fn tree(survey: &Survey) -> Vec<(String, Need)> {
    let mut wanted: HashMap<&str, Need> = HashMap::new();
    let paths = survey.paths();
    let of = |flags: &[bool]| -> HashSet<&str> {
        paths.iter().zip(flags).filter(|(_, flag)| **flag).map(|(path, _)| path.as_str()).collect()
    };
    let made = of(&survey.directories_made);
    for (index, path) in paths.iter().enumerate().filter(|(index, _)| survey.met[*index]) {
        let mut directory = above(path);
        while let Some(path) = directory.filter(|path| !made.contains(path)) {
            wanted.insert(path, Need::Directory);
            directory = above(path);
        }
        let need = survey.needs[index];
        if need != Need::Nothing && path != "." {
            let known = wanted.entry(path).or_insert(need);
            *known = larger(*known, need);
        }
    }
    let mut tree: Vec<(String, Need)> = wanted.into_iter().map(|(path, need)| (path.into(), need)).collect();
    tree.sort_by(|(a, x), (b, y)| (*x != Need::Directory, a).cmp(&(*y != Need::Directory, b)));
    tree
}

/// The directory of a path, where that is not the root.
fn above(path: &str) -> Option<&str> {
    path.rsplit_once('/').map(|(above, _)| above)
}

fn larger(a: Need, b: Need) -> Need {
    match (a, b) {
        (Need::Directory, _) | (_, Need::Directory) => Need::Directory,
        (Need::File(a), Need::File(b)) => Need::File(a.max(b)),
        (Need::File(_), _) => a,
        (_, b) => b,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::MemorySource;
    use crate::format::Reader;

    proptest! {
        #[test]
        fn columns_say_what_their_records_say(
            source in crate::testing::traces(),
            least_skipped in 0..4usize,
            shift in 0..50u32,
        ) {
            let mut source = source;
            for (index, record) in source.records.iter_mut().enumerate() {
                // Most are reads and writes, some of which overlap.
                if index % 4 > 0 {
                    record.verb = if index % 3 == 0 { Verb::Write } else { Verb::Read };
                    record.flags.0 &= 1 << (index % 8);
                    (record.offset, record.bytes) = (record.offset >> shift, record.bytes >> shift);
                    record.result = [None, Some(record.bytes as i64 & i64::MAX), Some(0)][index % 3];
                }
            }
            let skip = &[Verb::Write, Verb::Open, Verb::Read][least_skipped.min(3)..];
            let bytes = crate::testing::written(&source);
            let by_columns = Survey::of(&mut Reader::new(&bytes[..]).unwrap(), skip).unwrap();
            let one_by_one = Survey::watched(&mut Reader::new(&bytes[..]).unwrap(), skip, &mut |_| {}).unwrap();
            prop_assert_eq!(format!("{by_columns:?}"), format!("{one_by_one:?}"));
        }
    }

    /// What must be there of one file for these calls on it.
    fn need(records: &[(Verb, u64, u64, RecordFlags)]) -> Need {
        let of = |(index, (verb, offset, bytes, flags)): (usize, &(Verb, u64, u64, RecordFlags))| {
            TraceRecord { flags: *flags, ..TraceRecord::new(index as u64, *verb, 0, *offset, *bytes) }
        };
        let records = records.iter().enumerate().map(of).collect();
        let tables = Tables { files: vec![TraceFile::default()], ..Tables::default() };
        let header = TraceHeader { level: TraceLevel::File, ..TraceHeader::default() };
        Survey::of(&mut MemorySource::new(header, tables, records), &[]).unwrap().needs[0]
    }

    #[test]
    fn only_what_the_trace_did_not_write_itself_was_there_before() {
        const NO: RecordFlags = RecordFlags(0);
        let (append, created) = (RecordFlags::APPEND, RecordFlags::CREATED);
        let read = (Verb::Read, 0, 900, NO);
        assert_eq!(need(&[(Verb::Open, 0, 0, NO), read]), Need::File(900));
        assert_eq!(
            need(&[(Verb::Open, 0, 0, created), read]),
            Need::File(900),
            "it may make it, and did not"
        );
        assert_eq!(need(&[(Verb::Create, 0, 0, NO), read]), Need::Nothing, "it did");
        // Appends of which only the length is known.
        let write = (Verb::Write, 0, 300, append);
        assert_eq!(need(&[(Verb::Open, 0, 0, created), write, write, write, read]), Need::Nothing);
        assert_eq!(need(&[(Verb::Open, 0, 0, created), write, write, read]), Need::File(900));
        // Read by a descriptor after its name is gone.
        let unlink = (Verb::Unlink, 0, 0, NO);
        assert_eq!(
            need(&[(Verb::Open, 0, 0, created), write, unlink, (Verb::Read, 0, 300, NO)]),
            Need::Nothing
        );
        assert_eq!(need(&[(Verb::Open, 0, 0, NO), unlink, read]), Need::File(900));
    }
}
