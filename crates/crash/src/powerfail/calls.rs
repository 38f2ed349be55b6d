//! The system calls that the standard library has no function for.

use std::ffi::CString;
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd};
use std::os::unix::fs::FileExt;
use std::path::Path;

use crate::calls::checked;

/// `XFS_IOC_GOINGDOWN`, which ext4 and f2fs have, too, and its mode: nothing is written any more, the log neither.
const GOING_DOWN: libc::c_ulong = 0x8004_587d;
const WITHOUT_LOG: u32 = 2;

pub fn set_attribute(file: &File, name: &str, value: &str) -> io::Result<()> {
    let name = CString::new(name)?;
    // SAFETY: the name is a C string, and the value lies in memory for the call.
    let result =
        unsafe { libc::fsetxattr(file.as_raw_fd(), name.as_ptr(), value.as_ptr().cast(), value.len(), 0) };
    checked(result).map(drop)
}

pub fn attribute(file: &File, name: &str) -> io::Result<String> {
    let name = CString::new(name)?;
    let mut value = [0u8; 64];
    // SAFETY: the name is a C string, and the value has room for the length that is given.
    let bytes = checked(unsafe {
        libc::fgetxattr(file.as_raw_fd(), name.as_ptr(), value.as_mut_ptr().cast(), value.len()) as i64
    })?;
    Ok(String::from_utf8_lossy(&value[..bytes as usize]).into_owned())
}

/// Shuts the file system of a directory down as if the power went: what it has not written yet is never written.
///
/// # Errors
/// It cannot (`ENOTTY`), or the caller may not.
pub fn go_down(directory: &Path) -> io::Result<()> {
    let (file, mode) = (File::open(directory)?, WITHOUT_LOG);
    // SAFETY: the kernel reads one number, which lives for the call.
    checked(unsafe { libc::ioctl(file.as_raw_fd(), GOING_DOWN as _, &raw const mode) }).map(drop)
}

/// A shared mapping that is stored to by the kernel: where the file system is gone, a store is an error and no signal.
pub struct SharedMapping {
    start: *mut libc::c_void,
    bytes: usize,
    /// What is stored lies here first.
    staging: File,
}

// SAFETY: the mapping is memory of the process, not of a thread.
unsafe impl Send for SharedMapping {}

impl SharedMapping {
    /// # Errors
    /// The file system has no mappings.
    pub fn new(file: &File, bytes: usize) -> io::Result<SharedMapping> {
        // SAFETY: the name is a C string; the descriptor is checked before it is owned.
        let staging = unsafe {
            let number = checked(libc::memfd_create(c"iodyno".as_ptr(), libc::MFD_CLOEXEC))?;
            File::from_raw_fd(number as i32)
        };
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: the kernel chooses a place that nobody has.
        let start = unsafe {
            libc::mmap(std::ptr::null_mut(), bytes, protection, libc::MAP_SHARED, file.as_raw_fd(), 0)
        };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        Ok(SharedMapping { start, bytes, staging })
    }

    pub fn store(&self, at: usize, bytes: &[u8]) -> io::Result<()> {
        self.check(at, bytes.len())?;
        self.staging.write_all_at(bytes, 0)?;
        // SAFETY: the range lies within the mapping; a page that cannot be had makes the call fail.
        let stored = checked(unsafe {
            libc::pread(self.staging.as_raw_fd(), self.start.byte_add(at), bytes.len(), 0) as i64
        })?;
        if stored == bytes.len() as u64 { Ok(()) } else { Err(io::Error::from_raw_os_error(libc::EIO)) }
    }

    pub fn sync(&self, at: usize, bytes: usize) -> io::Result<()> {
        self.check(at, bytes)?;
        // SAFETY: the range lies within the mapping, and begins with a page as blocks do.
        checked(unsafe { libc::msync(self.start.byte_add(at), bytes, libc::MS_SYNC) }).map(drop)
    }

    fn check(&self, at: usize, bytes: usize) -> io::Result<()> {
        let is_within = at.checked_add(bytes).is_some_and(|end| end <= self.bytes);
        if is_within { Ok(()) } else { Err(io::ErrorKind::InvalidInput.into()) }
    }
}

impl Drop for SharedMapping {
    fn drop(&mut self) {
        // SAFETY: the mapping is this one's own.
        unsafe { libc::munmap(self.start, self.bytes) };
    }
}
