//! What is measured: our plan (a file in `crates/xtask/bench/`), the peer's command line, and the aims.
//!
//! Both sides do the same operations on the same cached file with all their statistics on. It refuses to tune either:
//! an option stands on both sides or on neither.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

/// How a case is measured.
#[derive(Debug, Clone, Copy)]
pub enum Measure {
    /// Instructions per I/O, by callgrind.
    Instructions,
    /// Time per I/O, ours and the peer's in turn.
    Paired {
        /// In each run.
        operations: u64,
    },
    /// Time and memory of a job of one operation.
    StartUp,
}

/// One thing that is measured.
pub struct Case {
    /// What the command line calls it.
    pub name: &'static str,
    /// The plan, with `{operations}`, `{file}` and `{file_bytes}` to be filled in.
    pub plan: &'static str,
    /// The same job for the peer.
    pub peer: Option<fn(&Ground, u64) -> Command>,
    pub measure: Measure,
    /// What we want to see.
    pub aims: &'static [Aim],
}

/// A figure that we want to reach.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Aim {
    /// Instructions per I/O, at most.
    Instructions(f64),
    /// The peer's processor time per I/O over ours, at least.
    TimesPeer(f64),
    /// Our user time per operation over that of a bare loop, at most.
    TimesLoop(f64),
    /// Our user time per I/O, ns, at most.
    UserNs(f64),
    /// Start to end, ms, at most.
    StartMs(f64),
    /// Resident memory, MB, at most.
    ResidentMb(f64),
}

/// Every case.
pub const CASES: &[Case] = &[
    Case {
        name: "null-depth1",
        plan: include_str!("../../bench/null-depth1.toml"),
        peer: None,
        measure: Measure::Instructions,
        aims: &[Aim::Instructions(200.0)],
    },
    Case {
        name: "null-depth32",
        plan: include_str!("../../bench/null-depth32.toml"),
        peer: None,
        measure: Measure::Instructions,
        aims: &[Aim::Instructions(150.0)],
    },
    Case {
        name: "null-paired",
        plan: include_str!("../../bench/null-depth1.toml"),
        peer: Some(|ground, operations| fio(ground, operations, &["--ioengine=null", "--size=1t"])),
        measure: Measure::Paired { operations: 4_000_000 },
        aims: &[],
    },
    Case {
        name: "psync-cached",
        plan: include_str!("../../bench/psync-cached.toml"),
        peer: Some(|ground, operations| on_file(ground, operations, &["--ioengine=psync"])),
        measure: Measure::Paired { operations: 1_000_000 },
        aims: &[Aim::TimesPeer(1.4)],
    },
    Case {
        name: "io_uring-depth32",
        plan: include_str!("../../bench/io_uring-depth32.toml"),
        peer: Some(|ground, operations| on_file(ground, operations, URING)),
        measure: Measure::Paired { operations: 1_000_000 },
        aims: &[Aim::TimesPeer(1.6)],
    },
    Case {
        name: "io_uring-batched",
        plan: include_str!("../../bench/io_uring-batched.toml"),
        peer: Some(|ground, operations| on_file(ground, operations, &[URING, BATCHES].concat())),
        measure: Measure::Paired { operations: 1_000_000 },
        aims: &[Aim::TimesPeer(1.6)],
    },
    Case {
        name: "io_uring-fixed",
        plan: include_str!("../../bench/io_uring-fixed.toml"),
        peer: Some(|ground, operations| on_file(ground, operations, &[URING, BATCHES, FIXED].concat())),
        measure: Measure::Paired { operations: 2_000_000 },
        aims: &[Aim::TimesPeer(1.6), Aim::UserNs(40.0)],
    },
    Case {
        name: "start-up",
        plan: include_str!("../../bench/start-up.toml"),
        peer: None,
        measure: Measure::StartUp,
        aims: &[Aim::StartMs(5.0), Aim::ResidentMb(8.0)],
    },
];

const URING: &[&str] = &["--ioengine=io_uring", "--iodepth=32"];
const BATCHES: &[&str] =
    &["--iodepth_batch_submit=16", "--iodepth_batch_complete_min=1", "--iodepth_batch_complete_max=32"];
const FIXED: &[&str] = &["--fixedbufs", "--registerfiles"];

/// Random 4 KiB reads without a random map: what both sides do.
fn fio(ground: &Ground, operations: u64, options: &[&str]) -> Command {
    let mut command = Command::new("fio");
    command.args(["--name=bench", "--thread", "--rw=randread", "--bs=4k", "--norandommap"]);
    command.arg(format!("--number_ios={operations}")).args(options);
    command.arg(format!("--output={}", ground.folder.join("fio.out").display()));
    command
}

