//! The command line: program options, job options and job files, with one or two dashes, as `getopt_long_only` takes them.
//!
//! Job options before the first `--name` hold for all jobs, those behind it for that job; job files are read last. It
//! refuses an option it does not know, and an abbreviation that fits several.

use std::sync::LazyLock;

use iodyno_model::{Diagnostic, Origin};

use super::gather;
use super::number::{self, Fault, TimeUnit, fault};
use super::options::program::{PROGRAM, SETTERS};
use super::options::{self, JobOption, OPTIONS};
use super::section::{Section, at};
use super::view::{Eta, Format, IdleProfile, ReportStyle};
use crate::Trigger;
use crate::option::{
    Arguments, Entry, GivenOption, Kind, Misfit, Status, Syntax, Table, Token, ValuePlace, nearest, setter,
};

/// A parsed command line.
#[derive(Debug, Default)]
pub struct Command {
    /// How the report is written.
    pub style: ReportStyle,
    /// The report's file.
    pub output: Option<String>,
    /// `--readonly`: jobs that write are an error.
    pub readonly: bool,
    /// `--merge-blktrace-only`: nothing is run.
    pub merges_only: bool,
    /// `--aux-path`: where files made without being asked lie.
    pub aux_path: Option<String>,
    /// `--warnings-fatal`: what is worth a note ends the run.
    pub strict: bool,
    /// What is done instead of a run.
    pub instead: Option<EarlyExit>,
    /// `--showcmd`.
    pub shows_commands: bool,
    /// `--debug` with words that are no category.
    pub debug_unknown: Vec<Diagnostic>,
    /// `--section`.
    pub only_sections: Vec<String>,
    /// Whether the job that options are given to was not asked for.
    skips: bool,
    /// Sections made from job options: the first is global.
    pub sections: Vec<Section>,
    /// Job files; those behind a `--client` are with it.
    pub files: Vec<String>,
    /// `--server`: where.
    pub server: Option<String>,
    /// `--daemonize`: the server goes on in the background, and its number is in this file.
    pub pid_file: Option<String>,
    /// The options that a server is sent, each as one word.
    pub forwarded: Vec<String>,
    /// `--trigger-file`, `--trigger-timeout` and `--trigger`.
    pub trigger: Trigger,
    /// `--trigger-remote`: what servers run then.
    pub trigger_remote: Option<String>,
    /// Each `--client`.
    pub clients: Vec<ClientArgument>,
    /// What is wrong.
    pub problems: Vec<Diagnostic>,
}

/// A `--client`, and the job files behind it.
#[derive(Debug, Default)]
pub struct ClientArgument {
    /// The hosts, as typed.
    pub hosts: String,
    /// Job files.
    pub files: Vec<String>,
    /// `--remote-config`: job files that lie on the server.
    pub remote_files: Vec<String>,
}

/// Program options that a client keeps to itself, because they are about its own report.
const LOCAL: &[&str] = &[
    "client",
    "remote-config",
    "output",
    "output-format",
    "minimal",
    "terse-version",
    "append-terse",
    "eta",
    "eta-interval",
    "eta-newline",
    "status-interval",
    "bandwidth-log",
    "trigger-file",
    "trigger-timeout",
    "trigger",
    "trigger-remote",
];

/// What is done instead of a run.
#[derive(Clone, Debug, PartialEq)]
pub enum EarlyExit {
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
    /// `--parse-only`: what `--debug=parse` has to show.
    ParseOnly(String),
    /// `--debug=help`.
    DebugHelp,
    /// `--inflate-log`: the file.
    InflatedLog(String),
    /// `--cpuclock-test`.
    ClockTest,
    /// `--idle-prof=calibrate`.
    IdleWork,
    /// `--crctest`.
    ChecksumTest(String),
    /// No job at all.
    Nothing,
}

const SYNTAX: Syntax = Syntax {
    is_abbreviated: true,
    is_long_only: true,
    long: Some(find),
    letter: |_, letter| PROGRAM.find(letter),
    place: |entry| match entry.kind {
        // Of job options only switches may stand without a value.
        Kind::Switch if !entry.category.is_empty() => ValuePlace::Assigned,
        _ => ValuePlace::of(entry),
    },
    ..Syntax::GETOPT
};

