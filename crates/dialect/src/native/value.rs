//! Words to values: sizes, times, shares, rates, choices. Every error says what was expected.

use iodyno_model::{Extent, Rate, Verb, units};

use super::fields::suggestion;
use super::tree::Node;

/// What a reading function returns.
pub(crate) type Read<T> = Result<T, String>;

/// A single word.
pub(crate) fn word(node: &Node) -> Read<&str> {
    node.word().ok_or_else(|| "expected one value".to_string())
}

pub(crate) fn text(node: &Node) -> Read<String> {
    word(node).map(String::from).map_err(|_| "expected a text in quotes".into())
}

/// True or false.
pub(crate) fn flag(node: &Node) -> Read<bool> {
    match node.word() {
        Some("true") => Ok(true),
        Some("false") => Ok(false),
        _ => Err("expected true or false".into()),
    }
}

pub(crate) fn whole_number(node: &Node) -> Read<u64> {
    node.word().and_then(|word| word.parse().ok()).ok_or_else(|| "expected a whole number".into())
}

/// A whole number of at least 1.
pub(crate) fn count(node: &Node) -> Read<u64> {
    whole_number(node)
        .ok()
        .filter(|number| *number > 0)
        .ok_or_else(|| "expected a whole number of at least 1".into())
}

/// A whole number of at least 1 that fits 32 bits.
pub(crate) fn small_count(node: &Node) -> Read<u32> {
    let expected = || "expected a whole number from 1 to 4294967295".to_string();
    count(node).ok().and_then(|number| u32::try_from(number).ok()).ok_or_else(expected)
}

/// A whole number that fits 32 bits.
pub(crate) fn small(node: &Node) -> Read<u32> {
    let number = whole_number(node).ok().and_then(|number| u32::try_from(number).ok());
    number.ok_or_else(|| "expected a whole number from 0 to 4294967295".into())
}

/// A whole number that may be negative.
pub(crate) fn signed(node: &Node) -> Read<i64> {
    node.word().and_then(|word| word.parse().ok()).ok_or_else(|| "expected a whole number".into())
}

/// A finite number that is not negative.
pub(crate) fn number(node: &Node) -> Read<f64> {
    let number = node.word().and_then(|word| word.replace('_', "").parse::<f64>().ok());
    number.filter(|number| number.is_finite() && *number >= 0.0).ok_or_else(|| "expected a number".into())
}

/// A size in bytes.
pub(crate) fn bytes(node: &Node) -> Read<u64> {
    word(node).and_then(|word| units::parse_bytes(word).map_err(|error| tail(&error)))
}

/// A rate, bytes per second: `180MB/s`.
pub(crate) fn byte_rate(node: &Node) -> Read<u64> {
    let expected = || "expected bytes per second such as \"180MB/s\"".to_string();
    let word = word(node).map_err(|_| expected())?;
    let amount = word.strip_suffix("/s").unwrap_or(word);
    units::parse_bytes(amount).map_err(|_| expected())
}

/// A rate of a link, bit/s.
pub(crate) fn bits(node: &Node) -> Read<u64> {
    word(node).and_then(|word| units::parse_bits(word).map_err(|error| tail(&error)))
}

/// A size of at least one byte.
pub(crate) fn some_bytes(node: &Node) -> Read<u64> {
    let bytes = bytes(node)?;
    if bytes == 0 { Err("expected a size of at least 1 byte".into()) } else { Ok(bytes) }
}

/// A time in ns.
pub(crate) fn time(node: &Node) -> Read<u64> {
    word(node).and_then(|word| units::parse_ns(word).map_err(|error| tail(&error)))
}

/// A time in ns, longer than none.
pub(crate) fn some_time(node: &Node) -> Read<u64> {
    let ns = time(node)?;
    if ns == 0 { Err("expected a time longer than 0".into()) } else { Ok(ns) }
}

/// The units' messages name the value themselves; here the key's message does.
fn tail(message: &str) -> String {
    message.split_once(": ").map_or(message, |(_, tail)| tail).to_string()
}

/// A share: `25%`, or a bare number of percent, 0 to 100.
pub(crate) fn percent(node: &Node) -> Read<f64> {
    let expected = || "expected a share such as \"25%\"".to_string();
    let word = node.word().ok_or_else(expected)?;
    percent_of(word).ok_or_else(expected)
}

/// The same, from a piece of a word.
pub(crate) fn percent_of(word: &str) -> Option<f64> {
    let number: f64 = word.trim().trim_end_matches('%').trim().parse().ok()?;
    (0.0..=100.0).contains(&number).then_some(number)
}

/// A share as a whole number of percent.
pub(crate) fn whole_percent(node: &Node) -> Read<u8> {
    let percent = percent(node)?;
    if percent.fract() == 0.0 {
        Ok(percent as u8)
    } else {
        Err("expected a whole share such as \"25%\"".into())
    }
}

/// A length: a size or a share, or `rest`.
pub(crate) fn extent(node: &Node) -> Read<Extent> {
    let expected = || "expected a size such as \"1GiB\", a share such as \"25%\", or \"rest\"".to_string();
    match node.word().ok_or_else(expected)? {
        "rest" => Ok(Extent::Rest),
        word if word.ends_with('%') => percent_of(word).map(Extent::Percent).ok_or_else(expected),
        _ => bytes(node).map(Extent::Bytes).map_err(|_| expected()),
    }
}

/// A rate: `1000/s` operations, `10MiB/s` bytes, or `unlimited`.
pub(crate) fn rate(node: &Node) -> Read<Rate> {
    let expected = || "expected a rate such as \"1000/s\" (operations) or \"10MiB/s\" (bytes)".to_string();
    let word = node.word().ok_or_else(expected)?;
    if word == "unlimited" {
        return Ok(Rate::Unlimited);
    }
    let amount = word.strip_suffix("/s").ok_or_else(expected)?.trim();
    let rate = match amount.parse::<f64>() {
        Ok(number) if number.is_finite() && number > 0.0 => Rate::Operations(number),
        Ok(_) => return Err(expected()),
        Err(_) => {
            Rate::Bytes(units::parse_bytes(amount).ok().filter(|bytes| *bytes > 0).ok_or_else(expected)?)
        }
    };
    Ok(rate)
}

/// A verb by its name.
pub(crate) fn verb(node: &Node) -> Read<Verb> {
    let word = word(node)?;
    verb_named(word)
}

/// A verb by its name, from a piece of a word.
pub(crate) fn verb_named(word: &str) -> Read<Verb> {
    let names: Vec<_> = Verb::ALL.iter().map(|verb| verb.name()).collect();
    Verb::named(word).ok_or_else(|| format!("expected a verb; {}", suggestion(word, &names)))
}

/// One of several words; blanks and underscores are the same.
pub(crate) fn choice<T: Clone>(choices: &[(&str, T)]) -> impl Fn(&Node) -> Read<T> {
    move |node| {
        let found = node.word().map(|word| word.replace('_', " "));
        choices
            .iter()
            .find(|(name, _)| Some(*name) == found.as_deref())
            .map(|(_, value)| value.clone())
            .ok_or_else(|| super::inline::expected(choices.iter().map(|(name, _)| *name)))
    }
}

/// A list of one kind, or one of it.
pub(crate) fn list<T>(read: impl Fn(&Node) -> Read<T>) -> impl Fn(&Node) -> Read<Vec<T>> {
    move |node| match &node.value {
        super::tree::Value::List(items) => items.iter().map(&read).collect(),
        _ => read(node).map(|value| vec![value]),
    }
}
