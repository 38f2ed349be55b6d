//! What the settings of a disk's queue do to its speed (`iodyno tune`), as text that fits 80 columns and as JSON
//! (`iodyno.tuning/1`).
//!
//! Each setting was measured in turn with the one that was found; a difference whose interval holds 0 is none.

use iodyno_model::{Histogram, units};
use iodyno_truth::statistics::chance::each_of;
use iodyno_truth::statistics::{Difference, Estimate, interval, paired};
use serde_json::{Value, json};

use crate::number::{self, NONE, percentile_text};
use crate::paint::Paint;
use crate::table::{Table, wrapped};

/// The confidence with which all intervals of a table hold together, percent.
const CONFIDENCE_PERCENT: f64 = 95.0;

/// Settings that are longer stand above the tables, with numbers.
const LABEL_MOST: usize = 26;
/// An interval that reaches further says nothing, percent.
const REACH_MOST: f64 = 999.0;

/// How far an interval reaches to each side.
fn reach(percent: f64) -> String {
    if percent > REACH_MOST { NONE.into() } else { number::percent(percent) }
}

/// Between which two a difference truly lies.
fn between(found: &Difference) -> String {
    match found.high_percent - found.low_percent > REACH_MOST {
        true => NONE.into(),
        false => format!("{:+.1} to {:+.1} %", found.low_percent, found.high_percent),
    }
}

/// One setting under one workload.
#[derive(Clone, Debug, Default)]
pub struct TunedCell {
    /// Operations per second, of each pass.
    pub iops: Vec<f64>,
    /// Bytes per second, of each pass.
    pub bytes: Vec<f64>,
    /// Of all passes.
    pub latency: Histogram,
}

/// One workload under all settings.
#[derive(Clone, Debug)]
pub struct TunedWorkload {
    pub name: String,
    /// Whether its figure is the operations per second, or else the data rate.
    pub counts_operations: bool,
    /// As the settings are listed; the first is what was found.
    pub cells: Vec<TunedCell>,
}

impl TunedWorkload {
    fn figures<'a>(&self, cell: &'a TunedCell) -> &'a [f64] {
        if self.counts_operations { &cell.iops } else { &cell.bytes }
    }

    fn estimate(&self, at: usize) -> Option<Estimate> {
        interval::mean(self.figures(&self.cells[at]), CONFIDENCE_PERCENT)
    }

    /// Against what was found.
    fn difference(&self, at: usize) -> Option<Difference> {
        if at == 0 {
            return None;
        }
        let each = each_of(CONFIDENCE_PERCENT, self.cells.len() - 1);
        paired(self.figures(&self.cells[0]), self.figures(&self.cells[at]), each)
    }
}

/// All that was measured.
#[derive(Clone, Debug)]
pub struct Tuning {
    /// As the user named it.
    pub device: String,
    /// The kernel's name of the whole disk.
    pub disk: String,
    /// What was found and restored: `scheduler=none nr_requests=128`.
    pub found: String,
    /// As they are typed; the first is empty: what was found.
    pub settings: Vec<String>,
    pub workloads: Vec<TunedWorkload>,
    pub passes: u32,
    pub time_ns: u64,
    pub engine: String,
}

impl Tuning {
    /// What a row is called: a number where the settings leave no room for figures.
    fn label(&self, at: usize) -> String {
        match at {
            0 => "as found".into(),
            _ if self.is_numbered() => format!("#{at}"),
            _ => self.settings[at].clone(),
        }
    }

    fn is_numbered(&self) -> bool {
        self.settings.iter().any(|settings| settings.chars().count() > LABEL_MOST)
    }

