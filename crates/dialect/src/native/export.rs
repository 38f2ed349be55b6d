//! Where the figures of a native run go besides its report.

use crate::ReportFile;

/// What is written or shown while it runs and at its end.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct ExportArguments {
    /// Write the record as JSON to this file
    #[arg(long, value_name = "FILE")]
    pub json: Option<String>,
    /// Write the results as CSV to this file; FOLDER/ gets a file for each table
    #[arg(long, value_name = "FILE")]
    pub csv: Option<String>,
    /// Write an HTML page with charts
    #[arg(long, value_name = "FILE")]
    pub html: Option<String>,
    /// Serve the HTML page during the run at 127.0.0.1:PORT, or for other hosts at ADDRESS:PORT?key=WORD
    #[arg(long, value_name = "ADDRESS")]
    pub live_web: Option<String>,
    /// Write every table to a spreadsheet
    #[arg(long, value_name = "FILE")]
    pub xlsx: Option<String>,
    /// Write the latencies as an HdrHistogram log
    #[arg(long, value_name = "FILE")]
    pub hdr: Option<String>,
    /// Write the results in InfluxDB's line protocol
    #[arg(long, value_name = "FILE")]
    pub influx: Option<String>,
    /// Write OpenMetrics for Prometheus to this file during the run, or serve them at 127.0.0.1:PORT
    #[arg(long, value_name = "FILE")]
    pub metrics: Option<String>,
    /// Show the run full-screen
    #[arg(long)]
    pub live: bool,
}

impl ExportArguments {
    /// The same as files that a run writes to.
    pub fn files(self) -> Vec<ReportFile> {
        let all = [
            ("json", self.json),
            ("csv", self.csv),
            ("html", self.html),
            ("live-web", self.live_web),
            ("xlsx", self.xlsx),
            ("hdr", self.hdr),
            ("influx", self.influx),
            ("metrics", self.metrics),
            ("live", self.live.then(|| "-".into())),
        ];
        let file =
            |(format, path): (&str, Option<String>)| Some(ReportFile { path: path?, format: format.into() });
        all.into_iter().filter_map(file).collect()
    }
}
