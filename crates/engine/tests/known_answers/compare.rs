//! What the record says beside what is known.
//!
//! The floor is no constant: it is a distribution, found by a plain client in turn with ours. What must be seen is
//! every logged latency with any of the floors added. Where the floors of single turns foretell figures that differ
//! from each other by more than the tolerance, the machine was disturbed, and what is off proves nothing in that try.

use std::collections::BTreeMap;
use std::fmt;

use iodyno_model::Histogram;
use testbed::Skip;

/// What a figure may be off by.
const TOLERANCE: f64 = 0.01;
/// How often what is off or cannot be judged is measured.
const TRIES: usize = 3;
/// Samples that must lie beyond a percentile, on either side, for it to be one.
const BEYOND: usize = 10;
/// Floors that a distribution is thinned to.
const FLOORS: usize = 101;

/// One figure, as we say it and as it must be.
pub struct Figure {
    name: String,
    ours: f64,
    known: f64,
    /// By how much the turns differ in this figure from the middle between them, as a share.
    doubt: f64,
}

/// What becomes of a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Right,
    Off,
    Unclear,
}

impl Figure {
    /// A figure that the floor plays no part in; times in ns.
    pub fn new(name: impl Into<String>, ours: f64, known: f64) -> Self {
        Figure { name: name.into(), ours, known, doubt: 0.0 }
    }

    fn error(&self) -> f64 {
        self.ours / self.known - 1.0
    }

    fn verdict(&self) -> Verdict {
        match self.error().abs() <= TOLERANCE {
            true => Verdict::Right,
            false if self.doubt > TOLERANCE => Verdict::Unclear,
            false => Verdict::Off,
        }
    }
}

impl fmt::Display for Figure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let percent = self.error() * 100.0;
        write!(f, "{} {:.0}/{:.0} {percent:+.2} %", self.name, self.ours, self.known)?;
        match self.verdict() {
            Verdict::Right => Ok(()),
            Verdict::Off => write!(f, " OFF"),
            Verdict::Unclear => write!(f, " unclear (± {:.1} %)", self.doubt * 100.0),
        }
    }
}

/// Each percentile that has enough samples on both sides, in µs. `logged` is ascending; each turn's floors are, too.
pub fn percentiles(wanted: &[f64], ours: &Histogram, logged: &[u64], turns: &[Vec<u64>]) -> Vec<Figure> {
    let all = foretold(logged, &sorted(turns.concat()));
    let single: Vec<Vec<u64>> = turns.iter().map(|floor| foretold(logged, floor)).collect();
    let enough = |percent: f64| {
        let rank = (percent / 100.0 * logged.len() as f64).ceil() as usize;
        rank >= BEYOND && rank + BEYOND <= logged.len()
    };
    let figure = |percent: f64| {
        let known = at(&all, percent);
        let turns = single.iter().map(|foretold| at(foretold, percent));
        let (least, most) = turns.fold((known, known), |(least, most), ns| (least.min(ns), most.max(ns)));
        Figure {
            name: format!("p{percent}"),
            ours: ours.percentile(percent) as f64 / 1e3,
            known: known as f64 / 1e3,
            doubt: (most - least) as f64 / 2.0 / known as f64,
        }
    };
    wanted.iter().copied().filter(|percent| enough(*percent)).map(figure).collect()
}

/// The same values, ascending.
pub fn sorted(mut values: Vec<u64>) -> Vec<u64> {
    values.sort_unstable();
    values
}

/// Every logged latency with any of the floors, ascending.
fn foretold(logged: &[u64], floor: &[u64]) -> Vec<u64> {
    let thinned = (0..FLOORS).map(|index| floor[index * (floor.len() - 1) / (FLOORS - 1)]);
    sorted(thinned.flat_map(|floor| logged.iter().map(move |ns| ns + floor)).collect())
}

/// A percentile of ascending values: nearest rank.
pub fn at(sorted: &[u64], percent: f64) -> u64 {
    let rank = (percent / 100.0 * sorted.len() as f64 * (1.0 - 1e-12)).ceil() as usize;
    sorted[rank.clamp(1, sorted.len()) - 1]
}

/// Measures until every figure has been right once, and says what was found each time.
///
/// # Errors
/// The figures of every try when one was off in each; a [`Skip`] when one could not be judged.
pub fn until_right(
    name: &str,
    mut measure: impl FnMut() -> Result<(String, Vec<Figure>), Box<dyn std::error::Error>>,
) -> testbed::Outcome {
    let mut verdicts: BTreeMap<String, Vec<Verdict>> = BTreeMap::new();
    let mut said = Vec::new();
    for attempt in 1..=TRIES {
        let (circumstances, figures) = measure()?;
        let texts: Vec<String> = figures.iter().map(Figure::to_string).collect();
        said.push(format!("{name}, try {attempt}: {circumstances}; {}", texts.join(", ")));
        eprintln!("{}", said[said.len() - 1]);
        for figure in &figures {
            verdicts.entry(figure.name.clone()).or_default().push(figure.verdict());
        }
        verdicts.retain(|_, tries| tries.last() != Some(&Verdict::Right));
        if attempt > 1 {
            verdicts.retain(|_, tries| tries.len() == attempt);
        }
        if verdicts.is_empty() {
            return Ok(());
        }
    }
    let wrong = verdicts.values().any(|tries| tries.iter().all(|verdict| *verdict == Verdict::Off));
    if wrong {
        return Err(format!("off by more than 1 % in each of {TRIES} tries:\n{}", said.join("\n")).into());
    }
    let unclear = verdicts.into_keys().collect::<Vec<_>>().join(" ");
    Err(Skip::new(format!("the machine was disturbed in each of {TRIES} tries: no verdict on {unclear}"))
        .into())
}
