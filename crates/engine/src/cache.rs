//! The page cache, emptied of a file: written back, dropped, and looked at until the pages are really gone.
//!
//! The kernel takes advice to drop pages as advice: what is dirty, mapped, locked or just on its way stays, and no call
//! says so. So it is asked again until nothing is left or a time has passed, and what is left is said. Refuses to wait
//! where waiting is no use: on file systems that are memory, and where nothing moves any more.

use std::os::fd::RawFd;

use iodyno_model::Plan;

use crate::clock;
use crate::io::{Files, Handle};
use crate::witness::page_cache;

/// How long pages may take to go after they were written back, ns.
const PATIENCE_NS: u64 = 2_000_000_000;
/// Without any progress it is given up after this, ns.
const NO_PROGRESS_NS: u64 = 300_000_000;
/// Between two looks, at first and at most, ns.
const PAUSE_NS: (u64, u64) = (200_000, 20_000_000);

/// What became of a file's pages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Dropped {
    /// Bytes that are still in the cache; none: it cannot be told.
    pub left_bytes: Option<u64>,
    /// Whether the file system is memory, where pages cannot go anywhere.
    pub is_memory: bool,
}

/// Empties the cache of every open target that is to be emptied; the bytes that stayed, where they could have gone.
pub fn drop_targets(plan: &Plan, files: &Files) -> u64 {
    let wanted = |handle: &&Handle| {
        let is_data = handle.fd >= 0 && handle.names.is_none();
        is_data && plan.targets[handle.target as usize].open.invalidate
    };
    let dropped = files.handles.iter().filter(wanted).map(|handle| drop_pages(handle.fd));
    dropped.filter(|dropped| !dropped.is_memory).filter_map(|dropped| dropped.left_bytes).sum()
}

/// Writes back an open file's pages and drops them, and waits until they are gone or will not go.
pub fn drop_pages(fd: RawFd) -> Dropped {
    // SAFETY: the call takes no pointers. What cannot be written back is told by what is left.
    unsafe { libc::fsync(fd) };
    advise(fd);
    let is_memory = is_memory(fd);
    let bytes = crate::open::length(fd).ok().flatten().unwrap_or(0);
    let look = || page_cache::resident_of(fd, bytes);
    let Some(mut left) = look().filter(|left| *left > 0 && !is_memory) else {
        return Dropped { left_bytes: look(), is_memory };
    };
    let began = clock::monotonic();
    let (mut moved, mut pause) = (began, PAUSE_NS.0);
    let is_patient = |moved: u64| {
        let now = clock::monotonic();
        now < began + PATIENCE_NS && now < moved + NO_PROGRESS_NS
    };
    while left > 0 && is_patient(moved) {
        std::thread::sleep(std::time::Duration::from_nanos(pause));
        pause = (pause * 2).min(PAUSE_NS.1);
        // SAFETY: as above; what became dirty meanwhile must be clean to go.
        unsafe { libc::fsync(fd) };
        advise(fd);
        let Some(now) = look() else { break };
        if now < left {
            moved = clock::monotonic();
        }
        left = now;
    }
    Dropped { left_bytes: Some(left), is_memory }
}

#[cfg(target_os = "linux")]
fn advise(fd: RawFd) {
    // SAFETY: the call takes no pointers.
    unsafe { libc::posix_fadvise(fd, 0, 0, libc::POSIX_FADV_DONTNEED) };
}

#[cfg(not(target_os = "linux"))]
fn advise(_fd: RawFd) {}

#[cfg(target_os = "linux")]
fn is_memory(fd: RawFd) -> bool {
    /// linux/magic.h.
    const MEMORY: [u32; 3] = [0x0102_1994, 0x8584_58f6, 0x9584_58f6];
    let mut stat = std::mem::MaybeUninit::<libc::statfs>::uninit();
    // SAFETY: `stat` is valid for writing, and read only after success.
    unsafe {
        libc::fstatfs(fd, stat.as_mut_ptr()) == 0 && MEMORY.contains(&(stat.assume_init().f_type as u32))
    }
}

#[cfg(not(target_os = "linux"))]
fn is_memory(_fd: RawFd) -> bool {
    false
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::io::Write;
    use std::os::fd::AsRawFd;

    use super::*;

    /// A file of so many bytes that were just written, in the build's own directory: temporary ones may be memory.
    fn written(bytes: usize) -> Option<(tempfile::NamedTempFile, bool)> {
        let folder = std::env::current_exe().ok()?.parent()?.to_path_buf();
        let mut file = tempfile::NamedTempFile::new_in(folder).ok()?;
        file.write_all(&vec![7; bytes]).ok()?;
        let memory = is_memory(file.as_raw_fd());
        Some((file, memory))
    }

    #[test]
    fn pages_go_or_are_told() {
        let Some((file, memory)) = written(8 << 20) else {
            return println!("skipped: no file can be made here");
        };
        let fd = file.as_raw_fd();
        assert_eq!(page_cache::resident_of(fd, 8 << 20), Some(8 << 20));
        let dropped = drop_pages(fd);
        assert_eq!(dropped.is_memory, memory);
        assert_eq!(dropped.left_bytes == Some(0), !memory, "{dropped:?}");
    }

    #[test]
    fn pages_that_are_held_are_told_in_time() {
        let Some((file, memory)) = written(4 << 20) else {
            return println!("skipped: no file can be made here");
        };
        if memory {
            return println!("skipped: files lie in memory here");
        }
        let fd = file.as_raw_fd();
        let mapping = crate::memory::Mapping::of_file(fd, 0, 1 << 20).unwrap();
        // SAFETY: the range is mapped; locked pages cannot leave.
        let locked = unsafe { libc::mlock(mapping.start().cast(), mapping.bytes()) } == 0;
        if !locked {
            return println!("skipped: memory cannot be locked here");
        }
        let began = clock::monotonic();
        let dropped = drop_pages(fd);
        assert!(clock::monotonic() < began + 20 * PATIENCE_NS, "it gave up");
        assert!(dropped.left_bytes.is_some_and(|left| left >= 1 << 20), "{dropped:?}");
    }

    #[test]
    fn memory_is_not_waited_for() {
        let Ok(mut file) = tempfile::NamedTempFile::new_in("/dev/shm") else {
            return println!("skipped: there is no /dev/shm here");
        };
        file.write_all(&vec![7; 1 << 20]).unwrap();
        let dropped = drop_pages(file.as_raw_fd());
        assert!(dropped.is_memory && dropped.left_bytes != Some(0), "{dropped:?}");
    }
}
