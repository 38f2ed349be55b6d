//! Whether what a log promises is there.

use std::collections::{BTreeMap, HashMap};
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{FileExt, PermissionsExt};
use std::path::{Path, PathBuf};

use iodyno_model::origin::plain;

use super::calls;
use super::device::{self, DeviceReader};
use super::directory::{ATTRIBUTE, block_object, journal_path, renamed};
use super::log_reader::{KeptPromise, PromiseRecord};
use super::sector::{self, BLOCK_BYTES, SECTOR_BYTES, SECTORS, SectorContent, SectorPlace};
use super::step::{LAID_OUT, PromisedObject, SyncMode, blocks_of, permissions_of, size_of};
use crate::promise::{Damage, Violation};

/// A promise that was not kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PowerfailFinding {
    pub violation: Violation,
    pub promise: KeptPromise,
    pub thread: u32,
    /// A later promise of the thread that was kept: an order that no flush allows.
    pub later: Option<u32>,
}

/// What became of the promises of one mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ModeResult {
    /// In the log.
    pub promises: u64,
    /// Blocks, records or files that were looked at: of each the last promise counts.
    pub checked: u64,
    pub broken: u64,
}

/// What was found.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PowerfailVerdict {
    pub modes: BTreeMap<SyncMode, ModeResult>,
    pub findings: Vec<PowerfailFinding>,
    /// Blocks in flight: as before, as they were to become, and torn between the two.
    pub in_flight: [u64; 3],
    /// Blocks of a generation that the log does not know: it lost its end.
    pub newer: u64,
    /// Blocks of `sync_file_range` that are not there: nobody promised them.
    pub unpromised: u64,
    /// Highest generation of each thread that was found.
    latest: HashMap<u32, u32>,
}

/// What a judgement needs to know besides.
#[derive(Debug, Clone, Copy)]
pub struct VerifyTerms {
    /// Bytes that the storage promises to write whole or not at all: 0, 512 or 4096.
    pub atomic_bytes: u64,
}

/// Judges a directory or a device.
///
/// # Errors
/// What kept it from looking: not what the storage answers for a file that was promised.
pub fn verify(record: &PromiseRecord, target: &Path, terms: VerifyTerms) -> io::Result<PowerfailVerdict> {
    let mut judge = Judge { record, terms, verdict: PowerfailVerdict::default() };
    for mode in &record.header.modes {
        let promises = record.promises.get(mode).copied().unwrap_or_default();
        judge.verdict.modes.entry(*mode).or_default().promises = promises;
    }
    match record.header.is_device {
        true => judge.device(target)?,
        false => judge.directory(&target.join(run_directory(record.header.run))),
    }
    let mut verdict = judge.verdict;
    for finding in &mut verdict.findings {
        let latest = verdict.latest.get(&finding.thread).copied();
        finding.later = latest.filter(|latest| *latest > finding.promise.generation);
    }
    Ok(verdict)
}

/// The directory of a run in the one under test.
pub fn run_directory(run: u64) -> String {
    format!("iodyno-powerfail-{run:016x}")
}

struct Judge<'a> {
    record: &'a PromiseRecord,
    terms: VerifyTerms,
    verdict: PowerfailVerdict,
}

/// A block as it should be.
struct ExpectedBlock {
    place: SectorPlace,
    promise: KeptPromise,
    /// What is being written to it.
    in_flight: Vec<u32>,
    /// Bytes of it that are judged as one for a torn write in flight.
    atomic_bytes: u64,
}

/// What a block turned out to be.
enum BlockFound {
    /// As promised; the highest generation in it, and whether it is torn between two that may be there.
    Good {
        generation: u32,
        is_torn: bool,
    },
    /// Newer than the log knows.
    Newer,
    Broken(Damage, String),
}

