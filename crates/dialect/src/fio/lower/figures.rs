//! Which figures a job's report has, which log files it writes, and what must be written down for them.

use iodyno_model::{Journal, Measure};

use super::super::view::{Epoch, LogWindow, Logs, ReportFigures, UnifiedReporting};
use super::JobContext;
use super::option_reader::OptionReader;
use crate::option::refuse;

/// Engines under whose files fio looks for no disk, although they lie on one.
const NO_DISKS: &[&str] = &["filecreate", "dircreate", "dirstat", "dirdelete"];

/// Which figures are wanted.
pub fn figures(ask: &mut OptionReader<'_>) -> ReportFigures {
    let usual = ReportFigures::default();
    let reduced = ask.flag("gtod_reduce", false);
    let hidden = |name: &str| ask.flag(name, reduced);
    let (slat, clat, lat) = (!hidden("disable_slat"), !hidden("disable_clat"), !hidden("disable_lat"));
    let number = |name: &str, otherwise: u32| ask.count(name).unwrap_or(otherwise);
    ReportFigures {
        percentiles: percentiles(ask).unwrap_or(usual.percentiles),
        completion_percentiles: clat && ask.flag("clat_percentiles", true),
        latency_percentiles: lat && ask.flag("lat_percentiles", false),
        submission_percentiles: slat && ask.flag("slat_percentiles", false),
        shown: (slat, clat, lat),
        bandwidth: !hidden("disable_bw_measurement"),
        unified: match ask.word("unified_rw_reporting") {
            Some("mixed" | "1") => UnifiedReporting::Mixed,
            Some("both" | "2") => UnifiedReporting::Both,
            _ => UnifiedReporting::No,
        },
        kb_base: number("kb_base", usual.kb_base),
        unit_base: number("unit_base", usual.unit_base),
        significant_figures: number("significant_figures", usual.significant_figures),
        average_ms: (number("bwavgtime", 500).max(1).into(), number("iopsavgtime", 500).max(1).into()),
        disk_util: ask.flag("disk_util", true)
            && !NO_DISKS.contains(&ask.word("ioengine").unwrap_or_default()),
        stats: ask.flag("stats", true),
    }
}

/// `percentile_list`, in order.
fn percentiles(ask: &OptionReader<'_>) -> Option<Vec<f64>> {
    let mut list = ask.decimals("percentile_list")?.to_vec();
    list.sort_by(f64::total_cmp);
    list.dedup();
    Some(list)
}

/// Which log files are written; the first clone's number counts over all jobs.
pub fn logs(ask: &OptionReader<'_>, first_number: u32) -> Logs {
    let prefix = |name: &str| {
        let given = ask.given(name)?;
        match given.text.trim() {
            "" => Some(ask.job().to_string()),
            text => Some(text.to_string()),
        }
    };
    Logs {
        bandwidth: prefix("write_bw_log"),
        latency: prefix("write_lat_log"),
        iops: prefix("write_iops_log"),
        histogram: prefix("write_hist_log"),
        iolog: ask.text("write_iolog").filter(|_| !ask.has("read_iolog")).map(String::from),
        average_ms: ask.whole("log_avg_msec").unwrap_or(0).max(0) as u64,
        histogram_ms: ask.whole("log_hist_msec").unwrap_or(0).max(0) as u64,
        coarseness: ask.count("log_hist_coarseness").unwrap_or(0),
        window: match ask.text("log_window_value") {
            Some("max" | "1") => LogWindow::Most,
            Some("both") => LogWindow::Both,
            _ => LogWindow::Average,
        },
        offsets: ask.flag("log_offset", false),
        priorities: ask.flag("log_prio", false),
        issue_times: ask.flag("log_issue_time", false),
        epoch: epoch(ask),
        per_job: ask.flag("per_job_logs", true),
        compressed: ask.flag("log_store_compressed", false) && ask.has("log_compression"),
        first_number,
    }
}

fn epoch(ask: &OptionReader<'_>) -> Epoch {
    let clock = ask.whole("log_alternate_epoch_clock_id").unwrap_or(0) as i32;
    match () {
        () if ask.flag("log_alternate_epoch", false) && clock != 0 => Epoch::Clock(clock),
        () if ask.flag("log_alternate_epoch", false) => Epoch::Unix,
        () => Epoch::Start,
    }
}

const MS: u64 = 1_000_000;

/// What must be written down while the job runs.
pub fn measure(ask: &mut OptionReader<'_>, found: &JobContext, clones: u32) -> Measure {
    let (figures, logs) = (figures(ask), logs(ask, 1));
    refuse! { ask
        "log_issue_time" if logs.issue_times && logs.latency.is_some() && !logs.offsets =>
            "fio: log_issue_time option requires write_lat_log and log_offset options", "say log_offset=1 too";
    }
    let lines = logs.bandwidth.is_some() || logs.latency.is_some() || logs.iops.is_some();
    let histogram_ns = if logs.histogram.is_some() { logs.histogram_ms * MS } else { 0 };
    let journal = Journal {
        completions: lines && logs.average_ms == 0,
        starts: logs.iolog.is_some(),
        window_ns: if lines { logs.average_ms * MS } else { 0 },
        histogram_ns,
    };
    let (slat, clat, lat) = figures.shown;
    Measure {
        latency: slat || clat || lat || logs.latency.is_some(),
        submission: found.engine.asynchronous && (slat || clat),
        batches: true,
        health: false,
        sample_ns: 0,
        each: clones > 1 && (!ask.flag("group_reporting", false) || logs.per_job),
        row_ns: figures.average_ms.0.min(figures.average_ms.1) * MS,
        journal: (journal != Journal::default()).then_some(journal),
    }
}
