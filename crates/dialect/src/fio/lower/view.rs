//! What the reporters need of each job beside the plan: its words, its figures, its log files.

use iodyno_model::{ErrorPolicy, Job, Origin, Rate, WorkerKind};

use super::super::gather::as_taken;
use super::super::settings::Given;
use super::super::view::JobView;
use super::JobContext;
use super::figures;
use super::option_reader::OptionReader;

/// What lowering has found out about a job.
pub struct LoweredJob<'a> {
    /// Its plan.
    pub job: &'a Job,
    /// What it was made from.
    pub found: &'a JobContext,
    /// Phase and index.
    pub place: (usize, usize),
    /// Reporting group.
    pub group: u32,
    /// The number of the first clone, from 1.
    pub first_number: u32,
}

/// The view of a job.
pub fn view(ask: &mut OptionReader<'_>, known: &LoweredJob<'_>) -> JobView {
    let own = |given: &&Given| !given.global;
    JobView {
        phase: known.place.0,
        job: known.place.1,
        name: known.job.name.clone(),
        description: ask.text("description").unwrap_or_default().into(),
        clones: known.found.clones,
        group: known.group,
        group_reporting: ask.flag("group_reporting", false),
        options: reported_options(ask, options(ask.settings.given.iter().filter(own))),
        direction: known.found.direction.word,
        blocks: known.found.blocks.ends.clone(),
        engine: known.found.engine.word.clone(),
        depth: ask.count("iodepth").unwrap_or(1).max(known.job.depth.most),
        // fio has counted its processes before such an engine makes threads of them.
        threads: match known.found.engine.store {
            Some(_) => ask.flag("thread", false),
            None => known.job.kind == WorkerKind::Threads,
        },
        asynchronous: known.found.engine.asynchronous,
        runtime_ns: known.job.limit.time_ns.map(|ns| ns + known.job.limit.ramp_ns),
        bytes_planned: planned(known),
        figures: figures::figures(ask),
        logs: figures::logs(ask, known.first_number),
        verifies: known.job.payload.verify.is_some(),
        verify: ask.text("verify").unwrap_or("none").into(),
        counts_unwritten: known.job.payload.verify.as_ref().is_some_and(|verify| verify.only),
        priority: priority(ask),
        latency_target: known
            .job
            .pace
            .latency_target
            .as_ref()
            .map_or((0, 0, 100.0), |target| (target.latency_ns, target.window_ns, target.percent)),
        counts_errors: known.job.errors != ErrorPolicy::Stop,
        rate: known.job.pace.rate.clone().map(rate),
    }
}

/// `prioclass`, `prio` and `priohint`; a class without more is said is best effort, as the kernel has it.
fn priority(ask: &OptionReader<'_>) -> [u16; 3] {
    let [class, level, hint] =
        ["prioclass", "prio", "priohint"].map(|name| ask.count(name).map(|number| number as u16));
    let said = class.or(level).or(hint).is_some();
    let class = class.filter(|class| *class > 0).unwrap_or(if said { 2 } else { 0 });
    [class, level.unwrap_or(0), hint.unwrap_or(0)]
}

/// The bytes that each clone will move, where time alone does not decide.
fn planned(known: &LoweredJob<'_>) -> Option<u64> {
    let limit = &known.job.limit;
    if known.found.engine.sizeless {
        return None;
    }
    let timed = limit.time_ns.is_some() && limit.passes.is_none() && limit.bytes.is_none();
    let bytes = known.found.sizes.pass_bytes.filter(|_| !timed)?;
    Some(limit.bytes.unwrap_or(bytes.saturating_mul(limit.passes.unwrap_or(1))))
}

/// Bytes and operations per second.
fn rate(rate: Rate) -> (u64, u64) {
    match rate {
        Rate::Unlimited => (0, 0),
        Rate::Bytes(bytes) => (bytes, 0),
        Rate::Operations(operations) => (0, operations as u64),
    }
}

/// The job's options as reports repeat them. On the command line its name is one of them; in a file it is a section, and
/// the options are taken in an order of their own.
fn reported_options(ask: &OptionReader<'_>, mut options: Vec<(String, String)>) -> Vec<(String, String)> {
    match &ask.settings.origin {
        Origin::Argument(_) => options.insert(0, ("name".into(), ask.settings.name.clone())),
        _ => as_taken(&mut options),
    }
    options
}

/// Options with a value once each, the last mention, in the order of their first.
fn options<'a>(given: impl Iterator<Item = &'a Given>) -> Vec<(String, String)> {
    let mut options: Vec<(String, String)> = Vec::new();
    for given in given.filter(|given| !given.text.is_empty()) {
        match options.iter_mut().find(|(name, _)| name == given.entry.name) {
            Some(option) => option.1 = given.text.clone(),
            None => options.push((given.entry.name.into(), given.text.clone())),
        }
    }
    options
}
