//! The generations of the blocks that a run wrote, in a file that a later run checks against, on any host.
//!
//! ```text
//!   a section for each file of each worker, appended when the worker ends (all little endian):
//!    0  "iodymap\0"            8  version, 4 bytes        12  bytes of the name, 4 bytes
//!   16  xxh3-64 of all that follows in this section      24  start of the phase, ns
//!   32  job seed              40  file (hash of name)     48  byte offset of the first block
//!   56  bytes of a block      64  blocks                  72  blocks that may be older
//!   80  id of the run         88  number of the worker
//!   96  the target's name, then a word of 4 bytes for each block: one more than its generation, 0 where nothing is
//!       known; bit 31: a write began here. Then for each block that may be older its index and one more than the
//!       oldest generation that may be there, 8 bytes each.
//! ```
//! Refuses what is damaged, of another version, or was written by a job with another seed or block.

use std::fs::File;
use std::io::{Read, Write};

use xxhash_rust::xxh3::xxh3_64;

use super::live_map::LiveMap;
use crate::failure::Failure;

const MAGIC: &[u8; 8] = b"iodymap\0";
const VERSION: u32 = 1;
const HEAD_BYTES: usize = 96;
/// Where that begins which the checksum covers.
const SUMMED_AT: usize = 24;
/// A write began at this block.
const BEGINS: u32 = 1 << 31;

/// What is known of one block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MapBlock {
    /// One more than the newest generation that may be there; 0: nothing is known.
    pub newest: u32,
    /// One more than the oldest one: less than `newest` where a write had not completed, or several workers wrote.
    pub oldest: u32,
    /// Whether a write began here.
    pub begins: bool,
}

impl MapBlock {
    /// What two workers that wrote at the same time know together: whose write came last is not known.
    fn or(self, other: MapBlock) -> MapBlock {
        match (self.newest, other.newest) {
            (_, 0) => self,
            (0, _) => other,
            _ => MapBlock {
                newest: self.newest.max(other.newest),
                oldest: self.oldest.min(other.oldest),
                begins: self.begins || other.begins,
            },
        }
    }
}

/// What one worker wrote in one file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MapSection {
    /// When the phase began, ns: of two phases the later one counts.
    pub start: u64,
    pub seed: u64,
    /// See [`BlockAddress::file_id`](crate::payload::BlockAddress::file_id).
    pub file: u64,
    /// Byte offset of the first block.
    pub offset: u64,
    /// Bytes of a block.
    pub grain: u64,
    pub run: u64,
    pub worker: u64,
    /// The target's name.
    pub name: String,
    pub blocks: Vec<MapBlock>,
}

impl MapSection {
    pub(super) fn encode(&self) -> Vec<u8> {
        let known = |block: &&MapBlock| block.newest != 0;
        let unsure: Vec<(usize, u32)> = self
            .blocks
            .iter()
            .enumerate()
            .filter(|(_, block)| known(block) && block.oldest < block.newest)
            .map(|(index, block)| (index, block.oldest))
            .collect();
        let mut bytes = Vec::with_capacity(HEAD_BYTES + self.name.len() + self.blocks.len() * 4);
        bytes.extend(MAGIC);
        bytes.extend(VERSION.to_le_bytes());
        bytes.extend((self.name.len() as u32).to_le_bytes());
        let counts = [self.blocks.len() as u64, unsure.len() as u64];
        let places = [0, self.start, self.seed, self.file, self.offset, self.grain];
        let words = places.into_iter().chain(counts).chain([self.run, self.worker]);
        bytes.extend(words.flat_map(u64::to_le_bytes));
        bytes.extend(self.name.as_bytes());
        let word = |block: &MapBlock| block.newest & !BEGINS | if block.begins { BEGINS } else { 0 };
        bytes.extend(self.blocks.iter().flat_map(|block| word(block).to_le_bytes()));
        bytes.extend(unsure.iter().flat_map(|(index, oldest)| {
            [*index as u64, u64::from(*oldest)].into_iter().flat_map(u64::to_le_bytes)
        }));
        let sum = xxh3_64(&bytes[SUMMED_AT..]);
        bytes[16..SUMMED_AT].copy_from_slice(&sum.to_le_bytes());
        bytes
    }

