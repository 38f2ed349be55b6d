//! Replay: as fast as possible beside a pattern on the same engine, and at recorded times beside fio on the same log.
//!
//! The log is fio's, of 4 KiB reads, made here and imported by our own program. fio's lateness is taken from its latency
//! log, which tells times in ms: recorded and logged time are compared line by line.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};
use std::process::Command;

use super::meter::{self, Spread};
use crate::shell;

/// Operations of the run as fast as possible, and of the one at recorded times: ten seconds at 100,000 a second.
const FAST: u64 = 10_000_000;
const TIMED: u64 = 1_000_000;
const APART_US: u64 = 10;
/// Two counted runs, whose difference frees an operation's instructions from start and end.
const FEW: u64 = 100_000;
const MANY: u64 = 500_000;
/// On ranges rather than on names: the log's one file is the target.
const ON: [&str; 4] = ["--engine", "null", "--map", "nowhere=nowhere"];
/// Rounds of the comparison with a pattern.
const ROUNDS: usize = 3;
/// The replay's rate over the pattern's, at least; lateness, µs, and memory, MiB, at most.
const RATE_AIM: f64 = 0.8;
const LATE_AIM_US: f64 = 50.0;
const MEMORY_AIM_MIB: f64 = 64.0;

/// Measures and prints; whether all could be measured.
pub fn chore(binary: &Path, folder: &Path) -> Result<bool, String> {
    println!("{}", meter::machine());
    let bench = ReplayBench { binary: binary.into(), folder: folder.into() };
    bench.fast()?;
    bench.timed()?;
    Ok(true)
}

struct ReplayBench {
    binary: PathBuf,
    folder: PathBuf,
}

impl ReplayBench {
    fn ours(&self, words: &[&str]) -> Command {
        let mut command = Command::new(&self.binary);
        command.args(words);
        command
    }

    /// A log of so many reads, and the trace that is made of it.
    fn log(&self, operations: u64) -> Result<(PathBuf, PathBuf), String> {
        let (log, trace) = (self.folder.join("bench.log"), self.folder.join("bench.iot"));
        let write = || -> std::io::Result<()> {
            let mut file = BufWriter::new(File::create(&log)?);
            writeln!(file, "fio version 3 iolog\n0 nowhere add\n0 nowhere open")?;
            for number in 0..operations {
                let block = number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 38;
                writeln!(file, "{} nowhere read {} 4096", number * APART_US, block * 4096)?;
            }
            file.flush()
        };
        write().map_err(|error| format!("{}: {error}", log.display()))?;
        let (from, to) = (log.display().to_string(), trace.display().to_string());
        meter::spent(self.ours(&["trace", "import", &from, "-o", &to, "--force"]))?;
        Ok((log, trace))
    }

