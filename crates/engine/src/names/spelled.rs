//! Names that are not counted up: numbers in hexadecimal digits, and letters that are drawn for each item.
//!
//! `{item:010x}` is an item's number in ten hexadecimal digits, `{letters:12:7}` none to twelve letters and digits that
//! follow from the item and the seed 7. Such names are written once, when a worker opens the set, as benchmarks of
//! directories do that keep their names in memory (bonnie++).

use std::ffi::CString;

use super::{ListedName, Names, PathBuffer};
use crate::random::mix;

/// What letters are drawn from.
const LETTERS: &[u8; 62] = b"abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";

/// The most letters and digits that a word may ask for.
const MOST: u64 = 200;
/// What the words of a name come to at most, where it has one of each.
pub(super) const LONGEST: usize = 2 * MOST as usize;

/// A word in braces that begins so: where it begins, how long it is, and what stands between its beginning and its end.
pub(super) fn word<'a>(text: &'a str, beginning: &str) -> Option<(usize, usize, &'a str)> {
    let at = text.find(beginning)?;
    let inside = &text[at + beginning.len()..];
    let end = inside.find('}')?;
    Some((at, beginning.len() + end + 1, &inside[..end]))
}

impl Names {
    /// The names with all of them written down, where the template has words that cannot be counted up.
    pub fn spelled(mut self, template: &str) -> Self {
        if parts(template).is_none() {
            return self;
        }
        let mut buffer = PathBuffer::default();
        let mut text = String::new();
        let name = |item| {
            text.clear();
            spell(template, item, &mut text);
            let directory = self.directory(self.place(item), &mut buffer).to_string_lossy();
            let path = if directory == "." { text.clone() } else { format!("{directory}/{text}") };
            ListedName {
                path: CString::new(path).unwrap_or_default(),
                text: text.clone(),
                flags: libc::O_RDONLY,
            }
        };
        self.listed = Some((0..self.count).map(name).collect());
        self
    }
}

/// A word that is spelled.
enum SpelledWord {
    Number { digits: usize },
    Letters { most: u64, seed: u64 },
}

/// Where the first such word of a template is, how long it is, and what it means.
fn parts(template: &str) -> Option<(usize, usize, SpelledWord)> {
    let number = word(template, "{item:0").and_then(|(at, length, inside)| {
        let digits = inside.strip_suffix('x')?.parse::<u64>().ok().filter(|digits| *digits <= MOST)?;
        Some((at, length, SpelledWord::Number { digits: digits as usize }))
    });
    let letters = word(template, "{letters:").and_then(|(at, length, inside)| {
        let (most, seed) = inside.split_once(':')?;
        let most = most.parse::<u64>().ok().filter(|most| *most <= MOST)?;
        Some((at, length, SpelledWord::Letters { most, seed: seed.parse().ok()? }))
    });
    number.into_iter().chain(letters).min_by_key(|(at, ..)| *at)
}

fn spell(template: &str, item: u64, text: &mut String) {
    let mut rest = template;
    while let Some((at, length, meant)) = parts(rest) {
        text.push_str(&rest[..at]);
        match meant {
            SpelledWord::Number { digits } => text.push_str(&format!("{item:0digits$x}")),
            SpelledWord::Letters { most, seed } => {
                let start = mix(seed ^ mix(item));
                let letter =
                    |place| char::from(LETTERS[(mix(start ^ place) % LETTERS.len() as u64) as usize]);
                text.extend((1..=start % (most + 1)).map(letter));
            }
        }
        rest = &rest[at + length..];
    }
    text.push_str(rest);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(template: &str, names: Names) -> Vec<String> {
        let mut names = names.spelled(template);
        (0..names.count).map(|item| names.path_of(item).to_string_lossy().into_owned()).collect()
    }

    #[test]
    fn a_number_is_spelled_in_hexadecimal_digits() {
        let flat = Names::flat("", "", 12);
        let spelled = names("a{item:04x}.b", flat.clone());
        assert_eq!((spelled[0].as_str(), spelled[11].as_str()), ("a0000.b", "a000b.b"));
        assert!(flat.spelled("{item}").listed.is_none());
    }

    #[test]
    fn letters_differ_by_item_and_seed_and_are_of_every_length() {
        let of = |seed| names(&format!("{{letters:3:{seed}}}{{item:03x}}"), Names::flat("", "", 400));
        let (one, other) = (of(1), of(2));
        assert_ne!(one, other);
        assert_eq!(one, of(1));
        let lengths: std::collections::BTreeSet<usize> = one.iter().map(|name| name.len() - 3).collect();
        assert_eq!(lengths.into_iter().collect::<Vec<_>>(), [0, 1, 2, 3]);
        let different: std::collections::BTreeSet<&String> = one.iter().collect();
        assert_eq!(different.len(), 400);
    }

    #[test]
    fn spelled_items_lie_in_their_directories() {
        let tree = Names {
            depth: 1,
            branch: 3,
            per_directory: 2,
            leaves_only: true,
            directory: super::super::Piece::parse("{child:05}"),
            ..Names::flat("", "", 5)
        };
        let below = Names { root: "top".into(), ..tree.clone() };
        assert_eq!(names("{item:01x}", tree), ["00000/0", "00000/1", "00001/2", "00001/3", "00002/4"]);
        assert_eq!(names("{item:01x}", below)[4], "top/00002/4");
    }

    #[test]
    fn what_is_no_such_word_stays() {
        for template in
            ["{item:0}", "{item:0999999x}", "{letters:1}", "{letters:x:1}", "{item:010x", "{letters:300:1}"]
        {
            assert!(parts(template).is_none(), "{template}");
        }
    }
}
