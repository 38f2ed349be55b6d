//! A mount that only a command and what it starts see.
//!
//! The command runs in a namespace of mounts of its own, in which the directory is covered. When the last process in there
//! ends, the kernel writes back what is left and takes the mount away; so it does if this process dies. Nobody else ever
//! sees it, and we ourselves still see the directory.

use std::ffi::CString;
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::JoinHandle;

use iodyno_fuse::{CallObserver, KernelPages, UnsyncedNames, UnsyncedStore, hold, serve, serve_holding};
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
        // All texts live on in the copy of the memory, and both make system calls alone.
        let maps = IdentityMaps::of(user, group);
        let number = device.as_raw_fd();
        // SAFETY: as above.
        let child = unsafe {
            WaitingChild::start(command, || cover(&place, &options, number, &maps), || enter(&working))
        };
        let child = child.map_err(|failure| match failure {
            ChildFailure::ZeroByte => zero_byte(),
            ChildFailure::System(error) => told(&error),
            ChildFailure::Obstacle(obstacle) => refusal(&obstacle),
        })?;
        let (process, program) = (child.process, command.first().cloned().unwrap_or_default());
        let device = match has_own_users(process) {
            true => device_of(process, number).map_err(|error| told(&error))?,
            false => device.into(),
        };
        Ok(PrivateMount { process, directory, program, held, device, child })
    }

    /// Answers the kernel for the command, and lets it go on.
    ///
    /// # Errors
    /// The kernel's FUSE is too old; the command cannot be executed.
    pub fn serve<O: CallObserver>(self, observer: O) -> Result<JoinHandle<io::Result<()>>, TraceError> {
        let PrivateMount { directory, program, held, device, child, .. } = self;
        let session = serve(directory, held, device, observer).map_err(|error| told(&error))?;
        executed(child, &program).map(|()| session)
    }

    /// The same, with unsynced data held back.
    ///
    /// # Errors
    /// As [`serve`](PrivateMount::serve).
    pub fn serve_holding(
        self,
        store: Arc<UnsyncedStore>,
        names: Option<Arc<UnsyncedNames>>,
    ) -> Result<(JoinHandle<io::Result<()>>, KernelPages), TraceError> {
        let PrivateMount { directory, program, held, device, child, .. } = self;
        let session = serve_holding(directory, held, device, store, names).map_err(|error| told(&error))?;
        executed(child, &program).map(|()| session)
    }
}

/// Lets the command begin.
fn executed(mut child: WaitingChild, program: &str) -> Result<(), TraceError> {
    child.execute().map_err(|error| told(&error))?;
    let Some(obstacle) = child.obstacle() else { return Ok(()) };
    child.reap();
    Err(match obstacle.errno {
        libc::ENOENT => TraceError::new(format!("no such program: {program}"))
            .hint("name it as a shell would find it, or by its path"),
        _ => TraceError::new(format!("{program} cannot be executed: {}", obstacle.reason())),
    })
}

fn refusal(obstacle: &Obstacle) -> TraceError {
    const HINT: &str = "be root (CAP_SYS_ADMIN), or where users may have namespaces; or record without --fuse, which needs no mount";
    let reason = obstacle.reason();
    match obstacle.stage {
        NAMESPACE => TraceError::new(format!("no namespace of mounts for the command: {reason}")).hint(HINT),
        MOUNT => TraceError::new(format!("it cannot be covered: {reason}")).hint(HINT),
        _ => TraceError::new("the command ended before it began"),
    }
}

/// What makes a user of a new namespace be the same one outside.
struct IdentityMaps {
    users: CString,
    groups: CString,
}

impl IdentityMaps {
    fn of(user: u32, group: u32) -> IdentityMaps {
        let map = |id: u32| CString::new(format!("{id} {id} 1")).unwrap_or_default();
        IdentityMaps { users: map(user), groups: map(group) }
    }
}

/// Gives this process mounts of its own, among them one that covers a directory. Who may not gets users of his own, too,
/// among whom he may.
fn cover(place: &CString, options: &CString, device: i32, maps: &IdentityMaps) -> Result<(), u8> {
    let none = std::ptr::null();
    let spread = libc::MS_REC | libc::MS_SLAVE;
    // SAFETY: all texts are valid for the calls.
    unsafe {
        if libc::unshare(libc::CLONE_NEWNS) != 0 && !begin_own_users(device, maps) {
            return Err(NAMESPACE);
        }
        if libc::mount(none, c"/".as_ptr(), none, spread, none.cast()) != 0 {
            return Err(NAMESPACE);
        }
        let data = options.as_ptr().cast();
        match libc::mount(c"iodyno".as_ptr(), place.as_ptr(), c"fuse.iodyno".as_ptr(), 0, data) {
            0 => Ok(()),
            _ => Err(MOUNT),
        }
    }
}

/// A namespace of users and of mounts, with the device opened anew: the kernel takes one of the same namespace only.
///
/// # Safety
/// To be called between fork and exec.
unsafe fn begin_own_users(device: i32, maps: &IdentityMaps) -> bool {
    // SAFETY: all texts are valid for the calls, and the descriptor is this process's own copy.
    unsafe {
        if libc::unshare(libc::CLONE_NEWUSER | libc::CLONE_NEWNS) != 0 {
            return false;
        }
        let write = |path: &std::ffi::CStr, text: &std::ffi::CStr| {
            let file = libc::open(path.as_ptr(), libc::O_WRONLY | libc::O_CLOEXEC);
            let bytes = text.to_bytes();
            let written = libc::write(file, bytes.as_ptr().cast(), bytes.len());
            libc::close(file);
            written == bytes.len() as isize
        };
        let is_mapped = write(c"/proc/self/setgroups", c"deny")
            && write(c"/proc/self/uid_map", &maps.users)
            && write(c"/proc/self/gid_map", &maps.groups);
        let own = libc::open(c"/dev/fuse".as_ptr(), libc::O_RDWR | libc::O_CLOEXEC);
        is_mapped && own >= 0 && libc::dup3(own, device, libc::O_CLOEXEC) == device
    }
}

/// Whether a process has a namespace of users that is not ours.
fn has_own_users(process: u32) -> bool {
    let of = |process: &str| std::fs::read_link(format!("/proc/{process}/ns/user")).ok();
    of(&process.to_string()) != of("self")
}

/// A child's descriptor.
fn device_of(process: u32, number: i32) -> io::Result<OwnedFd> {
    let checked = |result: libc::c_long| match result {
        -1 => Err(io::Error::last_os_error()),
        // SAFETY: the kernel has just made it, and nobody else has it.
        number => Ok(unsafe { OwnedFd::from_raw_fd(number as i32) }),
    };
    // SAFETY: the call takes numbers only.
    let process = checked(unsafe { libc::syscall(libc::SYS_pidfd_open, process, 0) })?;
    // SAFETY: as above.
    checked(unsafe { libc::syscall(libc::SYS_pidfd_getfd, process.as_raw_fd(), number, 0) })
}

/// Enters the working directory by its name, under which it is found where it is covered.
fn enter(working: &CString) -> Result<(), u8> {
    // SAFETY: the text is valid for the call.
    unsafe { libc::chdir(working.as_ptr()) };
    Ok(())
}
