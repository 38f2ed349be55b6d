//! What fio's output format needs to know of a run that the plan does not say: how jobs were written, numbered and grouped,
//! which figures are wanted, and where they go.
//!
//! Lowering makes it; the reporters read it. It refuses to hold anything that decides what is run.

use iodyno_model::{Diagnostic, PerDirection};

use super::debug::DebugCategories;

/// A whole run, as its reporters see it.
#[derive(Clone, Debug, Default)]
pub struct ReportContext {
    /// Every job definition, in the order of the job file; jobs that `--section` left out are not here.
    pub jobs: Vec<JobView>,
    /// How the report is written.
    pub style: ReportStyle,
    /// `[global]`, as `name` and `value`, each option once (the last mention), in order.
    pub global: Vec<(String, String)>,
    /// What fio would say before the start: warnings on standard error, notes behind the banner.
    pub notes: Vec<Diagnostic>,
}

/// One job definition with its clones: one job of the plan.
#[derive(Clone, Debug, Default)]
pub struct JobView {
    /// The phase it is in, by index in the plan.
    pub phase: usize,
    /// Its index in that phase.
    pub job: usize,
    /// How it is called in reports (of the k-th clone too).
    pub name: String,
    /// `description=`.
    pub description: String,
    /// How many clones: workers of the plan's job, on all ranks.
    pub clones: u32,
    /// `groupid`: raised by `stonewall` with a new reporting group, and by `new_group`.
    pub group: u32,
    /// Clones and neighbours of one group are reported as one.
    pub group_reporting: bool,
    /// Its own options as `name` and `value`, in order, without those of `[global]`.
    pub options: Vec<(String, String)>,
    /// `rw=` as the banner shows it (`randrw`).
    pub direction: &'static str,
    /// Smallest and largest block of each direction, bytes, as the banner shows it.
    pub blocks: PerDirection<(u64, u64)>,
    /// The engine's name, as the user knows it.
    pub engine: String,
    /// `iodepth=`.
    pub depth: u32,
    /// Whether the clones are threads.
    pub threads: bool,
    /// Whether the engine hands over without waiting, so that submission latencies exist.
    pub asynchronous: bool,
    /// Which figures are wanted.
    pub figures: ReportFigures,
    /// The log files it writes.
    pub logs: Logs,
    /// Whether it verifies, so that its report has a verify part.
    pub verifies: bool,
    /// `verify=`, for `--debug=verify`.
    pub verify: String,
    /// Whether writes that are not done are counted (`verify_only`).
    pub counts_unwritten: bool,
    /// Class, level and hint of the I/O priority that its operations carry, unless they carry one of their own.
    pub priority: [u16; 3],
    /// `latency_target` and its companions, as the report repeats them: ns, ns, percent.
    pub latency_target: (u64, u64, f64),
    /// `continue_on_error`, `error_dump`, …: whether the report counts errors.
    pub counts_errors: bool,
    /// The latest it may end, ns after its start; none: unknown (for the ETA).
    pub runtime_ns: Option<u64>,
    /// The bytes each clone will move; none: unknown (for the ETA).
    pub bytes_planned: Option<u64>,
    /// The rates it keeps to, bytes and operations per second in each direction (for the ETA line); 0: none.
    pub rate: PerDirection<(u64, u64)>,
}

/// Which figures a job's report has.
#[derive(Clone, Debug, PartialEq)]
pub struct ReportFigures {
    /// The percentiles, ascending, in percent.
    pub percentiles: Vec<f64>,
    /// Percentiles of the completion latency.
    pub completion_percentiles: bool,
    /// Percentiles of the whole latency.
    pub latency_percentiles: bool,
    /// Percentiles of the submission latency.
    pub submission_percentiles: bool,
    /// Whether submission, completion and whole latency are shown at all (`disable_slat`, …).
    pub shown: (bool, bool, bool),
    /// Whether bandwidth samples are shown (`disable_bw_measurement`).
    pub bandwidth: bool,
    /// All directions as one: no, as one, or both ways.
    pub unified: UnifiedReporting,
    /// 1024 or 1000.
    pub kb_base: u32,
    /// 0 (by what is natural), 1 (bits) or 8 (bytes).
    pub unit_base: u32,
    /// Digits of rounded figures in the normal report.
    pub significant_figures: u32,
    /// `bwavgtime` and `iopsavgtime` in ms.
    pub average_ms: (u64, u64),
    /// Whether the disks' counters are reported.
    pub disk_util: bool,
    /// Whether this job's figures are reported at all (`stats=0`).
    pub stats: bool,
}

