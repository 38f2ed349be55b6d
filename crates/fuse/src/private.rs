//! A mount that only a command and what it starts see.
//!
//! The command runs in a namespace of mounts of its own, in which the directory is covered. When the last process in there
//! ends, the kernel writes back what is left and takes the mount away; so it does if this process dies. Nobody else ever
//! sees it, and we ourselves still see the directory.

use std::ffi::CString;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::thread::JoinHandle;

use fuser::{Config, Session, SessionACL};

use super::nodes::hold;
use super::observer::CallObserver;
use super::passthrough::Passthrough;

/// Threads that answer.
const THREADS: usize = 4;

/// What failed in the new process.
const NAMESPACE: u8 = b'n';
const MOUNT: u8 = b'm';
const MOUNTED: u8 = b'r';
const EXEC: u8 = b'e';

/// A command that waits, and sees the directory covered.
pub struct PrivateMount {
    pub process: u32,
    /// The directory with its links resolved.
    pub directory: PathBuf,
    program: String,
    held: File,
    device: OwnedFd,
    gate: File,
    report: File,
}

/// Why it could not be had, and what may be done.
pub struct MountRefusal {
    pub message: String,
    pub hint: Option<String>,
}

impl MountRefusal {
    fn new(message: impl Into<String>, hint: &str) -> MountRefusal {
        MountRefusal { message: message.into(), hint: Some(hint.into()) }
    }
}

impl From<io::Error> for MountRefusal {
    fn from(error: io::Error) -> MountRefusal {
        MountRefusal { message: plain(&error), hint: None }
    }
}

/// An error without its number.
fn plain(error: &io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error").next().unwrap_or(&text).to_string()
}

impl PrivateMount {
    /// Starts a process that covers the directory for itself and then waits.
    ///
    /// # Errors
    /// It is no directory; FUSE or a namespace cannot be had.
    pub fn begin(directory: &Path, command: &[String]) -> Result<PrivateMount, MountRefusal> {
        let directory = directory.canonicalize().map_err(|error| {
            MountRefusal::new(plain(&error), "name the directory that the command works in")
        })?;
        if !directory.is_dir() {
            return Err(MountRefusal::new(
                "it is no directory",
                "name the directory that the command works in",
            ));
        }
        if directory == Path::new("/") {
            return Err(MountRefusal::new("the root cannot be covered", "name a directory below it"));
        }
        let held = hold(&directory)?;
        let device = File::options().read(true).write(true).open("/dev/fuse").map_err(|error| {
            MountRefusal::new(
                format!("FUSE cannot be had: /dev/fuse: {}", plain(&error)),
                "the kernel needs CONFIG_FUSE_FS (modprobe fuse), and a container the device /dev/fuse",
            )
        })?;
        let text = |bytes: &[u8]| {
            CString::new(bytes).map_err(|_| MountRefusal::new("a word has a zero byte", "write it without"))
        };
        let words: Result<Vec<CString>, _> = command.iter().map(|word| text(word.as_bytes())).collect();
        let words = words?;
        let mut pointers: Vec<*const libc::c_char> = words.iter().map(|word| word.as_ptr()).collect();
        pointers.push(std::ptr::null());
        let place = text(directory.as_os_str().as_bytes())?;
        let working = text(std::env::current_dir()?.as_os_str().as_bytes())?;
        // SAFETY: the calls take nothing.
        let (user, group) = unsafe { (libc::geteuid(), libc::getegid()) };
        let options = text(
            format!("fd={},rootmode=40000,user_id={user},group_id={group},allow_other", device.as_raw_fd())
                .as_bytes(),
        )?;
        let (gate, opener) = pipe()?;
        let (report, reporter) = pipe()?;
        // Those that go on after the command are ours to wait for.
        // SAFETY: the call takes numbers only.
        unsafe { libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) };
        // SAFETY: the new process only makes calls that are allowed between fork and exec, on memory prepared before.
        let process = unsafe { libc::fork() };
        match process {
            -1 => return Err(io::Error::last_os_error().into()),
            0 => {
                let fds = [gate.as_raw_fd(), opener.as_raw_fd(), reporter.as_raw_fd()];
                // SAFETY: this is the new process; all texts live on in its copy of the memory.
                unsafe { become_command(fds, &place, &options, &working, &pointers) }
            }
            _ => {}
        }
        drop((gate, reporter));
        let mut report = File::from(report);
        let mut told = [0];
        let is_mounted = report.read(&mut told)? == 1 && told[0] == MOUNTED;
        if !is_mounted {
            let refusal = refusal(told[0], &mut report);
            reap(process);
            return Err(refusal);
        }
        let (process, gate) = (process as u32, File::from(opener));
        let program = command.first().cloned().unwrap_or_default();
        Ok(PrivateMount { process, directory, program, held, device: device.into(), gate, report })
    }

    /// Answers the kernel for the command, and lets it go on.
    ///
    /// # Errors
    /// The kernel's FUSE is too old; the command cannot be executed.
    pub fn serve<O: CallObserver>(self, observer: O) -> Result<JoinHandle<io::Result<()>>, MountRefusal> {
        let PrivateMount { process, directory, program, held, device, mut gate, mut report } = self;
        let session = serve(directory, held, device, observer)?;
        gate.write_all(b"g")?;
        let mut told = Vec::new();
        report.read_to_end(&mut told)?;
        if let [EXEC, number @ ..] = told.as_slice() {
            reap(process as i32);
            let number = number.try_into().map(i32::from_ne_bytes).unwrap_or(0);
            let error = io::Error::from_raw_os_error(number);
            return Err(match number {
                libc::ENOENT => MountRefusal::new(
                    format!("no such program: {program}"),
                    "name it as a shell would find it, or by its path",
                ),
                _ => MountRefusal {
                    message: format!("{program} cannot be executed: {}", plain(&error)),
                    hint: None,
                },
            });
        }
        Ok(session)
    }
}

