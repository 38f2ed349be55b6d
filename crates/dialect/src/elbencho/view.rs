//! What the report must know that the plan does not say: the test, and what each phase of the plan is to the reader.

use super::test::ElbenchoTest;

#[derive(Clone, Debug, Default)]
pub struct ReportContext {
    pub test: ElbenchoTest,
    /// What each phase of the plan is.
    pub parts: Vec<ElbenchoPhase>,
    /// The command line as it was typed, quoted.
    pub command: String,
    /// Seconds that local time is east of Greenwich.
    pub east_s: i64,
    /// What phases are told apart by in files of JSON.
    pub number: [u8; 16],
    /// Whether the file of CSV, and that of live CSV, begins with names of columns.
    pub labels: (bool, bool),
    /// Whether standard output and standard error are terminals.
    pub terminals: (bool, bool),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ElbenchoPhase {
    pub role: PhaseRole,
    pub name: String,
    pub iteration: u64,
    /// Entries and bytes of the whole phase; 0: it has none.
    pub entries: u64,
    pub bytes: u64,
    /// Operations of an entry besides reads and writes.
    pub others: u64,
}

/// What a phase is to the reader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PhaseRole {
    MakeDirectories,
    Write,
    Stat,
    Read,
    DeleteFiles,
    DeleteDirectories,
    Sync,
    DropCaches,
    ListInParallel,
    DeleteMany,
}

/// The label of what is done with an entry as a whole.
pub const ENTRY: &str = "entry";
/// The label of what is done beside: it counts in no result.
pub const BESIDE: &str = "beside";
/// The label of reads beside writes.
pub const INLINE: &str = "inline";

impl PhaseRole {
    /// Whether its entries are directories.
    pub const fn is_of_directories(self) -> bool {
        matches!(self, PhaseRole::MakeDirectories | PhaseRole::DeleteDirectories)
    }

    /// Whether it moves data.
    pub const fn moves_data(self) -> bool {
        matches!(self, PhaseRole::Write | PhaseRole::Read)
    }
}
