//! `savePerOpDataCSV`: every transfer's begin, duration and throughput, a file for each task and repetition.

use std::io;

use iodyno_model::{JournalEntry, JournalPart};
use iodyno_report::Files;

use super::number::rate;
use crate::ior::test::IorTest;
use crate::ior::view::{Access, TestPhase};
use crate::quantity::scientific;

/// Writes what a task wrote down. Where a repetition writes and reads, the reads have files of their own.
pub fn write(
    journal: &JournalPart,
    part: TestPhase,
    test: &IorTest,
    files: &mut dyn Files,
) -> io::Result<()> {
    let Some(prefix) = test.settings.text("savePerOpDataCSV") else { return Ok(()) };
    if !matches!(part.access, Access::Write | Access::Read) {
        return Ok(());
    }
    let apart = if part.access == Access::Read && test.write { "-read" } else { "" };
    let path = format!("{prefix}-{}-{:05}{apart}.csv", part.repetition, journal.worker);
    let mut text = String::new();
    let began = journal.began_ns;
    for entry in &journal.entries {
        let JournalEntry::Done { at_ns, verb, bytes, latency_ns, .. } = entry else { continue };
        if !verb.moves_data() {
            continue;
        }
        let begin = at_ns.saturating_sub(*latency_ns).saturating_sub(began);
        let seconds = *latency_ns as f64 / 1e9;
        text += &format!(
            "{},{},{}\n",
            scientific(begin as f64 / 1e9, 8),
            scientific(seconds, 8),
            scientific(rate(*bytes as f64, seconds), 6)
        );
    }
    files.file(&path)?.write_all(text.as_bytes())
}

/// Begins the files of a phase's tasks.
pub fn begin(part: TestPhase, test: &IorTest, files: &mut dyn Files) -> io::Result<()> {
    let Some(prefix) = test.settings.text("savePerOpDataCSV") else { return Ok(()) };
    if !matches!(part.access, Access::Write | Access::Read) {
        return Ok(());
    }
    let apart = if part.access == Access::Read && test.write { "-read" } else { "" };
    for task in 0..test.tasks {
        let path = format!("{prefix}-{}-{task:05}{apart}.csv", part.repetition);
        files.file(&path)?.write_all(b"time,runtime,tp\n")?;
    }
    Ok(())
}
