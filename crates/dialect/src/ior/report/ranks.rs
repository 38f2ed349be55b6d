//! `saveRankPerformanceDetailsCSV`: each task's own times and throughput, from its own bytes.

use super::number::rate;
use super::outcome::PhaseOutcome;
use crate::ior::view::Access;
use crate::quantity::scientific;

/// The names of the columns.
pub const HEAD: &str = "access,rank,runtime-with-openclose,runtime,throughput-withopenclose,throughput\n";

/// The rows of a write or read.
pub fn rows(outcome: &PhaseOutcome) -> String {
    let Some(access @ (Access::Write | Access::Read)) = outcome.access else { return String::new() };
    let row = |task: &super::outcome::Task| {
        let whole = task.close.1 - task.open.0;
        let transfers = task.transfer.1 - task.transfer.0;
        let bytes = task.bytes as f64;
        let cells = [whole, transfers, rate(bytes, whole), rate(bytes, transfers)];
        let cells: Vec<String> = cells.iter().map(|value| scientific(*value, 10)).collect();
        format!("{},{},{}\n", access.name(), task.number, cells.join(","))
    };
    outcome.tasks.iter().map(row).collect()
}
