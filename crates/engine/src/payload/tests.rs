//! Content that is what it claims to be, and every class of corruption planted, found and named.

use std::collections::HashSet;

use iodyno_model::{Content, Dedupe, Payload, Refresh, Stamp, Template, Verify};
use proptest::prelude::*;

use super::*;

const BLOCK: usize = 4096;
const SEED: u64 = 42;

fn stamped() -> Payload {
    Payload { verify: Some(Verify::default()), ..Payload::default() }
}

fn unstamped() -> Payload {
    Payload { verify: Some(Verify { stamp: Stamp::Content, ..Verify::default() }), ..Payload::default() }
}

fn place(offset: u64, generation: u64) -> BlockAddress {
    BlockAddress { file: BlockAddress::file_id("data.0"), offset, generation }
}

fn filled(payload: &Payload, bytes: usize, place: BlockAddress) -> Vec<u8> {
    let mut buffer = vec![0xaa; bytes];
    Filler::new(payload, SEED, BLOCK).unwrap().fill(&mut buffer, place);
    buffer
}

fn all_contents() -> Vec<Payload> {
    let with = |content| Payload { content, ..Payload::default() };
    vec![
        with(Content::Random),
        with(Content::Zero),
        with(Content::Pattern(b"abcdefg".to_vec())),
        with(Content::Scrambled),
        Payload { compress_percent: 37, compress_chunk_bytes: 1000, ..Payload::default() },
        Payload { dedupe_percent: 50, ..Payload::default() },
        Payload { refresh: Refresh::Once, ..Payload::default() },
        Payload { compress_percent: 50, ..stamped() },
        stamped(),
    ]
}

#[test]
fn content_belongs_to_the_place_not_to_the_buffer() {
    for payload in all_contents() {
        let whole = filled(&payload, 8 * BLOCK, place(0, 1));
        let mut start = 0;
        for bytes in [1, 511, 512, 700, 3, 4096, 1024, 5000, 513, 20_000, 7].into_iter().cycle() {
            let end = whole.len().min(start + bytes);
            let part = filled(&payload, end - start, place(start as u64, 1));
            assert!(part == whole[start..end], "{payload:?} at {start}..{end}");
            start = end;
            if start == whole.len() {
                break;
            }
        }
    }
}

/// What scrambling costs is what it writes: two words of each sector, wherever the block begins, and none of them twice.
#[test]
fn scrambling_changes_two_words_of_each_sector_and_repeats_none() {
    const LONG: usize = 64 << 10;
    let payload = Payload { content: Content::Scrambled, ..Payload::default() };
    let filler = Filler::new(&payload, SEED, LONG).unwrap();
    let mut buffer = vec![0; LONG];
    filler.fill(&mut buffer, place(0, 0));
    let mut written = HashSet::new();
    for generation in 1..=8 {
        let before = buffer.clone();
        filler.refresh(&mut buffer, place(LONG as u64 * generation, generation));
        let (then, now) = (before.as_chunks::<8>().0, buffer.as_chunks::<8>().0);
        let changed: Vec<usize> = (0..now.len()).filter(|word| now[*word] != then[*word]).collect();
        let mut sectors = vec![0; LONG / SECTOR_BYTES];
        changed.iter().for_each(|word| sectors[word * 8 / SECTOR_BYTES] += 1);
        assert!(sectors.iter().all(|words| *words == 2), "{sectors:?}");
        assert!(changed.iter().all(|word| written.insert(now[*word])), "a word came again");
        assert_eq!(buffer, filled_by(&filler, LONG, place(LONG as u64 * generation, generation)));
    }
}

fn filled_by(filler: &Filler, bytes: usize, place: BlockAddress) -> Vec<u8> {
    let mut buffer = vec![0; bytes];
    filler.fill(&mut buffer, place);
    buffer
}

