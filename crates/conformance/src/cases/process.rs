//! The few system calls by which processes are made, distinguished, watched and ended.
//!
//! Everything here is small and plain: who is forked when, and what becomes of him, is decided elsewhere.

use std::ffi::CString;
use std::fs::DirBuilder;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::DirBuilderExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::time::Duration;

use iodyno_model::Actor;

use iodyno_engine::clock::moment;
use iodyno_engine::memory::errno;

/// The user or group of an actor who is whoever runs the cases.
pub const SAME: u32 = u32::MAX;

/// Forks a process that does one thing and ends. It must not return into what its parent was about, so it ends by
/// `_exit`, without running its parent's destructors.
///
/// # Errors
/// The system's error number.
pub fn spawn(body: impl FnOnce()) -> Result<libc::pid_t, i32> {
    // SAFETY: what the child runs allocates, which the C library's fork allows, and takes no lock of another thread.
    match unsafe { libc::fork() } {
        -1 => Err(errno()),
        0 => {
            let outcome = catch_unwind(AssertUnwindSafe(body));
            // SAFETY: ends the child.
            unsafe { libc::_exit(if outcome.is_ok() { 0 } else { PANICKED }) }
        }
        pid => Ok(pid),
    }
}

/// The exit status of a process that ran into a defect of this program.
pub const PANICKED: i32 = 101;

/// How a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// By itself, with a status.
    Status(i32),
    Signal(i32),
}

/// Collects a child if it has ended. One that is nobody's child any more counts as ended.
pub fn collect(pid: libc::pid_t) -> Option<End> {
    let mut status = 0;
    loop {
        // SAFETY: `status` is valid for writing.
        match unsafe { libc::waitpid(pid, &raw mut status, libc::WNOHANG) } {
            0 => return None,
            -1 if errno() == libc::EINTR => {}
            -1 => return Some(End::Status(0)),
            _ if libc::WIFSIGNALED(status) => return Some(End::Signal(libc::WTERMSIG(status))),
            _ => return Some(End::Status(libc::WEXITSTATUS(status))),
        }
    }
}

/// Looks for something again and again, at longer and longer distances, until it is there or the time is over.
pub fn look_within<T>(limit: Option<Duration>, mut look: impl FnMut() -> Option<T>) -> Option<T> {
    let until = limit.map(|limit| moment() + limit);
    let mut time = Duration::from_micros(20);
    loop {
        if let Some(found) = look() {
            return Some(found);
        }
        if until.is_some_and(|until| moment() >= until) {
            return None;
        }
        pause(time);
        time = (time * 2).min(Duration::from_millis(5));
    }
}

/// Collects a child that ends within a time.
pub fn collect_within(pid: libc::pid_t, limit: Duration) -> Option<End> {
    look_within(Some(limit), || collect(pid))
}

/// Waits a while for the end of a child, and leaves it to be collected.
pub fn ends_within(pid: libc::pid_t, limit: Duration) -> bool {
    let look = || ended(libc::P_PID, pid as libc::id_t).is_none_or(|found| found == pid).then_some(());
    look_within(Some(limit), look).is_some()
}

/// A child that has ended and was not collected, 0 where none has; `None`: there is no such child.
fn ended(kind: libc::idtype_t, number: libc::id_t) -> Option<libc::pid_t> {
    // SAFETY: an all-zero structure is a valid one, and it is valid for writing.
    unsafe {
        let mut info: libc::siginfo_t = std::mem::zeroed();
        let flags = libc::WEXITED | libc::WNOHANG | libc::WNOWAIT;
        (libc::waitid(kind, number, &raw mut info, flags) == 0).then(|| info.si_pid())
    }
}

/// Makes a directory that everybody may search and its owner may write to, whatever the mask.
///
/// # Errors
/// The system's reason.
pub fn make_directory(path: &Path) -> std::io::Result<()> {
    DirBuilder::new().mode(0o755).create(path)
}

