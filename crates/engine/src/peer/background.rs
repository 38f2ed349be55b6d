//! Going on in the background, as servers do: the shell gets its prompt back, and no terminal ends us.

use crate::failure::Failure;
use crate::memory::errno;

/// Leaves the terminal: whoever started us goes on, and the standard streams lead nowhere. To be called before there is
/// another thread.
///
/// # Errors
/// When no process can be made.
pub fn go() -> Result<(), Failure> {
    // SAFETY: there is one thread; the parent leaves at once without running anything of ours.
    match unsafe { libc::fork() } {
        -1 => return Err(Failure::call("fork", errno())),
        0 => {}
        // SAFETY: nothing is left to be done here.
        _ => unsafe { libc::_exit(0) },
    }
    // SAFETY: a child of a fork leads no group, so that it may begin a session; the descriptors are the standard ones.
    unsafe {
        libc::setsid();
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
    Ok(())
}

/// Whether a process is there, whosever it is.
pub fn is_alive(pid: u32) -> bool {
    // SAFETY: signal 0 is only checked, never sent.
    let answer = unsafe { libc::kill(pid as i32, 0) };
    answer == 0 || errno() == libc::EPERM
}