fn find(_: &Table, name: &str) -> Option<&'static Entry> {
    let program = PROGRAM.find(name).filter(|_| name.chars().count() > 1);
    program.or_else(|| options::find(name).map(|option| &option.entry))
}

/// Engines that are chosen so seldom that no beginning of an option is theirs.
const STORES: [&str; 3] = ["rados", "rbd", "libhdfs"];

/// What may be abbreviated. fio knows an engine's options only once the engine is chosen; those that are not here are
/// never chosen.
static ABBREVIATED: LazyLock<Vec<Entry>> = LazyLock::new(|| {
    let is_here = |entry: &Entry| !matches!(entry.status, Status::Refused(..));
    let is_usual = |option: &&JobOption| !option.rule.engines.iter().all(|engine| STORES.contains(engine));
    let is_known = |option: &&JobOption| option.is_general() || (is_here(&option.entry) && is_usual(option));
    let jobs = OPTIONS.iter().filter(is_known);
    PROGRAM.entries.iter().copied().chain(jobs.map(|option| option.entry)).collect()
});

/// Parses a command line.
pub fn parse(arguments: &[String]) -> Command {
    let table = Table { entries: &ABBREVIATED, ..PROGRAM };
    let global = Section::new("global", Origin::Default);
    let mut command = Command { sections: vec![global], ..Command::default() };
    let mut rest = Arguments::new(&table, SYNTAX, arguments);
    while let Some(token) = rest.next() {
        match token {
            Ok(Token::Option(given)) => command.option(&given),
            Ok(Token::Operand(file)) => command.file(file),
            Ok(Token::Separator) => std::iter::from_fn(|| rest.shift()).for_each(|file| command.file(file)),
            Err(misfit) => command.problems.push(problem(&misfit)),
        }
    }
    if command.pid_file.is_some() && command.server.is_none() {
        let wrong = Diagnostic::error(
            &Origin::argument("--daemonize"),
            "`--daemonize`: only a server goes to the background",
        );
        command.problems.push(wrong.hint("add --server"));
    }
    command
}

fn problem(misfit: &Misfit<'_>) -> Diagnostic {
    let wrong = |message: String| Diagnostic::error(&Origin::argument(misfit.name()), message);
    match misfit {
        Misfit::Ambiguous { name, found } if !name.is_empty() => {
            let mut names: Vec<String> = found.iter().map(|entry| format!("--{}", entry.name)).collect();
            names.sort_unstable();
            names.truncate(12);
            wrong(format!("option '--{name}' is ambiguous")).hint(format!("one of {}", names.join(", ")))
        }
        Misfit::Unknown { name, .. } | Misfit::Ambiguous { name, .. } => {
            let known = PROGRAM.entries.iter().map(|entry| entry.name);
            let near = nearest(name, known.chain(OPTIONS.iter().flat_map(|option| option.entry.names())));
            let name: String = name.chars().take(60).collect();
            let unknown = wrong(format!("unrecognized option '--{name}'"));
            if let Some(near) = near { unknown.hint(format!("did you mean `--{near}`?")) } else { unknown }
        }
        Misfit::Unfinished { entry, .. } => wrong(format!("option '--{}' needs a value", entry.name)),
        Misfit::Superfluous { entry, .. } => wrong(format!("option '--{}' takes no value", entry.name)),
    }
}

impl Command {
    fn file(&mut self, path: &str) {
        let files = self.clients.last_mut().map_or(&mut self.files, |client| &mut client.files);
        files.push(path.into());
    }

    fn option(&mut self, given: &GivenOption<'_>) {
        let (entry, value) = (given.entry, given.value.unwrap_or(""));
        if !LOCAL.contains(&entry.name) {
            let value = given.value.map_or_else(String::new, |value| format!("={value}"));
            self.forwarded.push(format!("--{}{value}", entry.name));
        }
        if !entry.category.is_empty() {
            return self.job_option(entry.name, given.value);
        }
        let origin = Origin::argument(&format!("--{}={value}", entry.name));
        if let Status::Refused(why, hint) = entry.status {
            let refused = Diagnostic::error(&origin, format!("`--{}`: {why}", entry.name));
            return self.problems.push(refused.hint(hint));
        }
        // None of them has bounds.
        let set =
            setter(SETTERS, entry).map_or(Ok(()), |setter| setter.apply(self, value, |_| fault("", "")));
        self.problems.extend(set.err().map(|wrong| at(&origin, &wrong)));
    }