    pub fn text(&self, paint: Paint) -> String {
        let title = paint.heading(&format!("iodyno tune {}", self.device));
        let mut text =
            format!("\n{title}\n{}\n", wrapped(&format!("found: {}", self.found), paint.columns, 0));
        for (at, settings) in self.settings.iter().enumerate().skip(1).filter(|_| self.is_numbered()) {
            text.push_str(&format!("#{at}: {}\n", wrapped(settings, paint.columns.saturating_sub(4), 4)));
        }
        for workload in &self.workloads {
            text.push_str(&format!("\n{}\n{}", paint.heading(&workload.name), self.table(workload, paint)));
        }
        let legend = format!(
            "Mean of {} passes of {}, each setting once in each, {}. Intervals and differences hold together with {} % \
             confidence; a difference whose interval holds 0 is none.",
            self.passes,
            number::latency(self.time_ns as f64),
            self.engine,
            CONFIDENCE_PERCENT
        );
        text.push_str(&format!("\n{}\n", paint.aside(&wrapped(&legend, paint.columns, 0))));
        for sentence in self.sentences() {
            text.push_str(&format!("{}\n", wrapped(&sentence, paint.columns, 0)));
        }
        text
    }

    fn table(&self, workload: &TunedWorkload, paint: Paint) -> String {
        let unit = if workload.counts_operations { "IOPS" } else { paint.rates.name() };
        let figure = |value: f64| match workload.counts_operations {
            true => number::iops(value),
            false => paint.rates.figure(value.max(0.0)),
        };
        let mut table = Table::new(1, &["", unit, "±", "difference", "interval", "p99"]);
        for at in 0..workload.cells.len() {
            let none = || NONE.to_string();
            let estimate = workload.estimate(at);
            let difference = workload.difference(at);
            table.row(&[
                self.label(at),
                estimate.map_or_else(none, |estimate| figure(estimate.value)),
                estimate
                    .and_then(|estimate| estimate.width_percent())
                    .map_or_else(none, |width| reach(width / 2.0)),
                match difference {
                    _ if at == 0 => String::new(),
                    None => none(),
                    Some(found) if found.is_real() => format!("{:+.1} %", found.percent),
                    Some(_) => "none".into(),
                },
                difference.as_ref().map_or_else(String::new, between),
                percentile_text(&workload.cells[at].latency, 99.0),
            ]);
        }
        table.text(2, paint)
    }

    /// What it comes to: what is better for a workload and how it is set, or that nothing is.
    fn sentences(&self) -> Vec<String> {
        let mut sentences: Vec<String> = self.workloads.iter().map(|workload| self.best(workload)).collect();
        sentences.push(format!("The queue of {} is as it was found.", self.disk));
        sentences
    }

    fn best(&self, workload: &TunedWorkload) -> String {
        let gains = (1..workload.cells.len()).filter_map(|at| {
            workload.difference(at).filter(|found| found.low_percent > 0.0).map(|found| (at, found))
        });
        let best = gains.max_by(|(_, a), (_, b)| a.percent.total_cmp(&b.percent));
        match best {
            Some((at, found)) => {
                let lines = self.settings[at].split(' ').filter_map(|word| word.split_once('='));
                let lines = lines
                    .map(|(name, value)| format!("echo {value} > /sys/block/{}/queue/{name}", self.disk));
                format!(
                    "{}: {} brings {:.1} % more ({}).",
                    workload.name,
                    self.settings[at],
                    found.percent,
                    lines.collect::<Vec<_>>().join("; ")
                )
            }
            None => format!("{}: nothing that was tried is better than what was found.", workload.name),
        }
    }

