//! The one-way arrows inside the engine room: conductor → worker → {source, engines} → {io, call, memory, clock}.
//!
//! Cargo cannot see these, for they lie within one crate. What a test imports does not count.

use super::source::Source;
use super::{Tree, Violation};

/// Modules of the engine room from the floor up. None imports one of a layer above its own.
const LAYERS: &[&[&str]] = &[
    &["call", "clock", "facts", "failure", "io", "memory"],
    &["payload"],
    &["engines", "open", "source", "witness", "world"],
    &["worker"],
    &["cases", "exercise"],
    &["check", "prepare", "registry"],
    &["conductor"],
    &["peer"],
];

/// A module, and those of its own layer that it must not import either.
const FORBIDDEN: &[(&str, &[&str])] = &[
    ("source", &["engines", "world", "witness"]),
    // The engines that go through the site's MPI need the library that the world has opened.
    ("engines", &["source", "witness"]),
    ("world", &["source", "engines"]),
    ("witness", &["source", "engines"]),
];

/// Whether one module may import another.
fn may_import(here: &str, target: &str) -> bool {
    let layer = |name: &str| LAYERS.iter().position(|layer| layer.contains(&name));
    let rises = layer(here).zip(layer(target)).is_some_and(|(here, target)| target > here);
    let forbidden = |(name, others): &(&str, &[&str])| *name == here && others.contains(&target);
    !rises && !FORBIDDEN.iter().any(forbidden)
}

const HINT: &str = "conductor → worker → {source, engines} → {io, call, memory, clock}: hand the value down as an \
                    argument, or move the type to the lower module";

pub fn check(tree: &Tree) -> Vec<Violation> {
    let inside =
        tree.sources.iter().filter(|source| source.package() == Some("engine") && source.is_product());
    inside.flat_map(check_file).collect()
}

fn check_file(source: &Source) -> Vec<Violation> {
    let module = source.module();
    let Some(here) = module.first() else { return Vec::new() };
    let mut violations = Vec::new();
    for named in source.paths(&["crate", "super", "self"]) {
        let Some(target) = top_module(&module, &named.path) else { continue };
        if !may_import(here, &target) && !source.is_test_line(named.line) {
            let message = format!("engine: `{here}` must not import `{target}`");
            violations.push(Violation::new(&source.path, named.line, message, HINT));
        }
    }
    violations
}

/// The top module that a path starting with `crate`, `self` or `super` leads to, seen from `module`.
fn top_module(module: &[&str], path: &str) -> Option<String> {
    let mut at: Vec<&str> = module.to_vec();
    let mut segments = path.split("::");
    while let Some(segment) = segments.next() {
        match segment {
            "crate" => at.clear(),
            "self" => {}
            "super" => drop(at.pop()),
            name => {
                at.push(name);
                at.extend(segments.by_ref());
            }
        }
    }
    at.first().map(|name| name.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::{places, planted};

    fn found(path: &str, text: &str) -> usize {
        places(&check(&planted(&[(path, text)]))).len()
    }

    #[test]
    fn an_arrow_that_points_up_is_found() {
        assert_eq!(found("crates/engine/src/engines/null.rs", "use crate::worker::Worker;"), 1);
        assert_eq!(found("crates/engine/src/engines/null.rs", "use super::super::source::Next;"), 1);
        assert_eq!(found("crates/engine/src/engines/mod.rs", "use super::source::Next;"), 1);
        assert_eq!(found("crates/engine/src/source/mod.rs", "fn f() { crate::engines::all(); }"), 1);
        assert_eq!(found("crates/engine/src/io.rs", "use crate::{\n    call,\n    conductor::Phase,\n};"), 1);
        assert_eq!(found("crates/engine/src/worker.rs", "use crate::conductor;"), 1);
        assert_eq!(found("crates/engine/src/witness/cpu.rs", "use crate::engines::Engine;"), 1);
        assert_eq!(found("crates/engine/src/world/threads.rs", "use crate::source::Source;"), 1);
    }

    #[test]
    fn an_arrow_that_points_down_is_not() {
        assert_eq!(
            found("crates/engine/src/conductor.rs", "use crate::{worker, engines, source, clock};"),
            0
        );
        assert_eq!(found("crates/engine/src/engines/null.rs", "use super::Engine; use crate::io::Io;"), 0);
        assert_eq!(
            found("crates/engine/src/source/pattern.rs", "use super::pace::Pace; use crate::clock::now;"),
            0
        );
        assert_eq!(found("crates/dialect/src/engines.rs", "use crate::worker;"), 0);
    }

    #[test]
    fn tests_may_look_everywhere() {
        let text = "#[cfg(test)]\nmod tests {\n    use crate::worker::drive;\n}\n";
        assert_eq!(found("crates/engine/src/engines/null.rs", text), 0);
        assert_eq!(found("crates/engine/src/engines/tests.rs", "use crate::worker::drive;"), 0);
    }
}
