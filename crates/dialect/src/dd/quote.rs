//! How GNU's messages quote: names as a shell would need them, other words in the locale's quotation marks.

/// Which quotation marks the locale has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Marks {
    /// `'x'`
    Plain,
    /// `‘x’`
    Curved,
}

impl Marks {
    /// From the value of the first of `LC_ALL`, `LC_CTYPE`, `LANG` that is set and not empty.
    pub fn of_locale(locale: Option<&str>) -> Self {
        let locale = locale.unwrap_or("").to_ascii_lowercase().replace('-', "");
        if locale.contains("utf8") { Marks::Curved } else { Marks::Plain }
    }

    /// A word in quotation marks, control characters escaped.
    pub fn word(self, text: &str) -> String {
        let (open, close) = if self == Marks::Curved { ('‘', '’') } else { ('\'', '\'') };
        let mut quoted = String::from(open);
        for c in text.chars() {
            match c {
                '\'' if self == Marks::Plain => quoted.push_str("\\'"),
                '\\' => quoted.push_str("\\\\"),
                c if c.is_ascii_control() => quoted.push_str(&escape(c)),
                c => quoted.push(c),
            }
        }
        quoted.push(close);
        quoted
    }
}

/// A name as a shell takes it, always in quotation marks: `'a b'`, `"it's"`, `'a'$'\n''b'`.
pub fn name(text: &str) -> String {
    let control = text.chars().any(|c| c.is_ascii_control());
    let single = text.contains('\'');
    if single && !control && !text.contains(['"', '$', '`', '\\', '!']) {
        return format!("\"{text}\"");
    }
    let mut quoted = String::from("'");
    let mut escaped = false;
    for c in text.chars() {
        match (c.is_ascii_control(), escaped) {
            (true, false) => quoted.push_str("'$'"),
            (false, true) => quoted.push_str("''"),
            _ => {}
        }
        escaped = c.is_ascii_control();
        match c {
            '\'' => quoted.push_str("'\\''"),
            c if escaped => quoted.push_str(&escape(c)),
            c => quoted.push(c),
        }
    }
    quoted.push('\'');
    quoted
}

/// A name in quotation marks only where a shell would need them.
pub fn name_if_needed(text: &str) -> String {
    let tame = |c: char| !c.is_ascii() || c.is_ascii_alphanumeric() || "%+,-./:@_".contains(c);
    if !text.is_empty() && text.chars().all(tame) { text.to_string() } else { name(text) }
}

fn escape(c: char) -> String {
    match c {
        '\x07' => "\\a".into(),
        '\x08' => "\\b".into(),
        '\x0c' => "\\f".into(),
        '\n' => "\\n".into(),
        '\r' => "\\r".into(),
        '\t' => "\\t".into(),
        '\x0b' => "\\v".into(),
        c => format!("\\{:03o}", u32::from(c)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_as_a_shell_takes_them() {
        assert_eq!(name("missing"), "'missing'");
        assert_eq!(name(""), "''");
        assert_eq!(name("a'b"), "\"a'b\"");
        assert_eq!(name("a\nb"), "'a'$'\\n''b'");
        assert_eq!(name_if_needed("h"), "h");
        assert_eq!(name_if_needed("standard input"), "'standard input'");
    }

    #[test]
    fn words_in_the_locales_marks() {
        assert_eq!(Marks::of_locale(Some("C.UTF-8")).word("1\nx"), "‘1\\nx’");
        assert_eq!(Marks::of_locale(Some("C.UTF-8")).word("b's"), "‘b's’");
        assert_eq!(Marks::of_locale(Some("C")).word("b's"), "'b\\'s'");
        assert_eq!(Marks::of_locale(None).word("x"), "'x'");
    }
}
