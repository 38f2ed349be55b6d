//! Everything that is written during a run: the report, the live line, result files, and the files beside the report.
//!
//! All of them are opened, or none. It refuses to empty a file before there is something to write to it.

use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, IsTerminal, Write};

use iodyno_dialect::{ReportFile, Run};
use iodyno_model::{Diagnostic, Event, Origin};
use iodyno_report::csv::Csv;
use iodyno_report::html::Html;
use iodyno_report::json::Json;
use iodyno_report::live::LiveLine;
use iodyno_report::ranks::RankTable;
use iodyno_report::screen::Screen;
use iodyno_report::{NoFiles, Output, Reporter};

use crate::loader::plain;
use crate::shelf::Shelf;

/// The format of the table of ranks, which has no file of its own.
const RANKS: &str = "ranks";

/// The format of the page that grows, which is no file.
pub const PAGE: &str = "live-web";

/// The format of files that the run's reporter writes itself.
const OWN: &str = "own";

/// Everything that is written to.
pub struct Desk {
    sinks: Vec<Sink>,
    named: Option<Named>,
    live: Option<Box<dyn Reporter>>,
    ranks: Option<RankTable>,
    shelf: Shelf,
    /// Files on the shelf that were made here.
    made: Vec<String>,
    trouble: Option<io::Error>,
}

/// A file that results go to, and who writes it.
struct Sink {
    path: String,
    file: BufWriter<File>,
    /// Who writes it; none: the run's own reporter does.
    reporter: Option<Box<dyn Reporter>>,
    /// Whether it was made here, and not a device like `/dev/null`.
    made: bool,
}

