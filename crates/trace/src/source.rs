//! A stream of records.

use crate::columns::ColumnSource;
use crate::{Tables, TraceError, TraceHeader, TraceRecord};

/// A batch of records, in the order of their issue.
pub type Batch = Vec<TraceRecord>;

/// A stream of records, ordered by `at_ns`.
pub trait RecordSource {
    /// Its notes may grow until the end is reached.
    fn header(&self) -> &TraceHeader;

    /// All files and threads that the batches so far name.
    fn tables(&self) -> &Tables;

    /// Puts the next records into `batch`, which it empties first; an empty batch is the end. At most 65,536 records.
    ///
    /// # Errors
    /// What makes the rest unreadable. What could be repaired is counted and becomes a note.
    fn next_batch(&mut self, batch: &mut Batch) -> Result<(), TraceError>;

    /// The same source, where it can tell its records as columns.
    fn columns(&mut self) -> Option<&mut dyn ColumnSource> {
        None
    }
}

impl<S: RecordSource + ?Sized> RecordSource for Box<S> {
    fn header(&self) -> &TraceHeader {
        (**self).header()
    }

    fn tables(&self) -> &Tables {
        (**self).tables()
    }

    fn next_batch(&mut self, batch: &mut Batch) -> Result<(), TraceError> {
        (**self).next_batch(batch)
    }

    fn columns(&mut self) -> Option<&mut dyn ColumnSource> {
        (**self).columns()
    }
}

/// A trace in memory.
#[derive(Clone, Debug, Default)]
pub struct MemorySource {
    pub header: TraceHeader,
    pub tables: Tables,
    pub records: Vec<TraceRecord>,
    at: usize,
}

impl MemorySource {
    pub fn new(header: TraceHeader, tables: Tables, records: Vec<TraceRecord>) -> MemorySource {
        MemorySource { header, tables, records, at: 0 }
    }

    /// All that a source has.
    ///
    /// # Errors
    /// Those of the source.
    pub fn of(source: &mut dyn RecordSource) -> Result<MemorySource, TraceError> {
        let (mut records, mut batch) = (Vec::new(), Batch::new());
        loop {
            source.next_batch(&mut batch)?;
            if batch.is_empty() {
                return Ok(MemorySource::new(source.header().clone(), source.tables().clone(), records));
            }
            records.append(&mut batch);
        }
    }
}

impl RecordSource for MemorySource {
    fn header(&self) -> &TraceHeader {
        &self.header
    }

    fn tables(&self) -> &Tables {
        &self.tables
    }

    fn next_batch(&mut self, batch: &mut Batch) -> Result<(), TraceError> {
        batch.clear();
        let end = self.records.len().min(self.at + 65_536);
        batch.extend_from_slice(&self.records[self.at..end]);
        self.at = end;
        Ok(())
    }
}
