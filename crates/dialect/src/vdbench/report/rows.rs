//! Rows of the tables: of storage, and of trees of files.

use super::figures::{IntervalFigures, OperationFigures};
use crate::vdbench::view::{ReportContext, RunView};

/// The operations that have columns of their own in the table of files.
const COLUMNS: [&str; 6] = ["mkdir", "rmdir", "create", "open", "close", "delete"];

/// The heading of a table, an empty line before it.
pub fn heading(day: &str, view: &ReportContext) -> String {
    if view.of_files { of_files(day, view) } else { of_storage(day, view) }
}

fn of_storage(day: &str, view: &ReportContext) -> String {
    let unit = if view.megabyte == 1e6 { "1000**2" } else { "1024**2" };
    let blank = "";
    format!(
        "\n{day:<12}    interval        i/o   MB/sec   bytes   read     resp     read    write     read    write     \
         resp  queue  cpu%  cpu%\n\
         {blank:<31}rate  {unit}     i/o    pct     time     resp     resp      max      max   stddev  depth sys+u   sys\n"
    )
}

/// A title between dots over so many letters.
fn dotted(title: &str, width: usize) -> String {
    let extra = width.saturating_sub(title.len());
    let left = extra / 2;
    format!(" {}{title}{}", ".".repeat(left), ".".repeat(extra - left))
}

fn of_files(day: &str, view: &ReportContext) -> String {
    let mut first = format!("{day:<12}");
    let mut second = " ".repeat(12);
    let mut add = |title: &str, widths: &[(&str, usize)]| {
        let width = widths.iter().map(|(_, width)| width + 1).sum::<usize>() - 1;
        first += &match title {
            "read pct" => "  read".into(),
            "mb/sec total" => " mb/sec".into(),
            title => dotted(title, width),
        };
        widths.iter().for_each(|(name, width)| second += &format!(" {name:>width$}"));
    };
    add("Interval", &[("", 10)]);
    add("ReqstdOps.", &[("rate", 6), ("resp", 6)]);
    add("cpu%", &[("total", 5), ("sys", 4)]);
    add("read pct", &[("pct", 5)]);
    add("read", &[("rate", 6), ("resp", 6)]);
    add("write", &[("rate", 6), ("resp", 6)]);
    add("mb/sec", &[("read", 5), ("write", 5)]);
    add("mb/sec total", &[("total", 6)]);
    add("xfer", &[("size", 7)]);
    for column in COLUMNS.iter().chain(&view.columns) {
        add(column, &[("rate", 5), ("resp", 6)]);
    }
    format!("\n{first}\n{second}\n")
}

/// One row.
pub fn row(
    clock: &str,
    label: &str,
    figures: &IntervalFigures,
    cpu: Option<(f64, f64)>,
    (run, view): (&RunView, &ReportContext),
) -> String {
    match view.of_files {
        true => file_row(clock, label, figures, cpu, (run, view)),
        false => storage_row(clock, label, figures, cpu, view),
    }
}

/// A part of a whole in percent; 0 of nothing.
pub fn percent(part: u64, of: u64) -> f64 {
    if of == 0 { 0.0 } else { part as f64 * 100.0 / of as f64 }
}

/// Operations in flight on average.
pub fn queue(figures: &IntervalFigures, all: &OperationFigures) -> f64 {
    if figures.seconds > 0.0 { all.latency.sum as f64 / 1e9 / figures.seconds } else { 0.0 }
}

fn storage_row(
    clock: &str,
    label: &str,
    figures: &IntervalFigures,
    cpu: Option<(f64, f64)>,
    view: &ReportContext,
) -> String {
    let (reads, writes) = (figures.of("read"), figures.of("write"));
    let all = figures.together(&["read", "write"]);
    let (used, system) = cpu.map_or(("NaN".into(), "NaN".into()), |(used, system)| {
        (format!("{used:.1}"), format!("{system:.1}"))
    });
    format!(
        "{clock}{label:>12}{:>11.1}{:>9.2}{:>8}{:>7.2}{:>9.3}{:>9.3}{:>9.3}{:>9.2}{:>9.2}{:>9.3}{:>7.1}{used:>6}{system:>6}\n",
        figures.rate(all.operations),
        figures.rate(all.bytes) / view.megabyte,
        all.bytes / all.operations.max(1),
        percent(reads.operations, all.operations),
        all.mean_ms(),
        reads.mean_ms(),
        writes.mean_ms(),
        reads.max_ms(),
        writes.max_ms(),
        all.latency.deviation() / 1e6,
        queue(figures, &all),
    )
}

