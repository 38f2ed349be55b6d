//! What the command line and the job files order: the jobs, the report's style, and what is done instead of a run.
//!
//! It refuses what program options cannot mean: unknown formats, intervals that are no times.

use iodyno_model::{Diagnostic, Origin};

use super::client::{self, Client};
use super::gather::{self, Gathered};
use super::number::{self, Unit};
use super::section::{Line, Section, at};
use super::settings::Settings;
use super::view::{Eta, Format, Style};
use super::{command, file, lower, program};
use crate::Loader;
use crate::option::{Entry, Status, nearest};

/// Everything that is to be done.
#[derive(Debug, Default)]
pub struct Cli {
    /// What the run is called: its first job file, or `fio`.
    pub name: String,
    /// The jobs in order.
    pub jobs: Vec<Settings>,
    /// `[global]` in the end, each option once.
    pub global: Vec<(String, String)>,
    /// How the report is written.
    pub style: Style,
    /// The report's file.
    pub output: Option<String>,
    /// `--readonly`: jobs that write are an error.
    pub readonly: bool,
    /// `--aux-path`: where files made without being asked lie.
    pub aux_path: Option<String>,
    /// `--warnings-fatal`: what is worth a note ends the run.
    pub strict: bool,
    /// What is done instead of a run.
    pub instead: Option<Instead>,
    /// `--client`: the jobs of each host; `jobs` has none then.
    pub clients: Vec<Client>,
}

/// What is done instead of a run.
#[derive(Clone, Debug, PartialEq)]
pub enum Instead {
    /// `--version`.
    Version,
    /// `--help`, or nothing was asked for.
    Help,
    /// `--cmdhelp`.
    OptionHelp(String),
    /// `--enghelp`.
    EngineHelp(String),
    /// `--showcmd`: each file's sections.
    Commands(Vec<Vec<Section>>),
    /// `--parse-only`.
    ParseOnly,
    /// `--cpuclock-test`.
    ClockTest,
    /// `--crctest`.
    ChecksumTest(String),
    /// No job at all.
    Nothing,
}

/// Reads a command line and the job files it names.
///
/// # Errors
/// Everything that is wrong.
pub fn orders(arguments: &[String], loader: &mut dyn Loader) -> Result<Cli, Vec<Diagnostic>> {
    let mut sorted = command::sort(&crate::dashes(arguments));
    let mut orders = Cli::default();
    let mut problems = std::mem::take(&mut sorted.problems);
    orders.style.terminal = loader.terminals().0;
    let mut asked = Asked { orders: &mut orders, problems: &mut problems, sections: Vec::new(), show: false };
    sorted.program.iter().for_each(|(entry, value)| asked.option(entry, value.as_deref().unwrap_or("")));
    let (wanted, show) = (asked.sections, asked.show);
    if orders.instead.as_ref().is_some_and(prints_at_once) && problems.is_empty() {
        return Ok(orders);
    }
    orders.name = sorted.files.first().map_or("fio", String::as_str).to_string();
    let mut reading = Reading { sections: sorted.sections, wanted, problems, shown: Vec::new() };
    let (jobs, global) = match sorted.clients.as_slice() {
        [] => reading.jobs(&sorted.files, loader),
        clients => {
            let first =
                sorted.files.first().or_else(|| clients.iter().find_map(|client| client.files.first()));
            orders.name = first.map_or("fio", String::as_str).to_string();
            reading.astray(&sorted.files);
            let (clients, global) = reading.clients(clients, loader);
            orders.clients = clients;
            (Vec::new(), global)
        }
    };
    if show {
        orders.instead = Some(Instead::Commands(reading.shown));
    }
    if !reading.problems.is_empty() {
        return Err(reading.problems);
    }
    let none = jobs.is_empty() && orders.clients.iter().all(|client| client.jobs.is_empty());
    if none && orders.instead.is_none() {
        orders.instead = Some(Instead::Nothing);
    }
    Ok(Cli { jobs, global, ..orders })
}

