//! What we add to the bare system calls: the same calls made by a C program that does nothing else (`bench/loop.c`).
//!
//! What is compared is the user time of an operation, in rounds of theirs and ours, on a file system in memory. The
//! kernel counts it by ticks, so a single round is coarse: the ratio of all rounds together stands beside the median of
//! the rounds. It refuses to give the loop work that a tool cannot do without, such as reading the clock.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::figure::BenchFigure;
use super::meter::{self, Spent};
use crate::shell;

/// Rounds of theirs and ours.
const ROUNDS: usize = 15;
/// Where file systems in memory usually are.
const IN_MEMORY: &str = "/dev/shm";
const LOOP: &str = include_str!("../../bench/loop.c");

/// Verbs that are measured one after the other, on what the one before left.
pub struct Loop {
    /// What the command line calls it.
    pub name: &'static str,
    /// The verbs, as the C program calls them.
    verbs: &'static [&'static str],
    operations: u64,
    /// The plan, with `{verb}`, `{path}`, `{bytes}` and `{operations}` to be filled in.
    plan: &'static str,
}

/// Every one.
pub const LOOPS: &[Loop] = &[
    Loop {
        name: "loop-write",
        verbs: &["write"],
        operations: 400_000,
        plan: include_str!("../../bench/loop-write.toml"),
    },
    Loop {
        name: "loop-items",
        verbs: &["create", "stat", "unlink"],
        operations: 400_000,
        plan: include_str!("../../bench/loop-items.toml"),
    },
];

/// Where it happens; removed at the end.
struct Ground {
    folder: PathBuf,
}

impl Ground {
    fn lay() -> Result<Self, String> {
        let name = format!("iodyno-bench-{}", std::process::id());
        let memory = Path::new(IN_MEMORY).join(&name);
        let folder = match std::fs::create_dir(&memory) {
            Ok(()) => memory,
            // On storage, too, it is user time that is compared.
            Err(_) => std::env::temp_dir().join(name),
        };
        let ground = Ground { folder };
        for side in ["one", "many"] {
            std::fs::create_dir_all(ground.folder.join(side))
                .map_err(|error| format!("{}: {error}", ground.folder.display()))?;
        }
        Ok(ground)
    }

    fn compile(&self) -> Result<PathBuf, String> {
        shell::compile(LOOP, &self.folder.join("loop"))
    }

    /// What a verb works on: a file in the side's folder, or the folder.
    fn path(&self, verb: &str, side: &str) -> PathBuf {
        let folder = self.folder.join(side);
        if verb == "write" { folder.join("data") } else { folder }
    }
}

impl Drop for Ground {
    fn drop(&mut self) {
        // What stays is in memory, and its folder says whose it was.
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// One verb's rounds.
struct Rounds {
    verb: &'static str,
    theirs: Vec<Spent>,
    ours: Vec<Spent>,
}

/// Measures a loop: figures for each verb.
pub fn measure(case: &Loop, binary: &Path) -> Result<Vec<(String, Vec<BenchFigure>)>, String> {
    let ground = Ground::lay()?;
    let program = ground.compile()?;
    let rounds = |verb: &&'static str| Rounds { verb, theirs: Vec::new(), ours: Vec::new() };
    let mut all: Vec<Rounds> = case.verbs.iter().map(rounds).collect();
    for _ in 0..ROUNDS {
        for rounds in &mut all {
            rounds.theirs.push(per_operation(&ground, case, rounds.verb, &|path, operations| {
                let mut command = Command::new(&program);
                command.arg(rounds.verb).arg(path).arg(operations.to_string());
                Ok(command)
            })?);
        }
        for rounds in &mut all {
            rounds.ours.push(per_operation(&ground, case, rounds.verb, &|path, operations| {
                let plan = ground.folder.join("plan.toml");
                std::fs::write(&plan, filled(case.plan, rounds.verb, path, operations))
                    .map_err(|error| format!("{}: {error}", plan.display()))?;
                let mut command = Command::new(binary);
                command.arg("run").arg(plan);
                Ok(command)
            })?);
        }
    }
    let figures =
        |rounds: Rounds| (rounds.verb.to_string(), BenchFigure::of_loop(&rounds.ours, &rounds.theirs));
    Ok(all.into_iter().map(figures).collect())
}

fn filled(plan: &str, verb: &str, path: &Path, operations: u64) -> String {
    plan.replace("{verb}", verb)
        .replace("{path}", &path.display().to_string())
        .replace("{bytes}", &(operations * 4096).to_string())
        .replace("{operations}", &operations.to_string())
}

/// What one operation costs: a run of many less a run of one, divided. A file that was written is removed again.
fn per_operation(
    ground: &Ground,
    case: &Loop,
    verb: &str,
    run: &dyn Fn(&Path, u64) -> Result<Command, String>,
) -> Result<Spent, String> {
    let spent = |side: &str, operations| {
        let path = ground.path(verb, side);
        let spent = meter::spent(run(&path, operations)?);
        if path.is_file() {
            std::fs::remove_file(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        }
        spent
    };
    let one = spent("one", 1)?;
    Ok(spent("many", case.operations)?.less(one).per(case.operations))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_plan_is_toml_once_filled() {
        for case in LOOPS {
            let filled = filled(case.plan, case.verbs[0], Path::new("/dev/shm/x"), 7);
            assert!(filled.parse::<toml::Table>().is_ok(), "{}: {filled}", case.name);
            assert!(!filled.contains("{operations}") && !filled.contains("{path}"), "{}", case.name);
        }
    }
}
