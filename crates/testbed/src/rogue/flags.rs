//! The flags of chattr: immutable and append-only.
//!
//! The kernel keeps them for no FUSE file system, so it is all done here, for root too.

use super::fault::Fault;
use super::tree::{Tree, Try};

// From the kernel's <linux/fs.h>.
const GET_FLAGS: u32 = 0x8008_6601;
const SET_FLAGS: u32 = 0x4008_6602;
const GET_ATTRIBUTES: u32 = 0x801C_581F;
const SET_ATTRIBUTES: u32 = 0x401C_5820;
const IMMUTABLE: u32 = 0x10;
const APPEND: u32 = 0x20;
/// The same in the other encoding, `fsx_xflags`.
const IMMUTABLE_X: u32 = 0x08;
const APPEND_X: u32 = 0x10;
/// `struct fsxattr`.
const ATTRIBUTES_BYTES: usize = 28;

impl Tree {
    fn has_flag(&self, number: u64, flag: u32) -> bool {
        let ignored = match flag {
            IMMUTABLE => Fault::ImmutableIgnored,
            _ => Fault::AppendOnlyIgnored,
        };
        !self.breaks(ignored) && self.node(number).is_ok_and(|node| node.flags & flag != 0)
    }

    /// Nothing about it may change.
    pub fn is_immutable(&self, number: u64) -> bool {
        self.has_flag(number, IMMUTABLE)
    }

    /// It may grow at its end and change in no other way.
    pub fn is_append_only(&self, number: u64) -> bool {
        self.has_flag(number, APPEND)
    }

    /// Whether its attributes may change and its names go.
    pub fn is_free(&self, number: u64) -> Try<()> {
        let bound = self.is_immutable(number) || self.is_append_only(number);
        if bound { Err(libc::EPERM) } else { Ok(()) }
    }

    /// Whether it may be opened so: for writing at its end only, or not at all.
    pub fn may_write(&self, number: u64, flags: i32) -> Try<()> {
        let writes = flags & libc::O_ACCMODE != libc::O_RDONLY;
        let in_place = writes && flags & libc::O_APPEND == 0;
        let refused = writes && self.is_immutable(number) || in_place && self.is_append_only(number);
        if refused { Err(libc::EPERM) } else { Ok(()) }
    }

    /// The requests that read and set flags; what is read.
    pub fn flag_request(&mut self, number: u64, request: u32, data: &[u8]) -> Try<Vec<u8>> {
        let flags = self.node(number)?.flags;
        let word = data.first_chunk::<4>().map(|bytes| u32::from_ne_bytes(*bytes));
        match request {
            GET_FLAGS => Ok(flags.to_ne_bytes().to_vec()),
            GET_ATTRIBUTES => {
                let mut bytes = vec![0; ATTRIBUTES_BYTES];
                bytes[..4].copy_from_slice(&extended(flags).to_ne_bytes());
                Ok(bytes)
            }
            SET_FLAGS => self.set_flags(number, word.ok_or(libc::EINVAL)?),
            SET_ATTRIBUTES => self.set_flags(number, plain(word.ok_or(libc::EINVAL)?)),
            _ => Err(libc::ENOTTY),
        }
    }

    fn set_flags(&mut self, number: u64, flags: u32) -> Try<Vec<u8>> {
        if flags & !(IMMUTABLE | APPEND) != 0 {
            return Err(libc::EOPNOTSUPP);
        }
        self.node_mut(number)?.flags = flags;
        self.mark(number);
        Ok(Vec::new())
    }
}

fn extended(flags: u32) -> u32 {
    let one = |from: u32, to: u32| if flags & from != 0 { to } else { 0 };
    one(IMMUTABLE, IMMUTABLE_X) | one(APPEND, APPEND_X)
}

fn plain(extended: u32) -> u32 {
    let one = |from: u32, to: u32| if extended & from != 0 { to } else { 0 };
    one(IMMUTABLE_X, IMMUTABLE) | one(APPEND_X, APPEND)
}