/// Collects every child that has ended and that nobody waits for by its number.
pub fn collect_strays(known: impl Fn(libc::pid_t) -> bool) {
    // The first that ended is a known one: the others wait until it has been collected.
    while let Some(pid) = ended(libc::P_ALL, 0).filter(|pid| *pid != 0 && !known(*pid)) {
        collect(pid);
    }
}

/// Kills a process.
pub fn kill(pid: libc::pid_t) {
    // SAFETY: the call takes no pointers; the process is a child of ours that was not collected.
    unsafe { libc::kill(pid, libc::SIGKILL) };
}

/// Kills all that is left of the group that a process made for itself.
pub fn kill_group(leader: libc::pid_t) {
    // SAFETY: as above.
    unsafe { libc::kill(-leader, libc::SIGKILL) };
}

/// Makes a group of its own of this process.
pub fn lead_group() {
    // SAFETY: the call takes no pointers.
    unsafe { libc::setpgid(0, 0) };
}

/// This process dies when its parent does.
pub fn die_with_parent() {
    // SAFETY: the call takes no pointers.
    unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) };
}

/// Takes this process out of its terminal's session, away from what signals it and from what reads its output.
pub fn detach(keep: &[RawFd]) {
    // SAFETY: the calls take no memory but a path that ends with a zero byte, and three standard descriptors.
    unsafe {
        libc::setsid();
        for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGQUIT, libc::SIGPIPE] {
            libc::signal(signal, libc::SIG_IGN);
        }
        let mut none: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut none);
        libc::sigprocmask(libc::SIG_SETMASK, &raw const none, std::ptr::null_mut());
        let null = libc::open(c"/dev/null".as_ptr(), libc::O_RDWR);
        (0..3).for_each(|standard| _ = libc::dup2(null, standard));
    }
    close_all_but(keep);
}

/// Closes every descriptor above the standard ones that is not named.
pub fn close_all_but(keep: &[RawFd]) {
    let mut keep = keep.to_vec();
    keep.sort_unstable();
    let mut first: u32 = 3;
    for kept in keep.into_iter().map(|fd| fd as u32).chain([u32::MAX]) {
        if kept > first {
            close_range(first, kept - 1);
        }
        first = first.max(kept.saturating_add(1));
    }
}

fn close_range(first: u32, last: u32) {
    // SAFETY: whoever owned these descriptors does not run in this process any more.
    unsafe { libc::syscall(libc::SYS_close_range, first, last, 0) };
}

/// Which of the descriptors can be read, or have come to their end, within a time.
pub fn readable(fds: &[RawFd], limit: Duration) -> Vec<bool> {
    let mut asked: Vec<_> =
        fds.iter().map(|fd| libc::pollfd { fd: *fd, events: libc::POLLIN, revents: 0 }).collect();
    let limit = libc::timespec {
        tv_sec: limit.as_secs() as libc::time_t,
        tv_nsec: libc::c_long::from(limit.subsec_nanos() as i32),
    };
    // SAFETY: the structures are valid for the call, and so is their number.
    let found = unsafe {
        libc::ppoll(asked.as_mut_ptr(), asked.len() as libc::nfds_t, &raw const limit, std::ptr::null())
    };
    if found < 1 {
        return vec![false; fds.len()];
    }
    asked.iter().map(|one| one.revents != 0).collect()
}

/// A descriptor that can be read once the process has ended.
pub fn watch(pid: libc::pid_t) -> Option<OwnedFd> {
    // SAFETY: the call takes no pointers; the descriptor it gives is ours alone.
    unsafe {
        let fd = libc::syscall(libc::SYS_pidfd_open, pid, 0) as RawFd;
        (fd >= 0).then(|| OwnedFd::from_raw_fd(fd))
    }
}

/// Whether a call of the C library that answers 0 did so.
pub fn done(result: libc::c_int) -> Result<(), i32> {
    if result < 0 { Err(errno()) } else { Ok(()) }
}

