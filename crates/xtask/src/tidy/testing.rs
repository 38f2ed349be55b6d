//! How tests judge: never by the wall clock, and never by passing without a look.
//!
//! A test that reads a clock or sleeps in the hope that something has happened by then fails by chance on a shared
//! machine. What waits, waits through `testbed::wait`, whose limit counts looks. A plain `#[test]` cannot be skipped: one
//! that returns early because something is missing counts as passed, so it may not return at all.

use super::source::Source;
use super::{Tree, Violation};
use crate::lexer;

/// Names that read the wall clock, wait for it, or bound something by it.
const TIMES: &[&str] = &["Instant", "SystemTime", "elapsed", "sleep", "PATIENCE"];
/// Crates that stage time, or have no other way to bound what they start.
const FREE: &[&str] = &["testbed", "xtask"];
/// The clock's own test holds it against the system's.
const CLOCK_FILE: &str = "crates/engine/src/clock.rs";

const TIME_HINT: &str = "wait through testbed::wait, start programs through testbed::program, and judge what was \
                         counted, printed or left, or the device's own log";
const SKIP_HINT: &str =
    "make it a testbed::Case, which says what it needs, or returns a Skip with its reason";

pub fn check(tree: &Tree) -> Vec<Violation> {
    tree.sources.iter().flat_map(|source| [times(source), early_returns(source)].concat()).collect()
}

fn is_test(source: &Source, line: usize) -> bool {
    source.path.contains("/tests/") || source.is_test_line(line)
}

fn times(source: &Source) -> Vec<Violation> {
    let free = source.path == CLOCK_FILE || source.package().is_some_and(|name| FREE.contains(&name));
    if free {
        return Vec::new();
    }
    let lines = source.lines_with(TIMES).into_iter().filter(|(line, _)| is_test(source, *line));
    let wrong = |(line, word)| Violation::new(&source.path, line, format!("a test with `{word}`"), TIME_HINT);
    lines.map(wrong).collect()
}

fn early_returns(source: &Source) -> Vec<Violation> {
    let code = &source.masked.code;
    let tests = code.match_indices("#[test]").filter_map(|(at, _)| {
        let open = at + code[at..].find('{')?;
        Some(open..lexer::closing(code, open)?)
    });
    let mut violations = Vec::new();
    for body in tests {
        for at in lexer::find_words(&code[body.clone()], "return") {
            let rest = code[body.start + at + "return".len()..].trim_start();
            // One with a value ends a closure, or a case of a property.
            if !["}", ";", "println!", "eprintln!"].iter().any(|end| rest.starts_with(end)) {
                continue;
            }
            let line = lexer::line_of(code, body.start + at);
            violations.push(Violation::new(&source.path, line, "a plain test that may end early", SKIP_HINT));
        }
    }
    violations
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::planted;

    fn found(path: &str, text: &str) -> Vec<usize> {
        check(&planted(&[(path, text)])).iter().map(|violation| violation.line).collect()
    }

    #[test]
    fn tests_read_no_clock() {
        let text = "fn f() {\n    assert!(begun.elapsed() < LIMIT);\n    thread::sleep(d);\n}";
        assert_eq!(found("crates/iodyno/tests/door.rs", text), [2, 3]);
        assert_eq!(
            found("crates/iodyno/tests/door.rs", "const PATIENCE: u64 = 3;\n// sleep\nf(\"sleep\");"),
            [1]
        );
        assert!(found("crates/testbed/src/wait.rs", text).is_empty());
        assert!(found("crates/engine/src/worker.rs", text).is_empty());
        let unit = format!("#[cfg(test)]\nmod tests {{\n{text}\n}}");
        assert_eq!(found("crates/engine/src/worker.rs", &unit), [4, 5]);
    }

    #[test]
    fn a_plain_test_runs_to_its_end() {
        let text =
            "#[test]\nfn f() {\n    if missing() {\n        return;\n    }\n    g();\n}\nfn h() { return; }";
        assert_eq!(found("crates/engine/tests/a.rs", text), [4]);
        assert!(
            found("crates/engine/tests/a.rs", "fn case() -> Outcome {\n    return Ok(());\n}").is_empty()
        );
    }
}
