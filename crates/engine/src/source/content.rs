//! What a worker's buffers hold: filled before a write, checked after a read, and remembered so that the check knows
//! what to expect.
//!
//! Where a job verifies, a table holds the generation of every block it wrote: the check can tell a lost write from a
//! right one. The table is a mapping that costs memory only where blocks were written. It refuses to verify what
//! cannot be distinguished: sizes that are no whole sectors, tables beyond a bound.

use std::path::Path;

use iodyno_model::{
    Content as Bytes, Job, Marks, Mismatch, Offset, Operation, PayloadMarks, Refresh, Size, Stamp,
    TargetKind, Trace, Verb, Verify, VerifyPolicy, VerifyWhen, Workload, Wrong,
};

use super::SourceContext;
use super::pattern::PatternSource;
use super::replay::tree;
use super::script::compile::operations;
use super::walk::failure;
use crate::clock::Tick;
use crate::failure::Failure;
use crate::io::{AT_END, Handle, Io, KEEP, Names, PathBuffer, READ_BACK, VERIFY};
use crate::names::templates::{is_own, resolve, set_root};
use crate::payload::{
    BlockAddress, Checker, Class, Corruption, Filler, Findings, Headers, Inspector, Marker, NUMBER_BITS,
    SECTOR_BYTES, UNKNOWN_NUMBER, Write,
};
use crate::random::mix;

mod filling;
mod judge;
mod keeper;
mod live_map;
mod map;
mod map_use;
mod marking;
mod state;
mod synced;
mod table;
mod verifiers;

use filling::Filling;
use judge::{CheckedPiece, Judge, PieceFault};
use keeper::Keeper;
pub use live_map::LiveMap;
pub use map::GenerationMap;
use map::MapSection;
use map_use::MapUse;
use marking::Marking;
pub use state::State;
use synced::SyncedWrites;
use table::{BlockTable, WrittenGeneration};
use verifiers::Helpers;

/// Blocks that one worker can remember; the table would be 2 GiB.
const BLOCKS_MOST: u64 = 1 << 28;
/// Where an operation carries its write's number, above the generation.
const NUMBER_AT: u32 = u64::BITS - NUMBER_BITS;
/// Complaints that are kept.
const COMPLAINTS_MOST: usize = 20;

/// Fills and checks one worker's buffers.
pub struct WorkerContent {
    filling: Option<Filling>,
    headers: Option<Headers>,
    marking: Option<Marking>,
    /// Marks say the offset also in items.
    sums_places: bool,
    judge: Option<Judge>,
    helpers: Option<Helpers>,
    /// By handle.
    files: Vec<FileContent>,
    grain: u64,
    /// What distinguishes writes of the same place where nothing is verified.
    writes: u64,
    /// Whether blocks of another length, or of a pattern that begins anew, are checked write by write.
    whole_writes: bool,
    /// Whether a trimmed block must read as zeros.
    trims_read_zero: bool,
    /// Whether another run wrote, of which only the places are known.
    assumed: bool,
    /// By label: operations and bytes that count although they were not done.
    counted: Option<Vec<(u64, u64)>>,
    /// Where only what was synced is read back.
    synced: Option<SyncedWrites>,
    began: Tick,
    now: Tick,
    keeper: Option<Keeper>,
    map: Option<MapUse>,
    /// Files that hold what is known while it runs.
    live: Vec<LiveMap>,
    /// Handle, offset and bytes of what a generation map knows behind the end of a file.
    cut_off: Vec<(u32, u64, u64)>,
    findings: Findings,
    mismatches: Vec<Mismatch>,
    names: Vec<String>,
    /// By handle: how a set's items are called.
    item_names: Vec<Option<Names>>,
    /// Owners of bad places, and what their file is called.
    accused: Vec<(u64, String)>,
    late: Vec<Late>,
}

struct FileContent {
    id: u64,
    base: u64,
    path: String,
    table: Option<BlockTable>,
    /// The item that is open here: its set's handle, and its number.
    item: Option<(u32, u64)>,
    /// Where operations at the file's own position have come to.
    position: u64,
}

/// A read that was taken for good before a helper found that it was not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Late {
    /// The line it was tallied in.
    pub label: u16,
    /// The handle.
    pub file: u32,
    /// Where it read.
    pub offset: u64,
    /// How much it asked for, bytes.
    pub bytes: u64,
    /// The kind of corruption.
    pub code: i32,
}

/// The sizes a job writes (or, where it only reads, reads).
fn sizes<'a>(context: &SourceContext<'a>) -> Vec<&'a Size> {
    match &context.job.workload {
        Workload::Pattern(pattern) if pattern.mix.has(Verb::Write) || pattern.mix.has(Verb::Create) => {
            vec![&pattern.size.write]
        }
        Workload::Pattern(pattern) => vec![&pattern.size.read],
        _ => Vec::new(),
    }
}

/// Where a script's first operation at a file's own position begins.
fn starting_position(job: &Job, target: u32) -> u64 {
    let Workload::Script(script) = &job.workload else { return 0 };
    let is_on = |operation: &&Operation| {
        operation
            .target
            .and_then(|target| job.targets.get(target))
            .is_some_and(|known| *known == target as usize)
    };
    let start = |operation: &Operation| match operation.offset {
        Offset::NextFrom(bytes) => Some(bytes),
        _ => None,
    };
    operations(&script.steps).into_iter().filter(is_on).find_map(start).unwrap_or(0)
}

/// The largest size that divides all others.
fn grain(size: &Size, align: u64) -> u64 {
    let all = match size {
        Size::Fixed(bytes) => *bytes,
        Size::Uniform { least_bytes, step_bytes, .. } => common(*least_bytes, *step_bytes),
        Size::Split(table) => table.iter().fold(0, |all, (bytes, _)| common(all, *bytes)),
        Size::Blend(table) => table.iter().fold(0, |all, (size, _)| common(all, grain(size, 0))),
        Size::Gamma { .. } | Size::Normal { .. } | Size::Poisson { .. } | Size::ResultOf(_) | Size::Whole => {
            0
        }
    };
    common(all, align)
}

