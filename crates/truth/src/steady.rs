//! Lie 7: a figure of something that was not steady; and 8, where it fell once and for all.
//!
//! The limits are those of the SNIA SSS PTS: over five rounds, range at most 20 % of the mean and the fitted line's
//! excursion at most 10 %. The rounds are five stretches of the phase's series, or the passes where a phase was repeated.
//! SNIA's rounds are minutes, in which everything comes and goes many times; in a shorter one it may do so once. So what
//! exceeds the limits is *doubtful* where the rows drift by more than they scatter, or keep to two levels for seconds;
//! otherwise it is a *note*. What counting noise alone would do (a Poisson process of that rate) is never told; a phase
//! too short has no verdict. How often the rule errs: `docs/decisions/0007-steady-in-seconds.md`.

use iodyno_model::{
    Figure, FindingKind, Job, JobRecord, Kind, PhaseRecord, Plan, Record, Remedy, SeriesRow, Severity, units,
};

use crate::bursts::{self, LEAST_APART};
use crate::case::{PhaseEvidence, label};
use crate::merge::Suspicion;
use crate::statistics::{
    STEADY_RANGE_PERCENT, STEADY_SLOPE_PERCENT, Steadiness, drifts, levels, rounds, steadiness, warm_up,
};

/// Rounds of the specification's measurement window, and full rows that a series needs at least. Source: SNIA SSS PTS.
const ROUNDS: usize = 5;
/// Passes of a phase that can be judged together. Chosen: two have no slope apart from their range;
/// `passes_are_judged_together` stands on both sides.
const LEAST_PASSES: usize = 3;
/// A round in which what comes and goes has come and gone: kernels write back and file systems commit every 5 s, ns.
/// Source: Linux, `dirty_writeback_centisecs` and `commit=` of ext4(5); the experiment `stationary`.
const ROUND_NS: f64 = 5e9;
/// A level of the rate lasts at least so long, ns: what comes and goes does not. Chosen: a warm-up of four seconds
/// (`credit_that_is_used_up`) is one, a commit of a second and a half is not
/// (`what_wanders_for_seconds_is_seldom_doubted`).
const LEVEL_NS: f64 = 4e9;
/// The range of five normal values in their deviations, exceeded once in a thousand (studentised range). Source: its
/// tables, known deviation.
const NOISE_RANGE: f64 = 5.5;
/// The excursion of a line through five normal values in their deviations, exceeded once in a thousand: 3.3 × 4/√10.
/// Source: the normal distribution.
const NOISE_SLOPE: f64 = 4.2;
/// Rows that are looked at together at most. Source: the experiment `stationary`, wandering rates.
const MOST_ROWS: usize = 30;

/// Phases and passes of the record that were not steady.
pub fn check(plan: &Plan, record: &Record) -> Vec<Suspicion> {
    let mut found = Vec::new();
    let measured = |phase: &&PhaseRecord| {
        let case = PhaseEvidence::new(plan, record, phase);
        phase.repetition == first(record, phase) && !case.is_some_and(|case| case.asked.precondition)
    };
    for phase in record.phases.iter().filter(measured) {
        let mut passes: Vec<&PhaseRecord> =
            record.phases.iter().filter(|other| is_same(phase, other)).collect();
        // Where steadiness was waited for, the passes before it are its price, not the result.
        if let Some(rounds) = plan.repeat.until_steady {
            passes.drain(..passes.len().saturating_sub(rounds.window as usize));
        }
        for (index, job) in phase.jobs.iter().enumerate() {
            if is_paced(plan, record, phase, job) {
                continue;
            }
            if passes.len() >= LEAST_PASSES {
                found.extend(judge_passes(&passes, index, job));
            } else {
                let each = passes.iter().filter_map(|pass| Some((*pass, pass.jobs.get(index)?)));
                found.extend(
                    each.filter_map(|(pass, job)| judge_series(asked(plan, record, pass, job)?, pass, job)),
                );
            }
        }
    }
    found
}

fn is_same(a: &PhaseRecord, b: &PhaseRecord) -> bool {
    a.name == b.name && a.coordinates == b.coordinates
}

fn first(record: &Record, phase: &PhaseRecord) -> u32 {
    let same = record.phases.iter().filter(|other| is_same(phase, other));
    same.map(|other| other.repetition).min().unwrap_or(0)
}

