//! A block device that logs what is done to it.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::fs::FileExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::{Acquire, Release};

use fuser::{Session, SessionACL};
use iodyno_block::{AttachOptions, AttachedDevice, MountedDirectory};
use iodyno_fuse::image::{FILE_NAME, ImageServer, ServedImage, errno_of};

use crate::image::punch;
use crate::log::{LogFile, memory_file};

/// A block device that logs writes, discards, zeroes and flushes in one order with the marks of a workload. Other
/// implementations (ublk, NBD) may stand below the same recording.
pub trait RecordingDisk {
    /// Its block device.
    fn device(&self) -> &Path;
    fn log(&self) -> &LogFile;
    /// What is on it now, as a sparse file.
    fn content(&self) -> &File;
    /// Takes it down, in the order in which nothing is left that waits for what is gone.
    ///
    /// # Errors
    /// What is still in use.
    fn detach(self: Box<Self>) -> io::Result<()>;
}

/// A FUSE file with direct I/O under a loop device. A process of its own serves it, so that memory and locks of the program
/// that waits for the device never keep the device waiting.
#[derive(Debug)]
pub struct FuseDisk {
    device: AttachedDevice,
    mount: MountedDirectory,
    server: DiskServer,
    content: File,
    log: LogFile,
}

/// The process that serves. It ends when its standard input does, so it does not outlive whoever started it.
#[derive(Debug)]
struct DiskServer {
    process: Child,
}

impl FuseDisk {
    /// A disk of zeroes; `mountpoint` is an existing directory for the file behind the device.
    ///
    /// # Errors
    /// The system's own: no `/dev/fuse`, no right to mount, no loop device.
    ///
    /// # Panics
    /// When this program's `main` does not call [`serve_when_asked`].
    pub fn start(mountpoint: &Path, bytes: u64, sector_bytes: u32) -> io::Result<FuseDisk> {
        assert!(CAN_SERVE.load(Acquire), "main does not call iodyno_crash::disk::serve_when_asked");
        let log = LogFile::create()?;
        let content = memory_file("iodyno-crash-disk")?;
        content.set_len(bytes)?;
        let connection = File::options().read(true).write(true).open("/dev/fuse")?;
        let options = format!("fd={},rootmode=40000,user_id=0,group_id=0", connection.as_raw_fd());
        let mount =
            MountedDirectory::mount(Path::new("iodyno-crash"), mountpoint, "fuse.iodyno-crash", &options)?;
        let server =
            DiskServer::start([content.as_raw_fd(), log.file().as_raw_fd(), connection.as_raw_fd()])?;
        // The server alone has it now: when it ends the kernel knows.
        drop(connection);
        let image = File::options().read(true).write(true).open(mountpoint.join(FILE_NAME))?;
        let options =
            AttachOptions { direct_io: true, block_bytes: sector_bytes, ..AttachOptions::default() };
        let device = AttachedDevice::attach(&image, options)?;
        Ok(FuseDisk { device, mount, server, content, log })
    }
}

impl RecordingDisk for FuseDisk {
    fn device(&self) -> &Path {
        self.device.path()
    }

    fn log(&self) -> &LogFile {
        &self.log
    }

    fn content(&self) -> &File {
        &self.content
    }

    fn detach(self: Box<Self>) -> io::Result<()> {
        // The loop device asks the file until it is gone.
        drop(self.device);
        let unmounted = self.mount.unmount();
        drop(self.server);
        unmounted
    }
}

impl DiskServer {
    fn start(files: [RawFd; 3]) -> io::Result<DiskServer> {
        let mut program = Command::new("/proc/self/exe");
        program.env(VARIABLE, files.map(|file| file.to_string()).join(","));
        program.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        // Ctrl-C is for the program: it takes the disk down when nobody uses it any more.
        program.process_group(0);
        // SAFETY: between fork and exec the closure only makes system calls that take numbers.
        unsafe {
            program.pre_exec(move || {
                for file in files {
                    libc::fcntl(file, libc::F_SETFD, 0);
                }
                Ok(())
            });
        }
        let mut process = program.spawn()?;
        let mut line = String::new();
        if let Some(out) = &mut process.stdout {
            BufReader::new(out).read_line(&mut line)?;
        }
        let server = DiskServer { process };
        if line == READY { Ok(server) } else { Err(io::Error::other("the server of the disk did not start")) }
    }
}

