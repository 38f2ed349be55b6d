//! What makes a rate comparable: I/O size, span, mix, pattern, depth, workers, engine, and whether the cache was in
//! the way. Taken from the plan, so that no reporter can leave it out or word it differently.

use iodyno_model::{
    Action, Direct, Event, Extent, Items, Job, JobRecord, Mix, Pattern, Phase, PhaseRecord, Pick, Plan,
    RunStart, Size, Target, TargetFacts, TargetKind, Workload, units,
};

pub use iodyno_truth::quantity::seconds;

/// The plan and the facts that a record is read with; empty until [`Event::Started`] came.
#[derive(Clone, Debug, Default)]
pub struct Context {
    /// The beginning of the run.
    pub started: Option<Box<RunStart>>,
}

impl Context {
    /// Keeps what later events are read with.
    pub fn event(&mut self, event: &Event) {
        if let Event::Started(started) = event {
            self.started = Some(started.clone());
        }
    }

    /// The device that the run was simulated on; none: it was measured.
    pub fn simulated(&self) -> Option<&str> {
        let device = self.started.as_ref()?.plan.device.as_ref()?;
        Some(&device.name)
    }

    /// The plan's job that a record answers.
    pub fn job(&self, phase: &PhaseRecord, job: &JobRecord) -> Option<&Job> {
        let plan = &self.started.as_ref()?.plan;
        // Passes that were decided on later are not in the plan as it began.
        let by_index = plan.phases.get(phase.index).filter(|planned| planned.name == phase.name);
        let planned = by_index.or_else(|| {
            let same = |other: &&Phase| other.name == phase.name && other.coordinates == phase.coordinates;
            plan.phases.iter().find(same)
        });
        planned?.jobs.iter().find(|planned| planned.name == job.name)
    }

    /// What makes a job's rates comparable; of a record without a plan only what the record tells.
    pub fn shape(&self, phase: &PhaseRecord, job: &JobRecord) -> Shape {
        let mut shape = match (self.job(phase, job), &self.started) {
            (Some(planned), Some(started)) => Shape::of(&started.plan, planned, &started.targets),
            _ => Shape::default(),
        };
        shape.depth = job.depth.max(1);
        shape.workers = job.workers.len().max(1) as u32;
        shape.engine.clone_from(&job.engine);
        shape.simulated = self.simulated().unwrap_or_default().into();
        if let Some((_, value)) = job.engine_facts.iter().find(|(name, _)| name == "direct") {
            // Tools whose files are taken in write numbers.
            shape.direct = Some(
                matches!(value.as_str(), "yes" | "true") || value.parse().is_ok_and(|flag: u32| flag > 0),
            );
        }
        shape
    }

    /// The name of a target by its index in the plan.
    pub fn target(&self, index: u32) -> String {
        let target = self.started.as_ref().and_then(|started| started.plan.targets.get(index as usize));
        target.map_or_else(|| format!("target {index}"), |target| of_anybody(&target.name))
    }
}

/// A name that is another for each worker, as a pattern of all of them: `f.{worker:08}` is `f.*`.
fn of_anybody(template: &str) -> String {
    let (mut name, mut rest) = (String::new(), template);
    while let Some((before, (word, after))) =
        rest.split_once('{').and_then(|(before, after)| Some((before, after.split_once('}')?)))
    {
        let what = word.split([':', '+']).next().unwrap_or(word);
        let is_number = ["worker", "rank", "node", "repetition", "job"].contains(&what);
        name.push_str(before);
        name.push_str(&if is_number { "*".to_string() } else { format!("{{{word}}}") });
        rest = after;
    }
    name + rest
}

/// What makes a rate comparable.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Shape {
    /// The device that it was simulated on; empty: it was measured.
    pub simulated: String,
    /// Bytes of one I/O, as text; several sizes where they differ.
    pub io: String,
    /// Bytes of one I/O where it is always the same.
    pub io_bytes: Option<u64>,
    /// Bytes of the target that are touched, where that is known.
    pub span_bytes: Option<u64>,
    /// The part of the target that is touched, as text.
    pub span: String,
    /// Shares of verbs: `100 % read`.
    pub mix: String,
    /// How places are picked: `uniform random`.
    pub pattern: String,
    /// I/Os in flight of each worker.
    pub depth: u32,
    pub workers: u32,
    pub engine: String,
    /// Whether the page cache was passed by; `None`: it cannot be told.
    pub direct: Option<bool>,
}

