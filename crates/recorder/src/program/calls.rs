//! Which system calls are stopped at, and what they mean, on x86-64 and aarch64.

use iodyno_model::Verb;
use iodyno_trace::Owners;
use iodyno_trace::calls::{AT_FDCWD, FileCall, OpenOptions};
use iodyno_trace::descriptors::OpenMode;

use super::memory::ProcessMemory;

/// The arguments of a call, as the registers hold them.
pub type Arguments = [u64; 6];

/// What a call means; none: nothing that is recorded.
type Decode = fn(&Arguments, &ProcessMemory) -> Option<FileCall>;

/// For which arguments the kernel stops at a call; for all others it runs at full speed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stops {
    Always,
    /// Unless one of these bits of the argument is set.
    Unless(u32, u32),
    /// If one of these bits of the argument is set.
    If(u32, u32),
    /// If the argument is one of these.
    OneOf(u32, &'static [u32]),
    /// Of `lseek`: unless it only asks where the position is.
    UnlessTell,
}

/// A system call of interest.
#[derive(Clone, Copy)]
pub struct TracedCall {
    pub number: i64,
    pub stops: Stops,
    pub decode: Decode,
}

const AT_SYMLINK_NOFOLLOW: u64 = libc::AT_SYMLINK_NOFOLLOW as u64;
const AT_EMPTY_PATH: u64 = libc::AT_EMPTY_PATH as u64;
/// A request of `ioctl`: the numbers are the same on both.
const FICLONE: u32 = 0x4004_9409;
const FICLONERANGE: u32 = 0x4020_940d;
const FIOCLEX: u32 = 0x5451;
const FIONCLEX: u32 = 0x5450;
const BLKDISCARD: u32 = 0x1277;
const BLKZEROOUT: u32 = 0x127f;
const F_GETLK_KIN: [i32; 4] = [libc::F_SETLK, libc::F_SETLKW, libc::F_OFD_SETLK, libc::F_OFD_SETLKW];

const FCNTL: &[u32] = &[
    libc::F_DUPFD as u32,
    libc::F_DUPFD_CLOEXEC as u32,
    libc::F_SETFD as u32,
    libc::F_SETFL as u32,
    libc::F_SETLK as u32,
    libc::F_SETLKW as u32,
    libc::F_OFD_SETLK as u32,
    libc::F_OFD_SETLKW as u32,
];
const IOCTL: &[u32] = &[FICLONE, FICLONERANGE, FIOCLEX, FIONCLEX, BLKDISCARD, BLKZEROOUT];

const fn call(number: libc::c_long, decode: Decode) -> TracedCall {
    TracedCall { number, stops: Stops::Always, decode }
}

const fn some(number: libc::c_long, stops: Stops, decode: Decode) -> TracedCall {
    TracedCall { number, stops, decode }
}

fn fd(argument: u64) -> i32 {
    argument as u32 as i32
}

fn on_descriptor(verb: Verb, descriptor: u64, offset: u64, bytes: u64) -> Option<FileCall> {
    Some(FileCall::OnDescriptor { verb, fd: fd(descriptor), offset, bytes })
}

fn on_path(verb: Verb, at: i32, path: Option<String>, follows: bool, bytes: u64) -> Option<FileCall> {
    Some(FileCall::OnPath { verb, at, path: path?, follows, bytes })
}

fn on_paths(
    verb: Verb,
    at: i32,
    path: Option<String>,
    other_at: i32,
    other: Option<String>,
) -> Option<FileCall> {
    Some(FileCall::OnPaths { verb, at, path: path?, other_at, other: other? })
}

fn transfer(verb: Verb, descriptor: u64, offset: Option<u64>, bytes: u64) -> Option<FileCall> {
    Some(FileCall::Transfer { verb, fd: fd(descriptor), offset, bytes, durable: false, append: false })
}

/// `preadv2` and `pwritev2`: an offset of -1 is the position.
fn transfer2(verb: Verb, a: &Arguments, memory: &ProcessMemory) -> Option<FileCall> {
    let offset = if a[3] as i64 == -1 { None } else { Some(a[3]) };
    let flags = a[5] as i32;
    Some(FileCall::Transfer {
        verb,
        fd: fd(a[0]),
        offset,
        bytes: memory.vectors(a[1], a[2]),
        durable: flags & (libc::RWF_DSYNC | libc::RWF_SYNC) != 0,
        append: flags & libc::RWF_APPEND != 0,
    })
}

