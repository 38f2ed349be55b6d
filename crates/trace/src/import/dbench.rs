//! Load files of dbench: operations on named files, each with what came back.
//!
//! A load file is what one client asks of a server. Handles are numbers of the file; names are those of a file system that
//! does not tell upper case from lower. `Deltree` becomes the removals of what the load has made by then.

use std::collections::{BTreeMap, HashMap};

use iodyno_model::Verb;

use super::context::{ImportContext, LineFailure, LineFault};
use super::importer::ImportOptions;
use super::line_decoder::{LineDecoder, LineParser};
use super::number;
use super::order::{OrderedRecords, Stamps, sortable};
use super::unpack::Stream;
use crate::{Dependency, FileKind, RecordFlags, TraceError, TraceLevel, TraceRecord};

/// Words of a line at most.
const WORDS: usize = 8;
/// The create option of a directory.
const DIRECTORY: u64 = 1;
/// The mode bits that dbench gives files and directories.
const FILE_MODE: u64 = 0o600;
const DIRECTORY_MODE: u64 = 0o700;

const SHORT: LineFault = LineFault::new("no operation of a load file, or too few words");
const STATUS: LineFault = LineFault::new("no status of an operation at the end");
const NUMBER: LineFault = LineFault::new("expected a whole number");
const NAME: LineFault = LineFault::new("no name below the root");
const FAR: LineFault = LineFault::new("it reaches beyond 2^63 bytes");
pub const FOREIGN: &str = "operations that failed for reasons that are none here, left out";
pub const CLOSED: &str = "operations on handles that are not open, left out";
pub const PATTERN: &str = "removals by a pattern, left out";
pub const PAUSE: &str = "pauses, left out";

/// The errors of operations, with Linux's numbers.
const ERRORS: &[(&str, i64)] = &[
    ("OBJECT_NAME_NOT_FOUND", 2),
    ("OBJECT_PATH_NOT_FOUND", 2),
    ("NO_SUCH_FILE", 2),
    ("NO_MORE_FILES", 2),
    ("ACCESS_DENIED", 13),
    ("FILE_LOCK_CONFLICT", 11),
    ("LOCK_NOT_GRANTED", 11),
    ("OBJECT_NAME_COLLISION", 17),
    ("NOT_A_DIRECTORY", 20),
    ("FILE_IS_A_DIRECTORY", 21),
    ("DISK_FULL", 28),
    ("DIRECTORY_NOT_EMPTY", 39),
];

/// Whether an input begins as a load file: operations with their status.
pub fn fits(head: &[u8]) -> bool {
    let mut lines = super::formats::first_lines(head).into_iter().filter(|line| !is_remark(line)).peekable();
    lines.peek().is_some()
        && lines.all(|line| {
            let words = words(line);
            let has_status = words.last().is_some_and(|word| word.starts_with("NT_STATUS_"));
            let words = stamp(&words).map_or(&words[..], |(_, rest)| rest);
            words.first().is_some_and(|word| has_status && LoadOperation::named(word).is_some())
        })
}

