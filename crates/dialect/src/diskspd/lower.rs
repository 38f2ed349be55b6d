//! From a profile to a plan: a phase for each time span, a job for each of its targets.
//!
//! ```text
//!   threads of a target × operations in flight ─► workers × depth
//! ```
//! It refuses targets that are not there, and to overwrite a file of another size than the one that is to be made.

use iodyno_model::{
    Advice, Blend, Buffers, Content, Coverage, Depth, Diagnostic, Direct, Extent, Intent, Job, Limit,
    Measure, Mix, Open, OpenSync, Origin, Pace, Pattern, Payload, PerDirection, Phase, Pick, Placement, Plan,
    Prepare, Rate, Refresh, Span, Target, TargetKind, Template, Think, Verb, Workload, Zone,
};

use super::command::RANDOM_SEED;
use super::settings::{
    AccessHint, CacheMode, DistributionRange, Profile, RangeLength, TargetAccess, TestTarget, Throughput,
    TimeSpan, WriteContent,
};
use crate::engine_choice::{ASYNCHRONOUS, POSITIONED_CALLS};
use crate::{Loader, PathKind, index_of};

const MAPPED: &str = "mmap";
const NS_PER_S: u64 = 1_000_000_000;

/// The plan of a profile.
///
/// # Errors
/// Everything that cannot be done here.
pub fn plan(profile: &Profile, loader: &mut dyn Loader) -> Result<Plan, Vec<Diagnostic>> {
    let mut plan = Plan { name: "diskspd".into(), intent: Intent::Device, ..Plan::default() };
    let mut wrong = Vec::new();
    for (number, span) in profile.spans.iter().enumerate() {
        let seed = if span.seed == RANDOM_SEED { loader.now_unix_ns() } else { span.seed };
        if number == 0 {
            plan.seed = seed;
        }
        let mut phase = Phase { name: format!("timespan {}", number + 1), ..Phase::default() };
        for index in 0..span.targets.len() {
            match job(span, index, seed, &mut plan.targets, loader) {
                Ok(job) => phase.jobs.push(job),
                Err(found) => wrong.extend((!wrong.contains(&found)).then_some(found)),
            }
        }
        plan.phases.push(phase);
    }
    if wrong.is_empty() { Ok(plan) } else { Err(wrong) }
}

fn refused(target: &TestTarget, message: impl Into<String>, hint: impl Into<String>) -> Diagnostic {
    Diagnostic::error(&Origin::argument(&target.path), message).hint(hint)
}

fn job(
    span: &TimeSpan,
    index: usize,
    seed: u64,
    targets: &mut Vec<Target>,
    loader: &dyn Loader,
) -> Result<Job, Diagnostic> {
    let target = &span.targets[index];
    let (first, threads) = span.threads_of(index);
    if span.requests.is_some() && span.targets.len() > 1 {
        let message = "-O shares a thread's operations among targets, which are worked on side by side here";
        return Err(refused(target, message, "say -o: operations in flight on each target"));
    }
    let workload = Workload::Pattern(Box::new(pattern(target, threads)?));
    let place = index_of(targets, place(target, loader)?);
    let depth = match target.cache {
        CacheMode::Mapped => 1,
        _ => span.requests.unwrap_or(target.requests),
    };
    Ok(Job {
        workers: threads,
        seed: Some(seed.wrapping_add(index as u64)),
        depth: Depth { most: depth, ..Depth::default() },
        pace: pace(target),
        limit: Limit {
            time_ns: Some(span.duration_s * NS_PER_S),
            ramp_ns: span.warm_up_s * NS_PER_S,
            ..Limit::default()
        },
        payload: if target.write_percent > 0.0 { payload(target) } else { Payload::default() },
        placement: placement(span, target, first),
        buffers: Buffers { huge_pages: target.has_large_pages, ..Buffers::default() },
        measure: Measure {
            each: true,
            row_ns: if span.shows_deviation { span.bucket_ms * 1_000_000 } else { 0 },
            ..Measure::default()
        },
        origin: Origin::argument(&target.path),
        ..Job::new(&target.path, engine(target, depth, loader), vec![place], workload)
    })
}

fn engine(target: &TestTarget, depth: u32, loader: &dyn Loader) -> &'static str {
    match target.cache {
        CacheMode::Mapped => MAPPED,
        _ if depth == 1 => POSITIONED_CALLS,
        _ => ASYNCHRONOUS
            .iter()
            .find(|name| loader.engine_available(name).is_ok())
            .unwrap_or(&POSITIONED_CALLS),
    }
}

fn pattern(target: &TestTarget, threads: u32) -> Result<Pattern, Diagnostic> {
    let block = target.block_bytes;
    let is_random = matches!(target.access, TargetAccess::Random { .. });
    let (pick, align) = match &target.access {
        TargetAccess::Sequential { is_interlocked: true, stride_bytes } if threads > 1 => {
            let stride = stride_bytes.unwrap_or(block);
            let message = "threads have positions of their own here, and -si has one for all of them";
            let hint = format!(
                "say -s{} -T{stride}: the threads take turns at the same places; or -t1, where -s and -si are the same",
                stride.saturating_mul(threads.into())
            );
            return Err(refused(target, message, hint));
        }
        TargetAccess::Sequential { stride_bytes, .. } => {
            (sequential(block, stride_bytes.unwrap_or(block)), 0)
        }
        TargetAccess::Random { align_bytes, percent, distribution } => {
            let random =
                if distribution.is_empty() { Pick::Uniform } else { Pick::Zones(zones(distribution)) };
            let pick = match percent {
                100 => random,
                percent => Pick::Blend(vec![
                    Blend { percent: f64::from(*percent), pick: random },
                    Blend { percent: f64::from(100 - percent), pick: Pick::Sequential },
                ]),
            };
            (pick, align_bytes.unwrap_or(0))
        }
    };
    Ok(Pattern {
        mix: Mix::reads(100.0 - target.write_percent),
        align_bytes: PerDirection::same(align),
        coverage: if is_random { Coverage::Repeating } else { Coverage::Once },
        span: Span {
            offset: place_of(target.base_bytes),
            length: target.length_bytes.map_or(Extent::Rest, Extent::Bytes),
            increment: place_of(target.thread_stride_bytes),
            ..Span::default()
        },
        ..Pattern::of(Verb::Read, pick, block)
    })
}

