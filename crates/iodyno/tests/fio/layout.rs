//! Two JSON documents of fio compared as text: same keys, same order, same indentation, same kinds of numbers.
//!
//! Scripts read fio's JSON with line tools as well as with parsers, so the lines are compared, each under its path. The
//! candidate may say more than the reference, never less and never otherwise.

use std::collections::HashMap;

/// One line of a document: where it stands, and what is there with numbers masked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// Keys from the root, `[0]` for an element.
    pub path: String,
    /// Blanks before it.
    pub indent: usize,
    /// `#`, `#.######`, a text, `{`, `[`.
    pub value: String,
}

/// Text under these keys changes from run to run.
const CHANGING: &[&str] = &["fio version", "time"];

/// A document's lines with their paths, elements of arrays numbered. The bins of json+ are left out: which there are is
/// a matter of time.
pub fn lines(document: &[String]) -> Vec<Line> {
    let mut path: Vec<(String, usize)> = Vec::new();
    let mut found = Vec::new();
    for text in document {
        let indent = text.len() - text.trim_start().len();
        let body = text.trim().trim_end_matches(',');
        if body.is_empty() {
            continue;
        }
        if body.starts_with(['}', ']']) {
            path.pop();
            continue;
        }
        let (key, value) = match body.strip_prefix('"').and_then(|rest| rest.split_once("\" : ")) {
            Some((key, value)) => (key.to_string(), value),
            None => {
                let number = path.last_mut().map_or(0, |(_, count)| std::mem::replace(count, *count + 1));
                (format!("[{number}]"), body)
            }
        };
        let in_bins = path.last().is_some_and(|(last, _)| last == "bins");
        let here =
            path.iter().map(|(key, _)| key.as_str()).chain([key.as_str()]).collect::<Vec<_>>().join("/");
        if !in_bins {
            found.push(Line { path: here, indent, value: masked(&key, value) });
        }
        if value.ends_with(['{', '[']) {
            path.push((key, 0));
        }
    }
    found
}

fn masked(key: &str, value: &str) -> String {
    let number = value.strip_prefix('-').unwrap_or(value);
    if number.is_empty() || !number.bytes().all(|b| b.is_ascii_digit() || b == b'.') {
        return if CHANGING.contains(&key) { "text".into() } else { value.to_string() };
    }
    match number.split_once('.') {
        Some((_, decimals)) => format!("#.{}", "#".repeat(decimals.len())),
        None => "#".into(),
    }
}

/// What the reference has and the candidate lacks, has elsewhere, or has of another kind; by path.
pub fn lacks(reference: &[Line], candidate: &[Line]) -> Vec<(String, String)> {
    let place: HashMap<&str, usize> =
        candidate.iter().enumerate().map(|(at, line)| (&*line.path, at)).collect();
    let mut wrong = Vec::new();
    // Of each object, where its last key was found: the next must stand behind it.
    let mut last: HashMap<&str, usize> = HashMap::new();
    let twice = |lines: &[Line], path: &str| lines.iter().filter(|line| line.path == path).count() > 1;
    for wanted in reference {
        let parent = wanted.path.rsplit_once('/').map_or("", |(parent, _)| parent);
        let Some(&at) = place.get(&*wanted.path) else {
            // What is missing as a whole is told once.
            if parent.is_empty() || place.contains_key(parent) {
                wrong.push((wanted.path.clone(), "is missing".to_string()));
            }
            continue;
        };
        let found = &candidate[at];
        let previous = last.insert(parent, at);
        if found.value != wanted.value {
            wrong.push((wanted.path.clone(), format!("is {} there and {} here", wanted.value, found.value)));
        } else if found.indent != wanted.indent {
            wrong.push((wanted.path.clone(), "is indented otherwise".to_string()));
        } else if wanted.path.contains("options")
            && twice(candidate, &wanted.path)
            && !twice(reference, &wanted.path)
        {
            wrong.push((wanted.path.clone(), "stands there twice".to_string()));
        } else if previous.is_some_and(|previous| previous > at) {
            wrong.push((wanted.path.clone(), "stands in another order".to_string()));
        }
    }
    wrong
}

/// The cases of this file.
pub fn checks() -> Vec<(&'static str, fn())> {
    vec![
        ("layout_more_is_welcome_and_less_is_not", more_is_welcome_and_less_is_not),
        ("layout_kinds_of_numbers_matter", kinds_of_numbers_matter),
    ]
}

fn document(text: &str) -> Vec<Line> {
    lines(&text.lines().map(str::to_string).collect::<Vec<_>>())
}

fn more_is_welcome_and_less_is_not() {
    let less = document("{\n  \"a\" : 1,\n  \"b\" : {\n    \"c\" : 0.500000\n  }\n}");
    let more =
        document("{\n  \"a\" : 7,\n  \"x\" : 7,\n  \"b\" : {\n    \"c\" : 9.000000,\n    \"d\" : 3\n  }\n}");
    assert_eq!(lacks(&less, &more), []);
    assert_eq!(lacks(&more, &less).len(), 2, "x and d");
    let turned = document("{\n  \"b\" : {\n    \"c\" : 0.500000\n  },\n  \"a\" : 1\n}");
    assert!(!lacks(&less, &turned).is_empty(), "another order");
}

fn kinds_of_numbers_matter() {
    let whole = document("{\n  \"iops\" : 5\n}");
    let broken = document("{\n  \"iops\" : 5.000000\n}");
    assert_eq!(lacks(&broken, &whole)[0].1, "is #.###### there and # here");
    let far = document("{\n    \"iops\" : 5\n}");
    assert_eq!(lacks(&far, &whole)[0].1, "is indented otherwise");
}
