//! What the report must know that the plan does not say: the test, and what each phase of the plan is to the reader.

use super::test::WorkbenchTest;

#[derive(Clone, Debug, Default)]
pub struct ReportContext {
    pub test: WorkbenchTest,
    /// What each phase of the plan is.
    pub parts: Vec<TestPhase>,
    /// The command line, as it was typed.
    pub command: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TestPhase {
    pub role: PhaseRole,
    /// Which repetition of the benchmark: what names of latency files say.
    pub iteration: u32,
    /// How many times as long as an operation took its pause is.
    pub waiting: f64,
}

/// What a phase is to the reader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PhaseRole {
    /// Its time and its counts belong to the precreation, which follows.
    Sets,
    Precreate,
    Benchmark,
    Cleanup,
    /// The removal of the directory around the data sets.
    Hidden,
}

impl PhaseRole {
    /// What the line begins with, and what the phase of the plan is called.
    pub const fn name(self) -> &'static str {
        match self {
            PhaseRole::Sets => "data sets",
            PhaseRole::Precreate => "precreate",
            PhaseRole::Benchmark => "benchmark",
            PhaseRole::Cleanup => "cleanup",
            PhaseRole::Hidden => "directory removal",
        }
    }
}
