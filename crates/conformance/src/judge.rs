//! One expectation against one answer, and both in plain words.

use std::cmp::Ordering;

use iodyno_model::Expect;

use crate::syscall::{Answer, errno_name};
use crate::words::whole;

/// What a step came to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Came {
    /// What the call answered.
    pub answer: Answer,
    /// Where there is no answer that an expectation could meet: what happened instead.
    pub instead: Option<String>,
    /// What a failure is called that has no error number: its code, its status. Empty where there is none.
    pub errors: Vec<String>,
}

impl Came {
    pub fn answer(answer: Answer) -> Self {
        Came { answer, ..Came::default() }
    }

    /// No answer.
    pub fn instead(what: impl Into<String>) -> Self {
        Came { answer: Answer::failed(0), instead: Some(what.into()), errors: Vec::new() }
    }

    /// A failure by its names, the first of which is told.
    pub fn failed(answer: Answer, errors: Vec<String>) -> Self {
        Came { answer, instead: None, errors }
    }

    pub fn succeeded(&self) -> bool {
        self.instead.is_none() && self.answer.errno.is_none() && self.errors.is_empty()
    }

    /// How it ended, in plain words.
    pub fn ended(&self) -> String {
        match (&self.instead, self.answer.errno, self.errors.first()) {
            (Some(what), ..) => what.clone(),
            (None, Some(errno), _) => errno_name(errno),
            (None, None, Some(error)) => error.clone(),
            (None, None, None) => "success".into(),
        }
    }
}

/// An expectation that was not met.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Miss {
    pub expected: String,
    /// What came.
    pub got: String,
}

/// Whether an expectation is about how the call ends, rather than about what is found: where it is not met, nothing that
/// follows means anything.
pub fn is_outcome(expect: &Expect) -> bool {
    !matches!(expect, Expect::Attribute { .. })
}

/// Holds an answer against an expectation, whose words have been put in.
pub fn judge(expect: &Expect, came: &Came) -> Option<Miss> {
    let met = match expect {
        Expect::Succeeds => came.succeeded(),
        Expect::Fails(errors) => errors.iter().any(|error| has_failed(came, error)),
        Expect::Answers(answers) => {
            came.instead.is_none() && answers.iter().any(|answer| answers_so(came, answer))
        }
        Expect::Attribute { name, relation, value } => {
            return judge_attribute(name, relation, value, came);
        }
    };
    (!met).then(|| Miss { expected: expected(expect), got: got(expect, came) })
}

fn has_failed(came: &Came, error: &str) -> bool {
    let is_called = || came.errors.iter().any(|known| known == error);
    came.instead.is_none() && (came.answer.errno.is_some_and(|errno| is_named(errno, error)) || is_called())
}

/// Whether an error number is the one of that name; some numbers have two.
fn is_named(errno: i32, name: &str) -> bool {
    errno_name(errno) == name || crate::syscall::errno_number(name) == Some(errno)
}

/// Whether an answer is the one that a word stands for: `ok`, an error by its name, or a text.
fn answers_so(came: &Came, word: &str) -> bool {
    match came.succeeded() {
        true => word == "ok" || came.answer.text == word,
        false => has_failed(came, word),
    }
}

/// A text that would be one of the words for how a call ends.
fn is_error(word: &str) -> bool {
    crate::syscall::errno_number(word).is_some()
}

/// An expectation in plain words.
pub fn expected(expect: &Expect) -> String {
    match expect {
        Expect::Succeeds => "success".into(),
        Expect::Fails(errors) => errors.join(" or "),
        Expect::Answers(answers) => {
            let words = |answer: &String| match answer.as_str() {
                "ok" => "success".to_string(),
                error if is_error(error) => error.to_string(),
                text => quoted(text),
            };
            answers.iter().map(words).collect::<Vec<_>>().join(" or ")
        }
        Expect::Attribute { name, relation, value } => match relation.as_str() {
            "=" | "==" => format!("{name} {}", value.replace('|', " or ")),
            relation => format!("{name} {relation} {value}"),
        },
    }
}

fn got(expect: &Expect, came: &Came) -> String {
    match expect {
        Expect::Answers(answers) if came.succeeded() && answers.iter().any(|answer| !is_error(answer)) => {
            quoted(&came.answer.text)
        }
        _ => came.ended(),
    }
}

/// A text as it is shown: not all of a long one.
fn quoted(text: &str) -> String {
    let escaped: String = text.chars().flat_map(char::escape_debug).collect();
    let shown = shorten(&escaped, 200);
    if text.is_empty() { "the empty text".into() } else { format!("the text \"{shown}\"") }
}

/// The beginning of a long word, with its length.
pub fn shorten(word: &str, most: usize) -> String {
    if word.len() <= most {
        return word.into();
    }
    let end = (0..=most / 2).rev().find(|at| word.is_char_boundary(*at)).unwrap_or(0);
    format!("{}…({} bytes)", &word[..end], word.len())
}