impl ExpectedBlock {
    fn judge(&self, bytes: &[u8]) -> BlockFound {
        let candidates: Vec<u32> =
            [self.promise.generation, LAID_OUT].into_iter().chain(self.in_flight.iter().copied()).collect();
        let sectors: Vec<SectorContent> = (self.place.sector..)
            .zip(bytes.chunks_exact(SECTOR_BYTES))
            .map(|(at, bytes)| sector::read(bytes, SectorPlace { sector: at, ..self.place }, &candidates))
            .collect();
        let allowed =
            |generation: u32| generation == self.promise.generation || self.in_flight.contains(&generation);
        let is_allowed = |content: &SectorContent| match content {
            SectorContent::Whole { generation } => allowed(*generation),
            SectorContent::Mixed { first, last } => {
                self.atomic_bytes < SECTOR_BYTES as u64 && allowed(*first) && allowed(*last)
            }
            _ => false,
        };
        if sectors.iter().all(is_allowed) {
            let is_torn = sectors.windows(2).any(|pair| pair[0] != pair[1])
                || sectors.iter().any(|content| matches!(content, SectorContent::Mixed { .. }));
            if is_torn && self.atomic_bytes > SECTOR_BYTES as u64 {
                return BlockFound::Broken(Damage::Torn, described(&sectors));
            }
            return BlockFound::Good { generation: highest(&sectors), is_torn };
        }
        self.broken(&sectors)
    }

    fn broken(&self, sectors: &[SectorContent]) -> BlockFound {
        let first = sectors.first().copied().unwrap_or(SectorContent::Garbage);
        let is_uniform = sectors.iter().all(|content| *content == first);
        let is_whole = |content: &SectorContent| matches!(content, SectorContent::Whole { .. });
        if sectors.iter().all(is_whole)
            && highest(sectors) > self.in_flight.last().copied().unwrap_or(self.promise.generation)
        {
            return BlockFound::Newer;
        }
        let damage = match first {
            SectorContent::Zeroes if is_uniform => Damage::Zeroed,
            SectorContent::Whole { .. } | SectorContent::OtherRun if is_uniform => Damage::Stale,
            _ if sectors.iter().any(is_foreign) => Damage::Garbage,
            _ => Damage::Torn,
        };
        BlockFound::Broken(damage, described(sectors))
    }
}

/// What nobody wrote there.
fn is_foreign(content: &SectorContent) -> bool {
    use SectorContent as C;
    matches!(content, C::Garbage | C::Elsewhere { .. } | C::Flipped { .. })
}

fn highest(sectors: &[SectorContent]) -> u32 {
    let generation = |content: &SectorContent| match content {
        SectorContent::Whole { generation } => Some(*generation),
        SectorContent::Mixed { first, last } => Some((*first).max(*last)),
        _ => None,
    };
    sectors.iter().filter_map(generation).max().unwrap_or_default()
}

/// What sectors hold, neighbours that are alike together.
fn described(sectors: &[SectorContent]) -> String {
    let mut parts: Vec<(String, usize)> = Vec::new();
    for content in sectors {
        let text = words(content);
        match parts.last_mut() {
            Some((last, count)) if *last == text => *count += 1,
            _ => parts.push((text, 1)),
        }
    }
    match parts.as_slice() {
        [(text, _)] => text.clone(),
        parts => {
            let part = |(text, count): &(String, usize)| format!("{count} × {text}");
            format!("sectors: {}", parts.iter().map(part).collect::<Vec<_>>().join(", "))
        }
    }
}

fn words(content: &SectorContent) -> String {
    match content {
        SectorContent::Whole { generation: LAID_OUT } => "what was laid out before the first step".into(),
        SectorContent::Whole { generation } => format!("generation {generation}"),
        SectorContent::Zeroes => "zeroes".into(),
        SectorContent::Mixed { first, last } => {
            format!("generation {first} and then {last} within 512 bytes")
        }
        SectorContent::Elsewhere { object, generation, sector } => {
            let (unit, at) = (SECTORS, sector);
            let path =
                PromisedObject::of_id(*object).map_or_else(|| "another file".into(), PromisedObject::path);
            format!("misdirected: block {} of {path}, generation {generation}", at / unit)
        }
        SectorContent::OtherRun => "data of an earlier run".into(),
        SectorContent::Flipped { generation, bits } => {
            format!("generation {generation} with {bits} inverted bit{}", if *bits == 1 { "" } else { "s" })
        }
        SectorContent::Garbage => "bytes that nobody wrote".into(),
    }
}

