//! The table of a search, and what it comes to.

use iodyno_model::kv_cache::BlockLayout;
use iodyno_model::{RunStart, units};
use iodyno_report::experiment_report::{
    ColumnUnit, ExperimentReport, ReportCell, ReportChart, ReportColumn, ReportSection,
};
use iodyno_report::number;

use super::KvCacheArgs;
use super::point::{SHARE, ServingPoint};
use super::workload::ServingRun;
use crate::doubling;
use crate::experiment_ranks;

/// From this share of their time on, accelerators limit, percent.
const BUSY_PERCENT: f64 = 85.0;
/// Less than this from the page cache is no matter, percent.
const CACHED_PERCENT: f64 = 5.0;

pub struct ServingFigures<'a> {
    pub words: &'a KvCacheArgs,
    pub run: &'a ServingRun,
    pub started: RunStart,
    pub points: Vec<ServingPoint>,
}

impl ServingFigures<'_> {
    pub fn report(&self) -> ExperimentReport {
        let target = self.words.target.as_deref().or(self.words.on.as_deref()).unwrap_or_default();
        let remark = "After MLPerf Storage, not a result of it.".to_string();
        let simulated = "All figures are simulated: no storage was touched.".to_string();
        ExperimentReport {
            format: "iodyno.kv-cache/1",
            title: format!("iodyno kv-cache {target}"),
            facts: self.facts(),
            sections: vec![self.curve()],
            remarks: self.run.device().map(|_| simulated).into_iter().chain([remark]).collect(),
        }
    }

    fn facts(&self) -> Vec<(String, String)> {
        let (server, asked) = (&self.run.server, &self.run.server.requests);
        let machine = &self.started.machine;
        let per_second = number::significant(1e9 / server.token_ns);
        let computing = match self.words.prefill {
            Some(_) => format!("{per_second} tokens/s are computed"),
            None => format!(
                "{per_second} tokens/s are computed by {} H100 (assumed: 2 operations a parameter, 40 % of the peak)",
                self.words.model.h100s()
            ),
        };
        let model = format!(
            "{}, {} a token; {computing}",
            self.words.model.name(),
            units::binary(self.run.token_bytes)
        );
        let layout = match server.layout {
            _ if self.run.is_bucket() => "an object each",
            BlockLayout::Files => "a file each",
            BlockLayout::Slab => "one after the other",
        };
        let memory = match asked.memory {
            0 => String::new(),
            blocks => format!("; {} of it in memory too", units::binary(blocks * server.block_bytes)),
        };
        let cache = format!(
            "{} of blocks of {} ({} tokens), {layout}; least recently used goes{memory}",
            units::binary(asked.capacity * server.block_bytes),
            units::binary(server.block_bytes),
            asked.block_tokens
        );
        let recorded = self.run.recorded_rate().unwrap_or_default();
        let requests = match asked.recorded.len() {
            0 => self.drawn(),
            count => format!(
                "{} recorded, {} a second; the cache is empty at first",
                number::thousands(count as u64),
                number::significant(recorded)
            ),
        };
        let mut facts = vec![
            ("model".into(), model),
            ("cache".into(), cache),
            ("requests".into(), requests),
            ("machine".into(), format!("iodyno {} · {} · {}", machine.version, machine.host, machine.kernel)),
        ];
        facts.extend(experiment_ranks::fact(&self.started.world));
        facts
    }

    fn drawn(&self) -> String {
        let asked = &self.run.server.requests;
        format!(
            "{} conversations of {} turns, popularity Zipf {}; {} % begin with one of {} prefixes of {} tokens",
            number::thousands(asked.sessions),
            asked.turns,
            asked.theta,
            number::significant(asked.prefixed_percent),
            asked.prefixes,
            asked.prefix_tokens
        )
    }

    fn curve(&self) -> ReportSection {
        let row = |point: &ServingPoint| {
            vec![
                ReportCell::Number(point.rate),
                ReportCell::of(point.ttft_ns(50.0)),
                ReportCell::of(point.ttft_ns(SHARE)),
                ReportCell::of(point.ttft_ns(99.0)),
                ReportCell::Number(point.hit_percent),
                ReportCell::Number(point.read_per_second),
                ReportCell::Number(point.stored_per_second),
                ReportCell::Number(point.computing_percent),
            ]
        };
        let kept = self.kept();
        let column = ReportColumn::new;
        ReportSection {
            title: "Time to first token over the rate of requests".into(),
            about: "From a request's arrival until its cached blocks are read and the rest is computed; the share of the \
                    prompts' tokens that were cached, and of the accelerators' time in which they computed."
                .into(),
            columns: vec![
                column("requests/s", ColumnUnit::Number),
                column("p50", ColumnUnit::Nanoseconds),
                column("p95", ColumnUnit::Nanoseconds),
                column("p99", ColumnUnit::Nanoseconds),
                column("hits", ColumnUnit::Percent),
                column("read", ColumnUnit::BytesPerSecond),
                column("stored", ColumnUnit::BytesPerSecond),
                column("busy", ColumnUnit::Percent),
            ],
            rows: self.points.iter().map(row).collect(),
            mark: kept.map(|index| (index, "kept")),
            bars: None,
            pictures: Vec::new(),
            charts: vec![ReportChart::lines("time to first token", 0, vec![1, 2, 3]).logarithmic()],
            sentences: self.sentences(kept),
        }
    }

    fn kept(&self) -> Option<usize> {
        doubling::last_good(&self.points, |point| point.keeps(self.words.target_ttft))
    }

    fn sentences(&self, kept: Option<usize>) -> Vec<String> {
        let target = number::latency(self.words.target_ttft as f64);
        let mut all = vec![match kept.map(|index| &self.points[index]) {
            None => {
                format!("At none of these rates have 95 % of the requests their first token within {target}.")
            }
            Some(point) => format!(
                "At {} requests/s 95 % have their first token within {target}.",
                number::significant(point.rate)
            ),
        }];
        all.extend(self.points.get(kept.map_or(0, |index| index + 1)).map(|point| self.limit(point)));
        let latest = self.points.get(kept.unwrap_or(0)).and_then(|point| point.late.clone());
        all.extend(latest);
        all.push(format!(
            "Without a cache the accelerators could compute {} requests/s at most.",
            number::significant(self.run.computed_rate())
        ));
        if let Some(point) = self.points.iter().find(|point| point.memory_percent > 0.0) {
            let memory = number::percent(point.memory_percent);
            all.push(format!("Of the prompts' tokens {memory} lay in memory and were not read."));
        }
        let leaked = self.points.iter().filter_map(|point| point.cached_percent).fold(0.0, f64::max);
        if leaked > CACHED_PERCENT && self.run.device().is_none() {
            all.push(format!(
                "Up to {} of what was read came from the page cache: this file system takes no direct I/O.",
                number::percent(leaked)
            ));
        }
        all
    }

    /// What kept more requests from being served in time.
    fn limit(&self, point: &ServingPoint) -> String {
        let reading = number::latency(point.reading.percentile(SHARE) as f64);
        let because = match point.computing_percent {
            percent if percent >= BUSY_PERCENT => {
                format!("the accelerators computed {} of the time, which limits", number::percent(percent))
            }
            _ => format!("reading took up to {reading} (p95): {}", point.limit),
        };
        let late = point.requests - point.ttft.count().min(point.requests);
        let late = if late > 0 {
            format!(" {late} of {} requests were not answered at all;", point.requests)
        } else {
            String::new()
        };
        format!("At {} requests/s:{late} {because}.", number::significant(point.rate))
    }
}
