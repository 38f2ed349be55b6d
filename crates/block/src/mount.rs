//! Mounts that go with their owner.

use std::ffi::CString;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How often a file system that is in use is asked to go before it is detached.
const ATTEMPTS: u32 = 20;
const PAUSE: Duration = Duration::from_millis(5);

/// A directory on which something is mounted. Dropping it unmounts it, detached if it is still in use.
#[derive(Debug)]
pub struct MountedDirectory {
    place: PathBuf,
}

impl MountedDirectory {
    /// Mounts `source` (a device's path, or any word for a file system without one) on an existing directory, with
    /// mount(8)'s comma-separated options: `ro,noatime,size=1m`.
    ///
    /// # Errors
    /// That of mount(2).
    pub fn mount(
        source: &Path,
        place: &Path,
        file_system: &str,
        options: &str,
    ) -> io::Result<MountedDirectory> {
        mount(source, place, file_system, options)?;
        Ok(MountedDirectory::adopt(place))
    }

    /// Takes care of what a program has mounted there.
    pub fn adopt(place: &Path) -> MountedDirectory {
        MountedDirectory { place: place.into() }
    }

    /// Where it is mounted.
    pub fn path(&self) -> &Path {
        &self.place
    }

    /// Unmounts it, and waits until nobody uses it any more.
    ///
    /// # Errors
    /// EBUSY: it is in use, and is detached now; others are those of umount2(2).
    pub fn unmount(self) -> io::Result<()> {
        let done = leave(&self.place);
        std::mem::forget(self);
        done
    }
}

impl Drop for MountedDirectory {
    fn drop(&mut self) {
        let _ = leave(&self.place);
    }
}

fn leave(place: &Path) -> io::Result<()> {
    let mut last = Ok(());
    for _ in 0..ATTEMPTS {
        last = unmount(place, 0);
        match &last {
            Err(error) if error.raw_os_error() == Some(libc::EBUSY) => std::thread::sleep(PAUSE),
            // Somebody else has unmounted it.
            Err(error) if matches!(error.raw_os_error(), Some(libc::EINVAL | libc::ENOENT)) => return Ok(()),
            _ => return last,
        }
    }
    unmount(place, libc::MNT_DETACH)?;
    last
}

/// Takes the uppermost mount off a place, never through a link.
///
/// # Errors
/// That of umount2(2): EINVAL where nothing is mounted.
pub fn unmount(place: &Path, flags: libc::c_int) -> io::Result<()> {
    let place = text(place.as_os_str().as_bytes())?;
    // SAFETY: `place` is a valid C string for the call.
    done(unsafe { libc::umount2(place.as_ptr(), flags | libc::UMOUNT_NOFOLLOW) })
}

/// mount(2) with the options of mount(8).
///
/// # Errors
/// That of mount(2).
pub fn mount(source: &Path, place: &Path, file_system: &str, options: &str) -> io::Result<()> {
    let (source, place) = (text(source.as_os_str().as_bytes())?, text(place.as_os_str().as_bytes())?);
    let (flags, data) = split_options(options);
    let (file_system, data) = (text(file_system.as_bytes())?, text(data.as_bytes())?);
    // SAFETY: all four are valid C strings for the call; every file system takes its data as one.
    done(unsafe {
        libc::mount(source.as_ptr(), place.as_ptr(), file_system.as_ptr(), flags, data.as_ptr().cast())
    })
}

/// Gives this thread, and those that it starts, mounts of its own: nobody else sees what it mounts, and all of it goes with
/// the last of them, even if the process is killed.
///
/// # Errors
/// EPERM: whoever runs this must not mount.
pub fn hide_mounts() -> io::Result<()> {
    // SAFETY: the call takes numbers only, and changes this thread alone.
    done(unsafe { libc::unshare(libc::CLONE_NEWNS) })?;
    mount(Path::new("none"), Path::new("/"), "none", "rec,private")
}

/// Bytes that a user may still write where this directory lies; none: the file system does not say.
pub fn free_bytes(directory: &Path) -> Option<u64> {
    let path = text(directory.as_os_str().as_bytes()).ok()?;
    // SAFETY: statvfs fills the zeroed struct, which is plain integers.
    let mut facts: libc::statvfs = unsafe { std::mem::zeroed() };
    // SAFETY: both pointers are valid for the call.
    let failed = unsafe { libc::statvfs(path.as_ptr(), &mut facts) } != 0;
    (!failed).then(|| facts.f_bavail as u64 * facts.f_frsize as u64)
}

fn text(bytes: &[u8]) -> io::Result<CString> {
    CString::new(bytes).map_err(io::Error::other)
}

fn done(result: libc::c_int) -> io::Result<()> {
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// The options that are flags of mount(2), and the rest, which the file system itself reads.
fn split_options(options: &str) -> (libc::c_ulong, String) {
    let mut flags = 0;
    let mut data = Vec::new();
    for option in options.split(',').filter(|option| !option.is_empty() && *option != "rw") {
        match option {
            "ro" => flags |= libc::MS_RDONLY,
            "bind" => flags |= libc::MS_BIND,
            "rec" => flags |= libc::MS_REC,
            "private" => flags |= libc::MS_PRIVATE,
            "remount" => flags |= libc::MS_REMOUNT,
            "noatime" => flags |= libc::MS_NOATIME,
            "nodiratime" => flags |= libc::MS_NODIRATIME,
            "relatime" => flags |= libc::MS_RELATIME,
            "strictatime" => flags |= libc::MS_STRICTATIME,
            "lazytime" => flags |= libc::MS_LAZYTIME,
            "nodev" => flags |= libc::MS_NODEV,
            "nosuid" => flags |= libc::MS_NOSUID,
            "noexec" => flags |= libc::MS_NOEXEC,
            "sync" => flags |= libc::MS_SYNCHRONOUS,
            "dirsync" => flags |= libc::MS_DIRSYNC,
            other => data.push(other),
        }
    }
    (flags, data.join(","))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_and_data_are_told_apart() {
        assert_eq!(
            split_options("ro,size=1m,noatime"),
            (libc::MS_RDONLY | libc::MS_NOATIME, "size=1m".into())
        );
        assert_eq!(split_options(""), (0, String::new()));
    }
}
