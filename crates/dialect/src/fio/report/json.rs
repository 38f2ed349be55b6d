//! The JSON report: fio 3.33's keys with those that 3.42 added, and one key of ours, `iodyno`.
//!
//! What fio does not say stays under `iodyno`, and is left out where there is nothing to say.

use iodyno_model::pace::{Criterion, Steady};
use iodyno_model::{DemandRecord, Finding, Histogram, Idleness, SteadyRecord};

use super::bins::Bins;
use super::direction::{Direction, LatencySpread, Priority};
use super::disks::Disk;
use super::idleness;
use super::normal::{ReportTime, share_of_group, steady_intervals, steady_mean};
use super::summary::{ReportedJob, Summary};
use crate::date::ctime;
use crate::fio::view::{IdleProfile, ReportContext};
use crate::json_tree::{JsonStyle, JsonTree, json_object};

/// What the document says beside the summary.
pub struct Frame<'a> {
    /// The run as it was asked for.
    pub view: &'a ReportContext,
    /// With the bins of every latency.
    pub plus: bool,
    /// The time of the report.
    pub now: &'a ReportTime,
    /// Seconds since the program began, rounded up.
    pub elapsed_s: u64,
    /// Seconds left.
    pub eta_s: i64,
    /// What spoils a number.
    pub findings: &'a [Finding],
    /// What was demanded of the run.
    pub demands: &'a [DemandRecord],
    /// What was asked where a job looks for steadiness.
    pub steady: &'a dyn Fn(&ReportedJob<'_>) -> Option<Steady>,
    /// How idle the processors were, and how that is told.
    pub idleness: Option<(&'a Idleness, IdleProfile)>,
    /// The host that it tells of and its server's port, where several ran; without a server it was started there.
    pub host: Option<(&'a str, Option<u16>)>,
}

/// fio's layout; what is no number is 0.
const STYLE: JsonStyle = JsonStyle {
    indent: "  ",
    newline: "\n",
    colon: " : ",
    inline_comma: None,
    is_empty_closed: false,
    real: |number| format!("{:.6}", if number.is_finite() { number } else { 0.0 }),
};

/// Writes the document.
pub fn write(summary: &Summary<'_>, frame: &Frame<'_>) -> String {
    let mut root = head(frame);
    root.push("jobs", summary.jobs.iter().map(|job| job_object(job, summary, frame)).collect::<JsonTree>());
    root.push_unless_empty("disk_util", summary.disks.iter().map(disk_object).collect::<JsonTree>());
    if let Some((found, profile)) = frame.idleness {
        root.push("cpu_idleness", idleness::object(found, profile == IdleProfile::PerProcessor));
    }
    root.push_unless_empty("iodyno", own_object(summary, frame));
    root.print(&STYLE) + "\n"
}

/// The document's first lines.
fn head(frame: &Frame<'_>) -> JsonTree {
    let mut root = json_object! {
        "fio version": &frame.view.style.version,
        "timestamp": frame.now.unix_ns / 1_000_000_000,
        "timestamp_ms": frame.now.unix_ns / 1_000_000,
        "time": ctime(frame.now.unix_ns, frame.now.east_s),
    };
    if !frame.view.global.is_empty() {
        root.push("global options", options(&frame.view.global));
    }
    root
}

/// Writes the document of several hosts: the jobs of each, and their sum.
pub fn write_clients(parts: &[(&Summary<'_>, Frame<'_>)], sum: Option<&ReportedJob<'_>>) -> String {
    let [(_, first), ..] = parts else { return String::new() };
    let mut root = head(first);
    let (mut jobs, mut disks, mut hosts) = (Vec::new(), Vec::new(), Vec::new());
    for (summary, frame) in parts {
        jobs.extend(summary.jobs.iter().map(|job| job_object(job, summary, frame)));
        disks.extend(summary.disks.iter().map(|disk| {
            let mut object = disk_object(disk);
            if parts.len() == 1 {
                host(&mut object, frame);
            }
            object
        }));
        let own = own_object(summary, &Frame { findings: &[], demands: &[], ..*frame });
        if !own.is_empty() {
            hosts.push(json_object! { "hostname": frame.host.map_or("", |(host, _)| host), "latency": own });
        }
    }
    if let (Some(sum), Some((summary, frame))) = (sum, parts.last()) {
        jobs.push(job_object(sum, summary, frame));
    }
    root.push("client_stats", jobs).push("disk_util", disks);
    let mut own = judgements(first);
    own.push_unless_empty("hosts", hosts);
    root.push_unless_empty("iodyno", own);
    root.print(&STYLE) + "\n"
}

/// Whom an object of several hosts tells of.
fn host(object: &mut JsonTree, frame: &Frame<'_>) {
    if let Some((host, port)) = frame.host {
        object.append(json_object! { "hostname": host, "port": port.unwrap_or(0) });
    }
}

/// Options without a value are not repeated, as in fio.
fn options(options: &[(String, String)]) -> JsonTree {
    JsonTree::fields(options.iter().filter(|(_, value)| !value.is_empty()).map(|(name, value)| (name, value)))
}

fn job_object(job: &ReportedJob<'_>, summary: &Summary<'_>, frame: &Frame<'_>) -> JsonTree {
    let view = job.view;
    let began_ms = job.began_unix_ns / 1_000_000;
    let mut object = json_object! {
        "jobname": &view.name, "groupid": view.group,
    };
    // A server does not tell when a job began.
    if frame.host.is_none_or(|host| host.1.is_none()) {
        object.push("job_start", began_ms);
    }
    object.push("error", job.errno());
    if frame.host.is_none() {
        object.append(json_object! { "eta": frame.eta_s, "elapsed": frame.elapsed_s });
    }
    if !view.options.is_empty() {
        object.push("job options", options(&view.options));
    }
    let group = summary.groups.get(view.group as usize);
    let whole = |index: usize| group.map(|group| group.directions[index].aggregate());
    let direction = |direction: &Direction, whole| direction_object(direction, job, whole, frame.plus);
    if job.is_mixed() {
        object.push("mixed", direction(&job.directions[0], whole(0)));
    } else {
        for (index, name) in DIRECTIONS.into_iter().enumerate() {
            object.push(name, direction(&job.directions[index], whole(index)));
        }
        object.push("sync", sync_object(job, frame.plus));
    }
    if let Some(all) = &job.all {
        object.push("mixed", direction(all, None));
    }
    object.append(usage(job)).append(steps(job));
    if view.counts_errors {
        object.append(json_object! { "total_err": job.errors.0, "first_error": job.errors.1 });
    }
    if !job.is_sum() {
        // A dry run looks for no depth.
        if !job.view.counts_unwritten {
            object.append(target(job));
        }
    }
    if !view.description.is_empty() {
        object.push("desc", &view.description);
    }
    if let Some(asked) = (frame.steady)(job) {
        object.push("steadystate", steady_object(&job.steady.clone().unwrap_or_default(), &asked));
    }
    host(&mut object, frame);
    object
}

const DIRECTIONS: [&str; 3] = ["read", "write", "trim"];

fn direction_object(
    direction: &Direction,
    job: &ReportedJob<'_>,
    whole: Option<u64>,
    plus: bool,
) -> JsonTree {
    let figures = &job.view.figures;
    let rate = direction.bytes_per_second();
    let [submission, completion, latency] = direction.spreads();
    let figure = |spread: LatencySpread, histogram: &Histogram, wanted: bool| {
        latency_object(spread, histogram, if wanted { &figures.percentiles } else { &[] }, plus)
    };
    let (samples, rates) = (&direction.bandwidth, &direction.rate);
    let share = if samples.count == 0 { 0.0 } else { share_of_group(samples.mean, whole) };
    let mut object = json_object! {
        "io_bytes": direction.bytes, "io_kbytes": direction.bytes >> 10,
        "bw_bytes": rate, "bw": rate >> 10, "iops": direction.operations_per_second(),
        "runtime": direction.runtime_ms,
        "total_ios": direction.issued, "short_ios": direction.short, "drop_ios": 0,
        "slat_ns": figure(submission, &direction.submission, figures.submission_percentiles),
        "clat_ns": figure(completion, &direction.completion, figures.completion_percentiles),
        "lat_ns": figure(latency, &direction.latency, figures.latency_percentiles),
    };
    let (name, wanted) = match figures.latency_percentiles {
        true => ("lat_ns", true),
        false => ("clat_ns", figures.completion_percentiles),
    };
    let priority = |([class, level, hint], histogram): &(Priority, Histogram)| {
        let mut own = json_object! { "prioclass": *class, "prio": *level, "priohint": *hint };
        own.push(name, figure(LatencySpread::of(histogram), histogram, wanted));
        own
    };
    object.push_unless_empty("prios", direction.by_priority().iter().map(priority).collect::<JsonTree>());
    object.append(json_object! {
        "bw_min": samples.min, "bw_max": samples.max, "bw_agg": share,
        "bw_mean": samples.mean, "bw_dev": samples.deviation(), "bw_samples": samples.count,
        "iops_min": rates.min, "iops_max": rates.max,
        "iops_mean": rates.mean, "iops_stddev": rates.deviation(), "iops_samples": rates.count,
    });
    object
}

fn latency_object(spread: LatencySpread, histogram: &Histogram, percentiles: &[f64], plus: bool) -> JsonTree {
    let LatencySpread { count, min, max, mean, deviation } = spread;
    let mut object = json_object! { "min": min, "max": max, "mean": mean, "stddev": deviation, "N": count };
    if count == 0 || percentiles.is_empty() {
        return object;
    }
    let bins = Bins::from(histogram);
    let values = percentiles.iter().zip(bins.percentiles(percentiles));
    object.push(
        "percentile",
        JsonTree::fields(values.map(|(percent, value)| (format!("{percent:.6}"), value))),
    );
    if plus {
        object.push("bins", bins_object(&bins.capped()));
    }
    object
}

fn bins_object(bins: &[(u64, u64)]) -> JsonTree {
    JsonTree::fields(bins.iter().map(|(value, count)| (value.to_string(), *count)))
}

fn sync_object(job: &ReportedJob<'_>, plus: bool) -> JsonTree {
    let figures = &job.view.figures;
    let wanted = figures.completion_percentiles || figures.latency_percentiles;
    let percentiles = if wanted { figures.percentiles.as_slice() } else { &[] };
    json_object! { "total_ios": job.syncs.0, "lat_ns": latency_object(LatencySpread::of(&job.syncs.1), &job.syncs.1, percentiles, plus) }
}

fn usage(job: &ReportedJob<'_>) -> JsonTree {
    let (user, system) = job.cpu_percent();
    let levels = job.spectrum.levels();
    let [depths, submits, completes] =
        levels.map(|(names, shares)| JsonTree::fields(names.into_iter().zip(shares)));
    json_object! {
        "job_runtime": job.times_ns[0] / 1_000_000, "usr_cpu": user, "sys_cpu": system,
        "ctx": job.switches, "majf": job.faults.0, "minf": job.faults.1,
        "iodepth_level": depths, "iodepth_submit": submits, "iodepth_complete": completes,
    }
}

fn steps(job: &ReportedJob<'_>) -> JsonTree {
    let [ns, us, ms] = job.spectrum.steps().map(JsonTree::fields);
    json_object! { "latency_ns": ns, "latency_us": us, "latency_ms": ms }
}

fn target(job: &ReportedJob<'_>) -> JsonTree {
    let (target_ns, window_ns, percent) = job.view.latency_target;
    let percent = if target_ns == 0 && percent == 0.0 { 100.0 } else { percent };
    json_object! {
        "latency_depth": job.depth, "latency_target": target_ns, "latency_target_ns": target_ns,
        "latency_percentile": percent, "latency_window": window_ns / 1000, "latency_window_us": window_ns / 1000,
    }
}

fn steady_object(found: &SteadyRecord, asked: &Steady) -> JsonTree {
    let criterion = match asked.criterion {
        Criterion::Operations => "iops",
        Criterion::Bytes => "bw",
        Criterion::Latency => "lat",
    };
    let (slope, percent) = (if asked.slope { "_slope" } else { "" }, if asked.percent { "%" } else { "" });
    let mean = |values: &[f64]| steady_mean(values, asked) as u64;
    // Intervals that did not come, as while it ramps, are 0.
    let list = |values: &[f64]| {
        let missing = steady_intervals(asked).saturating_sub(values.len());
        let all = values.iter().copied().chain(std::iter::repeat_n(0.0, missing));
        all.map(|value| JsonTree::Whole(value as i128)).collect::<JsonTree>()
    };
    let is_latency = asked.criterion == Criterion::Latency;
    let mut data = json_object! { "bw_mean": mean(&found.bytes), "iops_mean": mean(&found.operations) };
    data.extend(is_latency.then(|| ("lat_mean", mean(&found.latency_ns))));
    data.append(json_object! { "iops": list(&found.operations), "bw": list(&found.bytes) });
    data.extend(is_latency.then(|| ("lat", list(&found.latency_ns))));
    json_object! {
        "ss": format!("{criterion}{slope}:{:.6}{percent}", asked.limit),
        "duration": asked.window_ns / 1_000_000_000,
        "attained": u64::from(found.attained),
        "criterion": format!("{:.6}{percent}", found.found.unwrap_or(0.0)),
        "max_deviation": found.deviation, "slope": found.slope,
        "data": data,
    }
}

fn disk_object(disk: &Disk) -> JsonTree {
    let mut object = json_object! {
        "name": &disk.name,
        "read_ios": disk.requests.0, "write_ios": disk.requests.1,
        "read_sectors": disk.sectors.0, "write_sectors": disk.sectors.1,
        "read_merges": disk.merges.0, "write_merges": disk.merges.1,
        "read_ticks": disk.ticks.0, "write_ticks": disk.ticks.1,
        "in_queue": disk.in_queue, "util": disk.util,
    };
    if let Some(mean) = &disk.mean {
        object.append(json_object! {
            "aggr_read_ios": mean.requests.0, "aggr_write_ios": mean.requests.1,
            "aggr_read_sectors": mean.sectors.0, "aggr_write_sectors": mean.sectors.1,
            "aggr_read_merges": mean.merges.0, "aggr_write_merge": mean.merges.1,
            "aggr_read_ticks": mean.ticks.0, "aggr_write_ticks": mean.ticks.1,
            "aggr_in_queue": mean.in_queue, "aggr_util": mean.util,
        });
    }
    object
}

/// Findings and demands, which fio does not have.
fn judgements(frame: &Frame<'_>) -> JsonTree {
    let mut object = JsonTree::object([]);
    object.push_unless_empty("findings", frame.findings.iter().map(finding).collect::<JsonTree>());
    object.push_unless_empty("demands", frame.demands.iter().map(demand).collect::<JsonTree>());
    object
}

/// What fio does not say: findings, latency from the intended start, and bins beyond fio's last.
fn own_object(summary: &Summary<'_>, frame: &Frame<'_>) -> JsonTree {
    let job = |job: &ReportedJob<'_>| {
        let mut own = JsonTree::object([]);
        let names = if job.is_mixed() { ["mixed", "", ""] } else { DIRECTIONS };
        for (direction, name) in job.directions.iter().zip(names) {
            own.push_unless_empty(name, more(direction, job, frame.plus));
        }
        let named =
            json_object! { "jobname": &job.view.name, "groupid": job.view.group, "latency": own.clone() };
        (!own.is_empty()).then_some(named)
    };
    let mut object = judgements(frame);
    object.push_unless_empty("jobs", summary.jobs.iter().filter_map(job).collect::<JsonTree>());
    object
}

