//! The directory in which everything happens: made below the directory under test, owned by whoever runs, without anything
//! inherited; and whether the file system below it still answers.

use std::fs::{self, DirBuilder, Permissions};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::process::{self, End, c_path, collect_within, kill};
use super::tick;
use iodyno_engine::Failure;
use iodyno_engine::random::mix;

/// What its name begins with.
pub const PREFIX: &str = "iodyno-posix-";

/// How long a file system may take to answer the simplest question.
const ANSWERS_WITHIN: Duration = Duration::from_secs(3);

/// Where the sandbox is going to be: below the directory, under a name that nobody has.
///
/// # Errors
/// Why there is no such place.
pub fn place(directory: &Path) -> Result<PathBuf, Failure> {
    let found =
        fs::canonicalize(directory).map_err(|error| sandbox_failure(directory, "no directory", &error))?;
    let mut places = (0..100).map(|turn| found.join(format!("{PREFIX}{}", letters(turn))));
    places
        .find(|place| fs::symlink_metadata(place).is_err())
        .ok_or_else(|| Failure::new(format!("{}: too many sandboxes", found.display())))
}

/// Makes the sandbox at its place. Its mode is set, not inherited; of a default ACL or a set-group-ID bit above it nothing
/// is left.
///
/// # Errors
/// Why it cannot be made: then there is nothing of it.
pub fn make(place: &Path) -> Result<(), Failure> {
    let directory = place.parent().unwrap_or(place);
    DirBuilder::new().mode(0o700).create(place).map_err(|error| {
        sandbox_failure(directory, "no sandbox can be made", &error)
            .hint("name a directory that whoever runs this may write to")
    })?;
    plain(place).map_err(|error| {
        let _ = fs::remove_dir(place);
        sandbox_failure(directory, "its sandbox", &error)
    })
}

fn sandbox_failure(directory: &Path, what: &str, error: &std::io::Error) -> Failure {
    Failure::new(format!("{}: {what}: {}", directory.display(), iodyno_engine::failure::strerror(raw(error))))
        .errno(raw(error))
}

fn raw(error: &std::io::Error) -> i32 {
    error.raw_os_error().unwrap_or(libc::EIO)
}

/// Takes away what a directory inherits.
fn plain(path: &Path) -> std::io::Result<()> {
    let name = c_path(path).map_err(std::io::Error::from_raw_os_error)?;
    for list in [c"system.posix_acl_default", c"system.posix_acl_access"] {
        // A file system without such lists has none to take away.
        // SAFETY: both names end with a zero byte.
        unsafe { libc::removexattr(name.as_ptr(), list.as_ptr()) };
    }
    let (user, group) = process::identity();
    let about = fs::metadata(path)?;
    if (about.uid(), about.gid()) != (user, group) {
        // One that squashes owners has its own, and its rules will tell.
        let _ = std::os::unix::fs::chown(path, Some(user), Some(group));
    }
    fs::set_permissions(path, Permissions::from_mode(0o755))
}

/// Six letters that nobody else has.
fn letters(turn: u64) -> String {
    let time = iodyno_engine::clock::unix_ns();
    let mut number = mix(time ^ mix(u64::from(std::process::id()) << 20 | turn));
    let mut letter = || {
        let digit = (number % 36) as u8;
        number /= 36;
        char::from(if digit < 10 { b'0' + digit } else { b'a' + digit - 10 })
    };
    (0..6).map(|_| letter()).collect()
}

/// What a look at the file system found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Health {
    /// It answers; `true`: its time stamps have whole seconds only.
    Answers(bool),
    /// It answers with an error.
    Fails(i32),
    /// It does not answer.
    Hangs,
}

/// Looks whether the file system answers, from a process of its own, so that nobody else gets stuck.
pub fn look(sandbox: &Path, stamps: bool) -> Health {
    const SLOW: i32 = 250;
    let body = || {
        let errno = match fs::metadata(sandbox).and_then(|_| statfs(sandbox)) {
            Err(error) => raw(&error),
            Ok(()) if stamps => match tick::open(sandbox) {
                Ok(file) if tick::is_slow(&file) => SLOW,
                _ => 0,
            },
            Ok(()) => 0,
        };
        // SAFETY: ends this process.
        unsafe { libc::_exit(errno) }
    };
    let Ok(pid) = process::spawn(body) else { return Health::Answers(false) };
    match collect_within(pid, ANSWERS_WITHIN) {
        Some(End::Status(0)) => Health::Answers(false),
        Some(End::Status(SLOW)) => Health::Answers(true),
        Some(End::Status(errno)) => Health::Fails(errno),
        Some(End::Signal(_)) => Health::Answers(false),
        None => {
            kill(pid);
            Health::Hangs
        }
    }
}

fn statfs(path: &Path) -> std::io::Result<()> {
    let name = c_path(path).map_err(std::io::Error::from_raw_os_error)?;
    // SAFETY: the name ends with a zero byte, and the structure is valid for writing.
    let result = unsafe {
        let mut about: libc::statfs = std::mem::zeroed();
        libc::statfs(name.as_ptr(), &raw mut about)
    };
    if result == 0 { Ok(()) } else { Err(std::io::Error::last_os_error()) }
}
