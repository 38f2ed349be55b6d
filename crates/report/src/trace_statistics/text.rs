//! The statistics of a trace as text that fits 80 columns.

use iodyno_model::verb::Kind;
use iodyno_model::{Histogram, Verb, units};
use iodyno_trace::statistics::{
    BLOCK_BYTES, DISTINCT_ERROR_PERCENT, HotSpot, MissRatio, OperationCounts, STREAMS, TimeRow,
    TraceStatistics, VerbCounts,
};
use iodyno_trace::{TraceClock, TraceLevel};

use super::HOT_SPOTS;
use crate::native::errno;
use crate::number::{self, NONE, percent, percentile_text, significant, thousands};
use crate::paint::Paint;
use crate::table::{Table, wrapped};

/// Rows of the table over time.
const TIMES: usize = 10;
/// Rows of the tables of threads and of files.
const LISTED: usize = 10;
/// Sizes that are named one by one.
const SIZES: usize = 4;
/// Rows of the miss-ratio curve.
const CACHES: usize = 8;
/// Characters of a name in a table; longer ones lose their beginning.
const NAME_WIDTH: usize = 22;

/// The whole text; `name` is what the trace is called.
pub fn text(name: &str, statistics: &TraceStatistics, paint: Paint) -> String {
    let mut text = head(name, statistics, paint);
    if statistics.operations == 0 {
        return text + "\nit has no records\n";
    }
    let sections = [
        ("Operations", operations(statistics, paint)),
        ("Sizes", sizes(statistics, paint)),
        ("Over time", over_time(statistics, paint)),
        ("Places", places(statistics, paint)),
        ("Caches", caches(statistics, paint)),
        ("Arrivals", arrivals(statistics, paint)),
        ("Queue depth", depth(statistics, paint)),
        ("Latency as recorded", latency(statistics, paint)),
        ("Threads", threads(statistics, paint)),
        ("Files", files(statistics, paint)),
        ("Errors", errors(statistics, paint)),
        ("Remarks", remarks(statistics, paint)),
    ];
    for (heading, body) in sections.iter().filter(|(_, body)| !body.is_empty()) {
        text.push_str(&format!("\n{}\n{body}", paint.heading(heading)));
    }
    text
}

/// A sentence in lines that fit.
fn sentence(text: &str, paint: Paint) -> String {
    format!("  {}\n", wrapped(text, paint.columns.saturating_sub(2), 2))
}

fn seconds(statistics: &TraceStatistics) -> f64 {
    statistics.span_ns() as f64 / 1e9
}

fn share(part: u64, all: u64) -> String {
    if all == 0 { NONE.into() } else { percent(part as f64 / all as f64 * 100.0) }
}

fn counted(count: usize, one: &str, many: &str) -> String {
    format!("{} {}", thousands(count as u64), if count == 1 { one } else { many })
}

fn head(name: &str, statistics: &TraceStatistics, paint: Paint) -> String {
    let header = &statistics.header;
    let level = match header.level {
        TraceLevel::Block => "requests to devices",
        TraceLevel::File => "calls on files",
    };
    let clock = match header.clock {
        TraceClock::Relative => "unknown start",
        TraceClock::Realtime => "time of day",
        TraceClock::Monotonic => "time since boot",
    };
    let about = [
        header.source.clone(),
        level.into(),
        format!("clock: {clock}, step {}", units::duration(header.resolution_ns.max(1) as f64)),
    ];
    let about: Vec<String> = about.into_iter().filter(|part| !part.is_empty()).collect();
    let size = format!(
        "{} in {}, {} and {}",
        counted(statistics.operations as usize, "operation", "operations"),
        units::duration(statistics.span_ns() as f64),
        counted(statistics.files.len(), "file", "files"),
        counted(statistics.threads.len(), "thread", "threads"),
    );
    let lines = [about.join(" · "), size];
    let lines = lines.iter().map(|line| sentence(line, paint)).collect::<String>();
    format!("{}\n{lines}", paint.heading(name))
}

fn operations(statistics: &TraceStatistics, paint: Paint) -> String {
    let unit = paint.rates.name();
    let mut table = Table::new(1, &["verb", "operations", "share", "per s", "bytes", unit, "errors"]);
    let mut verbs: Vec<(&Verb, &VerbCounts)> = statistics.verbs.iter().collect();
    verbs.sort_by_key(|(_, counts)| std::cmp::Reverse(counts.operations));
    for (verb, counts) in verbs {
        let moves = counts.bytes > 0;
        let rate = counts.bytes as f64 / seconds(statistics);
        table.row(&[
            verb.name().to_string(),
            thousands(counts.operations),
            share(counts.operations, statistics.operations),
            significant(counts.operations as f64 / seconds(statistics)),
            if moves { units::binary(counts.bytes) } else { NONE.into() },
            if moves { paint.rates.figure(rate) } else { NONE.into() },
            thousands(counts.errors),
        ]);
    }
    table.text(2, paint)
}

