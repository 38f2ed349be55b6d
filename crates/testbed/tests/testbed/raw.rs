//! Direct I/O in the plainest way: what the device tests measure with.

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::fs::File;
use std::io;
use std::ops::{Deref, DerefMut};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// A zeroed buffer that is aligned for direct I/O.
pub struct Aligned {
    start: *mut u8,
    layout: Layout,
}

impl Aligned {
    pub fn new(bytes: usize) -> Aligned {
        let layout = Layout::from_size_align(bytes, 4096).expect("a sane size");
        // SAFETY: the layout is not empty in any of these tests, and is checked below.
        let start = unsafe { alloc_zeroed(layout) };
        assert!(bytes > 0 && !start.is_null());
        Aligned { start, layout }
    }

    pub fn filled(bytes: usize, with: u8) -> Aligned {
        let mut buffer = Aligned::new(bytes);
        buffer.fill(with);
        buffer
    }
}

impl Deref for Aligned {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        // SAFETY: allocated with this size, initialised to zeros, owned by `self`.
        unsafe { std::slice::from_raw_parts(self.start, self.layout.size()) }
    }
}

impl DerefMut for Aligned {
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: as above, and `self` is borrowed mutably.
        unsafe { std::slice::from_raw_parts_mut(self.start, self.layout.size()) }
    }
}

impl Drop for Aligned {
    fn drop(&mut self) {
        // SAFETY: allocated with this very layout.
        unsafe { dealloc(self.start, self.layout) };
    }
}

/// Opens for reading and writing past the page cache.
pub fn open_direct(path: &Path) -> io::Result<File> {
    File::options().read(true).write(true).custom_flags(libc::O_DIRECT).open(path)
}

/// Whether anything is mounted at or below this place.
pub fn mounted_below(place: &Path) -> bool {
    let mounts = std::fs::read_to_string("/proc/self/mountinfo").expect("mountinfo");
    mounts.lines().any(|line| line.split(' ').nth(4).is_some_and(|at| Path::new(at).starts_with(place)))
}
