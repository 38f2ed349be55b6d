//! The settings of one job: every option that was given, in order, with its place; and its value as lowering needs it.
//!
//! The last mention of an option wins, as in fio; an option that was not given answers with fio's default where the
//! accessor says so. It refuses to know what an option means: that is lowering's.

use iodyno_model::{Origin, PerDirection};

use super::value::{Amount, OptionValue, Splits};
use crate::option::Entry;

/// One option as it was given.
#[derive(Clone, Debug)]
pub struct Given {
    /// The option.
    pub entry: &'static Entry,
    /// Its value as the user wrote it; empty where a switch has none.
    pub text: String,
    /// Its value, understood.
    pub value: OptionValue,
    /// Where it was written.
    pub origin: Origin,
    /// Whether `[global]` said so rather than the job itself.
    pub global: bool,
}

/// One job: its name and its options, the global ones first.
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
    /// The last mention of an option, by any of its names.
    pub fn given(&self, name: &str) -> Option<&Given> {
        self.given.iter().rev().find(|given| given.entry.answers_to(name))
    }

    /// Where among the mentions the last one stands: of two options that overrule each other the later one counts.
    pub fn position(&self, name: &str) -> Option<usize> {
        self.given.iter().rposition(|given| given.entry.answers_to(name))
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
        self.whole(name).map_or(otherwise, |number| number != 0)
    }

    /// A whole number.
    pub fn whole(&self, name: &str) -> Option<i64> {
        match self.value(name)? {
            OptionValue::Whole(number) => Some(*number),
            OptionValue::Flag(flag) => Some(i64::from(*flag)),
            OptionValue::Amount(Amount::Bytes(bytes)) => i64::try_from(*bytes).ok(),
            // A choice of numbers: kb_base=1000.
            OptionValue::Word(word) => word.parse().ok(),
            _ => None,
        }
    }

    /// A number that is not negative and fits.
    pub fn count(&self, name: &str) -> Option<u32> {
        self.whole(name).and_then(|number| u32::try_from(number).ok())
    }

    /// A number that is not negative.
    pub fn number(&self, name: &str) -> Option<u64> {
        self.whole(name).map(|number| number.max(0) as u64)
    }

    /// A number with a fraction.
    pub fn decimal(&self, name: &str) -> Option<f64> {
        self.decimals(name)?.first().copied()
    }

    /// Numbers with fractions.
    pub fn decimals(&self, name: &str) -> Option<&[f64]> {
        match self.value(name)? {
            OptionValue::Decimals(list) => Some(list),
            _ => None,
        }
    }

    /// Bytes, or a share.
    pub fn amount(&self, name: &str) -> Option<Amount> {
        match self.value(name)? {
            OptionValue::Amount(amount) => Some(*amount),
            OptionValue::Whole(number) => u64::try_from(*number).ok().map(Amount::Bytes),
            OptionValue::Triple(triple) => triple.read.map(Amount::Bytes),
            _ => None,
        }
    }

    /// Bytes, where a share makes no sense.
    pub fn bytes(&self, name: &str) -> Option<u64> {
        match self.amount(name)? {
            Amount::Bytes(bytes) => Some(bytes),
            _ => None,
        }
    }

    /// A number, or a time in ns, for each direction: a place left empty is `None`, and what is not given at the end
    /// follows the last that is.
    pub fn triple(&self, name: &str) -> Option<&PerDirection<Option<u64>>> {
        match self.value(name)? {
            OptionValue::Triple(triple) => Some(triple),
            _ => None,
        }
    }

    pub fn time_ns(&self, name: &str) -> Option<u64> {
        self.times_ns(name).map(|(low, _)| low)
    }

    /// Two times in ns that one is drawn from between, the lower first; the same twice where there is one.
    pub fn times_ns(&self, name: &str) -> Option<(u64, u64)> {
        match self.value(name)? {
            OptionValue::Times(low, high) => Some((*low, *high)),
            _ => None,
        }
    }

    /// The ends of a range of sizes for each direction, the lower first.
    pub fn ranges(&self, name: &str) -> Option<&PerDirection<Option<(u64, u64)>>> {
        match self.value(name)? {
            OptionValue::Ranges(ranges) => Some(ranges),
            _ => None,
        }
    }

    /// Sizes with their shares in percent, for each direction.
    pub fn splits(&self, name: &str) -> Option<&PerDirection<Option<Splits>>> {
        match self.value(name)? {
            OptionValue::Splits(splits) => Some(splits),
            _ => None,
        }
    }

    /// The text as it was written, without blanks around it; empty text answers as if it had not been said.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.given(name).map(|given| given.text.trim()).filter(|text| !text.is_empty())
    }

    /// One of the table's words.
    pub fn word(&self, name: &str) -> Option<&'static str> {
        self.words(name).map(|(words, _)| words[0])
    }

    /// One of the table's words, and what is written behind it after a colon.
    pub fn tailed(&self, name: &str) -> Option<(&'static str, &str)> {
        self.words(name).map(|(words, tail)| (words[0], tail))
    }

    /// Words of the table, at least one, and what is written behind the last after a colon.
    pub fn words(&self, name: &str) -> Option<(&[&'static str], &str)> {
        match self.value(name)? {
            OptionValue::Word(word) => Some((std::slice::from_ref(word), "")),
            OptionValue::Words(words, tail) => Some((words, tail)),
            _ => None,
        }
    }

    fn value(&self, name: &str) -> Option<&OptionValue> {
        self.given(name).map(|given| &given.value)
    }
}
