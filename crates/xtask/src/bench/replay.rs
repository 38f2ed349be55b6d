//! Replay: as fast as possible beside patterns on the same engine, and at recorded times beside fio on the same log.
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

/// What a replay as fast as possible is measured on: a log, and the pattern that is most like it.
struct LoadShape {
    name: &'static str,
    files: &'static [&'static str],
    /// The n-th operation: its file by position, whether it reads, its block of 4 KiB, its bytes.
    operation: fn(u64) -> (usize, bool, u64, u64),
    plan: &'static str,
    /// Of a hundred operations of the plan.
    reads_percent: u64,
    /// The replay's rate over the pattern's, at least, where there is an aim.
    aim: Option<f64>,
}

const ALIKE: LoadShape = LoadShape {
    name: "replay-fast",
    files: &["nowhere"],
    operation: |number| (0, true, number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 38, 4096),
    plan: include_str!("../../bench/null-depth32.toml"),
    reads_percent: 100,
    aim: Some(RATE_AIM),
};

/// Reads of six sizes on four files.
const READS: LoadShape = LoadShape {
    name: "replay-reads",
    files: &["n0", "n1", "n2", "n3"],
    operation: |number| drawn(number, 100),
    plan: include_str!("../../bench/null-mixed.toml"),
    reads_percent: 100,
    aim: None,
};

/// The same with writes, whose content costs more than all else.
const MIXED: LoadShape =
    LoadShape { name: "replay-mixed", operation: |number| drawn(number, 70), reads_percent: 70, ..READS };

