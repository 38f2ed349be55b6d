//! What is found in a directory, as plain values.

use std::collections::BTreeMap;
#[cfg(target_os = "linux")]
use std::path::Path;

/// An inode as it is found under a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundNode {
    /// 0: not known.
    pub inode: u64,
    /// Permission bits.
    pub mode: u32,
    /// Values by name, of users' attributes alone.
    pub xattrs: BTreeMap<String, String>,
    pub body: FoundBody,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FoundBody {
    File(FoundBytes),
    Directory(BTreeMap<String, FoundNode>),
    Symlink(String),
    /// A device, a socket or a pipe, which no workload makes.
    Special,
    /// The error of the call that was to read it.
    Unreadable(String),
}

/// A file's size, and its bytes as far as one reads them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundBytes {
    pub size: u64,
    pub bytes: Vec<u8>,
}

/// More is not read of a file: no workload writes as much, and a broken size must not fill the memory.
#[cfg(target_os = "linux")]
const LARGEST: u64 = 32 << 20;

/// The tree below a directory. Errors of calls are values in it: they belong to what is found.
#[cfg(target_os = "linux")]
pub fn read_found(directory: &Path) -> FoundNode {
    use std::os::unix::fs::MetadataExt;
    let unreadable = |error: std::io::Error| FoundNode {
        inode: 0,
        mode: 0,
        xattrs: BTreeMap::new(),
        body: FoundBody::Unreadable(error.to_string()),
    };
    let metadata = match directory.symlink_metadata() {
        Ok(metadata) => metadata,
        Err(error) => return unreadable(error),
    };
    let kind = metadata.file_type();
    let body = if kind.is_dir() {
        read_entries(directory).map(FoundBody::Directory)
    } else if kind.is_symlink() {
        directory.read_link().map(|target| FoundBody::Symlink(target.to_string_lossy().into_owned()))
    } else if kind.is_file() {
        read_bytes(directory, metadata.len()).map(FoundBody::File)
    } else {
        Ok(FoundBody::Special)
    };
    let xattrs = if kind.is_dir() || kind.is_file() { read_xattrs(directory) } else { Ok(BTreeMap::new()) };
    let (body, xattrs) = match (body, xattrs) {
        (Ok(body), Ok(xattrs)) => (body, xattrs),
        (Err(error), _) | (_, Err(error)) => (FoundBody::Unreadable(error.to_string()), BTreeMap::new()),
    };
    FoundNode { inode: metadata.ino(), mode: metadata.mode() & 0o7777, xattrs, body }
}

#[cfg(target_os = "linux")]
fn read_entries(directory: &Path) -> std::io::Result<BTreeMap<String, FoundNode>> {
    let mut entries = BTreeMap::new();
    for entry in directory.read_dir()? {
        let entry = entry?;
        entries.insert(entry.file_name().to_string_lossy().into_owned(), read_found(&entry.path()));
    }
    Ok(entries)
}

#[cfg(target_os = "linux")]
fn read_bytes(path: &Path, size: u64) -> std::io::Result<FoundBytes> {
    use std::io::Read;
    let mut bytes = Vec::new();
    std::fs::File::open(path)?.take(size.min(LARGEST)).read_to_end(&mut bytes)?;
    Ok(FoundBytes { size, bytes })
}

#[cfg(target_os = "linux")]
fn read_xattrs(path: &Path) -> std::io::Result<BTreeMap<String, String>> {
    use std::io::Error;
    use std::os::unix::ffi::OsStrExt;
    let path = std::ffi::CString::new(path.as_os_str().as_bytes())?;
    let mut names = vec![0u8; 1 << 16];
    // SAFETY: the path ends with a zero byte, and the kernel writes at most the length of the buffer.
    let length = unsafe { libc::llistxattr(path.as_ptr(), names.as_mut_ptr().cast(), names.len()) };
    let Ok(length) = usize::try_from(length) else {
        let error = Error::last_os_error();
        let has_none = matches!(error.raw_os_error(), Some(libc::ENOTSUP | libc::ENOSYS));
        return if has_none { Ok(BTreeMap::new()) } else { Err(error) };
    };
    let mut found = BTreeMap::new();
    for name in names[..length].split_inclusive(|byte| *byte == 0).filter(|name| name.starts_with(b"user.")) {
        let mut value = vec![0u8; 1 << 16];
        // SAFETY: both strings end with a zero byte, and the kernel writes at most the length of the buffer.
        let length = unsafe {
            libc::lgetxattr(path.as_ptr(), name.as_ptr().cast(), value.as_mut_ptr().cast(), value.len())
        };
        let length = usize::try_from(length).map_err(|_| Error::last_os_error())?;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        found.insert(text(&name[..name.len() - 1]), text(&value[..length]));
    }
    Ok(found)
}
