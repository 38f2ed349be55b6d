//! Fills buffers: incompressible, cheap, and reproducible from the place alone.
//!
//! Random content is a window of a fixed pool of random bytes, XORed with a 64-bit key; window and key are hashed from
//! seed, file, sector and generation. A sector costs one hash and sixteen vector operations, yet no two sectors share a
//! word at a known place, so neither long-window compression nor deduplication finds anything. It is no cipher, and
//! refuses to pretend so: an adversary who knows the pool sees through it.

use std::sync::{Arc, OnceLock};

use iodyno_model::{
    Content, Dedupe, Diagnostic, Origin, Payload, Refresh, Stamp as StampKind, Template, Verify,
};

use super::stamp::Stamp;
use super::{BlockAddress, SECTOR_BYTES, Sector, pieces, template};
use crate::random::{GOLDEN, Random, mix};

/// A cache line of the pool: windows begin at one, so that vector loads never cross two.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct CacheLine([u64; 8]);

const LINES_OF_SECTOR: usize = SECTOR_BYTES / 64;
/// 256 KiB: shared by all workers of a process, and small enough for a second-level cache.
const POOL_LINES: usize = 4096;
const WINDOWS: u64 = (POOL_LINES - LINES_OF_SECTOR + 1) as u64;
/// Different blocks among those that repeat: few, so that any sample of a file has the share asked for.
const REPEATED_BLOCKS: u64 = 16;
/// Blocks repeat in units of at least this: file systems and arrays deduplicate nothing smaller.
const UNIT_BYTES_LEAST: u64 = 4096;

/// Words of a half sector that scrambling may change: all but the stamp's.
const SLOTS: u64 = 28;
/// Sectors of the largest unit whose slots are kept; the units of larger blocks draw them anew.
const SLOTS_KEPT_MOST: u64 = 1 << 14;

/// The random lines that all content is made of; the same in every process of every machine.
fn pool() -> &'static [CacheLine] {
    static POOL: OnceLock<Box<[CacheLine]>> = OnceLock::new();
    POOL.get_or_init(|| {
        let mut random = Random::from_seed(0x10d7_0000, 0);
        (0..POOL_LINES).map(|_| CacheLine(std::array::from_fn(|_| random.next()))).collect()
    })
}

/// Makes the content of one job's buffers. Shares its pool with all others; making one is cheap.
#[derive(Clone)]
pub struct Filler {
    pool: &'static [CacheLine],
    seed: u64,
    content: Content,
    once: bool,
    stamped: bool,
    /// The block, at least a page: what repeats as a whole.
    unit_bytes: u64,
    /// For scrambled content, the word of each of a unit's sectors that changes. Drawing it for every write would take
    /// longer than writing it. Empty for units above [`SLOTS_KEPT_MOST`].
    slots: Arc<[u8]>,
    /// Units whose hash is below this repeat one of few.
    repeats_below: u64,
    dedupe_percent: u8,
    dedupe: Dedupe,
    /// Of blocks that repeat in several ways, those whose hash is below the first repeat one of a few, and those below the
    /// second one of the file's own.
    kinds: Option<(u64, u64)>,
    /// How many different blocks there are among those that repeat.
    originals: u64,
    chunk_bytes: u64,
    /// The rest of each chunk is zeros.
    random_bytes: u64,
}

