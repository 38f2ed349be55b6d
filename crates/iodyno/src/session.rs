//! One request from beginning to end: run it, let every reporter see every event, and say how it went by the exit
//! status.
//!
//! Exit status: 0 all went well; 1 (or what the dialect says) something failed; 2 nothing was run because the request
//! was wrong; 128 + n stopped by signal n.

use std::borrow::Cow;
use std::fmt::Display;
use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, IsTerminal, Write};

use iodyno_dialect::{ReportFile, Request, Run, Translate};
use iodyno_engine::{Options, signal};
use iodyno_model::{Diagnostic, Event, Origin, Record, Verb};
use iodyno_report::csv::Csv;
use iodyno_report::json::Json;
use iodyno_report::live::LiveLine;
use iodyno_report::{Files, NoFiles, Output, Reporter};

use crate::loader::plain;
use crate::shelf::Shelf;

/// What may be said besides the report.
pub struct Voice {
    /// Called by the original's name: nothing that the original would not write.
    pub original: bool,
    /// `IODYNO_FINDINGS`: asked for, or silenced.
    pub findings: Option<bool>,
    /// Whether witnesses watch, who have most of the findings to tell.
    pub watched: bool,
}

impl Voice {
    /// As the environment wishes.
    pub fn from_environment() -> Self {
        let wish = std::env::var("IODYNO_FINDINGS").ok();
        Voice { original: false, findings: wish.map(|wish| wish != "0"), watched: true }
    }

    fn tells_findings(&self) -> bool {
        self.findings.unwrap_or(!self.original)
    }
}

/// Does what was requested; the exit status.
pub fn answer(request: Result<Request, Vec<Diagnostic>>, voice: &Voice) -> u8 {
    match request {
        Err(wrong) => {
            say_all(&wrong);
            2
        }
        Ok(Request::Print { out, status }) => {
            // `head` has seen enough.
            let _ = io::stdout().write_all(out.as_bytes());
            status as u8
        }
        Ok(Request::Refuse { err, status }) => {
            // Nobody may be listening on standard error.
            let _ = io::stderr().write_all(err.as_bytes());
            status as u8
        }
        Ok(Request::Run(run)) => session(*run, voice),
    }
}

/// Says something on standard error; where nobody listens, nobody is told.
pub fn say(what: impl Display) {
    let _ = writeln!(io::stderr(), "{what}");
}

fn say_all(what: &[Diagnostic]) {
    what.iter().for_each(say);
}

/// A file that results go to, and who writes it.
struct Sink {
    path: String,
    file: BufWriter<File>,
    reporter: Box<dyn Reporter>,
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

/// The event with its findings in the tool's own options; `None`: a finding that concerns nothing the tool prints.
fn translated(event: &Event, translate: Translate) -> Option<Cow<'_, Event>> {
    Some(match event {
        Event::Finding(finding) => Cow::Owned(Event::Finding(Box::new(translate((**finding).clone())?))),
        Event::Ended(record) => {
            let mut record = record.clone();
            record.findings = record.findings.into_iter().filter_map(translate).collect();
            Cow::Owned(Event::Ended(record))
        }
        event => Cow::Borrowed(event),
    })
}

