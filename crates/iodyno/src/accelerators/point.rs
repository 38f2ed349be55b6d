//! What so many accelerators came to.

use iodyno_model::{AcceleratorRecord, Record, RunStart, Utilisation, training};
use iodyno_report::shape;
use iodyno_truth::limit::{processor_ns, processors_percent};

use super::workload::TrainingRun;
use crate::experiment_ranks::place;
use crate::limiting_part::limiting_part;

/// What so many accelerators came to.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FeedingPoint {
    pub accelerators: u32,
    /// The mean of all, and of the one that waited longest, percent.
    pub utilised_percent: f64,
    pub least_percent: f64,
    /// Which that is, where, and how long it waited, ns.
    pub late: u32,
    pub late_place: String,
    pub late_ns: u64,
    pub samples_per_second: f64,
    pub bytes_per_second: f64,
    /// Percent that came from the page cache; none: it is unknown.
    pub cached_percent: Option<f64>,
    /// Processor time of the readers, percent of all processors and ns for each sample; none: the time is virtual.
    pub processors_percent: Option<f64>,
    pub sample_ns: Option<f64>,
    /// What kept more from being fed.
    pub limit: String,
}

impl FeedingPoint {
    pub fn of(accelerators: u32, run: &TrainingRun, started: &RunStart, record: &Record) -> FeedingPoint {
        let mut point = FeedingPoint { accelerators, ..FeedingPoint::default() };
        let Some(phase) = record.phases.last() else { return point };
        let all = AcceleratorRecord::of(phase);
        if let Some(Utilisation { mean_percent, least }) = Utilisation::of(&all) {
            point.utilised_percent = mean_percent;
            (point.least_percent, point.late, point.late_ns) =
                (least.utilisation_percent(), least.index, least.load_ns);
            point.late_place = place(least.rank, &record.world);
        }
        let batch = f64::from(run.figures.batch);
        let rate =
            |each: &AcceleratorRecord| each.steps as f64 * batch / (each.elapsed_ns.max(1) as f64 / 1e9);
        point.samples_per_second = all.iter().map(rate).sum();
        point.bytes_per_second =
            phase.jobs.iter().map(|job| shape::per_second(job.tally.all_bytes(), phase, job)).sum();
        point.cached_percent = phase.cache.as_ref().and_then(|cache| cache.percent());
        if run.device.is_none() {
            let readers = phase.jobs.iter().filter(|job| job.name == training::READER);
            let used: u64 = readers.map(processor_ns).sum();
            let samples: f64 = all.iter().map(|each| each.steps as f64 * batch).sum();
            point.processors_percent =
                Some(processors_percent(used, phase, &started.machine, record.world.machines()));
            point.sample_ns = Some(used as f64 / samples.max(1.0));
        }
        point.limit = limiting_part(phase, point.processors_percent, run.device.as_ref());
        point
    }

    pub fn is_fed(&self, least_percent: f64) -> bool {
        self.utilised_percent >= least_percent
    }
}
