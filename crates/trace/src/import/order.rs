//! Records of one input in the order of time: what is a little out of order is sorted, what is far out is moved and counted;
//! stamps that are coarse are spread.

use super::context::ImportContext;
use crate::{RecordFlags, TraceError, TraceRecord};

/// How many records are held back to be sorted.
pub const WINDOW: usize = 8192;
/// How many records of equal stamps are spread together.
const MOST_ALIKE: usize = 1 << 18;

/// Reads an input of one format.
pub trait Decoder {
    /// Appends some records, whose times are [`sortable`]; whether there may be more.
    ///
    /// # Errors
    /// What makes the rest unreadable.
    fn decode(
        &mut self,
        context: &mut ImportContext,
        records: &mut Vec<TraceRecord>,
    ) -> Result<bool, TraceError>;
}

/// What a time stamp tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stamps {
    /// The moment, to this many ns.
    Exact(u64),
    /// An interval of this many ns, over which its records are spread evenly.
    Spread(u64),
}

impl Stamps {
    pub const fn resolution_ns(self) -> u64 {
        match self {
            Stamps::Exact(ns) | Stamps::Spread(ns) => ns,
        }
    }
}

/// A time of the source's clock as a number that sorts the same.
pub const fn sortable(ns: i64) -> u64 {
    ns as u64 ^ 1 << 63
}

/// The time that [`sortable`] made a number of.
pub const fn source_ns(sortable: u64) -> i64 {
    (sortable ^ 1 << 63) as i64
}

/// Values in the order of their times, as far as a window of them can tell.
pub struct SortWindow<T> {
    held: Vec<T>,
    /// How many of `held` were given out.
    given: usize,
    /// How many may be given out.
    sorted: usize,
    time: fn(&T) -> u64,
    last: u64,
}

impl<T> SortWindow<T> {
    pub fn new(time: fn(&T) -> u64) -> SortWindow<T> {
        SortWindow { held: Vec::new(), given: 0, sorted: 0, time, last: 0 }
    }

    /// Where new values go, behind those that are held.
    pub fn tail(&mut self) -> &mut Vec<T> {
        self.held.drain(..self.given);
        (self.given, self.sorted) = (0, 0);
        &mut self.held
    }

    /// Sorts what is held; `is_end`: nothing will follow.
    pub fn sort(&mut self, is_end: bool) {
        let time = self.time;
        if !self.held.is_sorted_by_key(time) {
            self.held.sort_by_key(time);
        }
        self.sorted = if is_end { self.held.len() } else { self.held.len().saturating_sub(WINDOW) };
    }

    /// The next value, if one may be given out, with how far its time lies before that of the one before it, ns.
    pub fn next(&mut self) -> Option<(&mut T, u64)> {
        if self.given == self.sorted {
            return None;
        }
        let value = &mut self.held[self.given];
        self.given += 1;
        let time = (self.time)(value);
        let late = self.last.saturating_sub(time);
        self.last = self.last.max(time);
        Some((value, late))
    }
}

/// A decoder's records in the order of time.
pub struct OrderedRecords {
    decoder: Box<dyn Decoder + Send>,
    window: SortWindow<TraceRecord>,
    is_ended: bool,
    stamps: Stamps,
    ready: Vec<TraceRecord>,
    at: usize,
    /// Records of equal stamps that wait for the first of another stamp.
    alike: Vec<TraceRecord>,
    spread: SpreadState,
}

/// How much of the present interval was given to records already.
#[derive(Default)]
struct SpreadState {
    stamp: u64,
    used_ns: u64,
}

impl OrderedRecords {
    pub fn new(decoder: Box<dyn Decoder + Send>, stamps: Stamps) -> OrderedRecords {
        OrderedRecords {
            decoder,
            window: SortWindow::new(|record| record.at_ns),
            is_ended: false,
            stamps,
            ready: Vec::new(),
            at: 0,
            alike: Vec::new(),
            spread: SpreadState::default(),
        }
    }

    /// The next record, which stays.
    ///
    /// # Errors
    /// Those of the decoder.
    pub fn peek(&mut self, context: &mut ImportContext) -> Result<Option<&TraceRecord>, TraceError> {
        while self.at == self.ready.len() && !self.is_ended {
            self.refill(context)?;
        }
        Ok(self.ready.get(self.at))
    }

    /// Takes the record that [`OrderedRecords::peek`] showed.
    pub fn take(&mut self) -> Option<TraceRecord> {
        let record = self.ready.get(self.at).copied();
        self.at += usize::from(record.is_some());
        record
    }

    /// Moves what is ready into `batch`, at most `most`.
    pub fn move_ready(&mut self, batch: &mut Vec<TraceRecord>, most: usize) {
        let end = self.ready.len().min(self.at + most);
        batch.extend_from_slice(&self.ready[self.at..end]);
        self.at = end;
    }

