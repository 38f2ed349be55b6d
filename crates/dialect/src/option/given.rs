//! The options that were given of a table, by their names: each one's last value, where it was given, and the table's
//! defaults behind it.
//!
//! Values are checked for their shape when they are set, so whoever reads them finds numbers. What they mean together is
//! not judged here.

use std::collections::BTreeMap;

use iodyno_model::{Diagnostic, Origin};

use super::{Entry, Kind, Spelling, Status, Table};

/// How a tool's values are read.
#[derive(Debug)]
pub struct ValueRules {
    /// The options.
    pub table: &'static Table,
    /// A whole number or an amount.
    pub whole: fn(&str) -> Result<i64, String>,
    /// How often a flag is given.
    pub counter: fn(&str) -> Result<i64, String>,
    /// Whether a text may be empty.
    pub takes_empty: bool,
    /// Whether a hint begins with the option's name.
    pub hint_names: bool,
    /// The options of whose words the first letter is enough.
    pub initials: &'static [&'static str],
}

#[derive(Clone, Debug)]
pub struct GivenOptions {
    rules: &'static ValueRules,
    values: BTreeMap<&'static str, GivenValue>,
}

#[derive(Clone, Debug)]
struct GivenValue {
    text: String,
    number: i64,
    origin: Origin,
}

/// Rules between options: `"OPTION" if CONDITION => "what cannot be", "what to do instead";` in the judge's `refuse`.
macro_rules! refuse {
    ($judge:ident $($option:tt if $is:expr => $what:expr, $hint:expr;)*) => {
        $(if $is {
            $judge.refuse($option, $what, $hint);
        })*
    };
}

pub(crate) use refuse;

impl Default for GivenOptions {
    fn default() -> Self {
        const NONE: ValueRules = ValueRules {
            table: &Table { tool: "", spelling: Spelling::Dashed, entries: &[] },
            whole: |_| Ok(0),
            counter: |_| Ok(0),
            takes_empty: true,
            hint_names: false,
            initials: &[],
        };
        GivenOptions::none(&NONE)
    }
}

impl Entry {
    /// Whether it is there or not, and counted.
    pub fn is_flag(&self) -> bool {
        matches!(self.kind, Kind::Flag | Kind::Switch)
    }
}

impl GivenOptions {
    pub fn none(rules: &'static ValueRules) -> Self {
        GivenOptions { rules, values: BTreeMap::new() }
    }

    /// Sets an option of the table.
    ///
    /// # Errors
    /// That the value has not the option's shape, or that the option is refused.
    pub fn set(&mut self, entry: &'static Entry, text: &str, origin: &Origin) -> Result<(), Diagnostic> {
        let hint = match self.rules.hint_names {
            true => format!("{}: {}", entry.name, entry.help),
            false => entry.help.to_string(),
        };
        let wrong =
            |why: String| Diagnostic::error(origin, format!("{}: {why}", entry.name)).hint(hint.as_str());
        let number = match entry.kind {
            Kind::Flag | Kind::Switch => (self.rules.counter)(text).map_err(wrong)?,
            Kind::Whole(..) | Kind::Bytes => (self.rules.whole)(text).map_err(wrong)?,
            Kind::Decimal => decimal(text).map_err(wrong)? as i64,
            _ if text.is_empty() && !self.rules.takes_empty => return Err(wrong("no value".into())),
            _ => 0,
        };
        // What is refused may still be said to be off.
        let is_off = entry.is_flag() && number == 0 || !entry.default.is_empty() && text == entry.default;
        if !is_off && matches!(entry.status, Status::Refused(..)) {
            self.rules.table.check(entry.name, origin)?;
        }
        let text = match entry.kind {
            Kind::Word(_) => self.word(entry, text, origin)?,
            _ => text.to_string(),
        };
        self.values.insert(entry.name, GivenValue { text, number, origin: origin.clone() });
        Ok(())
    }

    /// The word of the table that is meant: case does not count.
    fn word(&self, entry: &'static Entry, text: &str, origin: &Origin) -> Result<String, Diagnostic> {
        let is_initial = text.len() == 1 && self.rules.initials.contains(&entry.name);
        let begins =
            |name: &str| is_initial && name.get(..1).is_some_and(|one| one.eq_ignore_ascii_case(text));
        let meant =
            entry.words().iter().find(|word| word.name.eq_ignore_ascii_case(text) || begins(word.name));
        let name = meant.map_or(text, |word| word.name);
        self.rules.table.check_word(entry, name, origin).map(|word| word.name.to_string())
    }

    /// Counts a flag once more.
    ///
    /// # Errors
    /// That the option is refused.
    pub fn raise(&mut self, entry: &'static Entry, origin: &Origin) -> Result<(), Diagnostic> {
        let number = self.number(entry.name) + 1;
        self.set(entry, &number.to_string(), origin)
    }

    fn default(&self, name: &str) -> &'static str {
        let entry = self.rules.table.find(name);
        debug_assert!(entry.is_some() || self.rules.table.entries.is_empty(), "the table has no `{name}`");
        entry.map_or("", |entry| entry.default)
    }

    /// A number, or how often a flag was given; the table's default where nothing was given.
    pub fn number(&self, name: &str) -> i64 {
        let default = || (self.rules.whole)(self.default(name)).unwrap_or(0);
        self.values.get(name).map_or_else(default, |value| value.number)
    }

    /// A number with a fraction.
    pub fn decimal(&self, name: &str) -> f64 {
        self.text(name).and_then(|text| decimal(text).ok()).unwrap_or(0.0)
    }

    /// A number that cannot be below 0.
    pub fn count(&self, name: &str) -> u64 {
        u64::try_from(self.number(name)).unwrap_or(0)
    }

    /// Whether a flag is on.
    pub fn flag(&self, name: &str) -> bool {
        self.number(name) > 0
    }

    /// A text, or the table's default if there is one.
    pub fn text(&self, name: &str) -> Option<&str> {
        let default = || Some(self.default(name)).filter(|text| !text.is_empty());
        self.values.get(name).map(|value| value.text.as_str()).or_else(default)
    }

    /// Whether it was given.
    pub fn is_given(&self, name: &str) -> bool {
        self.values.contains_key(name)
    }

    /// Where it was given.
    pub fn origin(&self, name: &str) -> Origin {
        self.values.get(name).map_or(Origin::Default, |value| value.origin.clone())
    }

    /// What was given and changes nothing, with the reason, each once.
    pub fn without_effect(&self) -> impl Iterator<Item = Diagnostic> {
        self.values.iter().filter_map(|(name, value)| {
            let entry = self.rules.table.find(name)?;
            let Status::Ignored(why) = entry.status else { return None };
            let is_off = value.number == 0 && (value.text.is_empty() || value.text == entry.default);
            (!is_off).then(|| Diagnostic::note(&value.origin, format!("`{name}` has no effect: {why}")))
        })
    }
}

fn decimal(text: &str) -> Result<f64, String> {
    let number = text.trim().parse::<f64>().ok().filter(|number| number.is_finite() && *number >= 0.0);
    number.ok_or_else(|| format!("`{text}`: expected a number of at least 0, as 2 or 0.5"))
}
