//! fio: job files and command lines as they are, reports in its own layout.
//!
//! ```text
//!   argv, job files ─ syntax ─► Settings of each job ─ lower ─► Plan and View ─ the engine room ─► events ─ report ─► text
//! ```
//! It refuses engines whose hardware or library is not here, each by name with what to use instead.

pub mod cli;
pub mod client;
pub mod command;
pub mod debug;
pub mod differences;
pub mod file;
pub mod gather;
pub mod help;
pub mod import;
pub mod log;
pub mod lower;
pub mod number;
pub mod options;
mod remote;
pub mod report;
pub mod section;
pub mod settings;
pub mod show;
pub mod value;
pub mod view;

#[cfg(test)]
mod testing;

use iodyno_model::{Diagnostic, Hooks, Level, Origin, Plan, Record, WorkerRecord};

use crate::{Converse, Dialect, Loader, Request, Run};
use cli::Cli;
use client::{HostJobs, Together};
use command::EarlyExit;
use lower::Context;
use remote::client::{Client, RemoteTrigger};
use remote::server::{Server, ServerAddress};
use report::trouble;
use settings::Settings;
use view::{Eta, Format, ReportStyle};

/// The version that reports and `--version` name: that of the options, of the keys in reports, and of the verify headers
/// and state files that are written.
pub const VERSION: &str = "fio-3.42";

pub const DIALECT: Dialect = Dialect {
    name: "fio",
    about: "flexible I/O jobs from files or arguments (fio)",
    drop_in: true,
    also: &["data", "headers"],
    lower: request,
};

fn request(arguments: &[String], loader: &mut dyn Loader) -> Result<Request, Vec<Diagnostic>> {
    let cli = match cli::parse(arguments, loader) {
        Ok(cli) => cli,
        Err(problems) => return Ok(Request::Refuse { err: section::problem_text(&problems), status: 1 }),
    };
    if let Some(address) = &cli.command.server {
        return Ok(serve(address, cli.command.pid_file.clone(), loader));
    }
    if !cli.servers.is_empty() {
        return Ok(ask_servers(cli, loader));
    }
    match cli.command.instead {
        Some(ref instead) => Ok(instead_of_a_run(instead, loader)),
        None => run(cli, loader),
    }
}

fn instead_of_a_run(instead: &EarlyExit, loader: &mut dyn Loader) -> Request {
    let (out, status) = match instead {
        EarlyExit::Version => (format!("{VERSION}\n"), 0),
        EarlyExit::Help => (help::usage(), 0),
        EarlyExit::OptionHelp(name) => help::option(name),
        EarlyExit::EngineHelp(name) => help::engine(name),
        EarlyExit::Commands(files) => (show::commands(files), 0),
        EarlyExit::ParseOnly(debug) => (debug.clone(), 0),
        EarlyExit::InflatedLog(path) => return inflated(path, loader),
        EarlyExit::DebugHelp => (debug::help(), 0),
        EarlyExit::ClockTest => (help::CLOCK.to_string(), 0),
        EarlyExit::IdleWork => match loader.idle_work() {
            Ok(found) => (report::idleness::text(&found, false).trim_start().to_string(), 0),
            Err(reason) => {
                return Request::Refuse { err: format!("fio: --idle-prof: {reason}\n"), status: 1 };
            }
        },
        EarlyExit::ChecksumTest(names) => help::checksums(names),
        EarlyExit::Nothing => {
            return Request::Refuse { err: format!("No job(s) defined\n\n{}", help::usage()), status: 1 };
        }
    };
    Request::Print { out, status }
}

/// `--inflate-log`: the samples of a compressed log as text.
fn inflated(path: &str, loader: &mut dyn Loader) -> Request {
    let refuse = |reason: &str, status| {
        let message = format!("`--inflate-log={path}`: {reason}");
        let wrong = Diagnostic::error(&Origin::argument("--inflate-log"), message)
            .hint("name a log that log_store_compressed left: PREFIX_lat.1.log.fz");
        Request::Refuse { err: section::problem_text(&[wrong]), status }
    };
    match loader.read(path) {
        Err(reason) => refuse(&reason, 1),
        Ok(bytes) if bytes.is_empty() => refuse("it is empty", 1),
        Ok(bytes) => match log::inflated(&bytes) {
            Ok(out) => Request::Print { out, status: 0 },
            Err(reason) => refuse(&reason, NO_LOG),
        },
    }
}

/// The exit status for a file that is no compressed log.
const NO_LOG: i32 = 253;

/// `--server`.
fn serve(address: &str, pid_file: Option<String>, loader: &dyn Loader) -> Request {
    let refuse = |message: String| {
        let origin = Origin::argument(&format!("--server={address}"));
        let wrong = Diagnostic::error(&origin, format!("`{origin}`: {message}"));
        let wrong = wrong.hint("--server=HOST,PORT, --server=ip6:HOST,PORT or --server=sock:PATH");
        Request::Refuse { err: section::problem_text(&[wrong]), status: 1 }
    };
    let place = match ServerAddress::of(address) {
        Ok(place) => place,
        Err(message) => return refuse(message),
    };
    let Some(own) = loader.detached() else { return refuse("there is nothing to run jobs with".into()) };
    let run = Run { live_ns: SERVER_LIVE_NS, ..Run::of_conversation(Plan::default()) };
    let daemon = pid_file.is_some();
    Converse { daemon, pid_file, ..Converse::new(Server::new(place, own), run) }.into()
}

