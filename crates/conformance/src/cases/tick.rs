//! Time stamps that have moved on: instead of sleeping for a second, a file of our own is asked.
//!
//! Whether stamps move by nanoseconds, by the kernel's tick or by seconds is the file system's affair. What was stamped
//! before [`wait`] has an earlier time than what is stamped after it.

use std::fs::{File, OpenOptions};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::time::Duration;

use super::process::{done, pause};
use iodyno_engine::clock::moment;

/// The name of the file.
const NAME: &str = ".tick";
/// Coarser than this no file system's stamps are: FAT's two seconds.
const COARSEST: Duration = Duration::from_secs(5);
/// Finer than this most stamps are: the longest tick of a kernel is 10 ms.
const FINE: Duration = Duration::from_millis(25);

type Stamp = (i64, i64);

/// Opens the file, in a directory of our own.
///
/// # Errors
/// The system's error number.
pub fn open(directory: &Path) -> Result<File, i32> {
    let mut how = OpenOptions::new();
    how.read(true).write(true).create(true).truncate(false).mode(0o600);
    how.open(directory.join(NAME)).map_err(|error| error.raw_os_error().unwrap_or(libc::EIO))
}

/// Waits until stamps have moved on.
///
/// # Errors
/// The system's error number; ETIME: they did not within five seconds.
pub fn wait(file: &File) -> Result<(), i32> {
    let before = stamp(file)?;
    let began = moment();
    let mut time = Duration::from_micros(200);
    loop {
        // Where a file system forgets one of the two when its times are set, a write moves it all the same.
        if moment() > began + FINE {
            file.write_at(b".", 0).map_err(|error| error.raw_os_error().unwrap_or(libc::EIO))?;
        }
        let now = stamp(file)?;
        if now.0 > before.0 && now.1 > before.1 {
            return Ok(());
        }
        if moment() > began + COARSEST {
            return Err(libc::ETIME);
        }
        pause(time);
        time = (time * 2).min(Duration::from_millis(if now.0.1 == 0 { 20 } else { 2 }));
    }
}

/// Whether stamps have whole seconds only, as far as two of them tell.
pub fn is_slow(file: &File) -> bool {
    let whole = || {
        pause(Duration::from_millis(5));
        stamp(file).is_ok_and(|(modified, _)| modified.1 == 0)
    };
    whole() && whole()
}

/// Touches the file: its times of modification and of change.
fn stamp(file: &File) -> Result<(Stamp, Stamp), i32> {
    // SAFETY: no times are given: both become the present.
    done(unsafe { libc::futimens(file.as_raw_fd(), std::ptr::null()) })?;
    let about = file.metadata().map_err(|error| error.raw_os_error().unwrap_or(libc::EIO))?;
    Ok(((about.mtime(), about.mtime_nsec()), (about.ctime(), about.ctime_nsec())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_stamped_after_a_tick_is_later() {
        let folder = tempfile::tempdir().unwrap();
        let file = open(folder.path()).unwrap();
        let other = folder.path().join("other");
        for _ in 0..20 {
            std::fs::write(&other, "a").unwrap();
            let before = std::fs::metadata(&other).unwrap();
            wait(&file).unwrap();
            std::fs::write(&other, "b").unwrap();
            let after = std::fs::metadata(&other).unwrap();
            assert!((before.mtime(), before.mtime_nsec()) < (after.mtime(), after.mtime_nsec()));
        }
    }
}