    /// As fast as possible, beside the plan of the case null-depth32.
    fn fast(&self) -> Result<(), String> {
        let (log, trace) = self.log(FAST)?;
        fs::remove_file(log).map_err(|error| error.to_string())?;
        let (trace, plan) = (trace.display().to_string(), self.pattern(FAST)?);
        let replay = fast_words(&trace);
        let (mut rates, mut replays, mut patterns) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            let pattern = self.rate(&["run", &plan, "--no-save", "--quiet"])?;
            let replayed = self.rate(&replay)?;
            rates.push(replayed / pattern);
            replays.push(replayed);
            patterns.push(pattern);
        }
        let shown = |values: &[f64]| Spread::of(values).median / 1e6;
        println!("replay-fast: {:.2} M IOPS, pattern {:.2} M IOPS", shown(&replays), shown(&patterns));
        let ratio = Spread::of(&rates).median;
        println!(
            "  of the pattern's rate: {ratio:.2} (aim: at least {RATE_AIM}){}",
            missed(ratio >= RATE_AIM)
        );
        let mib = meter::peak_memory_bytes(self.ours(&replay))? as f64 / f64::from(1 << 20);
        println!("  memory: {mib:.1} MiB (aim: at most {MEMORY_AIM_MIB}){}", missed(mib <= MEMORY_AIM_MIB));
        let counted = |few: Command, many: Command| -> Result<f64, String> {
            let (few, many) = (meter::callgrind(few, &self.folder)?, meter::callgrind(many, &self.folder)?);
            Ok(many.saturating_sub(few) as f64 / (MANY - FEW) as f64)
        };
        let pattern =
            |count| self.pattern(count).map(|plan| self.ours(&["run", &plan, "--no-save", "--quiet"]));
        let part = |count: u64| -> Result<Command, String> {
            let to = self.folder.join(format!("part-{count}.iot")).display().to_string();
            let range = format!("0..{count}");
            meter::spent(self.ours(&["trace", "cut", &trace, "--records", &range, "-o", &to, "--force"]))?;
            Ok(self.ours(&fast_words(&to)))
        };
        let (replayed, drawn) = (counted(part(FEW)?, part(MANY)?)?, counted(pattern(FEW)?, pattern(MANY)?)?);
        println!(
            "  instructions: {replayed:.0} an operation with two readings of the trace, pattern {drawn:.0}"
        );
        Ok(())
    }

    /// The plan of the case null-depth32 for so many operations.
    fn pattern(&self, operations: u64) -> Result<String, String> {
        let plan = self.folder.join(format!("pattern-{operations}.toml"));
        let text =
            include_str!("../../bench/null-depth32.toml").replace("{operations}", &operations.to_string());
        fs::write(&plan, text).map_err(|error| error.to_string())?;
        Ok(plan.display().to_string())
    }

    /// Operations per second of a run, from its record.
    fn rate(&self, words: &[&str]) -> Result<f64, String> {
        let record = self.record(words)?;
        let per_second = |line: &serde_json::Value| line["operations_per_second"].as_f64();
        per_second(&record["phases"][0]["jobs"][0]["lines"][0]).ok_or_else(|| "the record has no rate".into())
    }

    fn record(&self, words: &[&str]) -> Result<serde_json::Value, String> {
        let path = self.folder.join("record.json");
        _ = fs::remove_file(&path);
        let mut command = self.ours(words);
        command.arg("--json").arg(&path);
        meter::spent(command)?;
        let text = fs::read_to_string(&path).map_err(|error| error.to_string())?;
        serde_json::from_str(&text).map_err(|error| error.to_string())
    }

    /// At recorded times, beside fio.
    fn timed(&self) -> Result<(), String> {
        let (log, trace) = self.log(TIMED)?;
        let trace = trace.display().to_string();
        let words = [&["replay", &trace, "--no-save", "--depth", "32"][..], &ON].concat();
        let output = shell::run(self.ours(&words), None, super::CASE_LIMIT)?;
        let certificate = |line: &&String| {
            ["replay ", "lateness ", "100.00 %"].iter().any(|word| line.trim_start().starts_with(word))
        };
        let mut told = String::new();
        output.lines.iter().filter(certificate).for_each(|line| _ = writeln!(told, "  {}", line.trim()));
        println!(
            "replay-original, 100,000 a second (aim: p99 at most {LATE_AIM_US} us):\n{}",
            told.trim_end()
        );
        let mib = |command| meter::peak_memory_bytes(command).map(|bytes| bytes as f64 / f64::from(1 << 20));
        let ours = mib(self.ours(&words))?;
        if shell::find("fio").is_none() {
            println!("  memory {ours:.1} MiB; fio is not installed");
            return Ok(());
        }
        let theirs = mib(self.fio(&log))?;
        println!("  memory {ours:.1} MiB, fio {theirs:.1} MiB{}", missed(ours <= theirs.min(MEMORY_AIM_MIB)));
        let late = self.fio_lateness_ms()?;
        println!("  fio: p99 {late} ms late");
        Ok(())
    }

    fn fio(&self, log: &Path) -> Command {
        let mut fio = Command::new("fio");
        fio.args(["--name=bench", "--thread", "--ioengine=null", "--size=1g", "--iodepth=32"]);
        fio.arg(format!("--read_iolog={}", log.display()));
        fio.arg(format!("--output={}", self.folder.join("fio.out").display()));
        fio.arg(format!("--write_lat_log={}", self.folder.join("fio").display())).arg("--log_offset=0");
        fio
    }

    /// How late fio was at its 99th percentile, by its own log of times in ms.
    fn fio_lateness_ms(&self) -> Result<u64, String> {
        let path = self.folder.join("fio_clat.1.log");
        let text = fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        let at = |line: &str| line.split(',').next().and_then(|word| word.trim().parse::<u64>().ok());
        let mut late: Vec<u64> = (0u64..)
            .zip(text.lines())
            .filter_map(|(number, line)| Some(at(line)?.saturating_sub(number * APART_US / 1000)))
            .collect();
        late.sort_unstable();
        late.get(late.len() * 99 / 100).copied().ok_or_else(|| "fio wrote no times".into())
    }
}

/// A replay as fast as possible.
fn fast_words(trace: &str) -> Vec<&str> {
    [&["replay", trace, "--mode", "fast", "--depth", "32", "--no-save", "--quiet"][..], &ON].concat()
}

fn missed(met: bool) -> &'static str {
    if met { "" } else { " **missed**" }
}
