//! smallfile: one kind of operation on many small files by several threads, with its text, JSON and response times.
//!
//! ```text
//!   argv, YAML file ─ command ─► options ─ settings ─► Settings ─ lower ─► Plan ─► events ─ report ─► text, JSON, CSV
//! ```
//! The original is in no registry: this follows its documentation, and was never run beside it. What it does over the network by
//! files in a shared directory is the launcher's and ours here.

pub(crate) mod advice;
pub mod command;
pub mod lower;
pub mod options;
pub mod report;
pub mod settings;

use iodyno_model::Diagnostic;

use crate::hosts::Elsewhere;
use crate::{Dialect, Loader, ReportFile, Request, Run, status};
use report::Report;

pub const DIALECT: Dialect = Dialect {
    name: "smallfile",
    about: "one operation on many small files by several threads (smallfile)",
    drop_in: true,
    also: &[],
    lower: request,
};

/// The version whose output this is.
pub const VERSION: &str = "3.1";

fn request(arguments: &[String], loader: &mut dyn Loader) -> Result<Request, Vec<Diagnostic>> {
    read(arguments, loader).or_else(|wrong| Ok(Request::refuse(&wrong, 1)))
}

fn read(arguments: &[String], loader: &mut dyn Loader) -> Result<Request, Vec<Diagnostic>> {
    let options = command::parse(arguments, loader)?;
    if options.is_given("help") {
        return Ok(Request::Print { out: options::help(), status: 0 });
    }
    if options.is_given("version") {
        return Ok(Request::Print { out: format!("smallfile {VERSION}\n"), status: 0 });
    }
    let settings = settings::judge(&options, loader)?;
    // Where it was sent to other hosts, it is there already.
    if !settings.hosts.is_empty() && loader.world().library.is_none() {
        return Ok(Request::Hosts(Elsewhere { hosts: settings.hosts, ..Elsewhere::default() }));
    }
    let plan = lower::plan(&settings);
    let files = settings.json.iter().map(|path| ReportFile::own(path)).collect();
    Ok(Request::Run(Box::new(Run {
        messages: settings.notes.clone(),
        files,
        own_voice: true,
        dies_of_signals: true,
        translate: advice::translate,
        status: Some(Box::new(status::usual)),
        ..Run::of(plan, Box::new(Report::new(settings)))
    })))
}