fn common(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { common(b, a % b) }
}

impl WorkerContent {
    /// The content of one worker's buffers.
    ///
    /// # Errors
    /// Payloads that cannot be made, and checks that cannot be done.
    pub fn new(context: &SourceContext<'_>, writes: bool) -> Result<Self, Failure> {
        let (payload, seed) = (&context.job.payload, context.job.payload.seed.unwrap_or(context.plan.seed));
        let sizes = sizes(context);
        let stride = context.memory.stride() as u64;
        let block =
            sizes.first().and_then(|size| size.most_bytes()).unwrap_or(stride).clamp(1, stride) as usize;
        let verify = payload.verify.as_ref();
        let grain = verify.map_or(Ok(0), |verify| verified_grain(context, verify))?;
        let marked = marked(&payload.content);
        let headers = match verify {
            _ if marked.is_some() => None,
            Some(verify) => Headers::new(verify, seed, grain, context.worker).map_err(failure)?,
            None => None,
        };
        let span: u64 = context.files.handles.iter().map(|handle| handle.bytes).fold(0, u64::saturating_add);
        // A simulated device looks at no byte, and in its time none is made: filling would only keep it waiting.
        let unseen = verify.is_none() && context.engine.is_virtual;
        let filler = match (&payload.content, writes) {
            (Bytes::Carried | Bytes::Marked(_), _) | (_, false) => None,
            _ if headers.is_some() => None,
            _ => Some(Filler::new(payload, seed, block).map_err(failure)?.over(span)).filter(|_| !unseen),
        };
        let mut content = WorkerContent {
            filling: filler.map(|filler| Filling::new(context, filler)),
            headers,
            sums_places: marked.is_some_and(|marked| marked.marks == Marks::Summed),
            marking: marked.filter(|_| writes).map(|marked| Marking::new(context, marked)),
            judge: None,
            helpers: None,
            files: Vec::new(),
            grain,
            writes: 0,
            whole_writes: false,
            trims_read_zero: verify.is_some_and(|verify| verify.trim.is_some_and(|trim| trim.reads_zero)),
            assumed: verify.is_some_and(|verify| verify.only && verify.map.is_none()),
            counted: verify.filter(|verify| verify.only && verify.only_counts).map(|_| Vec::new()),
            synced: verify
                .filter(|verify| writes && verify.policy == VerifyPolicy::Synced && !verify.only)
                .map(|_| SyncedWrites::default()),
            began: context.start,
            now: context.start,
            keeper: verify.and_then(|verify| Keeper::new(context, verify, writes)),
            map: verify.and_then(|verify| MapUse::new(context, verify, (seed, grain), writes)),
            live: Vec::new(),
            cut_off: Vec::new(),
            findings: Findings::default(),
            mismatches: Vec::new(),
            names: names(context),
            item_names: context.files.handles.iter().map(|handle| handle.names.as_deref().cloned()).collect(),
            accused: Vec::new(),
            late: Vec::new(),
        };
        let checked = verify.filter(|verify| verify.when != VerifyWhen::Never);
        // Of marked content, what another worker or run wrote is known as well; only a pattern's own writes are noted.
        let notes = marked.is_none() || matches!(context.job.workload, Workload::Pattern(_));
        // So does a tree, of which more is known than handles tell.
        let notes = notes && tree::of(context.job).is_none();
        let remembers = checked.is_some() && writes && notes;
        content.open_files(context, remembers || content.map.is_some())?;
        if let Some(verify) = checked {
            content.appoint(context, verify, block)?;
        }
        content.load_map(verify.and_then(|verify| verify.map.as_ref()), seed)?;
        Ok(content)
    }

    /// Finds who checks.
    fn appoint(&mut self, context: &SourceContext<'_>, verify: &Verify, block: usize) -> Result<(), Failure> {
        let (payload, seed) = (&context.job.payload, context.job.payload.seed.unwrap_or(context.plan.seed));
        let judge = match (&verify.stamp, &self.headers) {
            (Stamp::Nothing, _) => Judge::nothing(),
            _ if let Some(marked) = marked(&payload.content) => {
                Judge::marked(Marker::new(marked, context.worker))
            }
            (_, Some(headers)) => Judge::headed(Inspector::new(headers.clone())),
            _ => Judge::own(Checker::new(payload, seed, block).map_err(failure)?.written_as(self.grain)),
        };
        let paths: Vec<String> = self.files.iter().map(|file| file.path.clone()).collect();
        let judge = if verify.dump { judge.dumping(&paths) } else { judge };
        self.whole_writes = judge.wants_whole_writes();
        if verify.helpers > 0 {
            self.helpers = Some(Helpers::new(verify.helpers, &verify.helper_cpus, &judge)?);
        }
        self.judge = Some(judge);
        Ok(())
    }

    fn open_files(&mut self, context: &SourceContext<'_>, remembers: bool) -> Result<(), Failure> {
        for (handle, name) in context.files.handles.iter().zip(&self.names) {
            // Items are distinguished by their number alone.
            let remembers = remembers && handle.names.is_none();
            let count = if remembers { handle.bytes / self.grain.max(1) } else { 0 };
            if count > BLOCKS_MOST {
                return Err(Failure::new(format!(
                    "`{name}`: {count} blocks are too many to remember for verification"
                ))
                .hint("verify a smaller span or larger blocks, or read in a later phase"));
            }
            let table = match remembers {
                true => {
                    let table = BlockTable::new(count, self.grain.max(1));
                    let table = table.map_err(|errno| Failure::call("mmap", errno))?;
                    let (table, live) = self.bounded(context, table, name, handle.base)?;
                    self.live.extend(live);
                    Some(table)
                }
                false => None,
            };
            let path = path_of(context, handle.target).unwrap_or_else(|| name.clone());
            let (id, base) = (BlockAddress::file_id(name), handle.base);
            let position = starting_position(context.job, handle.target);
            self.files.push(FileContent { id, base, path, table, item: None, position });
        }
        Ok(())
    }

