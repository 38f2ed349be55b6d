//! Two runs side by side, as text and as JSON (`iodyno.comparison/1`): each figure with its difference, the interval that
//! holds it, and how large the effect is; before that, in what else they differ.
//!
//! A difference whose interval holds 0 is none. It prints no p-value: it says how much, and how surely.

use iodyno_model::{DemandRecord, Finding};
use iodyno_truth::causes::{self, CauseGroup};
use iodyno_truth::compare::{DifferenceVerdict, QuantityPair};
use iodyno_truth::statistics::{Basis, Difference};
use serde_json::{Value, json};

use crate::findings;
use crate::paint::Paint;
use crate::plan_diff::{Contrast, Weight};
use crate::table::{Table, wrapped};

/// A comparison of a run, or runs, with others.
#[derive(Clone, Debug, Default)]
pub struct Comparison {
    /// What the two sides are called: `run 3`, `a.toml ×10`.
    pub names: (String, String),
    /// A line about each side: when, where, what.
    pub about: (String, String),
    /// In what else they differ, without what was declared.
    pub contrasts: Vec<Contrast>,
    /// In what they were meant to differ.
    pub declared: Vec<Contrast>,
    /// What spoils the figures of either side.
    pub findings: (Vec<Finding>, Vec<Finding>),
    pub figures: Vec<QuantityPair>,
    /// Jobs that only one of them has.
    pub alone: Vec<String>,
    pub demands: Vec<DemandRecord>,
    /// The confidence with which all intervals hold together, percent.
    pub confidence_percent: f64,
    /// Figures that differ by at most so much count as the same, percent.
    pub margin_percent: f64,
    /// Earlier runs of the same that say how much it differs from run to run.
    pub siblings: usize,
}

impl Comparison {
    /// Whether the same was done on the same.
    pub fn is_comparable(&self) -> bool {
        self.contrasts.iter().all(|contrast| contrast.weight == Weight::Passing) && !self.figures.is_empty()
    }

    /// Whether a demand is not kept, or cannot be judged.
    pub fn fails(&self) -> bool {
        self.demands.iter().any(|demand| demand.failed) || (!self.demands.is_empty() && !self.is_comparable())
    }

    pub fn text(&self, paint: Paint) -> String {
        let mut text = String::new();
        for (name, about) in [(&self.names.0, &self.about.0), (&self.names.1, &self.about.1)] {
            text.push_str(&format!("{}  {about}\n", paint.heading(name)));
        }
        text.push_str(&self.differences(paint));
        text.push_str(&self.doubts(paint));
        text.push_str(&self.tables(paint));
        text.push_str(&format!("\n{}\n", wrapped(&self.verdict(), paint.columns, 0)));
        text.push_str(&self.footnotes());
        text.push_str(&self.kept(paint));
        text
    }

    fn differences(&self, paint: Paint) -> String {
        let (passing, grave): (Vec<&Contrast>, Vec<&Contrast>) =
            self.contrasts.iter().partition(|contrast| contrast.weight == Weight::Passing);
        let mut text = String::new();
        let lists = [
            ("not comparable as runs of the same, because these differ:", grave),
            ("meant to differ:", self.declared.iter().collect()),
            ("also different:", passing),
        ];
        for (heading, list) in lists.iter().filter(|(_, list)| !list.is_empty()) {
            text.push_str(&format!("\n{}\n", paint.heading(heading)));
            for contrast in list {
                let (before, after) = &contrast.values;
                let line = format!("{}: {before} → {after}", contrast.what);
                text.push_str(&format!("  {}\n", wrapped(&line, paint.columns - 4, 4)));
            }
        }
        for job in &self.alone {
            text.push_str(&format!("\n  {job}: only one of them has it\n"));
        }
        text
    }

    fn doubts(&self, paint: Paint) -> String {
        let mut text = String::new();
        for (name, findings) in [(&self.names.0, &self.findings.0), (&self.names.1, &self.findings.1)] {
            for CauseGroup { finding, explains } in causes::folded(findings) {
                let also = findings::names(&explains)
                    .map_or_else(String::new, |names| format!("; explains {names}"));
                let line = format!("{name}: {}: {}{also}", finding.phase, finding.sentence);
                let line = paint.severity(finding.severity, &wrapped(&line, paint.columns - 4, 4));
                text.push_str(&format!("  {line}\n"));
            }
        }
        if text.is_empty() { text } else { format!("\n{}\n{text}", paint.heading("doubtful figures:")) }
    }

    fn tables(&self, paint: Paint) -> String {
        let mut text = String::new();
        for place in places(&self.figures) {
            let headings = ["", &self.names.0, &self.names.1, "difference", "interval", "larger in", ""];
            let mut table = Table::new(1, &headings);
            for figure in self.figures.iter().filter(|figure| place == (&figure.phase, &figure.job)) {
                table.row(&row(figure, self.margin_percent));
            }
            let name =
                if place.0 == place.1 { place.0.clone() } else { format!("{} · {}", place.0, place.1) };
            text.push_str(&format!("\n{}\n{}", paint.heading(&name), table.text(2, paint)));
        }
        text
    }

