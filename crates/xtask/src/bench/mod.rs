//! `cargo xtask bench [CASE … | net | filebench | warp | replay | trace | build]`: what an I/O costs us, beside the aim and beside
//! Debian's fio.
//!
//! Instructions come from callgrind, which the machine's mood does not touch; times come from rounds that alternate
//! ours and theirs, so that the mood touches both. What is compared is the processor time of an I/O (user + system):
//! these jobs wait for nothing, so it is what the wall clock would show on an idle machine. It refuses to pass or
//! fail anything: it prints figures, their spread, and whether the aims were met.

mod build;
mod cases;
mod figure;
mod loops;
mod meter;
mod net;
mod personalities;
mod replay;
mod trace;
mod warp;

use cases::{Aim, CASES, Case, Ground, Measure};
use figure::BenchFigure;
use loops::LOOPS;
use meter::{Spent, Spread};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::shell;

/// Operation counts whose difference frees a count of instructions from start-up and end.
const FEW: u64 = 20_000;
const MANY: u64 = 320_000;
/// Rounds of ours and theirs in a paired case.
const ROUNDS: usize = 9;
/// Runs of a tiny job whose median is the start-up time.
const START_UPS: usize = 41;
/// The cached file that both sides read, unless `--file-mib=N` says otherwise. The larger it is, the more of an I/O is
/// the kernel's copying from memory, which is the same for both.
const FILE_MIB: u64 = 256;
/// No run of a case takes longer, even under valgrind on a busy machine.
const CASE_LIMIT: Duration = Duration::from_secs(300);

/// Builds for release, lays the ground, runs every case (or those whose names contain an argument).
pub fn chore(root: &Path, arguments: &[String]) -> Result<bool, String> {
    let (options, filters): (Vec<&String>, Vec<&String>) =
        arguments.iter().partition(|argument| argument.starts_with("--"));
    let file_bytes = file_mib(&options)? << 20;
    if filters.len() == 1 && filters[0] == "build" {
        return build::chore(root);
    }
    if filters.len() == 1 && filters[0] == "trace" {
        return trace::chore(root);
    }
    let build = shell::cargo().current_dir(root).args(["build", "--release"]).status();
    if !build.map_err(|error| format!("cannot run cargo: {error}"))?.success() {
        return Err("the release build failed: nothing to measure".to_string());
    }
    if filters.len() == 1 && filters[0] == "net" {
        return net::chore(&root.join("target/release/iodyno"));
    }
    if filters.len() == 1 && filters[0] == "warp" {
        return warp::chore(root, &root.join("target/release/iodyno"));
    }
    if filters.len() == 1 && filters[0] == "filebench" {
        return personalities::chore(&root.join("target/release/iodyno"));
    }
    if filters.len() == 1 && filters[0] == "replay" {
        let folder = root.join("target/bench-replay");
        std::fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        let measured = replay::chore(&root.join("target/release/iodyno"), &folder);
        _ = std::fs::remove_dir_all(&folder);
        return measured;
    }
    let wanted =
        |case: &&Case| filters.is_empty() || filters.iter().any(|filter| case.name.contains(filter.as_str()));
    let chosen: Vec<&Case> = CASES.iter().filter(wanted).collect();
    let wanted_loop = |case: &&loops::Loop| {
        filters.is_empty() || filters.iter().any(|filter| case.name.contains(filter.as_str()))
    };
    let loops: Vec<&loops::Loop> = LOOPS.iter().filter(wanted_loop).collect();
    if chosen.is_empty() && loops.is_empty() {
        let names = CASES.iter().map(|case| case.name).chain(LOOPS.iter().map(|case| case.name));
        let names: Vec<&str> = names.collect();
        return Err(format!("no such case\n hint: the cases are {}", names.join(", ")));
    }
    let bench = Bench { binary: root.join("target/release/iodyno"), ground: Ground::lay(root, file_bytes)? };
    println!("{}, file of {} MiB", meter::machine(), file_bytes >> 20);
    println!("{}", figure::HEAD);
    // Every case is measured, also after one that missed its aim.
    let mut met: Vec<bool> = chosen.iter().map(|case| bench.report(case)).collect();
    met.extend(loops.iter().map(|case| bench.report_loop(case)));
    Ok(!met.contains(&false))
}

