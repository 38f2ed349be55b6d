//! From a command line to a plan: for each device a phase that means the cache, and one that means the device.

use iodyno_model::{
    Direct, Extent, Intent, Job, Limit, Open, OpenMode, Origin, Pattern, Phase, Pick, Plan, Prepare, Span,
    Target, TargetKind, Verb, Workload,
};

use super::command::Command;
use super::report::PhaseHeading;
use crate::{Loader, PathKind, engine_choice};

/// One read.
pub const BLOCK_BYTES: u64 = 2 << 20;
const CACHED_NS: u64 = 2_000_000_000;
const DEVICE_NS: u64 = 3_000_000_000;

/// The plan, and what the report prints before each of its phases.
pub fn plan(command: &Command, loader: &mut dyn Loader) -> (Plan, Vec<PhaseHeading>) {
    let mut plan = Plan { name: "hdparm".into(), intent: Intent::Device, ..Plan::default() };
    let mut headings = Vec::new();
    for device in &command.devices {
        let mut first = Some(device.clone());
        if command.cached {
            let at = add_target(&mut plan, device, command.direct, false, loader);
            // The first block once, so that it is in the cache.
            plan.phases.push(phase(
                device,
                "warm",
                at,
                first_block(),
                Limit { passes: Some(1), ..Limit::default() },
            ));
            headings.push(PhaseHeading { device: first.take(), label: None });
            let limit = Limit { time_ns: Some(CACHED_NS), ..Limit::default() };
            plan.phases.push(phase(device, "cached", at, first_block(), limit));
            headings.push(PhaseHeading { device: None, label: Some(cached_label(command.direct)) });
        }
        if command.device {
            let at = add_target(&mut plan, device, command.direct, true, loader);
            let offset = Extent::Bytes(command.offset_gib.unwrap_or(0) << 30);
            let limit = Limit { time_ns: Some(DEVICE_NS), passes: Some(1), ..Limit::default() };
            plan.phases.push(phase(device, "device", at, Span { offset, ..Span::default() }, limit));
            headings.push(PhaseHeading { device: first.take(), label: Some(device_label(command)) });
        }
    }
    (plan, headings)
}

fn cached_label(direct: bool) -> String {
    format!("Timing {}cached reads:  ", if direct { "O_DIRECT " } else { "" })
}

fn device_label(command: &Command) -> String {
    let what = if command.direct { "O_DIRECT" } else { "buffered" };
    let offset = command.offset_gib.map(|gib| format!(" (offset {gib} GB)")).unwrap_or_default();
    format!("Timing {what} disk reads{offset}:")
}

fn add_target(plan: &mut Plan, device: &str, direct: bool, emptied: bool, loader: &mut dyn Loader) -> usize {
    let block = loader.look(device).is_some_and(|facts| facts.kind == PathKind::BlockDevice);
    let path = device.to_string();
    let kind =
        if block { TargetKind::Device { path } } else { TargetKind::File { path, size: Extent::Rest } };
    let direct = if direct { Direct::Yes } else { Direct::No };
    let open = Open { mode: OpenMode::Read, direct, invalidate: emptied, ..Open::default() };
    let origin = Origin::argument(device);
    plan.targets.push(Target {
        name: device.into(),
        kind,
        open,
        prepare: Prepare::AsItIs,
        remove: false,
        origin,
    });
    plan.targets.len() - 1
}

fn first_block() -> Span {
    Span { length: Extent::Bytes(BLOCK_BYTES), ..Span::default() }
}

fn phase(device: &str, what: &str, target: usize, span: Span, limit: Limit) -> Phase {
    let intent = if what == "device" { Intent::Device } else { Intent::Cache };
    let pattern = Pattern { span, ..Pattern::of(Verb::Read, Pick::Sequential, BLOCK_BYTES) };
    let workload = Workload::Pattern(Box::new(pattern));
    let job = Job { limit, ..Job::new(what, engine_choice::POSITIONED_CALLS, vec![target], workload) };
    Phase { name: format!("{device} {what}"), jobs: vec![job], intent: Some(intent), ..Phase::default() }
}
