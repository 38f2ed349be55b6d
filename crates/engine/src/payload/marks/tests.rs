//! The words that the originals write, as constants from another program; every kind of corruption, planted and named.

use iodyno_model::{Marks, PayloadMarks};

use super::super::inspect::Flaw;
use super::super::verdict::Class;
use super::*;

const ACCUSED: u64 = 77;
const MIB: usize = 1 << 20;
const ALL: [Marks; 4] = [Marks::Counted, Marks::Placed, Marks::Drawn, Marks::DrawnOnce];

/// Owner, signature, and what Python made with the C library's `rand_r`.
struct Known {
    owner: u32,
    signature: u32,
    /// Words 0, 1, 511, 512 and 131,071.
    counted: [u64; 5],
    alike: u64,
    /// By offset: stamps of pages 1, 2, 3 and 256; drawn words 0, 1, 2 and 511.
    places: [(u64, [u64; 4], [u64; 4]); 4],
}

const KNOWN: [Known; 3] = [
    Known {
        owner: 0,
        signature: 1,
        counted: [1, 2, 0x200, 0x201, 0x20000],
        alike: 0x1c69fb8146b52dfb,
        places: [
            (
                0,
                [0, 0, 0, 0],
                [0x1446f1cb05ccbf70, 0x9b35b53010197ee, 0x178eeae9942932fd, 0x1c815480c5c6d8bc],
            ),
            (
                4096,
                [0x1000, 0x2000, 0x3000, 0x100000],
                [0x13daca97c1b392e9, 0x1b4e78792ec1f25d, 0x147837ae2ca9be4b, 0xef8baa9b17562e8],
            ),
            (
                0x1_0000_2000,
                [0x2000, 0x4000, 0x6000, 0x200000],
                [0x3a7e35c6f9ce5e3, 0x1b3bc49d1b021cbc, 0xb3ceb1295024397, 0x132f58cbab60dde6],
            ),
            (
                0x2_8000_1000,
                [0x80001000, 0x2000, 0x80003000, 0x100000],
                [0x13daca97c1b392e9, 0x1b4e78792ec1f25d, 0x147837ae2ca9be4b, 0xef8baa9b17562e8],
            ),
        ],
    },
    Known {
        owner: 3,
        signature: 1_700_000_000,
        counted: [0x36553f100, 0x36553f101, 0x36553f2ff, 0x36553f300, 0x36555f0ff],
        alike: 0x37e0aed259a95b40,
        places: [
            (
                0,
                [0x300000000; 4],
                [0x1b3de40faf9315da, 0x1bd5e4b86b0562bb, 0x117b87145c032c57, 0xb9fc1a4400a6fc4],
            ),
            (
                4096,
                [0x300001000, 0x300002000, 0x300003000, 0x300100000],
                [0x1ad1fcd45b7be953, 0xd7511dc96c5fd2a, 0x26656d89443bfa5, 0x182018fb2a481f35],
            ),
            (
                0x1_0000_2000,
                [0x300002000, 0x300004000, 0x300006000, 0x300200000],
                [0xa9ed59919653c4d, 0xd624e0085062789, 0x12b073cfcdc44f1, 0x14aa19daeee27d28],
            ),
            (
                0x2_8000_1000,
                [0x380001000, 0x300002000, 0x380003000, 0x300100000],
                [0x1ad1fcd45b7be953, 0xd7511dc96c5fd2a, 0x26656d89443bfa5, 0x182018fb2a481f35],
            ),
        ],
    },
    // A signature with its uppermost bit set is widened as a signed number: the owner is lost, there as here.
    Known {
        owner: 41,
        signature: 0x9000_0000,
        counted: [
            0xffffffff90000000,
            0xffffffff90000001,
            0xffffffff900001ff,
            0xffffffff90000200,
            0xffffffff9001ffff,
        ],
        alike: 0xc2f9b2756f9fc69,
        places: [
            (
                0,
                [0x2900000000; 4],
                [0x50f9e833f27364, 0x1d20543cccc4e6c, 0x178c5a42526389cd, 0x418146894a32a18],
            ),
            (
                4096,
                [0x2900001000, 0x2900002000, 0x2900003000, 0x2900100000],
                [0xc1dd2b4efd9c6de, 0x8bb4269ba8c38db, 0x131f8b071ae4071b, 0x1ad5bbe6384a1e35],
            ),
            (
                0x1_0000_2000,
                [0x2900002000, 0x2900004000, 0x2900006000, 0x2900200000],
                [0xfb1eb799dc299d7, 0x175a6e8de6ccd33a, 0xbba5a6b533c9a67, 0x15c9aa57b80fbfdd],
            ),
            (
                0x2_8000_1000,
                [0x2980001000, 0x2900002000, 0x2980003000, 0x2900100000],
                [0xc1dd2b4efd9c6de, 0x8bb4269ba8c38db, 0x131f8b071ae4071b, 0x1ad5bbe6384a1e35],
            ),
        ],
    },
];

