//! The command line: what is checked, against what, and where the answers go.
//!
//! Looks at nothing outside the words; what a directory is, is asked in [`mod`](super).

use clap::{Args, Parser};
use iodyno_model::units;

use super::suite_arguments::SuiteArguments;
use crate::native::{KeepArguments, WatchArguments};

/// What is said about the command below its options.
const AFTER: &str = "Also: iodyno posix import-tap FILE…   the results of another suite, in the same report\n\n\
Run it as root: without, rules that need several users are not applicable. Everything happens in a directory of its own \
below DIR, which is removed. Exit status: 0 no failure but expected ones; 1 something failed or could not be tried; 2 the \
command is wrong; 128 + n ended by signal n. What rules are and how to write them: docs/rules.md.";

/// The words of `iodyno posix`.
#[derive(Clone, Debug, Default, Parser)]
#[command(
    name = "iodyno posix",
    about = super::DIALECT.about,
    after_help = AFTER,
    disable_version_flag = true,
    override_usage = "iodyno posix [OPTIONS] DIR"
)]
pub struct Options {
    /// The directory to check: any one on the file system
    #[arg(value_name = "DIR")]
    pub folder: Option<String>,
    #[allow(missing_docs, reason = "a comment would be a heading of the help")]
    #[command(flatten)]
    pub suite: SuiteArguments,
    /// Run only the cases that failed in this JSON report of an earlier run, one at a time, and report what changed
    #[arg(long, value_name = "FILE")]
    pub failed_in: Option<String>,
    /// What to expect of the file system: a name, a file, or none [default: by its type]
    #[arg(long, value_name = "PROFILE")]
    pub profile: Option<String>,
    /// Check this directory as well, and show the differences
    #[arg(long, value_name = "DIR2")]
    pub baseline: Option<String>,
    /// Run this fio job file below DIR at the same time
    #[arg(long, value_name = "JOBFILE")]
    pub with: Option<String>,
    #[allow(missing_docs, reason = "a comment would be a heading of the help")]
    #[command(flatten)]
    pub durability: DurabilityArguments,
    /// Show the run full-screen
    #[arg(long)]
    pub live: bool,
    /// Write a test script for each group to this directory, for prove -r
    #[arg(long, value_name = "DIR")]
    pub write_t: Option<String>,
    /// Number of parallel processes [default: as many as the machine allows]
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true)]
    pub at_once: u32,
    /// Time limit of a case, e.g. 10s
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = time)]
    pub case_time: u64,
    /// Keep the files of failed cases
    #[arg(long)]
    pub keep: bool,
    /// Seed of random choices
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    // No word of its own: those of the exerciser, in a group of theirs.
    #[allow(missing_docs)]
    #[command(flatten)]
    #[allow(missing_docs, reason = "a comment would be a heading of the help")]
    pub exercise: super::exercise::ExerciseArguments,
    #[allow(missing_docs, reason = "a comment would be a heading of the help")]
    #[command(flatten)]
    pub watch: WatchArguments,
    #[allow(missing_docs, reason = "a comment would be a heading of the help")]
    #[command(flatten)]
    pub history: KeepArguments,
}

/// How the rules of durability are checked: by the writer and the judge of `iodyno powerfail`, before all others.
#[derive(Args, Clone, Debug, Default)]
pub struct DurabilityArguments {
    /// Check first what is there after a power cut: a command that cuts it, or goingdown (as iodyno powerfail write has it)
    #[arg(long, value_name = "CMD", requires = "promises", conflicts_with_all = ["tap", "baseline", "failed_in"])]
    pub trigger: Option<String>,
    /// When: 5s, 2000ops
    #[arg(long, value_name = "WHEN", requires = "trigger")]
    pub after: Option<String>,
    /// A command that brings DIR back
    #[arg(long, value_name = "CMD", requires = "trigger")]
    pub then: Option<String>,
    /// Where promises are logged: a new file on other storage
    #[arg(long, value_name = "FILE", requires = "trigger")]
    pub promises: Option<String>,
}

impl DurabilityArguments {
    /// The words of `iodyno powerfail` that check it; none: without a trigger it is not checked.
    pub fn words(&self, folder: &str) -> Option<Vec<String>> {
        let (trigger, log) = (self.trigger.as_ref()?, self.promises.as_ref()?);
        let mut words: Vec<String> =
            ["write", folder, "--log", log, "--trigger", trigger].map(String::from).into();
        for (option, value) in [("--after", &self.after), ("--then", &self.then)] {
            words.extend(value.iter().flat_map(|value| [option.to_string(), value.clone()]));
        }
        Some(words)
    }
}

fn time(text: &str) -> Result<u64, String> {
    // A bare number is seconds.
    let text = if text.parse::<f64>().is_ok() { format!("{text}s") } else { text.into() };
    units::parse_ns(&text)
        .and_then(|ns| if ns == 0 { Err("a case takes at least 1ns".into()) } else { Ok(ns) })
}
