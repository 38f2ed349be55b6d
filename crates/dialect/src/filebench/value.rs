//! What expressions are worth: variables, arithmetic, text with variables in it.
//!
//! Values are looked up when they are used, so a script may set a variable after the definition that names it. Refuses
//! to reach for the world: what is no variable is asked of whoever holds the environment.

use std::collections::BTreeMap;

use super::random_variable::RandomVariable;
use super::script::{Attribute, Expression};

#[derive(Clone, Debug, PartialEq)]
pub enum ScriptValue {
    Number(f64),
    Text(String),
    /// Drawn anew each time.
    Drawn(RandomVariable),
}

impl ScriptValue {
    /// As text, the way it would be written.
    pub fn text(&self) -> String {
        match self {
            ScriptValue::Number(number) => number.to_string(),
            ScriptValue::Text(text) => text.clone(),
            ScriptValue::Drawn(draw) => format!("{:.0}", draw.mean()),
        }
    }
}

/// The variables of a script.
#[derive(Clone, Debug, Default)]
pub struct Variables {
    values: BTreeMap<String, ScriptValue>,
    /// Those that the command line set: a script does not change them.
    fixed: BTreeMap<String, ScriptValue>,
    /// What a script may name without setting it.
    reserved: BTreeMap<String, ScriptValue>,
    /// What the environment says.
    environment: BTreeMap<String, String>,
    /// Those of composites, innermost last.
    locals: Vec<BTreeMap<String, ScriptValue>>,
}

impl Variables {
    /// Sets what the script cannot change.
    pub fn fix(&mut self, name: &str, value: ScriptValue) {
        self.fixed.insert(name.into(), value);
    }

    /// Whether the command line set it.
    pub fn is_fixed(&self, name: &str) -> bool {
        self.fixed.contains_key(name)
    }

    /// Sets a variable, unless the command line did.
    pub fn set(&mut self, name: &str, value: ScriptValue) {
        self.values.insert(name.into(), value);
    }

    /// Gives a value to a name that neither the script nor the command line may have set.
    pub fn reserve(&mut self, name: &str, value: ScriptValue) {
        self.reserved.insert(name.into(), value);
    }

    /// What the environment says, for names that no variable has.
    pub fn surround(&mut self, name: &str, value: String) {
        self.environment.insert(name.into(), value);
    }

    /// Goes into a composite.
    pub fn enter(&mut self, locals: BTreeMap<String, ScriptValue>) {
        self.locals.push(locals);
    }

    /// Comes out of it.
    pub fn leave(&mut self) {
        self.locals.pop();
    }

    /// All of them, sorted.
    pub fn all(&self) -> Vec<(&String, &ScriptValue)> {
        let own = self.values.iter().filter(|(name, _)| !self.fixed.contains_key(*name));
        let mut all: Vec<_> = own.chain(&self.fixed).collect();
        all.sort_by_key(|(name, _)| *name);
        all
    }

    /// The value of a name, with the fields that were set one by one.
    pub fn get(&self, name: &str) -> Option<ScriptValue> {
        let local = self.locals.last().and_then(|locals| locals.get(name));
        let found = local.or_else(|| self.fixed.get(name)).or_else(|| self.values.get(name)).cloned();
        let found = found.or_else(|| self.reserved.get(name).cloned());
        let found = found.or_else(|| self.environment.get(name).map(|text| word(text)));
        let Some(ScriptValue::Drawn(mut draw)) = found else { return found };
        for field in super::lexer::FIELDS {
            if let Some(value) = self.values.get(&format!("{name}.{field}")) {
                draw.set(field, value).ok()?;
            }
        }
        Some(ScriptValue::Drawn(draw))
    }

    /// What an expression is worth.
    ///
    /// # Errors
    /// What is wrong, as a lower-case fragment, and a hint.
    pub fn worth(&self, expression: &Expression) -> Result<ScriptValue, (String, String)> {
        match expression {
            Expression::Number(number) => Ok(ScriptValue::Number(*number)),
            Expression::Text(text) => Ok(ScriptValue::Text(self.filled(text)?)),
            Expression::Variable(name) => self.get(name).ok_or_else(|| self.unknown(name)),
            Expression::Binary(left, sign, right) => reckon(&self.worth(left)?, *sign, &self.worth(right)?),
            Expression::Random(attributes, plug_in) => {
                let value = |attribute: &Attribute| self.field(attribute);
                let fields: Result<Vec<_>, _> = attributes.iter().map(value).collect();
                Ok(ScriptValue::Drawn(RandomVariable::new(&fields?, *plug_in)?))
            }
            Expression::Table(_) => {
                Err(("a table here".into(), "tables belong to randtable= of a random variable".into()))
            }
        }
    }

