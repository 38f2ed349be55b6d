//! Admin commands to NVMe drives: what a witness asks, and what makes a drive like new.

use std::os::fd::RawFd;

use crate::memory::errno;

/// linux/nvme_ioctl.h: `_IOWR('N', 0x41, struct nvme_admin_cmd)`.
const ADMIN_COMMAND: libc::Ioctl = 0xc048_4e41_u32 as libc::Ioctl;
/// linux/nvme_ioctl.h: `_IO('N', 0x40)`.
const NAMESPACE_NUMBER: libc::Ioctl = 0x4e40;
/// NVM Express base specification 2.0, figure 138: opcodes.
pub const GET_LOG_PAGE: u8 = 0x02;
pub const IDENTIFY: u8 = 0x06;
pub const FORMAT: u8 = 0x80;
pub const SANITIZE: u8 = 0x84;
pub const EVERY_NAMESPACE: u32 = u32::MAX;
/// Of commands that are answered at once.
const TIME_OUT_MS: u32 = 5_000;

/// linux/nvme_ioctl.h, `struct nvme_admin_cmd`.
#[repr(C)]
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AdminCommand {
    pub opcode: u8,
    flags: u8,
    reserved: u16,
    pub namespace: u32,
    words_2_3: [u32; 2],
    metadata: u64,
    address: u64,
    metadata_bytes: u32,
    data_bytes: u32,
    pub words_10_15: [u32; 6],
    time_out_ms: u32,
    result: u32,
}

/// Bytes of a log page.
pub const LOG_BYTES: usize = 512;

impl AdminCommand {
    /// Asks for a log of the drive.
    pub fn log_page(log: u8) -> Self {
        // Words to be moved, less one, above the number of the log.
        let word_10 = (LOG_BYTES as u32 / 4 - 1) << 16 | u32::from(log);
        AdminCommand::new(GET_LOG_PAGE, EVERY_NAMESPACE, word_10)
    }

    /// A command to a namespace, with its word 10.
    pub fn new(opcode: u8, namespace: u32, word_10: u32) -> Self {
        let words_10_15 = [word_10, 0, 0, 0, 0, 0];
        AdminCommand { opcode, namespace, words_10_15, time_out_ms: TIME_OUT_MS, ..AdminCommand::default() }
    }

    /// The same, that may take longer.
    pub fn within_ms(self, time_out_ms: u32) -> Self {
        AdminCommand { time_out_ms, ..self }
    }
}

/// Performs a command, which reads into `data`.
///
/// # Errors
/// The status of the drive, above 0, or the negative number of the system's error.
pub fn perform(fd: RawFd, mut command: AdminCommand, data: &mut [u8]) -> Result<(), i32> {
    command.address = if data.is_empty() { 0 } else { data.as_mut_ptr() as u64 };
    command.data_bytes = data.len() as u32;
    // SAFETY: the command is the kernel's structure, and `data` is valid for writing as many bytes as it says.
    match unsafe { libc::ioctl(fd, ADMIN_COMMAND, &raw mut command) } {
        0 => Ok(()),
        -1 => Err(-errno()),
        status => Err(status),
    }
}

/// The number of an open namespace; none: it is none.
pub fn namespace(fd: RawFd) -> Option<u32> {
    // SAFETY: the call takes no argument and changes nothing.
    let number = unsafe { libc::ioctl(fd, NAMESPACE_NUMBER) };
    u32::try_from(number).ok().filter(|number| *number > 0)
}
