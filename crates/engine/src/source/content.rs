//! What a worker's buffers hold: filled before a write, checked after a read, and remembered so that the check knows
//! what to expect.
//!
//! Where a job verifies, a table holds the generation of every block it wrote: the check can tell a lost write from a
//! right one. The table is a mapping that costs memory only where blocks were written. It refuses to verify what
//! cannot be told apart: sizes that are no whole sectors, tables beyond a bound.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use iodyno_model::{Content as Bytes, Refresh, Size, TargetKind, Verb, Verify, Workload};

use super::Brief;
use super::pattern::PatternSource;
use super::walk::{AT_POSITION, failure};
use crate::failure::Failure;
use crate::io::{Io, VERIFY};
use crate::memory::Mapping;
use crate::payload::{Checker, Filler, Findings, Place, SECTOR_BYTES};

/// Blocks that one worker can remember; the table would be 1 GiB.
const BLOCKS_MOST: u64 = 1 << 28;
/// Complaints that are kept.
const COMPLAINTS_MOST: usize = 20;

/// Fills and checks one worker's buffers.
pub struct Content {
    filler: Option<Filler>,
    checker: Option<Checker>,
    /// By handle.
    files: Vec<FileContent>,
    grain: u64,
    /// What tells writes of the same place apart where nothing is verified.
    writes: u64,
    findings: Findings,
    names: Vec<String>,
    /// Owners of bad places, each with its handle.
    accused: Vec<(u64, u32)>,
}

struct FileContent {
    id: u64,
    base: u64,
    /// One more than the generation of each block's last write; 0: never written, or not known.
    blocks: Option<Mapping>,
    count: u64,
}

impl FileContent {
    /// The cell of a block, where there is a table and the block is in it.
    fn block(&self, block: u64) -> Option<&AtomicU32> {
        let table = self.blocks.as_ref().filter(|_| block < self.count)?;
        // SAFETY: the mapping holds `count` cells, is zeroed and aligned, and is written through atomics only.
        Some(unsafe { &*table.start().cast::<AtomicU32>().add(block as usize) })
    }

    fn generation(&self, block: u64) -> u32 {
        self.block(block).map_or(0, |cell| cell.load(Relaxed))
    }
}

/// The sizes a job writes (or, where it only reads, reads).
fn sizes<'a>(brief: &Brief<'a>) -> Vec<&'a Size> {
    match &brief.job.workload {
        Workload::Pattern(pattern) if pattern.mix.has(Verb::Write) => vec![&pattern.size.write],
        Workload::Pattern(pattern) => vec![&pattern.size.read],
        _ => Vec::new(),
    }
}

/// The largest size that divides all others.
fn grain(size: &Size, align: u64) -> u64 {
    let all = match size {
        Size::Fixed(bytes) => *bytes,
        Size::Uniform { least_bytes, step_bytes, .. } => common(*least_bytes, *step_bytes),
        Size::Split(table) => table.iter().fold(0, |all, (bytes, _)| common(all, *bytes)),
        Size::Blend(table) => table.iter().fold(0, |all, (size, _)| common(all, grain(size, 0))),
        Size::Gamma { .. } | Size::ResultOf(_) | Size::Whole => 0,
    };
    common(all, align)
}

fn common(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { common(b, a % b) }
}

impl Content {
    /// The content of one worker's buffers.
    ///
    /// # Errors
    /// Payloads that cannot be made, and checks that cannot be done.
    pub fn new(brief: &Brief<'_>, writes: bool) -> Result<Self, Failure> {
        let (payload, seed) = (&brief.job.payload, brief.job.payload.seed.unwrap_or(brief.plan.seed));
        let sizes = sizes(brief);
        let stride = brief.memory.stride() as u64;
        let block =
            sizes.first().and_then(|size| size.most_bytes()).unwrap_or(stride).clamp(1, stride) as usize;
        let grain = match &payload.verify {
            Some(verify) => verified_grain(brief, verify, sizes.first().copied())?,
            None => 0,
        };
        let filler = match (&payload.content, writes) {
            (Bytes::Carried, _) | (_, false) => None,
            _ => Some(Filler::new(payload, seed, block).map_err(failure)?),
        };
        let mut content = Content {
            filler,
            checker: None,
            files: Vec::new(),
            grain,
            writes: 0,
            findings: Findings::default(),
            names: names(brief),
            accused: Vec::new(),
        };
        if payload.verify.is_some() {
            content.checker = Some(Checker::new(payload, seed, block).map_err(failure)?.written_as(grain));
        }
        let table = (content.checker.is_some() && writes).then_some(content.grain);
        for (handle, name) in brief.files.handles.iter().zip(&content.names) {
            let count = table.map_or(0, |grain| handle.bytes / grain);
            if count > BLOCKS_MOST {
                return Err(Failure::new(format!(
                    "`{name}`: {count} blocks are too many to remember for verification"
                ))
                .hint("verify a smaller span or larger blocks, or read in a later phase"));
            }
            let blocks = match table {
                Some(_) => {
                    Some(Mapping::private(count as usize * 4).map_err(|errno| Failure::call("mmap", errno))?)
                }
                None => None,
            };
            content.files.push(FileContent { id: Place::file_id(name), base: handle.base, blocks, count });
        }
        Ok(content)
    }

