//! The client of a parallel file system: stripes of new files, locks and hints, by its own calls.
//!
//! Lustre and BeeGFS are asked by `ioctl`, GPFS through its library, which is opened at run time. Refuses to ask a file
//! system that is another one than the plan says: its `ioctl` numbers may mean something else there.

use std::ffi::{CStr, CString};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::path::Path;
use std::sync::Arc;

use iodyno_model::FileSystemHints;

use crate::failure::{Failure, strerror};
use crate::memory::errno;
use gpfs::Gpfs;

mod beegfs;
mod gpfs;
mod lustre;

/// Parallel file systems, and the magic numbers that `statfs` tells of them. Their names in the mount table vary with
/// their version (`beegfs`, `fhgfs`), these numbers do not.
const MAGIC: [(&str, u32); 3] = [("lustre", 0x0BD0_0BD0), ("gpfs", 0x4750_4653), ("beegfs", 0x1983_0326)];

/// The parallel file system that a path lies on, or would lie on; none: it is on another one.
pub fn kind(path: &str) -> Option<&'static str> {
    let magic = magic(path)?;
    MAGIC.into_iter().find(|(_, number)| *number == magic).map(|(name, _)| name)
}

#[cfg(target_os = "linux")]
fn magic(path: &str) -> Option<u32> {
    let absolute = std::path::absolute(path).ok()?;
    let there = absolute.ancestors().find(|path| path.exists())?;
    let path = CString::new(there.as_os_str().as_encoded_bytes()).ok()?;
    let mut facts = std::mem::MaybeUninit::<libc::statfs>::uninit();
    // SAFETY: the path is zero-terminated, and the facts are read only after success.
    unsafe {
        (libc::statfs(path.as_ptr(), facts.as_mut_ptr()) == 0).then(|| facts.assume_init().f_type as u32)
    }
}

#[cfg(not(target_os = "linux"))]
fn magic(_path: &str) -> Option<u32> {
    None
}

/// Asks what a target's hints say.
#[derive(Debug)]
pub struct FileSystemClient {
    hints: FileSystemHints,
    gpfs: Option<Gpfs>,
}

/// What an existing file means to whoever makes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Existing {
    /// Somebody else's: stripes cannot be changed any more.
    Refused,
    /// Another worker of this phase has just made it.
    Shared,
}

/// A file that is to be made and opened.
#[derive(Clone, Copy, Debug)]
pub struct FileCreation<'a> {
    /// What its path begins at.
    pub folder: RawFd,
    pub path: &'a CStr,
    /// Of `open`.
    pub flags: i32,
    pub mode: u32,
    pub existing: Existing,
}

impl FileCreation<'_> {
    /// Opens it with other flags than its own.
    fn open(&self, flags: i32) -> Result<RawFd, i32> {
        open_at(self.folder, self.path, flags, self.mode)
    }
}

impl FileSystemClient {
    /// The client of the file system that a path lies on.
    ///
    /// # Errors
    /// It is another file system than the hints are for, or its library cannot be opened.
    pub fn of(hints: &FileSystemHints, path: &str) -> Result<Arc<FileSystemClient>, Failure> {
        let kind = kind(path);
        let wanted = [
            ("lustre", "Lustre", hints.are_for_lustre()),
            ("beegfs", "BeeGFS", hints.beegfs_stripes.is_some()),
            ("gpfs", "GPFS", hints.are_for_gpfs()),
        ];
        if let Some((_, name, _)) = wanted.iter().find(|(known, _, asked)| *asked && kind != Some(*known)) {
            let message =
                format!("{path}: it is asked for what only {name} has, and lies on another file system");
            return Err(Failure::new(message).hint(format!("leave the hints out, or name a path on {name}")));
        }
        FileSystemClient::load(hints)
    }

    /// The client of a file system that was looked at before.
    ///
    /// # Errors
    /// Its library cannot be opened.
    pub fn load(hints: &FileSystemHints) -> Result<Arc<FileSystemClient>, Failure> {
        let gpfs = hints.are_for_gpfs().then(Gpfs::open).transpose()?;
        Ok(Arc::new(FileSystemClient { hints: hints.clone(), gpfs }))
    }

    /// Makes a file as its stripes say, and opens it.
    ///
    /// # Errors
    /// The system's error number.
    pub fn create(&self, file: &FileCreation<'_>) -> Result<RawFd, i32> {
        match (&self.hints.lustre_stripes, &self.hints.beegfs_stripes) {
            (Some(stripes), _) => lustre::create(stripes, file),
            (_, Some(stripes)) => beegfs::create(stripes, file),
            _ => file.open(file.flags),
        }
    }

    /// What is asked of a file once it is open; `made`: by this call, or just now by another worker.
    ///
    /// # Errors
    /// What was refused, and the system's error number.
    pub fn settle(&self, fd: RawFd, made: bool) -> Result<(), (&'static str, i32)> {
        if self.hints.lustre_ignore_locks {
            lustre::ignore_locks(fd).map_err(|errno| ("Lustre's LL_IOC_SETFLAGS", errno))?;
        }
        let Some(gpfs) = &self.gpfs else { return Ok(()) };
        if self.hints.gpfs_release_tokens {
            gpfs.free_range(fd, 0, 0).map_err(|errno| ("GPFS_FREE_RANGE", errno))?;
        }
        if made && self.hints.gpfs_fine_grain_writes {
            gpfs.fine_grain_writes(fd).map_err(|errno| ("GPFS_FINE_GRAIN_WRITE_SHARING", errno))?;
        }
        if !made && self.hints.gpfs_fine_grain_reads {
            gpfs.fine_grain_reads(fd).map_err(|errno| ("GPFS_FINE_GRAIN_READ_SHARING", errno))?;
        }
        Ok(())
    }

