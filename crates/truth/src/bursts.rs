//! Lie 8: fast, then throttled: credits of a cloud volume, a write cache that fills, a processor that heats up.
//!
//! The mean of such a run is a figure of its length. Proof: one lasting fall of the rate, from one level to another; a
//! drift, a dip and a rise are another lie (7).

use iodyno_model::{Figure, FindingKind, JobRecord, PhaseRecord, Remedy, Severity, units};

use crate::case::label;
use crate::merge::Suspicion;
use crate::statistics::{Credit, STEADY_SLOPE_PERCENT, credit, steadiness};

/// The slow level is at most so much of the fast one. Chosen: more than a steady rate may range over (20 %);
/// `levels_must_lie_far_apart_to_be_credit` stands on both sides.
const MOST_LEFT: f64 = 0.75;
/// A stall is no level: the slow one lasts at least so long behind the row in which it fell, ns. Source: the experiment
/// `stationary`, commits of 1.5 s at the end of a run.
const LEAST_SLOW_NS: f64 = 2e9;
/// How many deviations of counting noise, which is normal, lie between the levels. Chosen: chance exceeds it twice in
/// 10⁹; `credit_that_is_used_up` stands on both sides.
const LEAST_DEVIATIONS: f64 = 6.0;
/// How many median deviations of the slow level's rows do: three deviations of normal values. Source: the normal
/// distribution, whose deviation is 1.4826 median ones; docs/decisions/0007-steady-in-seconds.md.
pub const LEAST_APART: f64 = 4.4;

/// A fall in a row of counts, each over `interval_ns`.
pub fn check(phase: &PhaseRecord, job: &JobRecord, counts: &[f64], interval_ns: f64) -> Option<Suspicion> {
    let slow_ns = |found: &Credit| (counts.len() - found.rows - 1) as f64 * interval_ns;
    let found =
        credit(counts).filter(|found| is_throttled(found, counts) && slow_ns(found) >= LEAST_SLOW_NS)?;
    let scale = 1e9 / interval_ns;
    let (fast, slow) = (found.fast * scale, found.slow * scale);
    let burst_ns = found.rows as f64 * interval_ns;
    let sentence = format!(
        "it was fast for {} only, {}/s, and then {:.0} % of that, {}/s: the mean of both is the rate of neither",
        units::duration(burst_ns),
        units::count(fast),
        found.slow / found.fast * 100.0,
        units::count(slow),
    );
    let mut figures = vec![
        Figure::new("rate at first", fast, "1/s"),
        Figure::new("rate afterwards", slow, "1/s"),
        Figure::new("fast for", burst_ns, "ns"),
    ];
    let each = job.tally.all_bytes() as f64 / job.tally.all_operations().max(1) as f64;
    let beyond = found.credit * found.slow * each;
    // Of a rate that fell to nothing there is no such thing.
    if each > 0.0 && beyond.is_finite() {
        figures.push(Figure::new("moved beyond the later rate", beyond, "bytes"));
    }
    let suspicion =
        Suspicion::new(FindingKind::FallingRate, Severity::Doubtful, label(phase), sentence, figures);
    let needs = needs(&found, counts);
    Some(suspicion.job(&job.name).remedy(Remedy::OutlastBurst).weight(fast / slow.max(1e-9)).needs(needs))
}

/// The share that must have been lost behind the fall, or won before it, whichever is more.
fn needs(found: &Credit, counts: &[f64]) -> f64 {
    let fell = found.fast - found.slow;
    let lost = fell / found.fast * (1.0 - found.rows as f64 / counts.len() as f64);
    let won = fell * found.rows as f64 / counts.iter().sum::<f64>();
    lost.max(won)
}

/// Whether it fell far, beyond counting noise, and to a level rather than on and on. The row in which it fell is of
/// neither level.
fn is_throttled(found: &Credit, counts: &[f64]) -> bool {
    let noise = (found.fast.max(1.0) + found.slow.max(1.0)).sqrt();
    let flat = steadiness(&counts[found.rows + 1..]).is_none_or(|rest| {
        rest.slope_percent > -STEADY_SLOPE_PERCENT.max(400.0 / found.slow.max(1.0).sqrt())
    });
    let scatter = LEAST_APART * found.flat_percent / 100.0 * found.slow;
    let least = scatter.max(LEAST_DEVIATIONS * noise);
    flat && found.slow <= MOST_LEFT * found.fast && found.fast - found.slow >= least
}
