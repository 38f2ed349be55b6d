//! Numbers inside texts that carry several of them: `iops:10k`, `60/10:30/20`.
//!
//! Each number alone is read as all of fio's numbers are, under the job's `kb_base`.

use super::super::number::{self, Base, TimeUnit};
use super::option_reader::OptionReader;

/// Bytes, by the job's `kb_base`.
pub fn bytes(text: &str, ask: &OptionReader<'_>) -> Option<u64> {
    let base = if ask.whole("kb_base") == Some(1000) { 1000 } else { 1024 };
    u64::try_from(number::bytes(text, Base(base)).ok()?).ok()
}

/// The parts of a text with commas, one for each direction; what is left out at the end follows the last, what is empty
/// is `None`.
pub fn directions(text: &str) -> [Option<&str>; 3] {
    let mut parts = text.split(',').map(str::trim);
    let mut last = parts.next().filter(|part| !part.is_empty());
    let mut all = [last; 3];
    for place in &mut all[1..] {
        if let Some(part) = parts.next() {
            last = Some(part).filter(|part| !part.is_empty());
        }
        *place = last;
    }
    all
}

/// Time in ns; a bare number is in the unit given.
pub fn time_ns(text: &str, unit: TimeUnit) -> Option<u64> {
    number::time_ns(text, unit).ok()
}
