//! filebench's command line: a script, its variables, and what is printed in place of a run.

use iodyno_model::{Diagnostic, Origin};

use super::options::{SETTERS, TABLE};
use crate::option::{Arguments, GivenOption, Misfit, OutOfBounds, Syntax, Token, ValuePlace, setter};

/// What the command line says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command {
    /// `-f`.
    pub file: Option<String>,
    /// `-D`: `NAME=VALUE`.
    pub variables: Vec<String>,
    /// `--seed`.
    pub seed: u64,
    /// `-h`.
    pub help: bool,
    /// `-c`: the types of random variables are listed.
    pub distributions: bool,
    pub version: bool,
}

impl Default for Command {
    fn default() -> Self {
        Command {
            file: None,
            variables: Vec::new(),
            seed: 1,
            help: false,
            distributions: false,
            version: false,
        }
    }
}

const SYNTAX: Syntax = Syntax {
    place: |entry| match entry.name {
        "c" => ValuePlace::AttachedOrNext(|word| !word.starts_with('-')),
        _ => ValuePlace::of(entry),
    },
    ..Syntax::GETOPT
};

/// Parses a command line.
///
/// # Errors
/// The first thing that is wrong with it.
pub fn parse(arguments: &[String]) -> Result<Command, Diagnostic> {
    let arguments = crate::dashes(arguments);
    let mut command = Command::default();
    let mut rest = Arguments::new(&TABLE, SYNTAX, &arguments);
    while let Some(token) = rest.next() {
        match token {
            Ok(Token::Option(given)) => command.set(&given)?,
            Ok(Token::Separator) => match rest.shift() {
                Some(word) => return Err(unknown(word)),
                None => break,
            },
            Ok(Token::Operand(word)) => return Err(unknown(word)),
            Err(Misfit::Unfinished { argument, entry, .. }) => {
                TABLE.check(entry.name, &Origin::argument(argument))?;
                let message = format!("{} is missing", entry.value);
                let hint = "filebench -f FILE.f -D nfiles=1000";
                return Err(Diagnostic::error(&Origin::argument(argument), message).hint(hint));
            }
            Err(Misfit::Unknown { argument, .. }) => return Err(unknown(argument)),
            Err(misfit) => return Err(unknown(&format!("--{}", misfit.name()))),
        }
    }
    Ok(command)
}

fn unknown(argument: &str) -> Diagnostic {
    Diagnostic::error(&Origin::argument(argument), "no such option").hint("filebench -h lists them")
}

impl Command {
    fn set(&mut self, given: &GivenOption<'_>) -> Result<(), Diagnostic> {
        let entry = TABLE.check(given.entry.name, &given.origin())?;
        let wrong = |bounds: OutOfBounds| {
            let message = format!("no whole number from {} to {}", bounds.least, bounds.most);
            Diagnostic::error(&given.origin(), message)
        };
        let value = given.value.unwrap_or_default();
        setter(SETTERS, entry).map_or(Ok(()), |setter| setter.apply(self, value, wrong))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Result<Command, String> {
        let words: Vec<String> = line.split_whitespace().map(String::from).collect();
        parse(&words).map_err(|wrong| wrong.to_string())
    }

    #[test]
    fn values_are_attached_or_apart() {
        let wanted = Command {
            file: Some("x.f".into()),
            variables: vec!["dir=/d".into(), "n=5".into()],
            seed: 7,
            ..Command::default()
        };
        for line in ["-f x.f -D dir=/d -Dn=5 --seed 7", "-fx.f -Ddir=/d -D n=5 --seed=7"] {
            assert_eq!(parsed(line), Ok(wanted.clone()), "{line}");
        }
        assert!(parsed("-c cvar-gamma").unwrap().distributions && parsed("-c -h").unwrap().help);
        assert!(parsed("-f x --version").unwrap().version);
        assert!(parsed("–h").unwrap().help, "a dash of a word processor is a hyphen");
    }

    #[test]
    fn what_is_wrong_has_its_place_and_a_hint() {
        for (line, place, what) in [
            ("-f", "-f", "FILE is missing"),
            ("-f x.f --seed abc", "abc", "no whole number"),
            ("-f x.f -a filereader", "-a filereader", "not supported"),
            ("-q", "-q", "no such option"),
            ("x.f", "x.f", "no such option"),
            ("-- x.f", "x.f", "no such option"),
            ("--foo", "--foo", "no such option"),
        ] {
            let told = parsed(line).unwrap_err();
            assert!(told.contains(place) && told.contains(what) && told.contains("hint"), "{line}: {told}");
        }
    }
}
