//! Commands that run several plans one after the other and judge them together.
//!
//! Refuses to report the single runs: their records go to the command, their errors to standard error.

use std::cell::RefCell;
use std::io::{self, IsTerminal};
use std::rc::Rc;

use iodyno_dialect::{Keep, Loader, Request, engine_choice, native};
use iodyno_engine::LastingDevice;
use iodyno_engine::world::World;
use iodyno_model::{Diagnostic, Event, Origin, Plan, Record, RunStart, Verb};
use iodyno_report::{Output, Reporter};

use crate::archive::TypedCommand;
use crate::loader::plain;
use crate::session::{self, OutputPolicy, say};

/// The end of a run, taken from its events.
#[derive(Default)]
struct CapturedRecord {
    started: Option<RunStart>,
    record: Option<Record>,
}

/// Reports nothing, and keeps the record.
struct RecordCapture(Rc<RefCell<CapturedRecord>>);

impl Reporter for RecordCapture {
    fn event(&mut self, event: &Event, _output: &mut Output<'_>) -> io::Result<()> {
        match event {
            Event::Started(started) => self.0.borrow_mut().started = Some((**started).clone()),
            Event::Ended(record) => self.0.borrow_mut().record = Some((**record).clone()),
            _ => {}
        }
        Ok(())
    }
}

/// A reporter for a plan that is only to be parsed.
pub fn no_reporter() -> Box<dyn Reporter> {
    Box::new(RecordCapture(Rc::default()))
}

/// Runs plans for a command.
pub struct Experiment<'a> {
    pub world: &'a mut World,
    /// What was typed, with the first of its runs that is kept.
    pub asked: TypedCommand,
    /// Whether the history keeps the single runs.
    pub keep: Keep,
    /// The simulated device that lasts from run to run; none: each has a new one.
    pub device: Option<LastingDevice>,
    /// Whether what the first run makes stays for the others and goes when all are over, from where each rank made it.
    pub lasts: bool,
    /// Whether no witness watches the runs, and their end by a signal is nothing to tell.
    pub is_unwatched: bool,
    is_begun: bool,
}

impl<'a> Experiment<'a> {
    /// The history keeps the runs as parts of the first one.
    pub fn new(world: &'a mut World, name: &str, arguments: &[String]) -> Self {
        let asked = TypedCommand { first: Some(Rc::default()), ..TypedCommand::new(name, arguments, true) };
        Experiment {
            world,
            asked,
            keep: Keep::default(),
            device: None,
            lasts: false,
            is_unwatched: false,
            is_begun: false,
        }
    }

    /// Runs a plan, which an error message calls `what`; its start and its record.
    ///
    /// # Errors
    /// The exit status; the reason was printed. Of an interrupted run 128 + its signal.
    pub fn run(&mut self, mut plan: Plan, what: &str) -> Result<(RunStart, Record), u8> {
        if self.lasts {
            let is_first = !std::mem::replace(&mut self.is_begun, true);
            plan.targets.iter_mut().for_each(|target| target.remove = is_first);
        }
        let taken = Rc::new(RefCell::new(CapturedRecord::default()));
        let targets: Vec<String> = plan.targets.iter().map(|target| target.name.clone()).collect();
        let mut run = native::request(plan, Box::new(RecordCapture(Rc::clone(&taken))));
        run.live_ns = 0;
        run.unwatched = self.is_unwatched;
        run.keep = self.keep.clone();
        let policy = OutputPolicy {
            asked: self.asked.clone(),
            quiet: true,
            device: self.device.clone(),
            stays: self.lasts,
            ..OutputPolicy::from_environment()
        };
        let status = session::answer(self.world, Ok(Request::Run(Box::new(run))), &policy);
        let taken = taken.take();
        match (status, taken.started, taken.record) {
            (0, Some(started), Some(record)) => Ok((started, record)),
            (status, ..) if status > 128 && self.is_unwatched => Err(status),
            (status, _, record) => {
                record.iter().flat_map(|record| &record.errors).for_each(say);
                let reason = record.and_then(|record| reason(&record, &targets));
                let reason = reason.map(|reason| format!(": {reason}")).unwrap_or_default();
                say(format_args!("error: {what} ended with status {status}{reason}"));
                Err(status.max(1))
            }
        }
    }
}

impl Drop for Experiment<'_> {
    fn drop(&mut self) {
        if let Some(id) = self.asked.first.as_ref().and_then(|first| first.get()) {
            progress(&format!("kept as run {id}: iodyno runs show {id}"));
        }
    }
}

/// What ended the first worker that failed; none: none did, or an error of the run says it.
fn reason(record: &Record, targets: &[String]) -> Option<String> {
    if !record.errors.is_empty() {
        return None;
    }
    let jobs = record.phases.iter().flat_map(|phase| &phase.jobs);
    let mut workers = jobs.flat_map(|job| job.workers.iter().map(move |worker| (job, worker)));
    workers.find_map(|(job, worker)| {
        let fatal = worker.fatal.as_ref().filter(|fatal| fatal.errno > 0);
        let told = fatal.map(|fatal| {
            let target = fatal.target.and_then(|target| targets.get(target as usize));
            let verb = fatal.verb.map_or("start", Verb::name);
            let why = plain(&io::Error::from_raw_os_error(fatal.errno));
            format!("{verb} of {}: {why}", target.map_or("a target", String::as_str))
        });
        Some(format!("{}: {}", job.name, worker.failure.clone().or(told)?))
    })
}

/// Tells a person at a terminal how far it is.
pub fn progress(what: &str) {
    if io::stderr().is_terminal() {
        say(what);
    }
}

/// The best engine of this machine that keeps several operations in flight, or the one that was asked for.
///
/// # Errors
/// There is none, or not that one.
pub fn engine(asked: Option<&str>, loader: &dyn Loader) -> Result<String, Diagnostic> {
    let known = engine_choice::ASYNCHRONOUS;
    if let Some(asked) = asked {
        let origin = Origin::argument(&format!("--engine {asked}"));
        if !known.contains(&asked) {
            return Err(Diagnostic::error(
                &origin,
                "no engine of that name keeps several operations in flight",
            )
            .hint(format!("one of {}", known.join(", "))));
        }
        return match loader.engine_available(asked) {
            Ok(()) => Ok(asked.into()),
            Err(why) => {
                Err(Diagnostic::error(&origin, why).hint("leave --engine out to take the best that works"))
            }
        };
    }
    known.into_iter().find(|name| loader.engine_available(name).is_ok()).map(String::from).ok_or_else(|| {
        Diagnostic::error(&Origin::Default, "no engine that keeps several operations in flight works here")
            .hint("iodyno engines tells what is missing")
    })
}