impl Shape {
    /// The shape of a planned job.
    pub fn of(plan: &Plan, job: &Job, facts: &[TargetFacts]) -> Self {
        let target = job.targets.first().and_then(|index| plan.targets.get(*index));
        let facts = target.and_then(|target| facts.iter().find(|facts| facts.target == target.name));
        let mut shape = Shape {
            depth: job.depth.most,
            workers: job.workers,
            engine: job.engine.clone(),
            direct: target.and_then(|target| direct(target, facts)),
            ..Shape::default()
        };
        match &job.workload {
            Workload::Pattern(pattern) => shape.pattern(pattern, target, facts),
            Workload::Script(script) => {
                let labels: Vec<&str> = script.steps.iter().map(|step| step.label.as_str()).collect();
                shape.pattern = "script".into();
                shape.mix = labels.join(", ");
                if let Some(Action::Do(operation)) = script.steps.first().map(|step| &step.action)
                    && operation.verb.moves_data()
                {
                    shape.io = size(&operation.size);
                }
                shape.span = target.map_or_else(String::new, |target| target_size(target, facts).0);
            }
            Workload::Cases(_) | Workload::Exercise(_) => shape.pattern = "rules".into(),
            Workload::Trace(trace) => {
                shape.pattern = "trace".into();
                shape.span = match trace.replay.tree {
                    true => {
                        format!(
                            "a tree of {} names",
                            crate::number::thousands(trace.replay.facts.ends.len() as u64)
                        )
                    }
                    false => target.map_or_else(String::new, |target| target_size(target, facts).0),
                };
            }
        }
        shape
    }

    fn pattern(&mut self, pattern: &Pattern, target: Option<&Target>, facts: Option<&TargetFacts>) {
        let reads = pattern.mix.has(iodyno_model::Verb::Read);
        let (first, second) = (&pattern.size.read, &pattern.size.write);
        let moves = pattern.mix.shares.iter().any(|share| share.verb.moves_data());
        let both = reads && pattern.mix.shares.len() > 1 && first != second;
        if moves {
            let used = if reads { first } else { second };
            self.io = if both { format!("{} / {}", size(first), size(second)) } else { size(used) };
            self.io_bytes = match used {
                Size::Fixed(bytes) if !both => Some(*bytes),
                _ => None,
            };
        }
        self.mix = mix(&pattern.mix);
        for every in &pattern.every {
            self.mix.push_str(&match every.operations {
                1 => format!(", {} after each", every.verb),
                n => format!(", {} after every {n}", every.verb),
            });
        }
        self.pattern = pick(if reads { &pattern.pick.read } else { &pattern.pick.write });
        let (text, bytes) = target.map_or_else(Default::default, |target| target_size(target, facts));
        (self.span, self.span_bytes) = match pattern.span.length {
            Extent::Bytes(bytes) => (units::binary(bytes), Some(bytes)),
            Extent::Percent(percent) => {
                (format!("{percent} % of {text}"), bytes.map(|bytes| (bytes as f64 * percent / 100.0) as u64))
            }
            Extent::Rest => (text, bytes),
        };
    }

    /// All of it in one line.
    pub fn line(&self) -> String {
        let mut parts = Vec::new();
        parts.extend((!self.io.is_empty()).then(|| self.io.clone()));
        parts.push(match (self.pattern.is_empty(), self.span.is_empty()) {
            (false, false) => format!("{} over {}", self.pattern, self.span),
            (false, true) => self.pattern.clone(),
            _ => self.span.clone(),
        });
        parts.push(self.mix.clone());
        parts.push(format!("depth {}", self.depth));
        parts.push(match self.workers {
            1 => "1 worker".into(),
            workers => format!("{workers} workers"),
        });
        parts.push(self.engine.clone());
        parts.extend(
            self.direct.map(|direct| if direct { "direct" } else { "through the page cache" }.into()),
        );
        parts.retain(|part: &String| !part.is_empty());
        parts.join(" · ")
    }
}

fn direct(target: &Target, facts: Option<&TargetFacts>) -> Option<bool> {
    match target.open.direct {
        _ if !matches!(target.kind, TargetKind::File { .. } | TargetKind::Device { .. }) => None,
        Direct::No => Some(false),
        Direct::Yes => Some(true),
        Direct::IfPossible => facts.and_then(|facts| facts.direct),
    }
}

/// A whole target: as text, and in bytes where that is known.
fn target_size(target: &Target, facts: Option<&TargetFacts>) -> (String, Option<u64>) {
    let sized = |bytes: u64| (units::binary(bytes), Some(bytes));
    match &target.kind {
        TargetKind::File { size: Extent::Bytes(bytes), .. } => sized(*bytes),
        TargetKind::Nothing { bytes } => sized(*bytes),
        TargetKind::Device { .. } => match facts.and_then(|facts| facts.size_bytes) {
            Some(bytes) => sized(bytes),
            None => ("the whole device".into(), None),
        },
        TargetKind::FileSet { items, .. } if items.directories => (set(items, "directories"), None),
        TargetKind::FileSet { items, .. } => (set(items, "files"), None),
        TargetKind::Bucket { items, .. } => (set(items, "objects"), None),
        TargetKind::File { .. } => ("the whole file".into(), None),
        TargetKind::Descriptor { .. } | TargetKind::Endpoint { .. } => (String::new(), None),
    }
}

fn set(items: &Items, what: &str) -> String {
    let size = if items.size == Size::Fixed(0) { "empty".into() } else { size(&items.size) };
    format!("{} {what} ({size})", crate::number::thousands(items.count))
}

