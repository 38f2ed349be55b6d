//! A plan in words: [`print`] is the golden format that all dialects share, [`explain`] is what a user reads first.
//!
//! `print` is complete: what is not at its default shows up, so two plans that print alike run alike. It measures
//! nothing, opens nothing and judges nothing; `explain` judges, but only from facts it is handed.

mod amount;
mod asked;
mod exact;
mod explain;
mod job;
mod layout;
mod pattern;
mod payload;
mod phrase;
mod pitfall;
mod script;
mod target;

use iodyno_model::kv_cache::CacheRequests;
use iodyno_model::{
    Aging, Errand, Intent, Phase, Plan, Repeat, SharedKind, SharedObject, Sweep, Value, Watching,
};

pub use asked::asked;
pub use explain::{Explainer, explain};

use crate::device;
use exact::{bytes, number, time};
use phrase::{phrases, word};

/// The plan as text: stable, terse, complete.
pub fn print(plan: &Plan) -> String {
    let mut out = String::new();
    line(&mut out, 0, &head(plan));
    for device in &plan.destroy {
        line(&mut out, 1, &format!("gives up the content of {device}"));
    }
    for device in &plan.mounted_allowed {
        line(&mut out, 1, &format!("writes to {device} even while it is in use"));
    }
    for aging in &plan.aging {
        line(&mut out, 1, &aged(aging));
    }
    if let Some(device) = &plan.device {
        line(&mut out, 1, &format!("on the simulated device \"{}\"", device.name));
        device.parts.iter().for_each(|part| line(&mut out, 2, &device::line(part)));
    }
    for sweep in &plan.sweep {
        line(&mut out, 1, &varied(sweep));
    }
    for demand in &plan.demands {
        line(&mut out, 1, &format!("fails if {}", demand.text));
    }
    unused_targets(plan, &mut out);
    for (index, phase) in plan.phases.iter().enumerate() {
        self::phase(plan, index, phase, &mut out);
    }
    out
}

fn line(out: &mut String, level: usize, text: &str) {
    for _ in 0..level {
        out.push_str("  ");
    }
    out.push_str(text);
    out.push('\n');
}

fn head(plan: &Plan) -> String {
    let mut words = vec![format!("plan \"{}\"", plan.name), format!("seed {}", plan.seed)];
    if plan.intent != Intent::default() {
        words.push(format!("measures {}", word(&plan.intent)));
    }
    if plan.repeat != Repeat::default() {
        words.push(repeat(&plan.repeat));
    }
    if plan.signatures_allowed {
        words.push("writes to devices that carry a signature".into());
    }
    if plan.idleness {
        words.push("measures how idle the processors are".into());
    }
    words.join(" · ")
}

fn repeat(repeat: &Repeat) -> String {
    let mut text = format!("{} times", repeat.times);
    if repeat.until_interval_percent > 0.0 {
        let sure = if repeat.confidence_percent > 0.0 { repeat.confidence_percent } else { 95.0 };
        let wide = number(repeat.until_interval_percent);
        text.push_str(&format!(" and on until every rate is known to {wide} % with {} %", number(sure)));
    }
    if let Some(rounds) = &repeat.until_steady {
        let (range, slope) = (number(rounds.range_percent), number(rounds.slope_percent));
        let window = rounds.window;
        text.push_str(&format!(
            " and on until the last {window} are steady (range {range} %, slope {slope} %)"
        ));
    }
    if repeat.until_interval_percent > 0.0 || repeat.until_steady.is_some() || repeat.most > 0 {
        text.push_str(&format!(", {} times at most", if repeat.most > 0 { repeat.most } else { 25 }));
    }
    text
}

fn aged(aging: &Aging) -> String {
    let Aging { directory, full_percent, turnover, youth, workers, .. } = aging;
    if aging.remove {
        return format!("removes what an aging left in {directory}");
    }
    let mut text = format!(
        "ages {directory} until it is {} % full, turned over {} times by {workers} workers, youth {}",
        number(*full_percent),
        number(*turnover),
        number(*youth)
    );
    if aging.sizes != Aging::usual_sizes() {
        text.push_str(&format!(", files of {}", pattern::size(&aging.sizes)));
    }
    if aging.reserved {
        text.push_str(", space reserved only");
    }
    text
}

fn varied(sweep: &Sweep) -> String {
    let value = |value: &Value| match value {
        Value::Number(number) if sweep.parameter.is_bytes() => bytes(*number),
        value => value.to_string(),
    };
    let values: Vec<_> = sweep.values.iter().map(value).collect();
    format!("sweep {} over {}", sweep.parameter.name(), values.join(", "))
}

/// Targets that no job works on would else be invisible.
fn unused_targets(plan: &Plan, out: &mut String) {
    let used =
        |index| plan.phases.iter().flat_map(|phase| &phase.jobs).any(|job| job.targets.contains(&index));
    for (_, target) in plan.targets.iter().enumerate().filter(|(index, _)| !used(*index)) {
        line(out, 1, &format!("unused {}", target::line(target)));
    }
}