fn marker(marks: Marks, owner: u32, signature: u32) -> Marker {
    Marker::new(PayloadMarks { marks, signature }, owner)
}

fn filled(marker: Marker, bytes: usize, place: u64) -> Vec<u8> {
    let mut buffer = vec![0xee; bytes];
    marker.fill(&mut buffer, place);
    buffer
}

fn word(buffer: &[u8], index: usize) -> u64 {
    u64::from_le_bytes(buffer[index * 8..][..8].try_into().unwrap())
}

#[test]
fn words_are_those_of_the_originals() {
    for known in &KNOWN {
        let of = |marks| marker(marks, known.owner, known.signature);
        for (place, stamps, drawn) in known.places {
            let counted = filled(of(Marks::Counted), MIB, place);
            assert_eq!([0, 1, 511, 512, 131_071].map(|index| word(&counted, index)), known.counted);
            let placed = filled(of(Marks::Placed), MIB, place);
            assert_eq!([0, 512, 1024, 255 * 512].map(|index| word(&placed, index)), stamps, "{place:x}");
            assert_eq!(
                [1, 511, 131_071].map(|i| word(&placed, i)),
                [1, 511, 131_071].map(|i| word(&counted, i))
            );
            let once = filled(of(Marks::DrawnOnce), MIB, place);
            assert_eq!([0, 512, 1024, 255 * 512].map(|index| word(&once, index)), stamps);
            assert_eq!([1, 511, 513, 131_071].map(|index| word(&once, index)), [known.alike; 4]);
            let random = filled(of(Marks::Drawn), MIB, place);
            assert_eq!([0, 1, 2, 511].map(|index| word(&random, index)), drawn);
        }
    }
}

#[cfg(target_env = "gnu")]
#[test]
fn draws_are_those_of_the_c_library() {
    unsafe extern "C" {
        fn rand_r(seed: *mut libc::c_uint) -> libc::c_int;
    }
    let mut theirs = 1;
    let mut ours = 1;
    for _ in 0..10_000 {
        // SAFETY: the pointer is valid for the call.
        let expected = unsafe { rand_r(&raw mut theirs) };
        assert_eq!((draw(&mut ours), ours), (expected as u32, theirs));
    }
}

#[test]
fn behind_the_last_word_bytes_count() {
    for marks in ALL {
        for bytes in [0, 1, 7, 8, 9, 15, 3901, 4099] {
            let marker = marker(marks, 2, 9);
            let buffer = filled(marker, bytes, 4096);
            let tail: Vec<u8> = (bytes / 8 * 8..bytes).map(|at| at as u8).collect();
            assert_eq!(buffer[bytes / 8 * 8..], tail);
            assert!(marker.is_right(&buffer, 4096));
            for at in 0..bytes {
                let mut wrong = buffer.clone();
                wrong[at] ^= 4;
                assert!(!marker.is_right(&wrong, 4096), "{marks:?} {bytes} {at}");
            }
        }
    }
}

#[test]
fn refreshing_is_filling() {
    for marks in ALL {
        let marker = marker(marks, 5, 100);
        let mut buffer = filled(marker, MIB, 0);
        for place in [MIB as u64, 1 << 32, 7 * MIB as u64] {
            marker.refresh(&mut buffer, place);
            assert!(buffer == filled(marker, MIB, place), "{marks:?}");
            assert!(marker.is_right(&buffer, place));
        }
    }
}

#[test]
fn every_vector_width_counts_alike() {
    let mut wide = [[0; 8]; 1000];
    let mut plain = wide;
    write_counted(&mut wide, u64::MAX - 3, 1, 7 << 32);
    write_counted_plain(&mut plain, u64::MAX - 3, 1, 7 << 32);
    assert_eq!(wide, plain);
    for index in [0, 511, 512, 999] {
        let mut wrong = plain;
        wrong[index][6] ^= 1;
        for (words, right) in [(&plain, true), (&wrong, false)] {
            assert_eq!(equals_counted(words, u64::MAX - 3, 1, 7 << 32), right);
            assert_eq!(equals_counted_plain(words, u64::MAX - 3, 1, 7 << 32), right);
        }
    }
}

