//! What every server of a file system needs: to be told to end, and to leave no mount behind.

use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

fn ending_signals() -> libc::sigset_t {
    // SAFETY: sigemptyset initialises the set before anything reads it.
    unsafe {
        let mut set = std::mem::zeroed();
        libc::sigemptyset(&mut set);
        for signal in [libc::SIGTERM, libc::SIGINT, libc::SIGHUP] {
            libc::sigaddset(&mut set, signal);
        }
        set
    }
}

/// Blocks the ending signals in this thread and those it starts, so that [`wait_for_signal`] gets them.
pub fn block_signals() {
    // SAFETY: the set is initialised; the old mask is not asked for.
    unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, &ending_signals(), std::ptr::null_mut()) };
}

/// Returns when an ending signal arrives.
pub fn wait_for_signal() {
    let mut signal = 0;
    // SAFETY: both pointers are valid for the call.
    unsafe { libc::sigwait(&ending_signals(), &mut signal) };
}

/// Takes a mount out of the tree even while it is in use.
pub fn detach(mountpoint: &Path) {
    let Ok(path) = CString::new(mountpoint.as_os_str().as_bytes()) else { return };
    // SAFETY: `path` is a valid C string for the call.
    unsafe { libc::umount2(path.as_ptr(), libc::MNT_DETACH | libc::UMOUNT_NOFOLLOW) };
}

/// Whether something is mounted at exactly this place.
pub fn is_mounted(place: &Path) -> bool {
    let mounts = std::fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    mounts.lines().any(|line| line.split(' ').nth(4).is_some_and(|at| Path::new(at) == place))
}
