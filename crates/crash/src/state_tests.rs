//! Counts of states that follow from arithmetic, and what a state is called.

use super::*;
use crate::log::memory_file;

const SECTOR: u64 = 4096;

/// A log in one letter an entry: `a`…`z` write a sector each, with a content of their own; `F` flushes, `(` and `)` begin
/// and end steps, `N` is a note, `W` writes eight sectors, `X` sixteen.
fn log(text: &str) -> WriteLog {
    let (mut begun, mut ended) = (0..u32::MAX, 0..u32::MAX);
    let entries = text.chars().enumerate().map(|(at, letter)| match letter {
        'F' => LogEntry::Flush { most: None },
        '(' => LogEntry::Begin(begun.next().unwrap()),
        ')' => LogEntry::End(ended.next().unwrap()),
        'N' => LogEntry::Note("note".into()),
        'W' => LogEntry::Write { offset: 64 * SECTOR, data: content(at, 8) },
        'X' => LogEntry::Write { offset: 128 * SECTOR, data: content(at, 16) },
        'd' => LogEntry::Discard { offset: 0, bytes: SECTOR },
        letter => {
            LogEntry::Write { offset: u64::from(letter as u32 - 'a' as u32) * SECTOR, data: content(at, 1) }
        }
    });
    WriteLog { entries: entries.collect() }
}

fn content(at: usize, sectors: usize) -> Vec<u8> {
    (0..sectors * SECTOR as usize).map(|byte| (at + 1 + byte / SECTOR as usize * 40) as u8).collect()
}

const ALL: StateChoice = StateChoice { most: usize::MAX, seed: 1, sector_bytes: SECTOR };

fn found(text: &str) -> Vec<CrashState> {
    let (found, all) = states(&log(text), &DiskContent::empty(1 << 20), ALL);
    assert_eq!(found.len(), all);
    found
}

#[test]
fn unflushed_writes_of_different_places_leave_every_subset() {
    // Nothing, and then all subsets of what is written: 2, 4, 8; each later set holds the earlier ones.
    assert_eq!(found("").len(), 1);
    assert_eq!(found("a").len(), 2);
    assert_eq!(found("abc").len(), 8);
    assert_eq!(found("abcefghi").len(), 256);
}

#[test]
fn a_flush_separates() {
    // a and b in any subset, then both are there: with c or without.
    assert_eq!(found("abFc").len(), 4 + 1);
    // Each write alone: a prefix each.
    assert_eq!(found("aFbFcF").len(), 4);
}

#[test]
fn a_place_that_is_written_again_has_one_content_at_a_time() {
    // Zeroes, the first, the second; missing the second is the first.
    assert_eq!(found("aa").len(), 3);
    // A discard leaves zeroes, which were there before.
    assert_eq!(found("Fd").len(), 1);
    // Contents of a: zero, the written, zero again.
    assert_eq!(found("ad").len(), 2);
}

#[test]
fn a_write_is_torn_between_its_sectors() {
    // None, all, and from both ends at each of 7 places.
    assert_eq!(found("W").len(), 2 + 2 * 7);
    // Flushed it is whole.
    assert_eq!(found("WF").len(), found("W").len());
    // Of sixteen: none, all, and at most 8 drawn places from both ends.
    let sixteen = found("X").len();
    assert!((2 + 2 * 2..=2 + 2 * 8).contains(&sixteen), "{sixteen}");
    // A device that tears at 512 bytes tears a sector of 4096 too: 7 places from both ends.
    let choice = StateChoice { sector_bytes: 512, ..ALL };
    assert_eq!(states(&log("a"), &DiskContent::empty(1 << 20), choice).1, 2 + 2 * 7);
}

#[test]
fn of_many_writes_single_drops_and_keeps_are_among_the_states() {
    let text = "abcefghijk";
    let found = found(text);
    assert!(found.len() > 256, "{}", found.len());
    let missing: Vec<Vec<usize>> =
        found.iter().flat_map(|state| state.moments.iter().map(|(_, id)| id.missing.clone())).collect();
    for write in 0..text.len() - 1 {
        assert!(missing.contains(&vec![write]), "{write} is never dropped alone");
    }
    // Those that miss all but one: they are found earlier, as a prefix with the others missing, or here.
    let count = |id: &StateId| id.cut - id.missing.len();
    let alone = found.iter().filter(|state| state.moments.iter().any(|(_, id)| count(id) == 1)).count();
    assert_eq!(alone, text.len(), "each write is there alone in one state");
}

