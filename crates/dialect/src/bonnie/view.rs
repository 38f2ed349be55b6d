//! What the report knows: the settings, and which test each phase of the plan is.

use super::settings::Settings;

/// A test of the report, in its order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TestName {
    ByteWrite,
    FastWrite,
    Rewrite,
    ByteRead,
    FastRead,
    Seeks,
    CreateInOrder,
    ReadInOrder,
    DeleteInOrder,
    CreateAtRandom,
    ReadAtRandom,
    DeleteAtRandom,
}

impl TestName {
    pub const FILE: [TestName; 6] = [
        TestName::ByteWrite,
        TestName::FastWrite,
        TestName::Rewrite,
        TestName::ByteRead,
        TestName::FastRead,
        TestName::Seeks,
    ];
    pub const FILES: [TestName; 6] = [
        TestName::CreateInOrder,
        TestName::ReadInOrder,
        TestName::DeleteInOrder,
        TestName::CreateAtRandom,
        TestName::ReadAtRandom,
        TestName::DeleteAtRandom,
    ];

    /// The word of plans.
    pub const fn word(self) -> &'static str {
        match self {
            TestName::ByteWrite => "write byte by byte",
            TestName::FastWrite => "write",
            TestName::Rewrite => "rewrite",
            TestName::ByteRead => "read byte by byte",
            TestName::FastRead => "read",
            TestName::Seeks => "seeks",
            TestName::CreateInOrder => "create in order",
            TestName::ReadInOrder => "read in order",
            TestName::DeleteInOrder => "delete in order",
            TestName::CreateAtRandom => "create at random",
            TestName::ReadAtRandom => "read at random",
            TestName::DeleteAtRandom => "delete at random",
        }
    }

    /// What standard error says when it begins, and when it has ended.
    pub const fn progress(self) -> (&'static str, &'static str) {
        match self {
            TestName::ByteWrite => ("Writing a byte at a time...", "done\n"),
            TestName::FastWrite => ("Writing intelligently...", "done\n"),
            TestName::Rewrite => ("Rewriting...", "done\n"),
            TestName::ByteRead => ("Reading a byte at a time...", "done\n"),
            TestName::FastRead => ("Reading intelligently...", "done\n"),
            TestName::Seeks => ("start 'em...", "\n"),
            TestName::CreateInOrder => ("Create files in sequential order...", "done.\n"),
            TestName::ReadInOrder => ("Stat files in sequential order...", "done.\n"),
            TestName::DeleteInOrder => ("Delete files in sequential order...", "done.\n"),
            TestName::CreateAtRandom => ("Create files in random order...", "done.\n"),
            TestName::ReadAtRandom => ("Stat files in random order...", "done.\n"),
            TestName::DeleteAtRandom => ("Delete files in random order...", "done.\n"),
        }
    }
}

/// What a phase is to the report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BonniePhase {
    pub run: u32,
    /// The test that it is a part of; none: it makes ready or clears away.
    pub test: Option<TestName>,
    /// Whether the test begins and ends with it.
    pub begins: bool,
    pub ends: bool,
    /// Whether the run ends with it.
    pub is_last: bool,
}

#[derive(Clone, Debug)]
pub struct ReportContext {
    pub settings: Settings,
    pub parts: Vec<BonniePhase>,
}
