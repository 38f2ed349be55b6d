//! The oracle against states that real file systems leave: none of an honest device is blamed, and programs that promise too much
//! are caught.

use iodyno_crash::enumeration::Enumeration;
use iodyno_crash::executor::ScriptWorkload;
use iodyno_crash::explore::{ExploreBounds, Explorer, StateFinding};
use iodyno_crash::file_system::FileSystem;
use iodyno_crash::promise::Authority;
use iodyno_crash::recording::{RecordFailure, record};
use iodyno_crash::script::{WrittenWorkload, builtin};
use std::num::NonZeroUsize;
use std::path::Path;
use testbed::Outcome;
use testbed::sandbox::hidden;

/// The findings of some states, and how many were judged; `None`: the file system does not have what the workload does.
fn findings(
    name: &str,
    options: &str,
    script: WrittenWorkload,
    home: &Path,
    states: usize,
) -> Result<Option<(Vec<StateFinding>, usize)>, String> {
    let file_system = FileSystem::named(name, options).map_err(|wrong| wrong.to_string())?;
    let recording = match record(&file_system, &ScriptWorkload::new(script), home, 4096) {
        Ok(recording) => recording,
        Err(RecordFailure::Missing(_)) => return Ok(None),
        Err(RecordFailure::Failed(failure)) => return Err(failure.to_string()),
    };
    let sector_bytes = u64::from(recording.sector_bytes);
    let (log, file_system) = (&recording.log, &file_system);
    let explorer = Explorer { recording: &recording, log, file_system, home, sector_bytes };
    let bounds = ExploreBounds { states, seed: 1, workers: NonZeroUsize::MIN };
    let found = explorer.explore(bounds, &mut |_, _, _| true).map_err(|wrong| wrong.to_string())?;
    Ok(Some((found.findings, found.judged)))
}

/// A few states of a few workloads; thousands are for `cargo xtask crash`.
pub fn honest(name: &'static str) -> Outcome {
    hidden(move |home| {
        let chosen = ["maildir", "mmap-database"];
        let written = builtin()?.into_iter().filter(|workload| chosen.contains(&workload.name.as_str()));
        let mut judged = 0;
        for workload in written.chain(Enumeration::new(2)?.sample(2, 3)?) {
            let workload_name = workload.name.clone();
            let Some((found, states)) = findings(name, "", workload, home, 6)? else { continue };
            assert_eq!(found, [], "{workload_name} on {name}");
            judged += states;
        }
        assert!(judged >= 18, "{judged} states");
        Ok(())
    })
}

pub fn wrong_programs_are_caught() -> Outcome {
    hidden(|home| {
        for workload in builtin()?.into_iter().filter(|workload| workload.wrong.is_some()) {
            let name = workload.name.clone();
            let (found, _) = findings("ext4", "", workload, home, 16)?.ok_or("not on ext4")?;
            assert!(!found.is_empty(), "{name} was not caught");
            let is_own = |finding: &StateFinding| finding.violation.authority == Authority::Application;
            assert!(found.iter().all(is_own), "{name}: {found:?}");
        }
        Ok(())
    })
}

/// Without barriers fsync promises nothing, and the report says that it is the option's doing.
pub fn nobarrier_is_named() -> Outcome {
    hidden(|home| {
        let workload = builtin()?
            .into_iter()
            .find(|workload| workload.name == "append-log")
            .ok_or("no such workload")?;
        let (found, _) = findings("ext4", "nobarrier", workload, home, 12)?.ok_or("not on ext4")?;
        let lost = found.iter().map(|finding| &finding.violation);
        let named = lost.filter(|violation| violation.source == "ext4(5), barrier").collect::<Vec<_>>();
        assert!(!named.is_empty(), "{found:?}");
        assert!(named.iter().all(|violation| violation.authority == Authority::MountOption));
        Ok(())
    })
}