fn open(at: i32, path: Option<String>, flags: u64, permissions: u64) -> Option<FileCall> {
    let has = |flag: libc::c_int| flags & flag as u64 == flag as u64;
    let options = OpenOptions {
        mode: OpenMode {
            append: has(libc::O_APPEND),
            direct: has(libc::O_DIRECT),
            durable: has(libc::O_DSYNC) || has(libc::O_SYNC),
        },
        creates: has(libc::O_CREAT),
        exclusive: has(libc::O_EXCL),
        truncates: has(libc::O_TRUNC),
        nameless: has(libc::O_TMPFILE),
        follows_no_link: has(libc::O_NOFOLLOW),
        close_on_exec: has(libc::O_CLOEXEC),
        permissions: permissions as u32,
    };
    Some(FileCall::Open { at, path: path?, options })
}

fn openat2(a: &Arguments, memory: &ProcessMemory) -> Option<FileCall> {
    // `struct open_how`: flags, mode, resolve.
    open(fd(a[0]), memory.text(a[1]), memory.word(a[2])?, memory.word(a[2] + 8)?)
}

fn fcntl(a: &Arguments, memory: &ProcessMemory) -> Option<FileCall> {
    match a[1] as i32 {
        libc::F_DUPFD => Some(FileCall::Duplicate { fd: fd(a[0]), close_on_exec: false }),
        libc::F_DUPFD_CLOEXEC => Some(FileCall::Duplicate { fd: fd(a[0]), close_on_exec: true }),
        libc::F_SETFD => {
            Some(FileCall::SetCloseOnExec { fd: fd(a[0]), on: a[2] & libc::FD_CLOEXEC as u64 != 0 })
        }
        libc::F_SETFL => {
            let has = |flag: libc::c_int| a[2] & flag as u64 != 0;
            Some(FileCall::SetStatus {
                fd: fd(a[0]),
                append: has(libc::O_APPEND),
                direct: has(libc::O_DIRECT),
            })
        }
        command if F_GETLK_KIN.contains(&command) => {
            // `struct flock`: type and whence (16 bits each), start, length.
            let kind = memory.word(a[2])? as u16;
            let verb = if kind == libc::F_UNLCK as u16 { Verb::Unlock } else { Verb::Lock };
            on_descriptor(verb, a[0], memory.word(a[2] + 8)?, memory.word(a[2] + 16)?)
        }
        _ => None,
    }
}

fn ioctl(a: &Arguments, memory: &ProcessMemory) -> Option<FileCall> {
    match a[1] as u32 {
        FIOCLEX => Some(FileCall::SetCloseOnExec { fd: fd(a[0]), on: true }),
        FIONCLEX => Some(FileCall::SetCloseOnExec { fd: fd(a[0]), on: false }),
        FICLONE => {
            Some(FileCall::Reflink { from: fd(a[2]), from_offset: 0, to: fd(a[0]), to_offset: 0, bytes: 0 })
        }
        FICLONERANGE => Some(FileCall::Reflink {
            from: fd(memory.word(a[2])?),
            from_offset: memory.word(a[2] + 8)?,
            to: fd(a[0]),
            to_offset: memory.word(a[2] + 24)?,
            bytes: memory.word(a[2] + 16)?,
        }),
        request @ (BLKDISCARD | BLKZEROOUT) => {
            let verb = if request == BLKDISCARD { Verb::Discard } else { Verb::WriteZeroes };
            on_descriptor(verb, a[0], memory.word(a[2])?, memory.word(a[2] + 8)?)
        }
        _ => None,
    }
}

/// The owners that a chown asks for, as a record holds them.
fn owners(user: u64, group: u64) -> u64 {
    Owners::of_call(user as u32, group as u32).bytes()
}

fn fallocate(a: &Arguments, _: &ProcessMemory) -> Option<FileCall> {
    Some(FileCall::Allocate { fd: fd(a[0]), mode: a[1] as u32, offset: a[2], bytes: a[3] })
}

