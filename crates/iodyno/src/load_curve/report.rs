//! The tables of a load curve.

use iodyno_model::{Histogram, Line, PhaseRecord, Record, RunStart, Tally, Value, units};
use iodyno_report::curve::{self, Knee};
use iodyno_report::experiment_report::{
    ColumnUnit, ExperimentReport, ReportCell, ReportChart, ReportColumn, ReportSection,
};
use iodyno_report::number;
use iodyno_report::shape;

use super::lower::LoadPlan;

/// Below this part of what was offered, the load was not carried.
const CARRIED: f64 = 0.95;

/// What one phase measured.
#[derive(Clone, Debug)]
pub struct LoadPoint {
    /// Depth, offered rate or percentage of the span.
    pub at: f64,
    pub iops: f64,
    pub bytes: f64,
    pub latency: Histogram,
    /// By label, of all jobs.
    pub lines: Vec<Line>,
}

impl LoadPoint {
    /// Those of all phases.
    pub fn all(record: &Record) -> Vec<LoadPoint> {
        let point = |phase: &PhaseRecord| {
            let Value::Number(at) = phase.coordinates.first()?.value else { return None };
            let mut all = Tally::default();
            phase.jobs.iter().for_each(|job| all.merge(&job.tally));
            let mut latency = Histogram::default();
            all.lines.iter().for_each(|line| latency.merge(&line.latency));
            let rate = |count: fn(&Tally) -> u64| {
                phase.jobs.iter().map(|job| shape::per_second(count(&job.tally), phase, job)).sum()
            };
            Some(LoadPoint {
                at: at as f64,
                iops: rate(Tally::all_operations),
                bytes: rate(Tally::all_bytes),
                latency,
                lines: all.lines,
            })
        };
        record.phases.iter().filter_map(point).collect()
    }

    fn is_carried(&self) -> bool {
        self.iops >= self.at * CARRIED
    }

    fn percentile(&self, percent: f64) -> ReportCell {
        ReportCell::of(number::percentile(&self.latency, percent).map(|ns| ns as f64))
    }
}

/// All that was measured.
pub struct CurveFigures {
    pub plan: LoadPlan,
    pub started: RunStart,
    pub depths: Vec<LoadPoint>,
    pub loads: Vec<LoadPoint>,
    pub spans: Vec<LoadPoint>,
    /// Operations per second.
    pub maximum: f64,
    pub time_ns: u64,
}

impl CurveFigures {
    pub fn report(&self) -> ExperimentReport {
        let sections = [Some(self.by_depth()), self.by_span(), Some(self.by_load()), self.by_operation()];
        ExperimentReport {
            format: "iodyno.load-curve/1",
            title: format!("iodyno load-curve {}", self.plan.workload.target),
            facts: self.facts(),
            sections: sections.into_iter().flatten().collect(),
            remarks: self.plan.workload.remarks(),
        }
    }

    fn facts(&self) -> Vec<(String, String)> {
        let mut facts = self.plan.workload.facts(&self.started);
        if !self.plan.about.is_empty() {
            facts[0].1 = self.plan.about.clone();
        }
        facts.insert(1, ("each point".into(), number::latency(self.time_ns as f64)));
        if let Some(service) = &self.plan.service {
            let set = format!(
                "{}, together {} of files for each operation per second, at most {}",
                clients(service.clients),
                units::decimal(service.bytes_each as f64),
                units::binary(service.most_bytes)
            );
            facts.insert(2, ("clients".into(), set));
        }
        facts
    }

    fn by_depth(&self) -> ReportSection {
        let by = if self.plan.workload.keeps_depth() { "depth" } else { "workers" };
        let rates: Vec<f64> = self.depths.iter().map(|point| point.iops).collect();
        let knee = curve::knee(&rates);
        let row = |point: &LoadPoint| {
            vec![
                ReportCell::Number(point.at),
                ReportCell::Number(point.iops),
                ReportCell::Number(point.bytes),
                ReportCell::Number(point.latency.mean()),
                point.percentile(99.0),
            ]
        };
        ReportSection {
            title: "Rate over queue depth".into(),
            about: "As fast as it goes with so many operations in flight.".into(),
            columns: vec![
                ReportColumn::new(by, ColumnUnit::Number),
                ReportColumn::new("IOPS", ColumnUnit::PerSecond),
                ReportColumn::new("", ColumnUnit::BytesPerSecond),
                ReportColumn::new("mean", ColumnUnit::Nanoseconds),
                ReportColumn::new("p99", ColumnUnit::Nanoseconds),
            ],
            rows: self.depths.iter().map(row).collect(),
            mark: match knee {
                Some(Knee::At(index)) => Some((index, "knee")),
                _ => None,
            },
            bars: Some(1),
            charts: vec![ReportChart::bars("rate", 1), ReportChart::bars("mean response time", 3)],
            sentences: self.knee_sentence(knee, by),
            pictures: Vec::new(),
        }
    }

