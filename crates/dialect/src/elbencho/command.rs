//! elbencho's command line: `-x`, `-x VALUE`, `-xVALUE`, letters in groups, `--name VALUE`, `--name=VALUE`, then paths; and its
//! file of options, whose lines are `NAME=VALUE`.
//!
//! What the command line says goes before what the file says. Long names are written in full.

use iodyno_model::{Diagnostic, Origin};

use super::options::TABLE;
use super::settings::{self, Settings};
use crate::Loader;
use crate::option::{Arguments, Entry, GivenOption, Kind, Syntax, Token};
use crate::text_file;

/// A command line with the file of options that it names.
#[derive(Clone, Debug, Default)]
pub struct CommandLine {
    pub settings: Settings,
    pub paths: Vec<String>,
}

/// Parses a command line.
///
/// # Errors
/// Everything that is wrong with it, and with the file of options.
pub fn parse(arguments: &[String], loader: &mut dyn Loader) -> Result<CommandLine, Vec<Diagnostic>> {
    let mut line = CommandLine { settings: settings::none(), paths: Vec::new() };
    let mut wrong = Vec::new();
    let mut options = Arguments::new(&TABLE, Syntax::GETOPT, arguments);
    let mut is_over = false;
    while let Some(token) = if is_over { None } else { options.next() } {
        let taken = match token {
            Err(misfit) => Err(misfit.or_unknown(unknown)),
            Ok(Token::Option(given)) => line.option(&given),
            Ok(Token::Operand(path)) => {
                line.paths.push(path.into());
                Ok(())
            }
            Ok(Token::Separator) => {
                is_over = true;
                Ok(())
            }
        };
        wrong.extend(taken.err());
    }
    if is_over {
        line.paths.extend(options.rest().iter().cloned());
    }
    if let Some(path) = line.settings.text("configfile").map(String::from) {
        let origin = line.settings.origin("configfile");
        let text = loader.read(&path).and_then(|bytes| text_file::text(&bytes));
        match text.map_err(|why| {
            Diagnostic::error(&origin, format!("{path}: {why}")).hint("lines of it are NAME=VALUE")
        }) {
            Ok(text) => line.file(&path, &text, &mut wrong),
            Err(unread) => wrong.push(unread),
        }
    }
    if wrong.is_empty() { Ok(line) } else { Err(wrong) }
}

/// Which option was meant by a name that none has.
fn unknown(name: &str, origin: &Origin) -> Diagnostic {
    let bare = name.trim_start_matches('-');
    let wrong = Diagnostic::error(origin, format!("elbencho has no option `{name}`"));
    match TABLE.suggest(bare) {
        Some(near) if near.len() > 1 => wrong.hint(format!("did you mean `--{near}`?")),
        _ => wrong.hint("--help-all tells all options"),
    }
}

impl CommandLine {
    fn option(&mut self, given: &GivenOption<'_>) -> Result<(), Diagnostic> {
        self.set(given.entry, given.value.unwrap_or("1"), &given.origin())
    }

    fn set(&mut self, entry: &'static Entry, value: &str, origin: &Origin) -> Result<(), Diagnostic> {
        if entry.name == "path" {
            self.paths.push(value.into());
            return Ok(());
        }
        self.settings.set(entry, value, origin)?;
        let number = self.settings.number(entry.name);
        let (least, most) = match entry.kind {
            Kind::Whole(least, most) => (least, most),
            Kind::Bytes => (0, i64::MAX),
            _ => return Ok(()),
        };
        match number {
            _ if number < least => {
                Err(Diagnostic::error(origin, format!("{}: at least {least}", entry.name)).hint(entry.help))
            }
            _ if number > most => {
                Err(Diagnostic::error(origin, format!("{}: at most {most}", entry.name)).hint(entry.help))
            }
            _ => Ok(()),
        }
    }

    fn file(&mut self, path: &str, text: &str, wrong: &mut Vec<Diagnostic>) {
        let given: Vec<&str> = TABLE
            .entries
            .iter()
            .map(|entry| entry.name)
            .filter(|name| self.settings.is_given(name))
            .collect();
        let has_paths = !self.paths.is_empty();
        for (index, line) in text.lines().enumerate() {
            let line = line.split('#').next().unwrap_or("").trim();
            if line.is_empty() {
                continue;
            }
            let origin = Origin::File { path: path.into(), line: index as u32 + 1 };
            let (name, value) =
                line.split_once('=').map_or((line, "1"), |(name, value)| (name.trim(), value.trim()));
            let Some(entry) = TABLE.find(name).filter(|entry| entry.name == name) else {
                wrong.push(unknown(&format!("--{name}"), &origin));
                continue;
            };
            let is_said = given.contains(&entry.name) || (entry.name == "path" && has_paths);
            if !is_said {
                wrong.extend(self.set(entry, value, &origin).err());
            }
        }
    }
}

/// Most paths that brackets may stand for.
const PATHS_MOST: usize = 1 << 20;

/// What `[1-4,7]` in a word stands for, as many words; `[01-10]` keeps its digits.
///
/// # Errors
/// What is wrong with the brackets, as a lower-case fragment.
pub fn expanded(word: &str) -> Result<Vec<String>, String> {
    let Some((before, rest)) = word.split_once('[') else {
        return if word.contains(']') {
            Err(format!("`{word}`: a bracket is closed that none opened"))
        } else {
            Ok(vec![word.into()])
        };
    };
    let (list, after) = rest.split_once(']').ok_or_else(|| format!("`{word}`: a bracket is not closed"))?;
    let mut found = Vec::new();
    for part in list.split(',').filter(|part| !part.is_empty()) {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let number = |text: &str| {
            let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
            text.parse::<u64>()
                .ok()
                .filter(|_| digits)
                .ok_or_else(|| format!("`{word}`: `{part}` is no number and no range"))
        };
        let (least, most, width) = (number(first)?, number(last)?, first.len());
        if most.saturating_sub(least) >= PATHS_MOST as u64 {
            return Err(format!("`{word}`: `{part}` is too much"));
        }
        for number in least..=most {
            for tail in expanded(after)? {
                found.push(format!("{before}{number:0width$}{tail}"));
            }
            if found.len() > PATHS_MOST {
                return Err(format!("`{word}`: too much"));
            }
        }
    }
    if found.is_empty() { Err(format!("`{word}`: nothing stands between the brackets")) } else { Ok(found) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn brackets_stand_for_numbers() {
        for (word, all) in [
            ("a", "a"),
            ("f[1-3]", "f1 f2 f3"),
            ("f[08-10,1]x", "f08x f09x f10x f1x"),
            ("[1,2]/[3-4]", "1/3 1/4 2/3 2/4"),
        ] {
            assert_eq!(expanded(word).unwrap().join(" "), all, "{word}");
        }
        for word in ["f[", "f]", "f[]", "f[a]", "f[1-]", "f[0-99999999]", "f[+1]"] {
            assert!(expanded(word).is_err(), "{word}");
        }
    }

    #[test]
    fn no_letter_means_two_options() {
        let letters: Vec<&str> =
            TABLE.entries.iter().flat_map(Entry::names).filter(|name| name.len() == 1).collect();
        let mut once = letters.clone();
        once.sort_unstable();
        once.dedup();
        assert!(once.len() == letters.len() && letters.contains(&"w"), "{letters:?}");
    }
}
