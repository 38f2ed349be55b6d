//! vdbench: its parameter files as they are, its console and its folder of results.
//!
//! ```text
//!   files ─ scan ─► parameters ─ definition ─► hd sd wd fsd fwd rd ─ runs ─► runs in their order
//!         ─ lower ─► Plan and ReportContext ─► events ─ report ─► console and pages
//! ```
//! There are no Java processes: threads are those of one process on each host, and hosts are ranks over ssh. It refuses
//! what belongs to Java, Solaris or Swat, each by name and line.

pub(crate) mod advice;
pub mod command;
pub mod definition;
pub mod lower;
pub mod options;
mod output_folder;
mod quick;
pub mod report;
pub mod runs;
pub mod scan;
pub mod settings;
#[cfg(test)]
mod tests;
pub mod view;

use iodyno_model::{Diagnostic, Record};

use crate::fio::lower::blocks::common;
use crate::{Dialect, Loader, Request, Run, status};
use command::Command;
use definition::{Definitions, MistakeList};
use lower::{LoweredRuns, Sites, Whereabouts};
use runs::{RequestedRate, RunPoint};
use view::ReportContext;

pub const DIALECT: Dialect = Dialect {
    name: "vdbench",
    about: "storage, workload and run definitions of vdbench, with its reports",
    drop_in: true,
    also: &[],
    lower: request,
};

/// Mistakes are told with their places and hints: the original stops at the first one, in words of its own.
fn request(arguments: &[String], loader: &mut dyn Loader) -> Result<Request, Vec<Diagnostic>> {
    read(arguments, loader).or_else(|wrong| Ok(Request::refuse(&wrong, 1)))
}

fn read(arguments: &[String], loader: &mut dyn Loader) -> Result<Request, Vec<Diagnostic>> {
    let command = command::parse(arguments).map_err(|wrong| vec![wrong])?;
    if command.help || command.version {
        let version = || format!("vdbench50407 (iodyno {})\n", env!("CARGO_PKG_VERSION"));
        let out = if command.help { options::help() } else { version() };
        return Ok(Request::Print { out, status: 0 });
    }
    let (all, lines) = definitions(&command, loader)?;
    let mut wrong = MistakeList::default();
    let points = runs::points(&all, &command, &mut wrong);
    if !wrong.0.is_empty() {
        return Err(wrong.0);
    }
    let sites = match Sites::of(&all, loader)? {
        Whereabouts::Here(sites) => sites,
        Whereabouts::There(there) => return Ok(Request::Hosts(there)),
    };
    let mut lowered = lower::plan(&all, &points, &command, &sites, loader)?;
    repeat(&mut lowered, &all, &command);
    if command.simulate {
        return Ok(Request::Print { out: simulated(&points), status: 0 });
    }
    let folder = output_folder::choose(&command, loader).map_err(|wrong| vec![wrong])?;
    let buckets = report::buckets(all.general.values("histogram")).map_err(|fragment| {
        let wrong = Diagnostic::error(all.general.place("histogram"), format!("`histogram=`: {fragment}"));
        vec![wrong.hint("histogram=(default,20,40,1m,1s)")]
    })?;
    let LoweredRuns { plan, runs, columns, abandoned, .. } = lowered;
    let interim_ns = interim_ns(&runs);
    let view = ReportContext {
        folder,
        of_files: !all.file_systems.is_empty(),
        runs,
        words: words(&command),
        lines,
        east_s: loader.east_s(),
        megabyte: if command.decimal { 1e6 } else { 1_048_576.0 },
        buckets,
        columns,
    };
    let messages = [command.notes, all.notes].concat();
    Ok(Request::Run(Box::new(Run {
        messages,
        abandoned,
        interim_ns,
        own_voice: true,
        translate: advice::translate,
        status: Some(Box::new(exit_status)),
        ..Run::of(plan, report::reporter(view))
    })))
}

/// Everything that the files say, and their lines.
fn definitions(
    command: &Command,
    loader: &mut dyn Loader,
) -> Result<(Definitions, Vec<String>), Vec<Diagnostic>> {
    let scanned = match command.quick {
        Some(files) => scan::read_text(options::quick_test(files), &command.extra),
        None => scan::read(&command.files, &command.variables, &command.extra, loader),
    }?;
    let mut wrong = MistakeList::default();
    let all = definition::define(scanned.parameters, &mut wrong);
    if !all.storage.is_empty() && !all.file_systems.is_empty() {
        let hint = "use a file of its own for each";
        wrong.add(&all.file_systems[0].origin, "sd= and fsd= are not for one command", hint);
    }
    match wrong.0.is_empty() {
        true => Ok((all, scanned.lines)),
        false => Err(wrong.0),
    }
}

/// `-l` and `loop=` do all runs again.
fn repeat(lowered: &mut LoweredRuns, all: &Definitions, command: &Command) {
    let times = command.loops.or(all.general.number("loop").map(|number| number as u32)).unwrap_or(1);
    lowered.plan.repeat.times = times.max(1);
}

/// How often the report wants to hear of a run: the common divisor of all intervals.
fn interim_ns(runs: &[view::RunView]) -> u64 {
    runs.iter().map(|run| run.times.interval).fold(0, common).max(1) * settings::SECOND
}

/// The words of the command line, an option with its value in one.
fn words(command: &Command) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    for word in &command.words {
        match words
            .last_mut()
            .filter(|last| last.len() == 2 && last.starts_with('-') && !word.starts_with('-'))
        {
            Some(last) => *last += word,
            None => words.push(word.clone()),
        }
    }
    words
}

/// What `-s` prints.
fn simulated(points: &[RunPoint]) -> String {
    let line = |point: &RunPoint| {
        let rate = match point.rate {
            RequestedRate::Max => "Uncontrolled MAX".to_string(),
            RequestedRate::Curve => "Uncontrolled curve".into(),
            RequestedRate::Number(rate) => format!("{rate}"),
            RequestedRate::Percent { percent, .. } => format!("{percent}% of the maximum"),
        };
        format!("Simulating RD={}; I/O rate: {rate}; For loops: {}\n", point.title, point.loops)
    };
    points.iter().map(line).collect()
}

fn exit_status(record: &Record) -> u8 {
    status::usual(record)
}
