//! `sg`: SCSI commands by `SG_IO`, to a generic (`/dev/sgN`), bsg or SCSI block device, past the block layer's queue.
//!
//! Reads, writes and syncs, one command at a time. A path that is no such device is refused when the worker starts,
//! as is an offset or length that is no multiple of the device's block.

use std::os::fd::RawFd;

use iodyno_model::{Diagnostic, EngineTrait, Job, Verb, VerbSet};

use super::{
    EngineFacts, Failure, Setup, SyncEngine, check_switches, check_values, setting, spec, switched_on,
};
use crate::call;
use crate::io::{AT_END, Files, Io};
use crate::scsi::{FROM_DEVICE, NO_DATA, TO_DEVICE, perform};

/// scsi/sg.h.
const GET_VERSION: libc::Ioctl = 0x2282;
/// Operation codes of the 10-byte and 16-byte forms.
const READ: [u8; 2] = [0x28, 0x88];
const WRITE: [u8; 2] = [0x2a, 0x8a];
const WRITE_AND_VERIFY: [u8; 2] = [0x2e, 0x8e];
const VERIFY: [u8; 2] = [0x2f, 0x8f];
const WRITE_SAME: [u8; 2] = [0x41, 0x93];
const SYNC: u8 = 0x35;
const CAPACITY: [u8; 2] = [0x25, 0x9e];
/// Force unit access.
const FUA: u8 = 0x08;

/// SCSI commands.
pub struct Sg {
    block_bytes: u64,
    write: [u8; 2],
    /// What a write moves is this many bytes, where the command repeats it.
    same: bool,
    read_flag: u8,
    write_flag: u8,
}

impl SyncEngine for Sg {
    const FACTS: EngineFacts = EngineFacts {
        about: "SCSI commands by SG_IO, to generic and SCSI devices",
        verbs: VerbSet::of(&[Verb::Read, Verb::Write, Verb::Fsync, Verb::Fdatasync]),
        settings: &[
            spec("read_fua", "reads bypass the device's cache (default off)"),
            spec("write_fua", "writes bypass the device's cache (default off)"),
            spec(
                "write_mode",
                "write, write_and_verify, verify or write_same: the command of a write (default write)",
            ),
        ],
        reads_to_write: true,
        writes_to_read: true,
        is_slow: true,
        check: Self::check,
        traits: &[EngineTrait::PassesBlockLayer],
        ..EngineFacts::named("sg")
    };

    fn start(setup: &Setup<'_>) -> Result<Self, Failure> {
        let mut block_bytes = 0;
        for (index, handle) in setup.files.handles.iter().enumerate() {
            let name = setup.target(index).map_or("", |target| target.name.as_str());
            block_bytes = device_block(handle.fd).ok_or_else(|| {
                Failure::new(format!("{name}: no SCSI generic, bsg or SCSI block device"))
                    .hint("name /dev/sgN or a SCSI disk, or use psync, libaio or io_uring")
            })?;
        }
        let write = match setting(setup.job, "write_mode") {
            Some("write_and_verify") => WRITE_AND_VERIFY,
            Some("verify") => VERIFY,
            Some("write_same") => WRITE_SAME,
            _ => WRITE,
        };
        let flag = |name| if switched_on(setup.job, name) { FUA } else { 0 };
        Ok(Sg {
            block_bytes: block_bytes.max(1),
            write,
            same: write == WRITE_SAME,
            read_flag: flag("read_fua"),
            // Only plain writes know the flag; in the others the bit means something else.
            write_flag: if write == WRITE { flag("write_fua") } else { 0 },
        })
    }

    fn perform(&mut self, io: &Io, files: &mut Files) -> i64 {
        let fd = files.fd(io.file);
        match io.verb {
            Verb::Read | Verb::Write if io.offset < AT_END => self.transfer(io, fd),
            Verb::Fsync | Verb::Fdatasync => {
                perform(fd, &[SYNC, 0, 0, 0, 0, 0, 0, 0, 0, 0], NO_DATA, std::ptr::null_mut(), 0)
            }
            _ => call::perform(io, files),
        }
    }
}

