//! One request from beginning to end: run it, let every reporter see every event, and say how it went by the exit
//! status.
//!
//! Exit status: 0 all went well; 1 (or what the dialect says) something failed; 2 nothing was run because the request
//! was wrong; 128 + n stopped by signal n.

use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, IsTerminal, Write};

use iodyno_dialect::{ReportFile, Request, Run};
use iodyno_engine::Options;
use iodyno_model::{Diagnostic, Event, Origin, Record};
use iodyno_report::csv::Csv;
use iodyno_report::json::Json;
use iodyno_report::live::LiveLine;
use iodyno_report::{Output, Reporter};

use crate::loader::plain;

/// What may be said besides the report.
pub struct Voice {
    /// Called by the original's name: nothing that the original would not write.
    pub original: bool,
    /// `IODYNO_FINDINGS`: asked for, or silenced.
    pub findings: Option<bool>,
}

impl Voice {
    /// As the environment wishes.
    pub fn from_environment() -> Self {
        let wish = std::env::var("IODYNO_FINDINGS").ok();
        Voice { original: false, findings: wish.map(|wish| wish != "0") }
    }

    fn tells_findings(&self) -> bool {
        self.findings.unwrap_or(!self.original)
    }
}

/// Does what was requested; the exit status.
pub fn answer(request: Result<Request, Vec<Diagnostic>>, voice: &Voice) -> u8 {
    match request {
        Err(wrong) => {
            wrong.iter().for_each(|wrong| eprintln!("{wrong}"));
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

/// A file that results go to, and who writes it.
struct Sink {
    path: String,
    file: BufWriter<File>,
    reporter: Box<dyn Reporter>,
}

fn session(mut run: Run, voice: &Voice) -> u8 {
    let mut sinks = match run.files.iter().map(sink).collect::<Result<Vec<_>, _>>() {
        Ok(sinks) => sinks,
        Err(wrong) => {
            eprintln!("{wrong}");
            return 2;
        }
    };
    if !voice.original {
        run.messages.iter().for_each(|message| eprintln!("{message}"));
    }
    let talks = run.drop_in_voice(voice);
    let mut live = (run.live_ns > 0 && talks.live).then(live_line);
    let options = Options { live_ns: run.live_ns, ..Options::default() };
    let mut trouble: Option<io::Error> = None;
    let mut tell = |event: &Event| {
        let mut note = |result: io::Result<()>| {
            if let Err(error) = result {
                trouble.get_or_insert(error);
            }
        };
        let (mut out, mut err) = (io::stdout().lock(), io::stderr().lock());
        let mut output = Output { out: &mut out, err: &mut err };
        if let Some(live) = &mut live {
            note(live.event(event, &mut output));
        }
        note(run.reporter.event(event, &mut output));
        if let (Event::Message(message), true) = (event, talks.messages) {
            note(writeln!(output.err, "{message}"));
        }
        note(output.out.flush());
        for sink in &mut sinks {
            let mut output = Output { out: &mut sink.file, err: &mut io::sink() };
            note(sink.reporter.event(event, &mut output));
        }
    };
    let answer = iodyno_engine::run(&run.plan, &options, &mut tell);
    for sink in &mut sinks {
        if let Err(error) = sink.file.flush() {
            eprintln!("error: {}: {}", sink.path, plain(&error));
            return 1;
        }
    }
    match answer {
        Err(wrong) => {
            sinks.iter().for_each(|sink| drop(std::fs::remove_file(&sink.path)));
            run.refused(wrong)
        }
        Ok(record) => {
            if talks.findings && voice.tells_findings() && !record.findings.is_empty() {
                eprint!(
                    "{}",
                    iodyno_report::native::findings(&record.findings, iodyno_report::paint::Paint::default())
                );
            }
            match trouble.filter(|error| error.kind() != io::ErrorKind::BrokenPipe) {
                Some(error) => {
                    eprintln!("error: the report could not be written: {}", plain(&error));
                    1
                }
                None => status(&record, run.error_status),
            }
        }
    }
}

/// What is said on standard error besides the dialect's own report.
struct Talk {
    live: bool,
    messages: bool,
    findings: bool,
}

/// What a dialect's kind means for what is said.
trait DropIn {
    fn drop_in_voice(&self, voice: &Voice) -> Talk;
    fn refused(self, wrong: Vec<Diagnostic>) -> u8;
}

impl DropIn for Run {
    fn drop_in_voice(&self, _voice: &Voice) -> Talk {
        Talk { live: !self.own_voice, messages: !self.own_voice, findings: self.own_voice && self.findings }
    }

    /// Says why nothing was run: with its own voice the dialect does, as of a run that ended with errors.
    fn refused(mut self, wrong: Vec<Diagnostic>) -> u8 {
        if !self.own_voice {
            wrong.iter().for_each(|wrong| eprintln!("{wrong}"));
            return 2;
        }
        let (mut out, mut err) = (io::stdout().lock(), io::stderr().lock());
        let ended = Event::Ended(Box::new(Record { errors: wrong, ..Record::default() }));
        // Nobody may be listening on standard error.
        let _ = self.reporter.event(&ended, &mut Output { out: &mut out, err: &mut err });
        self.error_status as u8
    }
}

fn live_line() -> LiveLine {
    let width = std::env::var("COLUMNS").ok().and_then(|text| text.parse().ok()).unwrap_or(80);
    LiveLine::new(io::stderr().is_terminal(), width)
}

fn sink(file: &ReportFile) -> Result<Sink, Diagnostic> {
    let reporter: Box<dyn Reporter> = match file.format.as_str() {
        "json" => Box::new(Json::new()),
        _ => Box::new(Csv::new()),
    };
    // What the user already had is never overwritten.
    let opened = OpenOptions::new().write(true).create_new(true).open(&file.path);
    let opened = opened.or_else(|error| match file.path.as_str() {
        "/dev/stdout" | "/dev/stderr" | "/dev/null" => OpenOptions::new().write(true).open(&file.path),
        _ => Err(error),
    });
    match opened {
        Ok(opened) => Ok(Sink { path: file.path.clone(), file: BufWriter::new(opened), reporter }),
        Err(error) => Err(Diagnostic::error(&Origin::argument(&file.path), plain(&error))
            .hint("results go to a file that does not exist yet, in a directory that does")),
    }
}

/// The exit status that a record deserves.
fn status(record: &Record, error_status: i32) -> u8 {
    let failed = || record.phases.iter().flat_map(|phase| &phase.jobs).any(|job| job.tally.failed() > 0);
    match record.stopped_by {
        Some(signal) => (128 + signal) as u8,
        None if !record.errors.is_empty() || failed() => error_status as u8,
        None => 0,
    }
}
