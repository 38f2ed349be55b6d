//! How much a plan moves and how long it takes, as far as the plan alone can tell.
//!
//! Guesses no device's speed: what only a clock ends has a time and no bytes.

use iodyno_model::{
    Action, EngineTrait, Extent, Job, Kind, Limit, Pattern, Phase, Pick, Plan, Prepare, RegionSchedule, Size,
    Step, Target, TargetFacts, TargetKind, Verb, Workload,
};

/// A plan with what is known of its targets.
pub(crate) struct PlanFacts<'a> {
    /// The plan, expanded.
    pub(crate) plan: &'a Plan,
    /// Facts by target name; a target without facts is unknown.
    pub(crate) facts: &'a [TargetFacts],
    /// What an engine of a name is known for.
    pub(crate) traits: &'a dyn Fn(&str) -> &'static [EngineTrait],
}

impl<'a> PlanFacts<'a> {
    pub(crate) fn targets(&self, job: &'a Job) -> impl Iterator<Item = &'a Target> + use<'a, '_> {
        job.targets.iter().filter_map(|index| self.plan.targets.get(*index))
    }

    /// Whether a job's engine has a trait.
    pub(crate) fn engine_is(&self, job: &Job, asked: EngineTrait) -> bool {
        (self.traits)(&job.engine).contains(&asked)
    }

    /// Whether a job touches no storage.
    pub(crate) fn pretends(&self, job: &Job) -> bool {
        self.engine_is(job, EngineTrait::Pretends)
    }

    /// What is known of a target. A swept copy is named after its original.
    pub(crate) fn facts(&self, target: &Target) -> Option<&'a TargetFacts> {
        self.facts.iter().find(|facts| {
            target
                .name
                .strip_prefix(&facts.target)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with(" ("))
        })
    }

    /// How long one target is or will be, in bytes.
    pub(crate) fn length(&self, target: &Target) -> Option<u64> {
        let facts = self.facts(target);
        match &target.kind {
            TargetKind::File { size: Extent::Bytes(bytes), .. } => Some(*bytes),
            TargetKind::File { size: Extent::Percent(percent), .. } => {
                facts?.free_bytes.map(|free| (free as f64 * percent / 100.0) as u64)
            }
            TargetKind::File { size: Extent::Rest, path } => {
                facts.and_then(|facts| facts.file_bytes).or_else(|| self.written_length(path))
            }
            TargetKind::FileSet { items, .. } | TargetKind::Bucket { items, .. } => {
                Some(items.count.saturating_mul(items.file_bytes(mean_bytes(&items.size)?)))
            }
            TargetKind::Device { .. } => facts?.size_bytes,
            TargetKind::Nothing { bytes } => Some(*bytes),
            TargetKind::Descriptor { .. } | TargetKind::Endpoint { .. } => None,
        }
    }

    /// How long a file will be that another target of its path has a size for.
    fn written_length(&self, path: &str) -> Option<u64> {
        self.plan.targets.iter().find_map(|target| match &target.kind {
            TargetKind::File { path: other, size: Extent::Bytes(bytes) } if other == path => Some(*bytes),
            _ => None,
        })
    }

    /// How many such targets there are: templates make one for each worker.
    pub(crate) fn copies(&self, index: usize, target: &Target) -> u64 {
        let per_worker = match &target.kind {
            TargetKind::File { path, .. } => path.contains("{worker}") || path.contains("{rank}"),
            TargetKind::FileSet { items, .. } => items.own,
            _ => false,
        };
        let jobs =
            self.plan.phases.iter().flat_map(|phase| &phase.jobs).filter(|job| job.targets.contains(&index));
        if per_worker { jobs.map(|job| job.workers.into()).max().unwrap_or(1) } else { 1 }
    }

    /// Bytes that preparing a target writes.
    pub(crate) fn prepared(&self, index: usize, target: &Target) -> u64 {
        let there = self.facts(target).and_then(|facts| facts.file_bytes).unwrap_or(0);
        match target.prepare {
            Prepare::Filled => self
                .length(target)
                .unwrap_or(0)
                .saturating_sub(there)
                .saturating_mul(self.copies(index, target)),
            _ => 0,
        }
    }

    /// Bytes one worker moves in one pass over what it touches.
    fn pass(&self, job: &'a Job) -> Option<u64> {
        match &job.workload {
            Workload::Pattern(pattern) => {
                if endless(job) {
                    return None;
                }
                if let Pick::Segmented { block_bytes, count, .. } = pattern.pick.read
                    && count > 0
                {
                    return Some(block_bytes.saturating_mul(count));
                }
                sum(self.targets(job).map(|target| preconditioned(pattern, self.span(job, target)?)))
            }
            Workload::Script(script) => steps_bytes(&script.steps),
            Workload::Trace(trace) if trace.path.is_none() => {
                sum(trace.entries.iter().map(|entry| Some(entry.bytes)))
            }
            Workload::Trace(_) | Workload::Cases(_) | Workload::Exercise(_) => None,
        }
    }

    /// Bytes of a target that a job touches.
    pub(crate) fn span(&self, job: &Job, target: &Target) -> Option<u64> {
        let length = self.length(target);
        let Workload::Pattern(pattern) = &job.workload else { return length };
        let part = |extent: Extent| match extent {
            Extent::Bytes(bytes) => Some(bytes),
            Extent::Percent(percent) => length.map(|length| (length as f64 * percent / 100.0) as u64),
            Extent::Rest => None,
        };
        part(pattern.span.length)
            .or_else(|| Some(length?.saturating_sub(part(pattern.span.offset).unwrap_or(0))))
    }

    /// Bytes that all workers of a job move at most, where the plan tells.
    pub(crate) fn moved(&self, job: &'a Job) -> Option<u64> {
        let workers = u64::from(job.workers);
        let by_bytes = job.limit.bytes.map(|bytes| bytes.saturating_mul(workers));
        let by_operations = job
            .limit
            .operations
            .and_then(|most| Some(most.saturating_mul(block(job)?).saturating_mul(workers)));
        let passes =
            match (job.limit.passes, timed(&job.limit) || by_bytes.is_some() || by_operations.is_some()) {
                (Some(passes), _) => Some(passes),
                (None, true) => None,
                (None, false) => Some(1),
            };
        let by_pass =
            passes.and_then(|passes| Some(self.pass(job)?.saturating_mul(passes).saturating_mul(workers)));
        [by_bytes, by_operations, by_pass].into_iter().flatten().min()
    }

    /// Operations that all workers of a job do at most, where the plan tells.
    pub(crate) fn operations(&self, job: &'a Job) -> Option<u64> {
        let said = job.limit.operations.map(|most| most.saturating_mul(job.workers.into()));
        let found = self.moved(job).and_then(|bytes| bytes.checked_div(block(job)?));
        [said, found].into_iter().flatten().min()
    }
}