fn copy(a: &Arguments, memory: &ProcessMemory, verb: Verb) -> Option<FileCall> {
    let offset = |pointer: u64| if pointer == 0 { None } else { memory.word(pointer) };
    let (from_offset, to_offset) = (offset(a[1]), offset(a[3]));
    Some(FileCall::Copy { verb, from: fd(a[0]), from_offset, to: fd(a[2]), to_offset, bytes: a[4] })
}

fn sendfile(a: &Arguments, memory: &ProcessMemory) -> Option<FileCall> {
    let from_offset = if a[2] == 0 { None } else { memory.word(a[2]) };
    let (from, to) = (fd(a[1]), fd(a[0]));
    Some(FileCall::Copy { verb: Verb::Write, from, from_offset, to, to_offset: None, bytes: a[3] })
}

fn mmap(a: &Arguments, _: &ProcessMemory) -> Option<FileCall> {
    let flags = a[3] as i32;
    if flags & libc::MAP_ANONYMOUS != 0 {
        return None;
    }
    let is_shared = flags & libc::MAP_TYPE != libc::MAP_PRIVATE;
    let writes = a[2] as i32 & libc::PROT_WRITE != 0;
    Some(FileCall::Map { fd: fd(a[4]), offset: a[5], bytes: a[1], is_shared, writes })
}

fn close_range(a: &Arguments, _: &ProcessMemory) -> Option<FileCall> {
    let number = |value: u64| i32::try_from(value as u32).unwrap_or(i32::MAX);
    Some(FileCall::CloseRange {
        first: number(a[0]),
        last: number(a[1]),
        unshares: a[2] & 2 != 0,
        close_on_exec: a[2] & 4 != 0,
    })
}

/// Of the calls that take a path and `AT_*` flags: a path that is missing means the descriptor.
fn at_path(verb: Verb, a: &Arguments, flags: u64, memory: &ProcessMemory, bytes: u64) -> Option<FileCall> {
    let path = match (a[1], memory.text(a[1])) {
        (0, _) => String::new(),
        (_, Some(path)) => path,
        // Understood when the memory was gone: a call with this flag names its descriptor alone, as every C library does.
        (_, None) if flags & AT_EMPTY_PATH != 0 => String::new(),
        (_, None) => return None,
    };
    let is_descriptor = path.is_empty() && fd(a[0]) != AT_FDCWD;
    let verb = match (verb, flags & AT_SYMLINK_NOFOLLOW != 0) {
        (Verb::Stat, _) if is_descriptor => Verb::Fstat,
        (Verb::Stat, true) => Verb::Lstat,
        (verb, _) => verb,
    };
    on_path(verb, fd(a[0]), Some(path), flags & AT_SYMLINK_NOFOLLOW == 0, bytes)
}

fn unlinkat(a: &Arguments, memory: &ProcessMemory) -> Option<FileCall> {
    let verb = if a[2] & libc::AT_REMOVEDIR as u64 != 0 { Verb::Rmdir } else { Verb::Unlink };
    on_path(verb, fd(a[0]), memory.text(a[1]), false, 0)
}

fn node(at: i32, path: Option<String>, mode: u64, device: u64) -> Option<FileCall> {
    let is_pipe = mode as u32 & libc::S_IFMT == libc::S_IFIFO;
    Some(FileCall::MakeNode {
        verb: if is_pipe { Verb::Mkfifo } else { Verb::Mknod },
        at,
        path: path?,
        mode: mode & 0o177_777,
        // The system call has 32 bits for it, as the kernel's `new_decode_dev` reads them.
        device: (device >> 8 & 0xfff) << 32 | (device & 0xff) | (device >> 12 & 0xf_ff00),
    })
}

/// An extended attribute; no path: of the descriptor.
fn attribute(
    verb: Verb,
    at: i32,
    path: Option<String>,
    follows: bool,
    (name, bytes): (Option<String>, u64),
) -> Option<FileCall> {
    Some(FileCall::OnAttribute { verb, at, path: path?, follows, name: name?, bytes })
}

fn no_path() -> Option<String> {
    Some(String::new())
}