fn on_file(ground: &Ground, operations: u64, options: &[&str]) -> Command {
    let mut command = fio(ground, operations, options);
    // Without `invalidate=0` fio would drop the very cache that is measured; without `io_size` it would end after
    // as many operations as the file has blocks.
    command.arg("--invalidate=0").arg(format!("--filename={}", ground.file.display()));
    command.arg(format!("--size={}", ground.file_bytes)).arg(format!("--io_size={}", operations * 4096));
    command
}

/// Where cases run: a folder of their own, with a file that lies in the page cache.
pub struct Ground {
    /// Holds plans and outputs.
    pub folder: PathBuf,
    /// What is read.
    pub file: PathBuf,
    /// How long it is.
    pub file_bytes: u64,
}

impl Ground {
    /// Makes the folder and, unless it is there, the file.
    pub fn lay(root: &Path, file_bytes: u64) -> Result<Self, String> {
        let folder = root.join("target/bench");
        let file = folder.join("cached.data");
        let ground = Self { folder, file, file_bytes };
        ground.make().map_err(|error| format!("{}: {error}", ground.folder.display()))?;
        Ok(ground)
    }

    fn make(&self) -> std::io::Result<()> {
        std::fs::create_dir_all(&self.folder)?;
        if std::fs::metadata(&self.file).is_ok_and(|facts| facts.len() == self.file_bytes) {
            // Read it, so that it is in the page cache.
            return std::io::copy(&mut File::open(&self.file)?, &mut std::io::sink()).map(drop);
        }
        let mut writer = BufWriter::with_capacity(1 << 20, File::create(&self.file)?);
        let mut state = 0x9e37_79b9_7f4a_7c15u64;
        for _ in 0..self.file_bytes / 8 {
            // Any generator does, as long as no file system stores its output in less room.
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            writer.write_all(&state.to_le_bytes())?;
        }
        // On disk before anything is measured: write-back would disturb it.
        writer.into_inner()?.sync_all()
    }

    /// How many operations the peer said it had done, from its last output.
    pub fn peers_operations(&self) -> Option<u64> {
        let text = std::fs::read_to_string(self.folder.join("fio.out")).ok()?;
        issued(&text)
    }

    /// Writes a case's plan with its blanks filled in, and says where.
    pub fn write_plan(&self, case: &Case, operations: u64) -> Result<PathBuf, String> {
        let path = self.folder.join(format!("{}-{operations}.toml", case.name));
        std::fs::write(&path, self.fill(case.plan, operations))
            .map_err(|error| format!("{}: {error}", path.display()))?;
        Ok(path)
    }

    fn fill(&self, plan: &str, operations: u64) -> String {
        plan.replace("{operations}", &operations.to_string())
            .replace("{file}", &self.file.display().to_string())
            .replace("{file_bytes}", &self.file_bytes.to_string())
    }
}

/// Reads of fio's `issued rwts: total=READS,WRITES,TRIMS,SYNCS`.
fn issued(text: &str) -> Option<u64> {
    let (_, figures) = text.split_once("issued rwts: total=")?;
    figures.split(',').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ground() -> Ground {
        Ground { folder: "here".into(), file: "here/f".into(), file_bytes: 4096 }
    }

    #[test]
    fn blanks_are_filled() {
        let filled = ground().fill("a = {operations}\nb = \"{file}\" # {file_bytes}", 7);
        assert_eq!(filled, "a = 7\nb = \"here/f\" # 4096");
    }

    #[test]
    fn every_plan_is_toml_once_filled() {
        for case in CASES {
            let filled = ground().fill(case.plan, 7);
            assert!(filled.parse::<toml::Table>().is_ok(), "{}: {filled}", case.name);
            let blanks = ["{operations}", "{file}", "{file_bytes}"];
            assert!(!blanks.iter().any(|blank| filled.contains(blank)), "{}", case.name);
        }
    }

    #[test]
    fn the_peers_count_is_read() {
        assert_eq!(issued("     issued rwts: total=500,0,0,0 short=0,0,0,0"), Some(500));
        assert_eq!(issued("nothing"), None);
    }

    #[test]
    fn the_peer_reads_what_is_cached_and_does_as_many() {
        let peer =
            CASES.iter().find(|case| case.name == "psync-cached").and_then(|case| case.peer).expect("a peer");
        let command = peer(&ground(), 5);
        let words: Vec<String> = command.get_args().map(|word| word.to_string_lossy().into_owned()).collect();
        assert!(
            words.contains(&"--invalidate=0".to_string()) && words.contains(&"--io_size=20480".to_string())
        );
        assert!(words.contains(&"--number_ios=5".to_string()), "{words:?}");
    }
}
