//! What the report knows: the texts and runs of a session in their order, and what each phase of the plan is.

use super::course::RunCounts;
use super::settings::Settings;

/// How the files of a location are opened, in the order of its targets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileManner {
    Made,
    Read,
    Appended,
}

impl FileManner {
    pub const ALL: [FileManner; 3] = [FileManner::Made, FileManner::Read, FileManner::Appended];

    /// The name of such a target.
    pub fn named(self, root: &str) -> String {
        match self {
            FileManner::Made => root.to_string(),
            FileManner::Read => format!("{root} to read"),
            FileManner::Appended => format!("{root} to append"),
        }
    }
}

/// A part of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunPart {
    MakeDirectories,
    Create,
    Transact,
    Delete,
    RemoveDirectories,
}

impl RunPart {
    /// The word of plans.
    pub const fn word(self) -> &'static str {
        match self {
            RunPart::MakeDirectories => "make directories",
            RunPart::Create => "create files",
            RunPart::Transact => "transactions",
            RunPart::Delete => "delete files",
            RunPart::RemoveDirectories => "remove directories",
        }
    }

    /// What is told when it begins.
    pub const fn beginning(self) -> &'static str {
        match self {
            RunPart::MakeDirectories => "Creating subdirectories...",
            RunPart::Create => "Creating files...",
            RunPart::Transact => "Performing transactions",
            RunPart::Delete => "Deleting files...",
            RunPart::RemoveDirectories => "Deleting subdirectories...",
        }
    }
}

/// What a phase is to the report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PostmarkPhase {
    pub run: u32,
    pub part: RunPart,
}

/// A run as it is reported.
#[derive(Clone, Debug)]
pub struct ReportedRun {
    pub settings: Settings,
    pub counts: RunCounts,
    pub incomplete: u64,
    pub points: usize,
    /// The file that its report is appended to; none: standard output.
    pub file: Option<String>,
}

/// What a session prints and runs, in its order.
#[derive(Clone, Debug)]
pub enum SessionPart {
    /// For standard output, or to be appended to a file.
    Text(String, Option<String>),
    Run(Box<ReportedRun>),
}

#[derive(Clone, Debug, Default)]
pub struct ReportContext {
    pub session: Vec<SessionPart>,
    pub phases: Vec<PostmarkPhase>,
    /// The paths of locations, by the plan's targets.
    pub roots: Vec<String>,
}
