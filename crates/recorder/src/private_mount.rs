//! A mount that only a command and what it starts see.
//!
//! The command runs in a namespace of mounts of its own, in which the directory is covered. When the last process in there
//! ends, the kernel writes back what is left and takes the mount away; so it does if this process dies. Nobody else ever
//! sees it, and we ourselves still see the directory.

use std::ffi::CString;
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::thread::JoinHandle;

use iodyno_fuse::{CallObserver, hold, serve};
use iodyno_model::origin::plain;
use iodyno_trace::TraceError;

use crate::waiting_child::{ChildFailure, Obstacle, WaitingChild};

/// What failed in the new process.
const NAMESPACE: u8 = b'n';
const MOUNT: u8 = b'm';

/// A command that waits, and sees the directory covered.
pub struct PrivateMount {
    pub process: u32,
    /// The directory with its links resolved.
    pub directory: PathBuf,
    program: String,
    held: File,
    device: OwnedFd,
    child: WaitingChild,
}

/// An error of the system without its number.
fn told(error: &io::Error) -> TraceError {
    TraceError::new(plain(error))
}

impl PrivateMount {
    /// Starts a process that covers the directory for itself and then waits.
    ///
    /// # Errors
    /// It is no directory; FUSE or a namespace cannot be had.
    pub fn begin(directory: &Path, command: &[String]) -> Result<PrivateMount, TraceError> {
        const WHERE: &str = "name the directory that the command works in";
        let directory = directory.canonicalize().map_err(|error| told(&error).hint(WHERE))?;
        if !directory.is_dir() {
            return Err(TraceError::new("it is no directory").hint(WHERE));
        }
        if directory == Path::new("/") {
            return Err(TraceError::new("the root cannot be covered").hint("name a directory below it"));
        }
        let held = hold(&directory).map_err(|error| told(&error))?;
        let device = File::options().read(true).write(true).open("/dev/fuse").map_err(|error| {
            TraceError::new(format!("FUSE cannot be had: /dev/fuse: {}", plain(&error)))
                .hint("the kernel needs CONFIG_FUSE_FS (modprobe fuse), and a container the device /dev/fuse")
        })?;
        let zero_byte = || TraceError::new("a word has a zero byte").hint("write it without");
        let text = |bytes: &[u8]| CString::new(bytes).map_err(|_| zero_byte());
        let place = text(directory.as_os_str().as_bytes())?;
        let working = std::env::current_dir().map_err(|error| told(&error))?;
        let working = text(working.as_os_str().as_bytes())?;
        // SAFETY: the calls take nothing.
        let (user, group) = unsafe { (libc::geteuid(), libc::getegid()) };
        let options = text(
            format!("fd={},rootmode=40000,user_id={user},group_id={group},allow_other", device.as_raw_fd())
                .as_bytes(),
        )?;
        // Those that go on after the command are ours to wait for.
        // SAFETY: the call takes numbers only.
        unsafe { libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) };
        // SAFETY: all texts live on in the copy of the memory, and both make system calls alone.
        let child = unsafe { WaitingChild::start(command, || cover(&place, &options), || enter(&working)) };
        let child = child.map_err(|failure| match failure {
            ChildFailure::ZeroByte => zero_byte(),
            ChildFailure::System(error) => told(&error),
            ChildFailure::Obstacle(obstacle) => refusal(&obstacle),
        })?;
        let (process, program) = (child.process, command.first().cloned().unwrap_or_default());
        Ok(PrivateMount { process, directory, program, held, device: device.into(), child })
    }

    /// Answers the kernel for the command, and lets it go on.
    ///
    /// # Errors
    /// The kernel's FUSE is too old; the command cannot be executed.
    pub fn serve<O: CallObserver>(self, observer: O) -> Result<JoinHandle<io::Result<()>>, TraceError> {
        let PrivateMount { directory, program, held, device, mut child, .. } = self;
        let session = serve(directory, held, device, observer).map_err(|error| told(&error))?;
        child.execute().map_err(|error| told(&error))?;
        let Some(obstacle) = child.obstacle() else { return Ok(session) };
        child.reap();
        Err(match obstacle.errno {
            libc::ENOENT => TraceError::new(format!("no such program: {program}"))
                .hint("name it as a shell would find it, or by its path"),
            _ => TraceError::new(format!("{program} cannot be executed: {}", obstacle.reason())),
        })
    }
}

fn refusal(obstacle: &Obstacle) -> TraceError {
    const HINT: &str = "be root (CAP_SYS_ADMIN); or record without --fuse, which needs no mount";
    let reason = obstacle.reason();
    match obstacle.stage {
        NAMESPACE => TraceError::new(format!("no namespace of mounts for the command: {reason}")).hint(HINT),
        MOUNT => TraceError::new(format!("it cannot be covered: {reason}")).hint(HINT),
        _ => TraceError::new("the command ended before it began"),
    }
}

/// Gives this process mounts of its own, among them one that covers a directory.
fn cover(place: &CString, options: &CString) -> Result<(), u8> {
    let none = std::ptr::null();
    let spread = libc::MS_REC | libc::MS_SLAVE;
    // SAFETY: all texts are valid for the calls.
    unsafe {
        if libc::unshare(libc::CLONE_NEWNS) != 0
            || libc::mount(none, c"/".as_ptr(), none, spread, none.cast()) != 0
        {
            return Err(NAMESPACE);
        }
        let data = options.as_ptr().cast();
        match libc::mount(c"iodyno".as_ptr(), place.as_ptr(), c"fuse.iodyno".as_ptr(), 0, data) {
            0 => Ok(()),
            _ => Err(MOUNT),
        }
    }
}

/// Enters the working directory by its name, under which it is found where it is covered.
fn enter(working: &CString) -> Result<(), u8> {
    // SAFETY: the text is valid for the call.
    unsafe { libc::chdir(working.as_ptr()) };
    Ok(())
}
