//! The tree that a trace of files works in: its names, and what must be there before the first record.

use std::ffi::CString;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use iodyno_model::{Job, Trace, Verb, Workload};
use iodyno_trace::replay::{Need, Survey, tree};
use iodyno_trace::{FileKind, TraceError};

use super::unreadable;
use crate::failure::Failure;
use crate::names::ListedName;
use crate::trace_file;

/// The names of a trace's files, in the order in which operations number them.
pub type TreeNames = Arc<[ListedName]>;

/// The trace of a job that works in a tree.
pub fn of(job: &Job) -> Option<&Trace> {
    match &job.workload {
        Workload::Trace(trace) if trace.path.is_some() && trace.replay.tree => Some(trace),
        _ => None,
    }
}

/// What the traces of a plan hold, each read once for all who need to know its tree: who makes it, and who names its files.
#[derive(Clone, Debug, Default)]
pub struct TreeSurveys(Arc<Mutex<Vec<KnownSurvey>>>);

/// The path of a trace, its format, and the verbs that are left out of it.
type SurveyedTrace = (String, String, Vec<Verb>);

type KnownSurvey = (SurveyedTrace, Arc<Survey>);

impl TreeSurveys {
    /// Reads a trace to know its tree, if nobody has.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn of(&self, trace: &Trace) -> Result<Arc<Survey>, Failure> {
        let path = trace.path.clone().unwrap_or_default();
        let wanted = (path, trace.format.clone(), trace.replay.skip.clone());
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, survey)) = known.iter().find(|(trace, _)| *trace == wanted) {
            return Ok(Arc::clone(survey));
        }
        let read = || -> Result<Survey, TraceError> {
            let mut source = trace_file::open(&wanted.0, &wanted.1)?;
            Survey::of(&mut *source, &wanted.2)
        };
        let survey = Arc::new(read().map_err(|error| unreadable(&wanted.0, &error))?);
        known.push((wanted, Arc::clone(&survey)));
        Ok(survey)
    }
}

/// The directory of a copy, below the root.
fn copy_directory(copies: u32, copy: u32) -> String {
    if copies > 1 { format!("copy{}/", copy + 1) } else { String::new() }
}

/// The names of all copies.
///
/// # Errors
/// A name with a zero byte.
pub fn names(trace: &Trace, survey: &Survey) -> Result<TreeNames, Failure> {
    let copies = trace.replay.copies.max(1);
    let mut names = Vec::with_capacity(survey.tables.files.len() * copies as usize);
    for copy in 0..copies {
        let above = copy_directory(copies, copy);
        for (index, (file, path)) in survey.tables.files.iter().zip(survey.paths()).enumerate() {
            let wrong = |_| Failure::new(format!("{:?}: a name with a zero byte", file.name));
            let changes = survey.changes.get(index).is_some_and(|changes| *changes > 0);
            let flags = match file.kind {
                FileKind::File if changes => libc::O_RDWR,
                _ => libc::O_RDONLY,
            };
            let path = CString::new(format!("{above}{path}")).map_err(wrong)?;
            names.push(ListedName { path, text: file.name.clone(), flags });
        }
    }
    Ok(names.into())
}

/// What must be there, by path below the root: directories first.
pub fn needs(trace: &Trace, survey: &Survey) -> Vec<(String, Need)> {
    let copies = trace.replay.copies.max(1);
    let mut all = Vec::new();
    for copy in 0..copies {
        let above = copy_directory(copies, copy);
        all.extend((!above.is_empty()).then(|| (above.trim_end_matches('/').to_string(), Need::Directory)));
        all.extend(tree(survey).into_iter().map(|(path, need)| (format!("{above}{path}"), need)));
    }
    all
}

/// Whether nothing lies at a path, not even a link that leads nowhere.
pub fn is_free(path: &Path) -> bool {
    std::fs::symlink_metadata(path).is_err()
}
