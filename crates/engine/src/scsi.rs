//! SCSI commands by `SG_IO`: what an engine sends its reads and writes with, and a witness its questions.

use std::os::fd::RawFd;

use crate::memory::errno;

/// scsi/sg.h.
const SG_IO: libc::Ioctl = 0x2285;
/// Where data goes: scsi/sg.h, `SG_DXFER_*`.
pub const NO_DATA: i32 = -1;
pub const TO_DEVICE: i32 = -2;
pub const FROM_DEVICE: i32 = -3;
/// A command's time, ms.
const TIME_OUT_MS: u32 = 20_000;
/// scsi/sg.h, `struct sg_io_hdr`.
#[repr(C)]
struct Header {
    interface: i32,
    direction: i32,
    command_bytes: u8,
    sense_room: u8,
    vectors: u16,
    data_bytes: u32,
    data: *mut libc::c_void,
    command: *const u8,
    sense: *mut u8,
    time_out_ms: u32,
    flags: u32,
    id: i32,
    user: *mut libc::c_void,
    status: u8,
    masked_status: u8,
    message_status: u8,
    sense_bytes: u8,
    host_status: u16,
    driver_status: u16,
    left_bytes: i32,
    took_ms: u32,
    info: u32,
}

/// One command; 0, or `-errno`. `data` is valid for `bytes`, for writing where they come from the device.
pub fn perform(fd: RawFd, command: &[u8], direction: i32, data: *mut libc::c_void, bytes: u32) -> i64 {
    let mut sense = [0u8; 32];
    // SAFETY: the structure consists of numbers and pointers, for which zero is a value.
    let mut header: Header = unsafe { std::mem::zeroed() };
    header.interface = i32::from(b'S');
    header.direction = direction;
    (header.command, header.command_bytes) = (command.as_ptr(), command.len() as u8);
    (header.data, header.data_bytes) = (data, bytes);
    (header.sense, header.sense_room) = (sense.as_mut_ptr(), sense.len() as u8);
    header.time_out_ms = TIME_OUT_MS;
    // SAFETY: command, data and sense are valid for the call, and as long as said.
    if unsafe { libc::ioctl(fd, SG_IO, &raw mut header) } < 0 {
        return -i64::from(errno());
    }
    let failed = header.status != 0 || header.host_status != 0 || header.driver_status & 0x0f != 0;
    if failed { -i64::from(libc::EIO) } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_header_is_the_kernels() {
        let expected = if cfg!(target_pointer_width = "64") { 88 } else { 64 };
        assert_eq!(size_of::<Header>(), expected);
    }
}
