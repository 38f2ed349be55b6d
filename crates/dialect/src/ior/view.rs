//! What the report must know that the plan does not say: the tests, and what each phase of the plan is to the reader.

use iodyno_model::WorldFacts;

use super::test::IorTest;

#[derive(Clone, Debug, Default)]
pub struct ReportContext {
    pub tests: Vec<IorTest>,
    /// What each phase of the plan is.
    pub parts: Vec<TestPhase>,
    /// The command line, as it was typed.
    pub command: String,
    /// The tasks' machines.
    pub world: WorldFacts,
    /// IOR's version whose text is written: 4, or 3.
    pub layout: u8,
    /// Whether more may be said than IOR says: not called by its name.
    pub talks: bool,
    /// Quirks of IOR that a parser needs.
    pub bugs: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TestPhase {
    /// Its test, by index.
    pub test: usize,
    pub repetition: u32,
    /// What it does.
    pub access: Access,
}

/// What a phase does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Fills the file before random writes.
    Prefill,
    /// Writes.
    Write,
    /// Reads back and compares, apart.
    Check,
    Read,
    /// Removes the files.
    Remove,
}

impl Access {
    /// The word of reports.
    pub const fn name(self) -> &'static str {
        match self {
            Access::Prefill => "prefill",
            Access::Write => "write",
            Access::Check => "check",
            Access::Read => "read",
            Access::Remove => "remove",
        }
    }
}