/// `--client` where servers answer.
fn ask_servers(cli: Cli, loader: &dyn Loader) -> Request {
    let style = ReportStyle { local: (loader.east_s(), String::new()), ..cli.command.style };
    let when = cli.command.trigger;
    let is_asked = when.file.is_some() || when.after_ns.is_some();
    let command = cli.command.trigger_remote.unwrap_or_default();
    let trigger = is_asked.then_some(RemoteTrigger { when, command });
    let client = Client::new(style, cli.command.output.clone(), cli.command.forwarded, cli.servers)
        .with_trigger(trigger)
        .with_files(loader.detached());
    let run = Run { output: cli.command.output, ..Run::of_conversation(Plan::default()) };
    Converse::new(client, run).into()
}

/// How often a server looks at its jobs, for clients that ask how far they are, ns.
const SERVER_LIVE_NS: u64 = 500_000_000;

fn run(cli: Cli, loader: &mut dyn Loader) -> Result<Request, Vec<Diagnostic>> {
    let command = cli.command;
    let context = Context {
        name: cli.name,
        style: command.style,
        global: cli.global,
        readonly: command.readonly,
        ranks: 1,
    };
    let (mut lowered, parts) = match lowered(&cli.jobs, &cli.clients, context, loader) {
        Ok(Together::Here(lowered, parts)) => (*lowered, parts),
        Ok(Together::Elsewhere(request)) => return Ok(request),
        Err(problems) => return Ok(Request::Refuse { err: section::problem_text(&problems), status: 1 }),
    };
    if command.merges_only {
        return Ok(Request::Print { out: String::new(), status: 0 });
    }
    if command.strict && !lowered.notes.is_empty() {
        return Ok(Request::Refuse { err: section::problem_text(&lowered.notes), status: 1 });
    }
    if let Some(engine) = loader.also("engine").filter(|engine| !lower::engine::is_known(engine)) {
        let jobs = lowered.view.jobs.iter_mut().filter(|job| lower::engine::does_file_io(&job.engine));
        jobs.for_each(|job| job.engine.clone_from(&engine));
    }
    let mut plan = lowered.plan;
    plan.idleness = lowered.view.style.idleness.is_some();
    lowered.view.notes.extend(command.debug_unknown);
    if let Some(folder) = &command.aux_path {
        gather_states(&mut plan, folder);
    }
    let style = &lowered.view.style;
    // The live line and the whole reports between have clocks of their own.
    let live_ns = match style.eta {
        _ if style.bandwidth_log => style.eta_interval_ns.min(BANDWIDTH_LOG_NS),
        Eta::Never => 0,
        _ => style.eta_interval_ns,
    };
    let interim_ns = style.status_interval_ns;
    // The report says warnings, and notes where it is for people.
    let mut messages = lowered.notes;
    messages.retain(|note| note.level == Level::Note && !style.formats.contains(&Format::Normal));
    let reporter = match parts.is_empty() {
        true => report::reporter(lowered.view),
        false => report::clients::reporter(lowered.view, parts),
    };
    Ok(Request::Run(Box::new(Run {
        output: command.output,
        messages,
        live_ns,
        interim_ns,
        own_voice: true,
        translate: lower::advice::translate,
        status: Some(Box::new(status_of(&plan))),
        trigger: Some(command.trigger).filter(|trigger| trigger.file.is_some() || trigger.after_ns.is_some()),
        ..Run::of(plan, reporter)
    })))
}

fn lowered(
    jobs: &[Settings],
    clients: &[HostJobs],
    context: Context,
    loader: &mut dyn Loader,
) -> Result<Together, Vec<Diagnostic>> {
    match clients {
        [] => {
            let context = Context { ranks: loader.world().ranks(), ..context };
            Ok(Together::Here(Box::new(lower::plan(jobs, context, loader)?), Vec::new()))
        }
        clients => client::together(clients, &context, loader),
    }
}

/// fio's exit status: how many workers ended with an error, and 128 after a signal. Errors that a worker survived are no
/// failure, and neither is a command around a job that failed.
fn status_of(plan: &Plan) -> impl Fn(&Record) -> u8 + use<> {
    let jobs = plan.phases.iter().flat_map(|phase| &phase.jobs);
    let hooks: Vec<Hooks> =
        jobs.map(|job| job.hooks.clone()).filter(|hooks| *hooks != Hooks::default()).collect();
    move |record| {
        let of_hook = |worker: &WorkerRecord| hooks.iter().any(|hooks| trouble::is_of_hook(worker, hooks));
        let workers = record.phases.iter().flat_map(|phase| &phase.jobs).flat_map(|job| &job.workers);
        let ended = workers.filter(|worker| worker.fatal.is_some() || worker.failure.is_some());
        let (excused, failed): (Vec<_>, Vec<_>) = ended.partition(|worker| of_hook(worker));
        let unexplained = excused.is_empty() && !record.errors.is_empty();
        let failed = failed.len().max(usize::from(unexplained));
        let signal = if record.stopped_by.is_some() { SIGNALLED } else { 0 };
        // 256 failed workers are no success.
        signal | failed.min(usize::from(SIGNALLED - 1)) as u8
    }
}

/// How often the logs of all jobs' bandwidth get a line, ns.
const BANDWIDTH_LOG_NS: u64 = 500_000_000;

/// What a signal adds to the exit status, whichever it was.
const SIGNALLED: u8 = 128;

/// Puts the files that fio makes without being asked into one folder.
fn gather_states(plan: &mut Plan, folder: &str) {
    let jobs = plan.phases.iter_mut().flat_map(|phase| &mut phase.jobs);
    let states = jobs.filter_map(|job| job.payload.verify.as_mut()?.state.as_mut());
    states.for_each(|state| state.path = format!("{}/{}", folder.trim_end_matches('/'), state.path));
}
