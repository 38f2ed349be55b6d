//! Lie 11: the machine was not ours: the hypervisor took processors away, a control group held us back, heat slowed them
//! down, somebody else had them, or memory ran out.
//!
//! Proof: what the kernel counted against us. Others who run on processors that we do not want are nobody's business.

use iodyno_model::{
    ControlActivity, EngineTrait, Figure, FindingKind, IoLimit, Kind, Pressure, ProcessorActivity, Remedy,
    Severity, Sighting, units,
};

use crate::case::{COUNTED_NS, PhaseEvidence};
use crate::merge::Suspicion;

/// Percent that the hypervisor took: of the time that was wanted, of all processors, and of the workers' own time.
/// Source: docs/decisions/0004-stolen-time.md.
const MOST_STEAL_PERCENT: (f64, f64, f64) = (10.0, 2.0, 10.0);
/// Percent of scheduling periods that ended with the group held back, and of the time. Chosen: one period in twenty may
/// end so by chance; `a_machine_that_is_not_ours` stands on both sides.
const MOST_THROTTLED_PERCENT: (f64, f64) = (5.0, 1.0);
/// Percent of the workers' time that they waited for a processor. Chosen: less than a steady rate may range over
/// (20 %); `others_who_have_the_processors` stands on both sides.
const MOST_WAITED_PERCENT: f64 = 15.0;
/// Percent of all processors that others took, while none was idle for more than this. Chosen: one processor of four,
/// and hardly any left; `others_who_have_the_processors` and `an_honest_run_is_not_accused` stand on both sides.
const MOST_OTHERS_PERCENT: (f64, f64) = (25.0, 10.0);
/// Percent of the time that somebody, or everybody, waited for memory. Chosen: where all wait nothing runs, where some
/// wait others do; `a_machine_that_is_not_ours` stands at 10 % of each: below the first, beyond the second.
const MOST_MEMORY_PERCENT: (f64, f64) = (20.0, 5.0);
/// A limit is reached from this share on, and is not ours beyond this one. Chosen: a limit is kept on the mean, and
/// exceeded in bursts; `limits_of_a_control_group` stands on both sides of the first, and not beyond the second.
const LIMIT_REACHED: std::ops::RangeInclusive<f64> = 0.85..=1.3;

/// Who held this phase back.
pub fn check(case: &PhaseEvidence<'_>) -> Vec<Suspicion> {
    // Simulated time goes on without processors.
    let real = case.jobs().any(|(_, record)| !record.engine_is(EngineTrait::HasVirtualTime));
    if !real || case.found.elapsed_ns < COUNTED_NS {
        return Vec::new();
    }
    let mut found = Vec::new();
    for sighting in &case.found.sightings {
        match sighting {
            Sighting::Processors(seen) => {
                found.extend(stolen(case, seen));
                found.extend(taken(case, seen));
                found.extend(hot(case, seen));
            }
            Sighting::Control(group) => {
                found.extend(held_back(case, group));
                found.extend(group.io.iter().filter_map(|limit| limited(case, limit)));
            }
            Sighting::Pressure(pressure) => found.extend(starved(case, pressure)),
            _ => {}
        }
    }
    found
}

fn suspicion(case: &PhaseEvidence<'_>, sentence: String, figures: Vec<Figure>, remedy: Remedy) -> Suspicion {
    let found =
        Suspicion::new(FindingKind::SharedMachine, Severity::Doubtful, case.label(), sentence, figures);
    found.remedy(remedy).matter(remedy.words())
}

fn percent(part: u64, of: u64) -> f64 {
    part as f64 / of.max(1) as f64 * 100.0
}

/// The time of all processors that were looked at, ns: how many may be used is another matter where a quota counts.
pub fn capacity_ns(seen: &ProcessorActivity) -> u64 {
    (seen.busy_ns + seen.idle_ns + seen.steal_ns).max(1)
}