impl Default for ReportFigures {
    fn default() -> Self {
        ReportFigures {
            percentiles: vec![
                1.0, 5.0, 10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 80.0, 90.0, 95.0, 99.0, 99.5, 99.9,
                99.95, 99.99,
            ],
            completion_percentiles: true,
            latency_percentiles: false,
            submission_percentiles: false,
            shown: (true, true, true),
            bandwidth: true,
            unified: UnifiedReporting::default(),
            kb_base: 1024,
            unit_base: 0,
            significant_figures: 4,
            average_ms: (500, 500),
            disk_util: true,
            stats: true,
        }
    }
}

/// `unified_rw_reporting`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum UnifiedReporting {
    /// Each direction on its own.
    #[default]
    No,
    Mixed,
    Both,
}

/// Log files of a job. Prefixes are as fio makes them: what the option says, or the job's name.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Logs {
    /// `write_bw_log`.
    pub bandwidth: Option<String>,
    /// `write_lat_log`: `_lat`, `_slat` and `_clat`.
    pub latency: Option<String>,
    /// `write_iops_log`.
    pub iops: Option<String>,
    /// `write_hist_log`.
    pub histogram: Option<String>,
    /// `write_iolog`: the file, and whether times are written (version 3).
    pub iolog: Option<String>,
    /// `log_avg_msec`; 0: every operation.
    pub average_ms: u64,
    /// `log_hist_msec`.
    pub histogram_ms: u64,
    /// `log_hist_coarseness`, 0 to 6.
    pub coarseness: u32,
    /// `log_window_value` or `log_max_value`: the average, the largest, or both.
    pub window: LogWindow,
    /// `log_offset`: offsets in each line.
    pub offsets: bool,
    /// `log_prio`: priority in each line.
    pub priorities: bool,
    /// `log_issue_time`: when the operation was issued, in each line.
    pub issue_times: bool,
    /// Added to each time, ms: since 1970 (`log_unix_epoch`) or since the chosen clock's epoch; 0: since the start.
    pub epoch: Epoch,
    /// Whether the clone's number is in the file's name (`per_job_logs`).
    pub per_job: bool,
    /// `log_compression` with `log_store_compressed`: chunks are stored compressed.
    pub compressed: bool,
    /// The number of the first clone in file names, from 1.
    pub first_number: u32,
}

/// What a line of an averaged log says of its window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LogWindow {
    #[default]
    Average,
    /// The largest value.
    Most,
    /// Both, in two columns.
    Both,
}

/// From when log times count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Epoch {
    /// From the start of the run.
    #[default]
    Start,
    /// From 1970, in ms.
    Unix,
    /// From that clock's zero (`clock_gettime` id).
    Clock(i32),
}

/// How the idleness of processors is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IdleProfile {
    /// All together.
    System,
    /// Each as well.
    PerProcessor,
}

/// How the report is written.
#[derive(Clone, Debug, PartialEq)]
pub struct ReportStyle {
    /// The formats, in the order they are printed.
    pub formats: Vec<Format>,
    /// `--terse-version`: 2 to 5.
    pub terse_version: u32,
    /// `--status-interval`, ns; 0: only at the end.
    pub status_interval_ns: u64,
    /// The live line: `--eta`, when, and every so many ns.
    pub eta: Eta,
    /// `--eta-interval`: how often the live line is renewed, ns.
    pub eta_interval_ns: u64,
    /// `--eta-newline`, ns; 0: no.
    pub eta_newline_ns: u64,
    /// Whether the results go to a terminal.
    pub terminal: bool,
    /// Whether the results go to a file of their own (`--output`), so that progress may go to standard output.
    pub to_file: bool,
    /// `--bandwidth-log`: what all jobs move together goes to logs of its own.
    pub bandwidth_log: bool,
    /// `--idle-prof`: how the idleness of processors is told.
    pub idleness: Option<IdleProfile>,
    /// `--debug`.
    pub debug: DebugCategories,
    /// `fio-3.…`, as `--version` says.
    pub version: String,
    /// Seconds that local time is east of Greenwich, and the zone's abbreviation, for dates in the report.
    pub local: (i64, String),
}

impl Default for ReportStyle {
    fn default() -> Self {
        ReportStyle {
            formats: vec![Format::Normal],
            terse_version: 3,
            status_interval_ns: 0,
            eta: Eta::Auto,
            eta_interval_ns: 1_000_000_000,
            eta_newline_ns: 0,
            terminal: false,
            to_file: false,
            bandwidth_log: false,
            idleness: None,
            debug: DebugCategories::default(),
            version: super::VERSION.into(),
            local: (0, "UTC".into()),
        }
    }
}

/// A format of the report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// For people.
    Normal,
    /// Semicolons.
    Terse,
    Json,
    /// JSON with the bins of every latency.
    JsonPlus,
}

/// `--eta`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Eta {
    /// On a terminal.
    #[default]
    Auto,
    Always,
    Never,
}
