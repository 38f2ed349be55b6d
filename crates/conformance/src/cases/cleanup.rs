//! Removing what cases made, whatever they made of it: flags that forbid it, modes that hide it, trees deeper than any path.
//!
//! Everything is reached by descriptors from the directory that is to go, one open at a time: no link is followed, no
//! mount crossed, and nothing above is touched.

use std::ffi::{CStr, CString};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::path::Path;

use super::process::{c_path, done};
use iodyno_engine::failure::strerror;
use iodyno_engine::memory::errno;

/// What is done to a tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Task {
    /// It goes.
    Remove,
    /// It stays, but nothing in it is immutable or append-only any more.
    Calm,
}

/// Whatever forbids to change or remove a file: `FS_IMMUTABLE_FL`, `FS_APPEND_FL`.
const FORBIDDING: libc::c_long = 0x10 | 0x20;

/// Names of what could not be removed, with the reason; more are not kept.
const MOST_TOLD: usize = 8;

/// Removes what a path names, or calms it. Answers what could not be done.
pub fn clean(path: &Path, task: Task) -> Vec<String> {
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else { return Vec::new() };
    let opened = c_path(parent).and_then(|parent| open_at(None, &parent));
    let parent = match opened {
        Ok(parent) => parent,
        Err(libc::ENOENT) => return Vec::new(),
        Err(errno) => return vec![format!("{}: {}", parent.display(), strerror(errno))],
    };
    let Ok(name) = c_path(Path::new(name)) else { return Vec::new() };
    let mut left = Vec::new();
    // A file system that shows old listings needs another look.
    for _ in 0..3 {
        left = clean_at(parent.as_fd(), &name, task);
        if left.is_empty() {
            break;
        }
    }
    left.iter().map(|what| format!("{}/{what}", path.parent().unwrap_or(path).display())).collect()
}

/// The same for an entry of a directory.
pub fn clean_at(parent: BorrowedFd<'_>, name: &CStr, task: Task) -> Vec<String> {
    let mut walk = Walk { levels: Vec::new(), left: Vec::new(), task };
    match walk.enter(parent, name) {
        Step::Done => {}
        Step::Failed(errno) => walk.fail(name, errno),
        Step::Into(fd, level) => {
            walk.levels.push(level);
            walk.go(fd);
            if task == Task::Remove {
                walk.remove(parent, name, true);
            }
        }
    }
    walk.left
}

/// A directory on the way down.
struct Level {
    name: CString,
    identity: (u64, u64),
    pending: Vec<CString>,
}

enum Step {
    Done,
    Into(OwnedFd, Level),
    Failed(i32),
}

struct Walk {
    levels: Vec<Level>,
    left: Vec<String>,
    task: Task,
}

impl Walk {
    /// Works through the directory that was entered last, and all below.
    fn go(&mut self, mut fd: OwnedFd) {
        while let Some(level) = self.levels.last_mut() {
            if let Some(name) = level.pending.pop() {
                match self.enter(fd.as_fd(), &name) {
                    Step::Done => {}
                    Step::Failed(errno) => self.fail(&name, errno),
                    Step::Into(below, level) => {
                        self.levels.push(level);
                        fd = below;
                    }
                }
                continue;
            }
            let Some(done) = self.levels.pop() else { return };
            let Some(above) = self.levels.last() else { return };
            match ascend(fd.as_fd(), above.identity) {
                Ok(up) => fd = up,
                Err(errno) => return self.fail(&done.name, errno),
            }
            if self.task == Task::Remove {
                self.remove(fd.as_fd(), &done.name, true);
            }
        }
    }

    /// Removes or calms an entry; a directory with something in it is opened instead.
    fn enter(&self, parent: BorrowedFd<'_>, name: &CStr) -> Step {
        let about = match status_of(parent, name) {
            Ok(about) => about,
            Err(libc::ENOENT) => return Step::Done,
            Err(errno) => return Step::Failed(errno),
        };
        let is_directory = about.st_mode & libc::S_IFMT == libc::S_IFDIR;
        if self.task == Task::Calm {
            calm(parent, name, about.st_mode);
        }
        if !is_directory {
            return self.finish(parent, name, about.st_mode);
        }
        if self.task == Task::Remove && unlink_at(parent, name, true).is_ok() {
            return Step::Done;
        }
        let opened = open_at(Some(parent), name).or_else(|_| {
            allow(parent, name);
            open_at(Some(parent), name)
        });
        let opened = opened.and_then(|fd| Ok((entries(fd.as_fd())?, fd)));
        match opened {
            Ok((_, fd)) if !is_same_device(parent, fd.as_fd(), &about) => Step::Failed(libc::EXDEV),
            Ok((pending, fd)) => {
                let identity = (about.st_dev, about.st_ino);
                Step::Into(fd, Level { name: name.into(), identity, pending })
            }
            Err(errno) => Step::Failed(errno),
        }
    }

