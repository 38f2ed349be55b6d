//! How large the program is, and how long it takes to start.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::{Trial, Tried, Unmade, script};

const STARTS: usize = 200;
/// What a start may take, undisturbed.
const MOST: Duration = Duration::from_millis(5);

/// Starts the program of the tarball many times.
pub fn of_the_program(trial: &Trial) -> Tried {
    let packed = trial.made(&format!("{}-linux-gnu.tar.gz", trial.processor))?;
    let folder = trial.folder("start");
    super::super::external::empty_folder(&folder)?;
    script("sh", &format!("tar -xzf '{}' -C '{}' --strip-components=1", packed.display(), folder.display()))?;
    let program = folder.join("bin/iodyno");
    let length = std::fs::metadata(&program).map_or(0, |facts| facts.len());
    let mut took = Vec::new();
    for _ in 0..STARTS {
        let mut command = Command::new(&program);
        command.arg("--version").stdin(Stdio::null()).stdout(Stdio::null()).env("IODYNO_HISTORY", "off");
        let started = Instant::now();
        let status = command.status().map_err(|error| Unmade::Failed(error.to_string()))?;
        took.push(started.elapsed());
        if !status.success() {
            return Err(Unmade::Failed(format!("--version: {status}")));
        }
    }
    took.sort();
    let (quick, middle) = (took[STARTS / 10], took[STARTS / 2]);
    let said = format!(
        "{:.1} MB; of {STARTS} starts the median took {:.2} ms, the tenth part at most {:.2} ms",
        length as f64 / 1e6,
        middle.as_secs_f64() * 1e3,
        quick.as_secs_f64() * 1e3
    );
    // On a busy machine others' work is in most of them.
    if quick <= MOST { Ok(said) } else { Err(Unmade::Failed(said)) }
}
