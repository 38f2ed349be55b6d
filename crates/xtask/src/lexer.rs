//! Just enough of Rust's lexical grammar to tell code from comments and from strings.
//!
//! A rule that greps a source file is fooled by its own documentation; a full parser is more than a rule needs.
//! This masks: same lines, same columns, the rest blank. It refuses to understand anything else of the language.

/// A source file taken apart: both texts have the lines and columns of the original.
#[derive(Debug, Default)]
pub struct MaskedSource {
    /// The code, with comments and the insides of strings and characters blanked.
    pub code: String,
    /// The comments alone.
    pub comments: String,
}

/// What the characters from here on belong to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TextClass {
    Code,
    Comment,
    Literal,
}

/// Takes a Rust source text apart.
pub fn mask(source: &str) -> MaskedSource {
    let mut lexer = Lexer { text: source.chars().collect(), at: 0, masked: MaskedSource::default() };
    while lexer.at < lexer.text.len() {
        lexer.token();
    }
    lexer.masked
}

struct Lexer {
    text: Vec<char>,
    at: usize,
    masked: MaskedSource,
}

impl Lexer {
    fn peek(&self, ahead: usize) -> char {
        self.text.get(self.at + ahead).copied().unwrap_or('\0')
    }

    fn take(&mut self, count: usize, kind: TextClass) {
        let end = (self.at + count).min(self.text.len());
        for &c in &self.text[self.at..end] {
            let blank = if c == '\n' { '\n' } else { ' ' };
            self.masked.code.push(if kind == TextClass::Code { c } else { blank });
            self.masked.comments.push(if kind == TextClass::Comment { c } else { blank });
        }
        self.at = end;
    }

    fn token(&mut self) {
        match (self.peek(0), self.peek(1)) {
            ('/', '/') => self.line_comment(),
            ('/', '*') => self.block_comment(),
            ('"', _) => self.string(),
            ('\'', _) => self.character_or_lifetime(),
            (c, _) if c.is_alphabetic() || c == '_' => self.word(),
            (c, _) if c.is_ascii_digit() => self.number(),
            _ => self.take(1, TextClass::Code),
        }
    }

    fn line_comment(&mut self) {
        let length = self.text[self.at..].iter().take_while(|&&c| c != '\n').count();
        self.take(length, TextClass::Comment);
    }

    fn block_comment(&mut self) {
        let mut depth = 0;
        while self.at < self.text.len() {
            match (self.peek(0), self.peek(1)) {
                ('/', '*') => depth += 1,
                ('*', '/') => depth -= 1,
                _ => {
                    self.take(1, TextClass::Comment);
                    continue;
                }
            }
            self.take(2, TextClass::Comment);
            if depth == 0 {
                return;
            }
        }
    }

    /// A string with escapes; the quotes stay, so that words on either side stay apart.
    fn string(&mut self) {
        self.take(1, TextClass::Code);
        while self.at < self.text.len() {
            match self.peek(0) {
                '"' => return self.take(1, TextClass::Code),
                '\\' => self.take(2, TextClass::Literal),
                _ => self.take(1, TextClass::Literal),
            }
        }
    }

    /// After `r`, `br` or `cr`: hashes, a quote, anything up to the quote followed by as many hashes.
    fn raw_string(&mut self) {
        let hashes = self.text[self.at..].iter().take_while(|&&c| c == '#').count();
        self.take(hashes + 1, TextClass::Code);
        while self.at < self.text.len() {
            let closes = self.peek(0) == '"' && (1..=hashes).all(|ahead| self.peek(ahead) == '#');
            if closes {
                return self.take(hashes + 1, TextClass::Code);
            }
            self.take(1, TextClass::Literal);
        }
    }

    fn character_or_lifetime(&mut self) {
        let is_character = self.peek(1) == '\\' || self.peek(2) == '\'';
        self.take(1, TextClass::Code);
        if !is_character {
            return;
        }
        while self.at < self.text.len() {
            match self.peek(0) {
                '\'' => return self.take(1, TextClass::Code),
                '\\' => self.take(2, TextClass::Literal),
                _ => self.take(1, TextClass::Literal),
            }
        }
    }

