//! All inputs of an import as one stream of records.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::block_events::BlockPoint;
use super::columns::ColumnMap;
use super::context::ImportContext;
use super::formats::{self, OpenTrace, within};
use super::order::{OrderedRecords, source_ns};
use super::sorted_runs::Scratch;
use super::unpack::{Input, Stream, unpack};
use crate::{Batch, RecordSource, Tables, TraceClock, TraceError, TraceHeader, TraceRecord};

/// Records of a batch.
const BATCH: usize = 16_384;

/// What a user says about an import.
#[derive(Clone, Debug, Default)]
pub struct ImportOptions {
    /// The format's name; none: it is told by the content.
    pub format: Option<String>,
    /// How a table is read that is no format of its own.
    pub csv: Option<ColumnMap>,
    /// Which events of block traces are records; none: D, and Q of devices without D.
    pub events: Option<BlockPoint>,
    /// Sizes of devices by their names, bytes.
    pub device_sizes: Vec<(String, u64)>,
    /// A wrong line ends the import.
    pub strict: bool,
    /// `wait` of fio's iolog 2 is what fio takes it for (ms since the start), not what its manual says.
    pub fio_wait: bool,
    /// Where formats that are not in the order of time put what does not fit into memory; none: that is refused.
    pub scratch: Option<Scratch>,
}

/// The records of an import.
pub struct Importer {
    context: ImportContext,
    inputs: Vec<OrderedRecords>,
    /// A reader of its own with the input's name, in place of inputs.
    source: Option<(Box<dyn RecordSource + Send>, String)>,
    /// The next record's time of each input, with its index.
    next: BinaryHeap<Reverse<(u64, usize)>>,
    is_started: bool,
    is_ended: bool,
    first: Option<u64>,
}

/// Opens the inputs of one trace.
///
/// # Errors
/// What cannot be opened or unpacked; no format that is known, or several.
pub fn import(inputs: &[Input], options: &ImportOptions) -> Result<Importer, TraceError> {
    let mut context = ImportContext::new(options.strict);
    let mut streams: Vec<Stream> = Vec::new();
    for input in inputs {
        streams.extend(unpack(input)?);
    }
    if streams.is_empty() {
        return Err(
            TraceError::new("there is no file in it").at(inputs.first().map_or("", |input| &input.name))
        );
    }
    let opened = match (&options.csv, &options.format) {
        (Some(_), Some(name)) => {
            return Err(
                TraceError::new(format!("both --csv and --as {name}")).hint("one of them says what it is")
            );
        }
        (Some(map), None) => {
            context.header.source = "csv".into();
            OpenTrace::Inputs(formats::open_columns(map, streams, &mut context))
        }
        (None, Some(name)) => formats::format_named(name)?.open(streams, options, &mut context)?,
        (None, None) => {
            let format = formats::detect(&mut streams, &mut context)?;
            format.open(streams, options, &mut context)?
        }
    };
    for (name, bytes) in &options.device_sizes {
        context.known_size(name, *bytes);
    }
    let (inputs, source) = match opened {
        OpenTrace::Inputs(inputs) => (inputs, None),
        OpenTrace::Source(source, name) => (Vec::new(), Some((source, name))),
    };
    Ok(Importer {
        context,
        inputs,
        source,
        next: BinaryHeap::new(),
        is_started: false,
        is_ended: false,
        first: None,
    })
}

impl Importer {
    /// When the first record was issued, by the source's clock.
    pub fn began_ns(&self) -> Option<i64> {
        self.first.map(source_ns)
    }

    /// What should be told at once, such as the first wrong lines; each is told once.
    pub fn take_messages(&mut self) -> Vec<String> {
        self.context.take_messages()
    }

    fn merge(&mut self, batch: &mut Batch) -> Result<(), TraceError> {
        if let [input] = &mut self.inputs[..] {
            if input.peek(&mut self.context)?.is_some() {
                input.move_ready(batch, BATCH);
            }
            return Ok(());
        }
        if !std::mem::replace(&mut self.is_started, true) {
            for index in 0..self.inputs.len() {
                self.push(index)?;
            }
        }
        while batch.len() < BATCH {
            let Some(Reverse((_, index))) = self.next.pop() else { return Ok(()) };
            batch.extend(self.inputs[index].take());
            self.push(index)?;
        }
        Ok(())
    }

    fn push(&mut self, index: usize) -> Result<(), TraceError> {
        if let Some(record) = self.inputs[index].peek(&mut self.context)? {
            self.next.push(Reverse((record.at_ns, index)));
        }
        Ok(())
    }

    /// Turns times of the source into times since the first record.
    fn rebase(&mut self, batch: &mut [TraceRecord]) {
        let Some(earliest) = batch.first().map(|record| record.at_ns) else { return };
        let first = *self.first.get_or_insert(earliest);
        let offset_ns = match self.context.header.clock {
            TraceClock::Realtime => Some(0),
            _ => self.context.unix_offset_ns,
        };
        if let Some(began_ns) = offset_ns.and_then(|offset_ns| source_ns(first).checked_add(offset_ns)) {
            self.context.header.began_unix_ns.get_or_insert(began_ns);
        }
        for record in batch {
            record.at_ns -= first;
        }
    }
}

impl RecordSource for Importer {
    fn header(&self) -> &TraceHeader {
        self.source.as_ref().map_or(&self.context.header, |(source, _)| source.header())
    }

    fn tables(&self) -> &Tables {
        self.source.as_ref().map_or(&self.context.tables, |(source, _)| source.tables())
    }

    fn next_batch(&mut self, batch: &mut Batch) -> Result<(), TraceError> {
        batch.clear();
        if let Some((source, name)) = &mut self.source {
            return source.next_batch(batch).map_err(|error| within(name, error));
        }
        if self.is_ended {
            return Ok(());
        }
        // What failed is not read again.
        self.is_ended = true;
        self.merge(batch)?;
        self.is_ended = batch.is_empty();
        self.rebase(batch);
        self.context.fill_sizes();
        self.context.check_sizes(batch);
        if self.is_ended {
            self.context.judge()?;
        }
        self.context.update_notes();
        Ok(())
    }
}
