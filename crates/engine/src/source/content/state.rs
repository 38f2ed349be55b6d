//! How far a worker's writes came, in a small file that another run (or fio) reads before it verifies.
//!
//! ```text
//!   version 3 (fio up to 3.40)                   version 5 (3.41 and later)
//!    0  version     8  bytes of what follows 24       16  CRC-32C of it, not inverted (all of 8 bytes)
//!   24  completions reported                     24  depth
//!   32  depth, 4 bytes     36  files, 4 bytes    32  writes begun
//!   40  writes begun                             40  number of the worker
//!   48  number of the worker                     48  (no more than this moves)
//!   56  a random generator's state of 56 bytes, zeros here, then the job's name, 64 bytes; then
//!  176  for each completion reported, the latest 168  for each of `depth` places the number of a write in flight,
//!       first: number of the file, byte offset       all ones where there is none     (all little endian)
//! ```
//! Found by looking at files that fio wrote, and read back by `fio-verify-state`. Refuses files whose checksum is
//! wrong.

use iodyno_model::VerifyLayout;

use crate::failure::Failure;
use crate::payload::crc32c_plain;

const HEAD_BYTES: usize = 24;
const RANDOM_BYTES: usize = 56;
const NAME_BYTES: usize = 64;
/// A place in which no write is in flight.
const NONE: u64 = u64::MAX;

/// What a state file says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct State {
    /// The depth that was kept.
    pub depth: u32,
    /// How many files there are; version 5 does not say.
    pub files: u32,
    /// Writes begun.
    pub begun: u64,
    /// The worker's number.
    pub index: u64,
    /// The job's name.
    pub name: String,
    /// What became of the last writes.
    pub last: Last,
}

/// What a state file holds about the last writes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Last {
    /// Those that completed, the latest first: number of the file and byte offset.
    Completed(Vec<(u64, u64)>),
    /// The numbers of those that did not.
    InFlight(Vec<u64>),
}

impl Default for Last {
    fn default() -> Self {
        Last::InFlight(Vec::new())
    }
}

impl State {
    /// The file's bytes.
    pub fn encode(&self) -> Vec<u8> {
        let mut body = Vec::new();
        let version: u64 = match &self.last {
            Last::Completed(completed) => {
                body.extend((completed.len() as u64).to_le_bytes());
                body.extend(self.depth.to_le_bytes());
                body.extend(self.files.to_le_bytes());
                3
            }
            Last::InFlight(_) => {
                body.extend(u64::from(self.depth).to_le_bytes());
                5
            }
        };
        body.extend(self.begun.to_le_bytes());
        body.extend(self.index.to_le_bytes());
        body.resize(body.len() + RANDOM_BYTES, 0);
        let named = body.len() + NAME_BYTES;
        body.extend(&self.name.as_bytes()[..self.name.len().min(NAME_BYTES - 1)]);
        body.resize(named, 0);
        match &self.last {
            Last::Completed(completed) => {
                body.extend(
                    completed.iter().flat_map(|(file, offset)| [*file, *offset]).flat_map(u64::to_le_bytes),
                );
            }
            Last::InFlight(numbers) => {
                let places = numbers.iter().copied().chain(std::iter::repeat(NONE)).take(self.depth as usize);
                body.extend(places.flat_map(u64::to_le_bytes));
            }
        }
        let mut whole = Vec::with_capacity(HEAD_BYTES + body.len());
        whole.extend(version.to_le_bytes());
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
        let layout = match word(bytes, 0)? {
            3 => VerifyLayout::Unversioned,
            5 => VerifyLayout::Versioned,
            version => {
                let wrong = format!("verify state: version {version} is not known, only 3 and 5 are");
                let hint = "verify with the fio that wrote it, or leave out verify_state_load";
                return Err(Failure::new(wrong).hint(hint));
            }
        };
        let body = bytes.get(HEAD_BYTES..).filter(|body| word(bytes, 8) == Ok(body.len() as u64));
        let body = body.ok_or_else(|| wrong("the file is too short"))?;
        if word(bytes, 16)? != u64::from(crc32c_plain(body)) {
            return Err(wrong("its checksum is wrong"));
        }
        let (first, counts_at) = (word(body, 0)?, if layout == VerifyLayout::Versioned { 8 } else { 16 });
        let name_at = counts_at + 16 + RANDOM_BYTES;
        let name = body.get(name_at..name_at + NAME_BYTES).ok_or_else(|| wrong("the file is too short"))?;
        let (words, _) = body[name_at + NAME_BYTES..].as_chunks::<8>();
        let words: Vec<u64> = words.iter().map(|word| u64::from_le_bytes(*word)).collect();
        let reported = usize::try_from(first).unwrap_or(usize::MAX);
        let (depth, files, last) = match layout {
            VerifyLayout::Unversioned => {
                let both = word(body, 8)?;
                let (pairs, _) = words.as_chunks::<2>();
                let completed = pairs.iter().take(reported).map(|[file, offset]| (*file, *offset)).collect();
                (both as u32, (both >> 32) as u32, Last::Completed(completed))
            }
            VerifyLayout::Versioned => {
                let depth = first as u32;
                let numbers = words.into_iter().take(depth as usize).filter(|number| *number != NONE);
                (depth, 0, Last::InFlight(numbers.collect()))
            }
        };
        let name = name.split(|byte| *byte == 0).next().unwrap_or_default();
        Ok(State {
            depth,
            files,
            begun: word(body, counts_at)?,
            index: word(body, counts_at + 8)?,
            name: String::from_utf8_lossy(name).into_owned(),
            last,
        })
    }

