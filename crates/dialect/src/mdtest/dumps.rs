//! mdtest's files beside the report: each task's figures, and each operation's.

use std::fmt::Write as _;
use std::io;

use iodyno_model::{JournalEntry, JournalPart};
use iodyno_report::Output;

use super::report::{Report, TableFigure};
use super::results::PhaseResults;
use super::view::{PhaseRole, ReportContext, ResultRow};
use crate::quantity::scientific;

/// `--saveRankPerformanceDetails`: a row for all tasks and one for each, for every number of tasks and iteration.
pub fn ranks(view: &ReportContext, results: &PhaseResults, text: &Report) -> String {
    let rows = &ResultRow::ALL[..ResultRow::OWN];
    let mut csv = String::from("rank,items");
    rows.iter().for_each(|row| csv += &format!(",rate-{0},time-{0}", row.name()));
    csv.push('\n');
    for (set, tasks) in view.test.counts.iter().enumerate() {
        for iteration in 0..view.test.iterations as usize {
            let _ = write!(csv, "all,{}", view.test.items * view.test.loops);
            for row in rows {
                let cell = results.cell(set, iteration, *row);
                let (rate, seconds) = cell.map_or((0.0, 0.0), |cell| (cell.rate(), cell.seconds));
                csv += &pair(rate, seconds);
            }
            csv.push('\n');
            for task in 0..*tasks as usize {
                let _ = write!(csv, "{task},");
                for row in rows.iter().filter(|row| !row.is_of_the_tree()) {
                    let cell = results.cell(set, iteration, *row);
                    let rate =
                        cell.and_then(|cell| text.of_tasks(TableFigure::Rate, cell).get(task).copied());
                    let seconds = cell.and_then(|cell| cell.tasks.get(task)).map(|(_, seconds)| *seconds);
                    csv += &pair(rate.unwrap_or(0.0), seconds.unwrap_or(0.0));
                }
                csv.push('\n');
            }
        }
    }
    csv
}

fn pair(rate: f64, seconds: f64) -> String {
    format!(",{},{}", scientific(rate, 10), scientific(seconds, 10))
}

/// Makes the files of `--savePerOpDataCSV`, each with its heading.
///
/// # Errors
/// One cannot be made.
pub fn heads(prefix: &str, view: &ReportContext, output: &mut Output<'_>) -> io::Result<()> {
    let measured = |row: &&ResultRow| view.parts.iter().any(|part| part.role == PhaseRole::Measured(**row));
    for row in ResultRow::ALL.iter().filter(measured) {
        let alone = row.is_of_the_tree() && !view.test.unique;
        for task in 0..if alone { 1 } else { view.test.tasks } {
            writeln!(
                output.files.file(&format!("{prefix}-{}-{task:05}.csv", row.name()))?,
                "time,runtime,tp"
            )?;
        }
    }
    Ok(())
}

/// Rows of single operations: when each began, how long it took, and the rate that it alone would be.
pub fn operations(part: &JournalPart) -> String {
    let mut rows = String::new();
    for entry in &part.entries {
        let JournalEntry::Done { at_ns, latency_ns, .. } = entry else { continue };
        let (began, took) = (at_ns.saturating_sub(*latency_ns) as f64 / 1e9, *latency_ns as f64 / 1e9);
        let rate = if took > 0.0 { 1.0 / took } else { 0.0 };
        let _ = writeln!(rows, "{},{},{}", scientific(began, 8), scientific(took, 8), scientific(rate, 6));
    }
    rows
}
