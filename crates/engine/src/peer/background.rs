//! Going on in the background, as servers do: the shell gets its prompt back, and no terminal ends us.
//!
//! Whoever started us hears first whether we came so far that there is something to connect to: until then the standard
//! streams are the terminal's, and an end is told with its status.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{AsRawFd, FromRawFd};

use crate::failure::Failure;
use crate::memory::errno;

/// How long who started us waits for the word at most, ms.
const WORD_MS: i32 = 60_000;

/// A departure that who started us was not yet told of.
#[derive(Debug)]
pub struct Departure(Option<File>);

/// Leaves the terminal: whoever started us goes on once [`Departure::settle`] says so, or ends with our status. To be
/// called before there is another thread.
///
/// # Errors
/// When no process can be made.
pub fn go() -> Result<Departure, Failure> {
    let mut ends = [-1; 2];
    // SAFETY: the array is valid for writing both descriptors, which are ours alone then.
    let (hears, tells) = unsafe {
        if libc::pipe(ends.as_mut_ptr()) < 0 {
            return Err(Failure::call("pipe", errno()));
        }
        (File::from_raw_fd(ends[0]), File::from_raw_fd(ends[1]))
    };
    // SAFETY: there is one thread; the parent leaves without running anything of ours but its wait.
    match unsafe { libc::fork() } {
        -1 => Err(Failure::call("fork", errno())),
        0 => {
            // SAFETY: a child of a fork leads no group, so that it may begin a session; the descriptor is ours.
            unsafe {
                libc::setsid();
                libc::fcntl(tells.as_raw_fd(), libc::F_SETFD, libc::FD_CLOEXEC);
            }
            Ok(Departure(Some(tells)))
        }
        child => {
            drop(tells);
            leave(hears, child)
        }
    }
}

/// Waits for the word, or for the child's end.
fn leave(mut hears: File, child: libc::pid_t) -> ! {
    let mut polled = libc::pollfd { fd: hears.as_raw_fd(), events: libc::POLLIN, revents: 0 };
    // SAFETY: the one descriptor is valid for the call.
    let heard = unsafe { libc::poll(&raw mut polled, 1, WORD_MS) };
    let mut status = 0;
    if heard > 0 && !matches!(hears.read(&mut [0]), Ok(1)) {
        // SAFETY: the number is that of our own child, and the status is valid for writing.
        unsafe { libc::waitpid(child, &raw mut status, 0) };
        status = if libc::WIFEXITED(status) { libc::WEXITSTATUS(status) } else { 1 };
    }
    // SAFETY: nothing is left to be done here.
    unsafe { libc::_exit(status) }
}

impl Departure {
    /// There is something to connect to: who started us goes on, and the standard streams lead nowhere.
    pub fn settle(&mut self) {
        let Some(mut tells) = self.0.take() else { return };
        // SAFETY: the descriptors are the standard ones, and one that is ours.
        unsafe {
            let nowhere = libc::open(c"/dev/null".as_ptr(), libc::O_RDWR);
            if nowhere >= 0 {
                for stream in 0..3 {
                    libc::dup2(nowhere, stream);
                }
                if nowhere > 2 {
                    libc::close(nowhere);
                }
            }
        }
        // Nobody may be there any more.
        let _ = tells.write_all(&[0]);
    }
}

/// Whether a process is there, whosever it is.
pub fn is_alive(pid: u32) -> bool {
    // SAFETY: signal 0 is only checked, never sent.
    let answer = unsafe { libc::kill(pid as i32, 0) };
    answer == 0 || errno() == libc::EPERM
}