impl Sink {
    fn take_back(self) {
        if self.made {
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

/// The file that the report goes to, emptied when the first of it is written.
struct Named {
    path: String,
    file: BufWriter<File>,
    emptied: bool,
    made: bool,
}

impl Named {
    fn open(path: &str) -> Result<Self, Diagnostic> {
        let made = !std::path::Path::new(path).exists();
        let file = OpenOptions::new().write(true).create(true).truncate(false).open(path);
        let file = file.map_err(|error| {
            Diagnostic::error(&Origin::argument(path), plain(&error)).hint("the report would go there")
        })?;
        Ok(Named { path: path.into(), file: BufWriter::new(file), emptied: false, made })
    }

    fn take_back(self) {
        if self.made {
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

impl Write for Named {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if !self.emptied {
            // A pipe or a device cannot be emptied, and need not be.
            let _ = self.file.get_ref().set_len(0);
            self.emptied = true;
        }
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Desk {
    /// Opens what a run writes to.
    ///
    /// # Errors
    /// The first file that cannot be had; then none is left behind.
    pub fn open(run: &Run, screen: bool) -> Result<Self, Diagnostic> {
        if screen && !io::stderr().is_terminal() {
            return Err(Diagnostic::error(&Origin::argument("--also live"), "standard error is no terminal")
                .hint("the screen is drawn there; results may go anywhere"));
        }
        let mut sinks = sinks(&run.files)?;
        let mut shelf = Shelf::default();
        let own: Vec<_> = sinks.extract_if(.., |sink| sink.reporter.is_none()).collect();
        let named = match run.output.as_deref().map(Named::open) {
            None => None,
            Some(Ok(named)) => Some(named),
            Some(Err(wrong)) => {
                sinks.into_iter().chain(own).for_each(Sink::take_back);
                return Err(wrong);
            }
        };
        let made = own.iter().filter(|sink| sink.made).map(|sink| sink.path.clone()).collect();
        own.into_iter().for_each(|sink| shelf.put(&sink.path, sink.file));
        let line = !run.own_voice && run.live_ns > 0;
        let live: Option<Box<dyn Reporter>> = match screen {
            true => Some(Box::new(Screen::new(Box::new(terminal)))),
            false => line.then(|| Box::new(live_line()) as Box<dyn Reporter>),
        };
        let ranks = run.files.iter().find(|file| file.format == RANKS);
        let ranks = ranks.map(|file| RankTable::new(false, file.path != "-"));
        Ok(Desk { sinks, named, live, ranks, shelf, made, trouble: None })
    }

    /// Whether results go to files.
    pub fn has_files(&self) -> bool {
        !self.sinks.is_empty() || self.named.is_some() || !self.made.is_empty()
    }

    /// Lets everybody who writes see an event; what goes wrong is kept until the end.
    pub fn tell(&mut self, event: &Event, reporter: &mut dyn Reporter) {
        for sink in &mut self.sinks {
            let Some(reporter) = &mut sink.reporter else { continue };
            let mut output = Output { out: &mut sink.file, err: &mut io::sink(), files: &mut NoFiles };
            if let Err(error) = reporter.event(event, &mut output) {
                self.trouble.get_or_insert(error);
            }
        }
        if let Err(error) = self.report(event, reporter) {
            self.trouble.get_or_insert(error);
        }
    }

    /// Lets the live line and the report see an event; the reporter itself says what messages there are.
    fn report(&mut self, event: &Event, reporter: &mut dyn Reporter) -> io::Result<()> {
        let (mut out, mut err) = (io::stdout().lock(), io::stderr().lock());
        let out: &mut dyn Write = match &mut self.named {
            Some(file) => file,
            None => &mut out,
        };
        let mut output = Output { out, err: &mut err, files: &mut self.shelf };
        if let Some(live) = &mut self.live {
            // Talk that nobody hears is no reason to stop.
            let _ = live.event(event, &mut output);
        }
        reporter.event(event, &mut output)?;
        if let Some(ranks) = &mut self.ranks {
            ranks.event(event, &mut output)?;
        }
        output.out.flush()
    }

    /// Writes out what is left.
    ///
    /// # Errors
    /// The first thing that went wrong with any of it.
    pub fn close(mut self) -> Result<(), Diagnostic> {
        let failed =
            |path: &str, error: &io::Error| Err(Diagnostic::error(&Origin::argument(path), plain(error)));
        for sink in &mut self.sinks {
            if let Err(error) = sink.file.flush() {
                return failed(&sink.path, &error);
            }
        }
        if let Err((path, error)) = self.shelf.flush() {
            return failed(&path, &error);
        }
        match self.trouble.filter(|error| error.kind() != io::ErrorKind::BrokenPipe) {
            Some(error) => {
                let message = format!("the report could not be written: {}", plain(&error));
                Err(Diagnostic::error(&Origin::Default, message))
            }
            None => Ok(()),
        }
    }

    /// Nothing was run: what was made here is taken away again.
    pub fn take_back(self) {
        self.sinks.into_iter().for_each(Sink::take_back);
        self.named.into_iter().for_each(Named::take_back);
        self.made.iter().for_each(|path| drop(std::fs::remove_file(path)));
    }
}

/// Columns and rows of the terminal that talk goes to.
fn terminal() -> (u16, u16) {
    let size = terminal_size::terminal_size_of(io::stderr());
    size.map_or((80, 24), |(columns, rows)| (columns.0, rows.0))
}

fn live_line() -> LiveLine {
    let width = std::env::var("COLUMNS").ok().and_then(|text| text.parse().ok()).unwrap_or(80);
    LiveLine::new(io::stderr().is_terminal(), width)
}

/// Opens every file, or none.
fn sinks(files: &[ReportFile]) -> Result<Vec<Sink>, Diagnostic> {
    let mut sinks = Vec::new();
    for file in files.iter().filter(|file| ![RANKS, PAGE].contains(&file.format.as_str())) {
        match sink(file) {
            Ok(sink) => sinks.push(sink),
            Err(wrong) => {
                sinks.into_iter().for_each(Sink::take_back);
                return Err(wrong);
            }
        }
    }
    Ok(sinks)
}

fn sink(file: &ReportFile) -> Result<Sink, Diagnostic> {
    let path = file.path.as_str();
    let reporter: Option<Box<dyn Reporter>> = match file.format.as_str() {
        OWN => None,
        "html" => Some(Box::new(Html::new())),
        "json" => Some(Box::new(Json::new())),
        _ => Some(Box::new(Csv::new())),
    };
    let made = !["/dev/stdout", "/dev/stderr", "/dev/null"].contains(&path);
    // What the user already had is never overwritten.
    match OpenOptions::new().write(true).create_new(made).open(path) {
        Ok(opened) => Ok(Sink { path: path.into(), file: BufWriter::new(opened), reporter, made }),
        Err(error) => Err(unwritable(path, &error)),
    }
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