#[test]
fn seed_file_offset_and_generation_all_matter() {
    let base = filled(&unstamped(), BLOCK, place(0, 1));
    assert_eq!(base, filled(&unstamped(), BLOCK, place(0, 1)));
    let mut other_seed = base.clone();
    Filler::new(&unstamped(), SEED + 1, BLOCK).unwrap().fill(&mut other_seed, place(0, 1));
    let other_file = BlockAddress { file: BlockAddress::file_id("data.1"), ..place(0, 1) };
    for (name, other) in [
        ("seed", other_seed),
        ("file", filled(&unstamped(), BLOCK, other_file)),
        ("offset", filled(&unstamped(), BLOCK, place(BLOCK as u64, 1))),
        ("generation", filled(&unstamped(), BLOCK, place(0, 2))),
    ] {
        let same = base.iter().zip(&other).filter(|(a, b)| a == b).count();
        assert!(same < 40, "{name}: {same} of 4096 bytes are the same"); // 16 expected
    }
}

/// No aligned word comes twice in 16 MiB, over two generations: nothing for a long-window compressor or deduplication.
#[test]
fn random_content_repeats_no_word() {
    let mut words = HashSet::new();
    for generation in 0..2 {
        for word in filled(&Payload::default(), 8 << 20, place(0, generation)).as_chunks::<8>().0 {
            assert!(words.insert(*word));
        }
    }
}

fn compressed_percent(data: &[u8]) -> f64 {
    100.0 * lz4_flex::block::compress(data).len() as f64 / data.len() as f64
}

#[test]
fn compressibility_is_as_asked() {
    for content in [Content::Random, Content::Scrambled] {
        for compress_percent in [0u8, 25, 50, 75, 90, 100] {
            for compress_chunk_bytes in [0, 512, 65_536] {
                let payload = Payload {
                    content: content.clone(),
                    compress_percent,
                    compress_chunk_bytes,
                    ..Payload::default()
                };
                if content == Content::Scrambled && compress_percent == 0 {
                    continue; // nearly constant by intention
                }
                let saved = 100.0 - compressed_percent(&filled(&payload, 4 << 20, place(0, 1)));
                assert!((saved - f64::from(compress_percent)).abs() < 5.0, "{payload:?}: {saved}");
            }
        }
    }
    let saved = 100.0 - compressed_percent(&filled(&Payload::default(), 16 << 20, place(0, 1)));
    assert!(saved < 1.0, "{saved}");
}

#[test]
fn blocks_repeat_as_often_as_asked() {
    for dedupe_percent in [0u8, 10, 50, 90, 100] {
        let payload = Payload { dedupe_percent, ..Payload::default() };
        let file = filled(&payload, 4000 * BLOCK, place(0, 1));
        let unique: HashSet<&[u8]> = file.chunks(BLOCK).collect();
        let repeated = 100.0 * (1.0 - unique.len() as f64 / 4000.0);
        assert!((repeated - f64::from(dedupe_percent)).abs() < 3.0, "{dedupe_percent}: {repeated}");
    }
}

#[test]
fn once_filled_buffers_stay() {
    let payload = Payload { refresh: Refresh::Once, ..Payload::default() };
    let base = filled(&payload, BLOCK, place(0, 1));
    assert_eq!(base, filled(&payload, BLOCK, place(77 * BLOCK as u64, 9)));
    assert!(compressed_percent(&base) > 99.0);
}

/// A refreshed buffer is what a filled one would be, for every content.
#[test]
fn refreshing_equals_filling() {
    for payload in all_contents() {
        let filler = Filler::new(&payload, SEED, BLOCK).unwrap();
        let mut buffer = filled(&payload, BLOCK, place(0, 1));
        for block in [3, 4, 9] {
            let next = place(block * BLOCK as u64, block);
            filler.refresh(&mut buffer, next);
            assert!(buffer == filled(&payload, BLOCK, next), "{payload:?}");
        }
    }
}

/// How many different blocks there are, and how many of them come more than once.
fn different(file: &[u8]) -> (usize, usize) {
    let mut blocks = std::collections::HashMap::new();
    file.chunks(BLOCK).for_each(|block| *blocks.entry(block).or_insert(0) += 1);
    (blocks.len(), blocks.values().filter(|times| **times > 1).count())
}

