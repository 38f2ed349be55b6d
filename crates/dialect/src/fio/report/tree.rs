//! JSON in fio's layout: keys in order, `"key" : value`, six decimals, two spaces a level.
//!
//! `serde_json` would sort or format otherwise; scripts cut fio's JSON by lines, so the bytes matter.

/// A value.
#[derive(Clone, Debug, PartialEq)]
pub enum Tree {
    /// Keys and values, in order.
    Object(Vec<(String, Tree)>),
    /// Values.
    Array(Vec<Tree>),
    /// A text.
    Text(String),
    /// A whole number.
    Whole(i128),
    /// A number with six decimals.
    Decimal(f64),
}

impl Tree {
    /// The whole document, with a line's end.
    pub fn document(&self) -> String {
        let mut text = String::new();
        self.write(0, &mut text);
        text + "\n"
    }

    fn write(&self, level: usize, text: &mut String) {
        match self {
            Tree::Object(entries) => {
                let entry = |entry: &(String, Tree), text: &mut String| {
                    *text += &format!("\"{}\" : ", escaped(&entry.0));
                    entry.1.write(level + 1, text);
                };
                block(('{', '}'), entries, level, text, entry);
            }
            Tree::Array(values) => {
                let value = |value: &Tree, text: &mut String| value.write(level + 1, text);
                block(('[', ']'), values, level, text, value);
            }
            Tree::Text(value) => *text += &format!("\"{}\"", escaped(value)),
            Tree::Whole(value) => *text += &value.to_string(),
            Tree::Decimal(value) if value.is_finite() => *text += &format!("{value:.6}"),
            Tree::Decimal(_) => *text += "0.000000",
        }
    }
}

fn block<T>(
    (open, close): (char, char),
    entries: &[T],
    level: usize,
    text: &mut String,
    write: impl Fn(&T, &mut String),
) {
    text.push(open);
    for (index, entry) in entries.iter().enumerate() {
        *text += if index == 0 { "\n" } else { ",\n" };
        *text += &"  ".repeat(level + 1);
        write(entry, text);
    }
    *text += "\n";
    *text += &"  ".repeat(level);
    text.push(close);
}

fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '"' => escaped += "\\\"",
            '\\' => escaped += "\\\\",
            '\n' => escaped += "\\n",
            '\r' => escaped += "\\r",
            '\t' => escaped += "\\t",
            '\u{8}' => escaped += "\\b",
            '\u{c}' => escaped += "\\f",
            letter if letter < ' ' => escaped += &format!("\\u{:04x}", u32::from(letter)),
            letter => escaped.push(letter),
        }
    }
    escaped
}

/// Builds an object key by key.
#[derive(Clone, Debug, Default)]
pub struct Object(Vec<(String, Tree)>);

impl Object {
    /// Adds a value.
    pub fn tree(&mut self, key: &str, value: Tree) -> &mut Self {
        self.0.push((key.into(), value));
        self
    }

    /// Adds an object.
    pub fn object(&mut self, key: &str, value: Object) -> &mut Self {
        self.tree(key, value.into())
    }

    /// Adds a text.
    pub fn text(&mut self, key: &str, value: &str) -> &mut Self {
        self.tree(key, Tree::Text(value.into()))
    }

    /// Adds a whole number.
    pub fn whole(&mut self, key: &str, value: impl Into<i128>) -> &mut Self {
        self.tree(key, Tree::Whole(value.into()))
    }

    /// Adds a number with decimals.
    pub fn decimal(&mut self, key: &str, value: f64) -> &mut Self {
        self.tree(key, Tree::Decimal(value))
    }

    /// Whether it has no keys.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl From<Object> for Tree {
    fn from(object: Object) -> Self {
        Tree::Object(object.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_layout_is_fios() {
        let mut inner = Object::default();
        inner.whole("N", 3u64).decimal("mean", 1.5);
        let mut outer = Object::default();
        outer.text("na\"me", "a\tb").object("lat_ns", inner).object("empty", Object::default());
        outer.tree("list", Tree::Array(vec![Tree::Whole(1), Tree::Whole(2)]));
        let expected = r#"{
  "na\"me" : "a\tb",
  "lat_ns" : {
    "N" : 3,
    "mean" : 1.500000
  },
  "empty" : {
  },
  "list" : [
    1,
    2
  ]
}
"#;
        assert_eq!(Tree::from(outer).document(), expected);
    }
}