/// Readers of load files, each of one client.
///
/// # Errors
/// None.
pub fn open(
    streams: Vec<Stream>,
    _options: &ImportOptions,
    context: &mut ImportContext,
) -> Result<Vec<OrderedRecords>, TraceError> {
    context.header.source = "dbench".into();
    context.header.level = TraceLevel::File;
    context.header.resolution_ns = 1000;
    let reader = |stream: Stream| {
        let client = context.tables.threads.len() as u32;
        let thread = context.thread(0, client);
        context.name_thread(thread, stream.name.as_bytes());
        let load = ClientLoad { thread, ..ClientLoad::default() };
        OrderedRecords::new(Box::new(LineDecoder::new(stream, load)), Stamps::Exact(1000))
    };
    Ok(streams.into_iter().map(reader).collect())
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LoadOperation {
    Open,
    Find,
    SpaceOfFileSystem,
    Pause,
    Deltree,
    Rename,
    /// On a name, with the kind of what it leaves there.
    OnName(Verb, FileKind),
    /// On a handle.
    OnHandle(Verb),
    /// On a range of a handle.
    OnRange(Verb),
}

impl LoadOperation {
    fn named(word: &str) -> Option<LoadOperation> {
        Some(match word {
            "NTCreateX" => LoadOperation::Open,
            "Close" => LoadOperation::OnHandle(Verb::Close),
            "ReadX" => LoadOperation::OnRange(Verb::Read),
            "WriteX" => LoadOperation::OnRange(Verb::Write),
            "LockX" => LoadOperation::OnRange(Verb::Lock),
            "UnlockX" => LoadOperation::OnRange(Verb::Unlock),
            "Flush" => LoadOperation::OnHandle(Verb::Fsync),
            "QUERY_FILE_INFORMATION" => LoadOperation::OnHandle(Verb::Fstat),
            "SET_FILE_INFORMATION" => LoadOperation::OnHandle(Verb::Utimens),
            "QUERY_PATH_INFORMATION" => LoadOperation::OnName(Verb::Stat, FileKind::File),
            "QUERY_FS_INFORMATION" => LoadOperation::SpaceOfFileSystem,
            "FIND_FIRST" => LoadOperation::Find,
            "Unlink" => LoadOperation::OnName(Verb::Unlink, FileKind::File),
            "Mkdir" => LoadOperation::OnName(Verb::Mkdir, FileKind::Directory),
            "Rmdir" => LoadOperation::OnName(Verb::Rmdir, FileKind::Directory),
            "Rename" => LoadOperation::Rename,
            "Deltree" => LoadOperation::Deltree,
            "Sleep" => LoadOperation::Pause,
            _ => return None,
        })
    }
}

/// What came back: a result, or nothing that is known; the error: a reason that Linux has not.
type Outcome = Result<Option<i64>, ()>;

fn outcome(word: &str) -> Option<Outcome> {
    Some(match word.strip_prefix("NT_STATUS_") {
        Some("OK") => Ok(Some(0)),
        Some(name) => {
            let known = ERRORS.iter().find(|(known, _)| *known == name);
            known.map(|(_, errno)| Some(-errno)).ok_or(())
        }
        None => match word {
            "SUCCESS" | "0x00000000" => Ok(Some(0)),
            "*" => Ok(None),
            word if word == "ERROR" || word.starts_with("0x") => Err(()),
            _ => return None,
        },
    })
}

fn is_remark(line: &[u8]) -> bool {
    line.trim_ascii().first().is_none_or(|first| *first == b'#')
}

/// The words of a line; what is quoted is one.
fn words(line: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(line);
    let mut rest = text.trim();
    let mut words = Vec::new();
    while !rest.is_empty() && words.len() <= WORDS {
        let (word, after) = match rest.strip_prefix('"') {
            Some(quoted) => quoted.split_once('"').unwrap_or((quoted, "")),
            None => rest.split_once(char::is_whitespace).unwrap_or((rest, "")),
        };
        words.push(word.to_string());
        rest = after.trim_start();
    }
    words
}

/// The time that a line may begin with, ns, and what follows.
fn stamp(words: &[String]) -> Option<(u64, &[String])> {
    let (first, rest) = words.split_first()?;
    let seconds: f64 = first.parse().ok().filter(|seconds| (0.0..1e9).contains(seconds))?;
    Some(((seconds * 1e9) as u64, rest))
}

/// A whole number, decimal or hexadecimal.
fn whole(word: Option<&String>) -> Result<u64, LineFault> {
    let word = word.ok_or(SHORT)?;
    let found = match word.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => number::whole(word.as_bytes()),
    };
    found.ok_or(NUMBER)
}

/// A name's path below the root.
fn path(word: Option<&String>) -> Result<String, LineFault> {
    let lower = word.ok_or(SHORT)?.to_ascii_lowercase();
    let parts: Vec<&str> = lower.split(['\\', '/']).filter(|part| !matches!(*part, "" | ".")).collect();
    match parts.is_empty() || parts.contains(&"..") {
        true => Err(NAME),
        false => Ok(parts.join("/")),
    }
}

fn is_pattern(path: &str) -> bool {
    path.contains(['*', '?', '<', '>'])
}

/// One client's load, and what it has made so far.
#[derive(Default)]
struct ClientLoad {
    thread: u32,
    at_ns: u64,
    has_first: bool,
    /// By handle its name.
    open: HashMap<u64, u32>,
    /// What is there by name, and whether it is a directory.
    there: BTreeMap<String, bool>,
}

