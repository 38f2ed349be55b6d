//! What a script knows of each handle: where it stands in it, how long it is, which of its items exist.
//!
//! Refuses to open or close; it only looks at what was open when the source was made.

use std::os::fd::RawFd;

use iodyno_model::{Direct, TargetKind, Verb};

use super::super::Brief;
use super::super::pools::SharedPool;
use super::super::random::Random;
use super::super::walk::Walk;
use super::compile::Which;
use super::pool::Pool;

/// What the source knows of a handle; its descriptor where it was open from the start.
pub struct FileState {
    pub fd: RawFd,
    pub base: u64,
    pub bytes: u64,
    pub position: u64,
    pub end: u64,
    pub seekable: bool,
    /// The last write was a hole, so the file's length must be set at the end.
    pub hole: bool,
    pub pool: Option<Pool>,
    /// The pool of all workers, where the set is everybody's.
    pub common: Option<SharedPool>,
    /// Whether an item lies in this handle.
    pub held: bool,
    /// What was moved leaves the cache.
    pub drops: bool,
    pub item: u64,
    pub set: u32,
    /// Opened for direct I/O, and still so.
    pub direct: bool,
    /// The last write could not be direct, and is to be made durable at the end.
    pub flush: bool,
}

pub fn seek(fd: RawFd, by: i64, whence: i32) {
    // SAFETY: the call takes no pointers. A file that cannot seek stays where it is, and is treated so.
    unsafe { libc::lseek(fd, by as libc::off_t, whence) };
}

/// What is no whole block cannot be written past the cache.
pub fn clear_direct(fd: RawFd) {
    #[cfg(not(any(target_os = "macos", target_os = "ios")))]
    // SAFETY: the calls take no pointers.
    unsafe {
        let flags = libc::fcntl(fd, libc::F_GETFL);
        libc::fcntl(fd, libc::F_SETFL, flags & !libc::O_DIRECT);
    }
    #[cfg(any(target_os = "macos", target_os = "ios"))]
    let _ = fd;
}

/// The position of an open file.
pub fn place(fd: RawFd) -> u64 {
    // SAFETY: the call takes no pointers.
    unsafe { libc::lseek(fd, 0, libc::SEEK_CUR).max(0) as u64 }
}

pub fn file(brief: &Brief<'_>, index: usize, own: bool) -> FileState {
    let handle = &brief.files.handles[index];
    // SAFETY: the call takes no pointers.
    let seekable = handle.fd >= 0 && unsafe { libc::lseek(handle.fd, 0, libc::SEEK_CUR) } >= 0;
    let pool = handle.names.as_ref().map(|names| {
        let kind = brief.plan.targets.get(handle.target as usize).map(|target| &target.kind);
        let percent = match kind {
            Some(TargetKind::FileSet { items, .. }) => items.present_percent,
            _ => 100.0,
        };
        Pool::new(names.count, (names.count as f64 * percent / 100.0).round() as u64)
    });
    let pools = brief.shared.and_then(|shared| shared.pools.as_ref());
    let common = pools.filter(|_| pool.is_some()).and_then(|pools| pools.of(handle.target as usize));
    let bytes = handle.names.as_ref().map_or(handle.bytes, |names| names.item_bytes);
    let fd = if own || pool.is_some() { -1 } else { handle.fd };
    // An empty file's handle is as long as may be written to it.
    let (base, end) = (handle.base, if bytes == u64::MAX >> 1 { 0 } else { bytes });
    let open = brief.plan.targets.get(handle.target as usize).map(|target| &target.open);
    let drops = !own && open.is_some_and(|open| open.drop_behind);
    let direct = fd >= 0 && open.is_some_and(|open| open.direct == Direct::Yes);
    let (position, item, set, held, hole, flush) = (0, 0, 0, false, false, false);
    FileState {
        fd,
        base,
        bytes,
        position,
        end,
        seekable,
        hole,
        pool,
        common,
        held,
        drops,
        item,
        set,
        direct,
        flush,
    }
}

/// The item that a step means; `None` where the pool is empty.
pub fn pick_item(
    which: &mut Which,
    verb: Verb,
    set: usize,
    files: &mut [FileState],
    random: &mut Random,
) -> Option<u64> {
    let mut picked = |walk: &mut Walk, exists: bool| {
        let place = walk.next(random, 1);
        match &files[set].common {
            Some(common) if !exists => return common.make(place),
            Some(common) if removes(verb) => return common.take(place),
            Some(common) => return common.hold(place),
            None => {}
        }
        files[set].pool.as_ref()?.find(place, exists)
    };
    match which {
        Which::Index(index) => Some(*index),
        Which::Existing(walk) => picked(walk, true),
        Which::Missing(walk) => picked(walk, false),
        Which::Shuffled(walk) => Some(walk.next(random, 1)),
        Which::Tree { count, upwards, next } => {
            let number = if *upwards { *count - 1 - *next } else { *next };
            *next = if *next + 1 == *count { 0 } else { *next + 1 };
            Some(number)
        }
        Which::Held(handle) => Some(files[*handle as usize].item),
        Which::Each => {
            let pool = files[set].pool.as_mut().filter(|pool| pool.count > 0)?;
            let item = pool.rotor;
            pool.rotor = if item + 1 == pool.count { 0 } else { item + 1 };
            Some(item)
        }
    }
}

/// Whether a verb takes away the name that it picks.
pub fn removes(verb: Verb) -> bool {
    matches!(verb, Verb::Unlink | Verb::Rmdir | Verb::Rename)
}

/// An item that was picked and is not used after all.
pub fn give_back(set: &FileState, which: &Which, verb: Verb, item: u64) {
    let Some(common) = &set.common else { return };
    match which {
        Which::Missing(_) => common.settle(item, false, false),
        Which::Existing(_) if removes(verb) => common.settle(item, true, false),
        Which::Existing(_) => common.release(item),
        _ => {}
    }
}