fn file_mib(options: &[&String]) -> Result<u64, String> {
    let refuse = |option: &str| format!("{option}: expected --file-mib=N, N from 1 to 65536");
    options.iter().try_fold(FILE_MIB, |_, option| {
        let mib = option.strip_prefix("--file-mib=").and_then(|number| number.parse().ok());
        mib.filter(|mib| (1..=65536).contains(mib)).ok_or_else(|| refuse(option))
    })
}

/// What every case needs: our binary, and where it may put things.
struct Bench {
    binary: PathBuf,
    ground: Ground,
}

impl Bench {
    fn report(&self, case: &Case) -> bool {
        let result = self.measure(case);
        match &result {
            Ok(figures) => figures.iter().for_each(|figure| println!("{}", figure.row(case.name, case.aims))),
            Err(reason) => println!("{:<17} not measured: {reason}", case.name),
        }
        result.is_ok()
    }

    fn report_loop(&self, case: &loops::Loop) -> bool {
        match loops::measure(case, &self.binary) {
            Ok(verbs) => {
                for (verb, figures) in &verbs {
                    let name = format!("loop-{verb}");
                    figures
                        .iter()
                        .for_each(|figure| println!("{}", figure.row(&name, &[Aim::TimesLoop(1.1)])));
                }
                true
            }
            Err(reason) => {
                println!("{:<17} not measured: {reason}", case.name);
                false
            }
        }
    }

    fn measure(&self, case: &Case) -> Result<Vec<BenchFigure>, String> {
        match case.measure {
            Measure::Instructions => self.instructions(case),
            Measure::Paired { operations } => self.paired(case, operations),
            Measure::StartUp => self.start_up(case),
        }
    }

    fn ours(&self, case: &Case, operations: u64) -> Result<Command, String> {
        let plan = self.ground.write_plan(case, operations)?;
        let mut command = Command::new(&self.binary);
        command.env("IODYNO_HISTORY", "off");
        command.arg("run").arg(plan);
        Ok(command)
    }

    fn instructions(&self, case: &Case) -> Result<Vec<BenchFigure>, String> {
        let few = meter::callgrind(self.ours(case, FEW)?, &self.ground.folder)?;
        let many = meter::callgrind(self.ours(case, MANY)?, &self.ground.folder)?;
        let per_io = many.saturating_sub(few) as f64 / (MANY - FEW) as f64;
        Ok(vec![BenchFigure::instructions(per_io)])
    }

    fn paired(&self, case: &Case, operations: u64) -> Result<Vec<BenchFigure>, String> {
        let ours = |operations| self.ours(case, operations);
        let Some(peer) = case.peer.filter(|_| shell::find("fio").is_some()) else {
            let rounds: Result<Vec<Spent>, String> = (0..ROUNDS).map(|_| per_io(&ours, operations)).collect();
            return Ok(BenchFigure::of_ours(&rounds?));
        };
        let theirs = |operations| Ok(peer(&self.ground, operations));
        let mut rounds = (Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            rounds.0.push(per_io(&ours, operations)?);
            rounds.1.push(per_io(&theirs, operations)?);
        }
        // The last run of a round is that of many operations.
        match self.ground.peers_operations() {
            Some(done) if done == operations => Ok(BenchFigure::of_both(&rounds.0, &rounds.1)),
            done => Err(format!("fio did {done:?} operations instead of {operations}")),
        }
    }

    fn start_up(&self, case: &Case) -> Result<Vec<BenchFigure>, String> {
        let walls: Result<Vec<f64>, String> =
            (0..START_UPS).map(|_| meter::wall(self.ours(case, 1)?)).collect();
        let bytes = meter::peak_memory_bytes(self.ours(case, 1)?)?;
        Ok(vec![BenchFigure::start(Spread::of(&walls?)), BenchFigure::resident(bytes)])
    }
}

/// What one operation costs: a run of many less a run of one, divided.
fn per_io(run: &dyn Fn(u64) -> Result<Command, String>, operations: u64) -> Result<Spent, String> {
    let one = meter::spent(run(1)?)?;
    Ok(meter::spent(run(operations)?)?.less(one).per(operations))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_may_be_smaller() {
        let size = |option: &str| file_mib(&[&option.to_string()]);
        assert_eq!((file_mib(&[]), size("--file-mib=16")), (Ok(256), Ok(16)));
        assert!(size("--file-mib=0").is_err() && size("--fil=16").is_err());
    }

    #[test]
    fn cases_are_told_apart() {
        let mut names: Vec<&str> = CASES.iter().map(|case| case.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), CASES.len());
    }
}
