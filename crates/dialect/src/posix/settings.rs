//! What a run goes by, resolved: the directories with what is known of them, their profiles, the exercises, the load.

use std::sync::Arc;

use iodyno_model::{Diagnostic, Origin, Plan, TargetFacts};

use super::earlier::EarlierFailures;
use super::exercise::TimedExercise;
use super::expand::ExpandedSuite;
use super::options::Options;
use super::profile::{self, Profile};
use super::suite::POSIX;
use super::{kept, load, nowhere};
use crate::{Loader, PathKind};

#[derive(Clone, Debug, Default)]
pub struct CheckedDirectory {
    /// Its path, as it was named.
    pub folder: String,
    /// What it lies on.
    pub facts: TargetFacts,
    /// What is to be expected of it.
    pub profile: Option<Profile>,
    /// The command that checks it, where that is another one than `iodyno posix`.
    pub command: Option<String>,
}

impl CheckedDirectory {
    /// The type of the file system.
    pub fn file_system(&self) -> &str {
        self.facts.file_system.as_deref().unwrap_or("unknown")
    }
}

/// All that a run and its reports go by.
#[derive(Clone, Debug, Default)]
pub struct Setup {
    /// The cases and what they need.
    pub suite: ExpandedSuite,
    /// The directory, and the one it is held against.
    pub sides: Vec<CheckedDirectory>,
    /// What was asked for.
    pub options: Options,
    /// What is exercised at random afterwards.
    pub exercises: Vec<TimedExercise>,
    /// What failed in an earlier run, where only that runs again.
    pub earlier: Option<EarlierFailures>,
    /// Whether talk goes to a terminal.
    pub terminal: bool,
}

/// What the options of a run come to, and the load that runs beside the cases.
///
/// # Errors
/// Everything that is wrong with the directories, profiles, exercises and the load.
pub fn resolve(
    mut suite: ExpandedSuite,
    options: Options,
    earlier: Option<EarlierFailures>,
    loader: &mut dyn Loader,
) -> Result<(Arc<Setup>, Option<Plan>), Vec<Diagnostic>> {
    let mut wrong = Vec::new();
    let folder = options.folder.clone().ok_or_else(nowhere)?;
    let named = std::iter::once((&folder, "", options.profile.as_deref()))
        .chain(options.baseline.iter().map(|folder| (folder, "--baseline", None)));
    let mut sides = Vec::new();
    for (folder, option, profile) in named {
        sides.extend(kept(side(folder, option, profile, loader), &mut wrong));
    }
    let exercises = kept(options.exercise.wanted(loader), &mut wrong).unwrap_or_default();
    if options.exercise.alone() {
        suite.cases.clear();
    }
    let load = options.with.as_deref();
    let load = load.and_then(|path| kept(load::read(path, &folder, loader), &mut wrong));
    if !wrong.is_empty() {
        return Err(wrong);
    }
    let terminal = loader.terminals().1;
    Ok((Arc::new(Setup { suite, sides, options, exercises, earlier, terminal }), load))
}

/// A directory with what is known of it.
fn side(
    folder: &str,
    option: &str,
    wish: Option<&str>,
    loader: &mut dyn Loader,
) -> Result<CheckedDirectory, Vec<Diagnostic>> {
    let facts = directory(folder, option, loader).map_err(|wrong| vec![wrong])?;
    let profile = profile::find(&POSIX, wish, facts.file_system.as_deref(), loader)?;
    Ok(CheckedDirectory { folder: folder.into(), facts, profile, command: None })
}

/// What is known of a directory that files are made in.
///
/// # Errors
/// There is none, or it cannot be written to.
pub fn directory(folder: &str, option: &str, loader: &dyn Loader) -> Result<TargetFacts, Diagnostic> {
    let said = format!("{option} {folder}");
    let origin = Origin::argument(said.trim_start());
    let Some(facts) = loader.look(folder) else {
        return Err(Diagnostic::error(&origin, "no such directory").hint("name a directory that exists"));
    };
    if facts.kind != PathKind::Directory {
        return Err(
            Diagnostic::error(&origin, "this is no directory").hint("name the directory that it lies in")
        );
    }
    if !facts.writable {
        return Err(Diagnostic::error(&origin, "this directory cannot be written to")
            .hint("files are made below it and removed again: name one that you may write to"));
    }
    Ok(facts.target)
}
