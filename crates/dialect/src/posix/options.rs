//! The command line: what is checked, against what, and where the answers go.
//!
//! Looks at nothing outside the words; what a directory is, is asked in [`mod`](super).

use clap::Parser;
use iodyno_model::units;

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
    /// Only groups, rules or cases of these names (with * and ?)
    #[arg(long, value_name = "NAME", num_args = 1)]
    pub only: Vec<String>,
    /// All but groups, rules or cases of these names (with * and ?)
    #[arg(long, value_name = "NAME", num_args = 1)]
    pub except: Vec<String>,
    /// Only rules of these classes: shall, may, linux, filesystem
    #[arg(long, value_name = "CLASS", value_delimiter = ',')]
    pub class: Vec<String>,
    /// List groups, rules, cases and checks; with --verbose every rule
    #[arg(long)]
    pub list: bool,
    /// Print a rule and its steps
    #[arg(long, value_name = "RULE")]
    pub explain: Option<String>,
    /// Parse the rules, and report their number or their errors
    #[arg(long)]
    pub check_rules: bool,
    /// Use the rules in this directory instead of the built-in ones; repeatable
    #[arg(long, value_name = "DIR")]
    pub rules: Vec<String>,
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
    /// Report as TAP, for prove
    #[arg(long)]
    pub tap: bool,
    /// Write JUnit XML to this file
    #[arg(long, value_name = "FILE")]
    pub junit: Option<String>,
    /// Write JSON to this file
    #[arg(long, value_name = "FILE")]
    pub json: Option<String>,
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
    /// Also fail when an expected failure does not happen
    #[arg(long)]
    pub strict: bool,
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
    /// Print each broken rule with its steps instead of the causes
    #[arg(long)]
    pub details: bool,
    /// A line for every case, and every round of a failure
    #[arg(short, long)]
    pub verbose: bool,
}

impl Options {
    /// Whether each broken rule is told.
    pub fn tells_all(&self) -> bool {
        self.details || self.verbose
    }
}

fn time(text: &str) -> Result<u64, String> {
    // A bare number is seconds.
    let text = if text.parse::<f64>().is_ok() { format!("{text}s") } else { text.into() };
    units::parse_ns(&text)
        .and_then(|ns| if ns == 0 { Err("a case takes at least 1ns".into()) } else { Ok(ns) })
}
