//! Files that results go to besides the report: written once at the end, or kept up to date while it runs.
//!
//! What the user already had is never overwritten; only metrics take the place of older metrics, as a collector that
//! reads the same file over and over wants it.

use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Read, Write};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use iodyno_dialect::ReportFile;
use iodyno_model::{Diagnostic, Event, Origin};
use iodyno_report::csv::{Csv, CsvFolder};
use iodyno_report::hdr::HdrLog;
use iodyno_report::html::Html;
use iodyno_report::influx::Influx;
use iodyno_report::issued_trace::IssuedTrace;
use iodyno_report::json::Json;
use iodyno_report::metrics::Metrics;
use iodyno_report::{NoFiles, Output, Reporter};

use crate::loader::plain;
use crate::metrics_endpoint::MetricsEndpoint;
use crate::output_files::OutputFiles;
use crate::progress::ProgressLines;

/// The format of files that the run's reporter writes itself.
pub const OWN: &str = "own";

/// The format of lines about a run while it lasts.
pub const PROGRESS: &str = "progress";
/// How metrics begin: what may be replaced.
const METRICS: &[u8] = b"# TYPE iodyno_";
/// Metrics are fresh, ns.
const FRESH_NS: u64 = 1_000_000_000;

/// Something that results go to, and who writes it.
pub struct Sink {
    /// Its path, or its address.
    pub path: String,
    place: Destination,
    /// Who writes it; none: the run's own reporter does.
    reporter: Option<Box<dyn Reporter>>,
    /// Whether it was made here, and not a device like `/dev/null`.
    pub made: bool,
    /// Why it could not be written.
    failure: Option<io::Error>,
}

enum Destination {
    /// A file that is written to.
    File(BufWriter<File>),
    /// A folder of files.
    Folder(OutputFiles),
    /// A file that is replaced as a whole.
    Whole(PathBuf),
    /// A page that is served.
    Served(MetricsEndpoint),
    /// Lines for whoever follows the run, each when it happens.
    Lines(Box<dyn Write>),
}

impl Sink {
    /// Opens what results are to go to.
    ///
    /// # Errors
    /// Why it cannot be had.
    pub fn open(file: &ReportFile) -> Result<Sink, Diagnostic> {
        let path = file.path.as_str();
        if path == "-" {
            let wrong =
                Diagnostic::error(&Origin::argument(path), "the report is on standard output already");
            return Err(wrong.hint("name a file; /dev/stdout, if both are to go there"));
        }
        match file.format.as_str() {
            OWN => plain_file(path, None),
            "json" => plain_file(path, Some(Box::new(Json::new()))),
            "html" => plain_file(path, Some(Box::new(Html::new()))),
            "record" => plain_file(path, Some(Box::new(IssuedTrace::new()))),
            "hdr" => plain_file(path, Some(Box::new(HdrLog::new()))),
            "influx" => plain_file(path, Some(Box::new(Influx::new()))),
            #[cfg(feature = "xlsx")]
            "xlsx" => plain_file(path, Some(Box::new(iodyno_report::xlsx::Xlsx::new()))),
            #[cfg(not(feature = "xlsx"))]
            "xlsx" => {
                Err(Diagnostic::error(&Origin::argument(path), "this program was built without spreadsheets")
                    .hint("csv=FOLDER/ has the same tables"))
            }
            "metrics" => metrics(path),
            PROGRESS => progress(path),
            _ if path.ends_with('/') => folder(path),
            _ => plain_file(path, Some(Box::new(Csv::new()))),
        }
    }

    /// How often it wants to hear how things are, ns; 0: never.
    pub fn live_ns(&self) -> u64 {
        match self.place {
            Destination::Whole(_) | Destination::Served(_) | Destination::Lines(_) => FRESH_NS,
            Destination::File(_) | Destination::Folder(_) => 0,
        }
    }

    /// Lets its reporter see an event, until it cannot be written: [`end`](Sink::end) says so.
    pub fn tell(&mut self, event: &Event) {
        if self.failure.is_none() {
            self.failure = self.written(event).err();
        }
    }