/// Job files on their way to jobs.
struct Reading {
    /// What the command line said: every file begins with it.
    sections: Vec<Section>,
    /// `--section`.
    wanted: Vec<String>,
    problems: Vec<Diagnostic>,
    /// Each file's sections, for `--showcmd`.
    shown: Vec<Vec<Section>>,
}

impl Reading {
    fn jobs(&mut self, paths: &[String], loader: &mut dyn Loader) -> (Vec<Settings>, Vec<(String, String)>) {
        let mut sections = self.sections.clone();
        for path in paths {
            let mut found = Vec::new();
            self.problems.extend(file::read(path, loader, &mut found));
            found.retain(|section| {
                section.global || self.wanted.is_empty() || self.wanted.contains(&section.name)
            });
            sections.extend(found.iter().cloned());
            self.shown.push(found);
        }
        substitute(&mut sections, loader);
        let Gathered { jobs, global, problems } = gather::gather(&sections);
        self.problems.extend(problems);
        (jobs, global)
    }

    /// A job file in front of every host is nobody's.
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
        clients: &[command::Client],
        loader: &mut dyn Loader,
    ) -> (Vec<Client>, Vec<(String, String)>) {
        let (mut hosts, mut all_global) = (Vec::new(), None);
        let any_files = clients.iter().any(|client| !client.files.is_empty());
        for one in clients {
            if any_files && one.files.is_empty() {
                let origin = Origin::argument(&format!("--client={}", one.hosts));
                let wrong = Diagnostic::error(&origin, format!("`{origin}`: no job file follows it"));
                self.problems.push(wrong.hint("one file on several hosts: --client=h1,h2 job.fio"));
            }
            let (jobs, global) = self.jobs(&one.files, loader);
            all_global.get_or_insert(global);
            match client::named(&one.hosts, loader) {
                Ok(names) => hosts.extend(names.into_iter().map(|host| {
                    let jobs = client::jobs_on(&host, &jobs);
                    Client { host, jobs }
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
    let option = |name: &str, text: &str| Line {
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

fn prints_at_once(instead: &Instead) -> bool {
    !matches!(instead, Instead::ParseOnly | Instead::Commands(_))
}

struct Asked<'a> {
    orders: &'a mut Cli,
    problems: &'a mut Vec<Diagnostic>,
    sections: Vec<String>,
    show: bool,
}

impl Asked<'_> {
    fn option(&mut self, entry: &'static Entry, value: &str) {
        let origin = Origin::argument(&format!("--{}={value}", entry.name));
        if let Status::Refused(why, hint) = entry.status {
            return self.problem(Diagnostic::error(&origin, format!("`--{}`: {why}", entry.name)).hint(hint));
        }
        match entry.name {
            "version" => self.first(Instead::Version),
            "help" => self.first(Instead::Help),
            "cmdhelp" => self.first(Instead::OptionHelp(value.into())),
            "enghelp" => self.first(Instead::EngineHelp(value.into())),
            "cpuclock-test" => self.first(Instead::ClockTest),
            "crctest" => self.first(Instead::ChecksumTest(value.into())),
            "parse-only" => self.first(Instead::ParseOnly),
            "showcmd" => self.show = true,
            "section" => self.sections.push(value.into()),
            "readonly" => self.orders.readonly = true,
            "warnings-fatal" => self.orders.strict = true,
            "aux-path" => self.orders.aux_path = Some(value.into()),
            "output" => {
                self.orders.output = Some(value.into());
                self.orders.style.to_file = true;
            }
            "debug" => self.categories(value, &origin),
            _ => self.style(entry, value, &origin),
        }
    }

    fn style(&mut self, entry: &Entry, value: &str, origin: &Origin) {
        let style = &mut self.orders.style;
        match entry.name {
            "minimal" => style.formats = vec![Format::Terse],
            "bandwidth-log" => style.bandwidth_log = true,
            "append-terse" if !style.formats.contains(&Format::Terse) => style.formats.push(Format::Terse),
            "output-format" => match formats(value) {
                Ok(formats) => style.formats = formats,
                Err(wrong) => self.problem(wrong),
            },
            "terse-version" => match value.trim() {
                "2" | "3" | "4" | "5" => style.terse_version = value.trim().parse().unwrap_or(3),
                _ => {
                    self.problem(Diagnostic::error(origin, bad("terse-version", value)).hint("2, 3, 4 or 5"))
                }
            },
            "eta" => match value {
                "auto" => style.eta = Eta::Auto,
                "always" => style.eta = Eta::Always,
                "never" => style.eta = Eta::Never,
                _ => self.problem(Diagnostic::error(origin, bad("eta", value)).hint("always, never or auto")),
            },
            "eta-newline" => self.time(value, origin, |style, ns| style.eta_newline_ns = ns),
            "status-interval" => self.time(value, origin, |style, ns| style.status_interval_ns = ns),
            "eta-interval" => match value.trim().parse::<u64>() {
                Ok(ms) if ms >= 250 => style.eta_interval_ns = ms * 1_000_000,
                _ => self
                    .problem(Diagnostic::error(origin, bad("eta-interval", value)).hint("250 ms at least")),
            },
            // Accepted without effect, as their entries say.
            _ => {}
        }
    }

    /// A time of at least a second.
    fn time(&mut self, value: &str, origin: &Origin, keep: fn(&mut Style, u64)) {
        match number::time_ns(value, Unit::Second) {
            Ok(ns) if ns >= 1_000_000_000 => keep(&mut self.orders.style, ns),
            Ok(_) => {
                self.problem(Diagnostic::error(origin, format!("`{origin}`: too short")).hint("1s at least"))
            }
            Err(mut wrong) => {
                wrong.message = format!("`{origin}`: {}", wrong.message);
                self.problem(at(origin, &wrong));
            }
        }
    }

    fn categories(&mut self, value: &str, origin: &Origin) {
        for name in value.split([',', ':']).map(str::trim).filter(|name| !name.is_empty()) {
            // A number behind a colon is a job's.
            if !program::CATEGORIES.contains(&name) && name.parse::<u32>().is_err() {
                let hint = match nearest(name, program::CATEGORIES.iter().copied()) {
                    Some(near) => format!("did you mean `{near}`?"),
                    None => format!("one of {}", program::CATEGORIES.join(", ")),
                };
                self.problem(Diagnostic::error(origin, bad("debug", name)).hint(hint));
            }
        }
    }

    fn first(&mut self, instead: Instead) {
        // As getopt goes: the first one prints and ends; --parse-only waits for the jobs.
        if self.orders.instead.as_ref().is_none_or(|known| *known == Instead::ParseOnly) {
            self.orders.instead = Some(instead);
        }
    }

    fn problem(&mut self, problem: Diagnostic) {
        self.problems.push(problem);
    }
}

fn bad(option: &str, value: &str) -> String {
    let value: String = value.chars().take(60).collect();
    format!("`--{option}={value}`: unknown value")
}

/// `normal,terse,json+`: each once, in the order in which reports are printed.
fn formats(value: &str) -> Result<Vec<Format>, Diagnostic> {
    let origin = Origin::argument(&format!("--output-format={value}"));
    let mut formats = Vec::new();
    for name in value.split(',').map(str::trim) {
        let format = match name {
            "normal" => Format::Normal,
            "terse" | "minimal" => Format::Terse,
            "json" => Format::Json,
            "json+" => Format::JsonPlus,
            _ => {
                let known = "normal, terse, json and json+, with commas between";
                return Err(Diagnostic::error(&origin, bad("output-format", name)).hint(known));
            }
        };
        if !formats.contains(&format) {
            formats.push(format);
        }
    }
    Ok(formats)
}