    /// Rates per second, times in ns, differences in percent.
    pub fn json(&self) -> Value {
        let estimate = |estimate: Option<Estimate>| {
            estimate
                .map(|estimate| json!({ "mean": estimate.value, "low": estimate.low, "high": estimate.high }))
        };
        let workload = |workload: &TunedWorkload| {
            let cell = |at: usize| {
                let cell = &workload.cells[at];
                json!({
                    "settings": self.settings[at],
                    "iops": cell.iops,
                    "bytes_per_second": cell.bytes,
                    "estimate": estimate(workload.estimate(at)),
                    "difference": workload.difference(at).map(|found| json!({
                        "percent": found.percent, "low": found.low_percent, "high": found.high_percent,
                        "confidence": found.confidence_percent, "real": found.is_real(),
                    })),
                    "mean_ns": cell.latency.mean(),
                    "p99_ns": number::percentile(&cell.latency, 99.0),
                    "max_ns": cell.latency.max,
                })
            };
            json!({
                "name": workload.name,
                "figure": if workload.counts_operations { "iops" } else { "bytes_per_second" },
                "settings": (0..workload.cells.len()).map(cell).collect::<Vec<_>>(),
            })
        };
        json!({
            "format": "iodyno.tuning/1",
            "device": self.device,
            "disk": self.disk,
            "found": self.found,
            "passes": self.passes,
            "time_ns": self.time_ns,
            "engine": self.engine,
            "workloads": self.workloads.iter().map(workload).collect::<Vec<_>>(),
        })
    }
}

/// What a workload of direct or buffered I/O is called.
pub fn workload_name(verb: &str, pick: &str, block_bytes: u64, depth: u32, direct: bool) -> String {
    let cache = if direct { "" } else { ", through the page cache" };
    format!("{pick} {verb}s of {}, depth {depth}{cache}", units::binary(block_bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cell(iops: [f64; 3]) -> TunedCell {
        let mut latency = Histogram::default();
        (0..2000).for_each(|each| latency.add(90_000 + each * 10));
        TunedCell { iops: iops.into(), bytes: iops.map(|iops| iops * 4096.0).into(), latency }
    }

    fn tuning() -> Tuning {
        let workload = TunedWorkload {
            name: workload_name("read", "random", 4096, 32, true),
            counts_operations: true,
            cells: vec![
                cell([10_000.0, 10_100.0, 9_900.0]),
                cell([12_000.0, 12_150.0, 11_900.0]),
                cell([10_050.0, 9_900.0, 10_000.0]),
            ],
        };
        Tuning {
            device: "/dev/loop3".into(),
            disk: "loop3".into(),
            found: "scheduler=none nr_requests=128 max_sectors_kb=1280 read_ahead_kb=128".into(),
            settings: ["", "scheduler=mq-deadline nr_requests=64", "max_sectors_kb=128"]
                .map(String::from)
                .into(),
            workloads: vec![workload],
            passes: 3,
            time_ns: 1_000_000_000,
            engine: "io_uring".into(),
        }
    }

    #[test]
    fn the_text_says_what_is_better_and_how_it_is_set() {
        let text = tuning().text(Paint::PLAIN);
        for part in [
            "iodyno tune /dev/loop3",
            "random reads of 4 KiB, depth 32",
            "#1: scheduler=mq-deadline nr_requests=64",
            "as found  10,000  2.5 %",
            "+20.2 %",
            "none",
            "scheduler=mq-deadline nr_requests=64 brings 20.2 % more",
            "echo mq-deadline > /sys/block/loop3/queue/scheduler; echo 64 >",
            "The queue of loop3 is as it was found.",
        ] {
            let joined = text.replace('\n', " ");
            assert!(text.contains(part) || joined.contains(part), "{part} in {text}");
        }
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    }

    #[test]
    fn one_pass_has_no_interval_and_no_difference() {
        let mut tuning = tuning();
        for cell in &mut tuning.workloads[0].cells {
            cell.iops.truncate(1);
        }
        let text = tuning.text(Paint::PLAIN);
        assert!(text.contains("nothing that was tried is better"), "{text}");
        assert!(tuning.json()["workloads"][0]["settings"][1]["difference"].is_null());
    }

    #[test]
    fn json_has_each_pass() {
        let json = tuning().json();
        let setting = &json["workloads"][0]["settings"][1];
        assert_eq!(setting["iops"], json!([12_000.0, 12_150.0, 11_900.0]));
        assert_eq!(setting["difference"]["real"], true);
        assert_eq!(json["format"], "iodyno.tuning/1");
    }
}
