//! The test's end of a device: it starts the server, reads the log, and takes everything down again.

use super::config::Config;
use super::log::{Counts, Log, SharedLog};
use super::serve::{DeviceOrder, ORDER_VARIABLE};
use super::timing::now_ns;
use crate::{Need, Skip, wait};
use iodyno_block::free_bytes;
use iodyno_fuse::mount::{detach, is_mounted};
use std::fs::{File, Permissions};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::fs::{FileExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering::Acquire};
use tempfile::TempDir;

/// Whether this program's `main` goes through [`serve_when_asked`](super::serve_when_asked).
pub(crate) static HOOKED: AtomicBool = AtomicBool::new(false);

/// A mounted device. Dropping it unmounts it, ends its server and removes what it held.
pub struct Device {
    server: Child,
    directory: PathBuf,
    file: PathBuf,
    log: SharedLog,
    home: TempDir,
}

impl Device {
    /// Mounts a device into a fresh directory, served by a process of its own.
    ///
    /// # Errors
    /// A [`Skip`] where FUSE cannot be had: no `/dev/fuse`, no right to mount, no way to start the server.
    ///
    /// # Panics
    /// When this program's `main` does not go through [`trials`](crate::trials) or
    /// [`serve_when_asked`](super::serve_when_asked), before anything is started or made; and when the machine has it all
    /// and the device still does not come up: that is a bug, of the test or of ours.
    #[track_caller]
    pub fn mount(config: Config) -> Result<Device, Skip> {
        require_hook(&HOOKED, ORDER_VARIABLE);
        Need::Fuse.check()?;
        config.check().unwrap_or_else(|error| panic!("{error}"));
        Ok(Device::start(config).unwrap_or_else(|error| panic!("staging a device: {error}")))
    }

    fn start(config: Config) -> io::Result<Device> {
        let home = scratch(config.bytes)?;
        let directory = home.path().join("mnt");
        std::fs::create_dir(&directory)?;
        let order = DeviceOrder {
            mountpoint: directory.clone(),
            media: home.path().join("media"),
            log: home.path().join("log"),
            report: None,
            tied_to_stdin: true,
            // A test that is killed cannot remove it itself.
            home: Some(home.path().to_path_buf()),
            config,
        };
        let mut server = launch(&order, home.path())?;
        if let Err(error) = await_ready(&mut server) {
            end(&mut server, &directory);
            return Err(error);
        }
        let log = File::options().read(true).write(true).open(&order.log)?;
        let log = SharedLog::map(&log, order.config.log_capacity)?;
        Ok(Device { server, file: directory.join("device"), directory, log, home })
    }

    /// The file to be measured.
    pub fn path(&self) -> &Path {
        &self.file
    }

    /// The mount's root, which holds nothing but the file.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Everything logged since the mount or the last reset. A request is logged before its reply is sent.
    pub fn log(&self) -> Log {
        self.log.read()
    }

    /// As [`log`](Self::log), and forgets it.
    pub fn take_log(&self) -> Log {
        let log = self.log();
        self.reset();
        log
    }

    /// Requests taken since the mount or the last reset.
    pub fn counts(&self) -> Counts {
        self.log.counts()
    }

    /// Empties the log and starts all numbering anew (requests, and the matches of faults). Call it while nothing
    /// is in flight.
    pub fn reset(&self) {
        self.log.reset();
    }

