//! Memory of the data plane: buffers that are made before the start line, and mappings that processes share.

use std::alloc::{Layout, dealloc};
use std::ptr::NonNull;

use iodyno_model::Buffers;

use crate::failure::Failure;

mod kinds;
mod repeating;

pub use kinds::{Ballast, PAGE_BYTES};

#[cfg(not(target_os = "freebsd"))]
const NO_RESERVE: libc::c_int = libc::MAP_NORESERVE;
/// FreeBSD reserves nothing unless asked to.
#[cfg(target_os = "freebsd")]
const NO_RESERVE: libc::c_int = 0;

/// Memory of its own: page-aligned, released on drop. From the kernel and zeroed, unless another kind was asked for.
#[derive(Debug)]
pub struct Mapping {
    start: NonNull<u8>,
    bytes: usize,
    release: Release,
}

/// How memory is given back.
#[derive(Clone, Copy, Debug)]
enum Release {
    Unmap,
    Free(Layout),
    Detach,
}

// SAFETY: the mapping is plain memory; who may touch which part is decided by its users.
unsafe impl Send for Mapping {}
// SAFETY: as above; shared parts are atomics.
unsafe impl Sync for Mapping {}

impl Mapping {
    /// Memory of this process.
    ///
    /// # Errors
    /// The system's error number.
    pub fn private(bytes: usize) -> Result<Self, i32> {
        Mapping::map(bytes, libc::MAP_PRIVATE)
    }

    /// Memory that forked children share; pages are not reserved before they are touched.
    ///
    /// # Errors
    /// The system's error number.
    pub fn shared(bytes: usize) -> Result<Self, i32> {
        Mapping::map(bytes, libc::MAP_SHARED | NO_RESERVE)
    }

    /// A part of a file, shared with everybody who maps or reads it. The offset is a multiple of the page size, and the
    /// file is that long.
    ///
    /// # Errors
    /// The system's error number.
    pub fn of_file(fd: std::os::fd::RawFd, offset: u64, bytes: usize) -> Result<Self, i32> {
        let (access, at) = (libc::PROT_READ | libc::PROT_WRITE, offset as libc::off_t);
        // SAFETY: a mapping at an address of the kernel's choice touches nothing that exists.
        let start = unsafe { libc::mmap(std::ptr::null_mut(), bytes, access, libc::MAP_SHARED, fd, at) };
        if start == libc::MAP_FAILED {
            return Err(errno());
        }
        NonNull::new(start.cast())
            .map(|start| Mapping { start, bytes, release: Release::Unmap })
            .ok_or(libc::ENOMEM)
    }

    fn map(bytes: usize, flags: libc::c_int) -> Result<Self, i32> {
        let bytes = bytes.max(1);
        let (access, flags) = (libc::PROT_READ | libc::PROT_WRITE, flags | libc::MAP_ANON);
        // SAFETY: an anonymous mapping at an address of the kernel's choice touches nothing that exists.
        let start = unsafe { libc::mmap(std::ptr::null_mut(), bytes, access, flags, -1, 0) };
        if start == libc::MAP_FAILED {
            return Err(errno());
        }
        NonNull::new(start.cast())
            .map(|start| Mapping { start, bytes, release: Release::Unmap })
            .ok_or(libc::ENOMEM)
    }

    /// Where it begins.
    pub fn start(&self) -> *mut u8 {
        self.start.as_ptr()
    }

    /// How long it is.
    pub fn bytes(&self) -> usize {
        self.bytes
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the memory is ours, was had in just this way, and nobody holds a reference into it any more.
        unsafe {
            match self.release {
                Release::Unmap => drop(libc::munmap(self.start.as_ptr().cast(), self.bytes)),
                Release::Free(layout) => dealloc(self.start.as_ptr(), layout),
                Release::Detach => drop(libc::shmdt(self.start.as_ptr().cast())),
            }
        };
    }
}

/// The buffers of a worker, one for each slot, aligned to pages.
#[derive(Debug)]
pub struct Memory {
    mapping: Mapping,
    /// Where the first buffer begins within it.
    first: usize,
    stride: usize,
    count: u32,
}

impl Memory {
    /// So many buffers of at least so many bytes.
    ///
    /// # Errors
    /// The system's error number.
    pub fn new(count: u32, bytes: usize) -> Result<Self, i32> {
        let stride = bytes.max(1).next_multiple_of(4096);
        let mapping = Mapping::private(stride.checked_mul(count as usize).ok_or(libc::ENOMEM)?)?;
        Ok(Memory { mapping, first: 0, stride, count })
    }

    /// The same, had from where a job wants it. Memory in which a script's data moves about begins at a huge page and asks
    /// for them, as one may have them without reserving any: of small ones, each operation would touch another that the
    /// processor has forgotten where to find.
    ///
    /// # Errors
    /// What the system refused, and what would help.
    pub fn of(count: u32, bytes: usize, wanted: &Buffers) -> Result<Self, Failure> {
        let align = usize::try_from(wanted.align_bytes).unwrap_or(usize::MAX);
        // What is aligned to less than a page must not be aligned to a page by chance.
        let (unit, first) = match align {
            0 if kinds::is_wide(wanted) => (kinds::WIDE_BYTES, 0),
            0 => (PAGE_BYTES, 0),
            _ if align < PAGE_BYTES => (PAGE_BYTES, align),
            _ => (align, 0),
        };
        let stride = (bytes.max(1) + first).checked_next_multiple_of(unit);
        let whole = stride.and_then(|stride| stride.checked_mul(count as usize));
        let (Some(stride), Some(whole)) = (stride, whole) else {
            return Err(Failure::new("the buffers do not fit an address space").hint("lower depth or block"));
        };
        let slack = if unit > PAGE_BYTES { unit } else { 0 };
        let mapping = Mapping::of(whole + slack, wanted)?;
        if unit == kinds::WIDE_BYTES && align == 0 {
            kinds::ask_for_wide(&mapping);
        }
        let first = first + (mapping.start() as usize).next_multiple_of(unit) - mapping.start() as usize;
        Ok(Memory { mapping, first, stride, count })
    }

    /// Has all of it now. To be called by the process that will use it: pages are copied after a fork.
    pub fn populate(&self) {
        let (start, bytes) = self.whole();
        kinds::populate(start, bytes);
    }

    #[inline(always)]
    pub fn buffer(&self, slot: u32) -> *mut u8 {
        debug_assert!(slot < self.count);
        // SAFETY: `slot` is below `count`, so the address lies inside the mapping.
        unsafe { self.mapping.start().add(self.first + slot as usize * self.stride) }
    }

    /// Bytes from one buffer to the next.
    pub fn stride(&self) -> usize {
        self.stride
    }

    /// How many buffers there are.
    pub fn count(&self) -> u32 {
        self.count
    }

    /// All of it, from the first buffer on.
    pub fn whole(&self) -> (*mut u8, usize) {
        (self.buffer(0), self.stride * self.count as usize - self.first % PAGE_BYTES)
    }
}

/// Forgets the last error, before a call whose result alone does not tell a failure from an end.
pub fn clear_errno() {
    #[cfg(target_os = "linux")]
    // SAFETY: the thread's own error number is always valid for writing.
    unsafe {
        *libc::__errno_location() = 0;
    }
    #[cfg(any(target_os = "macos", target_os = "ios", target_os = "freebsd"))]
    // SAFETY: as above.
    unsafe {
        *libc::__error() = 0;
    }
}

/// The error number of the system call that failed last on this thread.
pub fn errno() -> i32 {
    std::io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO)
}
