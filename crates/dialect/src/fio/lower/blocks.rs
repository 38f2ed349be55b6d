//! Block sizes of each direction: `bs`, `bsrange`, `bssplit`, their alignment and what reports call them.
//!
//! Of the three ways to say a size it is not the later mention that wins: a split beats a range, and a range beats a
//! size, as fio draws them.

use iodyno_model::{PerDirection, Size};

use super::direction::Direction;
use super::option_reader::OptionReader;

/// Sizes and alignment of a job.
#[derive(Clone, Debug)]
pub struct Blocks {
    /// Sizes of each direction.
    pub size: PerDirection<Size>,
    /// Smallest and largest of each direction, bytes.
    pub ends: PerDirection<(u64, u64)>,
    /// Offsets are multiples of this, where `ba` says so; 0: of the smallest size.
    pub align: PerDirection<u64>,
}

/// fio's block where none is given.
const BLOCK: u64 = 4096;

impl Blocks {
    /// What a job says.
    pub fn of(ask: &mut OptionReader<'_>, direction: &Direction) -> Blocks {
        let each = ranges(ask).zip(ask.splits("bssplit").cloned().unwrap_or_default());
        let each = each.map(|(range, table)| match table {
            Some(table) => (split(&table), ends(&table)),
            None => (sized(ask, range), range),
        });
        let (size, ends) = (each.clone().map(|(size, _)| size), each.map(|(_, ends)| ends));
        let aligns = ask.triple("ba").cloned().unwrap_or_default();
        let align =
            aligns.zip(size.clone()).map(|(bytes, size)| bytes.unwrap_or_else(|| followed(&size, direction)));
        let blocks = Blocks { size, ends, align };
        if blocks.used(direction).iter().any(|(least, _)| *least == 0) {
            ask.refuse("bs", "a block of 0 bytes", "give a block size of at least 1 byte, e.g. bs=4k");
        }
        blocks
    }

    /// Ends of the directions that a job uses.
    pub fn used(&self, direction: &Direction) -> Vec<(u64, u64)> {
        let each = [
            (direction.reads, self.ends.read),
            (direction.writes, self.ends.write),
            (direction.trims, self.ends.trim),
        ];
        each.iter().filter(|(is, _)| *is).map(|(_, ends)| *ends).collect()
    }

    /// The smallest block that can come, of any direction, as fio rounds by it.
    pub fn least(&self) -> u64 {
        let ends = &self.ends;
        ends.read.0.min(ends.write.0).min(ends.trim.0).max(1)
    }

    /// Whether the alignment of a used direction differs from its smallest block.
    pub fn moves_align(&self, direction: &Direction) -> bool {
        let each = [
            (direction.reads, self.align.read, self.ends.read.0),
            (direction.writes, self.align.write, self.ends.write.0),
            (direction.trims, self.align.trim, self.ends.trim.0),
        ];
        each.iter().any(|(is, align, least)| *is && *align != 0 && align != least)
    }

    /// Whether every block of the directions that are used has the same size.
    pub fn all_alike(&self, direction: &Direction) -> bool {
        let used = self.used(direction);
        used.iter().all(|(least, most)| least == most && *least == used[0].0)
    }
}

/// Smallest and largest of each direction.
fn ranges(ask: &OptionReader<'_>) -> PerDirection<(u64, u64)> {
    let fixed = ask.triple("bs").cloned().unwrap_or_default().map(|bytes| bytes.unwrap_or(BLOCK));
    let ranges = ask.ranges("bsrange").cloned().unwrap_or_default().zip(fixed);
    ranges.map(|(range, fixed)| range.unwrap_or((fixed, fixed)))
}

fn sized(ask: &OptionReader<'_>, (least_bytes, most_bytes): (u64, u64)) -> Size {
    match least_bytes == most_bytes {
        true => Size::Fixed(least_bytes),
        false => {
            let step_bytes = if ask.flag("bs_unaligned", false) { 1 } else { least_bytes.max(1) };
            // The largest that is drawn is a multiple too.
            let most_bytes = least_bytes + (most_bytes - least_bytes) / step_bytes * step_bytes;
            Size::Uniform { least_bytes, most_bytes, step_bytes }
        }
    }
}

/// What comes of a table: what goes beyond 100 % never comes, and the last takes what is left.
fn split(table: &[(u64, f64)]) -> Size {
    let mut left = 100.0;
    let mut used: Vec<(u64, f64)> = Vec::new();
    for (bytes, percent) in table {
        let percent = percent.min(left);
        left -= percent;
        used.push((*bytes, percent));
    }
    if let Some(last) = used.last_mut() {
        last.1 += left;
    }
    used.retain(|(_, percent)| *percent > 0.0);
    match used.as_slice() {
        [(bytes, _)] => Size::Fixed(*bytes),
        _ => Size::Split(used),
    }
}

/// What offsets in sequence are multiples of, so that each block begins where the one before it ends; 0: of the smallest
/// block, which does it too, or they are drawn.
fn followed(size: &Size, direction: &Direction) -> u64 {
    match size {
        Size::Split(table) if !direction.random => {
            let all = table.iter().fold(0, |all, (bytes, _)| common(all, *bytes));
            if table.iter().any(|(bytes, _)| *bytes == all) { 0 } else { all }
        }
        _ => 0,
    }
}

/// The largest number that divides both.
pub fn common(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { common(b, a % b) }
}

/// Smallest and largest of a table, whether they come or not.
fn ends(table: &[(u64, f64)]) -> (u64, u64) {
    let sizes = table.iter().map(|(bytes, _)| *bytes);
    (sizes.clone().min().unwrap_or(BLOCK), sizes.max().unwrap_or(BLOCK))
}