/// The calls that both architectures have.
#[rustfmt::skip]
const COMMON: &[TracedCall] = &[
    call(libc::SYS_openat, |a, m| open(fd(a[0]), m.text(a[1]), a[2], a[3])),
    call(libc::SYS_openat2, openat2),
    call(libc::SYS_close, |a, _| Some(FileCall::Close { fd: fd(a[0]) })),
    call(libc::SYS_close_range, close_range),
    call(libc::SYS_dup, |a, _| Some(FileCall::Duplicate { fd: fd(a[0]), close_on_exec: false })),
    call(libc::SYS_dup3, |a, _| {
        Some(FileCall::Duplicate { fd: fd(a[0]), close_on_exec: a[2] & libc::O_CLOEXEC as u64 != 0 })
    }),
    some(libc::SYS_fcntl, Stops::OneOf(1, FCNTL), fcntl),
    some(libc::SYS_ioctl, Stops::OneOf(1, IOCTL), ioctl),
    call(libc::SYS_flock, |a, _| {
        on_descriptor(if a[1] as i32 & libc::LOCK_UN != 0 { Verb::Unlock } else { Verb::Lock }, a[0], 0, 0)
    }),
    call(libc::SYS_read, |a, _| transfer(Verb::Read, a[0], None, a[2])),
    call(libc::SYS_write, |a, _| transfer(Verb::Write, a[0], None, a[2])),
    call(libc::SYS_pread64, |a, _| transfer(Verb::Read, a[0], Some(a[3]), a[2])),
    call(libc::SYS_pwrite64, |a, _| transfer(Verb::Write, a[0], Some(a[3]), a[2])),
    call(libc::SYS_readv, |a, m| transfer(Verb::Read, a[0], None, m.vectors(a[1], a[2]))),
    call(libc::SYS_writev, |a, m| transfer(Verb::Write, a[0], None, m.vectors(a[1], a[2]))),
    call(libc::SYS_preadv, |a, m| transfer(Verb::Read, a[0], Some(a[3]), m.vectors(a[1], a[2]))),
    call(libc::SYS_pwritev, |a, m| transfer(Verb::Write, a[0], Some(a[3]), m.vectors(a[1], a[2]))),
    call(libc::SYS_preadv2, |a, m| transfer2(Verb::Read, a, m)),
    call(libc::SYS_pwritev2, |a, m| transfer2(Verb::Write, a, m)),
    some(libc::SYS_lseek, Stops::UnlessTell, |a, _| {
        Some(FileCall::Seek { fd: fd(a[0]), offset: a[1] as i64, whence: a[2] as u32 })
    }),
    call(libc::SYS_sendfile, sendfile),
    call(libc::SYS_copy_file_range, |a, m| copy(a, m, Verb::CopyFileRange)),
    call(libc::SYS_splice, |a, m| copy(a, m, Verb::Write)),
    call(libc::SYS_fsync, |a, _| on_descriptor(Verb::Fsync, a[0], 0, 0)),
    call(libc::SYS_fdatasync, |a, _| on_descriptor(Verb::Fdatasync, a[0], 0, 0)),
    call(libc::SYS_sync_file_range, |a, _| on_descriptor(Verb::SyncFileRange, a[0], a[1], a[2])),
    call(libc::SYS_syncfs, |a, _| on_descriptor(Verb::Syncfs, a[0], 0, 0)),
    call(libc::SYS_sync, |_, _| on_path(Verb::Syncfs, AT_FDCWD, Some("/".into()), true, 0)),
    call(libc::SYS_msync, |a, _| Some(FileCall::Msync { address: a[0], bytes: a[1] })),
    some(libc::SYS_mmap, Stops::Unless(3, libc::MAP_ANONYMOUS as u32), mmap),
    call(libc::SYS_truncate, |a, m| on_path(Verb::Truncate, AT_FDCWD, m.text(a[0]), true, a[1])),
    call(libc::SYS_ftruncate, |a, _| on_descriptor(Verb::Truncate, a[0], 0, a[1])),
    call(libc::SYS_fallocate, fallocate),
    call(libc::SYS_fadvise64, |a, _| on_descriptor(Verb::Fadvise, a[0], a[1], a[2])),
    call(libc::SYS_readahead, |a, _| on_descriptor(Verb::Fadvise, a[0], a[1], a[2])),
    call(libc::SYS_unlinkat, unlinkat),
    call(libc::SYS_renameat2, |a, m| on_paths(Verb::Rename, fd(a[0]), m.text(a[1]), fd(a[2]), m.text(a[3]))),
    call(libc::SYS_renameat, |a, m| on_paths(Verb::Rename, fd(a[0]), m.text(a[1]), fd(a[2]), m.text(a[3]))),
    call(libc::SYS_linkat, |a, m| on_paths(Verb::Link, fd(a[0]), m.text(a[1]), fd(a[2]), m.text(a[3]))),
    call(libc::SYS_symlinkat, |a, m| {
        Some(FileCall::Symlink { text: m.text(a[0])?, at: fd(a[1]), path: m.text(a[2])? })
    }),
    call(libc::SYS_mkdirat, |a, m| on_path(Verb::Mkdir, fd(a[0]), m.text(a[1]), false, a[2])),
    call(libc::SYS_mknodat, |a, m| node(fd(a[0]), m.text(a[1]), a[2], a[3])),
    call(libc::SYS_newfstatat, |a, m| at_path(Verb::Stat, a, a[3], m, 0)),
    call(libc::SYS_statx, |a, m| at_path(Verb::Stat, a, a[2], m, 0)),
    call(libc::SYS_fstat, |a, _| on_descriptor(Verb::Fstat, a[0], 0, 0)),
    call(libc::SYS_faccessat, |a, m| at_path(Verb::Access, a, 0, m, a[2])),
    call(libc::SYS_faccessat2, |a, m| at_path(Verb::Access, a, a[3], m, a[2])),
    call(libc::SYS_readlinkat, |a, m| at_path(Verb::Readlink, a, AT_SYMLINK_NOFOLLOW, m, a[3])),
    call(libc::SYS_getdents64, |a, _| on_descriptor(Verb::Readdir, a[0], 0, a[2])),
    call(libc::SYS_fchmod, |a, _| on_descriptor(Verb::Chmod, a[0], 0, a[1])),
    call(libc::SYS_fchmodat, |a, m| at_path(Verb::Chmod, a, 0, m, a[2])),
    call(452, |a, m| at_path(Verb::Chmod, a, a[3], m, a[2])), // fchmodat2
    call(libc::SYS_fchown, |a, _| on_descriptor(Verb::Chown, a[0], 0, owners(a[1], a[2]))),
    call(libc::SYS_fchownat, |a, m| at_path(Verb::Chown, a, a[4], m, owners(a[2], a[3]))),
    call(libc::SYS_utimensat, |a, m| at_path(Verb::Utimens, a, a[3], m, 0)),
    call(libc::SYS_setxattr, |a, m| attribute(Verb::Setxattr, AT_FDCWD, m.text(a[0]), true, (m.text(a[1]), a[3]))),
    call(libc::SYS_lsetxattr, |a, m| attribute(Verb::Setxattr, AT_FDCWD, m.text(a[0]), false, (m.text(a[1]), a[3]))),
    call(libc::SYS_fsetxattr, |a, m| attribute(Verb::Setxattr, fd(a[0]), no_path(), true, (m.text(a[1]), a[3]))),
    call(libc::SYS_getxattr, |a, m| attribute(Verb::Getxattr, AT_FDCWD, m.text(a[0]), true, (m.text(a[1]), a[3]))),
    call(libc::SYS_lgetxattr, |a, m| attribute(Verb::Getxattr, AT_FDCWD, m.text(a[0]), false, (m.text(a[1]), a[3]))),
    call(libc::SYS_fgetxattr, |a, m| attribute(Verb::Getxattr, fd(a[0]), no_path(), true, (m.text(a[1]), a[3]))),
    call(libc::SYS_listxattr, |a, m| on_path(Verb::Listxattr, AT_FDCWD, m.text(a[0]), true, a[2])),
    call(libc::SYS_llistxattr, |a, m| on_path(Verb::Listxattr, AT_FDCWD, m.text(a[0]), false, a[2])),
    call(libc::SYS_flistxattr, |a, _| on_descriptor(Verb::Listxattr, a[0], 0, a[2])),
    call(libc::SYS_removexattr, |a, m| attribute(Verb::Removexattr, AT_FDCWD, m.text(a[0]), true, (m.text(a[1]), 0))),
    call(libc::SYS_lremovexattr, |a, m| attribute(Verb::Removexattr, AT_FDCWD, m.text(a[0]), false, (m.text(a[1]), 0))),
    call(libc::SYS_fremovexattr, |a, m| attribute(Verb::Removexattr, fd(a[0]), no_path(), true, (m.text(a[1]), 0))),
    call(libc::SYS_chdir, |a, m| Some(FileCall::ChangeDirectory { path: m.text(a[0])? })),
    call(libc::SYS_fchdir, |a, _| Some(FileCall::ChangeDirectoryTo { fd: fd(a[0]) })),
    some(libc::SYS_unshare, Stops::If(0, (libc::CLONE_FILES | libc::CLONE_FS) as u32), |a, _| {
        let has = |flag: libc::c_int| a[0] & flag as u64 != 0;
        Some(FileCall::Unshare { descriptors: has(libc::CLONE_FILES), directory: has(libc::CLONE_FS) })
    }),
    call(libc::SYS_io_uring_setup, |_, _| Some(FileCall::Unseen("io_uring"))),
    call(libc::SYS_io_submit, |_, _| Some(FileCall::Unseen("io_submit (asynchronous I/O of the kernel)"))),
    call(libc::SYS_chroot, |_, _| Some(FileCall::Unseen("chroot: later names begin at the new root"))),
    call(libc::SYS_pivot_root, |_, _| Some(FileCall::Unseen("pivot_root: later names begin at the new root"))),
];

