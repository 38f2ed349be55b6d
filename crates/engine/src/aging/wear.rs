//! How worn a file system is: pieces of files, of free space, and of a file that is written as a trial.
//!
//! Sources: `FS_IOC_FIEMAP` for files, `FS_IOC_GETFSMAP` (ioctl_getfsmap(2), ext4 and xfs, for root) for free space. What a
//! file system does not tell is none, never 0.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

use iodyno_model::Wear;

use super::ground::Room;
use crate::witness::layout;

/// Files that are looked at, at most.
const FILES: usize = 2000;
/// Entries of directories that are gone through to find them, at most.
const ENTRIES: usize = 200_000;
/// The file written as a trial is no larger, bytes.
const TRIAL_BYTES: u64 = 64 << 20;

/// How worn it is. What is looked at are files below `directory`; the trial is written there and removed.
pub fn look(directory: &Path) -> Wear {
    let mut wear = Wear::default();
    if let Some(room) = Room::of(directory) {
        wear.full_percent = room.full_percent();
        wear.free_bytes = room.free_bytes;
    }
    for path in sample(directory) {
        let Some(layout) = path.to_str().and_then(layout::of_file) else { continue };
        wear.files += 1;
        wear.bytes += layout.file_bytes;
        if layout.extents > 0 {
            wear.broken_files += u64::from(layout.extents > 1);
            wear.extents = Some(wear.extents.unwrap_or(0) + layout.extents);
        }
    }
    trial(directory, &mut wear);
    if let Some(free) = Free::of(directory) {
        wear.free_extents = Some(free.extents);
        wear.free_largest_bytes = free.largest_bytes;
    }
    wear
}

/// Regular files below a directory, of its own file system, spread over all that were seen.
fn sample(directory: &Path) -> Vec<PathBuf> {
    use std::os::unix::fs::MetadataExt;
    let Ok(device) = directory.metadata().map(|facts| facts.dev()) else { return Vec::new() };
    let (mut found, mut waiting, mut seen) = (Vec::new(), vec![directory.to_path_buf()], 0);
    while let Some(directory) = waiting.pop() {
        for entry in std::fs::read_dir(directory).into_iter().flatten().flatten() {
            seen += 1;
            let Ok(facts) = entry.metadata() else { continue };
            if facts.is_dir() && facts.dev() == device && seen < ENTRIES {
                waiting.push(entry.path());
            } else if facts.is_file() && facts.len() > 0 {
                found.push(entry.path());
            }
        }
    }
    let step = found.len().div_ceil(FILES).max(1);
    found.into_iter().step_by(step).collect()
}

/// Writes a file as anybody would, and looks in how many pieces it lies.
fn trial(directory: &Path, wear: &mut Wear) {
    let bytes = TRIAL_BYTES.min(wear.free_bytes / 8) & !0xfffff;
    if bytes == 0 {
        return;
    }
    let path = directory.join(format!(".iodyno-trial-{}", std::process::id()));
    let Ok(mut file) = OpenOptions::new().write(true).create_new(true).open(&path) else { return };
    let block = vec![0x5a; 1 << 20];
    let written = (0..bytes >> 20).try_for_each(|_| file.write_all(&block)).and_then(|()| file.sync_all());
    if written.is_ok() {
        wear.trial_bytes = bytes;
        let layout = path.to_str().and_then(layout::of_file);
        wear.trial_extents = layout.map(|layout| layout.extents).filter(|extents| *extents > 0);
    }
    drop(std::fs::remove_file(path));
}

/// Free space of a file system.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Free {
    extents: u64,
    largest_bytes: u64,
}

impl Free {
    fn of(directory: &Path) -> Option<Free> {
        let directory = File::open(directory).ok()?;
        let mut free = Free::default();
        let (mut end, mut bytes) = (0, 0);
        map(&directory, &mut |piece: &FsmapEntry| {
            if piece.flags & SPECIAL == 0 || piece.owner != FREE {
                return;
            }
            // Free space that goes on where the last piece ended is the same piece: groups cut it.
            let goes_on = piece.physical == end && free.extents > 0;
            bytes = if goes_on { bytes + piece.bytes } else { piece.bytes };
            free.extents += u64::from(!goes_on);
            free.largest_bytes = free.largest_bytes.max(bytes);
            end = piece.physical + piece.bytes;
        })?;
        Some(free)
    }
}

/// `struct fsmap` of `linux/fsmap.h`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
struct FsmapEntry {
    device: u32,
    flags: u32,
    physical: u64,
    owner: u64,
    offset: u64,
    bytes: u64,
    reserved: [u64; 3],
}

/// `struct fsmap_head` of `linux/fsmap.h`, with room for pieces after it.
#[repr(C)]
struct FsmapHead {
    flags_in: u32,
    flags_out: u32,
    count: u32,
    entries: u32,
    reserved: [u64; 6],
    /// From here on, and up to here.
    keys: [FsmapEntry; 2],
    pieces: [FsmapEntry; PIECES],
}

const PIECES: usize = 1024;
/// `FMR_OF_SPECIAL_OWNER`, and `FMR_OF_LAST`.
const SPECIAL: u32 = 0x10;
const LAST: u32 = 0x20;
/// `FMR_OWN_FREE`.
const FREE: u64 = 1;
/// `FS_IOC_GETFSMAP`.
const GETFSMAP: u64 = 0xc0c0_583b;

/// Tells of every piece of a file system, in order; none: it does not say.
#[cfg(target_os = "linux")]
fn map(directory: &File, tell: &mut dyn FnMut(&FsmapEntry)) -> Option<()> {
    let most = FsmapEntry {
        device: u32::MAX,
        flags: u32::MAX,
        physical: u64::MAX,
        owner: u64::MAX,
        offset: u64::MAX,
        ..FsmapEntry::default()
    };
    let mut map = Box::new(FsmapHead {
        flags_in: 0,
        flags_out: 0,
        count: PIECES as u32,
        entries: 0,
        reserved: [0; 6],
        keys: [FsmapEntry::default(), most],
        pieces: [FsmapEntry::default(); PIECES],
    });
    loop {
        // SAFETY: the head says how many pieces there is room for, and the map is valid for reading and writing.
        let answer = unsafe { libc::ioctl(directory.as_raw_fd(), GETFSMAP as _, &raw mut *map) };
        if answer != 0 {
            return None;
        }
        let told = &map.pieces[..(map.entries as usize).min(PIECES)];
        told.iter().for_each(&mut *tell);
        match told.last() {
            // The next question begins with the last answer, its length included (ioctl_getfsmap(2)).
            Some(last) if last.flags & LAST == 0 => map.keys[0] = *last,
            _ => return Some(()),
        }
    }
}

#[cfg(not(target_os = "linux"))]
fn map(_: &File, _: &mut dyn FnMut(&FsmapEntry)) -> Option<()> {
    None
}
