//! What stands in braces: variables of a rule, put in before anything runs.
//!
//! Values may hold braces themselves. What is known only where it runs (`$name`) stays as it is.

use std::cell::RefCell;
use std::collections::BTreeSet;

use super::step::{Problem, problem};
use crate::native::suggestion;

/// Braces in values of braces in values: deeper than this, something holds itself.
const DEEPEST: usize = 16;

/// The variables that are known at a place.
pub struct Scope<'a> {
    /// Names and values; later ones hide earlier ones.
    known: Vec<(&'a str, &'a str)>,
    /// Which of them were asked for.
    used: RefCell<BTreeSet<&'a str>>,
}

impl<'a> Scope<'a> {
    /// With these variables.
    pub fn new(known: Vec<(&'a str, &'a str)>) -> Self {
        Scope { known, used: RefCell::default() }
    }

    /// The value of a variable as it is written.
    pub fn value(&self, name: &str) -> Option<&'a str> {
        let found = self.known.iter().rev().find(|(known, _)| *known == name)?;
        self.used.borrow_mut().insert(found.0);
        Some(found.1)
    }

    /// The names that were asked for.
    pub fn used(&self) -> BTreeSet<String> {
        self.used.borrow().iter().map(|name| name.to_string()).collect()
    }

    /// A text with everything put in.
    ///
    /// # Errors
    /// A brace without its other, a name that is not known, a value that holds itself.
    pub fn fill(&self, text: &str) -> Result<String, Problem> {
        self.fill_with(text, &[], 0)
    }

    fn fill_with(&self, text: &str, bound: &[(String, String)], depth: usize) -> Result<String, Problem> {
        if depth > DEEPEST {
            return problem(format!("`{text}`: a variable holds itself"), "give one of them a plain value");
        }
        let mut filled = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(open) = rest.find(['{', '}']) {
            filled.push_str(&rest[..open]);
            let Some(close) = rest[open..].starts_with('{').then(|| closing(&rest[open..])).flatten() else {
                return problem(format!("`{text}`: a brace without its other"), "variables stand in {name}");
            };
            let inner = self.fill_with(&rest[open + 1..open + close], bound, depth)?;
            filled.push_str(&self.named(&inner, bound, depth)?);
            rest = &rest[open + close + 1..];
        }
        filled.push_str(rest);
        Ok(filled)
    }

    /// What `name` or `name other=value` stands for.
    fn named(&self, inner: &str, bound: &[(String, String)], depth: usize) -> Result<String, Problem> {
        let mut words = inner.split_whitespace();
        let name = words.next().unwrap_or_default();
        let mut inside = bound.to_vec();
        for word in words {
            let Some((name, value)) = word.split_once('=') else {
                return problem(format!("`{{{inner}}}`: `{word}` is no name=value"), "e.g. {call path=d/f}");
            };
            inside.push((name.into(), value.into()));
        }
        let given = bound.iter().rev().find(|(known, _)| known == name).map(|(_, value)| value.as_str());
        match given.or_else(|| self.value(name)) {
            Some(value) => self.fill_with(value, &inside, depth + 1),
            None => {
                let mut known: Vec<&str> = self.known.iter().map(|(name, _)| *name).collect();
                known.extend(bound.iter().map(|(name, _)| name.as_str()));
                Err((format!("`{{{name}}}`: there is no such variable"), suggestion(name, &known)))
            }
        }
    }
}

/// Where the brace that a text begins with is closed.
fn closing(text: &str) -> Option<usize> {
    let mut depth = 0;
    for (at, letter) in text.char_indices() {
        match letter {
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return Some(at);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_filled_in_turn() {
        let known =
            vec![("call", "chmod {path} {mode}"), ("mode", "0644"), ("who", "{owner}"), ("owner", "65534")];
        let scope = Scope::new(known);
        assert_eq!(scope.fill("{call path=d/f} {who}").unwrap(), "chmod d/f 0644 65534");
        assert_eq!(scope.fill("{call path={mode}/x}").unwrap(), "chmod 0644/x 0644");
        assert!(scope.fill("{call}").unwrap_err().0.contains("`{path}`"));
        assert!(scope.fill("{ownr}").unwrap_err().1.contains("`owner`"));
        assert!(scope.fill("a}").is_err() && scope.fill("{a").is_err());
        let circle = Scope::new(vec![("a", "{b}"), ("b", "{a}")]);
        assert!(circle.fill("{a}").unwrap_err().0.contains("holds itself"));
    }
}