    /// Whether reads are checked.
    pub fn checks(&self) -> bool {
        self.checker.is_some()
    }

    /// Whether writes are remembered, so that no two may be in flight on one block.
    pub fn remembers(&self) -> bool {
        self.files.iter().any(|file| file.blocks.is_some())
    }

    /// Whether there is nothing to do for any operation.
    pub fn is_idle(&self) -> bool {
        self.filler.is_none() && self.checker.is_none()
    }

    /// Fills all buffers once, where every write carries the same bytes anyway. Whether that is so.
    pub fn prepare(&self, brief: &Brief<'_>, source: &PatternSource) -> bool {
        let constant = brief.job.payload.refresh == Refresh::Once || brief.job.payload.content == Bytes::Zero;
        let (Some(filler), true) = (&self.filler, constant && !source.has(Verb::Read)) else { return false };
        for slot in 0..brief.depth.min(brief.memory.count()) {
            // SAFETY: the slot's buffer is as long as the stride, and nothing is in flight yet.
            let buffer =
                unsafe { std::slice::from_raw_parts_mut(brief.memory.buffer(slot), brief.memory.stride()) };
            filler.fill(buffer, Place { file: 0, offset: 0, generation: 0 });
        }
        true
    }

    /// Makes the buffer of an operation ready.
    #[inline(always)]
    pub fn ready(&mut self, io: &mut Io) {
        match io.verb {
            Verb::Write => self.fill(io),
            Verb::Read if self.checker.is_some() => io.flags |= VERIFY,
            _ => {}
        }
    }

    #[inline(always)]
    fn fill(&mut self, io: &mut Io) {
        let Some(filler) = &self.filler else { return };
        let file = &self.files[io.file as usize];
        let generation = match file.blocks {
            None => self.writes,
            Some(_) => {
                let known =
                    (io.offset - file.base) / self.grain..(io.offset - file.base + io.bytes) / self.grain;
                u64::from(known.map(|block| file.generation(block)).max().unwrap_or(0))
            }
        };
        self.writes += 1;
        io.other = generation;
        let offset = if io.offset == AT_POSITION { self.writes * io.bytes } else { io.offset };
        // SAFETY: the buffer is the slot's and at least as long as the operation; no operation is in flight on it.
        let buffer = unsafe { std::slice::from_raw_parts_mut(io.buffer, io.bytes as usize) };
        filler.fill(buffer, Place { file: file.id, offset, generation });
    }

    /// Takes note of a completion; the answer is its result, or the code of what is wrong with its content.
    pub fn done(&mut self, io: &Io, result: i64) -> i64 {
        match io.verb {
            Verb::Write => self.remember(io, result),
            Verb::Read if io.flags & VERIFY != 0 && result > 0 => return self.check(io, result),
            _ => {}
        }
        result
    }

    /// A write that failed or was short leaves blocks of which nothing is known.
    fn remember(&mut self, io: &Io, result: i64) {
        let file = &self.files[io.file as usize];
        if file.blocks.is_none() {
            return;
        }
        let generation = if result == io.bytes as i64 { io.other as u32 + 1 } else { 0 };
        for block in (io.offset - file.base) / self.grain..(io.offset - file.base + io.bytes) / self.grain {
            if let Some(cell) = file.block(block) {
                cell.store(generation, Relaxed);
            }
        }
    }

