//! What a command line and its job files say together: the jobs of this machine, or of each host.
//!
//! It refuses a job file that belongs to no host.

use iodyno_model::{Diagnostic, Origin};

use super::client::{self, HostJobs};
use super::command::{self, ClientArgument, Command, EarlyExit};
use super::gather::{self, JobSettings};
use super::remote::client::ServerJobs;
use super::section::{OptionLine, Section};
use super::settings::Settings;
use super::{file, lower};
use crate::Loader;

/// Everything that is to be done.
#[derive(Debug, Default)]
pub struct Cli {
    /// The command line.
    pub command: Command,
    /// What the run is called: its first job file, or `fio`.
    pub name: String,
    /// The jobs in order.
    pub jobs: Vec<Settings>,
    /// `[global]` in the end, each option once.
    pub global: Vec<(String, String)>,
    /// `--client`: the jobs of each host; `jobs` has none then.
    pub clients: Vec<HostJobs>,
    /// `--client` where servers answer: they parse what they are sent.
    pub servers: Vec<ServerJobs>,
}

/// Parses a command line and the job files it names.
///
/// # Errors
/// Everything that is wrong.
pub fn parse(arguments: &[String], loader: &mut dyn Loader) -> Result<Cli, Vec<Diagnostic>> {
    parse_with(arguments, &[], loader)
}

/// The same with the texts of job files that a client sent.
///
/// # Errors
/// Everything that is wrong.
pub fn parse_with(
    arguments: &[String],
    sent: &[String],
    loader: &mut dyn Loader,
) -> Result<Cli, Vec<Diagnostic>> {
    let mut command = command::parse(&crate::dashes(arguments));
    command.style.terminal = loader.terminals().0;
    command.style.debug.pid = loader.pid();
    if command.instead.as_ref().is_some_and(prints_at_once) && command.problems.is_empty() {
        return Ok(Cli { command, ..Cli::default() });
    }
    let arguments = std::mem::take(&mut command.clients);
    if command.server.is_none() && command.problems.is_empty() {
        let servers = client::servers(&arguments, loader)?;
        if !servers.is_empty() {
            return Ok(Cli { command, servers, ..Cli::default() });
        }
    }
    let first = command.files.first().or_else(|| arguments.iter().find_map(|client| client.files.first()));
    let mut cli = Cli { name: first.map_or("fio", String::as_str).to_string(), ..Cli::default() };
    let mut reading = JobFiles {
        sections: std::mem::take(&mut command.sections),
        wanted: std::mem::take(&mut command.only_sections),
        problems: std::mem::take(&mut command.problems),
        shown: Vec::new(),
    };
    if arguments.is_empty() {
        (cli.jobs, cli.global) = reading.jobs(&command.files, sent, loader);
    } else {
        reading.astray(&command.files);
        (cli.clients, cli.global) = reading.clients(&arguments, loader);
    }
    if command.shows_commands {
        command.instead = Some(EarlyExit::Commands(reading.shown));
    }
    if !reading.problems.is_empty() {
        return Err(reading.problems);
    }
    if command.server.is_some() {
        return Ok(Cli { command, ..cli });
    }
    let none = cli.jobs.is_empty() && cli.clients.iter().all(|client| client.jobs.is_empty());
    if none && command.instead.is_none() {
        command.instead = Some(EarlyExit::Nothing);
    }
    if command.style.idleness.is_some() && !(cli.clients.is_empty() && cli.servers.is_empty()) {
        let message = "`--idle-prof`: a client measures no processors of its hosts";
        let wrong = Diagnostic::error(&Origin::argument("--idle-prof"), message);
        return Err(vec![wrong.hint("leave it out, or run fio --idle-prof on each host")]);
    }
    let clients = cli.clients.iter().flat_map(|client| &client.jobs);
    command.style.debug.parsed(cli.jobs.iter().chain(clients));
    if let Some(EarlyExit::ParseOnly(text)) = &mut command.instead {
        *text = command.style.debug.before_start();
    }
    Ok(Cli { command, ..cli })
}