    fn finish(&self, parent: BorrowedFd<'_>, name: &CStr, mode: u32) -> Step {
        if self.task == Task::Calm {
            return Step::Done;
        }
        match unlink_at(parent, name, false).or_else(|_| insist(parent, name, mode, false)) {
            Ok(()) | Err(libc::ENOENT) => Step::Done,
            Err(errno) => Step::Failed(errno),
        }
    }

    fn remove(&mut self, parent: BorrowedFd<'_>, name: &CStr, directory: bool) {
        let first = unlink_at(parent, name, directory);
        match first.or_else(|_| insist(parent, name, libc::S_IFDIR, directory)) {
            Ok(()) | Err(libc::ENOENT) => {}
            Err(errno) => self.fail(name, errno),
        }
    }

    fn fail(&mut self, name: &CStr, errno: i32) {
        if self.left.len() < MOST_TOLD {
            let above = self.levels.iter().map(|level| level.name.to_string_lossy());
            let path: Vec<_> = above.chain([name.to_string_lossy()]).collect();
            let path = path.join("/");
            let first = (path.len().saturating_sub(200)..).find(|at| path.is_char_boundary(*at));
            let shown = &path[first.unwrap_or(0)..];
            self.left.push(format!("{shown}: {}", strerror(errno)));
        }
    }
}

/// Once more, after what forbade it has been lifted from the entry and from its directory.
fn insist(parent: BorrowedFd<'_>, name: &CStr, mode: u32, directory: bool) -> Result<(), i32> {
    calm(parent, name, mode);
    clear_flags(parent);
    // SAFETY: the descriptor is open.
    unsafe { libc::fchmod(parent.as_raw_fd(), 0o700) };
    unlink_at(parent, name, directory)
}

/// Lifts the flags of an entry that can have some.
fn calm(parent: BorrowedFd<'_>, name: &CStr, mode: u32) {
    if matches!(mode & libc::S_IFMT, libc::S_IFDIR | libc::S_IFREG) {
        let flags = libc::O_RDONLY | libc::O_NONBLOCK | libc::O_NOFOLLOW | libc::O_CLOEXEC;
        // SAFETY: the name ends with a zero byte; the descriptor it gives is ours alone.
        unsafe {
            let fd = libc::openat(parent.as_raw_fd(), name.as_ptr(), flags);
            if fd >= 0 {
                clear_flags(OwnedFd::from_raw_fd(fd).as_fd());
            }
        }
    }
}

/// Lifts whatever flags forbid changes.
pub fn clear_flags(fd: BorrowedFd<'_>) {
    let mut flags: libc::c_long = 0;
    // SAFETY: the descriptor is open, and the number is as large as the kernel may write.
    unsafe {
        if libc::ioctl(fd.as_raw_fd(), libc::FS_IOC_GETFLAGS, &raw mut flags) == 0 && flags & FORBIDDING != 0
        {
            flags &= !FORBIDDING;
            libc::ioctl(fd.as_raw_fd(), libc::FS_IOC_SETFLAGS, &raw const flags);
        }
    }
}

/// Makes a directory one that its owner may look into.
fn allow(parent: BorrowedFd<'_>, name: &CStr) {
    // SAFETY: the name ends with a zero byte.
    unsafe { libc::fchmodat(parent.as_raw_fd(), name.as_ptr(), 0o700, 0) };
}

fn unlink_at(parent: BorrowedFd<'_>, name: &CStr, directory: bool) -> Result<(), i32> {
    let flags = if directory { libc::AT_REMOVEDIR } else { 0 };
    // SAFETY: the name ends with a zero byte.
    done(unsafe { libc::unlinkat(parent.as_raw_fd(), name.as_ptr(), flags) })
}

/// Opens a directory, not through a link.
fn open_at(parent: Option<BorrowedFd<'_>>, name: &CStr) -> Result<OwnedFd, i32> {
    let flags = libc::O_RDONLY | libc::O_DIRECTORY | libc::O_CLOEXEC;
    let flags = if parent.is_some() { flags | libc::O_NOFOLLOW } else { flags };
    let parent = parent.map_or(libc::AT_FDCWD, |parent| parent.as_raw_fd());
    // SAFETY: the name ends with a zero byte; the descriptor it gives is ours alone.
    unsafe {
        let fd = libc::openat(parent, name.as_ptr(), flags);
        if fd < 0 { Err(errno()) } else { Ok(OwnedFd::from_raw_fd(fd)) }
    }
}

