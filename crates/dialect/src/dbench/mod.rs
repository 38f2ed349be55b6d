//! dbench: what the clients of a file server ask for, from a load file, with its line a second and its table.
//!
//! ```text
//!   argv ─ command ─► DbenchLine ─ settings, load file ─► Settings ─ lower ─► Plan ─► events ─ report ─► text
//! ```
//! It speaks to file systems alone: what speaks to servers over a network is refused.

pub(crate) mod advice;
pub mod command;
pub mod lower;
pub mod options;
pub mod report;
pub mod settings;

use iodyno_model::Diagnostic;

use crate::{Dialect, Loader, Request, Run, status};
use report::Report;

pub const DIALECT: Dialect = Dialect {
    name: "dbench",
    about: "what clients ask of a file server, from a load file (dbench)",
    drop_in: true,
    also: &[],
    lower: request,
};

/// The version whose output this is.
pub const VERSION: &str = "4.00";

fn request(arguments: &[String], loader: &mut dyn Loader) -> Result<Request, Vec<Diagnostic>> {
    read(arguments, loader).or_else(|wrong| Ok(Request::refuse(&wrong, 1)))
}

fn read(arguments: &[String], loader: &mut dyn Loader) -> Result<Request, Vec<Diagnostic>> {
    let line = command::parse(arguments)?;
    if let Some(out) = options::help(&line.options) {
        return Ok(Request::Print { out, status: 0 });
    }
    let settings = settings::judge(&line, loader)?;
    let plan = lower::plan(&settings);
    let second = 1_000_000_000;
    Ok(Request::Run(Box::new(Run {
        messages: settings.notes.clone(),
        live_ns: second,
        interim_ns: second,
        own_voice: true,
        dies_of_signals: true,
        translate: advice::translate,
        status: Some(Box::new(status::usual)),
        ..Run::of(plan, Box::new(Report::new(settings)))
    })))
}