impl Filler {
    /// A filler for `payload`. `block_bytes` is the job's block (the largest, if sizes vary): the unit that repeats, and
    /// the chunk that compresses where the payload names none.
    ///
    /// # Errors
    /// What cannot be filled as asked: shares above 100 %, an empty pattern, stamps in blocks that repeat, …
    pub fn new(payload: &Payload, seed: u64, block_bytes: usize) -> Result<Self, Diagnostic> {
        let stamped = stamped(payload, block_bytes)?;
        if payload.compress_percent > 100 || payload.dedupe_percent > 100 {
            return Err(refused("payload: a share above 100 percent", "use 0 to 100"));
        }
        let block_bytes = (block_bytes as u64).max(1);
        let chunk_bytes =
            if payload.compress_chunk_bytes > 0 { payload.compress_chunk_bytes } else { block_bytes };
        let random_percent = 100 - u128::from(payload.compress_percent);
        let unit_bytes = unit_bytes(payload, block_bytes)?;
        let content = content(payload)?;
        Ok(Filler {
            pool: pool(),
            seed,
            slots: slots(&content, seed, unit_bytes),
            content,
            once: payload.refresh == Refresh::Once,
            stamped,
            unit_bytes,
            repeats_below: below(f64::from(payload.dedupe_percent)),
            dedupe_percent: payload.dedupe_percent,
            dedupe: payload.dedupe,
            kinds: match payload.dedupe {
                Dedupe::Mixed { few_percent, own_percent } => {
                    Some((below(few_percent), below(few_percent + own_percent)))
                }
                _ => None,
            },
            originals: REPEATED_BLOCKS,
            chunk_bytes,
            random_bytes: (u128::from(chunk_bytes) * random_percent).div_ceil(100) as u64,
        })
    }

    /// The same for a worker whose span has so many bytes: how large its working set of repeating blocks is.
    pub fn over(self, span_bytes: u64) -> Self {
        let Dedupe::WorkingSet { percent, .. } = self.dedupe else { return self };
        let blocks = span_bytes as f64 / self.unit_bytes as f64;
        let share = percent.clamp(0.0, 100.0);
        // The first copy of each original is no repetition, so there are so many more of them.
        let repeating = if self.dedupe_percent == 0 { 0.0 } else { f64::from(self.dedupe_percent) + share };
        Filler {
            originals: ((blocks * share / 100.0) as u64).max(1),
            repeats_below: below(repeating.min(100.0)),
            ..self
        }
    }

    /// Fills the whole buffer for a write to `place`. Allocates nothing.
    #[inline]
    pub fn fill(&self, buffer: &mut [u8], place: BlockAddress) {
        if !self.stamped {
            return self.write_content(buffer, place);
        }
        if place.offset.is_multiple_of(SECTOR_BYTES as u64) && buffer.len().is_multiple_of(SECTOR_BYTES) {
            self.write_content(buffer, place);
            return self.seal(buffer, place);
        }
        for piece in pieces(place.offset, buffer.len()) {
            self.fill_piece(&mut buffer[piece.clone()], place.at(place.offset + piece.start as u64));
        }
    }

    /// Prepares a buffer for its next write, touching only what must change. The buffer must be as this filler left it,
    /// for a place with the same offset within the block. This is what makes scrambled and once-filled buffers cheap.
    #[inline]
    pub fn refresh(&self, buffer: &mut [u8], place: BlockAddress) {
        let aligned =
            place.offset.is_multiple_of(SECTOR_BYTES as u64) && buffer.len().is_multiple_of(SECTOR_BYTES);
        match self.content {
            _ if !aligned => self.fill(buffer, place),
            Content::Zero | Content::Carried => {}
            _ if self.once => {}
            Content::Scrambled => self.alter(buffer, place),
            _ => return self.fill(buffer, place),
        }
        if self.stamped && aligned {
            self.seal(buffer, place);
        }
    }

    /// Whether [`Self::refresh`] changes a few words of what [`Self::fill`] writes throughout.
    pub fn changes_little(&self) -> bool {
        self.content == Content::Scrambled && !self.once
    }

    /// How far into its block an offset lies, bytes.
    pub fn within_unit(&self, offset: u64) -> u64 {
        offset % self.unit_bytes
    }

    /// The sector at `place`, whole, as it would be on the disk.
    pub(super) fn sector(&self, place: BlockAddress) -> Sector {
        let mut sector = [0; SECTOR_BYTES];
        self.write_content(&mut sector, place);
        if self.stamped {
            self.seal(&mut sector, place);
        }
        sector
    }

    pub(super) fn is_stamped(&self) -> bool {
        self.stamped
    }

    pub(super) fn stamp(&self, place: BlockAddress) -> Stamp {
        Stamp::of(self.seed, place)
    }

