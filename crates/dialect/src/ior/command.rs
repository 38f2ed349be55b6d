//! IOR's command line: `-x`, `-xVAL`, `-x VAL`, `-x=VAL`, letters in groups, `--name`, `--name=VAL`, `--name VAL`.
//!
//! Every option sets the defaults of all tests, wherever `-f` stands among them. A value that hangs on a letter is the
//! value alone: `-b4k` does not set `-k`.

use iodyno_model::{Diagnostic, Origin};

use super::options::{self, is_flag};
use super::settings::{self, Settings};
use crate::option::Entry;

/// What a command line asks for.
#[derive(Clone, Debug, Default)]
pub struct Command {
    /// What all tests begin with.
    pub defaults: Settings,
    /// The script and where it was named.
    pub script: Option<(String, Origin)>,
    /// Only help is wanted.
    pub help: bool,
}

/// Reads a command line.
///
/// # Errors
/// Everything that is wrong with it.
pub fn parse(arguments: &[String]) -> Result<Command, Vec<Diagnostic>> {
    let mut reader = Reader { rest: arguments.iter(), command: Command::default(), wrong: Vec::new() };
    while let Some(argument) = reader.rest.next() {
        reader.argument(argument);
    }
    if reader.wrong.is_empty() { Ok(reader.command) } else { Err(reader.wrong) }
}

struct Reader<'a> {
    rest: std::slice::Iter<'a, String>,
    command: Command,
    wrong: Vec<Diagnostic>,
}

impl Reader<'_> {
    fn argument(&mut self, argument: &str) {
        match (argument.strip_prefix("--"), argument.strip_prefix('-')) {
            (Some(name), _) if !name.is_empty() => self.long(argument, name),
            (None, Some(letters)) if !letters.is_empty() => self.letters(argument, letters),
            _ => {
                let wrong =
                    Diagnostic::error(&Origin::argument(argument), format!("`{argument}`: no option"));
                self.wrong.push(wrong.hint("the file is named by -o, a script by -f"));
            }
        }
    }

    fn long(&mut self, argument: &str, name: &str) {
        let (name, value) = name.split_once('=').map_or((name, None), |(name, value)| (name, Some(value)));
        match options::long(name) {
            Some(entry) if is_flag(entry) && value.is_none() => self.raise(entry, argument),
            Some(entry) => self.value(entry, argument, value),
            None => self.wrong.push(options::unknown(name, &Origin::argument(argument))),
        }
    }

    /// Letters of flags, the last of which may be one that has a value.
    fn letters(&mut self, argument: &str, letters: &str) {
        let mut rest = letters;
        while let Some(letter) = rest.chars().next() {
            rest = &rest[letter.len_utf8()..];
            let Some(entry) = options::letter(letter) else {
                self.wrong.push(options::unknown(&format!("-{letter}"), &Origin::argument(argument)));
                return;
            };
            match (is_flag(entry), rest.strip_prefix('=')) {
                (true, None) => self.raise(entry, argument),
                (_, Some(value)) => return self.value(entry, argument, Some(value)),
                (false, None) => {
                    return self.value(entry, argument, Some(rest).filter(|rest| !rest.is_empty()));
                }
            }
        }
    }

    fn raise(&mut self, entry: &'static Entry, argument: &str) {
        if entry.name == "help" {
            self.command.help = true;
            return;
        }
        let done = self.command.defaults.raise(entry, &Origin::argument(argument));
        self.wrong.extend(done.err());
    }

    fn value(&mut self, entry: &'static Entry, argument: &str, value: Option<&str>) {
        let Some(value) = value.or_else(|| self.rest.next().map(String::as_str)) else {
            let wrong =
                Diagnostic::error(&Origin::argument(argument), format!("{}: no value follows", entry.name));
            self.wrong.push(wrong.hint(entry.help));
            return;
        };
        let origin = match argument.contains(value) && !value.is_empty() {
            true => Origin::argument(argument),
            false => Origin::argument(&format!("{argument} {value}")),
        };
        match entry.name {
            "scriptFile" => self.command.script = Some((value.into(), origin)),
            "directives" => {
                settings::directives(value, &origin, &mut self.command.defaults, &mut self.wrong);
            }
            _ => self.wrong.extend(self.command.defaults.set(entry, value, &origin).err()),
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

    fn numbers(line: &str, names: &[&str]) -> Vec<i64> {
        let command = parsed(line).unwrap_or_else(|wrong| panic!("{line}: {wrong:?}"));
        names.iter().map(|name| command.defaults.number(name)).collect()
    }

    #[test]
    fn a_value_comes_in_four_ways() {
        for line in
            ["-b 4k", "-b4k", "-b=4k", "-Fwb 4k", "-O blockSize=4k", "-O=blockSize=4k", "--blockSize=4k"]
        {
            assert_eq!(numbers(line, &["blockSize", "keepFile"]), [4096, 0], "{line}");
        }
        assert_eq!(numbers("-b1m", &["blockSize", "multiFile"]), [1 << 20, 0]);
        assert_eq!(
            numbers("--randomPrefill 2m -G -1", &["randomPrefill", "setTimeStampSignature"]),
            [2 << 20, -1]
        );
    }

    #[test]
    fn flags_are_counters() {
        assert_eq!(
            numbers("-vvv -z -z -C=2 --collective", &["verbose", "randomOffset", "reorderTasks"]),
            [3, 2, 2]
        );
        assert_eq!(numbers("-vv -v=1 -F=-3", &["verbose", "filePerProc"]), [1, 0]);
        assert_eq!(numbers("--posix.odirect -wr", &["posix.odirect", "writeFile", "readFile"]), [1, 1, 1]);
        assert_eq!(numbers("--warningAsErrors --dryRun", &["warningAsErrors", "dryRun"]), [1, 1]);
    }

    #[test]
    fn options_before_and_after_a_script_count_alike() {
        let command = parsed("-k -f script -b 8m").unwrap();
        assert_eq!(command.script.unwrap().0, "script");
        assert!(command.defaults.flag("keepFile") && command.defaults.number("blockSize") == 8 << 20);
    }

    #[test]
    fn all_that_is_wrong_is_told() {
        let wrong = parsed("file -L -b 1q --blokSize=1 -a XFS -t").unwrap_err();
        assert_eq!(wrong.len(), 6, "{wrong:?}");
        assert!(wrong[0].contains("named by -o") && wrong[1].contains("no option `-L`"));
        assert!(wrong[2].contains("expected a whole number") && wrong[5].contains("no value follows"));
        assert!(parsed("-h").unwrap().help && parsed("--help").unwrap().help);
    }
}
