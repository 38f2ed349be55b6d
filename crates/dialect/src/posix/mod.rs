//! posix: whether a file system keeps its promises, rule by rule.
//!
//! ```text
//!   suites/posix/*.toml ─ suite ─► rules ─ step, fill, calls ─► expand ─► Cases
//!   argv ─ options ─► settings ─ lower ─► the plan: cases and exercises ─► the engine
//!   CaseRecords, profile ─ judge ─► report: summary, TAP, JUnit, JSON, differences
//!   another suite's TAP ─ tap, import ─► the same report
//!   ExerciseRecords ─► the same report
//! ```
//! It refuses to know a single rule: all of them are data.

pub mod calls;
pub mod dollar;
pub mod earlier;
pub mod exercise;
pub mod expand;
pub mod fill;
pub mod import;
pub mod judge;
pub mod list;
pub mod load;
pub mod lower;
pub mod naming;
pub mod options;
pub mod pjdfstest;
pub mod profile;
pub mod report;
pub mod rules;
pub mod scripts;
pub mod select;
pub mod settings;
pub mod show;
pub mod step;
pub mod suite;
pub mod suite_arguments;
pub mod tap;
pub mod vocabulary;

use std::sync::Arc;

use iodyno_model::{Diagnostic, Origin};

use crate::native::{self, suggestion};
use crate::{Dialect, Loader, ReportFile, Request, Run};
use earlier::EarlierFailures;
use expand::ExpandedSuite;
use options::Options;
use report::Reports;

/// The command in the list of dialects.
pub const DIALECT: Dialect = Dialect {
    name: "posix",
    about: "check a file system against the rules of POSIX and Linux",
    drop_in: false,
    also: &[],
    lower: request,
};

/// What checks the rules of durability of such a command, in words of `iodyno powerfail`; none: nobody asked for them, or
/// the command is wrong, which the command itself tells.
pub fn durability(arguments: &[String]) -> Option<Vec<String>> {
    let options = native::parsed::<Options>("iodyno posix", arguments).ok()?.ok()?;
    options.durability.words(options.folder.as_deref()?)
}

/// The command for what another suite found.
const IMPORT: &str = "import-tap";

fn request(arguments: &[String], loader: &mut dyn Loader) -> Result<Request, Vec<Diagnostic>> {
    if let [first, rest @ ..] = arguments
        && first == IMPORT
    {
        return import::request(rest, loader);
    }
    let options = match native::parsed::<Options>("iodyno posix", arguments)? {
        Ok(options) => options,
        Err(help) => return Ok(help),
    };
    let asks = options.suite.asks() || options.write_t.is_some();
    if options.folder.is_none() && !asks {
        return Err(nowhere());
    }
    let mut suite = read(&options, loader)?;
    if let Some(answer) = options.suite.about(&suite, &suite::POSIX)? {
        return Ok(answer);
    }
    options.suite.select(&mut suite)?;
    let earlier =
        options.failed_in.as_deref().map(|path| earlier::select(path, &mut suite, loader)).transpose()?;
    if let Some(list) = options.suite.listed(&suite) {
        return Ok(list);
    }
    if let Some(folder) = &options.write_t {
        settings::directory(folder, "--write-t", loader).map_err(|wrong| vec![wrong])?;
        let mut options = options.clone();
        let here = loader.variable("PWD").unwrap_or_default();
        // The scripts run in another directory.
        let relative =
            options.suite.rules.iter_mut().filter(|folder| !folder.starts_with('/') && !here.is_empty());
        relative.for_each(|rules| *rules = format!("{here}/{rules}"));
        let (files, out) = scripts::scripts(&suite, &options, folder);
        return Ok(Request::Write { files, out, status: 0 });
    }
    run(suite, options, earlier, loader)
}

/// The rules, those carried along or those of the directories that were named.
fn read(options: &Options, loader: &mut dyn Loader) -> Result<ExpandedSuite, Vec<Diagnostic>> {
    let files = options.suite.files(&suite::POSIX, loader)?;
    let (suite, mut wrong) = rules::read(&files)?;
    if let Some(part) = part(&suite, options) {
        return Ok(part);
    }
    let expanded = kept(expand::expand(&suite), &mut wrong);
    expanded.filter(|_| wrong.is_empty()).ok_or(wrong)
}

/// Only what `--only` may mean, where that is enough: rules of ours that are not wanted need not be read to their end. What
/// is wrong with the patterns is told by who knows all names.
fn part(suite: &rules::Suite, options: &Options) -> Option<ExpandedSuite> {
    let whole =
        options.suite.check_rules || options.suite.explain.is_some() || !options.suite.rules.is_empty();
    if whole || options.suite.only.is_empty() || !options.suite.except.is_empty() {
        return None;
    }
    let wanted = |rule: &&rules::Rule| options.suite.only.iter().any(|only| select::may_mean(only, rule));
    let rules = suite.rules.iter().filter(wanted).cloned().collect();
    let named = |name: &str| options.suite.only.iter().any(|only| select::may_begin(only, name));
    let part = expand::expand_where(&rules::Suite { rules, ..suite.clone() }, Some(&named)).ok()?;
    let means = |only: &String| part.cases.iter().any(|case| select::means(only, case));
    options.suite.only.iter().all(means).then_some(part)
}

/// The nearest of the known names, or another hint where none is near.
fn near_or(name: &str, known: &[&str], otherwise: &str) -> String {
    Some(suggestion(name, known)).filter(|near| near.starts_with("did")).unwrap_or_else(|| otherwise.into())
}

fn nowhere() -> Vec<Diagnostic> {
    let wrong = Diagnostic::error(&Origin::argument("iodyno posix"), "no directory was named");
    vec![wrong.hint("iodyno posix . checks the file system of the current directory")]
}

fn run(
    suite: ExpandedSuite,
    options: Options,
    earlier: Option<EarlierFailures>,
    loader: &mut dyn Loader,
) -> Result<Request, Vec<Diagnostic>> {
    let (setup, load) = settings::resolve(suite, options, earlier, loader)?;
    let options = &setup.options;
    let files = options.suite.report_files();
    let files = files.chain(options.live.then(ReportFile::screen)).collect();
    let plan = lower::plan(&setup, load);
    let judged = Arc::clone(&setup);
    Ok(Request::Run(Box::new(Run {
        files,
        keep: options.history.clone().keep(),
        unwatched: options.watch.unwatched(),
        findings: false,
        status: Some(Box::new(move |record| report::results(&judged, record).status())),
        ..Run::of(plan, Box::new(Reports::new(setup)))
    })))
}

/// What there is; what is wrong is gathered.
fn kept<T>(found: Result<T, Vec<Diagnostic>>, wrong: &mut Vec<Diagnostic>) -> Option<T> {
    found.map_err(|problems| wrong.extend(problems)).ok()
}