    fn job_option(&mut self, name: &str, value: Option<&str>) {
        let line = gather::argument(name, value.map(String::from));
        if name == "name" {
            if value.is_none_or(str::is_empty) {
                let problem = Diagnostic::error(&line.origin, "a job needs a name");
                self.problems.push(problem.hint("--name=job1"));
            }
            let section = Section::new(value.unwrap_or_default(), line.origin);
            // --section concerns the jobs behind it on the command line, too.
            self.skips = !(section.global
                || self.only_sections.is_empty()
                || self.only_sections.contains(&section.name));
            if !self.skips {
                self.sections.push(section);
            }
        } else if self.skips {
            // Of a job that was not asked for.
        } else if let Some(section) = self.sections.last_mut() {
            section.lines.push(line);
        }
    }

    /// As getopt goes: the first one prints and ends; --parse-only waits for the jobs.
    pub(super) fn print_instead(&mut self, instead: EarlyExit) {
        if self.instead.as_ref().is_none_or(|known| matches!(known, EarlyExit::ParseOnly(_))) {
            self.instead = Some(instead);
        }
    }

    pub(super) fn idle_profile(&mut self, word: &str) -> Result<(), Fault> {
        match word {
            "system" => self.style.idleness = Some(IdleProfile::System),
            "percpu" => self.style.idleness = Some(IdleProfile::PerProcessor),
            "calibrate" => self.print_instead(EarlyExit::IdleWork),
            _ => {
                let message = format!("incorrect idle-prof option: {word}");
                return Err(fault(message, "--idle-prof=system, percpu or calibrate"));
            }
        }
        Ok(())
    }

    pub(super) fn remote_file(&mut self, path: &str) {
        match self.clients.last_mut() {
            Some(client) => client.remote_files.push(path.into()),
            None => {
                let origin = Origin::argument(&format!("--remote-config={path}"));
                let wrong = Diagnostic::error(&origin, format!("`{origin}`: no server is named before it"));
                self.problems.push(wrong.hint("fio --client=HOST --remote-config=FILE"));
            }
        }
    }

    pub(super) fn append_terse(&mut self) {
        if !self.style.formats.contains(&Format::Terse) {
            self.style.formats.push(Format::Terse);
        }
    }

    /// `--debug`: a word that is no category is told, and changes nothing.
    pub(super) fn debug(&mut self, list: &str) {
        if list == "help" {
            return self.print_instead(EarlyExit::DebugHelp);
        }
        let origin = Origin::argument(&format!("--debug={list}"));
        let unknown = self.style.debug.ask(list).into_iter();
        self.debug_unknown.extend(unknown.map(|message| Diagnostic::warning(&origin, message)));
    }
}

fn unknown(option: &str, value: &str, hint: &str) -> Fault {
    let value: String = value.chars().take(60).collect();
    fault(format!("`--{option}={value}`: unknown value"), hint)
}

/// `normal,terse,json+`: each once, in the order in which reports are printed.
pub(super) fn formats(list: &str) -> Result<Vec<Format>, Fault> {
    let mut formats = Vec::new();
    for name in list.split(',').map(str::trim) {
        let format = match name {
            "normal" => Format::Normal,
            "terse" | "minimal" => Format::Terse,
            "json" => Format::Json,
            "json+" => Format::JsonPlus,
            _ => {
                let hint = "normal, terse, json and json+, with commas between";
                return Err(unknown("output-format", name, hint));
            }
        };
        if !formats.contains(&format) {
            formats.push(format);
        }
    }
    Ok(formats)
}

pub(super) fn terse_version(text: &str) -> Result<u32, Fault> {
    let version = text.trim().parse().ok().filter(|version| (2..=5).contains(version));
    version.ok_or_else(|| unknown("terse-version", text, "2, 3, 4 or 5"))
}

