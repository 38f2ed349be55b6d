//! The record by its published schema, as an independent program checks it: PyPI's `jsonschema`.

use std::path::Path;
use std::process::Command;

use testbed::python::environment;
use testbed::{Case, Need, Outcome};

use crate::keeping::says;
use crate::program::{plan, scratch};

pub fn cases() -> Vec<Case> {
    vec![Case::new("a record follows the published schema", &[Need::Tool("python3")], followed)]
}

/// Sweeps and repetitions on `sim`, and a job with everything that is counted of it.
const PLAN: &str = r#"seed = 7
repeat = 2
[target.t]
nothing = "1GiB"
[[phase]]
[[phase.job]]
on = "t"
engine = "null"
mix = { read = 70, write = 30 }
pick = "random"
until = { operations = 2000 }
[[sweep]]
depth = [1, 8]
"#;

/// Takes the schema's path and documents; prints for each whether it follows.
const CHECKS: &str = "import json, sys, jsonschema
schema = json.load(open(sys.argv[1]))
jsonschema.Draft202012Validator.check_schema(schema)
for path in sys.argv[2:]:
    errors = list(jsonschema.Draft202012Validator(schema).iter_errors(json.load(open(path))))
    print(path, 'follows' if not errors else errors[0].message)
";

fn followed() -> Outcome {
    let python = environment(Path::new(env!("CARGO_TARGET_TMPDIR")), "jsonschema", &["jsonschema"])?;
    let home = scratch();
    let home = home.path();
    plan(home, PLAN);
    says(home, ["run", "--quiet", "plan.toml", "--json", "record.json"]).expect(0, &[]);
    let text = std::fs::read_to_string(home.join("record.json"))?;
    assert!(text.contains("\"pretends\""), "the null engine's traits are published");
    let broken = text.replacen("\"completed\": true", "\"completed\": \"yes\"", 1);
    assert_ne!(broken, text);
    std::fs::write(home.join("broken.json"), broken)?;
    let schema = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/schema/record-1.schema.json");
    let done = Command::new(python.join("bin/python"))
        .current_dir(home)
        .args(["-c", CHECKS])
        .arg(schema)
        .args(["record.json", "broken.json"])
        .output()?;
    let (said, wrong) = (String::from_utf8_lossy(&done.stdout), String::from_utf8_lossy(&done.stderr));
    assert!(said.contains("record.json follows"), "{said}{wrong}");
    assert!(said.contains("broken.json 'yes' is not of type 'boolean'"), "{said}{wrong}");
    Ok(())
}
