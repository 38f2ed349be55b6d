//! `saveRankPerformanceDetailsCSV`: each task's own times and throughput, from its own bytes.

use super::number::rate;
use super::outcome::Outcome;
use crate::ior::view::Access;

/// The names of the columns.
pub const HEAD: &str = "access,rank,runtime-with-openclose,runtime,throughput-withopenclose,throughput\n";

/// The rows of a write or read.
pub fn rows(outcome: &Outcome) -> String {
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

/// A number as C's `%e` writes it: two digits of exponent at least.
pub fn scientific(value: f64, decimals: usize) -> String {
    let text = format!("{value:.decimals$e}");
    let Some((digits, exponent)) = text.split_once('e') else { return text };
    let (sign, exponent) = match exponent.strip_prefix('-') {
        Some(exponent) => ('-', exponent),
        None => ('+', exponent),
    };
    format!("{digits}e{sign}{exponent:0>2}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_cs() {
        assert_eq!(scientific(0.09070205688, 10), "9.0702056880e-02");
        assert_eq!(scientific(92_485_311.669, 10), "9.2485311669e+07");
        assert_eq!(scientific(0.0, 8), "0.00000000e+00");
    }
}
