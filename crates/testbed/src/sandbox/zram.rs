//! The machine's one zram device, as a RAM disk for whoever holds the lock.

use super::skip_or_panic;
use crate::{Need, Skip};
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::path::Path;

const LOCK: &str = "iodyno-zram0.lock";
const SIZE: &str = "/sys/block/zram0/disksize";

/// The right to use `/dev/zram0`, held until it is dropped.
#[derive(Debug)]
pub struct ZramLock {
    _file: File,
}

/// Waits for the lock that all tests of the machine share. It is only as good as their manners.
#[track_caller]
pub fn zram_lock() -> Result<ZramLock, Skip> {
    Need::Zram.check()?;
    let path = std::env::temp_dir().join(LOCK);
    let file = File::options().create(true).truncate(false).write(true).open(&path);
    let file = file.map_err(|error| skip_or_panic(&path.display().to_string(), error))?;
    loop {
        // SAFETY: a valid descriptor, and no memory involved.
        if unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_EX) } == 0 {
            return Ok(ZramLock { _file: file });
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(skip_or_panic("locking zram0", error));
        }
    }
}

/// `/dev/zram0` with a size. Dropping it resets the device and releases the lock.
#[derive(Debug)]
pub struct Zram {
    _lock: ZramLock,
}

impl Zram {
    /// Takes the lock and gives the device a size, which must be a multiple of 4096.
    ///
    /// # Errors
    /// A [`Skip`] where there is no zram0, or where it already has a size and so somebody's data.
    #[track_caller]
    pub fn new(bytes: u64) -> Result<Zram, Skip> {
        let lock = zram_lock()?;
        let size = std::fs::read_to_string(SIZE).unwrap_or_default();
        if size.trim() != "0" {
            return Err(Skip::new("zram0 is in use"));
        }
        std::fs::write(SIZE, bytes.to_string()).map_err(|error| skip_or_panic(SIZE, error))?;
        Ok(Zram { _lock: lock })
    }

    /// The block device.
    pub fn path(&self) -> &Path {
        Path::new("/dev/zram0")
    }
}

impl Drop for Zram {
    fn drop(&mut self) {
        if let Err(error) = std::fs::write("/sys/block/zram0/reset", "1") {
            eprintln!("warning: zram0 was not reset: {error}");
        }
    }
}
