//! What may be done where: `unsafe`, clocks, files, sockets, printing.
//!
//! Product code only, except for `unsafe`, which tests too must justify.

use super::source::Source;
use super::{Tree, Violation};
use crate::lexer;

/// How far above an unsafe block its justification may begin, when it does not stand right above.
const SAFETY_REACH: usize = 4;

/// Names that read a clock.
const CLOCKS: &[&str] = &["Instant::now", "SystemTime::now", "clock_gettime", "_rdtsc", "__rdtscp"];
/// The one file that may.
const CLOCK_FILE: &str = "crates/engine/src/clock.rs";
/// Crates whose own durations are no measurement.
const CLOCK_FREE: &[&str] = &["xtask", "testbed"];

/// Macros that write to the standard streams.
const PRINTING: &[&str] = &["println!", "eprintln!", "print!", "eprint!"];
/// Crates that talk to a person.
const TALKERS: &[&str] = &["iodyno", "xtask", "testbed"];

/// What a crate may not reach for: paths by prefix, and words.
struct Abstinence {
    package: &'static str,
    paths: &'static [&'static str],
    words: &'static [&'static str],
    hint: &'static str,
}

const ABSTINENCES: &[Abstinence] = &[
    Abstinence {
        package: "dialect",
        paths: &[
            "std::fs",
            "std::net",
            "std::process",
            "std::thread",
            "std::env",
            "std::os",
            "std::io::stdin",
            "std::io::stdout",
            "std::io::stderr",
        ],
        words: &[
            "File::open",
            "File::create",
            "fs::read",
            "fs::write",
            "io::stdin",
            "io::stdout",
            "io::stderr",
            "libc",
        ],
        hint: "a dialect is text in, text out: take what it needs as an argument (the door hands a loader in)",
    },
    Abstinence { package: "model", paths: PLAIN, words: &["libc", "File::open"], hint: PLAIN_HINT },
    Abstinence { package: "truth", paths: PLAIN, words: &["libc", "File::open"], hint: PLAIN_HINT },
];
const PLAIN: &[&str] =
    &["std::fs", "std::net", "std::thread", "std::process", "std::time::Instant", "std::time::SystemTime"];
const PLAIN_HINT: &str = "plain values only: let the engine room do it and record what came of it";

const UNSAFE_HINT: &str = "unsafe code and system calls live in crates/engine/src, crates/conformance/src, \
                           crates/fuse/src, crates/block/src, crates/crash/src and crates/recorder/src; \
                           tests and crates/testbed may too";
const SAFETY_HINT: &str = "say in a `// SAFETY:` comment right above why this cannot go wrong";
const CLOCK_HINT: &str = "ask crates/engine/src/clock.rs, or take the time from the event";
const PRINT_HINT: &str = "results and talk are written by the door: return the text, or send an event";

/// Crates that know no engine by name.
const ENGINELESS: &[&str] = &["truth", "report"];
/// Engines whose names mean something else as well: JSON's nothing, and a kind of operations.
const AMBIGUOUS: &[&str] = &["null", "sync"];
const ENGINE_HINT: &str =
    "ask for a trait: an engine says it in its FACTS, a job's record keeps it (model/src/engine_trait.rs)";

pub fn check(tree: &Tree) -> Vec<Violation> {
    let rules = [unsafe_code, clocks, printing, abstinence];
    let each = tree.sources.iter().flat_map(|source| rules.iter().flat_map(move |rule| rule(source)));
    each.chain(named_engines(tree)).collect()
}

/// Engines that are named where none is to be known.
fn named_engines(tree: &Tree) -> Vec<Violation> {
    let folders = ["crates/engine/src/engines/", "crates/conformance/src/"];
    let has_engines = |source: &&Source| folders.iter().any(|folder| source.path.starts_with(folder));
    let engines = tree.sources.iter().filter(has_engines);
    let names: Vec<&str> = engines.flat_map(|source| own_names(&source.text)).collect();
    let is_engineless = |source: &&Source| source.package().is_some_and(|name| ENGINELESS.contains(&name));
    let mut violations = Vec::new();
    for source in tree.sources.iter().filter(|source| source.is_product()).filter(is_engineless) {
        let comments = source.masked.comments.lines().chain(std::iter::repeat(""));
        for (index, (line, comment)) in source.text.lines().zip(comments).enumerate() {
            let is_named = |name: &&&str| {
                let literal = format!("\"{name}\"");
                line.contains(&literal) && !comment.contains(&literal)
            };
            let named = names.iter().find(is_named).filter(|_| !source.is_test_line(index + 1));
            violations.extend(named.map(|name| {
                Violation::new(&source.path, index + 1, format!("knows the engine `{name}`"), ENGINE_HINT)
            }));
        }
    }
    violations
}

