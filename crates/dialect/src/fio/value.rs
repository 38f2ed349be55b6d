//! What a value says: numbers with suffixes, sizes and shares, times, words, triples.
//!
//! It refuses a suffix it does not know, with the place and what may have been meant.

use iodyno_model::Directed;

use super::number::{self, Base, Fault, fault};
use super::options::{Reading, Row};
use crate::option::{Status, Word, nearest};

/// A value that was understood.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// Yes or no; a switch that is there.
    Flag(bool),
    /// A whole number.
    Whole(i64),
    /// A number with a fraction.
    Decimal(f64),
    /// Bytes, or a share.
    Amount(Amount),
    /// A time in ns.
    Time(u64),
    /// Two times in ns, the lower first: one is drawn from between.
    Times(u64, u64),
    /// A number (or a time in ns) for each direction; `None`: that place was left empty.
    Triple(Directed<Option<u64>>),
    /// The ends of a range for each direction, the lower first.
    Ranges(Directed<Option<(u64, u64)>>),
    /// Sizes with their share in percent, for each direction; no share: an equal part of what is left.
    Splits(Directed<Splits>),
    /// Numbers with fractions.
    Decimals(Vec<f64>),
    /// One of the words that the table lists.
    Word(&'static str),
    /// A word of the table and what was written behind it after a colon.
    Tailed(&'static str, String),
    /// Several words of the table and what was written behind the last after a colon.
    Words(Vec<&'static str>, String),
    /// Anything else: its meaning is found where it is lowered.
    Text(String),
}

/// Sizes in bytes, each with its share in percent.
pub type Splits = Vec<(u64, Option<u32>)>;

/// How much of something.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Amount {
    /// So many bytes.
    Bytes(u64),
    /// So much of the file or device, in percent.
    Percent(f64),
    /// So many zones of a zoned device (`10z`).
    Zones(u64),
}

/// Reads an option's value; `None`: it was given without one.
///
/// # Errors
/// What is wrong with it and what to write instead.
pub fn read(row: &Row, text: Option<&str>, base: Base) -> Result<Value, Fault> {
    let Some(text) = text else { return bare(row) };
    match row.reading {
        Reading::Text => Ok(Value::Text(text.to_string())),
        Reading::Flag => flag(text, base, false),
        Reading::Switch => flag(text, base, true),
        Reading::Whole(least, most) => {
            let number = text.split(',').next().unwrap_or(text);
            if number.len() != text.len() {
                return Err(fault("one number is enough", "only some options take one for each direction"));
            }
            Ok(Value::Whole(within(number::bytes(text, base)?, least, most)?))
        }
        Reading::Triple(least, most) => triple(text, base, least, most),
        Reading::Bytes(least, most) => Ok(Value::Amount(Amount::Bytes(
            within(number::bytes(text, base)?, least.max(0), most)?.unsigned_abs(),
        ))),
        Reading::Amount => amount(text, base).map(Value::Amount),
        Reading::Time(unit) => number::time_ns(text, unit).map(Value::Time),
        Reading::Times => times(text),
        Reading::Latencies if !text.contains(',') => {
            number::time_ns(text, number::Unit::Microsecond).map(Value::Time)
        }
        Reading::Latencies => {
            directed(text, ',', |part| number::time_ns(part, number::Unit::Microsecond).map(Some))
                .map(Value::Triple)
        }
        Reading::Range => {
            let (low, high) = range(text, base)?;
            Ok(Value::Ranges(Directed::same(Some((low, high)))))
        }
        Reading::Ranges => ranges(text, base),
        Reading::Splits => splits(text, base),
        Reading::Decimals(least, most) => decimals(text, least, most),
        Reading::Word => word(row, text.trim_end()).map(Value::Word),
        Reading::Tailed => {
            let (name, tail) = text.split_once(':').unwrap_or((text, ""));
            let word = word(row, name.trim())?;
            Ok(if tail.is_empty() { Value::Word(word) } else { Value::Tailed(word, tail.trim().to_string()) })
        }
        Reading::Words => words(row, text),
    }
}

/// What an option says that has no value.
fn bare(row: &Row) -> Result<Value, Fault> {
    match row.reading {
        Reading::Switch => Ok(Value::Flag(true)),
        // The log options write under the job's own name then.
        Reading::Text if row.bare => Ok(Value::Text(String::new())),
        _ => {
            let name = row.entry.name;
            Err(fault(format!("`{name}` needs a value"), format!("{name}={}", row.entry.value)))
        }
    }
}

fn flag(text: &str, base: Base, any: bool) -> Result<Value, Fault> {
    let wrong = || fault(format!("expected 0 or 1, not `{}`", text.trim()), "1 is yes, 0 is no");
    match number::bytes(text, base) {
        Ok(0) => Ok(Value::Flag(false)),
        Ok(1) => Ok(Value::Flag(true)),
        Ok(_) if any => Ok(Value::Flag(true)),
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

/// `a`, `a,b`, `a,b,c`: what is missing at the end follows the last that is there.
fn triple(text: &str, base: Base, least: i64, most: i64) -> Result<Value, Fault> {
    let one = |part: &str| -> Result<Option<u64>, Fault> {
        if part.trim().is_empty() {
            return Ok(None);
        }
        Ok(Some(within(number::bytes(part, base)?, least.max(0), most)?.unsigned_abs()))
    };
    directed(text, ',', one).map(Value::Triple)
}

/// Splits by direction; a place left empty at the end of the text is none.
fn directed<T: Clone>(
    text: &str,
    separator: char,
    one: impl Fn(&str) -> Result<Option<T>, Fault>,
) -> Result<Directed<Option<T>>, Fault> {
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
    Ok(Directed { read, write, trim })
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

/// Two numbers with `-` or `:` between; one alone is both ends.
fn range(text: &str, base: Base) -> Result<(u64, u64), Fault> {
    let (low, high) = text.split_once(['-', ':']).unwrap_or((text, text));
    let one = |part: &str| {
        number::bytes(part, base).and_then(|number| within(number, 0, i64::MAX)).map(i64::unsigned_abs)
    };
    let (low, high) = (one(low)?, one(high)?);
    Ok((low.min(high), low.max(high)))
}

fn times(text: &str) -> Result<Value, Fault> {
    let (low, high) = text.split_once(['-', ':']).unwrap_or((text, text));
    let one = |part: &str| number::time_ns(part, number::Unit::Second);
    let (low, high) = (one(low)?, one(high)?);
    Ok(if low == high { Value::Time(low) } else { Value::Times(low.min(high), low.max(high)) })
}

fn ranges(text: &str, base: Base) -> Result<Value, Fault> {
    let one = |part: &str| -> Result<Option<(u64, u64)>, Fault> {
        if part.trim().is_empty() {
            return Ok(None);
        }
        if !part.contains(['-', ':']) {
            return Err(fault(format!("`{}` is no range", part.trim()), "two sizes: 4k-64k"));
        }
        match range(part, base)? {
            (0, _) => Err(fault("0 is too small", "the least is 1")),
            ends => Ok(Some(ends)),
        }
    };
    let separator = if text.contains(',') { ',' } else { '/' };
    directed(text, separator, one).map(Value::Ranges)
}

fn splits(text: &str, base: Base) -> Result<Value, Fault> {
    let one = |part: &str| split_list(part, base).map(|list| if list.is_empty() { None } else { Some(list) });
    let lists = directed(text, ',', one)?;
    let list = |list: Option<Vec<_>>| list.unwrap_or_default();
    Ok(Value::Splits(Directed { read: list(lists.read), write: list(lists.write), trim: list(lists.trim) }))
}

/// `4k/60:8k/40`; a share left out is an equal part of what the others leave.
fn split_list(text: &str, base: Base) -> Result<Splits, Fault> {
    let mut list = Vec::new();
    for item in text.split(':').map(str::trim).filter(|item| !item.is_empty()) {
        let (size, share) = item.split_once('/').unwrap_or((item, ""));
        let size = within(number::bytes(size, base)?, 1, i64::MAX)?.unsigned_abs();
        let share = match share.trim().trim_end_matches('%') {
            "" => None,
            share => Some(within(number::bytes(share, base)?, 0, 100)? as u32),
        };
        list.push((size, share));
    }
    let said: u32 = list.iter().filter_map(|(_, share)| *share).sum();
    let whole = list.iter().all(|(_, share)| share.is_some());
    if said > 100 || (whole && said < 100 && !list.is_empty()) {
        return Err(fault(format!("the shares add up to {said} %"), "they must make 100, or leave one out"));
    }
    Ok(list)
}

fn decimals(text: &str, least: f64, most: f64) -> Result<Value, Fault> {
    let mut list = Vec::new();
    for item in text.split([':', ',']).map(str::trim).filter(|item| !item.is_empty()) {
        let number = number::decimal(item.trim_end_matches('%'))?;
        if !(least..=most).contains(&number) {
            return Err(fault(format!("{number} is out of range"), format!("from {least} to {most}")));
        }
        list.push(number);
    }
    match list.as_slice() {
        [] => Err(fault("a number is missing", "")),
        [one] => Ok(Value::Decimal(*one)),
        _ => Ok(Value::Decimals(list)),
    }
}

/// One of the option's words, if we do anything about it but refuse.
fn word(row: &Row, name: &str) -> Result<&'static str, Fault> {
    let Some(word) = row.entry.word(name) else {
        let known = || row.entry.words().iter().map(|word| word.name);
        let hint = match nearest(name, known()) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("one of: {}", known().collect::<Vec<_>>().join(", ")),
        };
        return Err(fault(format!("`{}` knows no `{name}`", row.entry.name), hint));
    };
    accepted(word)
}

fn accepted(word: &'static Word) -> Result<&'static str, Fault> {
    match word.status {
        Status::Refused(why, hint) => Err(fault(format!("`{}` is not supported: {why}", word.name), hint)),
        _ => Ok(word.name),
    }
}

fn words(row: &Row, text: &str) -> Result<Value, Fault> {
    let (names, tail) = text.split_once(':').unwrap_or((text, ""));
    let names: Result<Vec<_>, _> = names.split(',').map(|name| word(row, name.trim())).collect();
    Ok(Value::Words(names?, tail.trim().to_string()))
}
