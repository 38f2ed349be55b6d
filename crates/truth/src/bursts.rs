//! Lie 8: fast, then throttled: credits of a cloud volume, a write cache that fills, a processor that heats up.
//!
//! The mean of such a run is a figure of its length. Proof: one lasting fall of the rate, from one level to another; a
//! drift, a dip and a rise are another lie (7).

use iodyno_model::{Figure, JobRecord, PhaseRecord, Severity, units};

use crate::case::label;
use crate::change::{Change, change};
use crate::merge::Suspicion;

/// The fast part and the slow part have at least so many rows.
const LEAST_ROWS: (usize, usize) = (2, 3);
/// The slow level is at most so much of the fast one.
const MOST_LEFT: f64 = 0.75;
/// How many deviations of counting noise lie between the levels.
const LEAST_DEVIATIONS: f64 = 6.0;

const ADVICE: &str = "run until the fast part no longer matters (a longer `time`), or leave it out with a `ramp` of at \
                      least its length; tell both rates";

/// A fall in a row of counts, each over `interval_ns`; what the job moved in each operation tells what the credit was.
pub fn check(phase: &PhaseRecord, job: &JobRecord, counts: &[f64], interval_ns: f64) -> Option<Suspicion> {
    let found = change(counts, LEAST_ROWS).filter(|found| is_fall(*found))?;
    let scale = 1e9 / interval_ns;
    let (fast, slow) = (found.before * scale, found.after * scale);
    let burst_ns = found.at as f64 * interval_ns;
    let sentence = format!(
        "it was fast for {} only, {}/s, and then {:.0} % of that, {}/s: the mean of both is the rate of neither",
        units::duration(burst_ns),
        units::count(fast),
        found.after / found.before * 100.0,
        units::count(slow),
    );
    let mut figures = vec![
        Figure::new("rate at first", fast, "1/s"),
        Figure::new("rate afterwards", slow, "1/s"),
        Figure::new("fast for", burst_ns, "ns"),
        Figure::new("explained by two levels", found.explained_percent, "%"),
    ];
    let operations = job.tally.all_operations();
    if let Some(each) = job.tally.all_bytes().checked_div(operations).filter(|each| *each > 0) {
        let credit = (found.before - found.after) * found.at as f64 * each as f64;
        figures.push(Figure::new("moved beyond the later rate", credit, "bytes"));
    }
    let suspicion = Suspicion::new(8, Severity::Doubtful, label(phase), sentence, figures);
    Some(suspicion.job(&job.name).advice(ADVICE).weight(fast / slow.max(1e-9)))
}

fn is_fall(found: Change) -> bool {
    let noise = (found.before.max(1.0) + found.after.max(1.0)).sqrt();
    found.after <= MOST_LEFT * found.before && found.before - found.after >= LEAST_DEVIATIONS * noise
}