fn stolen(case: &PhaseEvidence<'_>, seen: &ProcessorActivity) -> Option<Suspicion> {
    let wanted = percent(seen.steal_ns, seen.steal_ns + seen.busy_ns);
    let all = percent(seen.steal_ns, capacity_ns(seen));
    let cost = cost(case, seen);
    if wanted < MOST_STEAL_PERCENT.0 || all < MOST_STEAL_PERCENT.1 || cost < MOST_STEAL_PERCENT.2 {
        return None;
    }
    let sentence = format!("the hypervisor took {wanted:.0} % of the processor time that was wanted");
    let figures = vec![
        Figure::new("stolen of what was wanted", wanted, "%"),
        Figure::new("stolen of all processors", all, "%"),
        Figure::new("stolen of the workers' time at most", cost, "%"),
    ];
    Some(
        suspicion(case, sentence, figures, Remedy::UseDedicatedProcessors).weight(wanted).takes(cost / 100.0),
    )
}

/// How much of their time the workers lost by what was stolen, at most, in percent: as if all of it had hit one of them
/// each time. One that waits for its storage loses nothing but what its waking up takes longer, and so a run that hardly
/// computes may have much stolen of what little it wanted, and be none the slower. `docs/decisions/0004-stolen-time.md`
fn cost(case: &PhaseEvidence<'_>, seen: &ProcessorActivity) -> f64 {
    let workers = case.found.jobs.iter().map(|job| job.workers.len() as u64).sum::<u64>();
    let at_once = workers.clamp(1, u64::from(seen.cpus).max(1));
    percent(seen.steal_ns, seen.interval_ns.saturating_mul(at_once)).min(100.0)
}

/// How long the workers waited for a processor, in percent of the time they ran.
fn waited(case: &PhaseEvidence<'_>) -> Option<f64> {
    let workers = || case.found.jobs.iter().flat_map(|job| &job.workers);
    let waited = workers().map(|worker| worker.waited_ns).collect::<Option<Vec<u64>>>()?;
    let ran: u64 = workers().map(|worker| worker.ended_ns.saturating_sub(worker.began_ns)).sum();
    (ran > 0).then(|| percent(waited.iter().sum(), ran))
}

/// Processors that others had while our workers wanted them.
fn taken(case: &PhaseEvidence<'_>, seen: &ProcessorActivity) -> Option<Suspicion> {
    let all = capacity_ns(seen);
    let others = percent(seen.busy_ns.saturating_sub(seen.own_ns), all);
    let ours = percent(seen.own_ns, all);
    let idle = percent(seen.idle_ns, all);
    let waited = waited(case);
    let harmed = waited.is_none_or(|waited| waited >= MOST_WAITED_PERCENT);
    // Kernel threads that work for us are others too: without waiting they harm nobody.
    if !harmed || others < MOST_OTHERS_PERCENT.0 || (waited.is_none() && idle > MOST_OTHERS_PERCENT.1) {
        return None;
    }
    let harm = waited.map_or(format!("{idle:.0} % of the processors were idle"), |waited| {
        format!("the workers waited {waited:.0} % of their time for one")
    });
    let sentence = format!("others took {others:.0} % of the processors, and {harm}");
    let mut figures = vec![
        Figure::new("processors taken by others", others, "%"),
        Figure::new("processors taken by this run", ours, "%"),
        Figure::new("processors idle", idle, "%"),
    ];
    figures.extend(waited.map(|waited| Figure::new("workers waited for a processor", waited, "%")));
    figures.extend(seen.runnable.map(|tasks| Figure::new("tasks that wanted to run", tasks, "")));
    let lost = waited.unwrap_or(others);
    Some(suspicion(case, sentence, figures, Remedy::ReserveProcessors).weight(lost).takes(lost / 100.0))
}

fn hot(case: &PhaseEvidence<'_>, seen: &ProcessorActivity) -> Option<Suspicion> {
    let times = seen.throttled.filter(|times| *times > 0)?;
    let sentence = format!("heat slowed the processors down {times} times");
    let mut figures = vec![Figure::new("slowed down by heat", times as f64, "")];
    if let Some([before, after, _]) = seen.mhz {
        figures.push(Figure::new("frequency before", before, "MHz"));
        figures.push(Figure::new("frequency after", after, "MHz"));
    }
    let slower = seen.mhz.map_or(0.0, |[before, after, _]| 1.0 - after / before.max(1.0));
    Some(suspicion(case, sentence, figures, Remedy::CoolDown).weight(times as f64).takes(slower.max(0.0)))
}

