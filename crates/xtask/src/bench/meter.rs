//! The meters: processor time, wall time, peak memory and instructions of a program that is run to its end.
//!
//! Without `unsafe`: bash reads the children's usage to the millisecond, GNU time their memory, callgrind counts. What
//! is missing on this machine is an error that names it.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use super::CASE_LIMIT;
use crate::shell::{self, ProcessResult};

/// Seconds that a program, or one operation of it, took.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Spent {
    /// In user mode.
    pub user: f64,
    /// In the kernel on its behalf.
    pub system: f64,
    /// From start to end.
    pub wall: f64,
}

impl Spent {
    /// What remains once the cost of another run is taken off.
    pub fn less(self, other: Self) -> Self {
        Self {
            user: (self.user - other.user).max(0.0),
            system: (self.system - other.system).max(0.0),
            wall: (self.wall - other.wall).max(0.0),
        }
    }

    /// Processor time: user and system together.
    pub fn total(&self) -> f64 {
        self.user + self.system
    }

    /// The share of one of `count`.
    pub fn per(self, count: u64) -> Self {
        let count = count.max(1) as f64;
        Self { user: self.user / count, system: self.system / count, wall: self.wall / count }
    }
}

/// Several values of one figure: the one in the middle, and how far the others lie.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Spread {
    /// Half of the values lie below.
    pub median: f64,
    pub least: f64,
    pub most: f64,
}

impl Spread {
    /// Of at least one value; without any, all three are NaN.
    pub fn of(values: &[f64]) -> Self {
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        let (Some(&least), Some(&most)) = (sorted.first(), sorted.last()) else {
            return Self { median: f64::NAN, least: f64::NAN, most: f64::NAN };
        };
        let middle = sorted.len() / 2;
        let median =
            if sorted.len() % 2 == 1 { sorted[middle] } else { (sorted[middle - 1] + sorted[middle]) / 2.0 };
        Self { median, least, most }
    }

    /// The same in another unit.
    pub fn times(self, by: f64) -> Self {
        Self { median: self.median * by, least: self.least * by, most: self.most * by }
    }

    /// The median, and the range where it is one.
    pub fn shown(&self) -> (String, String) {
        let digits = if self.median.abs() < 10.0 { 2 } else { 1 };
        let range = match self.least == self.most {
            true => String::new(),
            false => format!("{:.digits$} … {:.digits$}", self.least, self.most),
        };
        (format!("{:.digits$}", self.median), range)
    }
}

/// How many processors there are and how busy they are: figures from a busy machine say so themselves.
pub fn machine() -> String {
    let processors = std::thread::available_parallelism().map_or(1, |count| count.get());
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let load = load.split(' ').next().unwrap_or("unknown");
    format!("{processors} processors, load {load} before the first run")
}

/// Processor and wall time of a program and its children.
pub fn spent(command: Command) -> Result<Spent, String> {
    told_and_spent(command).map(|(_, spent)| spent)
}

/// What it said, line by line, and what it and its children took.
pub fn told_and_spent(command: Command) -> Result<(Vec<String>, Spent), String> {
    let script = "TIMEFORMAT='spent %3U %3S %3R'; time \"$@\"";
    let mut bash = Command::new("bash");
    bash.args(["-c", script, "bash"]).arg(command.get_program()).args(command.get_args());
    let outcome = run(bash)?;
    let line = outcome.lines.iter().rev().find_map(|line| line.strip_prefix("spent "));
    let spent = line.and_then(read_spent).ok_or_else(|| "bash did not say what was spent".to_string())?;
    Ok((outcome.lines, spent))
}

fn read_spent(line: &str) -> Option<Spent> {
    let mut figures = line.split_whitespace().map(|figure| figure.parse::<f64>().ok());
    Some(Spent { user: figures.next()??, system: figures.next()??, wall: figures.next()?? })
}

