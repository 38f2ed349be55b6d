//! The suites as they are shipped: every call in them can be made, as far as its words tell.
//!
//! What a rule says about a file system is tested on file systems; here a slip of the pen is found without any.

use std::collections::BTreeSet;

use iodyno_conformance::calls::RUNNERS;
use iodyno_conformance::syscall;
use iodyno_dialect::posix::vocabulary::FILES;
use iodyno_dialect::posix::{expand, rules, step, suite};
use iodyno_model::{Cases, Diagnostic, Job, Phase, Plan, Workload};

fn told(wrong: &[Diagnostic]) -> String {
    wrong.iter().map(|wrong| format!("{wrong}\n")).collect()
}

#[test]
fn every_call_can_be_made() {
    let read = rules::read(&suite::POSIX.rules()).unwrap_or_else(|wrong| panic!("{}", told(&wrong)));
    let (suite, wrong) = read;
    assert!(wrong.is_empty(), "{}", told(&wrong));
    let expanded = expand::expand(&suite).unwrap_or_else(|wrong| panic!("{}", told(&wrong)));
    assert!(expanded.cases.len() > 100, "{} cases", expanded.cases.len());
    let cases = Cases { features: expanded.features, cases: expanded.cases, ..Cases::default() };
    let job = Job::new("rules", "cases", Vec::new(), Workload::Cases(cases.into()));
    let phase = Phase { jobs: vec![job], ..Phase::default() };
    let plan = Plan { phases: vec![phase], ..Plan::default() };
    iodyno_engine::register(iodyno_conformance::ENGINES);
    let wrong = iodyno_engine::check(&plan).err().unwrap_or_default();
    // The plan lacks a directory and an engine, which have no place in a file of rules.
    let slips: Vec<Diagnostic> =
        wrong.into_iter().filter(|wrong| format!("{wrong}").contains(".toml")).collect();
    assert!(slips.is_empty(), "{}", told(&slips));
}

/// A wall stands between the table that rules are read by and the one that carries them out: both must know the same.
#[test]
fn both_sides_of_the_wall_know_the_same_calls_and_errors() {
    let read: BTreeSet<&str> = FILES.calls.entries().map(|(name, _)| name).collect();
    let runners = RUNNERS.iter().map(|(name, _)| *name);
    let made: BTreeSet<&str> = syscall::table::verbs().map(|verb| verb.name).chain(runners).collect();
    let one_sided: Vec<_> = read.symmetric_difference(&made).collect();
    assert!(one_sided.is_empty(), "{one_sided:?}");
    // Signals end a call as errors do; and one error is FreeBSD's.
    let errors = step::ERRORS.split(' ').filter(|name| !name.starts_with("SIG") && *name != "EFTYPE");
    let unknown: Vec<_> = errors.filter(|name| syscall::errno_number(name).is_none()).collect();
    assert!(unknown.is_empty(), "{unknown:?}");
}