    /// A part of one sector: its stamp's checksum needs the whole.
    #[cold]
    fn fill_piece(&self, buffer: &mut [u8], place: BlockAddress) {
        let within = (place.offset % SECTOR_BYTES as u64) as usize;
        let sector = self.sector(place.at(place.offset - within as u64));
        buffer.copy_from_slice(&sector[within..within + buffer.len()]);
    }

    #[inline]
    fn seal(&self, buffer: &mut [u8], place: BlockAddress) {
        let mut stamp = self.stamp(place);
        for sector in buffer.as_chunks_mut::<SECTOR_BYTES>().0 {
            stamp.seal(sector);
            stamp.address += SECTOR_BYTES as u64;
        }
    }

    #[inline]
    fn write_content(&self, buffer: &mut [u8], place: BlockAddress) {
        let scrambled = self.content == Content::Scrambled;
        // A pattern of the write begins where the write does, wherever that is.
        let of_the_write = matches!(self.content, Content::Repeated(_));
        if of_the_write || (!scrambled && !self.once) {
            return self.write_payload(buffer, place);
        }
        self.for_each_unit(buffer, place, |part, at| {
            let within = BlockAddress { file: 0, offset: at.offset % self.unit_bytes, generation: 0 };
            self.write_payload(part, within);
        });
        if scrambled && !self.once {
            self.alter(buffer, place);
        }
    }

    #[inline]
    fn write_payload(&self, buffer: &mut [u8], place: BlockAddress) {
        match &self.content {
            Content::Random if self.random_bytes == self.chunk_bytes => self.write_units(buffer, place),
            Content::Random => self.write_chunks(buffer, place),
            Content::Zero => buffer.fill(0),
            Content::Pattern(pattern) => write_pattern(buffer, pattern, place.offset),
            Content::Repeated(template) => self.write_repeated(buffer, template, place),
            // Made by others: see `marks`.
            Content::Carried | Content::Marked(_) => {}
            Content::Scrambled => self.write_sectors(buffer, place.offset, self.key(place)),
        }
    }

    #[inline]
    fn for_each_unit(
        &self,
        mut buffer: &mut [u8],
        mut place: BlockAddress,
        mut write: impl FnMut(&mut [u8], BlockAddress),
    ) {
        while !buffer.is_empty() {
            let left = self.unit_bytes - place.offset % self.unit_bytes;
            let (part, rest) = buffer.split_at_mut((buffer.len() as u64).min(left) as usize);
            write(part, place);
            place.offset += part.len() as u64;
            buffer = rest;
        }
    }

    /// Of each chunk the first part random, the rest zeros.
    fn write_chunks(&self, mut buffer: &mut [u8], mut place: BlockAddress) {
        while !buffer.is_empty() {
            let within = place.offset % self.chunk_bytes;
            let (end, random) = match within < self.random_bytes {
                true => (self.random_bytes, true),
                false => (self.chunk_bytes, false),
            };
            let bytes = (buffer.len() as u64).min(end - within);
            let (part, rest) = buffer.split_at_mut(bytes as usize);
            match random {
                true => self.write_units(part, place),
                false => part.fill(0),
            }
            buffer = rest;
            place.offset += bytes;
        }
    }

    /// The pattern throughout; with a share that compresses, random bytes before it in each chunk of the write.
    fn write_repeated(&self, buffer: &mut [u8], pattern: &Template, place: BlockAddress) {
        template::write(buffer, pattern, place.offset, 0);
        if self.random_bytes == self.chunk_bytes {
            return;
        }
        let mut start = 0;
        while start < buffer.len() {
            let end = buffer.len().min(start + self.random_bytes as usize);
            self.write_units(&mut buffer[start..end], place.at(place.offset + start as u64));
            start += self.chunk_bytes as usize;
        }
    }