    /// Whether a job with this seed can check it, in blocks of `grain` bytes from `base` on.
    fn fits(&self, name: &str, seed: u64, (base, grain): (u64, u64)) -> Result<(), Failure> {
        if self.seed != seed {
            let what = format!("`{name}` was written with seed {}, this job has seed {seed}", self.seed);
            return Err(Failure::new(what).hint(format!("give the job seed = {}", self.seed)));
        }
        if self.grain != grain || !self.offset.abs_diff(base).is_multiple_of(grain) {
            let what = format!(
                "`{name}` was written in blocks of {} bytes from byte {} on, this job reads blocks of {grain} from byte {base} on",
                self.grain, self.offset
            );
            return Err(Failure::new(what).hint(format!("give the job block = {}", self.grain)));
        }
        Ok(())
    }

    /// The section at the start of the bytes, and how long it is; otherwise what is wrong.
    pub(super) fn decode(bytes: &[u8]) -> Result<(MapSection, usize), MapFault> {
        let head = bytes.get(..HEAD_BYTES);
        if bytes.get(..MAGIC.len()) != Some(MAGIC) {
            return Err(MapFault::Foreign);
        }
        let head = head.ok_or(MapFault::CutOff)?;
        let word = |at: usize| u64::from_le_bytes(std::array::from_fn(|index| head[at + index]));
        let (version, name_bytes) = (word(8) as u32, (word(8) >> 32) as usize);
        if version != VERSION {
            return Err(MapFault::Version(version));
        }
        let (count, unsure) = (word(64), word(72));
        let end = (|| {
            let words = count.checked_mul(4)?.checked_add(unsure.checked_mul(16)?)?;
            usize::try_from(words).ok()?.checked_add(HEAD_BYTES)?.checked_add(name_bytes)
        })();
        let end = end.filter(|end| *end <= bytes.len()).ok_or(MapFault::CutOff)?;
        if xxh3_64(&bytes[SUMMED_AT..end]) != word(16) {
            return Err(MapFault::Checksum);
        }
        let (name, rest) = bytes[HEAD_BYTES..end].split_at(name_bytes);
        let (blocks, unsure) = rest.split_at(count as usize * 4);
        let block = |word: &[u8; 4]| {
            let word = u32::from_le_bytes(*word);
            let newest = word & !BEGINS;
            MapBlock { newest, oldest: newest, begins: word & BEGINS != 0 }
        };
        let mut section = MapSection {
            start: word(24),
            seed: word(32),
            file: word(40),
            offset: word(48),
            grain: word(56).max(1),
            run: word(80),
            worker: word(88),
            name: String::from_utf8_lossy(name).into_owned(),
            blocks: blocks.as_chunks::<4>().0.iter().map(block).collect(),
        };
        for [index, oldest] in unsure.as_chunks::<8>().0.as_chunks::<2>().0 {
            let index = usize::try_from(u64::from_le_bytes(*index)).unwrap_or(usize::MAX);
            if let Some(block) = section.blocks.get_mut(index) {
                block.oldest = u64::from_le_bytes(*oldest) as u32;
            }
        }
        Ok((section, end))
    }

    /// Appends it to a file; others may do so at the same time.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn append(&self, path: &str) -> Result<(), Failure> {
        let write = || {
            let mut file = File::options().append(true).create(true).open(path)?;
            file.lock()?;
            file.write_all(&self.encode())?;
            file.sync_all()
        };
        write().map_err(|error: std::io::Error| {
            Failure::new(format!("generation map {path}: {error}"))
                .hint("verify.map names a file in a directory that can be written")
        })
    }
}

/// What is wrong with a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MapFault {
    Foreign,
    Version(u32),
    CutOff,
    Checksum,
}

