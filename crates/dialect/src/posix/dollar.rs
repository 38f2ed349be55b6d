//! Names that are known only where a case runs: `$before.ctime`, `$NAME_MAX`, `$[PAGE*2]`.
//!
//! Reckons nothing: it only tells which names there are, so that a slip is found where it was written.

use super::near_or;
use super::step::{Problem, problem};

/// Names that every round knows.
const KNOWN: &str = "\
    NAME_MAX PATH_MAX LINK_MAX SYMLINK_MAX PIPE_BUF PAGE BLOCK name_max name_over path_max path_over \
    here ro nosuid noexec nodev view elsewhere small self.uid self.gid";

/// Names that want a number behind a colon.
const NUMBERED: &[&str] = &["name", "text"];

/// Names of other mounts.
const MOUNTS: &[&str] = &["ro", "nosuid", "noexec", "nodev", "view", "elsewhere"];

/// The names in a word.
#[derive(Clone, Debug, Default)]
pub struct RuntimeNames(Vec<String>);

impl RuntimeNames {
    /// The features without which they mean nothing.
    pub fn needs(&self) -> impl Iterator<Item = &'static str> + '_ {
        self.0.iter().filter_map(|name| match name.as_str() {
            "small" => Some("small"),
            name if MOUNTS.contains(&name) => Some("mounts"),
            _ => None,
        })
    }
}

/// The names in a word, by the labels of earlier steps.
///
/// # Errors
/// One that stands for nothing.
pub fn names(word: &str, labels: &[String]) -> Result<RuntimeNames, Problem> {
    let mut names = RuntimeNames::default();
    let mut rest = word;
    while let Some(at) = rest.find('$') {
        rest = &rest[at + 1..];
        if let Some(inner) = rest.strip_prefix('[') {
            let Some(end) = inner.find(']') else {
                return problem(
                    format!("`{word}`: `$[` without its `]`"),
                    "e.g. $[PAGE*2+1], without blanks",
                );
            };
            for name in reckoned(&inner[..end]) {
                check(name, word, labels)?;
                names.0.push(name.into());
            }
            rest = &inner[end + 1..];
            continue;
        }
        let end = rest.find(|letter: char| !letter.is_ascii_alphanumeric() && !"_.:".contains(letter));
        let name = &rest[..end.unwrap_or(rest.len())];
        check(name, word, labels)?;
        names.0.push(name.into());
        rest = &rest[name.len()..];
    }
    Ok(names)
}

/// The names in what is reckoned.
fn reckoned(text: &str) -> impl Iterator<Item = &str> {
    let words = text.split(|letter: char| !letter.is_ascii_alphanumeric() && !"_.:".contains(letter));
    words.filter(|word| !word.is_empty() && !word.starts_with(|letter: char| letter.is_ascii_digit()))
}

fn check(name: &str, word: &str, labels: &[String]) -> Result<(), Problem> {
    let label = name.split('.').next().unwrap_or_default();
    if KNOWN.split(' ').any(|known| known == name) || labels.iter().any(|known| known == label) {
        return Ok(());
    }
    if let Some((name, number)) = name.split_once(':')
        && NUMBERED.contains(&name)
    {
        return match number.parse::<u64>() {
            Ok(_) => Ok(()),
            Err(_) => Err((format!("`${name}:{number}`: no number of bytes"), format!("e.g. ${name}:100"))),
        };
    }
    let mut known: Vec<&str> = KNOWN.split(' ').collect();
    known.extend(labels.iter().map(String::as_str));
    let hint = near_or(label, &known, &format!("{label} = CALL, in a step before"));
    let message = if word.strip_prefix('$') == Some(name) {
        format!("`{word}`")
    } else {
        format!("`{word}`: `${name}`")
    };
    Err((format!("{message}: nothing has that name"), hint))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_looked_up() {
        let labels = vec!["before".to_string()];
        assert!(names("$before.ctime", &labels).is_ok() && names("a$[PAGE*2+1]b", &labels).is_ok());
        assert!(names("$name:100/$name_max", &labels).is_ok() && names("$[before.size-1]", &labels).is_ok());
        assert_eq!(names("$ro/f", &labels).unwrap().needs().collect::<Vec<_>>(), ["mounts"]);
        assert!(names("$befor.ctime", &labels).unwrap_err().1.contains("`before`"));
        assert!(names("$[PAGES]", &labels).unwrap_err().1.contains("`PAGE`"));
        assert!(names("$text:many", &labels).is_err() && names("$[1", &labels).is_err());
    }
}
