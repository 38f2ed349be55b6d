//! The report for people.

use iodyno_model::Histogram;
use iodyno_model::pace::{Criterion, Steady};

use super::bins::Bins;
use super::direction::{Direction, LatencySpread, Priority, per_second};
use super::disks::Disk;
use super::number::{CountUnit, bytes, count, scaled};
use super::samples::Samples;
use super::summary::{GroupDirection, GroupSummary, ReportedJob, Summary};
use crate::date::ctime;
use crate::fio::view::{JobView, ReportFigures, UnifiedReporting};
use crate::strerror::of_system as reason;

/// What a report says beside the summary.
pub struct ReportTime {
    /// Wall-clock time of the report, ns since 1970.
    pub unix_ns: u64,
    /// Seconds that local time is east of Greenwich.
    pub east_s: i64,
}

/// Writes the whole report.
pub fn write(
    summary: &Summary<'_>,
    steady: &dyn Fn(&ReportedJob<'_>) -> Option<Steady>,
    now: &ReportTime,
) -> String {
    let mut text = String::from("\n");
    for job in summary.jobs.iter().filter(|job| job.did_something()) {
        let group = summary.groups.get(job.view.group as usize);
        text += &reported(job, group, steady(job).as_ref(), now);
    }
    for (number, group) in summary.groups.iter().enumerate() {
        text += &format!("\nRun status group {number} (all jobs):\n{}", group_lines(group));
    }
    if !summary.disks.is_empty() {
        text += "\nDisk stats (read/write):\n";
        summary.disks.iter().for_each(|disk| text += &disk_line(disk));
    }
    text
}

/// The unit of a job's bandwidths.
pub fn rate_unit(figures: &ReportFigures, engine: &str) -> CountUnit {
    match figures.unit_base {
        1 => CountUnit::BitsPerSecond,
        0 if engine.starts_with("net") => CountUnit::BitsPerSecond,
        _ => CountUnit::BytesPerSecond,
    }
}

/// One job's lines.
pub fn reported(
    job: &ReportedJob<'_>,
    group: Option<&GroupSummary<'_>>,
    steady: Option<&Steady>,
    now: &ReportTime,
) -> String {
    let view = job.view;
    let error = match &job.failure {
        Some(failure) => format!("err={:2} ({})", failure.errno, failure.text),
        None => "err= 0".to_string(),
    };
    let mut text = format!(
        "{}: (groupid={}, jobs={}): {error}: pid={}: {}\n",
        view.name,
        view.group,
        job.members,
        job.pid,
        ctime(now.unix_ns, now.east_s)
    );
    if !view.description.is_empty() {
        text += &format!("  Description  : [{}]\n", view.description);
    }
    let names = if job.is_mixed() { ["mixed", "", ""] } else { ["read", "write", "trim"] };
    for (index, (direction, name)) in job.directions.iter().zip(names).enumerate() {
        let whole = group.map(|group| group.directions[index].aggregate());
        text += &direction_lines(direction, name, job, whole);
    }
    if let Some(all) = &job.all {
        text += &direction_lines(all, "mixed", job, None);
    }
    text += &latency_steps(job);
    text += &sync_lines(job);
    text += &usage_lines(job);
    if view.counts_errors {
        let (total, first) = job.errors;
        text += &format!("     errors    : total={total}, first_error={first}/<{}>\n", words(first));
    }
    if !job.is_sum() {
        // A dry run looks for no depth.
        text += &if job.view.counts_unwritten { String::new() } else { target_line(job) };
    }
    if let Some(asked) = steady {
        text += &steady_line(job, &job.steady.clone().unwrap_or_default(), asked);
    }
    text
}

/// The words for an error number, of 0 too.
fn words(errno: i32) -> String {
    if errno == 0 { "Success".into() } else { reason(errno) }
}

fn direction_lines(direction: &Direction, name: &str, job: &ReportedJob<'_>, group: Option<u64>) -> String {
    if direction.runtime_ms == 0 {
        return String::new();
    }
    let figures = &job.view.figures;
    let (digits, binary) = (figures.significant_figures, figures.kb_base == 1024);
    let unit = rate_unit(figures, &job.view.engine);
    let rate = direction.bytes_per_second();
    let zones = if name == "write" { "; 0 zone resets" } else { "" };
    let mut text = format!(
        "  {name}: IOPS={}, BW={} ({})({}/{}msec){zones}\n",
        count(per_second(direction.done, direction.runtime_ms), digits),
        scaled(rate, digits, 0, binary, unit),
        scaled(rate, digits, 0, !binary, unit),
        bytes(direction.bytes, digits, binary),
        direction.runtime_ms
    );
    let latencies = [
        ("slat", &direction.submission, figures.submission_percentiles),
        ("clat", &direction.completion, figures.completion_percentiles),
        ("lat", &direction.latency, figures.latency_percentiles),
    ];
    for ((name, ..), spread) in latencies.iter().zip(direction.spreads()) {
        text += &latency_line(&format!("{name:>4}"), spread);
    }
    let told = if figures.latency_percentiles { "lat" } else { "clat" };
    let priority_name = |[class, level, hint]: Priority| format!("{told} prio {class}/{level}/{hint}");
    for (priority, latency) in direction.by_priority() {
        text += &latency_line(&priority_name(*priority), LatencySpread::of(latency));
    }
    for (name, histogram, _) in latencies.iter().filter(|(.., is_shown)| *is_shown) {
        text += &percentile_lines(name, histogram, job.view);
    }
    if figures.latency_percentiles || figures.completion_percentiles {
        let all: u64 = direction.by_priority().iter().map(|(_, latency)| latency.count()).sum();
        for (priority, latency) in direction.by_priority() {
            let share = 100.0 * latency.count() as f64 / all as f64;
            let name = format!("{} ({share:3.2}% of IOs)", priority_name(*priority));
            text += &percentile_lines(&name, latency, job.view);
        }
    }
    text += &bandwidth_line(&direction.bandwidth, figures, group);
    text + &rate_line(&direction.rate)
}

fn latency_line(name: &str, spread: LatencySpread) -> String {
    if spread.count == 0 {
        return String::new();
    }
    let beyond = |min, max, deviation| spread.min > min && spread.max > max && spread.deviation > deviation;
    let (unit, divisor) = if beyond(2_000_000, 99_999_999, 1_000_000.0) {
        ("msec", 1_000_000)
    } else if beyond(2_000, 99_999, 1_000.0) {
        ("usec", 1_000)
    } else {
        ("nsec", 1)
    };
    format!(
        "    {name} ({unit}): min={}, max={}, avg={:5.2}, stdev={:5.2}\n",
        count(spread.min / divisor, 6),
        count(spread.max / divisor, 6),
        spread.mean / divisor as f64,
        spread.deviation / divisor as f64
    )
}

/// Decimals of the percentages: as many as the longest was written with (`percentile_list=50:99.9`).
fn percent_decimals(view: &JobView, percentiles: &[f64]) -> usize {
    let written = view.options.iter().rfind(|(name, _)| name == "percentile_list");
    if let Some((_, text)) = written {
        let decimals = |percent: &str| percent.trim().split_once('.').map_or(0, |(_, rest)| rest.len());
        return text.split(':').map(decimals).max().unwrap_or(0).min(9);
    }
    let told = |percent: &f64| (0..9).find(|digits| format!("{percent:.digits$}").parse() == Ok(*percent));
    percentiles.iter().filter_map(told).max().unwrap_or(2).max(2)
}

fn percentile_lines(name: &str, histogram: &Histogram, view: &JobView) -> String {
    let percentiles = view.figures.percentiles.as_slice();
    let mut values = Bins::from(histogram).percentiles(percentiles);
    let (Some(least), Some(most)) = (values.iter().min().copied(), values.iter().max().copied()) else {
        return String::new();
    };
    let (unit, divisor) = match () {
        () if least > 2_000_000 && most > 99_999_999 => ("msec", 1_000_000),
        () if least > 2_000 && most > 99_999 => ("usec", 1_000),
        () => ("nsec", 1),
    };
    values.iter_mut().for_each(|value| *value = value.div_ceil(divisor));
    let decimals = percent_decimals(view, percentiles);
    let width = 5.max((most / divisor).max(1).ilog10() as usize + 1);
    let per_line = ((80 - 7) / (decimals + 10 + width)).max(1);
    let mut text = format!("    {name} percentiles ({unit}):\n");
    let cells: Vec<String> = percentiles
        .iter()
        .zip(values)
        .map(|(percent, value)| format!(" {percent:0$.decimals$}th=[{value:width$}]", decimals + 3))
        .collect();
    let lines: Vec<String> = cells.chunks(per_line).map(|line| format!("     |{}", line.join(","))).collect();
    text += &lines.join(",\n");
    text + "\n"
}

/// The share of the group's bandwidth (bytes per second) that a mean of samples (KiB/s) is, percent.
pub fn share_of_group(mean: f64, group: Option<u64>) -> f64 {
    match group {
        Some(rate) if rate > 1024 => (mean.trunc() * 100.0 / (rate as f64 / 1024.0)).min(100.0),
        _ => 100.0,
    }
}

fn bandwidth_line(samples: &Samples, figures: &ReportFigures, group: Option<u64>) -> String {
    if samples.count == 0 {
        return String::new();
    }
    // In bytes, whatever the unit of the other rates; fio does the same.
    let names = if figures.kb_base == 1024 { ["KiB", "MiB"] } else { ["kB", "MiB"] };
    let thousand = u64::from(figures.kb_base);
    let large = samples.mean > (thousand * thousand) as f64;
    let divisor = if large { thousand } else { 1 };
    format!(
        "   bw ({:>5}/s): min={:5}, max={:5}, per={:3.2}%, avg={:5.2}, stdev={:5.2}, samples={}\n",
        names[usize::from(large)],
        samples.min / divisor,
        samples.max / divisor,
        share_of_group(samples.mean, group),
        samples.mean / divisor as f64,
        samples.deviation() / divisor as f64,
        samples.count
    )
}

fn rate_line(samples: &Samples) -> String {
    if samples.count == 0 {
        return String::new();
    }
    format!(
        "   iops        : min={:5}, max={:5}, avg={:5.2}, stdev={:5.2}, samples={}\n",
        samples.min,
        samples.max,
        samples.mean,
        samples.deviation(),
        samples.count
    )
}

fn latency_steps(job: &ReportedJob<'_>) -> String {
    let mut text = String::new();
    for (unit, steps) in ["nsec", "usec", "msec"].into_iter().zip(job.spectrum.steps()) {
        let shown = steps.iter().filter(|(_, share)| *share > 0.0);
        let cells: Vec<String> = shown.map(|(name, share)| format!("{name}={share:3.2}%")).collect();
        let line = |line: &[String]| format!("  lat ({unit})   : {}\n", line.join(", "));
        text.extend(cells.chunks(5).map(line));
    }
    text
}

fn sync_lines(job: &ReportedJob<'_>) -> String {
    let (operations, latency) = &job.syncs;
    if *operations == 0 {
        return String::new();
    }
    let figures = &job.view.figures;
    let mut text = String::from("  fsync/fdatasync/sync_file_range:\n");
    text += &latency_line("sync", LatencySpread::of(latency));
    if figures.completion_percentiles || figures.latency_percentiles {
        text += &percentile_lines("sync", latency, job.view);
    }
    text
}

fn usage_lines(job: &ReportedJob<'_>) -> String {
    let (user, system) = job.cpu_percent();
    let mut text = format!(
        "  cpu          : usr={user:3.2}%, sys={system:3.2}%, ctx={}, majf={}, minf={}\n",
        job.switches, job.faults.0, job.faults.1
    );
    let heads = ["  IO depths    ", "     submit    ", "     complete  "];
    for (head, (names, shares)) in heads.into_iter().zip(job.spectrum.levels()) {
        let cells: Vec<String> =
            names.iter().zip(shares).map(|(name, share)| format!("{name}={share:3.1}%")).collect();
        text += &format!("{head}: {}\n", cells.join(", "));
    }
    let [read, write, trim] = &job.directions;
    text + &format!(
        "     issued rwts: total={},{},{},{} short={},{},{},0 dropped=0,0,0,0\n",
        read.issued, write.issued, trim.issued, job.syncs.0, read.short, write.short, trim.short
    )
}

fn target_line(job: &ReportedJob<'_>) -> String {
    let (target_ns, window_ns, percent) = job.view.latency_target;
    let percent = if target_ns == 0 && percent == 0.0 { 100.0 } else { percent };
    format!(
        "     latency   : target={target_ns}, window={}, percentile={percent:.2}%, depth={}\n",
        window_ns / 1000,
        job.depth
    )
}

fn steady_line(job: &ReportedJob<'_>, steady: &iodyno_model::SteadyRecord, asked: &Steady) -> String {
    let figures = &job.view.figures;
    let (digits, binary) = (figures.significant_figures, figures.kb_base == 1024);
    let unit = rate_unit(figures, &job.view.engine);
    let rate = steady_mean(&steady.bytes, asked) as u64;
    let name = match asked.criterion {
        Criterion::Operations => "iops",
        Criterion::Bytes => "bw",
        Criterion::Latency => "lat",
    };
    format!(
        "  steadystate  : attained={}, bw={} ({}), iops={}, {name}{}={:.3}{}\n",
        if steady.attained { "yes" } else { "no" },
        scaled(rate / u64::from(figures.kb_base), digits, 1, binary, unit),
        scaled(rate / 1000, digits, 1, !binary, unit),
        count(steady_mean(&steady.operations, asked) as u64, digits),
        if asked.slope { " slope" } else { " mean dev" },
        steady.found.unwrap_or(0.0),
        if asked.percent { "%" } else { "" }
    )
}

/// How many intervals a window has.
pub fn steady_intervals(asked: &Steady) -> usize {
    (asked.window_ns / asked.interval_ns.max(1)).max(1) as usize
}

/// The mean over a window: of intervals that did not come, 0.
pub fn steady_mean(values: &[f64], asked: &Steady) -> f64 {
    values.iter().sum::<f64>() / steady_intervals(asked).max(values.len()) as f64
}

fn group_lines(group: &GroupSummary<'_>) -> String {
    let figures = &group.view.figures;
    let names = match figures.unified {
        UnifiedReporting::Mixed => ["  MIXED"; 4],
        _ => ["   READ", "  WRITE", "   TRIM", "  MIXED"],
    };
    let unit = rate_unit(figures, &group.view.engine);
    let lines = group.directions.iter().zip(names).filter(|(direction, _)| direction.run_ms.1 > 0);
    lines.map(|(direction, name)| group_line(direction, name, figures, unit)).collect()
}

fn group_line(direction: &GroupDirection, name: &str, figures: &ReportFigures, unit: CountUnit) -> String {
    let (digits, binary) = (figures.significant_figures, figures.kb_base == 1024);
    let rate = |rate: u64, binary: bool| scaled(rate, digits, 0, binary, unit);
    let (least, most) = direction.bandwidth;
    format!(
        "{name}: bw={} ({}), {}-{} ({}-{}), io={} ({}), run={}-{}msec\n",
        rate(direction.aggregate(), binary),
        rate(direction.aggregate(), !binary),
        rate(least, binary),
        rate(most, binary),
        rate(least, !binary),
        rate(most, !binary),
        bytes(direction.bytes, digits, binary),
        bytes(direction.bytes, digits, !binary),
        direction.run_ms.0,
        direction.run_ms.1
    )
}

fn disk_line(disk: &Disk) -> String {
    let figures = |disk: &Disk, prefix: &str| {
        format!(
            "{prefix}ios={}/{}, {prefix}merge={}/{}, {prefix}ticks={}/{}, {prefix}in_queue={}, {prefix}util={:3.2}%",
            disk.requests.0,
            disk.requests.1,
            disk.merges.0,
            disk.merges.1,
            disk.ticks.0,
            disk.ticks.1,
            disk.in_queue,
            disk.util
        )
    };
    let indent = if disk.beneath > 0 { "    " } else { "  " };
    let mean = disk.mean.as_ref().map_or(String::new(), |mean| format!(", {}", figures(mean, "aggr")));
    format!("{indent}{}: {}{mean}\n", disk.name, figures(disk, ""))
}