    /// Whether the n-th (from 0) write, of this file and offset, was done for certain. Of completions reported: what is
    /// further than the depth from the end, and of the rest what is reported.
    pub fn was_done(&self, index: u64, file: u64, offset: u64) -> bool {
        index < self.begun
            && match &self.last {
                Last::Completed(completed) => {
                    index < self.begun.saturating_sub(u64::from(self.depth))
                        || completed.contains(&(file, offset))
                }
                Last::InFlight(numbers) => !numbers.contains(&index),
            }
    }
}

fn wrong(what: &str) -> Failure {
    Failure::new(format!("verify state: {what}"))
}

fn word(bytes: &[u8], at: usize) -> Result<u64, Failure> {
    let field = bytes.get(at..at + 8).and_then(|field| field.first_chunk());
    field.map(|field| u64::from_le_bytes(*field)).ok_or_else(|| wrong("the file is too short"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(last: Last) -> State {
        let files = u32::from(matches!(last, Last::Completed(_)));
        State { depth: 4, files, begun: 8, index: 2, name: "q".into(), last }
    }

    #[test]
    fn a_state_comes_back_as_it_was() {
        let state = state(Last::Completed(vec![(0, 0x2000), (0, 0x1000)]));
        let mut bytes = state.encode();
        assert_eq!(bytes.len(), 24 + 152 + 32);
        assert_eq!(State::decode(&bytes), Ok(state.clone()));
        assert!(state.was_done(3, 0, 7) && state.was_done(6, 0, 0x1000) && !state.was_done(6, 0, 0x5000));
        bytes[40] ^= 1;
        assert!(State::decode(&bytes).unwrap_err().message.contains("checksum"));
        assert!(State::decode(&bytes[..30]).is_err());
    }

    #[test]
    fn what_is_in_flight_comes_back_and_was_not_done() {
        let state = state(Last::InFlight(vec![5, 7]));
        let bytes = state.encode();
        assert_eq!(
            (bytes.len(), &bytes[..16]),
            (24 + 144 + 4 * 8, &[5, 0, 0, 0, 0, 0, 0, 0, 176, 0, 0, 0, 0, 0, 0, 0][..])
        );
        assert_eq!(bytes[24 + 144 + 16..], [0xff; 16]);
        assert_eq!(State::decode(&bytes), Ok(state.clone()));
        let done: Vec<u64> = (0..10).filter(|index| state.was_done(*index, 0, 0)).collect();
        assert_eq!(done, [0, 1, 2, 3, 4, 6]);
    }

    #[test]
    fn an_unknown_version_says_what_to_do() {
        let mut bytes = state(Last::default()).encode();
        bytes[0] = 4;
        let wrong = State::decode(&bytes).unwrap_err();
        assert_eq!(wrong.message, "verify state: version 4 is not known, only 3 and 5 are");
        assert!(wrong.hint.is_some());
    }
}
