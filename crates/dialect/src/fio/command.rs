//! The command line: program options, job options and job files, with one or two dashes, as getopt takes them.
//!
//! Job options before the first `--name` hold for all jobs, those behind it for that job; job files are read last. It
//! refuses an option it does not know, and an abbreviation that fits several.

use std::collections::BTreeSet;

use iodyno_model::{Diagnostic, Origin};

use super::gather;
use super::options::{ROWS, Reading};
use super::program::{self, Argument, LETTERS, PROGRAM};
use super::section::{Line, Section};
use crate::option::{Entry, Status, nearest};

/// The command line, sorted.
#[derive(Debug, Default)]
pub struct Sorted {
    /// Program options in order, with their values.
    pub program: Vec<(&'static Entry, Option<String>)>,
    /// Sections made from job options: the first is global.
    pub sections: Vec<Section>,
    /// Job files; those behind a `--client` are with it.
    pub files: Vec<String>,
    /// Each `--client`.
    pub clients: Vec<Client>,
    /// What is wrong.
    pub problems: Vec<Diagnostic>,
}

/// A `--client`, and the job files behind it.
#[derive(Debug, Default)]
pub struct Client {
    /// The hosts, as typed.
    pub hosts: String,
    /// Job files.
    pub files: Vec<String>,
}

/// Sorts arguments.
pub fn sort(arguments: &[String]) -> Sorted {
    let mut sorter = Sorter { arguments, at: 0, sorted: Sorted::default() };
    sorter.sorted.sections.push(Section::new("global", Origin::Default));
    while sorter.at < arguments.len() {
        sorter.next();
    }
    sorter.sorted
}

struct Sorter<'a> {
    arguments: &'a [String],
    at: usize,
    sorted: Sorted,
}

