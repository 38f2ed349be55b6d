//! How fast: rates, least rates, think time, flow weights, a latency to keep.

use iodyno_model::{
    Arrivals, LatencyTarget, Pace, PerDirection, Phase, Rate, SharedKind, SharedObject, SharedUse, Think,
};

use super::JobContext;
use super::option_reader::OptionReader;
use crate::option::refuse;

/// How fast a clone goes; what it shares with others is added to its phase.
pub fn pace(ask: &mut OptionReader<'_>, found: &JobContext, phase: &mut Phase) -> Pace {
    conflicts(ask);
    let mut pace = Pace {
        rate: rates(ask, found, "rate", "rate_iops"),
        rate_least: rates(ask, found, "rate_min", "rate_iops_min"),
        arrivals: match ask.word("rate_process") {
            Some("poisson") => Arrivals::Poisson,
            _ => Arrivals::Even,
        },
        think: think(ask),
        latency_target: latency_target(ask),
        ..Pace::default()
    };
    if pace.rate_least != PerDirection::default() {
        pace.rate_window_ns = ask.whole("rate_cycle").map_or(0, |ms| ms.max(0) as u64 * MS);
    }
    if !pace.has_rate() {
        pace.arrivals = Arrivals::Even;
    }
    pace.think_shifts_rate = pace.think.is_some() && ask.flag("rate_ignore_thinktime", false);
    pace.shared.extend(flow(ask, phase));
    pace
}

const MS: u64 = 1_000_000;
const US: u64 = 1_000;

fn conflicts(ask: &mut OptionReader<'_>) {
    refuse! { ask
        "rate_iops" if limits(ask, "rate") && limits(ask, "rate_iops") =>
            "rate and rate_iops are mutually exclusive", "keep one of them";
        "rate_iops_min" if limits(ask, "rate_min") && limits(ask, "rate_iops_min") =>
            "rate_min and rate_iops_min are mutually exclusive", "keep one of them";
    }
    for (most, least) in [("rate", "rate_min"), ("rate_iops", "rate_iops_min")] {
        let (Some(top), Some(floor)) = (ask.triple(most), ask.triple(least)) else { continue };
        let pairs = [(top.read, floor.read), (top.write, floor.write), (top.trim, floor.trim)];
        if pairs.iter().any(|pair| matches!(pair, (Some(top), Some(floor)) if *top > 0 && top < floor)) {
            ask.refuse(least, "minimum rate exceeds rate", format!("{least} is at most {most}"));
        }
    }
}

/// Whether a rate is said that limits anything.
fn limits(ask: &OptionReader<'_>, name: &str) -> bool {
    ask.triple(name).is_some_and(|triple| {
        [triple.read, triple.write, triple.trim].iter().any(|rate| rate.is_some_and(|rate| rate > 0))
    })
}

/// Rates of the directions that are used, by bytes or by operations.
fn rates(ask: &OptionReader<'_>, found: &JobContext, bytes: &str, operations: &str) -> PerDirection<Rate> {
    let by_operations = ask.triple(operations).cloned().unwrap_or_default();
    let limits = ask.triple(bytes).cloned().unwrap_or_default().zip(by_operations);
    found.direction.used().zip(limits).map(|(used, (bytes, operations))| match (bytes, operations) {
        _ if !used => Rate::Unlimited,
        (Some(bytes), _) if bytes > 0 => Rate::Bytes(bytes),
        (_, Some(operations)) if operations > 0 => Rate::Operations(operations as f64),
        _ => Rate::Unlimited,
    })
}

/// `thinktime` and its kin: what is in flight completes first, then CPU is burnt, then the rest is slept.
fn think(ask: &OptionReader<'_>) -> Option<Think> {
    let time_ns = ask.time_ns("thinktime").unwrap_or(0);
    let cycles = ask.whole("thinkcycles").unwrap_or(0).max(0) as u64;
    if time_ns == 0 && cycles == 0 {
        return None;
    }
    let spin_ns = ask.time_ns("thinktime_spin").unwrap_or(0).min(time_ns);
    let after_ns = ask.time_ns("thinktime_iotime").unwrap_or(0);
    // Where a time is given, operations count only if they are given too.
    let every = match ask.whole("thinktime_blocks") {
        Some(blocks) => blocks.max(0) as u64,
        None if after_ns > 0 => 0,
        None => 1,
    };
    Some(Think {
        sleep_ns: time_ns - spin_ns,
        spin_ns,
        spin_cycles: cycles,
        purge_bytes: 0,
        times_latency: 0.0,
        every: if every == 0 && after_ns == 0 { 1 } else { every },
        completed: ask.word("thinktime_blocks_type") != Some("issue"),
        drain: true,
        after_ns,
    })
}

fn latency_target(ask: &OptionReader<'_>) -> Option<LatencyTarget> {
    let latency_ns = ask.time_ns("latency_target").filter(|ns| *ns > 0)?;
    Some(LatencyTarget {
        latency_ns,
        window_ns: ask.time_ns("latency_window").unwrap_or(0),
        percent: ask.decimal("latency_percentile").unwrap_or(100.0),
        keep: ask.flag("latency_run", false),
    })
}

/// How far a job may run ahead of its share, where nothing is said.
const AHEAD: u64 = 1024;

/// `flow`: a weight among all jobs of one flow.
fn flow(ask: &OptionReader<'_>, phase: &mut Phase) -> Option<SharedUse> {
    let weight = ask.whole("flow").filter(|weight| *weight > 0)?;
    let name = format!("flow {}", ask.whole("flow_id").unwrap_or(0));
    if !phase.shared.iter().any(|shared| shared.name == name) {
        let most = ask.whole("flow_watermark").map_or(AHEAD, |most| most.max(1) as u64);
        phase.shared.push(SharedObject::new(&name, SharedKind::Weights { most }));
    }
    let retry_ns = ask.whole("flow_sleep").map_or(0, |us| us.max(0) as u64 * US);
    Some(SharedUse { retry_ns, ..SharedUse::new(&name, weight) })
}
