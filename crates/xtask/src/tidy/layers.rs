//! The one-way arrows inside the engine room: conductor → worker → {source, engines} → {io, call, memory, clock}.
//!
//! Cargo cannot see these, for they lie within one crate. What a test imports does not count.

use super::source::Source;
use super::{Tree, Violation};

/// All modules of the engine room from the floor up. Each imports modules of lower layers only, so there is no circle.
const LAYERS: &[&[&str]] = &[
    &[
        "clock",
        "connections",
        "coroutine",
        "failure",
        "mismatch",
        "random",
        "shared_library",
        "store_client",
        "worker_findings",
    ],
    &[
        "facts",
        "futex",
        "hooks",
        "memory",
        "payload",
        "permutation",
        "priorities",
        "request_file",
        "signal",
        "trace_file",
    ],
    &["distribution", "file_system_client", "nvme", "scsi", "secrets"],
    &["drive_purge", "names"],
    &["io", "objects", "placement", "start_barrier", "worker_counters"],
    &["call", "journal", "shared_device", "source", "witness"],
    &["aging", "cache", "idleness", "open", "world"],
    &["engines", "preread"],
    &["worker"],
    &["registry"],
    &["check"],
    &["prepare"],
    &["conductor"],
    &["peer"],
];

/// A module, and those of lower layers that it must not import either.
const FORBIDDEN: &[(&str, &[&str])] = &[
    // The engines that go through the site's MPI need the library that the world has opened.
    ("engines", &["source", "witness"]),
    ("world", &["source"]),
];

fn layer_of(module: &str) -> Option<usize> {
    LAYERS.iter().position(|layer| layer.contains(&module))
}

/// Whether one module may import another.
fn may_import(here: &str, target: &str) -> bool {
    let forbidden = |(name, others): &(&str, &[&str])| *name == here && others.contains(&target);
    let falls = layer_of(here).zip(layer_of(target)).is_none_or(|(here, target)| target < here);
    here == target || (falls && !FORBIDDEN.iter().any(forbidden))
}

const HINT: &str = "conductor → worker → {source, engines} → {io, call, memory, clock}: hand the value down as an \
                    argument, or move the type to the lower module";

const LAYER_HINT: &str = "give the module its layer: a line in crates/xtask/src/tidy/layers.rs";

pub fn check(tree: &Tree) -> Vec<Violation> {
    let inside =
        tree.sources.iter().filter(|source| source.package() == Some("engine") && source.is_product());
    inside.flat_map(check_file).collect()
}

fn check_file(source: &Source) -> Vec<Violation> {
    let module = source.module();
    let Some(here) = module.first() else { return Vec::new() };
    let mut violations = Vec::new();
    if layer_of(here).is_none() {
        let message = format!("engine: `{here}` has no layer");
        violations.push(Violation::new(&source.path, 1, message, LAYER_HINT));
    }
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
        assert_eq!(
            found("crates/engine/src/io.rs", "use crate::{\n    memory,\n    conductor::Phase,\n};"),
            1
        );
        assert_eq!(found("crates/engine/src/worker.rs", "use crate::conductor;"), 1);
        assert_eq!(found("crates/engine/src/witness/cpu.rs", "use crate::engines::Engine;"), 1);
        assert_eq!(found("crates/engine/src/world/threads.rs", "use crate::source::Source;"), 1);
        assert_eq!(found("crates/engine/src/source/segments.rs", "use crate::open::resolve;"), 1);
    }

    #[test]
    fn modules_of_one_layer_do_not_import_each_other() {
        assert_eq!(found("crates/engine/src/preread.rs", "use crate::engines::Failure;"), 1);
    }

    #[test]
    fn a_module_without_a_layer_is_found() {
        assert_eq!(found("crates/engine/src/annex.rs", "fn f() {}"), 1);
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
