//! What a canary came to: each figure's present level beside the one that was learned, and what changed when.

use iodyno_dialect::date;
use iodyno_report::experiment_report::{
    ColumnUnit, ExperimentReport, ReportCell, ReportColumn, ReportSection,
};
use iodyno_report::number;
use iodyno_truth::canary::Rhythm;

use super::WatchArgs;
use super::points::PointBook;
use super::probe::{Prober, SERIES, series_name};

/// Blocks of a figure below which a change could not be told yet. Chosen: with as many, one of twice the level has a rank
/// that is telling.
const LEAST_KNOWN: usize = 24;

/// The report; `used_percent`: of the budget, where probes were made.
pub fn of(
    words: &WatchArgs,
    prober: &Prober,
    book: &PointBook,
    used_percent: Option<f64>,
) -> ExperimentReport {
    let mut facts = vec![("points".to_string(), number::thousands(book.points() as u64))];
    if let Some(last) = book.last_unix_ns() {
        facts.push(("last point".into(), format!("{} UTC", date::stamp(last, 0))));
    }
    if let Some(used) = used_percent {
        facts.push(("time used".into(), format!("{used:.3} % of the storage's, at most {} %", words.budget)));
    }
    let compared = match words.rhythm {
        Rhythm::Day => "each hour with the same hour of other days",
        Rhythm::None => "each point with all before it",
    };
    facts.push(("compared".into(), compared.into()));
    let years = words.false_alarm_years;
    facts.push(("false alarms".into(), format!("one in {years} years at most, on average")));
    let mut remarks = Vec::new();
    if prober.is_simulated() {
        remarks.push("All figures are simulated: no storage was touched.".to_string());
    }
    if !book.keeps() {
        remarks.push("No history keeps these points: the next watch begins anew (IODYNO_HISTORY).".into());
    }
    if book.failures > 0 {
        remarks.push(format!("{} probes failed.", number::thousands(book.failures)));
    }
    ExperimentReport {
        format: "iodyno.watch/1",
        title: format!("iodyno watch {}", words.target()),
        facts,
        sections: vec![levels(book), changes(book)],
        remarks,
    }
}

fn levels(book: &PointBook) -> ReportSection {
    let row = |at: usize| {
        let (figure, quantile) = series_name(at);
        let series = &book.series[at];
        let state = match (series.is_slower(), series.blocks() < LEAST_KNOWN) {
            (true, _) => "slower",
            (false, true) => "learning",
            (false, false) => "as learned",
        };
        let present = book.present(at)?;
        Some(vec![
            ReportCell::text(format!("{figure} p{quantile}")),
            ReportCell::Number(present),
            ReportCell::Number(series.factor()),
            ReportCell::text(state),
        ])
    };
    ReportSection {
        title: "levels".into(),
        about: "The median of the last points, at most 24; × learned: the level in parts of the one that was learned first."
            .into(),
        columns: vec![
            ReportColumn::new("figure", ColumnUnit::Words),
            ReportColumn::new("latency", ColumnUnit::Nanoseconds),
            ReportColumn::new("× learned", ColumnUnit::Number),
            ReportColumn::new("state", ColumnUnit::Words),
        ],
        rows: (0..SERIES).filter_map(row).collect(),
        ..ReportSection::default()
    }
}

fn changes(book: &PointBook) -> ReportSection {
    let mut all: Vec<_> = (0..SERIES)
        .flat_map(|row| book.series[row].changes.iter().map(move |change| (row, *change)))
        .collect();
    all.sort_by_key(|(row, change)| (change.since_unix_ns, *row));
    let cells = |(row, change): &(usize, iodyno_truth::canary::CanaryChange)| {
        let (figure, quantile) = series_name(*row);
        vec![
            ReportCell::text(date::stamp(change.since_unix_ns, 0)),
            ReportCell::text(date::stamp(change.told_unix_ns, 0)),
            ReportCell::text(format!("{figure} p{quantile}")),
            ReportCell::Number(change.ratio),
        ]
    };
    let nothing = all.is_empty().then(|| "Nothing changed.".to_string());
    ReportSection {
        title: "changes".into(),
        about: "When a new level began, when it was beyond doubt, and how many times the old one it is."
            .into(),
        columns: vec![
            ReportColumn::new("since (UTC)", ColumnUnit::Words),
            ReportColumn::new("told (UTC)", ColumnUnit::Words),
            ReportColumn::new("figure", ColumnUnit::Words),
            ReportColumn::new("× before", ColumnUnit::Number),
        ],
        rows: all.iter().map(cells).collect(),
        sentences: nothing.into_iter().collect(),
        ..ReportSection::default()
    }
}
