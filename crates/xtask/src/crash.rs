//! Crash tests of the file systems that are here, under several mount options: more states than continuous integration
//! has time for.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use crate::shell;

/// Building included.
const LIMIT: Duration = Duration::from_secs(4 * 60 * 60);
/// States of each run, unless told.
const STATES: &str = "1000";

/// File systems, and options that keep or take back what they promise: either way no promise may be broken.
const RUNS: [(&str, &str); 9] = [
    ("ext4", ""),
    ("ext4", "data=journal"),
    ("ext4", "data=writeback"),
    ("ext4", "nobarrier"),
    ("xfs", ""),
    ("btrfs", ""),
    ("btrfs", "nodatasum"),
    ("btrfs", "compress=zstd"),
    ("f2fs", ""),
];

/// Tests them all; true when no promise was broken.
pub fn chore(root: &Path, arguments: &[String]) -> Result<bool, String> {
    let states = match arguments {
        [] => STATES,
        [flag, states] if flag == "--states" && states.parse::<u32>().is_ok_and(|states| states > 0) => {
            states
        }
        _ => return Err("crash: expected nothing, or --states and a number".into()),
    };
    let mut build = shell::cargo();
    build.current_dir(root).args(["build", "--release", "--package", "iodyno"]);
    let built = shell::run(build, None, LIMIT)?;
    if !built.success {
        return Err(format!("the program does not build: {}", built.last_words()));
    }
    // A written workload leaves some 100 states, a short one some 25: ten thousand need more of them than there are written ones.
    let count = states.parse::<u32>().unwrap_or(0).saturating_sub(2500) / 20;
    let workloads = if count == 0 { "written".into() } else { format!("written,seq-2:{count}") };
    let mut is_good = true;
    for (file_system, options) in RUNS {
        let name = format!("{file_system} {}", if options.is_empty() { "defaults" } else { options });
        let kernel = std::fs::read_to_string("/proc/filesystems").unwrap_or_default();
        if !kernel.lines().any(|line| line.trim() == file_system) {
            println!("{name:24} skipped: the kernel has no {file_system} now");
            continue;
        }
        let mut command = Command::new(root.join("target/release/iodyno"));
        command.args([
            "crash",
            file_system,
            "--mount-options",
            options,
            "--states",
            states,
            "--workload",
            &workloads,
        ]);
        let log = root.join(format!("target/crash/{file_system}-{}.txt", options.replace('=', "-")));
        shell::fresh(&log)?;
        let tested = shell::run(command, Some(&log), LIMIT)?;
        let verdict = tested.lines.iter().find(|line| line.contains("states judged in"));
        println!("{name:24} {}", verdict.map_or(tested.last_words(), |line| line));
        is_good &= tested.success;
    }
    Ok(is_good)
}
