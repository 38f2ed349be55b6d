//! Where records go.

use iodyno_trace::{Tables, TraceError, TraceRecord};

/// Takes records as they become complete, in the order of their issue.
pub trait RecordSink {
    /// `tables` has all files and threads that these records name.
    ///
    /// # Errors
    /// They cannot be kept: the recording ends.
    fn put(&mut self, tables: &Tables, records: &[TraceRecord]) -> Result<(), TraceError>;
}

/// All in memory.
#[derive(Debug, Default)]
pub struct MemorySink {
    pub tables: Tables,
    pub records: Vec<TraceRecord>,
}

impl RecordSink for MemorySink {
    fn put(&mut self, tables: &Tables, records: &[TraceRecord]) -> Result<(), TraceError> {
        self.tables.clone_from(tables);
        self.records.extend_from_slice(records);
        Ok(())
    }
}
