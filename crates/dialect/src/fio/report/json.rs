//! The JSON report: fio 3.33's keys with those that 3.42 added, and one key of ours, `iodyno`.
//!
//! What fio does not say stays under `iodyno`, and is left out where there is nothing to say.

use iodyno_model::pace::{Criterion, Steady};
use iodyno_model::{DemandRecord, Finding, Histogram, SteadyRecord};

use super::bins::Bins;
use super::direction::{Direction, Spread};
use super::disks::Disk;
use super::normal::{Moment, share_of_group};
use super::spectrum::{STEPS, shares};
use super::summary::{Reported, Summary};
use super::tree::{Object, Tree};
use crate::date::ctime;
use crate::fio::view::View;

/// What the document says beside the summary.
pub struct Frame<'a> {
    /// The run as it was asked for.
    pub view: &'a View,
    /// With the bins of every latency.
    pub plus: bool,
    /// The time of the report.
    pub now: &'a Moment,
    /// Seconds since the program began, rounded up.
    pub elapsed_s: u64,
    /// Seconds left.
    pub eta_s: i64,
    /// What spoils a number.
    pub findings: &'a [Finding],
    /// What was demanded of the run.
    pub demands: &'a [DemandRecord],
    /// What was asked where a job looks for steadiness.
    pub steady: &'a dyn Fn(&Reported<'_>) -> Option<Steady>,
    /// The host that it tells of, where several ran.
    pub host: Option<&'a str>,
}

/// Writes the document.
pub fn write(summary: &Summary<'_>, frame: &Frame<'_>) -> String {
    let mut root = head(frame);
    let jobs = summary.jobs.iter().map(|job| job_object(job, summary, frame).into());
    root.tree("jobs", Tree::Array(jobs.collect()));
    if !summary.disks.is_empty() {
        root.tree(
            "disk_util",
            Tree::Array(summary.disks.iter().map(|disk| disk_object(disk).into()).collect()),
        );
    }
    let ours = ours(summary, frame);
    if !ours.is_empty() {
        root.object("iodyno", ours);
    }
    Tree::from(root).document()
}

/// The document's first lines.
fn head(frame: &Frame<'_>) -> Object {
    let mut root = Object::default();
    root.text("fio version", &frame.view.style.version)
        .whole("timestamp", frame.now.unix_ns / 1_000_000_000)
        .whole("timestamp_ms", frame.now.unix_ns / 1_000_000)
        .text("time", &ctime(frame.now.unix_ns, frame.now.east_s));
    if !frame.view.global.is_empty() {
        root.object("global options", options(&frame.view.global));
    }
    root
}

/// Writes the document of several hosts: the jobs of each, and their sum.
pub fn write_clients(parts: &[(&Summary<'_>, Frame<'_>)], sum: Option<&Reported<'_>>) -> String {
    let [(_, first), ..] = parts else { return String::new() };
    let mut root = head(first);
    let (mut jobs, mut disks, mut hosts) = (Vec::new(), Vec::new(), Vec::new());
    for (summary, frame) in parts {
        jobs.extend(summary.jobs.iter().map(|job| Tree::from(job_object(job, summary, frame))));
        disks.extend(summary.disks.iter().map(|disk| {
            let mut object = disk_object(disk);
            if parts.len() == 1 {
                host(&mut object, frame);
            }
            Tree::from(object)
        }));
        let ours = ours(summary, &Frame { findings: &[], demands: &[], ..*frame });
        if !ours.is_empty() {
            let mut object = Object::default();
            object.text("hostname", frame.host.unwrap_or("")).object("latency", ours);
            hosts.push(Tree::from(object));
        }
    }
    if let (Some(sum), Some((summary, frame))) = (sum, parts.last()) {
        jobs.push(job_object(sum, summary, frame).into());
    }
    root.tree("client_stats", Tree::Array(jobs)).tree("disk_util", Tree::Array(disks));
    let mut ours = Object::default();
    if !first.findings.is_empty() {
        ours.tree("findings", findings(first.findings));
    }
    if !first.demands.is_empty() {
        ours.tree("demands", Tree::Array(first.demands.iter().map(|one| demand(one).into()).collect()));
    }
    if !hosts.is_empty() {
        ours.tree("hosts", Tree::Array(hosts));
    }
    if !ours.is_empty() {
        root.object("iodyno", ours);
    }
    Tree::from(root).document()
}

