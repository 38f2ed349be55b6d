//! The ground that lies are staged on: a disk whose speed is known, and file systems on it.
//!
//! A loop device whose image is a FUSE file with a programmed service time: the kernel counts for it as for any disk,
//! nobody else works on it, and it is as fast as it was told to be, however busy the machine's own disk is.

use std::path::Path;

use testbed::fuse::{Config, Device};
use testbed::sandbox::{LoopDevice, LoopOptions, Mount};
use testbed::{Need, Skip};

const MIB: u64 = 1 << 20;

/// What a staged disk needs of the machine.
pub const DISK: &[Need] = &[Need::Root, Need::Fuse, Need::Loop];
/// The same, for jobs that keep several operations in flight.
pub const DEEP: &[Need] = &[Need::Root, Need::Fuse, Need::Loop, Need::IoUring];
/// The same, with a file system that compresses.
pub const BTRFS: &[Need] =
    &[Need::Root, Need::Fuse, Need::Loop, Need::FileSystem("btrfs"), Need::Tool("mkfs.btrfs")];

/// What is true of such a stage and its short runs: few samples for the last percentiles, a loop device.
pub const STAGE: &[u8] = &[6, 22];

/// A disk of known speed. Dropping it takes it down.
pub struct Disk {
    // Unmounted before it is detached, detached before its image goes.
    mount: Option<Mount>,
    disk: LoopDevice,
    _media: Device,
}

impl Disk {
    /// A disk of so many MiB whose every request takes so long, eight at once.
    pub fn new(mib: u64, service_us: u64) -> Result<Disk, Skip> {
        Disk::with(Config { bytes: mib * MIB, ..Config::constant(service_us * 1000) }, true)
    }

    /// A disk whose image behaves like this, read and written past its page cache or through it.
    pub fn with(config: Config, direct_io: bool) -> Result<Disk, Skip> {
        let media = Device::mount(config)?;
        let options = LoopOptions { direct_io, block_bytes: 4096, ..LoopOptions::default() };
        let disk = LoopDevice::over(media.path(), &options)?;
        Ok(Disk { mount: None, disk, _media: media })
    }

    /// The same, with a file system on it.
    pub fn formatted(self, file_system: &str, options: &str) -> Result<Disk, Skip> {
        self.disk.mkfs(file_system)?;
        let mount = Mount::new(self.disk.path(), file_system, options)?;
        Ok(Disk { mount: Some(mount), ..self })
    }

    /// The block device.
    pub fn device(&self) -> &Path {
        self.disk.path()
    }

    /// Where it is mounted.
    pub fn folder(&self) -> &Path {
        self.mount.as_ref().map_or(Path::new("/nowhere"), Mount::path)
    }
}

/// The usual disk with the usual file system: 256 MiB of ext4, half a millisecond for each request.
pub fn ext4() -> Result<Disk, Skip> {
    Disk::new(256, 500)?.formatted("ext4", "")
}

/// A plan of one job on one file: what the target says besides its path, and what the job says.
pub fn plan(folder: &Path, target: &str, job: &str) -> String {
    format!(
        "[target.data]\nfile = \"{}/data\"\n{target}\n[[phase]]\n[[phase.job]]\non = \"data\"\n{job}\n",
        folder.display()
    )
}
