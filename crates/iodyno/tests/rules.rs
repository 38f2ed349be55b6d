//! The suites as they are shipped: every call in them can be made, as far as its words tell.
//!
//! What a rule says about a file system is tested on file systems; here a slip of the pen is found without any.

use iodyno_dialect::posix::{expand, rules, suite};
use iodyno_model::{Cases, Diagnostic, Job, Phase, Plan, Workload};

fn told(wrong: &[Diagnostic]) -> String {
    wrong.iter().map(|wrong| format!("{wrong}\n")).collect()
}

#[test]
fn every_call_can_be_made() {
    let read = rules::read(&suite::rules()).unwrap_or_else(|wrong| panic!("{}", told(&wrong)));
    let (suite, wrong) = read;
    assert!(wrong.is_empty(), "{}", told(&wrong));
    let expanded = expand::expand(&suite).unwrap_or_else(|wrong| panic!("{}", told(&wrong)));
    assert!(expanded.cases.len() > 100, "{} cases", expanded.cases.len());
    let cases = Cases { features: expanded.features, cases: expanded.cases, ..Cases::default() };
    let job = Job::new("rules", "cases", Vec::new(), Workload::Cases(Box::new(cases)));
    let phase = Phase { jobs: vec![job], ..Phase::default() };
    let plan = Plan { phases: vec![phase], ..Plan::default() };
    let wrong = iodyno_engine::check(&plan).err().unwrap_or_default();
    // The plan lacks a directory and an engine, which have no place in a file of rules.
    let slips: Vec<Diagnostic> =
        wrong.into_iter().filter(|wrong| format!("{wrong}").contains(".toml")).collect();
    assert!(slips.is_empty(), "{}", told(&slips));
}
