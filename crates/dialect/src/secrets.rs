//! Where words and files name secrets: the program takes each out before a dialect reads them, so that nothing that is
//! printed, stored or sent can hold one.
//!
//! An option of a family whose name is not known to be harmless counts as a secret, so that a misspelt one is not echoed
//! in a message either.

use std::ops::Range;

use iodyno_model::SecretKind;
use iodyno_model::secret::stand_in_number;

/// A secret in a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SecretPlace {
    pub range: Range<usize>,
    pub kind: SecretKind,
}

/// Options that begin alike.
struct OptionFamily {
    prefix: &'static str,
    /// Names that hold no secret, without the prefix.
    harmless: &'static [&'static str],
    /// Whether a value ends at a comma: several options stand in one word or line.
    ends_at_comma: bool,
}

/// The families of fio and of IOR. IOR's case does not count.
const FAMILIES: &[OptionFamily] = &[
    OptionFamily {
        prefix: "http_",
        harmless: &[
            "host",
            "user",
            "mode",
            "verbose",
            "object_mode",
            "s3_region",
            "s3_storage_class",
            "s3_sse_customer_algorithm",
        ],
        ends_at_comma: false,
    },
    OptionFamily {
        prefix: "s3-libs3.",
        harmless: &[
            "bucket-per-file",
            "bucket-name-prefix",
            "dont-suffix-bucket",
            "s3-compatible",
            "use-ssl",
            "host",
            "region",
            "location",
        ],
        ends_at_comma: true,
    },
    OptionFamily {
        prefix: "s3-curl.",
        harmless: &["bucket", "host", "region", "use-ssl", "timeout", "verify-ssl"],
        ends_at_comma: true,
    },
    OptionFamily { prefix: "s3-4c.", harmless: &["user", "host", "bucket-name"], ends_at_comma: true },
    OptionFamily {
        prefix: "s3.",
        harmless: &["host", "region", "bucket", "bucket-name", "user", "use-ssl"],
        ends_at_comma: true,
    },
];

/// Whole names, as clients of stores have them.
const NAMES: &[(&str, SecretKind)] = &[
    ("access-key", SecretKind::AccessKey),
    ("secret-key", SecretKind::SecretKey),
    ("session-token", SecretKind::SessionToken),
    ("s3key", SecretKind::AccessKey),
    ("s3secret", SecretKind::SecretKey),
    ("s3sessiontoken", SecretKind::SessionToken),
    ("s3sseckey", SecretKind::CustomerKey),
];

/// What an option's name says of its value; none: it is no secret. Whether its value ends at a comma.
fn judge(name: &str) -> Option<(SecretKind, bool)> {
    let name = name.to_ascii_lowercase();
    if let Some((_, kind)) = NAMES.iter().find(|(known, _)| *known == name) {
        return Some((*kind, false));
    }
    let family = FAMILIES.iter().find(|family| name.starts_with(family.prefix))?;
    let rest = &name[family.prefix.len()..];
    if rest.is_empty() || family.harmless.contains(&rest) {
        return None;
    }
    let kind = match rest {
        "s3_keyid" | "access-key" => SecretKind::AccessKey,
        "s3_key" | "secret-key" => SecretKind::SecretKey,
        "s3_security_token" => SecretKind::SessionToken,
        "s3_sse_customer_key" => SecretKind::CustomerKey,
        _ => SecretKind::Other,
    };
    Some((kind, family.ends_at_comma))
}

/// The option whose name begins at a place: its name's end.
fn name_end(text: &str, start: usize) -> usize {
    let is_name = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
    start + text.as_bytes()[start..].iter().take_while(|byte| is_name(byte)).count()
}

fn past(text: &str, start: usize, skipped: &[u8]) -> usize {
    start + text.as_bytes()[start..].iter().take_while(|byte| skipped.contains(byte)).count()
}

/// The secrets of `NAME=VALUE` in a line, several of them with commas between; and whether it is the name of a secret alone,
/// whose value is elsewhere.
fn in_line(line: &str, found: &mut Vec<SecretPlace>) -> Option<SecretKind> {
    let starts = std::iter::once(0).chain(line.match_indices(',').map(|(at, _)| at + 1));
    let mut behind = 0;
    for start in starts {
        let start = past(line, start, b" \t\r-");
        let end = name_end(line, start);
        let Some((kind, ends_at_comma)) = judge(&line[start..end]).filter(|_| start >= behind) else {
            continue;
        };
        let sign = past(line, end, b" \t");
        if line.as_bytes().get(sign) != Some(&b'=') {
            return (end == line.len()).then_some(kind);
        }
        let value = past(line, sign + 1, b" \t");
        let most = if ends_at_comma { line[value..].find(',').map(|at| value + at) } else { None };
        behind = most.unwrap_or(line.len());
        let value = value..value + line[value..behind].trim_end().len();
        if !value.is_empty() {
            found.push(SecretPlace { range: value, kind });
        }
    }
    None
}

