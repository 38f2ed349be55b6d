//! filebench: scripts of the workload model language, versions 1.4 and 1.5, run in one process tree.
//!
//! ```text
//!   text ─ lexer ─ parser ─► statements ─ lower ─► Plan and ReportContext ─► events ─ report ─► text
//!                                 (session: statement by statement; flowop_compiler: flowops to steps;
//!                                  filesets: to targets; random_variable: to sizes)
//! ```
//! What the original gets wrong is not repeated: a mistake in a script exits with 1, nothing measured is thrown away, an
//! opening that nobody wrote is no operation of the flowop that needed it.

pub(crate) mod advice;
pub mod command;
pub mod flowops;
pub mod lexer;
pub mod library;
pub mod lower;
pub mod options;
pub mod parser;
pub mod random_variable;
mod reader;
pub mod report;
pub mod script;
pub mod value;
pub mod view;

use iodyno_model::{Diagnostic, Origin};

use crate::{Dialect, Loader, Request, Run};
use command::Command;
use lower::LoweringResult;
use lower::session;
use report::TextReporter;

pub const DIALECT: Dialect = Dialect {
    name: "filebench",
    about: "workloads written as processes, threads and flowops (filebench)",
    drop_in: true,
    also: &[],
    lower: request,
};

const DISTRIBUTIONS: &str = include_str!("distributions.txt");

/// Mistakes are told with their places and hints, as the original tells none.
fn request(arguments: &[String], loader: &mut dyn Loader) -> Result<Request, Vec<Diagnostic>> {
    read(arguments, loader).or_else(|wrong| Ok(Request::refuse(&wrong, 1)))
}

fn read(arguments: &[String], loader: &mut dyn Loader) -> Result<Request, Vec<Diagnostic>> {
    let command = command::parse(arguments).map_err(|wrong| vec![wrong])?;
    let Command { file: Some(path), distributions: false, version: false, .. } = &command else {
        let (out, status) = match () {
            () if command.version => {
                (format!("Filebench Version 1.5-alpha3 (iodyno {})\n", env!("CARGO_PKG_VERSION")), 0)
            }
            () if command.distributions => (DISTRIBUTIONS.to_string(), 0),
            () => (options::help(), i32::from(!command.help)),
        };
        return Ok(Request::Print { out, status });
    };
    let (text, _) = session::source(path, loader).map_err(|reason| {
        vec![Diagnostic::error(&Origin::argument(path), reason).hint(library::hint(path))]
    })?;
    let (plan, view, notes) = match lower::lower(&command, path, &text, loader)? {
        LoweringResult::Text(out) => return Ok(Request::Print { out, status: 0 }),
        LoweringResult::Plan { plan, view, notes } => (plan, view, notes),
    };
    let interim_ns = (view.every() * 1e9) as u64;
    Ok(Request::Run(Box::new(Run {
        messages: notes,
        interim_ns,
        tells_passes: true,
        translate: advice::translate,
        ..Run::of(*plan, Box::new(TextReporter::new(view)))
    })))
}

#[cfg(test)]
mod tests;
