//! What a value says: numbers with suffixes, sizes and shares, times, words, triples.
//!
//! It refuses a suffix it does not know, with the place and what may have been meant.

use iodyno_model::PerDirection;

use super::number::{self, Base, Fault, TimeUnit, fault};
use super::options::{JobOption, ValueType};
use crate::option::{Status, nearest};

/// A value that was parsed.
#[derive(Clone, Debug, PartialEq)]
pub enum OptionValue {
    /// Yes or no; a switch that is there.
    Flag(bool),
    /// A whole number.
    Whole(i64),
    /// Bytes, or a share.
    Amount(Amount),
    /// Two times in ns, the lower first, of which one is drawn from between; the same twice where one was written.
    Times(u64, u64),
    /// A number (or a time in ns) for each direction; `None`: that place was left empty.
    Triple(PerDirection<Option<u64>>),
    /// The ends of a range for each direction, the lower first.
    Ranges(PerDirection<Option<(u64, u64)>>),
    /// Sizes with their shares, for each direction.
    Splits(PerDirection<Option<Splits>>),
    /// Numbers with fractions, at least one.
    Decimals(Vec<f64>),
    /// One of the words that the table lists.
    Word(&'static str),
    /// Words of the table, at least one, and what was written behind the last after a colon.
    Words(Vec<&'static str>, String),
    /// Anything else: its text is parsed where it is lowered.
    Text,
}

/// Sizes in bytes, each with its share in percent.
pub type Splits = Vec<(u64, f64)>;

/// How much of something.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Amount {
    Bytes(u64),
    /// So much of the file or device, in percent.
    Percent(f64),
    /// So many zones of a zoned device (`10z`).
    Zones(u64),
}

/// Parses an option's value; `None`: it was given without one.
///
/// # Errors
/// What is wrong with it and what to write instead.
pub fn read(option: &JobOption, text: Option<&str>, base: Base) -> Result<OptionValue, Fault> {
    let Some(text) = text else { return bare(option) };
    let one_time = |ns| OptionValue::Times(ns, ns);
    match option.rule.value {
        ValueType::Text => Ok(OptionValue::Text),
        ValueType::Flag => flag(text, base, false),
        ValueType::Switch => flag(text, base, true),
        ValueType::Whole(..) if text.contains(',') => {
            Err(fault("one number is enough", "only some options take one for each direction"))
        }
        ValueType::Whole(least, most) => {
            Ok(OptionValue::Whole(within(number::bytes(text, base)?, least, most)?))
        }
        ValueType::Triple(least, most) => {
            directed(text, ',', optional(|part| bounded(part, base, least, most))).map(OptionValue::Triple)
        }
        ValueType::Bytes(least, most) => {
            Ok(OptionValue::Amount(Amount::Bytes(bounded(text, base, least, most)?)))
        }
        ValueType::Amount => amount(text, base).map(OptionValue::Amount),
        ValueType::Time(unit) => number::time_ns(text, unit).map(one_time),
        ValueType::Times => ends(text, |part| number::time_ns(part, TimeUnit::Second))
            .map(|(low, high)| OptionValue::Times(low, high)),
        ValueType::Latencies => {
            directed(text, ',', |part| number::time_ns(part, TimeUnit::Microsecond).map(Some))
                .map(OptionValue::Triple)
        }
        ValueType::Range => Ok(OptionValue::Ranges(PerDirection::same(Some(range(text, base)?)))),
        ValueType::Ranges => {
            let separator = if text.contains(',') { ',' } else { '/' };
            directed(text, separator, optional(|part| block_range(part, base))).map(OptionValue::Ranges)
        }
        ValueType::Splits => directed(text, ',', |part| splits(part, base)).map(OptionValue::Splits),
        ValueType::Decimals(least, most) => decimals(text, least, most),
        ValueType::Word(_) => word(option, text.trim_end()).map(OptionValue::Word),
        ValueType::Tailed(_) => {
            let (name, tail) = text.split_once(':').unwrap_or((text, ""));
            Ok(OptionValue::Words(vec![word(option, name.trim())?], tail.trim().to_string()))
        }
        ValueType::Words(_) => {
            let (names, tail) = text.split_once(':').unwrap_or((text, ""));
            let words: Result<Vec<_>, _> = names.split(',').map(|name| word(option, name.trim())).collect();
            Ok(OptionValue::Words(words?, tail.trim().to_string()))
        }
    }
}

/// The value of an option that is given without one.
fn bare(option: &JobOption) -> Result<OptionValue, Fault> {
    match option.rule.value {
        ValueType::Switch => Ok(OptionValue::Flag(true)),
        // The log options write under the job's own name then.
        ValueType::Text if option.rule.bare => Ok(OptionValue::Text),
        _ => {
            let name = option.entry.name;
            Err(fault(format!("`{name}` needs a value"), format!("{name}={}", option.entry.value)))
        }
    }
}

fn flag(text: &str, base: Base, any: bool) -> Result<OptionValue, Fault> {
    let wrong = || fault(format!("expected 0 or 1, not `{}`", text.trim()), "1 is yes, 0 is no");
    match number::bytes(text, base) {
        Ok(0) => Ok(OptionValue::Flag(false)),
        Ok(1) => Ok(OptionValue::Flag(true)),
        Ok(_) if any => Ok(OptionValue::Flag(true)),
        _ => Err(wrong()),
    }
}

fn within(number: i64, least: i64, most: i64) -> Result<i64, Fault> {
    if number < least {
        return Err(fault(format!("{number} is too small"), format!("the least is {least}")));
    }
    if number > most {
        return Err(fault(format!("{number} is too large"), format!("the most is {most}")));
    }
    Ok(number)
}

fn bounded(text: &str, base: Base, least: i64, most: i64) -> Result<u64, Fault> {
    within(number::bytes(text, base)?, least.max(0), most).map(i64::unsigned_abs)
}

/// A parser that takes an empty part as none.
fn optional<T>(one: impl Fn(&str) -> Result<T, Fault>) -> impl Fn(&str) -> Result<Option<T>, Fault> {
    move |part| if part.trim().is_empty() { Ok(None) } else { one(part).map(Some) }
}

/// Splits by direction; a place left empty at the end of the text is none.
fn directed<T: Clone>(
    text: &str,
    separator: char,
    one: impl Fn(&str) -> Result<Option<T>, Fault>,
) -> Result<PerDirection<Option<T>>, Fault> {
    let text = text.trim();
    let parts: Vec<&str> = text.split(separator).collect();
    // `bs=4k,` gives reads their size and leaves the others alone; only what is not there at all follows.
    let read = one(parts[0])?;
    let write = parts.get(1).map_or_else(|| Ok(read.clone()), |part| one(part))?;
    let trim = parts.get(2).map_or_else(|| Ok(write.clone()), |part| one(part))?;
    if parts.len() > 3 {
        return Err(fault("three values are the most", "one each for reads, writes and trims"));
    }
    if read.is_none() && write.is_none() && trim.is_none() {
        return Err(fault("a number is missing", ""));
    }
    Ok(PerDirection { read, write, trim })
}

fn amount(text: &str, base: Base) -> Result<Amount, Fault> {
    let (kind, number) = number::share(text, base)?;
    let number = within(number, 0, i64::MAX)?;
    match kind {
        Some('%') => Ok(Amount::Percent(within(number, 0, 100)? as f64)),
        Some(_) => Ok(Amount::Zones(number.unsigned_abs())),
        None => Ok(Amount::Bytes(number.unsigned_abs())),
    }
}

/// Two values with `-` or `:` between, the lower first; one alone is both ends.
fn ends(text: &str, one: impl Fn(&str) -> Result<u64, Fault>) -> Result<(u64, u64), Fault> {
    let (low, high) = text.split_once(['-', ':']).unwrap_or((text, text));
    let (low, high) = (one(low)?, one(high)?);
    Ok((low.min(high), low.max(high)))
}

fn range(text: &str, base: Base) -> Result<(u64, u64), Fault> {
    ends(text, |part| bounded(part, base, 0, i64::MAX))
}

fn block_range(text: &str, base: Base) -> Result<(u64, u64), Fault> {
    if !text.contains(['-', ':']) {
        return Err(fault(format!("`{}` is no range", text.trim()), "two sizes: 4k-64k"));
    }
    match range(text, base)? {
        (0, _) => Err(fault("0 is too small", "the least is 1")),
        ends => Ok(ends),
    }
}

/// `4k/60:8k/40`; shares that are left out divide what the others leave of 100 % evenly.
fn splits(text: &str, base: Base) -> Result<Option<Splits>, Fault> {
    let mut list = Vec::new();
    for item in text.split(':').map(str::trim).filter(|item| !item.is_empty()) {
        let (size, share) = item.split_once('/').unwrap_or((item, ""));
        let size = bounded(size, base, 1, i64::MAX)?;
        let share = match share.trim().trim_end_matches('%') {
            "" => None,
            share => Some(bounded(share, base, 0, 100)?),
        };
        list.push((size, share));
    }
    let sum: u64 = list.iter().filter_map(|(_, share)| *share).sum();
    let open = list.iter().filter(|(_, share)| share.is_none()).count();
    if sum > 100 || (open == 0 && sum < 100 && !list.is_empty()) {
        return Err(fault(format!("the shares add up to {sum} %"), "they must make 100, or leave one out"));
    }
    let rest = 100_u64.saturating_sub(sum) as f64 / open.max(1) as f64;
    let list: Splits =
        list.iter().map(|(size, share)| (*size, share.map_or(rest, |share| share as f64))).collect();
    Ok(Some(list).filter(|list| !list.is_empty()))
}

fn decimals(text: &str, least: f64, most: f64) -> Result<OptionValue, Fault> {
    let mut list = Vec::new();
    for item in text.split([':', ',']).map(str::trim).filter(|item| !item.is_empty()) {
        let number = number::decimal(item.trim_end_matches('%'))?;
        if !(least..=most).contains(&number) {
            return Err(fault(format!("{number} is out of range"), format!("from {least} to {most}")));
        }
        list.push(number);
    }
    if list.is_empty() { Err(fault("a number is missing", "")) } else { Ok(OptionValue::Decimals(list)) }
}

/// One of the option's words, unless it is refused.
fn word(option: &JobOption, name: &str) -> Result<&'static str, Fault> {
    let Some(word) = option.entry.word(name) else {
        let known = || option.entry.words().iter().map(|word| word.name);
        let hint = match nearest(name, known()) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("one of: {}", known().collect::<Vec<_>>().join(", ")),
        };
        return Err(fault(format!("`{}` knows no `{name}`", option.entry.name), hint));
    };
    match word.status {
        Status::Refused(why, hint) => Err(fault(format!("`{}` is not supported: {why}", word.name), hint)),
        _ => Ok(word.name),
    }
}
