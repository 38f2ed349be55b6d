//! The flat file: one row for each interval, columns by name.

use super::figures::IntervalFigures;
use super::rows::{percent, queue};
use crate::vdbench::view::{ReportContext, RunView};

type Column = (&'static str, &'static str);

const STORAGE: &[Column] = &[
    ("Run", "name of the run"),
    ("Interval", "number of the interval"),
    ("reqrate", "requested operations per second"),
    ("rate", "operations per second"),
    ("MB/sec", "megabytes per second"),
    ("bytes/io", "mean transfer size"),
    ("read%", "percentage of reads"),
    ("resp", "mean response time, ms"),
    ("read_resp", "mean response time of reads, ms"),
    ("write_resp", "mean response time of writes, ms"),
    ("resp_max", "longest response time, ms"),
    ("read_max", "longest response time of reads, ms"),
    ("write_max", "longest response time of writes, ms"),
    ("resp_std", "standard deviation of response times, ms"),
    ("xfersize", "requested transfer size"),
    ("threads", "requested threads"),
    ("rdpct", "requested percentage of reads"),
    ("rhpct", "requested percentage of read hits"),
    ("whpct", "requested percentage of write hits"),
    ("seekpct", "requested percentage of seeks"),
    ("lunsize", "all storage together, GiB"),
    ("version", "version"),
    ("compratio", "requested ratio of compression"),
    ("dedupratio", "requested ratio of deduplication"),
    ("queue_depth", "operations in flight on average"),
];

/// Operations whose rate and response time the flat file of files has.
const OPERATIONS: &[(&str, &str, &str)] = &[
    ("mkdir", "Mkdir_rate", "Mkdir_resp"),
    ("rmdir", "Rmdir_rate", "Rmdir_resp"),
    ("create", "Create_rate", "Create_resp"),
    ("open", "Open_rate", "Open_resp"),
    ("close", "Close_rate", "Close_resp"),
    ("delete", "Delete_rate", "Delete_resp"),
    ("getattr", "Getattr_rate", "Getattr_resp"),
    ("setattr", "Setattr_rate", "Setattr_resp"),
    ("access", "Access_rate", "Access_resp"),
    ("copy", "Copy_rate", "Copy_resp"),
    ("move", "Move_rate", "Move_resp"),
];

const FILES: &[Column] = &[
    ("Run", "name of the run"),
    ("Interval", "number of the interval"),
    ("reqrate", "requested operations per second"),
    ("rate", "requested operations per second that were done"),
    ("resp", "their mean response time, ms"),
    ("MB/sec", "megabytes per second"),
    ("Read_rate", "reads per second"),
    ("Read_resp", "mean response time of reads, ms"),
    ("Write_rate", "writes per second"),
    ("Write_resp", "mean response time of writes, ms"),
    ("MB_read", "megabytes read per second"),
    ("MB_write", "megabytes written per second"),
    ("Xfersize", "mean transfer size"),
];

const PROCESSORS: &[Column] = &[
    ("cpu_used", "processors, user and system, percent"),
    ("cpu_user", "processors, user, percent"),
    ("cpu_kernel", "processors, system, percent"),
    ("cpu_wait", "processors that wait, percent"),
    ("cpu_idle", "processors that idle, percent"),
];

/// What the columns are, and their names.
pub fn heading(of_files: bool) -> String {
    let mut columns: Vec<(&str, String)> = Vec::new();
    let list = if of_files { FILES } else { STORAGE };
    columns.extend(list.iter().map(|(name, text)| (*name, (*text).to_string())));
    if of_files {
        for (operation, rate, response) in OPERATIONS {
            columns.push((rate, format!("{operation} per second")));
            columns.push((response, format!("mean response time of {operation}, ms")));
        }
        columns.extend([
            ("compratio", "requested ratio of compression".into()),
            ("dedupratio", "requested ratio of deduplication".into()),
        ]);
    }
    columns.extend(PROCESSORS.iter().map(|(name, text)| (*name, (*text).to_string())));
    let mut text =
        String::from("*\n* One row for each interval. A line that begins with a star is a comment.\n*\n");
    columns.iter().for_each(|(name, what)| text += &format!("* {name:<16}: {what}\n"));
    text += "* 'n/a'           : not known, or not the same in all workloads\n*\n";
    text += &format!("{:>12} {:>23} ", "tod", "timestamp");
    columns.iter().for_each(|(name, _)| text += &format!("{name:>10} "));
    text + "\n"
}

