//! Each step as its system calls.

use crate::calls;
use crate::oracle::ModelTree;
use crate::script::{FallocateMode, OpenDurability, RenameMode, StepOperation};
use crate::stamp::ByteOrigin;
use std::collections::BTreeMap;
use std::ffi::CString;
use std::fs::{DirBuilder, File, OpenOptions, Permissions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, FileExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// The directory under test, with the files that are open between steps.
pub(super) struct OpenHandles {
    directory: PathBuf,
    open: BTreeMap<String, File>,
}

fn checked(result: impl Into<i64>) -> io::Result<()> {
    calls::checked(result).map(drop)
}

fn c_path(path: &Path) -> io::Result<CString> {
    Ok(CString::new(path.as_os_str().as_bytes())?)
}

/// Bytes as the step's write has them: the model says which number it gets.
fn payload(model: &ModelTree, path: &str, offset: u64, length: u64) -> io::Result<Vec<u8>> {
    let file = model.lookup(path).ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))?;
    let mut bytes = vec![0; length as usize];
    ByteOrigin::Write { file, generation: model.next_generation(), shift: 0 }.fill(offset, &mut bytes);
    Ok(bytes)
}

/// Memory at an address that `O_DIRECT` takes.
struct AlignedBytes {
    memory: Vec<u8>,
    start: usize,
}

impl AlignedBytes {
    fn of(bytes: &[u8]) -> AlignedBytes {
        let mut memory = vec![0; bytes.len() + 4096];
        let start = memory.as_ptr().align_offset(4096);
        memory[start..start + bytes.len()].copy_from_slice(bytes);
        AlignedBytes { memory, start }
    }

    fn bytes(&self, length: usize) -> &[u8] {
        &self.memory[self.start..self.start + length]
    }
}

impl OpenHandles {
    pub(super) fn new(directory: &Path) -> OpenHandles {
        OpenHandles { directory: directory.into(), open: BTreeMap::new() }
    }

