//! The configuration file: `[section]`, `key = value`, `#` and `;` comments; and what it says, checked against the table.
//!
//! All that is wrong with a file is told at once, each with its line and with what may have been meant.

use iodyno_model::{Diagnostic, Origin};

use super::command::Command;
use super::keys::{self, SECTIONS, Section};
use crate::option::{Entry, Status};
use crate::{Loader, PathKind};

/// What a configuration says, over the defaults of the table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    values: Vec<SetKey>,
    /// The file's text.
    pub source: String,
}

/// One line of it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct SetKey {
    section: &'static str,
    key: &'static str,
    value: String,
    origin: Origin,
}

impl Settings {
    /// What the configuration says that a command line names; with `--list` it may name none.
    ///
    /// # Errors
    /// Everything that is wrong with it, or that there is none.
    pub fn of(command: &Command, loader: &mut dyn Loader) -> Result<Settings, Vec<Diagnostic>> {
        if let Some(folder) = &command.mini {
            if loader.look(folder).is_none_or(|facts| facts.kind != PathKind::Directory) {
                let wrong =
                    Diagnostic::error(&Origin::argument("--mini"), format!("{folder}: no such directory"));
                return Err(vec![wrong.hint("name a directory that exists")]);
            }
            return mini(folder);
        }
        if command.list && command.path.is_none() {
            return Ok(Settings::default());
        }
        let Some(path) = &command.path else {
            let wrong = Diagnostic::error(&Origin::argument("io500"), "no configuration file was named");
            return Err(vec![
                wrong.hint("iodyno io500 --list > config.ini; iodyno io500 --mini . for a first look"),
            ]);
        };
        let told = |error: String| {
            let wrong = Diagnostic::error(&Origin::argument(path), error);
            vec![wrong.hint("a configuration: iodyno io500 --list prints one")]
        };
        let text = loader.read(path).and_then(|bytes| crate::text_file::text(&bytes)).map_err(told)?;
        Settings::read(path, &text)
    }

    /// Reads a file's text.
    ///
    /// # Errors
    /// Everything that is wrong with it.
    pub fn read(path: &str, text: &str) -> Result<Settings, Vec<Diagnostic>> {
        let (mut config, mut wrong) = (Settings { source: text.into(), ..Settings::default() }, Vec::new());
        let mut section = None;
        for (number, line) in text.lines().enumerate() {
            let origin = Origin::file(path, number as u32 + 1);
            let line = line.split(['#', ';']).next().unwrap_or("").trim();
            if let Some(name) = line.strip_prefix('[') {
                let name = name.trim_end_matches(']').trim();
                section = SECTIONS.iter().find(|section| section.name.eq_ignore_ascii_case(name));
                if section.is_none() {
                    wrong.push(unknown(&origin, "section", name, SECTIONS.iter().map(|s| s.name)));
                }
            } else if let Some((key, value)) = line.split_once('=') {
                // What stands in a section that is not known was told with its name.
                if let Some(section) = section {
                    config.set(section, key.trim(), value.trim(), origin, &mut wrong);
                }
            } else if !line.is_empty() {
                let what = format!("`{line}`: expected `key = value` or `[section]`");
                wrong.push(Diagnostic::error(&origin, what).hint("comments begin with #"));
            }
        }
        if wrong.is_empty() { Ok(config) } else { Err(wrong) }
    }

    fn set(
        &mut self,
        section: &'static Section,
        key: &str,
        value: &str,
        origin: Origin,
        wrong: &mut Vec<Diagnostic>,
    ) {
        let Some(entry) = section.entries.iter().find(|entry| entry.name.eq_ignore_ascii_case(key)) else {
            let keys = section.entries.iter().map(|entry| entry.name);
            return wrong.push(unknown(&origin, &format!("key of [{}]", section.name), key, keys));
        };
        if let Some(refusal) = refusal(section, entry, value, &origin) {
            wrong.push(refusal);
        }
        self.values.push(SetKey { section: section.name, key: entry.name, value: value.into(), origin });
    }

    /// What a key says, or its default.
    pub fn text(&self, section: &str, key: &str) -> &str {
        let said = self.values.iter().rev().find(|line| line.section == section && line.key == key);
        match said {
            Some(line) => &line.value,
            None => keys::entry(section, key).map_or("", |entry| entry.default),
        }
    }

    /// Whether a key says yes.
    pub fn flag(&self, section: &str, key: &str) -> bool {
        keys::yes_or_no(self.text(section, key)).unwrap_or(false)
    }

