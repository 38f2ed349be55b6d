//! A synthetic load that resembles a trace, and how far it is from it.
//!
//! For each of the busiest files there is one job of random and one of sequential accesses, each with its mix, its sizes,
//! its places, its arrivals and its depth. The fitted load is generated (`generate`) and counted like the trace itself, so
//! that the distances (`distance`) are those of what a plan of it would do.

mod collect;
mod distance;
mod fio;
mod generate;
mod places;
mod plan;

use iodyno_model::Verb;

use crate::statistics::TraceStatistics;
use crate::{RecordSource, TraceError};

pub use collect::{FILES_MOST, JOBS_MOST};
pub use distance::{DispersionPair, FitDistance, largest_difference};
pub use fio::job_file;
pub use generate::FittedSource;
pub use plan::plan_file;

/// What was fitted.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FittedLoad {
    /// How long the trace is, ns.
    pub span_ns: u64,
    pub jobs: Vec<FittedJob>,
    /// What a plan cannot say, or what was left out; a sentence each.
    pub notes: Vec<String>,
}

/// One job on one file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FittedJob {
    /// Index into the trace's files.
    pub file: u32,
    /// The file's name in the trace.
    pub name: String,
    /// Where the last access of any job of the file ends, bytes.
    pub file_bytes: u64,
    pub sequential: bool,
    pub operations: u64,
    /// Reads, writes and trims with their shares, percent.
    pub mix: Vec<(Verb, f64)>,
    /// Sizes of each verb of the mix with their shares, percent.
    pub sizes: Vec<(Verb, Vec<(u64, f64)>)>,
    /// Offsets are multiples of this.
    pub align: u64,
    pub places: FittedPlaces,
    /// Operations of a run; 1: each picks a place of its own.
    pub run: u32,
    /// A sync of that verb after so many writes.
    pub sync: Option<(Verb, u64)>,
    pub arrivals: FittedArrivals,
    pub depth: u32,
    /// Most accesses went past the page cache, or straight to a device.
    pub direct: bool,
}

/// Where random accesses go.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum FittedPlaces {
    /// One after the other, from the beginning of the file.
    #[default]
    Sequential,
    /// Parts of the file in order: percent of the file, percent of the accesses.
    Zones(Vec<(f64, f64)>),
    /// The k-th most popular place has a probability ∝ k^-theta.
    Zipf(f64),
}

/// When operations are due.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct FittedArrivals {
    /// Per second, during a burst.
    pub rate: f64,
    /// Exponential distances; else even ones.
    pub poisson: bool,
    /// Operations that are due together.
    pub together: u32,
    /// After so many operations …
    pub burst: u64,
    /// … nothing for so long, ns; 0: no pauses.
    pub pause_ns: u64,
}

/// Reads a source to its end: its statistics, and the load that is fitted to it.
///
/// # Errors
/// Those of the source; a trace without reads, writes and trims.
pub fn fit(source: &mut dyn RecordSource) -> Result<(TraceStatistics, FittedLoad), TraceError> {
    let mut collector = collect::FitCollector::default();
    let mut statistics = TraceStatistics::default();
    let mut batch = crate::Batch::new();
    loop {
        source.next_batch(&mut batch)?;
        if batch.is_empty() {
            break;
        }
        for record in &batch {
            statistics.add(record);
            collector.add(record);
        }
    }
    statistics.header = source.header().clone();
    statistics.tables = source.tables().clone();
    statistics.end();
    let load = collector.fit(&statistics);
    if load.jobs.is_empty() {
        return Err(TraceError::new("it has no reads, writes or trims to fit a load to")
            .hint("iodyno trace stat shows what it has"));
    }
    Ok((statistics, load))
}

/// How far the fitted load is from the trace. At most so many operations are generated.
///
/// # Errors
/// None that a generated source can have.
pub fn distance(
    statistics: &TraceStatistics,
    load: &FittedLoad,
    operations_most: u64,
    seed: u64,
) -> Result<FitDistance, TraceError> {
    let mut source = FittedSource::new(load, seed, operations_most);
    let generated = TraceStatistics::of(&mut source)?;
    Ok(FitDistance::between(statistics, &generated, load))
}

#[cfg(test)]
mod tests;
