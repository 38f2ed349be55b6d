//! Starts a program under the filter, traced before its first instruction.

use std::io;

use iodyno_model::origin::plain;
use iodyno_trace::TraceError;

use super::filter::Instruction;
use super::ptrace;
use crate::waiting_child::{ChildFailure, WaitingChild};

/// A process that waits, traced, until it may execute its program.
pub struct Launch {
    pub process: u32,
    child: WaitingChild,
}

/// What failed in the new process.
const FILTER: u8 = b'f';

impl Launch {
    /// # Errors
    /// It cannot be started or traced.
    pub fn start(command: &[String], filter: &[Instruction]) -> Result<Launch, TraceError> {
        // SAFETY: the filter lives on in the copy of the memory, and putting it on takes system calls alone.
        let child = unsafe { WaitingChild::start(command, || Ok(()), || put_on(filter)) };
        let child = child.map_err(|failure| match failure {
            ChildFailure::ZeroByte => TraceError::new("a word of the command has a zero byte"),
            ChildFailure::System(error) => error.into(),
            ChildFailure::Obstacle(_) => TraceError::new("it ended before it was executed"),
        })?;
        let process = child.process;
        if let Err(error) = ptrace::seize(process) {
            // Its gate never opens, so it ends.
            drop(child);
            let _ = ptrace::wait(true);
            return Err(refusal(&error));
        }
        Ok(Launch { process, child })
    }

    /// Lets it execute its program.
    ///
    /// # Errors
    /// It is gone.
    pub fn execute(&mut self) -> Result<(), TraceError> {
        self.child.execute().map_err(TraceError::from)
    }

    /// Why the program never ran.
    pub fn failure(mut self) -> TraceError {
        let Some(obstacle) = self.child.obstacle() else {
            return TraceError::new("it ended before it was executed");
        };
        match (obstacle.stage, obstacle.errno) {
            (FILTER, _) => TraceError::new(format!("the filter of calls is refused: {}", obstacle.reason()))
                .hint("the kernel needs CONFIG_SECCOMP_FILTER"),
            (_, libc::ENOENT) => {
                TraceError::new("no such program").hint("name it as a shell would find it, or by its path")
            }
            _ => TraceError::new(format!("it cannot be executed: {}", obstacle.reason())),
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

/// Puts the filter on this process.
fn put_on(filter: &[Instruction]) -> Result<(), u8> {
    let mut program = libc::sock_fprog { len: filter.len() as u16, filter: filter.as_ptr().cast_mut() };
    let install = |program: *mut libc::sock_fprog| {
        // SAFETY: the kernel reads the program and its instructions, which outlive the call.
        unsafe { libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER as libc::c_ulong, program) }
    };
    // Root needs no promise to gain no privileges; for others programs with the setuid bit run without it.
    if install(&raw mut program) != 0 {
        // SAFETY: the call takes numbers only.
        unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) };
        if install(&raw mut program) != 0 {
            return Err(FILTER);
        }
    }
    Ok(())
}