    /// Announces a read or write.
    ///
    /// # Errors
    /// The system's error number.
    pub fn begin_access(&self, fd: RawFd, (offset, bytes): (u64, u64), writes: bool) -> Result<(), i32> {
        match &self.gpfs {
            Some(gpfs) if self.hints.gpfs_access => gpfs.access_range(fd, offset, bytes, writes),
            _ => Ok(()),
        }
    }

    /// Gives its range back.
    ///
    /// # Errors
    /// The system's error number.
    pub fn end_access(&self, fd: RawFd, (offset, bytes): (u64, u64)) -> Result<(), i32> {
        match &self.gpfs {
            Some(gpfs) if self.hints.gpfs_access => gpfs.free_range(fd, offset, bytes),
            _ => Ok(()),
        }
    }

    /// Tells GPFS that many tasks will make files in a directory, until the answer is dropped. None: it is not asked to.
    ///
    /// # Errors
    /// The directory's descriptor cannot be duplicated, or the hint was refused.
    pub fn share_creation(self: &Arc<Self>, folder: RawFd) -> Result<Option<SharedCreation>, Failure> {
        let Some(gpfs) = self.gpfs.as_ref().filter(|_| self.hints.gpfs_create_sharing) else {
            return Ok(None);
        };
        // SAFETY: the call takes no pointers.
        let own = unsafe { libc::fcntl(folder, libc::F_DUPFD_CLOEXEC, 3) };
        if own < 0 {
            return Err(Failure::call("fcntl", errno()));
        }
        // SAFETY: the descriptor was made above and is nobody else's.
        let folder = unsafe { OwnedFd::from_raw_fd(own) };
        gpfs.create_sharing(folder.as_raw_fd(), true)
            .map_err(|errno| refused("GPFS_CREATE_SHARING", errno))?;
        Ok(Some(SharedCreation { folder, client: Arc::clone(self) }))
    }
}

/// That a hint was refused.
pub fn refused(what: &str, errno: i32) -> Failure {
    let failure = Failure::new(format!("{what} was refused: {}", strerror(errno))).errno(errno);
    failure.hint("leave this hint out here")
}

/// A directory in which GPFS expects many tasks to make files.
#[derive(Debug)]
pub struct SharedCreation {
    folder: OwnedFd,
    client: Arc<FileSystemClient>,
}

impl Drop for SharedCreation {
    fn drop(&mut self) {
        if let Some(gpfs) = &self.client.gpfs {
            // A hint that is not taken back ends with the descriptors of its directory.
            let _ = gpfs.create_sharing(self.folder.as_raw_fd(), false);
        }
    }
}

fn open_at(folder: RawFd, path: &CStr, flags: i32, mode: u32) -> Result<RawFd, i32> {
    // SAFETY: the path is zero-terminated and lives until after the call.
    let fd = unsafe { libc::openat(folder, path.as_ptr(), flags | libc::O_CLOEXEC, mode as libc::c_uint) };
    if fd < 0 { Err(errno()) } else { Ok(fd) }
}

/// Closes what was opened by mistake, and keeps the error that told of it.
fn close(fd: RawFd) {
    // SAFETY: the descriptor is ours and is closed once.
    unsafe { libc::close(fd) };
}

/// The number of an `ioctl` whose argument is read (`_IOW`) or written (`_IOR`) by the kernel, of the type `f`.
const fn request(direction: u32, number: u32, bytes: usize) -> u64 {
    ((direction << 30) | ((bytes as u32) << 16) | ((b'f' as u32) << 8) | number) as u64
}

/// `_IOW`.
const WRITES: u32 = 1;
/// `_IOR`.
const READS: u32 = 2;

/// A path's directory and its last part, for calls that want both.
fn parts(path: &CStr) -> Option<(CString, CString)> {
    let path = Path::new(path.to_str().ok()?);
    let name = CString::new(path.file_name()?.as_encoded_bytes()).ok()?;
    let folder = match path.parent()?.as_os_str().as_encoded_bytes() {
        b"" => b".",
        folder => folder,
    };
    Some((CString::new(folder).ok()?, name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_has_a_directory() {
        let of = |path: &CStr| {
            parts(path).map(|(folder, name)| (folder.into_string().unwrap(), name.into_string().unwrap()))
        };
        assert_eq!(of(c"/a/b/c"), Some(("/a/b".into(), "c".into())));
        assert_eq!(of(c"c"), Some((".".into(), "c".into())));
        assert_eq!(of(c"/"), None);
    }

    #[test]
    fn hints_for_another_file_system_are_refused() {
        let lustre = FileSystemHints { lustre_ignore_locks: true, ..FileSystemHints::default() };
        let gpfs = FileSystemHints { gpfs_access: true, ..FileSystemHints::default() };
        let beegfs =
            FileSystemHints { beegfs_stripes: Some(Default::default()), ..FileSystemHints::default() };
        for (hints, name) in [(lustre, "Lustre"), (gpfs, "GPFS"), (beegfs, "BeeGFS")] {
            let told = FileSystemClient::of(&hints, "/proc/self/none").map(|_| ()).unwrap_err();
            assert!(told.message.contains(name) && told.hint.is_some(), "{told:?}");
        }
        assert!(FileSystemClient::of(&FileSystemHints::default(), "/proc").is_ok());
    }
}
