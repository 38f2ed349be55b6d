//! One request from beginning to end: run it, let every reporter see every event, and say how it went by the exit
//! status.
//!
//! Exit status: 0 all went well; 1 (or what the dialect says) something failed; 2 nothing was run because the request
//! was wrong; 128 + n stopped by signal n.

use std::borrow::Cow;
use std::fmt::Display;
use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;

use iodyno_dialect::{Request, Run, Translate, Written};
use iodyno_engine::source::replay::tree::TreeSurveys;
use iodyno_engine::world::World;
use iodyno_engine::{LastingDevice, Options, signal};
use iodyno_history::Keeping;
use iodyno_model::{Diagnostic, Event, Origin, Record, Verb};
use iodyno_report::median_pass::OnePass;
use iodyno_report::paint::Paint;
use iodyno_report::{NoFiles, Output, Reporter};

use crate::archive::{self, TypedCommand};
use crate::conversation;
use crate::device_recovery;
use crate::hosts;
use crate::leftovers;
use crate::live_report_server::LiveReportServer;
use crate::loader::plain;
use crate::output_set::{self, OutputSet};
use crate::prompt;
use crate::remote_servers;
use crate::repeat;
use crate::simulated_device;
use crate::sink;
use crate::syscall_helper;
use crate::terminal;
use crate::trigger::TriggerWatch;
use crate::why::WatchedRun;

/// A run that is kept is written down this often, ns: a killed program loses no more.
const KEPT_NS: u64 = 1_000_000_000;

/// What may be said besides the report.
pub struct OutputPolicy {
    /// Called by the original's name: nothing that the original would not write.
    pub original: bool,
    /// `IODYNO_FINDINGS`: asked for, or silenced.
    pub findings: Option<bool>,
    /// What was typed.
    pub asked: TypedCommand,
    /// Whether it is one of many runs, which are not told apart.
    pub quiet: bool,
    /// The simulated device of all of them.
    pub device: Option<LastingDevice>,
    /// Whether what each makes and is to be removed stays until all of them are over.
    pub stays: bool,
}

impl OutputPolicy {
    /// As the environment wishes.
    pub fn from_environment() -> Self {
        let wish = std::env::var("IODYNO_FINDINGS").ok();
        let original = std::env::var_os(hosts::ORIGINAL).is_some();
        OutputPolicy {
            original,
            findings: wish.map(|wish| wish != "0"),
            asked: TypedCommand::default(),
            quiet: false,
            device: None,
            stays: false,
        }
    }

    /// Whether findings follow the report.
    pub fn tells_findings(&self) -> bool {
        self.findings.unwrap_or(!self.original)
    }

    /// A diagnostic whose hint names an option of native commands, with the word that a drop-in has for it.
    fn worded(&self, wrong: Diagnostic) -> Diagnostic {
        match self.asked.native {
            true => wrong,
            false => Diagnostic {
                hint: wrong.hint.map(|hint| hint.replace("--destroy ", "--also destroy=")),
                ..wrong
            },
        }
    }
}

/// Does what was requested; the exit status.
pub fn answer(world: &mut World, request: Result<Request, Vec<Diagnostic>>, policy: &OutputPolicy) -> u8 {
    match request {
        Err(wrong) => {
            say_all(&wrong);
            2
        }
        Ok(Request::Print { out, status }) => print(out.as_bytes()).max(status as u8),
        Ok(Request::Write { files, out, status }) => write(&files, &out, status as u8),
        Ok(Request::Refuse { err, status }) => {
            // Nobody may be listening on standard error.
            let _ = terminal::err().write_all(err.as_bytes());
            status as u8
        }
        Ok(Request::Calls(calls)) => syscall_helper::answer(&calls),
        Ok(Request::Run(run)) => session(world, *run, policy),
        Ok(Request::Prompt(prompt)) => prompt::answer(world, prompt, &|_| Ok(()), policy),
        Ok(Request::Converse(talk)) => conversation::answer(*talk, policy),
        Ok(Request::Abroad(abroad)) => remote_servers::answer(*abroad, policy),
        Ok(Request::Repeat(repeat)) => repeat::answer(*repeat, policy),
        // Where it could go there, it went.
        Ok(Request::Hosts(_)) => {
            let wrong = Diagnostic::error(&Origin::argument("hosts"), "hosts are named twice");
            say(wrong.hint("name them once: in the tool's own option, or with hosts="));
            2
        }
    }
}