fn more(direction: &Direction, job: &ReportedJob<'_>, plus: bool) -> JsonTree {
    let mut object = JsonTree::object([]);
    if let Some(intended) = &direction.intended {
        let mut latency =
            latency_object(LatencySpread::of(intended), intended, &job.view.figures.percentiles, false);
        if plus {
            latency.push("bins", bins_object(&Bins::from(intended).all()));
        }
        object.push("lat_intended_ns", latency);
    }
    let bins = Bins::from(&direction.completion);
    if plus && bins.beyond_fio() {
        object.push("clat_ns_bins", bins_object(&bins.all()));
    }
    object
}

fn demand(demand: &DemandRecord) -> JsonTree {
    let mut object = json_object! { "text": &demand.text, "place": &demand.place };
    object.extend(demand.found.map(|found| ("found", found)));
    object.append(json_object! { "unit": &demand.unit, "failed": i64::from(demand.failed) });
    object
}

fn finding(finding: &Finding) -> JsonTree {
    let severity = format!("{:?}", finding.severity).to_lowercase();
    let mut object = json_object! { "code": finding.code, "severity": severity, "phase": &finding.phase };
    object.extend(finding.job.as_ref().map(|job| ("job", job)));
    let figures = finding.figures.iter().map(|figure| {
        json_object! { "name": &figure.name, "value": figure.value, "unit": &figure.unit }
    });
    let figures: JsonTree = figures.collect();
    object.append(json_object! {
        "sentence": &finding.sentence, "figures": figures, "advice": &finding.advice,
    });
    object.extend(finding.explained_by.map(|cause| ("explained_by", cause)));
    object
}
