//! Calls as strace prints them, by meaning.

use iodyno_model::Verb;

use super::arguments::{PrintedCall, field, fields, has_flag, number, text};
use crate::Owners;
use crate::calls::{AT_FDCWD, FileCall, OpenOptions};
use crate::descriptors::OpenMode;

/// What a call means.
#[derive(Debug, PartialEq)]
pub enum Meaning {
    Call(FileCall),
    /// It is not recorded.
    Other,
    /// It would be, but an argument is cut or not understood.
    Unclear,
}

/// Arguments by place; a missing one is empty.
struct Places<'a>(&'a [&'a str]);

impl<'a> Places<'a> {
    fn at(&self, place: usize) -> &'a str {
        self.0.get(place).copied().unwrap_or_default()
    }

    /// A descriptor, or the working directory.
    fn fd(&self, place: usize) -> Option<i32> {
        let argument = self.at(place);
        if argument.starts_with("AT_FDCWD") {
            return Some(AT_FDCWD);
        }
        number(argument).and_then(|number| i32::try_from(number).ok())
    }

    fn path(&self, place: usize) -> Option<String> {
        text(self.at(place))
    }

    fn bytes(&self, place: usize) -> Option<u64> {
        number(self.at(place)).map(|number| number as u64)
    }

    fn vectors(&self, place: usize) -> u64 {
        let lengths = fields(self.at(place), "iov_len").filter_map(number);
        lengths.fold(0, |sum, length| sum.saturating_add(length as u64))
    }

    fn has(&self, place: usize, flag: &str) -> bool {
        has_flag(self.at(place), flag)
    }

    /// `[100]`, `[100] => [200]`: the offset before the call; NULL: none.
    fn pointed(&self, place: usize) -> Option<u64> {
        let inner = self.at(place).strip_prefix('[')?;
        number(inner.split(']').next()?).map(|number| number as u64)
    }
}

/// What a call means.
pub fn meaning(call: &PrintedCall) -> Meaning {
    let a = Places(&call.arguments);
    let found = match call.name {
        "io_uring_setup" => Some(FileCall::Unseen("io_uring")),
        "io_submit" => Some(FileCall::Unseen("io_submit (asynchronous I/O of the kernel)")),
        "chroot" => Some(FileCall::Unseen("chroot: later names begin at the new root")),
        "pivot_root" => Some(FileCall::Unseen("pivot_root: later names begin at the new root")),
        "sync" => path(Verb::Syncfs, AT_FDCWD, Some("/".into()), true, 0),
        name => match transfers(name, &a).or_else(|| descriptors(name, &a)).or_else(|| names(name, &a)) {
            Some(found) => found,
            None => return Meaning::Other,
        },
    };
    match found {
        Some(call) if !is_anonymous(&call) => Meaning::Call(call),
        Some(_) => Meaning::Other,
        None => Meaning::Unclear,
    }
}

fn is_anonymous(call: &FileCall) -> bool {
    matches!(call, FileCall::Map { fd, .. } if *fd < 0)
}

fn path(verb: Verb, at: i32, path: Option<String>, follows: bool, bytes: u64) -> Option<FileCall> {
    Some(FileCall::OnPath { verb, at, path: path?, follows, bytes })
}

fn on_fd(verb: Verb, fd: Option<i32>, offset: u64, bytes: u64) -> Option<FileCall> {
    Some(FileCall::OnDescriptor { verb, fd: fd?, offset, bytes })
}

fn transfer(verb: Verb, fd: Option<i32>, offset: Option<u64>, bytes: Option<u64>) -> Option<FileCall> {
    Some(FileCall::Transfer { verb, fd: fd?, offset, bytes: bytes?, durable: false, append: false })
}