/// Seconds from start to end, to the microsecond.
pub fn wall(mut command: Command) -> Result<f64, String> {
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let started = Instant::now();
    let status = command.status().map_err(|error| error.to_string())?;
    let seconds = started.elapsed().as_secs_f64();
    if status.success() { Ok(seconds) } else { Err(format!("it ended with {status}")) }
}

/// The most memory that was resident at once, in bytes.
pub fn peak_memory_bytes(command: Command) -> Result<u64, String> {
    let time = shell::find("time").ok_or("GNU time is not installed")?;
    let mut timed = Command::new(time);
    timed.args(["-f", "kibibytes %M"]).arg(command.get_program()).args(command.get_args());
    let outcome = run(timed)?;
    let line = outcome.lines.iter().rev().find_map(|line| line.strip_prefix("kibibytes "));
    let kibibytes = line.and_then(|figure| figure.trim().parse::<u64>().ok());
    kibibytes.map(|figure| figure * 1024).ok_or_else(|| "GNU time did not say how much".to_string())
}

/// Instructions that a program executed, by callgrind; its file goes to `folder`.
pub fn callgrind(command: Command, folder: &Path) -> Result<u64, String> {
    let valgrind = shell::find("valgrind").ok_or("valgrind is not installed")?;
    let mut traced = Command::new(valgrind);
    traced.arg("--tool=callgrind");
    traced.arg(format!("--callgrind-out-file={}", folder.join("callgrind.out").display()));
    traced.arg(command.get_program()).args(command.get_args());
    collected(&run(traced)?.lines).ok_or_else(|| "callgrind printed no count".to_string())
}

/// The figure of valgrind's closing `Collected : N`.
fn collected(lines: &[String]) -> Option<u64> {
    let line = lines.iter().rev().find(|line| line.starts_with("==") && line.contains("Collected :"))?;
    line.rsplit(':').next()?.trim().parse().ok()
}

fn run(command: Command) -> Result<ProcessResult, String> {
    let outcome = shell::run(command, None, CASE_LIMIT)?;
    match (outcome.success, outcome.timed_out) {
        (true, _) => Ok(outcome),
        (false, true) => Err("its time was up".to_string()),
        (false, false) => Err(complaint(&outcome)),
    }
}

/// The line that says `error`, or the last one.
fn complaint(outcome: &ProcessResult) -> String {
    let error = outcome.lines.iter().find(|line| line.contains("error"));
    error.map_or(outcome.last_words(), |line| line.trim()).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spread_has_a_middle() {
        assert_eq!(Spread::of(&[3.0, 1.0, 2.0]), Spread { median: 2.0, least: 1.0, most: 3.0 });
        assert_eq!(Spread::of(&[4.0, 1.0]).median, 2.5);
        assert!(Spread::of(&[]).median.is_nan());
        assert_eq!(Spread::of(&[0.0012]).times(1e3).shown(), ("1.20".to_string(), String::new()));
        assert_eq!(Spread::of(&[20.0, 30.0]).shown(), ("25.0".to_string(), "20.0 … 30.0".to_string()));
    }

    #[test]
    fn start_up_is_taken_off() {
        let long = Spent { user: 2.0, system: 1.0, wall: 4.0 };
        let short = Spent { user: 1.0, system: 2.0, wall: 1.0 };
        assert_eq!(long.less(short).per(3), Spent { user: 1.0 / 3.0, system: 0.0, wall: 1.0 });
    }

    #[test]
    fn valgrinds_count_is_read() {
        let lines = ["==7== Events    : Ir", "==7== Collected : 21034567", "==7== "].map(str::to_string);
        assert_eq!(collected(&lines), Some(21_034_567));
        assert_eq!(collected(&["Collected : x".to_string()]), None);
    }

    #[test]
    fn bash_tells_what_was_spent() {
        assert_eq!(read_spent("0.010 0.020 1.500"), Some(Spent { user: 0.01, system: 0.02, wall: 1.5 }));
        let mut command = Command::new("sh");
        command.args(["-c", "sleep 0.05"]);
        assert!(spent(command).expect("bash and sh are here").wall >= 0.05);
        assert!(spent(Command::new("false")).is_err());
    }
}