    /// The table with what a generation map notes of each block, where there is one.
    fn bounded(
        &self,
        context: &SourceContext<'_>,
        table: BlockTable,
        name: &str,
        base: u64,
    ) -> Result<(BlockTable, Option<LiveMap>), Failure> {
        let is_live = context.job.payload.verify.as_ref().is_some_and(|verify| verify.map_live);
        match &self.map {
            Some(MapUse::Save(path, section)) if is_live && table.count() > 0 => {
                let file = BlockAddress::file_id(name);
                let section = MapSection { file, offset: base, name: name.into(), ..section.clone() };
                let (live, mapping) = LiveMap::create(path, &section, self.live.len(), table.count())?;
                Ok((table.bounded_by(mapping), Some(live)))
            }
            Some(_) => {
                let table = table.bounded().map_err(|errno| Failure::call("mmap", errno))?;
                Ok((table, None))
            }
            None => Ok((table, None)),
        }
    }

    /// Takes over what a generation map says of every file; who writes one goes on behind an earlier phase.
    fn load_map(&mut self, path: Option<&String>, seed: u64) -> Result<(), Failure> {
        let loads = self.loads_map();
        let Some(path) = path.filter(|path| loads || Path::new(path).exists()) else { return Ok(()) };
        let mut map = GenerationMap::read(path)?;
        if matches!(self.map, Some(MapUse::Load { only: true })) {
            map.take_over()?;
        }
        for (handle, (file, name)) in self.files.iter().zip(&self.names).enumerate() {
            let Some(table) = file.table.as_ref().filter(|_| loads || map.has(file.id)) else { continue };
            let range = (file.base, table.count(), self.grain);
            let blocks = map.blocks(name, (file.id, seed), range, self.whole_writes && loads)?;
            if loads {
                table.load_map(&blocks)
            } else {
                table.continue_map(&blocks)
            }
            if !self.reads_only() {
                continue;
            }
            let (ends, known) = (length_of(&file.path), map.end_of(file.id));
            let read = file.base + (table.count() + 1) * self.grain;
            // Where all that the map knows is read, the reads find it.
            if let Some(ends) = ends.filter(|ends| *ends < known && *ends < read) {
                self.cut_off.push((handle as u32, ends, known - ends));
            }
        }
        Ok(())
    }

    /// Appends what is known of every file to the generation map.
    fn save_map(&self) -> Result<(), Failure> {
        let Some(MapUse::Save(path, section)) = &self.map else { return Ok(()) };
        for (file, name) in self.files.iter().zip(&self.names) {
            let Some((first, blocks)) = file.table.as_ref().and_then(BlockTable::to_map) else { continue };
            let offset = file.base + first * self.grain;
            MapSection { file: file.id, offset, name: name.clone(), blocks, ..section.clone() }
                .append(path)?;
        }
        self.live.iter().try_for_each(LiveMap::remove)
    }

    /// Whether reads are checked.
    pub fn checks(&self) -> bool {
        self.judge.is_some()
    }

    /// Whether completions must be reported.
    pub fn listens(&self) -> bool {
        self.checks() || self.keeper.is_some() || self.map.is_some()
    }

    /// Whether writes are remembered, so that no two may be in flight on one block.
    pub fn remembers(&self) -> bool {
        let knows = self.files.iter().any(|file| file.table.is_some());
        knows && !self.reads_only()
    }

    fn reads_only(&self) -> bool {
        matches!(self.map, Some(MapUse::Load { only: false }))
    }

    fn loads_map(&self) -> bool {
        matches!(self.map, Some(MapUse::Load { .. }))
    }

    /// Whether there is nothing to do for any operation.
    pub fn is_idle(&self) -> bool {
        self.filling.is_none() && self.headers.is_none() && self.marking.is_none() && !self.listens()
    }

    /// Fills all buffers once, where every write carries the same bytes anyway. Whether that is so.
    pub fn prepare(&self, context: &SourceContext<'_>, source: &PatternSource) -> bool {
        if let Some(marking) = self.marking.as_ref().filter(|_| !source.has(Verb::Read)) {
            // Behind the last whole word lies what depends on the operation's length.
            let bytes = match sizes(context)[..] {
                [Size::Fixed(bytes)] => *bytes,
                ref sizes if sizes.iter().all(|size| grain(size, 0).is_multiple_of(8)) => u64::MAX,
                _ => return false,
            };
            let cut = |handle: &Handle| handle.names.is_none() && !handle.bytes.is_multiple_of(8);
            let whole = !context.files.handles.iter().any(cut);
            let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
            return whole && marking.prepare(context.memory, context.memory.count(), bytes);
        }
        let constant =
            context.job.payload.refresh == Refresh::Once || context.job.payload.content == Bytes::Zero;
        let (Some(filling), true) = (&self.filling, constant && !source.has(Verb::Read)) else {
            return false;
        };
        for slot in 0..context.memory.count() {
            // SAFETY: the slot's buffer is as long as the stride, and nothing is in flight yet.
            let buffer = unsafe {
                std::slice::from_raw_parts_mut(context.memory.buffer(slot), context.memory.stride())
            };
            filling.filler().fill(buffer, BlockAddress { file: 0, offset: 0, generation: 0 });
        }
        true
    }

    /// Makes the buffer of an operation ready.
    #[inline(always)]
    pub fn ready(&mut self, io: &mut Io) {
        match io.verb {
            Verb::Write => self.fill(io),
            Verb::Read => {
                io.flags |= if self.judge.is_some() { VERIFY } else { 0 };
                self.marking.iter_mut().for_each(|marking| marking.spoil(io));
            }
            Verb::Fsync | Verb::Fdatasync => {
                self.synced.iter_mut().for_each(|synced| io.other = synced.sync_began(self.writes));
            }
            Verb::Create | Verb::Open if io.flags & KEEP != 0 => self.opens(io),
            Verb::Create | Verb::Open if io.bytes > 0 => self.ready_item(io),
            _ => {}
        }
        if io.verb != Verb::Write {
            self.filling.iter_mut().for_each(|filling| filling.spoil(io));
        }
    }