/// Calls that move data. The outer none: another call; the inner one: it is not understood.
fn transfers(name: &str, a: &Places) -> Option<Option<FileCall>> {
    let given = |place| a.bytes(place);
    Some(match name {
        "read" => transfer(Verb::Read, a.fd(0), None, a.bytes(2)),
        "write" => transfer(Verb::Write, a.fd(0), None, a.bytes(2)),
        "pread64" | "pread" => given(3).and_then(|at| transfer(Verb::Read, a.fd(0), Some(at), a.bytes(2))),
        "pwrite64" | "pwrite" => given(3).and_then(|at| transfer(Verb::Write, a.fd(0), Some(at), a.bytes(2))),
        "readv" => transfer(Verb::Read, a.fd(0), None, Some(a.vectors(1))),
        "writev" => transfer(Verb::Write, a.fd(0), None, Some(a.vectors(1))),
        "preadv" => given(3).and_then(|at| transfer(Verb::Read, a.fd(0), Some(at), Some(a.vectors(1)))),
        "pwritev" => given(3).and_then(|at| transfer(Verb::Write, a.fd(0), Some(at), Some(a.vectors(1)))),
        "preadv2" | "pwritev2" => {
            let verb = if name == "preadv2" { Verb::Read } else { Verb::Write };
            a.fd(0).zip(number(a.at(3))).map(|(fd, at)| FileCall::Transfer {
                verb,
                fd,
                offset: if at == -1 { None } else { Some(at as u64) },
                bytes: a.vectors(1),
                durable: a.has(4, "RWF_DSYNC") || a.has(4, "RWF_SYNC"),
                append: a.has(4, "RWF_APPEND"),
            })
        }
        "lseek" | "_llseek" => {
            let whence = match a.at(2) {
                "SEEK_SET" => 0,
                "SEEK_CUR" => 1,
                _ => 2,
            };
            a.fd(0).zip(number(a.at(1))).map(|(fd, offset)| FileCall::Seek { fd, offset, whence })
        }
        "copy_file_range" | "splice" => {
            let verb = if name == "splice" { Verb::Write } else { Verb::CopyFileRange };
            let (from_offset, to_offset) = (a.pointed(1), a.pointed(3));
            let ends = a.fd(0).zip(a.fd(2)).zip(a.bytes(4));
            ends.map(|((from, to), bytes)| FileCall::Copy { verb, from, from_offset, to, to_offset, bytes })
        }
        "sendfile" | "sendfile64" => a.fd(1).zip(a.fd(0)).zip(a.bytes(3)).map(|((from, to), bytes)| {
            let from_offset = a.pointed(2);
            FileCall::Copy { verb: Verb::Write, from, from_offset, to, to_offset: None, bytes }
        }),
        _ => return None,
    })
}

