//! `cargo xtask bench`: what an I/O costs us, beside the aim and beside Debian's fio.
//!
//! Instructions come from callgrind, which the machine's mood does not touch; times come from rounds that alternate
//! ours and theirs, so that the mood touches both. It refuses to pass or fail anything: it prints figures and aims.

mod cases;
mod meter;

use cases::{CASES, Case, Ground, Measure};
use meter::{Spent, Spread};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::shell;

/// Operation counts whose difference frees a count of instructions from start-up and end.
const FEW: u64 = 20_000;
const MANY: u64 = 120_000;
/// Rounds of ours and theirs in a paired case.
const ROUNDS: usize = 5;
/// Runs of a tiny job whose median is the start-up time.
const START_UPS: usize = 21;
/// The cached file that both sides read.
const FILE_BYTES: u64 = 256 << 20;

/// Builds for release, lays the ground, runs every case (or those whose names contain an argument).
pub fn chore(root: &Path, filters: &[String]) -> Result<bool, String> {
    let build = shell::cargo().current_dir(root).args(["build", "--release"]).status();
    if !build.map_err(|error| format!("cannot run cargo: {error}"))?.success() {
        return Err("the release build failed: nothing to measure".to_string());
    }
    let bench = Bench { binary: root.join("target/release/iodyno"), ground: Ground::lay(root, FILE_BYTES)? };
    let wanted = |case: &&Case| filters.is_empty() || filters.iter().any(|filter| case.name.contains(filter));
    let chosen: Vec<&Case> = CASES.iter().filter(wanted).collect();
    if chosen.is_empty() {
        let names: Vec<&str> = CASES.iter().map(|case| case.name).collect();
        return Err(format!("no such case\n hint: the cases are {}", names.join(", ")));
    }
    let results: Vec<Result<String, String>> = chosen.iter().map(|case| bench.report(case)).collect();
    Ok(results.iter().all(Result::is_ok))
}

/// What every case needs: our binary, and where it may put things.
struct Bench {
    binary: PathBuf,
    ground: Ground,
}

impl Bench {
    fn report(&self, case: &Case) -> Result<String, String> {
        println!("{}  (aim: {})", case.name, case.aim);
        let result = self.measure(case);
        match &result {
            Ok(figures) => figures.lines().for_each(|line| println!("    {line}")),
            Err(reason) => println!("    not measured: {reason}"),
        }
        result
    }

    fn measure(&self, case: &Case) -> Result<String, String> {
        match case.measure {
            Measure::Instructions => self.instructions(case),
            Measure::Paired { operations } => self.paired(case, operations),
            Measure::StartUp => self.start_up(case),
        }
    }

    fn ours(&self, case: &Case, operations: u64) -> Result<Command, String> {
        let plan = self.ground.write_plan(case, operations)?;
        let mut command = Command::new(&self.binary);
        command.arg("run").arg(plan).arg("--json").arg(self.ground.folder.join("ours.json"));
        Ok(command)
    }

    fn instructions(&self, case: &Case) -> Result<String, String> {
        let few = meter::callgrind(self.ours(case, FEW)?, &self.ground.folder)?;
        let many = meter::callgrind(self.ours(case, MANY)?, &self.ground.folder)?;
        let per_io = many.saturating_sub(few) as f64 / (MANY - FEW) as f64;
        Ok(format!("{per_io:.1} instructions per I/O (callgrind, {MANY} less {FEW} operations)"))
    }

    fn paired(&self, case: &Case, operations: u64) -> Result<String, String> {
        let peer = case.peer.filter(|_| shell::find("fio").is_some());
        let Some(peer) = peer else {
            let ours = per_io(&|| self.ours(case, operations), &|| self.ours(case, 1), operations, ROUNDS)?;
            return Ok(format!("ours  {}\nfio   not installed: no ratio", describe(&ours)));
        };
        let theirs = |operations| Ok(peer(&self.ground, operations));
        let mut rounds = (Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            rounds.0.extend(per_io(&|| self.ours(case, operations), &|| self.ours(case, 1), operations, 1)?);
            rounds.1.extend(per_io(&|| theirs(operations), &|| theirs(1), operations, 1)?);
        }
        Ok(format!(
            "ours  {}\nfio   {}\n{}",
            describe(&rounds.0),
            describe(&rounds.1),
            ratios(&rounds.0, &rounds.1)
        ))
    }

    fn start_up(&self, case: &Case) -> Result<String, String> {
        let walls: Result<Vec<f64>, String> =
            (0..START_UPS).map(|_| meter::wall(self.ours(case, 1)?)).collect();
        let wall = Spread::of(&walls?);
        let memory = match meter::peak_memory_bytes(self.ours(case, 1)?) {
            Ok(bytes) => format!("{:.1} MB resident at most", bytes as f64 / 1e6),
            Err(reason) => format!("memory not measured: {reason}"),
        };
        Ok(format!("{} ms from start to end, {memory}", wall.scaled(1e3)))
    }
}

/// What one operation costs: a run of many less a run of one, divided, `rounds` times.
fn per_io(
    many: &dyn Fn() -> Result<Command, String>,
    one: &dyn Fn() -> Result<Command, String>,
    operations: u64,
    rounds: usize,
) -> Result<Vec<Spent>, String> {
    let round = |_| Ok(meter::spent(many()?)?.less(meter::spent(one()?)?).per(operations));
    (0..rounds).map(round).collect()
}

fn describe(rounds: &[Spent]) -> String {
    let spread =
        |figure: fn(&Spent) -> f64| Spread::of(&rounds.iter().map(figure).collect::<Vec<_>>()).scaled(1e9);
    format!(
        "per I/O: user {} ns, sys {} ns, wall {} ns",
        spread(|s| s.user),
        spread(|s| s.system),
        spread(|s| s.wall)
    )
}

/// Theirs over ours, round by round: above 1 we need less.
fn ratios(ours: &[Spent], theirs: &[Spent]) -> String {
    let ratio = |figure: fn(&Spent) -> f64| {
        let pairs = ours.iter().zip(theirs);
        Spread::of(&pairs.map(|(ours, theirs)| figure(theirs) / figure(ours)).collect::<Vec<_>>()).scaled(1.0)
    };
    format!(
        "ratio fio ÷ ours: wall {}, user {}, user + sys {}",
        ratio(|s| s.wall),
        ratio(|s| s.user),
        ratio(|s| s.user + s.system)
    )
}

/// No run of a case takes longer, even under valgrind on a busy machine.
const CASE_LIMIT: Duration = Duration::from_secs(300);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratios_compare_rounds_and_name_the_median() {
        let spent = |wall: f64| Spent { user: wall / 4.0, system: wall / 2.0, wall };
        let text = ratios(&[spent(1.0), spent(1.0), spent(2.0)], &[spent(1.5), spent(2.0), spent(2.0)]);
        assert!(text.contains("wall 1.50 [1.00 … 2.00]"), "{text}");
    }

    #[test]
    fn cases_are_told_apart() {
        let mut names: Vec<&str> = CASES.iter().map(|case| case.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), CASES.len());
    }
}
