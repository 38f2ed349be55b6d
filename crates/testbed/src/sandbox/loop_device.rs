//! A block device of our own: a temporary image attached to a free loop device.
//!
//! Tests run in parallel and all ask the kernel for a free device, so losing the race for one is normal and tried
//! again. The device detaches itself when its last user closes it, even if the test was killed.

use super::skip_or_panic;
use crate::{Need, Skip, case::find_tool};
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;
use tempfile::NamedTempFile;

// From the kernel's <linux/loop.h>.
const LOOP_CLR_FD: u32 = 0x4C01;
const LOOP_CONFIGURE: u32 = 0x4C0A;
const LOOP_CTL_GET_FREE: u32 = 0x4C82;
const LO_FLAGS_READ_ONLY: u32 = 1;
const LO_FLAGS_AUTOCLEAR: u32 = 4;
const LO_FLAGS_DIRECT_IO: u32 = 16;

const ATTEMPTS: u32 = 200;

/// `struct loop_info64`.
#[repr(C)]
struct LoopInfo {
    device_to_encrypt_type: [u64; 5],
    number_to_flags: [u32; 4],
    names_and_key: [u8; 64 + 64 + 32],
    init: [u64; 2],
}

/// `struct loop_config`.
#[repr(C)]
struct LoopConfig {
    fd: u32,
    block_size: u32,
    info: LoopInfo,
    reserved: [u64; 8],
}

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
    device: File,
    path: PathBuf,
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
        let (device, path) = attach(image.as_file(), options)
            .map_err(|error| skip_or_panic("attaching a loop device", error))?;
        Ok(LoopDevice { device, path, image: Image::Own(image) })
    }

    /// A device over a file that is there, a staged one say; it stays when the device goes.
    #[track_caller]
    pub fn over(image: &Path, options: &LoopOptions) -> Result<LoopDevice, Skip> {
        Need::Loop.check()?;
        let opened = File::options().read(true).write(!options.read_only).open(image);
        let file = opened.unwrap_or_else(|error| panic!("{}: {error}", image.display()));
        let (device, path) =
            attach(&file, options).map_err(|error| skip_or_panic("attaching a loop device", error))?;
        Ok(LoopDevice { device, path, image: Image::Of(image.into()) })
    }

    /// The block device, `/dev/loopN`.
    pub fn path(&self) -> &Path {
        &self.path
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
        let output = Command::new(&tool).args(options).arg(&self.path).output();
        let output = output.unwrap_or_else(|error| panic!("{}: {error}", tool.display()));
        let complaint = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{} failed: {}", tool.display(), complaint.trim());
        Ok(())
    }
}

impl Drop for LoopDevice {
    fn drop(&mut self) {
        // SAFETY: the request takes no argument. While somebody else has it open it is cleared at their close.
        unsafe { libc::ioctl(self.device.as_raw_fd(), LOOP_CLR_FD as _) };
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

fn attach(image: &File, options: &LoopOptions) -> io::Result<(File, PathBuf)> {
    let control = File::options().read(true).write(true).open("/dev/loop-control")?;
    let mut lost = io::Error::other("never tried");
    for attempt in 0..ATTEMPTS {
        match attach_to_a_free_one(&control, image, options) {
            Err(error) if is_lost(&error) => lost = error,
            done => return done,
        }
        std::thread::sleep(Duration::from_millis(u64::from(attempt.min(20))));
    }
    Err(lost)
}

/// Whether another one took the device, or it was removed, between asking for it and configuring it: on a loaded machine
/// that lies far apart.
fn is_lost(error: &io::Error) -> bool {
    [libc::EBUSY, libc::ENOENT, libc::ENXIO, libc::ENODEV].map(Some).contains(&error.raw_os_error())
}

fn attach_to_a_free_one(control: &File, image: &File, options: &LoopOptions) -> io::Result<(File, PathBuf)> {
    // SAFETY: the request takes no argument and returns a number.
    let number = unsafe { libc::ioctl(control.as_raw_fd(), LOOP_CTL_GET_FREE as _) };
    if number < 0 {
        return Err(io::Error::last_os_error());
    }
    let path = PathBuf::from(format!("/dev/loop{number}"));
    let device = File::options().read(true).write(true).open(&path)?;
    let flag = |set: bool, flag: u32| if set { flag } else { 0 };
    let flags = LO_FLAGS_AUTOCLEAR
        | flag(options.direct_io, LO_FLAGS_DIRECT_IO)
        | flag(options.read_only, LO_FLAGS_READ_ONLY);
    let config = LoopConfig {
        fd: image.as_raw_fd() as u32,
        block_size: options.block_bytes,
        info: LoopInfo {
            device_to_encrypt_type: [0; 5],
            number_to_flags: [0, 0, 0, flags],
            names_and_key: [0; 160],
            init: [0; 2],
        },
        reserved: [0; 8],
    };
    // SAFETY: `config` has the kernel's layout and outlives the call, which only reads it.
    if unsafe { libc::ioctl(device.as_raw_fd(), LOOP_CONFIGURE as _, &config) } != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok((device, path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_that_was_lost_is_tried_again_and_a_refusal_is_not() {
        let is_tried_again = |number| is_lost(&io::Error::from_raw_os_error(number));
        assert!([libc::EBUSY, libc::ENXIO, libc::ENOENT].into_iter().all(is_tried_again));
        assert!(!is_tried_again(libc::EPERM) && !is_tried_again(libc::EINVAL));
    }

    #[test]
    fn the_structs_have_the_kernels_size() {
        assert_eq!((size_of::<LoopInfo>(), size_of::<LoopConfig>()), (232, 304));
    }
}