/// What one pass moves over so many bytes: a preconditioning one more than there are.
fn preconditioned(pattern: &Pattern, bytes: u64) -> Option<u64> {
    match (&pattern.pick.write, &pattern.size.write) {
        (Pick::Preconditioning { regions, over_provisioning, .. }, Size::Fixed(block)) if *block > 0 => {
            let schedule = RegionSchedule::new(bytes, *block, *regions, *over_provisioning).ok()?;
            Some(schedule.writes(bytes / block).saturating_mul(*block))
        }
        _ => Some(bytes),
    }
}

/// The sum of what is known, if all is; a plan may name more bytes than there are.
pub(crate) fn sum(parts: impl Iterator<Item = Option<u64>>) -> Option<u64> {
    parts.reduce(|sum, part| Some(sum?.saturating_add(part?))).unwrap_or(Some(0))
}

fn timed(limit: &Limit) -> bool {
    limit.time_ns.is_some() || limit.as_phase.is_some()
}

/// Whether a job's own work never ends: a stream, or appending.
pub(crate) fn endless(job: &Job) -> bool {
    match &job.workload {
        Workload::Pattern(pattern) => [&pattern.pick.read, &pattern.pick.write]
            .iter()
            .any(|pick| matches!(pick, Pick::Stream | Pick::Append)),
        _ => false,
    }
}

/// A typical size of a job's operations in bytes.
fn block(job: &Job) -> Option<u64> {
    let Workload::Pattern(pattern) = &job.workload else { return None };
    let size = if reads(job) > 0.0 { &pattern.size.read } else { &pattern.size.write };
    mean_bytes(size).filter(|bytes| *bytes > 0)
}

