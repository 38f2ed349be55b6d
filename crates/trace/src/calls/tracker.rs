//! From calls to records: descriptors, positions and names are followed.

use std::collections::{BTreeMap, HashMap};

use iodyno_model::Verb;

use super::facts::{FileFacts, FileState, Lookup};
use super::order::{IssueOrder, IssueTicket};
use super::{AT_FDCWD, FileCall, OpenOptions, SEEK_CUR, SEEK_SET};
use crate::descriptors::{DescriptorTables, OpenFile, OpenFileId, SharedState};
use crate::{Batch, FileKind, RecordFlags, Tables, TraceFile, TraceRecord, TraceThread};

const ENOENT: i64 = -2;

/// A call that has not ended.
#[derive(Debug)]
pub struct PendingCall {
    thread: u32,
    call: FileCall,
    /// What is known of its record; none: it makes none.
    record: Option<TraceRecord>,
    ticket: Option<IssueTicket>,
    /// The open files that it works on; held.
    open: [Option<OpenFileId>; 2],
    /// Of an open: whether there was a file, and what it was.
    found: Lookup,
    /// Of a change of directory, and of an open: the whole name.
    name: String,
}

/// Verb, file, second file, offset and bytes of a record.
type Described = (Verb, u32, Option<u32>, u64, u64);

/// What calls have told of a file.
#[derive(Clone, Copy, Debug, Default)]
struct FileKnowledge {
    exists: Option<bool>,
    length: Option<u64>,
    /// Its size when it was met is not known: what reads reach is.
    is_size_guessed: bool,
}

/// A shared mapping of a file.
#[derive(Clone, Copy, Debug)]
struct SharedMapping {
    bytes: u64,
    file: u32,
    offset: u64,
}

type Mappings = BTreeMap<u64, SharedMapping>;

#[derive(Clone, Debug, Default)]
struct ThreadRecord {
    /// Index into the table of threads, once it made a record.
    index: Option<u32>,
    process: u32,
}

/// What could not be followed, as counts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TrackingGaps {
    /// I/O that does not go through calls on files.
    pub unseen: BTreeMap<&'static str, u64>,
    /// Calls on descriptors of which nothing is known.
    pub descriptors: u64,
    /// Reads and writes at positions that nothing tells.
    pub positions: u64,
    /// Paths that begin in a directory that is not known.
    pub directories: u64,
    /// Opens that may have made their file.
    pub creations: u64,
    /// Mappings: their accesses are not seen.
    pub mappings: u64,
    /// `msync` of addresses that no mapping has.
    pub addresses: u64,
    /// Calls whose range ended beyond 2^63 bytes, where no file can end: some ask for all that there may be.
    pub ranges: u64,
}

/// Follows the calls of all threads and makes their records.
#[derive(Debug, Default)]
pub struct CallTracker {
    pub tables: Tables,
    pub gaps: TrackingGaps,
    names: HashMap<String, u32>,
    known: Vec<FileKnowledge>,
    descriptors: DescriptorTables,
    threads: HashMap<u32, ThreadRecord>,
    /// The shared mappings of each process.
    mappings: HashMap<u32, Mappings>,
    order: IssueOrder,
    /// When the first record was issued, in the source's time.
    began_ns: Option<u64>,
}

impl PendingCall {
    /// The file of its record.
    pub fn file(&self) -> Option<u32> {
        self.record.map(|record| record.file)
    }

    /// Says what was not known of its arguments when it began.
    pub fn amend(&mut self, call: FileCall) {
        let (given, moved) = match &call {
            FileCall::Transfer { offset, bytes, .. } => (offset.unwrap_or(0), *bytes),
            FileCall::OnDescriptor { offset, bytes, .. } => (*offset, *bytes),
            _ => return,
        };
        if let Some(record) = &mut self.record {
            (record.offset, record.bytes) = (given, moved);
        }
        self.call = call;
    }
}

impl CallTracker {
    /// When the first record was issued, in the source's time.
    pub fn began_ns(&self) -> Option<u64> {
        self.began_ns
    }