    fn knee_sentence(&self, knee: Option<Knee>, by: &str) -> Vec<String> {
        let maximum = format!("The maximum is {} IOPS.", number::iops(self.maximum));
        let knee = match knee {
            Some(Knee::At(index)) => {
                format!(
                    "The knee is at {by} {}: beyond it no measured one brings 10 % more.",
                    self.depths[index].at
                )
            }
            Some(Knee::Flat) => format!("No larger {by} brings 10 % more than the smallest."),
            Some(Knee::Beyond) => {
                format!("It still grows at the largest {by} that was measured: the maximum may be higher.")
            }
            None => String::new(),
        };
        vec![format!("{maximum} {knee}").trim().into()]
    }

    fn by_load(&self) -> ReportSection {
        let service = self.plan.service.as_ref();
        let row = |point: &LoadPoint| {
            let percent = point.at / self.maximum * 100.0;
            let mut cells = vec![
                ReportCell::Number((percent * 10.0).round() / 10.0),
                ReportCell::Number(point.at),
                ReportCell::Number(point.iops),
                ReportCell::Number(point.latency.mean()),
                point.percentile(50.0),
                point.percentile(99.0),
                point.percentile(99.9),
            ];
            cells.extend(service.map(|service| ReportCell::Number(service.set_bytes(point.at) as f64)));
            cells
        };
        let overloaded = self.loads.iter().position(|point| !point.is_carried());
        ReportSection {
            title: "Response time over offered load".into(),
            about: "Operations are due at random times (Poisson); the wait of those that are late counts. The load is percent of the \
                    maximum."
                .into(),
            columns: [
                ReportColumn::new("load", ColumnUnit::Percent),
                ReportColumn::new("offered", ColumnUnit::PerSecond),
                ReportColumn::new("done IOPS", ColumnUnit::PerSecond),
                ReportColumn::new("mean", ColumnUnit::Nanoseconds),
                ReportColumn::new("p50", ColumnUnit::Nanoseconds),
                ReportColumn::new("p99", ColumnUnit::Nanoseconds),
                ReportColumn::new("p99.9", ColumnUnit::Nanoseconds),
            ]
            .into_iter()
            .chain(service.map(|_| ReportColumn::new("files", ColumnUnit::Bytes)))
            .collect(),
            rows: self.loads.iter().map(row).collect(),
            mark: overloaded.map(|index| (index, "not carried")),
            bars: Some(3),
            charts: vec![ReportChart::lines("response time", 1, vec![3, 5]).logarithmic()],
            sentences: self.load_sentences(overloaded),
            pictures: Vec::new(),
        }
    }

    fn load_sentences(&self, overloaded: Option<usize>) -> Vec<String> {
        let mut sentences = Vec::new();
        if let Some(overall) = overall_ns(&self.loads) {
            sentences.push(format!(
                "Overall response time (area under the curve, divided by the largest load that was carried): {}.",
                number::latency(overall)
            ));
        }
        if let Some(service) = &self.plan.service
            && let Some(capped) = self.loads.iter().find(|point| service.is_capped(point.at))
        {
            sentences.push(format!(
                "From {} IOPS on the file set is {}, smaller than the profile has it: more of it lies in caches. --size allows more.",
                number::iops(capped.at),
                units::binary(service.most_bytes)
            ));
        }
        if let Some(index) = overloaded {
            sentences.push(format!(
                "Of {} IOPS offered {} were done: this load is not carried, and its response time grows as long as it lasts.",
                number::iops(self.loads[index].at),
                number::iops(self.loads[index].iops)
            ));
        }
        sentences
    }

