//! The directory that an aging works in: its files, and how far it has come.
//!
//! All files lie below `iodyno-age`, which is the aging's own; nothing else is ever touched. How far each worker has come
//! is kept in `state` there, written after what it speaks of is on the disk: whoever goes on may find a little more done
//! than it says, and does that again. A directory of that name that holds no state is somebody else's, and refused.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use iodyno_model::Aging;

use super::churn::Change;
use crate::failure::Failure;

/// The directory, in the one that is aged.
pub const NAME: &str = "iodyno-age";
/// What is kept in it.
const STATE: &str = "state";
/// Files in a directory.
const EACH: u64 = 512;
/// Written at once.
const BLOCK_BYTES: usize = 1 << 20;

/// How much room a file system has.
#[derive(Clone, Copy, Debug, Default)]
pub struct Room {
    pub size_bytes: u64,
    /// What is taken.
    pub used_bytes: u64,
    /// What this user may still take.
    pub free_bytes: u64,
    /// The unit of all of it.
    pub block_bytes: u64,
}

impl Room {
    /// That of the file system that a directory lies on.
    pub fn of(directory: &Path) -> Option<Room> {
        let path = std::ffi::CString::new(directory.as_os_str().as_bytes()).ok()?;
        // SAFETY: all zeros are a valid statvfs, which is valid for writing; the path ends in a zero byte.
        let told = unsafe {
            let mut told: libc::statvfs = std::mem::zeroed();
            (libc::statvfs(path.as_ptr(), &raw mut told) == 0).then_some(told)
        }?;
        #[allow(clippy::unnecessary_cast, reason = "their widths differ between systems")]
        let bytes = |blocks| (blocks as u64).saturating_mul(told.f_frsize as u64);
        Some(Room {
            size_bytes: bytes(told.f_blocks),
            used_bytes: bytes(told.f_blocks.saturating_sub(told.f_bfree)),
            free_bytes: bytes(told.f_bavail),
            #[allow(clippy::unnecessary_cast, reason = "its width differs between systems")]
            block_bytes: told.f_frsize as u64,
        })
    }

    pub fn full_percent(&self) -> f64 {
        100.0 * self.used_bytes as f64 / self.size_bytes.max(1) as f64
    }
}

/// How far an aging has come.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AgingState {
    /// What is done, in words: another aging is not a continuation.
    pub asked: String,
    /// What its files are to take, bytes.
    pub aim_bytes: u64,
    /// The unit they take it in, bytes.
    pub block_bytes: u64,
    /// Changes that each worker has made.
    pub done: Vec<u64>,
}

impl AgingState {
    fn text(&self) -> String {
        let done: Vec<_> = self.done.iter().map(u64::to_string).collect();
        format!(
            "asked = {}\naim_bytes = {}\nblock_bytes = {}\ndone = {}\n",
            self.asked,
            self.aim_bytes,
            self.block_bytes,
            done.join(" ")
        )
    }

    fn read(text: &str) -> Option<AgingState> {
        let mut state = AgingState::default();
        for line in text.lines() {
            let (name, value) = line.split_once(" = ")?;
            match name {
                "asked" => state.asked = value.into(),
                "aim_bytes" => state.aim_bytes = value.parse().ok()?,
                "block_bytes" => state.block_bytes = value.parse().ok()?,
                "done" => state.done = value.split(' ').map(|n| n.parse().ok()).collect::<Option<_>>()?,
                _ => return None,
            }
        }
        (!state.asked.is_empty() && !state.done.is_empty()).then_some(state)
    }
}

#[derive(Clone, Debug)]
pub struct AgingDirectory {
    pub path: PathBuf,
}

impl AgingDirectory {
    /// In the directory that is named, or the nearest above it that is there.
    ///
    /// # Errors
    /// No directory there.
    pub fn new(aging: &Aging) -> Result<AgingDirectory, Failure> {
        // Of a name with a worker in it only what stands before is known.
        let fixed = aging.directory.split('{').next().unwrap_or_default();
        let start = Path::new(if fixed.is_empty() { "." } else { fixed });
        let mut above = start.ancestors().map(|path| match path.as_os_str().is_empty() {
            true => Path::new("."),
            false => path,
        });
        let directory = above.find(|path| path.is_dir());
        let directory =
            directory.ok_or_else(|| Failure::new(format!("{}: no directory", aging.directory)))?;
        Ok(AgingDirectory { path: directory.join(NAME) })
    }

    /// The directory it lies in.
    pub fn directory(&self) -> &Path {
        self.path.parent().unwrap_or(Path::new("."))
    }

    /// How far it has come; none: nothing was begun here.
    ///
    /// # Errors
    /// Something is there that is no aging's.
    pub fn state(&self) -> Result<Option<AgingState>, Failure> {
        if fs::symlink_metadata(&self.path).is_err() {
            return Ok(None);
        }
        let text = fs::read_to_string(self.path.join(STATE)).ok();
        match text.as_deref().and_then(AgingState::read) {
            Some(state) => Ok(Some(state)),
            None => Err(Failure::new(format!("{NAME} is there already, and no aging made it"))
                .hint("move it away, or age another directory of the file system")),
        }
    }