fn judge_attribute(name: &str, relation: &str, value: &str, came: &Came) -> Option<Miss> {
    let words =
        Expect::Attribute { name: name.into(), relation: relation.into(), value: shorten(value, 200) };
    let expected = expected(&words);
    if !came.succeeded() {
        return Some(Miss { expected, got: came.ended() });
    }
    let Some(found) = came.answer.field(name) else {
        return Some(Miss { expected, got: format!("an answer without {name}") });
    };
    let met = match relation {
        "=" | "==" => value.split('|').any(|value| compare(found, value) == Ordering::Equal),
        "≠" | "!=" => value.split('|').all(|value| compare(found, value) != Ordering::Equal),
        "<" => compare(found, value) == Ordering::Less,
        ">" => compare(found, value) == Ordering::Greater,
        "≤" | "<=" => compare(found, value) != Ordering::Greater,
        "≥" | ">=" => compare(found, value) != Ordering::Less,
        _ => return Some(Miss { expected, got: format!("no relation `{relation}` is known") }),
    };
    (!met).then(|| Miss { expected, got: format!("{name} {}", shorten(found, 200)) })
}

/// Numbers as numbers, times with all their digits, everything else as text.
fn compare(found: &str, value: &str) -> Ordering {
    match (number(found), number(value)) {
        (Some(found), Some(value)) => found.cmp(&value),
        _ => found.cmp(value),
    }
}

/// A number as whole units and the digits behind the point, in billionths of billionths.
fn number(text: &str) -> Option<i128> {
    const UNIT: i128 = 1_000_000_000_000_000_000;
    let Some((whole_part, fraction)) = text.split_once('.') else {
        return whole(text)?.checked_mul(UNIT);
    };
    let digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let (negative, units) = whole_part.strip_prefix('-').map_or((false, whole_part), |units| (true, units));
    if !digits(units) || !digits(fraction) || fraction.len() > 18 {
        return None;
    }
    let value =
        units.parse::<i128>().ok()?.checked_mul(UNIT)? + format!("{fraction:0<18}").parse::<i128>().ok()?;
    Some(if negative { -value } else { value })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(fields: &[(&str, &str)], text: &str) -> Came {
        let fields = fields.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect();
        Came::answer(Answer { errno: None, text: text.into(), fields })
    }

    fn is(name: &str, relation: &str, value: &str) -> Expect {
        Expect::Attribute { name: name.into(), relation: relation.into(), value: value.into() }
    }

    #[test]
    fn outcomes() {
        let refused = Came::answer(Answer::failed(libc::EACCES));
        let done = said(&[], "");
        let either = Expect::Answers(vec!["ok".into(), "EPERM".into()]);
        assert_eq!(judge(&Expect::Succeeds, &done), None);
        assert_eq!(judge(&Expect::Fails(vec!["EPERM".into(), "EACCES".into()]), &refused), None);
        assert_eq!(judge(&either, &done), None);
        let miss = judge(&either, &refused).unwrap();
        assert_eq!((miss.expected.as_str(), miss.got.as_str()), ("success or EPERM", "EACCES"));
        let miss = judge(&Expect::Fails(vec!["EPERM".into()]), &done).unwrap();
        assert_eq!((miss.expected.as_str(), miss.got.as_str()), ("EPERM", "success"));
    }

    #[test]
    fn texts() {
        let told = said(&[], "abc");
        assert_eq!(judge(&Expect::Answers(vec!["x".into(), "abc".into()]), &told), None);
        let miss = judge(&Expect::Answers(vec!["x\n".into()]), &told).unwrap();
        assert_eq!((miss.expected.as_str(), miss.got.as_str()), ("the text \"x\\n\"", "the text \"abc\""));
        let gone = Came::instead("its process died");
        assert_eq!(judge(&Expect::Answers(vec!["ok".into()]), &gone).unwrap().got, "its process died");
    }

    #[test]
    fn attributes_are_compared_by_what_they_are() {
        let file = said(&[("mode", "0644"), ("ctime", "17.000000010"), ("type", "fifo")], "");
        for met in [
            is("mode", "=", "420"),
            is("mode", "=", "0600|0644"),
            is("mode", "!=", "0600"),
            is("ctime", ">", "17.000000009"),
            is("ctime", "<", "17.1"),
            is("ctime", "≥", "17.00000001"),
            is("type", "=", "socket|fifo"),
        ] {
            assert_eq!(judge(&met, &file), None);
        }
        let miss = judge(&is("mode", "=", "0600"), &file).unwrap();
        assert_eq!((miss.expected.as_str(), miss.got.as_str()), ("mode 0600", "mode 0644"));
        assert!(judge(&is("ctime", ">", "17.00000001"), &file).is_some());
        assert!(judge(&is("size", "=", "0"), &file).unwrap().got.contains("without size"));
        let gone = Came::answer(Answer::failed(libc::ENOENT));
        assert_eq!(judge(&is("mode", "=", "0600"), &gone).unwrap().got, "ENOENT");
    }
}
