//! `-O summaryFormat=CSV`: a row for each write and read.

use super::outcome::Outcome;
use super::text::MEBI;
use crate::ior::test::Test;
use crate::ior::view::Access;

/// The names of the columns.
pub const HEAD: &str =
    "access,bw(MiB/s),IOPS,Latency,block(KiB),xfer(KiB),open(s),wr/rd(s),close(s),total(s),numTasks,iter\n";

/// A row, or nothing for what has none.
pub fn row(outcome: &Outcome, test: &Test) -> String {
    let Some(access @ (Access::Write | Access::Read)) = outcome.access else { return String::new() };
    let values = [
        outcome.bandwidth() / MEBI,
        outcome.operations(),
        outcome.latency,
        test.block as f64 / 1024.0,
        test.transfer as f64 / 1024.0,
        outcome.open,
        outcome.transfer,
        outcome.close,
        outcome.total,
    ];
    let cells: String = values.iter().map(|value| format!("{value:.4},")).collect();
    format!("{},{cells}{},{}\n", access.name(), test.tasks, outcome.repetition)
}
