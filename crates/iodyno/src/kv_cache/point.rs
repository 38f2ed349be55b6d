//! What serving came to at one rate.

use iodyno_model::kv_cache::{
    CACHED_TOKENS, FIRST_TOKEN, MEMORY_TOKENS, PROMPT_TOKENS, READ, READING, STORE,
};
use iodyno_model::{Histogram, JobRecord, Record, RunStart};
use iodyno_truth::limit::{processor_ns, processors_percent};

use super::workload::ServingRun;
use crate::experiment_ranks;
use crate::limiting_part::limiting_part;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct ServingPoint {
    /// Requests each second that came.
    pub rate: f64,
    pub requests: u64,
    /// Time to the first token of those that were answered, ns.
    pub ttft: Histogram,
    /// How long reading the cached blocks of a request took, ns.
    pub reading: Histogram,
    /// Of the prompts' tokens, those that were cached, and that lay in memory, percent.
    pub hit_percent: f64,
    pub memory_percent: f64,
    pub read_per_second: f64,
    pub stored_per_second: f64,
    pub answered_per_second: f64,
    /// The accelerators' share of the time in which they computed, percent.
    pub computing_percent: f64,
    /// What came from the page cache, percent; none: it is unknown.
    pub cached_percent: Option<f64>,
    /// Processor time as a share of all processors, percent; none: the time is virtual.
    pub processors_percent: Option<f64>,
    /// What of the storage or the client kept the rate from being larger.
    pub limit: String,
    /// Of several ranks, the one that was latest.
    pub late: Option<String>,
}

/// The share of the requests that the target is for, percent.
pub const SHARE: f64 = 95.0;

impl ServingPoint {
    pub fn of(rate: f64, run: &ServingRun, started: &RunStart, record: &Record) -> ServingPoint {
        let mut point = ServingPoint { rate, requests: run.requests(rate), ..ServingPoint::default() };
        let Some((phase, job)) = record.phases.last().and_then(|phase| Some((phase, phase.jobs.first()?)))
        else {
            return point;
        };
        let seconds = (phase.elapsed_ns.max(1)) as f64 / 1e9;
        let bytes = |label: &str| line(job, label).map_or(0, |(_, bytes)| bytes) as f64 / seconds;
        point.ttft = line(job, FIRST_TOKEN).map(|(latency, _)| latency.clone()).unwrap_or_default();
        point.reading = line(job, READING).map(|(latency, _)| latency.clone()).unwrap_or_default();
        (point.read_per_second, point.stored_per_second) = (bytes(READ), bytes(STORE));
        point.answered_per_second = point.ttft.count() as f64 / seconds;
        let [prompt, cached, memory] =
            [PROMPT_TOKENS, CACHED_TOKENS, MEMORY_TOKENS].map(|name| fact(job, name));
        point.hit_percent = cached / prompt.max(1.0) * 100.0;
        point.memory_percent = memory / prompt.max(1.0) * 100.0;
        let computed = (prompt - cached) * run.server.token_ns / 1e9;
        point.computing_percent = (computed / seconds / f64::from(run.accelerators()) * 100.0).min(100.0);
        point.cached_percent = phase.cache.as_ref().and_then(|cache| cache.percent());
        if run.device().is_none() {
            let machines = record.world.machines();
            let percent = processors_percent(processor_ns(job), phase, &started.machine, machines);
            point.processors_percent = Some(percent);
        }
        point.limit = limiting_part(phase, point.processors_percent, run.device());
        point.late = experiment_ranks::late(job, FIRST_TOKEN, &record.world);
        point
    }

    /// The time to first token that a share of all requests kept; none: too few were answered at all.
    pub fn ttft_ns(&self, percent: f64) -> Option<f64> {
        let answered = self.ttft.count() as f64 / self.requests.max(1) as f64 * 100.0;
        // Those that were not answered took longer than all others.
        (answered >= percent && self.ttft.count() > 0)
            .then(|| self.ttft.percentile((percent / answered * 100.0).min(100.0)) as f64)
    }

    pub fn keeps(&self, target_ns: u64) -> bool {
        self.ttft_ns(SHARE).is_some_and(|ns| ns <= target_ns as f64)
    }
}

/// Latencies and bytes of a label.
fn line<'a>(job: &'a JobRecord, label: &str) -> Option<(&'a Histogram, u64)> {
    job.tally.lines.iter().find(|line| line.label == label).map(|line| (&line.latency, line.bytes))
}

/// What all workers counted by that name.
fn fact(job: &JobRecord, name: &str) -> f64 {
    let facts = job.workers.iter().flat_map(|worker| &worker.facts);
    facts.filter(|(known, _)| known == name).map(|(_, value)| *value).sum::<u64>() as f64
}