/// A job as it was planned.
fn asked<'a>(plan: &'a Plan, record: &'a Record, phase: &'a PhaseRecord, job: &JobRecord) -> Option<&'a Job> {
    let case = PhaseEvidence::new(plan, record, phase)?;
    case.jobs().find(|(_, found)| found.name == job.name).map(|(job, _)| job)
}

/// Whether a job's rate is its own doing.
fn is_paced(plan: &Plan, record: &Record, phase: &PhaseRecord, job: &JobRecord) -> bool {
    asked(plan, record, phase, job).is_none_or(|job| {
        job.pace.has_rate() || job.pace.think.is_some() || job.pace.latency_target.is_some()
    })
}

/// The time at the end in which workers only flushed, ns: it is part of what was measured, and no slow second. Of workers
/// that flushed one after the other's end, the longest.
fn flushing_ns(asked: &Job, job: &JobRecord) -> u64 {
    let files = asked.targets.len().max(1) as u64;
    let once = u64::from(asked.workers.max(1)) * files;
    let syncs = job.tally.lines.iter().filter(|line| line.verb.kind() == Kind::Sync);
    // Syncs between the operations are their price; one for each file is the flush.
    let last = syncs.filter(|line| asked.finish.sync == Some(line.verb) || line.operations <= once);
    let each = last.map(|line| line.latency.max.saturating_mul(files).min(line.latency.sum as u64));
    each.max().unwrap_or(0)
}

/// The full rows in which every worker did something: neither the one that was cut off at the end, nor those of the flush.
fn full_rows(asked: &Job, job: &JobRecord) -> Option<usize> {
    let (tally, series) = (&job.tally, &job.tally.series);
    let end_ns = tally.first_done_ns.saturating_sub(flushing_ns(asked, job));
    let full = end_ns.saturating_sub(tally.began_ns).checked_div(series.interval_ns)? as usize;
    let full = full.min(series.rows.len());
    let is_data = |row: &SeriesRow| row.reads + row.writes + row.trims > 0;
    let last = series.rows.iter().rposition(is_data);
    // Behind the last operation on data there is nothing but what makes it durable.
    let is_flushed = tally.operations(Kind::Sync) > 0 && last.is_some_and(|last| last + 1 < full);
    Some(if is_flushed { last.unwrap_or(full) } else { full })
}

/// The series over the time in which every worker ran.
fn judge_series(asked: &Job, phase: &PhaseRecord, job: &JobRecord) -> Option<Suspicion> {
    let series = &job.tally.series;
    let full = full_rows(asked, job)?;
    let rows: Vec<f64> = series.rows[..full].iter().map(|row| row.operations() as f64).collect();
    let means = rounds(&rows, ROUNDS)?;
    // Two levels are reported as what they are.
    if let Some(burst) = bursts::check(phase, job, &rows, series.interval_ns as f64) {
        return Some(burst);
    }
    let found = steadiness(&means)?;
    let row_ns = series.interval_ns as f64;
    // Neighbours have less in common in longer rows.
    let coarse = rounds(&rows, MOST_ROWS).unwrap_or_else(|| rows.clone());
    let coarse_ns = row_ns * full as f64 / coarse.len() as f64;
    let judged = JudgedRounds {
        found,
        operations_per_round: found.mean * full as f64 / ROUNDS as f64,
        round_ns: row_ns * full as f64 / ROUNDS as f64,
        scale: 1e9 / row_ns,
        has_drifted: drifts(&coarse),
        has_ranged: has_levels(&coarse, coarse_ns),
        rounds: ROUNDS,
        what: format!("over {full} rows of {} in five rounds", units::duration(row_ns)),
        remedy: Remedy::SettleFirst,
    };
    let mut suspicion = judged.suspicion(phase, job)?;
    if let Some(warm_up) = warm_up(&rows) {
        suspicion.finding.figures.push(Figure::new("warm-up", warm_up.rows as f64 * row_ns, "ns"));
    }
    Some(suspicion)
}

