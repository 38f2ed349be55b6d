//! The kernel's tracing file system, and a trace buffer that is left as it was found.
//!
//! Where nobody mounted it, it is mounted for this process alone, at no place of the tree: the mount ends with the
//! process. A buffer of our own (an *instance*) disturbs nobody; some tracers, `blk` among them, exist in the machine's one
//! buffer only.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use iodyno_model::origin::plain;
use iodyno_trace::TraceError;

/// Instances of ours are named by their process, so that those of killed ones are known.
const INSTANCE: &str = "iodyno-";

/// Options by which events are lines of text with their times.
const TEXT: [(&str, &str); 4] = [("bin", "0"), ("hex", "0"), ("raw", "0"), ("context-info", "1")];

/// The tracing file system, readable and writable.
pub struct Tracefs {
    root: PathBuf,
    /// The mount that no place of the tree has, where it is ours.
    mount: Option<Arc<OwnedFd>>,
}

impl Tracefs {
    /// Finds it, or mounts it for this process. Instances that killed processes of ours left are removed.
    ///
    /// # Errors
    /// There is none, or this user may not use it.
    pub fn open() -> Result<Tracefs, TraceError> {
        let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
        let tracefs = match mount_point(&mounts) {
            Some(root) => Tracefs { root, mount: None },
            None => {
                let mount = detached().map_err(|error| {
                    TraceError::new(format!("tracing needs tracefs: {}", plain(&error))).hint(
                        "be root, with a kernel that has CONFIG_FTRACE; or mount it: mount -t tracefs tracefs \
                         /sys/kernel/tracing",
                    )
                })?;
                let root = PathBuf::from(format!("/proc/self/fd/{}", mount.as_raw_fd()));
                Tracefs { root, mount: Some(Arc::new(mount)) }
            }
        };
        fs::OpenOptions::new().write(true).open(tracefs.root.join("tracing_on")).map_err(|error| {
            TraceError::new(format!("tracing cannot be used: {}", plain(&error)))
                .hint("be root, outside of a container")
        })?;
        tracefs.remove_stale();
        Ok(tracefs)
    }

    /// Whether the kernel has a tracer of that name, such as `blk`.
    pub fn has_tracer(&self, name: &str) -> bool {
        let tracers = fs::read_to_string(self.root.join("available_tracers")).unwrap_or_default();
        tracers.split_whitespace().any(|tracer| tracer == name)
    }

    /// The machine's one buffer, for tracers that work in no other.
    pub fn global(&self) -> TraceBuffer {
        TraceBuffer {
            directory: self.root.clone(),
            is_own: false,
            changed: Vec::new(),
            _mount: self.mount.clone(),
        }
    }

    /// A new buffer of our own; it is removed when it is dropped.
    ///
    /// # Errors
    /// The kernel makes no more.
    pub fn instance(&self, purpose: &str) -> Result<TraceBuffer, TraceError> {
        let name = format!("{INSTANCE}{}-{purpose}", std::process::id());
        let directory = self.root.join("instances").join(&name);
        fs::create_dir(&directory).map_err(|error| {
            TraceError::new(format!("no trace buffer of our own: instances/{name}: {}", plain(&error)))
        })?;
        let buffer = TraceBuffer { directory, is_own: true, changed: Vec::new(), _mount: self.mount.clone() };
        // It begins with the options of the machine's buffer, which a tracer of others may have set.
        for (option, value) in TEXT {
            buffer.write(&format!("options/{option}"), value)?;
        }
        Ok(buffer)
    }

    fn remove_stale(&self) {
        let instances = self.root.join("instances");
        for entry in fs::read_dir(&instances).into_iter().flatten().flatten() {
            let name = entry.file_name();
            let process = name.to_str().and_then(|name| name.strip_prefix(INSTANCE)?.split('-').next());
            let is_process = |id: &str| !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_digit());
            let process = process.filter(|id| is_process(id));
            if process.is_some_and(|id| !Path::new("/proc").join(id).exists()) {
                let _ = fs::remove_dir(entry.path());
            }
        }
    }
}

/// A trace buffer: the machine's or an instance. What was changed by [`set`](TraceBuffer::set) is put back when it is
/// dropped, the last change first.
pub struct TraceBuffer {
    directory: PathBuf,
    is_own: bool,
    /// Files that were changed, with what they said before.
    changed: Vec<(PathBuf, String)>,
    /// The paths lead through its descriptor.
    _mount: Option<Arc<OwnedFd>>,
}

impl TraceBuffer {
    /// A file of it, such as `events/block/block_rq_issue/format`.
    pub fn path(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }

    /// # Errors
    /// It cannot be read.
    pub fn read(&self, name: &str) -> Result<String, TraceError> {
        let text = fs::read_to_string(self.path(name)).map_err(|error| refusal(name, &error))?;
        Ok(text.trim_end().to_string())
    }

