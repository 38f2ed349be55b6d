//! Options that the commands of all suites have: which rules are run, and where the answers go.

use clap::Args;
use iodyno_model::Diagnostic;

use super::expand::ExpandedSuite;
use super::select::{self, Selection};
use super::suite::{self, BuiltInSuite, File};
use super::{kept, list, profile};
use crate::{Loader, ReportFile, Request};

/// Which rules, and where the answers go.
#[derive(Args, Clone, Debug, Default)]
pub struct SuiteArguments {
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
    /// Report as TAP, for prove
    #[arg(long)]
    pub tap: bool,
    /// Write JUnit XML to this file
    #[arg(long, value_name = "FILE")]
    pub junit: Option<String>,
    /// Write JSON to this file
    #[arg(long, value_name = "FILE")]
    pub json: Option<String>,
    /// Also fail when an expected failure does not happen
    #[arg(long)]
    pub strict: bool,
    /// Print each broken rule with its steps instead of the causes
    #[arg(long)]
    pub details: bool,
    /// A line for every case, and every round of a failure
    #[arg(short, long)]
    pub verbose: bool,
}

impl SuiteArguments {
    /// Whether rules are only asked about, and none is run.
    pub fn asks(&self) -> bool {
        self.check_rules || self.explain.is_some() || self.list
    }

    /// Whether each broken rule is told.
    pub fn tells_all(&self) -> bool {
        self.details || self.verbose
    }

    /// The files of rules: those of the directories that were named, or the built-in ones.
    ///
    /// # Errors
    /// What cannot be read.
    pub fn files(
        &self,
        built_in: &BuiltInSuite,
        loader: &mut dyn Loader,
    ) -> Result<Vec<File>, Vec<Diagnostic>> {
        let mut files = Vec::new();
        for folder in &self.rules {
            files.extend(suite::in_folder(folder, loader)?);
        }
        Ok(if self.rules.is_empty() { built_in.rules() } else { files })
    }

    /// What is answered before rules are chosen: how many there are, where the built-in profiles are held against them, or
    /// one of them in full.
    ///
    /// # Errors
    /// A profile that names no rule; a rule that does not exist.
    pub fn about(
        &self,
        suite: &ExpandedSuite,
        built_in: &BuiltInSuite,
    ) -> Result<Option<Request>, Vec<Diagnostic>> {
        if self.check_rules {
            return self.check(suite, built_in).map(Some);
        }
        let explained = self.explain.as_ref().map(|name| list::explain(suite, name)).transpose()?;
        Ok(explained.map(|out| Request::Print { out, status: 0 }))
    }

    fn check(&self, suite: &ExpandedSuite, built_in: &BuiltInSuite) -> Result<Request, Vec<Diagnostic>> {
        let mut wrong = Vec::new();
        if self.rules.is_empty() {
            for file in built_in.profiles() {
                let profile = kept(profile::read(&file), &mut wrong);
                wrong.extend(profile.iter().flat_map(|profile| profile::strays(profile, suite)));
            }
        }
        if wrong.is_empty() {
            Ok(Request::Print { out: list::totals(&suite.cases), status: 0 })
        } else {
            Err(wrong)
        }
    }

    /// Takes out what is not wanted.
    ///
    /// # Errors
    /// Those of [`select::select`].
    pub fn select(&self, suite: &mut ExpandedSuite) -> Result<(), Vec<Diagnostic>> {
        let wanted =
            Selection { only: self.only.clone(), except: self.except.clone(), classes: self.class.clone() };
        select::select(suite, &wanted)
    }

    /// The list of what was chosen, where that is asked for.
    pub fn listed(&self, suite: &ExpandedSuite) -> Option<Request> {
        self.list.then(|| Request::Print { out: list::list(&suite.cases, self.verbose), status: 0 })
    }

    /// Files that reports are written to.
    pub fn report_files(&self) -> impl Iterator<Item = ReportFile> + '_ {
        self.junit.iter().chain(&self.json).map(|path| ReportFile::own(path))
    }
}