fn sizes(statistics: &TraceStatistics, paint: Paint) -> String {
    let sized = statistics.verbs.iter().filter(|(_, counts)| counts.sizes.total() > 0);
    let mut table = Table::new(1, &["verb", "mean", "p50", "p90", "p99", "largest"]);
    let mut lines = String::new();
    for (verb, counts) in sized {
        let sizes = &counts.sizes;
        let at = |percent| units::binary(sizes.percentile(percent));
        let mean = units::binary(sizes.mean() as u64);
        table.row(&[verb.name().to_string(), mean, at(50.0), at(90.0), at(99.0), at(100.0)]);
        let mut most: Vec<(&u64, &u64)> = sizes.counts.iter().collect();
        most.sort_by_key(|(bytes, count)| (std::cmp::Reverse(**count), **bytes));
        let part = |(bytes, count): &(&u64, &u64)| {
            format!("{} {}", units::binary(**bytes), share(**count, sizes.total()))
        };
        let parts: Vec<String> = most.iter().take(SIZES).map(part).collect();
        let others = most.len().saturating_sub(SIZES);
        let rest =
            if others > 0 { format!(", and {}", counted(others, "other", "others")) } else { String::new() };
        lines.push_str(&sentence(&format!("{verb}: {}{rest}", parts.join(", ")), paint));
    }
    if table.is_empty() { String::new() } else { table.text(2, paint) + &lines }
}

/// The rows of the series in a few groups of equal length, each with its number of rows.
fn groups(statistics: &TraceStatistics) -> Vec<(TimeRow, usize)> {
    let rows = &statistics.rows.rows;
    let each = rows.len().div_ceil(TIMES).max(1);
    let group = |rows: &[TimeRow]| {
        let mut sum = rows[0].clone();
        rows[1..].iter().for_each(|row| sum.merge(row));
        (sum, rows.len())
    };
    rows.chunks(each).map(group).collect()
}

fn over_time(statistics: &TraceStatistics, paint: Paint) -> String {
    let unit = paint.rates.name();
    let headings = [
        "from",
        "reads/s",
        "writes/s",
        &format!("read {unit}"),
        &format!("write {unit}"),
        "working set",
        "depth",
        "latency",
    ];
    let mut table = Table::new(0, &headings);
    let width = statistics.rows.width_ns as f64;
    let mut at = 0;
    for (row, rows) in groups(statistics) {
        let length = width * rows as f64 / 1e9;
        let is_timed = statistics.depth.timed > 0;
        let latency = row.counts.mean_latency();
        table.row(&[
            units::duration(width * at as f64),
            significant(row.counts.reads as f64 / length),
            significant(row.counts.writes as f64 / length),
            paint.rates.figure(row.counts.read_bytes as f64 / length),
            paint.rates.figure(row.counts.written_bytes as f64 / length),
            units::binary(row.blocks.count() * BLOCK_BYTES),
            if is_timed { significant(row.depth_ns as f64 / (length * 1e9)) } else { NONE.into() },
            latency.map_or_else(|| NONE.into(), number::latency),
        ]);
        at += rows;
    }
    let note = format!(
        "working set: different blocks of {} read or written in that time, ± {DISTINCT_ERROR_PERCENT} % (HyperLogLog)",
        units::binary(BLOCK_BYTES)
    );
    table.text(2, paint) + &sentence(&note, paint)
}

