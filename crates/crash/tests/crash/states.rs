//! Honest devices and devices that lie, on real file systems.

use std::num::NonZeroUsize;
use std::path::Path;

use iodyno_crash::explore::{Exploration, ExploreBounds, Explorer, StateFinding, is_same};
use iodyno_crash::file_system::FileSystem;
use iodyno_crash::lie::DeviceKind;
use iodyno_crash::log::LogEntry;
use iodyno_crash::promise::Damage;
use iodyno_crash::recording::{RecordFailure, Recording, record};
use iodyno_crash::request::DEVICE_NAMES;
use testbed::Outcome;
use testbed::sandbox::hidden;

use super::replaced_file::ReplacedFile;

fn recorded(name: &str, home: &Path, rounds: u32) -> Result<(FileSystem, Recording), String> {
    let file_system = FileSystem::named(name, "").map_err(|wrong| wrong.to_string())?;
    let recording =
        record(&file_system, &ReplacedFile { rounds }, home, 4096).map_err(|wrong| format!("{wrong:?}"))?;
    Ok((file_system, recording))
}

fn explored(
    recording: &Recording,
    file_system: &FileSystem,
    home: &Path,
    device: DeviceKind,
    states: usize,
) -> Result<Exploration, String> {
    let log = device.distort(&recording.log, 1);
    let sector_bytes = device.sector_bytes(4096);
    let explorer = Explorer { recording, log: &log, file_system, home, sector_bytes };
    let bounds = ExploreBounds { states, seed: 1, workers: NonZeroUsize::MIN.saturating_add(1) };
    // A device that lies is found out by one state.
    let is_honest = device == DeviceKind::Honest;
    explorer
        .explore(bounds, &mut |_, _, findings| is_honest || findings == 0)
        .map_err(|wrong| wrong.to_string())
}

pub fn honest(name: &'static str) -> Outcome {
    hidden(move |home| {
        let (file_system, recording) = recorded(name, home, 8)?;
        // The slower ones judge fewer; `cargo xtask crash` has them all.
        let states = if name == "ext4" { 200 } else { 60 };
        let found = explored(&recording, &file_system, home, DeviceKind::Honest, states)?;
        assert_eq!(found.findings, []);
        assert_eq!(found.judged, states.min(found.possible));
        Ok(())
    })
}

/// Each device that lies is found out.
pub fn lying(name: &'static str) -> Outcome {
    hidden(move |home| {
        let (file_system, recording) = recorded(name, home, 6)?;
        for (device, _) in DEVICE_NAMES.iter().skip(1) {
            let found = explored(&recording, &file_system, home, device.parse()?, 60)?;
            assert_ne!(
                found.findings,
                [],
                "{device} on {name}: {} of {} states",
                found.judged,
                found.possible
            );
        }
        Ok(())
    })
}

pub fn marks_are_in_order() -> Outcome {
    hidden(|home| {
        let (_, recording) = recorded("ext4", home, 2)?;
        let entries = &recording.log.entries;
        let place = |wanted: &LogEntry| entries.iter().position(|entry| entry == wanted).ok_or("no mark");
        for step in 0..8 {
            let (begin, end) = (place(&LogEntry::Begin(step))?, place(&LogEntry::End(step))?);
            let flushed = entries[begin..end].iter().any(|entry| matches!(entry, LogEntry::Flush { .. }));
            // A rename alone makes nothing durable, all others do.
            assert_eq!(flushed, step % 4 != 1, "step {step}");
        }
        Ok(())
    })
}

pub fn shrinks() -> Outcome {
    hidden(|home| {
        let (file_system, recording) = recorded("ext4", home, 6)?;
        let log = DeviceKind::LyingFlush.distort(&recording.log, 1);
        let sector_bytes = u64::from(recording.sector_bytes);
        let explorer =
            Explorer { recording: &recording, log: &log, file_system: &file_system, home, sector_bytes };
        let bounds = ExploreBounds { states: 60, seed: 1, workers: NonZeroUsize::MIN.saturating_add(1) };
        let found = explorer.explore(bounds, &mut |_, _, _| true).map_err(|wrong| wrong.to_string())?;
        let is_large = |finding: &&StateFinding| {
            finding.state.missing.len() > 4 && finding.violation.damage != Damage::Unusable
        };
        let finding = found.findings.iter().find(is_large).ok_or("no state misses many writes")?;
        let small = explorer.shrink(finding, 200)?;
        assert!(is_same(&small.violation, &finding.violation));
        assert_eq!(small.state.missing.len(), 1, "{} of {}", small.state, finding.state);
        let again = explorer.judge(&small.state.to_string().parse()?, small.reach)?;
        assert!(again.contains(&small), "{again:?}");
        Ok(())
    })
}

/// A loop device whose file goes is found by its name.
fn has_loop_device(home: &Path) -> bool {
    let devices = std::fs::read_dir("/sys/block").into_iter().flatten().flatten();
    let files =
        devices.filter_map(|entry| std::fs::read_to_string(entry.path().join("loop/backing_file")).ok());
    files.into_iter().any(|file| Path::new(&file).starts_with(home))
}

pub fn leaves_nothing() -> Outcome {
    let home = tempfile::tempdir()?;
    let path = home.path().to_path_buf();
    hidden(move |_| {
        recorded("ext4", &path, 1)?;
        let mounts = std::fs::read_to_string("/proc/thread-self/mountinfo")?;
        assert!(!mounts.contains(&path.display().to_string()), "{mounts}");
        assert!(!has_loop_device(&path));
        // What went wrong on the way leaves as little.
        let wrong = FileSystem::named("ext4", "no_such_option").map_err(|wrong| wrong.to_string())?;
        let Err(RecordFailure::Failed(told)) = record(&wrong, &ReplacedFile { rounds: 1 }, &path, 4096)
        else {
            return Err("it mounts".into());
        };
        assert_eq!(told.message, "mounting ext4 (no_such_option): Invalid argument");
        let mounts = std::fs::read_to_string("/proc/thread-self/mountinfo")?;
        assert!(!mounts.contains(&path.display().to_string()), "{mounts}");
        assert!(!has_loop_device(&path));
        Ok(())
    })
}