fn place_of(bytes: u64) -> Extent {
    if bytes == 0 { Extent::Rest } else { Extent::Bytes(bytes) }
}

fn sequential(block: u64, stride: u64) -> Pick {
    match stride.cast_signed() - block.cast_signed() {
        0 => Pick::Sequential,
        gap => Pick::Gap(gap),
    }
}

/// What no range names goes to what is left of the target.
fn zones(distribution: &[DistributionRange]) -> Vec<Zone> {
    let extent = |length| match length {
        RangeLength::Percent(percent) => Extent::Percent(f64::from(percent)),
        RangeLength::Bytes(bytes) => Extent::Bytes(bytes),
    };
    let named = distribution
        .iter()
        .map(|range| Zone { accesses_percent: f64::from(range.io_percent), extent: extent(range.length) });
    let operations: u32 = distribution.iter().map(|range| range.io_percent).sum();
    let is_whole = distribution
        .iter()
        .map(|range| match range.length {
            RangeLength::Percent(percent) => percent,
            RangeLength::Bytes(_) => 0,
        })
        .sum::<u32>()
        == 100;
    let rest = Zone { accesses_percent: f64::from(100 - operations), extent: Extent::Rest };
    named.chain((!is_whole).then_some(rest)).collect()
}

fn pace(target: &TestTarget) -> Pace {
    let rate_all = match target.throughput {
        None => Rate::Unlimited,
        Some(Throughput::BytesPerMs(bytes)) => Rate::Bytes(bytes * 1000),
        Some(Throughput::Operations(operations)) => Rate::Operations(operations as f64),
    };
    let think = (target.burst > 0 && target.think_ms > 0).then(|| Think {
        sleep_ns: target.think_ms * 1_000_000,
        every: target.burst,
        ..Think::default()
    });
    Pace { rate_all, think, open_loop: false, ..Pace::default() }
}

fn payload(target: &TestTarget) -> Payload {
    let (content, refresh) = match target.content {
        WriteContent::Counting => {
            (Content::Repeated(Template { bytes: (0..=255).collect(), offsets: Vec::new() }), Refresh::Once)
        }
        WriteContent::Zero => (Content::Zero, Refresh::Once),
        WriteContent::Random(_) => (Content::Random, Refresh::EachWrite),
    };
    Payload { content, refresh, ..Payload::default() }
}

/// Threads are bound to processors in turn. Those of several targets would all begin with the first one: unless processors are
/// named, they are left to the scheduler.
fn placement(span: &TimeSpan, target: &TestTarget, first: u32) -> Placement {
    let mut cpus = span.affinity.clone();
    if !cpus.is_empty() {
        let by = first as usize % cpus.len();
        cpus.rotate_left(by);
    }
    let spread = !span.is_unbound && (!cpus.is_empty() || span.targets.len() == 1);
    let io_priority = match target.priority {
        1 => Some((3, 0)),
        2 => Some((2, 7)),
        _ => None,
    };
    Placement { cpus, spread, io_priority, ..Placement::default() }
}

fn place(target: &TestTarget, loader: &dyn Loader) -> Result<Target, Diagnostic> {
    let facts = loader.look(&target.path);
    let is_device = match facts.as_ref().map(|facts| facts.kind) {
        Some(PathKind::BlockDevice) => true,
        Some(PathKind::File) | None => false,
        Some(_) => {
            return Err(refused(
                target,
                "it is neither a file nor a block device",
                "name a file, e.g. test.dat",
            ));
        }
    };
    let size = facts.map(|facts| facts.bytes);
    match (target.create_bytes, size) {
        (Some(_), _) if is_device => {
            return Err(refused(
                target,
                "-c makes files, and this is a device",
                "say -f to use only a part of it",
            ));
        }
        (None, None) => return Err(refused(target, "there is no such file", "-c1G makes it")),
        (None, Some(0)) if !is_device => {
            return Err(refused(target, "the file is empty", "-c1G makes another, once it is removed"));
        }
        (Some(wanted), Some(found)) if wanted != found => {
            let message =
                format!("it is there and has {found} bytes, and would be overwritten by one of {wanted}");
            return Err(refused(target, message, "remove it first, or leave -c out and say -f"));
        }
        _ => {}
    }
    let makes = target.create_bytes.is_some();
    let path = target.path.clone();
    let kind = match is_device {
        true => TargetKind::Device { path },
        false => TargetKind::File { path, size: target.create_bytes.map_or(Extent::Rest, Extent::Bytes) },
    };
    Ok(Target {
        name: target.path.clone(),
        kind,
        open: Open {
            create: makes,
            direct: if target.cache == CacheMode::Unbuffered { Direct::Yes } else { Direct::No },
            sync: if target.is_write_through { OpenSync::Data } else { OpenSync::No },
            advice: match target.hint {
                AccessHint::Random => Advice::Random,
                AccessHint::Sequential => Advice::Sequential,
                AccessHint::None | AccessHint::Temporary => Advice::No,
            },
            ..Open::default()
        },
        prepare: if makes { Prepare::Filled } else { Prepare::AsItIs },
        remove: false,
        origin: Origin::argument(&target.path),
    })
}
