//! The statistics of a trace as JSON, `iodyno.trace_statistics/1`: times in ns, sizes in bytes, shares in percent.

use iodyno_model::Histogram;
use iodyno_trace::statistics::{
    BLOCK_BYTES, DISTINCT_ERROR_PERCENT, HotSpot, OperationCounts, TimeRow, TraceStatistics, VerbCounts,
};
use iodyno_trace::{TraceClock, TraceLevel};
use serde_json::{Map, Value, json};

use super::HOT_SPOTS;

/// Threads and files that are listed, at most.
const LISTED: usize = 1000;

pub fn json(name: &str, statistics: &TraceStatistics) -> Value {
    let header = &statistics.header;
    let verbs: Map<String, Value> =
        statistics.verbs.iter().map(|(verb, counts)| (verb.name().to_string(), verb_json(counts))).collect();
    json!({
        "format": "iodyno.trace_statistics/1",
        "name": name,
        "source": header.source,
        "level": match header.level { TraceLevel::Block => "block", TraceLevel::File => "file" },
        "clock": match header.clock {
            TraceClock::Relative => "relative",
            TraceClock::Realtime => "realtime",
            TraceClock::Monotonic => "monotonic",
        },
        "began_unix_ns": header.began_unix_ns,
        "resolution_ns": header.resolution_ns,
        "operations": statistics.operations,
        "span_ns": statistics.span_ns(),
        "verbs": verbs,
        "footprint": {
            "bytes": statistics.touched().bytes(),
            "read_bytes": statistics.read.bytes(),
            "written_bytes": statistics.written.bytes(),
            "resolution": statistics.read.resolution().max(statistics.written.resolution()),
        },
        "hot_spots": hot_spots(statistics),
        "sequential": sequential(statistics),
        "miss_ratio_curve": miss_ratios(statistics),
        "arrivals": arrivals(statistics),
        "depth": depth(statistics),
        "series": series(statistics),
        "threads": listed(&statistics.threads, |index| {
            let thread = statistics.tables.threads.get(index).cloned().unwrap_or_default();
            json!({ "process": thread.process, "thread": thread.thread, "name": thread.name })
        }),
        "files": listed(&statistics.files, |index| json!({ "name": statistics.file_name(index) })),
        "errors": statistics.errors.iter().map(|((verb, errno), count)| {
            json!({ "verb": verb.name(), "errno": errno, "count": count })
        }).collect::<Vec<_>>(),
        "remarks": statistics.remarks(),
    })
}

fn verb_json(counts: &VerbCounts) -> Value {
    let sizes: Vec<Value> =
        counts.sizes.counts.iter().map(|(bytes, count)| json!({ "bytes": bytes, "count": count })).collect();
    let by_size: Vec<Value> = counts
        .latency_by_power
        .iter()
        .map(|(power, histogram)| json!({ "up_to_bytes": power, "latency": distribution(histogram) }))
        .collect();
    json!({
        "operations": counts.operations,
        "bytes": counts.bytes,
        "errors": counts.errors,
        "sizes": sizes,
        "latency": distribution(&counts.latency_ns),
        "latency_by_size": by_size,
    })
}

/// A distribution; null where nothing was counted.
fn distribution(histogram: &Histogram) -> Value {
    if histogram.is_empty() {
        return Value::Null;
    }
    let at = |percent| histogram.percentile(percent);
    json!({
        "count": histogram.count(),
        "mean": histogram.mean(),
        "deviation": histogram.deviation(),
        "min": histogram.min,
        "p50": at(50.0), "p90": at(90.0), "p99": at(99.0), "p99.9": at(99.9),
        "max": histogram.max,
    })
}

fn hot_spots(statistics: &TraceStatistics) -> Value {
    let points = statistics.regions.curve(&HOT_SPOTS);
    let point = |point: &HotSpot| {
        let (part, share) = (point.footprint_percent, point.access_percent);
        json!({ "footprint_percent": part, "access_percent": share })
    };
    json!({
        "region_bytes": statistics.regions.region_bytes(),
        "points": points.iter().map(point).collect::<Vec<_>>(),
    })
}