/// Whom an object of several hosts tells of. No port is used: nothing of ours listens.
fn host(object: &mut Object, frame: &Frame<'_>) {
    if let Some(host) = frame.host {
        object.text("hostname", host).whole("port", 0);
    }
}

fn findings(findings: &[Finding]) -> Tree {
    Tree::Array(findings.iter().map(|one| finding(one).into()).collect())
}

fn options(options: &[(String, String)]) -> Object {
    let mut object = Object::default();
    // Options without a value are not repeated, as in fio.
    options.iter().filter(|(_, value)| !value.is_empty()).for_each(|(name, value)| {
        object.text(name, value);
    });
    object
}

fn job_object(job: &Reported<'_>, summary: &Summary<'_>, frame: &Frame<'_>) -> Object {
    let view = job.view;
    let mut object = Object::default();
    object
        .text("jobname", &view.name)
        .whole("groupid", view.group)
        .whole("job_start", job.began_unix_ns / 1_000_000)
        .whole("error", job.errno());
    if frame.host.is_none() {
        object.whole("eta", frame.eta_s).whole("elapsed", frame.elapsed_s);
    }
    if !view.options.is_empty() {
        object.object("job options", options(&view.options));
    }
    let group = summary.groups.get(view.group as usize);
    let whole = |index: usize| group.map(|group| group.directions[index].aggregate());
    let direction = |direction: &Direction, whole| direction_object(direction, job, whole, frame.plus);
    match job.is_mixed() {
        true => {
            object.object("mixed", direction(&job.directions[0], whole(0)));
        }
        false => {
            for (index, name) in ["read", "write", "trim"].into_iter().enumerate() {
                object.object(name, direction(&job.directions[index], whole(index)));
            }
            object.object("sync", sync_object(job, frame.plus));
        }
    }
    if let Some(all) = &job.all {
        object.object("mixed", direction(all, None));
    }
    usage(job, &mut object);
    steps(job, &mut object);
    if view.counts_errors {
        object.whole("total_err", job.errors.0).whole("first_error", job.errors.1);
    }
    if !job.is_sum() {
        target(job, &mut object);
    }
    if !view.description.is_empty() {
        object.text("desc", &view.description);
    }
    if let Some(asked) = (frame.steady)(job) {
        let found = job.steady.clone().unwrap_or_default();
        object.object("steadystate", steady_object(&found, &asked));
    }
    host(&mut object, frame);
    object
}

fn direction_object(direction: &Direction, job: &Reported<'_>, whole: Option<u64>, plus: bool) -> Object {
    let figures = &job.view.figures;
    let rate = direction.bytes_per_second();
    let mut object = Object::default();
    object
        .whole("io_bytes", direction.bytes)
        .whole("io_kbytes", direction.bytes >> 10)
        .whole("bw_bytes", rate)
        .whole("bw", rate >> 10)
        .decimal("iops", direction.operations_per_second())
        .whole("runtime", direction.runtime_ms)
        .whole("total_ios", direction.issued)
        .whole("short_ios", direction.short)
        .whole("drop_ios", 0);
    let latency = |histogram: &Histogram, wanted: bool| {
        latency_object(histogram, if wanted { &figures.percentiles } else { &[] }, plus)
    };
    object
        .object("slat_ns", latency(&direction.submission, figures.submission_percentiles))
        .object("clat_ns", latency(&direction.completion, figures.completion_percentiles))
        .object("lat_ns", latency(&direction.latency, figures.latency_percentiles));
    let samples = &direction.bandwidth;
    let share = if samples.count == 0 { 0.0 } else { share_of_group(samples.mean, whole) };
    object
        .whole("bw_min", samples.min)
        .whole("bw_max", samples.max)
        .decimal("bw_agg", share)
        .decimal("bw_mean", samples.mean)
        .decimal("bw_dev", samples.deviation())
        .whole("bw_samples", samples.count);
    let rates = &direction.rate;
    object
        .whole("iops_min", rates.min)
        .whole("iops_max", rates.max)
        .decimal("iops_mean", rates.mean)
        .decimal("iops_stddev", rates.deviation())
        .whole("iops_samples", rates.count);
    object
}