impl LineParser for ClientLoad {
    fn records(
        &mut self,
        line: &[u8],
        context: &mut ImportContext,
        records: &mut Vec<TraceRecord>,
    ) -> Result<(), LineFailure> {
        if is_remark(line) {
            return Ok(());
        }
        let words = words(line);
        let (at_ns, words) = stamp(&words).unwrap_or((self.at_ns, &words[..]));
        let (first, rest) = words.split_first().ok_or(SHORT)?;
        let operation = LoadOperation::named(first).ok_or(SHORT)?;
        if operation == LoadOperation::Pause {
            context.count(PAUSE, 1);
            return Ok(());
        }
        let status = outcome(rest.last().ok_or(SHORT)?).ok_or(STATUS)?;
        let words = &rest[..rest.len() - 1];
        let Ok(result) = status else {
            context.count(FOREIGN, 1);
            return Ok(());
        };
        // Operations follow each other, whatever their times say.
        self.at_ns = self.at_ns.max(at_ns);
        match operation {
            LoadOperation::Open => self.open(words, result, context, records),
            LoadOperation::OnName(verb, kind) => self.on_name(verb, kind, words, result, context, records),
            LoadOperation::OnHandle(verb) => self.on_handle(verb, words, result, context, records),
            LoadOperation::OnRange(verb) => self.on_range(verb, words, result, context, records),
            LoadOperation::Rename => self.rename(words, result, context, records),
            LoadOperation::Deltree => self.delete_tree(&path(words.first())?, context, records),
            LoadOperation::Find => {
                let pattern = path(words.first())?;
                let above = pattern.rsplit_once('/').map_or(pattern.as_str(), |(above, _)| above);
                let file = self.directory(above, context)?;
                // A directory in which nothing fits is listed as well.
                let is_missing = rest.last().is_some_and(|word| word.ends_with("PATH_NOT_FOUND"));
                self.push(Verb::Readdir, file, result.filter(|_| is_missing), records);
                Ok(())
            }
            LoadOperation::SpaceOfFileSystem => {
                let top = self.there.keys().next().map_or("clients", |name| name.as_str()).to_string();
                let file = self.directory(top.split('/').next().unwrap_or("clients"), context)?;
                self.push(Verb::Statfs, file, result, records);
                Ok(())
            }
            LoadOperation::Pause => Ok(()),
        }
    }
}

impl ClientLoad {
    fn directory(&self, name: &str, context: &mut ImportContext) -> Result<u32, TraceError> {
        let file = context.file(name.as_bytes(), FileKind::Directory)?;
        context.tables.files[file as usize].kind = FileKind::Directory;
        Ok(file)
    }

    /// The index of a name, by what is there.
    fn file(&self, name: &str, context: &mut ImportContext) -> Result<u32, TraceError> {
        match self.there.get(name) {
            Some(true) => self.directory(name, context),
            _ => context.file(name.as_bytes(), FileKind::File),
        }
    }