/// Which option a name is.
enum Meant {
    Program(&'static Entry),
    Job(&'static str, Argument),
}

impl Sorter<'_> {
    fn next(&mut self) {
        let argument = &self.arguments[self.at];
        self.at += 1;
        if argument == "--" {
            let rest = self.arguments.len();
            self.arguments[self.at..].iter().for_each(|file| self.file(file));
            self.at = rest;
            return;
        }
        let Some(bare) = argument.strip_prefix('-').filter(|bare| !bare.is_empty()) else {
            return self.file(argument);
        };
        let long = bare.strip_prefix('-').unwrap_or(bare);
        let (name, value) = match long.split_once('=') {
            Some((name, value)) => (name, Some(value.to_string())),
            None => (long, None),
        };
        // One dash and one letter is a letter, as with getopt_long_only.
        if bare.chars().count() == 1
            && let Some((_, word)) = LETTERS.iter().find(|(letter, _)| bare.starts_with(*letter))
        {
            return self.take(word, None, argument);
        }
        self.take(name, value, argument);
    }

    fn file(&mut self, path: &str) {
        let files = self.sorted.clients.last_mut().map_or(&mut self.sorted.files, |client| &mut client.files);
        files.push(path.into());
    }

    fn take(&mut self, name: &str, value: Option<String>, shown: &str) {
        let meant = match find(name) {
            Ok(meant) => meant,
            Err((message, hint)) => {
                let problem = Diagnostic::error(&Origin::argument(shown), message);
                return self.sorted.problems.push(if hint.is_empty() { problem } else { problem.hint(hint) });
            }
        };
        let (written, argument) = match meant {
            Meant::Program(entry) => (entry.name, program::argument(entry)),
            Meant::Job(name, argument) => (name, argument),
        };
        let value = match (argument, value) {
            (Argument::No, Some(_)) => {
                return self.wrong(shown, format!("option '--{written}' takes no value"));
            }
            (Argument::Yes, None) => match self.arguments.get(self.at) {
                Some(value) => {
                    self.at += 1;
                    Some(value.clone())
                }
                None => return self.wrong(shown, format!("option '--{written}' needs a value")),
            },
            (_, value) => value,
        };
        match meant {
            Meant::Program(entry) if entry.name == "client" => {
                let hosts = value.unwrap_or_default();
                self.sorted.clients.push(Client { hosts, files: Vec::new() });
            }
            Meant::Program(entry) => self.sorted.program.push((entry, value)),
            Meant::Job(name, _) => self.job(gather::argument(name, value)),
        }
    }

    fn wrong(&mut self, shown: &str, message: String) {
        self.sorted.problems.push(Diagnostic::error(&Origin::argument(shown), message));
    }

    fn job(&mut self, line: Line) {
        if line.name == "name" {
            let name = line.text.clone().unwrap_or_default();
            if name.is_empty() {
                let problem = Diagnostic::error(&line.origin, "a job needs a name");
                self.sorted.problems.push(problem.hint("--name=job1"));
            }
            self.sorted.sections.push(Section::new(&name, line.origin));
        } else if let Some(section) = self.sorted.sections.last_mut() {
            section.lines.push(line);
        }
    }
}

/// The option of that name, or the only one that begins so.
fn find(name: &str) -> Result<Meant, (String, String)> {
    if let Some(entry) = PROGRAM.find(name) {
        return Ok(Meant::Program(entry));
    }
    if let Some(row) = super::options::find(name) {
        return Ok(Meant::Job(row.entry.name, job_argument(row.reading)));
    }
    let begins = |known: &&str| !name.is_empty() && known.starts_with(name);
    let names = || PROGRAM.entries.iter().map(|entry| entry.name).chain(ROWS.iter().flat_map(all_names));
    // fio knows an engine's options only once the engine is chosen; those that are not here are never chosen.
    let here =
        ROWS.iter().filter(|row| row.engines.is_empty() || !matches!(row.entry.status, Status::Refused(..)));
    let offered = PROGRAM.entries.iter().map(|entry| entry.name).chain(here.flat_map(all_names));
    let candidates: BTreeSet<&str> = offered.filter(begins).map(canonical).collect();
    match candidates.iter().collect::<Vec<_>>().as_slice() {
        [only] => find(only),
        [] => Err(unknown(name, nearest(name, names()))),
        several => {
            let list: Vec<String> = several.iter().take(12).map(|name| format!("--{name}")).collect();
            Err((format!("option '--{name}' is ambiguous"), format!("one of {}", list.join(", "))))
        }
    }
}

fn all_names(row: &'static super::options::Row) -> impl Iterator<Item = &'static str> {
    [row.entry.name].into_iter().chain(row.entry.aliases.iter().copied())
}

fn canonical(name: &'static str) -> &'static str {
    super::options::find(name).map_or(name, |row| row.entry.name)
}

fn unknown(name: &str, near: Option<&str>) -> (String, String) {
    let name: String = name.chars().take(60).collect();
    let hint = near.map(|near| format!("did you mean `--{near}`?")).unwrap_or_default();
    (format!("unrecognized option '--{name}'"), hint)
}

/// Only switches may stand without a value.
fn job_argument(reading: Reading) -> Argument {
    if reading == Reading::Switch { Argument::Maybe } else { Argument::Yes }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sorted(line: &str) -> Sorted {
        sort(&line.split_whitespace().map(String::from).collect::<Vec<_>>())
    }

    fn shown(sorted: &Sorted) -> Vec<String> {
        let line = |line: &Line| match &line.text {
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
        assert_eq!(found.program[0].0.name, "minimal");
        assert!(found.sections[2].global);
    }

    #[test]
    fn beginnings_that_fit_one_option_only_will_do() {
        let found = sorted("--minim --nam x --time_ -v --sect=a -siz 1m");
        assert_eq!(found.problems, []);
        assert_eq!(shown(&found), ["[global] ", "[x] time_based size=1m"]);
        let program: Vec<_> = found.program.iter().map(|(entry, _)| entry.name).collect();
        assert_eq!(program, ["minimal", "version", "section"]);
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