    fn refill(&mut self, context: &mut ImportContext) -> Result<(), TraceError> {
        self.ready.clear();
        self.at = 0;
        let tail = self.window.tail();
        let enough = tail.len() + WINDOW;
        while !self.is_ended && tail.len() < enough {
            self.is_ended = !self.decoder.decode(context, tail)?;
        }
        self.window.sort(self.is_ended);
        let mut late = 0;
        while let Some((record, late_ns)) = self.window.next() {
            if late_ns > 0 {
                late += 1;
                record.at_ns += late_ns;
            }
            match self.stamps {
                Stamps::Exact(_) => self.ready.push(*record),
                Stamps::Spread(interval_ns) => {
                    let gap_ns = self.alike.last().map_or(0, |last| record.at_ns - last.at_ns);
                    if gap_ns > 0 || self.alike.len() >= MOST_ALIKE {
                        // Some stamps are finer than the interval.
                        let interval_ns = if gap_ns > 0 { interval_ns.min(gap_ns) } else { interval_ns };
                        spread(&mut self.alike, &mut self.ready, &mut self.spread, interval_ns, gap_ns > 0);
                    }
                    self.alike.push(*record);
                }
            }
        }
        context.count("records more than 8192 places out of order, moved to the time before them", late);
        if let (true, Stamps::Spread(interval_ns)) = (self.is_ended, self.stamps) {
            spread(&mut self.alike, &mut self.ready, &mut self.spread, interval_ns, true);
        }
        Ok(())
    }
}

/// Gives each of the records with equal stamps its share of what is left of their interval: all of it, or half where more
/// of them follow.
fn spread(
    alike: &mut Vec<TraceRecord>,
    ready: &mut Vec<TraceRecord>,
    state: &mut SpreadState,
    interval_ns: u64,
    is_last: bool,
) {
    let Some(stamp) = alike.first().map(|record| record.at_ns) else { return };
    if state.stamp != stamp {
        *state = SpreadState { stamp, used_ns: 0 };
    }
    let left_ns = interval_ns.saturating_sub(state.used_ns);
    let share_ns = if is_last { left_ns } else { left_ns / 2 };
    let count = alike.len() as u128;
    for (index, mut record) in alike.drain(..).enumerate() {
        let part_ns = (u128::from(share_ns) * index as u128 / count) as u64;
        record.at_ns += state.used_ns + part_ns;
        record.flags = record.flags.with(RecordFlags::SPREAD);
        ready.push(record);
    }
    state.used_ns += share_ns;
}

#[cfg(test)]
mod tests {
    use super::*;
    use iodyno_model::Verb;

    struct Fixed(Vec<i64>);

    impl Decoder for Fixed {
        fn decode(
            &mut self,
            _: &mut ImportContext,
            records: &mut Vec<TraceRecord>,
        ) -> Result<bool, TraceError> {
            let end = self.0.len().min(1000);
            records.extend(self.0.drain(..end).map(|ns| TraceRecord::new(sortable(ns), Verb::Read, 0, 0, 1)));
            Ok(!self.0.is_empty())
        }
    }

    fn times(source: Vec<i64>, stamps: Stamps) -> (Vec<i64>, Vec<String>) {
        let mut context = ImportContext::new(false);
        let mut ordered = OrderedRecords::new(Box::new(Fixed(source)), stamps);
        let mut times = Vec::new();
        while ordered.peek(&mut context).unwrap().is_some() {
            times.push(source_ns(ordered.take().unwrap().at_ns));
        }
        context.update_notes();
        (times, context.header.notes)
    }

    #[test]
    fn small_disorder_is_sorted_and_large_is_counted() {
        // Pieces of 8000, each backwards.
        let mut source: Vec<i64> = (-20_000..20_000).collect();
        source.chunks_mut(8000).for_each(<[i64]>::reverse);
        let (sorted, notes) = times(source, Stamps::Exact(1));
        assert!(sorted.is_sorted() && sorted.len() == 40_000 && notes.is_empty(), "{notes:?}");
        let (moved, notes) = times((0..20_000).chain(-20_000..0).collect(), Stamps::Exact(1));
        assert!(moved.is_sorted() && moved.len() == 40_000);
        assert_eq!(
            notes,
            ["records more than 8192 places out of order, moved to the time before them: 20000"]
        );
    }

    #[test]
    fn equal_stamps_are_spread_within_their_interval() {
        let (spread, _) = times(vec![5, 5, 5, 5, 15, 25, 25], Stamps::Spread(10));
        assert_eq!(spread, [5, 7, 10, 12, 15, 25, 30]);
        let (finer, _) = times(vec![0, 0, 4, 4], Stamps::Spread(10));
        assert_eq!(finer, [0, 2, 4, 9]);
        let (many, _) = times(vec![0; 600_000], Stamps::Spread(1_000_000_000));
        assert!(many.is_sorted() && many.len() == 600_000 && *many.last().unwrap() < 1_000_000_000);
        assert!(many[MOST_ALIKE] == 500_000_000 && many[2 * MOST_ALIKE] == 750_000_000);
    }
}
