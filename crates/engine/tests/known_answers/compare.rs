//! What the record says beside what is known.
//!
//! The floor is no constant: it is a distribution, found by a plain client in turn with ours. What must be seen is every logged
//! latency with any of the floors added that the plain client saw at such latencies: a reply that the device's log calls late
//! often reaches the client soon, and the reverse, so that the two are not independent. A wrong meter is wrong in every turn.
//! Where the turns differ from each other by more than the tolerance, the machine was disturbed: what is off then proves
//! nothing, and the case is skipped with its figures. It refuses to measure anything a second time.

use std::fmt;

use iodyno_engine::{Options, run};
use iodyno_model::histogram::{bucket_of, lower_edge};
use iodyno_model::{Histogram, Job, Phase, Plan, Tally, Target};
use testbed::Skip;

/// What a figure may be off by.
const TOLERANCE: f64 = 0.01;
/// Samples that must lie beyond a percentile, on either side, for it to be one.
const BEYOND: usize = 10;
/// Floors that are added to one latency: those of its rank.
const FLOORS: usize = 101;

/// One job on one target; its tally.
pub fn tally_of(target: Target, job: Job) -> Result<Tally, Box<dyn std::error::Error>> {
    let phase = Phase { name: "known".into(), jobs: vec![job], ..Phase::default() };
    let plan =
        Plan { name: "known".into(), seed: 1, targets: vec![target], phases: vec![phase], ..Plan::default() };
    let mut record = run(&plan, &Options::default(), &mut |_| ()).map_err(|wrong| format!("{wrong:?}"))?;
    if let Some(error) = record.errors.first() {
        return Err(error.message.clone().into());
    }
    Ok(record.phases.remove(0).jobs.remove(0).tally)
}