/// The older calls that only x86-64 has.
#[cfg(target_arch = "x86_64")]
#[rustfmt::skip]
const LEGACY: &[TracedCall] = &[
    call(libc::SYS_open, |a, m| open(AT_FDCWD, m.text(a[0]), a[1], a[2])),
    call(libc::SYS_creat, |a, m| {
        open(AT_FDCWD, m.text(a[0]), (libc::O_CREAT | libc::O_WRONLY | libc::O_TRUNC) as u64, a[1])
    }),
    call(libc::SYS_dup2, |a, _| Some(FileCall::Duplicate { fd: fd(a[0]), close_on_exec: false })),
    call(libc::SYS_unlink, |a, m| on_path(Verb::Unlink, AT_FDCWD, m.text(a[0]), false, 0)),
    call(libc::SYS_rmdir, |a, m| on_path(Verb::Rmdir, AT_FDCWD, m.text(a[0]), false, 0)),
    call(libc::SYS_rename, |a, m| on_paths(Verb::Rename, AT_FDCWD, m.text(a[0]), AT_FDCWD, m.text(a[1]))),
    call(libc::SYS_link, |a, m| on_paths(Verb::Link, AT_FDCWD, m.text(a[0]), AT_FDCWD, m.text(a[1]))),
    call(libc::SYS_symlink, |a, m| {
        Some(FileCall::Symlink { text: m.text(a[0])?, at: AT_FDCWD, path: m.text(a[1])? })
    }),
    call(libc::SYS_mkdir, |a, m| on_path(Verb::Mkdir, AT_FDCWD, m.text(a[0]), false, a[1])),
    call(libc::SYS_mknod, |a, m| node(AT_FDCWD, m.text(a[0]), a[1], a[2])),
    call(libc::SYS_stat, |a, m| on_path(Verb::Stat, AT_FDCWD, m.text(a[0]), true, 0)),
    call(libc::SYS_lstat, |a, m| on_path(Verb::Lstat, AT_FDCWD, m.text(a[0]), false, 0)),
    call(libc::SYS_access, |a, m| on_path(Verb::Access, AT_FDCWD, m.text(a[0]), true, a[1])),
    call(libc::SYS_readlink, |a, m| on_path(Verb::Readlink, AT_FDCWD, m.text(a[0]), false, a[2])),
    call(libc::SYS_getdents, |a, _| on_descriptor(Verb::Readdir, a[0], 0, a[2])),
    call(libc::SYS_chmod, |a, m| on_path(Verb::Chmod, AT_FDCWD, m.text(a[0]), true, a[1])),
    call(libc::SYS_chown, |a, m| on_path(Verb::Chown, AT_FDCWD, m.text(a[0]), true, owners(a[1], a[2]))),
    call(libc::SYS_lchown, |a, m| on_path(Verb::Chown, AT_FDCWD, m.text(a[0]), false, owners(a[1], a[2]))),
    call(libc::SYS_utime, |a, m| on_path(Verb::Utimens, AT_FDCWD, m.text(a[0]), true, 0)),
    call(libc::SYS_utimes, |a, m| on_path(Verb::Utimens, AT_FDCWD, m.text(a[0]), true, 0)),
    call(libc::SYS_futimesat, |a, m| at_path(Verb::Utimens, a, 0, m, 0)),
];
#[cfg(target_arch = "aarch64")]
const LEGACY: &[TracedCall] = &[];

