//! What a script knows of each handle: where it stands in it, how long it is, which of its items exist.
//!
//! Refuses to open or close; it only looks at what was open when the source was made.

use std::os::fd::RawFd;

use iodyno_model::{Direct, TargetKind, Verb};

use super::super::SourceContext;
use super::super::pools::{SharedPool, present};
use super::super::random::Random;
use super::super::sizes::ItemSizes;
use super::super::walk::Walk;
use super::compile::{Spot, Which};
use super::pool::Pool;
use crate::io::{AT_END, AT_POSITION};

/// What the source knows of a handle; its descriptor where it was open from the start.
pub struct FileState {
    pub fd: RawFd,
    pub base: u64,
    pub bytes: u64,
    pub position: u64,
    pub end: u64,
    /// How long the item in it is meant to be, bytes; 0: nobody says.
    pub nominal: u64,
    /// Of a set: how long its items are meant to be.
    pub sizes: Option<ItemSizes>,
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

pub fn file(context: &SourceContext<'_>, index: usize, own: bool) -> FileState {
    let handle = &context.files.handles[index];
    // SAFETY: the call takes no pointers.
    let seekable = handle.fd >= 0 && unsafe { libc::lseek(handle.fd, 0, libc::SEEK_CUR) } >= 0;
    let kind = context.plan.targets.get(handle.target as usize).map(|target| &target.kind);
    let items = match kind {
        Some(TargetKind::FileSet { items, .. }) => Some(items),
        _ => None,
    };
    let objects = match kind {
        Some(TargetKind::Bucket { items, .. }) => Some(items),
        _ => None,
    };
    let pools = context.shared.and_then(|shared| shared.pools.as_ref());
    let is_set = handle.names.is_some();
    let common = pools.filter(|_| is_set).and_then(|pools| pools.of(handle.target as usize));
    let pool = handle.names.as_ref().map(|names| match &common {
        Some(_) => Pool::rotor(names.count),
        None => Pool::new(names.count, items.map_or(names.count, present)),
    });
    let sizes = items.or(objects).filter(|_| is_set).and_then(|items| {
        let name = &context.plan.targets[handle.target as usize].name;
        ItemSizes::of_files(items, context.plan.seed, name).ok()
    });
    let bytes = handle.names.as_ref().map_or(handle.bytes, |names| names.item_bytes);
    let fd = if own || pool.is_some() { -1 } else { handle.fd };
    // An empty file's handle is as long as may be written to it.
    let (base, end) = (handle.base, if bytes == u64::MAX >> 1 { 0 } else { bytes });
    let open = context.plan.targets.get(handle.target as usize).map(|target| &target.open);
    let drops = !own && open.is_some_and(|open| open.drop_behind);
    let direct = fd >= 0 && open.is_some_and(|open| open.direct == Direct::Yes);
    let (position, item, set, held, hole, flush) = (0, 0, 0, false, false, false);
    FileState {
        fd,
        base,
        bytes,
        position,
        end,
        nominal: if is_set { 0 } else { bytes },
        sizes,
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

/// How a step moves data, as far as it decides where.
#[derive(Clone, Copy)]
pub struct Manner {
    pub verb: Verb,
    pub whole: bool,
    pub finish_at_end: bool,
    /// Whether the end of a file is the engine's to find.
    pub finds_end: bool,
}

pub fn manner(verb: Verb, whole: bool, finish_at_end: bool, finds_end: bool) -> Manner {
    Manner { verb, whole, finish_at_end, finds_end }
}

/// Where the next bytes are; `None` where the end of the file ends the worker.
pub fn offset(
    spot: &mut Spot,
    Manner { verb, whole, finish_at_end, finds_end }: Manner,
    file: &mut FileState,
    bytes: u64,
    (random, again): (&mut Random, u64),
) -> Option<u64> {
    let moves_by_itself =
        !(whole && file.seekable) && (verb == Verb::Write || finish_at_end || !file.seekable);
    Some(match spot {
        Spot::At(offset) => file.base + *offset,
        Spot::Again => file.base + again,
        Spot::End if file.fd >= 0 && !file.seekable => AT_POSITION,
        Spot::End if finds_end && verb == Verb::Write => AT_END,
        Spot::End => {
            file.position = file.end;
            file.base + file.end
        }
        Spot::Within(align) => {
            let places = (file.nominal / *align).max(1);
            file.position = random.below(places) * *align;
            file.base + file.position
        }
        Spot::Drawn(walk) => file.base + walk.next(random, bytes),
        Spot::Sampled(places) => {
            file.position = places.next()?;
            file.base + file.position
        }
        // The source knows which.
        Spot::Requested(_) => return None,
        Spot::Next if file.fd >= 0 && moves_by_itself => AT_POSITION,
        Spot::Next => {
            let wraps = verb == Verb::Read && file.bytes > 0 && file.position >= file.bytes;
            if wraps && finish_at_end {
                return None;
            }
            if wraps || whole {
                file.position = 0;
            }
            file.base + file.position
        }
    })
}

/// The item that a step means; `None` where the pool is empty.
pub fn pick_item(
    which: &mut Which,
    verb: Verb,
    set: usize,
    files: &mut [FileState],
    random: &mut Random,
) -> Option<u64> {
    let mut picked = |walk: &mut Walk, exists: bool, in_order: bool| {
        let place = walk.next(random, 1);
        match &files[set].common {
            Some(common) if !exists => return common.make(place, in_order),
            Some(common) if removes(verb) => return common.take(place, in_order),
            Some(common) => return common.hold(place, in_order),
            None => {}
        }
        files[set].pool.as_ref()?.find(place, exists)
    };
    match which {
        Which::Index(index) => Some(*index),
        Which::Existing(walk, in_order) => picked(walk, true, *in_order),
        Which::Missing(walk, in_order) => picked(walk, false, *in_order),
        Which::Drawn(sizes) => {
            let count = files[set].pool.as_ref()?.count;
            let place = sizes.draw(random) % count.max(1);
            match &files[set].common {
                Some(common) if removes(verb) => common.take(place, true),
                Some(common) => common.hold(place, true),
                None => files[set].pool.as_ref()?.find(place, true),
            }
        }
        Which::Shuffled(walk) => Some(walk.next(random, 1)),
        Which::Tree { count, upwards, next } => {
            let number = if *upwards { *count - 1 - *next } else { *next };
            *next = if *next + 1 == *count { 0 } else { *next + 1 };
            Some(number)
        }
        Which::Listed(listing) => listing.next(),
        Which::Oldest(next) => {
            *next += 1;
            Some(*next - 1)
        }
        Which::Sampled(samples) => samples.next(),
        // The source knows which.
        Which::Last(_) | Which::Requested(_) => None,
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
        Which::Missing(..) => common.settle(item, false, false),
        Which::Existing(..) | Which::Drawn(_) if removes(verb) => common.settle(item, true, false),
        Which::Existing(..) | Which::Drawn(_) => common.release(item),
        _ => {}
    }
}
