//! The content of a disk: what is not zero of it.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;

/// Where zeroes are left out: the size of a page.
const PAGE_BYTES: usize = 4096;
/// Read at a time.
const CHUNK_BYTES: usize = 1 << 20;

/// A copy of a disk's content.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DiskContent {
    pub bytes: u64,
    /// Offsets and data, ascending; all else is zero.
    extents: Vec<(u64, Vec<u8>)>,
}

impl DiskContent {
    /// A disk of zeroes.
    pub fn empty(bytes: u64) -> DiskContent {
        DiskContent { bytes, extents: Vec::new() }
    }

    /// Copies a sparse file.
    ///
    /// # Errors
    /// The system's own.
    pub fn read(file: &File) -> io::Result<DiskContent> {
        let mut content = DiskContent::empty(file.metadata()?.len());
        let mut at = 0;
        while let Some(start) = seek(file, at, libc::SEEK_DATA)? {
            let end = seek(file, start, libc::SEEK_HOLE)?.unwrap_or(content.bytes);
            for offset in (start..end).step_by(CHUNK_BYTES) {
                let mut data = vec![0; CHUNK_BYTES.min((end - offset) as usize)];
                file.read_exact_at(&mut data, offset)?;
                content.take(offset, &data);
            }
            at = end;
        }
        Ok(content)
    }

    /// Appends what is not zero of a piece.
    fn take(&mut self, offset: u64, data: &[u8]) {
        for (index, page) in data.chunks(PAGE_BYTES).enumerate() {
            if page.iter().all(|byte| *byte == 0) {
                continue;
            }
            let at = offset + (index * PAGE_BYTES) as u64;
            match self.extents.last_mut() {
                Some((start, held)) if *start + held.len() as u64 == at => held.extend_from_slice(page),
                _ => self.extents.push((at, page.to_vec())),
            }
        }
    }

    /// Makes a file hold this and nothing else.
    ///
    /// # Errors
    /// The system's own: ENOSPC, ENOMEM.
    pub fn write_to(&self, file: &File) -> io::Result<()> {
        punch(file, 0, self.bytes)?;
        self.extents.iter().try_for_each(|(offset, data)| file.write_all_at(data, *offset))
    }

    /// The bytes at a place.
    pub fn content(&self, offset: u64, bytes: usize) -> Vec<u8> {
        let mut found = vec![0; bytes];
        let end = offset + bytes as u64;
        let first = self.extents.partition_point(|(start, data)| start + data.len() as u64 <= offset);
        for (start, data) in self.extents[first..].iter().take_while(|(start, _)| *start < end) {
            let (from, to) = (offset.max(*start), end.min(start + data.len() as u64));
            let (here, there) = ((from - offset) as usize, (from - start) as usize);
            let length = (to - from) as usize;
            found[here..here + length].copy_from_slice(&data[there..there + length]);
        }
        found
    }
}

/// The next place of data or of a hole; none: there is no more data.
fn seek(file: &File, from: u64, whence: libc::c_int) -> io::Result<Option<u64>> {
    // SAFETY: the call takes numbers only.
    let at = unsafe { libc::lseek(file.as_raw_fd(), from as libc::off_t, whence) };
    match (at, io::Error::last_os_error()) {
        (0.., _) => Ok(Some(at as u64)),
        (_, error) if error.raw_os_error() == Some(libc::ENXIO) => Ok(None),
        (_, error) => Err(error),
    }
}

/// Makes a range of a file a hole.
///
/// # Errors
/// The system's own.
pub fn punch(file: &File, offset: u64, bytes: u64) -> io::Result<()> {
    let mode = libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE;
    // SAFETY: the call takes numbers only.
    match unsafe { libc::fallocate(file.as_raw_fd(), mode, offset as libc::off_t, bytes as libc::off_t) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::memory_file;

    #[test]
    fn a_file_is_copied_without_its_zeroes_and_written_back() {
        let file = memory_file("test").unwrap();
        file.set_len(1 << 20).unwrap();
        file.write_all_at(&[1; 5000], 8192).unwrap();
        file.write_all_at(&[0; 4096], 65536).unwrap();
        file.write_all_at(&[2; 10], (1 << 20) - 10).unwrap();
        let content = DiskContent::read(&file).unwrap();
        assert_eq!(
            content.extents.iter().map(|(at, data)| (*at, data.len())).collect::<Vec<_>>(),
            [(8192, 8192), ((1 << 20) - 4096, 4096)]
        );
        assert_eq!(content.content(8190, 4), [0, 0, 1, 1]);
        assert_eq!(content.content((1 << 20) - 12, 12), [0, 0, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2]);
        let other = memory_file("other").unwrap();
        other.set_len(1 << 20).unwrap();
        other.write_all_at(&[9; 4096], 0).unwrap();
        content.write_to(&other).unwrap();
        assert_eq!(DiskContent::read(&other).unwrap(), content);
    }
}