    /// Takes note of which item will be open in a handle.
    fn opens(&mut self, io: &Io) {
        if let Some(file) = self.files.get_mut(io.other as u32 as usize) {
            (file.item, file.position) = (Some((io.file, io.offset)), 0);
        }
    }

    /// The same for an operation that goes out at a known time.
    pub fn ready_at(&mut self, io: &mut Io, now: Tick) {
        self.now = now;
        self.ready(io);
    }

    /// An item that is written, read, or both.
    fn ready_item(&mut self, io: &mut Io) {
        if io.verb == Verb::Create {
            self.fill(io);
        }
        if self.judge.is_some() && (io.verb == Verb::Open || io.flags & READ_BACK != 0) {
            io.flags |= VERIFY;
        }
    }

    #[inline(always)]
    fn fill(&mut self, io: &mut Io) {
        let Some(filling) = &mut self.filling else { return self.fill_otherwise(io) };
        let file = &self.files[io.file as usize];
        let generation = match &file.table {
            None => self.writes,
            Some(table) => table.begin(io.offset - file.base, io.bytes),
        };
        self.keeper.iter_mut().for_each(|keeper| keeper.began(self.writes, io.file, io.offset));
        self.writes += 1;
        io.other = generation;
        let offset = if io.offset >= AT_END { self.writes * io.bytes } else { io.offset };
        filling.fill(io, BlockAddress { file: file.id, offset, generation });
    }

    #[inline(never)]
    fn fill_otherwise(&mut self, io: &mut Io) {
        let (place, owner) = (self.place(io), self.owner(io));
        match &mut self.marking {
            Some(marking) => marking.mark(io, place, owner),
            None => self.fill_headed(io),
        }
    }

    /// What the marks of an operation say of its place: its offset, or the item.
    #[inline]
    fn place(&self, io: &Io) -> u64 {
        match self.item(io).filter(|_| !self.sums_places) {
            Some((set, item)) => self.item_place(set, item),
            None => self.offset(io),
        }
    }

    /// The item that an operation is on: its set's handle, and its number.
    #[inline]
    fn item(&self, io: &Io) -> Option<(u32, u64)> {
        match io.verb {
            Verb::Create | Verb::Open => Some((io.file, io.offset)),
            _ => self.files[io.file as usize].item,
        }
    }

    /// What the marks of an item say of its place.
    fn item_place(&self, set: u32, item: u64) -> u64 {
        self.item_names
            .get(set as usize)
            .and_then(Option::as_ref)
            .map_or(item, |names| names.marked_place(item))
    }

    /// Whose marks an operation's bytes carry, where they are not the worker's own.
    #[inline]
    fn owner(&self, io: &Io) -> Option<u32> {
        let (set, _) = self.item(io)?;
        let names = self.item_names.get(set as usize)?.as_ref()?;
        names.marked.map(|(owner, _)| owner)
    }

    /// Where an operation is in its file.
    #[inline]
    fn offset(&self, io: &Io) -> u64 {
        if matches!(io.verb, Verb::Create | Verb::Open) {
            return 0;
        }
        if io.offset >= AT_END { self.files[io.file as usize].position } else { io.offset }
    }

    /// Data and headers in another tool's layout.
    fn fill_headed(&mut self, io: &mut Io) {
        let Some(headers) = &self.headers else { return };
        let file = &self.files[io.file as usize];
        let generation = match &file.table {
            None => self.writes & u64::from(u32::MAX),
            Some(table) => table.begin(io.offset - file.base, io.bytes),
        };
        let number = self.writes;
        io.other = generation | number << NUMBER_AT;
        self.keeper.iter_mut().for_each(|keeper| keeper.began(number, io.file, io.offset));
        self.synced.iter_mut().for_each(|synced| synced.write_began(number));
        let offset = if io.offset >= AT_END { self.writes * io.bytes } else { io.offset };
        self.writes += 1;
        // SAFETY: the buffer is the slot's and at least as long as the operation; no operation is in flight on it.
        let buffer = unsafe { std::slice::from_raw_parts_mut(io.buffer, io.bytes as usize) };
        let age_ns = self.now.saturating_sub(self.began);
        headers.fill(buffer, Write { file: file.id, offset, generation, number, age_ns });
    }

    /// Takes note of a completion; the answer is its result, or the code of what is wrong with its content.
    pub fn done(&mut self, io: &Io, result: i64) -> i64 {
        let checked = self.looked_at(io, result);
        if io.offset >= AT_END && result > 0 && io.verb.moves_data() {
            self.files[io.file as usize].position += result as u64;
        }
        checked
    }

    fn looked_at(&mut self, io: &Io, result: i64) -> i64 {
        match io.verb {
            Verb::Write => self.remember(io, result),
            Verb::Fsync | Verb::Fdatasync => {
                self.synced.iter_mut().for_each(|synced| synced.sync_ended(io.other, result >= 0));
            }
            Verb::Trim | Verb::Discard if result >= 0 => self.remember_trim(io),
            Verb::Read if io.flags & VERIFY != 0 && self.is_cut_off(io, result) => {
                return self.missing(io, result);
            }
            Verb::Read if io.flags & VERIFY != 0 && result > 0 => return self.check(io, result),
            Verb::Create | Verb::Open if io.flags & KEEP == 0 => return self.visited(io, result),
            _ => {}
        }
        result
    }

    /// An item was written, read, or both.
    fn visited(&mut self, io: &Io, result: i64) -> i64 {
        if io.verb == Verb::Open || io.flags & READ_BACK != 0 {
            self.marking.iter_mut().for_each(|marking| marking.spoil(io));
        }
        if io.flags & VERIFY == 0 || result <= 0 {
            return result;
        }
        self.files[io.file as usize].item = Some((io.file, io.offset));
        self.check(io, result)
    }