/// What follows in this process, or in its next child, lives in name spaces of its own.
///
/// # Errors
/// The system's error number.
pub fn unshare(what: libc::c_int) -> Result<(), i32> {
    // SAFETY: the call takes no pointers.
    done(unsafe { libc::unshare(what) })
}

/// Goes back to a name space.
pub fn enter(space: BorrowedFd<'_>, what: libc::c_int) {
    // SAFETY: the descriptor is open.
    unsafe { libc::setns(space.as_raw_fd(), what) };
}

/// Orphans among its descendants become children of this process.
pub fn adopt_orphans() {
    // SAFETY: the call takes no pointers.
    unsafe { libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1) };
}

/// Sets this process's file mode creation mask.
pub fn set_umask(mask: u32) {
    // SAFETY: the call takes no pointers.
    unsafe { libc::umask(mask as libc::mode_t) };
}

/// Who this process is: its effective user and group.
pub fn identity() -> (u32, u32) {
    // SAFETY: the calls take nothing.
    unsafe { (libc::geteuid(), libc::getegid()) }
}

/// Whether an actor is whoever runs the cases.
pub fn is_same(actor: &Actor) -> bool {
    let ids = (actor.uid, actor.gid);
    actor.groups.is_empty() && (ids == (SAME, SAME) || ids == identity())
}

/// Takes an identity for good.
///
/// # Errors
/// Which call failed, and why.
pub fn become_actor(actor: &Actor) -> Result<(), String> {
    set_umask(actor.umask);
    if is_same(actor) {
        return Ok(());
    }
    let groups: Vec<libc::gid_t> = actor.groups.clone();
    // The system takes -1 as what it is already, and so do we.
    let (user, group) = (actor.uid, actor.gid);
    // SAFETY: the list is as long as is said; the other calls take no pointers.
    let steps = unsafe {
        let groups = libc::setgroups(groups.len(), groups.as_ptr());
        let failed = |result: libc::c_int, name: &'static str| (result != 0).then_some(name);
        failed(groups, "setgroups")
            .or_else(|| failed(libc::setresgid(group, group, group), "setresgid"))
            .or_else(|| failed(libc::setresuid(user, user, user), "setresuid"))
    };
    match steps {
        None => Ok(()),
        Some(name) => Err(format!("{name}: {}", std::io::Error::from_raw_os_error(errno()))),
    }
}

/// Whether this process has the privileges that rules about identities, modes and devices need.
pub fn is_privileged() -> bool {
    // chown, DAC override and read search, fowner, fsetid, kill, setgid, setuid, mknod.
    const NEEDED: u64 = 0b1111_1011 | 1 << 27;
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
    identity().0 == 0 && mask & NEEDED == NEEDED
}

/// A path as the system takes it.
///
/// # Errors
/// EINVAL: it holds a zero byte.
pub fn c_path(path: &Path) -> Result<CString, i32> {
    CString::new(path.as_os_str().as_bytes()).map_err(|_| libc::EINVAL)
}

/// Waits, however often it is interrupted.
pub fn pause(time: Duration) {
    std::thread::sleep(time);
}

pub fn signal_name(signal: i32) -> String {
    let name = match signal {
        libc::SIGABRT => "SIGABRT",
        libc::SIGALRM => "SIGALRM",
        libc::SIGBUS => "SIGBUS",
        libc::SIGFPE => "SIGFPE",
        libc::SIGHUP => "SIGHUP",
        libc::SIGILL => "SIGILL",
        libc::SIGINT => "SIGINT",
        libc::SIGIO => "SIGIO",
        libc::SIGKILL => "SIGKILL",
        libc::SIGPIPE => "SIGPIPE",
        libc::SIGSEGV => "SIGSEGV",
        libc::SIGSYS => "SIGSYS",
        libc::SIGTERM => "SIGTERM",
        libc::SIGXCPU => "SIGXCPU",
        libc::SIGXFSZ => "SIGXFSZ",
        other => return format!("signal {other}"),
    };
    name.into()
}
