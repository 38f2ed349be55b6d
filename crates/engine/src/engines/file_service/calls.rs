//! The system calls of the file service: those that dbench makes of the C library, with the same arguments.
//!
//! Directories are opened by their names rather than below an open one, since that is what the original does.

use std::ffi::{CStr, CString};
use std::mem::MaybeUninit;
use std::os::fd::RawFd;

use crate::memory::errno;

/// Whether the attribute of DOS can be read and set here.
pub const HAS_ATTRIBUTES: bool = cfg!(target_os = "linux");

/// A path of a load, with what is asked of it again and again.
#[derive(Debug)]
pub struct Path {
    text: CString,
    /// Where its last part begins.
    last: usize,
}

/// What is asked of a file's attributes.
#[derive(Clone, Copy, Debug, Default)]
pub struct Facts {
    pub is_directory: bool,
    pub bytes: u64,
    pub read_s: i64,
    pub written_s: i64,
}

/// An open file.
#[derive(Clone, Copy, Debug)]
pub struct Descriptor(RawFd);

/// A directory that is listed.
pub struct Directory(*mut libc::DIR);

impl Path {
    pub fn new(text: CString) -> Path {
        let last = text.to_bytes().iter().rposition(|byte| *byte == b'/').map_or(0, |slash| slash + 1);
        Path { text, last }
    }

    /// The directory that it lies in.
    pub fn parent(&self) -> Path {
        let bytes = match self.last {
            0 => b".",
            1 => b"/".as_slice(),
            last => &self.text.to_bytes()[..last - 1],
        };
        Path::new(CString::new(bytes).unwrap_or_default())
    }

    pub fn join(&self, name: &CStr) -> Path {
        let bytes = [self.text.to_bytes(), b"/", name.to_bytes()].concat();
        Path::new(CString::new(bytes).unwrap_or_default())
    }

    fn last(&self) -> &[u8] {
        &self.text.to_bytes()[self.last..]
    }

    /// Whether it stands for several names.
    pub fn is_pattern(&self) -> bool {
        self.text.to_bytes().iter().any(|byte| b"<>*?\"".contains(byte))
    }
}

fn done(result: libc::c_int) -> Result<(), i32> {
    if result < 0 { Err(errno()) } else { Ok(()) }
}

#[allow(clippy::unnecessary_cast)]
fn facts(call: impl FnOnce(*mut libc::stat) -> libc::c_int) -> Result<Facts, i32> {
    let mut stat = MaybeUninit::<libc::stat>::uninit();
    done(call(stat.as_mut_ptr()))?;
    // SAFETY: the call has filled it.
    let stat = unsafe { stat.assume_init() };
    Ok(Facts {
        is_directory: stat.st_mode & libc::S_IFMT == libc::S_IFDIR,
        bytes: stat.st_size as u64,
        read_s: stat.st_atime as i64,
        written_s: stat.st_mtime as i64,
    })
}

pub fn stat(path: &Path) -> Result<Facts, i32> {
    // SAFETY: the path is zero-terminated, and the structure is valid for writing.
    facts(|stat| unsafe { libc::stat(path.text.as_ptr(), stat) })
}

pub fn open(path: &Path, flags: libc::c_int, mode: libc::c_uint) -> Result<Descriptor, i32> {
    // SAFETY: the path is zero-terminated.
    let fd = unsafe { libc::open(path.text.as_ptr(), flags, mode) };
    if fd < 0 { Err(errno()) } else { Ok(Descriptor(fd)) }
}

pub fn mkdir(path: &Path, mode: u32) -> Result<(), i32> {
    // SAFETY: the path is zero-terminated.
    done(unsafe { libc::mkdir(path.text.as_ptr(), mode as libc::mode_t) })
}

pub fn rmdir(path: &Path) -> Result<(), i32> {
    // SAFETY: the path is zero-terminated.
    done(unsafe { libc::rmdir(path.text.as_ptr()) })
}

pub fn unlink(path: &Path) -> Result<(), i32> {
    // SAFETY: the path is zero-terminated.
    done(unsafe { libc::unlink(path.text.as_ptr()) })
}

pub fn rename(old: &Path, new: &Path) -> Result<(), i32> {
    // SAFETY: the paths are zero-terminated.
    done(unsafe { libc::rename(old.text.as_ptr(), new.text.as_ptr()) })
}

pub fn set_times(path: &Path, read_s: i64, written_s: i64) {
    let times = libc::utimbuf { actime: read_s as libc::time_t, modtime: written_s as libc::time_t };
    // SAFETY: the path is zero-terminated, and the times are valid for reading.
    unsafe { libc::utime(path.text.as_ptr(), &raw const times) };
}

pub fn look_at_file_system(path: &Path) {
    let mut facts = MaybeUninit::<libc::statvfs>::uninit();
    // SAFETY: the path is zero-terminated, and the structure is valid for writing.
    unsafe { libc::statvfs(path.text.as_ptr(), facts.as_mut_ptr()) };
}

/// Looks for a name in its directory, in whatever letters.
pub fn look_for(path: &Path) {
    let Some(mut directory) = Directory::open(&path.parent()) else { return };
    while let Some(name) = directory.next() {
        if name.to_bytes().eq_ignore_ascii_case(path.last()) {
            break;
        }
    }
}

/// Lists a directory, at most so many entries.
pub fn list(path: &Path, most: u32) {
    let Some(mut directory) = Directory::open(path) else { return };
    for _ in 0..most {
        if directory.next().is_none() {
            break;
        }
    }
}

