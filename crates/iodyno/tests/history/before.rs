//! What a program wrote whose findings had numbers and no names: it loads, compares and runs again.
//!
//! `before/` holds a record and a history of the same plan on `sim`, seed 7, whose percentile rests on few samples.

use std::path::Path;

use serde_json::Value;
use testbed::{Case, Outcome};

use crate::keeping::says;
use crate::program::scratch;

pub fn cases() -> Vec<Case> {
    vec![
        Case::new("a history of before loads, compares and runs again", &[], history),
        Case::new("a record of before is taken in, compares and runs again", &[], record),
    ]
}

/// The file of that name, as it was written.
fn kept(name: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/history/before").join(name)
}

/// The only finding of a run.
#[track_caller]
fn finding(home: &Path, run: &str) -> Value {
    let said = says(home, ["runs", "show", "--json", run]);
    let record: Value = serde_json::from_str(&said.out).unwrap_or_else(|error| panic!("{error}: {said}"));
    let findings = record["findings"].as_array().expect("findings");
    assert_eq!(findings.len(), 1, "{findings:?}");
    findings[0].clone()
}

/// Runs it again and compares: the same figures on this machine, and a finding that has gained its names and nothing else.
fn runs_again(home: &Path, run: &str) -> Outcome {
    let old = finding(home, run);
    assert_eq!((&old["code"], old.get("kind"), old.get("remedy")), (&Value::from(6), None, None));
    says(home, ["rerun", "--quiet", "--witness", "off", "--tag", "again", run])
        .expect(0, &["[6]", "read the median"]);
    let mut new = finding(home, "again");
    let fields = new.as_object_mut().expect("an object");
    assert_eq!(fields.remove("kind"), Some("few_samples".into()));
    assert_eq!(fields.remove("remedy"), Some("read_median".into()));
    assert_eq!(new, old);
    let said = says(home, ["compare", "--json", run, "again"]);
    let compared: Value = serde_json::from_str(&said.out)?;
    let compared = &compared["comparisons"][0];
    assert_eq!(compared["differs"], Value::from(false), "{said}");
    // They were made on another machine, which is said; nothing else is another.
    let contrasts = compared["contrasts"].as_array().expect("contrasts");
    let is_machine = |contrast: &Value| contrast["weight"] == "place";
    assert!(contrasts.iter().all(is_machine), "{contrasts:?}");
    assert_eq!(compared["comparable"], Value::from(contrasts.is_empty()), "{said}");
    Ok(())
}

fn history() -> Outcome {
    let home = scratch();
    std::fs::copy(kept("history.sqlite"), home.path().join("history.sqlite"))?;
    says(home.path(), ["runs", "show", "before"]).expect(0, &["kept before findings had names", "seed 7"]);
    runs_again(home.path(), "before")
}

fn record() -> Outcome {
    let home = scratch();
    let file = kept("record.json").display().to_string();
    says(home.path(), ["import", &file]).expect(0, &["run 1: iodyno"]);
    runs_again(home.path(), "1")
}