impl MapFault {
    fn failure(self, path: &str, at: usize) -> Failure {
        let again = "copy it again from the host that wrote it; without verify.map, blocks are checked but an older \
                     generation is taken for good";
        let damaged =
            |how: &str| Failure::new(format!("{path}: the generation map is damaged: {how}")).hint(again);
        match self {
            MapFault::Foreign if at == 0 => Failure::new(format!("{path}: this is no generation map"))
                .hint("name the file that a run with verify.map wrote"),
            MapFault::Foreign => damaged(&format!("no section begins at byte {at}")),
            MapFault::Version(version) => {
                Failure::new(format!("{path}: generation map of version {version}, only {VERSION} is known"))
                    .hint("verify with the iodyno that wrote it")
            }
            MapFault::CutOff => damaged(&format!("the section at byte {at} is cut off")),
            MapFault::Checksum => damaged(&format!("the checksum of the section at byte {at} is wrong")),
        }
    }
}

/// All sections of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GenerationMap {
    path: String,
    sections: Vec<MapSection>,
    /// Whether it is partly in files of workers that never came to their end.
    has_left: bool,
}

impl GenerationMap {
    /// Reads a file.
    ///
    /// # Errors
    /// It cannot be read, or is not a whole map.
    pub fn read(path: &str) -> Result<Self, Failure> {
        // Whoever appends a section has the file to itself meanwhile.
        let read = || -> std::io::Result<Vec<u8>> {
            let mut file = File::open(path)?;
            file.lock_shared()?;
            let mut bytes = Vec::new();
            file.read_to_end(&mut bytes)?;
            Ok(bytes)
        };
        let left = LiveMap::left(path)?;
        let bytes = match read() {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound && !left.is_empty() => Vec::new(),
            read => read.map_err(|error| {
                Failure::new(format!("generation map {path}: {error}"))
                    .hint("run the writes first, with the same verify.map")
            })?,
        };
        let mut map = match bytes.is_empty() && !left.is_empty() {
            true => GenerationMap { path: path.into(), ..GenerationMap::default() },
            false => GenerationMap::decode(path, &bytes)?,
        };
        map.has_left = !left.is_empty();
        map.sections.extend(left.into_iter().map(|(_, section)| section));
        map.sections.sort_by_key(|section| section.start);
        Ok(map)
    }

    /// Puts what killed workers left into the map's own file.
    ///
    /// # Errors
    /// It cannot be written, or their files cannot be removed.
    pub fn take_over(&mut self) -> Result<(), Failure> {
        if std::mem::take(&mut self.has_left) {
            for (live, section) in LiveMap::left(&self.path)? {
                section.append(&self.path)?;
                live.remove()?;
            }
            LiveMap::remove_unfinished(&self.path);
        }
        Ok(())
    }

    fn decode(path: &str, bytes: &[u8]) -> Result<Self, Failure> {
        let (mut sections, mut at) = (Vec::new(), 0);
        while at < bytes.len() || sections.is_empty() {
            let (section, length) =
                MapSection::decode(&bytes[at..]).map_err(|fault| fault.failure(path, at))?;
            sections.push(section);
            at += length;
        }
        sections.sort_by_key(|section| section.start);
        Ok(GenerationMap { path: path.into(), sections, has_left: false })
    }

