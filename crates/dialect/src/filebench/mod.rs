//! filebench: scripts of the workload model language, versions 1.4 and 1.5, run in one process tree.
//!
//! ```text
//!   text ─ lexer ─ parser ─► commands ─ session ─► Plan and View ─► events ─ text ─► report
//!                                 (weave: flowops to steps, places: filesets to targets, draw: random variables)
//! ```
//! What the original gets wrong is not repeated: a mistake in a script exits with 1, nothing measured is thrown away, an
//! opening that nobody wrote is no operation of the flowop that needed it.

pub(crate) mod advice;
pub mod clients;
mod counts;
pub mod document;
mod extension_options;
pub mod filesets;
mod flowop_compiler;
pub mod flowops;
pub mod lexer;
pub mod library;
pub mod parser;
pub mod random_variable;
mod reader;
mod running;
pub mod script;
pub mod session;
mod stats;
pub mod text;
pub mod value;
pub mod view;

use iodyno_model::{Diagnostic, Intent, Origin};

use crate::{Dialect, Loader, Request, Run};
use clients::{ClientPlan, ClientRank};
use session::{FilebenchSession, setting};
use text::TextReporter;

pub const DIALECT: Dialect = Dialect {
    name: "filebench",
    about: "workloads written as processes, threads and flowops (filebench)",
    drop_in: true,
    also: &[],
    lower: request,
};

/// What the command line says.
#[derive(Clone, Debug, Default, PartialEq)]
struct Cli {
    file: Option<String>,
    variables: Vec<String>,
    seed: u64,
    help: bool,
    distributions: bool,
}

const HELP: &str = include_str!("help.txt");

const DISTRIBUTIONS: &str = include_str!("distributions.txt");

/// Mistakes are told with their places and hints, as the original tells none.
fn request(arguments: &[String], loader: &mut dyn Loader) -> Result<Request, Vec<Diagnostic>> {
    read(arguments, loader).or_else(|wrong| Ok(Request::refuse(&wrong, 1)))
}

fn read(arguments: &[String], loader: &mut dyn Loader) -> Result<Request, Vec<Diagnostic>> {
    let wanted = parse(arguments).map_err(|wrong| vec![wrong])?;
    if wanted.distributions {
        return Ok(Request::Print { out: DISTRIBUTIONS.into(), status: 0 });
    }
    let Some(path) = &wanted.file else {
        let status = i32::from(!wanted.help);
        return Ok(Request::Print { out: help(), status });
    };
    let (text, _) = session::source(path, loader).map_err(|reason| {
        vec![Diagnostic::error(&Origin::argument(path), reason).hint(library::hint(path))]
    })?;
    let world = loader.world();
    let mut all = Vec::new();
    for client in ClientRank::all(&world) {
        let number = client.number;
        let mut session = carried_out(&wanted, path, &text, client, loader);
        if wanted.help {
            return Ok(Request::Print { out: usage(&session), status: 0 });
        }
        session.finish(path);
        if let Some(out) = session.only_says() {
            return Ok(Request::Print { out, status: 0 });
        }
        let (lowered, wrong) = session.ended();
        if !wrong.is_empty() {
            return Err(each_once(wrong, path, number));
        }
        all.push(lowered);
    }
    let ClientPlan { mut plan, view, notes, .. } = clients::together(all, &world)?;
    let name = path.rsplit('/').next().unwrap_or(path);
    (plan.name, plan.seed, plan.intent) = (name.into(), wanted.seed, Intent::Device);
    let interim_ns = (view.every() * 1e9) as u64;
    Ok(Request::Run(Box::new(Run {
        messages: notes,
        interim_ns,
        tells_passes: true,
        translate: advice::translate,
        ..Run::of(plan, Box::new(TextReporter::new(view)))
    })))
}

/// The script as one client has it.
fn carried_out<'a>(
    wanted: &Cli,
    path: &str,
    text: &str,
    client: ClientRank,
    loader: &'a mut dyn Loader,
) -> FilebenchSession<'a> {
    let mut session = FilebenchSession::new(loader, client);
    session.seed = wanted.seed;
    for given in &wanted.variables {
        match setting(given) {
            Some((name, value)) => session.variables.fix(name, value),
            None => {
                let wrong = Diagnostic::error(&Origin::argument(given), "no variable and its value");
                session.wrong.push(wrong.hint("-D nfiles=1000"));
            }
        }
    }
    session.text(path, text);
    session
}

/// Definitions are looked at anew for each run; what is wrong with them is told once, and with the client's number where
/// those before it found nothing wrong.
fn each_once(wrong: Vec<Diagnostic>, path: &str, client: u32) -> Vec<Diagnostic> {
    let mut told: Vec<Diagnostic> = Vec::new();
    for mut one in wrong {
        if client > 0 {
            one.message = format!("client {client}: {}", one.message);
        }
        if !told.contains(&one) {
            told.push(one);
        }
    }
    // Of one file, in the order of its lines: what is read and what is looked up is told together.
    told.sort_by_key(|wrong| match &wrong.origin {
        Origin::File { path: file, line } if **file == *path => *line,
        _ => u32::MAX,
    });
    told
}

fn help() -> String {
    let names = library::LIBRARY.iter().map(|(name, text)| {
        let about = text.lines().next().unwrap_or("").trim_start_matches(['#', ' ']);
        format!("  {name:<18} {about}\n")
    });
    names.fold(HELP.to_string(), |text, line| text + &line)
}

/// A script's own usage, and its variables with their values.
fn usage(session: &FilebenchSession<'_>) -> String {
    let mut text: String = session.usage.iter().map(|line| format!("{}\n", line.trim_end())).collect();
    for (name, value) in session.variables.all() {
        text += &format!("  -D {name}={}\n", value.text());
    }
    text
}

fn parse(arguments: &[String]) -> Result<Cli, Diagnostic> {
    let mut wanted = Cli { seed: 1, ..Cli::default() };
    let arguments = crate::dashes(arguments);
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        let error =
            |message: &str, hint: &str| Diagnostic::error(&Origin::argument(argument), message).hint(hint);
        let mut value = |what: &str| {
            let missing = || error(&format!("{what} is missing"), "filebench -f FILE.f -D nfiles=1000");
            rest.next().cloned().ok_or_else(missing)
        };
        match argument.as_str() {
            "-f" => wanted.file = Some(value("a file")?),
            "-D" => wanted.variables.push(value("NAME=VALUE")?),
            "--seed" => {
                let number = value("a number")?;
                wanted.seed = number.parse().map_err(|_| error("no whole number", "--seed 42"))?;
            }
            "-h" | "--help" => wanted.help = true,
            "-c" => {
                wanted.distributions = true;
                rest.next();
            }
            "-a" | "-s" | "-m" | "-i" => {
                let hint = "the original starts its workers by it; ours need no option";
                return Err(error("an option of the original's own worker processes", hint));
            }
            other => match (other.strip_prefix("-f"), other.strip_prefix("-D")) {
                (Some(file), _) if !file.is_empty() => wanted.file = Some(file.into()),
                (_, Some(given)) if !given.is_empty() => wanted.variables.push(given.into()),
                _ => return Err(error("no such option", "filebench -h lists them")),
            },
        }
    }
    Ok(wanted)
}

#[cfg(test)]
mod tests;
