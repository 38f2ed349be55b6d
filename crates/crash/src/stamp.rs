//! What is written: every 512 bytes say which file they are for, where they lie in it, and which write made them. So what is found
//! after a crash tells old from new, and both from what belongs elsewhere.

use iodyno_simulation::random::{GOLDEN, mix};

/// Bytes that one stamp covers: no device tears less.
pub const UNIT: u64 = 512;
const MAGIC: [u8; 8] = *b"iodynoCC";
const HEADER: usize = 32;

/// The identity of a written unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BlockStamp {
    /// The file's number in the workload, from 1.
    pub file: u32,
    /// The number of the write, from 1.
    pub generation: u32,
    /// Where in the file it was written, bytes, a multiple of [`UNIT`].
    pub offset: u64,
}

impl BlockStamp {
    /// The unit's bytes.
    pub fn bytes(self) -> [u8; UNIT as usize] {
        let mut unit = [0; UNIT as usize];
        unit[..8].copy_from_slice(&MAGIC);
        unit[8..12].copy_from_slice(&self.file.to_le_bytes());
        unit[12..16].copy_from_slice(&self.generation.to_le_bytes());
        unit[16..24].copy_from_slice(&self.offset.to_le_bytes());
        let mut state = (u64::from(self.file) << 48) ^ (u64::from(self.generation) << 24) ^ self.offset;
        for word in unit[HEADER..].chunks_exact_mut(8) {
            word.copy_from_slice(&split_mix(&mut state).to_le_bytes());
        }
        let sum = crc32c::crc32c(&unit);
        unit[24..28].copy_from_slice(&sum.to_le_bytes());
        unit
    }

    /// Whose unit this is; `None` where its header or its checksum does not hold.
    pub fn read(unit: &[u8]) -> Option<BlockStamp> {
        let unit: &[u8; UNIT as usize] = unit.try_into().ok()?;
        let number = |at: usize| u32::from_le_bytes([unit[at], unit[at + 1], unit[at + 2], unit[at + 3]]);
        let offset = u64::from(number(16)) | u64::from(number(20)) << 32;
        let stamp = BlockStamp { file: number(8), generation: number(12), offset };
        (unit[..8] == MAGIC && stamp.bytes() == *unit).then_some(stamp)
    }
}

/// The next of a fixed sequence of numbers: the same on every machine and in every version.
pub fn split_mix(state: &mut u64) -> u64 {
    *state = state.wrapping_add(GOLDEN);
    mix(*state)
}

/// Where a byte of a file comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ByteOrigin {
    Zero,
    /// A write; a byte at `position` was written at `position + shift` (ranges are collapsed, inserted and cloned).
    Write {
        file: u32,
        generation: u32,
        shift: i64,
    },
}

impl ByteOrigin {
    /// The bytes from this position on.
    pub fn fill(self, position: u64, bytes: &mut [u8]) {
        let ByteOrigin::Write { file, generation, shift } = self else {
            bytes.fill(0);
            return;
        };
        let mut written = position.wrapping_add_signed(shift);
        let mut rest = bytes;
        while !rest.is_empty() {
            let within = (written % UNIT) as usize;
            let unit = BlockStamp { file, generation, offset: written - within as u64 }.bytes();
            let (here, later) = rest.split_at_mut(rest.len().min(unit.len() - within));
            here.copy_from_slice(&unit[within..within + here.len()]);
            written += here.len() as u64;
            rest = later;
        }
    }

    /// The same origin for bytes that now lie `by` further down (negative: further up).
    pub fn shifted(self, by: i64) -> ByteOrigin {
        match self {
            ByteOrigin::Zero => ByteOrigin::Zero,
            ByteOrigin::Write { file, generation, shift } => {
                ByteOrigin::Write { file, generation, shift: shift + by }
            }
        }
    }
}
