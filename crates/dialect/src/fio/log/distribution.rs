//! The histogram log: a row for each direction and interval, with a column for each of fio's 1856 bins or for several
//! of them together.
//!
//! The last interval is written too, however short; fio drops it. Between servers and clients of fio each row is a packed
//! sample with all bins behind it.

use iodyno_model::{JournalEntry, JournalPart};

use super::super::report::bins::Bins;
use super::super::view::JobView;
use super::Times;
use super::line::{columns, number};
use super::sample::direction;

/// The rows of a part of a journal.
pub(super) fn written(part: &JournalPart, job: &JobView, times: Times) -> Vec<u8> {
    let mut out = Vec::new();
    let (blocks, together) = (&job.blocks, 1 << job.logs.coarseness.min(6));
    for entry in &part.entries {
        let JournalEntry::Distribution { at_ns, kind, completion } = entry else { continue };
        let Some(direction) = direction(*kind) else { continue };
        let block = [blocks.read, blocks.write, blocks.trim][direction as usize].0;
        columns(&mut out, &[times.ms(*at_ns), direction, block]);
        for counts in Bins::from(completion).dense().chunks(together) {
            out.extend_from_slice(b", ");
            number(&mut out, counts.iter().sum());
        }
        out.push(b'\n');
    }
    out
}

/// fio's bins.
const BINS: usize = 1856;
/// Bytes of a packed row: a sample of 32, two pointers that mean nothing elsewhere, and the bins.
const ROW: usize = 32 + 16 + 8 * BINS;

/// The rows of a log as a server sends them: how many there are, the coarseness of their columns, and the rows. Bins that are
/// together in a column stand in the first of them: whoever prints the row adds them up again.
pub fn packed(text: &str) -> (u64, u32, Vec<u8>) {
    let (mut rows, mut coarseness, mut out) = (0, 0, Vec::new());
    for line in text.lines() {
        let numbers: Vec<u64> = line.split(", ").filter_map(|number| number.parse().ok()).collect();
        let [time, direction, block, bins @ ..] = numbers.as_slice() else { continue };
        let together = BINS.div_ceil(bins.len().max(1)).next_power_of_two();
        (rows, coarseness) = (rows + 1, together.trailing_zeros());
        for number in [*time, 0, *direction, *block, 0, 0] {
            out.extend_from_slice(&number.to_le_bytes());
        }
        let bin = |index: usize| match index.is_multiple_of(together) {
            true => bins.get(index / together).copied().unwrap_or(0),
            false => 0,
        };
        (0..BINS).for_each(|index| out.extend_from_slice(&bin(index).to_le_bytes()));
    }
    (rows, coarseness, out)
}

/// Rows that a server sent, as text.
pub fn printed(rows: &[u8], coarseness: u32) -> String {
    let mut out = Vec::new();
    for row in rows.chunks_exact(ROW) {
        let words: Vec<u64> = row.as_chunks::<8>().0.iter().map(|word| u64::from_le_bytes(*word)).collect();
        // Above the direction lie flags and a priority.
        columns(&mut out, &[words[0], words[2] & 3, words[3]]);
        for counts in words[6..].chunks(1 << coarseness.min(6)) {
            out.extend_from_slice(b", ");
            number(&mut out, counts.iter().fold(0, |sum: u64, count| sum.saturating_add(*count)));
        }
        out.push(b'\n');
    }
    String::from_utf8_lossy(&out).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_come_back_as_they_were_whatever_their_coarseness() {
        for coarseness in [0, 3, 6] {
            let count = BINS >> coarseness;
            let bins: Vec<String> = (0..count).map(|bin| (bin % 7).to_string()).collect();
            let text = format!("500, 1, 4096, {}\n1000, 0, 512, {}\n", bins.join(", "), bins.join(", "));
            let (rows, found, packed) = packed(&text);
            assert_eq!((rows, found, packed.len()), (2, coarseness, 2 * ROW));
            assert_eq!(printed(&packed, found), text);
        }
        assert_eq!(packed("").0, 0);
    }
}
