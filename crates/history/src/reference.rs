//! How a user names a run: by its number, by a tag, or as the last one.

/// What was named.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reference {
    /// The run of that number.
    Number(i64),
    /// So many before the newest.
    Last(u32),
    /// So many before the newest with that tag.
    Tag(String, u32),
}

impl Reference {
    /// Reads `12`, `last`, `last~2`, `TAG` or `TAG~1`.
    pub fn read(text: &str) -> Reference {
        if let Ok(number) = text.trim_start_matches('#').parse() {
            return Reference::Number(number);
        }
        let (name, back) = match text.rsplit_once('~') {
            Some((name, back)) => match back.parse() {
                Ok(back) => (name, back),
                Err(_) => (text, 0),
            },
            None => (text, 0),
        };
        match name {
            "last" => Reference::Last(back),
            tag => Reference::Tag(tag.into(), back),
        }
    }
}

/// Whether a word can be a tag: it is no number, is not `last`, and can be typed without quotes.
pub fn is_tag(word: &str) -> bool {
    let plain = |letter: char| letter.is_alphanumeric() || "-_.:+=@/%".contains(letter);
    !word.is_empty()
        && word.chars().all(plain)
        && !word.starts_with('-')
        && matches!(Reference::read(word), Reference::Tag(_, 0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_named_in_three_ways() {
        assert_eq!(Reference::read("12"), Reference::Number(12));
        assert_eq!(Reference::read("#12"), Reference::Number(12));
        assert_eq!(Reference::read("last"), Reference::Last(0));
        assert_eq!(Reference::read("last~3"), Reference::Last(3));
        assert_eq!(Reference::read("before~1"), Reference::Tag("before".into(), 1));
        assert_eq!(Reference::read("a~b"), Reference::Tag("a~b".into(), 0));
    }

    #[test]
    fn tags_are_no_numbers() {
        assert!(is_tag("kernel-6.1") && is_tag("vorher_ä"));
        assert!(!is_tag("7") && !is_tag("last") && !is_tag("a b") && !is_tag("") && !is_tag("-x"));
    }
}
