//! warp: MinIO's benchmark of object stores, with its options, its text and its files of results.
//!
//! ```text
//!   argv ─ command ─► Settings ─ test ─► WarpTest ─ lower ─► Plan ─► journals ─ requests ─► Sums ─ report ─► text
//!   a file of results ──────────────────── analyze ───────────────► requests ─► Sums ─ report, compare ─► text
//! ```
//! Requests are reckoned up as warp 1 does it. What else is in the bucket is never touched: objects have a prefix of the
//! run's own.

pub(crate) mod advice;
pub mod aggregate;
pub mod analyze;
pub mod command;
pub mod compare;
pub mod json;
pub mod lower;
pub mod options;
pub mod pack;
pub mod report;
pub mod requests;
pub mod settings;
pub mod test;

use iodyno_model::{Diagnostic, Origin};

use crate::{Dialect, Loader, ReportFile, Request, Run};
use command::{CommandLine, WarpCommand};
use report::{Report, ReportContext};
use requests::RequestLog;
use settings::Settings;
use test::{Telling, WarpTest};

pub const DIALECT: Dialect = Dialect {
    name: "warp",
    about: "requests per second and latencies of an object store (warp)",
    drop_in: true,
    also: &[],
    lower: request,
};

/// The version whose reports these are.
pub const VERSION: &str = "1";

fn request(arguments: &[String], loader: &mut dyn Loader) -> Result<Request, Vec<Diagnostic>> {
    match answer(arguments, loader) {
        Ok(request) => Ok(request),
        Err(wrong) => Ok(Request::refuse(&wrong, 1)),
    }
}

fn answer(arguments: &[String], loader: &mut dyn Loader) -> Result<Request, Vec<Diagnostic>> {
    let CommandLine { command, settings, files } = command::parse(arguments)?;
    if settings.flag("version") {
        let out = format!("warp version {VERSION}+iodyno ({})\n", env!("CARGO_PKG_VERSION"));
        return Ok(Request::Print { out, status: 0 });
    }
    let Some(command) = command.filter(|_| !settings.flag("help")) else {
        return Ok(Request::Print { out: options::help(command), status: 0 });
    };
    let telling = test::telling(&settings, loader)?;
    match command {
        WarpCommand::Analyze => analyze::analyze(&files[0], &telling, loader),
        WarpCommand::Compare => analyze::compare(&files, &telling, loader),
        WarpCommand::Merge => {
            let name =
                settings.text("benchdata").map_or_else(|| results_name(command, "", loader), String::from);
            analyze::merge(&files, &name, loader)
        }
        _ => run(command, &settings, telling, loader),
    }
}

fn run(
    command: WarpCommand,
    settings: &Settings,
    telling: Telling,
    loader: &dyn Loader,
) -> Result<Request, Vec<Diagnostic>> {
    if loader.world().ranks() > 1 {
        let origin = Origin::argument(command.name());
        let wrong = Diagnostic::error(&origin, "requests of several ranks are not reckoned up together");
        return Err(vec![wrong.hint("a run on each machine, begun together: --syncstart=HH:MM")]);
    }
    let test = test::judge(command, settings, loader)?;
    let plan = lower::plan(&test);
    let is_full = settings.flag("full");
    let client = client(loader);
    let file =
        settings.text("benchdata").map_or_else(|| results_name(command, &client, loader), String::from);
    let ending = if is_full { "csv.zst" } else { "json.zst" };
    let mut own = vec![ReportFile::own(&format!("{file}.{ending}"))];
    own.extend(telling.segments.as_deref().map(ReportFile::own));
    let context = ReportContext {
        command: command_line(command, settings),
        client,
        file,
        is_full,
        logs: logs(&test),
        removes: test.removes,
        telling,
    };
    Ok(Request::Run(Box::new(Run {
        messages: settings.without_effect().collect(),
        files: own,
        own_voice: true,
        translate: advice::translate,
        ..Run::of(plan, Box::new(Report::new(context)))
    })))
}

/// What each job's requests are told by, phase by phase.
fn logs(test: &WarpTest) -> Vec<Vec<RequestLog>> {
    let shared = lower::shares_objects(test.command);
    let object = (test.command == WarpCommand::Multipart)
        .then(|| format!("{}/{}", test.prefix, test.object_name.trim_matches('/')));
    let own = matches!(test.command, WarpCommand::List | WarpCommand::Delete);
    let log = |(place, host): (usize, &String)| {
        let prefixes = if shared { test.concurrent } else { lower::share(test, place) };
        RequestLog {
            host: host.clone(),
            object_bytes: test.bytes,
            prefix: if shared { test.prefix.clone() } else { format!("{}/{place}", test.prefix) },
            prefixes: if test.prefixes && !own { u64::from(prefixes) } else { 0 },
            is_own: own,
            batch: u64::from(test.batch),
            versions: test.versions.max(1),
            object: object.clone(),
            threads: lower::share(test, place),
            ..RequestLog::default()
        }
    };
    let upload = object.iter().map(|_| {
        let all = test.hosts.join(",");
        vec![RequestLog { threads: test.concurrent, ..log((0, &all)) }]
    });
    upload.chain([test.hosts.iter().enumerate().map(log).collect()]).collect()
}

/// Four letters that tell this run from others.
fn client(loader: &dyn Loader) -> String {
    const LETTERS: &[u8] = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ1234567890";
    let mut number = (loader.now_unix_ns() / 1000) ^ (u64::from(loader.pid()) << 20);
    let letter = |number: &mut u64| {
        let at = (*number % LETTERS.len() as u64) as usize;
        *number /= LETTERS.len() as u64;
        LETTERS[at] as char
    };
    (0..4).map(|_| letter(&mut number)).collect()
}

/// The file of results that no option names: `warp-get-2026-11-26[071533]-aBcD`.
fn results_name(command: WarpCommand, client: &str, loader: &dyn Loader) -> String {
    let stamp = crate::date::stamp(loader.now_unix_ns(), loader.east_s());
    let (day, clock) = stamp.split_once(' ').unwrap_or((&stamp, ""));
    let client = if client.is_empty() { String::new() } else { format!("-{client}") };
    format!("warp-{}-{day}[{}]{client}", command.name(), clock.replace(':', ""))
}

/// The command with the options that were given; secrets are not among them.
fn command_line(command: WarpCommand, settings: &Settings) -> String {
    let mut text = format!("warp {}", command.name());
    for entry in options::TABLE.entries.iter().filter(|entry| settings.is_given(entry.name)) {
        let value = match entry.name {
            "access-key" | "secret-key" | "session-token" => "*REDACTED*".to_string(),
            name if entry.is_flag() => settings.flag(name).to_string(),
            name => settings.text(name).unwrap_or_default().into(),
        };
        text += &format!(" --{}={value}", entry.name);
    }
    text
}