fn mean_bytes(size: &Size) -> Option<u64> {
    match size {
        Size::Fixed(bytes) => Some(*bytes),
        Size::Uniform { least_bytes, most_bytes, .. } => Some(least_bytes.midpoint(*most_bytes)),
        Size::Split(table) => {
            let sum: f64 = table.iter().map(|(_, percent)| percent).sum();
            (sum > 0.0).then(|| {
                (table.iter().map(|(bytes, percent)| *bytes as f64 * percent).sum::<f64>() / sum) as u64
            })
        }
        Size::Gamma { mean_bytes, .. } | Size::Normal { mean_bytes, .. } => Some(*mean_bytes as u64),
        Size::Poisson { mean } => Some(*mean as u64),
        Size::Blend(_) => size.most_bytes(),
        Size::ResultOf(_) | Size::Whole => None,
    }
}

/// Bytes of the steps done once; `None` where a size is not known.
fn steps_bytes(steps: &[Step]) -> Option<u64> {
    let step = |step: &Step| {
        let once = match &step.action {
            Action::Do(operation) if operation.verb.moves_data() => mean_bytes(&operation.size)?,
            Action::Do(_) | Action::Call(_) => 0,
            Action::Block(steps) => steps_bytes(steps)?,
        };
        Some(once.saturating_mul(step.repeat))
    };
    sum(steps.iter().map(step))
}

/// Every verb of a script.
fn verbs(steps: &[Step], found: &mut Vec<Verb>) {
    for step in steps {
        match &step.action {
            Action::Do(operation) => found.push(operation.verb),
            Action::Block(steps) => verbs(steps, found),
            Action::Call(_) => {}
        }
    }
}

/// Part of a job's bytes that are of a kind, 0 to 1.
pub(crate) fn share(job: &Job, of: impl Fn(Verb) -> bool) -> f64 {
    let parts: Vec<(Verb, f64)> = match &job.workload {
        Workload::Pattern(pattern) => {
            pattern.mix.shares.iter().map(|share| (share.verb, share.weight)).collect()
        }
        Workload::Script(script) => {
            let mut found = Vec::new();
            verbs(&script.steps, &mut found);
            found.into_iter().filter(|verb| verb.kind() != Kind::Control).map(|verb| (verb, 1.0)).collect()
        }
        Workload::Trace(trace) if trace.replay.served => {
            trace.replay.facts.verbs.iter().map(|verb| (*verb, 1.0)).collect()
        }
        Workload::Trace(trace) => {
            trace.entries.iter().map(|entry| (entry.verb, entry.bytes as f64)).collect()
        }
        Workload::Cases(_) | Workload::Exercise(_) => Vec::new(),
    };
    let sum: f64 = parts.iter().map(|(_, weight)| weight).sum();
    let wanted: f64 = parts.iter().filter(|(verb, _)| of(*verb)).map(|(_, weight)| weight).sum();
    if sum > 0.0 { wanted / sum } else { 0.0 }
}

/// Part of a job's operations that read.
pub(crate) fn reads(job: &Job) -> f64 {
    share(job, |verb| verb.kind() == Kind::Read)
}

/// Part of a job's operations that write data.
pub(crate) fn writes(job: &Job) -> f64 {
    share(job, |verb| verb.kind() == Kind::Write)
}

/// Whether a job changes what is stored.
pub(crate) fn changes(job: &Job) -> bool {
    share(job, Verb::changes) > 0.0
}

/// How long a phase lasts at most, ns; `None`: until its work is done.
pub(crate) fn phase_ns(phase: &Phase) -> Option<u64> {
    let job = |job: &Job| {
        let parts =
            [job.limit.time_ns, Some(job.limit.ramp_ns), Some(job.start.after_ns), Some(job.start.spread_ns)];
        sum(parts.into_iter())
    };
    let longest = match phase.jobs.is_empty() {
        true => match &phase.watch {
            Some(watching) => watching.whole_ns(),
            None => (phase.watch_ns > 0).then_some(phase.watch_ns),
        },
        false => phase.jobs.iter().map(job).collect::<Option<Vec<_>>>()?.into_iter().max(),
    };
    longest.map(|ns| ns.saturating_add(phase.pause_ns))
}