    /// A write that failed or was short leaves blocks of which nothing is known.
    fn remember(&mut self, io: &Io, result: i64) {
        let whole = result == io.bytes as i64;
        if let Some(keeper) = self.keeper.as_mut().filter(|_| whole) {
            keeper.completed(io.file, io.offset);
        }
        let number = io.other >> NUMBER_AT;
        self.synced.iter_mut().for_each(|synced| synced.write_ended(number, NUMBER_BITS));
        let file = &self.files[io.file as usize];
        if let Some(table) = &file.table {
            let write = whole.then_some((io.other & u64::from(u32::MAX), (io.other >> NUMBER_AT) as u32));
            table.wrote(io.offset - file.base, io.bytes, write, self.whole_writes);
        }
    }

    fn remember_trim(&self, io: &Io) {
        let file = &self.files[io.file as usize];
        if let Some(table) = &file.table {
            table.trimmed(io.offset - file.base, io.bytes);
        }
    }

    /// Takes note of an operation that is not done, but counted.
    pub fn count(&mut self, io: &Io) {
        let Some(counted) = &mut self.counted else { return };
        let label = usize::from(io.label);
        if counted.len() <= label {
            counted.resize(label + 1, (0, 0));
        }
        counted[label] = (counted[label].0 + 1, counted[label].1 + io.bytes);
    }

    /// Operations and bytes, by label, that count although they were not done.
    pub fn counted(&self) -> &[(u64, u64)] {
        self.counted.as_deref().unwrap_or_default()
    }

    /// Takes note of a write that an earlier run is said to have done.
    pub fn assume(&mut self, io: &Io) {
        let file = &self.files[io.file as usize];
        // A generation map knows better.
        if let Some(table) = file.table.as_ref().filter(|_| self.map.is_none()) {
            table.wrote(io.offset - file.base, io.bytes, Some((0, 0)), self.whole_writes);
        }
        self.writes += 1;
    }

    /// Checks what was read: whole writes one by one, or stretches of one generation.
    fn check(&mut self, io: &Io, result: i64) -> i64 {
        // SAFETY: the buffer holds at least as many bytes as the read was asked for, and the read is complete.
        let buffer =
            unsafe { std::slice::from_raw_parts_mut(io.buffer, (result as u64).min(io.bytes) as usize) };
        let remembers = self.files[io.file as usize].table.is_some();
        let mut bad = if remembers { self.check_trimmed(io, buffer) } else { 0 };
        let worse = match (remembers, self.whole_writes) {
            (false, true) if buffer.len() as u64 != io.bytes && !self.checks_marks() => 0,
            (false, _) => self.check_piece(io, buffer, self.offset(io), None, 0),
            (true, true) => self.check_writes(io, buffer),
            (true, false) => self.check_stretches(io, buffer),
        };
        bad = if bad == 0 { worse } else { bad };
        if bad == 0 { result } else { i64::from(bad) }
    }

    fn check_stretches(&mut self, io: &Io, buffer: &mut [u8]) -> i32 {
        let (mut bad, mut start) = (0, 0);
        while start < buffer.len() {
            let file = &self.files[io.file as usize];
            let Some(table) = &file.table else { break };
            let offset = io.offset + start as u64;
            let (bytes, generation) = table.stretch(offset - file.base, buffer.len() - start);
            if let Some(WrittenGeneration { newest, oldest }) = generation {
                let part = &mut buffer[start..start + bytes];
                let written = (!self.assumed).then_some((newest, 0));
                let code = self.check_piece(io, part, offset, written, oldest);
                bad = if bad == 0 { code } else { bad };
            }
            start += bytes;
        }
        bad
    }

    fn check_writes(&mut self, io: &Io, buffer: &mut [u8]) -> i32 {
        let base = self.files[io.file as usize].base;
        let (begin, end) = (io.offset - base, io.offset - base + buffer.len() as u64);
        let (mut bad, mut from) = (0, begin);
        while let Some(unit) =
            self.files[io.file as usize].table.as_ref().and_then(|table| table.unit_from(from))
        {
            if unit.end > end {
                break;
            }
            from = unit.end;
            if unit.trimmed {
                continue;
            }
            let part = &mut buffer[(unit.start - begin) as usize..(unit.end - begin) as usize];
            // What an earlier run wrote is known by its place alone.
            let number = if self.loads_map() { UNKNOWN_NUMBER } else { unit.number };
            let written = (!self.assumed).then_some((unit.generation, number));
            let code = self.check_piece(io, part, base + unit.start, written, unit.oldest);
            bad = if bad == 0 { code } else { bad };
        }
        bad
    }

    /// One piece: by a helper, where there are any and one has time.
    fn check_piece(
        &mut self,
        io: &Io,
        buffer: &mut [u8],
        offset: u64,
        written: Option<(u64, u32)>,
        oldest: u64,
    ) -> i32 {
        let file = &self.files[io.file as usize];
        let (id, place) = match self.item(io) {
            Some((_, item)) if self.sums_places => (mix(file.id ^ mix(item)), offset),
            Some((set, item)) => (mix(file.id ^ mix(item)), self.item_place(set, item)),
            None => (file.id, offset),
        };
        let read = (self.offset(io), io.bytes);
        let (handle, label, owner) = (io.file, io.label, self.owner(io));
        let piece = CheckedPiece { handle, file: id, offset, place, owner, written, oldest, read, label };
        if self.helpers.as_ref().is_some_and(|helpers| helpers.take(buffer, piece)) {
            return 0;
        }
        match self.judge.as_mut().and_then(|judge| judge.look(buffer, piece)) {
            Some(found) => self.note(*found),
            None => 0,
        }
    }