    /// A thread begins a call. None: its result does not matter; else [`end`](CallTracker::end) wants it.
    pub fn begin(
        &mut self,
        thread: u32,
        at_ns: u64,
        call: FileCall,
        facts: &mut dyn FileFacts,
    ) -> Option<PendingCall> {
        self.descriptors.ensure(thread);
        if self.immediate(thread, &call, facts) {
            return None;
        }
        let mut pending = PendingCall {
            thread,
            call,
            record: None,
            ticket: None,
            open: [None, None],
            found: Lookup::Unknown,
            name: String::new(),
        };
        if self.unrecorded(&mut pending, facts) {
            return Some(pending);
        }
        let described = self.on_descriptors(&mut pending, facts);
        let described = described.or_else(|| self.on_names(&mut pending, facts));
        let Some((verb, file, other, offset, bytes)) = described else {
            self.let_go(&pending);
            return None;
        };
        let began = *self.began_ns.get_or_insert(at_ns);
        let mut record = TraceRecord::new(at_ns.saturating_sub(began), verb, file, offset, bytes);
        record.other = other;
        record.thread = self.index_of(thread, facts);
        record.flags = self.flags(&pending);
        self.shorten(&mut record);
        pending.ticket = Some(self.order.begin(record));
        pending.record = Some(record);
        Some(pending)
    }

    /// What needs no result is done.
    fn immediate(&mut self, thread: u32, call: &FileCall, facts: &mut dyn FileFacts) -> bool {
        match *call {
            FileCall::Unseen(name) => {
                *self.gaps.unseen.entry(name).or_default() += 1;
                true
            }
            FileCall::SetCloseOnExec { fd, on } => {
                self.descriptors.set_close_on_exec(thread, fd, on);
                true
            }
            FileCall::Seek { fd, offset, whence } => {
                let Some(open) = self.find(thread, fd, facts) else { return true };
                let Some(file) = self.descriptors.file_mut(open) else { return true };
                let is_file = matches!(file.kind, FileKind::File | FileKind::Device);
                let target = match whence {
                    SEEK_SET => u64::try_from(offset).ok(),
                    SEEK_CUR => file.position.checked_add_signed(offset),
                    _ => return !is_file,
                };
                if let Some(position) = target.filter(|_| is_file) {
                    file.position = position;
                }
                true
            }
            _ => false,
        }
    }

    /// Whether a call makes no record, although its result matters.
    fn unrecorded(&mut self, pending: &mut PendingCall, facts: &mut dyn FileFacts) -> bool {
        let thread = pending.thread;
        match &pending.call {
            FileCall::ChangeDirectory { path } => {
                let path = path.clone();
                pending.name = self.locate(thread, AT_FDCWD, &path, facts);
            }
            FileCall::ChangeDirectoryTo { fd } => {
                let open = self.find(thread, *fd, facts).and_then(|id| self.descriptors.file(id));
                let name = open.and_then(|open| self.tables.files.get(open.file as usize));
                pending.name = name.map(|file| file.name.clone()).unwrap_or_default();
            }
            FileCall::Duplicate { fd, .. } | FileCall::SetStatus { fd, .. } | FileCall::Seek { fd, .. } => {
                // It is found now: when the call ends another thread may have closed it.
                pending.open[0] = self.find(thread, *fd, facts);
                pending.open.iter().flatten().for_each(|id| self.descriptors.hold(*id));
            }
            FileCall::CloseRange { .. } | FileCall::Unshare { .. } => {}
            _ => return false,
        }
        true
    }

    /// What the record of a call on names begins with.
    fn on_names(&mut self, pending: &mut PendingCall, facts: &mut dyn FileFacts) -> Option<Described> {
        let thread = pending.thread;
        match &pending.call {
            FileCall::Open { at, path, options } => {
                let name = self.locate(thread, *at, path, facts);
                if options.creates || !self.names.contains_key(&name) {
                    pending.found = facts.lookup(thread, &name, !options.follows_no_link);
                }
                let file = self.name_of(&name, pending.found);
                let verb = if options.creates && options.exclusive { Verb::Create } else { Verb::Open };
                let bytes = if options.creates { u64::from(options.permissions) } else { 0 };
                pending.name = name;
                Some((verb, file, None, 0, bytes))
            }
            FileCall::OnPath { verb, at, path, follows, bytes } => {
                let path = if path.is_empty() { "." } else { path };
                let name = self.locate(thread, *at, path, facts);
                Some((*verb, self.path(thread, &name, *follows, facts), None, 0, *bytes))
            }
            FileCall::MakeNode { verb, at, path, mode, device } => {
                let name = self.locate(thread, *at, path, facts);
                Some((*verb, self.path(thread, &name, false, facts), None, *device, *mode))
            }
            FileCall::OnAttribute { verb, at, path, follows, name, bytes } => {
                let file = self.locate(thread, *at, path, facts);
                let file = self.path(thread, &file, *follows, facts);
                Some((*verb, file, Some(self.attribute(name)), 0, *bytes))
            }
            FileCall::OnPaths { verb, at, path, other_at, other } => {
                let name = self.locate(thread, *at, path, facts);
                let second = self.locate(thread, *other_at, other, facts);
                let file = self.path(thread, &name, false, facts);
                Some((*verb, file, Some(self.path(thread, &second, false, facts)), 0, 0))
            }
            FileCall::Symlink { text, at, path } => {
                let name = self.locate(thread, *at, path, facts);
                let file = self.path(thread, &name, false, facts);
                // The text is no name of a file: it may lead nowhere, and it begins where the link lies.
                Some((Verb::Symlink, file, Some(self.name_of(text, Lookup::Unknown)), 0, 0))
            }
            _ => None,
        }
    }