fn explained(marker: Marker, found: &[u8], place: u64) -> Vec<Flaw> {
    assert!(!marker.is_right(found, place));
    Explainer::new(marker).explain(found, place, place, ACCUSED)
}

/// What is wrong, and where: range and class.
fn found(marker: Marker, found: &[u8], place: u64) -> Vec<(u64, u64, Class)> {
    let told = |flaw: Flaw| {
        assert_eq!((flaw.offset, flaw.bytes), (flaw.corruption.offset, flaw.corruption.bytes));
        (flaw.offset, flaw.bytes, flaw.corruption.class)
    };
    explained(marker, found, place).into_iter().map(told).collect()
}

#[test]
fn a_bit_is_found_where_it_is() {
    for marks in ALL {
        for bytes in [4096, 65_536, MIB] {
            let marker = marker(marks, 1, 1_700_000_000);
            let mut buffer = filled(marker, bytes, 8 * MIB as u64);
            let at = bytes - 3000;
            buffer[at] ^= 0x20;
            let place = 8 * MIB as u64;
            let class = Class::BitFlip { bit: 5, bits: 1 };
            assert_eq!(found(marker, &buffer, place), [(place + at as u64, 1, class)]);
            let flaw = explained(marker, &buffer, place).remove(0);
            let index = at / 8;
            let right = filled(marker, bytes, place);
            assert!(flaw.expected.starts_with(&format!("{:016x} ", word(&right, index))), "{flaw:?}");
            assert!(flaw.found.starts_with(&format!("{:016x} ", word(&buffer, index))), "{flaw:?}");
        }
    }
}

#[test]
fn what_another_owner_wrote_is_named() {
    let place = 3 * 65_536;
    for marks in ALL {
        let (own, other) = (marker(marks, 1, 1_700_000_000), marker(marks, 6, 1_700_000_000));
        let whole = filled(other, 65_536, place);
        assert_eq!(found(own, &whole, place), [(place, 65_536, Class::Misplaced { worker: 6 })], "{marks:?}");
        // A part of it: two pages in the middle.
        let mut part = filled(own, 65_536, place);
        part[8192..16_384].copy_from_slice(&whole[8192..16_384]);
        assert_eq!(
            found(own, &part, place),
            [(place + 8192, 8192, Class::Misplaced { worker: 6 })],
            "{marks:?}"
        );
    }
}

#[test]
fn an_earlier_run_is_stale_or_foreign() {
    let place = 4096;
    for marks in [Marks::Counted, Marks::Placed] {
        let own = marker(marks, 1, 1_700_000_000);
        let older = filled(marker(marks, 1, 1_699_999_991), 8192, place);
        let class = Class::OtherRun { signature: 1_699_999_991, wanted: 1_700_000_000 };
        let first = if marks == Marks::Placed { 8 } else { 0 };
        let flaws = found(own, &older, place);
        assert_eq!(flaws[0], (place + first, 8192 - first, class), "{marks:?} {flaws:?}");
        let strange = filled(marker(marks, 2, 17), 8192, place);
        let class = Class::Strange { worker: 2, signature: 17 };
        assert_eq!(found(own, &strange, place), [(place, 8192, class)], "{marks:?}");
    }
}

#[test]
fn another_place_of_the_same_owner_is_named() {
    for bytes in [4096, 65_536, MIB] {
        let bytes_u64 = bytes as u64;
        for marks in [Marks::Placed, Marks::Drawn, Marks::DrawnOnce] {
            let own = marker(marks, 1, 1_700_000_000);
            let (place, other) = (bytes_u64 * 5 + (3 << 32), bytes_u64 * 9 + (3 << 32));
            let buffer = filled(own, bytes, other);
            let flaws = found(own, &buffer, place);
            let from = |at| Class::Misdirected { owner: ACCUSED, from: at };
            assert_eq!(flaws, [(place, bytes_u64, from(other))], "{marks:?} {bytes}");
        }
    }
    // Words that count do not say of which operation they are: there is nothing to be found, there as here.
    let own = marker(Marks::Counted, 1, 5);
    assert!(own.is_right(&filled(own, 4096, 0), 4096));
}