/// Job files on their way to jobs.
struct JobFiles {
    /// What the command line said: every file begins with it.
    sections: Vec<Section>,
    /// `--section`.
    wanted: Vec<String>,
    problems: Vec<Diagnostic>,
    /// Each file's sections, for `--showcmd`.
    shown: Vec<Vec<Section>>,
}

impl JobFiles {
    fn jobs(
        &mut self,
        paths: &[String],
        sent: &[String],
        loader: &mut dyn Loader,
    ) -> (Vec<Settings>, Vec<(String, String)>) {
        let mut sections = self.sections.clone();
        let files = paths.iter().map(|path| (path, None)).chain(sent.iter().map(|text| (text, Some(text))));
        for (path, text) in files {
            let mut found = Vec::new();
            self.problems.extend(match text {
                Some(text) => file::read_text(text, loader, &mut found),
                None => file::read(path, loader, &mut found),
            });
            found.retain(|section| {
                section.global || self.wanted.is_empty() || self.wanted.contains(&section.name)
            });
            sections.extend(found.iter().cloned());
            self.shown.push(found);
        }
        substitute(&mut sections, loader);
        let JobSettings { jobs, global, problems } = gather::gather(&sections);
        self.problems.extend(problems);
        (jobs, global)
    }

    /// A job file in front of every host belongs to none.
    fn astray(&mut self, files: &[String]) {
        if let Some(file) = files.first() {
            let wrong =
                Diagnostic::error(&Origin::argument(file), format!("`{file}`: no host is named before it"));
            self.problems.push(wrong.hint("fio --client=h1,h2 job.fio"));
        }
    }

    /// The jobs of each host, and `[global]` of the first.
    fn clients(
        &mut self,
        clients: &[ClientArgument],
        loader: &mut dyn Loader,
    ) -> (Vec<HostJobs>, Vec<(String, String)>) {
        let (mut hosts, mut all_global) = (Vec::new(), None);
        let any_files = clients.iter().any(|client| !client.files.is_empty());
        for one in clients {
            if any_files && one.files.is_empty() {
                let origin = Origin::argument(&format!("--client={}", one.hosts));
                let wrong = Diagnostic::error(&origin, format!("`{origin}`: no job file follows it"));
                self.problems.push(wrong.hint("one file on several hosts: --client=h1,h2 job.fio"));
            }
            let (jobs, global) = self.jobs(&one.files, &[], loader);
            all_global.get_or_insert(global);
            match client::named(&one.hosts, loader) {
                Ok(names) => hosts.extend(names.into_iter().map(|host| {
                    let jobs = client::jobs_on(&host, &jobs);
                    HostJobs { host, jobs }
                })),
                Err(wrong) => self.problems.push(wrong),
            }
        }
        (hosts, all_global.unwrap_or_default())
    }
}

/// Gives every job the engine and the depth of `--also`, as options of its own: so they come with fio's batches, and its
/// report names them. An engine that fio does not know is put in place after lowering.
fn substitute(sections: &mut [Section], loader: &dyn Loader) {
    let (engine, depth) = (loader.also("engine"), loader.also("depth"));
    let option = |name: &str, text: &str| OptionLine {
        name: name.into(),
        text: Some(text.into()),
        origin: Origin::argument("--also"),
    };
    let mut inherited = String::new();
    for section in sections {
        let named = section.lines.iter().rev().find(|line| line.name == "ioengine");
        let own = named.and_then(|line| line.text.clone()).unwrap_or_else(|| inherited.clone());
        if section.global {
            inherited = own;
            continue;
        }
        if !lower::engine::does_file_io(&own) {
            continue;
        }
        let deep = depth.as_deref().is_some_and(|depth| depth != "1") && lower::engine::waits(&own);
        match engine.as_deref() {
            Some(engine) if lower::engine::is_known(engine) => section.lines.push(option("ioengine", engine)),
            _ if deep => section.lines.push(option("ioengine", "io_uring")),
            _ => {}
        }
        section.lines.extend(depth.as_deref().map(|depth| option("iodepth", depth)));
    }
}

fn prints_at_once(instead: &EarlyExit) -> bool {
    !matches!(instead, EarlyExit::ParseOnly(_) | EarlyExit::Commands(_))
}