/// The names that an engine's file gives to engines.
fn own_names(text: &str) -> Vec<&str> {
    let calls = text.split("EngineFacts::named(").skip(1);
    let names =
        calls.flat_map(|call| call.split(')').next().unwrap_or_default().split('"').skip(1).step_by(2));
    names.filter(|name| !AMBIGUOUS.contains(name)).collect()
}

fn unsafe_code(source: &Source) -> Vec<Violation> {
    let code = &source.masked.code;
    let mut violations = Vec::new();
    for at in lexer::find_words(code, "unsafe") {
        let line = lexer::line_of(code, at);
        if !may_be_unsafe(&source.path) {
            violations.push(Violation::new(
                &source.path,
                line,
                "unsafe code outside the engine room",
                UNSAFE_HINT,
            ));
        }
        let next = code[at + "unsafe".len()..].trim_start();
        let needs_reason = next.starts_with('{') || lexer::find_words(next, "impl").next() == Some(0);
        if needs_reason && !is_justified(&source.masked.comments, line) {
            violations.push(Violation::new(&source.path, line, "unsafe without its reason", SAFETY_HINT));
        }
    }
    violations
}

fn may_be_unsafe(path: &str) -> bool {
    let folders = [
        "crates/engine/src/",
        "crates/conformance/src/",
        "crates/fuse/src/",
        "crates/block/src/",
        "crates/crash/src/",
        "crates/recorder/src/",
        "crates/testbed/",
    ];
    folders.iter().any(|folder| path.starts_with(folder)) || path.contains("/tests/")
}

/// Whether a `SAFETY:` stands on the line, a little above it, or at the head of the comment that ends above it.
fn is_justified(comments: &str, line: usize) -> bool {
    let lines: Vec<&str> = comments.lines().collect();
    let says = |index: usize| lines.get(index).is_some_and(|text| text.contains("SAFETY:"));
    let here = line - 1;
    let nearby = (here.saturating_sub(SAFETY_REACH)..=here).any(says);
    let block = (0..here).rev().take_while(|&index| !lines[index].trim().is_empty());
    nearby || block.into_iter().any(says)
}

fn clocks(source: &Source) -> Vec<Violation> {
    let free = source.path == CLOCK_FILE || source.package().is_some_and(|name| CLOCK_FREE.contains(&name));
    if free || !source.is_product() {
        return Vec::new();
    }
    report_words(source, CLOCKS, "a clock outside `clock`", CLOCK_HINT)
}

fn printing(source: &Source) -> Vec<Violation> {
    if !source.is_product() || source.package().is_some_and(|name| TALKERS.contains(&name)) {
        return Vec::new();
    }
    report_words(source, PRINTING, "only the door prints", PRINT_HINT)
}

fn abstinence(source: &Source) -> Vec<Violation> {
    let rule = ABSTINENCES.iter().find(|rule| source.package() == Some(rule.package));
    let Some(rule) = rule.filter(|_| source.is_product()) else { return Vec::new() };
    let message = format!("no business of {}", rule.package);
    let mut violations = report_words(source, rule.words, &message, rule.hint);
    for named in source.paths(&["std"]) {
        let forbidden = rule.paths.iter().any(|prefix| is_under(&named.path, prefix));
        if forbidden && !source.is_test_line(named.line) {
            let message = format!("{message}: `{}`", named.path);
            violations.push(Violation::new(&source.path, named.line, message, rule.hint));
        }
    }
    violations
}

fn is_under(path: &str, prefix: &str) -> bool {
    path.strip_prefix(prefix).is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
}

