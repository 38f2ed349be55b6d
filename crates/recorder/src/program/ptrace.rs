//! The requests of `ptrace` that a recorder makes, without their pointers.

use std::io;

/// What a thread stopped for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// It begins a call of interest.
    Entry {
        number: u64,
        arguments: [u64; 6],
    },
    /// A call ended; an error is its negative number.
    Exit {
        result: i64,
    },
    Neither,
}

/// `struct ptrace_syscall_info` as words: the operation with the architecture, two addresses, and what the operation has.
const INFO_WORDS: usize = 11;
const ENTRY: u8 = 1;
const EXIT: u8 = 2;
const SECCOMP: u8 = 3;

pub fn syscall_info(thread: u32) -> io::Result<Stop> {
    let mut words = [0u64; INFO_WORDS];
    // SAFETY: the kernel writes at most as many bytes as the third argument says, into `words`.
    let done = unsafe {
        libc::ptrace(
            libc::PTRACE_GET_SYSCALL_INFO,
            thread as libc::pid_t,
            size_of_val(&words),
            words.as_mut_ptr(),
        )
    };
    if done < 0 {
        return Err(io::Error::last_os_error());
    }
    let arguments = [words[4], words[5], words[6], words[7], words[8], words[9]];
    Ok(match words[0] as u8 {
        ENTRY | SECCOMP => Stop::Entry { number: words[3], arguments },
        EXIT => Stop::Exit { result: words[3] as i64 },
        _ => Stop::Neither,
    })
}

/// How a thread goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resume {
    /// To the next call of interest, with this signal or 0.
    Run(i32),
    /// To the end of the call that it is in.
    ToExit,
    /// It stays stopped, as job control wants it, until it is continued.
    StayStopped,
}

/// A thread that is gone is no error: its end is reported by `wait`.
pub fn resume(thread: u32, how: Resume) {
    let (request, signal) = match how {
        Resume::Run(signal) => (libc::PTRACE_CONT, signal),
        Resume::ToExit => (libc::PTRACE_SYSCALL, 0),
        Resume::StayStopped => (libc::PTRACE_LISTEN, 0),
    };
    // SAFETY: these requests take no pointers.
    unsafe { libc::ptrace(request, thread as libc::pid_t, 0, i64::from(signal)) };
}

/// Asks a thread to stop soon.
pub fn interrupt(thread: u32) {
    // SAFETY: the request takes no pointers.
    unsafe { libc::ptrace(libc::PTRACE_INTERRUPT, thread as libc::pid_t, 0, 0) };
}

/// Begins to trace a process and all that it will make; all of them end with this one.
pub fn seize(process: u32) -> io::Result<()> {
    let options = libc::PTRACE_O_TRACESECCOMP
        | libc::PTRACE_O_TRACESYSGOOD
        | libc::PTRACE_O_TRACEFORK
        | libc::PTRACE_O_TRACEVFORK
        | libc::PTRACE_O_TRACECLONE
        | libc::PTRACE_O_TRACEEXEC
        | libc::PTRACE_O_TRACEEXIT
        | libc::PTRACE_O_EXITKILL;
    // SAFETY: the request takes no pointers.
    match unsafe { libc::ptrace(libc::PTRACE_SEIZE, process as libc::pid_t, 0, i64::from(options)) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// The number that comes with an event: of a new thread, or the former one of a thread that executed a program.
pub fn event_message(thread: u32) -> io::Result<u64> {
    let mut message: libc::c_ulong = 0;
    // SAFETY: the kernel writes one word into `message`.
    match unsafe { libc::ptrace(libc::PTRACE_GETEVENTMSG, thread as libc::pid_t, 0, &raw mut message) } {
        0 => Ok(message),
        _ => Err(io::Error::last_os_error()),
    }
}

/// The call that a thread is in, and its first argument: at events, which [`syscall_info`] does not describe.
#[cfg(target_arch = "x86_64")]
pub fn current_call(thread: u32) -> Option<(i64, u64)> {
    // SAFETY: the structure is plain numbers, for which zero is a value.
    let mut registers: libc::user_regs_struct = unsafe { std::mem::zeroed() };
    // SAFETY: the kernel writes one `user_regs_struct` into `registers`.
    let done = unsafe { libc::ptrace(libc::PTRACE_GETREGS, thread as libc::pid_t, 0, &raw mut registers) };
    (done == 0).then_some((registers.orig_rax as i64, registers.rdi))
}

#[cfg(target_arch = "aarch64")]
pub fn current_call(thread: u32) -> Option<(i64, u64)> {
    /// `struct user_pt_regs`: 31 registers, the stack, the program counter, the state.
    const WORDS: usize = 34;
    const NT_PRSTATUS: usize = 1;
    let mut registers = [0u64; WORDS];
    let mut vector =
        libc::iovec { iov_base: registers.as_mut_ptr().cast(), iov_len: size_of_val(&registers) };
    // SAFETY: the kernel writes at most the vector's length into `registers`.
    let done =
        unsafe { libc::ptrace(libc::PTRACE_GETREGSET, thread as libc::pid_t, NT_PRSTATUS, &raw mut vector) };
    (done == 0).then_some((registers[8] as i64, registers[0]))
}

/// What `wait` reports of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Report {
    Exited(i32),
    Killed(i32),
    /// Stopped by this signal, with the event of `ptrace` or 0.
    Stopped {
        signal: i32,
        event: i32,
    },
}

/// The next report of what this thread traces; none: there is none yet. `waits`: until there is one.
///
/// # Errors
/// Nothing is traced any more; a signal arrived.
pub fn wait(waits: bool) -> io::Result<Option<(u32, Report)>> {
    let mut status = 0;
    let options = libc::__WALL | libc::__WNOTHREAD | if waits { 0 } else { libc::WNOHANG };
    // SAFETY: the kernel writes one number into `status`.
    let thread = unsafe { libc::waitpid(-1, &raw mut status, options) };
    if thread < 0 {
        return Err(io::Error::last_os_error());
    }
    let report = match status {
        _ if thread == 0 => return Ok(None),
        status if libc::WIFEXITED(status) => Report::Exited(libc::WEXITSTATUS(status)),
        status if libc::WIFSIGNALED(status) => Report::Killed(libc::WTERMSIG(status)),
        status => Report::Stopped { signal: libc::WSTOPSIG(status), event: status >> 16 },
    };
    Ok(Some((thread as u32, report)))
}
