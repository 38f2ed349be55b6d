//! Categories of which little or nothing is to be shown: rates as they are kept to, and one line for what iodyno does
//! otherwise, so that an empty answer is never taken for a run in which nothing happened.

use iodyno_model::{Arrivals, Workload};

use super::{DebugLines, all_workers, workers};
use crate::fio::view::{JobView, ReportContext};

/// What iodyno has no counterpart of.
const ABSENT: &[(&str, &str)] = &[
    ("profile", "there are no profiles to register"),
    ("net", "the jobs run here: no server and no client"),
    ("helperthread", "there is no helper thread: each worker keeps its own samples"),
    ("zbd", "no job works on zones: zonemode=zbd is refused"),
];

impl DebugLines {
    /// What is said of them before the start.
    pub(super) fn of_other_categories(&self, view: &ReportContext) -> String {
        let line = |category: &str, text: &str| self.debug.line(category, self.debug.pid, text);
        let mut text: String = ABSENT.iter().map(|(category, told)| line(category, told)).collect();
        let or = |category: &str, found: String, nothing: &str| match found.is_empty() {
            true => line(category, nothing),
            false => found,
        };
        text += &or("blktrace", self.replays(view), "no job plays a trace back");
        text += &or("rate", self.rates(view), "no job keeps to a rate");
        let compresses = view.jobs.iter().any(|job| job.logs.compressed);
        text + &match compresses {
            true => String::new(),
            false => {
                line("compress", "no log is compressed: that takes log_compression and log_store_compressed")
            }
        }
    }

    fn replays(&self, view: &ReportContext) -> String {
        let replay = |job: &JobView| match &self.job(job)?.workload {
            Workload::Trace(trace) => {
                let told = format!("{}: {} operations to play back", job.name, trace.replay.facts.records);
                Some(self.debug.line("blktrace", self.debug.pid, told))
            }
            _ => None,
        };
        view.jobs.iter().filter_map(replay).collect()
    }

    /// Of each worker the rates that it keeps to, by direction.
    fn rates(&self, view: &ReportContext) -> String {
        let mut text = String::new();
        for (number, job, _) in workers(view) {
            if !self.debug.shows(number, all_workers(view)) {
                continue;
            }
            let poisson = self.job(job).is_some_and(|job| job.pace.arrivals == Arrivals::Poisson);
            let process = if poisson { "poisson " } else { "" };
            for (direction, (bytes, operations)) in
                [job.rate.read, job.rate.write, job.rate.trim].into_iter().enumerate()
            {
                let told = match (bytes, operations) {
                    (0, 0) => continue,
                    (0, operations) => format!("{process}rate iops={operations}, ddir={direction}"),
                    (bytes, _) => format!("{process}rate bytes={bytes}, ddir={direction}"),
                };
                text += &self.debug.line("rate", self.debug.pid, told);
            }
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_absent_says_so_in_a_line_of_its_category() {
        let mut view = ReportContext::default();
        let mut lines = |job: JobView, categories: &str| {
            view.style.debug = Default::default();
            view.style.debug.pid = 7;
            assert_eq!(view.style.debug.ask(categories), [""; 0]);
            view.jobs = vec![JobView { clones: 1, ..job }];
            DebugLines::new(&view.style.debug).of_other_categories(&view)
        };
        for category in ["profile", "net", "helperthread", "zbd", "blktrace", "rate", "compress"] {
            let text = lines(JobView::default(), category);
            assert!(
                text.starts_with(&format!("{category:<8} 7     ")) && text.lines().count() == 1,
                "{text}"
            );
        }
        let mut job = JobView::default();
        (job.rate.read, job.rate.write) = ((0, 100), (4096, 0));
        assert_eq!(
            lines(job, "rate"),
            "rate     7     rate iops=100, ddir=0\nrate     7     rate bytes=4096, ddir=1\n"
        );
    }
}
