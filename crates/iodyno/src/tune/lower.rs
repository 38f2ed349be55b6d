//! The plan that is run under each setting: what a queue's settings act upon.

use iodyno_model::{
    Depth, Direct, Intent, Job, Limit, Open, OpenMode, Origin, Pattern, Phase, Pick, Plan, Prepare, Target,
    TargetKind, Verb, Workload,
};
use iodyno_report::tuning::{TunedCell, TunedWorkload, workload_name};

use super::TuneArgs;

/// Engine of what goes through the page cache, where no depth is kept.
const BUFFERED_ENGINE: &str = iodyno_dialect::engine_choice::POSITIONED_CALLS;
/// This part of the time is run and not counted: a queue has to fill again after a change.
const RAMP_PART: u64 = 10;

/// Operations of one kind.
pub struct QueueWorkload {
    verb: Verb,
    random: bool,
    block_bytes: u64,
    depth: u32,
    direct: bool,
}

impl QueueWorkload {
    const fn new(verb: Verb, random: bool, block_bytes: u64, depth: u32) -> Self {
        QueueWorkload { verb, random, block_bytes, depth, direct: true }
    }

    /// Large ones, which a limit on one request's size splits; many small ones, which a scheduler orders; a stream
    /// through the page cache, which reads ahead.
    pub fn all(reads_ahead: bool, writes: bool) -> Vec<QueueWorkload> {
        let mut all = vec![
            QueueWorkload::new(Verb::Read, false, 1 << 20, 8),
            QueueWorkload::new(Verb::Read, true, 4096, 32),
        ];
        if reads_ahead {
            all.push(QueueWorkload { direct: false, ..QueueWorkload::new(Verb::Read, false, 128 << 10, 1) });
        }
        if writes {
            all.push(QueueWorkload::new(Verb::Write, false, 1 << 20, 8));
            all.push(QueueWorkload::new(Verb::Write, true, 4096, 32));
        }
        all
    }

    fn name(&self) -> String {
        let pick = if self.random { "random" } else { "sequential" };
        workload_name(self.verb.name(), pick, self.block_bytes, self.depth, self.direct)
    }

    /// The table of so many settings, before anything was measured.
    pub fn without_figures(&self, settings: usize) -> TunedWorkload {
        TunedWorkload {
            name: self.name(),
            counts_operations: self.random,
            cells: vec![TunedCell::default(); settings],
        }
    }

    fn phase(&self, time_ns: u64, engine: &str) -> Phase {
        let pick = if self.random { Pick::Uniform } else { Pick::Sequential };
        let pattern = Pattern::of(self.verb, pick, self.block_bytes);
        let engine = if self.direct { engine } else { BUFFERED_ENGINE };
        let target = usize::from(!self.direct);
        let mut job = Job::new(&self.name(), engine, vec![target], Workload::Pattern(Box::new(pattern)));
        job.depth = Depth { most: self.depth, ..Depth::default() };
        // What was read once is in memory: it is not read again.
        let passes = (!self.direct).then_some(1);
        let ramp_ns = if self.direct { time_ns / RAMP_PART } else { 0 };
        job.limit = Limit { time_ns: Some(time_ns), ramp_ns, passes, ..Limit::default() };
        let intent = (!self.direct).then_some(Intent::Cache);
        Phase { name: self.name(), intent, jobs: vec![job], ..Phase::default() }
    }
}

/// The plan of a command: all workloads, one after the other.
pub fn plan(words: &TuneArgs, workloads: &[QueueWorkload], engine: &str) -> Plan {
    let mode = if words.destroy.is_some() { OpenMode::ReadWrite } else { OpenMode::Read };
    let target = |name: &str, mode, direct| Target {
        name: name.into(),
        kind: TargetKind::Device { path: words.device.clone() },
        open: Open { mode, direct, invalidate: true, ..Open::default() },
        prepare: Prepare::AsItIs,
        remove: false,
        origin: Origin::argument(&words.device),
    };
    let mut targets = vec![target("device", mode, Direct::IfPossible)];
    if workloads.iter().any(|workload| !workload.direct) {
        targets.push(target("device, buffered", OpenMode::Read, Direct::No));
    }
    Plan {
        name: format!("tune {}", words.device),
        seed: words.seed,
        intent: Intent::Device,
        targets,
        phases: workloads.iter().map(|workload| workload.phase(words.time, engine)).collect(),
        destroy: words.destroy.iter().cloned().collect(),
        ..Plan::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_disk_is_only_read_and_read_ahead_is_seen_through_the_cache() {
        let names = |reads_ahead, writes| {
            QueueWorkload::all(reads_ahead, writes).iter().map(QueueWorkload::name).collect::<Vec<_>>()
        };
        assert_eq!(
            names(true, false),
            [
                "sequential reads of 1 MiB, depth 8",
                "random reads of 4 KiB, depth 32",
                "sequential reads of 128 KiB, depth 1, through the page cache",
            ]
        );
        assert_eq!(names(false, true).len(), 4);
    }
}