    /// What all of it comes to, in a sentence.
    fn verdict(&self) -> String {
        let count = |verdict: DifferenceVerdict| {
            self.figures.iter().filter(|one| one.verdict(self.margin_percent) == verdict).count()
        };
        let (better, worse) = (count(DifferenceVerdict::Better), count(DifferenceVerdict::Worse));
        let told = self.figures.iter().filter(|one| one.difference.is_some()).count();
        if self.figures.is_empty() {
            return "nothing to compare: no job of one name in both".into();
        }
        if told == 0 {
            return "too short to tell: run longer, or repeat".into();
        }
        let verdict = match (better, worse) {
            (0, 0) if count(DifferenceVerdict::Same) == self.figures.len() => {
                format!("no difference of more than {} %{}", self.margin_percent, self.sensitivity())
            }
            (0, 0) => format!(
                "cannot tell of {} of {} figures whether they are the same within {} %{}; run longer, or repeat",
                count(DifferenceVerdict::Unknown),
                self.figures.len(),
                self.margin_percent,
                self.sensitivity()
            ),
            (better, 0) => format!("better in {better} of {told} figures, worse in none"),
            (0, worse) => format!("worse in {worse} of {told} figures, better in none"),
            (better, worse) => format!("better in {better}, worse in {worse} of {told} figures"),
        };
        match self.is_comparable() {
            true => verdict,
            false => format!("not comparable; as far as the figures go: {verdict}"),
        }
    }

    /// What a difference would have to be to be seen.
    fn sensitivity(&self) -> String {
        let rates = self.figures.iter().filter(|one| one.quantity.measure.unit() == "1/s");
        let widest = rates.filter_map(|one| Some(one.difference?.at_most_percent())).fold(0.0, f64::max);
        if widest > 0.0 { format!(": rates differ by {widest:.1} % at most") } else { String::new() }
    }

    fn footnotes(&self) -> String {
        let mut text =
            format!("All intervals together hold with {} % confidence.\n", self.confidence_percent);
        let bases = || self.figures.iter().filter_map(|one| Some(one.difference?.basis));
        if self.siblings >= 6 {
            text.push_str(&format!(
                "They rest on what varied within each run, and on how {} earlier runs of the same differed.\n",
                self.siblings
            ));
        } else if bases().any(|basis| basis == Basis::Within) {
            text.push_str(
                "They rest on what varied within each run; what varies from run to run is not in\nthem: \
                 --interleave A B -n 10 runs both in turns.\n",
            );
        }
        if self.figures.iter().any(QuantityPair::is_of_one_run) {
            text.push_str(
                "Percentiles of one run on each side differ from run to run by more than what\nvaries within; of \
                 them nothing is said to be better or worse.\n",
            );
        }
        if bases().any(|basis| matches!(basis, Basis::Passes(..) | Basis::Pairs(_))) {
            text.push_str(
                "Figures of several passes or runs are their geometric means: what the differences\nare of.\n",
            );
        }
        if self.figures.iter().any(|one| one.difference.is_none()) {
            text.push_str("?: too short, or without a series, to tell.\n");
        }
        text
    }

    fn kept(&self, paint: Paint) -> String {
        let mut text = String::new();
        for demand in &self.demands {
            let found = demand.found.map_or("nothing to hold it against".into(), |found| {
                match demand.unit.as_str() {
                    "%" => format!("{found:+.1} %"),
                    unit => format!("{found} {unit}").trim_end().to_string(),
                }
            });
            let word = if demand.failed { "FAILED" } else { "kept" };
            let at = if demand.place.is_empty() { String::new() } else { format!(" in {}", demand.place) };
            text.push_str(&format!("  {word}: {} ({found}{at})\n", demand.text));
        }
        if !self.demands.is_empty() && !self.is_comparable() {
            text.push_str(
                "  FAILED: runs that are not comparable keep no demand; --across declares what may differ\n",
            );
        }
        if text.is_empty() { text } else { format!("\n{}\n{text}", paint.heading("demands")) }
    }