    /// Writes a file that needs no putting back.
    ///
    /// # Errors
    /// The kernel refuses it.
    pub fn write(&self, name: &str, text: &str) -> Result<(), TraceError> {
        put(&self.path(name), text).map_err(|error| refusal(&format!("{name} ({text})"), &error))
    }

    /// Adds to the list that a file holds.
    ///
    /// # Errors
    /// The kernel refuses it.
    pub fn append(&self, name: &str, text: &str) -> Result<(), TraceError> {
        let opened = fs::OpenOptions::new().append(true).open(self.path(name));
        let written = opened.and_then(|mut file| file.write_all(format!("{text}\n").as_bytes()));
        written.map_err(|error| refusal(&format!("{name} ({text})"), &error))
    }

    /// Changes a file until this buffer is dropped.
    ///
    /// # Errors
    /// It cannot be read or changed.
    pub fn set(&mut self, name: &str, text: &str) -> Result<(), TraceError> {
        let before = self.read(name)?;
        if setting(&before) == text {
            return Ok(());
        }
        self.write(name, text)?;
        let before = setting(&before).to_string();
        self.changed.push((self.path(name), before));
        Ok(())
    }

    /// The same for a file outside of the buffer, such as `/sys/block/sda/trace/enable`.
    ///
    /// # Errors
    /// It cannot be read or changed.
    pub fn set_outside(&mut self, path: &Path, text: &str) -> Result<(), TraceError> {
        // An absolute path takes the place of the directory that it is joined to.
        self.set(&path.to_string_lossy(), text)
    }

    /// # Errors
    /// The kernel has no such option, or refuses it.
    pub fn set_option(&mut self, name: &str, on: bool) -> Result<(), TraceError> {
        self.set(&format!("options/{name}"), if on { "1" } else { "0" })
    }

    /// Records an event, such as `block/block_rq_issue`, where the kernel's filter (`dev == 8388608`) is true.
    ///
    /// # Errors
    /// The kernel has no such event, or does not understand the filter.
    pub fn enable_event(&mut self, event: &str, filter: Option<&str>) -> Result<(), TraceError> {
        if let Some(filter) = filter {
            self.write(&format!("events/{event}/filter"), filter)?;
        }
        self.set(&format!("events/{event}/enable"), "1")
    }

    /// What it records, all processors merged by the kernel; reading consumes it, and does not wait.
    ///
    /// # Errors
    /// It cannot be opened.
    pub fn pipe(&self) -> Result<File, TraceError> {
        open_pipe(&self.path("trace_pipe"))
    }

    /// The pages of each processor's ring, in the ring's own layout; reading consumes them, and does not wait.
    ///
    /// # Errors
    /// One cannot be opened.
    pub fn raw_pipes(&self) -> Result<Vec<(u32, File)>, TraceError> {
        let open = |cpu| Ok((cpu, open_pipe(&self.path(&format!("per_cpu/cpu{cpu}/trace_pipe_raw")))?));
        self.processors().into_iter().map(open).collect()
    }

    /// Events that were overwritten or dropped because nobody read them in time.
    pub fn lost(&self) -> u64 {
        let stats =
            |cpu| fs::read_to_string(self.path(&format!("per_cpu/cpu{cpu}/stats"))).unwrap_or_default();
        self.processors().into_iter().map(|cpu| lost_in(&stats(cpu))).sum()
    }

    fn processors(&self) -> Vec<u32> {
        let entries = fs::read_dir(self.path("per_cpu")).into_iter().flatten().flatten();
        let number = |name: &str| name.strip_prefix("cpu")?.parse().ok();
        let mut cpus: Vec<u32> =
            entries.filter_map(|entry| entry.file_name().to_str().and_then(number)).collect();
        cpus.sort_unstable();
        cpus
    }

    /// Puts back what was changed, and removes the buffer if it is ours.
    ///
    /// # Errors
    /// Something could not be put back: which, and what it should say.
    pub fn restore(mut self) -> Result<(), TraceError> {
        self.put_back()
    }

    fn put_back(&mut self) -> Result<(), TraceError> {
        let mut wrong = Ok(());
        while let Some((path, before)) = self.changed.pop() {
            if let Err(error) = put(&path, &before) {
                let name = path.display();
                wrong = Err(TraceError::new(format!("{name} could not be put back: {}", plain(&error)))
                    .hint(format!("it said: {before}")));
            }
        }
        if std::mem::take(&mut self.is_own) {
            fs::remove_dir(&self.directory).map_err(|error| refusal("the trace buffer stays", &error))?;
        }
        wrong
    }
}

impl Drop for TraceBuffer {
    fn drop(&mut self) {
        let _ = self.put_back();
    }
}

/// What a file would have to be set to: a size that the kernel has not made yet reads as `7 (expanded: 1408)`, and a choice
/// as `[local] global mono`.
fn setting(text: &str) -> &str {
    match text.split_once('[').and_then(|(_, rest)| rest.split_once(']')) {
        Some((chosen, _)) => chosen,
        None => text.split(" (").next().unwrap_or_default(),
    }
}

fn refusal(name: &str, error: &io::Error) -> TraceError {
    TraceError::new(format!("tracefs: {name}: {}", plain(error)))
}