    /// What a plain loop of 4 KiB direct reads at depth 1 sees beyond the device's own latency, in ns, ascending: the
    /// floor to allow a measuring tool. It depends on how long the CPUs idle meanwhile, so take it from the very
    /// device that will be measured. The log is reset before and after, so faults by number meet nobody twice.
    pub fn overhead_ns(&self, count: usize) -> io::Result<Vec<u64>> {
        let file = File::options().read(true).custom_flags(libc::O_DIRECT).open(&self.file)?;
        let mut memory = vec![0u8; 2 * 4096];
        let aligned = memory.as_ptr().align_offset(4096);
        let block = &mut memory[aligned..aligned + 4096];
        let blocks = (file.metadata()?.len() / 4096).max(1);
        self.reset();
        let mut seen = Vec::with_capacity(count);
        for index in 0..count as u64 {
            let start_ns = now_ns();
            file.read_exact_at(block, index % blocks * 4096)?;
            seen.push(now_ns() - start_ns);
        }
        let log = self.take_log().requests;
        let mut overhead: Vec<u64> =
            seen.iter().zip(&log).map(|(seen, request)| seen.saturating_sub(request.latency_ns())).collect();
        overhead.sort_unstable();
        Ok(overhead)
    }

    /// What is really on the device, for looking behind its back or for damaging it by hand.
    pub fn media(&self) -> io::Result<File> {
        File::options().read(true).write(true).open(self.home.path().join("media"))
    }

    /// Process id of the server.
    pub fn server_pid(&self) -> u32 {
        self.server.id()
    }
}

impl Drop for Device {
    fn drop(&mut self) {
        end(&mut self.server, &self.directory);
    }
}

/// A directory for media and log: in memory where there is room, so that the machine's own disk stays out of it.
fn scratch(bytes: u64) -> io::Result<TempDir> {
    let shared_memory = Path::new("/dev/shm");
    let parent = match free_bytes(shared_memory) {
        Some(free) if free > 2 * bytes + (64 << 20) => shared_memory.to_path_buf(),
        _ => std::env::temp_dir(),
    };
    // Other users must get through to the mount: what they may do there is for the file's mode to say.
    let prefix = format!("testbed-{}-", std::process::id());
    tempfile::Builder::new().prefix(&prefix).permissions(Permissions::from_mode(0o755)).tempdir_in(parent)
}

/// Refuses to serve from a program that would not turn into the server: started again, it would go on to its tests, mount
/// once more, and so on without end.
#[track_caller]
pub(crate) fn require_hook(hooked: &AtomicBool, order: &str) {
    assert!(
        hooked.load(Acquire),
        "this program cannot mount a staged file system: its server is this very program started again, and its main does \
         not call testbed::trials, testbed::run or testbed::fuse::serve_when_asked before anything else"
    );
    let went_astray = std::env::var_os(order).is_some();
    assert!(!went_astray, "started to serve a staged file system, this process went on to its tests");
}

/// This very program once more: its hook turns it into the server.
fn launch(order: &DeviceOrder, home: &Path) -> io::Result<Child> {
    let path = home.join("order.json");
    std::fs::write(&path, serde_json::to_vec(order)?)?;
    let mut program = Command::new("/proc/self/exe");
    program.env(ORDER_VARIABLE, path);
    program.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()
}

pub(crate) fn await_ready(server: &mut Child) -> io::Result<()> {
    let mut line = String::new();
    if let Some(stdout) = &mut server.stdout {
        BufReader::new(stdout).read_line(&mut line)?;
    }
    if line == "ready\n" {
        return Ok(());
    }
    let mut complaint = String::new();
    if let Some(stderr) = &mut server.stderr {
        stderr.read_to_string(&mut complaint)?;
    }
    Err(io::Error::other(format!("the server said {line:?} instead of ready: {}", complaint.trim())))
}

/// Asks the server to unmount and end; what it leaves undone is done here.
pub(crate) fn end(server: &mut Child, mountpoint: &Path) {
    if let Some(mut stdin) = server.stdin.take() {
        let _ = stdin.write_all(b"q");
    }
    if wait::until("the end of a server", || !matches!(server.try_wait(), Ok(None))).is_err() {
        let _ = server.kill();
        let _ = server.wait();
    }
    for _ in 0..20 {
        if !is_mounted(mountpoint) {
            return;
        }
        detach(mountpoint);
        if is_mounted(mountpoint) {
            let _ = Command::new("fusermount3").args(["-u", "-z"]).arg(mountpoint).output();
        }
    }
    eprintln!("warning: {} is still mounted", mountpoint.display());
}
