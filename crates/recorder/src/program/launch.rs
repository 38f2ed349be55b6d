//! Starts a program under the filter, traced before its first instruction.

use std::ffi::CString;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use iodyno_trace::TraceError;

use super::filter::Instruction;
use super::ptrace;
use crate::plain;

/// A process that waits, traced, until it may execute its program.
pub struct Launch {
    pub process: u32,
    /// It waits until a byte comes from here.
    gate: File,
    /// Says why it could not be executed; ends without a word if it was.
    report: File,
}

/// What failed in the new process.
const FILTER: u8 = b'f';
const EXEC: u8 = b'e';

impl Launch {
    /// # Errors
    /// It cannot be started or traced.
    pub fn start(command: &[String], filter: &[Instruction]) -> Result<Launch, TraceError> {
        let words: Result<Vec<CString>, _> = command.iter().map(|word| CString::new(word.as_str())).collect();
        let words = words.map_err(|_| TraceError::new("a word of the command has a zero byte"))?;
        let mut pointers: Vec<*const libc::c_char> = words.iter().map(|word| word.as_ptr()).collect();
        pointers.push(std::ptr::null());
        let (gate, opener) = pipe()?;
        let (report, reporter) = pipe()?;
        // SAFETY: the new process only makes calls that are allowed between fork and exec, on memory prepared before.
        let process = unsafe { libc::fork() };
        match process {
            -1 => return Err(io::Error::last_os_error().into()),
            0 => {
                let fds = [gate.as_raw_fd(), opener.as_raw_fd(), reporter.as_raw_fd()];
                // SAFETY: this is the new process; the words and the filter live on in its copy of the memory.
                unsafe { become_program(fds, filter, &pointers) }
            }
            _ => {}
        }
        drop((gate, reporter));
        let process = process as u32;
        if let Err(error) = ptrace::seize(process) {
            // Its gate never opens, so it ends.
            drop(opener);
            let _ = ptrace::wait(true);
            return Err(refusal(&error));
        }
        Ok(Launch { process, gate: File::from(opener), report: File::from(report) })
    }

    /// Lets it execute its program.
    ///
    /// # Errors
    /// It is gone.
    pub fn execute(&mut self) -> Result<(), TraceError> {
        self.gate.write_all(b"g").map_err(TraceError::from)
    }

    /// Why the program never ran.
    pub fn failure(mut self) -> TraceError {
        let mut told = Vec::new();
        let _ = self.report.read_to_end(&mut told);
        let [stage, number @ ..] = told.as_slice() else {
            return TraceError::new("it ended before it was executed");
        };
        let number = number.try_into().map(i32::from_ne_bytes).unwrap_or(0);
        let error = io::Error::from_raw_os_error(number);
        match (*stage, number) {
            (FILTER, _) => TraceError::new(format!("the filter of calls is refused: {}", plain(&error)))
                .hint("the kernel needs CONFIG_SECCOMP_FILTER"),
            (_, libc::ENOENT) => {
                TraceError::new("no such program").hint("name it as a shell would find it, or by its path")
            }
            _ => TraceError::new(format!("it cannot be executed: {}", plain(&error))),
        }
    }
}

fn refusal(error: &io::Error) -> TraceError {
    let refusal = TraceError::new(format!("the program cannot be traced: {}", plain(error)));
    match error.raw_os_error() {
        Some(libc::EPERM) => refusal.hint(
            "a container needs the capability SYS_PTRACE, and /proc/sys/kernel/yama/ptrace_scope must be below 3",
        ),
        Some(libc::EINVAL) => refusal.hint("the kernel must be Linux 5.3 or newer"),
        _ => refusal,
    }
}

fn pipe() -> Result<(OwnedFd, OwnedFd), TraceError> {
    let mut fds = [0; 2];
    // SAFETY: the kernel writes two descriptors into `fds`.
    if unsafe { libc::pipe2(fds.as_mut_ptr(), libc::O_CLOEXEC) } < 0 {
        return Err(io::Error::last_os_error().into());
    }
    // SAFETY: both were just made, and nobody else has them.
    Ok(unsafe { (OwnedFd::from_raw_fd(fds[0]), OwnedFd::from_raw_fd(fds[1])) })
}

/// In the new process: waits until it is traced, puts the filter on, executes the program. Never returns.
///
/// # Safety
/// To be called between fork and exec only; `words` ends with a null pointer.
unsafe fn become_program(
    [gate, opener, reporter]: [i32; 3],
    filter: &[Instruction],
    words: &[*const libc::c_char],
) -> ! {
    // SAFETY: plain calls on descriptors of this process and on memory that outlives them.
    unsafe {
        libc::close(opener);
        let mut byte = 0u8;
        if libc::read(gate, (&raw mut byte).cast(), 1) != 1 {
            libc::_exit(127);
        }
        // The runtime of this program ignores it; a program begins with the default.
        libc::signal(libc::SIGPIPE, libc::SIG_DFL);
        let mut program = libc::sock_fprog { len: filter.len() as u16, filter: filter.as_ptr().cast_mut() };
        let install = |program: *mut libc::sock_fprog| {
            libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER as libc::c_ulong, program)
        };
        // Root needs no promise to gain no privileges; for others programs with the setuid bit run without it.
        if install(&raw mut program) != 0 {
            libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
            if install(&raw mut program) != 0 {
                fail(reporter, FILTER);
            }
        }
        libc::execvp(words[0], words.as_ptr());
        fail(reporter, EXEC)
    }
}

/// # Safety
/// As [`become_program`].
unsafe fn fail(reporter: i32, stage: u8) -> ! {
    let number = io::Error::last_os_error().raw_os_error().unwrap_or(0).to_ne_bytes();
    let told = [stage, number[0], number[1], number[2], number[3]];
    // SAFETY: writes five bytes of this frame and ends.
    unsafe {
        libc::write(reporter, told.as_ptr().cast(), told.len());
        libc::_exit(127)
    }
}
