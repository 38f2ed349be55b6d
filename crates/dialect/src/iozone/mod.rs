//! iozone: command lines as they are, tables in iozone's output format.
//!
//! ```text
//!   argv ─ command ─► words ─ settings ─► Settings ─ matrix, lower ─► Plan and View ─► events ─ report ─► text
//! ```
//! It refuses what no engine does, each by name with what to use instead; and it does not repeat what iozone gets wrong
//! (`docs/iozone.md` lists it).

pub mod access;
pub mod advice;
pub mod command;
pub mod lower;
pub mod matrix;
pub mod network;
pub mod options;
pub mod report;
pub mod settings;
pub mod telemetry;
#[cfg(test)]
mod testing;
pub mod view;

use iodyno_model::{Diagnostic, Plan};

use crate::hosts::{Elsewhere, Host};
use crate::{Dialect, Loader, PathFacts, PathKind, ReportFile, Request, Run, status};
use matrix::{Matrix, SizeCell};
use settings::Settings;
use view::ReportContext;

pub const DIALECT: Dialect = Dialect {
    name: "iozone",
    about: "file I/O over file sizes, record sizes and streams (iozone)",
    drop_in: true,
    also: &["rewrite"],
    lower: request,
};

/// Mistakes are told with their places and hints, and what to leave out.
fn request(arguments: &[String], loader: &mut dyn Loader) -> Result<Request, Vec<Diagnostic>> {
    read(arguments, loader).or_else(|wrong| Ok(Request::refuse(&wrong, 1)))
}

fn read(arguments: &[String], loader: &mut dyn Loader) -> Result<Request, Vec<Diagnostic>> {
    let words = command::parse(arguments)?;
    let has = |name: &str| words.iter().any(|word| word.name == name);
    if has("h") {
        return Ok(Request::Print { out: options::help(), status: 0 });
    }
    if has("v") {
        let out = format!("iozone 3.508 (iodyno {})\n", env!("CARGO_PKG_VERSION"));
        return Ok(Request::Print { out, status: 0 });
    }
    if has("+t") {
        return network::request(words, loader);
    }
    let settings = settings::judge(words, loader)?;
    if let Some(elsewhere) = elsewhere(&settings, loader).map_err(|wrong| vec![wrong])? {
        return Ok(Request::Hosts(elsewhere));
    }
    let matrix = Matrix::of(&settings);
    if let Some(why) = report::too_large(&settings, &matrix) {
        return Err(vec![Diagnostic::error(&settings.origin("b"), why).hint("a name in .xlsx holds it")]);
    }
    let new_book = new_book(&settings, loader).map(ReportFile::own);
    let (plan, parts) = lower::plan(&settings, &matrix);
    let is_plain = settings.clients.is_empty() && !BESIDE.iter().any(|option| settings.has(option));
    let too_small = matrix.cell_too_small().filter(|_| is_plain);
    if too_small.is_none() {
        possible(&settings, &plan, &parts, loader)?;
    }
    let command = ["iozone".to_string()].iter().chain(arguments).cloned().collect::<Vec<_>>().join(" ");
    let began = crate::date::ctime(loader.now_unix_ns(), loader.east_s());
    let (talks, east_s, machine) = (loader.talks(), loader.east_s(), machine(loader));
    let view = ReportContext { settings, matrix, parts, command, began, machine, east_s, talks };
    match too_small {
        Some(cell) => nothing_to_move(cell, view),
        None => Ok(Request::Run(Box::new(run(plan, view, new_book)))),
    }
}

/// Options that write files beside the report.
const BESIDE: [&str; 4] = ["b", "Q", "+z", "+T"];

/// As the original: figures of 0 where a record is larger than the file.
fn nothing_to_move(cell: SizeCell, view: ReportContext) -> Result<Request, Vec<Diagnostic>> {
    let parts = lower::passes(&view.settings, &[cell]);
    let SizeCell { file, record } = cell;
    let said = match view.talks {
        true => format!(
            "iozone: no record of {} kB fits in {} kB: nothing was moved\n",
            record / 1024,
            file / 1024
        ),
        false => String::new(),
    };
    let origin = view.settings.origin("r");
    let out = report::of_nothing(ReportContext { parts, ..view });
    let out = out.map_err(|error| vec![Diagnostic::error(&origin, error.to_string())])?;
    Ok(Request::Print { out: out + &said, status: 0 })
}

