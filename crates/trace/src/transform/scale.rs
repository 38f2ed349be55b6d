//! The same load faster or slower, on a larger or smaller place.

use std::str::FromStr;

use iodyno_model::Verb;

use crate::format::has_range;
use crate::transform::{Adapter, Source, Transform};
use crate::{Batch, Dependency, RecordSource, Tables, TraceError, TraceHeader};

/// A positive factor, exact: `2`, `0.25`, `1/3`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Factor {
    over: u64,
    under: u64,
}

impl Factor {
    pub const ONE: Factor = Factor { over: 1, under: 1 };

    /// The product, rounded down; none: beyond 64 bits.
    pub fn of(self, value: u64) -> Option<u64> {
        u64::try_from(u128::from(value) * u128::from(self.over) / u128::from(self.under)).ok()
    }
}

impl FromStr for Factor {
    type Err = String;

    fn from_str(text: &str) -> Result<Factor, String> {
        let expected = || format!("`{text}`: expected a factor such as 2, 0.25 or 1/3");
        let (over, under) = text.split_once('/').unwrap_or((text, "1"));
        let (whole, rest) = over.split_once('.').unwrap_or((over, ""));
        let is_number = |digits: &str| digits.bytes().all(|byte| byte.is_ascii_digit());
        if rest.len() > 9 || !is_number(whole) || !is_number(rest) || whole.len() + rest.len() == 0 {
            return Err(expected());
        }
        let over: u64 = format!("{whole}{rest}").parse().map_err(|_| expected())?;
        let under: u64 = under.parse().map_err(|_| expected())?;
        let under = under.checked_mul(10u64.pow(rest.len() as u32)).ok_or_else(expected)?;
        if over == 0 || under == 0 {
            return Err(format!("`{text}`: the factor must be above 0"));
        }
        Ok(Factor { over, under })
    }
}

/// Multiplies times of issue, and places.
pub struct Scale {
    times: Factor,
    places: Factor,
    /// Places are rounded down to a multiple of this.
    align: u64,
    tables: Tables,
}

impl Scale {
    /// Latencies and sizes stay as they are: they are the device's and the program's. Sizes of files grow with the places.
    pub fn of(source: Source, times: Factor, places: Factor, align: u64) -> impl RecordSource + Send {
        Adapter::new(source, Scale { times, places, align: align.max(1), tables: Tables::default() })
    }

    fn place(&self, value: u64) -> Result<u64, TraceError> {
        let place = self
            .places
            .of(value)
            .ok_or_else(|| TraceError::new(format!("the offset {value} becomes too large")))?;
        Ok(if self.places == Factor::ONE { place } else { place / self.align * self.align })
    }

    fn time(&self, value: u64) -> Result<u64, TraceError> {
        self.times.of(value).ok_or_else(|| TraceError::new(format!("the time {value} becomes too large")))
    }

    fn follow(&mut self, tables: &Tables, from: usize) {
        self.tables.files.truncate(from);
        for file in &tables.files[from.min(tables.files.len())..] {
            let mut file = file.clone();
            file.bytes = file.bytes.map(|bytes| self.places.of(bytes).unwrap_or(u64::MAX));
            self.tables.files.push(file);
        }
        self.tables.threads.extend(tables.threads.iter().skip(self.tables.threads.len()).cloned());
    }
}

impl Transform for Scale {
    fn records(&mut self, batch: &mut Batch, tables: &Tables) -> Result<bool, TraceError> {
        self.follow(tables, if batch.is_empty() { 0 } else { self.tables.files.len() });
        for record in batch {
            record.at_ns = self.time(record.at_ns)?;
            if let Some(after) = record.after {
                record.after = Some(Dependency { think_ns: self.time(after.think_ns)?, ..after });
            }
            if has_place(record.verb) {
                record.offset = self.place(record.offset)?;
            }
            if record.verb == Verb::Truncate {
                record.bytes = self.place(record.bytes)?;
            }
        }
        Ok(true)
    }

    fn tables(&self) -> Option<&Tables> {
        Some(&self.tables)
    }

    fn header(&self, header: &mut TraceHeader) {
        for (what, Factor { over, under }) in [("Times", self.times), ("Offsets", self.places)] {
            match (over, under) {
                (over, under) if over == under => {}
                (over, 1) => header.notes.push(format!("{what} were multiplied by {over}.")),
                (over, under) => header.notes.push(format!("{what} were multiplied by {over}/{under}.")),
            }
        }
    }
}

/// Whether the offset of such a record is a place in its file.
fn has_place(verb: Verb) -> bool {
    has_range(verb)
        || matches!(
            verb,
            Verb::SyncFileRange | Verb::Msync | Verb::Fallocate | Verb::Fadvise | Verb::Lock | Verb::Unlock
        )
}
