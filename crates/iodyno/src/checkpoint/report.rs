//! The tables of checkpoints: how long they took, and what that costs training.

use iodyno_model::checkpoint::BehindRecord;
use iodyno_model::{CheckpointMedium, CheckpointRecord, RunStart, units};
use iodyno_report::experiment_report::{
    ColumnUnit, ExperimentReport, ReportCell, ReportChart, ReportColumn, ReportSection,
};
use iodyno_report::number;

use super::setup::CheckpointSetup;
use super::{CheckpointArgs, FileDivision};
use crate::experiment_ranks;

const HOUR_NS: f64 = 3.6e12;
/// Less than this from the page cache is no matter, percent.
const CACHED_PERCENT: f64 = 5.0;

/// One checkpoint: saved and restored.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CheckpointPoint {
    pub save: CheckpointRecord,
    pub restore: CheckpointRecord,
    /// Percent of what was restored that came from the page cache; none: it is unknown.
    pub cached_percent: Option<f64>,
}

pub struct CheckpointFigures<'a> {
    pub words: &'a CheckpointArgs,
    pub setup: &'a CheckpointSetup,
    pub started: RunStart,
    pub points: Vec<CheckpointPoint>,
    /// Training between two checkpoints, ns.
    pub interval_ns: u64,
    /// The copy of an asynchronous checkpoint, and whether it was measured.
    pub copy_ns: (u64, bool),
    /// Checkpoints that were written behind training; empty: none were asked for.
    pub behind: Vec<BehindRecord>,
}

/// What checkpoints of a kind cost training.
#[derive(Clone, Copy, Debug, PartialEq)]
struct TrainingStop {
    /// Of each checkpoint, ns; and the part of it that waits for the one before.
    stop_ns: f64,
    wait_ns: f64,
    interval_ns: f64,
}

impl TrainingStop {
    /// Training goes on when everything is durable.
    fn synchronous(save_ns: f64, interval_ns: f64) -> TrainingStop {
        TrainingStop { stop_ns: save_ns, wait_ns: 0.0, interval_ns }
    }

    /// Training goes on when the state is copied. The copy's memory is free again when it is written.
    fn asynchronous(save_ns: f64, copy_ns: f64, interval_ns: f64) -> TrainingStop {
        let wait_ns = (save_ns - interval_ns).max(0.0);
        TrainingStop { stop_ns: copy_ns + wait_ns, wait_ns, interval_ns }
    }

    fn each_hour_ns(&self) -> f64 {
        HOUR_NS * self.stop_ns / (self.interval_ns + self.stop_ns)
    }

    fn training_percent(&self) -> f64 {
        100.0 * self.interval_ns / (self.interval_ns + self.stop_ns)
    }
}

