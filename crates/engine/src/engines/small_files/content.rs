//! What small files hold: their sizes, their bytes, and the extended attributes beside them.
//!
//! Bytes are a sequence, fixed or random, that begins elsewhere in each file; each call of a file moves the same.

use std::io;
use std::path::Path;

use crate::random::mix;

/// Files begin at so many places of the sequence.
const PERIOD: u64 = 1024;
/// Bytes of a call at most, where a call is the whole file.
const CALL_MOST: u64 = 1 << 20;
/// A drawn size is at most so many times the mean.
const DRAWN_MOST: u64 = 8;

/// The files of one worker.
#[derive(Clone, Debug)]
pub struct FileBytes {
    kib: u64,
    record_kib: u64,
    /// The seed of drawn sizes; none: all are of one size.
    drawn: Option<u64>,
    worker: u64,
    /// The sequence, over and over: more than a call moves.
    bytes: Vec<u8>,
}

impl FileBytes {
    /// Files of so many KiB, by calls of so many; `longest`: what else is taken of the sequence, bytes.
    pub fn new(kib: u64, record_kib: u64, drawn: Option<u64>, worker: u64, longest: u64) -> FileBytes {
        let call = if record_kib > 0 { record_kib * 1024 } else { CALL_MOST };
        let length = call.max(longest) + PERIOD;
        let byte = |at: u64| match (at % 128) as u8 {
            b'\\' => b'!',
            byte => byte,
        };
        FileBytes { kib, record_kib, drawn, worker, bytes: (0..length).map(byte).collect() }
    }

    /// The same with bytes that do not compress, or as it is.
    pub fn random(mut self, is_random: bool) -> FileBytes {
        if is_random {
            let seed = mix(self.worker + 1);
            for (word, part) in (0..).zip(self.bytes.chunks_mut(8)) {
                part.copy_from_slice(&mix(seed ^ word).to_le_bytes()[..part.len()]);
            }
        }
        self
    }

    /// Bytes of a file, and of a call.
    pub fn sizes(&self, number: u64) -> (u64, u64) {
        let kib = match self.drawn {
            Some(seed) if self.kib > 0 => {
                let unit = (mix(seed ^ mix(number)) >> 11) as f64 / (1u64 << 53) as f64;
                let drawn = -(1.0 - unit).ln() * self.kib as f64;
                (drawn as u64).clamp(1, self.kib * DRAWN_MOST)
            }
            _ => self.kib,
        };
        let record =
            if self.record_kib > 0 { self.record_kib * 1024 } else { (kib * 1024).clamp(1, CALL_MOST) };
        (kib * 1024, record)
    }

    /// What a call of a file moves.
    pub fn of(&self, number: u64, bytes: usize) -> &[u8] {
        let begin = ((self.worker % 128 + number) % PERIOD) as usize;
        &self.bytes[begin..begin + bytes]
    }
}

#[cfg(target_os = "linux")]
fn names(path: &Path, index: u64) -> io::Result<(std::ffi::CString, std::ffi::CString)> {
    use std::os::unix::ffi::OsStrExt;
    let path = std::ffi::CString::new(path.as_os_str().as_bytes())?;
    Ok((path, std::ffi::CString::new(format!("user.smallfile-{index}"))?))
}

/// Sets an attribute of a file.
///
/// # Errors
/// The system's.
#[cfg(target_os = "linux")]
pub fn set_attribute(path: &Path, index: u64, value: &[u8]) -> io::Result<()> {
    let (path, name) = names(path, index)?;
    // SAFETY: path and name are zero-terminated, and the value is valid for reading.
    let set = unsafe { libc::setxattr(path.as_ptr(), name.as_ptr(), value.as_ptr().cast(), value.len(), 0) };
    if set < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// An attribute of a file, of so many bytes at most.
///
/// # Errors
/// The system's.
#[cfg(target_os = "linux")]
pub fn attribute(path: &Path, index: u64, most: usize) -> io::Result<Vec<u8>> {
    let (path, name) = names(path, index)?;
    let mut value = vec![0u8; most.max(1)];
    // SAFETY: path and name are zero-terminated, and the value is valid for writing.
    let bytes =
        unsafe { libc::getxattr(path.as_ptr(), name.as_ptr(), value.as_mut_ptr().cast(), value.len()) };
    if bytes < 0 {
        return Err(io::Error::last_os_error());
    }
    value.truncate(bytes as usize);
    Ok(value)
}

/// Sets no attribute: they are not known here.
///
/// # Errors
/// Always.
#[cfg(not(target_os = "linux"))]
pub fn set_attribute(_path: &Path, _index: u64, _value: &[u8]) -> io::Result<()> {
    Err(io::Error::from_raw_os_error(libc::EOPNOTSUPP))
}

/// Reads no attribute: they are not known here.
///
/// # Errors
/// Always.
#[cfg(not(target_os = "linux"))]
pub fn attribute(_path: &Path, _index: u64, _most: usize) -> io::Result<Vec<u8>> {
    Err(io::Error::from_raw_os_error(libc::EOPNOTSUPP))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_as_long_as_the_file_and_never_longer_than_a_mebibyte() {
        assert_eq!(FileBytes::new(64, 0, None, 0, 0).sizes(1), (65536, 65536));
        assert_eq!(FileBytes::new(64, 4, None, 0, 0).sizes(1), (65536, 4096));
        assert_eq!(FileBytes::new(5000, 0, None, 0, 0).sizes(1), (5000 << 10, 1 << 20));
        assert_eq!(FileBytes::new(0, 0, None, 0, 0).sizes(1).0, 0);
    }

    #[test]
    fn drawn_sizes_have_their_mean_and_come_again() {
        let content = FileBytes::new(64, 0, Some(7), 0, 0);
        let sizes: Vec<u64> = (1..=20_000).map(|number| content.sizes(number).0 >> 10).collect();
        let mean = sizes.iter().sum::<u64>() as f64 / sizes.len() as f64;
        assert!((61.0..66.0).contains(&mean), "{mean}");
        assert!(sizes.iter().all(|size| (1..=512).contains(size)));
        assert_eq!(sizes, (1..=20_000).map(|number| content.sizes(number).0 >> 10).collect::<Vec<_>>());
    }

    #[test]
    fn files_and_workers_have_bytes_of_their_own() {
        for is_random in [false, true] {
            let of = |worker| FileBytes::new(4, 0, None, worker, 0).random(is_random);
            assert_eq!(of(3).of(9, 4096), of(3).of(9, 4096));
            assert!(of(3).of(9, 4096) != of(3).of(10, 4096) && of(3).of(9, 4096) != of(4).of(9, 4096));
        }
        assert!(!FileBytes::new(4, 0, None, 3, 0).of(0, 4096).contains(&b'\\'));
    }
}
