//! io500: the thirteen phases of the IO500 list in one run, with their parameters, their score and their result files.
//!
//! ```text
//!   argv ─ command, config.ini ─► settings ─► phases: a command line each ─► ior, mdtest, find ─► lower: one plan
//!   events ─► report ─► a line a phase, the score, result.txt
//! ```
//! It prepares for a submission and compares; it refuses to be one: the rules name the programs that must run.

pub(crate) mod advice;
pub mod command;
pub mod keys;
pub mod logs;
pub mod lower;
pub mod options;
pub mod phases;
pub mod report;
pub mod score;
pub mod settings;

use iodyno_model::{Diagnostic, Record};

use crate::{Dialect, Loader, Request, Run, date};
use phases::{PHASES, Places};
use report::Io500Reporter;
use settings::Settings;

pub const DIALECT: Dialect = Dialect {
    name: "io500",
    about: "the thirteen phases of the IO500 list, with score and result files (not for submission)",
    drop_in: false,
    also: &[],
    lower: request,
};

fn request(arguments: &[String], loader: &mut dyn Loader) -> Result<Request, Vec<Diagnostic>> {
    let command = command::parse(arguments)?;
    if command.help || command.version {
        let out = if command.help { options::help() } else { options::version() };
        return Ok(Request::Print { out, status: 0 });
    }
    let settings = Settings::of(&command, loader)?;
    if command.list {
        let out = keys::list(|section, key| settings.text(section, key).into());
        return Ok(Request::Print { out, status: 0 });
    }
    let places = places(&settings, loader.now_unix_ns());
    if command.dry_run {
        let lines = PHASES.iter().filter(|kind| kind.runs(&settings));
        let line = |kind: &phases::PhaseKind| {
            format!("[{}]\nexe = {}\n\n", kind.name, kind.command(&settings, &places).join(" "))
        };
        return Ok(Request::Print { out: lines.map(line).collect(), status: 0 });
    }
    let (mut plan, pieces, logs) = lower::lower(&settings, &places, loader)?;
    command.run_options.apply(&mut plan, "").map_err(|wrong| vec![wrong])?;
    let reporter = Io500Reporter {
        pieces,
        logs,
        configuration: [
            settings.source.clone(),
            keys::list(|section, key| settings.text(section, key).into()),
        ],
        places,
        ruled_s: phases::ruled_stonewall_s(&settings),
        stonewall_s: phases::stonewall_s(&settings),
        config_hash: settings.hash(),
        mode: if settings.flag("global", "scc") { "scc" } else { "standard" },
        tasks: loader.world().ranks(),
        ..Io500Reporter::default()
    };
    Ok(Request::Run(Box::new(Run {
        files: command.files,
        keep: command.keep,
        details: command.details,
        translate: advice::translate,
        status: Some(Box::new(status)),
        ..Run::of(plan, Box::new(reporter))
    })))
}

/// The directories of the data and of the results, each run's own where the configuration says so.
fn places(settings: &Settings, now_unix_ns: u64) -> Places {
    let stamp = date::stamp(now_unix_ns, 0).replace('-', ".").replace(' ', "-").replace(':', ".");
    let place = |folder: &str, stamped: &str| match settings.flag("global", stamped) {
        true => format!("{}/{stamp}", settings.text("global", folder)),
        false => settings.text("global", folder).to_string(),
    };
    Places { data: place("datadir", "timestamp-datadir"), results: place("resultdir", "timestamp-resultdir") }
}

/// Whatever failed, or brought wrong data, is a failure of the run.
fn status(record: &Record) -> u8 {
    let jobs = || record.phases.iter().flat_map(|phase| &phase.jobs);
    match record.stopped_by {
        Some(signal) => (128 + signal) as u8,
        None => u8::from(!record.errors.is_empty() || jobs().any(|job| job.tally.failed() > 0)),
    }
}
