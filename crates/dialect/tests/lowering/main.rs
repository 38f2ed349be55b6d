//! Jobs of the field's tools lowered by hand: the proof that the model is big enough for them without force.
//!
//! Each case builds the plan that a tool's own words mean and compares its print with `golden/plan/NAME.txt`. No
//! dialect is tested here; the dialects must arrive at the same plans. `IODYNO_BLESS=1` rewrites the golden files.

mod dd;
mod filebench;
mod ior;
mod iozone;
mod mdtest;
mod network;
mod posix;

use std::path::PathBuf;

use iodyno_model::{Extent, Job, Phase, Plan, Target, TargetKind};

/// Compares a plan's print with its golden file, which opens with the tool's own words as a comment.
fn golden(name: &str, words: &str, plan: &Plan) {
    let comment: String =
        words.trim().lines().map(|line| format!("# {line}").trim_end().to_string() + "\n").collect();
    let found = format!("{comment}\n{}", iodyno_report::plan::print(plan));
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(format!("../../golden/plan/{name}.txt"));
    if std::env::var_os("IODYNO_BLESS").is_some() {
        std::fs::write(&path, &found).unwrap();
    }
    let wanted = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(found, wanted, "{name}: differs from its golden file; IODYNO_BLESS=1 rewrites it");
    let stored: Plan = serde_json::from_str(&serde_json::to_string(plan).unwrap()).unwrap();
    assert_eq!(&stored, plan, "{name}: does not survive its own serialisation");
}

/// A plain file.
fn file(path: &str, size: Extent) -> Target {
    target(path, TargetKind::File { path: path.into(), size })
}

/// A target with everything else at its default.
fn target(name: &str, kind: TargetKind) -> Target {
    Target {
        name: name.into(),
        kind,
        open: Default::default(),
        prepare: Default::default(),
        remove: false,
        origin: Default::default(),
    }
}

/// A phase of these jobs.
fn phase(name: &str, jobs: Vec<Job>) -> Phase {
    Phase { name: name.into(), jobs, ..Phase::default() }
}

/// A plan of these phases.
fn plan(name: &str, seed: u64, targets: Vec<Target>, phases: Vec<Phase>) -> Plan {
    Plan { name: name.into(), seed, targets, phases, ..Plan::default() }
}