    /// Whether trimmed blocks read as zeros, where they must.
    fn check_trimmed(&mut self, io: &Io, buffer: &[u8]) -> i32 {
        let file = &self.files[io.file as usize];
        let Some(table) = file.table.as_ref().filter(|_| self.trims_read_zero) else { return 0 };
        let wrong = table.trimmed_within(io.offset - file.base, buffer.len() as u64).find_map(|range| {
            let at = buffer[range.clone()].iter().position(|byte| *byte != 0)?;
            Some((range, at))
        });
        let Some((range, at)) = wrong else { return 0 };
        let found = format!("{:02x}", buffer[range.start + at]);
        let what = Wrong::NotZero { at: at as u64 };
        let (offset, bytes) = (io.offset + range.start as u64, range.len() as u64);
        self.differs(io, (offset, bytes), what, ("trim", "00", &found), u64::from(io.file))
    }

    /// Writes down that a range is not what it should be; its code. In words: the check, what was expected and found.
    #[cold]
    fn differs(
        &mut self,
        io: &Io,
        (offset, bytes): (u64, u64),
        what: Wrong,
        (check, expected, found): (&str, &str, &str),
        owner: u64,
    ) -> i32 {
        let corruption = Corruption { class: Class::Mismatch { what }, owner, offset, bytes };
        self.accuse_place(io.file, corruption, (io.offset, io.bytes), what, [check, expected, found])
    }

    /// Writes down what is wrong in a place of a file that was read as part of a longer one; its code.
    fn accuse_place(
        &mut self,
        handle: u32,
        corruption: Corruption,
        (read_offset, read_bytes): (u64, u64),
        what: Wrong,
        words: [&str; 3],
    ) -> i32 {
        let [check, expected, found] = words.map(String::from);
        self.note_mismatch(Mismatch {
            file: self.path(handle),
            offset: corruption.offset,
            bytes: corruption.bytes,
            read_offset,
            read_bytes,
            what,
            check,
            expected,
            found,
            dumped: None,
        });
        self.accuse(corruption, handle);
        corruption.code()
    }

    /// What is open in a handle: a file of a set, as complaints name it.
    pub fn name_handle(&mut self, handle: u32, (set, name): (u32, &str)) {
        let path = format!("{}/{name}", self.files[set as usize].path);
        self.names[handle as usize].clone_from(&path);
        self.files[handle as usize].path = path;
    }

    /// A buffer will hold something else.
    pub fn spoil(&mut self, io: &Io) {
        self.filling.iter_mut().for_each(|filling| filling.spoil(io));
    }

    /// Fills the buffer of a write with the content of a file, place and generation.
    pub fn fill_as(&mut self, io: &Io, file: u64, offset: u64, generation: u64) {
        self.filling
            .iter_mut()
            .for_each(|filling| filling.fill(io, BlockAddress { file, offset, generation }));
    }

    /// Whether bytes that were read are those of a file, place and generation: 0, or the code of what is wrong.
    pub fn check_as(
        &mut self,
        io: &Io,
        bytes: &mut [u8],
        (file, offset): (u64, u64),
        generation: u64,
    ) -> i32 {
        let (handle, label, read) = (io.file, io.label, (io.offset, io.bytes));
        let written = Some((generation, 0));
        let (place, owner, oldest) = (offset, None, generation);
        let piece = CheckedPiece { handle, file, offset, place, owner, written, oldest, read, label };
        let Some(mut found) = self.judge.as_mut().and_then(|judge| judge.look(bytes, piece)) else {
            return 0;
        };
        for (flaw, _) in &mut found.flaws {
            // Generations count a file's writes here: that of a place may be its first.
            if let Class::Zeroed { .. } = flaw.corruption.class {
                flaw.corruption.class = Class::Lost { byte: 0 };
                flaw.found = flaw.corruption.class.name().into();
            }
        }
        self.note(*found)
    }

    /// Whether bytes that were read are zeros: 0, or the code of what is wrong.
    pub fn check_zeros(&mut self, io: &Io, bytes: &[u8], offset: u64) -> i32 {
        let Some(at) = bytes.iter().position(|byte| *byte != 0) else { return 0 };
        let found = format!("{:02x}", bytes[at]);
        let sector = SECTOR_BYTES as u64;
        let from = offset.max((offset + at as u64) / sector * sector);
        let length = (sector - from % sector).min(offset + bytes.len() as u64 - from);
        let what = Wrong::NotZero { at: offset + at as u64 - from };
        self.differs(io, (from, length), what, ("content", "00", &found), self.tree_owner(io))
    }

    /// A file ends where more was written; the code of that.
    pub fn misses(&mut self, io: &Io, offset: u64, bytes: u64) -> i32 {
        let owner = self.tree_owner(io);
        self.differs(io, (offset, bytes), Wrong::Length, ("content", "bytes", "the file's end"), owner)
    }

    /// Whether a file ends before a block that a generation map knows.
    fn is_cut_off(&self, io: &Io, result: i64) -> bool {
        let file = &self.files[io.file as usize];
        let table = file.table.as_ref().filter(|_| self.loads_map());
        let left = (io.bytes as i64).saturating_sub(result.max(0)) as u64;
        let ends = (result >= 0 && left > 0).then(|| io.offset - file.base + result as u64);
        let next = table.zip(ends).and_then(|(table, end)| table.written_from(end, left));
        next.is_some_and(|(offset, _)| offset < io.offset - file.base + io.bytes)
    }

    /// What was read before the end is checked; the rest is lost. The code of that.
    #[cold]
    fn missing(&mut self, io: &Io, result: i64) -> i64 {
        if result > 0 {
            self.check(io, result);
        }
        let lost = (io.offset + result as u64, io.bytes - result as u64);
        self.note_missing(io.file, lost, (io.offset, io.bytes)).into()
    }

    fn note_missing(&mut self, handle: u32, (offset, bytes): (u64, u64), read: (u64, u64)) -> i32 {
        let owner = BlockAddress::file_id(&self.names[handle as usize]);
        let corruption = Corruption { class: Class::Missing, owner, offset, bytes };
        let check = self.judge.as_ref().map_or("", Judge::name);
        self.accuse_place(handle, corruption, read, Wrong::Length, [check, "bytes", "the file's end"])
    }