/// One figure, as we say it and as it must be.
pub struct Figure {
    name: String,
    ours: f64,
    /// The class of a histogram that ours was kept in: from, to.
    class: (f64, f64),
    known: f64,
    /// What it may be off by without any fault, as a share: by how much the turns differ from the middle between them, or
    /// as many samples can say of a percentile.
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
        Figure { name: name.into(), ours, class: (ours, ours), known, doubt: 0.0 }
    }

    /// The same of a histogram, which says no more than a class; the client itself was held up by so much, ns.
    pub fn kept(name: impl Into<String>, ours_ns: u64, known_ns: u64, doubt_ns: u64) -> Self {
        let (ours, known) = (ours_ns as f64 / 1e3, known_ns as f64 / 1e3);
        Figure {
            class: class(ours_ns),
            doubt: doubt_ns as f64 / known_ns as f64,
            ..Figure::new(name, ours, known)
        }
    }

    /// A rate, an s: so many operations in our time beside as many in each of the log's times and what the plain client
    /// needed beyond it in the same turn; all in ns.
    pub fn rate(count: u64, ours_ns: u64, logged_ns: &[u64], beyond_ns: &[u64]) -> Self {
        let known_ns = logged_ns.iter().chain(beyond_ns).sum::<u64>() as f64;
        let (least, most) = (beyond_ns.iter().min(), beyond_ns.iter().max());
        let apart_ns = most.zip(least).map_or(0, |(most, least)| most - least) * beyond_ns.len() as u64;
        let rate = |ns: f64| count as f64 * 1e9 / ns;
        Figure {
            doubt: apart_ns as f64 / 2.0 / known_ns,
            ..Figure::new("IOPS", rate(ours_ns as f64), rate(known_ns))
        }
    }

    fn error(&self) -> f64 {
        self.ours / self.known - 1.0
    }

    /// Whether any value of the class that ours lies in is near enough: a histogram says no more than the class.
    fn is_right(&self) -> bool {
        let (from, to) = self.class;
        from / self.known - 1.0 <= TOLERANCE && to / self.known - 1.0 >= -TOLERANCE
    }

    fn verdict(&self) -> Verdict {
        match self.is_right() {
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

/// What was seen in a turn: ours, and the plain client's just before it.
pub struct Turn {
    /// As we say it.
    pub ours: Histogram,
    /// By the device's log, ns, ascending.
    pub logged: Vec<u64>,
    /// The log of the plain client's reads, and what it saw beyond, ns, ascending.
    pub floor: Vec<(u64, u64)>,
}

impl Turn {
    /// By how much ours is beyond what the turn's own log and floor foretell, as a share.
    fn error(&self, percent: f64) -> f64 {
        self.ours.percentile(percent) as f64 / at(&foretold(&self.logged, &self.floor), percent) as f64 - 1.0
    }
}

/// Each percentile that has enough samples on both sides, in µs. A meter that is wrong is so in every turn: by as much as
/// the turns differ, in what their floors foretell or in our error, it was the machine. So was what lies within the
/// interval that the number of samples leaves to the percentile.
pub fn percentiles(wanted: &[f64], turns: &[Turn]) -> Vec<Figure> {
    let logged = sorted(turns.iter().flat_map(|turn| turn.logged.iter().copied()).collect());
    let mut floor: Vec<_> = turns.iter().flat_map(|turn| turn.floor.iter().copied()).collect();
    floor.sort_unstable();
    let mut ours = Histogram::default();
    turns.iter().for_each(|turn| ours.merge(&turn.ours));
    let all = foretold(&logged, &floor);
    let single: Vec<Vec<u64>> = turns.iter().map(|turn| foretold(&logged, &turn.floor)).collect();
    let enough = |percent: f64| {
        let rank = (percent / 100.0 * logged.len() as f64).ceil() as usize;
        rank >= BEYOND && rank + BEYOND <= logged.len()
    };
    let figure = |percent: f64| {
        let known = at(&all, percent);
        let floors = apart(single.iter().map(|foretold| at(foretold, percent) as f64 / known as f64));
        let errors = apart(turns.iter().map(|turn| turn.error(percent)));
        let sampled =
            apart(interval(percent, logged.len()).map(|end| ours.percentile(end) as f64 / known as f64));
        Figure {
            class: class(ours.percentile(percent)),
            doubt: floors.max(errors).max(sampled) / 2.0,
            ..Figure::new(format!("p{percent}"), ours.percentile(percent) as f64 / 1e3, known as f64 / 1e3)
        }
    };
    wanted.iter().copied().filter(|percent| enough(*percent)).map(figure).collect()
}

/// Between which percentiles of as many samples the true one lies, by the binomial deviation of its rank. With 99.9 %, as
/// some two hundred figures are judged in a run.
fn interval(percent: f64, samples: usize) -> [f64; 2] {
    let share = percent / 100.0;
    let deviation = 100.0 * (share * (1.0 - share) / samples as f64).sqrt();
    [percent - 3.29 * deviation, percent + 3.29 * deviation]
}

/// From the least to the most.
fn apart(values: impl IntoIterator<Item = f64>) -> f64 {
    let ends = values
        .into_iter()
        .fold((f64::MAX, f64::MIN), |(least, most), value| (least.min(value), most.max(value)));
    ends.1 - ends.0
}

/// From where to where a histogram does not tell a time from others, µs.
fn class(ns: u64) -> (f64, f64) {
    let bucket = bucket_of(ns);
    (lower_edge(bucket) as f64 / 1e3, lower_edge(bucket + 1) as f64 / 1e3)
}

/// The same values, ascending.
pub fn sorted(mut values: Vec<u64>) -> Vec<u64> {
    values.sort_unstable();
    values
}

/// Every logged latency with the floors of its rank, ascending.
fn foretold(logged: &[u64], floor: &[(u64, u64)]) -> Vec<u64> {
    let near = FLOORS.min(floor.len());
    let floors = |rank: usize| {
        let middle = rank * (floor.len() - 1) / (logged.len() - 1).max(1);
        let first = middle.saturating_sub(near / 2).min(floor.len() - near);
        &floor[first..first + near]
    };
    let sums = logged
        .iter()
        .enumerate()
        .flat_map(|(rank, ns)| floors(rank).iter().map(move |(_, beyond)| ns + beyond));
    sorted(sums.collect())
}

/// A percentile of ascending values: nearest rank.
pub fn at(sorted: &[u64], percent: f64) -> u64 {
    let rank = (percent / 100.0 * sorted.len() as f64 * (1.0 - 1e-12)).ceil() as usize;
    sorted[rank.clamp(1, sorted.len()) - 1]
}

/// Says the figures of a measurement, and passes when all are right.
///
/// # Errors
/// All figures when one is off; the same as a [`Skip`] when one cannot be judged, since the turns differ.
pub fn judge(name: &str, circumstances: &str, figures: &[Figure]) -> testbed::Outcome {
    let texts: Vec<String> = figures.iter().map(Figure::to_string).collect();
    let said = format!("{name}: {circumstances}; {}", texts.join(", "));
    eprintln!("{said}");
    let any = |wanted: Verdict| figures.iter().any(|figure| figure.verdict() == wanted);
    if any(Verdict::Off) {
        return Err(format!("off by more than 1 %: {said}").into());
    }
    if any(Verdict::Unclear) {
        return Err(Skip::new(format!("the machine was disturbed, since the turns differ: {said}")).into());
    }
    Ok(())
}
