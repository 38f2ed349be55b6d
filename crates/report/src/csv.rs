//! The record as CSV: one row for each phase, job and label, with everything that makes its figures comparable.
//!
//! Written at the end of the run. A figure that cannot be told is an empty cell, never a 0. The columns are described
//! in `docs/json.md`; new ones are only ever added at the end.

use std::io;

use iodyno_model::{Event, JobRecord, Line, PhaseRecord, Record};
use iodyno_truth::passes::{Passes, Spread, Together, passes};

use crate::number;
use crate::shape::{self, Context, Shape};
use crate::tables::{ExportTable, TableCell, tables};
use crate::{Output, Reporter};

/// The columns, in order, with blanks between them.
pub const COLUMNS: &str = "phase repetition coordinates job label verb engine workers depth io_bytes io span_bytes mix \
    pattern direct seconds operations bytes operations_per_second bytes_per_second short failed latency_ns_mean \
    latency_ns_p50 latency_ns_p90 latency_ns_p99 latency_ns_p99_9 latency_ns_min latency_ns_max passes \
    operations_per_second_median operations_per_second_least operations_per_second_most bytes_per_second_median \
    bytes_per_second_least bytes_per_second_most latency_ns_mean_median simulated";

/// Writes the CSV report.
#[derive(Default)]
pub struct Csv {
    context: Context,
}

impl Csv {
    /// A CSV reporter.
    pub fn new() -> Self {
        Csv::default()
    }

    fn record(&self, record: &Record, output: &mut Output<'_>) -> io::Result<()> {
        let mut writer = csv::Writer::from_writer(&mut *output.out);
        writer.write_record(COLUMNS.split(' ')).map_err(io::Error::other)?;
        let medians = Medians::of(record);
        for phase in &record.phases {
            for job in &phase.jobs {
                let shape = self.context.shape(phase, job);
                for line in &job.tally.lines {
                    let row = row(phase, job, line, &shape, &medians);
                    writer.write_record(row).map_err(io::Error::other)?;
                }
            }
        }
        writer.flush()
    }
}

/// Writes every table of the record as a CSV file of its own, in a folder.
pub struct CsvFolder {
    folder: String,
    context: Context,
}

impl CsvFolder {
    /// Into that folder, which is made.
    pub fn new(folder: &str) -> Self {
        CsvFolder { folder: folder.trim_end_matches('/').into(), context: Context::default() }
    }
}

impl Reporter for CsvFolder {
    fn event(&mut self, event: &Event, output: &mut Output<'_>) -> io::Result<()> {
        self.context.event(event);
        let Event::Ended(record) = event else { return Ok(()) };
        output.files.folder(&self.folder)?;
        for mut table in tables(record, &self.context) {
            mark(&mut table, &self.context);
            let path = format!("{}/{}.csv", self.folder, table.name);
            let mut writer = csv::Writer::from_writer(output.files.file(&path)?);
            writer.write_record(&table.headings).map_err(io::Error::other)?;
            for row in &table.rows {
                writer.write_record(row.iter().map(|cell| cell.field())).map_err(io::Error::other)?;
            }
            writer.flush()?;
            drop(writer);
            output.files.close(&path)?;
        }
        Ok(())
    }
}

impl Reporter for Csv {
    fn event(&mut self, event: &Event, output: &mut Output<'_>) -> io::Result<()> {
        self.context.event(event);
        match event {
            Event::Ended(record) => self.record(record, output),
            _ => Ok(()),
        }
    }
}

/// Each file of a folder may be read without the others: of a simulated run each says so in a column of its own.
fn mark(table: &mut ExportTable, context: &Context) {
    let Some(device) = context.simulated().filter(|_| table.name != "results") else { return };
    table.headings.push("simulated".into());
    table.rows.iter_mut().for_each(|row| row.push(TableCell::Text(device.into())));
}

/// What passes came to together, of jobs that were done more than once.
pub struct Medians<'a>(Vec<(Passes<'a>, Vec<Together>)>);

impl<'a> Medians<'a> {
    pub fn of(record: &'a Record) -> Self {
        let several = passes(record).into_iter().filter(Passes::is_several);
        Medians(several.map(|passes| (passes.clone(), passes.together())).collect())
    }

    /// The cells of a line of a pass: empty, where it is none of several that are the result.
    fn cells(&self, job: &JobRecord, line: &Line) -> [String; 8] {
        let is_of = |(passes, _): &&(Passes<'_>, Vec<Together>)| {
            passes.result.iter().any(|(_, other)| std::ptr::eq(*other, job))
        };
        let found = self.0.iter().find(is_of).and_then(|(passes, together)| {
            let is_it = |other: &&Together| other.label == line.label && other.verb == line.verb;
            Some((passes.result.len(), together.iter().find(is_it)?))
        });
        let Some((count, together)) = found else { return Default::default() };
        let bytes = |of: fn(&Spread) -> f64| {
            together.bytes.as_ref().map_or_else(String::new, |spread| format!("{:.0}", of(spread)))
        };
        let mean = together.mean_ns.map_or_else(String::new, |spread| format!("{:.0}", spread.median));
        [
            count.to_string(),
            format!("{:.3}", together.rate.median),
            format!("{:.3}", together.rate.least),
            format!("{:.3}", together.rate.most),
            bytes(|spread| spread.median),
            bytes(|spread| spread.least),
            bytes(|spread| spread.most),
            mean,
        ]
    }
}

/// One row of the results, as long as the columns.
pub fn row(
    phase: &PhaseRecord,
    job: &JobRecord,
    line: &Line,
    shape: &Shape,
    medians: &Medians<'_>,
) -> Vec<String> {
    let optional = |value: Option<u64>| value.map_or_else(String::new, |value| value.to_string());
    let latency = &line.latency;
    let known = |value: u64| optional((!latency.is_empty()).then_some(value));
    let coordinates: Vec<String> =
        phase.coordinates.iter().map(|place| format!("{}={}", place.parameter.name(), place.value)).collect();
    let mut cells = vec![
        phase.name.clone(),
        phase.repetition.to_string(),
        coordinates.join(";"),
        job.name.clone(),
        line.label.clone(),
        line.verb.name().into(),
        shape.engine.clone(),
        shape.workers.to_string(),
        shape.depth.to_string(),
        optional(shape.io_bytes),
        shape.io.clone(),
        optional(shape.span_bytes),
        shape.mix.clone(),
        shape.pattern.clone(),
        shape.direct.map_or("", |direct| if direct { "yes" } else { "no" }).into(),
        format!("{:.6}", shape::seconds(phase, job)),
        line.operations.to_string(),
        line.bytes.to_string(),
        format!("{:.3}", shape::per_second(line.operations, phase, job)),
        format!("{:.0}", shape::per_second(line.bytes, phase, job)),
        line.short.to_string(),
        line.failed.to_string(),
        known(latency.mean().round() as u64),
        optional(number::percentile(latency, 50.0)),
        optional(number::percentile(latency, 90.0)),
        optional(number::percentile(latency, 99.0)),
        optional(number::percentile(latency, 99.9)),
        known(latency.min),
        known(latency.max),
    ];
    cells.extend(medians.cells(job, line));
    cells.push(shape.simulated.clone());
    cells
}