    /// Checks what was read, in stretches of one generation.
    fn check(&mut self, io: &Io, result: i64) -> i64 {
        let Some(checker) = &self.checker else { return result };
        let file = &self.files[io.file as usize];
        // SAFETY: the buffer holds at least as many bytes as the read was asked for, and the read is complete.
        let buffer = unsafe { std::slice::from_raw_parts(io.buffer, (result as u64).min(io.bytes) as usize) };
        let mut bad = 0;
        let mut start = 0;
        while start < buffer.len() {
            let (end, generation) = match file.blocks {
                None => (buffer.len(), Some(None)),
                Some(_) => {
                    file.stretch(io.offset + start as u64 - file.base, buffer.len() - start, self.grain)
                }
            };
            let end = if file.blocks.is_some() { start + end } else { end };
            if let Some(generation) = generation {
                let verdict =
                    checker.check(&buffer[start..end], file.id, io.offset + start as u64, generation);
                if !verdict.is_clean() {
                    bad = if bad == 0 { i64::from(verdict.code()) } else { bad };
                    self.findings.add(&verdict);
                    let owner = verdict.corruptions[0].owner;
                    if !self.accused.iter().any(|(accused, _)| *accused == owner) {
                        self.accused.push((owner, io.file));
                    }
                }
            }
            start = end;
        }
        if bad == 0 { result } else { bad }
    }

    /// The next range that was written, from an offset of a file on: at most so many bytes.
    pub fn next_written(&self, handle: usize, from: u64, most: u64) -> Option<(u64, u64)> {
        let file = &self.files[handle];
        let first = (from / self.grain.max(1)..file.count).find(|block| file.generation(*block) > 0)?;
        let room = first + (most / self.grain).max(1);
        let end = (first + 1..room).find(|block| file.generation(*block) == 0).unwrap_or(room);
        Some((first * self.grain, (end - first) * self.grain))
    }

    /// How many handles there are.
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
            let handle = self.accused.iter().find(|(accused, _)| *accused == owner);
            handle.map_or("unknown file", |(_, handle)| &self.names[*handle as usize])
        };
        let found = self.findings.classified().into_iter().take(COMPLAINTS_MOST);
        found.map(|corruption| format!("{}: {corruption}", name(corruption.owner))).collect()
    }

    /// Everything that was found wrong.
    pub fn findings(&self) -> &Findings {
        &self.findings
    }
}

impl FileContent {
    /// How many bytes from here on have one generation, and which: `None` is "do not check".
    fn stretch(&self, offset: u64, most: usize, grain: u64) -> (usize, Option<Option<u64>>) {
        let first = offset / grain;
        let generation = self.generation(first);
        let mut end = (first + 1) * grain - offset;
        while (end as usize) < most && self.generation((offset + end) / grain) == generation {
            end += grain;
        }
        (most.min(end as usize), (generation > 0).then(|| Some(u64::from(generation) - 1)))
    }
}

fn verified_grain(brief: &Brief<'_>, verify: &Verify, size: Option<&Size>) -> Result<u64, Failure> {
    let Workload::Pattern(pattern) = &brief.job.workload else {
        return Err(Failure::new("only patterns are verified; scripts and traces are not yet"));
    };
    if verify.helpers > 0 {
        return Err(Failure::new("verification by helper threads arrives with the fio dialect")
            .hint("the worker itself verifies without them"));
    }
    let align =
        if pattern.mix.has(Verb::Write) { pattern.align_bytes.write } else { pattern.align_bytes.read };
    let grain = size.map_or(0, |size| grain(size, align));
    if grain == 0 || !grain.is_multiple_of(SECTOR_BYTES as u64) {
        return Err(Failure::new("verification needs sizes and offsets that are whole sectors of 512 bytes"));
    }
    if let Some(handle) =
        brief.files.handles.iter().find(|handle| !handle.base.is_multiple_of(SECTOR_BYTES as u64))
    {
        return Err(Failure::new(format!(
            "verification needs a span that begins at a sector, not at {}",
            handle.base
        )));
    }
    Ok(grain)
}

/// What each handle's content is told apart by: the target, its file's number, and the worker where each has its own.
fn names(brief: &Brief<'_>) -> Vec<String> {
    let handles = &brief.files.handles;
    let name = |index: usize| {
        let target = handles[index].target;
        let number = handles[..index].iter().filter(|other| other.target == target).count();
        let Some(target) = brief.plan.targets.get(target as usize) else { return format!("file {index}") };
        let own = match &target.kind {
            TargetKind::File { path, .. } => path.contains("{worker}"),
            _ => false,
        };
        let worker = if own { format!(" of worker {}", brief.worker) } else { String::new() };
        if number > 0 {
            format!("{}.{number}{worker}", target.name)
        } else {
            format!("{}{worker}", target.name)
        }
    };
    (0..handles.len()).map(name).collect()
}