/// A number in a column: as many decimals as fit.
fn fitted(number: f64, width: usize, decimals: usize) -> String {
    let text = (0..=decimals)
        .rev()
        .map(|decimals| format!("{number:width$.decimals$}"))
        .find(|text| text.len() <= width);
    text.unwrap_or_else(|| format!("{number:width$.0}"))
}

fn file_row(
    clock: &str,
    label: &str,
    figures: &IntervalFigures,
    cpu: Option<(f64, f64)>,
    (run, view): (&RunView, &ReportContext),
) -> String {
    let mut row = format!("{clock} {label:>10}");
    let mut add =
        |number: f64, width: usize, decimals: usize| row += &format!(" {}", fitted(number, width, decimals));
    let requested = figures.together(&run.requested);
    let (reads, writes) = (figures.of("read"), figures.of("write"));
    let megabytes = |bytes: u64| figures.rate(bytes) / view.megabyte;
    add(figures.rate(requested.operations), 6, 1);
    add(requested.mean_ms(), 6, 3);
    let (used, system) = cpu.unwrap_or((f64::NAN, f64::NAN));
    add(used, 5, 1);
    add(system, 4, 2);
    add(percent(reads.operations, reads.operations + writes.operations), 5, 1);
    for data in [&reads, &writes] {
        add(figures.rate(data.operations), 6, 1);
        add(data.mean_ms(), 6, 3);
    }
    add(megabytes(reads.bytes), 5, 2);
    add(megabytes(writes.bytes), 5, 2);
    add(megabytes(reads.bytes + writes.bytes), 6, 2);
    add(((reads.bytes + writes.bytes) / (reads.operations + writes.operations).max(1)) as f64, 7, 0);
    for column in COLUMNS.iter().chain(&view.columns) {
        let of = figures.of(column);
        add(figures.rate(of.operations), 5, 1);
        add(of.mean_ms(), 6, 3);
    }
    row + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headings_are_as_wide_as_their_rows() {
        for of_files in [false, true] {
            let view = ReportContext { of_files, megabyte: 1_048_576.0, ..ReportContext::default() };
            let head = heading("Jan 24, 2019", &view);
            let figures = IntervalFigures { seconds: 1.0, ..IntervalFigures::default() };
            let row = row("16:24:30.156", "1", &figures, Some((1.0, 1.0)), (&RunView::default(), &view));
            let widths: Vec<usize> = head.lines().skip(1).map(str::len).collect();
            assert_eq!(widths, [row.trim_end().len(); 2], "{head}{row}");
        }
    }

    #[test]
    fn the_table_of_files_has_the_originals_heading() {
        let view = ReportContext { of_files: true, ..ReportContext::default() };
        let head = heading("Dec 11, 2020", &view);
        let first = "Dec 11, 2020 .Interval. .ReqstdOps... ...cpu%...  read ....read..... ....write.... ..mb/sec... mb/sec .xfer.. \
                     ...mkdir.... ...rmdir.... ...create... ....open.... ...close.... ...delete...";
        assert_eq!(head.lines().nth(1), Some(first));
    }

    #[test]
    fn numbers_lose_decimals_before_they_push_the_row() {
        assert_eq!((fitted(19.11, 6, 3), fitted(143.614, 6, 3)), ("19.110".into(), "143.61".into()));
        assert_eq!((fitted(1995.0, 5, 2), fitted(7743.0, 5, 1)), (" 1995".into(), " 7743".into()));
    }
}
