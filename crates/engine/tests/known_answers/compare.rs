//! What the record says beside what the device logged.

use std::fmt;

use iodyno_model::Histogram;

/// What a figure may be off by.
pub const TOLERANCE: f64 = 0.01;
/// Samples that must lie beyond a percentile, on either side, for it to be judged.
const BEYOND: usize = 10;

/// One figure, as we say it and as it is.
pub struct Figure {
    name: String,
    ours: f64,
    true_value: f64,
}

impl Figure {
    /// A figure; times in ns.
    pub fn new(name: impl Into<String>, ours: f64, true_value: f64) -> Self {
        Figure { name: name.into(), ours, true_value }
    }

    /// By how much ours is off, as a share of what is true.
    pub fn error(&self) -> f64 {
        self.ours / self.true_value - 1.0
    }

    /// Whether it is further off than it may be.
    pub fn is_off(&self) -> bool {
        // NaN is off.
        !(self.error().abs() <= TOLERANCE)
    }
}

impl fmt::Display for Figure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mark = if self.is_off() { " OFF" } else { "" };
        write!(
            f,
            "{} {:.1} of {:.1} ({:+.2} %){mark}",
            self.name,
            self.ours,
            self.true_value,
            self.error() * 100.0
        )
    }
}

/// Each percentile that has enough samples on both sides: ours less the floor against the log's. In µs.
pub fn percentiles(wanted: &[f64], ours: &Histogram, logged: &[u64], floor_ns: u64) -> Vec<Figure> {
    let judged = wanted.iter().filter_map(|percent| {
        let rank = (percent / 100.0 * logged.len() as f64).ceil() as usize;
        (rank >= BEYOND && rank + BEYOND <= logged.len()).then(|| (percent, logged[rank - 1]))
    });
    judged
        .map(|(percent, true_ns)| {
            let ours = ours.percentile(*percent).saturating_sub(floor_ns);
            Figure::new(format!("p{percent}"), ours as f64 / 1e3, true_ns as f64 / 1e3)
        })
        .collect()
}

/// All figures in one line.
pub fn line(figures: &[Figure]) -> String {
    figures.iter().map(Figure::to_string).collect::<Vec<_>>().join(", ")
}

/// Measures until every figure is right, `tries` times at most, and says what was found each time.
///
/// # Errors
/// The figures of every try, when each had one that was off; or what kept it from being measured.
pub fn until_right(
    name: &str,
    tries: u32,
    mut measure: impl FnMut() -> Result<(String, Vec<Figure>), Box<dyn std::error::Error>>,
) -> testbed::Outcome {
    let mut said = Vec::new();
    for attempt in 1..=tries {
        let (circumstances, figures) = measure()?;
        let text = format!("{name}, try {attempt}: {circumstances}; {}", line(&figures));
        eprintln!("{text}");
        if !figures.iter().any(Figure::is_off) {
            return Ok(());
        }
        said.push(text);
    }
    Err(format!("off by more than 1 % in each of {tries} tries:\n{}", said.join("\n")).into())
}