fn latency_object(histogram: &Histogram, percentiles: &[f64], plus: bool) -> Object {
    let spread = Spread::of(histogram);
    let mut object = Object::default();
    object
        .whole("min", spread.min)
        .whole("max", spread.max)
        .decimal("mean", spread.mean)
        .decimal("stddev", spread.deviation)
        .whole("N", spread.count);
    if spread.count == 0 || percentiles.is_empty() {
        return object;
    }
    let bins = Bins::from(histogram);
    let mut values = Object::default();
    for (percent, value) in percentiles.iter().zip(bins.percentiles(percentiles)) {
        values.whole(&format!("{percent:.6}"), value);
    }
    object.object("percentile", values);
    if plus {
        object.object("bins", bins_object(&bins.capped()));
    }
    object
}

fn bins_object(bins: &[(u64, u64)]) -> Object {
    let mut object = Object::default();
    bins.iter().for_each(|(value, count)| {
        object.whole(&value.to_string(), *count);
    });
    object
}

fn sync_object(job: &Reported<'_>, plus: bool) -> Object {
    let figures = &job.view.figures;
    let wanted = figures.completion_percentiles || figures.latency_percentiles;
    let percentiles = if wanted { figures.percentiles.as_slice() } else { &[] };
    let mut object = Object::default();
    object.whole("total_ios", job.syncs.0).object("lat_ns", latency_object(&job.syncs.1, percentiles, plus));
    object
}

fn usage(job: &Reported<'_>, object: &mut Object) {
    let (user, system) = job.cpu_percent();
    object
        .whole("job_runtime", job.times_ns[0] / 1_000_000)
        .decimal("usr_cpu", user)
        .decimal("sys_cpu", system)
        .whole("ctx", job.switches)
        .whole("majf", job.faults.0)
        .whole("minf", job.faults.1);
    let depths = ["1", "2", "4", "8", "16", "32", ">=64"];
    let batches = ["0", "4", "8", "16", "32", "64", ">=64"];
    let spectrum = &job.spectrum;
    let all = |counts: [u64; 7], total| shares(counts, total, 0.1);
    object
        .object("iodepth_level", named(&depths, &all(spectrum.depths, spectrum.issued)))
        .object("iodepth_submit", named(&batches, &all(spectrum.submits, spectrum.submits.iter().sum())))
        .object(
            "iodepth_complete",
            named(&batches, &all(spectrum.completes, spectrum.completes.iter().sum())),
        );
}

fn named(names: &[&str], values: &[f64]) -> Object {
    let mut object = Object::default();
    names.iter().zip(values).for_each(|(name, value)| {
        object.decimal(name, *value);
    });
    object
}

fn steps(job: &Reported<'_>, object: &mut Object) {
    let spectrum = &job.spectrum;
    let names: Vec<String> = STEPS.iter().map(u64::to_string).chain([">=2000".into()]).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    object
        .object("latency_ns", named(&names, &shares(spectrum.ns, spectrum.issued, 0.01)))
        .object("latency_us", named(&names, &shares(spectrum.us, spectrum.issued, 0.01)))
        .object("latency_ms", named(&names, &shares(spectrum.ms, spectrum.issued, 0.01)));
}

fn target(job: &Reported<'_>, object: &mut Object) {
    let (target_ns, window_ns, percent) = job.view.latency_target;
    let percent = if target_ns == 0 && percent == 0.0 { 100.0 } else { percent };
    object
        .whole("latency_depth", job.depth)
        .whole("latency_target", target_ns)
        .decimal("latency_percentile", percent)
        .whole("latency_window", window_ns / 1000);
}

fn steady_object(found: &SteadyRecord, asked: &Steady) -> Object {
    let criterion = match asked.criterion {
        Criterion::Operations => "iops",
        Criterion::Bytes => "bw",
        Criterion::Latency => "lat",
    };
    let (slope, percent) = (if asked.slope { "_slope" } else { "" }, if asked.percent { "%" } else { "" });
    let mean = |values: &[f64]| (values.iter().sum::<f64>() / values.len().max(1) as f64) as u64;
    let list = |values: &[f64]| Tree::Array(values.iter().map(|value| Tree::Whole(*value as i128)).collect());
    let mut data = Object::default();
    data.whole("bw_mean", mean(&found.bytes)).whole("iops_mean", mean(&found.operations));
    if asked.criterion == Criterion::Latency {
        data.whole("lat_mean", mean(&found.latency_ns));
    }
    data.tree("iops", list(&found.operations)).tree("bw", list(&found.bytes));
    if asked.criterion == Criterion::Latency {
        data.tree("lat", list(&found.latency_ns));
    }
    let mut object = Object::default();
    object
        .text("ss", &format!("{criterion}{slope}:{:.6}{percent}", asked.limit))
        .whole("duration", asked.window_ns / 1_000_000_000)
        .whole("attained", u64::from(found.attained))
        .text("criterion", &format!("{:.6}{percent}", found.found.unwrap_or(0.0)))
        .decimal("max_deviation", found.deviation)
        .decimal("slope", found.slope)
        .object("data", data);
    object
}

