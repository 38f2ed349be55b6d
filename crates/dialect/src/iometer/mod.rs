//! IOMeter: its configuration files (`.icf`) as they are, its results as comma-separated values.
//!
//! ```text
//!   file ─ icf ─► entries ─ settings ─► Settings ─ cycle, lower ─► Plan and View ─► events ─ report ─► CSV
//! ```
//! There is no window and no daemon: managers are this machine, or the ranks of several hosts. It refuses what belongs to
//! Windows or to networks, each by name and line, and never skips an entry that it does not know.

pub mod advice;
pub mod command;
pub mod cycle;
pub mod icf;
pub mod lower;
pub mod options;
pub mod report;
pub mod settings;
pub mod specification;
#[cfg(test)]
mod tests;

use iodyno_model::{Diagnostic, Origin};

use crate::{Dialect, Loader, ReportFile, Request, Run, status};
use report::ReportContext;

pub const DIALECT: Dialect = Dialect {
    name: "iometer",
    about: "access specifications, workers and targets of an IOMeter configuration (.icf)",
    drop_in: true,
    also: &[],
    lower: request,
};

/// Everything that is wrong, each with its place and a hint: there is no original command line whose words would be kept.
fn request(arguments: &[String], loader: &mut dyn Loader) -> Result<Request, Vec<Diagnostic>> {
    let request = match command::parse(arguments) {
        Ok(command::Command { text: Some(out), .. }) => Ok(Request::Print { out, status: 0 }),
        Ok(command) => run(&command, loader).map(|run| Request::Run(Box::new(run))),
        Err(wrong) => Err(vec![wrong]),
    };
    request.or_else(|wrong| Ok(Request::refuse(&wrong, 2)))
}

fn run(command: &command::Command, loader: &mut dyn Loader) -> Result<Run, Vec<Diagnostic>> {
    let unreadable = |why: String| {
        let wrong = Diagnostic::error(&Origin::argument(&command.file), why);
        vec![wrong.hint("an IOMeter configuration: iodyno iometer FILE.icf")]
    };
    let bytes = loader.read(&command.file).map_err(unreadable)?;
    let text = crate::text_file::text(&bytes).map_err(unreadable)?;
    let entries = icf::entries(&command.file, &text)?;
    let configuration = settings::read(&command.file, &entries)?;
    let lowered = lower::plan(&configuration, command, loader)?;
    let view = ReportContext {
        configuration,
        parts: lowered.parts,
        began_unix_ns: loader.now_unix_ns(),
        east_s: loader.east_s(),
        results: command.results.clone(),
    };
    Ok(Run {
        files: command.results.iter().map(|path| ReportFile::own(path)).collect(),
        own_voice: true,
        translate: advice::translate,
        status: Some(Box::new(status::usual)),
        ..Run::of(lowered.plan, report::reporter(view))
    })
}