fn mix(mix: &Mix) -> String {
    let total: f64 = mix.shares.iter().map(|share| share.weight).sum();
    let shares = mix.shares.iter().filter(|share| share.weight > 0.0);
    let text = |share: &iodyno_model::Share| {
        let percent = (share.weight / total * 1000.0).round() / 10.0;
        format!("{percent} % {}", share.verb)
    };
    shares.map(text).collect::<Vec<_>>().join(", ")
}

fn size(of: &Size) -> String {
    match of {
        Size::Fixed(bytes) => units::binary(*bytes),
        Size::Uniform { least_bytes, most_bytes, .. } => {
            format!("{} to {}", units::binary(*least_bytes), units::binary(*most_bytes))
        }
        Size::Split(table) => {
            let entry = |(bytes, percent): &(u64, f64)| format!("{} {percent} %", units::binary(*bytes));
            table.iter().map(entry).collect::<Vec<_>>().join(", ")
        }
        Size::Blend(table) => {
            let entry = |(part, percent): &(Size, f64)| format!("{} {percent} %", size(part));
            table.iter().map(entry).collect::<Vec<_>>().join(", ")
        }
        Size::Gamma { mean_bytes, .. } => format!("gamma, mean {}", units::binary(*mean_bytes as u64)),
        Size::Normal { mean_bytes, .. } => format!("normal, mean {}", units::binary(*mean_bytes as u64)),
        Size::Poisson { mean } => format!("Poisson, mean {mean}"),
        Size::ResultOf(label) => format!("as {label}"),
        Size::Whole => "whole files".into(),
    }
}

fn pick(pick: &Pick) -> String {
    match pick {
        Pick::Sequential => "sequential".into(),
        Pick::Backward => "backward".into(),
        Pick::Gap(bytes) => format!("sequential with gaps of {bytes} B"),
        Pick::Strided { stride_bytes } => format!("stride {}", units::binary(*stride_bytes)),
        Pick::Segmented { block_bytes, .. } => format!("segments of {}", units::binary(*block_bytes)),
        Pick::Uniform => "uniform random".into(),
        Pick::Zipf { theta, .. } => format!("zipf {theta}"),
        Pick::Pareto { h, .. } => format!("pareto {h}"),
        Pick::Normal { deviation_percent } => format!("normal, deviation {deviation_percent} %"),
        Pick::Zones(zones) => format!("{} zones", zones.len()),
        Pick::Blend(ways) => {
            let way = |way: &iodyno_model::Blend| format!("{} % {}", way.percent, self::pick(&way.pick));
            ways.iter().map(way).collect::<Vec<_>>().join(" and ")
        }
        Pick::Repeat { times, pick } => format!("{}, each {times} times", self::pick(pick)),
        Pick::Runs { operations, pick } => format!("{}, runs of {operations}", self::pick(pick)),
        Pick::Listed { blocks, .. } => format!("a list of {} blocks", blocks.len()),
        Pick::Preconditioning { regions, over_provisioning, .. } => {
            format!("preconditioning in {regions} regions, spare {over_provisioning}")
        }
        Pick::Stream => "stream".into(),
        Pick::Append => "append".into(),
    }
}

/// A count per second of a job's measured time; 0 where no time passed.
pub fn per_second(count: u64, phase: &PhaseRecord, job: &JobRecord) -> f64 {
    let seconds = seconds(phase, job);
    if seconds > 0.0 { count as f64 / seconds } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iodyno_model::{Open, Prepare, Verb};

    #[test]
    fn a_name_for_each_worker_is_told_as_a_pattern() {
        assert_eq!(of_anybody("d/f.{worker:08}.{repetition}"), "d/f.*.*");
        assert_eq!(of_anybody("{worker+3}/{other}/x{"), "*/{other}/x{");
        assert_eq!(of_anybody("data"), "data");
    }

    #[test]
    fn a_mixed_job_names_everything_that_makes_it_comparable() {
        let mut pattern = Pattern::of(Verb::Read, Pick::Uniform, 4096);
        pattern.mix = Mix::reads(70.0);
        let mut job = Job::new("mix", "io_uring", vec![0], Workload::Pattern(Box::new(pattern)));
        job.depth.most = 32;
        let target = Target {
            name: "data".into(),
            kind: TargetKind::File { path: "f".into(), size: Extent::Bytes(1 << 30) },
            open: Open { direct: Direct::IfPossible, ..Open::default() },
            prepare: Prepare::Filled,
            remove: true,
            origin: Default::default(),
        };
        let plan = Plan { targets: vec![target], ..Plan::default() };
        let facts = TargetFacts { target: "data".into(), direct: Some(true), ..TargetFacts::default() };
        assert_eq!(
            Shape::of(&plan, &job, &[facts]).line(),
            "4 KiB · uniform random over 1 GiB · 70 % read, 30 % write · depth 32 · 1 worker · io_uring · direct"
        );
        assert_eq!(Shape::of(&plan, &job, &[]).direct, None);
    }
}
