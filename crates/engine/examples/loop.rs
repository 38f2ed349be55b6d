//! Drives one engine in one thread and prints what an operation costs us: user time, system time, wall time.
//!
//! `cargo run --release -p iodyno-engine --example loop -- ENGINE [DEPTH [OPERATIONS [FILE [sequential] [SETTING=VALUE …]]]]`
//!
//! FILE is made and filled when it is not there (256 MiB), and then read once, so that reads come from the cache.

#![allow(unsafe_code)]

#[path = "../tests/stand/mod.rs"]
mod stand;

use std::io::Write;
use std::path::Path;
use std::time::Instant;

const FILE_BYTES: u64 = 256 << 20;

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let word = |index: usize, or: &str| words.get(index).cloned().unwrap_or_else(|| or.into());
    let Some(entry) = iodyno_engine::engine(&word(0, "null")) else {
        eprintln!("error: there is no engine `{}`", word(0, "null"));
        std::process::exit(2);
    };
    let (depth, operations) =
        (word(1, "1").parse().unwrap_or(1), word(2, "10000000").parse().unwrap_or(10_000_000));
    let path = word(3, "loop.data");
    let (flags, settings): (Vec<&str>, Vec<&str>) =
        words.iter().skip(4).map(String::as_str).partition(|word| *word == "sequential");
    if entry.facts.uses_files
        && let Err(error) = fill(Path::new(&path))
    {
        eprintln!("error: {path}: {error}");
        std::process::exit(1);
    }
    iodyno_engine::clock::calibrate();
    let stand = stand::Stand::new(Path::new(&path), FILE_BYTES, operations, depth, &settings);
    let stand = if flags.is_empty() { stand } else { stand.sequential() };
    let (mut before, mut after, mut wall) = ((0, 0), (0, 0), 0);
    let outcome = stand.run(entry, |drive| {
        let start = Instant::now();
        before = cpu_ns();
        drive();
        after = cpu_ns();
        wall = start.elapsed().as_nanos() as u64;
    });
    match outcome {
        Ok(tally) => {
            let count = tally.lines.iter().map(|line| line.operations).sum::<u64>().max(1);
            let each = |ns: u64| ns as f64 / count as f64;
            println!(
                "{} depth {depth}: {count} operations, {} failed; each {:.1} ns user, {:.1} ns system, {:.1} ns wall",
                entry.facts.name,
                tally.lines.iter().map(|line| line.failed).sum::<u64>(),
                each(after.0 - before.0),
                each(after.1 - before.1),
                each(wall)
            );
        }
        Err(failure) => {
            eprintln!("error: {}", failure.message);
            failure.hint.iter().for_each(|hint| eprintln!(" hint: {hint}"));
            std::process::exit(1);
        }
    }
}

/// Makes the file if it is not there, and reads it once.
fn fill(path: &Path) -> std::io::Result<()> {
    if !path.exists() {
        let mut file = std::fs::File::create(path)?;
        let chunk: Vec<u8> =
            (0..1 << 20).map(|index: u32| (index.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
        for _ in 0..FILE_BYTES >> 20 {
            file.write_all(&chunk)?;
        }
    }
    std::io::copy(&mut std::fs::File::open(path)?, &mut std::io::sink()).map(drop)
}

/// User and system time of this thread so far, ns.
fn cpu_ns() -> (u64, u64) {
    let usage = iodyno_engine::witness::usage();
    (usage[0], usage[1])
}