    /// Random bytes; where blocks repeat, one unit after the other.
    #[inline]
    fn write_units(&self, buffer: &mut [u8], place: BlockAddress) {
        if self.repeats_below == 0 {
            return self.write_sectors(buffer, place.offset, self.key(place));
        }
        self.for_each_unit(buffer, place, |part, at| {
            let within = at.offset % self.unit_bytes;
            // Whether a block repeats does not depend on its generation: rewriting keeps the share.
            let unit = (at.offset - within).wrapping_mul(GOLDEN);
            let file = if self.kinds.is_some() { 0 } else { at.file };
            let hash = mix(mix(file ^ self.seed).wrapping_add(unit));
            let content = if hash < self.repeats_below { self.original(at, within, mix(hash)) } else { at };
            self.write_sectors(part, content.offset, self.key(content));
        });
    }

    /// The block that a place repeats: one of a few, or the one that all files have there.
    fn original(&self, at: BlockAddress, within: u64, draw: u64) -> BlockAddress {
        let few = |file| BlockAddress { file, offset: within, generation: draw % self.originals };
        let is_own = match (self.dedupe, self.kinds) {
            (Dedupe::Mixed { .. }, Some((few_below, own_below))) => match mix(draw) {
                kind if kind < few_below => false,
                kind if kind < own_below => true,
                _ => return BlockAddress { file: !0, offset: at.offset, generation: u64::MAX },
            },
            (dedupe, _) => matches!(dedupe, Dedupe::Own | Dedupe::WorkingSet { shared: false, .. }),
        };
        few(if is_own { !at.file } else { !0 })
    }

    /// What distinguishes this file and generation from all others.
    #[inline]
    fn key(&self, place: BlockAddress) -> u64 {
        mix(mix(self.seed.wrapping_add(GOLDEN) ^ mix(place.file))
            .wrapping_add(place.generation.wrapping_mul(GOLDEN)))
    }

    /// Random bytes of any range: whole sectors straight into the buffer, both ends by way of a whole one.
    #[inline]
    fn write_sectors(&self, buffer: &mut [u8], offset: u64, key: u64) {
        let ahead = (offset.wrapping_neg() % SECTOR_BYTES as u64) as usize;
        let first = offset.div_ceil(SECTOR_BYTES as u64);
        if ahead > 0 {
            let within = SECTOR_BYTES - ahead;
            let bytes = ahead.min(buffer.len());
            self.write_part(&mut buffer[..bytes], within, first - 1, key);
        }
        let Some(rest) = buffer.get_mut(ahead..) else { return };
        let (whole, tail) = rest.as_chunks_mut::<SECTOR_BYTES>();
        write_whole(whole, self.pool, key, first);
        if !tail.is_empty() {
            self.write_part(tail, 0, first + whole.len() as u64, key);
        }
    }

    fn write_part(&self, part: &mut [u8], within: usize, number: u64, key: u64) {
        let mut sector = [[0; SECTOR_BYTES]];
        write_whole(&mut sector, self.pool, key, number);
        part.copy_from_slice(&sector[0][within..within + part.len()]);
    }

    /// Changes two words of each sector, at places that depend on the sector's place in its block alone, so that the
    /// next change overwrites them.
    fn alter(&self, buffer: &mut [u8], place: BlockAddress) {
        let key = self.key(place);
        let first = place.offset / SECTOR_BYTES as u64;
        if let (0, (sectors, [])) =
            (place.offset % SECTOR_BYTES as u64, buffer.as_chunks_mut::<SECTOR_BYTES>())
            && !self.slots.is_empty()
        {
            return self.alter_whole(sectors, first, key);
        }
        for piece in pieces(place.offset, buffer.len()) {
            let address = place.offset + piece.start as u64;
            let within = (address % SECTOR_BYTES as u64) as usize;
            let part = &mut buffer[piece];
            if let Ok(sector) = <&mut Sector>::try_from(&mut *part) {
                self.alter_sector(sector, address, key);
                continue;
            }
            let mut sector = [0; SECTOR_BYTES];
            sector[within..within + part.len()].copy_from_slice(part);
            self.alter_sector(&mut sector, address - within as u64, key);
            part.copy_from_slice(&sector[within..within + part.len()]);
        }
    }

