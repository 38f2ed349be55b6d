//! Answers the kernel for a mount that others have made.

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::thread::JoinHandle;

use fuser::{Config, Session, SessionACL};

use super::observer::CallObserver;
use super::passthrough::Passthrough;

/// Threads that answer.
const THREADS: usize = 4;

/// Answers what a mount asks until it is gone.
///
/// # Errors
/// The kernel's FUSE is too old, or there are no threads.
pub fn serve<O: CallObserver>(
    name: PathBuf,
    directory: File,
    device: OwnedFd,
    observer: O,
) -> io::Result<JoinHandle<io::Result<()>>> {
    // The kernel has taken the caller's mask off the modes already.
    // SAFETY: the call takes numbers only.
    unsafe { libc::umask(0) };
    raise_limit();
    let mut config = Config::default();
    config.acl = SessionACL::All;
    config.n_threads = Some(THREADS);
    let system = Passthrough::new(name, directory, observer)?;
    let session = Session::from_fd(system, device, SessionACL::All, config)?;
    let serve = move || {
        block_all_signals();
        session.run()
    };
    std::thread::Builder::new().name("passthrough".into()).spawn(serve)
}

/// Each file that the kernel knows has a descriptor.
fn raise_limit() {
    // SAFETY: the structure is valid for the calls.
    unsafe {
        let mut limit: libc::rlimit = std::mem::zeroed();
        if libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) == 0 {
            limit.rlim_cur = limit.rlim_max;
            libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit);
        }
    }
}

/// Signals are for the thread that follows the command: here they would end calls of the program early.
fn block_all_signals() {
    // SAFETY: the set is valid for the calls.
    unsafe {
        let mut set: libc::sigset_t = std::mem::zeroed();
        libc::sigfillset(&raw mut set);
        libc::pthread_sigmask(libc::SIG_BLOCK, &raw const set, std::ptr::null_mut());
    }
}
