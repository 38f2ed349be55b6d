//! Options about log files.
//!
//! Refuses nothing; what only concerned fio's own memory is accepted without effect.

use super::{JobOption, MOST, flag, path, text, whole, word, words};

#[rustfmt::skip]
pub const OPTIONS: &[JobOption] = &[
    flag("per_job_logs", "one file for each job").or("1"),
    path("write_bw_log", "PREFIX", "bandwidth, to PREFIX_bw.N.log").maybe(),
    whole("bwavgtime", 0, MOST, "over how many ms bandwidth is averaged").or("500").below(1),
    path("write_lat_log", "PREFIX", "latencies, to PREFIX_lat, _slat and _clat").maybe(),
    path("write_iops_log", "PREFIX", "IOPS, to PREFIX_iops.N.log").maybe(),
    whole("iopsavgtime", 0, MOST, "over how many ms IOPS are averaged").or("500").below(1),
    whole("log_entries", 1024, 1_048_576, "entries a log begins with").or("1024").ignored("logs grow as they need to"),
    whole("log_avg_msec", 0, MOST, "one line every so many ms rather than one for each I/O").or("0"),
    whole("log_hist_msec", 0, MOST, "a histogram of latencies every so many ms").or("0"),
    whole("log_hist_coarseness", 0, 6, "how often pairs of bins are joined").or("0"),
    path("write_hist_log", "PREFIX", "histograms, to PREFIX_clat_hist.N.log").maybe(),
    word("log_window_value", words::WINDOWS, "what is logged of each interval").also(&["log_max_value"]).or("avg"),
    flag("log_offset", "the offset of each I/O"),
    flag("log_prio", "the priority of each I/O"),
    flag("log_issue_time", "when each I/O was sent"),
    whole("log_compression", 1024, 536_870_912, "compress in pieces of this size"),
    text("log_compression_cpus", "CPUS", "where compressing is done").below(1).ignored("it is done at the end"),
    flag("log_store_compressed", "leave logs compressed").or(""),
    flag("log_alternate_epoch", "times count from a clock's zero: 1970").also(&["log_unix_epoch"]).or(""),
    whole("log_alternate_epoch_clock_id", 0, MOST, "which clock: clock_gettime's number"),
];