impl Judge<'_> {
    fn checked(&mut self, mode: SyncMode) {
        self.verdict.modes.entry(mode).or_default().checked += 1;
    }

    fn broken(
        &mut self,
        object: PromisedObject,
        path: String,
        promise: KeptPromise,
        damage: Damage,
        found: String,
    ) {
        let mode = promise.mode;
        if mode.is_informational() {
            self.verdict.unpromised += 1;
            return;
        }
        self.verdict.modes.entry(mode).or_default().broken += 1;
        let violation = Violation {
            authority: mode.authority(),
            promise: mode.promise().into(),
            source: mode.source().into(),
            path,
            damage,
            found,
        };
        self.verdict.findings.push(PowerfailFinding {
            violation,
            promise,
            thread: object.thread,
            later: None,
        });
    }

    fn found(&mut self, thread: u32, generation: u32) {
        let latest = self.verdict.latest.entry(thread).or_default();
        *latest = (*latest).max(generation);
    }

    /// One block or record.
    fn block(&mut self, object: PromisedObject, name: &str, expected: &ExpectedBlock, bytes: &[u8]) {
        self.checked(expected.promise.mode);
        let want = expected.promise.generation;
        match expected.judge(bytes) {
            BlockFound::Good { generation, is_torn } => {
                if !expected.in_flight.is_empty() {
                    let kind = if is_torn { 2 } else { usize::from(generation != want) };
                    self.verdict.in_flight[kind] += 1;
                }
                self.found(object.thread, want);
            }
            BlockFound::Newer => self.verdict.newer += 1,
            BlockFound::Broken(damage, found) => {
                let found = format!("{found}, where generation {want} was promised");
                self.broken(object, name.to_string(), expected.promise, damage, found);
            }
        }
    }

    fn device(&mut self, path: &Path) -> io::Result<()> {
        let mut reader = DeviceReader::open(path)?;
        let header = &self.record.header;
        for thread in 0..header.threads {
            let object = device::object(thread);
            let (start, end) = device::part(header, thread);
            for block in start..end {
                let expected = ExpectedBlock {
                    place: device::place(header.run, thread, block),
                    promise: self.record.of_block(object, block),
                    in_flight: self.record.in_flight_at(object, block),
                    atomic_bytes: self.terms.atomic_bytes,
                };
                let name = format!("block {block}");
                match reader.block(block) {
                    Ok(bytes) => self.block(object, &name, &expected, &bytes),
                    Err(error) => {
                        self.checked(expected.promise.mode);
                        self.broken(object, name, expected.promise, Damage::Lost, unread(&error));
                    }
                }
            }
        }
        Ok(())
    }

    fn directory(&mut self, root: &Path) {
        let header = &self.record.header;
        if let (Err(error), Some(mode)) = (fs::metadata(root), header.modes.first()) {
            self.checked(*mode);
            let path = run_directory(header.run);
            let promise = self.record.of_block(block_object(0, *mode), 0);
            return self.broken(block_object(0, *mode), path, promise, Damage::Lost, unread(&error));
        }
        for thread in 0..header.threads {
            for mode in &header.modes {
                let object = block_object(thread, *mode);
                match mode {
                    SyncMode::Create | SyncMode::Name => self.comings(root, thread, *mode),
                    SyncMode::Remove | SyncMode::Flush | SyncMode::Fua => {}
                    SyncMode::Rename => self.renames(root, thread),
                    SyncMode::Replace => self.replacements(root, thread),
                    SyncMode::Attribute => self.attributes(root, object),
                    SyncMode::Size => self.size(root, object),
                    SyncMode::Append => self.append_log(root, object),
                    SyncMode::DoubleWrite => self.double_writes(root, object),
                    _ => self.file_of_blocks(root, object),
                }
            }
        }
    }

    /// The bytes of a promised file; none: it is not there, and this was noted.
    fn read(
        &mut self,
        root: &Path,
        object: PromisedObject,
        path: &str,
        promise: KeptPromise,
    ) -> Option<Vec<u8>> {
        match fs::read(root.join(path)) {
            Ok(bytes) => Some(bytes),
            Err(error) => {
                self.checked(promise.mode);
                self.broken(object, path.into(), promise, Damage::Lost, unread(&error));
                None
            }
        }
    }

    /// The last promise of any block of a file.
    fn newest(&self, object: PromisedObject) -> KeptPromise {
        let own = self.record.blocks.iter().filter(|((of, _), _)| *of == object).map(|(_, promise)| *promise);
        own.max_by_key(|promise| promise.generation).unwrap_or_else(|| self.record.of_block(object, 0))
    }

    fn file_of_blocks(&mut self, root: &Path, object: PromisedObject) {
        let newest = self.newest(object);
        let path = object.path();
        let Some(bytes) = self.read(root, object, &path, newest) else { return };
        for block in 0..self.record.header.blocks {
            let expected = self.expected(object, block);
            match block_of(&bytes, block, BLOCK_BYTES) {
                Some(bytes) => self.block(object, &format!("{path} block {block}"), &expected, bytes),
                None => {
                    self.checked(newest.mode);
                    let found = format!(
                        "{} bytes, where {} blocks were promised",
                        bytes.len(),
                        self.record.header.blocks
                    );
                    self.broken(object, path, expected.promise, Damage::WrongSize, found);
                    return;
                }
            }
        }
    }

    fn expected(&self, object: PromisedObject, block: u64) -> ExpectedBlock {
        ExpectedBlock {
            place: SectorPlace { run: self.record.header.run, object: object.id(), sector: block * SECTORS },
            promise: self.record.of_block(object, block),
            in_flight: self.record.in_flight_at(object, block),
            atomic_bytes: self.terms.atomic_bytes,
        }
    }

    fn append_log(&mut self, root: &Path, object: PromisedObject) {
        let newest = self.newest(object);
        let path = object.path();
        let Some(bytes) = self.read(root, object, &path, newest) else { return };
        let own = self.record.blocks.keys().filter(|(of, _)| *of == object);
        let records = own.map(|(_, at)| at + 1).max().unwrap_or_default();
        for at in 0..records {
            let place = SectorPlace { run: self.record.header.run, object: object.id(), sector: at };
            let promise = self.record.of_block(object, at);
            let expected = ExpectedBlock { place, promise, in_flight: Vec::new(), atomic_bytes: 0 };
            match block_of(&bytes, at, SECTOR_BYTES) {
                Some(bytes) => self.block(object, &format!("{path} record {at}"), &expected, bytes),
                None => {
                    self.checked(newest.mode);
                    let found = format!(
                        "{} bytes, where {} were promised",
                        bytes.len(),
                        records * SECTOR_BYTES as u64
                    );
                    self.broken(object, path, newest, Damage::WrongSize, found);
                    return;
                }
            }
        }
    }

    fn double_writes(&mut self, root: &Path, object: PromisedObject) {
        let newest = self.newest(object);
        let path = object.path();
        let Some(bytes) = self.read(root, object, &path, newest) else { return };
        let journal = fs::read(root.join(journal_path(object.thread))).unwrap_or_default();
        let steps: Vec<_> = self.record.steps_on(object).copied().collect();
        for block in 0..self.record.header.blocks {
            // What is torn in its place the journal has whole.
            let expected = ExpectedBlock { atomic_bytes: 0, ..self.expected(object, block) };
            let name = format!("{path} block {block}");
            let Some(bytes) = block_of(&bytes, block, BLOCK_BYTES) else {
                let found = format!("{} bytes", bytes.len());
                self.checked(newest.mode);
                return self.broken(object, path, newest, Damage::WrongSize, found);
            };
            let is_torn = || matches!(expected.judge(bytes), BlockFound::Good { is_torn: true, .. });
            // Of several steps in flight the journal has the last: which it was of is not known.
            let Some(step) = steps.first().filter(|_| steps.len() == 1 && is_torn()) else {
                self.block(object, &name, &expected, bytes);
                continue;
            };
            // The journal is durable before the place is touched: so it holds the whole block.
            let copy = block.checked_sub(step.first).and_then(|at| block_of(&journal, at, BLOCK_BYTES));
            let whole = KeptPromise { generation: step.generation, ..expected.promise };
            let in_journal = ExpectedBlock {
                promise: whole,
                in_flight: Vec::new(),
                atomic_bytes: 0,
                ..self.expected(object, block)
            };
            let is_there = copy.is_some_and(|copy| matches!(in_journal.judge(copy), BlockFound::Good { .. }));
            if is_there {
                self.block(object, &name, &expected, bytes);
            } else {
                self.checked(expected.promise.mode);
                let found = "torn, and the journal has no whole copy".to_string();
                self.broken(object, name, expected.promise, Damage::Torn, found);
            }
        }
    }

    /// Files that are made and removed.
    fn comings(&mut self, root: &Path, thread: u32, mode: SyncMode) {
        let objects: Vec<PromisedObject> = self.objects(thread, mode);
        for object in objects {
            let is_in_flight = self.record.steps_on(object).next().is_some();
            let Some(promise) = self.record.files.get(&object).copied() else { continue };
            let path = object.path();
            let found = fs::read(root.join(&path));
            if promise.mode == SyncMode::Remove {
                // What is being made again may be there in any state.
                self.checked(promise.mode);
                if let (Ok(bytes), false) = (&found, is_in_flight) {
                    let text = format!("{} bytes, where nothing was promised to be", bytes.len());
                    self.broken(object, path, promise, Damage::Resurrected, text);
                }
                continue;
            }
            if is_in_flight {
                // It is being removed, and may be being made again.
                self.checked(promise.mode);
                continue;
            }
            match found {
                Ok(bytes) => self.whole_file(object, &path, promise, promise.generation, 1, &bytes),
                Err(error) => {
                    self.checked(promise.mode);
                    self.broken(object, path, promise, Damage::Lost, unread(&error));
                }
            }
        }
    }

    /// Objects of a mode that were promised anything, in order.
    fn objects(&self, thread: u32, mode: SyncMode) -> Vec<PromisedObject> {
        let is_own = |object: &&PromisedObject| object.thread == thread && object.mode == mode;
        let mut objects: Vec<_> = self.record.files.keys().filter(is_own).copied().collect();
        objects.sort();
        objects
    }

    /// A file that was written once, as a whole.
    fn whole_file(
        &mut self,
        object: PromisedObject,
        path: &str,
        promise: KeptPromise,
        generation: u32,
        blocks: u64,
        bytes: &[u8],
    ) {
        self.checked(promise.mode);
        if bytes.len() as u64 != blocks * BLOCK_BYTES as u64 {
            let found = format!("{} bytes, where {} were promised", bytes.len(), blocks * BLOCK_BYTES as u64);
            return self.broken(object, path.into(), promise, Damage::WrongSize, found);
        }
        let place = SectorPlace { run: self.record.header.run, object: object.id(), sector: 0 };
        let whole = KeptPromise { generation, ..promise };
        let expected = ExpectedBlock { place, promise: whole, in_flight: Vec::new(), atomic_bytes: 0 };
        match expected.judge(bytes) {
            BlockFound::Good { .. } => self.found(object.thread, promise.generation),
            BlockFound::Newer => self.verdict.newer += 1,
            BlockFound::Broken(damage, found) => {
                let found = format!("{found}, where generation {generation} was promised");
                self.broken(object, path.into(), promise, damage, found);
            }
        }
    }

    fn replacements(&mut self, root: &Path, thread: u32) {
        for object in self.objects(thread, SyncMode::Replace) {
            let Some(promise) = self.record.files.get(&object).copied() else { continue };
            let path = object.path();
            let Some(bytes) = self.read(root, object, &path, promise) else { continue };
            let next = self.record.in_flight_on(object);
            let first = bytes.get(..SECTOR_BYTES).map(|bytes| {
                let place = SectorPlace { run: self.record.header.run, object: object.id(), sector: 0 };
                sector::read(bytes, place, &[])
            });
            let generation = match first {
                Some(SectorContent::Whole { generation }) if next.contains(&generation) => generation,
                _ => promise.generation,
            };
            self.whole_file(object, &path, promise, generation, blocks_of(generation), &bytes);
        }
    }

    fn renames(&mut self, root: &Path, thread: u32) {
        for object in self.objects(thread, SyncMode::Rename) {
            let Some(promise) = self.record.files.get(&object).copied() else { continue };
            let mut wanted = self.record.in_flight_on(object);
            wanted.push(promise.generation);
            let names = names_of(root, object);
            let (good, old): (Vec<u32>, Vec<u32>) =
                names.iter().copied().partition(|generation| wanted.contains(generation));
            let path = renamed(object, promise.generation);
            match (good.as_slice(), old.as_slice()) {
                ([], []) => {
                    self.checked(promise.mode);
                    self.broken(object, path, promise, Damage::Lost, "no name leads to it".into());
                }
                ([], [old, ..]) => {
                    self.checked(promise.mode);
                    let found = format!("still named {}", renamed(object, *old));
                    self.broken(object, path, promise, Damage::WrongName, found);
                }
                ([name, ..], []) => {
                    let path = renamed(object, *name);
                    let Some(bytes) = self.read(root, object, &path, promise) else { continue };
                    self.whole_file(object, &path, promise, LAID_OUT, blocks_of(LAID_OUT), &bytes);
                }
                (_, [old, ..]) => {
                    self.checked(promise.mode);
                    let found = format!("the old name {} is there again", renamed(object, *old));
                    self.broken(object, path, promise, Damage::Resurrected, found);
                }
            }
        }
    }

    fn attributes(&mut self, root: &Path, object: PromisedObject) {
        let promise = self.whole_promise(object);
        let path = object.path();
        self.checked(promise.mode);
        let facts = match attributes_of(&root.join(&path)) {
            Ok(facts) => facts,
            Err(error) => return self.broken(object, path, promise, Damage::Lost, unread(&error)),
        };
        let mut generations = self.record.in_flight_on(object);
        generations.push(promise.generation);
        let allowed = || generations.iter().copied();
        let (mode, value) = facts;
        let has_mode = allowed().any(|generation| permissions_of(generation) == mode);
        let has_value = !self.record.header.has_xattr
            || allowed().any(|generation| value.as_deref() == Some(generation.to_string().as_str()));
        match has_mode && has_value {
            true => self.found(object.thread, promise.generation),
            false => {
                let (want, generation) = (permissions_of(promise.generation), promise.generation);
                let value = value.unwrap_or_else(|| "none".into());
                let found = format!(
                    "mode {mode:04o} and attribute {value}, where {want:04o} and {generation} were promised"
                );
                self.broken(object, path, promise, Damage::WrongAttribute, found);
            }
        }
    }

    /// The last promise of a file that was laid out.
    fn whole_promise(&self, object: PromisedObject) -> KeptPromise {
        self.record.files.get(&object).copied().unwrap_or_else(|| self.record.of_block(object, 0))
    }

    fn size(&mut self, root: &Path, object: PromisedObject) {
        let promise = self.whole_promise(object);
        let path = object.path();
        self.checked(promise.mode);
        let size = match fs::metadata(root.join(&path)) {
            Ok(facts) => facts.len(),
            Err(error) => return self.broken(object, path, promise, Damage::Lost, unread(&error)),
        };
        let next: Vec<u64> = self.record.in_flight_on(object).into_iter().map(size_of).collect();
        let want = size_of(promise.generation);
        if size == want || next.contains(&size) {
            self.found(object.thread, promise.generation);
        } else {
            let found = format!("{size} bytes, where {want} were promised");
            self.broken(object, path, promise, Damage::WrongSize, found);
        }
    }
}

fn unread(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "nothing of that name".into(),
        _ => format!("it cannot be read: {}", plain(error)),
    }
}

fn block_of(bytes: &[u8], block: u64, size: usize) -> Option<&[u8]> {
    let start = usize::try_from(block).ok()?.checked_mul(size)?;
    bytes.get(start..start.checked_add(size)?)
}

/// The generations of the names that a renamed file has.
fn names_of(root: &Path, object: PromisedObject) -> Vec<u32> {
    let path: PathBuf = root.join(object.path());
    let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else { return Vec::new() };
    let begin = format!("{}.", name.to_string_lossy());
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names: Vec<u32> = entries
        .filter_map(|entry| entry.file_name().to_string_lossy().strip_prefix(&begin)?.parse().ok())
        .collect();
    names.sort_unstable();
    names
}

fn attributes_of(path: &Path) -> io::Result<(u32, Option<String>)> {
    let file = File::open(path)?;
    // A file whose data cannot be read is not there.
    file.read_at(&mut [0], 0)?;
    Ok((file.metadata()?.permissions().mode() & 0o7777, calls::attribute(&file, ATTRIBUTE).ok()))
}
