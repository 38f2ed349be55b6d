//! `$` words: what is known only where a case runs, put in for what stands for it in the rule. Their list: docs/rules.md.

use std::collections::BTreeMap;

use crate::syscall::Answer;

/// What earlier steps of the round came back with, by label.
pub type Labels = BTreeMap<String, Answer>;

/// Why a word cannot be put in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WordFailure {
    /// The rule makes no sense: what is wrong with it.
    Wrong(String),
    /// What it is about is not there: why.
    Missing(String),
}

/// What surrounds a round.
pub trait Surroundings {
    /// A number by its name: a limit of the directory, `PAGE`, `BLOCK`.
    fn number(&mut self, name: &str) -> Option<Result<i128, WordFailure>>;
    /// A text by its name: a path, who runs it.
    fn text(&mut self, name: &str) -> Option<Result<String, WordFailure>>;
    /// Earlier answers.
    fn labels(&self) -> &Labels;
}

/// Puts in all that a word holds.
///
/// # Errors
/// What cannot be put in.
pub fn resolve(word: &str, around: &mut dyn Surroundings) -> Result<String, WordFailure> {
    let Some(start) = word.find('$') else { return Ok(word.into()) };
    let mut text = word[..start].to_string();
    let mut rest = &word[start..];
    while let Some(after) = rest.strip_prefix('$') {
        rest = if let Some(inner) = after.strip_prefix('[') {
            let end = inner.find(']').ok_or_else(|| WordFailure::Wrong(format!("`{word}`: no `]`")))?;
            text.push_str(&evaluate(&inner[..end], around)?.to_string());
            &inner[end + 1..]
        } else {
            let length = after.find(|c: char| !is_of_name(c)).unwrap_or(after.len());
            if length == 0 {
                text.push('$');
            } else {
                text.push_str(&known(&after[..length], around)?);
            }
            &after[length..]
        };
        let next = rest.find('$').unwrap_or(rest.len());
        text.push_str(&rest[..next]);
        rest = &rest[next..];
    }
    Ok(text)
}

fn is_of_name(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || matches!(letter, '_' | '.' | ':')
}

/// What a name stands for.
fn known(name: &str, around: &mut dyn Surroundings) -> Result<String, WordFailure> {
    if let Some((kind, length)) = name.split_once(':') {
        let length = length.parse().map_err(|_| WordFailure::Wrong(format!("`${name}`: no number")))?;
        return match kind {
            "name" => Ok(letters(length)),
            "text" => Ok(letters(length)),
            _ => Err(WordFailure::Wrong(format!("`${name}`: there is no such word"))),
        };
    }
    let label = name.split_once('.').map_or(name, |(label, _)| label);
    if around.labels().contains_key(label) {
        return attribute(name, around.labels());
    }
    if let Some(number) = around.number(name) {
        return Ok(number?.to_string());
    }
    match name {
        "name_max" | "name_over" => {
            let most = around.number("NAME_MAX").unwrap_or(Ok(255))?;
            Ok(letters(usize::try_from(most).unwrap_or(255) + usize::from(name == "name_over")))
        }
        _ => around.text(name).unwrap_or_else(|| {
            Err(WordFailure::Wrong(format!("`${name}`: no such word, and no step before has that label")))
        }),
    }
}

/// `label` or `label.attribute`.
fn attribute(name: &str, labels: &Labels) -> Result<String, WordFailure> {
    let Some((label, field)) = name.split_once('.') else {
        return Ok(labels.get(name).map(|answer| answer.text.clone()).unwrap_or_default());
    };
    let Some(answer) = labels.get(label) else {
        return Err(WordFailure::Wrong(format!("`${name}`: no step before has the label `{label}`")));
    };
    match answer.fields.iter().find(|(known, _)| known == field) {
        Some((_, value)) => Ok(value.clone()),
        None if answer.errno.is_some() => Err(WordFailure::Missing(format!("`{label}` failed"))),
        None => Err(WordFailure::Wrong(format!("`${name}`: `{label}` has no attribute `{field}`"))),
    }
}

/// So many letters, always the same ones.
pub fn letters(count: usize) -> String {
    (b'a'..=b'z').cycle().take(count).map(char::from).collect()
}

/// A sum, by the usual precedence.
fn evaluate(text: &str, around: &mut dyn Surroundings) -> Result<i128, WordFailure> {
    let mut sum = Sum { text, rest: text, around };
    let value = sum.add()?;
    if sum.rest.trim().is_empty() { Ok(value) } else { Err(sum.wrong()) }
}

struct Sum<'a> {
    text: &'a str,
    rest: &'a str,
    around: &'a mut dyn Surroundings,
}

