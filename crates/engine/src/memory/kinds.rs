//! The kinds of memory that buffers may be asked to lie in: the heap, mappings of nothing or of a file, System V
//! segments, each but the first also of huge pages. What cannot be had is refused with what would help.

use std::alloc::{Layout, alloc_zeroed};
use std::os::fd::{AsRawFd, OwnedFd};
use std::ptr::NonNull;

use iodyno_model::{BufferKind, Buffers};

use super::{Mapping, Release, errno};
use crate::failure::Failure;

/// What buffers are aligned to unless something else was asked for.
pub const PAGE_BYTES: usize = 4096;

/// A huge page that need not be reserved, where pages are of 4 KiB.
pub(super) const WIDE_BYTES: usize = 2 << 20;

/// Whether data moves about in so much memory that huge pages are worth asking for; not where somebody says what kind of
/// pages it is to be.
pub(super) fn is_wide(wanted: &Buffers) -> bool {
    let plain = wanted.kind == BufferKind::Mapping && wanted.file.is_none() && !wanted.huge_pages;
    plain && wanted.arena_bytes >= WIDE_BYTES as u64
}

/// Asks for huge pages; a system that has none to give goes on with small ones.
pub(super) fn ask_for_wide(mapping: &Mapping) {
    #[cfg(target_os = "linux")]
    // SAFETY: the range is mapped, and the advice changes nothing that lies in it.
    unsafe {
        libc::madvise(mapping.start().cast(), mapping.bytes(), libc::MADV_HUGEPAGE);
    }
    #[cfg(not(target_os = "linux"))]
    let _ = mapping;
}

/// Has every page of a range, so that no operation waits for the system to find one.
pub(super) fn populate(start: *mut u8, bytes: usize) {
    #[cfg(target_os = "linux")]
    // SAFETY: the range is mapped, and what lies in it stays.
    if unsafe { libc::madvise(start.cast(), bytes, libc::MADV_POPULATE_WRITE) } == 0 {
        return;
    }
    for at in (0..bytes).step_by(PAGE_BYTES) {
        // SAFETY: the place lies inside the range, which is ours and which nobody else uses yet.
        unsafe { start.add(at).write_volatile(start.add(at).read_volatile()) };
    }
}

impl Mapping {
    /// Memory of the kind that a job wants.
    pub(super) fn of(bytes: usize, wanted: &Buffers) -> Result<Mapping, Failure> {
        let huge = if wanted.huge_pages { huge_page_bytes(wanted)? } else { 0 };
        let bytes = if huge > 0 { bytes.next_multiple_of(huge) } else { bytes };
        let had = match wanted.kind {
            BufferKind::Heap => heap(bytes),
            BufferKind::Segment => segment(bytes, huge),
            BufferKind::Mapping => mapped(bytes, huge, libc::MAP_PRIVATE, wanted.file.as_deref())?,
            BufferKind::SharedMapping => mapped(bytes, huge, libc::MAP_SHARED, wanted.file.as_deref())?,
        };
        had.map_err(|number| match huge {
            0 => Failure::call("memory for buffers", number)
                .hint("the buffers of all workers do not fit memory: lower depth or block"),
            _ => no_huge_pages(bytes, huge, number),
        })
    }
}

fn no_huge_pages(bytes: usize, huge: usize, number: i32) -> Failure {
    let (count, kib) = (bytes.div_ceil(huge), huge / 1024);
    let message = format!("{count} huge pages of {kib} KiB are not to be had");
    match number {
        libc::ENOMEM | libc::EINVAL | libc::EPERM => Failure::new(message).hint(format!(
            "reserve them: echo {count} > /sys/kernel/mm/hugepages/hugepages-{kib}kB/nr_hugepages"
        )),
        number => Failure::call(&message, number),
    }
}

fn heap(bytes: usize) -> Result<Mapping, i32> {
    let layout = Layout::from_size_align(bytes.max(1), PAGE_BYTES).map_err(|_| libc::ENOMEM)?;
    // SAFETY: the layout is not empty.
    let start = NonNull::new(unsafe { alloc_zeroed(layout) }).ok_or(libc::ENOMEM)?;
    Ok(Mapping { start, bytes, release: Release::Free(layout) })
}