/// Calls that stop besides where results come from tracepoints: a program that is executed closes descriptors.
const EXECUTIONS: &[TracedCall] =
    &[call(libc::SYS_execve, |_, _| None), call(libc::SYS_execveat, |_, _| None)];

/// Calls whose arguments lead to nothing in the program's memory, and which neither make nor close a descriptor: where
/// tracepoints tell of them they need no stop.
const PLAIN: &[libc::c_long] = &[
    libc::SYS_read,
    libc::SYS_write,
    libc::SYS_pread64,
    libc::SYS_pwrite64,
    libc::SYS_lseek,
    libc::SYS_fsync,
    libc::SYS_fdatasync,
    libc::SYS_sync_file_range,
    libc::SYS_syncfs,
    libc::SYS_ftruncate,
    libc::SYS_fallocate,
    libc::SYS_fadvise64,
    libc::SYS_readahead,
    libc::SYS_fstat,
    libc::SYS_getdents64,
    libc::SYS_flock,
    libc::SYS_fchmod,
    libc::SYS_fchown,
    libc::SYS_flistxattr,
    libc::SYS_mmap,
];

/// Calls that are plain while this argument has `AT_EMPTY_PATH`: a C library's `fstat` is one of them.
const PLAIN_WITHOUT_PATH: &[(libc::c_long, u32)] = &[(libc::SYS_newfstatat, 3), (libc::SYS_statx, 2)];