#[test]
fn a_working_set_is_as_large_as_asked() {
    let count = 8000;
    for (dedupe_percent, percent) in [(50u8, 10.0), (80, 1.0), (0, 10.0)] {
        let dedupe = Dedupe::WorkingSet { percent, shared: false };
        let payload = Payload { dedupe_percent, dedupe, ..Payload::default() };
        let filler = Filler::new(&payload, SEED, BLOCK).unwrap().over((count * BLOCK) as u64);
        let mut file = vec![0; count * BLOCK];
        filler.fill(&mut file, place(0, 1));
        let (unique, repeated) = different(&file);
        let saved = 100.0 * (1.0 - unique as f64 / count as f64);
        assert!(
            (saved - f64::from(dedupe_percent)).abs() < 3.0,
            "{dedupe_percent} % of {percent} %: {saved}"
        );
        let set = if dedupe_percent == 0 { 0.0 } else { count as f64 * percent / 100.0 };
        assert!((repeated as f64 - set).abs() <= set * 0.1, "{repeated} blocks repeat, {set} expected");
    }
}

#[test]
fn blocks_that_repeat_are_shared_only_where_asked() {
    let other = BlockAddress { file: BlockAddress::file_id("data.1"), ..place(0, 1) };
    for (dedupe, shared) in [
        (Dedupe::Few, true),
        (Dedupe::Own, false),
        (Dedupe::WorkingSet { percent: 1.0, shared: true }, true),
        (Dedupe::WorkingSet { percent: 1.0, shared: false }, false),
    ] {
        let payload = Payload { dedupe_percent: 100, dedupe, ..Payload::default() };
        let filler = Filler::new(&payload, SEED, BLOCK).unwrap().over((1000 * BLOCK) as u64);
        let [one, two] = [place(0, 1), other].map(|place| {
            let mut file = vec![0; 1000 * BLOCK];
            filler.fill(&mut file, place);
            file.chunks(BLOCK).map(<[u8]>::to_vec).collect::<HashSet<_>>()
        });
        assert_eq!(!one.is_disjoint(&two), shared, "{dedupe:?}");
    }
}

/// Of what repeats in several ways, each share is as large as asked: of a few that both files have, of a few of each
/// file's own, of blocks that both have at the same place.
#[test]
fn blocks_repeat_in_several_ways_at_once() {
    const COUNT: usize = 4000;
    let other = BlockAddress { file: BlockAddress::file_id("data.1"), ..place(0, 1) };
    let dedupe = Dedupe::Mixed { few_percent: 30.0, own_percent: 20.0 };
    let payload = Payload { dedupe_percent: 50, dedupe, ..Payload::default() };
    let filler = Filler::new(&payload, SEED, BLOCK).unwrap();
    let [one, two] = [place(0, 1), other].map(|place| {
        let mut file = vec![0; COUNT * BLOCK];
        filler.fill(&mut file, place);
        file
    });
    let mut times = std::collections::HashMap::<&[u8], (usize, usize)>::new();
    one.chunks(BLOCK).for_each(|block| times.entry(block).or_default().0 += 1);
    two.chunks(BLOCK).for_each(|block| times.entry(block).or_default().1 += 1);
    let percent = |is: &dyn Fn(usize, &(usize, usize)) -> bool| {
        let found = one.chunks(BLOCK).enumerate().filter(|(at, block)| is(*at, &times[*block]));
        100.0 * found.count() as f64 / COUNT as f64
    };
    let same = |at: usize| one[at * BLOCK..][..BLOCK] == two[at * BLOCK..][..BLOCK];
    for (what, found, wanted) in [
        ("of a few", percent(&|_, (own, others)| *own > 1 && *others > 1), 15.0),
        ("of the file's own", percent(&|_, (own, others)| *own > 1 && *others == 0), 10.0),
        ("at the same place", percent(&|at, times| *times == (1, 1) && same(at)), 25.0),
        ("never", percent(&|_, times| *times == (1, 0)), 50.0),
    ] {
        assert!((found - wanted).abs() < 3.0, "{what}: {found} % in place of {wanted} %");
    }
}

#[test]
fn a_repeated_pattern_is_what_compresses() {
    let template = Template { bytes: b"ab\0\0\0\0\0\0\0\0".to_vec(), offsets: vec![2] };
    for compress_percent in [0u8, 50, 100] {
        let content = Content::Repeated(template.clone());
        let payload = Payload { content, compress_percent, compress_chunk_bytes: 1000, ..Payload::default() };
        let block = filled(&payload, BLOCK, place(OFFSET, 3));
        let whole = filled(&Payload { compress_percent: 0, ..payload.clone() }, BLOCK, place(OFFSET, 3));
        let same = block.iter().zip(&whole).filter(|(a, b)| a == b).count() * 100 / BLOCK;
        // Without a share that compresses the pattern is everywhere.
        let expected = if compress_percent == 0 { 100 } else { usize::from(compress_percent) };
        assert!(same.abs_diff(expected) < 4, "{compress_percent} %: {same} % are the pattern");
        assert_eq!(&whole[..4], &[b'a', b'b', OFFSET as u8, (OFFSET >> 8) as u8]);
    }
}

