//! Traces made of traces: adapters from a source of records to another, in bounded memory.

mod anonymise;
mod cut;
mod filter;
mod merge;
mod positions;
mod relocate;
mod renumbering;
mod scale;

#[cfg(test)]
mod tests;

pub use anonymise::{Anonymise, NameStyle};
pub use cut::{Cut, CutRange};
pub use filter::{Filter, RecordFilter};
pub use merge::{Merge, MergeStart};
pub use relocate::{PlaceRule, Relocate};
pub use scale::{Factor, Scale};

use crate::{Batch, RecordSource, Tables, TraceError, TraceHeader};

/// What an adapter reads.
pub type Source = Box<dyn RecordSource + Send>;

/// The part of an adapter that differs: what becomes of a batch.
pub trait Transform {
    /// Changes a batch in place; all that it names is in `tables`, those of the source. An empty batch is the source's
    /// end: what became known until then is in the tables. False: the rest of the source is not wanted.
    ///
    /// # Errors
    /// What cannot be done to a record.
    fn records(&mut self, batch: &mut Batch, tables: &Tables) -> Result<bool, TraceError>;

    /// The tables of the result; none: those of the source.
    fn tables(&self) -> Option<&Tables>;

    /// Changes the header of the source to that of the result.
    fn header(&self, header: &mut TraceHeader);
}

/// A source whose records go through a [`Transform`].
pub struct Adapter<T> {
    source: Source,
    transform: T,
    header: TraceHeader,
    is_ended: bool,
}

impl<T: Transform> Adapter<T> {
    pub fn new(source: Source, transform: T) -> Adapter<T> {
        let mut header = source.header().clone();
        transform.header(&mut header);
        Adapter { source, transform, header, is_ended: false }
    }
}

impl<T: Transform> RecordSource for Adapter<T> {
    fn header(&self) -> &TraceHeader {
        &self.header
    }

    fn tables(&self) -> &Tables {
        self.transform.tables().unwrap_or_else(|| self.source.tables())
    }

    fn next_batch(&mut self, batch: &mut Batch) -> Result<(), TraceError> {
        batch.clear();
        while batch.is_empty() && !self.is_ended {
            self.source.next_batch(batch)?;
            self.is_ended = batch.is_empty();
            if !self.transform.records(batch, self.source.tables())? && !self.is_ended {
                self.is_ended = true;
                self.transform.records(&mut Batch::new(), self.source.tables())?;
            }
        }
        if self.is_ended {
            self.header = self.source.header().clone();
            self.transform.header(&mut self.header);
        }
        Ok(())
    }
}

/// A note about dependencies that could not be kept; none: all were.
fn note_dropped(header: &mut TraceHeader, dropped: u64) {
    if dropped > 0 {
        header
            .notes
            .push(format!("{dropped} dependencies were removed: the records before them are not here."));
    }
}
