//! bonnie++'s command line, as getopt takes it: letters together, values attached or next, no operands.

use iodyno_model::{Diagnostic, Origin};

use super::options::TABLE;
use crate::option::{Arguments, Syntax, Token, ValuePlace};

/// An option as it was given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LetterValue {
    /// Its name in the table.
    pub name: &'static str,
    pub value: String,
    pub origin: Origin,
}

/// Long names are the program's own: `--help`, `--version`.
const SYNTAX: Syntax = Syntax {
    place: |entry| match entry.value {
        value if value.starts_with('[') => ValuePlace::AttachedOrNext(|_| false),
        _ => ValuePlace::of(entry),
    },
    ..Syntax::GETOPT
};

/// The options of a command line, in its order.
///
/// # Errors
/// All that is no option, is refused, or lacks its value.
pub fn parse(arguments: &[String]) -> Result<Vec<LetterValue>, Vec<Diagnostic>> {
    let rest = Arguments::new(&TABLE, SYNTAX, arguments);
    let (mut given, mut wrong) = (Vec::new(), Vec::new());
    for token in rest {
        let taken = match token {
            Ok(Token::Option(option)) => {
                let typed = format!("-{}", option.entry.name);
                let value = option.value.unwrap_or_default();
                let text = if value.is_empty() { typed.clone() } else { format!("{typed} {value}") };
                let origin = Origin::argument(&text);
                TABLE.check(option.entry.name, &origin).map(|entry| {
                    given.push(LetterValue { name: entry.name, value: value.into(), origin });
                })
            }
            Ok(Token::Operand(argument)) => {
                Err(Diagnostic::error(&Origin::argument(argument), "bonnie++ takes options alone")
                    .hint("-d DIRECTORY says where"))
            }
            Ok(Token::Separator) => Ok(()),
            Err(misfit) => Err(misfit.diagnostic(&TABLE, "iodyno bonnie++ -h lists the options")),
        };
        wrong.extend(taken.err());
    }
    if wrong.is_empty() { Ok(given) } else { Err(wrong) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(line: &str) -> Result<String, String> {
        let words: Vec<String> = line.split_whitespace().map(Into::into).collect();
        let one = |option: &LetterValue| format!("{}={}", option.name, option.value);
        match parse(&words) {
            Ok(given) => Ok(given.iter().map(one).collect::<Vec<_>>().join(" ")),
            Err(wrong) => Err(wrong.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")),
        }
    }

    #[test]
    fn a_number_hangs_on_f_or_is_none_of_its() {
        assert_eq!(shown("-qbf -s100 -n 1:2 -f7").unwrap(), "q= b= f= s=100 n=1:2 f=7");
        assert!(shown("-f 7").unwrap_err().contains("options alone"));
    }

    #[test]
    fn what_cannot_be_is_told_with_a_way_out() {
        for (line, words) in [
            ("here", "-d"),
            ("-k", "no option `k`"),
            ("-s", "needs a value"),
            ("-p 3", "iodyno run"),
            ("-y s", "several jobs"),
            ("--fast", "-h lists"),
        ] {
            let wrong = shown(line).unwrap_err();
            assert!(wrong.contains(words), "{line}: {wrong}");
        }
    }
}