/// A segment that is marked for removal at once, so that it never outlives its users.
fn segment(bytes: usize, huge: usize) -> Result<Mapping, i32> {
    let flags = libc::IPC_CREAT | 0o600 | if huge > 0 { segment_of_huge(huge) } else { 0 };
    // SAFETY: the calls take no memory of ours; the address is of the kernel's choice.
    let start = unsafe {
        let id = libc::shmget(libc::IPC_PRIVATE, bytes, flags);
        if id < 0 {
            return Err(errno());
        }
        let start = libc::shmat(id, std::ptr::null(), 0);
        let number = errno();
        libc::shmctl(id, libc::IPC_RMID, std::ptr::null_mut());
        if start as isize == -1 {
            return Err(number);
        }
        start
    };
    let start = NonNull::new(start.cast()).ok_or(libc::ENOMEM)?;
    Ok(Mapping { start, bytes, release: Release::Detach })
}

/// A mapping of nothing, or of a file that is made where it is missing and is gone again afterwards.
fn mapped(
    bytes: usize,
    huge: usize,
    flags: libc::c_int,
    file: Option<&str>,
) -> Result<Result<Mapping, i32>, Failure> {
    let access = libc::PROT_READ | libc::PROT_WRITE;
    let opened = file.map(|path| backing(path, bytes)).transpose()?;
    // A file of a huge page file system has huge pages without being asked.
    let flags = match &opened {
        Some(_) => flags,
        None => flags | libc::MAP_ANON | if huge > 0 { mapping_of_huge(huge) } else { 0 },
    };
    let fd = opened.as_ref().map_or(-1, AsRawFd::as_raw_fd);
    // SAFETY: a new mapping at an address of the kernel's choice touches nothing that exists.
    let start = unsafe { libc::mmap(std::ptr::null_mut(), bytes.max(1), access, flags, fd, 0) };
    if start == libc::MAP_FAILED {
        return Ok(Err(errno()));
    }
    let release = Release::Unmap;
    Ok(NonNull::new(start.cast())
        .map(|start| Mapping { start, bytes: bytes.max(1), release })
        .ok_or(libc::ENOMEM))
}

/// The file behind a mapping, long enough. The mapping keeps what lies in it when the name is gone.
fn backing(path: &str, bytes: usize) -> Result<OwnedFd, Failure> {
    let told = |error: std::io::Error| {
        Failure::new(format!("{path}: {error}")).hint("name a file that can be made and mapped")
    };
    let exists = std::path::Path::new(path).exists();
    let mut options = std::fs::OpenOptions::new();
    let file = options.read(true).write(true).create(true).truncate(false).open(path).map_err(told)?;
    if file.metadata().map_err(told)?.len() < bytes as u64 {
        file.set_len(bytes as u64).map_err(told)?;
    }
    if !exists {
        std::fs::remove_file(path).map_err(told)?;
    }
    Ok(file.into())
}