    /// Makes the directory, with a state in it.
    ///
    /// # Errors
    /// The system's.
    pub fn begin(&self, state: &AgingState) -> io::Result<()> {
        fs::create_dir(&self.path)?;
        self.keep(state)
    }

    /// Keeps how far it has come: at once, or not at all.
    ///
    /// # Errors
    /// The system's.
    pub fn keep(&self, state: &AgingState) -> io::Result<()> {
        let new = self.path.join("state.new");
        let mut file = File::create(&new)?;
        file.write_all(state.text().as_bytes())?;
        file.sync_all()?;
        fs::rename(new, self.path.join(STATE))
    }

    /// Removes all that was made, the state last, so that what cannot be removed can be gone on with.
    ///
    /// # Errors
    /// The system's.
    pub fn remove(&self) -> io::Result<()> {
        for entry in fs::read_dir(&self.path)? {
            let entry = entry?;
            if entry.file_type()?.is_dir() {
                fs::remove_dir_all(entry.path())?;
            }
        }
        fs::remove_dir_all(&self.path)
    }

    /// Everything until now is on the disk, and placed there.
    ///
    /// # Errors
    /// The system's.
    #[cfg(target_os = "linux")]
    pub fn flush(&self) -> io::Result<()> {
        use std::os::fd::AsRawFd;
        let directory = File::open(&self.path)?;
        // SAFETY: the descriptor is open.
        match unsafe { libc::syncfs(directory.as_raw_fd()) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// Everything until now is on the disk, and placed there.
    ///
    /// # Errors
    /// None here.
    #[cfg(not(target_os = "linux"))]
    pub fn flush(&self) -> io::Result<()> {
        // SAFETY: it takes nothing.
        unsafe { libc::sync() };
        Ok(())
    }
}

/// One worker's hands.
#[derive(Debug)]
pub struct Hands {
    directory: PathBuf,
    block: Vec<u8>,
    reserved: bool,
    /// The directory made last.
    made: Option<u64>,
}

impl Hands {
    /// Those of a worker; `noise` makes what is written incompressible.
    pub fn new(
        ground: &AgingDirectory,
        worker: u32,
        reserved: bool,
        mut noise: impl FnMut() -> u64,
    ) -> Hands {
        let words = (0..BLOCK_BYTES / 8).flat_map(|_| noise().to_le_bytes());
        Hands {
            directory: ground.path.join(format!("w{worker}")),
            block: words.collect(),
            reserved,
            made: None,
        }
    }

    /// Makes a change; whether all of a file found room.
    ///
    /// # Errors
    /// The system's, other than a full file system.
    pub fn perform(&mut self, change: Change) -> io::Result<bool> {
        match change {
            Change::Remove { number } => match fs::remove_file(self.path(number)) {
                // What is done again after it was ended has gone already.
                Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(true),
                done => done.map(|()| true),
            },
            Change::Make { number, bytes } => {
                let group = number / EACH;
                if self.made != Some(group) {
                    fs::create_dir_all(self.group(group))?;
                    self.made = Some(group);
                }
                match self.make(number, bytes) {
                    Err(error) if is_full(&error) => Ok(false),
                    done => done.map(|()| true),
                }
            }
        }
    }

    fn make(&self, number: u64, bytes: u64) -> io::Result<()> {
        let mut file = OpenOptions::new().write(true).create(true).truncate(true).open(self.path(number))?;
        if self.reserved {
            return reserve(&file, bytes);
        }
        // Where it begins in the block differs, so that no two files are alike.
        let from = (number.wrapping_mul(4097) % (BLOCK_BYTES as u64 / 2)) as usize;
        let mut left = bytes;
        while left > 0 {
            let part = left.min((BLOCK_BYTES - from) as u64) as usize;
            file.write_all(&self.block[from..from + part])?;
            left -= part as u64;
        }
        Ok(())
    }

    fn group(&self, group: u64) -> PathBuf {
        self.directory.join(format!("{group:06}"))
    }

    fn path(&self, number: u64) -> PathBuf {
        self.group(number / EACH).join(number.to_string())
    }
}

fn is_full(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::ENOSPC | libc::EDQUOT))
}

#[cfg(any(target_os = "linux", target_os = "freebsd"))]
fn reserve(file: &File, bytes: u64) -> io::Result<()> {
    use std::os::fd::AsRawFd;
    if bytes == 0 {
        return Ok(());
    }
    // SAFETY: the descriptor is open.
    match unsafe { libc::posix_fallocate(file.as_raw_fd(), 0, bytes as libc::off_t) } {
        0 => Ok(()),
        number => Err(io::Error::from_raw_os_error(number)),
    }
}

#[cfg(not(any(target_os = "linux", target_os = "freebsd")))]
fn reserve(file: &File, bytes: u64) -> io::Result<()> {
    file.set_len(bytes)
}
