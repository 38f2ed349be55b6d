//! A block device of our own: a temporary image attached to a free loop device.

use super::skip_or_panic;
use crate::{Need, Skip, case::find_tool};
use iodyno_block::{AttachOptions, AttachedDevice};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::NamedTempFile;

/// How to make a loop device.
#[derive(Debug, Clone, Default)]
pub struct LoopOptions {
    /// Size of the image.
    pub bytes: u64,
    /// Every block of the image is written with this byte; `None` leaves it sparse.
    pub prefill: Option<u8>,
    /// The kernel reads and writes the image past its page cache.
    pub direct_io: bool,
    /// The device refuses writes.
    pub read_only: bool,
    /// Logical block size; 0 is the kernel's choice, 512.
    pub block_bytes: u32,
}

/// An attached loop device. Dropping it detaches it and removes its image.
#[derive(Debug)]
pub struct LoopDevice {
    device: AttachedDevice,
    image: Image,
}

/// What lies behind a device: a file of our own, which goes with it, or somebody else's.
#[derive(Debug)]
enum Image {
    Own(NamedTempFile),
    Of(PathBuf),
}

impl LoopDevice {
    /// A sparse device of this size, in the system's temporary directory.
    #[track_caller]
    pub fn new(bytes: u64) -> Result<LoopDevice, Skip> {
        LoopDevice::with(&LoopOptions { bytes, ..LoopOptions::default() })
    }

    /// A device as described.
    #[track_caller]
    pub fn with(options: &LoopOptions) -> Result<LoopDevice, Skip> {
        Need::Loop.check()?;
        let image = make_image(options).unwrap_or_else(|error| panic!("the image of a loop device: {error}"));
        let device = attach(image.as_file(), options)?;
        Ok(LoopDevice { device, image: Image::Own(image) })
    }

    /// A device over a file that is there, a staged one say; it stays when the device goes.
    #[track_caller]
    pub fn over(image: &Path, options: &LoopOptions) -> Result<LoopDevice, Skip> {
        Need::Loop.check()?;
        let opened = File::options().read(true).write(!options.read_only).open(image);
        let file = opened.unwrap_or_else(|error| panic!("{}: {error}", image.display()));
        let device = attach(&file, options)?;
        Ok(LoopDevice { device, image: Image::Of(image.into()) })
    }

    /// The block device, `/dev/loopN`.
    pub fn path(&self) -> &Path {
        self.device.path()
    }

    /// The image behind it.
    pub fn image(&self) -> &Path {
        match &self.image {
            Image::Own(file) => file.path(),
            Image::Of(path) => path,
        }
    }

    /// Makes a file system on it with `mkfs.TYPE`.
    ///
    /// # Errors
    /// A [`Skip`] where that program is not installed.
    ///
    /// # Panics
    /// When the program fails, as mkfs.xfs does below 300 MiB and mkfs.btrfs below some 110 MiB.
    #[track_caller]
    pub fn mkfs(&self, file_system: &str) -> Result<(), Skip> {
        let tool = find_tool(&format!("mkfs.{file_system}"))?;
        let options: &[&str] = match file_system {
            // No blocks reserved for root, or root would never find the disk full.
            "ext2" | "ext3" | "ext4" => &["-q", "-F", "-m", "0"],
            "xfs" | "btrfs" => &["-q", "-f"],
            // A partition's place on its disk is asked for, and not needed.
            "ntfs" => &["-q", "-F", "-f"],
            _ => &[],
        };
        let output = Command::new(&tool).args(options).arg(self.path()).output();
        let output = output.unwrap_or_else(|error| panic!("{}: {error}", tool.display()));
        let complaint = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{} failed: {}", tool.display(), complaint.trim());
        Ok(())
    }
}

fn make_image(options: &LoopOptions) -> io::Result<NamedTempFile> {
    let image = tempfile::Builder::new().prefix("testbed-").suffix(".img").tempfile()?;
    let file = image.as_file();
    file.set_len(options.bytes)?;
    if let Some(byte) = options.prefill {
        let chunk = vec![byte; 1 << 20];
        for offset in (0..options.bytes).step_by(chunk.len()) {
            let length = chunk.len().min((options.bytes - offset) as usize);
            file.write_all_at(&chunk[..length], offset)?;
        }
        file.sync_all()?;
    }
    Ok(image)
}

#[track_caller]
fn attach(image: &File, options: &LoopOptions) -> Result<AttachedDevice, Skip> {
    let how = AttachOptions {
        direct_io: options.direct_io,
        read_only: options.read_only,
        block_bytes: options.block_bytes,
    };
    AttachedDevice::attach(image, how).map_err(|error| skip_or_panic("attaching a loop device", error))
}
