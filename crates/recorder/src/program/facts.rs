//! What `/proc` and the file system tell of a traced thread and of the files that it names.

use std::collections::HashMap;
use std::fs::{self, FileType, Metadata};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;

use iodyno_trace::calls::{DescriptorState, FileFacts, FileState, Lookup, joined};
use iodyno_trace::descriptors::OpenMode;
use iodyno_trace::{FileKind, TraceThread};

/// How many directories have their resolved names kept.
const MOST_DIRECTORIES: usize = 65_536;

/// Facts of the machine itself.
#[derive(Default)]
pub struct LiveFacts {
    /// Directories as calls name them, with links resolved.
    resolved: HashMap<String, String>,
    /// Calls are understood some time after they ended: what changes with each call is not known any more.
    pub is_late: bool,
}

impl LiveFacts {
    /// Names may lead elsewhere now: a directory was renamed or removed, or a link was made.
    pub fn forget_directories(&mut self) {
        self.resolved.clear();
    }

    fn resolve(&mut self, directory: &str) -> String {
        if let Some(name) = self.resolved.get(directory) {
            return name.clone();
        }
        let resolved = fs::canonicalize(directory).ok().map(|path| path.to_string_lossy().into_owned());
        let name = resolved.unwrap_or_else(|| joined(None, directory));
        if self.resolved.len() >= MOST_DIRECTORIES {
            self.resolved.clear();
        }
        self.resolved.insert(directory.to_string(), name.clone());
        name
    }
}

impl FileFacts for LiveFacts {
    fn thread(&mut self, thread: u32) -> TraceThread {
        let status = fs::read_to_string(format!("/proc/{thread}/status")).unwrap_or_default();
        let field = |name: &str| status.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
        let process = field("Tgid:").and_then(|id| id.parse().ok()).unwrap_or(thread);
        TraceThread { process, thread, name: field("Name:").unwrap_or_default().to_string() }
    }

    fn descriptor(&mut self, thread: u32, fd: i32) -> Option<DescriptorState> {
        let (name, state) = open_file(thread, fd)?;
        let info = fs::read_to_string(format!("/proc/{thread}/fdinfo/{fd}")).unwrap_or_default();
        let field = |name: &str| info.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
        let flags = field("flags:").and_then(|flags| i32::from_str_radix(flags, 8).ok()).unwrap_or(0);
        let mode = OpenMode {
            append: flags & libc::O_APPEND != 0,
            direct: flags & libc::O_DIRECT != 0,
            durable: flags & libc::O_DSYNC != 0,
        };
        Some(DescriptorState {
            name,
            state,
            position: field("pos:").filter(|_| !self.is_late).and_then(|position| position.parse().ok()),
            mode,
            close_on_exec: flags & libc::O_CLOEXEC != 0,
        })
    }

    fn opened(&mut self, thread: u32, fd: i32) -> Option<(String, FileKind)> {
        open_file(thread, fd).map(|(name, state)| (name, state.kind))
    }

    fn locate(&mut self, thread: u32, directory: Option<&str>, path: &str) -> String {
        let whole = match directory {
            Some(directory) if !path.starts_with('/') => format!("{directory}/{path}"),
            _ => path.to_string(),
        };
        // Links that lead each process to itself would lead this one to itself.
        if let Some(rest) = whole.strip_prefix("/proc/self") {
            return joined(None, &format!("/proc/{}{rest}", self.thread(thread).process));
        }
        if ["/proc/", "/dev/fd", "/dev/std"].iter().any(|own| whole.starts_with(own)) {
            return joined(None, &whole);
        }
        let trimmed = whole.trim_end_matches('/');
        match trimmed.rsplit_once('/') {
            Some((_, "." | "..")) => self.resolve(trimmed),
            Some(("", name)) => format!("/{name}"),
            Some((parent, name)) => match self.resolve(parent).as_str() {
                "/" => format!("/{name}"),
                parent => format!("{parent}/{name}"),
            },
            None if whole.starts_with('/') => "/".to_string(),
            None => joined(None, &whole),
        }
    }

    fn lookup(&mut self, _thread: u32, name: &str, follows: bool) -> Lookup {
        let found = if follows { fs::metadata(name) } else { fs::symlink_metadata(name) };
        match found {
            Ok(metadata) => Lookup::Found(state_of(&metadata)),
            Err(error) => match error.raw_os_error() {
                Some(libc::ENOENT | libc::ENOTDIR) => Lookup::Absent,
                _ => Lookup::Unknown,
            },
        }
    }

    fn length(&mut self, thread: u32, fd: i32) -> Option<u64> {
        let metadata = if self.is_late { None } else { fs::metadata(format!("/proc/{thread}/fd/{fd}")).ok() };
        metadata.map(|metadata| metadata.len())
    }

    fn directory(&mut self, thread: u32) -> Option<String> {
        let directory = fs::read_link(format!("/proc/{thread}/cwd")).ok()?;
        Some(directory.to_string_lossy().into_owned())
    }
}

/// The descriptors that a thread has.
pub fn descriptors(thread: u32) -> Vec<i32> {
    let entries = fs::read_dir(format!("/proc/{thread}/fd")).into_iter().flatten().flatten();
    let mut fds: Vec<i32> =
        entries.filter_map(|entry| entry.file_name().to_str().and_then(|name| name.parse().ok())).collect();
    fds.sort_unstable();
    fds
}

/// Name and state of an open file.
fn open_file(thread: u32, fd: i32) -> Option<(String, FileState)> {
    let link = format!("/proc/{thread}/fd/{fd}");
    let name = fs::read_link(&link).ok()?.to_string_lossy().into_owned();
    let mut state = fs::metadata(&link).map(|metadata| state_of(&metadata)).unwrap_or_default();
    // Memory without a name and the like.
    if !name.starts_with('/') || name.starts_with("/memfd:") {
        state.kind = FileKind::Other;
    }
    let name = name.strip_suffix(" (deleted)").map(String::from).unwrap_or(name);
    Some((name, state))
}

fn state_of(metadata: &Metadata) -> FileState {
    let kind = kind_of(metadata.file_type());
    let device = (kind == FileKind::Device).then(|| {
        let number = metadata.rdev();
        (libc::major(number), libc::minor(number))
    });
    let bytes = match device {
        Some((major, minor)) => device_bytes(major, minor),
        None => Some(metadata.len()),
    };
    FileState { kind, bytes, device }
}

fn kind_of(kind: FileType) -> FileKind {
    match kind {
        kind if kind.is_file() => FileKind::File,
        kind if kind.is_dir() => FileKind::Directory,
        kind if kind.is_symlink() => FileKind::Link,
        kind if kind.is_block_device() => FileKind::Device,
        _ => FileKind::Other,
    }
}

/// How large a block device is, bytes.
pub fn device_bytes(major: u32, minor: u32) -> Option<u64> {
    let sectors =
        fs::read_to_string(Path::new("/sys/dev/block").join(format!("{major}:{minor}/size"))).ok()?;
    sectors.trim().parse::<u64>().ok().map(|sectors| sectors * 512)
}
