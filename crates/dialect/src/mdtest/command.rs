//! mdtest's command line: `-x`, `-xVAL`, `-x VAL`, `-x=VAL`, letters in groups, `--name`, `--name=VAL`, `--name VAL`.
//!
//! Flags are counters. A value that hangs on a letter is the value alone: `-n1k` does not set `-k`.

use iodyno_model::{Diagnostic, Origin};

use super::options::{self, TABLE};
use super::settings::{self, Settings};
use crate::option::{Arguments, GivenOption, Syntax, Table, Token};

/// Parses a command line.
///
/// # Errors
/// Everything that is wrong with it.
pub fn parse(arguments: &[String]) -> Result<Settings, Vec<Diagnostic>> {
    parse_by(&TABLE, settings::none(), "the directory is named by -d", arguments)
}

/// The same by another program's table; `operands` says where a word belongs that is no option.
///
/// # Errors
/// Everything that is wrong with it.
pub fn parse_by(
    table: &'static Table,
    mut settings: Settings,
    operands: &str,
    arguments: &[String],
) -> Result<Settings, Vec<Diagnostic>> {
    let mut wrong = Vec::new();
    let operand = |argument: &str| {
        Diagnostic::error(&Origin::argument(argument), format!("`{argument}`: no option")).hint(operands)
    };
    let unknown = |name: &str, origin: &Origin| options::unknown(table, name, origin);
    for token in Arguments::new(table, Syntax::COUNTED, arguments) {
        let set = token.map_err(|misfit| misfit.or_unknown(unknown)).and_then(|token| match token {
            Token::Option(GivenOption { entry, value: None, argument, .. }) => {
                settings.raise(entry, &Origin::argument(argument))
            }
            Token::Option(given) => {
                settings.set(given.entry, given.value.unwrap_or_default(), &given.origin())
            }
            Token::Separator => Err(operand("--")),
            Token::Operand(argument) => Err(operand(argument)),
        });
        wrong.extend(set.err());
    }
    if wrong.is_empty() { Ok(settings) } else { Err(wrong) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(line: &str) -> Result<Settings, String> {
        let words: Vec<String> = line.split_whitespace().map(Into::into).collect();
        parse(&words).map_err(|wrong| wrong.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))
    }

    #[test]
    fn a_value_comes_in_four_ways() {
        for line in ["-n 1k", "-n1k", "-n=1k", "-Fun 1k", "--n=1k", "--n 1k"] {
            let settings = said(line).unwrap();
            assert_eq!((settings.number("n"), settings.flag("k")), (1024, false), "{line}");
        }
        let settings =
            said("-vv -v -FuR --verify-read --posix.odirect -G -5 --dataPacketType o -a posix").unwrap();
        assert_eq!((settings.number("v"), settings.flag("X"), settings.number("G")), (3, true, -5));
        assert_eq!((settings.text("dataPacketType"), settings.text("a")), (Some("offset"), Some("POSIX")));
        assert_eq!((settings.text("d"), settings.number("b"), settings.text("x")), (Some("./out"), 1, None));
    }

    #[test]
    fn what_cannot_be_is_told_with_a_way_out() {
        for (line, words) in [
            ("-n", "no value follows"),
            ("-n x", "expected a whole number"),
            ("-n 1.5k", "expected a whole number"),
            ("-q", "no option `-q`"),
            ("--verify-raed", "did you mean `--verify-read`"),
            ("dir", "-d"),
            ("-a MPIIO", "has no such back end"),
            ("-a CEPHFS", "mount the file system"),
            ("--S3-libs3.bucket-per-file", "stores a few hundred buckets"),
            ("-g", "lfs setdirstripe"),
        ] {
            let wrong = said(line).unwrap_err();
            assert!(wrong.contains(words), "{line}: {wrong}");
        }
        let settings = said("--posix.lustre.stripecount -1 --posix.lustre.stripesize=4m").unwrap();
        assert_eq!(settings.number("posix.lustre.stripesize"), 4 << 20);
    }
}