/// One row. `when`: the time of day, the date and time, and the interval.
pub fn row(
    (clock, stamp, label): (&str, &str, &str),
    run: &RunView,
    requested: f64,
    (figures, cpu): (&IntervalFigures, Option<(f64, f64)>),
    view: &ReportContext,
) -> String {
    let words: Vec<&str> = stamp.split(['-', ' ']).collect();
    let date = match words[..] {
        [year, month, day, time] => format!("{month}/{day}/{year}-{time}-{}", zone(view.east_s)),
        _ => stamp.to_string(),
    };
    let mut text = format!("{clock:>12} {date:>24} {:>10} {label:>10} ", run.title);
    let mut put = |cell: String| text += &format!("{cell:>10} ");
    put(decimal(requested));
    match view.of_files {
        false => storage_cells(run, figures, view).into_iter().for_each(&mut put),
        true => file_cells(run, figures, view).into_iter().for_each(&mut put),
    }
    let none = "n/a".to_string();
    match cpu {
        Some((used, system)) => {
            [used, used - system, system].into_iter().for_each(|share| put(decimal(share)));
            put(none);
            put(decimal(100.0 - used));
        }
        None => (0..PROCESSORS.len()).for_each(|_| put(none.clone())),
    }
    text + "\n"
}

fn zone(east_s: i64) -> String {
    match east_s {
        0 => "UTC".into(),
        east => format!("GMT{:+03}:{:02}", east / 3600, east.abs() / 60 % 60),
    }
}

fn decimal(number: f64) -> String {
    format!("{number:.4}")
}

fn storage_cells(run: &RunView, figures: &IntervalFigures, view: &ReportContext) -> Vec<String> {
    let (reads, writes) = (figures.of("read"), figures.of("write"));
    let all = figures.together(&["read", "write"]);
    let asked = &run.columns;
    let known = |number: Option<f64>| number.map_or("n/a".into(), decimal);
    let whole = |number: Option<f64>| number.map_or("n/a".into(), |number| format!("{number:.0}"));
    vec![
        decimal(figures.rate(all.operations)),
        decimal(figures.rate(all.bytes) / view.megabyte),
        (all.bytes / all.operations.max(1)).to_string(),
        decimal(percent(reads.operations, all.operations)),
        decimal(all.mean_ms()),
        decimal(reads.mean_ms()),
        decimal(writes.mean_ms()),
        decimal(all.max_ms()),
        decimal(reads.max_ms()),
        decimal(writes.max_ms()),
        decimal(all.latency.deviation() / 1e6),
        whole(asked.xfersize),
        whole(asked.threads),
        known(asked.rdpct),
        known(asked.rhpct),
        known(asked.whpct),
        known(asked.seekpct),
        known(asked.lunsize),
        "50407".into(),
        known(asked.compratio),
        known(asked.dedupratio),
        decimal(queue(figures, &all)),
    ]
}

fn file_cells(run: &RunView, figures: &IntervalFigures, view: &ReportContext) -> Vec<String> {
    let (reads, writes) = (figures.of("read"), figures.of("write"));
    let requested = figures.together(&run.requested);
    let megabytes = |bytes: u64| decimal(figures.rate(bytes) / view.megabyte);
    let mut cells = vec![
        decimal(figures.rate(requested.operations)),
        decimal(requested.mean_ms()),
        megabytes(reads.bytes + writes.bytes),
        decimal(figures.rate(reads.operations)),
        decimal(reads.mean_ms()),
        decimal(figures.rate(writes.operations)),
        decimal(writes.mean_ms()),
        megabytes(reads.bytes),
        megabytes(writes.bytes),
        ((reads.bytes + writes.bytes) / (reads.operations + writes.operations).max(1)).to_string(),
    ];
    for (operation, ..) in OPERATIONS {
        let of = figures.of(operation);
        cells.extend([decimal(figures.rate(of.operations)), decimal(of.mean_ms())]);
    }
    let known = |number: Option<f64>| number.map_or("n/a".into(), decimal);
    cells.extend([known(run.columns.compratio), known(run.columns.dedupratio)]);
    cells
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_has_a_cell_for_each_column() {
        for of_files in [false, true] {
            let view = ReportContext { of_files, megabyte: 1e6, ..ReportContext::default() };
            let run = RunView { title: "rd1".into(), ..RunView::default() };
            let head = heading(of_files);
            let names = head.lines().last().unwrap_or_default().split_whitespace().count();
            let figures = IntervalFigures::default();
            let row = row(
                ("10:57:00.106", "2026-11-26 10:57:00", "avg_2-5"),
                &run,
                5.0,
                (&figures, Some((3.0, 1.0))),
                &view,
            );
            assert_eq!(row.split_whitespace().count(), names, "{head}{row}");
            assert!(row.contains("11/26/2026-10:57:00-UTC"), "{row}");
        }
    }
}
