//! Calls that make, move and remove names.

use std::ffi::c_int;

use super::Answer;
use super::fd_table::Hands;
#[cfg(target_os = "linux")]
use super::flags::RENAME;
use super::flags::{AT, OPEN};
use super::table::{Verb, verb};
use super::words::{ArgumentKind, CallArguments, text};
use ArgumentKind::{Fd, Flags, Number, Path, Word};

/// What a node can be: block, character, fifo, directory, socket; and a regular file, which pjdfstest has no letter for.
const TYPES: ArgumentKind = Word(&["b", "c", "f", "d", "o", "r"]);

/// The calls.
pub(super) const VERBS: &[Verb] = &[
    verb("open", &[Path, Flags(OPEN)], "PATH FLAGS [MODE]: opens a file", |hands, given| {
        let fd = open(libc::AT_FDCWD, given, 0);
        Ok(hands.keep(&given.label, fd))
    })
    .or(&[Number]),
    verb("openat", &[Fd, Path, Flags(OPEN)], "FD PATH FLAGS [MODE]: opens a file", |hands, given| {
        let fd = open(given.fd(0), given, 1);
        Ok(hands.keep(&given.label, fd))
    })
    .or(&[Number]),
    verb("create", &[Path, Number], "PATH MODE: creates a file that is not there, and closes it", create),
    verb("close", &[Fd], "FD: closes a descriptor", |hands, given| Ok(hands.close(given.fd(0)))),
    verb("link", &[Path, Path], "A B: gives a file another name", |_, given| {
        Ok(ask!(link(given.path(0), given.path(1))))
    }),
    verb(
        "linkat",
        &[Fd, Path, Fd, Path, Flags(AT)],
        "FD A FD B FLAGS: gives a file another name",
        |_, given| Ok(ask!(linkat(given.fd(0), given.path(1), given.fd(2), given.path(3), given.int(4)))),
    ),
    verb("symlink", &[Path, Path], "TARGET PATH: makes a symbolic link", |_, given| {
        Ok(ask!(symlink(given.path(0), given.path(1))))
    }),
    verb("symlinkat", &[Path, Fd, Path], "TARGET FD PATH: makes a symbolic link", |_, given| {
        Ok(ask!(symlinkat(given.path(0), given.fd(1), given.path(2))))
    }),
    verb("readlink", &[Path], "PATH [SIZE]: says where a symbolic link points", |_, given| {
        Ok(readlink(libc::AT_FDCWD, given, 0))
    })
    .or(&[Number]),
    verb("readlinkat", &[Fd, Path], "FD PATH [SIZE]: says where a symbolic link points", |_, given| {
        Ok(readlink(given.fd(0), given, 1))
    })
    .or(&[Number]),
    verb("unlink", &[Path], "PATH: removes a name", |_, given| Ok(ask!(unlink(given.path(0))))),
    verb("unlinkat", &[Fd, Path, Flags(AT)], "FD PATH FLAGS: removes a name or a directory", |_, given| {
        Ok(ask!(unlinkat(given.fd(0), given.path(1), given.int(2))))
    }),
    verb("mkdir", &[Path, Number], "PATH MODE: makes a directory", |_, given| {
        Ok(ask!(mkdir(given.path(0), given.mode(1))))
    }),
    verb("mkdirat", &[Fd, Path, Number], "FD PATH MODE: makes a directory", |_, given| {
        Ok(ask!(mkdirat(given.fd(0), given.path(1), given.mode(2))))
    }),
    verb("rmdir", &[Path], "PATH: removes an empty directory", |_, given| Ok(ask!(rmdir(given.path(0))))),
    verb("rename", &[Path, Path], "A B: moves a name", |_, given| {
        Ok(ask!(rename(given.path(0), given.path(1))))
    }),
    verb("renameat", &[Fd, Path, Fd, Path], "FD A FD B: moves a name", |_, given| {
        Ok(ask!(renameat(given.fd(0), given.path(1), given.fd(2), given.path(3))))
    }),
    #[cfg(target_os = "linux")]
    verb("renameat2", &[Fd, Path, Fd, Path, Flags(RENAME)], "FD A FD B FLAGS: moves a name", |_, given| {
        let (from, to, flags) = (given.path(1), given.path(3), given.int(4));
        Ok(kernel!(SYS_renameat2(given.fd(0), from, given.fd(2), to, flags)))
    }),
    verb("mkfifo", &[Path, Number], "PATH MODE: makes a fifo", |_, given| {
        Ok(ask!(mkfifo(given.path(0), given.mode(1))))
    }),
    verb("mkfifoat", &[Fd, Path, Number], "FD PATH MODE: makes a fifo", |_, given| {
        Ok(ask!(mkfifoat(given.fd(0), given.path(1), given.mode(2))))
    }),
    verb(
        "mknod",
        &[Path, TYPES, Number, Number, Number],
        "PATH TYPE MODE MAJOR MINOR: makes a node",
        |_, given| Ok(mknod(libc::AT_FDCWD, given, 0)),
    ),
    verb(
        "mknodat",
        &[Fd, Path, TYPES, Number, Number, Number],
        "FD PATH TYPE MODE MAJOR MINOR: makes a node",
        |_, given| Ok(mknod(given.fd(0), given, 1)),
    ),
    verb(
        "bind",
        &[Path],
        "PATH: makes a socket, which listens as long as its label is held",
        |hands, given| Ok(socket(hands, libc::AT_FDCWD, given, 0, bind)),
    ),
    verb("bindat", &[Fd, Path], "FD PATH: makes a socket", |hands, given| {
        Ok(socket(hands, given.fd(0), given, 1, bind))
    }),
    verb("connect", &[Path], "PATH: connects to a socket", |hands, given| {
        Ok(socket(hands, libc::AT_FDCWD, given, 0, connect))
    }),
    verb("connectat", &[Fd, Path], "FD PATH: connects to a socket", |hands, given| {
        Ok(socket(hands, given.fd(0), given, 1, connect))
    }),
];