#[test]
fn a_state_knows_the_strictest_moments_at_which_it_can_come_about() {
    // The write may be missing while its step runs, and after it has ended.
    let first = found("(a)");
    let reaches = |state: &CrashState| {
        state.moments.iter().map(|(reach, _)| (reach.begun, reach.ended)).collect::<Vec<_>>()
    };
    assert_eq!(first.iter().map(reaches).collect::<Vec<_>>(), [vec![(0, 0), (1, 1)], vec![(1, 1)]]);
    // A flush before the end: the old content is no moment of a step that has ended.
    let second = found("(aF)");
    assert_eq!(second.iter().map(reaches).collect::<Vec<_>>(), [vec![(0, 0)], vec![(1, 1)]]);
    assert_eq!(found("N")[0].moments.len(), 2);
}

#[test]
fn a_flush_that_covers_a_few_leaves_the_others_loose() {
    let mut log = log("abcF");
    log.entries[3] = LogEntry::Flush { most: Some(1) };
    let (found, _) = states(&log, &DiskContent::empty(1 << 20), ALL);
    let flushed: Vec<&StateId> =
        found.iter().flat_map(|state| &state.moments).map(|(_, id)| id).filter(|id| id.cut == 4).collect();
    // The same contents as before the flush, so they have no moment of their own: it brought no step further.
    assert_eq!((found.len(), flushed.len()), (8, 0));
    log.entries.insert(0, LogEntry::Begin(0));
    log.entries.push(LogEntry::End(0));
    let (found, _) = states(&log, &DiskContent::empty(1 << 20), ALL);
    let ended = found.iter().filter(|state| state.moments.iter().any(|(reach, _)| reach.ended == 1)).count();
    assert_eq!(ended, 4, "a and b may be missing after the end, c may not");
}

#[test]
fn a_draw_is_even_and_repeats_itself() {
    let log = log(&"abcF".repeat(60));
    let base = DiskContent::empty(1 << 20);
    let choice = StateChoice { most: 20, ..ALL };
    let (drawn, all) = states(&log, &base, choice);
    assert_eq!((drawn.len(), all), (20, 1 + 60 * 7));
    assert_eq!(states(&log, &base, choice).0, drawn);
    assert_ne!(states(&log, &base, StateChoice { seed: 2, ..choice }).0, drawn);
    let cuts: Vec<usize> = drawn.iter().map(|state| state.moments[0].1.cut).collect();
    for (part, cut) in cuts.iter().enumerate() {
        // 21 states, three flushes, twelve entries are a part, give or take a state.
        let (from, to) = ((part * 12).saturating_sub(2), part * 12 + 14);
        assert!((from..=to).contains(cut), "{cut} is not of part {part}");
    }
}

#[test]
fn equal_hashes_are_equal_contents() {
    let (log, base) = (log("aWbFacWF(d)bW"), DiskContent::empty(1 << 20));
    let (found, _) = states(&log, &base, ALL);
    let file = memory_file("state").unwrap();
    file.set_len(base.bytes).unwrap();
    let mut contents: Vec<DiskContent> = Vec::new();
    for state in &found {
        let mut of_state: Vec<DiskContent> = Vec::new();
        for (_, id) in &state.moments {
            id.write_to(&log, &base, SECTOR, &file).unwrap();
            of_state.push(DiskContent::read(&file).unwrap());
        }
        of_state.dedup();
        assert_eq!(of_state.len(), 1, "{:?}", state.moments);
        assert!(!contents.contains(&of_state[0]), "{:?} is there already", state.moments);
        contents.append(&mut of_state);
    }
}

#[test]
fn names_of_states_read_back() {
    for text in ["0", "120", "120-97-99..103", "120~118:0..3", "120-7~118:1..2"] {
        let id: StateId = text.parse().unwrap();
        assert_eq!(id.to_string(), text);
    }
    for text in ["", "x", "12-13", "12-9-3", "12-9..3", "12~13:0..1", "12~3:1..1", "12~3", "-1"] {
        assert_eq!(text.parse::<StateId>(), Err(format!("`{text}` is no state")));
    }
    let log = log("aFW");
    let is_of = |text: &str| text.parse::<StateId>().unwrap().is_of(&log, SECTOR);
    assert!(is_of("3-0") && is_of("3~2:0..8"));
    assert!(!is_of("4") && !is_of("3-1") && !is_of("3~2:0..9"));
}