/// Calls on descriptors.
fn descriptors(name: &str, a: &Places) -> Option<Option<FileCall>> {
    let fd = a.fd(0);
    Some(match name {
        "close" => fd.map(|fd| FileCall::Close { fd }),
        "close_range" => {
            let bound = |place| number(a.at(place)).map(|number| i32::try_from(number).unwrap_or(i32::MAX));
            bound(0).zip(bound(1)).map(|(first, last)| FileCall::CloseRange {
                first,
                last,
                unshares: a.has(2, "CLOSE_RANGE_UNSHARE"),
                close_on_exec: a.has(2, "CLOSE_RANGE_CLOEXEC"),
            })
        }
        "dup" | "dup2" => fd.map(|fd| FileCall::Duplicate { fd, close_on_exec: false }),
        "dup3" => fd.map(|fd| FileCall::Duplicate { fd, close_on_exec: a.has(2, "O_CLOEXEC") }),
        "fcntl" | "fcntl64" => return fcntl(a),
        "ioctl" => return ioctl(a),
        "flock" => on_fd(if a.has(1, "LOCK_UN") { Verb::Unlock } else { Verb::Lock }, fd, 0, 0),
        "fsync" => on_fd(Verb::Fsync, fd, 0, 0),
        "fdatasync" => on_fd(Verb::Fdatasync, fd, 0, 0),
        "syncfs" => on_fd(Verb::Syncfs, fd, 0, 0),
        "sync_file_range" => a
            .bytes(1)
            .zip(a.bytes(2))
            .and_then(|(offset, bytes)| on_fd(Verb::SyncFileRange, fd, offset, bytes)),
        "fadvise64" | "readahead" => {
            a.bytes(1).zip(a.bytes(2)).and_then(|(offset, bytes)| on_fd(Verb::Fadvise, fd, offset, bytes))
        }
        "ftruncate" => a.bytes(1).and_then(|bytes| on_fd(Verb::Truncate, fd, 0, bytes)),
        "fallocate" => {
            let range = fd.zip(a.bytes(2)).zip(a.bytes(3));
            let mode = allocation_mode(a.at(1));
            range.map(|((fd, offset), bytes)| FileCall::Allocate { fd, mode, offset, bytes })
        }
        "fstat" | "fstat64" => on_fd(Verb::Fstat, fd, 0, 0),
        "getdents" | "getdents64" => on_fd(Verb::Readdir, fd, 0, a.bytes(2).unwrap_or(0)),
        "fchmod" => on_fd(Verb::Chmod, fd, 0, a.bytes(1).unwrap_or(0)),
        "fchown" => on_fd(Verb::Chown, fd, 0, owners(a.at(1), a.at(2))),
        "fsetxattr" => fd.and_then(|fd| attribute(Verb::Setxattr, (fd, Some(String::new())), true, a)),
        "fgetxattr" => fd.and_then(|fd| attribute(Verb::Getxattr, (fd, Some(String::new())), true, a)),
        "flistxattr" => on_fd(Verb::Listxattr, fd, 0, a.bytes(2).unwrap_or(0)),
        "fremovexattr" => fd.and_then(|fd| attribute(Verb::Removexattr, (fd, Some(String::new())), true, a)),
        "fchdir" => fd.map(|fd| FileCall::ChangeDirectoryTo { fd }),
        "mmap" | "mmap2" => {
            let fd = a.fd(4).filter(|_| !a.has(3, "MAP_ANONYMOUS")).unwrap_or(-1);
            a.bytes(1).map(|bytes| FileCall::Map {
                fd,
                offset: a.bytes(5).unwrap_or(0),
                bytes,
                is_shared: a.has(3, "MAP_SHARED") || a.has(3, "MAP_SHARED_VALIDATE"),
                writes: a.has(2, "PROT_WRITE"),
            })
        }
        "msync" => a.bytes(0).zip(a.bytes(1)).map(|(address, bytes)| FileCall::Msync { address, bytes }),
        "unshare" => {
            let (descriptors, directory) = (a.has(0, "CLONE_FILES"), a.has(0, "CLONE_FS"));
            if !(descriptors || directory) {
                return None;
            }
            Some(FileCall::Unshare { descriptors, directory })
        }
        _ => return None,
    })
}

fn fcntl(a: &Places) -> Option<Option<FileCall>> {
    let fd = a.fd(0);
    Some(match a.at(1) {
        "F_DUPFD" => fd.map(|fd| FileCall::Duplicate { fd, close_on_exec: false }),
        "F_DUPFD_CLOEXEC" => fd.map(|fd| FileCall::Duplicate { fd, close_on_exec: true }),
        "F_SETFD" => fd.map(|fd| FileCall::SetCloseOnExec { fd, on: a.has(2, "FD_CLOEXEC") }),
        "F_SETFL" => fd.map(|fd| {
            let (append, direct) = (a.has(2, "O_APPEND"), a.has(2, "O_DIRECT"));
            FileCall::SetStatus { fd, append, direct }
        }),
        "F_SETLK" | "F_SETLKW" | "F_OFD_SETLK" | "F_OFD_SETLKW" | "F_SETLK64" | "F_SETLKW64" => {
            let value = |name| field(a.at(2), name);
            let verb = if value("l_type") == Some("F_UNLCK") { Verb::Unlock } else { Verb::Lock };
            let range = value("l_start").and_then(number).zip(value("l_len").and_then(number));
            range.and_then(|(offset, bytes)| on_fd(verb, fd, offset as u64, bytes as u64))
        }
        _ => return None,
    })
}