#[test]
fn a_pattern_of_the_write_begins_with_the_write_even_where_it_is_filled_once() {
    let bytes: Vec<u8> = (0..5000u32).map(|index| (index % 251) as u8).collect();
    let content = Content::Repeated(Template { bytes: bytes.clone(), offsets: Vec::new() });
    let payload = Payload { content, refresh: Refresh::Once, ..Payload::default() };
    for (offset, length) in [(0, 5000), (3000, 3000), (4096, 12_000), (OFFSET + 512, 4096)] {
        let filler = Filler::new(&payload, SEED, 4096).unwrap();
        let mut block = vec![0; length];
        filler.fill(&mut block, place(offset, 1));
        let wanted: Vec<u8> = bytes.iter().copied().cycle().take(length).collect();
        assert!(block == wanted, "at byte {offset}, {length} bytes");
    }
}

#[test]
fn scrambled_blocks_are_nearly_the_same_but_never_equal() {
    let payload = Payload { content: Content::Scrambled, ..Payload::default() };
    let [a, b] = [0, 1].map(|block| filled(&payload, BLOCK, place(block * BLOCK as u64, 1)));
    for (a, b) in a.chunks(512).zip(b.chunks(512)) {
        let same = a.iter().zip(b).filter(|(a, b)| a == b).count();
        assert!((496..512).contains(&same), "{same}");
    }
}

#[test]
fn what_cannot_be_is_refused() {
    let error = |payload: &Payload, bytes| Filler::new(payload, 1, bytes).err().unwrap().message;
    let spaced = Verify { interval_bytes: 4096, ..Verify::default() };
    for (payload, bytes, word) in [
        (Payload { compress_percent: 101, ..Payload::default() }, BLOCK, "100 percent"),
        (Payload { content: Content::Pattern(vec![]), ..Payload::default() }, BLOCK, "empty pattern"),
        (Payload { content: Content::Carried, ..stamped() }, BLOCK, "carried"),
        (Payload { dedupe_percent: 1, ..stamped() }, BLOCK, "cannot repeat"),
        (Payload { verify: Some(spaced), ..Payload::default() }, BLOCK, "every 512-byte sector"),
        (stamped(), 1000, "1000 bytes"),
    ] {
        assert!(error(&payload, bytes).contains(word), "{}", error(&payload, bytes));
    }
    assert!(Checker::new(&Payload { content: Content::Carried, ..Payload::default() }, 1, 512).is_err());
}

