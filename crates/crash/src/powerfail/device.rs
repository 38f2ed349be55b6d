//! Steps on a block device, or on a file that stands for one: each block says which it is.

use std::fs::{File, OpenOptions};
use std::io::{self, Seek, SeekFrom};
use std::os::unix::fs::{FileExt, FileTypeExt, OpenOptionsExt};
use std::path::Path;

use iodyno_simulation::random::Random;

use super::entry::LogHeader;
use super::sector::{BLOCK_BYTES, SECTOR_BYTES, SECTORS, SectorPlace, stamp_all};
use super::step::{LAID_OUT, PromiseStep, PromisedObject, SyncMode};
use super::writer::StepWriter;

/// Blocks of one step, at most.
const MOST_AT_ONCE: u64 = 8;
/// Laid out at once, blocks.
const CHUNK: u64 = 256;

/// Memory at a page's beginning, which direct I/O needs.
struct AlignedBlocks(Vec<u8>);

impl AlignedBlocks {
    fn new(blocks: u64) -> AlignedBlocks {
        AlignedBlocks(vec![0; (blocks as usize + 1) * BLOCK_BYTES])
    }

    fn first(&mut self, blocks: u64) -> &mut [u8] {
        let start = self.0.as_ptr().align_offset(BLOCK_BYTES);
        &mut self.0[start..start + blocks as usize * BLOCK_BYTES]
    }
}

/// Opens a device past the page cache, where that can be. A device that is mounted or in use is refused.
///
/// # Errors
/// Its own.
pub fn open(path: &Path, is_written: bool) -> io::Result<File> {
    let is_device = std::fs::metadata(path)?.file_type().is_block_device();
    let exclusive = if is_device && is_written { libc::O_EXCL } else { 0 };
    let open = |direct: i32| {
        OpenOptions::new().read(true).write(is_written).custom_flags(exclusive | direct).open(path)
    };
    match open(libc::O_DIRECT) {
        Err(error) if error.raw_os_error() == Some(libc::EINVAL) => open(0),
        opened => opened,
    }
}

/// Bytes of a device or a file.
///
/// # Errors
/// Its own.
pub fn size(path: &Path) -> io::Result<u64> {
    File::open(path)?.seek(SeekFrom::End(0))
}

/// The blocks of a thread's part.
pub fn object(thread: u32) -> PromisedObject {
    PromisedObject { thread, mode: SyncMode::Flush, number: 0 }
}

/// Writes every block that steps will overwrite.
///
/// # Errors
/// The device's own.
pub fn lay_out(path: &Path, header: &LogHeader, now: u64) -> io::Result<()> {
    let file = open(path, true)?;
    let mut memory = AlignedBlocks::new(CHUNK);
    for thread in 0..header.threads {
        let (start, end) = part(header, thread);
        for first in (start..end).step_by(CHUNK as usize) {
            let blocks = CHUNK.min(end - first);
            let bytes = memory.first(blocks);
            stamp_all(bytes, place(header.run, thread, first), LAID_OUT, now);
            file.write_all_at(bytes, first * BLOCK_BYTES as u64)?;
        }
    }
    file.sync_all()
}

/// The first block of a thread's part, and the one behind its last.
pub fn part(header: &LogHeader, thread: u32) -> (u64, u64) {
    let start = u64::from(thread) * header.blocks;
    (start, start + header.blocks)
}

/// Where a block lies.
pub fn place(run: u64, thread: u32, block: u64) -> SectorPlace {
    SectorPlace { run, object: object(thread).id(), sector: block * SECTORS }
}

/// Reads one block for a judgement.
pub struct DeviceReader {
    file: File,
    memory: AlignedBlocks,
}

impl DeviceReader {
    /// # Errors
    /// The device's own.
    pub fn open(path: &Path) -> io::Result<DeviceReader> {
        Ok(DeviceReader { file: open(path, false)?, memory: AlignedBlocks::new(1) })
    }

    /// # Errors
    /// The device's own; it ends before the block does.
    pub fn block(&mut self, block: u64) -> io::Result<Vec<u8>> {
        let bytes = self.memory.first(1);
        self.file.read_exact_at(bytes, block * BLOCK_BYTES as u64)?;
        Ok(bytes.to_vec())
    }
}

/// Does the steps of a thread in its part of a device.
pub(super) struct DeviceWriter {
    /// One for writes that a flush follows, one whose writes are durable themselves.
    plain: File,
    durable: File,
    run: u64,
    thread: u32,
    part: (u64, u64),
    modes: Vec<SyncMode>,
    random: Random,
    memory: AlignedBlocks,
}

impl DeviceWriter {
    pub(super) fn open(
        path: &Path,
        header: &LogHeader,
        thread: u32,
        random: Random,
    ) -> io::Result<DeviceWriter> {
        // Only the first claims the device: a second exclusive one would be refused.
        let shared = |flags| {
            let open = |flags| OpenOptions::new().read(true).write(true).custom_flags(flags).open(path);
            open(flags | libc::O_DIRECT).or_else(|_| open(flags))
        };
        Ok(DeviceWriter {
            plain: shared(0)?,
            durable: shared(libc::O_DSYNC)?,
            run: header.run,
            thread,
            part: part(header, thread),
            modes: header.modes.clone(),
            random,
            memory: AlignedBlocks::new(MOST_AT_ONCE),
        })
    }
}

impl StepWriter for DeviceWriter {
    fn next(&mut self, generation: u32) -> PromiseStep {
        let at = self.random.below(self.modes.len() as u64) as usize;
        let (start, end) = self.part;
        let count = 1 + self.random.below(MOST_AT_ONCE.min(end - start));
        let first = start + self.random.below(end - start - count + 1);
        let object = object(self.thread);
        PromiseStep { mode: self.modes[at], object, generation, first, count: count as u32 }
    }

    fn perform(&mut self, step: &PromiseStep, now: u64) -> io::Result<()> {
        let bytes = self.memory.first(u64::from(step.count));
        stamp_all(bytes, place(self.run, self.thread, step.first), step.generation, now);
        let at = step.first * BLOCK_BYTES as u64;
        match step.mode {
            SyncMode::Fua => self.durable.write_all_at(bytes, at),
            _ => self.plain.write_all_at(bytes, at).and_then(|()| self.plain.sync_data()),
        }
    }
}

const _: () = assert!(BLOCK_BYTES.is_multiple_of(SECTOR_BYTES));