    fn written(&mut self, event: &Event) -> io::Result<()> {
        let Some(reporter) = &mut self.reporter else { return Ok(()) };
        let err = &mut io::sink();
        match &mut self.place {
            Destination::File(file) => {
                reporter.event(event, &mut Output { out: file, err, files: &mut NoFiles })
            }
            Destination::Lines(lines) => {
                reporter.event(event, &mut Output { out: lines, err, files: &mut NoFiles })
            }
            Destination::Folder(shelf) => {
                reporter.event(event, &mut Output { out: &mut io::sink(), err, files: shelf })
            }
            Destination::Whole(path) => {
                let mut text = Vec::new();
                reporter.event(event, &mut Output { out: &mut text, err, files: &mut NoFiles })?;
                if text.is_empty() { Ok(()) } else { replace(path, &text) }
            }
            Destination::Served(page) => {
                let mut text = Vec::new();
                reporter.event(event, &mut Output { out: &mut text, err, files: &mut NoFiles })?;
                if !text.is_empty() {
                    page.put(text);
                }
                Ok(())
            }
        }
    }

    /// Writes out what is left. A file of ours that is not whole by then is removed: who finds it would take it for the
    /// results.
    ///
    /// # Errors
    /// The first that could not be written, by name.
    pub fn end(mut self) -> Result<(), (String, io::Error)> {
        let mut failed = match &mut self.place {
            Destination::File(file) => {
                file.flush().err().map(|error| (self.path.clone(), error)).into_iter().collect()
            }
            Destination::Folder(files) => files.flush(),
            Destination::Whole(_) | Destination::Served(_) | Destination::Lines(_) => Vec::new(),
        };
        if let Some(error) = self.failure.take() {
            failed.push((self.path.clone(), error));
        }
        // Older metrics are whole, and stay.
        if self.made && !matches!(self.place, Destination::Whole(_)) {
            failed.iter().for_each(|(path, _)| drop(std::fs::remove_file(path)));
        }
        failed.into_iter().next().map_or(Ok(()), Err)
    }

    /// Whether the run's own reporter writes it.
    pub fn is_own(&self) -> bool {
        self.reporter.is_none()
    }

    /// The file alone, for who writes it himself.
    pub fn into_file(self) -> Option<BufWriter<File>> {
        match self.place {
            Destination::File(file) => Some(file),
            _ => None,
        }
    }

    /// Nothing was run: what was made here is taken away again.
    pub fn take_back(self) {
        match self.place {
            // A folder that holds something by now is not ours to take.
            Destination::Folder(_) if self.made => drop(std::fs::remove_dir(&self.path)),
            Destination::File(_) | Destination::Whole(_) | Destination::Lines(_) if self.made => {
                drop(std::fs::remove_file(&self.path))
            }
            _ => {}
        }
    }
}

fn plain_file(path: &str, reporter: Option<Box<dyn Reporter>>) -> Result<Sink, Diagnostic> {
    let made = !["/dev/stdout", "/dev/stderr", "/dev/null"].contains(&path);
    // What the user already had is never overwritten.
    match OpenOptions::new().write(true).create_new(made).open(path) {
        Ok(opened) => {
            let place = Destination::File(BufWriter::new(opened));
            Ok(Sink { path: path.into(), place, reporter, made, failure: None })
        }
        Err(error) => Err(unwritable(path, &error)),
    }
}

/// Lines to a new file, or to a stream of this program: under a launcher that is the only way to whoever asked.
fn progress(path: &str) -> Result<Sink, Diagnostic> {
    let reporter: Option<Box<dyn Reporter>> = Some(Box::new(ProgressLines::new()));
    let made = !["/dev/stdout", "/dev/stderr"].contains(&path);
    let lines: Box<dyn Write> = match path {
        "/dev/stdout" => Box::new(io::stdout()),
        "/dev/stderr" => Box::new(io::stderr()),
        path => Box::new(File::create_new(path).map_err(|error| unwritable(path, &error))?),
    };
    Ok(Sink { path: path.into(), place: Destination::Lines(lines), reporter, made, failure: None })
}

