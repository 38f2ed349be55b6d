//! Answers the kernel for a mount that others have made.

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread::JoinHandle;

use fuser::{Config, Session, SessionACL};

use super::observer::CallObserver;
use super::passthrough::Passthrough;
use super::unsynced::UnsyncedStore;
use super::unsynced_names::UnsyncedNames;

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
    let system = Passthrough::new(name, directory, observer)?;
    serve_system(system, device).map(|(thread, _)| thread)
}

/// What the kernel has of files in its page cache.
pub struct KernelPages(fuser::Notifier);

impl KernelPages {
    /// Those of these files go.
    pub fn forget(&self, nodes: &[u64]) {
        for node in nodes {
            // A file that the kernel does not know has no pages.
            let _ = self.0.inval_inode(fuser::INodeNo(*node), 0, 0);
        }
    }
}

/// The same, which holds back what is not synced; and what tells the kernel that its pages are no longer right.
///
/// # Errors
/// The kernel's FUSE is too old, or there are no threads.
pub fn serve_holding(
    name: PathBuf,
    directory: File,
    device: OwnedFd,
    store: Arc<UnsyncedStore>,
    names: Option<Arc<UnsyncedNames>>,
) -> io::Result<(JoinHandle<io::Result<()>>, KernelPages)> {
    let system = Passthrough::new(name, directory, ())?.holding(store, names);
    let (thread, notifier) = serve_system(system, device)?;
    Ok((thread, KernelPages(notifier)))
}

fn serve_system<O: CallObserver>(
    system: Passthrough<O>,
    device: OwnedFd,
) -> io::Result<(JoinHandle<io::Result<()>>, fuser::Notifier)> {
    // The kernel has taken the caller's mask off the modes already.
    // SAFETY: the call takes numbers only.
    unsafe { libc::umask(0) };
    raise_limit();
    let mut config = Config::default();
    config.acl = SessionACL::All;
    config.n_threads = Some(THREADS);
    let session = Session::from_fd(system, device, SessionACL::All, config)?;
    let notifier = session.notifier();
    let serve = move || {
        block_all_signals();
        session.run()
    };
    Ok((std::thread::Builder::new().name("passthrough".into()).spawn(serve)?, notifier))
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