impl CheckpointFigures<'_> {
    pub fn report(&self) -> ExperimentReport {
        let target = self.words.target.as_deref().or(self.words.on.as_deref()).unwrap_or_default();
        let remark = "After MLPerf Storage 2.0, not a result of it.".to_string();
        let simulated = "All figures are simulated: no storage was touched.".to_string();
        let is_simulated = self.setup.device.is_some();
        ExperimentReport {
            format: "iodyno.checkpoint/1",
            title: format!("iodyno checkpoint {target}"),
            facts: self.facts(),
            sections: [self.times(), self.costs()].into_iter().chain(self.behind()).collect(),
            remarks: is_simulated.then_some(simulated).into_iter().chain([remark]).collect(),
        }
    }

    fn facts(&self) -> Vec<(String, String)> {
        let (setup, machine) = (self.setup, &self.started.machine);
        let files: usize = setup.transfer.ranks.iter().map(Vec::len).sum();
        let each = match self.words.files {
            FileDivision::Framework => "as the framework writes them",
            FileDivision::Rank => "one for each process",
        };
        let subset = match setup.transfer.ranks.len() as u32 {
            count if count < setup.model.processes() => format!("the first {count} processes: "),
            _ => String::new(),
        };
        let moved = format!("{subset}{} in {files} files, {each}", units::binary(setup.transfer.bytes()));
        let mut facts = vec![
            ("model".into(), setup.model.title()),
            ("checkpoint".into(), moved),
            ("machine".into(), format!("iodyno {} · {} · {}", machine.version, machine.host, machine.kernel)),
        ];
        facts.extend(experiment_ranks::fact(&self.started.world));
        facts
    }

    fn times(&self) -> ReportSection {
        let row = |(number, point): (usize, &CheckpointPoint)| {
            vec![
                ReportCell::Number(number as f64 + 1.0),
                ReportCell::Number(point.save.longest_ns as f64),
                ReportCell::Number(point.save.bytes_per_second()),
                ReportCell::Number(point.save.late_rank.into()),
                ReportCell::Number(point.restore.longest_ns as f64),
                ReportCell::Number(point.restore.bytes_per_second()),
                ReportCell::of(point.cached_percent),
            ]
        };
        ReportSection {
            title: "Saving and restoring".into(),
            about: "From the start of all processes to the end of the last one; rates are all bytes over that time.".into(),
            columns: vec![
                ReportColumn::new("checkpoint", ColumnUnit::Number),
                ReportColumn::new("save", ColumnUnit::Nanoseconds),
                ReportColumn::new("", ColumnUnit::BytesPerSecond),
                ReportColumn::new("last", ColumnUnit::Number),
                ReportColumn::new("restore", ColumnUnit::Nanoseconds),
                ReportColumn::new("", ColumnUnit::BytesPerSecond),
                ReportColumn::new("cached", ColumnUnit::Percent),
            ],
            rows: self.points.iter().enumerate().map(row).collect(),
            charts: vec![ReportChart::lines("time", 0, vec![1, 4])],
            sentences: self.sentences(),
            ..ReportSection::default()
        }
    }

    fn mean(&self, of: impl Fn(&CheckpointPoint) -> u64) -> f64 {
        self.points.iter().map(of).sum::<u64>() as f64 / self.points.len().max(1) as f64
    }

    fn sentences(&self) -> Vec<String> {
        let worst = self.points.iter().max_by_key(|point| point.save.longest_ns);
        let mut all = Vec::new();
        if let Some(CheckpointPoint { save, .. }) = worst.filter(|point| point.save.shortest_ns > 0) {
            all.push(format!(
                "The slowest save took {}, by process {}{}; the first process was ready after {}.",
                number::latency(save.longest_ns as f64),
                save.late_rank,
                experiment_ranks::place(save.late_on, &self.started.world),
                number::latency(save.shortest_ns as f64)
            ));
        }
        all.extend(self.cache());
        all
    }

    /// Whether memory may have answered the restore.
    fn cache(&self) -> Option<String> {
        let worst = self.points.iter().filter_map(|point| point.cached_percent).max_by(f64::total_cmp);
        let said = match (self.setup.transfer.medium, worst) {
            (CheckpointMedium::Device, _) => return None,
            (CheckpointMedium::Objects, _) => {
                "What the store's own memory answered of a restore cannot be seen from here.".into()
            }
            (CheckpointMedium::Files, Some(percent)) if percent > CACHED_PERCENT => format!(
                "Cached pages were dropped before each restore, and yet up to {} came from the cache: a restart takes longer.",
                number::percent(percent)
            ),
            (CheckpointMedium::Files, Some(percent)) => format!(
                "Cached pages were dropped before each restore; at most {} came from the cache all the same.",
                number::percent(percent)
            ),
            (CheckpointMedium::Files, None) => {
                "Cached pages were dropped before each restore; what came from the cache all the same is unknown.".into()
            }
        };
        Some(said)
    }

    fn costs(&self) -> ReportSection {
        let (save_ns, interval_ns) = (self.mean(|point| point.save.longest_ns), self.interval_ns as f64);
        let row = |kind: &str, stop: TrainingStop| {
            vec![
                ReportCell::text(kind),
                ReportCell::Number(stop.stop_ns),
                ReportCell::Number(stop.each_hour_ns()),
                ReportCell::Number(stop.training_percent()),
                ReportCell::Number(stop.wait_ns),
            ]
        };
        let copy_ns = self.copy_ns.0 as f64;
        ReportSection {
            title: "What checkpoints cost training".into(),
            about: format!(
                "Computed from the mean save, with {} of training between two checkpoints.",
                units::duration(self.interval_ns as f64)
            ),
            columns: vec![
                ReportColumn::new("checkpoint", ColumnUnit::Words),
                ReportColumn::new("stop", ColumnUnit::Nanoseconds),
                ReportColumn::new("an hour", ColumnUnit::Nanoseconds),
                ReportColumn::new("training", ColumnUnit::Percent),
                ReportColumn::new("waits", ColumnUnit::Nanoseconds),
            ],
            rows: vec![
                row("synchronous", TrainingStop::synchronous(save_ns, interval_ns)),
                row("asynchronous", TrainingStop::asynchronous(save_ns, copy_ns, interval_ns)),
            ],
            sentences: self.cost_sentences(save_ns, interval_ns),
            ..ReportSection::default()
        }
    }

    fn cost_sentences(&self, save_ns: f64, interval_ns: f64) -> Vec<String> {
        let origin = match (self.words.copy_rate, self.copy_ns.1) {
            (Some(_), _) => "at --copy-rate",
            (None, true) => "as fast as this machine copies memory",
            (None, false) => "at 20 GB/s for each process, an assumption",
        };
        let copy = number::latency(self.copy_ns.0 as f64);
        let mut all = vec![format!(
            "An asynchronous checkpoint stops training for a copy in memory, {copy} {origin}, and is written behind it."
        )];
        if save_ns > interval_ns {
            all.push(
                "Saving takes longer than the interval, so each checkpoint waits for the one before it."
                    .into(),
            );
        }
        let restore_ns = self.mean(|point| point.restore.longest_ns);
        all.push(format!(
            "A failure costs {} of restoring and on average {} of training that is done again.",
            number::latency(restore_ns),
            number::latency(interval_ns / 2.0)
        ));
        all
    }
}

