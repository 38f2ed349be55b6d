//! The ring's entry of a read or write, written in one go.
//!
//! The crate's builders make the same, but by several copies of the whole entry for each operation, which were
//! eleven instructions more. Everything that is not a read or write still goes through the builders.

use io_uring::opcode;
use io_uring::squeue::Entry;

/// The operations that read: plain, into a registered buffer, by a vector.
pub(super) const READS: [u8; 3] = [opcode::Read::CODE, opcode::ReadFixed::CODE, opcode::Readv::CODE];
/// The operations that write, in the same order.
pub(super) const WRITES: [u8; 3] = [opcode::Write::CODE, opcode::WriteFixed::CODE, opcode::Writev::CODE];

/// The kernel's `struct io_uring_sqe` as reads and writes use it.
#[derive(Default)]
#[repr(C)]
pub(super) struct Transfer {
    pub(super) operation: u8,
    pub(super) flags: u8,
    pub(super) priority: u16,
    pub(super) file: i32,
    pub(super) offset: u64,
    pub(super) address: u64,
    pub(super) length: u32,
    pub(super) modes: u32,
    pub(super) user_data: u64,
    pub(super) buffer: u16,
    pub(super) personality: u16,
    pub(super) other_file: u32,
    pub(super) rest: [u64; 2],
}

impl Transfer {
    #[inline(always)]
    pub(super) fn entry(self) -> Entry {
        // SAFETY: an `Entry` is the kernel's structure and nothing else (`repr(C)`; the sizes are compared here), which
        // consists of integers only.
        unsafe { std::mem::transmute::<Transfer, Entry>(self) }
    }
}

#[cfg(test)]
mod tests {
    use io_uring::squeue::Flags;
    use io_uring::types::{Fd, Fixed};

    use super::*;

    fn bytes(entry: Entry) -> [u8; 64] {
        // SAFETY: the entry consists of integers only.
        unsafe { std::mem::transmute::<Entry, [u8; 64]>(entry) }
    }

    fn ours(operation: u8, flags: Flags, length: u32) -> Transfer {
        let flags = flags.bits();
        let (offset, address) = (1 << 40 | 77, 0x7000_1234_5678);
        Transfer { operation, flags, file: 9, offset, address, length, user_data: 31, ..Transfer::default() }
    }

    #[test]
    fn entries_are_those_of_the_builders() {
        let (offset, address) = (1 << 40 | 77, 0x7000_1234_5678usize as *mut u8);
        let read = opcode::Read::new(Fd(9), address, 4096).offset(offset).build().flags(Flags::ASYNC);
        assert_eq!(bytes(ours(READS[0], Flags::ASYNC, 4096).entry()), bytes(read.user_data(31)));

        let fixed = Transfer { buffer: 5, ..ours(WRITES[1], Flags::FIXED_FILE, 512) };
        let write = opcode::WriteFixed::new(Fixed(9), address, 512, 5).offset(offset).build();
        assert_eq!(bytes(fixed.entry()), bytes(write.user_data(31)));

        let readv = opcode::Readv::new(Fd(9), address.cast(), 1).offset(offset).build();
        assert_eq!(bytes(ours(READS[2], Flags::empty(), 1).entry()), bytes(readv.user_data(31)));
    }
}
