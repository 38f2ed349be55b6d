//! elbencho: the benchmark of files, directories, block devices and object stores by phases, with its text and its files of
//! results.
//!
//! ```text
//!   argv, file of options ─ command ─► CommandLine ─ test ─► ElbenchoTest ─ lower ─► Plan and parts
//!   events ─ results ─► PhaseTotals ─ report ─► text, CSV, JSON, live lines
//! ```
//! Each phase has two results: when the first thread was done, and when all were. Its services for several hosts are not
//! spoken to; hosts are reached by ssh.

pub(crate) mod advice;
pub mod command;
pub mod lower;
pub mod options;
pub mod report;
pub mod results;
pub mod settings;
pub mod store;
pub mod test;
pub mod view;

use iodyno_model::Diagnostic;

use crate::hosts::{self, Elsewhere, Host};
use crate::{Dialect, Loader, Request, Run};
use command::CommandLine;
use report::Report;
use view::ReportContext;

pub const DIALECT: Dialect = Dialect {
    name: "elbencho",
    about: "files, directories, block devices and object stores by phases (elbencho)",
    drop_in: true,
    also: &[],
    lower: request,
};

/// The version whose reports these are.
pub const VERSION: &str = "3.1-10";

fn request(arguments: &[String], loader: &mut dyn Loader) -> Result<Request, Vec<Diagnostic>> {
    Ok(answer(arguments, loader).unwrap_or_else(|wrong| Request::refuse(&wrong, 1)))
}

fn answer(arguments: &[String], loader: &mut dyn Loader) -> Result<Request, Vec<Diagnostic>> {
    let line = command::parse(arguments, loader)?;
    if line.settings.flag("version") {
        let out = format!("elbencho\n * Version: {VERSION}+iodyno ({})\n", env!("CARGO_PKG_VERSION"));
        return Ok(Request::Print { out, status: 0 });
    }
    if let Some(out) = options::help(|name| line.settings.flag(name)) {
        return Ok(Request::Print { out, status: 0 });
    }
    // Where it was sent to other hosts, it is there already.
    if let Some(elsewhere) = elsewhere(&line, loader)? {
        return Ok(Request::Hosts(elsewhere));
    }
    run(arguments, line, loader)
}

fn run(arguments: &[String], line: CommandLine, loader: &mut dyn Loader) -> Result<Request, Vec<Diagnostic>> {
    let messages: Vec<Diagnostic> = line.settings.without_effect().collect();
    let test = test::judge(line, loader)?;
    let (plan, parts) = lower::plan(&test);
    if test.flag("dryrun") {
        return Ok(Request::Print { out: report::dry_run(&test, &plan, &parts), status: 0 });
    }
    let is_new =
        |path: Option<&str>| path.is_none_or(|path| loader.look(path).is_none_or(|facts| facts.bytes == 0));
    let labels = (
        !test.flag("nocsvlabels") && is_new(test.settings.text("csvfile")),
        is_new(test.settings.text("livecsv").filter(|path| *path != "stdout")),
    );
    let entropy = loader.entropy().unwrap_or_default();
    let mut number = [0; 16];
    number.copy_from_slice(&entropy[..16]);
    let has_live = test.settings.is_given("livecsv") || test.flag("live1") || test.flag("live1n");
    let live_ns = if has_live { test.settings.count("liveint") * 1_000_000 } else { 0 };
    let limit_ns = test.settings.count("timelimit").saturating_mul(1_000_000_000);
    let context = ReportContext {
        parts,
        command: quoted(arguments),
        east_s: loader.east_s(),
        number,
        labels,
        terminals: loader.terminals(),
        test,
    };
    Ok(Request::Run(Box::new(Run {
        messages,
        own_voice: true,
        live_ns,
        translate: advice::translate,
        status: Some(Box::new(move |record| {
            crate::status::with(record, report::timed_out(record, limit_ns))
        })),
        ..Run::of(plan, Box::new(Report::new(context)))
    })))
}

/// The program and its arguments, each in quotes; a secret's option is left out with its value.
fn quoted(arguments: &[String]) -> String {
    let all = std::iter::once("elbencho".to_string()).chain(hosts::without(arguments, &["--s3secret"]));
    all.map(|word| format!("\"{word}\" ")).collect()
}

/// The hosts that a command is sent to; none: it runs here, or was sent already.
fn elsewhere(line: &CommandLine, loader: &mut dyn Loader) -> Result<Option<Elsewhere>, Vec<Diagnostic>> {
    let settings = &line.settings;
    let wrong = |option: &str, what: String| {
        vec![Diagnostic::error(&settings.origin(option), what).hint("e.g. --hosts node1,node2")]
    };
    let list = settings.text("hosts").filter(|list| !list.is_empty());
    let file = settings.text("hostsfile").filter(|path| !path.is_empty());
    let text = match (list, file) {
        (None, None) => return Ok(None),
        (Some(list), _) => list.to_string(),
        (None, Some(path)) => {
            let bytes = loader.read(path).and_then(|bytes| crate::text_file::text(&bytes));
            let text = bytes.map_err(|why| wrong("hostsfile", format!("{path}: {why}")))?;
            text.lines().map(|line| line.split('#').next().unwrap_or("")).collect::<Vec<_>>().join(" ")
        }
    };
    if loader.world().library.is_some() {
        return Ok(None);
    }
    let mut found: Vec<Host> = Vec::new();
    let words = text.split([',', ' ', '\t', '\n']).filter(|word| !word.is_empty());
    let most = usize::try_from(settings.number("numhosts")).unwrap_or(usize::MAX);
    for word in
        words.flat_map(|word| command::expanded(word).unwrap_or_else(|_| vec![word.into()])).take(most)
    {
        // A port is a service's: each is a rank here.
        let name = word.split_once(':').map_or(word.as_str(), |(name, _)| name);
        match found.iter_mut().find(|host| host.name == name) {
            Some(host) => host.slots += 1,
            None => {
                let host = hosts::list(name).map_err(|why| wrong("hosts", why))?;
                found.extend(host);
            }
        }
    }
    match found.is_empty() {
        true => Err(wrong("hosts", "no host is named".into())),
        false => Ok(Some(Elsewhere { hosts: found, ..Elsewhere::default() })),
    }
}
