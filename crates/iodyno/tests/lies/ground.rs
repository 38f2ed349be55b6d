//! The ground that lies are staged on: a disk whose speed is known, and file systems on it.
//!
//! A loop device whose image is a FUSE file with a programmed service time: the kernel counts for it as for any disk,
//! nobody else works on it, and it is as fast as it was told to be, however busy the machine's own disk is.

use std::path::Path;

use testbed::Skip;
use testbed::fuse::{Config, Device, Service};
use testbed::sandbox::{LoopDevice, LoopOptions, Mount};

const MIB: u64 = 1 << 20;

/// What a staged disk needs of the machine.
pub const DISK: &[testbed::Need] = &[testbed::Need::Root, testbed::Need::Fuse, testbed::Need::Loop];

/// A disk of known speed. Dropping it takes it down.
pub struct Disk {
    // Unmounted before it is detached, detached before its image goes.
    mount: Option<Mount>,
    disk: LoopDevice,
    _media: Device,
}

impl Disk {
    /// A disk of so many MiB whose every request takes half a millisecond, eight at once.
    pub fn new(mib: u64) -> Result<Disk, Skip> {
        Disk::with(Config { bytes: mib * MIB, ..Config::constant(500_000) })
    }

    /// A disk whose image behaves like this.
    pub fn with(config: Config) -> Result<Disk, Skip> {
        let media = Device::mount(config)?;
        let options = LoopOptions { direct_io: true, block_bytes: 4096, ..LoopOptions::default() };
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

/// The usual disk with the usual file system: 256 MiB of ext4.
pub fn ext4() -> Result<Disk, Skip> {
    Disk::new(256)?.formatted("ext4", "")
}

/// A service time that is the same for every request, µs.
pub fn service(us: u64) -> Service {
    Service::Constant(us * 1000)
}
