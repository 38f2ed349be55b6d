//! BeeGFS: files that are made with a number of targets and a chunk size. From `beegfs_ioctl.h`.

use std::ffi::c_char;
use std::os::fd::RawFd;

use iodyno_model::BeegfsStripes;

use super::{Existing, FileCreation, READS, WRITES, close, open_at, parts, request};
use crate::memory::errno;

/// `struct BeegfsIoctl_MkFileWithStripeHints_Arg`.
#[repr(C)]
struct NewFile {
    name: *const c_char,
    mode: u32,
    targets: u32,
    chunk_bytes: u32,
}

/// `struct BeegfsIoctl_GetStripeInfo_Arg`.
#[repr(C)]
#[derive(Default)]
struct StripeInfo {
    pattern: u32,
    chunk_bytes: u32,
    targets: u16,
}

/// `BEEGFS_IOC_MKFILE_STRIPEHINTS`, of a directory.
const MAKE_FILE: u64 = request(WRITES, 27, size_of::<NewFile>());
/// `BEEGFS_IOC_GET_STRIPEINFO`, of a file.
const STRIPE_INFO: u64 = request(READS, 25, size_of::<StripeInfo>());

/// Makes a file with stripes, then opens it. One that is there will do if it is another worker's, or has these stripes.
pub fn create(stripes: &BeegfsStripes, file: &FileCreation<'_>) -> Result<RawFd, i32> {
    let (parent, name) = parts(file.path).ok_or(libc::EINVAL)?;
    let chunk_bytes = u32::try_from(stripes.chunk_bytes).map_err(|_| libc::EINVAL)?;
    let parent = open_at(file.folder, &parent, libc::O_RDONLY | libc::O_DIRECTORY, 0)?;
    let new = NewFile { name: name.as_ptr(), mode: file.mode, targets: stripes.targets, chunk_bytes };
    // SAFETY: the kernel reads the structure and the zero-terminated name, which live until after the call.
    let made = unsafe { libc::ioctl(parent, MAKE_FILE as _, &raw const new) };
    let refused = if made < 0 { errno() } else { 0 };
    close(parent);
    if !matches!(refused, 0 | libc::EEXIST) {
        return Err(refused);
    }
    let fd = file.open(file.flags & !(libc::O_CREAT | libc::O_EXCL))?;
    if refused == 0 || file.existing == Existing::Shared || has_stripes(fd, stripes) {
        return Ok(fd);
    }
    close(fd);
    Err(libc::EEXIST)
}

/// Whether an open file has the stripes that are asked for.
fn has_stripes(fd: RawFd, stripes: &BeegfsStripes) -> bool {
    let mut info = StripeInfo::default();
    // SAFETY: the kernel writes the structure, which lives until after the call.
    let told = unsafe { libc::ioctl(fd, STRIPE_INFO as _, &raw mut info) } == 0;
    let is = |asked: u64, found: u64| asked == 0 || asked == found;
    told && is(stripes.targets.into(), info.targets.into())
        && is(stripes.chunk_bytes, info.chunk_bytes.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(target_pointer_width = "64")]
    fn numbers_are_the_headers() {
        assert_eq!((MAKE_FILE, STRIPE_INFO), (0x4018_661B, 0x800C_6619));
    }
}
