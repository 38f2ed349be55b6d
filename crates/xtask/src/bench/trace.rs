//! `cargo xtask bench trace`: the trace format on requests of the shape of the MSR Cambridge traces: records a second
//! written and read on one processor, counted instructions and bytes of a record, and memory.
//!
//! What making the requests costs is measured alone and taken off.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::meter::{self, Spread};
use crate::shell;

/// Records of a timed run.
const RECORDS: u64 = 10_000_000;
/// Records of two counted runs, whose difference frees a record's instructions from start and end.
const FEW: u64 = 200_000;
const MANY: u64 = 600_000;
const ROUNDS: usize = 5;

/// The aims: records a second at least, bytes of a record at most.
const AIM_RATE: f64 = 5e6;
const AIM_BYTES: f64 = 10.0;

struct FormatBench {
    program: PathBuf,
    folder: PathBuf,
}

impl Drop for FormatBench {
    fn drop(&mut self) {
        // What stays is in the build's folder.
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// Measures and prints a table.
///
/// # Errors
/// What cannot be built or run.
pub fn chore(root: &Path) -> Result<bool, String> {
    let build = ["build", "--release", "-p", "iodyno-trace", "--example", "format"];
    let built = shell::cargo().current_dir(root).args(build).status();
    if !built.map_err(|error| format!("cannot run cargo: {error}"))?.success() {
        return Err("the release build failed: nothing to measure".to_string());
    }
    let folder = root.join(format!("target/bench-trace-{}", std::process::id()));
    std::fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let bench = FormatBench { program: root.join("target/release/examples/format"), folder };
    println!("{}, {RECORDS} records, {ROUNDS} rounds", meter::machine());
    let mut sides = (Vec::new(), Vec::new());
    let mut bytes = 0.0;
    for _ in 0..ROUNDS {
        let made = meter::spent(bench.run(&["make", &RECORDS.to_string()]))?;
        let (path, lines, written) = bench.write(RECORDS)?;
        let read = meter::spent(bench.run(&["read", &path]))?;
        sides.0.push(RECORDS as f64 / written.less(made).total() / 1e6);
        sides.1.push(RECORDS as f64 / read.total() / 1e6);
        bytes = bytes_of(&lines)? / RECORDS as f64;
    }
    println!("| figure                            | median | range           | aim    |        |");
    println!("|-----------------------------------|--------|-----------------|--------|--------|");
    for (name, rates) in [("written, million records/s", &sides.0), ("read, million records/s", &sides.1)] {
        let spread = Spread::of(rates);
        row(name, spread.shown(), &format!("≥ {:.0}", AIM_RATE / 1e6), Some(spread.median * 1e6 >= AIM_RATE));
    }
    row("bytes of a record", (format!("{bytes:.2}"), String::new()), "≤ 10", Some(bytes <= AIM_BYTES));
    for (name, counted) in
        [("written, instructions", bench.counted("write")), ("read, instructions", bench.counted("read"))]
    {
        let shown =
            counted.map_or_else(|why| (why, String::new()), |count| (format!("{count:.0}"), String::new()));
        row(name, shown, "", None);
    }
    let (path, _, _) = bench.write(RECORDS)?;
    let memory = meter::peak_memory_bytes(bench.run(&["read", &path]));
    let shown = memory.map_or_else(|why| why, |bytes| format!("{:.1}", bytes as f64 / 1e6));
    row("read, maximum resident memory, MB", (shown, String::new()), "", None);
    Ok(true)
}

fn row(name: &str, (value, range): (String, String), aim: &str, is_met: Option<bool>) {
    let met = is_met.map_or("", |met| if met { "met" } else { "missed" });
    println!("| {name:<33} | {value:<6} | {range:<15} | {aim:<6} | {met:<6} |");
}

impl FormatBench {
    fn run(&self, words: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        command.args(words);
        command
    }

    fn write(&self, records: u64) -> Result<(String, Vec<String>, meter::Spent), String> {
        let path = self.new_file()?;
        let (lines, spent) = meter::told_and_spent(self.run(&["write", &records.to_string(), &path]))?;
        Ok((path, lines, spent))
    }

    /// The name of the file that the next run makes.
    fn new_file(&self) -> Result<String, String> {
        let path = self.folder.join("trace.iot");
        match std::fs::remove_file(&path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                Err(format!("{}: {error}", path.display()))
            }
            _ => Ok(path.display().to_string()),
        }
    }

    /// Instructions of a record.
    fn counted(&self, what: &str) -> Result<f64, String> {
        let count = |records: u64| -> Result<u64, String> {
            if what == "write" {
                let path = self.new_file()?;
                let written =
                    meter::callgrind(self.run(&["write", &records.to_string(), &path]), &self.folder)?;
                let made = meter::callgrind(self.run(&["make", &records.to_string()]), &self.folder)?;
                return Ok(written.saturating_sub(made));
            }
            let (path, _, _) = self.write(records)?;
            meter::callgrind(self.run(&["read", &path]), &self.folder)
        };
        Ok(count(MANY)?.saturating_sub(count(FEW)?) as f64 / (MANY - FEW) as f64)
    }
}

fn bytes_of(lines: &[String]) -> Result<f64, String> {
    let told = lines.iter().find_map(|line| line.split_once(" bytes "));
    let bytes = told.and_then(|(_, bytes)| bytes.trim().parse().ok());
    bytes.ok_or_else(|| "the program did not say how large the file is".to_string())
}
