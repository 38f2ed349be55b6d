//! How much of a file lies in the page cache. Sources: `cachestat` where the kernel has it (6.5), which counts pages
//! without looking at each; else `mincore` on a mapping, which touches no page.

use std::os::fd::{AsRawFd, RawFd};

/// With `mincore`, at most so many windows of a file are looked at, evenly spread.
const WINDOWS: u64 = 64;
const WINDOW_BYTES: u64 = 16 << 20;
/// Granularity at which windows begin.
const PAGE: u64 = 4096;

/// Bytes of the file, and how many of them are in the cache; `None` for what is no regular file, and where neither call
/// answers. With `mincore`, files of more than a gibibyte are sampled.
pub fn resident(path: &str) -> Option<(u64, u64)> {
    let facts = std::fs::metadata(path).ok().filter(std::fs::Metadata::is_file)?;
    if facts.len() == 0 {
        return Some((0, 0));
    }
    let file = std::fs::File::open(path).ok()?;
    Some((facts.len(), resident_of(file.as_raw_fd(), facts.len())?))
}

/// How many bytes of a file or block device wait in memory to be written, or are being written; `None` for what is
/// neither, and where the kernel has no `cachestat`.
pub fn dirty(path: &str) -> Option<u64> {
    use std::os::unix::fs::FileTypeExt;
    let kind = std::fs::metadata(path).ok()?.file_type();
    let file = std::fs::File::open(path).ok().filter(|_| kind.is_file() || kind.is_block_device())?;
    // No length: all there is.
    let [_, dirty, writeback] = cached_pages(file.as_raw_fd(), 0)?;
    Some(dirty + writeback)
}

/// How many of an open file's bytes are in the cache, of the first so many.
pub fn resident_of(fd: RawFd, bytes: u64) -> Option<u64> {
    counted(fd, bytes).or_else(|| looked_at(fd, bytes))
}

fn counted(fd: RawFd, bytes: u64) -> Option<u64> {
    cached_pages(fd, bytes).map(|[cached, ..]| cached.min(bytes))
}

/// Bytes that are in the cache, that are dirty, and that are being written, of the first so many. The number of `cachestat`
/// is that on every system that took it from the common table.
#[cfg(all(
    target_os = "linux",
    not(any(target_arch = "mips", target_arch = "mips64", target_arch = "sparc64"))
))]
fn cached_pages(fd: RawFd, bytes: u64) -> Option<[u64; 3]> {
    const CACHESTAT: libc::c_long = 451;
    let range = [0u64, bytes];
    let mut found = [0u64; 5];
    // SAFETY: both structures (`cachestat_range`, `cachestat` of linux/mman.h) are 64-bit numbers as laid out here.
    let failed = unsafe { libc::syscall(CACHESTAT, fd, range.as_ptr(), found.as_mut_ptr(), 0) } < 0;
    (!failed).then(|| [0, 1, 2].map(|which| found[which] * crate::witness::page_bytes()))
}

#[cfg(not(all(
    target_os = "linux",
    not(any(target_arch = "mips", target_arch = "mips64", target_arch = "sparc64"))
)))]
fn cached_pages(_fd: RawFd, _bytes: u64) -> Option<[u64; 3]> {
    None
}

fn looked_at(fd: RawFd, bytes: u64) -> Option<u64> {
    if bytes == 0 {
        return Some(0);
    }
    let windows = bytes.div_ceil(WINDOW_BYTES).min(WINDOWS);
    let (mut seen, mut cached) = (0, 0);
    for window in 0..windows {
        let start = (bytes / windows * window) / PAGE * PAGE;
        let length = WINDOW_BYTES.min(bytes / windows).min(bytes - start);
        let length = if window + 1 == windows { WINDOW_BYTES.min(bytes - start) } else { length };
        cached += resident_in(fd, start, length)?;
        seen += length;
    }
    Some(((cached as f64 / seen as f64).min(1.0) * bytes as f64) as u64)
}

#[cfg(target_os = "linux")]
fn resident_in(fd: RawFd, start: u64, length: u64) -> Option<u64> {
    // SAFETY: the mapping is made and removed here, never dereferenced, and the vector has a byte for each page.
    unsafe {
        let page = libc::sysconf(libc::_SC_PAGESIZE) as u64;
        let start = start / page * page;
        let (bytes, none) = (length as usize, std::ptr::null_mut());
        let mapped = libc::mmap(none, bytes, libc::PROT_NONE, libc::MAP_SHARED, fd, start as libc::off_t);
        if mapped == libc::MAP_FAILED {
            return None;
        }
        let mut pages = vec![0u8; length.div_ceil(page) as usize];
        let failed = libc::mincore(mapped, bytes, pages.as_mut_ptr()) < 0;
        libc::munmap(mapped, bytes);
        (!failed).then(|| pages.iter().filter(|page| **page & 1 == 1).count() as u64 * page)
    }
}

#[cfg(not(target_os = "linux"))]
fn resident_in(_fd: RawFd, _start: u64, _length: u64) -> Option<u64> {
    None
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn what_was_just_written_is_resident_by_both_calls() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(&vec![1; 3 << 20]).unwrap();
        assert_eq!(resident(file.path().to_str().unwrap()), Some((3 << 20, 3 << 20)));
        assert_eq!(looked_at(file.as_raw_fd(), 3 << 20), Some(3 << 20));
        let counted = counted(file.as_raw_fd(), 3 << 20);
        assert!(counted.is_none_or(|bytes| bytes == 3 << 20), "{counted:?}");
        // Some file systems keep no account of it.
        let dirty = dirty(file.path().to_str().unwrap());
        assert!(dirty.is_none_or(|bytes| bytes <= 3 << 20), "{dirty:?}");
    }
}