    /// What the record of a call on descriptors begins with.
    fn on_descriptors(&mut self, pending: &mut PendingCall, facts: &mut dyn FileFacts) -> Option<Described> {
        match pending.call {
            FileCall::OnPath { at, verb, bytes, ref path, .. } if path.is_empty() && at != AT_FDCWD => {
                self.on_descriptor(pending, verb, at, 0, bytes, facts)
            }
            FileCall::OnAttribute { at, verb, bytes, ref path, ref name, .. }
                if path.is_empty() && at != AT_FDCWD =>
            {
                let name = name.clone();
                let (verb, file, ..) = self.on_descriptor(pending, verb, at, 0, bytes, facts)?;
                Some((verb, file, Some(self.attribute(&name)), 0, bytes))
            }
            FileCall::Allocate { fd, mode, offset, bytes } => {
                self.on_descriptor(pending, FileCall::allocation(mode), fd, offset, bytes, facts)
            }
            FileCall::Close { fd } => {
                let described = self.on_descriptor(pending, Verb::Close, fd, 0, 0, facts);
                // The kernel frees the number first: another thread may get it before this call ends.
                self.descriptors.close(pending.thread, fd);
                described
            }
            FileCall::OnDescriptor { verb, fd, offset, bytes } => {
                self.on_descriptor(pending, verb, fd, offset, bytes, facts)
            }
            FileCall::Transfer { verb, fd, offset, bytes, .. } => {
                self.on_descriptor(pending, verb, fd, offset.unwrap_or(0), bytes, facts)
            }
            FileCall::Map { fd, offset, bytes, is_shared, writes } => {
                let verb = if is_shared && writes { Verb::Write } else { Verb::Read };
                self.on_descriptor(pending, verb, fd, offset, bytes, facts)
            }
            FileCall::Copy { verb, from, to, bytes, .. } => {
                self.on_two_descriptors(pending, verb, from, (to, 0, bytes), facts)
            }
            FileCall::Reflink { from, to, to_offset, bytes, .. } => {
                self.on_two_descriptors(pending, Verb::Clone, from, (to, to_offset, bytes), facts)
            }
            FileCall::Msync { address, bytes } => {
                let process = self.thread(pending.thread, facts).process;
                let mapped = self.mappings.get(&process).and_then(|all| all.range(..=address).next_back());
                let hit = mapped.filter(|(start, mapping)| address - **start < mapping.bytes);
                self.gaps.addresses += u64::from(hit.is_none());
                hit.map(|(start, mapping)| {
                    (Verb::Msync, mapping.file, None, mapping.offset.saturating_add(address - start), bytes)
                })
            }
            _ => None,
        }
    }

    /// The same for two: the record is that of the file that is written, with the other as its second.
    fn on_two_descriptors(
        &mut self,
        pending: &mut PendingCall,
        verb: Verb,
        from: i32,
        (to, offset, bytes): (i32, u64, u64),
        facts: &mut dyn FileFacts,
    ) -> Option<Described> {
        let (_, source, ..) = self.on_descriptor(pending, verb, from, 0, bytes, facts)?;
        pending.open[1] = pending.open[0].take();
        let (verb, target, ..) = self.on_descriptor(pending, verb, to, offset, bytes, facts)?;
        Some((verb, target, Some(source), offset, bytes))
    }