/// Memory that is kept from everybody else while it lives.
#[derive(Debug)]
pub struct Ballast(#[allow(dead_code)] [Option<Mapping>; 2]);

impl Ballast {
    /// What a job's workers hold besides their buffers: locked, and touched.
    ///
    /// # Errors
    /// More than the machine has, or more than the limits allow.
    pub fn new(wanted: &Buffers) -> Result<Self, Failure> {
        Ok(Ballast([locked(wanted.locked_bytes)?, held(wanted.held_bytes)?]))
    }

    /// Whether all workers of a machine together can hold as much as their jobs ask for, of what is available.
    ///
    /// # Errors
    /// They cannot: with both numbers.
    pub fn check(workers: u64, all_bytes: u64, available: u64) -> Result<(), Failure> {
        if all_bytes <= available {
            return Ok(());
        }
        let message = format!(
            "{workers} workers of this machine are to hold {all_bytes} bytes of memory; {available} are available"
        );
        Err(Failure::new(message).hint("let them hold less, or free some memory"))
    }
}

fn locked(bytes: u64) -> Result<Option<Mapping>, Failure> {
    if bytes == 0 {
        return Ok(None);
    }
    // SAFETY: the calls take no pointers.
    let (pages, page) = unsafe { (libc::sysconf(libc::_SC_PHYS_PAGES), libc::sysconf(libc::_SC_PAGESIZE)) };
    let memory = u64::try_from(pages).unwrap_or(0) * u64::try_from(page).unwrap_or(0);
    if memory > 0 && bytes >= memory {
        let message = format!("{bytes} bytes of locked memory are more than this machine has ({memory})");
        return Err(Failure::new(message).hint("lock less"));
    }
    let refused = |number| {
        Failure::call("mlock", number).hint("lock less, or raise the limit of locked memory (ulimit -l)")
    };
    let mapping = Mapping::private(bytes as usize).map_err(refused)?;
    // SAFETY: the range is mapped.
    match unsafe { libc::mlock(mapping.start().cast(), mapping.bytes()) } {
        0 => Ok(Some(mapping)),
        _ => Err(refused(errno())),
    }
}

/// Every page is written to, so that the kernel has to give it; locked as well where that is allowed without asking.
fn held(bytes: u64) -> Result<Option<Mapping>, Failure> {
    if bytes == 0 {
        return Ok(None);
    }
    let refused = |number| Failure::call("memory to hold", number).hint("hold less");
    let bytes = usize::try_from(bytes).map_err(|_| refused(libc::ENOMEM))?;
    let mapping = Mapping::private(bytes).map_err(refused)?;
    for at in (0..mapping.bytes()).step_by(PAGE_BYTES) {
        // SAFETY: the byte lies inside the mapping, which nobody else knows of.
        unsafe { mapping.start().add(at).write_volatile((at / PAGE_BYTES) as u8 | 1) };
    }
    Ok(Some(mapping))
}

/// How long a huge page is: as asked for, or the system's default.
#[cfg(target_os = "linux")]
fn huge_page_bytes(wanted: &Buffers) -> Result<usize, Failure> {
    if wanted.huge_page_bytes > 0 {
        let bytes = usize::try_from(wanted.huge_page_bytes).unwrap_or(usize::MAX);
        let known =
            std::path::Path::new(&format!("/sys/kernel/mm/hugepages/hugepages-{}kB", bytes / 1024)).exists();
        return match known {
            true => Ok(bytes),
            false => Err(Failure::new(format!("this system has no huge pages of {bytes} bytes"))
                .hint("ls /sys/kernel/mm/hugepages shows which it has")),
        };
    }
    let text = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("Hugepagesize:"));
    let kib = line.and_then(|line| line.split_whitespace().next()?.parse::<usize>().ok());
    kib.map(|kib| kib * 1024)
        .ok_or_else(|| Failure::new("this kernel has no huge pages").hint("leave huge pages out"))
}

#[cfg(not(target_os = "linux"))]
fn huge_page_bytes(_wanted: &Buffers) -> Result<usize, Failure> {
    Err(Failure::new("huge pages are a Linux option here").hint("leave them out"))
}

#[cfg(target_os = "linux")]
fn mapping_of_huge(bytes: usize) -> libc::c_int {
    libc::MAP_HUGETLB | (bytes.trailing_zeros() as libc::c_int) << libc::MAP_HUGE_SHIFT
}

#[cfg(not(target_os = "linux"))]
fn mapping_of_huge(_bytes: usize) -> libc::c_int {
    0
}

#[cfg(target_os = "linux")]
fn segment_of_huge(bytes: usize) -> libc::c_int {
    libc::SHM_HUGETLB | (bytes.trailing_zeros() as libc::c_int) << libc::MAP_HUGE_SHIFT
}

