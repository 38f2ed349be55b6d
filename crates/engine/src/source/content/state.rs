//! How far a worker's writes came, in a small file that another run (or fio) reads before it verifies.
//!
//! ```text
//!    0  version 3        8  bytes of what follows 24       16  CRC-32C of it, not inverted (all of 8 bytes)
//!   24  completions told   32  depth, 4 bytes   36  files, 4 bytes   40  writes begun   48  number of the worker
//!   56  56 bytes of a random generator's state, zeros here          112  the job's name, 64 bytes
//!  176  for each completion told, the latest first: number of the file, byte offset     (all little endian)
//! ```
//! Found by looking at files that fio wrote, and read back by `fio-verify-state`. Refuses files whose checksum is
//! wrong.

use crate::failure::Failure;
use crate::payload::crc32c_plain;

const VERSION: u64 = 3;
const HEAD_BYTES: usize = 24;
const BODY_BYTES: usize = 152;
const NAME_AT: usize = 112;
const NAME_BYTES: usize = 64;

/// What a state file says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct State {
    /// The depth that was kept.
    pub depth: u32,
    /// How many files there are.
    pub files: u32,
    /// Writes begun.
    pub begun: u64,
    /// The worker's number.
    pub index: u64,
    /// The job's name.
    pub name: String,
    /// The last completed writes, the latest first: number of the file and byte offset.
    pub completed: Vec<(u64, u64)>,
}

impl State {
    /// The file's bytes.
    pub fn encode(&self) -> Vec<u8> {
        let mut body = Vec::with_capacity(BODY_BYTES + self.completed.len() * 16);
        body.extend((self.completed.len() as u64).to_le_bytes());
        body.extend(self.depth.to_le_bytes());
        body.extend(self.files.to_le_bytes());
        body.extend(self.begun.to_le_bytes());
        body.extend(self.index.to_le_bytes());
        body.resize(NAME_AT - HEAD_BYTES, 0);
        body.extend(&self.name.as_bytes()[..self.name.len().min(NAME_BYTES - 1)]);
        body.resize(BODY_BYTES, 0);
        for (file, offset) in &self.completed {
            body.extend(file.to_le_bytes());
            body.extend(offset.to_le_bytes());
        }
        let mut whole = Vec::with_capacity(HEAD_BYTES + body.len());
        whole.extend(VERSION.to_le_bytes());
        whole.extend((body.len() as u64).to_le_bytes());
        whole.extend(u64::from(crc32c_plain(&body)).to_le_bytes());
        whole.extend(body);
        whole
    }

    /// What a file's bytes say.
    ///
    /// # Errors
    /// What is wrong with them.
    pub fn decode(bytes: &[u8]) -> Result<Self, Failure> {
        let wrong = |what: &str| Failure::new(format!("verify state: {what}"));
        let word = |at: usize| {
            let field = bytes.get(at..at + 8).and_then(|field| field.first_chunk());
            field.map(|field| u64::from_le_bytes(*field)).ok_or_else(|| wrong("the file is too short"))
        };
        if word(0)? != VERSION {
            return Err(wrong(&format!("version {}, expected {VERSION}", word(0)?)));
        }
        let body = bytes.get(HEAD_BYTES..).filter(|body| body.len() as u64 == word(8).unwrap_or(0));
        let body = body.filter(|body| body.len() >= BODY_BYTES);
        let body = body.ok_or_else(|| wrong("the file is too short"))?;
        if word(16)? != u64::from(crc32c_plain(body)) {
            return Err(wrong("its checksum is wrong"));
        }
        let told = word(24)?.min(((body.len() - BODY_BYTES) / 16) as u64) as usize;
        let name = &bytes[NAME_AT..NAME_AT + NAME_BYTES];
        let name = name.split(|byte| *byte == 0).next().unwrap_or_default();
        let at = |index: usize| HEAD_BYTES + BODY_BYTES + index * 16;
        Ok(State {
            depth: word(32)? as u32,
            files: (word(32)? >> 32) as u32,
            begun: word(40)?,
            index: word(48)?,
            name: String::from_utf8_lossy(name).into_owned(),
            completed: (0..told)
                .map(|index| Ok((word(at(index))?, word(at(index) + 8)?)))
                .collect::<Result<_, _>>()?,
        })
    }

    /// Whether the n-th (from 0) write, of this file and offset, was done for certain: what is further than the depth
    /// from the end, and of the rest what is told.
    pub fn was_done(&self, index: u64, file: u64, offset: u64) -> bool {
        let certain = self.begun.saturating_sub(u64::from(self.depth));
        index < certain || (index < self.begun && self.completed.contains(&(file, offset)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_comes_back_as_it_was() {
        let state = State {
            depth: 4,
            files: 1,
            begun: 8,
            index: 2,
            name: "q".into(),
            completed: vec![(0, 0x2000), (0, 0x1000)],
        };
        let mut bytes = state.encode();
        assert_eq!(bytes.len(), 24 + 152 + 32);
        assert_eq!(State::decode(&bytes), Ok(state.clone()));
        assert!(state.was_done(3, 0, 7) && state.was_done(6, 0, 0x1000) && !state.was_done(6, 0, 0x5000));
        bytes[40] ^= 1;
        assert!(State::decode(&bytes).unwrap_err().message.contains("checksum"));
        assert!(State::decode(&bytes[..30]).is_err());
    }
}