    /// What a record of a call on a descriptor begins with; its open file is held.
    fn on_descriptor(
        &mut self,
        pending: &mut PendingCall,
        verb: Verb,
        fd: i32,
        offset: u64,
        bytes: u64,
        facts: &mut dyn FileFacts,
    ) -> Option<Described> {
        let id = self.find(pending.thread, fd, facts)?;
        self.descriptors.hold(id);
        pending.open[0] = Some(id);
        let file = self.descriptors.file(id)?.file;
        Some((verb, file, None, offset, bytes))
    }

    fn let_go(&mut self, pending: &PendingCall) {
        pending.open.iter().flatten().for_each(|id| self.descriptors.release(*id));
    }

    fn flags(&self, pending: &PendingCall) -> RecordFlags {
        let mode = pending.open[0].and_then(|id| self.descriptors.file(id)).map(|open| open.mode);
        let mut mode = mode.unwrap_or_default();
        let (mut writes, mut flags) = (false, RecordFlags::default());
        match &pending.call {
            FileCall::Transfer { verb, durable, append, .. } => {
                writes = *verb == Verb::Write;
                mode.durable |= durable;
                mode.append |= append;
            }
            FileCall::Copy { .. } => writes = true,
            FileCall::Open { options, .. } => {
                (mode, writes) = (options.mode, true);
            }
            FileCall::Map { .. } => flags = flags.with(RecordFlags::MAPPED),
            FileCall::Allocate { mode, .. } => return RecordFlags::of_allocation(*mode),
            FileCall::Reflink { from_offset, to_offset, .. } if from_offset == to_offset => {
                return RecordFlags::SAME_RANGE;
            }
            FileCall::Msync { .. } => return flags.with(RecordFlags::MAPPED),
            _ => return flags,
        }
        for (is_set, flag) in [
            (mode.direct, RecordFlags::DIRECT),
            (mode.append && writes, RecordFlags::APPEND),
            (mode.durable && writes, RecordFlags::FUA),
        ] {
            if is_set {
                flags = flags.with(flag);
            }
        }
        flags
    }

    /// A call ended. `result` is what it returned, `< 0` a negative errno; none: that is not known.
    pub fn end(
        &mut self,
        mut pending: PendingCall,
        result: Option<i64>,
        latency_ns: Option<u64>,
        facts: &mut dyn FileFacts,
    ) {
        let mut records = Vec::new();
        if let Some(record) = &mut pending.record {
            record.result = result;
            record.latency_ns = latency_ns;
        }
        match result {
            Some(value) if value >= 0 => self.succeeded(&mut pending, value as u64, facts, &mut records),
            _ => self.failed(&mut pending, result, &mut records),
        }
        self.let_go(&pending);
        if let Some(ticket) = pending.ticket {
            records.iter_mut().for_each(|record| self.shorten(record));
            self.order.end(ticket, records);
        }
    }

    /// Lets a record's range end where a file can end. The bytes of a change of owner are the owners.
    fn shorten(&mut self, record: &mut TraceRecord) {
        const FURTHEST: u64 = i64::MAX as u64;
        if record.verb == Verb::Chown {
            return;
        }
        let offset = record.offset.min(FURTHEST);
        let bytes = record.bytes.min(FURTHEST - offset);
        self.gaps.ranges += u64::from((offset, bytes) != (record.offset, record.bytes));
        (record.offset, record.bytes) = (offset, bytes);
    }

    fn failed(&mut self, pending: &mut PendingCall, result: Option<i64>, records: &mut Vec<TraceRecord>) {
        let Some(mut record) = pending.record else { return };
        self.gaps.mappings += u64::from(result.is_none() && matches!(pending.call, FileCall::Map { .. }));
        if let FileCall::Transfer { offset: None, .. } = pending.call
            && let Some(open) = pending.open[0].and_then(|id| self.descriptors.file(id))
        {
            record.offset = open.position;
        }
        let is_open = matches!(pending.call, FileCall::Open { .. });
        let is_absent = result == Some(ENOENT) && record.other.is_none();
        if is_absent && (is_open || matches!(pending.call, FileCall::OnPath { .. })) {
            self.known_mut(record.file).exists = Some(false);
        }
        records.push(record);
    }