/// Writes files, or none of them, and prints.
fn write(files: &[Written], out: &str, status: u8) -> u8 {
    let mut made: Vec<&str> = Vec::new();
    for file in files {
        let mode = if file.program { 0o777 } else { 0o666 };
        let opened = File::options().write(true).create_new(true).mode(mode).open(&file.path);
        let written = opened.and_then(|mut opened| {
            made.push(&file.path);
            opened.write_all(&file.bytes)
        });
        if let Err(error) = written {
            made.iter().for_each(|path| drop(std::fs::remove_file(path)));
            say(sink::unwritable(&file.path, &error));
            return 2;
        }
    }
    print(out.as_bytes()).max(status)
}

/// Prints; 0, or 1 where it cannot be written, which is said. A reader that has seen enough (`head`) is no error.
pub fn print(out: &[u8]) -> u8 {
    let mut stdout = terminal::out();
    match stdout.write_all(out).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            let wrong = format!("standard output cannot be written: {}", plain(&error));
            say(Diagnostic::error(&Origin::Default, wrong)
                .hint("make room where it goes, or send it elsewhere"));
            1
        }
        _ => 0,
    }
}

/// Says something on standard error; where nobody listens, nobody is told.
pub fn say(what: impl Display) {
    let _ = writeln!(terminal::err(), "{what}");
}

