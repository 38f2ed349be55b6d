//! A long buffer in little memory: one part of it, mapped again and again, for content that nobody looks at twice.

use std::os::fd::{AsRawFd, OwnedFd};
use std::ptr::NonNull;

use super::{Mapping, Memory, PAGE_BYTES, Release, errno};

impl Memory {
    /// One buffer of at least so many bytes, of which each `period_bytes` are the same memory; that is a multiple of the page
    /// size.
    ///
    /// # Errors
    /// The system's error number.
    pub fn repeating(bytes: u64, period_bytes: usize) -> Result<Memory, i32> {
        debug_assert!(period_bytes.is_multiple_of(PAGE_BYTES));
        let whole =
            usize::try_from(bytes).ok().and_then(|bytes| bytes.checked_next_multiple_of(period_bytes));
        let whole = whole.ok_or(libc::ENOMEM)?.max(period_bytes);
        let part = part_in_memory(period_bytes)?;
        // SAFETY: a mapping at an address of the kernel's choice touches nothing that exists.
        let start = unsafe {
            let flags = libc::MAP_PRIVATE | libc::MAP_ANON | super::NO_RESERVE;
            libc::mmap(std::ptr::null_mut(), whole, libc::PROT_NONE, flags, -1, 0)
        };
        if start == libc::MAP_FAILED {
            return Err(errno());
        }
        let start = NonNull::new(start.cast::<u8>()).ok_or(libc::ENOMEM)?;
        let mapping = Mapping { start, bytes: whole, release: Release::Unmap };
        let access = libc::PROT_READ | libc::PROT_WRITE;
        for at in (0..whole).step_by(period_bytes) {
            // SAFETY: the place lies inside the range that was mapped above for this, and nobody uses it yet.
            let placed = unsafe {
                let place = start.as_ptr().add(at).cast();
                libc::mmap(
                    place,
                    period_bytes,
                    access,
                    libc::MAP_SHARED | libc::MAP_FIXED,
                    part.as_raw_fd(),
                    0,
                )
            };
            if placed == libc::MAP_FAILED {
                return Err(errno());
            }
        }
        Ok(Memory { mapping, first: 0, stride: whole, count: 1 })
    }
}

/// Memory with a descriptor, which mappings keep after it is closed.
#[cfg(any(target_os = "linux", target_os = "freebsd"))]
fn part_in_memory(bytes: usize) -> Result<OwnedFd, i32> {
    // SAFETY: the name is zero-terminated; a descriptor that comes back is ours.
    let part = unsafe {
        match libc::memfd_create(c"iodyno-layout".as_ptr(), libc::MFD_CLOEXEC) {
            -1 => return Err(errno()),
            fd => <OwnedFd as std::os::fd::FromRawFd>::from_raw_fd(fd),
        }
    };
    // SAFETY: the descriptor is open.
    match unsafe { libc::ftruncate(part.as_raw_fd(), bytes as libc::off_t) } {
        0 => Ok(part),
        _ => Err(errno()),
    }
}

#[cfg(not(any(target_os = "linux", target_os = "freebsd")))]
fn part_in_memory(_bytes: usize) -> Result<OwnedFd, i32> {
    Err(libc::ENOTSUP)
}

#[cfg(test)]
#[cfg(any(target_os = "linux", target_os = "freebsd"))]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_once_is_everywhere() {
        let memory = Memory::repeating(10 * PAGE_BYTES as u64, 3 * PAGE_BYTES).unwrap();
        assert_eq!((memory.count(), memory.stride()), (1, 12 * PAGE_BYTES));
        // SAFETY: the buffer has twelve pages, and nothing else refers to them.
        let pages = unsafe {
            let start = memory.buffer(0);
            start.add(PAGE_BYTES + 5).write(7);
            std::slice::from_raw_parts(start, 12 * PAGE_BYTES)
        };
        let places: Vec<usize> = (0..pages.len()).filter(|at| pages[*at] == 7).collect();
        assert_eq!(places, [1, 4, 7, 10].map(|page| page * PAGE_BYTES + 5));
    }
}