/// Makes a directory durable.
pub fn sync_directory(path: &Path) {
    if let Ok(directory) = open(path, libc::O_RDONLY, 0) {
        directory.fdatasync();
        directory.close();
    }
}

impl Directory {
    pub fn open(path: &Path) -> Option<Directory> {
        // SAFETY: the path is zero-terminated.
        let stream = unsafe { libc::opendir(path.text.as_ptr()) };
        (!stream.is_null()).then_some(Directory(stream))
    }

    /// The next name, until the one behind it is asked for.
    pub fn next(&mut self) -> Option<&CStr> {
        // SAFETY: the stream is open; an entry lives until the next call.
        let entry = unsafe { libc::readdir(self.0) };
        // SAFETY: the name is zero-terminated and lies within the entry.
        (!entry.is_null()).then(|| unsafe { CStr::from_ptr((*entry).d_name.as_ptr()) })
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        // SAFETY: the stream is open and is closed once.
        unsafe { libc::closedir(self.0) };
    }
}

impl Descriptor {
    pub fn close(self) {
        crate::call::close(self.0);
    }

    pub fn look(self) -> Result<Facts, i32> {
        // SAFETY: the structure is valid for writing.
        facts(|stat| unsafe { libc::fstat(self.0, stat) })
    }

    pub fn fsync(self) {
        // SAFETY: the call takes no pointers.
        unsafe { libc::fsync(self.0) };
    }

    fn fdatasync(self) {
        // SAFETY: the call takes no pointers.
        #[cfg(not(target_os = "macos"))]
        unsafe {
            libc::fdatasync(self.0)
        };
        #[cfg(target_os = "macos")]
        self.fsync();
    }

    pub fn write(self, bytes: &[u8], offset: u64) -> Result<u64, i32> {
        // SAFETY: the bytes are valid for reading.
        let written =
            unsafe { libc::pwrite(self.0, bytes.as_ptr().cast(), bytes.len(), offset as libc::off_t) };
        if written < 0 { Err(errno()) } else { Ok(written as u64) }
    }

    pub fn read(self, bytes: &mut [u8], offset: u64) -> Result<u64, i32> {
        // SAFETY: the bytes are valid for writing.
        let read =
            unsafe { libc::pread(self.0, bytes.as_mut_ptr().cast(), bytes.len(), offset as libc::off_t) };
        if read < 0 { Err(errno()) } else { Ok(read as u64) }
    }

    /// Does without the write of a zero: the file has one there, or grows by it.
    pub fn spares_zero(self, offset: u64) -> bool {
        let Ok(facts) = self.look() else { return false };
        if facts.bytes > offset {
            let mut byte = [1];
            return self.read(&mut byte, offset).is_ok() && byte[0] == 0;
        }
        // SAFETY: the call takes no pointers.
        unsafe { libc::ftruncate(self.0, offset as libc::off_t + 1) };
        true
    }

    /// Waits for a lock on a range, or gives it back.
    pub fn lock(self, offset: u64, bytes: u32, locks: bool) {
        // SAFETY: the structure is plain numbers.
        let mut range: libc::flock = unsafe { std::mem::zeroed() };
        range.l_type = if locks { libc::F_WRLCK } else { libc::F_UNLCK } as libc::c_short;
        range.l_whence = libc::SEEK_SET as libc::c_short;
        range.l_start = offset as libc::off_t;
        range.l_len = libc::off_t::from(bytes);
        // SAFETY: the structure is valid for reading.
        unsafe { libc::fcntl(self.0, libc::F_SETLKW, &raw const range) };
    }
}

#[cfg(target_os = "linux")]
mod attributes {
    use super::{Descriptor, Path, errno};

    /// Bytes of the attribute that stands for those of DOS.
    const BYTES: usize = 44;
    const NAME: &std::ffi::CStr = c"user.DosAttrib";

    pub fn read_attribute_of(path: &Path) {
        let mut value = [0u8; BYTES];
        // SAFETY: path and name are zero-terminated, and the value is valid for writing.
        unsafe {
            libc::getxattr(path.text.as_ptr(), NAME.as_ptr(), value.as_mut_ptr().cast(), BYTES);
        }
    }

    impl Descriptor {
        pub fn read_attribute(self) {
            let mut value = [0u8; BYTES];
            // SAFETY: the name is zero-terminated, and the value is valid for writing.
            unsafe { libc::fgetxattr(self.0, NAME.as_ptr(), value.as_mut_ptr().cast(), BYTES) };
        }

        pub fn set_attribute(self) -> Result<(), i32> {
            self.read_attribute();
            let mut value = [0u8; BYTES];
            value[..8].copy_from_slice(&crate::clock::unix_ns().to_le_bytes());
            // SAFETY: the name is zero-terminated, and the value is valid for reading.
            let set = unsafe { libc::fsetxattr(self.0, NAME.as_ptr(), value.as_ptr().cast(), BYTES, 0) };
            if set < 0 { Err(errno()) } else { Ok(()) }
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod attributes {
    use super::{Descriptor, Path};

    pub fn read_attribute_of(_path: &Path) {}

    impl Descriptor {
        pub fn read_attribute(self) {}

        pub fn set_attribute(self) -> Result<(), i32> {
            Ok(())
        }
    }
}

pub use attributes::read_attribute_of;