    pub(super) fn inode(&self, handle: &str) -> io::Result<u64> {
        let file = self.open.get(handle).ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))?;
        Ok(file.metadata()?.ino())
    }

    fn at(&self, path: &str) -> PathBuf {
        self.directory.join(path)
    }

    /// Calls it with the file open for reading and writing.
    fn with<T>(&self, path: &str, flags: i32, act: impl FnOnce(&File) -> io::Result<T>) -> io::Result<T> {
        match self.open.get(path) {
            Some(file) if flags == 0 => act(file),
            // A second descriptor: flags belong to the open file.
            Some(file) => {
                let again = format!("/proc/self/fd/{}", file.as_raw_fd());
                act(&OpenOptions::new().read(true).write(true).custom_flags(flags).open(again)?)
            }
            None => {
                act(&OpenOptions::new().read(true).write(true).custom_flags(flags).open(self.at(path))?)
            }
        }
    }

    /// Does a step on the tree that the model describes.
    pub(super) fn perform(&mut self, operation: &StepOperation, model: &ModelTree) -> io::Result<()> {
        use StepOperation as S;
        match operation {
            S::Create { path } => {
                OpenOptions::new().write(true).create_new(true).mode(0o600).open(self.at(path)).map(drop)
            }
            S::Mkdir { path } => DirBuilder::new().mode(0o700).create(self.at(path)),
            S::Rmdir { path } => std::fs::remove_dir(self.at(path)),
            S::Append { path, length, durability } => {
                let size = model.lookup(path).map_or(0, |number| model.inode(number).size.current);
                self.write(path, size, &payload(model, path, size, *length)?, *durability)
            }
            S::Overwrite { path, offset, length, durability } => {
                self.write(path, *offset, &payload(model, path, *offset, *length)?, *durability)
            }
            S::MmapWrite { path, offset, length } => {
                let bytes = payload(model, path, *offset, *length)?;
                self.with(path, 0, |file| {
                    map(file, *offset, bytes.len(), |memory| {
                        // SAFETY: the mapping has as many bytes, and nothing else refers to it.
                        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), memory, bytes.len()) };
                        Ok(())
                    })
                })
            }
            S::Fallocate { path, mode, offset, length } => self.with(path, 0, |file| {
                // SAFETY: a call on an open descriptor with numbers alone.
                checked(unsafe {
                    libc::fallocate(file.as_raw_fd(), fallocate_flags(*mode), *offset as i64, *length as i64)
                })
            }),
            S::Truncate { path, size } => self.with(path, 0, |file| file.set_len(*size)),
            S::Link { from, to } => self.link(from, to),
            S::Symlink { target, path } => std::os::unix::fs::symlink(target, self.at(path)),
            S::Unlink { path } => std::fs::remove_file(self.at(path)),
            S::Rename { from, to, mode } => self.rename(from, to, *mode),
            S::SetXattr { path, name } => {
                self.set_xattr(path, name, &format!("generation {}", model.next_generation()))
            }
            S::RemoveXattr { path, name } => self.remove_xattr(path, name),
            S::Chmod { path, mode } => match self.open.get(path) {
                Some(file) => file.set_permissions(Permissions::from_mode(*mode)),
                None => std::fs::set_permissions(self.at(path), Permissions::from_mode(*mode)),
            },
            S::Tmpfile { handle, directory } => {
                let mut options = OpenOptions::new();
                let file = options
                    .read(true)
                    .write(true)
                    .mode(0o600)
                    .custom_flags(libc::O_TMPFILE)
                    .open(self.at(directory))?;
                self.open.insert(handle.clone(), file);
                Ok(())
            }
            S::Clone { from, to } => self.clone_file(from, to),
            S::Promise { .. } | S::PromisePages { .. } => Ok(()),
            _ => self.synchronise(operation),
        }
    }

    fn synchronise(&self, operation: &StepOperation) -> io::Result<()> {
        use StepOperation as S;
        match operation {
            S::Fsync { path } => self.with(path, 0, File::sync_all),
            S::Fdatasync { path } => self.with(path, 0, File::sync_data),
            S::FsyncDirectory { path } => File::open(self.at(path))?.sync_all(),
            S::Msync { path, offset, length } => self.with(path, 0, |file| {
                map(file, *offset, *length as usize, |memory| {
                    // SAFETY: the range is mapped.
                    checked(unsafe { libc::msync(memory.cast(), *length as usize, libc::MS_SYNC) })
                })
            }),
            S::SyncFileRange { path, offset, length } => {
                self.with(path, 0, |file| calls::sync_range(file, *offset, *length))
            }
            // All mounts of the machine: this is the call that the step names.
            S::Sync => {
                // SAFETY: it takes nothing and cannot fail.
                unsafe { libc::sync() };
                Ok(())
            }
            S::Syncfs => calls::sync_file_system(&File::open(&self.directory)?),
            _ => Err(io::Error::other("no persistence point")),
        }
    }

    fn write(&self, path: &str, offset: u64, bytes: &[u8], durability: OpenDurability) -> io::Result<()> {
        let flags = match durability {
            OpenDurability::Sync => libc::O_SYNC,
            OpenDurability::Dsync => libc::O_DSYNC,
            OpenDurability::Direct => libc::O_DIRECT,
            OpenDurability::None | OpenDurability::RwfDsync | OpenDurability::RwfSync => 0,
        };
        self.with(path, flags, |file| match durability {
            OpenDurability::RwfDsync => calls::write_with(file, bytes, offset, libc::RWF_DSYNC),
            OpenDurability::RwfSync => calls::write_with(file, bytes, offset, libc::RWF_SYNC),
            OpenDurability::Direct => file.write_all_at(AlignedBytes::of(bytes).bytes(bytes.len()), offset),
            _ => file.write_all_at(bytes, offset),
        })
    }

    fn link(&self, from: &str, to: &str) -> io::Result<()> {
        let Some(file) = self.open.get(from) else {
            return std::fs::hard_link(self.at(from), self.at(to));
        };
        let source = CString::new(format!("/proc/self/fd/{}", file.as_raw_fd()))?;
        let destination = c_path(&self.at(to))?;
        // SAFETY: both strings end with a zero byte.
        checked(unsafe {
            libc::linkat(
                libc::AT_FDCWD,
                source.as_ptr(),
                libc::AT_FDCWD,
                destination.as_ptr(),
                libc::AT_SYMLINK_FOLLOW,
            )
        })
    }

    fn rename(&self, from: &str, to: &str, mode: RenameMode) -> io::Result<()> {
        let flags = match mode {
            RenameMode::Replace => 0,
            RenameMode::NoReplace => libc::RENAME_NOREPLACE,
            RenameMode::Exchange => libc::RENAME_EXCHANGE,
        };
        let (source, destination) = (c_path(&self.at(from))?, c_path(&self.at(to))?);
        // SAFETY: both strings end with a zero byte. By number, for some C libraries have no such function.
        checked(unsafe {
            let (here, source, destination) = (libc::AT_FDCWD, source.as_ptr(), destination.as_ptr());
            libc::syscall(libc::SYS_renameat2, here, source, here, destination, flags)
        })
    }

    /// The path by which calls that take none but paths reach a file.
    fn named(&self, path: &str) -> io::Result<CString> {
        match self.open.get(path) {
            Some(file) => Ok(CString::new(format!("/proc/self/fd/{}", file.as_raw_fd()))?),
            None => c_path(&self.at(path)),
        }
    }

    fn set_xattr(&self, path: &str, name: &str, value: &str) -> io::Result<()> {
        let (path, name) = (self.named(path)?, CString::new(name)?);
        // SAFETY: both strings end with a zero byte, and the value has its length.
        checked(unsafe {
            libc::setxattr(path.as_ptr(), name.as_ptr(), value.as_ptr().cast(), value.len(), 0)
        })
    }

    fn remove_xattr(&self, path: &str, name: &str) -> io::Result<()> {
        let (path, name) = (self.named(path)?, CString::new(name)?);
        // SAFETY: both strings end with a zero byte.
        checked(unsafe { libc::removexattr(path.as_ptr(), name.as_ptr()) })
    }

    fn clone_file(&self, from: &str, to: &str) -> io::Result<()> {
        self.with(from, 0, |source| {
            let mut options = OpenOptions::new();
            let destination =
                options.write(true).create(true).truncate(false).mode(0o600).open(self.at(to))?;
            // SAFETY: a call on two open descriptors.
            checked(unsafe { libc::ioctl(destination.as_raw_fd(), libc::FICLONE as _, source.as_raw_fd()) })
        })
    }
}

