//! fio: job files and command lines as they are, reports in its own layout.
//!
//! ```text
//!   argv, job files ─ syntax ─► Settings of each job ─ lower ─► Plan and View ─ the engine room ─► events ─ report ─► text
//! ```
//! It refuses the server (no authentication, and jobs may run shell commands), and engines whose hardware or library is
//! not here, each by name with what to use instead.

pub mod command;
pub mod file;
pub mod gather;
pub mod help;
pub mod number;
pub mod options;
pub mod orders;
pub mod program;
pub mod section;
pub mod settings;
pub mod show;
pub mod value;
pub mod view;

#[cfg(test)]
mod testing;

use iodyno_model::Diagnostic;

use crate::{Dialect, Loader, Request};
use orders::{Instead, Orders};

/// The version that reports and `--version` name: that of the layouts we write, with our own name behind it.
pub const VERSION: &str = "fio-3.42";

/// The dialect.
pub const DIALECT: Dialect =
    Dialect { name: "fio", about: "flexible I/O jobs from files or arguments (fio)", drop_in: true, lower: request };

fn request(arguments: &[String], loader: &mut dyn Loader) -> Result<Request, Vec<Diagnostic>> {
    let orders = match orders::orders(arguments, loader) {
        Ok(orders) => orders,
        Err(problems) => return Ok(Request::Refuse { err: section::told(&problems), status: 1 }),
    };
    match orders.instead {
        Some(ref instead) => Ok(instead_of_a_run(instead)),
        None => run(orders, loader),
    }
}

fn instead_of_a_run(instead: &Instead) -> Request {
    let (out, status) = match instead {
        Instead::Version => (format!("{VERSION}\n"), 0),
        Instead::Help => (help::usage(), 0),
        Instead::OptionHelp(name) => help::option(name),
        Instead::EngineHelp(name) => help::engine(name),
        Instead::Commands(files) => (show::commands(files), 0),
        Instead::ParseOnly => (String::new(), 0),
        Instead::ClockTest => (help::CLOCK.to_string(), 0),
        Instead::ChecksumTest(names) => help::checksums(names),
        Instead::Nothing => {
            return Request::Refuse { err: format!("No job(s) defined\n\n{}", help::usage()), status: 1 };
        }
    };
    Request::Print { out, status }
}

fn run(_orders: Orders, _loader: &mut dyn Loader) -> Result<Request, Vec<Diagnostic>> {
    Ok(Request::Refuse { err: "fio: running jobs is not wired up yet\n".into(), status: 1 })
}
