//! Memory of the data plane: buffers that are made before the start line, and mappings that processes share.

use std::ptr::NonNull;

#[cfg(not(target_os = "freebsd"))]
const NO_RESERVE: libc::c_int = libc::MAP_NORESERVE;
/// FreeBSD reserves nothing unless told to.
#[cfg(target_os = "freebsd")]
const NO_RESERVE: libc::c_int = 0;

/// Anonymous memory from the kernel: page-aligned, zeroed, released on drop.
#[derive(Debug)]
pub struct Mapping {
    start: NonNull<u8>,
    bytes: usize,
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
        NonNull::new(start.cast()).map(|start| Mapping { start, bytes }).ok_or(libc::ENOMEM)
    }

    fn map(bytes: usize, flags: libc::c_int) -> Result<Self, i32> {
        let bytes = bytes.max(1);
        let (access, flags) = (libc::PROT_READ | libc::PROT_WRITE, flags | libc::MAP_ANON);
        // SAFETY: an anonymous mapping at an address of the kernel's choice touches nothing that exists.
        let start = unsafe { libc::mmap(std::ptr::null_mut(), bytes, access, flags, -1, 0) };
        if start == libc::MAP_FAILED {
            return Err(errno());
        }
        NonNull::new(start.cast()).map(|start| Mapping { start, bytes }).ok_or(libc::ENOMEM)
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
        // SAFETY: the mapping is ours and nobody holds a reference into it any more.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.bytes) };
    }
}

/// The buffers of a worker, one for each slot, aligned to pages.
#[derive(Debug)]
pub struct Memory {
    mapping: Mapping,
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
        Ok(Memory { mapping, stride, count })
    }

    /// The buffer of a slot.
    #[inline(always)]
    pub fn buffer(&self, slot: u32) -> *mut u8 {
        debug_assert!(slot < self.count);
        // SAFETY: `slot` is below `count`, so the address lies inside the mapping.
        unsafe { self.mapping.start().add(slot as usize * self.stride) }
    }

    /// Bytes from one buffer to the next.
    pub fn stride(&self) -> usize {
        self.stride
    }

    /// How many buffers there are.
    pub fn count(&self) -> u32 {
        self.count
    }

    /// All of it.
    pub fn whole(&self) -> (*mut u8, usize) {
        (self.mapping.start(), self.mapping.bytes())
    }
}

/// The error number of the system call that failed last on this thread.
pub fn errno() -> i32 {
    std::io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO)
}