/// All calls of interest, in the order of their numbers.
pub fn traced() -> Vec<TracedCall> {
    ordered(COMMON.iter().chain(LEGACY).copied())
}

/// The calls that stop where tracepoints tell the rest, in the order of their numbers.
pub fn stopping() -> Vec<TracedCall> {
    let calls = COMMON.iter().chain(LEGACY).filter(|call| !PLAIN.contains(&call.number));
    ordered(calls.chain(EXECUTIONS).map(|call| match flags_argument(call.number) {
        Some(flags) => TracedCall { stops: Stops::Unless(flags, libc::AT_EMPTY_PATH as u32), ..*call },
        None => *call,
    }))
}

/// Whether a call needs no stop where tracepoints tell of it.
pub fn is_plain(number: i64, arguments: &Arguments) -> bool {
    let has_no_path = |flags: u32| arguments[flags as usize] & AT_EMPTY_PATH != 0;
    PLAIN.contains(&number) || flags_argument(number).is_some_and(has_no_path)
}

/// Which argument says that there is no path.
fn flags_argument(number: i64) -> Option<u32> {
    PLAIN_WITHOUT_PATH.iter().find(|(plain, _)| *plain == number).map(|(_, flags)| *flags)
}

fn ordered(calls: impl Iterator<Item = TracedCall>) -> Vec<TracedCall> {
    let mut calls: Vec<TracedCall> = calls.collect();
    calls.sort_by_key(|call| call.number);
    calls
}

/// The calls by number.
pub struct CallTable(Vec<Option<TracedCall>>);

impl CallTable {
    pub fn new() -> CallTable {
        let calls = traced();
        let last = calls.last().map_or(0, |call| call.number as usize);
        let mut table = vec![None; last + 1];
        for call in calls {
            table[call.number as usize] = Some(call);
        }
        CallTable(table)
    }

    pub fn decode(&self, number: u64, arguments: &Arguments, memory: &ProcessMemory) -> Option<FileCall> {
        let call = self.0.get(usize::try_from(number).ok()?)?.as_ref()?;
        (call.decode)(arguments, memory)
    }
}
