//! fio's output format: stored runs to exact text in `golden/fio/report/`, and beside the real fio where it is installed.
//!
//! A twin is a job that the real fio runs: its JSON becomes a record, and what we write of that record must read as
//! what fio wrote, word for word, with the same numbers but for those that a histogram cannot give back.

mod shapes;
mod stage;
mod twin;

use testbed::{Case, Need};

fn main() -> std::process::ExitCode {
    let mut cases: Vec<Case> =
        shapes::all().into_iter().map(|shape| Case::new(shape.title(), &[], move || shape.check())).collect();
    let needs = [Need::Tool("fio"), Need::That(twin::version)];
    let twins = twin::all().into_iter();
    cases.extend(twins.map(|twin| Case::new(twin.title(), &needs, move || twin.check()).against()));
    testbed::run(cases)
}
