//! io500's command line: options in any order, and the configuration file.

use iodyno_model::{Diagnostic, Origin};

use super::options::{self, SETTERS, TABLE};
use crate::option::{Arguments, GivenOption, Misfit, Syntax, Token, setter};
use crate::run_options::RunOptions;
use crate::{Keep, ReportFile};

/// What the command line says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Command {
    /// The configuration file.
    pub path: Option<String>,
    /// `--mini`: the directory.
    pub mini: Option<String>,
    pub dry_run: bool,
    pub list: bool,
    pub help: bool,
    pub version: bool,
    pub keep: Keep,
    pub run_options: RunOptions,
    pub details: bool,
    /// `--json`, `--csv`, `--html`.
    pub files: Vec<ReportFile>,
}

/// `-v=N` beside `-v N`, as the original's parser takes both.
const SYNTAX: Syntax = Syntax { letters_assign: true, ..Syntax::GETOPT };

/// Parses a command line.
///
/// # Errors
/// Everything that is wrong with it.
pub fn parse(arguments: &[String]) -> Result<Command, Vec<Diagnostic>> {
    let (mut command, mut wrong) = (Command::default(), Vec::new());
    for token in Arguments::new(&TABLE, SYNTAX, arguments) {
        let set = match token {
            Ok(Token::Option(given)) => command.set(given),
            Ok(Token::Separator) => Ok(()),
            Ok(Token::Operand(path)) => command.configure(path),
            Err(Misfit::Superfluous { name, .. }) => {
                let origin = Origin::argument(&format!("--{name}"));
                Err(Diagnostic::error(&origin, "this option has no value").hint("leave out what follows `=`"))
            }
            Err(misfit) => Err(misfit.or_unknown(options::unknown)),
        };
        wrong.extend(set.err());
    }
    if wrong.is_empty() { Ok(command) } else { Err(wrong) }
}

impl Command {
    fn set(&mut self, given: GivenOption<'_>) -> Result<(), Diagnostic> {
        let (entry, value, origin) = (given.entry, given.value.unwrap_or_default(), given.origin());
        TABLE.check(entry.name, &origin)?;
        if !entry.words().is_empty() {
            TABLE.check_word(entry, value, &origin)?;
        }
        let wrong = |what: String| Diagnostic::error(&origin, what).hint(entry.help);
        let out_of_bounds = |_| format!("`{value}`: expected a whole number");
        setter(SETTERS, entry)
            .map_or(Ok(()), |setter| setter.apply(self, value, out_of_bounds).map_err(wrong))
    }

    fn configure(&mut self, path: &str) -> Result<(), Diagnostic> {
        match self.path.replace(path.into()) {
            None => Ok(()),
            Some(_) => {
                Err(Diagnostic::error(&Origin::argument(path), "a second configuration file")
                    .hint("name one"))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Result<Command, Vec<String>> {
        let words: Vec<String> = line.split_whitespace().map(Into::into).collect();
        parse(&words).map_err(|wrong| wrong.iter().map(ToString::to_string).collect())
    }

    #[test]
    fn options_stand_before_and_after_the_file() {
        let command =
            parsed("--dry-run c.ini -v=3 --mode=standard --tag a --json out.json --repeat 3").unwrap();
        assert!(command.dry_run && command.path.as_deref() == Some("c.ini"));
        assert_eq!(command.keep, Keep { wanted: Some(true), tags: vec!["a".into()] });
        assert_eq!(command.files, [ReportFile { path: "out.json".into(), format: "json".into() }]);
        assert_eq!(command.run_options.repeat, Some(3));
        assert_eq!(parsed("--no-save c.ini").unwrap().keep.wanted, Some(false));
        assert!(
            parsed("-h").unwrap().help && parsed("--help").unwrap().help && parsed("-V").unwrap().version
        );
    }

    #[test]
    fn all_that_is_wrong_is_reported() {
        let wrong = parsed("a b --mode=extended --cleanup --lsit --repeat 0 --list=1 --mini").unwrap_err();
        for (message, words) in wrong.iter().zip([
            "second configuration file",
            "extended mode",
            "remove the directory",
            "did you mean `--list`",
            "whole number from 1",
            "has no value",
            "no value follows",
        ]) {
            assert!(message.contains(words), "{words}: {message}");
        }
        assert_eq!(wrong.len(), 7, "{wrong:#?}");
    }
}
