//! The C programs that ours is measured against do what they are measured for.
//!
//! Where there is no C compiler, each is skipped, said so, and counted.

use std::path::{Path, PathBuf};
use std::process::Command;

use testbed::program::Program;
use testbed::{Case, Need, Outcome};

fn main() -> std::process::ExitCode {
    let compiler = &[Need::Tool("cc")];
    let mut cases = vec![Case::new("the_loop_makes_and_removes_items", compiler, makes_and_removes)];
    for name in ["varmail", "webserver"] {
        let title = format!("the_loop_runs_and_counts::{name}");
        cases.push(Case::new(title, compiler, move || runs_and_counts(name)));
    }
    testbed::run(cases)
}

/// Compiles a source of `bench/` as the chore does.
fn compile(name: &str, folder: &Path) -> Result<PathBuf, String> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("bench").join(name);
    let program = folder.join("loop");
    let mut command = Command::new("cc");
    command.args(["-O2", "-pthread", "-o"]).arg(&program).arg(source).arg("-lm");
    let said = Program::new(command).outcome()?;
    if said.code() == 0 { Ok(program) } else { Err(said.err) }
}

fn makes_and_removes() -> Outcome {
    let folder = tempfile::tempdir()?;
    let program = compile("loop.c", folder.path())?;
    let items = folder.path().join("items");
    std::fs::create_dir(&items)?;
    for (verb, left) in [("create", 3), ("stat", 3), ("unlink", 0)] {
        let mut command = Command::new(&program);
        command.arg(verb).arg(&items).arg("3");
        let said = Program::new(command).outcome()?;
        assert_eq!(said.code(), 0, "{verb}: {}", said.err);
        assert_eq!(std::fs::read_dir(&items)?.count(), left, "{verb}");
    }
    Ok(())
}

/// It says how many operations it has done, and the processor time of them, s.
fn runs_and_counts(name: &str) -> Outcome {
    let folder = tempfile::tempdir()?;
    let program = compile("personality.c", folder.path())?;
    let set = folder.path().join("set");
    std::fs::create_dir(&set)?;
    let mut command = Command::new(program);
    command.arg(name).arg(&set).arg("1");
    let said = Program::new(command).outcome()?;
    assert_eq!(said.code(), 0, "{}", said.err);
    let (count, seconds) = said.out.trim().split_once(' ').ok_or("two figures were expected")?;
    assert!(count.parse::<f64>()? > 0.0 && seconds.parse::<f64>()? > 0.0, "{}", said.out);
    Ok(())
}
