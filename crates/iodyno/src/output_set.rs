//! Everything that is written during a run: the report, the live line, result files, and the files beside the report.
//!
//! All of them are opened, or none. It refuses to empty a file before there is something to write to it.

use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, IsTerminal, Write};

use iodyno_dialect::{ReportFile, Run};
use iodyno_model::{Diagnostic, Event, Origin};
use iodyno_report::live::LiveLine;
use iodyno_report::paint::Paint;
use iodyno_report::ranks::RankTable;
use iodyno_report::screen::Screen;
use iodyno_report::{Output, Reporter};

use crate::loader::plain;
use crate::output_files::OutputFiles;
use crate::sink::Sink;
use crate::terminal;

/// The format of the table of ranks, which has no file of its own.
const RANKS: &str = "ranks";

/// The format of the page that grows, which is no file.
pub const PAGE: &str = "live-web";

/// The format of the screen, which is no file.
const SCREEN: &str = "live";

/// The screen is drawn this often, ns.
const SCREEN_NS: u64 = 500_000_000;

/// Everything that is written to.
pub struct OutputSet {
    sinks: Vec<Sink>,
    named: Option<NamedReport>,
    live: Option<Box<dyn Reporter>>,
    ranks: Option<RankTable>,
    shelf: OutputFiles,
    /// Files on the shelf that were made here.
    made: Vec<String>,
    trouble: Option<io::Error>,
    /// How often the run's own reporter wants to hear how things are, ns.
    report_ns: u64,
    screen: Option<HeldReport>,
}

/// What the report says while the screen covers the terminal that it goes to.
#[derive(Default)]
struct HeldReport {
    out: Vec<u8>,
    err: Vec<u8>,
}

impl HeldReport {
    fn give(&mut self) -> io::Result<()> {
        terminal::err().write_all(&std::mem::take(&mut self.err))?;
        terminal::out().write_all(&std::mem::take(&mut self.out))
    }
}

/// The file that the report goes to, emptied when the first of it is written.
struct NamedReport {
    path: String,
    file: BufWriter<File>,
    emptied: bool,
    made: bool,
}

impl NamedReport {
    fn open(path: &str) -> Result<Self, Diagnostic> {
        let made = !std::path::Path::new(path).exists();
        let file = OpenOptions::new().write(true).create(true).truncate(false).open(path);
        let file = file.map_err(|error| {
            Diagnostic::error(&Origin::argument(path), plain(&error)).hint("the report would go there")
        })?;
        Ok(NamedReport { path: path.into(), file: BufWriter::new(file), emptied: false, made })
    }

