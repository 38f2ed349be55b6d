//! From sections to the settings of each job: values are read, `[global]` is inherited, engines' options are held
//! against the engine.
//!
//! All problems are reported, not the first alone. What an option does is lowering's business.

use iodyno_model::{Diagnostic, Origin};

use super::number::{Base, fault};
use super::options::{self, JobOption, TABLE};
use super::section::{OptionLine, Section, at};
use super::settings::{Given, Settings};
use super::show::rank;
use super::value::{self, OptionValue};
use crate::option::Status;

/// Every job with its options, and everything that is wrong.
#[derive(Debug, Default)]
pub struct JobSettings {
    /// The jobs in order.
    pub jobs: Vec<Settings>,
    /// What `[global]` said in the end, each option once.
    pub global: Vec<(String, String)>,
    /// What is wrong.
    pub problems: Vec<Diagnostic>,
}

/// Reads the values of all sections.
pub fn gather(sections: &[Section]) -> JobSettings {
    let mut gathered = JobSettings::default();
    let mut inherited: Vec<Given> = Vec::new();
    for section in sections {
        let own = read(section, &inherited, &mut gathered.problems);
        if section.global {
            inherited.extend(own);
            check_engine(&inherited, &mut gathered.problems, true);
        } else {
            gathered.jobs.push(job(section, &inherited, own, &mut gathered.problems));
        }
    }
    gathered.global = once(&inherited);
    if inherited.iter().any(|given| matches!(given.origin, Origin::File { .. })) {
        as_taken(&mut gathered.global);
    }
    gathered
}

fn job(section: &Section, inherited: &[Given], own: Vec<Given>, problems: &mut Vec<Diagnostic>) -> Settings {
    let mut given = inherited.to_vec();
    given.extend(own);
    let engine = engine(&given);
    // What [global] says for its engine is no concern of a job with another.
    given.retain(|given| !given.global || belongs(given, engine));
    check_engine(&given, problems, false);
    let named = given.iter().rev().find(|given| given.entry.name == "name" && !given.global);
    let name = named.map_or(section.name.as_str(), |given| given.text.as_str()).to_string();
    Settings { name, section: section.name.clone(), origin: section.origin.clone(), given }
}

/// A section's options, in the order in which they hold: units first, since they decide how numbers are read.
fn read(section: &Section, inherited: &[Given], problems: &mut Vec<Diagnostic>) -> Vec<Given> {
    let base = base(section, inherited);
    let mut list = Vec::with_capacity(section.lines.len());
    for line in &section.lines {
        match given(line, section.global, base) {
            Ok(given) => list.push(given),
            Err(problem) => problems.push(problem),
        }
    }
    list
}

fn given(line: &OptionLine, global: bool, base: Base) -> Result<Given, Diagnostic> {
    let row = options::find(&line.name).ok_or_else(|| unknown(line))?;
    let text = line.text.as_deref();
    let refused = match row.entry.status {
        Status::Refused(why, hint) => {
            let message = format!("{}: {why}", written(row, line));
            Some(Diagnostic::error(&line.origin, message).hint(hint))
        }
        _ => None,
    };
    let understood = if text.is_some_and(|text| text.trim().is_empty()) {
        let name = row.entry.name;
        Err(fault("a value is missing", format!("{name}={}", row.entry.value)))
    } else {
        value::read(row, text, base)
    };
    let value = understood.map_err(|wrong| {
        if let Some(refused) = &refused {
            return refused.clone();
        }
        let message = format!("{}: {}", written(row, line), wrong.message);
        at(&line.origin, &fault(message, wrong.hint))
    })?;
    // What is refused may still be said to be off.
    if let Some(refused) = refused.filter(|_| !is_off(&value) && text != Some(row.entry.default)) {
        return Err(refused);
    }
    let text = line.text.clone().unwrap_or_default();
    Ok(Given { entry: &row.entry, text, value, origin: line.origin.clone(), global })
}

fn is_off(value: &OptionValue) -> bool {
    matches!(value, OptionValue::Flag(false) | OptionValue::Whole(0))
}

/// The option as it was written, for a message: never longer than a line.
fn written(row: &JobOption, line: &OptionLine) -> String {
    let name = if line.name.is_empty() { row.entry.name } else { &line.name };
    match line.text.as_deref() {
        None | Some("") => format!("`{name}`"),
        Some(text) if text.chars().count() > 60 => {
            let begin: String = text.chars().take(60).collect();
            format!("`{name}={begin}…`")
        }
        Some(text) => format!("`{name}={text}`"),
    }
}

fn unknown(line: &OptionLine) -> Diagnostic {
    let name: String = line.name.chars().take(60).collect();
    let problem = Diagnostic::error(&line.origin, format!("no option `{name}`"));
    match TABLE.suggest(&name) {
        Some(near) => problem.hint(format!("did you mean `{near}`?")),
        None => problem.hint("fio --cmdhelp=all lists every option"),
    }
}

/// What `k` is worth here: as the section says, wherever in it, or as it inherits.
fn base(section: &Section, inherited: &[Given]) -> Base {
    let own =
        section.lines.iter().rev().find(|line| line.name == "kb_base").and_then(|line| line.text.as_deref());
    let said =
        inherited.iter().rev().find(|given| given.entry.name == "kb_base").map(|given| given.text.as_str());
    if own.or(said).map(str::trim) == Some("1000") { Base(1000) } else { Base(1024) }
}

fn engine(given: &[Given]) -> &'static str {
    let said = given.iter().rev().find(|given| given.entry.name == "ioengine");
    match said.map(|given| &given.value) {
        Some(OptionValue::Words(engine, _)) => engine[0],
        _ => "psync",
    }
}

fn belongs(given: &Given, engine: &str) -> bool {
    let row = options::find(given.entry.name);
    row.is_none_or(|row| row.is_general() || row.rule.engines.contains(&engine))
}

/// An engine's option given for another engine is unknown there.
fn check_engine(given: &[Given], problems: &mut Vec<Diagnostic>, global: bool) {
    let engine = engine(given);
    // Several [global] sections: only the last may be looked at, or problems would be told twice.
    for stray in given.iter().filter(|given| given.global == global && !belongs(given, engine)) {
        let engines = options::find(stray.entry.name).map_or(&[][..], |row| row.rule.engines);
        let name = stray.entry.name;
        let hint = format!("`{name}` belongs to ioengine={}", engines.join(", "));
        let problem = Diagnostic::error(&stray.origin, format!("ioengine={engine} has no option `{name}`"));
        let problem = problem.hint(hint);
        if !problems.contains(&problem) {
            problems.push(problem);
        }
    }
}

/// Each option that has a value once, as last mentioned, in the order of the last mentions.
pub fn once(given: &[Given]) -> Vec<(String, String)> {
    let mut list: Vec<(String, String)> = Vec::new();
    let mut seen = std::collections::HashSet::new();
    for given in given.iter().rev() {
        if seen.insert(given.entry.name) && !given.text.is_empty() {
            list.push((given.entry.name.to_string(), given.text.clone()));
        }
    }
    list.reverse();
    list
}

/// Puts options in the order in which fio takes them from a file, which its JSON shows: units first, file names and
/// engines' options last.
pub fn as_taken(options: &mut [(String, String)]) {
    options.sort_by_key(|(name, _)| rank(name));
}

/// A line of the command line.
pub fn argument(name: &str, text: Option<String>) -> OptionLine {
    let shown = match &text {
        Some(text) => format!("--{name}={text}"),
        None => format!("--{name}"),
    };
    OptionLine { name: name.to_string(), text, origin: Origin::argument(&shown) }
}
