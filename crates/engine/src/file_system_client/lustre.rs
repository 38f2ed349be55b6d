//! Lustre: stripes of a file whose objects are not made yet, and I/O without locks. From `lustre_user.h`.

use std::os::fd::RawFd;

use iodyno_model::LustreStripes;

use super::{Existing, FileCreation, WRITES, close, request};
use crate::memory::errno;

/// The file's objects are not made before its stripes are set. A flag of Lustre 1.8 with two that mean nothing for files.
const DELAY_CREATE: i32 = 0o100_000_000 | libc::O_NOCTTY | libc::O_ASYNC;
/// `LL_IOC_SETFLAGS`, `LL_IOC_LOV_SETSTRIPE`: both are declared with a `long`, whatever they read.
const SET_FLAGS: u64 = request(WRITES, 152, size_of::<libc::c_long>());
const SET_STRIPE: u64 = request(WRITES, 154, size_of::<libc::c_long>());
/// `LL_FILE_IGNORE_LOCK`.
const IGNORE_LOCKS: libc::c_int = 1;
/// `LOV_PATTERN_RAID0`.
const STRIPED: u32 = 1;

/// `struct lov_user_md_v3`; its first 32 bytes are `lov_user_md_v1`, which knows no pool.
#[repr(C, packed)]
#[derive(Clone, Copy)]
struct Layout {
    magic: u32,
    pattern: u32,
    object: [u64; 2],
    stripe_bytes: u32,
    stripe_count: u16,
    first_target: u16,
    pool: [u8; 16],
}

const MAGIC: u32 = 0x0BD1_0BD0;
const MAGIC_WITH_POOL: u32 = 0x0BD3_0BD0;

impl Layout {
    fn of(stripes: &LustreStripes) -> Result<Layout, i32> {
        let mut layout = Layout {
            magic: MAGIC,
            pattern: STRIPED,
            object: [0; 2],
            stripe_bytes: u32::try_from(stripes.bytes).map_err(|_| libc::EINVAL)?,
            // -1 is all of them, and any of them.
            stripe_count: stripes.count as u16,
            first_target: stripes.start as u16,
            pool: [0; 16],
        };
        if let Some(pool) = &stripes.pool {
            layout.magic = MAGIC_WITH_POOL;
            // The last byte ends the name.
            layout.pool[..15].iter_mut().zip(pool.bytes()).for_each(|(to, from)| *to = from);
        }
        Ok(layout)
    }
}

/// Makes a file whose stripes are set before anything is written to it.
///
/// Of workers that share a file, each may be the first: whoever comes later opens it in the same way, so that opening
/// makes no objects, and finds the stripes set or sets them.
pub fn create(stripes: &LustreStripes, file: &FileCreation<'_>) -> Result<RawFd, i32> {
    let alone = if file.existing == Existing::Refused { libc::O_EXCL } else { 0 };
    let fd = file.open(file.flags | libc::O_CREAT | DELAY_CREATE | alone)?;
    match set_stripes(stripes, fd) {
        Ok(()) => Ok(fd),
        Err(libc::EEXIST | libc::EALREADY) if file.existing == Existing::Shared => Ok(fd),
        Err(errno) => {
            close(fd);
            Err(errno)
        }
    }
}

fn set_stripes(stripes: &LustreStripes, fd: RawFd) -> Result<(), i32> {
    // Of the structure the kernel reads what the magic number announces, 32 or 48 bytes.
    tell(fd, SET_STRIPE, &Layout::of(stripes)?)
}

/// I/O on an open file takes no locks.
pub fn ignore_locks(fd: RawFd) -> Result<(), i32> {
    tell(fd, SET_FLAGS, &IGNORE_LOCKS)
}

/// An `ioctl` that reads a value.
fn tell<T: Copy>(fd: RawFd, request: u64, value: &T) -> Result<(), i32> {
    // SAFETY: the kernel reads no more than the value, which lives until after the call.
    let done = unsafe { libc::ioctl(fd, request as _, std::ptr::from_ref(value)) };
    if done < 0 { Err(errno()) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(stripes: &LustreStripes) -> [u8; 48] {
        // SAFETY: both have 48 bytes, none of which is padding.
        unsafe { std::mem::transmute(Layout::of(stripes).unwrap()) }
    }

    #[test]
    fn a_layout_is_the_headers() {
        let stripes = LustreStripes { count: -1, bytes: 4 << 20, start: 3, pool: None };
        let layout = bytes(&stripes);
        assert_eq!(&layout[..8], &[0xD0, 0x0B, 0xD1, 0x0B, 1, 0, 0, 0]);
        assert_eq!(&layout[8..24], &[0; 16]);
        assert_eq!(&layout[24..], [&[0, 0, 0x40, 0, 0xFF, 0xFF, 3, 0][..], &[0; 16]].concat());
        let pool = LustreStripes { pool: Some("flash".into()), start: -1, ..stripes };
        let layout = bytes(&pool);
        assert_eq!((&layout[..4], &layout[30..38]), (&[0xD0, 0x0B, 0xD3, 0x0B][..], &b"\xFF\xFFflash\0"[..]));
        let long = LustreStripes { pool: Some("a".repeat(40)), ..pool };
        assert_eq!(&bytes(&long)[32..], b"aaaaaaaaaaaaaaa\0");
    }

    #[test]
    fn numbers_are_the_headers() {
        assert_eq!((SET_FLAGS, SET_STRIPE), (0x4008_6698, 0x4008_669A));
    }
}