impl Sg {
    fn check(job: &Job) -> Vec<Diagnostic> {
        let mut wrong = check_switches(job, &["read_fua", "write_fua"]);
        let known = |value: &str| matches!(value, "write" | "write_and_verify" | "verify" | "write_same");
        wrong.extend(check_values(
            job,
            &["write_mode"],
            known,
            "say write, write_and_verify, verify or write_same",
        ));
        wrong
    }

    fn transfer(&self, io: &Io, fd: RawFd) -> i64 {
        if !io.offset.is_multiple_of(self.block_bytes) || !io.bytes.is_multiple_of(self.block_bytes) {
            return -i64::from(libc::EINVAL);
        }
        let (first, count) = (io.offset / self.block_bytes, io.bytes / self.block_bytes);
        let Ok(count) = u32::try_from(count) else { return -i64::from(libc::EINVAL) };
        let (codes, flag, direction) = match io.verb {
            Verb::Read => (READ, self.read_flag, FROM_DEVICE),
            _ if self.write == VERIFY => (VERIFY, 0, NO_DATA),
            _ => (self.write, self.write_flag, TO_DEVICE),
        };
        let moved = match direction {
            NO_DATA => 0,
            // The device repeats one block over the range.
            TO_DEVICE if self.same => self.block_bytes,
            _ => io.bytes,
        };
        let (command, length) = command(codes, flag, first, count);
        match perform(fd, &command[..length], direction, io.buffer.cast(), moved as u32) {
            0 => io.bytes as i64,
            failed => failed,
        }
    }
}

/// The bytes of a command on a range: the short form where it reaches, the long one where not.
fn command(codes: [u8; 2], flag: u8, first: u64, count: u32) -> ([u8; 16], usize) {
    let mut bytes = [0; 16];
    bytes[1] = flag;
    match (u32::try_from(first), u16::try_from(count)) {
        (Ok(first), Ok(count)) => {
            bytes[0] = codes[0];
            bytes[2..6].copy_from_slice(&first.to_be_bytes());
            bytes[7..9].copy_from_slice(&count.to_be_bytes());
            (bytes, 10)
        }
        _ => {
            bytes[0] = codes[1];
            bytes[2..10].copy_from_slice(&first.to_be_bytes());
            bytes[10..14].copy_from_slice(&count.to_be_bytes());
            (bytes, 16)
        }
    }
}

/// The device's block in bytes; `None`: it takes no SCSI commands.
fn device_block(fd: RawFd) -> Option<u64> {
    let mut version = 0i32;
    // SAFETY: the request writes one number.
    if unsafe { libc::ioctl(fd, GET_VERSION, &raw mut version) } < 0 || version < 30_000 {
        return None;
    }
    let mut answer = [0u8; 32];
    let short = [CAPACITY[0], 0, 0, 0, 0, 0, 0, 0, 0, 0];
    if perform(fd, &short, FROM_DEVICE, answer.as_mut_ptr().cast(), 8) != 0 {
        return None;
    }
    let word = |at: usize| u32::from_be_bytes([answer[at], answer[at + 1], answer[at + 2], answer[at + 3]]);
    Some(u64::from(word(4))).filter(|bytes| *bytes > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_short_where_they_reach() {
        let (bytes, length) = command(READ, FUA, 0x0102_0304, 0x0506);
        assert_eq!(bytes[..length], [0x28, 8, 1, 2, 3, 4, 0, 5, 6, 0]);
        let (bytes, length) = command(WRITE, 0, 1 << 32, 1);
        assert_eq!(bytes[..length], [0x8a, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0]);
        assert_eq!(command(READ, 0, 0, 65536).1, 16);
    }

    #[test]
    fn a_file_is_no_device() {
        use std::os::fd::AsRawFd;
        let file = tempfile::tempfile().unwrap();
        assert_eq!(device_block(file.as_raw_fd()), None);
    }
}
