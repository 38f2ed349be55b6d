//! The package's back ends on stores that speak the S3 API: what becomes of a file, and what they are told.

use iodyno_model::Setting;

use crate::Loader;
use crate::ior::test::{IorTest, s3_key_number};
use crate::option::GivenOptions;
use crate::secrets;

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
    shape_of(&test.api)
}

/// The same by the back end's name.
pub fn shape_of(api: &str) -> Option<ObjectShape> {
    match api {
        "S3-libs3" => Some(ObjectShape::Transfers),
        "S3" | "S3-4c" | "S3_4c" | "S3_plus" | "S3_EMC" | "S3-curl" => Some(ObjectShape::Parts),
        _ => None,
    }
}

/// Whether each file is a bucket.
pub fn has_buckets(test: &IorTest) -> bool {
    shape(test) == Some(ObjectShape::Transfers) && test.settings.flag("S3-libs3.bucket-per-file")
}

/// What was said by the first of these options, and by which: each back end understands the others' names.
pub fn said<'a>(settings: &'a GivenOptions, options: &[&'static str]) -> Option<(&'a str, &'static str)> {
    let said = |option: &&'static str| Some((settings.text(option)?, *option));
    options.iter().filter_map(said).find(|(value, _)| !value.is_empty())
}

fn is_encrypted(settings: &GivenOptions) -> bool {
    settings.flag("S3-libs3.use-ssl") || settings.flag("S3-curl.use-ssl")
}

/// The bucket's name. That of S3-libs3 ends in a number of the access key unless it is told not to.
pub fn bucket(api: &str, settings: &GivenOptions, loader: &dyn Loader) -> String {
    let text = |name: &str| settings.text(name).unwrap_or_default().to_string();
    match api {
        "S3-libs3" if settings.flag("S3-libs3.dont-suffix-bucket") => text("S3-libs3.bucket-name-prefix"),
        "S3-libs3" => {
            let number = match said(settings, &ACCESS_KEYS) {
                Some((standing, _)) => loader.key_number(standing),
                None => s3_key_number(&loader.variable("AWS_ACCESS_KEY_ID").unwrap_or_default()),
            };
            format!("{}{}", text("S3-libs3.bucket-name-prefix"), number % 1000)
        }
        "S3-curl" => text("S3-curl.bucket"),
        _ => text("S3-4c.bucket-name"),
    }
}

/// What is wrong with where the store is and who asks, each with what to do.
pub fn defects(
    settings: &GivenOptions,
    bucket: &str,
    loader: &dyn Loader,
) -> Vec<(&'static str, &'static str)> {
    let host = said(settings, &HOSTS);
    let has_host = host.is_some()
        || ["AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"].iter().any(|name| loader.variable(name).is_some());
    let odd = host.is_some_and(|(host, _)| host.contains(['/', ',', '{', ' ']));
    let open_key = [ACCESS_KEYS, SECRET_KEYS]
        .iter()
        .any(|names| said(settings, names).is_some_and(|(value, _)| !secrets::is_taken_out(value)));
    let bad_bucket = bucket.is_empty() || bucket.contains(['/', '{', ' ']);
    let all = [
        (!has_host, "the store's host must be specified", "e.g. --S3-libs3.host=127.0.0.1:9000"),
        (odd, "the host is more than HOST:PORT", "e.g. --S3-libs3.host=127.0.0.1:9000"),
        (
            bad_bucket,
            "a bucket's name has no `/`, `{` or blank, and is not empty",
            "e.g. --S3-4c.bucket-name=bench",
        ),
        (
            open_key,
            "a key came by a way that is not secret",
            "leave it out and export AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY",
        ),
    ];
    all.into_iter().filter(|(is, ..)| *is).map(|(_, what, hint)| (what, hint)).collect()
}

/// Where the store is and who asks. The bucket is made where it is missing.
pub fn client(settings: &GivenOptions) -> Vec<Setting> {
    let mut found = Vec::new();
    let mut add = |name: &str, option: &str, value: &str| {
        found.push(Setting { origin: settings.origin(option), ..Setting::new(name, value) });
    };
    if let Some((host, option)) = said(settings, &HOSTS) {
        let scheme = if is_encrypted(settings) { "https" } else { "http" };
        add("endpoint", option, &format!("{scheme}://{host}"));
    }
    for (name, options) in [("region", REGIONS), ("access_key", ACCESS_KEYS), ("secret_key", SECRET_KEYS)] {
        if let Some((value, option)) = said(settings, &options) {
            add(name, option, value);
        }
    }
    if let Some((user, option)) = said(settings, &["S3-4c.user"]) {
        add("credentials", option, &format!("awsauth:{user}"));
    }
    if settings.is_given("S3-curl.timeout") && settings.count("S3-curl.timeout") > 0 {
        add("timeout", "S3-curl.timeout", &settings.count("S3-curl.timeout").to_string());
    }
    add("make_bucket", "", "on");
    found
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
