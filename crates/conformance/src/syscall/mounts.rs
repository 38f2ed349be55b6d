//! Mounts, in the name space of the case: whoever runs it has made one of its own.

use super::Answer;
use super::flags::MOUNT;
use super::table::{Verb, verb};
use super::words::{ArgumentKind, CallArguments};
use ArgumentKind::{Flags, Path};

/// The calls.
pub(super) const VERBS: &[Verb] = &[
    verb("mount_tmpfs", &[Path], "PATH [FLAGS]: mounts an empty file system in memory", |_, given| {
        let options = c"size=1m,nr_inodes=1k,mode=0777";
        let flags = given.number(1) as libc::c_ulong;
        let kind = c"tmpfs".as_ptr();
        Ok(ask!(mount(kind, given.path(0), kind, flags, options.as_ptr().cast())))
    })
    .or(&[Flags(MOUNT)]),
    verb(
        "mount_bind",
        &[Path, Path],
        "FROM PATH [FLAGS]: mounts a directory or a file once more",
        |_, given| Ok(bind(given)),
    )
    .or(&[Flags(MOUNT)]),
    verb("umount", &[Path], "PATH: removes a mount", |_, given| Ok(ask!(umount2(given.path(0), 0)))),
];

/// Flags of a second view take effect only when it is mounted again.
fn bind(given: &CallArguments) -> Answer {
    let nothing = std::ptr::null();
    let flags = given.number(2) as libc::c_ulong;
    let answer = ask!(mount(given.path(0), given.path(1), nothing, libc::MS_BIND, nothing.cast()));
    if answer.errno.is_some() || flags & !libc::MS_BIND == 0 {
        return answer;
    }
    let again = libc::MS_BIND | libc::MS_REMOUNT | flags;
    let answer = ask!(mount(nothing, given.path(1), nothing, again, nothing.cast()));
    if answer.errno.is_some() {
        // Half a mount is none.
        let _ = ask!(umount2(given.path(1), libc::MNT_DETACH));
    }
    answer
}