fn ioctl(a: &Places) -> Option<Option<FileCall>> {
    let fd = a.fd(0);
    // Some numbers have several names: `BTRFS_IOC_CLONE or FICLONE`.
    let is = |name: &str| a.at(1).split(" or ").any(|word| word == name);
    Some(match () {
        () if is("FIOCLEX") => fd.map(|fd| FileCall::SetCloseOnExec { fd, on: true }),
        () if is("FIONCLEX") => fd.map(|fd| FileCall::SetCloseOnExec { fd, on: false }),
        () if is("FICLONE") || is("BTRFS_IOC_CLONE") => {
            let ends = fd.zip(a.fd(2));
            ends.map(|(to, from)| FileCall::Reflink { from, from_offset: 0, to, to_offset: 0, bytes: 0 })
        }
        () if is("FICLONERANGE") || is("BTRFS_IOC_CLONE_RANGE") => {
            let value = |name| field(a.at(2), name).and_then(number);
            let source = value("src_fd").zip(value("src_offset")).zip(value("src_length"));
            let range = source.zip(value("dest_offset"));
            fd.zip(range).map(|(to, (((from, from_offset), bytes), to_offset))| FileCall::Reflink {
                from: from as i32,
                from_offset: from_offset as u64,
                to,
                to_offset: to_offset as u64,
                bytes: bytes as u64,
            })
        }
        () if is("BLKDISCARD") || is("BLKZEROOUT") => {
            let verb = if is("BLKDISCARD") { Verb::Discard } else { Verb::WriteZeroes };
            let mut range =
                a.at(2).trim_matches(['[', ']']).split(',').filter_map(|word| number(word.trim()));
            let range = range.next().zip(range.next());
            range.and_then(|(offset, bytes)| on_fd(verb, fd, offset as u64, bytes as u64))
        }
        () => return None,
    })
}

fn open(at: Option<i32>, path: Option<String>, flags: &str, mode: Option<&str>) -> Option<FileCall> {
    let has = |flag| has_flag(flags, flag);
    let options = OpenOptions {
        mode: OpenMode {
            append: has("O_APPEND"),
            direct: has("O_DIRECT"),
            durable: has("O_SYNC") || has("O_DSYNC"),
        },
        creates: has("O_CREAT"),
        exclusive: has("O_EXCL"),
        truncates: has("O_TRUNC"),
        nameless: has("O_TMPFILE"),
        follows_no_link: has("O_NOFOLLOW"),
        close_on_exec: has("O_CLOEXEC"),
        permissions: mode.and_then(number).unwrap_or(0) as u32,
    };
    Some(FileCall::Open { at: at?, path: path?, options })
}

/// `S_IFREG|0644`: the number at the end.
fn mode_bits(argument: &str) -> u64 {
    argument.split('|').filter_map(number).next_back().unwrap_or(0) as u64
}

/// The owners that a chown asks for, as a record holds them.
fn owners(user: &str, group: &str) -> u64 {
    let owner = |argument: &str| number(argument).map_or(u32::MAX, |owner| owner as u32);
    Owners::of_call(owner(user), owner(group)).bytes()
}

/// `makedev(0x8, 0x1)` where it is a device.
fn node((at, path): (i32, Option<String>), mode: &str, device: &str) -> Option<FileCall> {
    let numbers = device.strip_prefix("makedev(").and_then(|inner| inner.strip_suffix(')'));
    let mut numbers = numbers.unwrap_or("").split(',').filter_map(|word| number(word.trim()));
    let (major, minor) = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
    let types =
        [("S_IFIFO", 0o010_000), ("S_IFCHR", 0o020_000), ("S_IFBLK", 0o060_000), ("S_IFSOCK", 0o140_000)];
    let of_type = types.iter().find(|(name, _)| has_flag(mode, name)).map_or(0o100_000, |(_, bits)| *bits);
    Some(FileCall::MakeNode {
        verb: if has_flag(mode, "S_IFIFO") { Verb::Mkfifo } else { Verb::Mknod },
        at,
        path: path?,
        mode: of_type | mode_bits(mode),
        device: (major as u64) << 32 | minor as u64 & 0xffff_ffff,
    })
}