    /// What lies behind the end of a file that a job reads up to its end: no read would find that it is missing.
    fn note_cut_off(&mut self) {
        for (handle, offset, bytes) in std::mem::take(&mut self.cut_off) {
            let code = self.note_missing(handle, (offset, bytes), (offset, bytes));
            self.late.push(Late { label: 0, file: handle, offset, bytes, code });
        }
    }

    /// Whose place it is that has no stamp: that of the file's path.
    fn tree_owner(&self, io: &Io) -> u64 {
        BlockAddress::file_id(&self.names[io.file as usize])
    }

    /// Writes down what is wrong; the code of the first of it.
    #[cold]
    fn note(&mut self, found: PieceFault) -> i32 {
        let check = self.judge.as_ref().map_or("", Judge::name);
        let piece = found.piece;
        let code = found.flaws.first().map_or(0, |(flaw, _)| flaw.corruption.code());
        for (flaw, dumped) in found.flaws {
            self.accuse(flaw.corruption, piece.handle);
            self.note_mismatch(Mismatch {
                file: self.path(piece.handle),
                offset: flaw.offset,
                bytes: flaw.bytes,
                read_offset: piece.read.0,
                read_bytes: piece.read.1,
                what: flaw.what,
                check: check.into(),
                expected: flaw.expected,
                found: flaw.found,
                dumped,
            });
        }
        code
    }

    fn note_mismatch(&mut self, mismatch: Mismatch) {
        if self.mismatches.len() < COMPLAINTS_MOST {
            self.mismatches.push(mismatch);
        }
    }

    fn accuse(&mut self, corruption: Corruption, handle: u32) {
        self.findings.note(corruption);
        let known = self.accused.iter().any(|(accused, _)| *accused == corruption.owner);
        if !known && self.accused.len() < Findings::KEPT_MOST {
            let name =
                if self.checks_marks() { self.path(handle) } else { self.names[handle as usize].clone() };
            self.accused.push((corruption.owner, name));
        }
    }

    fn checks_marks(&self) -> bool {
        self.judge.as_ref().is_some_and(Judge::checks_marks)
    }

    /// The path of what is open in a handle.
    fn path(&self, handle: u32) -> String {
        let file = &self.files[handle as usize];
        let Some((set, item)) = file.item else { return file.path.clone() };
        let root = &self.files[set as usize].path;
        let names = self.item_names.get(set as usize).and_then(Option::as_ref);
        match names.map(|names| names.path(item, &mut PathBuffer::default()).to_string_lossy().into_owned()) {
            Some(name) => format!("{root}/{name}"),
            None => format!("{root}, item {item}"),
        }
    }

    /// How many reads helpers found wrong so far.
    pub fn late(&mut self) -> u64 {
        if self.helpers.as_ref().is_some_and(Helpers::trouble) {
            self.collect();
        }
        self.late.len() as u64
    }

    fn collect(&mut self) {
        let found = self.helpers.as_ref().map_or_else(Vec::new, Helpers::found);
        for found in found {
            let piece = found.piece;
            let code = self.note(found);
            self.late.push(Late {
                label: piece.label,
                file: piece.handle,
                offset: piece.read.0,
                bytes: piece.read.1,
                code,
            });
        }
    }

    /// The end: helpers are waited for, the state is written down. What helpers found last of all.
    ///
    /// # Errors
    /// The state cannot be written.
    pub fn close(&mut self) -> Result<Vec<Late>, Failure> {
        if let Some(helpers) = &mut self.helpers {
            helpers.finish();
        }
        self.collect();
        self.note_cut_off();
        self.save_map()?;
        let late = std::mem::take(&mut self.late);
        match &self.keeper {
            Some(keeper) => {
                keeper.save(self.writes, self.synced.as_ref().map(SyncedWrites::durable)).map(|()| late)
            }
            None => Ok(late),
        }
    }

    /// The next range that was written, from an offset of a file on: at most so many bytes.
    pub fn next_written(&self, handle: usize, from: u64, most: u64) -> Option<(u64, u64)> {
        let table = self.files[handle].table.as_ref()?;
        match self.whole_writes {
            true => {
                let is_due = |number: u32| match &self.synced {
                    Some(synced) => synced.durable().has(number.into(), NUMBER_BITS),
                    None => true,
                };
                let mut units =
                    std::iter::successors(table.unit_from(from), |unit| table.unit_from(unit.end));
                units.find(|unit| is_due(unit.number)).map(|unit| (unit.start, unit.end - unit.start))
            }
            false => table.written_from(from, most),
        }
    }

    pub fn handles(&self) -> usize {
        self.files.len()
    }

    /// Where a handle's span begins.
    pub fn base(&self, handle: usize) -> u64 {
        self.files[handle].base
    }

    /// What was found wrong, a sentence each, by file and offset; the first few. To be asked at the end: only all reads
    /// together show which blocks were swapped.
    pub fn complaints(&self) -> Vec<String> {
        let name = |owner: u64| {
            let accused = self.accused.iter().find(|(accused, _)| *accused == owner);
            accused.map_or("unknown file", |(_, name)| name)
        };
        let found = self.findings.classified().into_iter().take(COMPLAINTS_MOST);
        found.map(|corruption| format!("{}: {corruption}", name(corruption.owner))).collect()
    }

    /// The same as facts, in the order they were found.
    pub fn mismatches(&self) -> &[Mismatch] {
        &self.mismatches
    }

    /// Everything that was found wrong.
    pub fn findings(&self) -> &Findings {
        &self.findings
    }
}

/// How far the writes of an earlier run came, where a job asks its state file.
///
/// # Errors
/// The file cannot be read, or is not one.
pub fn reach(context: &SourceContext<'_>, verify: &Verify) -> Result<Option<State>, Failure> {
    let Some(state) = verify.state.as_ref().filter(|state| state.load) else { return Ok(None) };
    if let Some(given) = state.given.iter().find(|given| given.worker == context.worker) {
        return State::decode(&given.bytes).map(Some);
    }
    let path = keeper::path_of(&state.path, verify, context.worker);
    let bytes = std::fs::read(&path).map_err(|error| {
        Failure::new(format!("{path}: {error}")).hint("run the writes first, with the state saved")
    })?;
    State::decode(&bytes).map(Some)
}