fn say_all(what: &[Diagnostic]) {
    what.iter().for_each(say);
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

fn session(world: &mut World, mut run: Run, policy: &OutputPolicy) -> u8 {
    if !run.tells_all && !run.tells_passes && OnePass::needed(&run.plan) {
        let silent: Box<dyn Reporter> = Box::new(Silent);
        run.reporter = Box::new(OnePass::new(&run.plan, std::mem::replace(&mut run.reporter, silent)));
    }
    simulated_device::mark(&mut run);
    let mut fanout = match EventFanout::open(&mut run, policy) {
        Ok(fanout) => fanout,
        Err(wrong) => {
            say(wrong);
            return if run.own_voice { run.error_status as u8 } else { 2 };
        }
    };
    if !policy.original {
        say_all(&run.messages);
    }
    say_all(&leftovers::remove(&run.abandoned, &run.plan));
    let mut trigger = run.trigger.take().filter(|_| world.rank() == 0).map(TriggerWatch::start);
    let (halt, device) = (trigger.as_ref().map(TriggerWatch::halt), policy.device.clone());
    let (interim_ns, stays) = (run.interim_ns, policy.stays);
    let options = Options { interim_ns, halt, device, stays, ..fanout.options(&run) };
    let mut listened = true;
    // What a drop-in copies or checks it does for its own sake; who only watches, watches for a listener.
    let only_watches = run.plan.phases.iter().all(|phase| phase.watch.is_some());
    let ends_unheard = !run.own_voice || only_watches;
    let overwritten = device_recovery::of(&run.plan, policy);
    let (plan, translate) = (&run.plan, run.translate);
    let reporter = &mut run.reporter;
    let mut tell = |event: &Event| {
        if let Some(trigger) = trigger.as_mut().filter(|_| matches!(event, Event::PhaseEnded(_))) {
            trigger.run();
        }
        fanout.tell(event, translate, reporter.as_mut());
        // `head` has seen enough: there is nothing left to run for.
        if ends_unheard && listened && !fanout.desk.has_files() && !signal::is_listened_to() {
            listened = false;
            signal::nobody_listens();
        }
    };
    let why = run.why.then(WatchedRun::start).transpose();
    let why = why.unwrap_or_else(|wrong| {
        say(wrong);
        None
    });
    let record = match iodyno_engine::lead(world, plan, &options, &mut tell) {
        Ok(record) => record,
        Err(wrong) => {
            fanout.take_back();
            return refused(run, wrong.into_iter().map(|wrong| policy.worded(wrong)).collect());
        }
    };
    let made = fanout.desk.made().to_vec();
    let Ok(kept) = fanout.close(&run, policy) else { return 1 };
    if record.phases.is_empty() {
        remove_empty(&made);
    }
    if let Some(why) = why {
        why.tell(&record.name);
    }
    if !run.tells_all {
        let _ = terminal::err().write_all(policy.after_report(&record, &run).as_bytes());
    }
    say_all(&overwritten);
    if let Some(signal) = record.stopped_by.filter(|_| run.dies_of_signals && world.is_alone()) {
        // A shell's loop ends when the original is interrupted, because it dies of the signal.
        signal::die_of(signal);
    }
    status(&record, &run).max(u8::from(!kept))
}

/// Removes the files without a byte, of a run that failed before anything was measured: they are no results.
fn remove_empty(made: &[String]) {
    let is_empty = |path: &&String| std::fs::metadata(path).is_ok_and(|found| found.len() == 0);
    made.iter().filter(is_empty).for_each(|path| drop(std::fs::remove_file(path)));
}

/// Everybody who hears of a run besides its dialect: the desk, the history, the page that grows.
pub struct EventFanout {
    desk: OutputSet,
    keeping: Option<Keeping>,
    watched: Option<LiveReportServer>,
}

impl EventFanout {
    /// Everything that is written to while it runs, or none of it.
    ///
    /// # Errors
    /// The first that cannot be had.
    pub fn open(run: &mut Run, policy: &OutputPolicy) -> Result<EventFanout, Diagnostic> {
        let desk = OutputSet::open(run)?;
        let others =
            archive::keeping(run, &policy.asked).and_then(|keeping| Ok((keeping, watched(run, policy)?)));
        match others {
            Ok((keeping, watched)) => Ok(EventFanout { desk, keeping, watched }),
            Err(wrong) => {
                desk.take_back();
                Err(wrong)
            }
        }
    }

    /// What they want to hear.
    pub fn options(&self, run: &Run) -> Options {
        let keeps = self.keeping.is_some() || self.watched.is_some();
        Options {
            live_ns: self.desk.live_ns(),
            live_latency: self.desk.wants_latency(),
            keep_ns: if keeps { KEPT_NS } else { 0 },
            witness: !run.unwatched,
            surveys: TreeSurveys::knowing(run.surveys.clone()),
            ..Options::default()
        }
    }

    pub fn tell(&mut self, event: &Event, translate: Translate, reporter: &mut dyn Reporter) {
        if let Some(keeping) = &mut self.keeping {
            keeping.tell(event);
        }
        let Some(translated) = translated(event, translate) else { return };
        if let Some(watched) = &self.watched {
            watched.tell(translated.as_ref());
        }
        if !matches!(event, Event::Kept(_)) {
            self.desk.tell(translated.as_ref(), reporter);
        }
    }

    /// Ends what is written; whether everything that was to be kept was.
    ///
    /// # Errors
    /// Said already: something could not be written.
    pub fn close(self, run: &Run, policy: &OutputPolicy) -> Result<bool, ()> {
        if let Err(wrong) = self.desk.close() {
            say(wrong);
            return Err(());
        }
        if let Some(watched) = &self.watched {
            watched.close();
        }
        Ok(self.keeping.is_none_or(|keeping| {
            archive::kept(keeping, run, &policy.asked, policy.original || policy.quiet)
        }))
    }

    /// Leaves nothing behind of what was opened.
    pub fn take_back(self) {
        self.desk.take_back();
    }
}

impl OutputPolicy {
    /// What follows an original's report on standard error. Under the original's name a script may read that; a person at a
    /// terminal gets one line where figures do not stand.
    pub fn after_report(&self, record: &Record, run: &Run) -> String {
        if self.tells_findings() {
            return beside(record, run);
        }
        let findings: Vec<_> = record.findings.iter().cloned().filter_map(run.translate).collect();
        let verdict = iodyno_report::findings::verdict(&findings);
        let is_read = self.findings.is_none() && run.findings && terminal::is_watched();
        verdict.filter(|_| is_read).map_or_else(String::new, |verdict| {
            let line = format!("iodyno: {verdict} (IODYNO_FINDINGS=1 prints the findings)");
            format!("{}\n", terminal::err_paint().aside(&line))
        })
    }
}

/// What follows an original's report: findings, what several passes have to say together, and what became of demands.
fn beside(record: &Record, run: &Run) -> String {
    let paint = Paint { colour: false, ..terminal::err_paint() };
    let findings: Vec<_> = record.findings.iter().cloned().filter_map(run.translate).collect();
    let mut text = match run.findings {
        true => iodyno_report::findings::text(&findings, run.details, paint),
        false => String::new(),
    };
    // Passes that are the original's own are in its report.
    if OnePass::needed(&run.plan) {
        text.push_str(&iodyno_report::native::passes(record, paint));
    }
    text + &iodyno_report::native::demands(record, paint)
}

/// The page that grows, where one was asked for; where it is, is said unless nothing may be.
fn watched(run: &Run, policy: &OutputPolicy) -> Result<Option<LiveReportServer>, Diagnostic> {
    let Some(file) = run.files.iter().find(|file| file.format == output_set::PAGE) else { return Ok(None) };
    let (watched, url) = LiveReportServer::open(&file.path)?;
    if !policy.original {
        say(format_args!("the report grows at {url}"));
    }
    Ok(Some(watched))
}

/// Says why nothing was run: with its own policy the dialect does, as of a run that ended with errors.
fn refused(mut run: Run, wrong: Vec<Diagnostic>) -> u8 {
    if !run.own_voice {
        say_all(&wrong);
        return 2;
    }
    let (mut out, mut err) = (terminal::out(), terminal::err());
    let files = &mut NoFiles;
    let ended = Event::Ended(Box::new(Record { errors: wrong, ..Record::default() }));
    // Nobody may be listening on standard error.
    let _ = run.reporter.event(&ended, &mut Output { out: &mut out, err: &mut err, files });
    run.error_status as u8
}

/// Who writes nothing.
pub struct Silent;

impl Reporter for Silent {
    fn event(&mut self, _event: &Event, _output: &mut Output<'_>) -> io::Result<()> {
        Ok(())
    }
}

/// The exit status that a record deserves; one that did not keep what was demanded is none that went well.
fn status(record: &Record, run: &Run) -> u8 {
    match work_status(record, run) {
        0 if record.demands.iter().any(|demand| demand.failed) => run.error_status.max(1) as u8,
        status => status,
    }
}

fn work_status(record: &Record, run: &Run) -> u8 {
    if let Some(status) = &run.status {
        return status(record);
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hint_names_what_the_command_takes() {
        let hint = |native: bool| {
            let asked = TypedCommand { native, ..TypedCommand::default() };
            let policy = OutputPolicy {
                original: false,
                findings: None,
                asked,
                quiet: false,
                device: None,
                stays: false,
            };
            let wrong = Diagnostic::error(&Origin::Default, "it carries ext4");
            policy.worded(wrong.hint("if that is meant: --destroy /dev/x")).hint.unwrap_or_default()
        };
        assert_eq!(hint(true), "if that is meant: --destroy /dev/x");
        assert_eq!(hint(false), "if that is meant: --also destroy=/dev/x");
    }
}
