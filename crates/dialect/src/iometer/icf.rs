//! The syntax of `.icf` files: headings behind an apostrophe, each with the lines below it as its values.
//!
//! Entries keep their lines, so that everything can be told with its place. What an entry means is not known here; a line
//! that belongs to no heading is refused.

use iodyno_model::{Diagnostic, Origin};

/// More lines than this are no configuration.
const LINES_MOST: usize = 1_000_000;

/// A heading and what stands below it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IcfEntry {
    /// The heading, in small letters, without apostrophe and ruler.
    pub key: String,
    /// Its line, from 1.
    pub line: u32,
    /// The values, without the space around them; empty ones too.
    pub values: Vec<(u32, String)>,
}

impl IcfEntry {
    /// The first value, or nothing.
    pub fn value(&self) -> &str {
        self.values.first().map_or("", |(_, value)| value)
    }

    /// The line of the first value, or of the heading.
    pub fn at(&self) -> u32 {
        self.values.first().map_or(self.line, |(line, _)| *line)
    }
}

/// The entries of a file; that of its version comes first.
///
/// # Errors
/// Values without a heading, and a file that does not begin with a version.
pub fn entries(path: &str, text: &str) -> Result<Vec<IcfEntry>, Vec<Diagnostic>> {
    let (mut entries, mut wrong): (Vec<IcfEntry>, Vec<Diagnostic>) = (Vec::new(), Vec::new());
    let text = text.trim_start_matches('\u{feff}');
    for (index, line) in text.lines().take(LINES_MOST).enumerate() {
        let line_number = index as u32 + 1;
        let own = line.trim();
        let origin = Origin::file(path, line_number);
        match line.strip_prefix('\'') {
            // A line of column headings: it begins with space behind its apostrophe.
            Some(heading) if heading.starts_with([' ', '\t']) || heading.trim().is_empty() => {}
            Some(heading) => {
                let key = heading.trim_end().trim_end_matches('=').trim().to_lowercase();
                entries.push(IcfEntry { key, line: line_number, values: Vec::new() });
            }
            None if is_version(line) => {
                let value = line[8..].trim().to_string();
                let values = vec![(line_number, value)];
                entries.push(IcfEntry { key: "version".into(), line: line_number, values });
            }
            None => match entries.last_mut().filter(|entry| entry.key != "version") {
                Some(entry) => entry.values.push((line_number, own.into())),
                None if own.is_empty() => {}
                None => wrong.push(Diagnostic::error(&origin, "a value without a heading").hint(FORM)),
            },
        }
    }
    if wrong.is_empty() && entries.first().is_none_or(|entry| entry.key != "version") {
        let missing = Diagnostic::error(&Origin::file(path, 1), "no version: it is no IOMeter configuration");
        wrong.push(missing.hint("the first line of such a file is: Version 1.1.0"));
    }
    wrong.truncate(20);
    if wrong.is_empty() { Ok(entries) } else { Err(wrong) }
}

const FORM: &str = "headings begin with an apostrophe, and their values follow on lines of their own";

/// `Version 1.1.0`, at a line's begin.
fn is_version(line: &str) -> bool {
    line.get(..8).is_some_and(|word| word.eq_ignore_ascii_case("version "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headings_have_their_values() {
        let text = "\u{feff}Version 1.1.0 \r\n'TEST SETUP ====\r\n'Run Time\r\n'\thours min\r\n\t0 0 5\r\n'Test \
                    Description\r\n\t\r\n";
        let entries = entries("f", text).unwrap();
        let keys: Vec<_> = entries.iter().map(|entry| entry.key.as_str()).collect();
        assert_eq!(keys, ["version", "test setup", "run time", "test description"]);
        assert_eq!((entries[2].value(), entries[2].at()), ("0 0 5", 5));
        assert_eq!(entries[3].values, [(7, String::new())]);
        assert!(super::entries("f", "'TEST SETUP\n").is_err());
        assert!(super::entries("f", "\tlost\nVersion 1.1.0\n").unwrap_err()[0].message.contains("heading"));
    }
}
