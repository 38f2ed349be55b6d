//! The line at the bottom in which something is typed, and the words of a command line.

use super::Key;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PromptKind {
    Command,
    Search,
    /// New tags of a run.
    Tag(i64),
    /// Whether a run is to be deleted.
    Delete(i64),
}

pub struct Prompt {
    pub kind: PromptKind,
    text: String,
}

/// What became of a prompt by a key.
#[derive(Debug, PartialEq, Eq)]
pub enum PromptOutcome {
    /// It goes on.
    More,
    Text(String),
    /// It was left.
    Nothing,
}

impl Prompt {
    pub fn new(kind: PromptKind, text: &str) -> Prompt {
        Prompt { kind, text: text.into() }
    }

    pub fn key(&mut self, key: Key) -> PromptOutcome {
        match key {
            Key::Enter => return PromptOutcome::Text(std::mem::take(&mut self.text)),
            Key::Escape => return PromptOutcome::Nothing,
            Key::Backspace => drop(self.text.pop()),
            Key::Letter(letter) if !letter.is_control() => self.text.push(letter),
            _ => {}
        }
        PromptOutcome::More
    }

    /// As it stands in the line.
    pub fn line(&self) -> String {
        let question = match self.kind {
            PromptKind::Command => "iodyno ".into(),
            PromptKind::Search => "runs with the text: ".into(),
            PromptKind::Tag(id) => format!("tags of run {id}: "),
            PromptKind::Delete(id) => format!("delete run {id}? (y or n) "),
        };
        format!("{question}{}▏", self.text)
    }
}

/// The words of a command line: blanks divide them, quotes keep them together.
///
/// # Errors
/// A quote that is not closed.
pub fn words(text: &str) -> Result<Vec<String>, String> {
    let (mut words, mut word, mut begun) = (Vec::new(), String::new(), false);
    let mut quote = None;
    for letter in text.chars() {
        match (quote, letter) {
            (Some(open), letter) if letter == open => quote = None,
            (Some(_), letter) => word.push(letter),
            (None, '\'' | '"') => (quote, begun) = (Some(letter), true),
            (None, letter) if letter.is_whitespace() => {
                if begun {
                    words.push(std::mem::take(&mut word));
                }
                begun = false;
            }
            (None, letter) => {
                word.push(letter);
                begun = true;
            }
        }
    }
    if let Some(quote) = quote {
        return Err(format!("a {quote} is not closed"));
    }
    if begun {
        words.push(word);
    }
    Ok(words)
}

/// The opposite of [`words`].
pub fn joined(words: &[String]) -> String {
    let quoted =
        |word: &String| match word.is_empty() || word.contains(|letter: char| " '\"".contains(letter)) {
            true if word.contains('\'') => format!("\"{word}\""),
            true => format!("'{word}'"),
            false => word.clone(),
        };
    words.iter().map(quoted).collect::<Vec<_>>().join(" ")
}
