//! What the report must know that the plan does not say: the test, and what each phase of the plan is to the reader.

use super::test::MdtestTest;

#[derive(Clone, Debug, Default)]
pub struct ReportContext {
    pub test: MdtestTest,
    /// What each phase of the plan is.
    pub parts: Vec<TestPhase>,
    /// The command line, as it was typed.
    pub command: Vec<String>,
    /// mdtest's version whose text is written: 4, or 3.
    pub layout: u8,
    /// Whether a table of percentiles follows.
    pub percentiles: bool,
    /// Whether times are whole phases' seconds under the heading of ms/op, as mdtest's are.
    pub bugs: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TestPhase {
    /// Its number of tasks, by index.
    pub set: usize,
    pub iteration: usize,
    /// What it is to the reader.
    pub role: PhaseRole,
}

/// What a phase is to the reader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PhaseRole {
    /// A row of the table.
    Measured(ResultRow),
    /// Its time belongs to that row, its operations do not.
    After(ResultRow),
    /// Nothing.
    Hidden,
}

macro_rules! rows {
    ($($row:ident $name:literal;)*) => {
        /// A row of the table.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[allow(missing_docs)]
        pub enum ResultRow { $($row,)* }

        impl ResultRow {
            /// All rows, in the order of the table.
            pub const ALL: &'static [ResultRow] = &[$(ResultRow::$row,)*];

            pub const fn name(self) -> &'static str {
                match self { $(ResultRow::$row => $name,)* }
            }
        }
    };
}

rows! {
    DirectoryCreation "Directory creation";
    DirectoryStat "Directory stat";
    DirectoryRead "Directory read";
    DirectoryRename "Directory rename";
    DirectoryRemoval "Directory removal";
    FileCreation "File creation";
    FileStat "File stat";
    FileRead "File read";
    FileRemoval "File removal";
    TreeCreation "Tree creation";
    TreeRemoval "Tree removal";
    SymlinkCreation "Symlink creation";
    SymlinkRemoval "Symlink removal";
    LinkCreation "Link creation";
    LinkRemoval "Link removal";
    XattrSet "Xattr set";
    XattrGet "Xattr get";
    FileChmod "File chmod";
    DirectoryListing "Directory list";
    FileRename "File rename";
}

impl ResultRow {
    /// How many rows mdtest itself has; those behind are ours.
    pub const OWN: usize = 11;

    /// Whether it is about files.
    pub const fn is_of_files(self) -> bool {
        matches!(
            self,
            ResultRow::FileCreation | ResultRow::FileStat | ResultRow::FileRead | ResultRow::FileRemoval
        ) || self as usize >= ResultRow::OWN && !matches!(self, ResultRow::DirectoryListing)
    }

    /// Whether it is about the tree.
    pub const fn is_of_the_tree(self) -> bool {
        matches!(self, ResultRow::TreeCreation | ResultRow::TreeRemoval)
    }
}
