//! What the report needs beside the record: rows in their order, what they count as, and what is said before the run.
//!
//! Refuses to know how anything is lowered.

use super::flowops::Class;

/// A row of the breakdown.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// The flowop's name.
    pub label: String,
    /// What it counts as.
    pub class: Class,
    /// Labels whose bytes are this row's too.
    pub inner: Vec<String>,
}

/// A run of a script.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Part {
    /// What is said before it, a line each.
    pub said: Vec<String>,
    /// Processes and how many instances they have.
    pub processes: Vec<(String, u64)>,
    /// Its rows, in the order of definition.
    pub rows: Vec<Row>,
    /// How often it is reported while it runs, s; negative: counts begin anew after each; 0: at its end alone.
    pub period_s: f64,
    /// Whether any thread waits for what others do: waits are then no sign of a pool that was empty.
    pub blocks: bool,
}

/// All that the report needs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct View {
    /// The runs, in their order.
    pub parts: Vec<Part>,
    /// Whether rows carry histograms (`enable lathist`).
    pub latencies: bool,
    /// Said after the last run.
    pub last: Vec<String>,
}