fn disk_object(disk: &Disk) -> Object {
    let mut object = Object::default();
    object
        .text("name", &disk.name)
        .whole("read_ios", disk.requests.0)
        .whole("write_ios", disk.requests.1)
        .whole("read_sectors", disk.sectors.0)
        .whole("write_sectors", disk.sectors.1)
        .whole("read_merges", disk.merges.0)
        .whole("write_merges", disk.merges.1)
        .whole("read_ticks", disk.ticks.0)
        .whole("write_ticks", disk.ticks.1)
        .whole("in_queue", disk.in_queue)
        .decimal("util", disk.util);
    if let Some(mean) = &disk.mean {
        object
            .whole("aggr_read_ios", mean.requests.0)
            .whole("aggr_write_ios", mean.requests.1)
            .whole("aggr_read_sectors", mean.sectors.0)
            .whole("aggr_write_sectors", mean.sectors.1)
            .whole("aggr_read_merges", mean.merges.0)
            .whole("aggr_write_merge", mean.merges.1)
            .whole("aggr_read_ticks", mean.ticks.0)
            .whole("aggr_write_ticks", mean.ticks.1)
            .whole("aggr_in_queue", mean.in_queue)
            .decimal("aggr_util", mean.util);
    }
    object
}

/// What fio does not say: findings, latency from the intended start, and bins beyond fio's last.
fn ours(summary: &Summary<'_>, frame: &Frame<'_>) -> Object {
    let mut object = Object::default();
    if !frame.findings.is_empty() {
        object.tree("findings", findings(frame.findings));
    }
    if !frame.demands.is_empty() {
        object.tree("demands", Tree::Array(frame.demands.iter().map(|one| demand(one).into()).collect()));
    }
    let jobs: Vec<Tree> = summary
        .jobs
        .iter()
        .filter_map(|job| {
            let mut own = Object::default();
            let names = if job.is_mixed() { ["mixed", "", ""] } else { ["read", "write", "trim"] };
            for (direction, name) in job.directions.iter().zip(names) {
                let more = more(direction, job, frame.plus);
                if !more.is_empty() {
                    own.object(name, more);
                }
            }
            let mut named = Object::default();
            named.text("jobname", &job.view.name).whole("groupid", job.view.group);
            (!own.is_empty()).then(|| named.object("latency", own).clone().into())
        })
        .collect();
    if !jobs.is_empty() {
        object.tree("jobs", Tree::Array(jobs));
    }
    object
}

fn more(direction: &Direction, job: &Reported<'_>, plus: bool) -> Object {
    let mut object = Object::default();
    if let Some(intended) = &direction.intended {
        let mut latency = latency_object(intended, &job.view.figures.percentiles, false);
        if plus {
            latency.object("bins", bins_object(&Bins::from(intended).all()));
        }
        object.object("lat_intended_ns", latency);
    }
    let bins = Bins::from(&direction.completion);
    if plus && bins.beyond_fio() {
        object.object("clat_ns_bins", bins_object(&bins.all()));
    }
    object
}

fn demand(demand: &DemandRecord) -> Object {
    let mut object = Object::default();
    object.text("text", &demand.text).text("place", &demand.place);
    if let Some(found) = demand.found {
        object.decimal("found", found);
    }
    object.text("unit", &demand.unit).whole("failed", i128::from(demand.failed));
    object
}

fn finding(finding: &Finding) -> Object {
    let mut object = Object::default();
    let severity = format!("{:?}", finding.severity).to_lowercase();
    object.whole("code", finding.code).text("severity", &severity).text("phase", &finding.phase);
    if let Some(job) = &finding.job {
        object.text("job", job);
    }
    let figures = finding.figures.iter().map(|figure| {
        let mut one = Object::default();
        one.text("name", &figure.name).decimal("value", figure.value).text("unit", &figure.unit);
        Tree::from(one)
    });
    object
        .text("sentence", &finding.sentence)
        .tree("figures", Tree::Array(figures.collect()))
        .text("advice", &finding.advice);
    if let Some(cause) = finding.explained_by {
        object.whole("explained_by", cause);
    }
    object
}