fn places(statistics: &TraceStatistics, paint: Paint) -> String {
    let runs = &statistics.runs;
    if runs.accesses == 0 {
        return String::new();
    }
    let mut text = String::new();
    let touched = statistics.touched();
    let footprint = format!(
        "footprint: {} read or written at least once; {} read, {} written",
        units::binary(touched.bytes()),
        units::binary(statistics.read.bytes()),
        units::binary(statistics.written.bytes()),
    );
    text.push_str(&sentence(&footprint, paint));
    let curve = statistics.regions.curve(&HOT_SPOTS);
    let share_of = |point: &HotSpot| percent(point.access_percent);
    let part_of = |point: &HotSpot| format!("{} %", point.footprint_percent);
    let line = |first: &str, of: &dyn Fn(&HotSpot) -> String| -> Vec<String> {
        std::iter::once(first.to_string()).chain(curve.iter().map(of)).collect()
    };
    let mut table = Table::new(1, &line("hottest part of the footprint", &part_of));
    table.row(&line("share of the accesses", &share_of));
    text.push_str(&table.text(2, paint));
    let regions = format!("in regions of {}", units::binary(statistics.regions.region_bytes()));
    text.push_str(&sentence(&regions, paint));
    let sequential = format!(
        "sequential: {} begin where the access before on the file ended, {} where the one of the same thread did, {} \
         where one of {STREAMS} interleaved runs did",
        share(runs.strict, runs.accesses),
        share(runs.by_thread, runs.accesses),
        share(runs.interleaved, runs.accesses),
    );
    text.push_str(&sentence(&sequential, paint));
    let (operations, bytes) = (&runs.run_operations, &runs.run_bytes);
    let mut table = Table::new(1, &["runs", "number", "mean", "p50", "p90", "p99", "longest"]);
    let row = |name: &str, histogram: &Histogram, unit: &dyn Fn(u64) -> String| {
        let at = |percent| unit(histogram.percentile(percent));
        let mean = unit(histogram.mean().round() as u64);
        let count = thousands(histogram.count());
        [name.into(), count, mean, at(50.0), at(90.0), at(99.0), unit(histogram.max)]
    };
    table.row(&row("operations", operations, &thousands));
    table.row(&row("length", bytes, &units::binary));
    text + &table.text(2, paint)
}

fn caches(statistics: &TraceStatistics, paint: Paint) -> String {
    let curve = statistics.reuse.curve();
    if curve.points.is_empty() {
        return String::new();
    }
    let mut table = Table::new(0, &["LRU cache", "misses", "±"]);
    let each = curve.points.len().div_ceil(CACHES).max(1);
    let mut shown: Vec<&MissRatio> = curve.points.iter().rev().step_by(each).collect();
    shown.reverse();
    for point in shown {
        let error = if point.error > 0.0 { percent(point.error) } else { "exact".into() };
        table.row(&[units::binary(point.cache_blocks * BLOCK_BYTES), percent(point.miss_percent), error]);
    }
    let sampled = if curve.sampled_percent < 100.0 {
        let share = percent(curve.sampled_percent);
        format!("by SHARDS sampling of {share} of the blocks (FAST 2015); ± is half the 99 % interval")
    } else {
        "no block was left out".into()
    };
    let note = format!(
        "references to blocks of {} by reads and writes, a write stays in the cache; {sampled}",
        units::binary(BLOCK_BYTES)
    );
    table.text(2, paint) + &sentence(&note, paint)
}

fn arrivals(statistics: &TraceStatistics, paint: Paint) -> String {
    let arrivals = &statistics.arrivals;
    let distances = &arrivals.distances_ns;
    if distances.is_empty() {
        return String::new();
    }
    let at = |percent| number::latency(distances.percentile(percent) as f64);
    let mean = distances.mean();
    let variation = if mean > 0.0 { distances.deviation() / mean } else { 0.0 };
    let between = format!(
        "between two: mean {}, p50 {}, p99 {}, longest {}; coefficient of variation {} (Poisson: 1)",
        number::latency(mean),
        at(50.0),
        at(99.0),
        number::latency(distances.max as f64),
        significant(variation)
    );
    let mut table = Table::new(1, &["window", "windows", "mean", "busiest", "peak/mean", "dispersion"]);
    for window in arrivals.windows().iter().filter(|window| window.windows > 1) {
        table.row(&[
            units::duration(window.window_ns as f64),
            thousands(window.windows),
            significant(window.mean),
            thousands(window.most),
            significant(window.peak()),
            significant(window.dispersion),
        ]);
    }
    let windows = match table.is_empty() {
        true => String::new(),
        false => {
            table.text(2, paint) + &sentence("dispersion: variance over mean; 1 for Poisson arrivals", paint)
        }
    };
    let hurst = match arrivals.hurst() {
        Some(hurst) => format!(
            "Hurst parameter {:.2} ± {:.2}, by the logscale diagram of Haar wavelets (Abry, Veitch 1998) over {} to {}: 0.5 \
             is like independent arrivals, towards 1 bursts at all scales",
            hurst.value,
            hurst.error,
            units::duration(hurst.from_ns as f64),
            units::duration(hurst.to_ns as f64)
        ),
        None => "Hurst parameter: cannot tell, the trace is too short or too sparse".into(),
    };
    sentence(&between, paint) + &windows + &sentence(&hurst, paint)
}