    /// What is known of a range of a file: a block for each `grain` bytes from `base` on. Where `whole` writes are
    /// checked, those that may have left only a part are not known.
    ///
    /// # Errors
    /// Nothing is known of the file, or it was written with another seed or block.
    pub fn blocks(
        &self,
        name: &str,
        (file, seed): (u64, u64),
        (base, count, grain): (u64, u64, u64),
        whole: bool,
    ) -> Result<Vec<MapBlock>, Failure> {
        let mut blocks = vec![MapBlock::default(); count as usize];
        // By block, the start of the phase that wrote it last.
        let mut phases = vec![None; count as usize];
        let (mut overlaid, mut several) = (false, false);
        for section in self.of_file(name, file)? {
            section.fits(name, seed, (base, grain)).map_err(|failure| self.refused(failure))?;
            for (index, known) in section.blocks.iter().enumerate().filter(|(_, known)| known.newest > 0) {
                let offset = section.offset + index as u64 * grain;
                let at = offset.checked_sub(base).and_then(|from| usize::try_from(from / grain).ok());
                let Some(at) = at.filter(|at| *at < blocks.len()) else { continue };
                let together = phases[at] == Some(section.start);
                overlaid |= phases[at].is_some();
                several |= !known.begins && known.oldest > 0;
                blocks[at] = if together { blocks[at].or(*known) } else { *known };
                phases[at] = Some(section.start);
            }
        }
        if whole && overlaid && several {
            let what = format!(
                "`{name}` was written over by several workers or phases, in writes of several blocks"
            );
            let hint = "use writes of one size, or the stamp `block`, which stands in every sector";
            return Err(self.refused(Failure::new(what).hint(hint)));
        }
        if whole {
            forget_doubtful_writes(&mut blocks);
        }
        Ok(blocks)
    }

    /// Whether anything is known of a file.
    pub fn has(&self, file: u64) -> bool {
        self.sections.iter().any(|section| section.file == file)
    }

    /// Where the last block of a file ends of which something is known, bytes.
    pub fn end_of(&self, file: u64) -> u64 {
        let ends = self.sections.iter().filter(|section| section.file == file).map(|section| {
            let last = section.blocks.iter().rposition(|block| block.oldest > 0);
            last.map_or(0, |last| section.offset + (last as u64 + 1) * section.grain)
        });
        ends.max().unwrap_or(0)
    }

    fn of_file(&self, name: &str, file: u64) -> Result<Vec<&MapSection>, Failure> {
        let sections: Vec<&MapSection> =
            self.sections.iter().filter(|section| section.file == file).collect();
        if !sections.is_empty() {
            return Ok(sections);
        }
        let mut names: Vec<String> =
            self.sections.iter().map(|section| format!("`{}`", section.name)).collect();
        names.sort();
        names.dedup();
        let what = format!("the generation map has no blocks of `{name}`, only of {}", names.join(", "));
        Err(self.refused(Failure::new(what).hint("give the target the name that it had when it was written")))
    }

    fn refused(&self, failure: Failure) -> Failure {
        Failure { message: format!("{}: {}", self.path, failure.message), ..failure }
    }
}