fn folder(path: &str) -> Result<Sink, Diagnostic> {
    std::fs::create_dir(path).map_err(|error| unwritable(path, &error))?;
    let reporter: Option<Box<dyn Reporter>> = Some(Box::new(CsvFolder::new(path)));
    let place = Destination::Folder(OutputFiles::default());
    Ok(Sink { path: path.into(), place, reporter, made: true, failure: None })
}

fn metrics(path: &str) -> Result<Sink, Diagnostic> {
    let reporter: Option<Box<dyn Reporter>> = Some(Box::new(Metrics::new()));
    if let Ok(address) = path.parse::<SocketAddr>() {
        let place = Destination::Served(MetricsEndpoint::open(address)?);
        return Ok(Sink { path: path.into(), place, reporter, made: false, failure: None });
    }
    let made = !Path::new(path).exists();
    if !made && !is_replaceable(path) {
        return Err(unwritable(path, &io::ErrorKind::AlreadyExists.into()));
    }
    replace(Path::new(path), b"# EOF\n").map_err(|error| unwritable(path, &error))?;
    let place = Destination::Whole(path.into());
    Ok(Sink { path: path.into(), place, reporter, made, failure: None })
}

/// A text of metrics that a command writes anew now and then: a file that is replaced, or an address.
pub struct MetricsText(Sink);

impl MetricsText {
    /// # Errors
    /// The address cannot be had, or the file holds something else.
    pub fn open(path: &str) -> Result<MetricsText, Diagnostic> {
        metrics(path).map(MetricsText)
    }

    /// # Errors
    /// It cannot be written.
    pub fn put(&self, text: Vec<u8>) -> Result<(), Diagnostic> {
        match &self.0.place {
            Destination::Served(page) => page.put(text),
            Destination::Whole(path) => {
                replace(path, &text).map_err(|error| unwritable(&self.0.path, &error))?;
            }
            _ => {}
        }
        Ok(())
    }
}

/// Whether a file holds nothing but older metrics.
fn is_replaceable(path: &str) -> bool {
    let is_file = std::fs::metadata(path).is_ok_and(|facts| facts.is_file());
    let mut start = vec![0; METRICS.len()];
    let read = File::open(path).and_then(|mut file| file.read(&mut start)).unwrap_or(0);
    is_file && (read == 0 || start == METRICS || start.starts_with(b"# EOF\n"))
}

/// Puts a text in the place of a file, so that a reader finds the old one or the new one and never a part.
fn replace(path: &Path, text: &[u8]) -> io::Result<()> {
    let mut name = std::ffi::OsString::from(".");
    name.push(path.file_name().ok_or(io::ErrorKind::InvalidInput)?);
    name.push(format!(".{}", std::process::id()));
    let beside = path.with_file_name(name);
    let written = std::fs::write(&beside, text).and_then(|()| std::fs::rename(&beside, path));
    if written.is_err() {
        // Why it could not be written is told; that this could not be removed says nothing more.
        let _ = std::fs::remove_file(&beside);
    }
    written
}

/// Why a new file cannot be had.
pub fn unwritable(path: &str, error: &io::Error) -> Diagnostic {
    match error.kind() {
        io::ErrorKind::AlreadyExists => {
            Diagnostic::error(&Origin::argument(path), "it exists already, and is not overwritten")
                .hint("name a file that does not exist yet")
        }
        _ => Diagnostic::error(&Origin::argument(path), plain(error))
            .hint("results go to a new file, in a directory that exists and can be written to"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hyphen_is_no_file() {
        for format in ["json", "csv", "html", OWN, "metrics", PROGRESS] {
            let wrong = Sink::open(&ReportFile { path: "-".into(), format: format.into() });
            let wrong = wrong.err().map(|wrong| wrong.message).unwrap_or_default();
            assert!(wrong.contains("standard output"), "{format}: {wrong}");
        }
    }

    #[test]
    fn only_older_metrics_are_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("m.prom");
        let name = path.to_str().unwrap();
        for (before, is_replaced) in [("# TYPE iodyno_run info\n", true), ("", true), ("thesis", false)] {
            std::fs::write(&path, before).unwrap();
            assert_eq!(metrics(name).is_ok(), is_replaced, "{before}");
        }
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "thesis");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
        assert!(metrics("10.0.0.1:9").is_err(), "an address that others reach");
    }
}
