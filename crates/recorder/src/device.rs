//! Records the requests of a block device by the kernel's `blk` tracer, as the binary records of blktrace.
//!
//! The tracer works in the machine's one trace buffer only, so nobody else may be using it. All that is changed is put back when
//! a [`DeviceTrace`] is dropped.

use std::fs::{self, File};
use std::io::{self, Read};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use iodyno_model::origin::plain;
use iodyno_trace::TraceError;

use crate::tracefs::{TraceBuffer, Tracefs, read_available};

/// Room for each processor's events while they are recorded, KiB.
const BUFFER_KIB: &str = "8192";
/// How long a read waits before it looks again whether the recording is over, ms.
const LOOK_MS: i32 = 20;

/// A device whose requests are being traced.
pub struct DeviceTrace {
    buffer: TraceBuffer,
    enable: PathBuf,
    /// Major and minor number.
    pub device: (u32, u32),
    pub bytes: Option<u64>,
}

impl DeviceTrace {
    /// Begins to trace a block device, a whole one or a partition.
    ///
    /// # Errors
    /// It is none; tracing cannot be had, or somebody else has it.
    pub fn begin(path: &Path) -> Result<DeviceTrace, TraceError> {
        let metadata = fs::metadata(path).map_err(|error| {
            TraceError::new(plain(&error)).hint("lsblk lists devices; of a file system df names the device")
        })?;
        if !metadata.file_type().is_block_device() {
            return Err(TraceError::new("it is no block device")
                .hint("lsblk lists them; of a file system df names the device"));
        }
        let device = (libc::major(metadata.rdev()), libc::minor(metadata.rdev()));
        let system = PathBuf::from(format!("/sys/dev/block/{}:{}", device.0, device.1));
        let enable = system.join("trace/enable");
        let is_traced = fs::read_to_string(&enable).map_err(|error| {
            TraceError::new(format!("the kernel cannot trace it: {}: {}", enable.display(), plain(&error)))
                .hint("it needs CONFIG_BLK_DEV_IO_TRACE")
        })?;
        if is_traced.trim() != "0" {
            return Err(TraceError::new("it is being traced already")
                .hint(format!("end blktrace, or say: echo 0 > {}", enable.display())));
        }
        let tracefs = Tracefs::open()?;
        if !tracefs.has_tracer("blk") {
            return Err(TraceError::new("the kernel has no `blk` tracer")
                .hint("it needs CONFIG_BLK_DEV_IO_TRACE, and the right to use tracefs"));
        }
        let mut buffer = tracefs.global();
        let tracer = buffer.read("current_tracer")?;
        if tracer != "nop" {
            return Err(TraceError::new(format!("the kernel's tracer `{tracer}` is in use"))
                .hint("end its user, or say: echo nop > /sys/kernel/tracing/current_tracer"));
        }
        let events = buffer.read("set_event")?;
        if let Some(event) = events.lines().next() {
            return Err(TraceError::new(format!("the kernel traces events, such as {event}"))
                .hint("end its user, or say: echo > /sys/kernel/tracing/set_event"));
        }
        buffer.set("buffer_size_kb", BUFFER_KIB)?;
        buffer.set("trace_clock", "mono")?;
        buffer.set("current_tracer", "blk")?;
        buffer.set_option("bin", true)?;
        buffer.set_option("context-info", false)?;
        buffer.set("tracing_on", "1")?;
        buffer.set_outside(&enable, "1")?;
        let sectors = fs::read_to_string(system.join("size")).ok();
        let bytes =
            sectors.and_then(|sectors| sectors.trim().parse::<u64>().ok()).map(|sectors| sectors * 512);
        Ok(DeviceTrace { buffer, enable, device, bytes })
    }

    /// Its records, until `is_over` says so: then tracing ends, and what was traced is read to its end.
    ///
    /// # Errors
    /// The kernel's buffer cannot be opened.
    pub fn events(&self, is_over: Box<dyn FnMut() -> bool + Send>) -> Result<DeviceEvents, TraceError> {
        Ok(DeviceEvents {
            pipe: Some(self.buffer.pipe()?),
            enable: self.enable.clone(),
            is_over,
            has_ended: false,
        })
    }

    /// Puts back what was changed; how many events were lost because they came too fast.
    ///
    /// # Errors
    /// What could not be put back.
    pub fn end(self) -> Result<u64, TraceError> {
        let lost = self.buffer.lost();
        self.buffer.restore().map(|()| lost)
    }

    /// Whether a file lies on this device, or on a partition of it.
    pub fn holds(&self, file: &Path) -> bool {
        let Ok(metadata) = fs::metadata(file) else { return false };
        let (major, minor) = (libc::major(metadata.dev()), libc::minor(metadata.dev()));
        let parent = fs::read_to_string(format!("/sys/dev/block/{major}:{minor}/../dev"));
        let own = format!("{}:{}", self.device.0, self.device.1);
        (major, minor) == self.device || parent.is_ok_and(|parent| parent.trim() == own)
    }
}

/// The records of a traced device, as bytes.
pub struct DeviceEvents {
    /// None: it was read to its end. While it is open the kernel keeps its tracer.
    pipe: Option<File>,
    enable: PathBuf,
    is_over: Box<dyn FnMut() -> bool + Send>,
    has_ended: bool,
}

impl Read for DeviceEvents {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        loop {
            if !self.has_ended && (self.is_over)() {
                fs::write(&self.enable, "0\n")?;
                self.has_ended = true;
            }
            let Some(pipe) = &mut self.pipe else { return Ok(0) };
            let read = read_available(pipe, into)?;
            if read > 0 {
                return Ok(read);
            }
            if self.has_ended {
                self.pipe = None;
                return Ok(0);
            }
            let mut waited = libc::pollfd { fd: pipe.as_raw_fd(), events: libc::POLLIN, revents: 0 };
            // SAFETY: the one structure is valid for the call.
            unsafe { libc::poll(&raw mut waited, 1, LOOK_MS) };
        }
    }
}