    fn word(&mut self) {
        let length = self.text[self.at..].iter().take_while(|c| is_word(**c)).count();
        let word: String = self.text[self.at..self.at + length].iter().collect();
        self.take(length, TextClass::Code);
        if matches!(word.as_str(), "r" | "br" | "cr") {
            let hashes = self.text[self.at..].iter().take_while(|&&c| c == '#').count();
            if self.peek(hashes) == '"' {
                self.raw_string();
            }
        }
    }

    /// A number with its suffix, so that the `r` of `0r` or the quote of `1'` is not taken for a beginning.
    fn number(&mut self) {
        let length = self.text[self.at..].iter().take_while(|c| is_word(**c)).count();
        self.take(length, TextClass::Code);
    }
}

/// Whether a character may stand in an identifier.
pub fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// The byte positions at which `needle` stands in `code` as whole words: not the tail or head of a longer one.
pub fn find_words<'a>(code: &'a str, needle: &'a str) -> impl Iterator<Item = usize> + 'a {
    code.match_indices(needle).map(|(at, _)| at).filter(move |&at| {
        let before = code[..at].chars().next_back().is_some_and(is_word);
        let after = code[at + needle.len()..].chars().next().is_some_and(is_word);
        let starts_word = needle.chars().next().is_some_and(is_word);
        let ends_word = needle.chars().next_back().is_some_and(is_word);
        !(before && starts_word || after && ends_word)
    })
}

/// The 1-based line of a byte position.
pub fn line_of(text: &str, at: usize) -> usize {
    1 + text[..at].bytes().filter(|&b| b == b'\n').count()
}

/// The byte position of the bracket that closes the one at `open` (`{`, `(` or `[`), in masked code.
pub fn closing(code: &str, open: usize) -> Option<usize> {
    let mut depth = 0usize;
    for (at, c) in code[open..].char_indices() {
        match c {
            '{' | '(' | '[' => depth += 1,
            '}' | ')' | ']' => {
                depth -= 1;
                if depth == 0 {
                    return Some(open + at);
                }
            }
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(source: &str) -> String {
        let masked = mask(source);
        assert_eq!(masked.code.lines().count(), source.lines().count());
        assert_eq!(masked.code.chars().count(), source.chars().count());
        masked.code.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn comments_leave_the_code() {
        assert_eq!(code("a // b\nc /* d /* e */ f */ g"), "a c g");
        assert_eq!(mask("a // SAFETY: b").comments.trim(), "// SAFETY: b");
        assert_eq!(code("a /* never closed"), "a");
    }

    #[test]
    fn strings_leave_their_quotes() {
        assert_eq!(code(r#"f("unsafe \" // x", 1)"#), "f(\" \", 1)");
        assert_eq!(code("let x = r#\"a \" b\"#; y"), "let x = r#\" \"#; y");
        assert_eq!(code("br\"\\\" y"), "br\" \" y");
        assert_eq!(code("for\"x\""), "for\" \"");
    }

    #[test]
    fn characters_are_not_lifetimes() {
        assert_eq!(code("f('\"', '\\'', b'{') \"s\" z"), "f(' ', ' ', b' ') \" \" z");
        assert_eq!(code("fn f<'a>(x: &'a str, y: &'_ str) {}"), "fn f<'a>(x: &'a str, y: &'_ str) {}");
        assert_eq!(code("'outer: loop { break 'outer; }"), "'outer: loop { break 'outer; }");
        assert_eq!(code("('\u{00b5}', x)"), "(' ', x)");
    }

    #[test]
    fn raw_identifiers_are_no_strings() {
        assert_eq!(code("r#type r#\"t\"# r#fn"), "r#type r#\" \"# r#fn");
    }

    #[test]
    fn words_are_whole() {
        assert_eq!(find_words("unsafe_code unsafe{ my_unsafe unsafe", "unsafe").count(), 2);
        assert_eq!(find_words("println! eprintln! x.println!", "println!").collect::<Vec<_>>(), [0, 21]);
    }

    #[test]
    fn brackets_are_matched() {
        assert_eq!(closing("{ ( [ ] ) { } } x", 0), Some(14));
        assert_eq!(closing("{ (", 0), None);
    }
}