/// The secrets of a command line: each with the number of its word.
pub fn in_words(words: &[String]) -> Vec<(usize, SecretPlace)> {
    let (mut all, mut awaited) = (Vec::new(), None);
    for (number, word) in words.iter().enumerate() {
        if let Some(kind) = awaited.take() {
            all.push((number, SecretPlace { range: 0..word.len(), kind }));
            continue;
        }
        let mut found = Vec::new();
        awaited = in_line(word, &mut found).filter(|_| word.starts_with('-'));
        all.extend(found.into_iter().map(|place| (number, place)));
    }
    all.retain(|(_, place)| !place.range.is_empty());
    all
}

/// The secrets of a job file or script. Comments begin with `#` or `;`.
pub fn in_text(text: &str) -> Vec<SecretPlace> {
    let (mut all, mut start) = (Vec::new(), 0);
    for line in text.split_inclusive('\n') {
        let said = &line[..line.find(['#', ';', '\n']).unwrap_or(line.len())];
        let mut found = Vec::new();
        in_line(said, &mut found);
        let moved = |place: SecretPlace| SecretPlace {
            range: start + place.range.start..start + place.range.end,
            ..place
        };
        all.extend(found.into_iter().map(moved));
        start += line.len();
    }
    all
}

/// Whether the value of an option may be read: it is what stands for a secret, or nothing.
pub fn is_taken_out(value: &str) -> bool {
    value.is_empty() || stand_in_number(value).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<(String, SecretKind)> {
        let words: Vec<String> = line.split(' ').map(Into::into).collect();
        let found = in_words(&words);
        found
            .into_iter()
            .map(|(number, place)| (words[number][place.range].to_string(), place.kind))
            .collect()
    }

    fn lines(text: &str) -> Vec<(&str, SecretKind)> {
        in_text(text).into_iter().map(|place| (&text[place.range], place.kind)).collect()
    }

    #[test]
    fn secrets_of_command_lines_are_found() {
        use SecretKind::{AccessKey, CustomerKey, Other, SecretKey, SessionToken};
        for (line, found) in [
            ("--http_s3_key=a/b+c,d= --http_s3_keyid AK", vec![("a/b+c,d=", SecretKey), ("AK", AccessKey)]),
            (
                "-http_s3_security_token=t --http_s3_sse_customer_key=k#;",
                vec![("t", SessionToken), ("k#;", CustomerKey)],
            ),
            ("--http_host=h --http_s3_region=r --http_mode=s3 --name=j", vec![]),
            ("--http_s3_kye=oops --http_pass=p", vec![("oops", Other), ("p", Other)]),
            (
                "-a S3 --S3-libs3.secret-key=s --s3-LIBS3.access-key a --S3-libs3.host=h:1",
                vec![("s", SecretKey), ("a", AccessKey)],
            ),
            (
                "-O api=S3,S3-libs3.secret-key=s,S3-libs3.access-key=a,blockSize=4m",
                vec![("s", SecretKey), ("a", AccessKey)],
            ),
            ("--access-key=a --secret-key s --session-token", vec![("a", AccessKey), ("s", SecretKey)]),
            ("--http_s3_key= x http_s3_key", vec![]),
        ] {
            let found: Vec<_> = found.into_iter().map(|(text, kind)| (text.to_string(), kind)).collect();
            assert_eq!(words(line), found, "{line}");
        }
    }

    #[test]
    fn secrets_of_files_are_found_up_to_their_comments() {
        let text = "[global]\nhttp_s3_key = a,b \t; not this\r\n  http_s3_keyid=AK\n#http_s3_key=x\nhttp_host=h\n\
                    IOR START\napi=S3-libs3, --S3-libs3.secret-key=s # c\n";
        assert_eq!(
            lines(text),
            [("a,b", SecretKind::SecretKey), ("AK", SecretKind::AccessKey), ("s", SecretKind::SecretKey)]
        );
        assert!(is_taken_out("***") && is_taken_out("") && !is_taken_out("AK"));
    }
}
