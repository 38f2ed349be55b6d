//! mdtest's files beside the report: each task's figures, and each operation's.

use std::fmt::Write as _;
use std::io;

use iodyno_model::{JournalEntry, JournalPart};
use iodyno_report::Output;

use super::results::Results;
use super::text::{Figure, Text};
use super::view::{Role, Row, View};

/// A number as C's `%.Ne` writes it.
pub fn exponent(number: f64, digits: usize) -> String {
    let text = format!("{number:.digits$e}");
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    format!("{mantissa}e{}{:02}", if exponent < 0 { '-' } else { '+' }, exponent.abs())
}

/// `--saveRankPerformanceDetails`: a row for all tasks and one for each, for every number of tasks and iteration.
pub fn ranks(view: &View, results: &Results, text: &Text) -> String {
    let rows = &Row::ALL[..Row::OWN];
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
                    let rate = cell.and_then(|cell| text.of_tasks(Figure::Rate, cell).get(task).copied());
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
    format!(",{},{}", exponent(rate, 10), exponent(seconds, 10))
}

/// Makes the files of `--savePerOpDataCSV`, each with its heading.
///
/// # Errors
/// One cannot be made.
pub fn heads(prefix: &str, view: &View, output: &mut Output<'_>) -> io::Result<()> {
    let measured = |row: &&Row| view.parts.iter().any(|part| part.role == Role::Measured(**row));
    for row in Row::ALL.iter().filter(measured) {
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
        let _ = writeln!(rows, "{},{},{}", exponent(began, 8), exponent(took, 8), exponent(rate, 6));
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::exponent;

    #[test]
    fn exponents_are_cs() {
        assert_eq!(exponent(248_652.549_84, 10), "2.4865254984e+05");
        assert_eq!(exponent(0.000_007_867_813_11, 8), "7.86781311e-06");
        assert_eq!((exponent(0.0, 6), exponent(1.0, 6)), ("0.000000e+00".into(), "1.000000e+00".into()));
    }
}
