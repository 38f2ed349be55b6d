//! Workers as forked processes: an address space, an identity and a control group of their own.
//!
//! Forked while this process has one thread, so that the child may do anything. A child that outlives its parent is
//! killed by the kernel where it can be asked to.

use super::worker_group::Task;
use crate::memory::errno;
use crate::{clock, signal};

/// A forked worker.
pub struct Child {
    pid: libc::pid_t,
    /// Its number within the phase.
    pub number: u32,
}

/// Forks one worker.
///
/// # Errors
/// The system's reason.
pub fn fork(task: &Task, number: u32) -> Result<Child, String> {
    let parent = signal::own_pid();
    // SAFETY: this process has one thread here, so the child may run any code; it ends by `_exit`, without running
    // the parent's destructors or flushing its buffers.
    match unsafe { libc::fork() } {
        -1 => Err(format!("cannot fork: {}", std::io::Error::from_raw_os_error(errno()))),
        0 => {
            signal::end_with(parent);
            signal::leave_to_the_conductor();
            clock::wake_in_time();
            task(number);
            // SAFETY: ends the child.
            unsafe { libc::_exit(0) }
        }
        pid => Ok(Child { pid, number }),
    }
}

/// Interrupts the system call that a child is in.
pub fn nudge(child: &Child) {
    // SAFETY: the child is ours and was not waited for; it inherited a handler that does nothing.
    unsafe { libc::kill(child.pid, signal::NUDGE) };
}

/// Collects children that have ended; reports those that did not end by themselves.
pub fn reap(children: &mut Vec<Child>) -> Vec<(u32, String)> {
    let mut deaths = Vec::new();
    children.retain(|child| {
        let mut status = 0;
        // SAFETY: `status` is valid for writing.
        let ended = unsafe { libc::waitpid(child.pid, &raw mut status, libc::WNOHANG) } == child.pid;
        if ended && libc::WIFSIGNALED(status) {
            deaths
                .push((child.number, format!("its process was killed by signal {}", libc::WTERMSIG(status))));
        } else if ended && libc::WEXITSTATUS(status) != 0 {
            deaths
                .push((child.number, format!("its process ended with status {}", libc::WEXITSTATUS(status))));
        }
        !ended
    });
    deaths
}

pub fn wait(children: &mut Vec<Child>) {
    for child in children.drain(..) {
        // SAFETY: no status is wanted. A signal's EINTR is retried.
        while unsafe { libc::waitpid(child.pid, std::ptr::null_mut(), 0) } < 0 && errno() == libc::EINTR {}
    }
}

pub fn kill(children: &mut Vec<Child>) {
    for child in children.iter() {
        // SAFETY: the child is ours and was not waited for.
        unsafe { libc::kill(child.pid, libc::SIGKILL) };
    }
    wait(children);
}
