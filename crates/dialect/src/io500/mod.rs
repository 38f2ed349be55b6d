//! io500: the thirteen phases of the IO500 list in one run, with their parameters, their score and their result files.
//!
//! ```text
//!   config.ini ─► config ─► phases: a command line each ─► ior, mdtest, find ─► lower: one plan
//!   events ─► report ─► a line a phase, the score, result.txt
//! ```
//! It prepares for a submission and compares; it refuses to be one: the rules name the programs that must run.

pub(crate) mod advice;
pub mod config;
pub mod lower;
pub mod options;
pub mod phases;
pub mod report;
pub mod score;

use iodyno_model::{Diagnostic, Origin, Record};

use crate::run_options::RunOptions;
use crate::{Dialect, Keep, Loader, PathKind, ReportFile, Request, Run, date};
use config::Config;
use phases::{PHASES, Places};
use report::Io500Reporter;

pub const DIALECT: Dialect = Dialect {
    name: "io500",
    about: "the thirteen phases of the IO500 list, with score and result files (not for submission)",
    drop_in: false,
    also: &[],
    lower: request,
};

const HELP: &str = include_str!("help.txt");

/// What the command line says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Cli {
    path: Option<String>,
    mini: Option<String>,
    dry_run: bool,
    list: bool,
    help: bool,
    keep: Keep,
    run_options: RunOptions,
    details: bool,
    files: Vec<ReportFile>,
}

fn parse(arguments: &[String]) -> Result<Cli, Vec<Diagnostic>> {
    let mut wanted = Cli::default();
    let wrong = |argument: &str, what: &str, hint: &str| {
        vec![Diagnostic::error(&Origin::argument(argument), what).hint(hint)]
    };
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        let mut value =
            |missing: &str, hint: &str| rest.next().cloned().ok_or_else(|| wrong(argument, missing, hint));
        match argument.as_str() {
            "--help" | "-h" => wanted.help = true,
            "--dry-run" => wanted.dry_run = true,
            "--list" => wanted.list = true,
            "--details" => wanted.details = true,
            "--mode=standard" => {}
            "--no-save" => wanted.keep.wanted = Some(false),
            "--tag" => {
                wanted.keep.wanted = Some(true);
                wanted.keep.tags.push(value("no name follows", "iodyno io500 --tag before CONFIG.ini")?);
            }
            "--fail-if" | "--repeat" => {
                let hint = "iodyno io500 --help says what is expected";
                let value = value("nothing follows", hint)?;
                let taken = wanted.run_options.word(&argument[2..], Some(&value));
                taken.map_err(|what| wrong(argument, &what, hint))?;
            }
            "--json" | "--csv" | "--html" => {
                let path = value("no file follows", "iodyno io500 CONFIG.ini --json out.json")?;
                wanted.files.push(ReportFile { path, format: argument[2..].into() });
            }
            "--mini" => wanted.mini = Some(value("no directory follows", "iodyno io500 --mini .")?),
            "--mode=extended" => {
                let hint = "leave it out: mode standard";
                return Err(wrong(argument, "the extended mode is not served", hint));
            }
            "--cleanup" => {
                let hint = "remove the directory of the data";
                return Err(wrong(argument, "nothing is left to clean up by phases", hint));
            }
            // How much is said does not depend on it.
            verbosity if verbosity.starts_with("-v=") => {}
            option if option.starts_with('-') => {
                return Err(wrong(option, "no such option", "iodyno io500 --help lists them"));
            }
            path if wanted.path.is_none() => wanted.path = Some(path.into()),
            _ => return Err(wrong(argument, "a second configuration file", "name one")),
        }
    }
    Ok(wanted)
}

/// Sizes that a laptop takes in half a minute.
fn mini(folder: &str) -> Result<Config, Vec<Diagnostic>> {
    let text = format!(
        "[global]\ndatadir = {folder}/io500-mini/data\nresultdir = {folder}/io500-mini/results\n\
         [debug]\nstonewall-time = 1\n[ior-easy]\ntransferSize = 1m\nblockSize = 256m\n\
         [ior-hard]\nsegmentCount = 2000\n[mdtest-easy]\nn = 5000\n[mdtest-hard]\nn = 2000\n"
    );
    Config::read("--mini", &text)
}

fn configuration(wanted: &Cli, loader: &mut dyn Loader) -> Result<Config, Vec<Diagnostic>> {
    if let Some(folder) = &wanted.mini {
        if loader.look(folder).is_none_or(|facts| facts.kind != PathKind::Directory) {
            let wrong =
                Diagnostic::error(&Origin::argument("--mini"), format!("{folder}: no such directory"));
            return Err(vec![wrong.hint("name a directory that exists")]);
        }
        return mini(folder);
    }
    let Some(path) = &wanted.path else {
        let wrong = Diagnostic::error(&Origin::argument("io500"), "no configuration file was named");
        return Err(vec![
            wrong.hint("iodyno io500 --list > config.ini; iodyno io500 --mini . for a first look"),
        ]);
    };
    let told = |error: String| vec![Diagnostic::error(&Origin::argument(path), error)];
    let bytes = loader.read(path).map_err(told)?;
    Config::read(path, &String::from_utf8_lossy(&bytes))
}

fn request(arguments: &[String], loader: &mut dyn Loader) -> Result<Request, Vec<Diagnostic>> {
    let wanted = parse(arguments)?;
    if wanted.help {
        return Ok(Request::Print { out: HELP.into(), status: 0 });
    }
    let config = match wanted.list && wanted.path.is_none() && wanted.mini.is_none() {
        true => Config::default(),
        false => configuration(&wanted, loader)?,
    };
    if wanted.list {
        let out = options::list(|section, key| config.text(section, key).into());
        return Ok(Request::Print { out, status: 0 });
    }
    let places = places(&config, loader.now_unix_ns());
    if wanted.dry_run {
        let lines = PHASES.iter().filter(|kind| kind.runs(&config));
        let line = |kind: &phases::PhaseKind| {
            format!("[{}]\nexe = {}\n\n", kind.name, kind.command(&config, &places).join(" "))
        };
        return Ok(Request::Print { out: lines.map(line).collect(), status: 0 });
    }
    let (mut plan, pieces) = lower::lower(&config, &places, loader)?;
    wanted.run_options.apply(&mut plan, "").map_err(|wrong| vec![wrong])?;
    let reporter = Io500Reporter {
        pieces,
        places,
        ruled_s: phases::ruled_stonewall_s(&config),
        stonewall_s: phases::stonewall_s(&config),
        config_hash: config.hash(),
        mode: if config.flag("global", "scc") { "scc" } else { "standard" },
        tasks: loader.world().ranks(),
        ..Io500Reporter::default()
    };
    Ok(Request::Run(Box::new(Run {
        files: wanted.files,
        keep: wanted.keep,
        details: wanted.details,
        translate: advice::translate,
        status: Some(Box::new(status)),
        ..Run::of(plan, Box::new(reporter))
    })))
}

/// The directories of the data and of the results, each run's own where the configuration says so.
fn places(config: &Config, now_unix_ns: u64) -> Places {
    let stamp = date::stamp(now_unix_ns, 0).replace('-', ".").replace(' ', "-").replace(':', ".");
    let place = |folder: &str, stamped: &str| match config.flag("global", stamped) {
        true => format!("{}/{stamp}", config.text("global", folder)),
        false => config.text("global", folder).to_string(),
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
