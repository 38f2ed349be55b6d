//! fio's job files as plans: every `golden/fio/*.fio` is lowered and its plan compared with the `.plan` beside it.
//!
//! A first line `# fio ARGUMENTS` makes it a command line; files that must be there already are named in lines
//! `# there: PATH KIND BYTES`. Job files that are wrong have an `.errors` beside them instead. `IODYNO_BLESS=1` rewrites
//! what is expected. Nothing is run.

mod mangled;
mod world;

use std::path::{Path, PathBuf};

use iodyno_dialect::fio::cli;
use iodyno_dialect::fio::lower::{self, Context, LoweredJobs};
use iodyno_model::Diagnostic;
use world::World;

/// What comes of a case: a plan, or what is wrong with it.
fn lowered(arguments: &[String], world: &mut World) -> Result<LoweredJobs, Vec<Diagnostic>> {
    let cli = cli::parse(arguments, world)?;
    let context = Context {
        name: cli.name,
        style: cli.command.style,
        global: cli.global,
        readonly: cli.command.readonly,
        ranks: 1,
    };
    lower::plan(&cli.jobs, context, world)
}

fn told(diagnostics: &[Diagnostic]) -> String {
    diagnostics.iter().map(|diagnostic| format!("{diagnostic}\n")).collect()
}

/// The arguments of a case: those in its first line, or the file itself.
fn arguments(name: &str, text: &str) -> Vec<String> {
    match text.lines().next().and_then(|line| line.strip_prefix("# fio ")) {
        Some(line) => world::words(line),
        None => vec![name.into()],
    }
}

fn check(path: &Path, failures: &mut Vec<String>) {
    let name = path.file_name().unwrap().to_str().unwrap();
    let text = std::fs::read_to_string(path).unwrap();
    let mut world = World::of(name, &text);
    let (ending, found) = match lowered(&arguments(name, &text), &mut world) {
        Ok(lowered) => ("plan", told(&lowered.notes) + &iodyno_report::plan::print(&lowered.plan)),
        Err(wrong) => ("errors", told(&wrong)),
    };
    let beside = path.with_extension(ending);
    if std::env::var_os("IODYNO_BLESS").is_some() {
        for old in ["plan", "errors"] {
            let _ = std::fs::remove_file(path.with_extension(old));
        }
        std::fs::write(&beside, &found).unwrap();
    }
    if std::fs::read_to_string(&beside).ok().as_deref() != Some(&found) {
        failures.push(format!("{name}: differs from its golden file; IODYNO_BLESS=1 rewrites it:\n{found}"));
    }
}

fn cases() -> Vec<PathBuf> {
    let directory = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../golden/fio");
    let mut paths: Vec<_> =
        std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "fio"));
    paths.sort();
    paths
}

#[test]
fn golden_job_files_become_their_plans() {
    let cases = cases();
    assert!(cases.len() >= 50, "only {} job files", cases.len());
    let mut failures = Vec::new();
    cases.iter().for_each(|path| check(path, &mut failures));
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn plans_survive_their_own_serialisation() {
    for path in cases() {
        let text = std::fs::read_to_string(&path).unwrap();
        let name = path.file_name().unwrap().to_str().unwrap();
        let Ok(lowered) = lowered(&arguments(name, &text), &mut World::of(name, &text)) else { continue };
        let stored = serde_json::to_string(&lowered.plan).unwrap();
        assert_eq!(serde_json::from_str::<iodyno_model::Plan>(&stored).unwrap(), lowered.plan, "{name}");
    }
}
