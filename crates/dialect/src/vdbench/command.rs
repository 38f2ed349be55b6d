//! The command line: `-x value` and `-xvalue` alike, files behind `-f`, `NAME=VALUE` for variables, `+` for parameters of
//! every run.
//!
//! It refuses parameters without a file, as the original does.

use iodyno_model::{Diagnostic, Origin};

use super::options::COMMAND_LINE;
use crate::option::{Kind, Status};

/// What is asked for.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Command {
    pub files: Vec<String>,
    /// The folder of the results, as it was typed.
    pub output: Option<String>,
    pub variables: Vec<(String, String)>,
    /// Parameters that are added to each run.
    pub extra: String,
    pub elapsed_s: Option<u64>,
    pub interval_s: Option<u64>,
    pub warmup_s: Option<u64>,
    /// Letters behind `-v` and `-j`, where they were given.
    pub validate: Option<String>,
    pub journal: Option<String>,
    /// Letters behind `-c`.
    pub format: Option<String>,
    pub simulate: bool,
    pub loops: Option<u32>,
    /// Names of the runs that are wanted.
    pub runs: Vec<String>,
    /// A quick test: of a file, or of a tree.
    pub quick: Option<bool>,
    pub decimal: bool,
    pub help: bool,
    pub version: bool,
    /// What has no effect, with the reason.
    pub notes: Vec<Diagnostic>,
    /// Everything as it was typed.
    pub words: Vec<String>,
}

/// Parses a command line.
///
/// # Errors
/// The first thing that is wrong with it.
pub fn parse(arguments: &[String]) -> Result<Command, Diagnostic> {
    let mut command = Command { words: arguments.to_vec(), ..Command::default() };
    let (mut rest, mut takes_files) = (arguments.iter().peekable(), false);
    while let Some(argument) = rest.next() {
        if let Some(first) = argument.strip_prefix('+') {
            let more: Vec<&str> = std::iter::once(first).chain(rest.by_ref().map(String::as_str)).collect();
            command.extra = more.into_iter().filter(|word| !word.is_empty()).collect::<Vec<_>>().join(",");
            break;
        }
        if let Some((name, value)) = argument.split_once('=').filter(|(name, _)| !name.starts_with('-')) {
            command.variables.push((name.trim_start_matches('$').into(), value.into()));
            continue;
        }
        if !argument.starts_with('-') || argument == "-" && takes_files {
            if !takes_files {
                let wrong = Diagnostic::error(&Origin::argument(argument), "no option");
                return Err(wrong.hint("parameter files stand behind -f"));
            }
            command.files.push(argument.clone());
            continue;
        }
        let (name, attached) = split(argument)?;
        takes_files = name == "f";
        let value = match takes_value(name) && attached.is_empty() {
            true => rest.next_if(|next| next.as_str() == "-" || !next.starts_with(['-', '+'])).cloned(),
            false => Some(attached.to_string()),
        };
        let Some(value) = value else {
            let help = COMMAND_LINE.find(name).map_or("", |entry| entry.help);
            return Err(Diagnostic::error(&Origin::argument(argument), "a value is missing").hint(help));
        };
        command.set(name, value, argument)?;
    }
    let has_work = !command.files.is_empty() || command.quick.is_some() || command.help || command.version;
    match has_work {
        true => Ok(command),
        false => Err(Diagnostic::error(&Origin::argument("vdbench"), "no parameter file is named")
            .hint("iodyno vdbench -f FILE; iodyno vdbench -t makes a quick test")),
    }
}

fn takes_value(name: &str) -> bool {
    COMMAND_LINE.find(name).is_some_and(|entry| !entry.value.is_empty())
}

/// The option's name, and what hangs on it.
fn split(argument: &str) -> Result<(&'static str, &str), Diagnostic> {
    let word = argument.trim_start_matches('-');
    let exact = COMMAND_LINE.find(word);
    if word == "-" || word.is_empty() {
        let message = "parameters on the command line are taken from a file only, as by the original";
        return Err(
            Diagnostic::error(&Origin::argument(argument), message).hint("echo … | iodyno vdbench -f -")
        );
    }
    let begins = || {
        let mut fits: Vec<_> =
            COMMAND_LINE.entries.iter().filter(|entry| word.starts_with(entry.name)).collect();
        fits.sort_by_key(|entry| std::cmp::Reverse(entry.name.len()));
        fits.into_iter().find(|entry| !matches!(entry.kind, Kind::Switch))
    };
    let unknown = || {
        let wrong = Diagnostic::error(&Origin::argument(argument), "no such option");
        wrong.hint(match COMMAND_LINE.suggest(word) {
            Some(near) => format!("did you mean -{near}? iodyno vdbench --help"),
            None => "iodyno vdbench --help".into(),
        })
    };
    let entry = exact.or_else(begins).ok_or_else(unknown)?;
    let attached = if exact.is_some() { "" } else { &word[entry.name.len()..] };
    if let Status::Refused(why, hint) = entry.status {
        return Err(Diagnostic::error(&Origin::argument(argument), why).hint(hint));
    }
    Ok((entry.name, attached))
}

