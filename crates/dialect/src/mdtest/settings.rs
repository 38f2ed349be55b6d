//! mdtest's command line, and what it said: `-x`, `-xVAL`, `-x VAL`, `-x=VAL`, letters in groups, `--name`, `--name=VAL`,
//! `--name VAL`.
//!
//! Flags are counters. A value that hangs on a letter is the value alone: `-n1k` does not set `-k`. Values are checked
//! for their shape here, so whoever reads them finds numbers; what they mean together is judged elsewhere.

use std::collections::BTreeMap;

use iodyno_model::{Diagnostic, Origin};

use super::options::{self, TABLE, is_flag};
use crate::option::{Entry, Kind, Status};

/// The options that were said.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    said: BTreeMap<&'static str, Said>,
}

#[derive(Clone, Debug)]
struct Said {
    text: String,
    number: i64,
    origin: Origin,
}

/// Reads a command line.
///
/// # Errors
/// Everything that is wrong with it.
pub fn parse(arguments: &[String]) -> Result<Settings, Vec<Diagnostic>> {
    let mut reader = Reader { rest: arguments.iter(), settings: Settings::default(), wrong: Vec::new() };
    while let Some(argument) = reader.rest.next() {
        reader.argument(argument);
    }
    if reader.wrong.is_empty() { Ok(reader.settings) } else { Err(reader.wrong) }
}

struct Reader<'a> {
    rest: std::slice::Iter<'a, String>,
    settings: Settings,
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
                self.wrong.push(wrong.hint("the directory is named by -d"));
            }
        }
    }

    fn long(&mut self, argument: &str, name: &str) {
        let (name, value) = name.split_once('=').map_or((name, None), |(name, value)| (name, Some(value)));
        match TABLE.find(name) {
            Some(entry) => self.set(entry, argument, value),
            None => self.wrong.push(options::unknown(name, &Origin::argument(argument))),
        }
    }

    /// Letters of flags, the last of which may be one that has a value.
    fn letters(&mut self, argument: &str, letters: &str) {
        let mut rest = letters;
        while let Some(letter) = rest.chars().next() {
            let name = &rest[..letter.len_utf8()];
            rest = &rest[letter.len_utf8()..];
            let Some(entry) = TABLE.find(name) else {
                self.wrong.push(options::unknown(&format!("-{letter}"), &Origin::argument(argument)));
                return;
            };
            match (is_flag(entry), rest.strip_prefix('=')) {
                (true, None) => self.set(entry, argument, None),
                (_, Some(value)) => return self.set(entry, argument, Some(value)),
                (false, None) => {
                    return self.set(entry, argument, Some(rest).filter(|rest| !rest.is_empty()));
                }
            }
        }
    }

    fn set(&mut self, entry: &'static Entry, argument: &str, value: Option<&str>) {
        let origin = Origin::argument(argument);
        let (value, origin) = match value {
            Some(value) => (value.to_string(), origin),
            None if is_flag(entry) => ((self.settings.number(entry.name) + 1).to_string(), origin),
            None => match self.rest.next() {
                Some(value) => (value.clone(), Origin::argument(&format!("{argument} {value}"))),
                None => {
                    let wrong = Diagnostic::error(&origin, format!("{}: no value follows", entry.name));
                    return self.wrong.push(wrong.hint(entry.help));
                }
            },
        };
        self.wrong.extend(self.settings.set(entry, &value, &origin).err());
    }
}

impl Settings {
    fn set(&mut self, entry: &'static Entry, text: &str, origin: &Origin) -> Result<(), Diagnostic> {
        let number = match entry.kind {
            Kind::Switch | Kind::Whole(..) => whole(text).map_err(|why| {
                Diagnostic::error(origin, format!("{}: {why}", entry.name)).hint(entry.help)
            })?,
            _ => 0,
        };
        if let Status::Refused(why, hint) = entry.status
            && text != entry.default
            && (number != 0 || !is_flag(entry))
        {
            return Err(
                Diagnostic::error(origin, format!("`{}` is not supported: {why}", entry.name)).hint(hint)
            );
        }
        let text = match entry.kind {
            Kind::Word(_) => {
                let same = entry.words().iter().find(|word| word.name.eq_ignore_ascii_case(text));
                // Of packets the first letter is enough.
                let letter = entry.words().iter().find(|word| text.len() == 1 && word.name.starts_with(text));
                let name = same.or(letter).map_or(text, |word| word.name);
                TABLE.check_word(entry, name, origin)?.name
            }
            _ => text,
        };
        self.said.insert(entry.name, Said { text: text.into(), number, origin: origin.clone() });
        Ok(())
    }

    /// A number, or how often a flag was said; the table's default where nothing was said.
    pub fn number(&self, name: &str) -> i64 {
        let default = || TABLE.find(name).map_or(0, |entry| whole(entry.default).unwrap_or(0));
        self.said.get(name).map_or_else(default, |said| said.number)
    }

    /// A number that cannot be below 0.
    pub fn count(&self, name: &str) -> u64 {
        u64::try_from(self.number(name)).unwrap_or(0)
    }

    /// Whether a flag is on.
    pub fn flag(&self, name: &str) -> bool {
        self.number(name) > 0
    }

    /// A text, or the table's default if there is one.
    pub fn text(&self, name: &str) -> Option<&str> {
        let default = || TABLE.find(name).map(|entry| entry.default).filter(|text| !text.is_empty());
        self.said.get(name).map(|said| said.text.as_str()).or_else(default)
    }

    /// Where it was said.
    pub fn origin(&self, name: &str) -> Origin {
        self.said.get(name).map_or(Origin::Default, |said| said.origin.clone())
    }

    /// What was said and changes nothing, with the reason.
    pub fn without_effect(&self) -> Vec<Diagnostic> {
        let told = |(name, said): (&&str, &Said)| match TABLE.find(name)?.status {
            Status::Ignored(why) => {
                Some(Diagnostic::note(&said.origin, format!("`{name}` has no effect: {why}")))
            }
            _ => None,
        };
        self.said.iter().filter_map(told).collect()
    }
}

/// A whole number: decimal digits, perhaps a sign, then k, m, g, t or p (powers of 1024) in either case.
fn whole(text: &str) -> Result<i64, String> {
    let expected = || format!("`{text}`: expected a whole number such as 8, 4k or 2m");
    let end = text.rfind(|letter: char| letter.is_ascii_digit()).map_or(0, |last| last + 1);
    let (digits, suffix) = text.split_at(end);
    let number: i64 = digits.trim().parse().map_err(|_| expected())?;
    let power = match suffix.trim().to_ascii_lowercase().as_str() {
        "" => 0,
        "k" => 1,
        "m" => 2,
        "g" => 3,
        "t" => 4,
        "p" => 5,
        _ => return Err(expected()),
    };
    number.checked_mul(1024i64.pow(power)).ok_or_else(|| format!("`{text}`: too large"))
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
            ("-a S3-libs3", "object stores"),
            ("-g", "lfs setstripe"),
            ("--posix.lustre.stripecount 4", "lfs setstripe"),
        ] {
            let wrong = said(line).unwrap_err();
            assert!(wrong.contains(words), "{line}: {wrong}");
        }
        assert!(said("--posix.lustre.stripecount 0").is_ok());
    }
}
