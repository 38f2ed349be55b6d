//! Where files' bytes lie on their file system, and whether there are any: data, unwritten extents, holes, compressed and
//! shared extents.
//!
//! Sources: `FS_IOC_FIEMAP` (kernel documentation `filesystems/fiemap`), where a file system has none `SEEK_HOLE`, and
//! `st_blocks`. Nothing is flushed for it: what is still in memory alone counts as data.

use std::fs::{File, OpenOptions};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};

use iodyno_model::Layout;

use super::WatchedTarget;

/// Extents of a file that are looked at, at most; the rest of such a file is not counted.
const EXTENTS_MOST: u64 = 8192;

/// The layouts of targets that are regular files, those of one target together; of each file the span that is touched.
pub fn look(watched: &[WatchedTarget]) -> Vec<Layout> {
    let mut all: Vec<Layout> = Vec::new();
    for WatchedTarget { target, path, span } in watched {
        let Some(layout) = of_span(path, span.unwrap_or((0, u64::MAX))) else { continue };
        let layout = Layout { target: target.clone(), ..layout };
        match all.iter_mut().find(|known| known.target == *target) {
            Some(known) => known.merge(&layout),
            None => all.push(layout),
        }
    }
    all
}

/// The layout of one file; `None` for what is no regular file, is empty, or cannot be opened.
pub fn of_file(path: &str) -> Option<Layout> {
    of_span(path, (0, u64::MAX))
}

/// The layout of a part of a file, from its first byte and its length; what lies behind the file's end is none of it.
fn of_span(path: &str, (from, bytes): (u64, u64)) -> Option<Layout> {
    let file = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(path).ok()?;
    let facts = file.metadata().ok().filter(|facts| facts.is_file() && facts.len() > from)?;
    let file_bytes = bytes.min(facts.len() - from);
    let part = file_bytes as f64 / facts.len() as f64;
    let allocated_bytes = ((facts.blocks() * 512) as f64 * part) as u64;
    let layout = Layout { files: 1, file_bytes, allocated_bytes, ..Layout::default() };
    Some(mapped(&file, from, &layout).or_else(|| sought(&file, from, &layout)).unwrap_or_else(|| {
        let data_bytes = allocated_bytes.min(file_bytes);
        Layout { data_bytes, hole_bytes: file_bytes - data_bytes, ..layout }
    }))
}

/// One extent as the file system tells it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Extent {
    logical: u64,
    physical: u64,
    bytes: u64,
    flags: u32,
}

/// Flags of extents (`linux/fiemap.h`).
mod flag {
    pub const LAST: u32 = 0x1;
    pub const UNKNOWN: u32 = 0x2;
    pub const DELAYED: u32 = 0x4;
    pub const ENCODED: u32 = 0x8;
    pub const INLINE: u32 = 0x200;
    pub const UNWRITTEN: u32 = 0x800;
    pub const SHARED: u32 = 0x2000;
    /// The place on the device says nothing.
    pub const PLACELESS: u32 = UNKNOWN | DELAYED | INLINE;
}

/// The part of an extent that lies behind a place, as if the file began there; none of one that ends before it.
fn behind(extent: Extent, from: u64) -> Option<Extent> {
    let cut = from.saturating_sub(extent.logical);
    let Extent { logical, physical, bytes, flags } = extent;
    let begun = logical.saturating_sub(from);
    (cut < bytes).then(|| Extent { logical: begun, physical: physical + cut, bytes: bytes - cut, flags })
}