fn report_words(source: &Source, words: &[&str], message: &str, hint: &'static str) -> Vec<Violation> {
    let lines = source.lines_with(words).into_iter().filter(|(line, _)| !source.is_test_line(*line));
    lines
        .map(|(line, word)| Violation::new(&source.path, line, format!("{message}: `{word}`"), hint))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::{places, planted};

    fn found(path: &str, text: &str) -> Vec<usize> {
        let mut lines: Vec<usize> =
            check(&planted(&[(path, text)])).iter().map(|violation| violation.line).collect();
        lines.dedup();
        lines
    }

    #[test]
    fn unsafe_lives_in_the_engine_room() {
        let text = "// SAFETY: planted\nunsafe { f() }";
        assert_eq!(
            places(&check(&planted(&[("crates/report/src/live.rs", text)]))),
            ["crates/report/src/live.rs:2"]
        );
        assert!(found("crates/engine/src/call.rs", text).is_empty());
        assert!(found("crates/iodyno/tests/door.rs", text).is_empty());
        assert!(
            found("crates/report/src/live.rs", "// unsafe\nf(\"unsafe {\"); #![deny(unsafe_code)]")
                .is_empty()
        );
    }

    #[test]
    fn unsafe_has_a_reason() {
        let call = "crates/engine/src/call.rs";
        assert_eq!(found(call, "unsafe { f() }"), [1]);
        assert_eq!(found(call, "// SAFETY: far\n\n\n\n\nunsafe { f() }"), [6]);
        assert_eq!(found(call, "let s = \"SAFETY:\";\nunsafe impl Send for X {}"), [2]);
        let long = "// SAFETY: a long story\n// 2\n// 3\n// 4\n// 5\n// 6\nlet x = unsafe { f() };";
        assert!(found(call, long).is_empty());
        assert!(found(call, "unsafe extern \"C\" { fn f(); }\nunsafe { f() } // SAFETY: here").is_empty());
    }

    #[test]
    fn who_judges_and_reports_knows_no_engine() {
        let engine = (
            "crates/engine/src/engines/net.rs",
            "//! x\n..EngineFacts::named(if S { \"netsplice\" } else { \"net\" })",
        );
        let lines = |text: &str| {
            let tree = planted(&[engine, ("crates/truth/src/depth.rs", text)]);
            check(&tree).iter().map(|violation| violation.line).collect::<Vec<_>>()
        };
        assert_eq!(lines("fn f() {}\nconst A: &[&str] = &[\"other\", \"netsplice\"];"), [2]);
        assert_eq!(lines("if engine == \"net\" {}"), [1]);
        assert!(lines("// \"net\"\nlet a = \"network\";").is_empty());
        assert!(lines("#[cfg(test)]\nmod tests {\nlet a = \"net\";\n}").is_empty());
    }

    #[test]
    fn only_the_clock_reads_a_clock() {
        let text = "fn f() { std::time::Instant::now(); }";
        assert_eq!(found("crates/engine/src/worker.rs", text), [1]);
        assert_eq!(found("crates/iodyno/src/main.rs", "let t = SystemTime::now();"), [1]);
        assert_eq!(found("crates/engine/src/conductor.rs", "libc::clock_gettime(0, p);"), [1]);
        assert!(found("crates/engine/src/clock.rs", text).is_empty());
        assert!(found("crates/engine/tests/known.rs", text).is_empty());
        assert!(
            found("crates/engine/src/worker.rs", &format!("#[cfg(test)]\nmod tests {{\n{text}\n}}"))
                .is_empty()
        );
    }

    #[test]
    fn a_dialect_touches_nothing() {
        let dialect = "crates/dialect/src/dd/mod.rs";
        for text in [
            "use std::fs;",
            "use std::{io, net::TcpStream};",
            "std::env::var(x)",
            "File::open(p)",
            "libc::read",
        ] {
            assert_eq!(found(dialect, text), [1], "{text}");
        }
        assert_eq!(found(dialect, "use std::io;\nfn f() { io::stdout(); }"), [2]);
        assert_eq!(found(dialect, "fn f() {\n    println!(\"x\");\n}"), [2]);
        assert!(found(dialect, "use std::io::Write;\n// std::fs\nconst V: &str = env!(\"X\");").is_empty());
        assert!(found("crates/dialect/tests/golden.rs", "use std::fs;").is_empty());
    }

    #[test]
    fn model_and_truth_are_plain() {
        assert_eq!(found("crates/model/src/plan.rs", "use std::time::{Duration, Instant};"), [1]);
        assert_eq!(found("crates/truth/src/lib.rs", "use libc::c_int;"), [1]);
        assert!(found("crates/model/src/plan.rs", "use std::time::Duration;").is_empty());
    }

    #[test]
    fn only_the_door_prints() {
        assert_eq!(found("crates/engine/src/conductor.rs", "fn f() { eprintln!(); }"), [1]);
        assert!(found("crates/iodyno/src/main.rs", "fn f() { eprintln!(); }").is_empty());
    }
}