impl Command {
    fn set(&mut self, name: &'static str, value: String, argument: &str) -> Result<(), Diagnostic> {
        let origin = Origin::argument(argument);
        if let Some(Status::Ignored(why)) = COMMAND_LINE.find(name).map(|entry| entry.status) {
            self.notes.push(Diagnostic::note(&origin, format!("-{name} has no effect: {why}")));
        }
        let number = || {
            let seconds = value.parse::<u64>().ok().filter(|number| (1..=1_000_000_000).contains(number));
            seconds.ok_or_else(|| {
                Diagnostic::error(&origin, format!("`{value}`: no number")).hint(format!("-{name} 10"))
            })
        };
        match name {
            "f" => self.files.push(value),
            "o" => self.output = Some(value),
            "e" => self.elapsed_s = Some(number()?),
            "i" => self.interval_s = Some(number()?),
            "w" => self.warmup_s = Some(number()?),
            "v" => self.validate = Some(self.letters("v", value, &origin)?),
            "j" => self.journal = Some(self.letters("j", value, &origin)?),
            "c" => self.format = Some(self.letters("c", value, &origin)?),
            "l" => self.loops = Some(number()?.min(1_000_000) as u32),
            "r" => self.runs.extend(value.split(',').map(String::from)),
            "s" => self.simulate = true,
            "t" => self.quick = Some(false),
            "tf" => self.quick = Some(true),
            "mb" => self.decimal = true,
            "help" => self.help = true,
            "version" => self.version = true,
            _ => {}
        }
        Ok(())
    }

    /// Letters that each are a word of the option.
    fn letters(&mut self, name: &str, letters: String, origin: &Origin) -> Result<String, Diagnostic> {
        let Some(entry) = COMMAND_LINE.find(name) else { return Ok(letters) };
        for letter in letters.chars() {
            let letter = if letter == '2' { "r".to_string() } else { letter.to_string() };
            let word = COMMAND_LINE.check_word(entry, &letter, origin)?;
            if let Status::Ignored(why) = word.status {
                self.notes.push(Diagnostic::note(origin, format!("-{name}{letter} has no effect: {why}")));
            }
        }
        Ok(letters)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(line: &str) -> Result<Command, String> {
        let words: Vec<String> = line.split_whitespace().map(Into::into).collect();
        parse(&words).map_err(|wrong| wrong.to_string())
    }

    #[test]
    fn values_hang_on_their_options_or_follow_them() {
        let command =
            said("-fa b -oout -e 5 -i1 -w 2 -vr -jrn lun=/x -l3 -s + elapsed=9 interval=3").unwrap();
        assert_eq!((command.files.join(" "), command.output.as_deref()), ("a b".into(), Some("out")));
        assert_eq!((command.elapsed_s, command.interval_s, command.warmup_s), (Some(5), Some(1), Some(2)));
        assert_eq!((command.validate.as_deref(), command.journal.as_deref()), (Some("r"), Some("rn")));
        assert_eq!((command.variables, command.loops), (vec![("lun".into(), "/x".into())], Some(3)));
        assert_eq!((command.extra.as_str(), command.simulate), ("elapsed=9,interval=3", true));
        assert_eq!(said("-f -").unwrap().files, ["-"]);
        assert_eq!((said("-t").unwrap().quick, said("-tf").unwrap().quick), (Some(false), Some(true)));
    }

    #[test]
    fn what_cannot_be_is_told_with_a_way_out() {
        for (line, words) in [
            ("", "-f FILE"),
            ("x", "behind -f"),
            ("-f a -e x", "`x`: no number"),
            ("-f", "a value is missing"),
            ("-f a -vz", "`v` knows no `z`"),
            ("-f a -vc", "does so no more"),
            ("-f a -zz", "no such option"),
            ("- sd=sd1,lun=/x", "-f -"),
        ] {
            let wrong = said(line).unwrap_err();
            assert!(wrong.contains(words) && wrong.contains("hint"), "{line}: {wrong}");
        }
    }
}
