//! The engines of an exercise: each engine that carries out single operations, behind one trait.
//!
//! A mapping is not among them: the exerciser keeps its own, across changes of size that the engine would have to be told of.

use std::os::fd::RawFd;

use super::operation::Way;
use iodyno_engine::clock::NEVER;
use iodyno_engine::engines::{Engine, Failure, Setup, Synchronous, mmap};
use iodyno_engine::io::{Files, Io, Slot};
use iodyno_engine::memory::errno;

/// So often an engine may come back with nothing before it is given up.
const EMPTY_MOST: u32 = 10_000;

/// An engine, asked for one operation or a few.
pub trait Channel {
    /// Takes an operation.
    fn push(&mut self, slot: Slot, io: &Io, files: &mut Files);
    /// Hands over what was taken.
    fn submit(&mut self) -> Result<(), Failure>;
    /// Waits for so many to complete: their slots and results.
    fn reap(&mut self, count: u32, results: &mut [i64]) -> Result<(), Failure>;
}

struct Through<E>(E);

impl<E: Engine> Channel for Through<E> {
    fn push(&mut self, slot: Slot, io: &Io, files: &mut Files) {
        self.0.push(slot, io, files);
    }

    fn submit(&mut self) -> Result<(), Failure> {
        self.0.submit()
    }

    fn reap(&mut self, count: u32, results: &mut [i64]) -> Result<(), Failure> {
        let (mut left, mut empty) = (count, 0);
        while left > 0 {
            let mut came = 0;
            self.0.poll(left, NEVER, |slot, result, _| {
                results[slot as usize] = result;
                came += 1;
            })?;
            left = left.saturating_sub(came);
            // Signals interrupt waiting; but what never comes was never there.
            empty = if came == 0 { empty + 1 } else { 0 };
            if empty > EMPTY_MOST {
                return Err(Failure::new(format!("engine {} lost an operation", E::FACTS.name)));
            }
        }
        Ok(())
    }
}

fn start<E: Engine + 'static>(setup: &Setup<'_>) -> Result<Box<dyn Channel>, Failure> {
    (E::FACTS.available)()?;
    Ok(Box::new(Through(E::start(setup)?)))
}

/// Starts the engine of a way; none for those that are plain calls or a mapping.
///
/// # Errors
/// Why it cannot be had.
pub fn channel(way: Way, setup: &Setup<'_>) -> Result<Option<Box<dyn Channel>>, Failure> {
    match way {
        Way::Psync => start::<Synchronous<iodyno_engine::engines::psync::Psync>>(setup).map(Some),
        Way::Libaio => start::<iodyno_engine::engines::libaio::Libaio>(setup).map(Some),
        Way::Uring => start::<iodyno_engine::engines::io_uring::Uring>(setup).map(Some),
        #[cfg(target_env = "gnu")]
        Way::Posixaio => start::<iodyno_engine::engines::posixaio::Posixaio>(setup).map(Some),
        #[cfg(not(target_env = "gnu"))]
        Way::Posixaio => Err(Failure::new("this C library has no POSIX AIO that we use")),
        Way::Pvsync => Ok(None),
        Way::Mmap => mmap::catch_bus_errors().map(|()| None),
    }
}

/// A file in memory, as long as it may ever become: what lies beyond its end is not touched.
pub struct FileMapping {
    start: *mut u8,
    bytes: usize,
}

impl FileMapping {
    /// Maps a file.
    ///
    /// # Errors
    /// The system's error number.
    pub fn new(fd: RawFd, bytes: usize) -> Result<FileMapping, i32> {
        let access = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: a mapping at an address of the kernel's choice touches nothing that exists.
        let start = unsafe { libc::mmap(std::ptr::null_mut(), bytes, access, libc::MAP_SHARED, fd, 0) };
        if start == libc::MAP_FAILED { Err(errno()) } else { Ok(FileMapping { start: start.cast(), bytes }) }
    }

    /// Copies out of the file.
    ///
    /// # Errors
    /// `EIO` where a page could not be had: the mapping is not the file any more.
    pub fn read(&self, offset: u64, buffer: &mut [u8]) -> Result<(), i32> {
        let from = self.at(offset, buffer.len())?;
        // SAFETY: `at` found the range inside the mapping, which never overlaps a buffer.
        mmap::guarded(from, buffer.len(), || unsafe {
            std::ptr::copy_nonoverlapping(from.cast_const(), buffer.as_mut_ptr(), buffer.len());
        })
    }

    /// Copies into the file.
    ///
    /// # Errors
    /// As above.
    pub fn write(&self, offset: u64, buffer: &[u8]) -> Result<(), i32> {
        let to = self.at(offset, buffer.len())?;
        // SAFETY: as above.
        mmap::guarded(to, buffer.len(), || unsafe {
            std::ptr::copy_nonoverlapping(buffer.as_ptr(), to, buffer.len());
        })
    }

    /// Makes the pages of a range durable.
    ///
    /// # Errors
    /// The system's error number.
    pub fn sync(&self, offset: u64, bytes: usize, page: usize) -> Result<(), i32> {
        let before = offset as usize % page;
        let from = self.at(offset - before as u64, bytes + before)?;
        // SAFETY: the range lies inside the mapping.
        if unsafe { libc::msync(from.cast(), bytes + before, libc::MS_SYNC) } < 0 {
            Err(errno())
        } else {
            Ok(())
        }
    }

    fn at(&self, offset: u64, bytes: usize) -> Result<*mut u8, i32> {
        let fits = (offset as usize).checked_add(bytes).is_some_and(|end| end <= self.bytes);
        // SAFETY: the offset lies inside the mapping.
        if fits { Ok(unsafe { self.start.add(offset as usize) }) } else { Err(libc::EFAULT) }
    }
}

impl Drop for FileMapping {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours, and nobody points into it any more.
        unsafe { libc::munmap(self.start.cast(), self.bytes) };
    }
}