/// Of the calls whose second argument names an attribute.
fn attribute(verb: Verb, (at, path): (i32, Option<String>), follows: bool, a: &Places) -> Option<FileCall> {
    let bytes = if verb == Verb::Removexattr { 0 } else { a.bytes(3).unwrap_or(0) };
    Some(FileCall::OnAttribute { verb, at, path: path?, follows, name: a.path(1)?, bytes })
}

/// The mode of fallocate, in Linux numbers.
fn allocation_mode(argument: &str) -> u32 {
    let names = [
        ("FALLOC_FL_KEEP_SIZE", 0x01),
        ("FALLOC_FL_PUNCH_HOLE", 0x02),
        ("FALLOC_FL_COLLAPSE_RANGE", 0x08),
        ("FALLOC_FL_ZERO_RANGE", 0x10),
        ("FALLOC_FL_INSERT_RANGE", 0x20),
        ("FALLOC_FL_UNSHARE_RANGE", 0x40),
    ];
    names.iter().filter(|(name, _)| has_flag(argument, name)).map(|(_, bit)| bit).sum()
}

/// Of the calls that take a path and `AT_*` flags.
fn at_path(verb: Verb, a: &Places, flags: &str, bytes: u64) -> Option<FileCall> {
    let name = if a.at(1) == "NULL" { String::new() } else { a.path(1)? };
    let is_link = has_flag(flags, "AT_SYMLINK_NOFOLLOW");
    let at = a.fd(0)?;
    let verb = match (verb, is_link) {
        (Verb::Stat, _) if name.is_empty() && at != AT_FDCWD => Verb::Fstat,
        (Verb::Stat, true) => Verb::Lstat,
        (verb, _) => verb,
    };
    path(verb, at, Some(name), !is_link, bytes)
}

fn two_paths(verb: Verb, first: (i32, Option<String>), second: (i32, Option<String>)) -> Option<FileCall> {
    Some(FileCall::OnPaths { verb, at: first.0, path: first.1?, other_at: second.0, other: second.1? })
}

