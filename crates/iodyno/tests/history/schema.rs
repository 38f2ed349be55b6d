//! The record by its published schema, as an independent program checks it: PyPI's `jsonschema`.
//!
//! It comes from PyPI into an environment that is kept with the build; without a network that is a counted skip. Who comes
//! while it is made waits for the lock of who makes it.

use std::path::{Path, PathBuf};
use std::process::Command;

use testbed::{Case, Need, Outcome, Skip};

use crate::keeping::says;
use crate::program::{plan, scratch};

/// All of them.
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
    let python = environment()?;
    let home = scratch();
    let home = home.path();
    plan(home, PLAN);
    says(home, ["run", "--quiet", "plan.toml", "--json", "record.json"]).expect(0, &[]);
    let text = std::fs::read_to_string(home.join("record.json"))?;
    assert!(text.contains("\"pretends\""), "the null engine's traits are published");
    let broken = text.replacen("\"completed\": true", "\"completed\": \"yes\"", 1);
    assert_ne!(broken, text);
    std::fs::write(home.join("broken.json"), broken)?;
    let schema = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/record.schema.json");
    let done = Command::new(python)
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

/// The interpreter of a virtual environment with what PyPI has.
fn environment() -> Result<PathBuf, Skip> {
    let kept = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let lock = std::fs::File::create(kept.join("jsonschema.lock")).and_then(|file| {
        file.lock()?;
        Ok(file)
    });
    let _lock = lock.map_err(|error| Skip::new(format!("{}: {error}", kept.display())))?;
    let home = kept.join("jsonschema");
    let python = home.join("bin/python");
    if home.join("complete").is_file() {
        return Ok(python);
    }
    let pip = [
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
        "--timeout",
        "20",
        "--retries",
        "1",
    ];
    installed(Command::new("python3").args(["-m", "venv", "--clear"]).arg(&home))?;
    installed(Command::new(&python).args(pip).arg("jsonschema"))?;
    std::fs::write(home.join("complete"), "").map_err(|error| Skip::new(error.to_string()))?;
    Ok(python)
}

fn installed(step: &mut Command) -> Result<(), Skip> {
    let done = step.output().map_err(|error| Skip::new(error.to_string()))?;
    let said = String::from_utf8_lossy(&done.stderr);
    let last = said.trim().lines().last().unwrap_or("no reason given");
    match done.status.success() {
        true => Ok(()),
        false => Err(Skip::new(format!("jsonschema cannot be installed from PyPI: {last}"))),
    }
}