    /// A record, which the client issues when the one before has ended.
    fn push<'a>(
        &mut self,
        verb: Verb,
        file: u32,
        result: Option<i64>,
        records: &'a mut Vec<TraceRecord>,
    ) -> &'a mut TraceRecord {
        let is_first = !std::mem::replace(&mut self.has_first, true);
        let after = Dependency { back: 1, think_ns: 0 };
        records.push(TraceRecord {
            thread: self.thread,
            result,
            after: (!is_first).then_some(after),
            ..TraceRecord::new(sortable(self.at_ns as i64), verb, file, 0, 0)
        });
        let last = records.len() - 1;
        &mut records[last]
    }

    fn open(
        &mut self,
        words: &[String],
        result: Option<i64>,
        context: &mut ImportContext,
        records: &mut Vec<TraceRecord>,
    ) -> Result<(), LineFailure> {
        let name = path(words.first())?;
        let (options, disposition, handle) =
            (whole(words.get(1))?, whole(words.get(2))?, whole(words.get(3))?);
        let (creates, empties) = (matches!(disposition, 0 | 2 | 3 | 5), matches!(disposition, 0 | 4 | 5));
        let is_directory = options & DIRECTORY != 0 || self.there.get(&name) == Some(&true);
        let failed = result.is_some_and(|result| result < 0);
        let file = match is_directory {
            true if !failed => self.directory(&name, context)?,
            _ => self.file(&name, context)?,
        };
        if is_directory && creates && !self.there.contains_key(&name) {
            self.push(Verb::Mkdir, file, result, records).bytes = DIRECTORY_MODE;
        }
        let said = |said: bool, flag| if said && !is_directory { flag } else { RecordFlags::default() };
        let record = self.push(Verb::Open, file, result, records);
        record.bytes = FILE_MODE;
        record.flags = said(creates, RecordFlags::CREATED).with(said(empties, RecordFlags::TRUNCATED));
        if !failed {
            self.there.insert(name, is_directory);
            self.open.insert(handle, file);
        }
        Ok(())
    }

    fn on_name(
        &mut self,
        verb: Verb,
        kind: FileKind,
        words: &[String],
        result: Option<i64>,
        context: &mut ImportContext,
        records: &mut Vec<TraceRecord>,
    ) -> Result<(), LineFailure> {
        let name = path(words.first())?;
        if verb == Verb::Unlink && is_pattern(&name) {
            context.count(PATTERN, 1);
            return Ok(());
        }
        let failed = result.is_some_and(|result| result < 0);
        let file = match kind {
            FileKind::Directory if !failed => self.directory(&name, context)?,
            _ => self.file(&name, context)?,
        };
        let record = self.push(verb, file, result, records);
        match verb {
            Verb::Mkdir => {
                record.bytes = DIRECTORY_MODE;
                if !failed {
                    self.there.insert(name, true);
                }
            }
            Verb::Unlink | Verb::Rmdir if !failed => {
                self.there.remove(&name);
            }
            _ => {}
        }
        Ok(())
    }

    fn on_handle(
        &mut self,
        verb: Verb,
        words: &[String],
        result: Option<i64>,
        context: &mut ImportContext,
        records: &mut Vec<TraceRecord>,
    ) -> Result<(), LineFailure> {
        let handle = whole(words.first())?;
        let known =
            if verb == Verb::Close { self.open.remove(&handle) } else { self.open.get(&handle).copied() };
        match known {
            Some(file) => {
                self.push(verb, file, result, records);
            }
            None => context.count(CLOSED, 1),
        }
        Ok(())
    }

    fn on_range(
        &mut self,
        verb: Verb,
        words: &[String],
        result: Option<i64>,
        context: &mut ImportContext,
        records: &mut Vec<TraceRecord>,
    ) -> Result<(), LineFailure> {
        let (handle, offset, bytes) = (whole(words.first())?, whole(words.get(1))?, whole(words.get(2))?);
        if offset.checked_add(bytes).is_none_or(|end| end > i64::MAX as u64) {
            return Err(FAR.into());
        }
        let moved = match words.get(3) {
            Some(_) if verb.moves_data() => i64::try_from(whole(words.get(3))?.min(bytes)).ok(),
            _ => Some(0),
        };
        let Some(file) = self.open.get(&handle).copied() else {
            context.count(CLOSED, 1);
            return Ok(());
        };
        let result = if result == Some(0) { moved } else { result };
        let record = self.push(verb, file, result, records);
        (record.offset, record.bytes) = (offset, bytes);
        Ok(())
    }

    fn rename(
        &mut self,
        words: &[String],
        result: Option<i64>,
        context: &mut ImportContext,
        records: &mut Vec<TraceRecord>,
    ) -> Result<(), LineFailure> {
        let (from, to) = (path(words.first())?, path(words.get(1))?);
        let file = self.file(&from, context)?;
        let is_directory = self.there.get(&from) == Some(&true);
        let other = if is_directory { self.directory(&to, context)? } else { self.file(&to, context)? };
        self.push(Verb::Rename, file, result, records).other = Some(other);
        if result.is_none_or(|result| result >= 0) {
            for (name, is_directory) in self.take_tree(&from) {
                self.there.insert(format!("{to}{}", &name[from.len()..]), is_directory);
            }
        }
        Ok(())
    }

    /// Takes a name and all below it out of what is there, in the order of names.
    fn take_tree(&mut self, name: &str) -> Vec<(String, bool)> {
        let below = format!("{name}/");
        let inside = self.there.range(below.clone()..).take_while(|(name, _)| name.starts_with(&below));
        let own = self.there.get_key_value(name);
        let all: Vec<_> = own.into_iter().chain(inside).map(|(name, is)| (name.clone(), *is)).collect();
        all.iter().for_each(|(name, _)| _ = self.there.remove(name));
        all
    }

    /// What is there is removed, the inner first.
    fn delete_tree(
        &mut self,
        name: &str,
        context: &mut ImportContext,
        records: &mut Vec<TraceRecord>,
    ) -> Result<(), LineFailure> {
        for (name, is_directory) in self.take_tree(name).into_iter().rev() {
            let kind = if is_directory { FileKind::Directory } else { FileKind::File };
            let file = context.file(name.as_bytes(), kind)?;
            let verb = if is_directory { Verb::Rmdir } else { Verb::Unlink };
            self.push(verb, file, None, records);
        }
        Ok(())
    }
}
