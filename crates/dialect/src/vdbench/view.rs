//! What the report must know of a run that the plan does not say.

/// Everything of a command that is reported.
#[derive(Clone, Debug, Default)]
pub struct ReportContext {
    /// The folder of the results.
    pub folder: String,
    /// One for each phase of the plan.
    pub runs: Vec<RunView>,
    /// The words of the command line.
    pub words: Vec<String>,
    /// The parameter files as they were read.
    pub lines: Vec<String>,
    /// How far local time is from Greenwich, s.
    pub east_s: i64,
    /// Bytes of a megabyte.
    pub megabyte: f64,
    /// Upper ends of the histogram's buckets, µs; the last bucket has none.
    pub buckets: Vec<u64>,
    /// Whether it is about trees of files.
    pub of_files: bool,
    /// Further columns of the table of files: what is done besides the usual.
    pub columns: Vec<&'static str>,
}

/// A run as it is reported.
#[derive(Clone, Debug, Default)]
pub struct RunView {
    pub title: String,
    pub times: super::settings::RunTimes,
    pub rate: super::runs::RequestedRate,
    /// The phase whose figures a percentage is of.
    pub base: usize,
    pub loops: String,
    /// Whether files are made for other runs, until that is done.
    pub is_format: bool,
    /// Operations that count as requested, of files.
    pub requested: Vec<&'static str>,
    pub columns: FlatColumns,
}

/// What all workloads of a run have in common; none: they differ.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FlatColumns {
    pub xfersize: Option<f64>,
    pub threads: Option<f64>,
    pub rdpct: Option<f64>,
    pub rhpct: Option<f64>,
    pub whpct: Option<f64>,
    pub seekpct: Option<f64>,
    /// All storage together, GiB.
    pub lunsize: Option<f64>,
    pub compratio: Option<f64>,
    pub dedupratio: Option<f64>,
}

impl FlatColumns {
    /// What both have in common.
    pub fn common(self, other: FlatColumns) -> FlatColumns {
        let same = |a: Option<f64>, b: Option<f64>| if a == b { a } else { None };
        FlatColumns {
            xfersize: same(self.xfersize, other.xfersize),
            threads: same(self.threads, other.threads),
            rdpct: same(self.rdpct, other.rdpct),
            rhpct: same(self.rhpct, other.rhpct),
            whpct: same(self.whpct, other.whpct),
            seekpct: same(self.seekpct, other.seekpct),
            ..self
        }
    }
}