    fn succeeded(
        &mut self,
        pending: &mut PendingCall,
        value: u64,
        facts: &mut dyn FileFacts,
        records: &mut Vec<TraceRecord>,
    ) {
        let thread = pending.thread;
        match pending.call.clone() {
            FileCall::Open { options, .. } => self.opened(pending, value as i32, options, facts),
            FileCall::Duplicate { close_on_exec, .. } => {
                let known = pending.open[0];
                self.descriptors.adopt(thread, value as i32, known, close_on_exec);
            }
            FileCall::SetStatus { fd, append, direct } => self.status_set(pending, fd, append, direct, facts),
            FileCall::Seek { .. } => {
                if let Some(open) = pending.open[0].and_then(|id| self.descriptors.file_mut(id)) {
                    open.position = value;
                }
            }
            FileCall::CloseRange { first, last, unshares, close_on_exec } => {
                if unshares {
                    self.descriptors.unshare_descriptors(thread);
                }
                match close_on_exec {
                    true => self.descriptors.set_range_close_on_exec(thread, first, last),
                    false => self.descriptors.close_range(thread, first, last),
                }
            }
            FileCall::Unshare { descriptors, directory } => {
                if descriptors {
                    self.descriptors.unshare_descriptors(thread);
                }
                if directory {
                    self.descriptors.unshare_directory(thread);
                }
            }
            FileCall::ChangeDirectory { .. } | FileCall::ChangeDirectoryTo { .. } => {
                let told = Some(std::mem::take(&mut pending.name)).filter(|name| !name.is_empty());
                let name = facts.directory(thread).or(told);
                self.descriptors.set_directory(thread, name);
            }
            FileCall::Transfer { verb, fd, offset, .. } => {
                self.transferred(pending, verb, fd, offset, value, facts);
            }
            FileCall::Copy { .. } => return self.copied(pending, value, records),
            FileCall::Map { fd: _, offset, bytes, is_shared, .. } => {
                let kind = pending.open[0].and_then(|id| self.descriptors.file(id)).map(|open| open.kind);
                if !matches!(kind, Some(FileKind::File | FileKind::Device)) {
                    return;
                }
                self.gaps.mappings += 1;
                if let Some(record) = &mut pending.record {
                    record.result = Some(0);
                    if is_shared {
                        let mapping = SharedMapping { bytes, file: record.file, offset };
                        let process = self.thread(thread, facts).process;
                        self.mappings.entry(process).or_default().insert(value, mapping);
                    }
                }
            }
            _ => self.changed(pending),
        }
        records.extend(pending.record);
    }

    fn status_set(
        &mut self,
        pending: &PendingCall,
        fd: i32,
        append: bool,
        direct: bool,
        facts: &mut dyn FileFacts,
    ) {
        let Some(open) = pending.open[0].and_then(|id| self.descriptors.file_mut(id)) else { return };
        (open.mode.append, open.mode.direct) = (append, direct);
        if append && open.kind == FileKind::File {
            let known = &mut self.known[open.file as usize];
            known.length = facts.length(pending.thread, fd).or(known.length);
        }
    }

    fn opened(
        &mut self,
        pending: &mut PendingCall,
        fd: i32,
        options: OpenOptions,
        facts: &mut dyn FileFacts,
    ) {
        let Some(record) = &mut pending.record else { return };
        let fact = facts.opened(pending.thread, fd);
        let kind = fact.as_ref().map(|(_, kind)| *kind);
        let name = fact.map_or_else(|| std::mem::take(&mut pending.name), |(name, _)| name);
        // A link leads to another name: what was found is the state of what it leads to.
        record.file = self.name_of(&name, pending.found);
        let file = record.file;
        let existed = match pending.found {
            Lookup::Found(_) => Some(true),
            Lookup::Absent => Some(false),
            Lookup::Unknown => self.known[file as usize].exists,
        };
        let made = options.nameless || options.creates && (options.exclusive || existed != Some(true));
        let is_guess = made && existed.is_none() && !options.exclusive && !options.nameless;
        self.gaps.creations += u64::from(is_guess);
        if made {
            record.flags = record.flags.with(RecordFlags::CREATED);
        }
        if options.truncates {
            record.flags = record.flags.with(RecordFlags::TRUNCATED);
        }
        let entry = &mut self.tables.files[file as usize];
        let kind = kind.unwrap_or(entry.kind);
        if entry.bytes.is_none() {
            entry.kind = kind;
        }
        let bytes = entry.bytes;
        let known = &mut self.known[file as usize];
        known.is_size_guessed |= bytes.is_none() && !made && !options.truncates;
        known.exists = Some(true);
        if made || options.truncates {
            known.length = Some(0);
        } else if options.mode.append {
            known.length = facts.length(pending.thread, fd).or(known.length);
        }
        let open = OpenFile { file, kind, position: 0, mode: options.mode };
        self.descriptors.open(pending.thread, fd, open, options.close_on_exec);
    }