    /// Whole sectors from sector `number` on. Counts on where [`Self::alter_sector`] divides and hashes: this is all that
    /// a scrambled write costs.
    fn alter_whole(&self, sectors: &mut [Sector], number: u64, key: u64) {
        let mut state = key.wrapping_add(number.wrapping_mul(GOLDEN));
        let mut slots = self.slots[(number % self.slots.len() as u64) as usize..].iter();
        for sector in sectors {
            let slot = slots.next().unwrap_or_else(|| {
                slots = self.slots.iter();
                slots.next().expect("a unit has a sector")
            });
            write_words(sector, *slot, mix(state));
            state = state.wrapping_add(GOLDEN);
        }
    }

    fn alter_sector(&self, sector: &mut Sector, address: u64, key: u64) {
        let number = address / SECTOR_BYTES as u64;
        let word = mix(key.wrapping_add(number.wrapping_mul(GOLDEN)));
        write_words(sector, slot(self.seed, address % self.unit_bytes), word);
    }
}

/// The word of each half sector that scrambling changes, for the sector so many bytes into its unit: below [`SLOTS`].
fn slot(seed: u64, within: u64) -> u8 {
    (mix(seed ^ within) % SLOTS) as u8
}

/// The slots of a unit's sectors, where scrambling needs them.
fn slots(content: &Content, seed: u64, unit_bytes: u64) -> Arc<[u8]> {
    let sectors = unit_bytes / SECTOR_BYTES as u64;
    match content {
        Content::Scrambled if sectors <= SLOTS_KEPT_MOST => {
            (0..sectors).map(|sector| slot(seed, sector * SECTOR_BYTES as u64)).collect()
        }
        _ => Arc::new([]),
    }
}

/// Past the stamp, one word in each half of the sector.
#[inline]
fn write_words(sector: &mut Sector, slot: u8, word: u64) {
    let words = sector.as_chunks_mut::<8>().0;
    // Always below already; said again, it spares two checks of bounds a sector.
    let slot = usize::from(slot).min(SLOTS as usize - 1);
    words[4 + slot] = word.to_le_bytes();
    words[32 + slot] = (!word).to_le_bytes();
}

/// The unit that repeats, in bytes: a multiple of a sector.
fn unit_bytes(payload: &Payload, block_bytes: u64) -> Result<u64, Diagnostic> {
    match payload.dedupe_chunk_bytes {
        0 => Ok(block_bytes.max(UNIT_BYTES_LEAST).next_multiple_of(SECTOR_BYTES as u64)),
        chunk if chunk.is_multiple_of(SECTOR_BYTES as u64) => Ok(chunk),
        chunk => Err(refused(
            format!("payload: blocks of {chunk} bytes that repeat"),
            "say a multiple of 512 bytes",
        )),
    }
}

/// Hashes below this are so many percent of all.
fn below(percent: f64) -> u64 {
    (percent / 100.0 * u64::MAX as f64) as u64
}

fn refused(message: impl Into<String>, hint: impl Into<String>) -> Diagnostic {
    Diagnostic::error(&Origin::Default, message).hint(hint)
}

/// The content that is really made: scrambling has no share that compresses, so a payload with one is plain random.
fn content(payload: &Payload) -> Result<Content, Diagnostic> {
    match &payload.content {
        Content::Repeated(pattern) if !template::is_sound(pattern) => {
            Err(refused("payload: an empty pattern", "name at least one byte, or use zero"))
        }
        Content::Pattern(pattern) if pattern.is_empty() => {
            Err(refused("payload: an empty pattern", "name at least one byte, or use zero"))
        }
        Content::Scrambled if payload.compress_percent > 0 || payload.dedupe_percent > 0 => {
            Ok(Content::Random)
        }
        other => Ok(other.clone()),
    }
}

