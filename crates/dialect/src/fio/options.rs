//! fio's job options: every one of version 3.42 exactly once.

use crate::option::{Spelling, Table};

/// The table.
pub const TABLE: Table = Table { tool: "fio", spelling: Spelling::Assigned, entries: &[] };
