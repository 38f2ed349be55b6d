//! Calls that say what a file is: stat and its kin.
//!
//! Times are `seconds.nnnnnnnnn`, as the kernel keeps them: below 1970 the seconds are negative and the nanoseconds
//! count up from them, so -1.900000000 is a tenth of a second before 1970.

use std::ffi::c_int;

use super::Answer;
#[cfg(target_os = "linux")]
use super::fd_table::Hands;
use super::flags::{AT, PATHCONF};
#[cfg(target_os = "linux")]
use super::flags::{STATX, STATX_ATTRIBUTES};
use super::table::{Verb, verb};
use super::words::{ArgumentKind, CallArguments};
use ArgumentKind::{Fd, Flags, One, Path};

/// The calls.
pub(super) const VERBS: &[Verb] = &[
    verb("stat", &[Path], "PATH: says what a file is", |_, given| Ok(stat(libc::AT_FDCWD, given, 0, 0))),
    verb("lstat", &[Path], "PATH: says what a file is, a link itself", |_, given| {
        Ok(stat(libc::AT_FDCWD, given, 0, libc::AT_SYMLINK_NOFOLLOW))
    }),
    verb("fstat", &[Fd], "FD: says what is open", |_, given| Ok(fstat(given.fd(0)))),
    verb("fstatat", &[Fd, Path, Flags(AT)], "FD PATH FLAGS: says what a file is", |_, given| {
        Ok(stat(given.fd(0), given, 1, given.int(2)))
    }),
    #[cfg(target_os = "linux")]
    verb("statx", &[Fd, Path, Flags(AT), Flags(STATX)], "FD PATH FLAGS MASK: says what a file is", statx),
    verb("statvfs", &[Path], "PATH: says what a file system is", |_, given| Ok(statvfs(given))),
    verb("pathconf", &[Path, One(PATHCONF)], "PATH NAME: says a limit", |_, given| {
        // SAFETY: the path outlives the call, or is bad on purpose.
        Ok(limit(|| unsafe { libc::pathconf(given.path(0), given.int(1)) }))
    }),
    verb("fpathconf", &[Fd, One(PATHCONF)], "FD NAME: says a limit", |_, given| {
        // SAFETY: takes no pointers.
        Ok(limit(|| unsafe { libc::fpathconf(given.fd(0), given.int(1)) }))
    }),
];

/// The kernel's own call: the C library's looks at the path where the flags say so.
#[cfg(target_os = "linux")]
pub(super) fn stat(directory: c_int, given: &CallArguments, path: usize, flags: c_int) -> Answer {
    filled(|to| {
        // SAFETY: the place is a stat's, which is the kernel's on 64 bits; the path outlives the call, or is bad on
        // purpose.
        unsafe { libc::syscall(libc::SYS_newfstatat, directory, given.path(path), to, flags) }
    })
}

#[cfg(not(target_os = "linux"))]
pub(super) fn stat(directory: c_int, given: &CallArguments, path: usize, flags: c_int) -> Answer {
    // SAFETY: the place is a stat's; the path outlives the call, or is bad on purpose.
    filled(|to| unsafe { libc::fstatat(directory, given.path(path), to, flags) }.into())
}

fn fstat(fd: c_int) -> Answer {
    // SAFETY: the place is a stat's.
    filled(|to| unsafe { libc::fstat(fd, to) }.into())
}

fn filled(fill: impl FnOnce(*mut libc::stat) -> i64) -> Answer {
    // SAFETY: a stat is numbers only.
    let mut stat: libc::stat = unsafe { std::mem::zeroed() };
    match fill(&mut stat) {
        0 => described(&stat),
        _ => Answer::last(),
    }
}

fn described(stat: &libc::stat) -> Answer {
    Answer::default()
        .with("type", kind(stat.st_mode as u32))
        .with("mode", format!("0{:o}", stat.st_mode & 0o7777))
        .with("ino", stat.st_ino)
        .with("inode", stat.st_ino)
        .with("nlink", stat.st_nlink)
        .with("uid", stat.st_uid)
        .with("gid", stat.st_gid)
        .with("size", stat.st_size)
        .with("blocks", stat.st_blocks)
        .with("blksize", stat.st_blksize)
        .with("dev", stat.st_dev)
        .with("major", libc::major(stat.st_rdev))
        .with("minor", libc::minor(stat.st_rdev))
        .with("atime", time(stat.st_atime as i64, stat.st_atime_nsec as u32))
        .with("mtime", time(stat.st_mtime as i64, stat.st_mtime_nsec as u32))
        .with("ctime", time(stat.st_ctime as i64, stat.st_ctime_nsec as u32))
}

fn time(seconds: i64, nanoseconds: u32) -> String {
    format!("{seconds}.{nanoseconds:09}")
}

/// The type in a mode.
pub(super) fn kind(mode: u32) -> &'static str {
    match mode & libc::S_IFMT as u32 {
        bits if bits == libc::S_IFREG as u32 => "regular",
        bits if bits == libc::S_IFDIR as u32 => "directory",
        bits if bits == libc::S_IFIFO as u32 => "fifo",
        bits if bits == libc::S_IFCHR as u32 => "char",
        bits if bits == libc::S_IFBLK as u32 => "block",
        bits if bits == libc::S_IFSOCK as u32 => "socket",
        bits if bits == libc::S_IFLNK as u32 => "symlink",
        _ => "unknown",
    }
}

