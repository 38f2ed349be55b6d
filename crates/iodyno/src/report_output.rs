//! Where a command's [`ExperimentReport`] goes: text or JSON on standard output, a page and a spreadsheet in new files.

use std::fs::File;
use std::io::Write;

use clap::Args;
use iodyno_model::{Diagnostic, Origin, RunStart};
use iodyno_report::experiment_report::ExperimentReport;

use crate::loader::plain;
use crate::runs::{ended, one, paint, print};
use crate::session::say;
use crate::sink::unwritable;

#[derive(Args, Clone, Debug, Default)]
pub struct ReportArguments {
    /// As JSON
    #[arg(long)]
    pub json: bool,
    /// Write an HTML page with charts to this file
    #[arg(long, value_name = "FILE")]
    pub html: Option<String>,
    /// Write every table to this spreadsheet
    #[arg(long, value_name = "FILE")]
    pub xlsx: Option<String>,
}

/// The files, which are there before anything is measured and go again where nothing came of it.
pub struct ReportOutput {
    json: bool,
    html: Option<(String, File)>,
    xlsx: Option<(String, File)>,
    is_written: bool,
}

impl ReportOutput {
    /// The files of a command that is right; what a wrong one asks for is not made.
    ///
    /// # Errors
    /// The exit status: what is wrong with the command or with the files was printed.
    pub fn of<T>(
        lowered: Result<T, Vec<Diagnostic>>,
        words: &ReportArguments,
    ) -> Result<(T, ReportOutput), u8> {
        let opened = lowered.and_then(|run| Ok((run, ReportOutput::open(words).map_err(one)?)));
        opened.map_err(|wrong| ended(Err(wrong)))
    }

    /// # Errors
    /// A file exists or cannot be made; spreadsheets of a program that was built without them.
    pub fn open(words: &ReportArguments) -> Result<ReportOutput, Diagnostic> {
        if let Some(path) = words.xlsx.as_ref().filter(|_| cfg!(not(feature = "xlsx"))) {
            return Err(Diagnostic::error(
                &Origin::argument(path),
                "this program was built without spreadsheets",
            )
            .hint("build it with the feature xlsx, or leave --xlsx out"));
        }
        let mut files = ReportOutput { json: words.json, html: None, xlsx: None, is_written: false };
        files.html = words.html.as_deref().map(made).transpose()?;
        files.xlsx = words.xlsx.as_deref().map(made).transpose()?;
        Ok(files)
    }

    /// Reports the points of an experiment, with the start of the first of their runs; the exit status.
    pub fn write_points<P>(
        self,
        points: Result<Vec<P>, u8>,
        started: Option<RunStart>,
        report: impl FnOnce(RunStart, Vec<P>) -> ExperimentReport,
    ) -> u8 {
        match (points, started) {
            (Ok(points), Some(started)) => self.write(&report(started, points)),
            (Err(status), _) => status,
            (Ok(_), None) => 2,
        }
    }

    /// Writes and prints everything; the exit status.
    pub fn write(mut self, report: &ExperimentReport) -> u8 {
        let html = self.html.take().map(|file| (file, Ok(report.html().into_bytes())));
        let xlsx = self.xlsx.take().map(|file| (file, spreadsheet(report)));
        for ((path, mut file), bytes) in html.into_iter().chain(xlsx) {
            let written =
                bytes.and_then(|bytes: Vec<u8>| file.write_all(&bytes).map_err(|error| plain(&error)));
            if let Err(why) = written {
                let _ = std::fs::remove_file(&path);
                say(Diagnostic::error(&Origin::argument(&path), why).hint("make room where it goes"));
                return 1;
            }
        }
        self.is_written = true;
        match self.json {
            true => print(&format!("{:#}\n", report.json())),
            false => print(&report.text(paint())),
        }
    }
}

impl Drop for ReportOutput {
    fn drop(&mut self) {
        if !self.is_written {
            let paths = self.html.iter().chain(&self.xlsx).map(|(path, _)| path);
            paths.for_each(|path| drop(std::fs::remove_file(path)));
        }
    }
}

fn made(path: &str) -> Result<(String, File), Diagnostic> {
    let file = File::options().write(true).create_new(true).open(path);
    file.map(|file| (path.to_string(), file)).map_err(|error| unwritable(path, &error))
}

#[cfg(feature = "xlsx")]
fn spreadsheet(report: &ExperimentReport) -> Result<Vec<u8>, String> {
    iodyno_report::xlsx::of_experiment(report)
}

#[cfg(not(feature = "xlsx"))]
fn spreadsheet(_report: &ExperimentReport) -> Result<Vec<u8>, String> {
    Err("this program was built without spreadsheets".into())
}
