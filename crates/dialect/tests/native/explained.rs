//! Plans explained with made-up facts: `golden/native/explain/*.toml` and the facts below.

use iodyno_model::{EngineTrait, Machine, Plan, TargetFacts};
use iodyno_report::plan::{self, Explainer};

use super::{files, golden, parse, root};

const GIB: u64 = 1 << 30;

fn machine() -> Machine {
    Machine { cpus: 4, memory_bytes: 8 * GIB, ..Machine::default() }
}

/// A target on an ordinary disk of 100 GiB.
fn disk(target: &str) -> TargetFacts {
    TargetFacts {
        target: target.into(),
        path: target.into(),
        file_system: Some("ext4".into()),
        device: Some("vda1".into()),
        disk: Some("vda".into()),
        logical_block_bytes: Some(512),
        direct_align_bytes: Some(512),
        size_bytes: Some(100 * GIB),
        free_bytes: Some(40 * GIB),
        memory_bytes: Some(8 * GIB),
        ..TargetFacts::default()
    }
}

fn facts() -> Vec<TargetFacts> {
    vec![
        TargetFacts { missing: true, ..disk("new") },
        TargetFacts { file_bytes: Some(GIB), ..disk("old") },
        TargetFacts { file_bytes: Some(64 * GIB), ..disk("large") },
        TargetFacts { free_bytes: Some(GIB / 2), missing: true, ..disk("full") },
        TargetFacts {
            file_system: Some("tmpfs".into()),
            disk: None,
            device: None,
            missing: true,
            ..disk("ram")
        },
        TargetFacts { disk: Some("loop3".into()), file_bytes: Some(GIB), ..disk("loop") },
        TargetFacts { file_system: Some("fuse.sshfs".into()), file_bytes: Some(GIB), ..disk("fuse") },
        TargetFacts {
            file_system: None,
            disk: Some("sdx".into()),
            size_bytes: Some(10 * GIB),
            free_bytes: None,
            ..disk("raw")
        },
    ]
}

pub fn explained(plan: &Plan, facts: &[TargetFacts], machine: &Machine) -> String {
    let explainer = Explainer {
        facts,
        machine,
        traits: &EngineTrait::unsaid,
        owners: &|_, _, job| (0..job.workers).map(|worker| (worker + 1) % job.workers).collect(),
        worded: None,
        columns: 80,
    };
    plan::explain(plan, &explainer)
}

#[test]
fn golden_plans_are_explained() {
    for path in files("golden/native/explain") {
        let plan = parse(&path).unwrap_or_else(|wrong| panic!("{}:\n{wrong}", path.display()));
        golden(&path.with_extension("txt"), &explained(&plan, &facts(), &machine()));
    }
}

/// The honest twin of every trap: a plan that walks into none gets no warning.
#[test]
fn an_honest_plan_has_no_traps() {
    let plan = parse(&root().join("golden/native/explain/honest.toml")).unwrap();
    assert!(!explained(&plan, &facts(), &machine()).contains("Watch out"));
}

#[test]
fn without_facts_nothing_is_claimed_about_devices() {
    let plan = parse(&root().join("golden/native/explain/honest.toml")).unwrap();
    let text = explained(&plan, &[], &Machine::default());
    assert!(!text.contains("drive writes") && !text.contains("Watch out"), "{text}");
    assert!(text.contains("Creates or overwrites"), "{text}");
}