fn phase(plan: &Plan, index: usize, phase: &Phase, out: &mut String) {
    let mut words = vec![format!("phase {} \"{}\"", index + 1, phase.name)];
    words.extend(phase.coordinates.iter().map(ToString::to_string));
    let conditions = "precondition repetition intent pause_ns latest_ns unless_failed unless_timed_out drop_caches remount stop";
    words.extend(phrases(phase, conditions));
    words.extend(watch(phase));
    line(out, 0, &words.join(" · "));
    phase.errands.iter().for_each(|errand| line(out, 1, &self::errand(errand)));
    phase.shared.iter().for_each(|shared| line(out, 1, &self::shared(shared)));
    phase.jobs.iter().for_each(|job| job::print(plan, phase, job, out));
}

/// A command around the phase.
fn errand(errand: &Errand) -> String {
    let when = word(&errand.when);
    let by = errand.rank.map_or(String::new(), |rank| format!(" by rank {rank}"));
    let met = if errand.meets { ", when all ranks have come" } else { "" };
    format!("command {when}{by}{met}: {}", errand.command)
}

fn watch(phase: &Phase) -> Option<String> {
    if let Some(watching) = &phase.watch {
        return Some(watching_words(watching));
    }
    match (phase.jobs.is_empty(), phase.watch_ns) {
        (true, 0) => Some("only watches, until stopped".into()),
        (true, ns) => Some(format!("only watches, for {}", time(ns))),
        (false, 0) => None,
        (false, ns) => Some(format!("watch {}", time(ns))),
    }
}

fn watching_words(watching: &Watching) -> String {
    let whose = match watching.devices.as_slice() {
        [] => "all devices".to_string(),
        names => names.join(" "),
    };
    let partitions = if watching.partitions { " with partitions" } else { "" };
    let first = if watching.since_boot { ", the first since the machine was started" } else { "" };
    let every = time(watching.length_ns());
    match watching.count {
        0 => format!("watches {whose}{partitions} every {every}{first}, until stopped"),
        count => format!("watches {whose}{partitions} every {every}{first}, samples: {count}"),
    }
}

fn shared(shared: &SharedObject) -> String {
    let what = match &shared.kind {
        SharedKind::Tokens { per_second, queue_s } => {
            format!("tokens, {}/s, {} s of them queue up at most", number(*per_second), number(*queue_s))
        }
        SharedKind::Semaphore { initial, most, waiters } => {
            let each = if *waiters > 0 { format!(" for each of {waiters} waiters") } else { String::new() };
            let most = if *most == u64::MAX { String::new() } else { format!(", {most} at most") };
            format!("semaphore{each}, {initial} at the start{most}")
        }
        SharedKind::Lanes { count, initial } => {
            format!("{count} semaphores side by side, {initial} at the start")
        }
        SharedKind::Barrier => "barrier".into(),
        SharedKind::Counter => "counter".into(),
        SharedKind::Signal => "signal".into(),
        SharedKind::Done { of, bytes } => {
            let what = if *bytes { "bytes moved by" } else { "operations of" };
            format!("{what} \"{}\"", of.join("\", \""))
        }
        SharedKind::Requests(asked) => requests(asked),
        SharedKind::Servers { count } => format!("the time of {count} servers"),
        SharedKind::Weights { most } => format!("weights, at most {most} ahead"),
    };
    let whose = if shared.each_rank { ", each rank has its own" } else { "" };
    format!("shared \"{}\": {what}{whose}", shared.name)
}

fn requests(asked: &CacheRequests) -> String {
    if !asked.recorded.is_empty() {
        return format!(
            "{} of {} recorded requests to a cache of {} blocks of {} tokens",
            asked.count,
            asked.recorded.len(),
            asked.capacity,
            asked.block_tokens
        );
    }
    let rate = match asked.per_second {
        rate if rate > 0.0 => format!(" at random times, {}/s", number(rate)),
        _ => String::new(),
    };
    format!(
        "{} requests{rate} of {} sessions to a cache of {} blocks of {} tokens, seed {}",
        asked.count, asked.sessions, asked.capacity, asked.block_tokens, asked.seed
    )
}

#[cfg(test)]
mod tests {
    use iodyno_model::{Extent, Job, Pattern, Pick, Target, TargetKind, Verb, WorkerKind, Workload};

    use super::*;

    #[test]
    fn a_plan_reads_as_the_house_says() {
        let path = "randread.{worker}.0";
        let target = Target {
            name: path.into(),
            kind: TargetKind::File { path: path.into(), size: Extent::Bytes(128 << 20) },
            open: Default::default(),
            prepare: Default::default(),
            remove: false,
            origin: Default::default(),
        };
        let pattern = Pattern::of(Verb::Read, Pick::Uniform, 4096);
        let mut job = Job::new("randread", "psync", vec![0], Workload::Pattern(Box::new(pattern)));
        (job.workers, job.kind, job.seed) = (4, WorkerKind::Processes, Some(1));
        job.limit.bytes = Some(128 << 20);
        let phase = Phase { name: "randread".into(), jobs: vec![job], ..Phase::default() };
        let plan =
            Plan { name: "house".into(), targets: vec![target], phases: vec![phase], ..Plan::default() };
        let wanted = "plan \"house\" · seed 0
phase 1 \"randread\"
  job \"randread\" ×4 processes · psync · depth 1
    on file randread.{worker}.0, 128 MiB each
    read 100 % · 4 KiB · uniform, no repeat · seed 1
    until each read 128 MiB
";
        assert_eq!(print(&plan), wanted);
    }
}
