//! IOR's command line: `-x`, `-xVAL`, `-x VAL`, `-x=VAL`, letters in groups, `--name`, `--name=VAL`, `--name VAL`.
//!
//! Every option sets the defaults of all tests, wherever `-f` stands among them. A value that hangs on a letter is the
//! value alone: `-b4k` does not set `-k`.

use iodyno_model::{Diagnostic, Origin};

use super::options::{self, TABLE};
use super::settings::{self, Settings};
use crate::option::{Arguments, GivenOption, Syntax, Token};

/// What a command line asks for.
#[derive(Clone, Debug)]
pub struct Command {
    /// What all tests begin with.
    pub defaults: Settings,
    /// The script and where it was named.
    pub script: Option<(String, Origin)>,
    /// Only help is wanted.
    pub help: bool,
    /// Only the version is wanted.
    pub version: bool,
}

const SYNTAX: Syntax = Syntax { long: Some(options::long), letter: options::letter, ..Syntax::COUNTED };

/// Reads a command line.
///
/// # Errors
/// Everything that is wrong with it.
pub fn parse(arguments: &[String]) -> Result<Command, Vec<Diagnostic>> {
    let mut command = Command { defaults: settings::none(), script: None, help: false, version: false };
    let mut wrong = Vec::new();
    for token in Arguments::new(&TABLE, SYNTAX, arguments) {
        match token {
            Ok(Token::Option(given)) => command.set(given, &mut wrong),
            Ok(Token::Separator) => wrong.push(operand("--")),
            Ok(Token::Operand(argument)) => wrong.push(operand(argument)),
            Err(misfit) => wrong.push(misfit.or_unknown(options::unknown)),
        }
    }
    if wrong.is_empty() { Ok(command) } else { Err(wrong) }
}

fn operand(argument: &str) -> Diagnostic {
    Diagnostic::error(&Origin::argument(argument), format!("`{argument}`: no option"))
        .hint("the file is named by -o, a script by -f")
}

impl Command {
    fn set(&mut self, given: GivenOption<'_>, wrong: &mut Vec<Diagnostic>) {
        let (entry, origin) = (given.entry, given.origin());
        match (entry.name, given.value) {
            ("help", None) => self.help = true,
            ("version", None) => self.version = true,
            (_, None) => wrong.extend(self.defaults.raise(entry, &origin).err()),
            ("scriptFile", Some(path)) => self.script = Some((path.into(), origin)),
            ("directives", Some(line)) => settings::directives(line, &origin, &mut self.defaults, wrong),
            (_, Some(value)) => wrong.extend(self.defaults.set(entry, value, &origin).err()),
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
        assert!(parsed("--version").unwrap().version);
    }
}
