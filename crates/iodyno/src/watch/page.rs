//! What a monitoring system reads of a canary: OpenMetrics 1.0.0, in a file that is replaced as a whole or at an address.
//!
//! `iodyno_watch_alert` is what an alert rule looks at; the time of the last probe tells whether anybody watches at all.

use std::fmt::Write as _;

use iodyno_report::metrics::labels;

use super::points::PointBook;
use super::probe::{SERIES, series_name};

/// The families: name, type, unit, what it is.
const FAMILIES: [(&str, &str, &str, &str); 7] = [
    ("iodyno_watch_alert", "gauge", "", "1 while something is slower than it was."),
    ("iodyno_watch_slower", "gauge", "", "1 while this figure is slower than it was."),
    ("iodyno_watch_level_ratio", "gauge", "ratio", "The present level in parts of the one that was learned."),
    ("iodyno_watch_latency_seconds", "gauge", "seconds", "Latency in the last probe."),
    ("iodyno_watch_budget_used_ratio", "gauge", "ratio", "Share of the storage's time that probes took."),
    ("iodyno_watch_last_probe_timestamp_seconds", "gauge", "seconds", "When the last probe ended."),
    ("iodyno_watch_failed_probes", "counter", "", "Probes that failed."),
];

/// All of it.
pub fn text(target: &str, book: &PointBook, used: f64) -> String {
    let each = |value: &dyn Fn(usize) -> Option<f64>| -> Vec<(String, f64)> {
        let place = |row: usize| {
            let (figure, quantile) = series_name(row);
            let quantile = (quantile / 100.0).to_string();
            labels(&[("target", target), ("operation", figure), ("quantile", &quantile)])
        };
        (0..SERIES).filter_map(|row| Some((place(row), value(row)?))).collect()
    };
    let one = |value: f64| vec![(labels(&[("target", target)]), value)];
    let flag = |is: bool| f64::from(u8::from(is));
    let last = book.last_unix_ns().map_or(f64::NAN, |ns| ns as f64 / 1e9);
    let samples = [
        one(flag(book.is_slower())),
        each(&|row| Some(flag(book.series[row].is_slower()))),
        each(&|row| Some(book.series[row].factor())),
        each(&|row| book.newest(row).map(|ns| ns / 1e9)),
        one(used),
        one(last),
        one(book.failures as f64),
    ];
    let mut text = String::new();
    for ((name, kind, unit, help), samples) in FAMILIES.iter().zip(samples) {
        let _ = writeln!(text, "# TYPE {name} {kind}");
        if !unit.is_empty() {
            let _ = writeln!(text, "# UNIT {name} {unit}");
        }
        let _ = writeln!(text, "# HELP {name} {help}");
        let end = if *kind == "counter" { "_total" } else { "" };
        for (place, value) in samples.iter().filter(|(_, value)| value.is_finite()) {
            let _ = writeln!(text, "{name}{end}{place} {value}");
        }
    }
    text + "# EOF\n"
}
