//! Whether the history keeps a native run: it does, unless that is declined.

use crate::Keep;

/// What becomes of a native run.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct KeepArguments {
    /// Tag the run in the history; repeatable
    #[arg(long, value_name = "NAME")]
    pub tag: Vec<String>,
    /// Do not keep the run in the history
    #[arg(long, conflicts_with = "tag")]
    pub no_save: bool,
}

impl KeepArguments {
    /// The same as the door is told it.
    pub fn keep(self) -> Keep {
        let wanted = match (self.no_save, self.tag.is_empty()) {
            (true, _) => Some(false),
            (false, false) => Some(true),
            (false, true) => None,
        };
        Keep { wanted, tags: self.tag }
    }
}
