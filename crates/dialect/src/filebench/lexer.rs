//! Words of a WML script: what is a name, a number, a variable, a sign; each with its line.
//!
//! `/` and `-` are letters of names and paths, and signs of arithmetic behind a number or a variable. Refuses nothing
//! but a quotation without an end; every other oddity is a sign that the parser stumbles over, with its line.

use crate::quantity::BINARY;

/// What a word is.
#[derive(Clone, Debug, PartialEq)]
pub enum TokenKind {
    /// A bare word: a keyword, a name, a path.
    Word(String),
    /// A number; `k m g t` are powers of 1024.
    Number(f64),
    /// Quoted text, variables in it still as they were written.
    Text(String),
    /// `$name`, `$(name)`, `${name}`; with its field in `$name.mean`.
    Variable(String),
    /// One of `{ } ( ) = , + - * / ;`, or what has no business here.
    Sign(char),
}

/// A word and where it stands.
#[derive(Clone, Debug, PartialEq)]
pub struct Token {
    pub kind: TokenKind,
    /// Its line, from 1.
    pub line: u32,
}

/// Fields that a random variable has behind a dot, as version 1.4 sets them one by one.
pub const FIELDS: [&str; 9] =
    ["type", "seed", "gamma", "mean", "min", "max", "round", "randsrc", "randtable"];

/// The words of a text, and the line of a quotation that does not end.
pub fn tokens(text: &str) -> (Vec<Token>, Option<u32>) {
    let mut lexer = Lexer { rest: text, line: 1, found: Vec::new() };
    let mut unended = None;
    while let Some(letter) = lexer.rest.chars().next() {
        match letter {
            '\n' => {
                lexer.line += 1;
                lexer.skip(1);
            }
            letter if letter.is_whitespace() || letter == '\u{feff}' => lexer.skip(letter.len_utf8()),
            // Some end a line with it: it means nothing there.
            ';' if ends_a_line(&lexer.rest[1..]) => lexer.skip(1),
            // A line that goes on in the next one.
            '\\' if lexer.rest[1..].trim_start_matches([' ', '\t', '\r']).starts_with('\n') => lexer.skip(1),
            '#' => lexer.skip(lexer.rest.find('\n').unwrap_or(lexer.rest.len())),
            '"' => unended = unended.or(lexer.quotation()),
            '$' => lexer.variable(),
            letter => lexer.word(letter),
        }
    }
    (lexer.found, unended)
}

struct Lexer<'a> {
    rest: &'a str,
    line: u32,
    found: Vec<Token>,
}

impl Lexer<'_> {
    fn skip(&mut self, bytes: usize) {
        self.rest = &self.rest[bytes..];
    }

    fn push(&mut self, kind: TokenKind, bytes: usize) {
        self.found.push(Token { kind, line: self.line });
        self.skip(bytes);
    }

    /// The line of a quotation that does not end; it then ends with its line.
    fn quotation(&mut self) -> Option<u32> {
        let (mut text, mut escaped, line) = (String::new(), false, self.line);
        for (at, letter) in self.rest.char_indices().skip(1) {
            match letter {
                'n' if escaped => text.push('\n'),
                // A dollar that means itself is told from a variable's by a letter that no script contains.
                '$' if escaped => text.push('\u{1}'),
                letter if escaped => text.push(letter),
                '\\' => {}
                '"' => {
                    self.push(TokenKind::Text(text), at + 1);
                    return None;
                }
                '\n' => {
                    self.push(TokenKind::Text(text), at);
                    return Some(line);
                }
                letter => text.push(letter),
            }
            escaped = letter == '\\' && !escaped;
        }
        let all = self.rest.len();
        self.push(TokenKind::Text(text), all);
        Some(line)
    }

    fn variable(&mut self) {
        let rest = &self.rest[1..];
        let close = match rest.chars().next() {
            Some('(') => Some(')'),
            Some('{') => Some('}'),
            _ => None,
        };
        if let Some(end) = close.and_then(|close| rest.find(close)) {
            let name = rest[1..end].trim().to_string();
            return self.push(TokenKind::Variable(name), end + 2);
        }
        let length = name_length(rest);
        if length == 0 {
            return self.push(TokenKind::Sign('$'), 1);
        }
        let field = rest[length..].strip_prefix('.').map_or("", |field| &field[..name_length(field)]);
        let length = if FIELDS.contains(&field) { length + 1 + field.len() } else { length };
        let name = rest[..length].to_string();
        self.push(TokenKind::Variable(name), length + 1);
    }

    /// Whether what stands before can be reckoned with.
    fn after_operand(&self) -> bool {
        let last = self.found.last().filter(|token| token.line == self.line);
        matches!(
            last.map(|token| &token.kind),
            Some(TokenKind::Number(_) | TokenKind::Variable(_) | TokenKind::Sign(')'))
        )
    }

    fn word(&mut self, letter: char) {
        let joins = |letter: char| letter.is_alphanumeric() || "_./:;-".contains(letter);
        if !joins(letter) || letter == ';' || ("/-".contains(letter) && self.after_operand()) {
            return self.push(TokenKind::Sign(letter), letter.len_utf8());
        }
        let length = word_length(self.rest, joins);
        let whole = self.rest[..length].trim_end_matches(';').len();
        let length = if whole > 0 && ends_a_line(&self.rest[length..]) { whole } else { length };
        let word = &self.rest[..length];
        if let Some(number) = number(word) {
            return self.push(TokenKind::Number(number), length);
        }
        // `4k-1` and `8m/2` are sums, `2024-run` is a name.
        let split = word.find(['-', '/']).filter(|at| *at > 0);
        if let Some((at, number)) = split.and_then(|at| Some((at, number(&word[..at])?)))
            && (length == at + 1
                || word[at + 1..].starts_with('$')
                || self::number(&word[at + 1..]).is_some())
        {
            return self.push(TokenKind::Number(number), at);
        }
        match word.strip_prefix('-') {
            Some("") => self.push(TokenKind::Sign('-'), 1),
            Some(more) if more.starts_with(|letter: char| letter.is_ascii_digit()) => {
                self.push(TokenKind::Sign('-'), 1);
            }
            _ => {
                let word = word.to_string();
                self.push(TokenKind::Word(word), length);
            }
        }
    }
}