    pub fn json(&self) -> Value {
        let contrast = |contrast: &Contrast| {
            let weight = match contrast.weight {
                Weight::Asked => "asked",
                Weight::Place => "place",
                Weight::Passing => "passing",
            };
            json!({ "what": contrast.what, "before": contrast.values.0, "after": contrast.values.1, "weight": weight })
        };
        let differs = self.figures.iter().any(|one| one.is_better().is_some());
        json!({
            "schema": "iodyno.comparison/1",
            "before": { "name": self.names.0, "about": self.about.0, "findings": self.findings.0 },
            "after": { "name": self.names.1, "about": self.about.1, "findings": self.findings.1 },
            "comparable": self.is_comparable(),
            "differs": differs,
            "verdict": self.verdict(),
            "confidence_percent": self.confidence_percent,
            "margin_percent": self.margin_percent,
            "earlier_runs": self.siblings,
            "contrasts": self.contrasts.iter().map(contrast).collect::<Vec<_>>(),
            "declared": self.declared.iter().map(contrast).collect::<Vec<_>>(),
            "only_in_one": self.alone,
            "figures": self.figures.iter().map(|one| figure(one, self.margin_percent)).collect::<Vec<_>>(),
            "demands": self.demands,
            "failed": self.fails(),
        })
    }
}

/// What all of it comes to, in a sentence.
pub fn verdict_of(comparison: &Comparison) -> String {
    comparison.verdict()
}

/// The place and the cells of each figure: what, before, after, difference, interval, larger in, a word.
pub fn columns(comparison: &Comparison) -> Vec<(String, [String; 7])> {
    let place = |figure: &QuantityPair| match figure.phase == figure.job {
        true => figure.phase.clone(),
        false => format!("{} · {}", figure.phase, figure.job),
    };
    let cells = |figure| (place(figure), row(figure, comparison.margin_percent));
    comparison.figures.iter().map(cells).collect()
}

/// Each phase and job, in their order.
fn places(figures: &[QuantityPair]) -> Vec<(&String, &String)> {
    let mut places: Vec<(&String, &String)> = Vec::new();
    for figure in figures {
        let place = (&figure.phase, &figure.job);
        if !places.contains(&place) {
            places.push(place);
        }
    }
    places
}

/// The values that the difference is of: of several passes their geometric means.
fn values(figure: &QuantityPair) -> (f64, f64) {
    figure.difference.map_or(figure.values, |difference| (difference.before, difference.after))
}

fn row(figure: &QuantityPair, margin_percent: f64) -> [String; 7] {
    let measure = figure.quantity.measure;
    let (before, after) = values(figure);
    let values = (measure.text(before), measure.text(after));
    let Some(difference) = figure.difference else {
        let blank = String::new;
        return [figure.quantity.to_string(), values.0, values.1, "?".into(), blank(), blank(), blank()];
    };
    [
        figure.quantity.to_string(),
        values.0,
        values.1,
        format!("{:+.1} %", difference.percent),
        format!("{:+.1} … {:+.1} %", difference.low_percent, difference.high_percent),
        difference.superiority.map_or_else(String::new, |share| format!("{:.0} %", share * 100.0)),
        word(figure.verdict(margin_percent), &difference),
    ]
}

/// How large an effect is (Vargha and Delaney's limits), and which way. Of a tail nothing is said of its size but the
/// difference itself.
fn word(verdict: DifferenceVerdict, difference: &Difference) -> String {
    let way = match verdict {
        DifferenceVerdict::Better => "better",
        DifferenceVerdict::Worse => "worse",
        DifferenceVerdict::Same => return "no difference".into(),
        DifferenceVerdict::Unknown => return "cannot tell".into(),
    };
    let away = difference.superiority.map(|share| (share - 0.5).abs());
    let size = match away {
        Some(away) if away < 0.06 => ", very small",
        Some(away) if away < 0.14 => ", small",
        Some(away) if away < 0.21 => ", medium",
        Some(_) => ", large",
        None => "",
    };
    format!("{way}{size}")
}

fn figure(figure: &QuantityPair, margin_percent: f64) -> Value {
    let difference = figure.difference.map(|difference| {
        let (basis, passes) = match difference.basis {
            Basis::Within => ("within", vec![1, 1]),
            Basis::Earlier(_) => ("earlier runs", vec![1, 1]),
            Basis::Pairs(count) => ("pairs", vec![count, count]),
            Basis::Passes(before, after) => ("passes", vec![before, after]),
        };
        json!({
            "percent": difference.percent,
            "low_percent": difference.low_percent,
            "high_percent": difference.high_percent,
            "confidence_percent": difference.confidence_percent,
            "superiority": difference.superiority,
            "deviations": difference.deviations,
            "basis": basis,
            "passes": passes,
        })
    });
    let verdict = match figure.verdict(margin_percent) {
        DifferenceVerdict::Better => "better",
        DifferenceVerdict::Worse => "worse",
        DifferenceVerdict::Same => "no difference",
        DifferenceVerdict::Unknown => "cannot tell",
    };
    let (before, after) = values(figure);
    json!({
        "phase": figure.phase,
        "job": figure.job,
        "quantity": figure.quantity.to_string(),
        "unit": figure.quantity.measure.unit(),
        "before": before,
        "after": after,
        "difference": difference,
        "verdict": verdict,
    })
}
