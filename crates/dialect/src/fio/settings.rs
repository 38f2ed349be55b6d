//! What one job was told: every option it was given, in order, with its place; and the answers that lowering asks for.
//!
//! The last mention of an option wins, as in fio; an option that was not given answers with fio's default where the
//! accessor says so. It refuses to know what an option means: that is lowering's.

use iodyno_model::{Directed, Origin};

use super::value::{Amount, Splits, Value};
use crate::option::{Entry, Kind};

/// One option as it was given.
#[derive(Clone, Debug)]
pub struct Given {
    /// The option.
    pub entry: &'static Entry,
    /// Its value as the user wrote it; empty where a switch has none.
    pub text: String,
    /// Its value, understood.
    pub value: Value,
    /// Where it was written.
    pub origin: Origin,
    /// Whether `[global]` said so rather than the job itself.
    pub global: bool,
}

/// One job: its name and what it was told, the global settings first.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// The section's name, or what `name=` or `--name` says.
    pub name: String,
    /// The section's name, whatever `name=` says: files are called after it.
    pub section: String,
    /// Where it was named.
    pub origin: Origin,
    /// Everything that was said, in order.
    pub given: Vec<Given>,
}

impl Settings {
    /// The last mention of an option (by its first name in the table).
    pub fn given(&self, name: &str) -> Option<&Given> {
        debug_assert!(super::options::find(name).is_some_and(|row| row.entry.name == name), "{name}");
        self.given.iter().rev().find(|given| given.entry.name == name)
    }

    /// Where an option was written; where the job was, if it was not.
    pub fn origin(&self, name: &str) -> &Origin {
        self.given(name).map_or(&self.origin, |given| &given.origin)
    }

    /// Whether an option was given at all.
    pub fn has(&self, name: &str) -> bool {
        self.given(name).is_some()
    }

    /// A yes or no; `otherwise` where it was not given.
    pub fn flag(&self, name: &str, otherwise: bool) -> bool {
        match self.value(name) {
            Some(Value::Flag(flag)) => *flag,
            Some(Value::Whole(number)) => *number != 0,
            _ => otherwise,
        }
    }

    /// A whole number.
    pub fn whole(&self, name: &str) -> Option<i64> {
        match self.value(name)? {
            Value::Whole(number) => Some(*number),
            Value::Flag(flag) => Some(i64::from(*flag)),
            _ => None,
        }
    }

    /// A number with a fraction.
    pub fn decimal(&self, name: &str) -> Option<f64> {
        match self.value(name)? {
            Value::Decimal(number) => Some(*number),
            Value::Whole(number) => Some(*number as f64),
            _ => None,
        }
    }

    /// A number of bytes, or a share of something.
    pub fn amount(&self, name: &str) -> Option<Amount> {
        match self.value(name)? {
            Value::Amount(amount) => Some(*amount),
            Value::Whole(number) => u64::try_from(*number).ok().map(Amount::Bytes),
            _ => None,
        }
    }

    /// A number of bytes, where a share makes no sense.
    pub fn bytes(&self, name: &str) -> Option<u64> {
        match self.amount(name)? {
            Amount::Bytes(bytes) => Some(bytes),
            _ => None,
        }
    }

    /// A number for each direction: `a`, `a,b`, `a,b,c`; a place left empty keeps `None`, and what is not given at the
    /// end follows the last that is.
    pub fn triple(&self, name: &str) -> Option<Directed<Option<u64>>> {
        match self.value(name)? {
            Value::Triple(triple) => Some(triple.clone()),
            Value::Whole(number) => Some(Directed::same(u64::try_from(*number).ok())),
            Value::Amount(Amount::Bytes(bytes)) => Some(Directed::same(Some(*bytes))),
            _ => None,
        }
    }

    /// A time in ns.
    pub fn time_ns(&self, name: &str) -> Option<u64> {
        match self.value(name)? {
            Value::Time(ns) => Some(*ns),
            _ => None,
        }
    }

    /// One of the words that the table lists for the option.
    pub fn word(&self, name: &str) -> Option<&'static str> {
        match self.value(name)? {
            Value::Word(word) | Value::Tailed(word, _) => Some(word),
            Value::Words(words, _) => words.first().copied(),
            _ => None,
        }
    }

    /// All words, of an option that takes several.
    pub fn words(&self, name: &str) -> &[&'static str] {
        match self.value(name) {
            Some(Value::Words(words, _)) => words,
            _ => &[],
        }
    }

    /// What stands behind an option's word after a colon: `1.2` of `zipf:1.2`; empty: nothing.
    pub fn tail(&self, name: &str) -> &str {
        match self.value(name) {
            Some(Value::Tailed(_, tail) | Value::Words(_, tail)) => tail,
            _ => "",
        }
    }

    /// Two times in ns that one is drawn from between; the same twice where there is one.
    pub fn times_ns(&self, name: &str) -> Option<(u64, u64)> {
        match self.value(name)? {
            Value::Time(ns) => Some((*ns, *ns)),
            Value::Times(low, high) => Some((*low, *high)),
            _ => None,
        }
    }

    /// The ends of a range of sizes for each direction (`bsrange`), the lower first.
    pub fn ranges(&self, name: &str) -> Option<Directed<Option<(u64, u64)>>> {
        match self.value(name)? {
            Value::Ranges(ranges) => Some(ranges.clone()),
            _ => None,
        }
    }

    /// The ends of one range of sizes (`filesize`), the lower first.
    pub fn range(&self, name: &str) -> Option<(u64, u64)> {
        self.ranges(name)?.read
    }

    /// Sizes with their share in percent for each direction (`bssplit`); no share: an equal part of what is left.
    pub fn splits(&self, name: &str) -> Option<&Directed<Splits>> {
        match self.value(name)? {
            Value::Splits(splits) => Some(splits),
            _ => None,
        }
    }

    /// Numbers with fractions (`percentile_list`).
    pub fn decimals(&self, name: &str) -> Option<Vec<f64>> {
        match self.value(name)? {
            Value::Decimals(list) => Some(list.clone()),
            Value::Decimal(one) => Some(vec![*one]),
            _ => None,
        }
    }

    /// The text, without the quotes that a path may stand in; otherwise as it was written.
    pub fn text(&self, name: &str) -> Option<&str> {
        let given = self.given(name)?;
        let text = given.text.as_str();
        if !matches!(given.entry.kind, Kind::Path) {
            return Some(text);
        }
        let bare = |mark| text.strip_prefix(mark)?.strip_suffix(mark);
        Some(bare('"').or_else(|| bare('\'')).unwrap_or(text))
    }

    fn value(&self, name: &str) -> Option<&Value> {
        self.given(name).map(|given| &given.value)
    }
}