    /// Of a file service: what the largest load that was carried consisted of.
    fn by_operation(&self) -> Option<ReportSection> {
        let mix = self.plan.service.as_ref()?.mix;
        let carried = self.loads.iter().filter(|point| point.is_carried());
        let point = carried.max_by(|a, b| a.at.total_cmp(&b.at)).or(self.loads.first())?;
        let all: u64 = point.lines.iter().map(|line| line.operations).sum();
        let row = |label: &str| {
            let line = point.lines.iter().find(|line| line.label == label);
            let part = line.map(|line| line.operations as f64 / all.max(1) as f64);
            vec![
                ReportCell::text(label),
                ReportCell::of(mix.share(label)),
                ReportCell::of(part.map(|part| part * 100.0)),
                ReportCell::of(part.map(|part| part * point.iops)),
                ReportCell::of(line.filter(|line| line.operations > 0).map(|line| line.latency.mean())),
                ReportCell::of(
                    line.and_then(|line| number::percentile(&line.latency, 99.0)).map(|ns| ns as f64),
                ),
            ]
        };
        Some(ReportSection {
            title: "Operations".into(),
            about: format!("At {} IOPS offered.", number::iops(point.at)),
            columns: vec![
                ReportColumn::new("operation", ColumnUnit::Words),
                ReportColumn::new("share", ColumnUnit::Percent),
                ReportColumn::new("done", ColumnUnit::Percent),
                ReportColumn::new("IOPS", ColumnUnit::PerSecond),
                ReportColumn::new("mean", ColumnUnit::Nanoseconds),
                ReportColumn::new("p99", ColumnUnit::Nanoseconds),
            ],
            rows: mix.labels().map(row).collect(),
            bars: Some(4),
            charts: vec![ReportChart::bars("mean response time", 4).logarithmic()],
            ..ReportSection::default()
        })
    }

    fn by_span(&self) -> Option<ReportSection> {
        let whole = self.spans.last()?.iops;
        let row = |point: &LoadPoint| {
            vec![
                ReportCell::Number(point.at),
                ReportCell::Number(point.iops),
                ReportCell::Number(point.bytes),
                ReportCell::Number(point.latency.mean()),
                ReportCell::of((whole > 0.0).then(|| point.iops / whole)),
            ]
        };
        Some(ReportSection {
            title: "Rate over addressing span".into(),
            about: "The same workload inside the first part of the target, at the depth of the maximum."
                .into(),
            columns: vec![
                ReportColumn::new("span", ColumnUnit::Percent),
                ReportColumn::new("IOPS", ColumnUnit::PerSecond),
                ReportColumn::new("", ColumnUnit::BytesPerSecond),
                ReportColumn::new("mean", ColumnUnit::Nanoseconds),
                ReportColumn::new("× whole", ColumnUnit::Number),
            ],
            rows: self.spans.iter().map(row).collect(),
            bars: Some(1),
            charts: vec![ReportChart::bars("rate over span", 1)],
            ..ReportSection::default()
        })
    }
}

fn clients(count: u32) -> String {
    if count == 1 { "1 client".into() } else { format!("{count} clients") }
}

/// The area under the curve of mean response time from no load to the largest that was carried, divided by that load.
/// Source: overall response time of SPEC SFS. `None` where none was carried.
fn overall_ns(loads: &[LoadPoint]) -> Option<f64> {
    let mut carried: Vec<(f64, f64)> = loads
        .iter()
        .filter(|point| point.is_carried())
        .map(|point| (point.iops, point.latency.mean()))
        .collect();
    carried.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (first, last) = (*carried.first()?, carried.last()?.0);
    // Below the smallest load that was measured it is as there.
    let mut area = first.0 * first.1;
    for pair in carried.windows(2) {
        area += (pair[1].0 - pair[0].0) * (pair[0].1 + pair[1].1) / 2.0;
    }
    (last > 0.0).then(|| area / last)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(at: f64, iops: f64, ns: u64) -> LoadPoint {
        let mut latency = Histogram::default();
        latency.add(ns);
        LoadPoint { at, iops, bytes: iops * 4096.0, latency, lines: Vec::new() }
    }

    #[test]
    fn overall_response_time_is_the_area_below_the_curve() {
        let flat = [point(100.0, 100.0, 1000), point(200.0, 200.0, 1000)];
        assert_eq!(overall_ns(&flat), Some(1000.0));
        let rising = [point(100.0, 100.0, 1000), point(200.0, 200.0, 3000)];
        assert_eq!(overall_ns(&rising), Some((100.0 * 1000.0 + 100.0 * 2000.0) / 200.0));
        // A load that is not carried has no response time of its own.
        let overloaded = [point(100.0, 100.0, 1000), point(200.0, 150.0, 1_000_000)];
        assert_eq!(overall_ns(&overloaded), Some(1000.0));
        assert_eq!(overall_ns(&[]), None);
    }
}
