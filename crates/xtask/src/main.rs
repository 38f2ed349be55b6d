//! The workspace's chores: `cargo xtask tidy | ci | bless | bench | against | dist | lies | same | docs | fuzz | newer`.
//!
//! What a contributor types and what continuous integration runs is the same program, written in the same language
//! as the rest, so that no shell script drifts away from it. It imports none of our crates: it judges them from
//! outside. It refuses to change a source file; only `bless` lets the golden tests rewrite what they expect.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

mod against;
mod bench;
mod bless;
mod ci;
mod crash;
mod dist;
mod dlio;
mod docs;
mod emulated;
mod examples;
mod faults;
mod fuzz;
mod guest;
mod lexer;
mod lies;
mod newer;
mod objects;
mod packages;
mod same;
mod shell;
mod studio;
mod suite;
mod systems;
mod tidy;
mod wrappers;

const USAGE: &str = "\
usage: cargo xtask CHORE

  tidy [ROOT]                  check the walls of the house: imports, unsafe, clocks, I/O, names, sizes
  ci [--no-install]            everything continuous integration runs
  ci --only pure|live|against  the tests of one tier and nothing else: pure is what one runs while working
  bless [TEST …]               run the golden tests and let them rewrite what they expect
  bench [CASE … | net]         instructions per I/O, and paired runs against Debian's fio; net: against iperf3
  bench warp                   processor time of a client of object stores, and that of warp's client library
  bench build                  a cold release build by crate, and what a change of one dialect costs
  against TOOL|all [PART]      the original and ours on the same input, all cases; fio --itself: the original twice;
                               objects: object stores, started for it; release: the README's build, and the examples by it;
                               aarch64: built for that processor, run under an emulator; systems: type-checked for others
                               dist: what `dist` made, installed and run; publish: the crates as for a registry;
                               reproducible: two builds of the commit, compared to the byte
                               wrappers: the examples for Ansible, ReFrame and others, by those programs from PyPI
  dist [--target x86_64|aarch64] [--program FILE] [--only KIND,KIND] [--into DIR]
                               wheel, deb, rpm, tarball, container image, bill of materials, licences, checksums in dist/
  python                       the Python module's tests and types, by target/debug/iodyno
  crash [--states N]           crash tests of ext4, xfs and btrfs under several mount options, 1000 states each
  lies [N … | honest]          stages the known lies for real: caught or missed, honest twins silent or not
  same BEFORE [AFTER]          whether two builds say the same, over command lines of all dialects
  faults [N …]                 plants faults in a clone, one at a time: found, and by which test
  docs                         the book as pages in target/book, by mdbook, which is installed into target for it
  fuzz NAME [SECONDS]          one parser under libFuzzer, from the seeds of its tests
  newer                        fetches a newer iperf3 and fio than the system's into target/newer, for the tests' matrix
";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let rest = arguments.get(1..).unwrap_or_default();
    let outcome = match arguments.first().map(String::as_str) {
        Some("tidy") => tidy::chore(&rest.first().map_or_else(root, PathBuf::from)),
        Some("ci") => ci::chore(&root(), rest),
        Some("bless") => bless::chore(&root(), rest),
        Some("bench") => bench::chore(&root(), rest),
        Some("against") => against::chore(&root(), rest),
        Some("python") => ci::python_chore(&root()),
        Some("dist") => dist::chore(&root(), rest),
        Some("crash") => crash::chore(&root(), rest),
        Some("lies") => lies::chore(&root(), rest),
        Some("same") => same::chore(&root(), rest),
        Some("faults") => faults::chore(&root(), rest),
        Some("docs") => docs::chore(&root(), rest),
        Some("fuzz") => fuzz::chore(&root(), rest),
        Some("newer") => newer::chore(&root()),
        Some("help" | "--help" | "-h") => {
            print!("{USAGE}");
            Ok(true)
        }
        Some(other) => Err(format!("`{other}` is no chore\n\n{USAGE}")),
        None => Err(USAGE.to_string()),
    };
    match outcome {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(message) => {
            eprintln!("error: {}", message.trim_end());
            ExitCode::from(2)
        }
    }
}

/// The workspace's root folder: two above this crate.
fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.ancestors().nth(2).unwrap_or(here).to_path_buf()
}
