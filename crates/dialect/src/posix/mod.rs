//! posix: whether a file system keeps its promises, rule by rule.
//!
//! ```text
//!   suites/posix/*.toml ─ suite ─► rules ─ step, fill, calls ─► expand ─► Cases ─ the engine room ─► CaseRecords
//! ```
//! It refuses to know a single rule: all of them are data.

pub mod calls;
pub mod dollar;
pub mod expand;
pub mod fill;
pub mod rules;
pub mod step;
pub mod suite;

use iodyno_model::Diagnostic;

use crate::{Dialect, Loader, Request};

/// The command in the list of dialects.
pub const DIALECT: Dialect = Dialect {
    name: "posix",
    about: "whether a file system keeps the rules of POSIX and Linux, rule by rule",
    drop_in: false,
    also: &[],
    lower,
};

fn lower(arguments: &[String], loader: &mut dyn Loader) -> Result<Request, Vec<Diagnostic>> {
    let mut files = Vec::new();
    for pair in arguments.windows(2).filter(|pair| pair[0] == "--rules") {
        files.extend(suite::in_folder(&pair[1], loader)?);
    }
    if files.is_empty() {
        files = suite::rules();
    }
    let expanded = expand::expand(&rules::read(&files)?)?;
    let cases = &expanded.cases;
    let checks: u32 = cases.iter().map(expand::checks).sum();
    let rounds: usize = cases.iter().map(|case| case.script.steps.len()).sum();
    let mut names: Vec<&str> = cases.iter().map(|case| case.rule.as_str()).collect();
    names.dedup();
    let out = format!("{} rules, {} cases, {rounds} rounds, {checks} checks\n", names.len(), cases.len());
    Ok(Request::Print { out, status: 0 })
}
