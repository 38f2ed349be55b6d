//! A process that waits before it executes its program, and tells what it failed at.
//!
//! Between fork and exec it makes system calls alone, on memory that was prepared before.

use std::ffi::CString;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

use iodyno_model::origin::plain;

use crate::program::forward::SignalForwarding;
use crate::recorded_program::ProgramEnd;

/// Its program could not be executed. Callers name other stages.
const EXEC: u8 = b'e';
/// It ended without a word.
const ENDED: u8 = 0;
/// It waits.
const READY: u8 = b'r';

/// What the process failed at, and the system's reason.
pub struct Obstacle {
    pub stage: u8,
    pub errno: i32,
}

impl Obstacle {
    /// The reason in words.
    pub fn reason(&self) -> String {
        plain(&io::Error::from_raw_os_error(self.errno))
    }
}

/// Why there is no such process.
pub enum ChildFailure {
    /// A word of the command has a zero byte.
    ZeroByte,
    /// It could not be started.
    System(io::Error),
    /// It did not come to where it waits.
    Obstacle(Obstacle),
}

impl From<io::Error> for ChildFailure {
    fn from(error: io::Error) -> ChildFailure {
        ChildFailure::System(error)
    }
}

/// A process that waits until it may execute its program.
pub struct WaitingChild {
    pub process: u32,
    /// It waits until a byte comes from here.
    gate: File,
    /// Says what it failed at; ends without a word if its program was executed.
    report: File,
}

impl WaitingChild {
    /// Starts a process that does `before`, waits, does `after` and executes the command. What fails is told by its stage.
    ///
    /// # Errors
    /// It cannot be started, or fails before it waits.
    ///
    /// # Safety
    /// Both only make calls that are allowed between fork and exec, on memory prepared before.
    pub unsafe fn start(
        command: &[String],
        before: impl FnOnce() -> Result<(), u8>,
        after: impl FnOnce() -> Result<(), u8>,
    ) -> Result<WaitingChild, ChildFailure> {
        let words: Result<Vec<CString>, _> = command.iter().map(|word| CString::new(word.as_str())).collect();
        let words = words.map_err(|_| ChildFailure::ZeroByte)?;
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
                // SAFETY: this is the new process; the words live on in its copy of the memory.
                unsafe { become_program(fds, &pointers, before, after) }
            }
            _ => {}
        }
        drop((gate, reporter));
        let (process, gate, mut report) = (process as u32, File::from(opener), File::from(report));
        let mut told = [ENDED];
        // What cannot be read was not written.
        let _ = report.read_exact(&mut told);
        let child = WaitingChild { process, gate, report };
        match told {
            [READY] => Ok(child),
            [stage] => Err(ChildFailure::Obstacle(child.failed_at(stage))),
        }
    }

    /// Lets it execute its program.
    ///
    /// # Errors
    /// It is gone.
    pub fn execute(&mut self) -> io::Result<()> {
        self.gate.write_all(b"g")
    }

    /// What it failed at once it was let go on; none: it executed its program.
    pub fn obstacle(&mut self) -> Option<Obstacle> {
        let mut told = Vec::new();
        let _ = self.report.read_to_end(&mut told);
        let (stage, number) = told.split_first()?;
        let errno = number.try_into().map_or(0, i32::from_ne_bytes);
        Some(Obstacle { stage: *stage, errno })
    }

    /// Waits for its end, of which nobody else is told.
    pub fn reap(&self) {
        // SAFETY: the status is not asked for.
        unsafe { libc::waitpid(self.process as libc::pid_t, std::ptr::null_mut(), 0) };
    }

    fn failed_at(mut self, stage: u8) -> Obstacle {
        let mut number = [0; 4];
        let errno = self.report.read_exact(&mut number).map_or(0, |()| i32::from_ne_bytes(number));
        self.reap();
        Obstacle { stage, errno }
    }
}

fn pipe() -> io::Result<(OwnedFd, OwnedFd)> {
    let mut fds = [0; 2];
    // SAFETY: the kernel writes two descriptors into `fds`.
    if unsafe { libc::pipe2(fds.as_mut_ptr(), libc::O_CLOEXEC) } < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: both were just made, and nobody else has them.
    Ok(unsafe { (OwnedFd::from_raw_fd(fds[0]), OwnedFd::from_raw_fd(fds[1])) })
}

/// In the new process: gets ready, waits, executes the program. Never returns.
///
/// # Safety
/// To be called between fork and exec only; `words` ends with a null pointer.
unsafe fn become_program(
    [gate, opener, reporter]: [i32; 3],
    words: &[*const libc::c_char],
    before: impl FnOnce() -> Result<(), u8>,
    after: impl FnOnce() -> Result<(), u8>,
) -> ! {
    // SAFETY: plain calls on descriptors of this process and on memory that outlives them.
    unsafe {
        libc::close(opener);
        if let Err(stage) = before() {
            fail(reporter, stage);
        }
        let mut byte = READY;
        libc::write(reporter, (&raw const byte).cast(), 1);
        if libc::read(gate, (&raw mut byte).cast(), 1) != 1 {
            libc::_exit(127);
        }
        // The runtime of this program ignores it; a program begins with the default.
        libc::signal(libc::SIGPIPE, libc::SIG_DFL);
        if let Err(stage) = after() {
            fail(reporter, stage);
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

/// Notes the end of a command's process, and lets go of others that ended.
pub fn reap_ended(process: u32, end: &mut Option<ProgramEnd>, forwarding: &SignalForwarding) {
    loop {
        let mut status = 0;
        // SAFETY: the kernel writes one number into `status`.
        let ended = unsafe { libc::waitpid(-1, &raw mut status, libc::WNOHANG) };
        if ended <= 0 {
            // Another process took it: there is nothing to wait for.
            if ended < 0 {
                end.get_or_insert(ProgramEnd::Exited(1));
            }
            return;
        }
        if ended as u32 == process {
            *end = Some(ExitStatus::from_raw(status).into());
            forwarding.stop();
        }
    }
}
