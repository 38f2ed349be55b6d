//! IOR's back ends on stores that speak the S3 API: what becomes of a file, and what they are told.

use crate::ior::test::IorTest;

/// What a file is in a bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ObjectShape {
    /// One object: an upload whose parts are the transfers of all who write it.
    Parts,
    /// An object for each transfer.
    Transfers,
}

pub const HOSTS: [&str; 3] = ["S3-libs3.host", "S3-4c.host", "S3-curl.host"];
pub const REGIONS: [&str; 2] = ["S3-libs3.region", "S3-curl.region"];
pub const ACCESS_KEYS: [&str; 2] = ["S3-libs3.access-key", "S3-curl.access-key"];
pub const SECRET_KEYS: [&str; 2] = ["S3-libs3.secret-key", "S3-curl.secret-key"];

/// How a test's back end keeps files; none: it is another.
pub fn shape(test: &IorTest) -> Option<ObjectShape> {
    match test.api.as_str() {
        "S3-libs3" => Some(ObjectShape::Transfers),
        "S3" | "S3-4c" | "S3_4c" | "S3_plus" | "S3_EMC" | "S3-curl" => Some(ObjectShape::Parts),
        _ => None,
    }
}

/// What was said by the first of these options, and by which: each back end understands the others' names.
pub fn said<'a>(test: &'a IorTest, options: &[&'static str]) -> Option<(&'a str, &'static str)> {
    let said = |option: &&'static str| Some((test.settings.text(option)?, *option));
    options.iter().filter_map(said).find(|(value, _)| !value.is_empty())
}

pub fn is_encrypted(test: &IorTest) -> bool {
    test.flag("S3-libs3.use-ssl") || test.flag("S3-curl.use-ssl")
}

/// The bucket's name. That of S3-libs3 ends in a number of the access key unless it is told not to.
pub fn bucket(test: &IorTest, key_number: impl FnOnce(Option<&str>) -> u64) -> String {
    let text = |name: &str| test.settings.text(name).unwrap_or_default().to_string();
    match test.api.as_str() {
        "S3-libs3" if test.flag("S3-libs3.dont-suffix-bucket") => text("S3-libs3.bucket-name-prefix"),
        "S3-libs3" => {
            let key = said(test, &ACCESS_KEYS).map(|(key, _)| key);
            format!("{}{}", text("S3-libs3.bucket-name-prefix"), key_number(key) % 1000)
        }
        "S3-curl" => text("S3-curl.bucket"),
        _ => text("S3-4c.bucket-name"),
    }
}

/// A file's name as S3-libs3 writes it in a key: small letters and digits stay, a slash is `_`, anything else is two
/// letters; `b` ends it. Placeholders stay.
pub fn key_template(template: &str) -> String {
    let mut key = String::new();
    let mut rest = template;
    while let Some(letter) = rest.chars().next() {
        let end = if letter == '{' { rest.find('}') } else { None };
        match end {
            Some(end) => {
                key.push_str(&placeholder(&rest[..=end]));
                rest = &rest[end + 1..];
            }
            None => {
                encode(letter, &mut key);
                rest = &rest[letter.len_utf8()..];
            }
        }
    }
    key + "b"
}

/// A placeholder, whose words are names too.
fn placeholder(text: &str) -> String {
    let Some((what, words)) = text.split_once(':').filter(|(_, words)| words.contains('|')) else {
        return text.into();
    };
    let words = words.trim_end_matches('}').split('|').map(|word| {
        let mut key = String::new();
        word.chars().for_each(|letter| encode(letter, &mut key));
        key
    });
    format!("{what}:{}}}", words.collect::<Vec<_>>().join("|"))
}

fn encode(letter: char, key: &mut String) {
    match letter {
        '0'..='9' | 'a'..='z' => key.push(letter),
        'A'..='Z' => key.push(letter.to_ascii_lowercase()),
        '/' => key.push('_'),
        _ => {
            for byte in letter.to_string().bytes() {
                key.push(char::from(b'a' + byte / 26));
                key.push(char::from(b'a' + byte % 26));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_of_libs3_have_small_letters_and_digits_alone() {
        for (template, key) in [
            ("testFile", "testfileb"),
            ("/tmp/a.1", "_tmp_abu1b"),
            ("f.{worker:08}.{repetition}", "fbu{worker:08}bu{repetition}b"),
            ("{worker:a/F|b-}.{worker:08}", "{worker:a_f|bbt}bu{worker:08}b"),
        ] {
            assert_eq!(key_template(template), key, "{template}");
        }
    }
}