    fn transferred(
        &mut self,
        pending: &mut PendingCall,
        verb: Verb,
        fd: i32,
        given: Option<u64>,
        moved: u64,
        facts: &mut dyn FileFacts,
    ) {
        let (Some(record), Some(id)) = (&mut pending.record, pending.open[0]) else { return };
        let Some(open) = self.descriptors.file_mut(id) else { return };
        if !matches!(open.kind, FileKind::File | FileKind::Device) {
            record.offset = given.unwrap_or(0);
            return;
        }
        let known = &mut self.known[record.file as usize];
        let appends = record.flags.has(RecordFlags::APPEND) && verb == Verb::Write;
        record.offset = match (appends, given) {
            (true, _) => {
                let length = facts.length(pending.thread, fd).map(|length| length.saturating_sub(moved));
                self.gaps.positions += u64::from(length.or(known.length).is_none());
                length.or(known.length).unwrap_or(open.position)
            }
            (false, Some(offset)) => offset,
            (false, None) => open.position,
        };
        let end = record.offset.saturating_add(moved);
        if given.is_none() {
            open.position = end;
        }
        if verb == Verb::Write {
            known.length = Some(known.length.unwrap_or(0).max(end));
        } else if known.is_size_guessed && known.length.is_none_or(|length| end > length) {
            let bytes = &mut self.tables.files[record.file as usize].bytes;
            *bytes = Some(bytes.unwrap_or(0).max(end));
        }
    }

    /// A copy is a read of the one file and a write of the other; a side that is no file has no record.
    fn copied(&mut self, pending: &mut PendingCall, moved: u64, records: &mut Vec<TraceRecord>) {
        let FileCall::Copy { from_offset, to_offset, .. } = pending.call else { return };
        let (Some(record), [Some(to), Some(from)]) = (pending.record, pending.open) else { return };
        // What is asked for is often all that there may be: cp asks for 2^63 bytes.
        let record = TraceRecord { bytes: moved.min(record.bytes), ..record };
        let mut side = |id: OpenFileId, given: Option<u64>| {
            let open = self.descriptors.file_mut(id)?;
            if !matches!(open.kind, FileKind::File | FileKind::Device) {
                return None;
            }
            let offset = given.unwrap_or(open.position);
            if given.is_none() {
                open.position = offset.saturating_add(moved);
            }
            Some((open.file, offset))
        };
        if let Some((file, offset)) = side(from, from_offset) {
            records.push(TraceRecord { verb: Verb::Read, file, offset, other: None, ..record });
        }
        if let Some((file, offset)) = side(to, to_offset) {
            records.push(TraceRecord { file, offset, ..record });
            let known = &mut self.known[file as usize];
            known.length = Some(known.length.unwrap_or(0).max(offset.saturating_add(moved)));
        }
    }

    /// What a call on names has changed.
    fn changed(&mut self, pending: &PendingCall) {
        let Some(record) = pending.record else { return };
        let made = match record.verb {
            Verb::Mkdir => Some((record.file, FileKind::Directory)),
            Verb::Symlink => Some((record.file, FileKind::Link)),
            Verb::Mkfifo => Some((record.file, FileKind::Other)),
            Verb::Mknod => Some((record.file, node_kind(record.bytes))),
            Verb::Link | Verb::Rename => {
                record.other.map(|other| (other, self.tables.files[record.file as usize].kind))
            }
            _ => None,
        };
        if let Some((file, kind)) = made {
            self.known_mut(file).exists = Some(true);
            let entry = &mut self.tables.files[file as usize];
            if entry.bytes.is_none() {
                entry.kind = kind;
            }
        }
        match record.verb {
            Verb::Unlink | Verb::Rmdir | Verb::Rename => {
                let length = self.known_mut(record.file).length.take();
                self.known_mut(record.file).exists = Some(false);
                if let Some(other) = record.other {
                    self.known_mut(other).length = length;
                }
            }
            Verb::Truncate => self.known_mut(record.file).length = Some(record.bytes),
            Verb::Stat | Verb::Lstat | Verb::Access => self.known_mut(record.file).exists = Some(true),
            _ => {}
        }
    }

