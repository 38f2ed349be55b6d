//! Calls that change whose a file is, who may do what with it, and its times.

use std::ffi::c_int;

use super::Answer;
use super::flags::{ACCESS, AT, NANOSECONDS};
use super::table::{Verb, verb};
use super::words::{ArgumentKind, CallArguments};
use ArgumentKind::{Fd, Flags, Number, One, Path};

/// Nanoseconds, or that the time is now, or stays.
const NANO: ArgumentKind = One(NANOSECONDS);

/// The calls.
pub(super) const VERBS: &[Verb] = &[
    verb("chmod", &[Path, Number], "PATH MODE: changes the mode", |_, given| {
        Ok(ask!(chmod(given.path(0), given.mode(1))))
    }),
    verb("fchmod", &[Fd, Number], "FD MODE: changes the mode", |_, given| {
        Ok(ask!(fchmod(given.fd(0), given.mode(1))))
    }),
    verb("lchmod", &[Path, Number], "PATH MODE: changes the mode, of a link itself", |_, given| {
        Ok(fchmodat(libc::AT_FDCWD, given, 0, libc::AT_SYMLINK_NOFOLLOW))
    }),
    verb("fchmodat", &[Fd, Path, Number, Flags(AT)], "FD PATH MODE FLAGS: changes the mode", |_, given| {
        Ok(fchmodat(given.fd(0), given, 1, given.int(3)))
    }),
    verb("chown", &[Path, Number, Number], "PATH UID GID: changes owner and group", |_, given| {
        Ok(ask!(chown(given.path(0), given.id(1), given.id(2))))
    }),
    verb("fchown", &[Fd, Number, Number], "FD UID GID: changes owner and group", |_, given| {
        Ok(ask!(fchown(given.fd(0), given.id(1), given.id(2))))
    }),
    verb(
        "lchown",
        &[Path, Number, Number],
        "PATH UID GID: changes owner and group, of a link itself",
        |_, given| Ok(ask!(lchown(given.path(0), given.id(1), given.id(2)))),
    ),
    verb(
        "fchownat",
        &[Fd, Path, Number, Number, Flags(AT)],
        "FD PATH UID GID FLAGS: changes owner and group",
        |_, given| Ok(ask!(fchownat(given.fd(0), given.path(1), given.id(2), given.id(3), given.int(4)))),
    ),
    verb("access", &[Path, Flags(ACCESS)], "PATH MODE: may the real user do that", |_, given| {
        Ok(ask!(access(given.path(0), given.int(1))))
    }),
    verb(
        "faccessat",
        &[Fd, Path, Flags(ACCESS), Flags(AT)],
        "FD PATH MODE FLAGS: may the user do that",
        |_, given| Ok(faccessat(given)),
    ),
    verb(
        "utimensat",
        &[Fd, Path, Number, NANO, Number, NANO, Flags(AT)],
        "FD PATH ASEC ANSEC MSEC MNSEC FLAGS: changes the times of access and modification",
        |_, given| {
            let times = times(given, 2);
            Ok(ask!(utimensat(given.fd(0), given.path(1), times.as_ptr(), given.int(6))))
        },
    ),
    verb(
        "futimens",
        &[Fd, Number, NANO, Number, NANO],
        "FD ASEC ANSEC MSEC MNSEC: changes the times of access and modification",
        |_, given| {
            let times = times(given, 1);
            Ok(ask!(futimens(given.fd(0), times.as_ptr())))
        },
    ),
];

/// Access and modification, from an index on.
fn times(given: &CallArguments, from: usize) -> [libc::timespec; 2] {
    [from, from + 2].map(|index| {
        // SAFETY: a time is numbers only.
        let mut time: libc::timespec = unsafe { std::mem::zeroed() };
        time.tv_sec = given.number(index) as _;
        time.tv_nsec = given.number(index + 1) as _;
        time
    })
}

/// The kernel's call with flags where it has one (6.6): the C library's may go through /proc instead.
#[cfg(target_os = "linux")]
fn fchmodat(directory: c_int, given: &CallArguments, path: usize, flags: c_int) -> Answer {
    // The same number on every machine that Rust knows; the library does not name it on all of them.
    const FCHMODAT2: libc::c_long = 452;
    // SAFETY: the path is a word that outlives the call, or bad on purpose, which the kernel answers with EFAULT.
    let answer = Answer::of(unsafe {
        libc::syscall(FCHMODAT2, directory, given.path(path), given.mode(path + 1), flags)
    });
    match answer.errno {
        Some(libc::ENOSYS) => ask!(fchmodat(directory, given.path(path), given.mode(path + 1), flags)),
        _ => answer,
    }
}

#[cfg(not(target_os = "linux"))]
fn fchmodat(directory: c_int, given: &CallArguments, path: usize, flags: c_int) -> Answer {
    ask!(fchmodat(directory, given.path(path), given.mode(path + 1), flags))
}

/// The kernel's call with flags where it has one (5.8): the C library's may compute it by itself instead.
#[cfg(target_os = "linux")]
fn faccessat(given: &CallArguments) -> Answer {
    let answer = kernel!(SYS_faccessat2(given.fd(0), given.path(1), given.int(2), given.int(3)));
    match answer.errno {
        Some(libc::ENOSYS) => ask!(faccessat(given.fd(0), given.path(1), given.int(2), given.int(3))),
        _ => answer,
    }
}

#[cfg(not(target_os = "linux"))]
fn faccessat(given: &CallArguments) -> Answer {
    ask!(faccessat(given.fd(0), given.path(1), given.int(2), given.int(3)))
}