/// If this fails, files of earlier runs can no longer be verified: do not bless it away.
#[test]
fn content_is_pinned() {
    let hash = |payload: &Payload| {
        xxhash_rust::xxh3::xxh3_64(&filled(
            payload,
            3 * BLOCK,
            BlockAddress { file: 5, offset: 4096, generation: 2 },
        ))
    };
    assert_eq!([hash(&Payload::default())], [11_516_258_783_778_256_875]);
    assert_eq!([hash(&stamped())], [14_004_428_023_801_564_719]);
    assert_eq!(
        [hash(&Payload { content: Content::Scrambled, ..Payload::default() })],
        [357_845_984_858_128_318]
    );
    assert_eq!(
        [hash(&Payload { dedupe_percent: 50, compress_percent: 50, ..Payload::default() })],
        [2_270_477_844_120_633_513]
    );
    assert_eq!([BlockAddress::file_id("data.0")], [9_184_878_216_476_113_417]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]
    /// Written in blocks of one size, read in pieces of any: never an alarm.
    #[test]
    fn clean_data_never_alarms(
        which in 0..9usize, offset in 0u64..100_000, bytes in 1usize..30_000, aligned: bool,
        generations in proptest::collection::vec(0u64..5, 40), seed: u64,
    ) {
        let payload = &all_contents()[which];
        let (offset, bytes) = if aligned { (offset / 512 * 512, bytes.next_multiple_of(512)) } else { (offset, bytes) };
        let filler = Filler::new(payload, seed, BLOCK).unwrap();
        let checker = Checker::new(payload, seed, BLOCK).unwrap();
        let mut file = vec![0; 40 * BLOCK];
        filler.fill(&mut file, place(0, 3));
        let part = &file[offset as usize..][..bytes];
        prop_assert_eq!(checker.check(part, place(0, 0).file, offset, Some(3)), Verdict::default());
        if payload.verify.is_some() {
            for ((number, block), generation) in file.chunks_mut(BLOCK).enumerate().zip(generations) {
                filler.fill(block, place((number * BLOCK) as u64, generation));
            }
            let part = &file[offset as usize..][..bytes];
            prop_assert_eq!(checker.check(part, place(0, 0).file, offset, None), Verdict::default());
        }
    }

    /// One wrong bit anywhere is found at its place, with and without stamps, known generation or not.
    #[test]
    fn every_bit_flip_is_named(at in 0usize..4 * BLOCK, bit in 0u8..8, stamps: bool, known: bool) {
        let payload = if stamps { stamped() } else { unstamped() };
        let generation = if stamps { 4 } else { 0 };
        let mut buffer = filled(&payload, 4 * BLOCK, place(1 << 20, generation));
        buffer[at] ^= 1 << bit;
        let expected = (Class::BitFlip { bit, bits: 1 }, (1 << 20) + at as u64, 1);
        prop_assert_eq!(verdict(&payload, &buffer, 1 << 20, known.then_some(generation)), vec![expected]);
    }
}

fn verdict(payload: &Payload, buffer: &[u8], offset: u64, generation: Option<u64>) -> Vec<(Class, u64, u64)> {
    let checker = Checker::new(payload, SEED, BLOCK).unwrap();
    let verdict = checker.check(buffer, place(0, 0).file, offset, generation);
    verdict.corruptions.iter().map(|bad| (bad.class, bad.offset, bad.bytes)).collect()
}

const OFFSET: u64 = 20 * BLOCK as u64;
const NEXT: u64 = OFFSET + BLOCK as u64;

/// Two blocks of generation 4 at `OFFSET`; the plant spoils the first.
fn planted(payload: &Payload, plant: impl Fn(&mut [u8])) -> Vec<(Class, u64, u64)> {
    let mut buffer = filled(payload, 2 * BLOCK, place(OFFSET, 4));
    plant(&mut buffer);
    verdict(payload, &buffer, OFFSET, Some(4))
}

const PAGE: u64 = BLOCK as u64;

#[test]
fn stale_blocks() {
    for payload in [stamped(), unstamped(), Payload { compress_percent: 50, ..unstamped() }] {
        let found = planted(&payload, |data| {
            data[..BLOCK].copy_from_slice(&filled(&payload, BLOCK, place(OFFSET, 3)))
        });
        let bytes = if payload.compress_percent > 0 { PAGE / 2 } else { PAGE };
        assert_eq!(found, [(Class::Stale { found: 3, written: 4 }, OFFSET, bytes)]);
    }
}

#[test]
fn torn_blocks_between_and_inside_sectors() {
    for payload in [stamped(), unstamped()] {
        let old = filled(&payload, BLOCK, place(OFFSET, 2));
        let torn = Class::Torn { old: Some(2), written: 4 };
        assert_eq!(
            planted(&payload, |data| data[1536..BLOCK].copy_from_slice(&old[1536..])),
            [(torn, OFFSET + 1536, 2560)]
        );
        assert_eq!(
            planted(&payload, |data| data[..1024].copy_from_slice(&old[..1024])),
            [(torn, OFFSET, 1024)]
        );
        let inside = planted(&payload, |data| data[600..1024].copy_from_slice(&old[600..1024]));
        assert!(
            matches!(inside[..], [(class, offset, bytes)]
            if class == torn && offset.abs_diff(OFFSET + 600) < 3 && bytes.abs_diff(424) < 3),
            "{inside:?}"
        );
        let never = Class::Torn { old: None, written: 4 };
        assert_eq!(planted(&payload, |data| data[2048..BLOCK].fill(0)), [(never, OFFSET + 2048, 2048)]);
    }
    // Without knowing the generation, the newest sector of the block tells.
    let mut buffer = filled(&stamped(), BLOCK, place(OFFSET, 4));
    buffer[512..1024].copy_from_slice(&filled(&stamped(), 512, place(OFFSET + 512, 3)));
    let torn = Class::Torn { old: Some(3), written: 4 };
    assert_eq!(verdict(&stamped(), &buffer, OFFSET, None), [(torn, OFFSET + 512, 512)]);
    let mut buffer = filled(&stamped(), BLOCK, place(OFFSET, 3));
    buffer[512..1024].copy_from_slice(&filled(&stamped(), 512, place(OFFSET + 512, 4)));
    assert_eq!(
        verdict(&stamped(), &buffer, OFFSET, None),
        [(torn, OFFSET, 512), (torn, OFFSET + 1024, 3072)]
    );
}