/// The length of a regular file.
fn length_of(path: &str) -> Option<u64> {
    let facts = std::fs::metadata(path).ok().filter(|facts| facts.is_file());
    facts.map(|facts| facts.len())
}

/// The path of a handle's file, as it was opened.
fn path_of(context: &SourceContext<'_>, target: u32) -> Option<String> {
    match &context.plan.targets.get(target as usize)?.kind {
        TargetKind::File { path, .. } => Some(resolve(path, context.asker)),
        TargetKind::Device { path } => Some(path.clone()),
        TargetKind::FileSet { root, items } => Some(set_root(root, items, context.asker)),
        _ => None,
    }
}

/// Whether what a job's blocks carry fits them, as far as the job alone decides.
///
/// # Errors
/// What does not fit.
pub fn check(job: &Job) -> Result<(), Failure> {
    if marked(&job.payload.content).is_some() {
        return marks_fit(job);
    }
    let Some(verify) = &job.payload.verify else { return Ok(()) };
    map_use::check(job, verify)?;
    let grain = job_grain(job, verify)?;
    Headers::new(verify, 0, grain, 0).map(drop).map_err(failure)
}

fn marked(content: &Bytes) -> Option<PayloadMarks> {
    if let Bytes::Marked(marked) = content { Some(*marked) } else { None }
}

/// Whether a job can mark its content, and check it.
fn marks_fit(job: &Job) -> Result<(), Failure> {
    let refused = |what: &str, hint: &str| Err(Failure::new(format!("marked content: {what}")).hint(hint));
    let payload = &job.payload;
    if payload.compress_percent > 0 || payload.dedupe_percent > 0 {
        return refused("it cannot be made to compress or to repeat", "use random content for that");
    }
    let Some(verify) = &payload.verify else { return Ok(()) };
    if !matches!(verify.stamp, Stamp::Content | Stamp::Nothing) {
        return refused("it carries no stamp besides its marks", "use the stamp `content`");
    }
    if verify.map.is_some() {
        return refused(
            "its marks carry no generation",
            "leave map out: an older run's marks are named all the same",
        );
    }
    if verify.interval_bytes > 0 || verify.state.is_some() || verify.trim.is_some() {
        return refused("its marks belong to whole operations", "leave interval, state and trimming out");
    }
    match (&job.workload, verify.when) {
        (Workload::Pattern(_), _) | (_, VerifyWhen::OnRead | VerifyWhen::Never) => Ok(()),
        _ => refused("only a pattern reads back what it wrote", "give the script a step that reads"),
    }
}

/// What every size and place is a multiple of, bytes.
fn job_grain(job: &Job, verify: &Verify) -> Result<u64, Failure> {
    let Workload::Pattern(pattern) = &job.workload else {
        if marked(&job.payload.content).is_some() {
            return Ok(1);
        }
        return match &job.workload {
            Workload::Trace(trace) if trace.path.is_some() => trace_grain(trace),
            _ => Err(Failure::new("only patterns and traces in files are verified; scripts are not yet")),
        };
    };
    let writes = pattern.mix.has(Verb::Write);
    let align = if writes { pattern.align_bytes.write } else { pattern.align_bytes.read };
    let grain = grain(if writes { &pattern.size.write } else { &pattern.size.read }, align);
    if grain == 0 {
        return Err(Failure::new("verification needs sizes that are known before"));
    }
    let by_sectors = by_sectors(job, verify);
    if by_sectors && !grain.is_multiple_of(SECTOR_BYTES as u64) {
        return Err(Failure::new("verification needs sizes and offsets that are whole sectors of 512 bytes"));
    }
    Ok(grain)
}

/// Whole sectors are what every trace of a device has.
fn trace_grain(trace: &Trace) -> Result<u64, Failure> {
    let (sector, aligned) = (SECTOR_BYTES as u64, trace.replay.align_bytes);
    let fits = |bytes: u64| bytes.is_multiple_of(sector);
    match () {
        // There each byte is looked at by itself.
        () if trace.replay.tree => Ok(sector),
        () if (aligned > 0 && fits(aligned)) || !trace.replay.facts.odd => Ok(sector),
        () => {
            Err(Failure::new("verification needs transfers of whole sectors of 512 bytes, and some are not")
                .hint("round them: align = 512"))
        }
    }
}

/// Whether content is distinguished sector by sector.
fn by_sectors(job: &Job, verify: &Verify) -> bool {
    matches!(verify.stamp, Stamp::Block | Stamp::Content) && marked(&job.payload.content).is_none()
}

fn verified_grain(context: &SourceContext<'_>, verify: &Verify) -> Result<u64, Failure> {
    let grain = job_grain(context.job, verify)?;
    if !by_sectors(context.job, verify) {
        return Ok(grain);
    }
    let odd = context.files.handles.iter().find(|handle| !handle.base.is_multiple_of(SECTOR_BYTES as u64));
    match odd {
        Some(handle) => Err(Failure::new(format!(
            "verification needs a span that begins at a sector, not at {}",
            handle.base
        ))),
        None => Ok(grain),
    }
}

/// What distinguishes each handle's content: the target, its file's number, and the worker where each has its own.
fn names(context: &SourceContext<'_>) -> Vec<String> {
    let handles = &context.files.handles;
    let name = |index: usize| {
        let target = handles[index].target;
        let number = handles[..index].iter().filter(|other| other.target == target).count();
        let Some(target) = context.plan.targets.get(target as usize) else { return format!("file {index}") };
        let own = match &target.kind {
            TargetKind::File { path, .. } => is_own(path),
            _ => false,
        };
        let worker = if own { format!(" of worker {}", context.worker) } else { String::new() };
        if number > 0 {
            format!("{}.{number}{worker}", target.name)
        } else {
            format!("{}{worker}", target.name)
        }
    };
    (0..handles.len()).map(name).collect()
}
