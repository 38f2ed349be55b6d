//! `iodyno trace cut`.

use std::ops::Range;

use clap::{ArgGroup, Args};
use iodyno_model::Diagnostic;
use iodyno_trace::transform::{Cut, CutRange};
use iodyno_trace::{RecordSource, TraceError};

use super::output::OutputArgs;
use super::{Answer, input, words, written};

#[derive(Args)]
#[command(group = ArgGroup::new("part").required(true).args(["time", "records"]))]
pub struct CutArgs {
    /// The trace; -: standard input
    #[arg(value_name = "TRACE")]
    trace: String,
    /// What was issued from A up to B, since the trace's start: 10s..1min, 2h.., ..500ms
    #[arg(long, value_name = "A..B", value_parser = words::times)]
    time: Option<Range<u64>>,
    /// Records by number, from 0: 0..1000000
    #[arg(long, value_name = "A..B", value_parser = words::numbers)]
    records: Option<Range<u64>>,
    #[command(flatten)]
    output: OutputArgs,
}

pub fn answer(words: &CutArgs) -> Answer {
    let range = match (&words.time, &words.records) {
        (Some(times), _) => CutRange::Time(times.clone()),
        (None, Some(records)) => CutRange::Records(records.clone()),
        (None, None) => CutRange::Records(0..u64::MAX),
    };
    let (source, first_record) = open(&words.trace, &range)?;
    written::write(&mut Cut::of(source, range, first_record), &words.output, &words.trace)
}

type Opened = (Box<dyn RecordSource + Send>, u64);

/// The trace from where the range begins, where it has an index; else from its start. With the number of its first record.
fn open(path: &str, range: &CutRange) -> Result<Opened, Diagnostic> {
    if path != "-"
        && let Some(sought) = sought(path, range)
    {
        return sought.map_err(|error| input::wrong(path, &error));
    }
    Ok((input::open(path)?, 0))
}

/// None: it has no index that can be used.
fn sought(path: &str, range: &CutRange) -> Option<Result<Opened, TraceError>> {
    let mut reader = input::open_seekable(path).ok().filter(|reader| !reader.blocks().is_empty())?;
    let first = match range {
        // Not to the record itself: records at one time may be in two blocks.
        CutRange::Time(times) => reader.seek_to_time(times.start).map(|()| 0),
        CutRange::Records(records) => reader.seek_to_record(records.start).map(|()| records.start),
    };
    Some(first.map(|first| (Box::new(reader) as Box<dyn RecordSource + Send>, first)))
}