pub(super) fn eta(text: &str) -> Result<Eta, Fault> {
    match text {
        "auto" => Ok(Eta::Auto),
        "always" => Ok(Eta::Always),
        "never" => Ok(Eta::Never),
        _ => Err(unknown("eta", text, "always, never or auto")),
    }
}

/// Milliseconds in ns.
pub(super) fn eta_interval(text: &str) -> Result<u64, Fault> {
    let ms = text.trim().parse::<u64>().ok().filter(|ms| *ms >= 250);
    ms.map(|ms| ms.saturating_mul(1_000_000)).ok_or_else(|| unknown("eta-interval", text, "250 ms at least"))
}

/// A time in seconds, ns; none where it is 0.
pub(super) fn timeout(option: &str, text: &str) -> Result<Option<u64>, Fault> {
    let ns = number::time_ns(text, TimeUnit::Second);
    ns.map(|ns| Some(ns).filter(|ns| *ns > 0))
        .map_err(|wrong| fault(format!("`--{option}={text}`: {}", wrong.message), wrong.hint))
}

/// A time of at least a second, ns.
pub(super) fn time(option: &str, text: &str) -> Result<u64, Fault> {
    match number::time_ns(text, TimeUnit::Second) {
        Ok(ns) if ns >= 1_000_000_000 => Ok(ns),
        Ok(_) => Err(fault(format!("`--{option}={text}`: too short"), "1s at least")),
        Err(wrong) => Err(fault(format!("`--{option}={text}`: {}", wrong.message), wrong.hint)),
    }
}

#[cfg(test)]
mod tests {
    use super::super::section::OptionLine;
    use super::*;

    fn sorted(line: &str) -> Command {
        parse(&line.split_whitespace().map(String::from).collect::<Vec<_>>())
    }

    fn shown(sorted: &Command) -> Vec<String> {
        let line = |line: &OptionLine| match &line.text {
            Some(text) => format!("{}={text}", line.name),
            None => line.name.clone(),
        };
        let section = |section: &Section| {
            format!("[{}] {}", section.name, section.lines.iter().map(line).collect::<Vec<_>>().join(" "))
        };
        sorted.sections.iter().map(section).collect()
    }

    #[test]
    fn one_dash_or_two_with_or_without_the_sign() {
        let line = "-filename=DEV -direct=1 -iodepth 1 -thread -rw=read --bs 16k -name=x -numjobs=30 -runtime 10 --group_reporting";
        let found = sorted(line);
        assert_eq!(found.problems, []);
        assert_eq!(
            shown(&found),
            [
                "[global] filename=DEV direct=1 iodepth=1 thread rw=read bs=16k",
                "[x] numjobs=30 runtime=10 group_reporting"
            ]
        );
        let found = sorted("--name x --size=1m --name=global --rw=read --name=y -thread=1 a.fio - --minimal");
        assert_eq!(shown(&found), ["[global] ", "[x] size=1m", "[global] rw=read", "[y] thread=1"]);
        assert_eq!(found.files, ["a.fio", "-"]);
        assert_eq!(found.style.formats, [Format::Terse]);
        assert!(found.sections[2].global);
    }

    #[test]
    fn beginnings_that_fit_one_option_only_will_do() {
        let found = sorted("--minim --nam x --time_ -v --sect=a -siz 1m");
        assert_eq!(found.problems, []);
        assert_eq!(shown(&found), ["[global] ", "[x] time_based size=1m"]);
        assert_eq!((found.instead, found.only_sections), (Some(EarlyExit::Version), vec!["a".into()]));
        let problems = sorted("--io=3 --foo --version=3 --name=x --direct").problems;
        assert_eq!(problems.len(), 4, "{problems:?}");
        assert!(problems[0].message.contains("ambiguous"));
        assert!(problems[1].message.contains("unrecognized option '--foo'"));
        assert!(problems[3].message.contains("needs a value"));
    }

    #[test]
    fn what_follows_two_dashes_alone_is_a_file() {
        let found = sorted("--name=x -- --bs=4k");
        assert_eq!(found.files, ["--bs=4k"]);
    }
}