impl Drop for DiskServer {
    fn drop(&mut self) {
        drop(self.process.stdin.take());
        let _ = self.process.wait();
    }
}

/// Holds the descriptors of a process that is to serve: of the content, of the log, and to the kernel.
const VARIABLE: &str = "IODYNO_CRASH_DISK";
/// From the kernel's <linux/prctl.h>.
const PR_SET_IO_FLUSHER: libc::c_int = 57;
const READY: &str = "ready\n";
static CAN_SERVE: AtomicBool = AtomicBool::new(false);

/// Turns this process into the server of a disk, and does not return, if it was started as one. Called first in `main`.
pub fn serve_when_asked() {
    let Some(words) = std::env::var_os(VARIABLE) else { return CAN_SERVE.store(true, Release) };
    let numbers: Vec<RawFd> =
        words.to_string_lossy().split(',').filter_map(|word| word.parse().ok()).collect();
    let [content, log, connection] = numbers[..] else { std::process::exit(1) };
    // SAFETY: whoever started this program left these descriptors to it, and nobody else uses them.
    let [content, log, connection] =
        [content, log, connection].map(|file| unsafe { OwnedFd::from_raw_fd(file) });
    let served = serve(content.into(), LogFile::inherit(log.into()), connection);
    std::process::exit(i32::from(served.is_err()))
}

fn serve(content: File, log: LogFile, connection: OwnedFd) -> io::Result<()> {
    // Memory that it needs is never had by writing to the file system that waits for it.
    // SAFETY: the call takes numbers only; where it is not allowed all goes on as before.
    unsafe { libc::prctl(PR_SET_IO_FLUSHER, 1, 0, 0, 0) };
    let bytes = content.metadata()?.len();
    let image = ImageServer::new(RecordedImage { content, log, bytes });
    let session = Session::from_fd(image, connection, SessionACL::All, fuser::Config::default())?;
    std::thread::spawn(|| {
        // Whoever started it has ended: what still waits for the disk is told so by the kernel.
        let _ = io::stdin().read_to_end(&mut Vec::new());
        std::process::exit(0)
    });
    io::stdout().write_all(READY.as_bytes())?;
    session.run()
}

/// What is served: the log comes first, so that nothing is on the disk that the log does not have.
struct RecordedImage {
    content: File,
    log: LogFile,
    bytes: u64,
}

impl ServedImage for RecordedImage {
    fn bytes(&self) -> u64 {
        self.bytes
    }

    fn read(&self, offset: u64, bytes: u64) -> Result<Vec<u8>, i32> {
        let mut data = vec![0; bytes.min(self.bytes.saturating_sub(offset)) as usize];
        self.content.read_exact_at(&mut data, offset).map_err(errno_of)?;
        Ok(data)
    }

    fn write(&self, offset: u64, data: &[u8]) -> Result<u64, i32> {
        if offset + data.len() as u64 > self.bytes {
            return Err(libc::ENOSPC);
        }
        self.log.write(offset, data).map_err(errno_of)?;
        self.content.write_all_at(data, offset).map_err(errno_of)?;
        Ok(data.len() as u64)
    }

    fn discard(&self, offset: u64, bytes: u64) -> Result<(), i32> {
        self.log.discard(offset, bytes).map_err(errno_of)?;
        punch(&self.content, offset, bytes).map_err(errno_of)
    }

    fn zero(&self, offset: u64, bytes: u64) -> Result<(), i32> {
        self.log.zero(offset, bytes).map_err(errno_of)?;
        punch(&self.content, offset, bytes).map_err(errno_of)
    }

    fn flush(&self, _data_only: bool) -> Result<(), i32> {
        self.log.flush().map_err(errno_of)
    }
}
