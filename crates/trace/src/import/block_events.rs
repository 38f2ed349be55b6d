//! Events of the kernel's block tracer, whether they were read from binary records or from text.

use super::context::ImportContext;
use crate::TraceError;

pub const SECTOR: u64 = 512;

/// One event.
#[derive(Clone, Copy, Debug)]
pub struct BlockEvent {
    /// [`super::order::sortable`].
    pub at_ns: u64,
    /// Major and minor number.
    pub device: (u32, u32),
    pub sector: u64,
    pub bytes: u64,
    pub step: BlockStep,
    pub traits: BlockTraits,
    pub process: u32,
    /// Of a completion: 0 or the negative error.
    pub error: i32,
    /// Of a split: where the second part begins.
    pub split_sector: u64,
}

/// What happened to a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockStep {
    Queue,
    BackMerge,
    FrontMerge,
    Issue,
    Requeue,
    Split,
    Complete,
    /// What needs no look: plugging, remapping, allocation.
    Other,
}

impl BlockStep {
    /// By the number in binary records (`__BLK_TA_*`).
    pub fn numbered(number: u32) -> BlockStep {
        match number {
            1 => BlockStep::Queue,
            2 => BlockStep::BackMerge,
            3 => BlockStep::FrontMerge,
            6 => BlockStep::Requeue,
            7 => BlockStep::Issue,
            8 => BlockStep::Complete,
            13 => BlockStep::Split,
            _ => BlockStep::Other,
        }
    }

    /// By the letter in text.
    pub fn lettered(word: &[u8]) -> BlockStep {
        match word {
            b"Q" => BlockStep::Queue,
            b"M" => BlockStep::BackMerge,
            b"F" => BlockStep::FrontMerge,
            b"R" => BlockStep::Requeue,
            b"D" => BlockStep::Issue,
            b"C" => BlockStep::Complete,
            b"X" => BlockStep::Split,
            _ => BlockStep::Other,
        }
    }
}

/// Properties of a request, a bit each, as the kernel numbers them (`BLK_TC_*`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BlockTraits(pub u32);

impl BlockTraits {
    pub const READ: u32 = 1;
    pub const WRITE: u32 = 1 << 1;
    pub const FLUSH: u32 = 1 << 2;
    pub const SYNC: u32 = 1 << 3;
    /// A command that passes the file systems by.
    pub const PASSTHROUGH: u32 = 1 << 9;
    pub const NOTIFY: u32 = 1 << 10;
    pub const READAHEAD: u32 = 1 << 11;
    pub const META: u32 = 1 << 12;
    pub const DISCARD: u32 = 1 << 13;
    pub const FUA: u32 = 1 << 15;
    /// Resets and other management of zones (version 8).
    pub const ZONES: u32 = 0x7f << 17;

    pub const fn has(self, bit: u32) -> bool {
        self.0 & bit != 0
    }

    /// By the letters of text: `FWFSM` is a flush, then a durable write, that someone waits for, of metadata.
    pub fn lettered(word: &[u8]) -> Option<BlockTraits> {
        let mut bits = 0;
        let mut has_direction = false;
        for (at, letter) in word.iter().enumerate() {
            bits |= match letter {
                b'R' => BlockTraits::READ,
                b'W' => BlockTraits::WRITE,
                b'D' => BlockTraits::WRITE | BlockTraits::DISCARD,
                b'N' => 0,
                b'F' if has_direction => BlockTraits::FUA,
                b'F' => BlockTraits::FLUSH,
                // A secure discard.
                b'E' if at > 0 && word[at - 1] == b'D' => 0,
                b'A' => BlockTraits::READAHEAD,
                b'S' => BlockTraits::SYNC,
                b'M' => BlockTraits::META,
                b'B' | b'U' => 0,
                _ => return None,
            };
            has_direction |= b"RWDN".contains(letter);
        }
        (has_direction || bits == BlockTraits::FLUSH).then_some(BlockTraits(bits))
    }
}

/// Which events become records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockPoint {
    /// When a request entered the block layer (Q).
    Queue,
    /// The same, of those too that were merged into another one: what programs asked for, request by request.
    EachQueue,
    /// When it went to the driver (D).
    Issue,
    /// When it ended (C).
    Complete,
}

impl BlockPoint {
    /// By its letter.
    pub fn lettered(letter: &str) -> Option<BlockPoint> {
        match letter {
            "Q" | "q" => Some(BlockPoint::Queue),
            "D" | "d" => Some(BlockPoint::Issue),
            "C" | "c" => Some(BlockPoint::Complete),
            _ => None,
        }
    }

    pub const fn letter(self) -> char {
        match self {
            BlockPoint::Queue | BlockPoint::EachQueue => 'Q',
            BlockPoint::Issue => 'D',
            BlockPoint::Complete => 'C',
        }
    }

    pub const fn step(self) -> BlockStep {
        match self {
            BlockPoint::Queue | BlockPoint::EachQueue => BlockStep::Queue,
            BlockPoint::Issue => BlockStep::Issue,
            BlockPoint::Complete => BlockStep::Complete,
        }
    }
}

/// Reads the events of one input.
pub trait EventReader {
    /// Appends some events; whether there may be more.
    ///
    /// # Errors
    /// What makes the rest unreadable.
    fn read(&mut self, context: &mut ImportContext, events: &mut Vec<BlockEvent>)
    -> Result<bool, TraceError>;
}
