//! A phase before the judge: its plan, its record, and what the witnesses saw of it, easy to ask.
//!
//! Answers `None` where nothing was seen; refuses to guess which device a target lies on, unless only one was watched.

use std::borrow::Cow;

use iodyno_model::{
    Action, Coordinate, DeviceActivity, Direct, EngineTrait, Extent, Intent, Job, JobRecord, Layout,
    MountActivity, OpenSync, Parameter, Pattern, Phase, PhaseRecord, Plan, Record, Sighting, Step, Target,
    TargetFacts, TargetKind, Value, Verb, Workload,
};

use crate::generator;

/// Shorter times are too short for the kernel's own counters of processor time, ns. Chosen: twenty ticks of 10 ms, the
/// coarsest that Linux counts in; `too_short_for_the_kernels_counters` and `a_flow_that_fills_a_processor` stand on both sides.
pub const COUNTED_NS: u64 = 200_000_000;

/// Processors that idle for less than one in so many parts of the time have nothing left to give. Chosen: a tenth;
/// `a_device_that_had_time_to_spare` stands on one side only.
const LEAST_IDLE: u64 = 10;

/// What moves bytes beneath the page cache, and counts them.
#[derive(Clone, Debug)]
pub enum Carrier<'a> {
    /// A block device, or several as one.
    Device(Cow<'a, DeviceActivity>),
    /// The client of a network file system, of one mount or several.
    Mount(Cow<'a, MountActivity>),
}

impl<'a> Carrier<'a> {
    /// What it is called.
    pub fn name(&self) -> String {
        match self {
            Carrier::Device(device) => device.device.clone(),
            Carrier::Mount(mount) => format!("the servers of {}", mount.mount_point),
        }
    }

    pub fn read_bytes(&self) -> u64 {
        match self {
            Carrier::Device(device) => device.read_bytes,
            Carrier::Mount(mount) => mount.read_bytes,
        }
    }

    /// Bytes it wrote.
    pub fn write_bytes(&self) -> u64 {
        match self {
            Carrier::Device(device) => device.write_bytes,
            Carrier::Mount(mount) => mount.write_bytes,
        }
    }

    /// Several as one; none where they are of different kinds, or there is none.
    pub fn together(all: &[Carrier<'a>]) -> Option<Carrier<'a>> {
        let [first, rest @ ..] = all else { return None };
        let mut sum = first.clone();
        for more in rest {
            match (&mut sum, more) {
                (Carrier::Device(sum), Carrier::Device(more)) => {
                    *sum = Cow::Owned(as_one(sum.clone().into_owned(), more));
                }
                (Carrier::Mount(sum), Carrier::Mount(more)) => {
                    let sum = sum.to_mut();
                    sum.mount_point = format!("{} and {}", sum.mount_point, more.mount_point);
                    sum.read_bytes += more.read_bytes;
                    sum.write_bytes += more.write_bytes;
                }
                _ => return None,
            }
        }
        Some(sum)
    }
}

/// Two devices as one: what they did is summed. How busy each of them was is its own matter, and 0 here.
pub fn as_one(sum: DeviceActivity, more: &DeviceActivity) -> DeviceActivity {
    DeviceActivity {
        device: format!("{} and {}", sum.device, more.device),
        reads: sum.reads + more.reads,
        reads_merged: sum.reads_merged + more.reads_merged,
        read_bytes: sum.read_bytes + more.read_bytes,
        writes: sum.writes + more.writes,
        writes_merged: sum.writes_merged + more.writes_merged,
        write_bytes: sum.write_bytes + more.write_bytes,
        flushes: sum.flushes + more.flushes,
        weighted_ns: sum.weighted_ns + more.weighted_ns,
        interval_ns: sum.interval_ns.max(more.interval_ns),
        read_ns: sum.read_ns + more.read_ns,
        write_ns: sum.write_ns + more.write_ns,
        busy_ns: 0,
        ..sum
    }
}

/// A phase with everything that is known of it.
pub struct PhaseEvidence<'a> {
    /// The plan that ran.
    pub plan: &'a Plan,
    /// The whole record.
    pub record: &'a Record,
    /// The phase as planned.
    pub asked: &'a Phase,
    /// The phase as it went.
    pub found: &'a PhaseRecord,
}

impl<'a> PhaseEvidence<'a> {
    /// The case of a phase; `None` if the plan has no such phase.
    pub fn new(plan: &'a Plan, record: &'a Record, found: &'a PhaseRecord) -> Option<Self> {
        let by_index = plan.phases.get(found.index).filter(|phase| phase.name == found.name);
        let asked = by_index.or_else(|| plan.phases.iter().find(|phase| phase.name == found.name))?;
        Some(PhaseEvidence { plan, record, asked, found })
    }

    /// What the phase means to measure. A point of a sweep that goes through the page cache is there to measure it.
    pub fn intent(&self) -> Intent {
        let is_cached =
            |place: &Coordinate| place.parameter == Parameter::Cached && place.value == Value::Flag(true);
        let is_asked = self.found.coordinates.iter().any(is_cached);
        if is_asked { Intent::Cache } else { self.asked.intent.unwrap_or(self.plan.intent) }
    }

    /// Each job with its record.
    pub fn jobs(&self) -> impl Iterator<Item = (&'a Job, &'a JobRecord)> + use<'a> {
        let (asked, found) = (self.asked, self.found);
        asked.jobs.iter().enumerate().filter_map(move |(index, job)| {
            let by_index = found.jobs.get(index).filter(|record| record.name == job.name);
            Some((job, by_index.or_else(|| found.jobs.iter().find(|record| record.name == job.name))?))
        })
    }

    /// The jobs that touched their targets.
    pub fn storage_jobs(&self) -> impl Iterator<Item = (&'a Job, &'a JobRecord)> + use<'a> {
        self.jobs().filter(|(_, record)| !record.engine_is(EngineTrait::Pretends))
    }

    /// A job's targets.
    pub fn targets(&self, job: &'a Job) -> impl Iterator<Item = &'a Target> + use<'a> {
        let targets = &self.plan.targets;
        job.targets.iter().filter_map(move |index| targets.get(*index))
    }

    /// The job's targets on storage that a verb works on: of a script, those its steps name.
    pub fn used(&self, job: &'a Job, verb: Verb) -> impl Iterator<Item = &'a Target> + use<'a> {
        let named = move |position: usize| match &job.workload {
            Workload::Script(script) => script.steps.iter().any(|step| uses(step, verb, position)),
            _ => true,
        };
        let targets = self.targets(job).enumerate().filter(move |(position, _)| named(*position));
        targets.map(|(_, target)| target).filter(|target| !generator::is_pseudo(target))
    }

    /// What a target is, if a witness told, in this phase or another.
    pub fn facts(&self, target: &str) -> Option<&'a TargetFacts> {
        let phases = std::iter::once(self.found).chain(&self.record.phases);
        phases.flat_map(|phase| &phase.sightings).find_map(|sighting| match sighting {
            Sighting::Target(facts) if facts.target == target => Some(&**facts),
            _ => None,
        })
    }

    /// The device a target lies on, if it was watched.
    pub fn device(&self, target: &str) -> Option<&'a DeviceActivity> {
        let watched: Vec<_> = self.devices().collect();
        let Some(facts) = self.facts(target) else {
            return if watched.len() == 1 { Some(watched[0]) } else { None };
        };
        let named = |device: &&DeviceActivity| {
            [&facts.device, &facts.disk].into_iter().flatten().any(|name| *name == device.device)
        };
        watched.into_iter().find(named)
    }

    /// The file system's client that moves a target's bytes over the network, if it was watched.
    pub fn mount(&self, target: &str) -> Option<&'a MountActivity> {
        let point = self.facts(target)?.mount_point.as_deref()?;
        self.found.sightings.iter().find_map(|sighting| match sighting {
            Sighting::Mount(activity) if activity.mount_point == point && !activity.includes_cache => {
                Some(activity)
            }
            _ => None,
        })
    }

    /// What moved a target's bytes beneath the page cache, if it was watched.
    pub fn carrier(&self, target: &str) -> Option<Carrier<'a>> {
        let mount = self.mount(target).map(|mount| Carrier::Mount(Cow::Borrowed(mount)));
        mount.or_else(|| self.device(target).map(|device| Carrier::Device(Cow::Borrowed(device))))
    }

    /// The devices that were watched.
    pub fn devices(&self) -> impl Iterator<Item = &'a DeviceActivity> + use<'a> {
        self.found.sightings.iter().filter_map(|sighting| match sighting {
            Sighting::Device(activity) => Some(activity),
            _ => None,
        })
    }

    /// Where a target's bytes lie, if it was looked at.
    pub fn layout(&self, name: &str) -> Option<&'a Layout> {
        self.found.sightings.iter().find_map(|sighting| match sighting {
            Sighting::Layout(layout) if layout.target == name => Some(layout),
            _ => None,
        })
    }

    /// How many bytes of a target a pattern reaches, of one worker's; none where that is unknown.
    pub fn span_bytes(&self, target: &Target, pattern: &Pattern) -> Option<u64> {
        let facts = self.facts(&target.name);
        let whole = match &target.kind {
            TargetKind::File { size: Extent::Bytes(bytes), .. } => Some(*bytes),
            TargetKind::File { .. } => facts.and_then(|facts| facts.file_bytes),
            TargetKind::Device { .. } => facts.and_then(|facts| facts.size_bytes),
            _ => None,
        }?;
        let part = |extent: Extent, rest: u64| match extent {
            Extent::Bytes(bytes) => bytes.min(whole),
            Extent::Percent(percent) => (whole as f64 * percent / 100.0) as u64,
            Extent::Rest => rest,
        };
        let offset = part(pattern.span.offset, 0);
        Some(part(pattern.span.length, whole - offset.min(whole)).min(whole - offset.min(whole)))
    }

    /// Whether each worker of a job has a file of its own.
    pub fn is_own(&self, job: &Job) -> bool {
        self.targets(job)
            .filter_map(Target::path)
            .any(|path| path.contains("{worker") || path.contains("{rank"))
    }

    /// What this program made the storage move by the kernel's account of it, bytes read and written; none where nobody
    /// counted, a process of somebody else's works for us, or requests go past the block layer, which keeps the account.
    pub fn own(&self) -> Option<(u64, u64)> {
        let served =
            |facts: &TargetFacts| facts.file_system.as_deref().is_some_and(|name| name.starts_with("fuse"));
        let targets = self.found.sightings.iter().filter_map(|sighting| match sighting {
            Sighting::Target(facts) => Some(&**facts),
            _ => None,
        });
        let own = self.found.sightings.iter().find_map(|sighting| match sighting {
            Sighting::Own { read_bytes, write_bytes } => Some((*read_bytes, *write_bytes)),
            _ => None,
        });
        let past = self.jobs().any(|(_, record)| record.engine_is(EngineTrait::PassesBlockLayer));
        own.filter(|_| !past && !targets.into_iter().any(served))
    }

    /// Bytes that a carrier read for this program, at most: what it moved for others is not this run's.
    pub fn read_for_us(&self, carrier: &Carrier<'_>) -> u64 {
        match (carrier, self.own()) {
            (Carrier::Device(device), Some((read, _))) => device.read_bytes.min(read),
            _ => carrier.read_bytes(),
        }
    }

    /// Bytes that a carrier wrote for this program, at most. An account of nothing is that of a file system which keeps
    /// none.
    pub fn written_for_us(&self, carrier: &Carrier<'_>) -> u64 {
        match (carrier, self.own()) {
            (Carrier::Device(device), Some((_, written @ 1..))) => device.write_bytes.min(written),
            _ => carrier.write_bytes(),
        }
    }

    /// Bytes of a target that waited to be written when the phase was over, if it was looked at.
    pub fn dirty_after(&self, name: &str) -> Option<u64> {
        self.found.sightings.iter().find_map(|sighting| match sighting {
            Sighting::Dirty { target, bytes } if target == name => Some(*bytes),
            _ => None,
        })
    }

    /// Bytes that waited to be written, of whomever, when the phase began.
    pub fn dirty_before(&self) -> u64 {
        let seen = self.found.sightings.iter().find_map(|sighting| match sighting {
            Sighting::Memory { dirty_before_bytes, .. } => Some(*dirty_before_bytes),
            _ => None,
        });
        seen.unwrap_or(0)
    }

    /// Whether the processors had nothing left to give: then they, and no device, were the limit.
    pub fn is_machine_busy(&self) -> bool {
        self.found.sightings.iter().any(|sighting| match sighting {
            Sighting::Processors(seen) => {
                let all = seen.idle_ns + seen.busy_ns + seen.steal_ns;
                all > 0 && seen.idle_ns < all / LEAST_IDLE
            }
            _ => false,
        })
    }

    /// A target in the page cache: bytes looked at, cached before, cached after.
    pub fn residency(&self, name: &str) -> Option<(u64, u64, u64)> {
        self.found.sightings.iter().find_map(|sighting| match sighting {
            Sighting::Residency { target, span_bytes, before_bytes, after_bytes } if target == name => {
                Some((*span_bytes, *before_bytes, *after_bytes))
            }
            _ => None,
        })
    }

    /// Whether operations on a target go past the page cache.
    pub fn is_direct(&self, target: &Target) -> bool {
        match target.open.direct {
            Direct::Yes => true,
            Direct::IfPossible => self.facts(&target.name).and_then(|facts| facts.direct) != Some(false),
            Direct::No => false,
        }
    }

    /// Whether each write is durable before it returns.
    pub fn is_sync(&self, target: &Target) -> bool {
        target.open.sync != OpenSync::No
    }

    /// The phase with its place in a sweep: `randread (depth 4)`.
    pub fn label(&self) -> String {
        label(self.found)
    }
}

/// Whether a step does a verb on the job's target at a position.
fn uses(step: &Step, verb: Verb, position: usize) -> bool {
    match &step.action {
        Action::Do(operation) => operation.verb == verb && operation.target == Some(position),
        Action::Block(steps) => steps.iter().any(|step| uses(step, verb, position)),
        Action::Call(_) => false,
    }
}

/// A phase with its place in a sweep.
pub fn label(phase: &PhaseRecord) -> String {
    let places: Vec<String> = phase.coordinates.iter().map(ToString::to_string).collect();
    if places.is_empty() { phase.name.clone() } else { format!("{} ({})", phase.name, places.join(", ")) }
}

/// Bytes that a job moved by one verb.
pub fn bytes(job: &JobRecord, verb: Verb) -> u64 {
    job.tally.lines.iter().filter(|line| line.verb == verb).map(|line| line.bytes).sum()
}

/// Operations that a job did by any of these verbs.
pub fn operations(job: &JobRecord, verbs: &[Verb]) -> u64 {
    job.tally.lines.iter().filter(|line| verbs.contains(&line.verb)).map(|line| line.operations).sum()
}