impl CheckpointFigures<'_> {
    /// What was measured of checkpoints that were written behind training; none: none were.
    fn behind(&self) -> Option<ReportSection> {
        let bytes = self.setup.transfer.bytes() as f64;
        let row = |(number, one): (usize, &BehindRecord)| {
            vec![
                ReportCell::Number(number as f64 + 1.0),
                ReportCell::Number(one.wait_ns as f64),
                ReportCell::Number(one.copy_ns as f64),
                ReportCell::Number(one.stop_ns() as f64),
                ReportCell::Number(one.save_ns as f64),
                ReportCell::Number(bytes / (one.save_ns.max(1) as f64 / 1e9)),
                ReportCell::Number(one.late_rank.into()),
            ]
        };
        (!self.behind.is_empty()).then(|| ReportSection {
            title: "Written behind training".into(),
            about: format!(
                "Measured, with a sleep of {} in place of training: each process waits until the checkpoint before is written, \
                 copies its state, which is a sleep too, and trains on while it is written.",
                units::duration(self.interval_ns as f64)
            ),
            columns: vec![
                ReportColumn::new("checkpoint", ColumnUnit::Number),
                ReportColumn::new("waits", ColumnUnit::Nanoseconds),
                ReportColumn::new("copy", ColumnUnit::Nanoseconds),
                ReportColumn::new("stop", ColumnUnit::Nanoseconds),
                ReportColumn::new("written", ColumnUnit::Nanoseconds),
                ReportColumn::new("", ColumnUnit::BytesPerSecond),
                ReportColumn::new("last", ColumnUnit::Number),
            ],
            rows: self.behind.iter().enumerate().map(row).collect(),
            sentences: self.behind_sentences(),
            ..ReportSection::default()
        })
    }

    fn behind_sentences(&self) -> Vec<String> {
        let count = self.behind.len().max(1) as f64;
        let mean = |of: fn(&BehindRecord) -> u64| self.behind.iter().map(of).sum::<u64>() as f64 / count;
        let (stop, written) = (mean(BehindRecord::stop_ns), mean(|one| one.save_ns));
        let save = self.mean(|point| point.save.longest_ns);
        let computed = TrainingStop::asynchronous(save, self.copy_ns.0 as f64, self.interval_ns as f64);
        let worst = self.behind.iter().max_by_key(|one| one.save_ns).copied().unwrap_or_default();
        vec![
            format!(
                "A checkpoint stopped training for {} on average; {} was computed.",
                number::latency(stop),
                number::latency(computed.stop_ns)
            ),
            format!(
                "Writing took {} behind training and {} while it stood still; longest {} by process {}{}.",
                number::latency(written),
                number::latency(save),
                number::latency(worst.save_ns as f64),
                worst.late_rank,
                experiment_ranks::place(worst.late_on, &self.started.world)
            ),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: f64 = 1e9;

    #[test]
    fn a_synchronous_checkpoint_stops_training_while_it_is_saved() {
        let stop = TrainingStop::synchronous(60.0 * S, 540.0 * S);
        assert_eq!((stop.stop_ns, stop.training_percent()), (60.0 * S, 90.0));
        assert!((stop.each_hour_ns() - 360.0 * S).abs() < 1.0, "six of ten minutes");
    }

    #[test]
    fn an_asynchronous_one_for_its_copy_and_for_what_the_one_before_still_writes() {
        let short = TrainingStop::asynchronous(60.0 * S, 5.0 * S, 540.0 * S);
        assert_eq!((short.stop_ns, short.wait_ns), (5.0 * S, 0.0));
        let long = TrainingStop::asynchronous(60.0 * S, 5.0 * S, 50.0 * S);
        assert_eq!((long.stop_ns, long.wait_ns), (15.0 * S, 10.0 * S));
    }
}
