//! `cargo xtask bench filebench`: processor time of an operation of three personalities, and of a C program whose threads
//! make the same calls and do nothing else (`bench/personality.c`), on a file system in memory.
//!
//! What start and end cost drops out as the difference of a long run and a short one. The bare loop is the least that
//! any tool can need here: an aim below it cannot be met by one that makes these calls. It refuses to pass or fail
//! anything.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::meter::{self, Spent, Spread};
use crate::shell;

/// Rounds of ours and theirs.
const ROUNDS: usize = 7;
/// Runs whose difference frees the cost of an operation from start and end, s.
const SHORT_S: u64 = 1;
const LONG_S: u64 = 4;
/// Where file systems in memory usually are.
const IN_MEMORY: &str = "/dev/shm";
const LOOP: &str = include_str!("../../bench/personality.c");

/// Personalities, and the most that an operation is to cost, µs: half of what the original took on such a machine.
const CASES: &[(&str, f64)] = &[("varmail", 7.0), ("webserver", 1.5), ("fileserver", 7.0)];

/// Where it happens; removed at the end.
struct Ground(PathBuf);

impl Drop for Ground {
    fn drop(&mut self) {
        // What stays is in memory, and its folder says whose it was.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

impl Ground {
    fn lay() -> Result<Self, String> {
        let folder = Path::new(IN_MEMORY).join(format!("iodyno-personality-{}", std::process::id()));
        std::fs::create_dir(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        Ok(Ground(folder))
    }

    fn compile(&self) -> Result<PathBuf, String> {
        shell::compile(LOOP, &self.0.join("personality"))
    }

    /// A folder without anything in it.
    fn empty(&self) -> Result<PathBuf, String> {
        let folder = self.0.join("set");
        let emptied = match std::fs::remove_dir_all(&folder) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error),
            _ => std::fs::create_dir(&folder),
        };
        emptied.map_err(|error| format!("{}: {error}", folder.display())).map(|()| folder)
    }
}

/// Measures everything and prints a table.
///
/// # Errors
/// What is missing to measure at all.
pub fn chore(binary: &Path) -> Result<bool, String> {
    let ground = Ground::lay()?;
    let program = ground.compile()?;
    println!("{}", meter::machine());
    println!(
        "| personality | ours, µs an operation | of it user | bare loop           | ours ÷ bare | aim   |        |"
    );
    println!(
        "|-------------|-----------------------|------------|---------------------|-------------|-------|--------|"
    );
    let mut all = true;
    for (name, most_us) in CASES {
        match measure(&ground, &program, binary, name) {
            Ok((ours, bare)) => print(name, &ours, &bare, *most_us),
            Err(why) => {
                all = false;
                println!("| {name:<11} | not measured: {why} |");
            }
        }
    }
    Ok(all)
}

fn measure(
    ground: &Ground,
    program: &Path,
    binary: &Path,
    name: &str,
) -> Result<(Vec<Spent>, Vec<f64>), String> {
    let (mut ours, mut bare) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let mut command = Command::new(program);
        command.arg(name).arg(ground.empty()?).arg(LONG_S.to_string());
        let (lines, _) = meter::told_and_spent(command)?;
        bare.push(of_loop(&lines)?);
        let run = |seconds: u64| {
            let mut command = Command::new(binary);
            let file = format!("{name}.f");
            command.args(["filebench", "-f", &file, "-D"]).arg(format!("dir={}", ground.empty()?.display()));
            command.args(["-D", &format!("runtime={seconds}")]);
            let (lines, spent) = meter::told_and_spent(command)?;
            Ok::<_, String>((operations(&lines)?, spent))
        };
        let (short, long) = (run(SHORT_S)?, run(LONG_S)?);
        ours.push(long.1.less(short.1).per(long.0.saturating_sub(short.0)));
    }
    Ok((ours, bare))
}

/// Seconds an operation of the bare loop.
fn of_loop(lines: &[String]) -> Result<f64, String> {
    let figures = lines.iter().find_map(|line| {
        let (count, seconds) = line.split_once(' ')?;
        Some((count.parse::<f64>().ok()?, seconds.parse::<f64>().ok()?))
    });
    match figures {
        Some((count, seconds)) if count > 0.0 => Ok(seconds / count),
        _ => Err("the bare loop did not say what it did".to_string()),
    }
}

/// What the summary counts.
fn operations(lines: &[String]) -> Result<u64, String> {
    let counted = lines.iter().find_map(|line| {
        let (_, summary) = line.split_once("IO Summary:")?;
        summary.split_whitespace().next()?.parse().ok()
    });
    counted.ok_or_else(|| "no summary".to_string())
}

fn print(name: &str, ours: &[Spent], bare: &[f64], most_us: f64) {
    let of = |values: Vec<f64>| Spread::of(&values).times(1e6);
    let total = of(ours.iter().map(Spent::total).collect());
    let user = of(ours.iter().map(|spent| spent.user).collect());
    let bare = of(bare.to_vec());
    let shown = |spread: Spread| {
        let (median, range) = spread.shown();
        format!("{median} ({range})")
    };
    let met = if total.median <= most_us { "met" } else { "missed" };
    println!(
        "| {name:<11} | {:<21} | {:>10.2} | {:<19} | {:>11.2} | ≤ {most_us:<3} | {met:<6} |",
        shown(total),
        user.median,
        shown(bare),
        total.median / bare.median,
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn summaries_and_loops_are_read() {
        let lines = ["x", "4.1: IO Summary: 275232 ops 45829.410 ops/s 7050/7051 rd/wr"].map(String::from);
        assert_eq!(operations(&lines), Ok(275_232));
        assert!(operations(&lines[..1]).is_err());
        assert_eq!(of_loop(&["200 0.5".to_string()]), Ok(0.0025));
        assert!(of_loop(&["none".to_string()]).is_err() && of_loop(&["0 0.5".to_string()]).is_err());
    }
}
