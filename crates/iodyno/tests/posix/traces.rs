//! What a run leaves behind: processes, mounts, loop devices, files, and whose they are.
//!
//! A run is marked in its environment, which all that it starts inherits: so others who do the same on this machine at
//! the same time are not meant.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

use testbed::wait;

const MARK: &str = "IODYNO_TEST_RUN";

/// One run, to be looked for.
pub struct Trace {
    mark: String,
    directory: PathBuf,
    loops: Vec<PathBuf>,
}

impl Trace {
    /// Marks a command that will work in this directory.
    pub fn of(command: &mut Command, directory: &Path) -> Trace {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let mark = format!("{}-{}", std::process::id(), NUMBER.fetch_add(1, Ordering::Relaxed));
        command.env(MARK, &mark);
        Trace { mark, directory: directory.to_path_buf(), loops: loops() }
    }

    /// Processes of the run that live.
    pub fn processes(&self) -> Vec<String> {
        let mark = format!("{MARK}={}", self.mark);
        let marked = |pid: &String| {
            let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
            environment.split(|byte| *byte == 0).any(|entry| entry == mark.as_bytes())
        };
        let names = fs::read_dir("/proc").into_iter().flatten().flatten();
        let pids = names.map(|entry| entry.file_name().to_string_lossy().into_owned());
        pids.filter(|name| name.bytes().all(|byte| byte.is_ascii_digit())).filter(marked).collect()
    }

    /// Everything that is still there, in words.
    fn left(&self, files: bool) -> Vec<String> {
        let mut left: Vec<String> =
            self.processes().into_iter().map(|pid| format!("process {pid}")).collect();
        left.extend(mounts_below(&self.directory).into_iter().map(|place| format!("mount {place}")));
        let new = loops().into_iter().filter(|place| !self.loops.contains(place));
        left.extend(
            new.filter(|place| is_ours(place, &self.directory))
                .map(|place| format!("loop {}", place.display())),
        );
        if files {
            let names = fs::read_dir(&self.directory).into_iter().flatten().flatten();
            let names = names.map(|entry| entry.file_name().to_string_lossy().into_owned());
            left.extend(names.filter(|name| name.starts_with("iodyno")));
        }
        left
    }

    /// Soon nothing is left: no process, no mount, no loop device, no sandbox, and so nothing in it that is immutable or
    /// belongs to somebody.
    #[track_caller]
    pub fn vanishes(&self, what: &str) {
        self.vanish(what, true);
    }

    /// As [`vanishes`](Self::vanishes), on a file system that cannot be asked for files any more.
    #[track_caller]
    pub fn processes_vanish(&self, what: &str) {
        self.vanish(what, false);
    }

    #[track_caller]
    fn vanish(&self, what: &str, files: bool) {
        let mut left = Vec::new();
        let gone = wait::until("an end without traces", || {
            left = self.left(files);
            left.is_empty()
        });
        assert!(gone.is_ok(), "{what}: left behind: {left:?}");
    }
}

/// Mount points below a directory, itself left out.
fn mounts_below(directory: &Path) -> Vec<String> {
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    let places = mounts.lines().filter_map(|line| line.split(' ').nth(4));
    places
        .filter(|place| Path::new(place) != directory && Path::new(place).starts_with(directory))
        .map(String::from)
        .collect()
}

/// Loop devices that are attached.
fn loops() -> Vec<PathBuf> {
    let blocks = fs::read_dir("/sys/block").into_iter().flatten().flatten().map(|entry| entry.path());
    blocks.filter(|path| path.join("loop/backing_file").exists()).collect()
}

/// Whether a loop device is one of a run on this directory: its image lies in memory, and is named for it. Others may run
/// the same program elsewhere now.
fn is_ours(device: &Path, directory: &Path) -> bool {
    let name = format!("memfd:iodyno:{}", directory.display());
    fs::read_to_string(device.join("loop/backing_file")).is_ok_and(|image| image.contains(&name))
}
