//! Sets laid out: the directories of a tree, then the items that exist at the start, by one or several hands.
//!
//! An item's length and content follow from the plan's seed and the item's number, so the same seed makes the same tree
//! however many make it. A file of any length goes through one block. It stops when it is told to, and refuses to touch
//! an item that is there already.

use std::ffi::{CStr, CString};
use std::os::fd::RawFd;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

use iodyno_model::{Items, Prepare, Target};

use super::formatted::{FormatWriter, whole};
use super::{MadeFiles, Progress, filler};
use crate::failure::{Failure, strerror};
use crate::io::{Files, Handle, Names, PathBuffer};
use crate::memory::errno;
use crate::names::templates::{Asker, names};
use crate::open::{open, space_failure};
use crate::payload::{BlockAddress, Filler};
use crate::source::pools::present;
use crate::source::sizes::ItemSizes;

/// The most that is written at once.
const BLOCK_BYTES: usize = 1 << 20;
/// Items between two looks at whether it is to stop.
const STEP: u64 = 256;

/// Makes a set ready. Whether it was laid out where nothing was.
///
/// # Errors
/// What could not be made, or what is in the way.
pub fn prepare(
    seed: u64,
    target: &Target,
    (root, items): (&str, &Items),
    asker: Asker<'_>,
    made: &mut MadeFiles,
    progress: Progress<'_>,
) -> Result<bool, Failure> {
    if let (true, Err(error)) = (target.open.directory, std::fs::metadata(root)) {
        let errno = error.raw_os_error().unwrap_or(libc::ENOENT);
        let failure = Failure::new(format!("{root}: {}", strerror(errno))).errno(errno);
        return Err(failure.hint("its directories must be made first"));
    }
    let names = Names { permissions: target.open.permissions, ..names(items, asker) };
    let fresh = match names.unnumbered {
        true => ground_of_one(root, &names, target, made)?,
        false => ground(root, target, items, asker, made)?,
    };
    if target.prepare == Prepare::AsItIs {
        return Ok(false);
    }
    let fd = open(root, libc::O_RDONLY | libc::O_DIRECTORY).map_err(|errno| space_failure(root, errno))?;
    let files = Files::of(vec![Handle { fd, target: 0, bytes: 0, base: 0, names: None }]);
    let count = if target.prepare == Prepare::Empty { 0 } else { present(items) };
    let sizes =
        ItemSizes::of_files(items, seed, &target.name).map_err(|wrong| Failure::new(wrong.message))?;
    // What is reported while it goes on; the few that are looked at stand for all.
    let some = count.min(1000);
    let mean_bytes = (0..some).map(|item| sizes.of(item)).sum::<u64>() / some.max(1);
    let mut told = |items: u64| progress(&target.name, items * mean_bytes, count * mean_bytes);
    directories(fd, &names, &mut || told(0))
        .map_err(|wrong| wrong.unwrap_or_else(stopped, |errno| space_failure(root, errno)))?;
    let maker = Maker {
        root: files.fd(0),
        names: &names,
        items,
        sizes: &sizes,
        filler: &filler(seed)?,
        next: AtomicU64::new(0),
        count,
        stops: AtomicBool::new(false),
    };
    maker
        .make(&mut told)
        .map_err(|wrong| wrong.unwrap_or_else(stopped, |errno| space_failure(root, errno)))?;
    Ok(fresh)
}

/// Why laying out ended early: the system's error number, or somebody said stop.
enum LayoutEnd {
    Failed(i32),
    Stopped,
}

impl LayoutEnd {
    fn unwrap_or_else(self, stopped: impl Fn() -> Failure, failed: impl Fn(i32) -> Failure) -> Failure {
        match self {
            LayoutEnd::Failed(errno) => failed(errno),
            LayoutEnd::Stopped => stopped(),
        }
    }
}

fn stopped() -> Failure {
    Failure::new("stopped while files were laid out")
}

