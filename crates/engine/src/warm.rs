//! Reading files once before the start line, so that their pages are cached when the measured time begins.
//!
//! It reads through descriptors of its own: the worker's may be write-only, past the cache, or positioned. It refuses
//! to measure anything, and does not promise that pages stay.

use iodyno_model::{Job, Plan};

use crate::failure::Failure;
use crate::io::{Files, Handle};
use crate::memory::errno;
use crate::open::{Asker, open, paths, strerror};

/// Bytes asked for at once.
const CHUNK_BYTES: usize = 256 << 10;

/// Reads the worker's part of each target that is to be [read before](iodyno_model::Open::pre_read), in the order of
/// the targets, to its end or to the end of the file, or until the run is `stopped`.
///
/// # Errors
/// A file that cannot be opened to read, or whose reading fails.
pub fn warm(
    plan: &Plan,
    job: &Job,
    asker: Asker<'_>,
    files: &Files,
    stopped: &dyn Fn() -> bool,
) -> Result<(), Failure> {
    let wanted = |handle: &Handle| {
        let is_data = handle.fd >= 0 && handle.names.is_none();
        is_data && plan.targets[handle.target as usize].open.pre_read
    };
    if !files.handles.iter().any(wanted) {
        return Ok(());
    }
    let mut chunk = vec![0_u8; CHUNK_BYTES];
    for (handle, path) in files.handles.iter().zip(paths(plan, job, asker)) {
        if wanted(handle) {
            read(&path, handle.base, handle.bytes, &mut chunk, stopped)
                .map_err(|errno| Failure::new(format!("{path}: {}", strerror(errno))).errno(errno))?;
        }
    }
    Ok(())
}

fn read(path: &str, base: u64, bytes: u64, chunk: &mut [u8], stopped: &dyn Fn() -> bool) -> Result<(), i32> {
    let fd = open(path, libc::O_RDONLY)?;
    let own = Files { handles: vec![Handle { fd, ..Handle::closed() }] };
    let (mut at, end) = (base, base.saturating_add(bytes));
    while at < end && !stopped() {
        let wanted = chunk.len().min(usize::try_from(end - at).unwrap_or(usize::MAX));
        // SAFETY: the chunk is valid for writing and at least `wanted` bytes long.
        let got = unsafe { libc::pread(own.fd(0), chunk.as_mut_ptr().cast(), wanted, at as libc::off_t) };
        match got {
            0 => break,
            1.. => at += got as u64,
            _ if errno() == libc::EINTR => {}
            _ => return Err(errno()),
        }
    }
    Ok(())
}