fn session(mut run: Run, voice: &Voice) -> u8 {
    let mut sinks = match sinks(&run.files) {
        Ok(sinks) => sinks,
        Err(wrong) => {
            say(wrong);
            return 2;
        }
    };
    let mut shelf = Shelf::default();
    let mut named = match run.output.as_deref().map(File::create) {
        Some(Err(error)) => {
            let path = run.output.unwrap_or_default();
            say(Diagnostic::error(&Origin::argument(&path), plain(&error)).hint("the report goes there"));
            sinks.into_iter().for_each(Sink::take_back);
            return run.error_status as u8;
        }
        Some(Ok(file)) => Some(file),
        None => None,
    };
    if !voice.original {
        say_all(&run.messages);
    }
    let live_ns = if run.own_voice { 0 } else { run.live_ns };
    let mut live = (live_ns > 0).then(live_line);
    let options = Options { live_ns: run.live_ns, witness: voice.watched };
    let mut trouble: Option<io::Error> = None;
    let mut listened = true;
    let translate = run.translate;
    let mut tell = |event: &Event| {
        let Some(translated) = translated(event, translate) else { return };
        let event = translated.as_ref();
        let told = report(event, live.as_mut(), run.reporter.as_mut(), named.as_mut(), &mut shelf);
        for sink in &mut sinks {
            let mut output = Output { out: &mut sink.file, err: &mut io::sink(), files: &mut NoFiles };
            if let Err(error) = sink.reporter.event(event, &mut output) {
                trouble.get_or_insert(error);
            }
        }
        if let Err(error) = told {
            trouble.get_or_insert(error);
        }
        // `head` has seen enough: there is nothing left to run for.
        if sinks.is_empty() && run.output.is_none() && !run.own_voice && listened && !signal::is_listened_to()
        {
            listened = false;
            signal::nobody_listens();
        }
    };
    let answer = iodyno_engine::run(&run.plan, &options, &mut tell);
    let record = match answer {
        Ok(record) => record,
        Err(wrong) => {
            sinks.into_iter().for_each(Sink::take_back);
            return refused(run, wrong);
        }
    };
    for sink in &mut sinks {
        if let Err(error) = sink.file.flush() {
            say(format_args!("error: {}: {}", sink.path, plain(&error)));
            return 1;
        }
    }
    if let Err((path, error)) = shelf.flush() {
        say(format_args!("error: {path}: {}", plain(&error)));
        return 1;
    }
    let findings: Vec<_> = record.findings.iter().cloned().filter_map(run.translate).collect();
    if run.own_voice && run.findings && voice.tells_findings() && !findings.is_empty() {
        let text = iodyno_report::native::findings(&findings, iodyno_report::paint::Paint::default());
        let _ = io::stderr().write_all(text.as_bytes());
    }
    match trouble.filter(|error| error.kind() != io::ErrorKind::BrokenPipe) {
        Some(error) => {
            say(format_args!("error: the report could not be written: {}", plain(&error)));
            1
        }
        None => {
            if let Some(signal) = record.stopped_by.filter(|_| run.own_voice) {
                // A shell's loop ends when the original is interrupted, because it dies of the signal.
                signal::die_of(signal);
            }
            status(&record, &run)
        }
    }
}

/// Lets the live line and the report see an event; the reporter itself says what messages there are.
fn report(
    event: &Event,
    live: Option<&mut LiveLine>,
    reporter: &mut dyn Reporter,
    named: Option<&mut File>,
    files: &mut dyn Files,
) -> io::Result<()> {
    let (mut out, mut err) = (io::stdout().lock(), io::stderr().lock());
    let out: &mut dyn Write = match named {
        Some(file) => file,
        None => &mut out,
    };
    let mut output = Output { out, err: &mut err, files };
    if let Some(live) = live {
        // Talk that nobody hears is no reason to stop.
        let _ = live.event(event, &mut output);
    }
    reporter.event(event, &mut output)?;
    output.out.flush()
}

/// Says why nothing was run: with its own voice the dialect does, as of a run that ended with errors.
fn refused(mut run: Run, wrong: Vec<Diagnostic>) -> u8 {
    if !run.own_voice {
        say_all(&wrong);
        return 2;
    }
    let (mut out, mut err) = (io::stdout().lock(), io::stderr().lock());
    let files = &mut NoFiles;
    let ended = Event::Ended(Box::new(Record { errors: wrong, ..Record::default() }));
    // Nobody may be listening on standard error.
    let _ = run.reporter.event(&ended, &mut Output { out: &mut out, err: &mut err, files });
    run.error_status as u8
}

fn live_line() -> LiveLine {
    let width = std::env::var("COLUMNS").ok().and_then(|text| text.parse().ok()).unwrap_or(80);
    LiveLine::new(io::stderr().is_terminal(), width)
}

/// Opens every file, or none.
fn sinks(files: &[ReportFile]) -> Result<Vec<Sink>, Diagnostic> {
    let mut sinks = Vec::new();
    for file in files {
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
    let reporter: Box<dyn Reporter> = match file.format.as_str() {
        "json" => Box::new(Json::new()),
        _ => Box::new(Csv::new()),
    };
    let made = !["/dev/stdout", "/dev/stderr", "/dev/null"].contains(&path);
    // What the user already had is never overwritten.
    match OpenOptions::new().write(true).create_new(made).open(path) {
        Ok(opened) => Ok(Sink { path: path.into(), file: BufWriter::new(opened), reporter, made }),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            Err(Diagnostic::error(&Origin::argument(path), "it exists already, and is not overwritten")
                .hint("name a file that does not exist yet"))
        }
        Err(error) => Err(Diagnostic::error(&Origin::argument(path), plain(&error))
            .hint("results go to a new file, in a directory that exists and can be written to")),
    }
}

/// The exit status that a record deserves.
fn status(record: &Record, run: &Run) -> u8 {
    let jobs = || record.phases.iter().flat_map(|phase| &phase.jobs);
    let failed = || match run.reads_forgiven {
        true => jobs().any(|job| job.tally.errors.iter().any(|error| error.verb != Verb::Read)),
        false => jobs().any(|job| job.tally.failed() > 0),
    };
    match record.stopped_by {
        Some(signal) => (128 + signal) as u8,
        None if !record.errors.is_empty() || failed() => run.error_status as u8,
        None => 0,
    }
}