#[test]
fn lost_blocks() {
    for payload in [stamped(), unstamped(), Payload { compress_percent: 50, ..stamped() }] {
        for byte in [0x00, 0xff] {
            // The fifth write of a place: had it been lost, the fourth would be there.
            let class = if byte == 0 { Class::Zeroed { written: 4 } } else { Class::Lost { byte } };
            assert_eq!(planted(&payload, |data| data[..BLOCK].fill(byte)), [(class, OFFSET, PAGE)]);
        }
    }
    let compressed = Payload { compress_percent: 50, ..unstamped() };
    assert_eq!(
        planted(&compressed, |data| data[..BLOCK].fill(0)),
        [(Class::Zeroed { written: 4 }, OFFSET, PAGE / 2)]
    );
    assert_eq!(verdict(&stamped(), &[0; BLOCK], OFFSET, Some(0)), [(Class::Lost { byte: 0 }, OFFSET, PAGE)]);
    assert_eq!(verdict(&stamped(), &[0; BLOCK], OFFSET, None), [(Class::Lost { byte: 0 }, OFFSET, PAGE)]);
}

#[test]
fn misdirected_blocks() {
    let own = filled(&stamped(), BLOCK, place(0, 0));
    let owner = u64::from_le_bytes(own[16..24].try_into().unwrap());
    let found =
        planted(&stamped(), |data| data[..BLOCK].copy_from_slice(&filled(&stamped(), BLOCK, place(8192, 4))));
    assert_eq!(found, [(Class::Misdirected { owner, from: 8192 }, OFFSET, PAGE)]);
    // From another file of the same run.
    let other = BlockAddress { file: BlockAddress::file_id("data.1"), ..place(OFFSET, 4) };
    let found = planted(&stamped(), |data| data[..BLOCK].copy_from_slice(&filled(&stamped(), BLOCK, other)));
    assert!(
        matches!(found[..], [(Class::Misdirected { owner: o, from: OFFSET }, OFFSET, PAGE)] if o != owner)
    );
}

#[test]
fn swapped_blocks_show_when_all_is_read() {
    let checker = Checker::new(&stamped(), SEED, BLOCK).unwrap();
    let mut findings = Findings::default();
    let blocks = [(OFFSET, NEXT), (NEXT, OFFSET), (0, 3 * PAGE), (3 * PAGE, 5 * PAGE), (5 * PAGE, 0)];
    for (offset, holds) in blocks {
        let verdict =
            checker.check(&filled(&stamped(), BLOCK, place(holds, 4)), place(0, 0).file, offset, Some(4));
        assert_eq!(verdict.code(), -1005);
        let mut one = Findings::default();
        one.add(&verdict);
        findings.merge(&one);
    }
    let found = findings.classified();
    let names: Vec<_> = found.iter().map(|bad| (bad.offset, bad.class.name())).collect();
    let rest = [(0, "misdirected"), (3 * PAGE, "misdirected"), (5 * PAGE, "misdirected")]; // a ring of three
    assert_eq!(names[..3], rest);
    assert_eq!(names[3..], [(OFFSET, "swapped"), (NEXT, "swapped")]);
    assert_eq!((findings.count(), findings.bytes()), (5, 5 * PAGE));
    let sentence = "byte 81,920: swapped: holds the data of byte 86,016, and that holds this (4,096 bytes)";
    assert_eq!(found[3].to_string(), sentence);
    // Read in one go, the two are still two.
    let mut both = filled(&stamped(), BLOCK, place(NEXT, 4));
    both.extend(filled(&stamped(), BLOCK, place(OFFSET, 4)));
    let verdict = checker.check(&both, place(0, 0).file, OFFSET, Some(4));
    let found = Findings::classify_all(&verdict.corruptions);
    assert!(found.len() == 2 && found.iter().all(|bad| bad.class.name() == "swapped"), "{found:?}");
}

