//! dd: copies blocks and says how fast, in GNU's operands and GNU's words.
//!
//! Below the words there is nothing of dd: the plan is a script of two steps like any other.

pub(crate) mod advice;
pub mod amount;
mod charset;
pub mod command;
pub mod lower;
pub mod number;
pub mod options;
pub mod quote;
pub mod report;

use iodyno_model::Diagnostic;

use crate::{Dialect, Loader, Request, Run};
use command::EarlyExit;
use quote::Marks;
use report::Report;

pub const DIALECT: Dialect = Dialect {
    name: "dd",
    about: "copy blocks and report the rate (GNU dd)",
    drop_in: true,
    also: &[],
    lower: request,
};

fn request(arguments: &[String], loader: &mut dyn Loader) -> Result<Request, Vec<Diagnostic>> {
    let planned = command::parse(arguments, marks(loader)).and_then(|operands| {
        let (plan, warnings) = lower::lower(&operands, loader)?;
        Ok((operands, plan, warnings))
    });
    let (operands, plan, warnings) = match planned {
        Ok(planned) => planned,
        Err(instead) => return Ok(printed(instead, &loader.machine().version)),
    };
    let reads_forgiven = operands.converts("noerror");
    Ok(Request::Run(Box::new(Run {
        live_ns: if operands.level == Some("progress") { 1_000_000_000 } else { 0 },
        dies_of_signals: true,
        own_voice: true,
        translate: advice::translate,
        reads_forgiven,
        ..Run::of(plan, Box::new(Report::new(&operands, warnings)))
    })))
}

fn marks(loader: &dyn Loader) -> Marks {
    let set = |name: &&str| loader.variable(name).filter(|value| !value.is_empty());
    Marks::of_locale(["LC_ALL", "LC_CTYPE", "LANG"].iter().find_map(set).as_deref())
}

fn printed(instead: EarlyExit, version: &str) -> Request {
    match instead {
        EarlyExit::Help => Request::Print { out: options::help(), status: 0 },
        EarlyExit::Version => {
            let version = if version.is_empty() { env!("CARGO_PKG_VERSION") } else { version };
            Request::Print { out: format!("dd (iodyno) {version}\n"), status: 0 }
        }
        EarlyExit::Usage(message) => Request::Refuse {
            err: format!("dd: {message}\nTry 'dd --help' for more information.\n"),
            status: 1,
        },
        EarlyExit::Error(message) => Request::Refuse { err: format!("dd: {message}\n"), status: 1 },
    }
}
