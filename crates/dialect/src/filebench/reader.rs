//! What attributes are worth: numbers, names, switches and sizes, each mistake told with its line.
//!
//! Refuses to stop at a mistake: a default stands in, so that everything wrong is told at once.

use iodyno_model::{Diagnostic, Origin, Size};

use super::random_variable::RandomVariable;
use super::script::{Attribute, Attributes};
use super::value::{ScriptValue, Variables};

/// Looks values up, and gathers what is wrong.
pub struct AttributeReader<'a> {
    /// The variables as they are now.
    pub variables: &'a mut Variables,
    /// Everything wrong so far.
    pub wrong: &'a mut Vec<Diagnostic>,
}

impl AttributeReader<'_> {
    /// Tells a mistake.
    pub fn complain(&mut self, origin: &Origin, message: impl Into<String>, hint: impl Into<String>) {
        self.wrong.push(Diagnostic::error(origin, message).hint(hint));
    }

    /// Reports attributes that are not among the known ones, which are given with blanks between.
    pub fn known(&mut self, attributes: &Attributes, known: &str, of: &str) {
        for attribute in attributes.0.iter().filter(|attribute| !attribute.name.starts_with('$')) {
            let distance = |known: &&str| strsim::damerau_levenshtein(known, &attribute.name);
            let hint = match known.split(' ').min_by_key(distance) {
                Some(same) if same == attribute.name => continue,
                Some(near) if distance(&near) <= 2 => format!("did you mean `{near}`?"),
                _ => format!("it has {known}"),
            };
            self.complain(&attribute.origin, format!("{of} has no `{}`", attribute.name), hint);
        }
    }

    /// The value of an attribute that was given one.
    pub fn value(&mut self, attribute: &Attribute) -> Option<ScriptValue> {
        match self.variables.worth(attribute.value.as_ref()?) {
            Ok(value) => Some(value),
            Err((message, hint)) => {
                self.complain(&attribute.origin, format!("{}: {message}", attribute.name), hint);
                None
            }
        }
    }

    /// A name or path.
    pub fn text(&mut self, attributes: &Attributes, names: &[&str]) -> Option<String> {
        self.value(attributes.get(names)?).map(|value| value.text())
    }

    /// A number of at least 0; of a random variable, its mean.
    pub fn number(&mut self, attributes: &Attributes, names: &[&str]) -> Option<f64> {
        let attribute = attributes.get(names)?;
        let value = self.value(attribute)?;
        let number = match &value {
            ScriptValue::Number(number) => Some(*number),
            ScriptValue::Drawn(draw) => Some(draw.mean()),
            ScriptValue::Text(text) => super::lexer::number(text.trim()),
        };
        if let Some(number) = number.filter(|number| (0.0..1e18).contains(number)) {
            return Some(number);
        }
        let (message, hint) = match number {
            Some(number) if number < 0.0 => ("less than nothing", "a number of at least 0 is expected"),
            Some(_) => {
                ("more than any file system holds", "sizes may end in k, m, g or t, which are factors")
            }
            None => ("a number is expected", "sizes may end in k, m, g or t"),
        };
        self.complain(&attribute.origin, format!("{}={}: {message}", attribute.name, value.text()), hint);
        None
    }

    /// A whole number.
    pub fn count(&mut self, attributes: &Attributes, names: &[&str], default: u64) -> u64 {
        self.number(attributes, names).map_or(default, |number| number as u64)
    }

    /// Mode bits, in octal digits as they are always written.
    pub fn mode(&mut self, attributes: &Attributes, names: &[&str]) -> Option<u32> {
        let attribute = attributes.get(names)?;
        let text = match attribute.value {
            Some(_) => self.value(attribute)?.text(),
            None => String::new(),
        };
        let digits = text.trim();
        let bits = u32::from_str_radix(digits.strip_prefix("0o").unwrap_or(digits), 8).ok();
        let bits = bits.filter(|bits| *bits <= 0o7777);
        if bits.is_none() {
            let message = format!("{}={text}: octal digits are expected", attribute.name);
            self.complain(&attribute.origin, message, "e.g. createmode=640");
        }
        bits
    }

    /// Whether something is switched on.
    pub fn flag(&mut self, attributes: &Attributes, names: &[&str]) -> bool {
        let Some(attribute) = attributes.get(names) else { return false };
        if attribute.value.is_none() {
            return true;
        }
        let value = self.value(attribute).map(|value| value.text().to_lowercase());
        match value.as_deref() {
            None | Some("true" | "1" | "on" | "yes") => true,
            Some("false" | "0" | "off" | "no") => false,
            Some(other) => {
                let message = format!("{}={other}: true or false is expected", attribute.name);
                self.complain(&attribute.origin, message, "the name alone switches it on");
                false
            }
        }
    }

    /// A size, drawn or not; `None`: not given.
    pub fn size(&mut self, attributes: &Attributes, names: &[&str], least: u64) -> Option<Size> {
        match self.drawn(attributes, names, least) {
            Some(drawn) => drawn,
            None => self.number(attributes, names).map(|bytes| Size::Fixed(bytes as u64)),
        }
    }

    /// What a random variable draws, of at least so much; `Some(None)`: something is wrong with it; `None`: no random
    /// variable.
    pub fn drawn(&mut self, attributes: &Attributes, names: &[&str], least: u64) -> Option<Option<Size>> {
        self.draws(attributes, names, |draw| draw.size(least))
    }

    /// The same, where nothing beyond some bound may be drawn.
    pub fn bounded(&mut self, attributes: &Attributes, names: &[&str], least: u64) -> Option<Option<Size>> {
        self.draws(attributes, names, |draw| draw.bounded(least))
    }

    fn draws(
        &mut self,
        attributes: &Attributes,
        names: &[&str],
        size: impl Fn(&RandomVariable) -> Result<Size, (String, String)>,
    ) -> Option<Option<Size>> {
        let attribute = attributes.get(names)?;
        let Ok(ScriptValue::Drawn(draw)) = self.variables.worth(attribute.value.as_ref()?) else {
            return None;
        };
        let size = size(&draw);
        Some(
            size.map_err(|(message, hint)| {
                self.complain(&attribute.origin, format!("{}: {message}", attribute.name), hint);
            })
            .ok(),
        )
    }
}