/// Answers what a mount asks until it is gone.
///
/// # Errors
/// The kernel's FUSE is too old, or there are no threads.
fn serve<O: CallObserver>(
    name: PathBuf,
    directory: File,
    device: OwnedFd,
    observer: O,
) -> io::Result<JoinHandle<io::Result<()>>> {
    // The kernel has taken the caller's mask off the modes already.
    // SAFETY: the call takes numbers only.
    unsafe { libc::umask(0) };
    raise_limit();
    let mut config = Config::default();
    config.acl = SessionACL::All;
    config.n_threads = Some(THREADS);
    let system = Passthrough::new(name, directory, observer)?;
    let session = Session::from_fd(system, device, SessionACL::All, config)?;
    let serve = move || {
        block_all_signals();
        session.run()
    };
    std::thread::Builder::new().name("passthrough".into()).spawn(serve)
}

/// Each file that the kernel knows has a descriptor.
fn raise_limit() {
    // SAFETY: the structure is valid for the calls.
    unsafe {
        let mut limit: libc::rlimit = std::mem::zeroed();
        if libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) == 0 {
            limit.rlim_cur = limit.rlim_max;
            libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit);
        }
    }
}

/// Signals are for the thread that follows the command: here they would end calls of the program early.
fn block_all_signals() {
    // SAFETY: the set is valid for the calls.
    unsafe {
        let mut set: libc::sigset_t = std::mem::zeroed();
        libc::sigfillset(&raw mut set);
        libc::pthread_sigmask(libc::SIG_BLOCK, &raw const set, std::ptr::null_mut());
    }
}

fn refusal(stage: u8, report: &mut File) -> MountRefusal {
    let mut number = [0; 4];
    let number = report.read_exact(&mut number).map_or(0, |()| i32::from_ne_bytes(number));
    let error = plain(&io::Error::from_raw_os_error(number));
    const HINT: &str = "be root (CAP_SYS_ADMIN); or record without --fuse, which needs no mount";
    match stage {
        NAMESPACE => MountRefusal::new(format!("no namespace of mounts for the command: {error}"), HINT),
        MOUNT => MountRefusal::new(format!("it cannot be covered: {error}"), HINT),
        _ => MountRefusal { message: "the command ended before it began".into(), hint: None },
    }
}

fn reap(process: i32) {
    // SAFETY: the status is not asked for.
    unsafe { libc::waitpid(process, std::ptr::null_mut(), 0) };
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

/// In the new process: covers the directory, waits until it is served, executes the command. Never returns.
///
/// # Safety
/// To be called between fork and exec only; `words` ends with a null pointer.
unsafe fn become_command(
    [gate, opener, reporter]: [i32; 3],
    place: &CString,
    options: &CString,
    working: &CString,
    words: &[*const libc::c_char],
) -> ! {
    // SAFETY: plain calls on descriptors of this process and on texts that outlive them.
    unsafe {
        libc::close(opener);
        let none = std::ptr::null();
        let spread = libc::MS_REC | libc::MS_SLAVE;
        if libc::unshare(libc::CLONE_NEWNS) != 0
            || libc::mount(none, c"/".as_ptr(), none, spread, none.cast()) != 0
        {
            fail(reporter, NAMESPACE);
        }
        let data = options.as_ptr().cast();
        if libc::mount(c"iodyno".as_ptr(), place.as_ptr(), c"fuse.iodyno".as_ptr(), 0, data) != 0 {
            fail(reporter, MOUNT);
        }
        let mut byte = MOUNTED;
        libc::write(reporter, (&raw const byte).cast(), 1);
        if libc::read(gate, (&raw mut byte).cast(), 1) != 1 {
            libc::_exit(127);
        }
        // The working directory may lie under the mount: by its name it is found there.
        libc::chdir(working.as_ptr());
        // The runtime of this program ignores it; a program begins with the default.
        libc::signal(libc::SIGPIPE, libc::SIG_DFL);
        libc::execvp(words[0], words.as_ptr());
        fail(reporter, EXEC)
    }
}

/// # Safety
/// As [`become_command`].
unsafe fn fail(reporter: i32, stage: u8) -> ! {
    let number = io::Error::last_os_error().raw_os_error().unwrap_or(0).to_ne_bytes();
    let told = [stage, number[0], number[1], number[2], number[3]];
    // SAFETY: writes five bytes of this frame and ends.
    unsafe {
        libc::write(reporter, told.as_ptr().cast(), told.len());
        libc::_exit(127)
    }
}