fn sequential(statistics: &TraceStatistics) -> Value {
    let runs = &statistics.runs;
    json!({
        "accesses": runs.accesses,
        "strict": runs.strict,
        "by_thread": runs.by_thread,
        "interleaved": runs.interleaved,
        "run_operations": distribution(&runs.run_operations),
        "run_bytes": distribution(&runs.run_bytes),
    })
}

fn miss_ratios(statistics: &TraceStatistics) -> Value {
    let curve = statistics.reuse.curve();
    let points: Vec<Value> = curve
        .points
        .iter()
        .map(|point| {
            let bytes = point.cache_blocks * BLOCK_BYTES;
            json!({ "cache_bytes": bytes, "miss_percent": point.miss_percent, "error": point.error })
        })
        .collect();
    json!({
        "method": "SHARDS, fixed size",
        "block_bytes": BLOCK_BYTES,
        "references": curve.references,
        "sampled_percent": curve.sampled_percent,
        "points": points,
    })
}

fn arrivals(statistics: &TraceStatistics) -> Value {
    let windows: Vec<Value> = statistics
        .arrivals
        .windows()
        .iter()
        .map(|window| {
            json!({
                "window_ns": window.window_ns, "windows": window.windows, "mean": window.mean, "most": window.most,
                "peak_over_mean": window.peak(), "dispersion": window.dispersion,
            })
        })
        .collect();
    let hurst = statistics.arrivals.hurst().map(|hurst| {
        json!({
            "value": hurst.value, "error": hurst.error, "from_ns": hurst.from_ns, "to_ns": hurst.to_ns,
            "method": "Haar wavelet logscale diagram",
        })
    });
    json!({ "between_ns": distribution(&statistics.arrivals.distances_ns), "windows": windows, "hurst": hurst })
}

fn depth(statistics: &TraceStatistics) -> Value {
    let depth = &statistics.depth;
    if depth.timed == 0 {
        return Value::Null;
    }
    json!({
        "timed": depth.timed,
        "mean": depth.mean(),
        "p50": depth.percentile(50.0), "p90": depth.percentile(90.0), "p99": depth.percentile(99.0),
        "most": depth.most,
        "idle_percent": depth.idle_percent(),
    })
}

fn series(statistics: &TraceStatistics) -> Value {
    let width = statistics.rows.width_ns;
    let row = |(index, row): (usize, &TimeRow)| {
        let counts = &row.counts;
        json!({
            "at_ns": width.saturating_mul(index as u64),
            "reads": counts.reads, "writes": counts.writes, "others": counts.others, "errors": counts.errors,
            "read_bytes": counts.read_bytes, "written_bytes": counts.written_bytes,
            "working_set_bytes": row.blocks.count() * BLOCK_BYTES,
            "depth": (statistics.depth.timed > 0).then(|| row.depth_ns as f64 / width as f64),
            "latency_ns": counts.mean_latency(),
        })
    };
    json!({
        "row_ns": width,
        "working_set_error_percent": DISTINCT_ERROR_PERCENT,
        "rows": statistics.rows.rows.iter().enumerate().map(row).collect::<Vec<_>>(),
    })
}

/// The busiest, and what the others come to together.
fn listed(counts: &[OperationCounts], name: impl Fn(usize) -> Value) -> Value {
    let mut busy: Vec<(usize, &OperationCounts)> =
        counts.iter().enumerate().filter(|(_, counts)| counts.operations() > 0).collect();
    busy.sort_by_key(|(index, counts)| (std::cmp::Reverse(counts.operations()), *index));
    let line = |(index, counts): &(usize, &OperationCounts)| {
        let mut line = name(*index);
        line["reads"] = counts.reads.into();
        line["writes"] = counts.writes.into();
        line["others"] = counts.others.into();
        line["read_bytes"] = counts.read_bytes.into();
        line["written_bytes"] = counts.written_bytes.into();
        line["errors"] = counts.errors.into();
        line["mean_latency_ns"] = counts.mean_latency().into();
        line
    };
    let rest = busy.get(LISTED..).unwrap_or_default();
    let operations: u64 = rest.iter().map(|(_, counts)| counts.operations()).sum();
    json!({
        "busiest": busy.iter().take(LISTED).map(line).collect::<Vec<_>>(),
        "others": { "number": rest.len(), "operations": operations },
    })
}
