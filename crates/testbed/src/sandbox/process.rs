//! Processes that may do less: another user, one processor, and a kernel that forbids io_uring.

use crate::{Need, Skip};
use std::fs::Permissions;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

/// User and group id of `nobody`, everywhere on Linux.
pub const NOBODY: u32 = 65534;

/// A user without any rights, and a directory where that user may write. Dropping it removes the directory.
#[derive(Debug)]
pub struct UnprivilegedUser {
    home: TempDir,
}

impl UnprivilegedUser {
    /// # Errors
    /// A [`Skip`] where we are not root and cannot become somebody else.
    #[track_caller]
    pub fn new() -> Result<UnprivilegedUser, Skip> {
        Need::Root.check()?;
        let mut builder = tempfile::Builder::new();
        let builder = builder.prefix("testbed-").permissions(Permissions::from_mode(0o777));
        let home = builder.tempdir().unwrap_or_else(|error| panic!("a temporary directory: {error}"));
        // The process's umask has its say at creation, not here.
        std::fs::set_permissions(home.path(), Permissions::from_mode(0o777))
            .unwrap_or_else(|error| panic!("{}: {error}", home.path().display()));
        Ok(UnprivilegedUser { home })
    }

    /// A directory that `nobody` may write to.
    pub fn directory(&self) -> &Path {
        self.home.path()
    }

    /// A command that will run `program` as `nobody`, with no supplementary groups, in [`directory`](Self::directory).
    /// A program that `nobody` could not reach (a build below a private home) is run from a copy.
    #[track_caller]
    pub fn command(&self, program: impl AsRef<Path>) -> Command {
        let program = self.reachable(program.as_ref());
        let mut command = Command::new(program);
        // Setting the user as root also empties the supplementary groups.
        command.uid(NOBODY).gid(NOBODY).current_dir(self.directory()).env("HOME", self.directory());
        command
    }

    #[track_caller]
    fn reachable(&self, program: &Path) -> PathBuf {
        let is_bare_name = program.components().count() == 1;
        if is_bare_name || program.ancestors().skip(1).all(open_to_all) {
            return program.to_path_buf();
        }
        let name = program.file_name().unwrap_or(program.as_os_str());
        let copy = self.home.path().join(name);
        if !copy.exists() {
            std::fs::copy(program, &copy).unwrap_or_else(|error| panic!("{}: {error}", program.display()));
        }
        copy
    }
}

fn open_to_all(directory: &Path) -> bool {
    directory.as_os_str().is_empty()
        || std::fs::metadata(directory).is_ok_and(|metadata| metadata.mode() & 0o001 != 0)
}

/// Keeps this thread, and what it starts from now on, on the processor that it runs on. A client of a FUSE file system and
/// its server take turns: on one processor a request costs them half of the system time that it costs on two.
pub fn keep_to_one_processor() {
    // SAFETY: no arguments.
    let processor = unsafe { libc::sched_getcpu() };
    // SAFETY: a set of plain integers, for which zero is the empty set.
    let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    // SAFETY: the processor's number lies within the set, as the kernel said it.
    unsafe { libc::CPU_SET(usize::try_from(processor).unwrap_or(0), &mut set) };
    // SAFETY: the set outlives the call, which reads as many bytes as it has.
    let kept = unsafe { libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &raw const set) };
    assert_eq!(kept, 0, "sched_setaffinity: {}", std::io::Error::last_os_error());
}

// From the kernel's <linux/audit.h>: the machine's number, 64-bit, little-endian.
#[cfg(target_arch = "x86_64")]
const AUDIT_ARCH: Option<u32> = Some(0xC000_003E);
#[cfg(target_arch = "aarch64")]
const AUDIT_ARCH: Option<u32> = Some(0xC000_00B7);
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
const AUDIT_ARCH: Option<u32> = None;

/// Makes `io_uring_setup` fail with `EPERM` in the command's process and its children, as container runtimes do.
///
/// # Errors
/// A [`Skip`] on machines other than x86-64 and aarch64. A kernel without seccomp fails the command's start.
pub fn seccomp_forbid_io_uring(command: &mut Command) -> Result<&mut Command, Skip> {
    let arch = AUDIT_ARCH.ok_or_else(|| Skip::new("no seccomp filter for this architecture"))?;
    let mut filter = forbidding(arch, libc::SYS_io_uring_setup as u32);
    let install = move || {
        let program = libc::sock_fprog { len: filter.len() as u16, filter: filter.as_mut_ptr() };
        // SAFETY: plain integers, as prctl(2) asks for.
        if unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) } != 0 {
            return Err(std::io::Error::last_os_error());
        }
        let mode = libc::SECCOMP_MODE_FILTER as libc::c_ulong;
        // SAFETY: `program` points to a whole filter that outlives the call; the kernel copies it.
        if unsafe { libc::prctl(libc::PR_SET_SECCOMP, mode, &program) } != 0 {
            return Err(std::io::Error::last_os_error());
        }
        Ok(())
    };
    // SAFETY: between fork and exec the closure only makes two system calls: no allocation, no lock.
    Ok(unsafe { command.pre_exec(install) })
}

/// A filter over `struct seccomp_data`: `EPERM` for one call of the native architecture, everything else allowed.
fn forbidding(arch: u32, call: u32) -> [libc::sock_filter; 6] {
    const NUMBER_AT: u32 = 0;
    const ARCH_AT: u32 = 4;
    const LOAD: u32 = libc::BPF_LD | libc::BPF_W | libc::BPF_ABS;
    const JUMP_EQUAL: u32 = libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K;
    const RETURN: u32 = libc::BPF_RET | libc::BPF_K;
    let step = |code: u32, jt: u8, jf: u8, k: u32| libc::sock_filter { code: code as u16, jt, jf, k };
    [
        step(LOAD, 0, 0, ARCH_AT),
        step(JUMP_EQUAL, 0, 3, arch),
        step(LOAD, 0, 0, NUMBER_AT),
        step(JUMP_EQUAL, 0, 1, call),
        step(RETURN, 0, 0, libc::SECCOMP_RET_ERRNO | libc::EPERM as u32),
        step(RETURN, 0, 0, libc::SECCOMP_RET_ALLOW),
    ]
}
