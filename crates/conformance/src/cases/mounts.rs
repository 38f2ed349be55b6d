//! Mounts that nobody else sees: the keeper's own name space, views of the sandbox, a tmpfs that is another file system.
//!
//! Nothing here changes a mount that was there before: a read-only view is a second mount of the same directory.

use std::ffi::{CStr, CString};
use std::path::{Path, PathBuf};

use iodyno_model::{Action, Script, Step};

use super::process::{c_path, done, unshare};
use iodyno_engine::failure::strerror;

/// What views are mounted below, if it is not in the way: directories that every system has and that everybody may search.
const PLACES: [&str; 6] = ["/mnt", "/media", "/srv", "/opt", "/home", "/tmp"];

/// Views of the sandbox, with what each is mounted with.
const VIEWS: [(&str, libc::c_ulong); 5] = [
    ("view", 0),
    ("ro", libc::MS_RDONLY),
    ("nosuid", libc::MS_NOSUID),
    ("noexec", libc::MS_NOEXEC),
    ("nodev", libc::MS_NODEV),
];

/// Whether a script makes mounts, and so wants a name space of its own.
pub fn wants_own(script: &Script) -> bool {
    fn any(steps: &[Step]) -> bool {
        steps.iter().any(|step| match &step.action {
            Action::Block(steps) => any(steps),
            Action::Call(call) => {
                let is_mount = |word: &str| word.starts_with("mount_") || word == "umount";
                is_mount(&call.name) || call.arguments.iter().any(|word| is_mount(word))
            }
            Action::Do(_) => false,
        })
    }
    any(&script.steps)
}

/// Takes this process into a mount name space of its own.
///
/// # Errors
/// Why it cannot.
pub fn hide() -> Result<(), String> {
    unshare(libc::CLONE_NEWNS).map_err(|errno| format!("private mounts: {}", strerror(errno)))?;
    mount(None, Path::new("/"), None, libc::MS_REC | libc::MS_PRIVATE, "")
        .map_err(|errno| format!("private mounts: {}", strerror(errno)))
}

/// Mounts the views of a sandbox. The directory they are in is answered; it is a tmpfs.
///
/// # Errors
/// Why there are none.
pub fn make_views(sandbox: &Path) -> Result<PathBuf, String> {
    let base = place(sandbox).ok_or("there is no directory to make private mounts in")?;
    let told = |name: &str, errno| format!("private mounts: {name}: {}", strerror(errno));
    mount(Some(c"tmpfs"), &base, Some(c"tmpfs"), 0, "mode=0755").map_err(|errno| told("tmpfs", errno))?;
    for name in ["elsewhere", "small", "layer"] {
        std::fs::create_dir(base.join(name)).map_err(|error| format!("private mounts: {error}"))?;
    }
    let source = c_path(sandbox).map_err(|errno| told("sandbox", errno))?;
    let kept = flags_of(sandbox);
    for (name, flags) in VIEWS {
        let target = base.join(name);
        std::fs::create_dir(&target).map_err(|error| format!("private mounts: {error}"))?;
        mount(Some(&source), &target, None, libc::MS_BIND, "").map_err(|errno| told(name, errno))?;
        if flags != 0 {
            let flags = libc::MS_REMOUNT | libc::MS_BIND | kept | flags;
            mount(None, &target, None, flags, "").map_err(|errno| told(name, errno))?;
        }
    }
    Ok(base)
}

/// Where views can be mounted without hiding the sandbox.
fn place(sandbox: &Path) -> Option<PathBuf> {
    let is_free = |place: &&&str| {
        let path = Path::new(place);
        path.symlink_metadata().is_ok_and(|about| about.is_dir()) && !sandbox.starts_with(path)
    };
    PLACES.iter().find(is_free).map(PathBuf::from)
}

/// What a directory is mounted with that a second mount has to keep.
fn flags_of(path: &Path) -> libc::c_ulong {
    let Ok(path) = c_path(path) else { return 0 };
    // SAFETY: an all-zero structure is a valid one, and it is valid for writing.
    let flags = unsafe {
        let mut about: libc::statvfs = std::mem::zeroed();
        if libc::statvfs(path.as_ptr(), &raw mut about) != 0 {
            return 0;
        }
        about.f_flag
    };
    let kept = [
        (libc::ST_RDONLY, libc::MS_RDONLY),
        (libc::ST_NOSUID, libc::MS_NOSUID),
        (libc::ST_NODEV, libc::MS_NODEV),
        (libc::ST_NOEXEC, libc::MS_NOEXEC),
        (libc::ST_NOATIME, libc::MS_NOATIME),
        (libc::ST_NODIRATIME, libc::MS_NODIRATIME),
        (libc::ST_RELATIME, libc::MS_RELATIME),
    ];
    kept.iter().filter(|(shown, _)| flags & shown != 0).map(|(_, flag)| flag).sum()
}

/// Mounts something.
///
/// # Errors
/// The system's error number.
pub fn mount(
    source: Option<&CStr>,
    target: &Path,
    kind: Option<&CStr>,
    flags: libc::c_ulong,
    options: &str,
) -> Result<(), i32> {
    let (target, options) = (c_path(target)?, CString::new(options).map_err(|_| libc::EINVAL)?);
    let word = |word: Option<&CStr>| word.map_or(std::ptr::null(), CStr::as_ptr);
    // SAFETY: all words end with a zero byte, or are null where the call takes that.
    done(unsafe { libc::mount(word(source), target.as_ptr(), word(kind), flags, options.as_ptr().cast()) })
}