/// Whether nothing but a comment or a brace comes before a line's end.
fn ends_a_line(rest: &str) -> bool {
    let rest = rest.trim_start_matches([' ', '\t', '\r', ';']);
    rest.is_empty() || rest.starts_with(['\n', '#', '}'])
}

/// How many bytes of a word a text begins with; variables in it are part of it (`set$n`, `/data/${USER}`).
fn word_length(text: &str, joins: impl Fn(char) -> bool) -> usize {
    let mut length = 0;
    loop {
        length += text[length..].find(|letter| !joins(letter)).unwrap_or(text.len() - length);
        let Some(rest) = text[length..].strip_prefix('$') else { return length };
        let name = match rest.chars().next() {
            Some(open @ ('(' | '{')) => {
                let close = if open == '(' { ')' } else { '}' };
                rest.find([close, '\n'])
                    .filter(|end| rest[*end..].starts_with(close))
                    .map_or(0, |end| end + 1)
            }
            _ => name_length(rest),
        };
        if name == 0 {
            return length;
        }
        length += 1 + name;
    }
}

/// How many bytes of a name a text begins with.
pub fn name_length(text: &str) -> usize {
    text.find(|letter: char| !(letter.is_ascii_alphanumeric() || letter == '_')).unwrap_or(text.len())
}

/// A number with an optional size letter.
pub fn number(word: &str) -> Option<f64> {
    BINARY.plain_fraction(word).filter(|_| word.starts_with(char::is_numeric))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(text: &str) -> Vec<TokenKind> {
        tokens(text).0.into_iter().map(|token| token.kind).collect()
    }

    fn word(text: &str) -> TokenKind {
        TokenKind::Word(text.into())
    }

    #[test]
    fn paths_are_words_and_arithmetic_is_not() {
        let variable = |name: &str| TokenKind::Variable(name.into());
        assert_eq!(
            kinds("set $dir=/tmp/a-b # where"),
            [word("set"), variable("dir"), TokenKind::Sign('='), word("/tmp/a-b")]
        );
        assert_eq!(
            kinds("$a / 2 - $(b)*4k-1"),
            [
                variable("a"),
                TokenKind::Sign('/'),
                TokenKind::Number(2.0),
                TokenKind::Sign('-'),
                variable("b"),
                TokenKind::Sign('*'),
                TokenKind::Number(4096.0),
                TokenKind::Sign('-'),
                TokenKind::Number(1.0)
            ]
        );
        assert_eq!(kinds("psrun -10"), [word("psrun"), TokenKind::Sign('-'), TokenKind::Number(10.0)]);
        assert_eq!(kinds("$sz.mean=1 ${HOME}")[0], variable("sz.mean"));
        assert_eq!(kinds("parameters=mean:16384;gamma:1.5")[2], word("mean:16384;gamma:1.5"));
        assert_eq!(kinds("2024-run 1.5"), [word("2024-run"), TokenKind::Number(1.5)]);
    }

    #[test]
    fn lines_are_counted_and_a_quotation_ends_with_its_line() {
        let (found, unended) = tokens("echo \"a \\\"b\\\" $c\"\n\necho \"open\nrun 5");
        assert_eq!(found[1].kind, TokenKind::Text("a \"b\" $c".into()));
        assert_eq!((found[2].line, unended), (3, Some(3)));
        assert_eq!(found[4], Token { kind: word("run"), line: 4 });
    }
}