#[cfg(not(target_os = "linux"))]
fn segment_of_huge(_bytes: usize) -> libc::c_int {
    0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::Memory;

    fn of(kind: BufferKind) -> Buffers {
        Buffers { kind, ..Buffers::default() }
    }

    #[test]
    fn every_kind_holds_what_is_written() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pages");
        let file = Some(path.display().to_string());
        let kinds = [
            of(BufferKind::Mapping),
            of(BufferKind::Heap),
            of(BufferKind::SharedMapping),
            of(BufferKind::Segment),
            Buffers { file: file.clone(), ..of(BufferKind::Mapping) },
            Buffers { file, ..of(BufferKind::SharedMapping) },
        ];
        for wanted in kinds {
            let memory = Memory::of(3, 10_000, &wanted).unwrap();
            for slot in 0..3 {
                // SAFETY: the buffers are ours, and so long.
                let buffer = unsafe { std::slice::from_raw_parts_mut(memory.buffer(slot), 10_000) };
                assert!(buffer.iter().all(|byte| *byte == 0), "{wanted:?}");
                buffer.fill(slot as u8 + 1);
            }
            // SAFETY: as above.
            let ends = (0..3).map(|slot| unsafe { *memory.buffer(slot).add(9_999) });
            assert_eq!(ends.collect::<Vec<_>>(), [1, 2, 3], "{wanted:?}");
            assert!(!path.exists());
        }
    }

    #[test]
    fn buffers_are_aligned_as_asked_and_no_better() {
        for align in [0usize, 512, 1024, 4096, 65536] {
            let wanted = Buffers { align_bytes: align as u64, ..Buffers::default() };
            let memory = Memory::of(4, 4096, &wanted).unwrap();
            for slot in 0..4 {
                let at = memory.buffer(slot) as usize;
                let expected = if align == 0 { PAGE_BYTES } else { align };
                assert_eq!(at % expected, 0, "{align}");
                assert!(align == 0 || align >= PAGE_BYTES || at % PAGE_BYTES == align, "{align}");
            }
            let (start, bytes) = memory.whole();
            // SAFETY: all of it is ours.
            unsafe { start.write_bytes(7, bytes) };
        }
    }

    #[test]
    fn memory_to_move_about_in_begins_at_a_huge_page() {
        let wanted = Buffers { arena_bytes: 10 << 20, ..Buffers::default() };
        let memory = Memory::of(2, 10 << 20, &wanted).unwrap();
        assert!((0..2).all(|slot| (memory.buffer(slot) as usize).is_multiple_of(WIDE_BYTES)));
        let (start, bytes) = memory.whole();
        // SAFETY: all of it is ours.
        unsafe { start.write_bytes(7, bytes) };
        let shared = Buffers { kind: BufferKind::SharedMapping, ..wanted.clone() };
        let small = Buffers { arena_bytes: 1 << 20, ..wanted };
        assert!(!is_wide(&shared) && !is_wide(&small));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn what_is_populated_is_all_there() {
        let memory = Memory::of(2, 3 << 20, &of(BufferKind::Mapping)).unwrap();
        let missing = || {
            let (start, bytes) = memory.whole();
            let mut there = vec![0u8; bytes / PAGE_BYTES];
            // SAFETY: the range is mapped, and `there` has a byte for each of its pages.
            let told = unsafe { libc::mincore(start.cast(), bytes, there.as_mut_ptr()) };
            assert_eq!(told, 0);
            there.iter().filter(|page| **page & 1 == 0).count()
        };
        assert!(missing() > 0, "it was there before");
        memory.populate();
        assert_eq!(missing(), 0);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn missing_huge_pages_are_told() {
        for kind in [BufferKind::Mapping, BufferKind::SharedMapping, BufferKind::Segment] {
            // More than anybody reserves.
            let wanted = Buffers { huge_pages: true, ..of(kind) };
            let failure = Memory::of(1, 1 << 45, &wanted).err().unwrap();
            assert!(failure.message.contains("huge pages") && failure.hint.is_some(), "{}", failure.message);
        }
        let odd = Buffers { huge_pages: true, huge_page_bytes: 12345, ..Buffers::default() };
        assert!(Memory::of(1, 1, &odd).err().unwrap().message.contains("12345"));
    }

    #[test]
    fn ballast_is_locked_or_refused() {
        let locked = |locked_bytes| Ballast::new(&Buffers { locked_bytes, ..Buffers::default() });
        assert!(locked(u64::MAX >> 1).is_err());
        // Limits differ; either way nothing breaks.
        if let Err(failure) = locked(65536) {
            assert!(failure.hint.is_some());
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn held_memory_is_really_there() {
        let ballast = Ballast::new(&Buffers { held_bytes: 8 << 20, ..Buffers::default() }).unwrap();
        let mapping = ballast.0[1].as_ref().unwrap();
        let mut pages = vec![0u8; mapping.bytes() / PAGE_BYTES];
        // SAFETY: the range is mapped, and the vector has a byte for each page.
        let asked = unsafe { libc::mincore(mapping.start().cast(), mapping.bytes(), pages.as_mut_ptr()) };
        assert_eq!(asked, 0);
        assert!(pages.iter().all(|page| page & 1 == 1));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn more_than_is_available_is_refused_with_both_numbers() {
        assert!(Ballast::check(1, 4096, 4096).is_ok());
        let failure = Ballast::check(64, 1 << 60, 1 << 59).unwrap_err();
        assert!(failure.message.starts_with("64 workers") && failure.hint.is_some(), "{}", failure.message);
        assert!(failure.message.contains("1152921504606846976"), "{}", failure.message);
    }
}
