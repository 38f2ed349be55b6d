//! The command line: a configuration, and options.
//!
//! IOMeter's own switches of Windows are taken, too (`/c FILE /r FILE`). It refuses what only a window could do.

use iodyno_model::{Diagnostic, Origin};

use super::options::SETTERS;
use crate::option::Setter;

/// What is to be done.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Command {
    /// The configuration.
    pub file: String,
    /// Where results go; none: standard output.
    pub results: Option<String>,
    /// Targets by name, with their paths.
    pub maps: Vec<(String, String)>,
    /// What is printed in place of a run.
    pub text: Option<String>,
}

impl Command {
    pub(super) fn configuration(&mut self, path: &str) -> Result<(), Diagnostic> {
        if !self.file.is_empty() {
            let wrong = Diagnostic::error(&Origin::Default, "a second configuration");
            return Err(wrong.hint("one at a time"));
        }
        self.file = path.into();
        Ok(())
    }
}

/// Parses a command line.
///
/// # Errors
/// The first thing that is wrong with it.
pub fn parse(arguments: &[String]) -> Result<Command, Diagnostic> {
    let mut command = Command::default();
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        let origin = Origin::argument(argument);
        let placed = |wrong: Diagnostic| match wrong.origin {
            Origin::Default => Diagnostic { origin: origin.clone(), ..wrong },
            _ => wrong,
        };
        let Some((setter, value)) = option(argument)? else {
            command.configuration(argument).map_err(placed)?;
            continue;
        };
        let entry = setter.entry;
        let value = match entry.is_flag() {
            true => Some(String::new()),
            false => value.or_else(|| rest.next().cloned()).filter(|value| !value.is_empty()),
        };
        let missing = || Diagnostic::error(&origin, "a value is missing").hint(entry.help);
        let value = value.ok_or_else(missing)?;
        let out_of_bounds = |_| Diagnostic::error(&origin, "a value is missing");
        setter.apply(&mut command, &value, out_of_bounds).map_err(placed)?;
        if command.text.is_some() {
            return Ok(command);
        }
    }
    match command.file.is_empty() {
        true => Err(Diagnostic::error(&Origin::argument("iometer"), "no configuration is named")
            .hint("iodyno iometer FILE.icf -r RESULTS.csv")),
        false => Ok(command),
    }
}

/// An option that was given, and its value where that is attached.
type Given = (&'static Setter<Command, Diagnostic>, Option<String>);

/// `-r`, `--results=FILE`, or `/r` as on Windows; a path that begins with a slash is none.
fn option(argument: &str) -> Result<Option<Given>, Diagnostic> {
    let windows =
        argument.strip_prefix('/').filter(|word| matches!(*word, "c" | "r" | "t" | "C" | "R" | "T"));
    let Some(word) = argument.strip_prefix("--").or(argument.strip_prefix('-')).or(windows) else {
        return Ok(None);
    };
    let (name, value) = word.split_once('=').map_or((word, None), |(name, value)| (name, Some(value.into())));
    let find = |name: &str| SETTERS.iter().find(|setter| setter.entry.answers_to(name));
    let unknown =
        || Diagnostic::error(&Origin::argument(argument), "no such option").hint("iodyno iometer --help");
    let setter = find(name).or_else(|| find(&name.to_lowercase())).ok_or_else(unknown)?;
    Ok(Some((setter, value)))
}