/// The machine as `uname -a` names it.
fn machine(loader: &mut dyn Loader) -> String {
    let mut kernel = |name: &str| {
        let text = loader.read(&format!("/proc/sys/kernel/{name}")).unwrap_or_default();
        String::from_utf8_lossy(&text).trim().to_string()
    };
    let (version, architecture) = (kernel("version"), kernel("arch"));
    let machine = loader.machine();
    let (system, release) = machine.kernel.split_once(' ').unwrap_or((&machine.kernel, ""));
    let words = [system, &machine.host, release, &version, &architecture, "GNU/Linux"];
    words.into_iter().filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
}

/// The workbook of `-b`, where it is a new file: as the original, a run overwrites the workbook of an earlier one. Any
/// other file that is there is kept, and the run refused.
fn new_book<'a>(settings: &'a Settings, loader: &mut dyn Loader) -> Option<&'a str> {
    /// More than a workbook has: its table is of 256 columns.
    const MOST_BYTES: u64 = 256 << 20;
    let path = settings.text("b")?;
    let is_book =
        |facts: &PathFacts| facts.kind == PathKind::File && facts.bytes <= MOST_BYTES && facts.writable;
    let earlier = loader.look(path).is_some_and(|facts| is_book(&facts))
        && loader.read(path).is_ok_and(|bytes| report::is_workbook(&bytes));
    (!earlier).then_some(path)
}

/// Other hosts, as long as this is not one of their ranks: of a host that is named several times so many.
fn elsewhere(settings: &Settings, loader: &dyn Loader) -> Result<Option<Elsewhere>, Diagnostic> {
    let needed = settings.clients.iter().take(settings.most_streams());
    let hosts: Vec<Host> = needed.map(|client| Host { name: client.host.clone(), slots: 1 }).collect();
    let world = loader.world();
    match world.library.is_some() {
        _ if hosts.is_empty() => Ok(None),
        false => {
            let shell = loader.variable("RSH").filter(|shell| !shell.trim().is_empty());
            Ok(Some(Elsewhere { hosts, shell, ..Elsewhere::default() }))
        }
        true if world.ranks() as usize == hosts.len() => Ok(None),
        true => {
            let message =
                format!("{} streams, and the launcher started {} ranks", hosts.len(), world.ranks());
            let wrong = Diagnostic::error(&settings.origin("+m"), message);
            Err(wrong.hint("one rank for each stream, in their order; or without a launcher"))
        }
    }
}

/// Whether there is anything to do, and something to read before anything was written.
fn possible(
    settings: &Settings,
    plan: &Plan,
    parts: &[lower::Pass],
    loader: &mut dyn Loader,
) -> Result<(), Vec<Diagnostic>> {
    let Some(first) = parts.first() else {
        let origin = settings.origin(if settings.tests.is_empty() { "r" } else { "i" });
        let message =
            "no test is left: every record is larger than its file, or the tests need what is not asked for";
        return Err(vec![Diagnostic::error(&origin, message).hint("-s 1m -r 4k -i 0 -i 1")]);
    };
    let needs_file = !first.access.makes() && settings.clients.is_empty();
    let missing = |name: &String| needs_file && loader.look(name).is_none();
    let missing: Vec<String> = lower::names(settings).into_iter().filter(missing).collect();
    let told = |name: String| {
        let message = format!("{name} is not there, and {} does not make it", plan.phases[0].name);
        Diagnostic::error(&settings.origin("i"), message)
            .hint("select -i 0, too, or keep an earlier run's files (-w)")
    };
    let wrong: Vec<Diagnostic> = missing.into_iter().map(told).collect();
    if wrong.is_empty() { Ok(()) } else { Err(wrong) }
}

fn run(plan: Plan, view: ReportContext, new_book: Option<ReportFile>) -> Run {
    Run {
        files: new_book.into_iter().collect(),
        own_voice: true,
        dies_of_signals: true,
        translate: advice::translate,
        status: Some(Box::new(status::usual)),
        ..Run::of(plan, report::reporter(view))
    }
}