#[test]
fn shifted_words_are_named() {
    let own = marker(Marks::Counted, 1, 1_700_000_000);
    let right = filled(own, MIB, 0);
    let mut buffer = right.clone();
    buffer.copy_within(4096..MIB, 0);
    let flaws = found(own, &buffer, 0);
    assert_eq!(flaws, [(0, MIB as u64 - 4096, Class::Shifted { bytes: 4096 })]);
    let mut odd = right;
    odd.copy_within(0..MIB - 3, 3);
    let flaws = found(own, &odd, 0);
    assert_eq!(flaws.iter().map(|(_, bytes, _)| bytes).sum::<u64>(), MIB as u64 - 3, "{flaws:?}");
    assert_eq!(flaws[0].2, Class::Garbage);
}

#[test]
fn lost_pages_are_lost_and_the_rest_is_right() {
    for marks in ALL {
        let own = marker(marks, 4, 1_700_000_000);
        for byte in [0x00, 0xff] {
            let mut buffer = filled(own, 65_536, 1 << 33);
            buffer[4096..12_288].fill(byte);
            let flaws = found(own, &buffer, 1 << 33);
            assert_eq!(flaws, [((1 << 33) + 4096, 8192, Class::Lost { byte })], "{marks:?}");
        }
    }
}

#[test]
fn several_faults_are_told_apart() {
    for marks in ALL {
        let own = marker(marks, 4, 1_700_000_000);
        let mut buffer = filled(own, 65_536, 0);
        buffer[100] ^= 1;
        buffer[8192..8704].fill(0);
        buffer[20_000..20_100].fill(0x5a);
        let flaws = found(own, &buffer, 0);
        let classes: Vec<&str> = flaws.iter().map(|(_, _, class)| class.name()).collect();
        assert_eq!(classes, ["bit flip", "lost", "garbage"], "{marks:?} {flaws:?}");
        assert_eq!((flaws[1].0, flaws[1].1), (8192, 512));
        assert!(flaws[2].0 <= 20_001 && flaws[2].0 + flaws[2].1 >= 20_099, "{flaws:?}");
    }
}

#[test]
fn items_carry_their_number() {
    for marks in [Marks::Placed, Marks::Drawn, Marks::DrawnOnce] {
        let own = marker(marks, 4, 77);
        let buffer = filled(own, 3901, 12);
        let flaws = Explainer::new(own).explain(&buffer, 0, 11, ACCUSED);
        assert_eq!(flaws.len(), 1);
        assert_eq!(flaws[0].corruption.class, Class::OtherItem { item: 12 }, "{marks:?}");
    }
}

#[test]
fn garbage_is_bounded_work() {
    let own = marker(Marks::Drawn, 4, 77);
    let mut explainer = Explainer::new(own);
    let buffer = filled(marker(Marks::Drawn, 4, 0x4000_0000), 4096, 0);
    for operation in 0..1000 {
        let flaws = explainer.explain(&buffer, operation * 4096, operation * 4096, ACCUSED);
        assert_eq!(flaws.len(), 1);
        // Some bytes at both ends may be right by chance.
        assert!(flaws[0].bytes > 4080 && flaws[0].corruption.class == Class::Garbage, "{flaws:?}");
    }
}

/// Each word is its offset plus the signature, whoever owns it; also of a last word that is cut.
#[test]
fn summed_words_are_signature_plus_offset() {
    let summed = |signature, owner| Marker::new(PayloadMarks { marks: Marks::Summed, signature }, owner);
    let mut buffer = [0; 20];
    summed(7, 3).fill(&mut buffer, 4096);
    let wanted = [4103_u64.to_le_bytes(), 4111_u64.to_le_bytes(), 4119_u64.to_le_bytes()].concat();
    assert_eq!(buffer, wanted[..20]);
    assert!(summed(7, 9).is_right(&buffer, 4096));
    assert!(!summed(7, 3).is_right(&buffer, 4104) && !summed(8, 3).is_right(&buffer, 4096));
    buffer[19] ^= 1;
    assert!(!summed(7, 3).is_right(&buffer, 4096), "a part of a word counts");
    summed(7, 3).refresh(&mut buffer, 1 << 33);
    assert_eq!(buffer[..8], ((1_u64 << 33) + 7).to_le_bytes());
}