/// Opens: the path at an index, then flags and a mode.
fn open(directory: c_int, given: &CallArguments, path: usize) -> c_int {
    let (flags, mode) = (given.int(path + 1), given.mode(path + 2));
    // SAFETY: the path outlives the call, or is bad on purpose.
    unsafe { libc::openat(directory, given.path(path), flags, libc::c_uint::from(mode)) }
}

fn create(_: &mut Hands, given: &CallArguments) -> Result<Answer, String> {
    let flags = libc::O_CREAT | libc::O_EXCL | libc::O_WRONLY;
    // SAFETY: the path outlives the call, or is bad on purpose.
    let fd = unsafe { libc::open(given.path(0), flags, libc::c_uint::from(given.mode(1))) };
    if fd < 0 {
        return Ok(Answer::last());
    }
    Ok(ask!(close(fd)))
}

fn readlink(directory: c_int, given: &CallArguments, path: usize) -> Answer {
    let size = if given.has(path + 1) { given.number(path + 1).clamp(0, 65536) as usize } else { 65536 };
    let mut buffer = vec![0u8; size];
    // SAFETY: the buffer is as long as said; the path outlives the call, or is bad on purpose.
    let count =
        unsafe { libc::readlinkat(directory, given.path(path), buffer.as_mut_ptr().cast(), buffer.len()) };
    match usize::try_from(count) {
        Ok(count) => Answer::said(text(&buffer[..count])).with("count", count),
        Err(_) => Answer::last(),
    }
}

fn mknod(directory: c_int, given: &CallArguments, path: usize) -> Answer {
    let kind = match given.bytes(path + 1) {
        b"b" => libc::S_IFBLK,
        b"c" => libc::S_IFCHR,
        b"f" => libc::S_IFIFO,
        b"d" => libc::S_IFDIR,
        b"r" => libc::S_IFREG,
        _ => libc::S_IFSOCK,
    };
    let device = libc::makedev(given.number(path + 3) as _, given.number(path + 4) as _);
    ask!(mknodat(directory, given.path(path), kind | given.mode(path + 2), device))
}

/// A call on a socket and an address.
type Meet = fn(c_int, &libc::sockaddr_un, libc::socklen_t) -> Answer;

fn bind(socket: c_int, address: &libc::sockaddr_un, length: libc::socklen_t) -> Answer {
    let answer = ask!(bind(socket, std::ptr::from_ref(address).cast(), length));
    if answer.errno.is_some() { answer } else { ask!(listen(socket, 8)) }
}

fn connect(socket: c_int, address: &libc::sockaddr_un, length: libc::socklen_t) -> Answer {
    ask!(connect(socket, std::ptr::from_ref(address).cast(), length))
}

/// Makes a socket and binds or connects it below a directory.
fn socket(hands: &mut Hands, directory: c_int, given: &CallArguments, path: usize, meet: Meet) -> Answer {
    let name = match reached(directory, given.name(path)) {
        Ok(name) => name,
        Err(errno) => return Answer::failed(errno),
    };
    // SAFETY: an address of zeros is one without a name.
    let mut address: libc::sockaddr_un = unsafe { std::mem::zeroed() };
    if given.is_bad(path) {
        return Answer::failed(libc::EFAULT);
    }
    if name.len() >= address.sun_path.len() {
        return Answer::failed(libc::ENAMETOOLONG);
    }
    address.sun_family = libc::AF_UNIX as _;
    for (to, from) in address.sun_path.iter_mut().zip(&name) {
        *to = *from as _;
    }
    // SAFETY: takes no pointers.
    let socket = unsafe { libc::socket(libc::AF_UNIX, libc::SOCK_STREAM | CLOSED_BY_EXEC, 0) };
    if socket < 0 {
        return Answer::last();
    }
    // With the 0 at the end, so that an empty path is one and not an abstract name.
    let length = std::mem::offset_of!(libc::sockaddr_un, sun_path) + name.len() + 1;
    let answer = meet(socket, &address, length as libc::socklen_t);
    match answer.errno {
        Some(_) => _ = ask!(close(socket)),
        None => _ = hands.keep(&given.label, socket),
    }
    answer
}

/// Not handed to programs that are started.
#[cfg(not(target_os = "macos"))]
const CLOSED_BY_EXEC: c_int = libc::SOCK_CLOEXEC;
#[cfg(target_os = "macos")]
const CLOSED_BY_EXEC: c_int = 0;

/// The path by which a name below a descriptor is reached: sockets have no call for that but on BSD.
fn reached(directory: c_int, name: &[u8]) -> Result<Vec<u8>, i32> {
    if directory == libc::AT_FDCWD || name.starts_with(b"/") {
        return Ok(name.to_vec());
    }
    // SAFETY: a stat of zeros is one, and the call fills it.
    let mut stat: libc::stat = unsafe { std::mem::zeroed() };
    // SAFETY: the place is a stat's.
    if unsafe { libc::fstat(directory, &mut stat) } < 0 {
        return Err(iodyno_engine::memory::errno());
    }
    if stat.st_mode & libc::S_IFMT != libc::S_IFDIR {
        return Err(libc::ENOTDIR);
    }
    let mut path = format!("/proc/self/fd/{directory}/").into_bytes();
    path.extend_from_slice(name);
    Ok(path)
}