fn depth(statistics: &TraceStatistics, paint: Paint) -> String {
    let depth = &statistics.depth;
    if depth.timed == 0 {
        return sentence("cannot tell: the trace has no completion times", paint);
    }
    let known = match share(depth.timed, statistics.operations).as_str() {
        "100 %" => String::new(),
        share => format!("; from the {share} of the operations whose completion is known"),
    };
    let line = format!(
        "mean {}, p50 {}, p90 {}, p99 {}, most {}; nothing in flight {} of the time{known}",
        significant(depth.mean()),
        depth.percentile(50.0),
        depth.percentile(90.0),
        depth.percentile(99.0),
        thousands(depth.most),
        percent(depth.idle_percent()),
    );
    sentence(&line, paint)
}

fn latency(statistics: &TraceStatistics, paint: Paint) -> String {
    let mut table = Table::new(1, &["verb", "number", "mean", "p50", "p90", "p99", "p99.9", "longest"]);
    let mut row = |name: String, histogram: &Histogram| {
        let at = |percent| percentile_text(histogram, percent);
        let mean = number::latency(histogram.mean());
        let longest = number::latency(histogram.max as f64);
        table.row(&[
            name,
            thousands(histogram.count()),
            mean,
            at(50.0),
            at(90.0),
            at(99.0),
            at(99.9),
            longest,
        ]);
    };
    for (verb, counts) in statistics.verbs.iter().filter(|(_, counts)| !counts.latency_ns.is_empty()) {
        row(verb.name().into(), &counts.latency_ns);
        let is_data = matches!(verb.kind(), Kind::Read | Kind::Write);
        for (power, histogram) in counts.latency_by_power.iter().filter(|_| is_data) {
            if counts.latency_by_power.len() > 1 {
                row(format!("  to {}", units::binary(*power)), histogram);
            }
        }
    }
    if table.is_empty() { String::new() } else { table.text(2, paint) }
}

fn threads(statistics: &TraceStatistics, paint: Paint) -> String {
    let name = |index: usize| match statistics.tables.threads.get(index) {
        Some(thread) if thread.process == thread.thread => format!("{} {}", thread.thread, thread.name),
        Some(thread) => format!("{}/{} {}", thread.process, thread.thread, thread.name),
        None => format!("thread {index}"),
    };
    listed("thread", &statistics.threads, name, statistics, paint)
}

fn files(statistics: &TraceStatistics, paint: Paint) -> String {
    listed("file", &statistics.files, |index| statistics.file_name(index), statistics, paint)
}

fn listed(
    kind: &str,
    counts: &[OperationCounts],
    name: impl Fn(usize) -> String,
    statistics: &TraceStatistics,
    paint: Paint,
) -> String {
    let mut busy: Vec<(usize, &OperationCounts)> =
        counts.iter().enumerate().filter(|(_, counts)| counts.operations() > 0).collect();
    busy.sort_by_key(|(index, counts)| (std::cmp::Reverse(counts.operations()), *index));
    let mut table = Table::new(1, &[kind, "operations", "share", "read", "written", "errors", "latency"]);
    for (index, counts) in busy.iter().take(LISTED) {
        table.row(&[
            shortened(name(*index).trim()),
            thousands(counts.operations()),
            share(counts.operations(), statistics.operations),
            units::binary(counts.read_bytes),
            units::binary(counts.written_bytes),
            thousands(counts.errors),
            counts.mean_latency().map_or_else(|| NONE.into(), number::latency),
        ]);
    }
    let others = busy.len().saturating_sub(LISTED);
    let rest = match others {
        0 => String::new(),
        _ => sentence(&format!("and {} more; --json lists them", thousands(others as u64)), paint),
    };
    table.text(2, paint) + &rest
}

/// A name without control characters, of a width that leaves room for figures.
fn shortened(name: &str) -> String {
    let clean: Vec<char> = name.chars().map(|each| if each.is_control() { '?' } else { each }).collect();
    let width = NAME_WIDTH;
    if clean.len() <= width {
        return clean.into_iter().collect();
    }
    format!("…{}", clean[clean.len() - width + 1..].iter().collect::<String>())
}

fn errors(statistics: &TraceStatistics, paint: Paint) -> String {
    let mut table = Table::new(2, &["verb", "error", "number"]);
    for ((verb, number), count) in &statistics.errors {
        let error = i32::try_from(*number).map_or_else(|_| number.to_string(), errno);
        table.row(&[verb.name().to_string(), error, thousands(*count)]);
    }
    if table.is_empty() { String::new() } else { table.text(2, paint) }
}

fn remarks(statistics: &TraceStatistics, paint: Paint) -> String {
    statistics.remarks().iter().map(|remark| sentence(remark, paint)).collect()
}