fn judge_passes(passes: &[&PhaseRecord], index: usize, job: &JobRecord) -> Option<Suspicion> {
    let jobs: Vec<&JobRecord> = passes.iter().filter_map(|pass| pass.jobs.get(index)).collect();
    let lasted_ns = |job: &JobRecord| job.tally.last_done_ns.saturating_sub(job.tally.began_ns).max(1) as f64;
    let rates: Vec<f64> =
        jobs.iter().map(|job| job.tally.all_operations() as f64 * 1e9 / lasted_ns(job)).collect();
    let round_ns = jobs.iter().map(|job| lasted_ns(job)).min_by(f64::total_cmp)?;
    let judged = JudgedRounds {
        found: steadiness(&rates)?,
        operations_per_round: jobs.iter().map(|job| job.tally.all_operations()).min()? as f64,
        round_ns,
        scale: 1.0,
        has_drifted: drifts(&rates),
        has_ranged: round_ns >= ROUND_NS,
        rounds: jobs.len(),
        what: format!("over {} passes", jobs.len()),
        remedy: Remedy::RepeatMoreOften,
    };
    judged.suspicion(passes[0], job)
}

/// Whether a row over time keeps to two levels for a while, further apart than a steady range and than
/// what the rows of each scatter.
fn has_levels(rows: &[f64], row_ns: f64) -> bool {
    let levels = levels(rows).into_iter().filter(|level| level.rows.len() as f64 * row_ns >= LEVEL_NS);
    let levels: Vec<_> = levels.collect();
    let mean = rows.iter().sum::<f64>() / rows.len() as f64;
    let scatter = levels.iter().map(|level| LEAST_APART * level.deviation).fold(0.0, f64::max);
    let least = scatter.max(STEADY_RANGE_PERCENT / 100.0 * mean);
    levels.iter().any(|low| levels.iter().any(|high| high.middle - low.middle > least))
}

/// Rounds before the judge.
struct JudgedRounds {
    found: Steadiness,
    operations_per_round: f64,
    /// Length of the shortest round.
    round_ns: f64,
    /// From a round's value to a rate per second.
    scale: f64,
    /// Whether a slope is more than scatter within the run.
    has_drifted: bool,
    /// Whether a range is.
    has_ranged: bool,
    rounds: usize,
    what: String,
    remedy: Remedy,
}

impl JudgedRounds {
    fn suspicion(self, phase: &PhaseRecord, job: &JobRecord) -> Option<Suspicion> {
        let JudgedRounds { found, scale, what, .. } = self;
        let noise_percent = 100.0 / self.operations_per_round.max(1.0).sqrt();
        let range_limit = STEADY_RANGE_PERCENT.max(NOISE_RANGE * noise_percent);
        let slope_limit = STEADY_SLOPE_PERCENT.max(NOISE_SLOPE * noise_percent);
        let (range, slope) = (found.range_percent / range_limit, found.slope_percent.abs() / slope_limit);
        if range.max(slope) <= 1.0 {
            return None;
        }
        // Means scatter with the root of their length.
        let short = (ROUND_NS / self.round_ns).sqrt().max(1.0);
        let is_proven = (self.has_drifted && slope > short) || (self.has_ranged && range > 1.0);
        let varied = format!(
            "ranged over {:.0} % of its mean and drifted by {:.0} %",
            found.range_percent, found.slope_percent
        );
        let (severity, sentence) = match is_proven {
            true => (Severity::Doubtful, format!("the rate was not steady {what}: it {varied}")),
            false => {
                let sentence = format!(
                    "the rate {varied} {what}: a run of this length does not tell whether it was steady"
                );
                (Severity::Note, sentence)
            }
        };
        let figures = vec![
            Figure::new("mean rate", found.mean * scale, "1/s"),
            Figure::new("range", found.range_percent, "%"),
            Figure::new("steady up to", range_limit, "%"),
            Figure::new("slope excursion", found.slope_percent, "%"),
            Figure::new("steady slope up to", slope_limit, "%"),
        ];
        let suspicion = Suspicion::new(FindingKind::UnsteadyRate, severity, label(phase), sentence, figures);
        let suspicion = suspicion.job(&job.name).remedy(self.remedy).weight(range.max(slope));
        Some(suspicion.needs(needs(found, self.rounds)))
    }
}

/// The share of all operations by which one of these rounds would differ from the others, were it the only one that did.
fn needs(found: Steadiness, rounds: usize) -> f64 {
    found.range_percent / 100.0 / rounds as f64
}
