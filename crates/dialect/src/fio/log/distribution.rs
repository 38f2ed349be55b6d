//! The histogram log: a row for each direction and interval, with a column for each of fio's 1856 bins or for several
//! of them together.
//!
//! The last interval is written too, however short; fio drops it.

use iodyno_model::{JournalEntry, JournalPart};

use super::super::report::bins::Bins;
use super::super::view::JobView;
use super::Times;
use super::line::{columns, number};
use super::sample::direction;

/// The rows of a part of a journal.
pub fn written(part: &JournalPart, job: &JobView, times: Times) -> Vec<u8> {
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
