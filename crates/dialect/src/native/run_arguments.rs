//! How a native plan is run, whatever says which: a file, or a kept run.
//!
//! Refuses nothing by itself; what does not fit the plan is found where it is joined to it.

use iodyno_model::{Diagnostic, Plan};

use super::{ExportArguments, KeepArguments};
use crate::run_options::RunOptions;
use crate::{ReportFile, Run};

/// Whether witnesses watch.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct WatchArguments {
    /// Run without witnesses: only findings of the run itself, no counters of devices
    #[arg(long, value_name = "off", value_parser = ["off"])]
    pub witness: Option<String>,
}

impl WatchArguments {
    /// Whether they stay at home.
    pub fn unwatched(&self) -> bool {
        self.witness.is_some()
    }
}

/// What may be said of a run besides its plan.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct Manner {
    /// Use this seed instead of the plan's
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Allow overwriting this device; repeatable
    #[arg(long, value_name = "DEVICE")]
    pub destroy: Vec<String>,
    /// Print a table with a row for each rank after the report
    #[arg(long)]
    pub ranks: bool,
    /// Print explained findings in full
    #[arg(long)]
    pub details: bool,
    /// Print no progress line
    #[arg(long)]
    pub quiet: bool,
    #[allow(missing_docs, reason = "a comment would be a heading of the help")]
    #[command(flatten)]
    pub export: ExportArguments,
    #[allow(missing_docs, reason = "a comment would be a heading of the help")]
    #[command(flatten)]
    pub watch: WatchArguments,
    #[allow(missing_docs, reason = "a comment would be a heading of the help")]
    #[command(flatten)]
    pub wishes: RunOptions,
    #[allow(missing_docs, reason = "a comment would be a heading of the help")]
    #[command(flatten)]
    pub keep: KeepArguments,
}

impl Manner {
    /// Makes it part of a plan; what the plan was allowed to destroy before is not inherited.
    ///
    /// # Errors
    /// What does not fit the plan.
    pub fn apply(&self, plan: &mut Plan) -> Result<(), Diagnostic> {
        plan.seed = self.seed.unwrap_or(plan.seed);
        plan.destroy.clone_from(&self.destroy);
        self.wishes.apply(plan, "")
    }

    /// Makes it part of a run whose plan it is part of already.
    pub fn join(self, run: &mut Run) {
        let ranks = self.ranks.then(|| ReportFile { path: "-".into(), format: "ranks".into() });
        run.files.extend(self.export.files().into_iter().chain(ranks));
        run.live_ns = if self.quiet { 0 } else { run.live_ns };
        run.unwatched = self.watch.unwatched();
        run.keep = self.keep.keep();
        run.details = self.details;
    }
}