fn held_back(case: &PhaseEvidence<'_>, group: &ControlActivity) -> Option<Suspicion> {
    let periods = percent(group.throttled_periods, group.periods);
    let time = percent(group.throttled_ns, group.interval_ns);
    if periods < MOST_THROTTLED_PERCENT.0 || time < MOST_THROTTLED_PERCENT.1 {
        return None;
    }
    let quota = group.cpu_quota.map_or(String::new(), |quota| format!(" ({quota:.2} processors)"));
    let sentence = format!(
        "the control group's limit{quota} held the run back in {periods:.0} % of the scheduling periods"
    );
    let mut figures = vec![
        Figure::new("periods held back", periods, "%"),
        Figure::new("time held back", group.throttled_ns as f64, "ns"),
    ];
    figures.extend(group.cpu_quota.map(|quota| Figure::new("processors allowed", quota, "")));
    Some(suspicion(case, sentence, figures, Remedy::RaiseCpuLimit).weight(periods).takes(time / 100.0))
}

/// A limit of the group's I/O that the phase ran into.
fn limited(case: &PhaseEvidence<'_>, limit: &IoLimit) -> Option<Suspicion> {
    let seconds = case.found.elapsed_ns as f64 / 1e9;
    let sum = |kind: Kind| {
        let tallies = case.storage_jobs().map(|(_, record)| &record.tally);
        tallies.fold((0.0, 0.0), |(bytes, operations), tally| {
            (bytes + tally.bytes(kind) as f64, operations + tally.operations(kind) as f64)
        })
    };
    let (read, write) = (sum(Kind::Read), sum(Kind::Write));
    let each = [
        (limit.read_bytes, read.0, "bytes/s", "read"),
        (limit.write_bytes, write.0, "bytes/s", "written"),
        (limit.reads, read.1, "1/s", "read"),
        (limit.writes, write.1, "1/s", "written"),
    ];
    let reached = each.into_iter().find_map(|(allowed, did, unit, what)| {
        let allowed = allowed.filter(|allowed| *allowed > 0)? as f64;
        let rate = did / seconds;
        LIMIT_REACHED.contains(&(rate / allowed)).then_some((allowed, rate, unit, what))
    })?;
    let (allowed, rate, unit, what) = reached;
    let told = |rate: f64| match unit {
        "1/s" => format!("{}/s", units::count(rate)),
        _ => format!("{}/s", units::decimal(rate)),
    };
    let sentence = format!(
        "the control group lets {} be {what} of {}, and {} were: the limit was measured, not the storage",
        told(allowed),
        limit.device,
        told(rate)
    );
    let figures = vec![Figure::new("allowed", allowed, unit), Figure::new("attained", rate, unit)];
    // An even limit holds the device back, and makes nothing unsteady.
    Some(suspicion(case, sentence, figures, Remedy::RaiseIoLimit).weight(rate / allowed).takes(0.0))
}

fn starved(case: &PhaseEvidence<'_>, pressure: &Pressure) -> Option<Suspicion> {
    let [some, full] =
        [pressure.memory_some_ns, pressure.memory_full_ns].map(|ns| percent(ns, pressure.interval_ns));
    if some < MOST_MEMORY_PERCENT.0 && full < MOST_MEMORY_PERCENT.1 {
        return None;
    }
    let sentence = format!("memory was short: for {some:.0} % of the time somebody waited for it");
    let figures = vec![
        Figure::new("somebody waited for memory", some, "%"),
        Figure::new("everybody waited for memory", full, "%"),
    ];
    Some(suspicion(case, sentence, figures, Remedy::FreeMemory).weight(some).takes(some / 100.0))
}