/// The n-th operation of a mix.
fn drawn(number: u64, reads_percent: u64) -> (usize, bool, u64, u64) {
    const SIZES: [u64; 8] = [4096, 4096, 4096, 8192, 16384, 65536, 512, 131_072];
    let drawn = (number ^ 0x5851_f42d_4c95_7f2d).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let drawn = (drawn ^ drawn >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let reads = (drawn >> 16 & 1023) * 100 < reads_percent * 1024;
    (drawn as usize >> 8 & 3, reads, drawn >> 38, SIZES[(drawn >> 32 & 7) as usize])
}

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
    bench.fast(&ALIKE)?;
    bench.fast(&READS)?;
    bench.fast(&MIXED)?;
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

    /// A log of so many operations, and the trace that is made of it.
    fn log(&self, shape: &LoadShape, operations: u64) -> Result<(PathBuf, PathBuf), String> {
        let (log, trace) = (self.folder.join("bench.log"), self.folder.join("bench.iot"));
        let write = || -> std::io::Result<()> {
            let mut file = BufWriter::new(File::create(&log)?);
            writeln!(file, "fio version 3 iolog")?;
            for step in ["add", "open"] {
                shape.files.iter().try_for_each(|name| writeln!(file, "0 {name} {step}"))?;
            }
            for number in 0..operations {
                let (index, reads, block, bytes) = (shape.operation)(number);
                let (name, verb) = (shape.files[index], if reads { "read" } else { "write" });
                writeln!(file, "{} {name} {verb} {} {bytes}", number * APART_US, block * 4096)?;
            }
            file.flush()
        };
        write().map_err(|error| format!("{}: {error}", log.display()))?;
        let (from, to) = (log.display().to_string(), trace.display().to_string());
        meter::spent(self.ours(&["trace", "import", &from, "-o", &to, "--force"]))?;
        Ok((log, trace))
    }

    /// As fast as possible, beside a pattern.
    fn fast(&self, shape: &LoadShape) -> Result<(), String> {
        let (log, trace) = self.log(shape, FAST)?;
        fs::remove_file(log).map_err(|error| error.to_string())?;
        let (trace, plan) = (trace.display().to_string(), self.pattern(shape, FAST)?);
        let replay = || fast_command(self, shape, &trace);
        let pattern = |plan: &str| self.ours(&["run", plan, "--no-save", "--quiet"]);
        let (mut rates, mut replays, mut patterns) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            let drawn = self.rate(pattern(&plan))?;
            let replayed = self.rate(replay())?;
            rates.push(replayed / drawn);
            replays.push(replayed);
            patterns.push(drawn);
        }
        let shown = |values: &[f64]| Spread::of(values).median / 1e6;
        println!("{}: {:.2} M IOPS, pattern {:.2} M IOPS", shape.name, shown(&replays), shown(&patterns));
        let ratio = Spread::of(&rates).median;
        let aim =
            shape.aim.map_or(String::new(), |aim| format!(" (aim: at least {aim}){}", missed(ratio >= aim)));
        println!("  of the pattern's rate: {ratio:.2}{aim}");
        let mib = meter::peak_memory_bytes(replay())? as f64 / f64::from(1 << 20);
        println!("  memory: {mib:.1} MiB (aim: at most {MEMORY_AIM_MIB}){}", missed(mib <= MEMORY_AIM_MIB));
        let counted = |few: Command, many: Command| -> Result<f64, String> {
            let (few, many) = (meter::callgrind(few, &self.folder)?, meter::callgrind(many, &self.folder)?);
            Ok(many.saturating_sub(few) as f64 / (MANY - FEW) as f64)
        };
        let part = |count: u64| -> Result<Command, String> {
            let to = self.folder.join(format!("part-{count}.iot")).display().to_string();
            let range = format!("0..{count}");
            meter::spent(self.ours(&["trace", "cut", &trace, "--records", &range, "-o", &to, "--force"]))?;
            Ok(fast_command(self, shape, &to))
        };
        let drawn = |count| self.pattern(shape, count).map(|plan| pattern(&plan));
        let (replayed, drawn) = (counted(part(FEW)?, part(MANY)?)?, counted(drawn(FEW)?, drawn(MANY)?)?);
        println!(
            "  instructions: {replayed:.0} an operation with two readings of the trace, pattern {drawn:.0}"
        );
        Ok(())
    }

    /// A shape's plan for so many operations.
    fn pattern(&self, shape: &LoadShape, operations: u64) -> Result<String, String> {
        let plan = self.folder.join(format!("pattern-{operations}.toml"));
        let text = shape.plan.replace("{operations}", &operations.to_string());
        let text = text.replace("{reads}", &shape.reads_percent.to_string());
        let text = text.replace("{writes}", &(100 - shape.reads_percent).to_string());
        fs::write(&plan, text).map_err(|error| error.to_string())?;
        Ok(plan.display().to_string())
    }

    /// Operations per second of a run, reads and writes together, from its record.
    fn rate(&self, command: Command) -> Result<f64, String> {
        let record = self.record(command)?;
        let lines = record["phases"][0]["jobs"][0]["lines"].as_array().ok_or("the record has no lines")?;
        let per_second = |line: &serde_json::Value| line["operations_per_second"].as_f64();
        lines.iter().map(|line| per_second(line).ok_or_else(|| "the record has no rate".into())).sum()
    }

    fn record(&self, mut command: Command) -> Result<serde_json::Value, String> {
        let path = self.folder.join("record.json");
        _ = fs::remove_file(&path);
        command.arg("--json").arg(&path);
        meter::spent(command)?;
        let text = fs::read_to_string(&path).map_err(|error| error.to_string())?;
        serde_json::from_str(&text).map_err(|error| error.to_string())
    }

    /// At recorded times, beside fio.
    fn timed(&self) -> Result<(), String> {
        let (log, trace) = self.log(&ALIKE, TIMED)?;
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

/// A replay as fast as possible, of each file on nothing of its name.
fn fast_command(bench: &ReplayBench, shape: &LoadShape, trace: &str) -> Command {
    let mut command =
        bench.ours(&["replay", trace, "--mode", "fast", "--depth", "32", "--no-save", "--quiet"]);
    command.args(["--engine", "null"]);
    shape.files.iter().for_each(|name| _ = command.arg("--map").arg(format!("{name}={name}")));
    command
}

fn missed(met: bool) -> &'static str {
    if met { "" } else { " **missed**" }
}
