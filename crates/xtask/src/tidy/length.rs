//! How long a function may be, and which may be longer: those in the allow file, each with its reason.
//!
//! A function that does not fit a screen is read in pieces and understood in none. Counts lines from `fn` to the
//! closing brace. An allowance that nothing needs any more is a violation too.

use super::source::Source;
use super::{Tree, Violation};
use crate::lexer;

const LIMIT: usize = 70;
const HINT: &str = "take a step out and name it; where one table or match must stay whole, allow it with a reason in \
                    crates/xtask/tidy-allow.txt";
const STALE_HINT: &str = "remove the line: an allowance is for what is there";
const ALLOW_HINT: &str = "each line is: path function reason";

struct Function {
    name: String,
    line: usize,
    length: usize,
}

struct Allowance<'a> {
    line: usize,
    path: &'a str,
    function: &'a str,
    reason: String,
}

pub fn check(tree: &Tree, allow_file: &str) -> Vec<Violation> {
    let allowances = allowances(tree.text(allow_file));
    let mut used = vec![false; allowances.len()];
    let mut violations = Vec::new();
    for source in &tree.sources {
        for function in functions(source).into_iter().filter(|function| function.length > LIMIT) {
            let allowed =
                allowances.iter().position(|a| a.path == source.path && a.function == function.name);
            if let Some(index) = allowed {
                used[index] = true;
                continue;
            }
            let message = format!("`{}` is {} lines long, over {LIMIT}", function.name, function.length);
            violations.push(Violation::new(&source.path, function.line, message, HINT));
        }
    }
    for (allowance, used) in allowances.iter().zip(used) {
        let complaint = |message: &str, hint| Violation::new(allow_file, allowance.line, message, hint);
        if allowance.reason.is_empty() {
            violations.push(complaint("an allowance without a reason", ALLOW_HINT));
        } else if !used {
            violations.push(complaint("an allowance that nothing needs", STALE_HINT));
        }
    }
    violations
}

fn allowances(text: &str) -> Vec<Allowance<'_>> {
    let lines =
        text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty() && !line.starts_with('#'));
    lines.map(|(index, line)| allowance(index + 1, line)).collect()
}

fn allowance(line: usize, text: &str) -> Allowance<'_> {
    let mut words = text.split_whitespace();
    let (path, function) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    Allowance { line, path, function, reason: words.collect::<Vec<_>>().join(" ") }
}

fn functions(source: &Source) -> Vec<Function> {
    let code = &source.masked.code;
    lexer::find_words(code, "fn").filter_map(|at| function_at(code, at)).collect()
}

/// The function whose `fn` stands at a position; none for a type such as `fn(u8)` or a declaration without a body.
fn function_at(code: &str, at: usize) -> Option<Function> {
    let rest = code[at + "fn".len()..].trim_start();
    let name: String = rest.chars().take_while(|&c| lexer::is_word(c) || c == '#').collect();
    if name.is_empty() {
        return None;
    }
    let end = lexer::closing(code, body(code, at)?)?;
    let line = lexer::line_of(code, at);
    Some(Function { name, line, length: lexer::line_of(code, end) + 1 - line })
}

/// The brace that opens a function's body, past its parameters and bounds.
fn body(code: &str, from: usize) -> Option<usize> {
    let mut at = from;
    loop {
        let stop = at + code[at..].find(['{', ';', '(', '['])?;
        match code.as_bytes()[stop] {
            b'{' => return Some(stop),
            b';' => return None,
            _ => at = lexer::closing(code, stop)? + 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::{places, planted};

    const ALLOW: &str = "allow.txt";

    fn of_length(name: &str, lines: usize) -> String {
        format!("//! x\nfn {name}(a: [u8; 3]) {{\n{}}}\n", "    f('{', \"{\"); // {\n".repeat(lines - 2))
    }

    fn found(text: &str, allow: &str) -> Vec<String> {
        places(&check(&planted(&[("a.rs", text), (ALLOW, allow)]), ALLOW))
    }

    #[test]
    fn a_long_function_is_found_and_may_be_allowed() {
        assert_eq!(found(&of_length("short", LIMIT), ""), Vec::<String>::new());
        assert_eq!(found(&of_length("long", LIMIT + 1), ""), ["a.rs:2"]);
        assert_eq!(
            found(&of_length("long", LIMIT + 1), "# note\na.rs long one table\n"),
            Vec::<String>::new()
        );
    }

    #[test]
    fn an_allowance_has_a_reason_and_a_use() {
        assert_eq!(found(&of_length("long", LIMIT + 1), "a.rs long"), ["allow.txt:1"]);
        assert_eq!(found(&of_length("short", 3), "\na.rs long one table"), ["allow.txt:2"]);
    }

    #[test]
    fn types_and_declarations_have_no_length() {
        let source = Source::new(
            "a.rs",
            "trait T { fn a(&self); fn b(&self) -> fn(u8) -> u8 { x } }\ntype F = fn(u8);",
        );
        let names: Vec<String> = functions(&source).into_iter().map(|function| function.name).collect();
        assert_eq!(names, ["b"]);
    }
}