    /// The whole number a key says.
    pub fn number(&self, section: &str, key: &str) -> Option<u64> {
        self.text(section, key).parse().ok()
    }

    /// The value of a phase's key, where it is empty that of what it is part of, then the global one.
    pub fn inherited<'a>(&'a self, sections: &[&str], key: &str, global: &str) -> &'a str {
        let said = sections.iter().map(|section| self.text(section, key)).find(|value| !value.is_empty());
        said.unwrap_or_else(|| self.text("global", global))
    }

    /// Where a key was set.
    pub fn origin(&self, section: &str, key: &str) -> Origin {
        let said = self.values.iter().rev().find(|line| line.section == section && line.key == key);
        said.map_or(Origin::Default, |line| line.origin.clone())
    }

    /// A number that tells one configuration from another (FNV-1a, 32 bits, over all values in the table's order).
    pub fn hash(&self) -> u32 {
        let all = SECTIONS
            .iter()
            .flat_map(|section| section.entries.iter().map(|entry| (section.name, entry.name)));
        let text: String =
            all.map(|(section, key)| format!("{section}.{key}={}\n", self.text(section, key))).collect();
        text.bytes().fold(0x811c_9dc5, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
    }
}

/// Sizes that a laptop takes in half a minute.
fn mini(folder: &str) -> Result<Settings, Vec<Diagnostic>> {
    let text = format!(
        "[global]\ndatadir = {folder}/io500-mini/data\nresultdir = {folder}/io500-mini/results\n\
         [debug]\nstonewall-time = 1\n[ior-easy]\ntransferSize = 1m\nblockSize = 256m\n\
         [ior-hard]\nsegmentCount = 2000\n[mdtest-easy]\nn = 5000\n[mdtest-hard]\nn = 2000\n"
    );
    Settings::read("--mini", &text)
}

fn refusal(section: &Section, entry: &Entry, value: &str, origin: &Origin) -> Option<Diagnostic> {
    let name = format!("[{}] {}", section.name, entry.name);
    if let Some(expected) = keys::misfit(entry, value) {
        let wrong = Diagnostic::error(origin, format!("{name} = `{value}`: expected {expected}"));
        return Some(wrong.hint(entry.help));
    }
    match entry.status {
        // Its default says that it is off.
        Status::Refused(reason, hint) if !value.is_empty() && !value.eq_ignore_ascii_case(entry.default) => {
            Some(Diagnostic::error(origin, format!("{name}: {reason}")).hint(hint))
        }
        _ => None,
    }
}

fn unknown<'a>(origin: &Origin, what: &str, name: &str, known: impl Iterator<Item = &'a str>) -> Diagnostic {
    let known: Vec<&str> = known.collect();
    let hint = crate::native::suggestion(name, &known);
    Diagnostic::error(origin, format!("no {what} is called `{name}`")).hint(hint)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wrong(text: &str) -> Vec<String> {
        Settings::read("c.ini", text).unwrap_err().iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_configuration_says_what_it_says_and_the_table_the_rest() {
        let text =
            "# mine\n[global]\ndatadir = /scratch/x\nDrop-Caches = true ; yes\n[ior-easy]\ntransferSize=1m\n";
        let config = Settings::read("c.ini", text).unwrap();
        assert_eq!(config.text("global", "datadir"), "/scratch/x");
        assert!(config.flag("global", "drop-caches") && config.flag("ior-easy", "filePerProc"));
        assert_eq!(config.text("ior-easy", "transferSize"), "1m");
        assert_eq!(config.number("debug", "stonewall-time"), Some(300));
        assert_eq!(config.inherited(&["ior-easy-write", "ior-easy"], "API", "api"), "POSIX");
        assert_ne!(config.hash(), Settings::default().hash());
    }

    #[test]
    fn all_that_is_wrong_is_told_at_once_with_its_line() {
        let text = "[globl]\nx = 1\n[ior-easy]\ntransfersizes = 1m\nrun = perhaps\nnonsense\n[global]\nio-buffers-on-gpu = TRUE\n";
        let wrong = wrong(text);
        assert_eq!(wrong.len(), 5, "{wrong:#?}");
        assert!(wrong[0].contains("c.ini:1") && wrong[0].contains("global"), "{}", wrong[0]);
        assert!(wrong[1].contains("c.ini:4") && wrong[1].contains("transferSize"), "{}", wrong[1]);
        assert!(wrong[2].contains("TRUE or FALSE") && wrong[3].contains("`nonsense`"));
        assert!(wrong[4].contains("c.ini:8"), "{}", wrong[4]);
    }
}