    fn known_mut(&mut self, file: u32) -> &mut FileKnowledge {
        &mut self.known[file as usize]
    }

    /// Keeps the records of later calls back until a call is understood that was issued at this time.
    pub fn hold(&mut self, at_ns: u64) -> IssueTicket {
        let began = *self.began_ns.get_or_insert(at_ns);
        self.order.hold(at_ns.saturating_sub(began), None)
    }

    /// The end of a [`hold`](CallTracker::hold).
    pub fn release(&mut self, ticket: IssueTicket) {
        self.order.end(ticket, Vec::new());
    }

    /// A length that the source tells in passing.
    pub fn learn_length(&mut self, file: u32, bytes: u64) {
        let known = &mut self.known[file as usize];
        let entry = &mut self.tables.files[file as usize];
        if known.length.is_none() && entry.kind == FileKind::File {
            if known.exists != Some(false) {
                entry.bytes = Some(bytes);
            }
            known.length = Some(bytes);
            known.is_size_guessed = false;
        }
    }

    /// A thread whose maker was seen.
    pub fn is_known(&self, thread: u32) -> bool {
        self.threads.contains_key(&thread)
    }

    /// The whole name of a path.
    fn locate(&mut self, thread: u32, at: i32, path: &str, facts: &mut dyn FileFacts) -> String {
        if path.starts_with('/') {
            return facts.locate(thread, None, path);
        }
        let directory = match at {
            AT_FDCWD => {
                if self.descriptors.directory(thread).is_none() {
                    let name = facts.directory(thread);
                    self.descriptors.set_directory(thread, name);
                }
                self.descriptors.directory(thread).map(String::from)
            }
            fd => {
                let open = self.find(thread, fd, facts).and_then(|id| self.descriptors.file(id));
                let file = open.and_then(|open| self.tables.files.get(open.file as usize));
                file.map(|file| file.name.clone())
            }
        };
        self.gaps.directories += u64::from(directory.is_none());
        facts.locate(thread, directory.as_deref(), path)
    }

    /// The index of a name that a call uses, looked up where it is new.
    fn path(&mut self, thread: u32, name: &str, follows: bool, facts: &mut dyn FileFacts) -> u32 {
        match self.names.get(name) {
            Some(file) => *file,
            None => {
                let found = facts.lookup(thread, name, follows);
                self.name_of(name, found)
            }
        }
    }

    /// The index of the name of an extended attribute.
    fn attribute(&mut self, name: &str) -> u32 {
        self.name_of(name, Lookup::Found(FileState { kind: FileKind::Other, ..FileState::default() }))
    }

    fn name_of(&mut self, name: &str, found: Lookup) -> u32 {
        if let Some(file) = self.names.get(name) {
            return *file;
        }
        let file = self.tables.files.len() as u32;
        let (state, exists) = match found {
            Lookup::Found(state) => (state, Some(true)),
            Lookup::Absent => (Default::default(), Some(false)),
            Lookup::Unknown => (Default::default(), None),
        };
        self.tables.files.push(TraceFile {
            name: name.to_string(),
            kind: state.kind,
            bytes: state.bytes,
            device: state.device,
        });
        self.known.push(FileKnowledge { exists, length: state.bytes, is_size_guessed: false });
        self.names.insert(name.to_string(), file);
        file
    }

    /// The open file of a descriptor; one that no call has made is looked up.
    fn find(&mut self, thread: u32, fd: i32, facts: &mut dyn FileFacts) -> Option<OpenFileId> {
        if let Some(id) = self.descriptors.find(thread, fd) {
            return Some(id);
        }
        let Some(state) = facts.descriptor(thread, fd) else {
            self.gaps.descriptors += 1;
            return None;
        };
        let kind = state.state.kind;
        let file = self.name_of(&state.name, Lookup::Found(state.state));
        let has_position = matches!(kind, FileKind::File | FileKind::Device);
        self.gaps.positions += u64::from(has_position && state.position.is_none());
        let position = state.position.unwrap_or(0);
        let open = OpenFile { file, kind, position, mode: state.mode };
        Some(self.descriptors.open(thread, fd, open, state.close_on_exec))
    }

