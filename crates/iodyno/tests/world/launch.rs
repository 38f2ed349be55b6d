//! Starting the program under Open MPI's launcher, and finding its ranks.

use std::path::Path;
use std::process::Command;

use testbed::{Need, Skip};

use crate::program::{IODYNO, ProgramOutput, dressed};

/// What every case needs.
pub const LAUNCHER: &[Need] = &[Need::Tool("mpirun"), Need::That(open_mpi)];

/// Whether the launcher is Open MPI's, whose options and variables are used here.
fn open_mpi() -> Result<(), Skip> {
    let told =
        Command::new("mpirun").arg("--version").output().map_err(|error| Skip::new(error.to_string()))?;
    match String::from_utf8_lossy(&told.stdout).contains("Open MPI") {
        true => Ok(()),
        false => Err(Skip::new("mpirun is not Open MPI's")),
    }
}

/// The program on so many ranks, in a directory.
pub fn ranks(count: u32, home: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new("mpirun");
    command.args(["--allow-run-as-root", "--oversubscribe", "-n", &count.to_string(), IODYNO]);
    let mut command = dressed(command, arguments);
    command.current_dir(home).env("OMPI_MCA_mpi_yield_when_idle", "1").env_remove("IODYNO_MPI");
    // Open MPI gives the first rank a terminal, on which it would paint.
    command.env("NO_COLOR", "1");
    let kept = Path::new(env!("CARGO_TARGET_TMPDIR"));
    testbed::sandbox::keep_sessions(&mut command, kept).expect("a place for sessions");
    command
}

/// The ranks that were told to be lost. Once one is gone the launcher ends the others, and kills those that a busy machine
/// keeps from ending by themselves within a second: the first rank may find more of them lost than the one.
pub fn lost(told: &ProgramOutput) -> Vec<u32> {
    let number = |word: &str| word.trim().parse().ok();
    let of = |line: &str| {
        let rest = line.strip_prefix("error: rank").or_else(|| line.strip_prefix("ERROR: rank"))?;
        let (ranks, rest) = rest.trim_start_matches('s').split_once(" on ")?;
        rest.contains(" lost").then(|| ranks.split(',').filter_map(number).collect())
    };
    told.err.lines().chain(told.out.lines()).find_map(of).unwrap_or_default()
}

/// The process of a rank that a launcher has started, once it is there.
pub fn pid_of(launcher: i32, rank: u32) -> Option<i32> {
    let tasks = std::fs::read_dir(format!("/proc/{launcher}/task")).ok()?.flatten();
    let children: String =
        tasks.filter_map(|task| std::fs::read_to_string(task.path().join("children")).ok()).collect();
    let mark = format!("OMPI_COMM_WORLD_RANK={rank}");
    children.split_whitespace().filter_map(|pid| pid.parse::<i32>().ok()).find(|pid| {
        let environment = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        environment.split(|byte| *byte == 0).any(|entry| entry == mark.as_bytes())
    })
}
