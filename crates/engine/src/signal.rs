//! Ctrl-C, SIGTERM and SIGUSR1, as flags that the conductor looks at.
//!
//! The first interruption stops the workers and reports; a second one stops waiting for them.

use std::sync::atomic::{AtomicI32, AtomicU32, AtomicU64, Ordering::SeqCst};

use crate::clock;

static INTERRUPTIONS: AtomicU32 = AtomicU32::new(0);
static LAST: AtomicI32 = AtomicI32::new(0);
static ASKED: AtomicU32 = AtomicU32::new(0);
/// When the first interruption came.
static SINCE: AtomicU64 = AtomicU64::new(0);

/// How long after its SIGTERM a launcher is trusted to wait before it kills, less what a report takes: they give a
/// second, ns.
const TERM_NS: u64 = 400_000_000;

extern "C" fn interrupted(signal: libc::c_int) {
    if INTERRUPTIONS.fetch_add(1, SeqCst) == 0 {
        SINCE.store(clock::monotonic(), SeqCst);
    }
    LAST.store(signal, SeqCst);
}

extern "C" fn asked(_signal: libc::c_int) {
    ASKED.fetch_add(1, SeqCst);
}

extern "C" fn nudged(_signal: libc::c_int) {}

/// Interrupts a worker's system call, and nothing else.
pub const NUDGE: libc::c_int = libc::SIGUSR2;

/// Takes over the signals that end or question a run. Signals that the parent ignores stay ignored.
pub fn install() {
    for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
        handle(signal, interrupted as *const () as libc::sighandler_t);
    }
    handle(libc::SIGUSR1, asked as *const () as libc::sighandler_t);
    handle(NUDGE, nudged as *const () as libc::sighandler_t);
}

fn handle(signal: libc::c_int, action: libc::sighandler_t) {
    // SAFETY: both structures are valid for the calls, and the handlers only touch atomics.
    unsafe {
        let mut old: libc::sigaction = std::mem::zeroed();
        libc::sigaction(signal, std::ptr::null(), &raw mut old);
        if old.sa_sigaction == libc::SIG_IGN {
            return;
        }
        let mut new: libc::sigaction = std::mem::zeroed();
        new.sa_sigaction = action;
        libc::sigemptyset(&raw mut new.sa_mask);
        libc::sigaction(signal, &raw const new, std::ptr::null_mut());
    }
}

/// A peer or a reader that has gone away is reported by the call that meets it.
pub fn ignore_pipes() {
    // SAFETY: ignoring a signal is always allowed.
    unsafe { libc::signal(libc::SIGPIPE, libc::SIG_IGN) };
}

/// In a process just forked: the kernel ends it when its parent ends. A parent that was killed between the fork and now
/// is not there any more to end it, so it ends by itself.
pub fn end_with(parent: libc::pid_t) {
    // SAFETY: the calls take no pointers.
    unsafe {
        #[cfg(target_os = "linux")]
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
        if libc::getppid() != parent {
            libc::_exit(0);
        }
    }
}

/// The number of this process, for the children it is about to fork.
pub fn own_pid() -> libc::pid_t {
    // SAFETY: the call takes nothing and cannot fail.
    unsafe { libc::getpid() }
}

/// In a worker process: a terminal's Ctrl-C reaches everybody, but only the conductor answers it.
pub fn leave_to_the_conductor() {
    for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGUSR1] {
        // SAFETY: ignoring a signal is always allowed.
        unsafe { libc::signal(signal, libc::SIG_IGN) };
    }
}

/// In a worker thread: signals go to the conductor's thread.
pub fn block_in_this_thread() {
    // SAFETY: the set is valid for the calls.
    unsafe {
        let mut set: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut set);
        for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGUSR1] {
            libc::sigaddset(&raw mut set, signal);
        }
        libc::pthread_sigmask(libc::SIG_BLOCK, &raw const set, std::ptr::null_mut());
    }
}

/// Whether somebody can still read standard output: `false` once the reader of its pipe has gone away.
pub fn is_listened_to() -> bool {
    let mut stream = libc::pollfd { fd: libc::STDOUT_FILENO, events: 0, revents: 0 };
    // SAFETY: the one descriptor's structure is valid for the call, which does not wait.
    let answered = unsafe { libc::poll(&raw mut stream, 1, 0) };
    answered < 1 || stream.revents & libc::POLLERR == 0
}

/// Stops the run as a signal would: whoever read the report has gone away.
pub fn nobody_listens() {
    interrupted(libc::SIGPIPE);
}

/// Stops the run because another rank was interrupted; not again where this one was too.
pub fn interrupted_elsewhere(signal: i32) {
    if interruptions().0 == 0 {
        interrupted(signal);
    }
}

/// Whether there is no time left to wait for other ranks: the launcher, who said SIGTERM, will kill us soon, or the user
/// said stop twice.
pub fn is_hurried() -> bool {
    match interruptions() {
        (0, _) => false,
        (1, libc::SIGTERM) => clock::monotonic().saturating_sub(SINCE.load(SeqCst)) > TERM_NS,
        (count, _) => count > 1,
    }
}

/// Ends the program by a signal's default action, as if it had never been taken over.
pub fn die_of(signal: i32) {
    // SAFETY: restoring the default action and raising a signal touch no memory of ours.
    unsafe {
        libc::signal(signal, libc::SIG_DFL);
        libc::raise(signal);
    }
}

/// How often the user has said stop, and by which signal last.
pub fn interruptions() -> (u32, i32) {
    (INTERRUPTIONS.load(SeqCst), LAST.load(SeqCst))
}

/// Forgets a terminal's Ctrl-C that came since there were so many interruptions: it was for the program that had the terminal.
pub fn forget_interrupts(before: u32) {
    if LAST.load(SeqCst) == libc::SIGINT {
        INTERRUPTIONS.store(before, SeqCst);
    }
}

/// Whether the user has asked for figures since the last call.
pub fn was_asked() -> bool {
    ASKED.swap(0, SeqCst) > 0
}