/// What extents add up to. They are in order and do not overlap; of those that reach beyond the end, that part is not
/// of the file.
fn summed(extents: impl Iterator<Item = Extent>, empty: &Layout) -> Layout {
    let mut layout = empty.clone();
    let (mut first, mut last, mut seen) = (u64::MAX, 0, 0);
    for extent in extents {
        let bytes = extent.bytes.min(layout.file_bytes.saturating_sub(extent.logical));
        if bytes == 0 {
            break;
        }
        layout.extents += 1;
        if extent.flags & flag::UNWRITTEN != 0 {
            layout.unwritten_bytes += bytes;
        } else {
            layout.data_bytes += bytes;
        }
        if extent.flags & flag::ENCODED != 0 {
            layout.encoded_bytes += bytes;
        }
        if extent.flags & flag::SHARED != 0 {
            layout.shared_bytes += bytes;
        }
        if extent.flags & flag::PLACELESS == 0 {
            (first, last) = (first.min(extent.physical), last.max(extent.physical + bytes));
        }
        seen = extent.logical + bytes;
    }
    if layout.extents >= EXTENTS_MOST {
        // As much of the file as was looked at, so that shares are right.
        let part = seen as f64 / layout.file_bytes.max(1) as f64;
        layout.allocated_bytes = (layout.allocated_bytes as f64 * part.min(1.0)) as u64;
        layout.file_bytes = seen.min(layout.file_bytes);
    }
    layout.hole_bytes = layout.file_bytes.saturating_sub(layout.data_bytes + layout.unwritten_bytes);
    layout.reach_bytes = (first < last).then(|| last - first);
    layout
}

#[cfg(target_os = "linux")]
fn mapped(file: &File, begin: u64, empty: &Layout) -> Option<Layout> {
    let mut extents = Vec::new();
    let (mut from, end) = (begin, begin.saturating_add(empty.file_bytes));
    while (extents.len() as u64) < EXTENTS_MOST {
        let more = batch(file, from)?;
        let Some(last) = more.last().copied() else { break };
        extents.extend(more);
        from = last.logical + last.bytes;
        if last.flags & flag::LAST != 0 || last.bytes == 0 || from >= end {
            break;
        }
    }
    extents.truncate(EXTENTS_MOST as usize);
    Some(summed(extents.into_iter().filter_map(|extent| behind(extent, begin)), empty))
}

/// A batch of extents from a place in the file on; `None`: the file system does not tell.
#[cfg(target_os = "linux")]
fn batch(file: &File, from: u64) -> Option<Vec<Extent>> {
    /// `FS_IOC_FIEMAP`, the same on every architecture: it goes both ways.
    const FIEMAP: u32 = 0xC020_660B;
    const BATCH: usize = 256;
    #[repr(C)]
    struct FiemapExtent {
        logical: u64,
        physical: u64,
        bytes: u64,
        reserved: [u64; 2],
        flags: u32,
        more: [u32; 3],
    }
    #[repr(C)]
    struct Request {
        from: u64,
        bytes: u64,
        flags: u32,
        mapped: u32,
        room: u32,
        reserved: u32,
        extents: [FiemapExtent; BATCH],
    }
    // SAFETY: both structures are plain numbers, laid out as in linux/fiemap.h; the kernel writes no more extents than
    // there is room for.
    let request = unsafe {
        let mut request: Box<Request> = Box::new(std::mem::zeroed());
        (request.from, request.bytes, request.room) = (from, u64::MAX - from, BATCH as u32);
        if libc::ioctl(file.as_raw_fd(), FIEMAP as _, &raw mut *request) < 0 {
            return None;
        }
        request
    };
    let told = request.extents.iter().take(request.mapped as usize);
    let extent = |told: &FiemapExtent| {
        let FiemapExtent { logical, physical, bytes, flags, .. } = *told;
        Extent { logical, physical, bytes, flags }
    };
    Some(told.map(extent).collect())
}

#[cfg(not(target_os = "linux"))]
fn mapped(_file: &File, _begin: u64, _empty: &Layout) -> Option<Layout> {
    let _ = flag::LAST;
    None
}

/// Data and holes alone; a file system without holes has one extent.
fn sought(file: &File, from: u64, empty: &Layout) -> Option<Layout> {
    let (mut extents, mut at, all) = (Vec::new(), from, from.saturating_add(empty.file_bytes));
    while (extents.len() as u64) < EXTENTS_MOST && at < all {
        let Some(begin) = seek(file, at, libc::SEEK_DATA)? else { break };
        let end = seek(file, begin, libc::SEEK_HOLE)?.unwrap_or(all);
        if end <= begin {
            return None;
        }
        extents.push(Extent { logical: begin, bytes: end - begin, flags: flag::UNKNOWN, physical: 0 });
        at = end;
    }
    Some(summed(extents.into_iter().filter_map(|extent| behind(extent, from)), empty))
}

