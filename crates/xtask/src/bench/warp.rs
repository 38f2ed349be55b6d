//! `cargo xtask bench warp`: processor time of a client of object stores, ours and a bare loop of warp's client library
//! (`bench/objects.go`) in turn, on the same objects of the same store.
//!
//! Both sides send the same bytes with the same promises: what is written is signed with its SHA-256, has a CRC-32C, and
//! goes in parts of 16 MiB, one after the other. The loop has none of warp's own work (it makes no content and keeps no
//! account of requests), so warp takes more. Judged is the processor time of the client alone. It refuses to pass or fail
//! anything.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::meter::{self, Spent, Spread};
use super::net::{await_port, free_port, serve};
use crate::objects;

const LOOP: &str = include_str!("../../bench/objects.go");
const PLAN: &str = include_str!("../../bench/objects.toml");
/// What the loop is built of.
const LIBRARY: &str = "github.com/minio/minio-go/v7@v7.4.1";
/// Objects that are used, and operations in flight: warp's own default.
const OBJECTS: u64 = 20;
const KEYS: [(&str, &str); 2] =
    [("AWS_ACCESS_KEY_ID", "bench"), ("AWS_SECRET_ACCESS_KEY", "bench of stores")];

/// What is measured: the difference of two runs, so that start and end cancel out.
struct StoreCase {
    name: &'static str,
    /// Of our plan.
    verb: &'static str,
    /// Of the loop.
    operation: &'static str,
    bytes: u64,
    few: u64,
    many: u64,
    /// Of ours and theirs in turn.
    rounds: usize,
    /// Our processor time over theirs, at most.
    aim: f64,
}

const CASES: [StoreCase; 4] = [
    StoreCase {
        name: "GET 4 KiB",
        verb: "read",
        operation: "get",
        bytes: 4 << 10,
        few: 500,
        many: 8500,
        rounds: 5,
        aim: 0.6,
    },
    StoreCase {
        name: "PUT 4 KiB",
        verb: "write",
        operation: "put",
        bytes: 4 << 10,
        few: 500,
        many: 6500,
        rounds: 5,
        aim: 0.6,
    },
    StoreCase {
        name: "GET 64 MiB",
        verb: "read",
        operation: "get",
        bytes: 64 << 20,
        few: 20,
        many: 50,
        rounds: 3,
        aim: 0.8,
    },
    StoreCase {
        name: "PUT 64 MiB",
        verb: "write",
        operation: "put",
        bytes: 64 << 20,
        few: 20,
        many: 50,
        rounds: 3,
        aim: 0.8,
    },
];

/// Where the store keeps its objects; gone with the bench.
struct StoreFolder {
    folder: PathBuf,
}

impl StoreFolder {
    fn lay() -> Result<StoreFolder, String> {
        let memory = Path::new("/dev/shm");
        let above = if memory.is_dir() { memory.to_path_buf() } else { std::env::temp_dir() };
        let folder = above.join(format!("iodyno-bench-warp-{}", std::process::id()));
        std::fs::create_dir_all(folder.join("store"))
            .map_err(|error| format!("{}: {error}", folder.display()))?;
        Ok(StoreFolder { folder })
    }
}

impl Drop for StoreFolder {
    fn drop(&mut self) {
        // What stays is in memory, and its folder says whose it was.
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

struct StoreBench<'a> {
    binary: &'a Path,
    library: PathBuf,
    ground: StoreFolder,
    host: String,
}

/// Measures everything and prints a table.
///
/// # Errors
/// What is missing to measure at all.
pub fn chore(root: &Path, binary: &Path) -> Result<bool, String> {
    let folder = root.join("target/objects");
    std::fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let gateway = objects::gateway(&folder)?;
    let library = built(&folder.join("loop"))?;
    let (ground, port) = (StoreFolder::lay()?, free_port()?);
    let host = format!("127.0.0.1:{port}");
    let mut server = Command::new(gateway);
    server.args(["--port", &host, "--quiet", "--keep-alive", "posix"]).arg(ground.folder.join("store"));
    server.env("ROOT_ACCESS_KEY", KEYS[0].1).env("ROOT_SECRET_KEY", KEYS[1].1);
    let _serving = serve(server, port)?;
    await_port(port)?;
    let bench = StoreBench { binary, library, ground, host };
    println!("{}, {LIBRARY}", meter::machine());
    println!(
        "| case       | ours                   | loop                   | ours ÷ loop         | aim   |        |"
    );
    println!(
        "|------------|------------------------|------------------------|---------------------|-------|--------|"
    );
    let mut all = true;
    for case in &CASES {
        match bench.paired(case) {
            Ok((ours, theirs)) => println!("{}", row(case, &ours, &theirs)),
            Err(why) => {
                all = false;
                println!("| {:<10} | not measured: {why} |", case.name);
            }
        }
    }
    Ok(all)
}

/// The loop, made by Go of its source and the library's.
fn built(folder: &Path) -> Result<PathBuf, String> {
    let error = |error: std::io::Error| format!("{}: {error}", folder.display());
    std::fs::create_dir_all(folder).map_err(error)?;
    std::fs::write(folder.join("main.go"), LOOP).map_err(error)?;
    let module = format!("module loop\n\ngo 1.24\n\nrequire {}\n", LIBRARY.replace('@', " "));
    std::fs::write(folder.join("go.mod"), module).map_err(error)?;
    objects::go(folder, &["build", "-mod=mod", "-o", "loop", "."])?;
    Ok(folder.join("loop"))
}

impl StoreBench<'_> {
    fn paired(&self, case: &StoreCase) -> Result<(Vec<Spent>, Vec<Spent>), String> {
        meter::spent(self.theirs(case, "lay", 0))?;
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        let each = |run: &dyn Fn(u64) -> Result<Command, String>| -> Result<Spent, String> {
            let few = meter::spent(run(case.few)?)?;
            Ok(meter::spent(run(case.many)?)?.less(few).per(case.many - case.few))
        };
        for _ in 0..case.rounds {
            ours.push(each(&|count| self.ours(case, count))?);
            theirs.push(each(&|count| Ok(self.theirs(case, case.operation, count)))?);
        }
        Ok((ours, theirs))
    }

