//! dbench's command line, as popt takes it: `-x`, `-xVALUE`, `-x VALUE`, `--name=VALUE`, `--name VALUE`, and how many processes.

use iodyno_model::{Diagnostic, Origin};

use super::options::TABLE;
use crate::option::{Arguments, GivenOptions, Syntax, Token, ValueRules};

/// A command line.
#[derive(Clone, Debug)]
pub struct DbenchLine {
    pub options: GivenOptions,
    /// How many processes, and the server that other back ends speak to.
    pub operands: Vec<String>,
}

const RULES: ValueRules =
    ValueRules { table: &TABLE, whole, counter: whole, takes_empty: false, hint_names: false, initials: &[] };

fn whole(text: &str) -> Result<i64, String> {
    text.trim().parse().map_err(|_| format!("`{text}`: expected a whole number"))
}

/// Parses a command line.
///
/// # Errors
/// All that is no option, is refused, or has no value or a wrong one.
pub fn parse(arguments: &[String]) -> Result<DbenchLine, Vec<Diagnostic>> {
    let syntax = Syntax { letters_assign: true, ..Syntax::GETOPT };
    let mut line = DbenchLine { options: GivenOptions::none(&RULES), operands: Vec::new() };
    let mut wrong = Vec::new();
    for token in Arguments::new(&TABLE, syntax, arguments) {
        let taken = match token {
            Err(misfit) => Err(misfit.diagnostic(&TABLE, "iodyno dbench --help lists the options")),
            Ok(Token::Option(given)) => {
                line.options.set(given.entry, given.value.unwrap_or("1"), &given.origin())
            }
            Ok(Token::Operand(operand)) => {
                line.operands.push(operand.into());
                Ok(())
            }
            Ok(Token::Separator) => Ok(()),
        };
        wrong.extend(taken.err());
    }
    if line.operands.len() > 2 {
        let origin = Origin::argument(&line.operands[2]);
        let message = "expected how many processes, and nothing behind it";
        wrong.push(Diagnostic::error(&origin, message).hint("dbench -t 60 10"));
    }
    if wrong.is_empty() { Ok(line) } else { Err(wrong) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Result<DbenchLine, String> {
        let words: Vec<String> = line.split_whitespace().map(Into::into).collect();
        parse(&words).map_err(|wrong| wrong.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))
    }

    #[test]
    fn options_are_taken_as_popt_takes_them() {
        let line = parsed("-t 5 -sS -c/a/load --directory=/b 4 --clients-per-process 2").unwrap();
        assert_eq!(line.operands, ["4"]);
        assert_eq!((line.options.number("timelimit"), line.options.number("clients-per-process")), (5, 2));
        assert_eq!(
            (line.options.text("loadfile"), line.options.text("directory")),
            (Some("/a/load"), Some("/b"))
        );
        assert!(line.options.flag("sync") && line.options.flag("sync-dir") && !line.options.flag("fsync"));
    }

    #[test]
    fn what_cannot_be_is_told_with_a_way_out() {
        for (line, words) in [
            ("-t", "needs a value"),
            ("-t soon 1", "expected a whole number"),
            ("--timelimt=4 1", "did you mean"),
            ("-B nfs 1", "network"),
            ("-B floppy 1", "one of"),
            ("1 server more", "nothing behind it"),
        ] {
            let wrong = parsed(line).unwrap_err();
            assert!(wrong.contains(words), "{line}: {wrong}");
        }
    }
}