/// The directory above, if it is still the one that we came from.
fn ascend(fd: BorrowedFd<'_>, identity: (u64, u64)) -> Result<OwnedFd, i32> {
    let up = open_at(Some(fd), c"..").or_else(|_| {
        // SAFETY: the descriptor is open.
        unsafe { libc::fchmod(fd.as_raw_fd(), 0o700) };
        open_at(Some(fd), c"..")
    })?;
    let about = status(up.as_fd())?;
    if (about.st_dev, about.st_ino) == identity { Ok(up) } else { Err(libc::ESTALE) }
}

/// Whether a directory that was opened is the one that its parent shows, and no mount.
fn is_same_device(parent: BorrowedFd<'_>, fd: BorrowedFd<'_>, shown: &libc::stat) -> bool {
    let here = |fd| status(fd).map(|about| (about.st_dev, about.st_ino));
    let above = here(parent).map(|(device, _)| device);
    here(fd) == Ok((shown.st_dev, shown.st_ino)) && above == Ok(shown.st_dev)
}

fn status(fd: BorrowedFd<'_>) -> Result<libc::stat, i32> {
    // SAFETY: an all-zero structure is a valid one, and it is valid for writing.
    unsafe {
        let mut about: libc::stat = std::mem::zeroed();
        done(libc::fstat(fd.as_raw_fd(), &raw mut about)).map(|()| about)
    }
}

fn status_of(parent: BorrowedFd<'_>, name: &CStr) -> Result<libc::stat, i32> {
    // SAFETY: as above; the name ends with a zero byte.
    unsafe {
        let mut about: libc::stat = std::mem::zeroed();
        let flags = libc::AT_SYMLINK_NOFOLLOW;
        done(libc::fstatat(parent.as_raw_fd(), name.as_ptr(), &raw mut about, flags)).map(|()| about)
    }
}

/// The names in a directory.
fn entries(fd: BorrowedFd<'_>) -> Result<Vec<CString>, i32> {
    let mut names = Vec::new();
    let own = open_at(Some(fd), c".").or_else(|_| {
        // SAFETY: the descriptor is open.
        unsafe { libc::fchmod(fd.as_raw_fd(), 0o700) };
        open_at(Some(fd), c".")
    })?;
    // SAFETY: the stream takes the descriptor over and is closed once; each entry's name ends with a zero byte and is
    // copied before the next is read.
    unsafe {
        let stream = libc::fdopendir(std::os::fd::IntoRawFd::into_raw_fd(own));
        if stream.is_null() {
            return Err(errno());
        }
        loop {
            let entry = libc::readdir(stream);
            if entry.is_null() {
                break;
            }
            let name = CStr::from_ptr((*entry).d_name.as_ptr());
            if !matches!(name.to_bytes(), b"." | b"..") {
                names.push(name.to_owned());
            }
        }
        libc::closedir(stream);
    }
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_tree_deeper_than_any_path_goes() {
        let folder = tempfile::tempdir().unwrap();
        let top = folder.path().join("top");
        std::fs::create_dir(&top).unwrap();
        let mut fd = open_at(None, &c_path(&top).unwrap()).unwrap();
        let name = CString::new("d".repeat(200)).unwrap();
        for _ in 0..60 {
            // SAFETY: the name ends with a zero byte.
            done(unsafe { libc::mkdirat(fd.as_raw_fd(), name.as_ptr(), 0o700) }).unwrap();
            fd = open_at(Some(fd.as_fd()), &name).unwrap();
        }
        drop(fd);
        assert_eq!(clean(&top, Task::Remove), Vec::<String>::new());
        assert!(!top.exists());
        assert_eq!(clean(&top, Task::Remove), Vec::<String>::new(), "what is not there is removed already");
    }

    #[test]
    fn modes_do_not_matter_and_links_are_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        let (top, other) = (folder.path().join("top"), folder.path().join("other"));
        std::fs::create_dir_all(top.join("closed/below")).unwrap();
        std::fs::create_dir(&other).unwrap();
        std::fs::write(other.join("stays"), "").unwrap();
        std::os::unix::fs::symlink(&other, top.join("closed/link")).unwrap();
        std::fs::set_permissions(top.join("closed"), PermissionsExt::from_mode(0o0)).unwrap();
        assert_eq!(clean(&top, Task::Remove), Vec::<String>::new());
        assert!(!top.exists() && other.join("stays").exists());
    }
}
