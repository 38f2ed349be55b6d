//! bonnie++: its tests of one large file and of many small ones, with its tables and its line of values.
//!
//! ```text
//!   argv ─ command ─► options ─ settings ─► Settings ─ lower ─► Plan and parts ─► events ─ report ─► text
//! ```
//! It refuses what the original refuses, by the option's place: root without a user, a file of less than twice the memory.

pub(crate) mod advice;
pub mod command;
pub mod lower;
pub mod options;
pub mod report;
pub mod settings;
pub mod view;

use iodyno_model::Diagnostic;

use crate::{Dialect, Loader, Request, Run, status};
use report::Report;
use view::ReportContext;

pub const DIALECT: Dialect = Dialect {
    name: "bonnie++",
    about: "a large file byte by byte, in chunks and in seeks, and many small files (bonnie++)",
    drop_in: true,
    also: &[],
    lower: request,
};

fn request(arguments: &[String], loader: &mut dyn Loader) -> Result<Request, Vec<Diagnostic>> {
    read(arguments, loader).or_else(|wrong| Ok(Request::refuse(&wrong, 1)))
}

fn read(arguments: &[String], loader: &mut dyn Loader) -> Result<Request, Vec<Diagnostic>> {
    let given = command::parse(arguments)?;
    let has = |name: &str| given.iter().any(|option| option.name == name);
    if has("h") {
        return Ok(Request::Print { out: options::help(), status: 0 });
    }
    if has("version") {
        let out = format!("bonnie++ {} (iodyno {})\n", report::VERSION, env!("CARGO_PKG_VERSION"));
        return Ok(Request::Print { out, status: 0 });
    }
    let settings = settings::judge(&given, loader)?;
    let messages = settings.notes.clone();
    let (plan, parts) = lower::plan(&settings);
    let view = ReportContext { settings, parts };
    Ok(Request::Run(Box::new(Run {
        messages,
        own_voice: true,
        dies_of_signals: true,
        translate: advice::translate,
        status: Some(Box::new(status::usual)),
        ..Run::of(plan, Box::new(Report::new(view)))
    })))
}