impl Sum<'_> {
    fn wrong(&self) -> WordFailure {
        WordFailure::Wrong(format!("`$[{}]` cannot be evaluated", self.text))
    }

    fn take(&mut self, signs: &[char]) -> Option<char> {
        self.rest = self.rest.trim_start();
        let sign = self.rest.chars().next().filter(|sign| signs.contains(sign))?;
        self.rest = &self.rest[1..];
        Some(sign)
    }

    fn add(&mut self) -> Result<i128, WordFailure> {
        let mut value = self.multiply()?;
        while let Some(sign) = self.take(&['+', '-']) {
            let other = self.multiply()?;
            let sum = if sign == '+' { value.checked_add(other) } else { value.checked_sub(other) };
            value = sum.ok_or_else(|| self.wrong())?;
        }
        Ok(value)
    }

    fn multiply(&mut self) -> Result<i128, WordFailure> {
        let mut value = self.one()?;
        while let Some(sign) = self.take(&['*', '/', '%']) {
            let other = self.one()?;
            let product = match sign {
                '*' => value.checked_mul(other),
                '/' => value.checked_div(other),
                _ => value.checked_rem(other),
            };
            value = product.ok_or_else(|| self.wrong())?;
        }
        Ok(value)
    }

    fn one(&mut self) -> Result<i128, WordFailure> {
        match self.take(&['(', '-']) {
            Some('(') => {
                let value = self.add()?;
                self.take(&[')']).map(|_| value).ok_or_else(|| self.wrong())
            }
            Some(_) => self.one()?.checked_neg().ok_or_else(|| self.wrong()),
            None => self.name(),
        }
    }

    fn name(&mut self) -> Result<i128, WordFailure> {
        self.rest = self.rest.trim_start();
        let length = self.rest.find(|c: char| !is_of_name(c)).unwrap_or(self.rest.len());
        let (name, rest) = self.rest.split_at(length);
        self.rest = rest;
        if let Some(number) = whole(name) {
            return Ok(number);
        }
        if name.is_empty() {
            return Err(self.wrong());
        }
        let value = known(name, self.around)?;
        whole(&value)
            .ok_or_else(|| WordFailure::Wrong(format!("`$[{}]`: `{value}` is no whole number", self.text)))
    }
}

/// A whole number as in C: `0x` hexadecimal, a leading `0` octal.
pub fn whole(text: &str) -> Option<i128> {
    let (negative, digits) = text.strip_prefix('-').map_or((false, text), |rest| (true, rest));
    if !digits.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let value = match digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X")) {
        Some(hex) => i128::from_str_radix(hex, 16).ok()?,
        None if digits.len() > 1 && digits.starts_with('0') => i128::from_str_radix(digits, 8).ok()?,
        None => digits.parse().ok()?,
    };
    Some(if negative { -value } else { value })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Default)]
    struct WordsBench(Labels);

    impl Surroundings for WordsBench {
        fn number(&mut self, name: &str) -> Option<Result<i128, WordFailure>> {
            match name {
                "PAGE" => Some(Ok(4096)),
                "NAME_MAX" => Some(Ok(255)),
                _ => None,
            }
        }

        fn text(&mut self, name: &str) -> Option<Result<String, WordFailure>> {
            (name == "ro").then(|| Ok("/views/ro".into()))
        }

        fn labels(&self) -> &Labels {
            &self.0
        }
    }

    fn stage() -> WordsBench {
        let fields = vec![("size".to_string(), "10".to_string()), ("mode".to_string(), "0644".to_string())];
        let before = Answer { errno: None, text: "told".into(), fields };
        let failed = Answer { errno: Some(2), ..Answer::default() };
        WordsBench([("before".to_string(), before), ("failed".to_string(), failed)].into())
    }

    #[test]
    fn words_are_put_in() {
        let put = |word: &str| resolve(word, &mut stage()).unwrap();
        assert_eq!(put("plain/$"), "plain/$");
        assert_eq!(put("$ro/f"), "/views/ro/f");
        assert_eq!(put("$before-$before.size"), "told-10");
        assert_eq!(put("$name_max").len(), 255);
        assert_eq!(put("d/$name_over/x").len(), 260);
        assert_eq!(put("$name:3/$text:2"), "abc/ab");
        assert_eq!(put("$PAGE"), "4096");
        assert_eq!(put("$[PAGE*2+1]x$[(1+2)*-3]"), "8193x-9");
        assert_eq!(put("$[before.size % 4 - 1]"), "1");
        assert_eq!(put("$[before.mode]"), "420");
    }

    #[test]
    fn what_makes_no_sense_is_told() {
        let no = |word: &str| resolve(word, &mut stage()).unwrap_err();
        assert!(matches!(no("$nothing"), WordFailure::Wrong(why) if why.contains("$nothing")));
        assert!(
            matches!(no("$before.mtime"), WordFailure::Wrong(why) if why.contains("no attribute `mtime`"))
        );
        assert_eq!(no("$failed.size"), WordFailure::Missing("`failed` failed".into()));
        for wrong in ["$[1+]", "$[1", "$[1/0]", "$[(1]", "$[1 2]", "$name:x", "$[ro]"] {
            assert!(matches!(no(wrong), WordFailure::Wrong(_)), "{wrong}");
        }
    }

    #[test]
    fn whole_numbers_are_those_of_c() {
        let read = ["0x1f", "010", "0", "-7", "08", "", "1a", "1.5"].map(whole);
        assert_eq!(read, [Some(31), Some(8), Some(0), Some(-7), None, None, None, None]);
    }
}
