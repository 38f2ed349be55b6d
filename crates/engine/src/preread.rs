//! Reading files once before the start line, so that their pages are cached when the measured time begins.
//!
//! It reads through descriptors of its own: the worker's may be write-only, past the cache, or positioned. It refuses
//! to measure anything, and does not promise that pages stay.

use iodyno_model::{Job, Plan};

use crate::failure::{Failure, strerror};
use crate::io::{Files, Handle};
use crate::memory::errno;
use crate::names::templates::Asker;
use crate::open::{open, paths};

/// Bytes asked for at once.
const CHUNK_BYTES: usize = 256 << 10;
/// The same where the caches are meant: a larger buffer would take the place of what is read.
const NEAR_CHUNK_BYTES: usize = 4 << 10;
/// Files of so many bytes are read a second time right before the first operation: what a processor's own caches hold. In
/// between witnesses read for milliseconds, and that is enough to lose them.
const NEAR_BYTES: u64 = 4 << 20;

/// What was read before the start line.
#[derive(Default)]
pub struct Preread {
    /// Descriptors of its own.
    files: Files,
    chunk: Vec<u8>,
}

impl Preread {
    /// Reads the worker's part of each target that is to be [read before](iodyno_model::Open::pre_read), in the order
    /// of the targets, to its end or to the end of the file, or until the run is `stopped`.
    ///
    /// # Errors
    /// A file that cannot be opened to read, or whose reading fails.
    pub fn of(
        plan: &Plan,
        job: &Job,
        asker: Asker<'_>,
        files: &Files,
        stopped: &dyn Fn() -> bool,
    ) -> Result<Preread, Failure> {
        let wanted = |handle: &Handle| {
            let is_data = handle.fd >= 0 && handle.names.is_none();
            is_data && plan.targets[handle.target as usize].open.pre_read
        };
        let mut preread = Preread::default();
        if !files.handles.iter().any(wanted) {
            return Ok(preread);
        }
        preread.chunk = vec![0; CHUNK_BYTES];
        for (handle, path) in files.handles.iter().zip(paths(plan, job, asker)) {
            if wanted(handle) {
                let failure = |errno| Failure::new(format!("{path}: {}", strerror(errno))).errno(errno);
                let fd = open(&path, libc::O_RDONLY).map_err(failure)?;
                let own = Handle { fd, base: handle.base, bytes: handle.bytes, ..Handle::closed() };
                preread.files.handles.push(own);
                let index = preread.files.handles.len() - 1;
                preread.read(index, CHUNK_BYTES, stopped).map_err(failure)?;
            }
        }
        let bytes = preread.files.handles.iter().map(|handle| handle.bytes).fold(0, u64::saturating_add);
        Ok(if bytes <= NEAR_BYTES { preread } else { Preread::default() })
    }

    /// Reads what is small once more, so that the processor's caches hold it as they do right after a pass over it. What
    /// cannot be read any more is left to the operations.
    pub fn again(&mut self) {
        for index in 0..self.files.handles.len() {
            let _ = self.read(index, NEAR_CHUNK_BYTES, &|| false);
        }
    }

    fn read(&mut self, index: usize, most: usize, stopped: &dyn Fn() -> bool) -> Result<(), i32> {
        let handle = &self.files.handles[index];
        let (mut at, end) = (handle.base, handle.base.saturating_add(handle.bytes));
        while at < end && !stopped() {
            let wanted = most.min(usize::try_from(end - at).unwrap_or(usize::MAX));
            let start = self.chunk.as_mut_ptr().cast();
            // SAFETY: the chunk is valid for writing and at least `wanted` bytes long.
            let got = unsafe { libc::pread(handle.fd, start, wanted, at as libc::off_t) };
            match got {
                0 => break,
                1.. => at += got as u64,
                _ if errno() == libc::EINTR => {}
                _ => return Err(errno()),
            }
        }
        Ok(())
    }
}
