//! `iodyno ci` in a pipeline: its baselines, its rules, and the scripts of the action and the template as a runner starts them.

use std::path::{Path, PathBuf};
use std::process::Command;

use testbed::{Case, Outcome};

use crate::keeping::says;
use crate::program::{IODYNO, ProgramOutput, plan, scratch, told};

pub fn cases() -> Vec<Case> {
    vec![
        Case::new("ci writes a baseline, passes by it, and fails what became slower", &[], by_file),
        Case::new("ci takes a kept run for a baseline, and a condition fails it", &[], by_history),
        Case::new("ci runs by the scripts of the action and of the template", &[], by_scripts),
    ]
}

/// A simulated device in virtual time, with noise.
fn device(service: &str) -> String {
    format!(
        "name = \"noisy\"\n[target.t]\nnothing = \"1GiB\"\n[[phase]]\nname = \"p\"\n[[phase.job]]\nname = \"j\"\non = \"t\"\n\
         engine = \"sim\"\nsettings = {{ service = \"exponential:{service}\" }}\ndo = \"read\"\npick = \"random\"\n\
         block = \"4KiB\"\nuntil = {{ operations = 4000 }}\n"
    )
}

#[track_caller]
fn ci(home: &Path, words: &[&str]) -> ProgramOutput {
    says(home, ["ci", "-n", "3", "--no-save"].into_iter().chain(words.iter().copied()))
}

fn by_file() -> Outcome {
    let home = scratch();
    let home = home.path();
    plan(home, &device("100us"));
    // The first run of a pipeline: its baseline is not there yet.
    let first = ci(home, &["--baseline", "base.json", "--save", "new.json", "plan.toml"]);
    first.expect(0, &["base.json is not there yet"]);
    std::fs::rename(home.join("new.json"), home.join("base.json"))?;
    ci(home, &["--baseline", "base.json", "plan.toml"]).expect(0, &["plan.toml"]);
    ci(home, &["--baseline", "base.json", "--save", "base.json", "plan.toml"]).expect(2, &["exists already"]);
    plan(home, &device("140us"));
    let slower = ci(home, &["--baseline", "base.json", "--markdown", "page.md", "plan.toml"]);
    assert_eq!(slower.code(), 1, "{slower}");
    let page = std::fs::read_to_string(home.join("page.md"))?;
    assert!(slower.err.contains("is worse by") && page.contains("worse"), "{slower}\n{page}");
    assert!(slower.out.is_empty(), "the page went to the file: {slower}");
    // Worse, and less than what fails.
    ci(home, &["--baseline", "base.json", "--worse-than", "80", "--across", "settings", "plan.toml"])
        .expect(0, &[]);
    ci(home, &["plan.toml"]).expect(2, &["nothing to hold it against"]);
    Ok(())
}

fn by_history() -> Outcome {
    let home = scratch();
    let home = home.path();
    plan(home, &device("100us"));
    says(home, ["run", "--quiet", "--tag", "base", "plan.toml"]).expect(0, &[]);
    ci(home, &["--baseline", "base", "plan.toml"]).expect(0, &[]);
    let broken = ci(home, &["--baseline", "base", "--fail-if", "read.iops < 1000000", "plan.toml"]);
    assert_eq!(broken.code(), 1, "{broken}");
    assert!(broken.all().contains("condition holds") && broken.all().contains("1000000"), "{broken}");
    ci(home, &["--baseline", "no-such-run", "plan.toml"]).expect(2, &["no such run"]);
    Ok(())
}

/// A file of the repository.
fn tree(name: &str) -> String {
    let path: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(name);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The lines below one that ends in these words and are moved in further than it, joined as YAML joins them.
fn block(text: &str, head: &str) -> String {
    let mut lines = text.lines().skip_while(|line| line.trim() != head);
    let first = lines.next().unwrap_or_else(|| panic!("{head} is not there"));
    let depth = |line: &str| line.len() - line.trim_start().len();
    let inside = lines.take_while(|line| depth(line) > depth(first) || line.trim().is_empty());
    inside.collect::<Vec<_>>().join("\n")
}

/// Runs a script as a runner does, with the program in the place of uvx.
fn script(home: &Path, text: &str, variables: &[(&str, &str)]) -> ProgramOutput {
    let mut check = Command::new("bash");
    check.args(["-n", "-c", text]);
    told(check).expect(0, &[]);
    let mut command = Command::new("bash");
    command.args(["--noprofile", "--norc", "-e", "-o", "pipefail", "-c", text]).current_dir(home);
    // The scripts split the program's words: its folder may have a blank, so it is found by its name.
    let folder = Path::new(IODYNO).parent().expect("a folder");
    let path = std::env::var("PATH").unwrap_or_default();
    command.env("IODYNO_PROGRAM", "iodyno").env("PATH", format!("{}:{path}", folder.display()));
    command.env("IODYNO_HISTORY", home.join("history.sqlite"));
    command.envs(variables.iter().copied());
    told(command)
}

fn by_scripts() -> Outcome {
    let home = scratch();
    let home = home.path();
    plan(home, &device("100us"));
    let summary = home.join("summary.md").display().to_string();
    let action = block(&tree("action.yml"), "run: |");
    let inputs = [
        ("IODYNO_PLAN", "plan.toml"),
        ("IODYNO_OPTIONS", ""),
        ("IODYNO_BASELINE", "iodyno-baseline.json"),
        ("IODYNO_SAVE", "iodyno-new.json"),
        ("IODYNO_TIMES", "3"),
        ("IODYNO_WORSE_THAN", "5"),
        ("GITHUB_STEP_SUMMARY", &summary),
    ];
    script(home, &action, &inputs).expect(0, &["is not there yet"]);
    assert!(std::fs::read_to_string(&summary)?.contains("plan.toml"));
    std::fs::rename(home.join("iodyno-new.json"), home.join("iodyno-baseline.json"))?;
    plan(home, &device("140us"));
    let template = tree("examples/ci/gitlab.yml");
    let words = block(&template, "script:");
    // One command, over two lines of a list.
    let command = words.replacen("- ", "", 1).split_whitespace().collect::<Vec<_>>().join(" ");
    let after = block(&template, "after_script:").replacen("- ", "", 1);
    let slower = script(home, &command, &inputs);
    assert!(slower.code() == 1 && slower.err.contains("is worse by"), "{slower}");
    script(home, after.trim(), &[]).expect(0, &["worse"]);
    Ok(())
}
