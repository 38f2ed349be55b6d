//! The largest number of accelerators that are fed, and what was found on the way.

use iodyno_model::{AcceleratorRecord, Record, RunStart, training};
use iodyno_report::shape;

use super::workload::TrainingRun;

/// What so many accelerators came to.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct FeedingPoint {
    pub accelerators: u32,
    /// The mean of all, and of the one that waited longest, percent.
    pub utilised_percent: f64,
    pub least_percent: f64,
    /// Which that is, and how long it waited, ns.
    pub late: u32,
    pub late_ns: u64,
    pub samples_per_second: f64,
    pub bytes_per_second: f64,
    /// Percent that came from the page cache; none: it is unknown.
    pub cached_percent: Option<f64>,
    /// Processor time of the readers, percent of all processors and ns for each sample; none: the time is virtual.
    pub processors_percent: Option<f64>,
    pub sample_ns: Option<f64>,
}

impl FeedingPoint {
    pub fn of(accelerators: u32, run: &TrainingRun, started: &RunStart, record: &Record) -> FeedingPoint {
        let mut point = FeedingPoint { accelerators, ..FeedingPoint::default() };
        let Some(phase) = record.phases.last() else { return point };
        let all = AcceleratorRecord::of(phase);
        let utilised = all.iter().map(AcceleratorRecord::utilisation_percent);
        point.utilised_percent = utilised.sum::<f64>() / all.len().max(1) as f64;
        let late = all.iter().min_by(|a, b| a.utilisation_percent().total_cmp(&b.utilisation_percent()));
        if let Some(late) = late {
            (point.least_percent, point.late, point.late_ns) =
                (late.utilisation_percent(), late.index, late.load_ns);
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
            let used: u64 =
                readers.flat_map(|job| &job.workers).map(|each| each.user_ns + each.system_ns).sum();
            let samples: f64 = all.iter().map(|each| each.steps as f64 * batch).sum();
            let whole = phase.elapsed_ns as f64 * f64::from(started.machine.cpus.max(1));
            point.processors_percent = Some(used as f64 / whole.max(1.0) * 100.0);
            point.sample_ns = Some(used as f64 / samples.max(1.0));
        }
        point
    }

    pub fn is_fed(&self, least_percent: f64) -> bool {
        self.utilised_percent >= least_percent
    }
}

/// Doubles their number until they are no longer fed, or there are the most; then halves what is between. All points, by their
/// number.
///
/// # Errors
/// That of a measurement.
pub fn search(
    most: u32,
    least_percent: f64,
    mut measure: impl FnMut(u32) -> Result<FeedingPoint, u8>,
) -> Result<Vec<FeedingPoint>, u8> {
    let (mut points, mut fed, mut number) = (Vec::new(), 0, 1);
    let starved = loop {
        let point = measure(number)?;
        points.push(point);
        if !point.is_fed(least_percent) {
            break number;
        }
        fed = number;
        if number >= most {
            break number + 1;
        }
        number = number.saturating_mul(2).min(most);
    };
    let mut beyond = starved;
    while beyond - fed > 1 {
        let middle = fed.midpoint(beyond);
        let point = measure(middle)?;
        points.push(point);
        if point.is_fed(least_percent) { fed = middle } else { beyond = middle }
    }
    points.sort_by_key(|point| point.accelerators);
    Ok(points)
}

/// The last of the points in their order that is fed, with all below it.
pub fn largest_fed(points: &[FeedingPoint], least_percent: f64) -> Option<usize> {
    points.iter().take_while(|point| point.is_fed(least_percent)).count().checked_sub(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A storage that feeds so many: beyond it, each gets its part.
    fn feeds(enough: u32, most: u32) -> (Vec<u32>, Option<u32>) {
        let mut tried = Vec::new();
        let points = search(most, 90.0, |accelerators| {
            tried.push(accelerators);
            let utilised_percent = (f64::from(enough) / f64::from(accelerators) * 90.0).min(100.0);
            Ok(FeedingPoint { accelerators, utilised_percent, ..FeedingPoint::default() })
        });
        let points = points.unwrap();
        (tried, largest_fed(&points, 90.0).map(|index| points[index].accelerators))
    }

    #[test]
    fn the_search_doubles_and_then_halves() {
        assert_eq!(feeds(11, 1024), (vec![1, 2, 4, 8, 16, 12, 10, 11], Some(11)));
        assert_eq!(feeds(1, 1024), (vec![1, 2], Some(1)));
        assert_eq!(feeds(0, 1024), (vec![1], None));
        assert_eq!(feeds(100, 10), (vec![1, 2, 4, 8, 10], Some(10)));
        assert_eq!(feeds(9, 10), (vec![1, 2, 4, 8, 10, 9], Some(9)));
    }

    #[test]
    fn a_run_that_fails_ends_the_search() {
        assert_eq!(search(8, 90.0, |_| Err(130)), Err(130));
    }
}
