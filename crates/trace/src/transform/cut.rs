//! A part of a trace, by time or by record.

use std::ops::Range;

use crate::transform::positions::Positions;
use crate::transform::renumbering::Renumbering;
use crate::transform::{Adapter, Source, Transform, note_dropped};
use crate::{Batch, RecordSource, Tables, TraceError, TraceHeader};

/// What is kept: from the first up to, but without, the last.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CutRange {
    /// By the time of issue, ns.
    Time(Range<u64>),
    /// By number, from 0.
    Records(Range<u64>),
}

/// Keeps a part of a trace. Its time begins at 0 again: where the range of time begins, or with its first record.
pub struct Cut {
    range: CutRange,
    /// The source's number of its next record.
    next: u64,
    kept: u64,
    /// What becomes time 0, once known.
    zero_ns: Option<u64>,
    positions: Positions,
    renumbering: Renumbering,
}

impl Cut {
    /// `first_record`: the number of the first record that the source gives, where it begins later in its trace.
    pub fn of(source: Source, range: CutRange, first_record: u64) -> impl RecordSource + Send {
        let zero_ns = match &range {
            CutRange::Time(times) => Some(times.start),
            CutRange::Records(_) => None,
        };
        let cut = Cut {
            range,
            next: first_record,
            kept: 0,
            zero_ns,
            positions: Positions::default(),
            renumbering: Renumbering::default(),
        };
        Adapter::new(source, cut)
    }
}

impl Transform for Cut {
    fn records(&mut self, batch: &mut Batch, tables: &Tables) -> Result<bool, TraceError> {
        if batch.is_empty() {
            self.renumbering.update(tables);
            return Ok(true);
        }
        let mut is_wanted = true;
        batch.retain_mut(|record| {
            let (at, range) = match &self.range {
                CutRange::Time(times) => (record.at_ns, times),
                CutRange::Records(records) => (self.next, records),
            };
            self.next += 1;
            is_wanted &= at < range.end;
            if !range.contains(&at) {
                self.positions.leave_out();
                return false;
            }
            record.at_ns -= *self.zero_ns.get_or_insert(record.at_ns);
            self.positions.keep(record, self.kept);
            self.renumbering.apply(record, tables);
            self.kept += 1;
            true
        });
        // The record after the last one may be in a block that is damaged.
        is_wanted &= !matches!(&self.range, CutRange::Records(records) if self.next >= records.end);
        Ok(is_wanted)
    }

    fn tables(&self) -> Option<&Tables> {
        Some(self.renumbering.tables())
    }

    fn header(&self, header: &mut TraceHeader) {
        let zero = i64::try_from(self.zero_ns.unwrap_or(0)).unwrap_or(i64::MAX);
        header.began_unix_ns = header.began_unix_ns.map(|began| began.saturating_add(zero));
        note_dropped(header, self.positions.dropped());
    }
}
