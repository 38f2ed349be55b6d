//! The page cache, emptied of a file: written back, dropped, and looked at until the pages are really gone.
//!
//! The kernel takes advice to drop pages as advice: what is dirty, mapped, locked or just on its way stays, and no call
//! says so. So it is asked again until nothing is left or a time has passed, and what is left is said. Refuses to wait
//! where waiting is no use: on file systems that are memory, and where nothing moves any more.

use std::os::fd::RawFd;

use iodyno_model::Plan;

use crate::clock;
use crate::io::{Files, Handle, Names, PathBuffer};
use crate::witness::page_cache;

/// How long pages may take to go after they were written back, ns.
const PATIENCE_NS: u64 = 2_000_000_000;
/// Without any progress it is given up after this, ns.
const NO_PROGRESS_NS: u64 = 300_000_000;
/// Between two looks, at first and at most, ns.
const PAUSE_NS: (u64, u64) = (200_000, 20_000_000);

/// What became of a file's pages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DropResult {
    /// Bytes that are still in the cache; none: it is unknown.
    pub left_bytes: Option<u64>,
    /// Whether the file system is memory, where pages cannot go anywhere.
    pub is_memory: bool,
}

/// Which of the items of a set a worker looks after: every `of`-th from its own number on.
#[derive(Clone, Copy)]
pub struct WorkerShare {
    /// The worker's number.
    pub number: u64,
    /// How many workers there are, at least 1.
    pub of: u64,
}

/// Empties the cache of every open target that is to be emptied, of sets of the worker's share, until the run is
/// `stopped`; the bytes that stayed, where they could have gone.
pub fn drop_targets(plan: &Plan, files: &Files, share: WorkerShare, stopped: &dyn Fn() -> bool) -> u64 {
    let wanted = |handle: &&Handle| handle.fd >= 0 && plan.targets[handle.target as usize].open.invalidate;
    let dropped = files.handles.iter().filter(wanted).map(|handle| match &handle.names {
        Some(names) => drop_items(handle.fd, names, share, stopped),
        None => drop_pages(handle.fd),
    });
    dropped.filter(|dropped| !dropped.is_memory).filter_map(|dropped| dropped.left_bytes).sum()
}

/// Writes back the file system of a set and drops the pages of those of its items that exist.
fn drop_items(root: RawFd, names: &Names, share: WorkerShare, stopped: &dyn Fn() -> bool) -> DropResult {
    if is_memory(root) {
        return DropResult { left_bytes: None, is_memory: true };
    }
    write_back(root);
    let (mut left, mut buffer) = (Some(0), PathBuffer::default());
    for item in (share.number..names.count).step_by(share.of.max(1) as usize) {
        if stopped() {
            break;
        }
        let flags = libc::O_RDONLY | libc::O_CLOEXEC | libc::O_NOFOLLOW | libc::O_NONBLOCK;
        // SAFETY: the path is zero-terminated.
        let fd = unsafe { libc::openat(root, names.path(item, &mut buffer).as_ptr(), flags) };
        if fd < 0 {
            continue;
        }
        advise(fd);
        let bytes = crate::io::length(fd).ok().flatten().unwrap_or(0);
        left = left.zip(page_cache::resident_of(fd, bytes)).map(|(left, more)| left + more);
        // SAFETY: it was opened above, and nobody else knows it.
        unsafe { libc::close(fd) };
    }
    DropResult { left_bytes: left, is_memory: false }
}

#[cfg(target_os = "linux")]
fn write_back(root: RawFd) {
    // SAFETY: the call takes no pointers. What cannot be written back is reported by what is left.
    unsafe { libc::syncfs(root) };
}

#[cfg(not(target_os = "linux"))]
fn write_back(_root: RawFd) {
    // SAFETY: the call takes nothing.
    unsafe { libc::sync() };
}

/// Writes back an open file's pages and drops them, and waits until they are gone or will not go.
pub fn drop_pages(fd: RawFd) -> DropResult {
    // SAFETY: the call takes no pointers. What cannot be written back is reported by what is left.
    unsafe { libc::fsync(fd) };
    advise(fd);
    let is_memory = is_memory(fd);
    let bytes = crate::io::length(fd).ok().flatten().unwrap_or(0);
    let look = || page_cache::resident_of(fd, bytes);
    let Some(mut left) = look().filter(|left| *left > 0 && !is_memory) else {
        return DropResult { left_bytes: look(), is_memory };
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
    DropResult { left_bytes: Some(left), is_memory }
}

#[cfg(target_os = "linux")]
fn advise(fd: RawFd) {
    // SAFETY: the call takes no pointers.
    unsafe { libc::posix_fadvise(fd, 0, 0, libc::POSIX_FADV_DONTNEED) };
}

#[cfg(not(target_os = "linux"))]
fn advise(_fd: RawFd) {}

/// Whether the file system of an open file lies in memory.
#[cfg(target_os = "linux")]
pub fn is_memory(fd: RawFd) -> bool {
    /// linux/magic.h.
    const MEMORY: [u32; 3] = [0x0102_1994, 0x8584_58f6, 0x9584_58f6];
    let mut stat = std::mem::MaybeUninit::<libc::statfs>::uninit();
    // SAFETY: `stat` is valid for writing, and read only after success.
    unsafe {
        libc::fstatfs(fd, stat.as_mut_ptr()) == 0 && MEMORY.contains(&(stat.assume_init().f_type as u32))
    }
}

#[cfg(not(target_os = "linux"))]
pub fn is_memory(_fd: RawFd) -> bool {
    false
}