/// Whether sectors carry our stamp; refuses combinations that could only raise false alarms.
fn stamped(payload: &Payload, block_bytes: usize) -> Result<bool, Diagnostic> {
    let Some(Verify { stamp, interval_bytes, .. }) = &payload.verify else { return Ok(false) };
    if payload.content == Content::Carried {
        return Err(refused(
            "verify: bytes carried from another step cannot be checked",
            "give the payload a content of its own",
        ));
    }
    match stamp {
        // Made and checked by others: see `header`.
        StampKind::Header(_) | StampKind::Pattern(_) | StampKind::Nothing => Ok(false),
        StampKind::Content | StampKind::Block if matches!(payload.content, Content::Repeated(_)) => {
            Err(refused(
                "verify: a pattern that begins anew in each write cannot be found again",
                "use the stamp `pattern`",
            ))
        }
        StampKind::Content => Ok(false),
        StampKind::Block if payload.dedupe_percent > 0 => Err(refused(
            "verify: stamped blocks cannot repeat, each names its own place",
            "with dedupe_percent use the stamp `content`",
        )),
        StampKind::Block if !block_bytes.is_multiple_of(SECTOR_BYTES) => Err(refused(
            format!("verify: blocks of {block_bytes} bytes cannot carry a stamp in every 512-byte sector"),
            "use a multiple of 512 bytes, or the stamp `content`",
        )),
        StampKind::Block if *interval_bytes != 0 && *interval_bytes != SECTOR_BYTES as u64 => Err(refused(
            format!(
                "verify: the stamp `block` lies in every 512-byte sector, not every {interval_bytes} bytes"
            ),
            "leave interval_bytes out",
        )),
        StampKind::Block => Ok(true),
    }
}

/// The pattern, laid from the file's first byte on: once by hand, then doubled.
fn write_pattern(buffer: &mut [u8], pattern: &[u8], offset: u64) {
    if let [byte] = pattern {
        return buffer.fill(*byte);
    }
    let phase = (offset % pattern.len() as u64) as usize;
    let bytes = buffer.len();
    let mut done = bytes.min(pattern.len());
    for (target, byte) in buffer.iter_mut().zip(pattern.iter().cycle().skip(phase)).take(done) {
        *target = *byte;
    }
    while done < bytes {
        let more = done.min(bytes - done);
        buffer.copy_within(..more, done);
        done += more;
    }
}

/// Whole sectors from sector `number` on, by the widest vectors there are; the bytes are the same with all of them.
#[inline]
fn write_whole(sectors: &mut [Sector], pool: &[CacheLine], key: u64, number: u64) {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2") {
        // SAFETY: the processor has just been asked whether it has AVX2.
        return unsafe { write_whole_avx2(sectors, pool, key, number) };
    }
    write_whole_plain(sectors, pool, key, number);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn write_whole_avx2(sectors: &mut [Sector], pool: &[CacheLine], key: u64, number: u64) {
    write_whole_plain(sectors, pool, key, number);
}

/// Inlined into both callers, and so compiled for each one's vectors.
#[inline(always)]
fn write_whole_plain(sectors: &mut [Sector], pool: &[CacheLine], key: u64, number: u64) {
    let mut state = key.wrapping_add(number.wrapping_mul(GOLDEN));
    for sector in sectors {
        let hash = mix(state);
        state = state.wrapping_add(GOLDEN);
        // The window comes from the hash's upper bits; the hash itself, which is different for every sector of a
        // generation, is the key.
        let start = ((u128::from(hash) * u128::from(WINDOWS)) >> 64) as usize;
        for (out, line) in
            sector.as_chunks_mut::<64>().0.iter_mut().zip(&pool[start..start + LINES_OF_SECTOR])
        {
            for (word, source) in out.as_chunks_mut::<8>().0.iter_mut().zip(line.0) {
                *word = (source ^ hash).to_le_bytes();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_vector_width_writes_the_same() {
        let (mut wide, mut plain) = ([[0; SECTOR_BYTES]; 9], [[0; SECTOR_BYTES]; 9]);
        write_whole(&mut wide, pool(), 77, 1 << 40);
        write_whole_plain(&mut plain, pool(), 77, 1 << 40);
        assert_eq!(wide, plain);
    }

    #[test]
    fn patterns_follow_the_file_not_the_buffer() {
        let mut buffer = [0; 11];
        write_pattern(&mut buffer, b"abc", 7);
        assert_eq!(&buffer, b"bcabcabcabc");
        write_pattern(&mut buffer[..2], b"0123456789abcdefg", 17 * 5 + 16);
        assert_eq!(&buffer[..2], b"g0");
    }
}