    fn ours(&self, case: &StoreCase, count: u64) -> Result<Command, String> {
        let plan = self.ground.folder.join("plan.toml");
        std::fs::write(&plan, filled(case, &self.host, count))
            .map_err(|error| format!("{}: {error}", plan.display()))?;
        let mut command = Command::new(self.binary);
        command.arg("run").arg(plan);
        Ok(with_keys(command))
    }

    fn theirs(&self, case: &StoreCase, operation: &str, count: u64) -> Command {
        let mut command = Command::new(&self.library);
        command.args(["-host", &self.host, "-op", operation]);
        for (option, value) in [("-size", case.bytes), ("-count", count), ("-objects", OBJECTS)] {
            command.arg(option).arg(value.to_string());
        }
        with_keys(command)
    }
}

/// What the library does with what it writes.
const WRITES: &str = ", sign_payload = \"on\", checksum = \"crc32c\", part_size = \"16777216\"";

/// Through the shell that meters it, whose words are seen by all: the keys are in the environment.
fn with_keys(command: Command) -> Command {
    let mut shell = Command::new("env");
    for (name, value) in KEYS {
        shell.arg(format!("{name}={value}"));
    }
    shell.arg("IODYNO_HISTORY=off").arg(command.get_program()).args(command.get_args());
    shell
}

fn filled(case: &StoreCase, host: &str, count: u64) -> String {
    PLAN.replace("{host}", host)
        .replace("{verb}", case.verb)
        .replace("{settings}", if case.verb == "write" { WRITES } else { "" })
        .replace("{bytes}", &case.bytes.to_string())
        .replace("{objects}", &OBJECTS.to_string())
        .replace("{operations}", &count.to_string())
}

fn row(case: &StoreCase, ours: &[Spent], theirs: &[Spent]) -> String {
    let is_large = case.bytes >= 1 << 20;
    let (scale, unit, digits) = if is_large { (1e9 / case.bytes as f64, "s/GB", 2) } else { (1e6, "us", 0) };
    let of = |spent: &[Spent], what: fn(&Spent) -> f64| {
        Spread::of(&spent.iter().map(what).collect::<Vec<_>>()).times(scale)
    };
    let side = |spent: &[Spent]| {
        let (total, user) = (of(spent, Spent::total), of(spent, |spent| spent.user));
        format!("{:.digits$} {unit} (user {:.digits$})", total.median, user.median)
    };
    let ratios: Vec<f64> =
        ours.iter().zip(theirs).map(|(ours, theirs)| ours.total() / theirs.total()).collect();
    let ratio = Spread::of(&ratios);
    let met = if ratio.median <= case.aim { "met" } else { "missed" };
    let shown = format!("{:.2} ({:.2} … {:.2})", ratio.median, ratio.least, ratio.most);
    format!(
        "| {:<10} | {:<22} | {:<22} | {shown:<19} | ≤ {} | {met:<6} |",
        case.name,
        side(ours),
        side(theirs),
        case.aim
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plans_are_toml_and_rows_judge_the_median() {
        for case in &CASES {
            let text = filled(case, "127.0.0.1:9", 7);
            assert!(text.parse::<toml::Table>().is_ok() && !text.contains("_}"), "{text}");
        }
        let spent = |total: f64| Spent { user: total / 2.0, system: total / 2.0, wall: total };
        let shown = row(&CASES[0], &[spent(5e-5), spent(6e-5), spent(9e-5)], &[spent(1e-4); 3]);
        assert!(shown.contains("60 us (user 30)") && shown.contains("0.60 (0.50 … 0.90)"), "{shown}");
        assert!(shown.contains("| met "), "{shown}");
        let second = 64.0 * 1024.0 * 1024.0 / 1e9;
        let shown = row(&CASES[3], &[spent(second)], &[spent(second)]);
        assert!(shown.contains("1.00 s/GB (user 0.50)") && shown.contains("missed"), "{shown}");
    }
}