/// The root of a set. Whether nothing was there; what an earlier repetition left of a set of this run's own is removed.
fn ground(
    root: &str,
    target: &Target,
    items: &Items,
    asker: Asker<'_>,
    made: &mut MadeFiles,
) -> Result<bool, Failure> {
    let told = |error: std::io::Error| space_failure(root, error.raw_os_error().unwrap_or(libc::EIO));
    let changed = items.present_percent < 100.0 && target.prepare == Prepare::Filled;
    if asker.repetition > 0
        && changed
        && target.remove
        && made.is_ours(root)
        && std::fs::metadata(root).is_ok()
    {
        std::fs::remove_dir_all(root).map_err(told)?;
    }
    if std::fs::metadata(root).is_err() {
        made.tree(root, target.remove).map_err(told)?;
        return Ok(true);
    }
    if target.remove && !made.is_ours(root) {
        let what =
            format!("{root}: it exists already, and what is in it could not be told from what the run makes");
        return Err(Failure::new(what).hint("name a directory that does not exist yet, or leave remove out"));
    }
    Ok(false)
}

/// The directory of a set that is one file of a given name: only that file is the run's own.
fn ground_of_one(root: &str, names: &Names, target: &Target, made: &mut MadeFiles) -> Result<bool, Failure> {
    let mut buffer = PathBuffer::default();
    let path = format!("{root}/{}", names.path(0, &mut buffer).to_string_lossy());
    let there = std::fs::symlink_metadata(&path).is_ok();
    if !there {
        let told = |error: std::io::Error| space_failure(root, error.raw_os_error().unwrap_or(libc::EIO));
        made.file(&path, target.remove);
        made.parents(&path, target.remove).map_err(told)?;
    }
    Ok(!there)
}

/// Makes every directory of a tree that is missing.
fn directories(root: RawFd, names: &Names, goes_on: &mut dyn FnMut() -> bool) -> Result<(), LayoutEnd> {
    let mut path = PathBuffer::default();
    for directory in 1..names.directories() {
        if directory.is_multiple_of(STEP) && !goes_on() {
            return Err(LayoutEnd::Stopped);
        }
        // SAFETY: the path is zero-terminated and lives until after the call.
        let made = unsafe { libc::mkdirat(root, names.directory(directory, &mut path).as_ptr(), 0o755) };
        if made < 0 && errno() != libc::EEXIST {
            return Err(LayoutEnd::Failed(errno()));
        }
    }
    Ok(())
}

/// Lays items out, side by side with its likes.
struct Maker<'a> {
    root: RawFd,
    names: &'a Names,
    items: &'a Items,
    sizes: &'a ItemSizes,
    filler: &'a Filler,
    /// The next step of items that nobody has taken on.
    next: AtomicU64,
    count: u64,
    stops: AtomicBool,
}