/// Calls on names.
fn names(name: &str, a: &Places) -> Option<Option<FileCall>> {
    const HERE: i32 = AT_FDCWD;
    let on = |verb, follows, bytes| path(verb, HERE, a.path(0), follows, bytes);
    let at_two = |verb| {
        a.fd(0).zip(a.fd(2)).and_then(|(at, other)| two_paths(verb, (at, a.path(1)), (other, a.path(3))))
    };
    let mode = |place| a.0.get(place).copied();
    Some(match name {
        "open" => open(Some(HERE), a.path(0), a.at(1), mode(2)),
        "openat" => open(a.fd(0), a.path(1), a.at(2), mode(3)),
        "openat2" => open(a.fd(0), a.path(1), field(a.at(2), "flags").unwrap_or(""), field(a.at(2), "mode")),
        "creat" => open(Some(HERE), a.path(0), "O_CREAT|O_TRUNC|O_WRONLY", mode(1)),
        "unlink" => on(Verb::Unlink, false, 0),
        "rmdir" => on(Verb::Rmdir, false, 0),
        "mkdir" => on(Verb::Mkdir, false, mode_bits(a.at(1))),
        "mknod" => node((HERE, a.path(0)), a.at(1), a.at(2)),
        "stat" | "stat64" => on(Verb::Stat, true, 0),
        "lstat" | "lstat64" => on(Verb::Lstat, false, 0),
        "access" => on(Verb::Access, true, access_bits(a.at(1))),
        "readlink" => on(Verb::Readlink, false, a.bytes(2).unwrap_or(0)),
        "truncate" => a.bytes(1).and_then(|bytes| on(Verb::Truncate, true, bytes)),
        "chmod" => on(Verb::Chmod, true, mode_bits(a.at(1))),
        "chown" => on(Verb::Chown, true, owners(a.at(1), a.at(2))),
        "lchown" => on(Verb::Chown, false, owners(a.at(1), a.at(2))),
        "utime" | "utimes" => on(Verb::Utimens, true, 0),
        "setxattr" => attribute(Verb::Setxattr, (HERE, a.path(0)), true, a),
        "lsetxattr" => attribute(Verb::Setxattr, (HERE, a.path(0)), false, a),
        "getxattr" => attribute(Verb::Getxattr, (HERE, a.path(0)), true, a),
        "lgetxattr" => attribute(Verb::Getxattr, (HERE, a.path(0)), false, a),
        "listxattr" => on(Verb::Listxattr, true, a.bytes(2).unwrap_or(0)),
        "llistxattr" => on(Verb::Listxattr, false, a.bytes(2).unwrap_or(0)),
        "removexattr" => attribute(Verb::Removexattr, (HERE, a.path(0)), true, a),
        "lremovexattr" => attribute(Verb::Removexattr, (HERE, a.path(0)), false, a),
        "chdir" => a.path(0).map(|path| FileCall::ChangeDirectory { path }),
        "rename" => two_paths(Verb::Rename, (HERE, a.path(0)), (HERE, a.path(1))),
        "link" => two_paths(Verb::Link, (HERE, a.path(0)), (HERE, a.path(1))),
        "renameat" | "renameat2" => at_two(Verb::Rename),
        "linkat" => at_two(Verb::Link),
        "symlink" => a.path(0).zip(a.path(1)).map(|(text, path)| FileCall::Symlink { text, at: HERE, path }),
        "symlinkat" => a.path(0).zip(a.fd(1)).zip(a.path(2)).map(|((text, at), path)| FileCall::Symlink {
            text,
            at,
            path,
        }),
        "unlinkat" => {
            let verb = if a.has(2, "AT_REMOVEDIR") { Verb::Rmdir } else { Verb::Unlink };
            a.fd(0).and_then(|at| path(verb, at, a.path(1), false, 0))
        }
        "mkdirat" => a.fd(0).and_then(|at| path(Verb::Mkdir, at, a.path(1), false, mode_bits(a.at(2)))),
        "mknodat" => a.fd(0).and_then(|at| node((at, a.path(1)), a.at(2), a.at(3))),
        "newfstatat" | "fstatat64" => at_path(Verb::Stat, a, a.at(3), 0),
        "statx" => at_path(Verb::Stat, a, a.at(2), 0),
        "faccessat" => at_path(Verb::Access, a, "", access_bits(a.at(2))),
        "faccessat2" => at_path(Verb::Access, a, a.at(3), access_bits(a.at(2))),
        "readlinkat" => at_path(Verb::Readlink, a, "AT_SYMLINK_NOFOLLOW", a.bytes(3).unwrap_or(0)),
        "fchmodat" => at_path(Verb::Chmod, a, "", mode_bits(a.at(2))),
        "fchmodat2" => at_path(Verb::Chmod, a, a.at(3), mode_bits(a.at(2))),
        "fchownat" => at_path(Verb::Chown, a, a.at(4), owners(a.at(2), a.at(3))),
        "utimensat" => at_path(Verb::Utimens, a, a.at(3), 0),
        "futimesat" => at_path(Verb::Utimens, a, "", 0),
        _ => return None,
    })
}

/// `R_OK|W_OK` as a number.
fn access_bits(argument: &str) -> u64 {
    [("R_OK", 4), ("W_OK", 2), ("X_OK", 1)]
        .iter()
        .filter(|(name, _)| has_flag(argument, name))
        .map(|(_, bit)| bit)
        .sum()
}
