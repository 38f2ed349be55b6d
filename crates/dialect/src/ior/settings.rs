//! What was said about one test: each option's last value, where it was said, and the defaults of the table behind it.
//!
//! Values are checked for their shape when they are set, so whoever reads them finds numbers. What they mean together is
//! not judged here.

use std::collections::BTreeMap;

use iodyno_model::{Diagnostic, Origin};

use super::options::{self, TABLE};
use super::value;
use crate::option::{Entry, Kind, Status};

/// The options that were said of a test.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    said: BTreeMap<&'static str, Said>,
}

/// One option's value.
#[derive(Clone, Debug)]
struct Said {
    text: String,
    number: i64,
    origin: Origin,
}

impl Settings {
    /// Sets an option of the table.
    ///
    /// # Errors
    /// That the value has not the option's shape, or that the option is refused.
    pub fn set(&mut self, entry: &'static Entry, text: &str, origin: &Origin) -> Result<(), Diagnostic> {
        let wrong = |why: String| {
            Diagnostic::error(origin, format!("{}: {why}", entry.name))
                .hint(format!("{}: {}", entry.name, entry.help))
        };
        let number = match entry.kind {
            Kind::Flag | Kind::Switch => value::counter(text).map_err(wrong)?,
            Kind::Whole(..) | Kind::Bytes => value::whole(text).map_err(wrong)?,
            _ if text.is_empty() => return Err(wrong("no value".into())),
            _ => 0,
        };
        self.refused(entry, text, number, origin)?;
        let text = match entry.kind {
            Kind::Word(_) => word(entry, text, origin)?,
            _ => text.to_string(),
        };
        self.said.insert(entry.name, Said { text, number, origin: origin.clone() });
        Ok(())
    }

    /// Counts a flag once more.
    ///
    /// # Errors
    /// That the option is refused.
    pub fn raise(&mut self, entry: &'static Entry, origin: &Origin) -> Result<(), Diagnostic> {
        let number = self.number(entry.name) + 1;
        self.set(entry, &number.to_string(), origin)
    }

    /// What is refused may still be said to be off.
    fn refused(&self, entry: &Entry, text: &str, number: i64, origin: &Origin) -> Result<(), Diagnostic> {
        let off = !entry.default.is_empty() && (text == entry.default || number == 0);
        match entry.status {
            Status::Refused(why, hint) if !off => {
                Err(Diagnostic::error(origin, format!("`{}` is not supported: {why}", entry.name)).hint(hint))
            }
            _ => Ok(()),
        }
    }

    /// A number, or how often a flag was said; the table's default where nothing was said.
    pub fn number(&self, name: &str) -> i64 {
        let default = || TABLE.find(name).map_or(0, |entry| value::whole(entry.default).unwrap_or(0));
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

    /// Whether anybody said anything.
    pub fn is_said(&self, name: &str) -> bool {
        self.said.contains_key(name)
    }

    /// Where it was said.
    pub fn origin(&self, name: &str) -> Origin {
        self.said.get(name).map_or(Origin::Default, |said| said.origin.clone())
    }

    /// What was said and changes nothing, with the reason, each once.
    pub fn without_effect(&self) -> impl Iterator<Item = Diagnostic> {
        self.said.iter().filter_map(|(name, said)| {
            let entry = TABLE.find(name)?;
            let Status::Ignored(why) = entry.status else { return None };
            (said.number != 0 || !said.text.is_empty() && said.text != entry.default)
                .then(|| Diagnostic::note(&said.origin, format!("`{name}` has no effect: {why}")))
        })
    }
}

/// The word of the table that is meant: case does not count, and of data types the first letter is enough.
fn word(entry: &'static Entry, text: &str, origin: &Origin) -> Result<String, Diagnostic> {
    let same = entry.words().iter().find(|word| word.name.eq_ignore_ascii_case(text));
    let letter = |text: &str| text.chars().next().map(|letter| letter.to_ascii_lowercase());
    let same = same.or_else(|| match entry.name {
        "dataPacketType" if text.len() == 1 => {
            entry.words().iter().find(|word| letter(word.name) == letter(text))
        }
        _ => None,
    });
    let name = same.map_or(text, |word| word.name);
    TABLE.check_word(entry, name, origin).map(|word| word.name.to_string())
}

/// Sets the comma-separated `KEY=VALUE` of a directive or of a script's line; all that is wrong is told.
pub fn directives(line: &str, origin: &Origin, settings: &mut Settings, wrong: &mut Vec<Diagnostic>) {
    let line = line.split('#').next().unwrap_or_default();
    for part in line.split(',').map(str::trim).filter(|part| !part.is_empty()) {
        let Some((name, text)) = part.split_once('=') else {
            let told = Diagnostic::error(origin, format!("`{part}`: expected KEY=VALUE"));
            wrong.push(told.hint("e.g. blockSize=4m"));
            continue;
        };
        let done = match options::key(name.trim()) {
            Some(entry) => settings.set(entry, text.trim(), origin),
            None => Err(options::unknown(name.trim(), origin)),
        };
        wrong.extend(done.err());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(line: &str) -> (Settings, Vec<String>) {
        let (mut settings, mut wrong) = (Settings::default(), Vec::new());
        directives(line, &Origin::argument(line), &mut settings, &mut wrong);
        (settings, wrong.iter().map(ToString::to_string).collect())
    }

    #[test]
    fn directives_know_no_case_and_end_at_a_comment() {
        let (settings, wrong) =
            said("BlockSize = 4m, fileperproc=1, api=posix, dataPacketType=o # blockSize=1");
        assert_eq!(wrong, Vec::<String>::new());
        assert_eq!((settings.number("blockSize"), settings.flag("filePerProc")), (4 << 20, true));
        assert_eq!((settings.text("api"), settings.text("dataPacketType")), (Some("POSIX"), Some("offset")));
        assert_eq!((settings.number("transferSize"), settings.text("testFile")), (262_144, Some("testFile")));
    }

    #[test]
    fn every_wrong_part_is_told() {
        let (_, wrong) =
            said("blockSize, blokSize=1, segmentCount=x, api=S3-libs3, dualMount=1, dualMount=0");
        assert_eq!(wrong.len(), 5, "{wrong:?}");
        assert!(wrong[0].contains("expected KEY=VALUE") && wrong[1].contains("did you mean `blockSize`"));
        assert!(wrong[3].contains("object stores are not served yet") && wrong[4].contains("CPU socket"));
    }

    #[test]
    fn what_has_no_effect_is_named_once() {
        let (settings, _) = said("useSharedFilePointer=1,showHelp=0,useSharedFilePointer=1");
        let told: Vec<_> = settings.without_effect().map(|told| told.message).collect();
        assert!(told.len() == 1 && told[0].contains("`useSharedFilePointer`"), "{told:?}");
    }
}