impl Maker<'_> {
    fn make(&self, told: &mut dyn FnMut(u64) -> bool) -> Result<(), LayoutEnd> {
        if self.items.makers < 2 {
            return self.work(told);
        }
        // The one that is here asks whether to go on, the others see it from the flag.
        std::thread::scope(|scope| {
            let others = (1..self.items.makers).map(|_| scope.spawn(|| self.work(|_| true)));
            let others: Vec<_> = others.collect();
            let own = self.work(told);
            let told =
                others.into_iter().map(|other| other.join().unwrap_or(Err(LayoutEnd::Failed(libc::EIO))));
            told.fold(own, |so_far, other| match (so_far, other) {
                (Err(LayoutEnd::Stopped) | Ok(()), Err(LayoutEnd::Failed(errno))) => {
                    Err(LayoutEnd::Failed(errno))
                }
                (so_far @ Err(_), _) => so_far,
                (Ok(()), other) => other,
            })
        })
    }

    /// Takes on step after step.
    fn work(&self, mut goes_on: impl FnMut(u64) -> bool) -> Result<(), LayoutEnd> {
        let (mut path, mut block) = (PathBuffer::default(), Vec::new());
        loop {
            let first = self.next.fetch_add(STEP, Relaxed);
            if first >= self.count {
                return Ok(());
            }
            if self.stops.load(Relaxed) || !goes_on(first) {
                self.stops.store(true, Relaxed);
                return Err(LayoutEnd::Stopped);
            }
            for item in first..(first + STEP).min(self.count) {
                let made = self.item(item, self.names.path(item, &mut path), &mut block);
                made.inspect_err(|_| self.stops.store(true, Relaxed)).map_err(LayoutEnd::Failed)?;
            }
        }
    }

    fn item(&self, item: u64, path: &CStr, block: &mut Vec<u8>) -> Result<(), i32> {
        if self.items.directories {
            // SAFETY: the path is zero-terminated and lives until after the call.
            let made = unsafe { libc::mkdirat(self.root, path.as_ptr(), 0o755) } == 0;
            return if made || errno() == libc::EEXIST { Ok(()) } else { Err(errno()) };
        }
        self.file(path, |fd| self.fill(fd, item, block))?;
        let Some(format) = &self.items.format else { return Ok(()) };
        for (number, ending) in format.kind.companions().iter().enumerate() {
            let path = [path.to_bytes(), ending.as_bytes()].concat();
            let path = CString::new(path).map_err(|_| libc::EINVAL)?;
            let layout = format.layout(self.sizes.drawn(item));
            let numbers = layout.companion(number);
            self.file(&path, |fd| {
                block.resize(BLOCK_BYTES, 0);
                FormatWriter::new(fd, item, self.filler, block).write_numbers(numbers)
            })?;
        }
        Ok(())
    }

    /// Makes a file; what is there already stays as it is.
    fn file(&self, path: &CStr, write: impl FnOnce(RawFd) -> Result<(), i32>) -> Result<(), i32> {
        let flags = libc::O_CREAT | libc::O_EXCL | libc::O_WRONLY | libc::O_CLOEXEC;
        // SAFETY: the path is zero-terminated and lives until after the call.
        let fd = unsafe { libc::openat(self.root, path.as_ptr(), flags, self.names.made_with(0)) };
        if fd < 0 {
            return if errno() == libc::EEXIST { Ok(()) } else { Err(errno()) };
        }
        let written = write(fd);
        // SAFETY: the descriptor is ours and is closed once.
        unsafe { libc::close(fd) };
        written
    }

    fn fill(&self, fd: RawFd, item: u64, block: &mut Vec<u8>) -> Result<(), i32> {
        if let Some(format) = &self.items.format {
            block.resize(BLOCK_BYTES, 0);
            let layout = format.layout(self.sizes.drawn(item));
            return FormatWriter::new(fd, item, self.filler, block).write(format.kind, &layout);
        }
        let (bytes, mut at) = (self.sizes.of(item), 0);
        while at < bytes {
            let part = (bytes - at).min(BLOCK_BYTES as u64) as usize;
            block.resize(part, 0);
            self.filler.fill(block, BlockAddress { file: item, offset: at, generation: 0 });
            whole(part, |done| {
                // SAFETY: the descriptor is ours, and so much of the block is left.
                unsafe { libc::write(fd, block[done..].as_ptr().cast(), part - done) }
            })?;
            at += part as u64;
        }
        Ok(())
    }
}

/// Which items of a set are there, for whoever finds it as others left it: a bit for each. What cannot be looked at is
/// not there.
pub fn found(root: RawFd, names: &Names) -> Box<[u64]> {
    let mut bits = vec![0u64; names.count.div_ceil(64) as usize];
    let hands = std::thread::available_parallelism().map_or(1, |count| count.get().min(8));
    let each = bits.len().div_ceil(hands).max(1024);
    std::thread::scope(|scope| {
        for (number, words) in bits.chunks_mut(each).enumerate() {
            scope.spawn(move || {
                let mut path = PathBuffer::default();
                let first = (number * each * 64) as u64;
                for item in first..(first + words.len() as u64 * 64).min(names.count) {
                    let name = names.path(item, &mut path).as_ptr();
                    // SAFETY: the path is zero-terminated, and the structure is valid for writing.
                    let there = unsafe {
                        let mut stat = std::mem::MaybeUninit::<libc::stat>::uninit();
                        libc::fstatat(root, name, stat.as_mut_ptr(), libc::AT_SYMLINK_NOFOLLOW) == 0
                    };
                    words[((item - first) / 64) as usize] |= u64::from(there) << (item % 64);
                }
            });
        }
    });
    bits.into()
}

/// The same by the path of its root.
pub fn found_at(root: &str, items: &Items, asker: Asker<'_>) -> Box<[u64]> {
    let names = names(items, asker);
    match open(root, libc::O_RDONLY | libc::O_DIRECTORY) {
        Ok(fd) => {
            let files = Files::of(vec![Handle { fd, target: 0, bytes: 0, base: 0, names: None }]);
            found(files.fd(0), &names)
        }
        Err(_) => vec![0; names.count.div_ceil(64) as usize].into(),
    }
}