#[test]
fn foreign_ahead_overwritten_and_garbage() {
    let mut other = vec![0; BLOCK];
    Filler::new(&stamped(), SEED + 1, BLOCK).unwrap().fill(&mut other, place(512, 9));
    let found = planted(&stamped(), |data| data[..BLOCK].copy_from_slice(&other));
    assert_eq!(found, [(Class::Foreign { from: 512, generation: 9 }, OFFSET, PAGE)]);
    for payload in [stamped(), unstamped()] {
        let newer = filled(&payload, BLOCK, place(OFFSET, 5));
        let found = planted(&payload, |data| data[..BLOCK].copy_from_slice(&newer));
        assert_eq!(found, [(Class::Ahead { found: 5, written: 4 }, OFFSET, PAGE)]);
        let found = planted(&payload, |data| data[700..900].fill(b'!'));
        assert!(
            matches!(found[..], [(Class::Overwritten, offset, bytes)]
            if offset.abs_diff(OFFSET + 700) < 4 && bytes.abs_diff(200) < 4),
            "{found:?}"
        );
        let found = planted(&payload, |data| {
            data[512..1536].iter_mut().for_each(|byte| *byte = byte.wrapping_mul(77) ^ 5)
        });
        assert_eq!(found, [(Class::Garbage, OFFSET + 512, 1024)]);
    }
}

#[test]
fn several_flips_and_several_faults_in_one_buffer() {
    let mut buffer = filled(&stamped(), 4 * BLOCK, place(OFFSET, 4));
    buffer[100] ^= 0b110;
    buffer[103] ^= 0x80;
    buffer[BLOCK..2 * BLOCK].fill(0);
    buffer[3 * BLOCK..].copy_from_slice(&filled(&stamped(), BLOCK, place(OFFSET + 3 * PAGE, 1)));
    let found = verdict(&stamped(), &buffer, OFFSET, Some(4));
    let flips = (Class::BitFlip { bit: 1, bits: 3 }, OFFSET + 100, 4);
    let lost = (Class::Zeroed { written: 4 }, NEXT, PAGE);
    assert_eq!(found, [flips, lost, (Class::Stale { found: 1, written: 4 }, OFFSET + 3 * PAGE, PAGE)]);
}

#[test]
fn sentences_and_codes() {
    let owner = 1;
    let told = |class| Corruption { class, owner, offset: 81_920, bytes: 4096 }.to_string();
    assert_eq!(
        told(Class::Stale { found: 3, written: 4 }),
        "byte 81,920: stale: generation 3 found, 4 written (4,096 bytes)"
    );
    assert_eq!(
        told(Class::BitFlip { bit: 3, bits: 1 }),
        "byte 81,920: bit flip: bit 3 is wrong, all others are right"
    );
    assert_eq!(
        told(Class::Misdirected { owner: 2, from: 512 }),
        "byte 81,920: misdirected: holds the data of byte 512 of another file (4,096 bytes)"
    );
    let all = [
        Class::BitFlip { bit: 0, bits: 2 },
        Class::Stale { found: 0, written: 0 },
        Class::Torn { old: None, written: 0 },
        Class::Swapped { owner, with: 0 },
        Class::Misdirected { owner, from: 0 },
        Class::Lost { byte: 0 },
        Class::Zeroed { written: 1 },
        Class::Foreign { from: 0, generation: 0 },
        Class::Overwritten,
        Class::Ahead { found: 0, written: 0 },
        Class::Garbage,
    ];
    let codes: HashSet<i32> = all.iter().map(|class| class.code()).collect();
    assert_eq!(codes.len(), all.len());
    for class in all {
        assert_eq!(iodyno_model::tally::corruption(class.code()), Some(class.name()));
        assert!(told(class).starts_with(&format!("byte 81,920: {}: ", class.name())));
    }
    assert_eq!(iodyno_model::tally::corruption(-5), None);
}