    fn take_back(self) {
        if self.made {
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

impl Write for NamedReport {
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

impl OutputSet {
    /// Opens what a run writes to.
    ///
    /// # Errors
    /// The first file that cannot be had; then none is left behind.
    pub fn open(run: &mut Run) -> Result<Self, Diagnostic> {
        let screen = run.files.iter().any(|file| file.format == SCREEN);
        if screen && !terminal::is_redrawn() {
            let what = match terminal::is_watched() {
                true => "this terminal does not move its cursor (TERM=dumb)",
                false => "standard error is no terminal",
            };
            return Err(Diagnostic::error(&Origin::argument("live"), what)
                .hint("the screen is drawn there; results may go anywhere"));
        }
        let mut sinks = sinks(&run.files)?;
        let mut shelf = OutputFiles::default();
        let own: Vec<_> = sinks.extract_if(.., |sink| sink.is_own()).collect();
        let named = match run.output.as_deref().map(NamedReport::open) {
            None => None,
            Some(Ok(named)) => Some(named),
            Some(Err(wrong)) => {
                sinks.into_iter().chain(own).for_each(Sink::take_back);
                return Err(wrong);
            }
        };
        let made = own.iter().filter(|sink| sink.made).map(|sink| sink.path.clone()).collect();
        for sink in own {
            let path = sink.path.clone();
            sink.into_file().into_iter().for_each(|file| shelf.put(&path, file));
        }
        let line = !run.own_voice && run.live_ns > 0;
        let live: Option<Box<dyn Reporter>> = match screen {
            true => Some(Box::new(Screen::new(Box::new(size), terminal::err_paint(), run.growing.take()))),
            false => line.then(|| {
                Box::new(LiveLine::new(terminal::is_redrawn(), terminal::err_paint())) as Box<dyn Reporter>
            }),
        };
        let ranks = run.files.iter().find(|file| file.format == RANKS);
        let ranks = ranks
            .map(|file| RankTable::new(Paint { colour: false, ..terminal::out_paint() }, file.path != "-"));
        let screen = screen.then(HeldReport::default);
        let (trouble, report_ns) = (None, run.live_ns);
        Ok(OutputSet { sinks, named, live, ranks, shelf, made, trouble, report_ns, screen })
    }

    /// Whether results go to files.
    pub fn has_files(&self) -> bool {
        !self.sinks.is_empty() || self.named.is_some() || !self.made.is_empty()
    }

    /// How often somebody here wants to hear how things are, ns; 0: nobody does.
    pub fn live_ns(&self) -> u64 {
        // A line that is drawn over itself would spoil the screen, and has nothing more to say.
        let report_ns = if self.screen.is_some() { SCREEN_NS } else { self.report_ns };
        let wishes = self.sinks.iter().map(Sink::live_ns).chain([report_ns]);
        wishes.filter(|ns| *ns > 0).min().unwrap_or(0)
    }

    /// Whether somebody here wants to know the latencies so far.
    pub fn wants_latency(&self) -> bool {
        self.screen.is_some() || self.sinks.iter().any(|sink| sink.live_ns() > 0)
    }

    /// Lets everybody who writes see an event; what goes wrong is kept until the end.
    pub fn tell(&mut self, event: &Event, reporter: &mut dyn Reporter) {
        self.sinks.iter_mut().for_each(|sink| sink.tell(event));
        if let Err(error) = self.report(event, reporter) {
            self.trouble.get_or_insert(error);
        }
    }

    /// Lets the live line and the report see an event; the reporter itself says what messages there are.
    fn report(&mut self, event: &Event, reporter: &mut dyn Reporter) -> io::Result<()> {
        if let Some(live) = &mut self.live {
            // The screen moves the cursor about, and looks after what it shows.
            let (mut out, mut line, mut bare) = (terminal::out(), None, None);
            let err: &mut dyn Write = match self.screen {
                Some(_) => bare.insert(io::stderr().lock()),
                None => line.insert(terminal::err()),
            };
            let mut output = Output { out: &mut out, err, files: &mut self.shelf };
            // A line that nobody sees is no reason to stop.
            let _ = live.event(event, &mut output);
        }
        // Who did not ask how things are, or may not say it now, is not told.
        let unasked = matches!(event, Event::Live(live) if !live.asked);
        if !(unasked && (self.report_ns == 0 || self.screen.is_some())) {
            self.written(event, reporter)?;
        }
        match (&mut self.screen, event) {
            (Some(held), Event::Ended(_)) => held.give(),
            _ => Ok(()),
        }
    }

    /// Lets the report see an event.
    fn written(&mut self, event: &Event, reporter: &mut dyn Reporter) -> io::Result<()> {
        let (mut out, mut err) = (terminal::out(), terminal::err());
        let is_covered = io::stdout().is_terminal();
        let (out, err): (&mut dyn Write, &mut dyn Write) = match (&mut self.named, &mut self.screen) {
            (Some(file), None) => (file, &mut err),
            (Some(file), Some(held)) => (file, &mut held.err),
            (None, Some(held)) if is_covered => (&mut held.out, &mut held.err),
            (None, Some(held)) => (&mut out, &mut held.err),
            (None, None) => (&mut out, &mut err),
        };
        let mut output = Output { out, err, files: &mut self.shelf };
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
        let mut failed: Vec<(String, io::Error)> =
            self.sinks.drain(..).filter_map(|sink| sink.end().err()).collect();
        for (path, error) in self.shelf.flush() {
            if self.made.contains(&path) {
                let _ = std::fs::remove_file(&path);
            }
            failed.push((path, error));
        }
        if let Some((path, error)) = failed.first() {
            let wrong = Diagnostic::error(&Origin::argument(path), plain(error));
            let is_gone = !std::path::Path::new(path).exists();
            return Err(if is_gone { wrong.hint("what was written of it is removed") } else { wrong });
        }
        match self.trouble.filter(|error| error.kind() != io::ErrorKind::BrokenPipe) {
            Some(error) => {
                let message = format!("the report could not be written: {}", plain(&error));
                Err(Diagnostic::error(&Origin::Default, message))
            }
            None => Ok(()),
        }
    }

    /// Files beside the report that were not there before.
    pub fn made(&self) -> &[String] {
        &self.made
    }

    /// Nothing was run: what was made here is taken away again.
    pub fn take_back(self) {
        self.sinks.into_iter().for_each(Sink::take_back);
        self.named.into_iter().for_each(NamedReport::take_back);
        self.made.iter().for_each(|path| drop(std::fs::remove_file(path)));
    }
}

/// Columns and rows of the terminal that talk goes to.
fn size() -> (u16, u16) {
    let size = terminal_size::terminal_size_of(io::stderr());
    size.map_or((80, 24), |(columns, rows)| (columns.0, rows.0))
}

/// Opens every file, or none.
fn sinks(files: &[ReportFile]) -> Result<Vec<Sink>, Diagnostic> {
    let mut sinks = Vec::new();
    for file in files.iter().filter(|file| ![RANKS, SCREEN, PAGE].contains(&file.format.as_str())) {
        match Sink::open(file) {
            Ok(sink) => sinks.push(sink),
            Err(wrong) => {
                sinks.into_iter().for_each(Sink::take_back);
                return Err(wrong);
            }
        }
    }
    Ok(sinks)
}