/// Of a write of several blocks that may be there in part, or not at all, nothing is known.
fn forget_doubtful_writes(blocks: &mut [MapBlock]) {
    let mut from = 0;
    while from < blocks.len() {
        let goes_on = |block: &&MapBlock| block.newest > 0 && !block.begins;
        let end = from + 1 + blocks[from + 1..].iter().take_while(goes_on).count();
        let unit = &mut blocks[from..end];
        if unit.len() > 1 && unit.iter().any(|block| block.oldest != block.newest) {
            unit.iter_mut().for_each(|block| block.oldest = 0);
        }
        from = end;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAME: &str = "data";

    fn block(oldest: u32, newest: u32) -> MapBlock {
        MapBlock { newest, oldest, begins: true }
    }

    fn section(start: u64, worker: u64, offset: u64, blocks: Vec<MapBlock>) -> MapSection {
        MapSection { start, seed: 5, file: 9, offset, grain: 4096, run: 1, worker, name: NAME.into(), blocks }
    }

    fn map(sections: &[MapSection]) -> Result<GenerationMap, Failure> {
        let bytes: Vec<u8> = sections.iter().flat_map(MapSection::encode).collect();
        GenerationMap::decode("m", &bytes)
    }

    fn known(map: &GenerationMap) -> Vec<(u32, u32)> {
        let blocks = map.blocks(NAME, (9, 5), (0, 4, 4096), false).unwrap();
        blocks.iter().map(|block| (block.oldest, block.newest)).collect()
    }

    #[test]
    fn regions_of_workers_lie_side_by_side() {
        let first = section(7, 0, 0, vec![block(3, 3), block(2, 3)]);
        let second = section(7, 1, 8192, vec![block(1, 1)]);
        assert_eq!(known(&map(&[second, first]).unwrap()), [(3, 3), (2, 3), (1, 1), (0, 0)]);
    }

    #[test]
    fn of_workers_that_share_blocks_either_may_have_been_last() {
        let one = section(7, 0, 0, vec![block(3, 3), block(2, 2), block(0, 4)]);
        let other = section(7, 1, 0, vec![block(1, 1), MapBlock::default(), block(2, 2)]);
        assert_eq!(known(&map(&[one, other]).unwrap()), [(1, 3), (2, 2), (0, 4), (0, 0)]);
    }

    #[test]
    fn a_later_phase_counts_alone() {
        let earlier = section(7, 0, 0, vec![block(3, 3), block(3, 3)]);
        let later = section(8, 0, 4096, vec![block(1, 2)]);
        assert_eq!(known(&map(&[later, earlier]).unwrap()), [(3, 3), (1, 2), (0, 0), (0, 0)]);
    }

    #[test]
    fn a_long_write_that_may_be_there_in_part_is_not_known() {
        let goes_on = MapBlock { begins: false, ..block(2, 2) };
        let torn = MapBlock { begins: false, ..block(1, 2) };
        let map = map(&[section(7, 0, 0, vec![block(2, 2), goes_on, block(1, 1), torn])]).unwrap();
        let oldest = |whole| -> Vec<u32> {
            let blocks = map.blocks(NAME, (9, 5), (0, 4, 4096), whole).unwrap();
            blocks.iter().map(|block| block.oldest).collect()
        };
        assert_eq!(oldest(true), [2, 2, 0, 0]);
        assert_eq!(oldest(false), [2, 2, 1, 1]);
    }

    #[test]
    fn what_is_damaged_or_foreign_is_refused_with_its_place() {
        let one = section(7, 0, 0, vec![block(1, 3)]).encode();
        let both = [one.clone(), one.clone()].concat();
        let said = |bytes: &[u8]| GenerationMap::decode("m", bytes).unwrap_err().message;
        for at in SUMMED_AT..one.len() {
            let mut bytes = one.clone();
            bytes[at] ^= 4;
            let said = said(&bytes);
            assert!(
                said.contains("checksum of the section at byte 0") || said.contains("cut off"),
                "{at}: {said}"
            );
        }
        let cut = said(&both[..both.len() - 1]);
        assert_eq!(
            cut,
            format!("m: the generation map is damaged: the section at byte {} is cut off", one.len())
        );
        assert_eq!(said(b"[global]"), "m: this is no generation map");
        assert_eq!(said(b""), "m: this is no generation map");
        let mut newer = one.clone();
        newer[8] = 2;
        assert_eq!(said(&newer), "m: generation map of version 2, only 1 is known");
        let trailing = said(&[&one[..], b"x"].concat());
        assert!(trailing.ends_with(&format!("no section begins at byte {}", one.len())), "{trailing}");
    }

    #[test]
    fn another_target_seed_or_block_is_refused_with_a_hint() {
        let map = map(&[section(7, 0, 0, vec![block(1, 1)])]).unwrap();
        let said = |file, seed, base, grain| {
            let failure = map.blocks("other", (file, seed), (base, 4, grain), false).unwrap_err();
            (failure.message, failure.hint.unwrap_or_default())
        };
        assert_eq!(said(8, 5, 0, 4096).0, "m: the generation map has no blocks of `other`, only of `data`");
        assert_eq!(said(9, 6, 0, 4096).1, "give the job seed = 5");
        assert_eq!(said(9, 5, 0, 8192).1, "give the job block = 4096");
        assert!(said(9, 5, 512, 4096).0.contains("from byte 0 on"));
    }
}
