//! A file as a block device, through a free loop device.
//!
//! Programs that run in parallel all ask the kernel for a free device, so losing the race for one is normal and tried
//! again. The device detaches itself when its last user closes it, even if this process was killed.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::time::Duration;

// From the kernel's <linux/loop.h> and <linux/fs.h>.
const LOOP_CLR_FD: u32 = 0x4C01;
const LOOP_CONFIGURE: u32 = 0x4C0A;
const LOOP_CTL_GET_FREE: u32 = 0x4C82;
const BLKFLSBUF: u32 = 0x1261;
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

/// How a file is attached.
#[derive(Debug, Clone, Copy, Default)]
pub struct AttachOptions {
    /// The kernel reads and writes the file past its page cache.
    pub direct_io: bool,
    /// The device refuses writes.
    pub read_only: bool,
    /// Logical block size; 0 is the kernel's choice, 512.
    pub block_bytes: u32,
}

/// A file that is attached to a loop device. Dropping it detaches it; the file stays.
#[derive(Debug)]
pub struct AttachedDevice {
    device: File,
    path: PathBuf,
}

impl AttachedDevice {
    /// Attaches a file to a free device.
    ///
    /// # Errors
    /// EACCES or EPERM without the privilege, ENOENT where there is no `/dev/loop-control`; EBUSY and ENXIO: every device
    /// that was free was taken by others before it could be configured.
    pub fn attach(image: &File, options: AttachOptions) -> io::Result<AttachedDevice> {
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

    /// `/dev/loopN`.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes back and forgets what the kernel holds in memory of the device, because the file behind it has changed.
    ///
    /// # Errors
    /// The system's own.
    pub fn forget_cache(&self) -> io::Result<()> {
        // SAFETY: the request takes no argument.
        match unsafe { libc::ioctl(self.device.as_raw_fd(), BLKFLSBUF as _, 0) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }
}

impl Drop for AttachedDevice {
    fn drop(&mut self) {
        // SAFETY: the request takes no argument. While somebody else has it open it is cleared at their close.
        unsafe { libc::ioctl(self.device.as_raw_fd(), LOOP_CLR_FD as _) };
    }
}

/// Whether another one took the device, or it was removed, between asking for it and configuring it: on a loaded machine
/// that lies far apart.
fn is_lost(error: &io::Error) -> bool {
    [libc::EBUSY, libc::ENOENT, libc::ENXIO, libc::ENODEV].map(Some).contains(&error.raw_os_error())
}

fn attach_to_a_free_one(control: &File, image: &File, options: AttachOptions) -> io::Result<AttachedDevice> {
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
    Ok(AttachedDevice { device, path })
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
