//! md-workbench's command line: mdtest's, by another table.

use iodyno_model::Diagnostic;

use super::options::TABLE;
use super::settings::{self, Settings};
use crate::mdtest::command::parse_by;

/// Parses a command line.
///
/// # Errors
/// Everything that is wrong with it.
pub fn parse(arguments: &[String]) -> Result<Settings, Vec<Diagnostic>> {
    parse_by(&TABLE, settings::none(), "the directory is named by -o", arguments)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(line: &str) -> Result<Settings, String> {
        let words: Vec<String> = line.split_whitespace().map(Into::into).collect();
        parse(&words).map_err(|wrong| wrong.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))
    }

    #[test]
    fn a_number_that_hangs_on_a_letter_selects_no_phase() {
        let settings = said("-D1 -12 -P=40 --obj-per-proc 1k -t 0.25 -qX --dataPacketType o").unwrap();
        let number = |name| settings.number(name);
        assert_eq!((number("D"), number("P"), number("I")), (1, 40, 1024));
        assert_eq!((settings.flag("1"), settings.flag("2"), settings.flag("3")), (true, true, false));
        assert_eq!((settings.decimal("t"), settings.flag("q"), settings.flag("X")), (0.25, true, true));
        assert_eq!((settings.text("dataPacketType"), settings.text("o")), (Some("offset"), Some("./out")));
        assert_eq!((number("S"), number("R"), number("O"), number("G")), (3901, 3, 1, -1));
    }

    #[test]
    fn what_cannot_be_is_told_with_a_way_out() {
        for (line, words) in [
            ("dir", "-o"),
            ("-Z", "no option `-Z`"),
            ("--waiting-tme 1", "did you mean `--waiting-time`"),
            ("-t x", "-t"),
            ("--lim-free-mem 100", "MemoryMax"),
            ("--threads-per-process 4", "--also threads=4"),
            ("-a MPIIO", "has no such back end"),
        ] {
            let wrong = said(line).unwrap_err();
            assert!(wrong.contains(words), "{line}: {wrong}");
        }
    }
}