/// The next data or hole; nothing: there is none behind. `None`: it cannot be asked for.
fn seek(file: &File, from: u64, what: libc::c_int) -> Option<Option<u64>> {
    // SAFETY: the call moves the place of a descriptor that is ours alone.
    let place = unsafe { libc::lseek(file.as_raw_fd(), from as libc::off_t, what) };
    match place {
        0.. => Some(Some(place as u64)),
        _ if crate::memory::errno() == libc::ENXIO => Some(None),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn extent(logical: u64, physical: u64, bytes: u64, flags: u32) -> Extent {
        Extent { logical, physical, bytes, flags }
    }

    #[test]
    fn extents_add_up() {
        let empty = Layout { file_bytes: 1000, allocated_bytes: 700, files: 1, ..Layout::default() };
        let extents = [
            extent(0, 5000, 100, 0),
            extent(100, 9000, 200, flag::UNWRITTEN),
            extent(500, 0, 100, flag::DELAYED | flag::UNKNOWN),
            extent(600, 4000, 100, flag::ENCODED | flag::SHARED),
            extent(900, 20_000, 300, flag::LAST),
        ];
        let all = summed(extents.into_iter(), &empty);
        assert_eq!((all.data_bytes, all.unwritten_bytes, all.hole_bytes), (400, 200, 400));
        assert_eq!((all.encoded_bytes, all.shared_bytes, all.extents), (100, 100, 5));
        assert_eq!(all.reach_bytes, Some(16_100));
        let nothing = summed(std::iter::empty(), &empty);
        assert_eq!((nothing.hole_bytes, nothing.reach_bytes), (1000, None));
    }

    #[test]
    fn the_part_of_an_extent_behind_a_place() {
        assert_eq!(behind(extent(100, 9000, 200, 0), 150), Some(extent(0, 9050, 150, 0)));
        assert_eq!(behind(extent(100, 9000, 200, 0), 50), Some(extent(50, 9000, 200, 0)));
        assert_eq!(behind(extent(100, 9000, 200, 0), 300), None);
    }

    #[test]
    fn of_a_file_in_many_pieces_a_part_stands_for_the_whole() {
        let empty = Layout { file_bytes: 4 * EXTENTS_MOST, allocated_bytes: 400, ..Layout::default() };
        let pieces = (0..EXTENTS_MOST).map(|index| extent(2 * index, 2 * index, 1, 0));
        let all = summed(pieces, &empty);
        assert_eq!((all.file_bytes, all.allocated_bytes), (2 * EXTENTS_MOST - 1, 199));
        assert_eq!(all.hole_bytes, EXTENTS_MOST - 1);
    }

    #[test]
    fn a_sparse_file_is_mostly_hole() {
        use std::os::unix::fs::FileExt;
        let file = tempfile::NamedTempFile::new().unwrap();
        file.as_file().set_len(8 << 20).unwrap();
        file.as_file().write_all_at(&[1; 64 << 10], 4 << 20).unwrap();
        let path = file.path().to_str().unwrap();
        let layout = of_file(path).unwrap();
        assert_eq!((layout.files, layout.file_bytes), (1, 8 << 20));
        assert!((64 << 10..=1 << 20).contains(&layout.data_bytes), "{layout:?}");
        assert_eq!(layout.data_bytes + layout.unwritten_bytes + layout.hole_bytes, 8 << 20);
        let empty = Layout { file_bytes: 8 << 20, ..Layout::default() };
        if let Some(sought) = sought(file.as_file(), 0, &empty) {
            assert!(sought.data_bytes >= 64 << 10, "{sought:?}");
        }
        let twice: Vec<_> = [path, path].iter().map(|path| WatchedTarget::whole("t", path)).collect();
        assert_eq!(look(&twice)[0].files, 2);
        // Of a span that is written nothing is a hole, however sparse the rest is.
        let written = WatchedTarget { span: Some((4 << 20, 64 << 10)), ..WatchedTarget::whole("t", path) };
        let layout = &look(&[written])[0];
        assert_eq!((layout.file_bytes, layout.hole_bytes), (64 << 10, 0), "{layout:?}");
        let empty = WatchedTarget { span: Some((6 << 20, 1 << 30)), ..WatchedTarget::whole("t", path) };
        let layout = &look(&[empty])[0];
        assert_eq!((layout.file_bytes, layout.hole_bytes), (2 << 20, 2 << 20), "{layout:?}");
        assert_eq!(of_file("/"), None);
    }
}