/// One write, as the kernel's files of settings want it.
fn put(path: &Path, text: &str) -> io::Result<()> {
    fs::OpenOptions::new().write(true).truncate(true).open(path)?.write_all(format!("{text}\n").as_bytes())
}

fn open_pipe(path: &Path) -> Result<File, TraceError> {
    let opened =
        fs::OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK | libc::O_CLOEXEC).open(path);
    opened.map_err(|error| refusal(&path.display().to_string(), &error))
}

/// Reads what a pipe that does not wait has now; 0: nothing.
///
/// # Errors
/// Those of reading.
pub fn read_available(pipe: &mut File, into: &mut [u8]) -> io::Result<usize> {
    match pipe.read(into) {
        Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => Ok(0),
        done => done,
    }
}

/// The lost events of a processor's `stats`.
fn lost_in(stats: &str) -> u64 {
    let value = |line: &str| {
        let (name, value) = line.split_once(':')?;
        let is_lost = ["overrun", "commit overrun", "dropped events"].contains(&name.trim());
        is_lost.then(|| value.trim().parse::<u64>().ok()).flatten()
    };
    stats.lines().filter_map(value).sum()
}

/// Where tracefs is mounted, by the text of `/proc/self/mountinfo`.
fn mount_point(mounts: &str) -> Option<PathBuf> {
    let point = |line: &str| {
        let (before, after) = line.split_once(" - ")?;
        let is_tracefs = after.split_whitespace().next() == Some("tracefs");
        // Of a mount of a part of it, such as an instance in a container, the root is not `/`.
        let mut fields = before.split_whitespace().skip(3);
        let (root, point) = (fields.next()?, fields.next()?);
        (is_tracefs && root == "/").then(|| PathBuf::from(point.replace("\\040", " ")))
    };
    mounts.lines().find_map(point)
}

/// A mount of tracefs at no place of the tree.
fn detached() -> io::Result<OwnedFd> {
    const CLOEXEC: libc::c_uint = 1;
    const FSCONFIG_CMD_CREATE: libc::c_uint = 6;
    const NOTHING: *const u8 = std::ptr::null();
    // SAFETY: the name ends with a zero byte and outlives the call.
    let context = owned(unsafe { libc::syscall(libc::SYS_fsopen, c"tracefs".as_ptr(), CLOEXEC) })?;
    let fd = context.as_raw_fd();
    // SAFETY: this command takes no key and no value.
    if unsafe { libc::syscall(libc::SYS_fsconfig, fd, FSCONFIG_CMD_CREATE, NOTHING, NOTHING, 0) } < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the call takes numbers only.
    owned(unsafe { libc::syscall(libc::SYS_fsmount, fd, CLOEXEC, 0) })
}

/// The descriptor that a call just returned.
fn owned(result: libc::c_long) -> io::Result<OwnedFd> {
    match i32::try_from(result) {
        // SAFETY: the kernel just returned this descriptor, and nobody else has it.
        Ok(fd) if fd >= 0 => Ok(unsafe { OwnedFd::from_raw_fd(fd) }),
        _ => Err(io::Error::last_os_error()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mount_point_is_the_one_of_the_whole_tracefs() {
        let mounts = "36 25 0:32 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw\n\
                      40 25 0:12 /instances/a /mnt/a rw - tracefs tracefs rw\n\
                      41 25 0:12 / /sys/kernel/my\\040tracing rw,nosuid shared:13 - tracefs tracefs rw\n";
        assert_eq!(mount_point(mounts), Some(PathBuf::from("/sys/kernel/my tracing")));
        assert_eq!(mount_point("36 25 0:32 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw"), None);
    }

    #[test]
    fn lost_events_are_all_that_were_overwritten_or_dropped() {
        let stats =
            "entries: 4\noverrun: 7\ncommit overrun: 1\nbytes: 300\ndropped events: 2\nread events: 9\n";
        assert_eq!(lost_in(stats), 10);
    }

    #[test]
    fn what_was_changed_is_put_back_in_reverse() {
        let directory = std::env::temp_dir().join(format!("iodyno-tracefs-{}", std::process::id()));
        fs::create_dir_all(&directory).unwrap();
        fs::write(directory.join("size"), "7 (expanded: 1408)\n").unwrap();
        fs::write(directory.join("tracer"), "nop\n").unwrap();
        let mut buffer =
            TraceBuffer { directory: directory.clone(), is_own: false, changed: Vec::new(), _mount: None };
        buffer.set("size", "64").unwrap();
        buffer.set("tracer", "blk").unwrap();
        buffer.set("tracer", "function").unwrap();
        assert_eq!(buffer.read("tracer").unwrap(), "function");
        drop(buffer);
        assert_eq!(fs::read_to_string(directory.join("tracer")).unwrap(), "nop\n");
        assert_eq!(fs::read_to_string(directory.join("size")).unwrap(), "7\n");
        fs::remove_dir_all(directory).unwrap();
    }
}