    /// An attribute of a random variable; tables as text `percent,min,max;…`.
    fn field(&self, attribute: &Attribute) -> Result<(String, ScriptValue), (String, String)> {
        let value = match &attribute.value {
            None => ScriptValue::Number(1.0),
            Some(Expression::Table(rows)) => {
                let number = |cell: &Expression| self.worth(cell).map(|value| value.text());
                let row = |row: &Vec<Expression>| {
                    row.iter().map(number).collect::<Result<Vec<_>, _>>().map(|cells| cells.join(","))
                };
                ScriptValue::Text(rows.iter().map(row).collect::<Result<Vec<_>, _>>()?.join(";"))
            }
            Some(expression) => self.worth(expression)?,
        };
        Ok((attribute.name.clone(), value))
    }

    fn unknown(&self, name: &str) -> (String, String) {
        let names = self.values.keys().chain(self.fixed.keys());
        let near = names.min_by_key(|known| strsim::damerau_levenshtein(known, name));
        let near = near.filter(|known| strsim::damerau_levenshtein(known, name) <= 2);
        let hint = match near {
            Some(near) => format!("did you mean `${near}`?"),
            None => format!("set ${name}=… before, or -D {name}=…"),
        };
        (format!("no variable `${name}`"), hint)
    }

    /// Text with its variables put in.
    ///
    /// # Errors
    /// A variable that nobody set.
    pub fn filled(&self, text: &str) -> Result<String, (String, String)> {
        let (mut filled, mut rest) = (String::new(), text);
        while let Some(at) = rest.find('$') {
            filled += &rest[..at];
            rest = &rest[at + 1..];
            let (name, after) = named(rest);
            if name.is_empty() {
                filled.push('$');
                continue;
            }
            filled += &self.get(name).ok_or_else(|| self.unknown(name))?.text();
            rest = after;
        }
        filled += rest;
        Ok(filled.replace('\u{1}', "$"))
    }
}

/// The name that a text begins with, and what follows it.
fn named(text: &str) -> (&str, &str) {
    for (open, close) in [('(', ')'), ('{', '}')] {
        if let Some(found) = text.strip_prefix(open).and_then(|inner| inner.split_once(close)) {
            return found;
        }
    }
    text.split_at(super::lexer::name_length(text))
}

/// A bare word as a number where it is one.
pub fn word(text: &str) -> ScriptValue {
    super::lexer::number(text).map_or_else(|| ScriptValue::Text(text.into()), ScriptValue::Number)
}

fn reckon(left: &ScriptValue, sign: char, right: &ScriptValue) -> Result<ScriptValue, (String, String)> {
    let (a, b) = match (left, right) {
        (ScriptValue::Number(a), ScriptValue::Number(b)) => (*a, *b),
        (ScriptValue::Text(a), b) if sign == '/' => {
            return Ok(ScriptValue::Text(format!("{a}/{}", b.text())));
        }
        (ScriptValue::Text(a), b) if sign == '-' || sign == '+' => {
            let between = if sign == '-' { "-" } else { "" };
            return Ok(ScriptValue::Text(format!("{a}{between}{}", b.text())));
        }
        _ => {
            let message = format!("`{}` {sign} `{}` cannot be reckoned", left.text(), right.text());
            return Err((message, "numbers on both sides".into()));
        }
    };
    match sign {
        '/' if b == 0.0 => Err((format!("{a} / 0"), "divide by something else".into())),
        // Whole numbers stay whole, as sizes and counts are.
        '/' => Ok(ScriptValue::Number((a / b).trunc())),
        '*' => Ok(ScriptValue::Number(a * b)),
        '+' => Ok(ScriptValue::Number(a + b)),
        _ => Ok(ScriptValue::Number(a - b)),
    }
}