fn fallocate_flags(mode: FallocateMode) -> i32 {
    match mode {
        FallocateMode::Extend => 0,
        FallocateMode::KeepSize => libc::FALLOC_FL_KEEP_SIZE,
        FallocateMode::Punch => libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE,
        FallocateMode::Zero => libc::FALLOC_FL_ZERO_RANGE,
        FallocateMode::Collapse => libc::FALLOC_FL_COLLAPSE_RANGE,
        FallocateMode::Insert => libc::FALLOC_FL_INSERT_RANGE,
    }
}

/// Calls it with a shared mapping of a range, which begins at a page.
fn map(
    file: &File,
    offset: u64,
    length: usize,
    act: impl FnOnce(*mut u8) -> io::Result<()>,
) -> io::Result<()> {
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: the kernel chooses the address; the mapping is used by `act` alone and taken away after it.
    let memory = unsafe {
        libc::mmap(
            std::ptr::null_mut(),
            length,
            protection,
            libc::MAP_SHARED,
            file.as_raw_fd(),
            offset as i64,
        )
    };
    if memory == libc::MAP_FAILED {
        return Err(io::Error::last_os_error());
    }
    let result = act(memory.cast());
    // SAFETY: the mapping made above.
    checked(unsafe { libc::munmap(memory, length) })?;
    result
}