    fn thread(&mut self, thread: u32, facts: &mut dyn FileFacts) -> &mut ThreadRecord {
        self.threads.entry(thread).or_insert_with(|| {
            let TraceThread { process, .. } = facts.thread(thread);
            ThreadRecord { index: None, process }
        })
    }

    fn index_of(&mut self, thread: u32, facts: &mut dyn FileFacts) -> u32 {
        if let Some(index) = self.thread(thread, facts).index {
            return index;
        }
        let index = self.tables.threads.len() as u32;
        let entry = facts.thread(thread);
        self.tables.threads.push(TraceThread { process: self.threads[&thread].process, thread, ..entry });
        self.thread(thread, facts).index = Some(index);
        index
    }

    /// The descriptors that a program begins with.
    pub fn inherit(&mut self, thread: u32, fds: &[i32], facts: &mut dyn FileFacts) {
        self.descriptors.ensure(thread);
        self.thread(thread, facts);
        for fd in fds {
            self.find(thread, *fd, facts);
        }
    }

    /// A thread makes another, or a process; of a process the memory is a copy.
    pub fn started(
        &mut self,
        parent: u32,
        child: u32,
        shared: SharedState,
        is_thread: bool,
        facts: &mut dyn FileFacts,
    ) {
        let process = self.thread(parent, facts).process;
        self.descriptors.start(parent, child, shared);
        let child_process = if is_thread { process } else { child };
        self.threads.insert(child, ThreadRecord { index: None, process: child_process });
        if !is_thread && let Some(mappings) = self.mappings.get(&process).cloned() {
            self.mappings.insert(child, mappings);
        }
    }

    /// A thread executed a program; it goes on as `thread`.
    pub fn executed(&mut self, former: u32, thread: u32) {
        self.descriptors.renumber(former, thread);
        self.descriptors.exec(thread);
        let process = self.threads.remove(&former).map_or(thread, |record| record.process);
        // The program has another name: its records are another thread's.
        self.threads.insert(thread, ThreadRecord { index: None, process });
        self.mappings.remove(&process);
    }

    /// A thread ended; a call that it was in has no result.
    pub fn ended(&mut self, thread: u32, pending: Option<PendingCall>, facts: &mut dyn FileFacts) {
        if let Some(pending) = pending {
            self.end(pending, None, None, facts);
        }
        self.descriptors.end(thread);
        let process = self.threads.remove(&thread).map(|record| record.process);
        if process == Some(thread) {
            self.mappings.remove(&thread);
        }
    }

    /// Moves records that are complete, in the order of their issue, into `batch`; at most `most`.
    pub fn take(&mut self, batch: &mut Batch, most: usize) {
        self.order.take(batch, most);
    }

    /// How many records [`take`](CallTracker::take) would give.
    pub fn ready(&self) -> usize {
        self.order.ready()
    }

    /// The source has ended.
    pub fn finish(&mut self) {
        self.order.finish();
    }

    /// A sentence for each thing that was not seen or not followed.
    pub fn notes(&self) -> Vec<String> {
        let gaps = &self.gaps;
        let mut notes: Vec<String> =
            gaps.unseen.iter().map(|(name, count)| format!("not seen: {name} ({count} calls)")).collect();
        for (count, what) in [
            (gaps.mappings, "mappings of files are noted; accesses to the mapped memory are not seen"),
            (gaps.descriptors, "calls on descriptors of which nothing is known are left out"),
            (gaps.positions, "positions of open files are not known and taken as 0"),
            (gaps.directories, "paths begin in a directory that is not known and are kept as written"),
            (gaps.creations, "opens with O_CREAT are taken as having made their file"),
            (gaps.addresses, "calls of msync on memory that no known mapping has are left out"),
            (gaps.ranges, "ranges of calls reach beyond 2^63 bytes and are taken as ending there"),
            (self.order.abandoned, "calls have no result: they did not end in time"),
        ] {
            if count > 0 {
                notes.push(format!("{count} {what}"));
            }
        }
        notes
    }
}

/// What mknod makes, by the type in its mode: a plain file, or what is not read and written as one.
fn node_kind(mode: u64) -> FileKind {
    const TYPE: u64 = 0o170_000;
    const REGULAR: u64 = 0o100_000;
    if matches!(mode & TYPE, 0 | REGULAR) { FileKind::File } else { FileKind::Other }
}
