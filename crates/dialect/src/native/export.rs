//! Where the figures of a native run go besides its report.

use crate::ReportFile;

/// What is written or shown while it runs and at its end.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct ExportArguments {
    /// Write the record as JSON, too
    #[arg(long, value_name = "FILE")]
    pub json: Option<String>,
    /// Write the figures as CSV, too; into FOLDER/ every table, a file each
    #[arg(long, value_name = "FILE")]
    pub csv: Option<String>,
    /// Write a page that people can look at, with charts, too
    #[arg(long, value_name = "FILE")]
    pub html: Option<String>,
    /// Serve that page while it grows, at 127.0.0.1:PORT; others reach ADDRESS:PORT?key=WORD
    #[arg(long, value_name = "ADDRESS")]
    pub live_web: Option<String>,
    /// Write every table as a spreadsheet, too
    #[arg(long, value_name = "FILE")]
    pub xlsx: Option<String>,
    /// Write the latencies as an HdrHistogram log, too
    #[arg(long, value_name = "FILE")]
    pub hdr: Option<String>,
    /// Keep the figures so far in a file as OpenMetrics, for Prometheus; or serve them at 127.0.0.1:PORT
    #[arg(long, value_name = "FILE")]
    pub metrics: Option<String>,
    /// Show the run full-screen while it lasts
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
            ("metrics", self.metrics),
            ("live", self.live.then(|| "-".into())),
        ];
        let file =
            |(format, path): (&str, Option<String>)| Some(ReportFile { path: path?, format: format.into() });
        all.into_iter().filter_map(file).collect()
    }
}