/// What statx fills, as the kernel lays it out (256 bytes; `linux/stat.h`).
#[cfg(target_os = "linux")]
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Statx {
    mask: u32,
    blksize: u32,
    attributes: u64,
    nlink: u32,
    uid: u32,
    gid: u32,
    mode: u16,
    _pad: u16,
    ino: u64,
    size: u64,
    blocks: u64,
    attributes_mask: u64,
    atime: StatxTime,
    btime: StatxTime,
    ctime: StatxTime,
    mtime: StatxTime,
    rdev: [u32; 2],
    dev: [u32; 2],
    mnt_id: u64,
    dio_mem_align: u32,
    dio_offset_align: u32,
    subvol: u64,
    atomic_write_unit_min: u32,
    atomic_write_unit_max: u32,
    atomic_write_segments_max: u32,
    dio_read_offset_align: u32,
    _spare: [u64; 9],
}

#[cfg(target_os = "linux")]
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct StatxTime {
    seconds: i64,
    nanoseconds: u32,
    _pad: u32,
}

#[cfg(target_os = "linux")]
const _: () = assert!(size_of::<Statx>() == 256);

#[cfg(target_os = "linux")]
fn statx(_: &mut Hands, given: &CallArguments) -> Result<Answer, String> {
    let mut to = Statx::default();
    let place = std::ptr::from_mut(&mut to);
    let (flags, mask) = (given.int(2), given.number(3) as u32);
    let answer = kernel!(SYS_statx(given.fd(0), given.path(1), flags, mask, place));
    if answer.errno.is_some() {
        return Ok(answer);
    }
    let answer = [("atime", to.atime), ("mtime", to.mtime), ("ctime", to.ctime), ("btime", to.btime)]
        .into_iter()
        .fold(answer, |answer, (name, at)| answer.with(name, time(at.seconds, at.nanoseconds)));
    Ok(counts(answer, &to)
        .with("mask", format!("{:#x}", to.mask))
        .with("attributes", joined(to.attributes))
        .with("attributes_mask", joined(to.attributes_mask))
        .with("mnt_id", to.mnt_id)
        .with("dio_mem_align", to.dio_mem_align)
        .with("dio_offset_align", to.dio_offset_align)
        .with("dio_read_offset_align", to.dio_read_offset_align)
        .with("subvol", to.subvol))
}

#[cfg(target_os = "linux")]
fn counts(answer: Answer, to: &Statx) -> Answer {
    answer
        .with("type", kind(to.mode.into()))
        .with("mode", format!("0{:o}", to.mode & 0o7777))
        .with("ino", to.ino)
        .with("inode", to.ino)
        .with("nlink", to.nlink)
        .with("uid", to.uid)
        .with("gid", to.gid)
        .with("size", to.size)
        .with("blocks", to.blocks)
        .with("blksize", to.blksize)
        .with("dev", libc::makedev(to.dev[0], to.dev[1]))
        .with("major", to.rdev[0])
        .with("minor", to.rdev[1])
}

/// Attributes in the words of the header, lower case, joined by `|`; `none` if there are none.
#[cfg(target_os = "linux")]
fn joined(attributes: u64) -> String {
    let names: Vec<String> = STATX_ATTRIBUTES.of(attributes as i64).map(str::to_lowercase).collect();
    if names.is_empty() { "none".into() } else { names.join("|") }
}

fn statvfs(given: &CallArguments) -> Answer {
    // SAFETY: the structure is numbers only.
    let mut to: libc::statvfs = unsafe { std::mem::zeroed() };
    let answer = ask!(statvfs(given.path(0), &mut to));
    if answer.errno.is_some() {
        return answer;
    }
    answer
        .with("bsize", to.f_bsize)
        .with("frsize", to.f_frsize)
        .with("blocks", to.f_blocks)
        .with("bfree", to.f_bfree)
        .with("bavail", to.f_bavail)
        .with("files", to.f_files)
        .with("ffree", to.f_ffree)
        .with("namemax", to.f_namemax)
        .with("flags", mount_flags(to.f_flag as u64))
        .with("ro", u8::from(to.f_flag as u64 & libc::ST_RDONLY as u64 != 0))
        .with("nosuid", u8::from(to.f_flag as u64 & libc::ST_NOSUID as u64 != 0))
}

/// The flags of a mount that rules ask for, in the words of mount(8), joined by `|`.
fn mount_flags(flags: u64) -> String {
    #[cfg(target_os = "linux")]
    const KNOWN: &[(u64, &str)] = &[
        (libc::ST_RDONLY as u64, "ro"),
        (libc::ST_NOSUID as u64, "nosuid"),
        (libc::ST_NODEV as u64, "nodev"),
        (libc::ST_NOEXEC as u64, "noexec"),
        (libc::ST_SYNCHRONOUS as u64, "sync"),
        (libc::ST_NOATIME as u64, "noatime"),
        (libc::ST_RELATIME as u64, "relatime"),
    ];
    #[cfg(not(target_os = "linux"))]
    const KNOWN: &[(u64, &str)] = &[(libc::ST_RDONLY as u64, "ro"), (libc::ST_NOSUID as u64, "nosuid")];
    let names: Vec<&str> = KNOWN.iter().filter(|(bit, _)| flags & bit != 0).map(|(_, name)| *name).collect();
    if names.is_empty() { "none".into() } else { names.join("|") }
}

/// A limit: a number, or `unlimited`, which is -1 without an error.
fn limit(ask: impl FnOnce() -> libc::c_long) -> Answer {
    forget();
    match ask() {
        -1 if iodyno_engine::memory::errno() == 0 => Answer::said("unlimited"),
        -1 => Answer::last(),
        number => Answer::said(number.to_string()),
    }
}

/// Sets the last error to none.
pub(super) fn forget() {
    #[cfg(target_os = "linux")]
    // SAFETY: the place is this thread's own.
    unsafe {
        *libc::__errno_location() = 0;
    }
    #[cfg(any(target_os = "freebsd", target_os = "macos"))]
    // SAFETY: the place is this thread's own.
    unsafe {
        *libc::__error() = 0;
    }
}
