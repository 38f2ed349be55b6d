//! What rules about object stores can say: requests, and the codes of the S3 API.

use std::sync::LazyLock;

use crate::posix::calls::CallTable;
use crate::posix::vocabulary::Vocabulary;

/// Of rules about object stores.
pub static STORES: Vocabulary = Vocabulary {
    calls: LazyLock::new(|| CallTable::read(include_str!("calls.txt"))),
    is_error,
    expected: "expected ok, an error like NoSuchKey or 404, an attribute like size=5, or \"text\" in quotes",
    page: "docs/s3check.md",
};

/// Whether a word is a code (`NoSuchKey`) or a status that is no success (`412`).
fn is_error(word: &str) -> bool {
    let is_code = || {
        let mut letters = word.chars();
        letters.next().is_some_and(|letter| letter.is_ascii_uppercase())
            && word.chars().all(|letter| letter.is_ascii_alphanumeric())
            && letters.any(|letter| letter.is_ascii_lowercase())
    };
    match word.parse::<u16>() {
        Ok(status) => (300..600).contains(&status) && word.len() == 3,
        Err(_) => is_code(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_and_statuses_are_errors_and_texts_are_not() {
        for error in ["NoSuchKey", "404", "InvalidRange", "412"] {
            assert!(is_error(error), "{error}");
        }
        for text in ["ok", "200", "abc", "ETAG", "a b", ""] {
            assert!(!is_error(text), "{text}");
        }
    }
}
