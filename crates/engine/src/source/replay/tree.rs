//! The tree that a trace of files works in: its names, and what must be there before the first record.

use std::collections::HashMap;
use std::ffi::CString;
use std::os::fd::RawFd;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use iodyno_model::{Job, Remap, Trace, Workload};
use iodyno_trace::replay::{KnownSurvey, Need, Survey, tree};
use iodyno_trace::{FileKind, TraceError};

use super::unreadable;
use crate::failure::Failure;
use crate::io::{Files, Names, PathBuffer};
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

impl TreeSurveys {
    /// Those that whoever made the plan has read already.
    pub fn knowing(surveys: Vec<KnownSurvey>) -> TreeSurveys {
        TreeSurveys(Arc::new(Mutex::new(surveys)))
    }

    /// Reads a trace to know its tree, if nobody has.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn of(&self, trace: &Trace) -> Result<Arc<Survey>, Failure> {
        let (path, format) = (trace.path.as_deref().unwrap_or_default(), &trace.format);
        let skip = &trace.replay.skip;
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_wanted =
            |known: &&KnownSurvey| known.path == path && known.format == *format && known.skip == *skip;
        if let Some(known) = all.iter().find(is_wanted) {
            return Ok(Arc::clone(&known.survey));
        }
        let read = || -> Result<Survey, TraceError> {
            let mut source = trace_file::open(path, format)?;
            Survey::of(&mut *source, skip)
        };
        let survey = Arc::new(read().map_err(|error| unreadable(path, &error))?);
        let (path, format, skip) = (path.to_string(), format.clone(), skip.clone());
        all.push(KnownSurvey { path, format, skip, survey: Arc::clone(&survey) });
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

/// By file, how long it is made where nothing is, of a trace whose places are mapped.
pub fn made_lengths(trace: &Trace, survey: &Survey) -> Option<Arc<[u64]>> {
    if trace.replay.remap == Remap::No {
        return None;
    }
    let needs: HashMap<String, Need> = needs(trace, survey).into_iter().collect();
    let copies = trace.replay.copies.max(1);
    let paths = survey.paths();
    let of = |copy: u32| {
        let above = copy_directory(copies, copy);
        let needs = &needs;
        paths.iter().map(move |path| match needs.get(&format!("{above}{path}")) {
            Some(Need::File(bytes)) => *bytes,
            _ => 0,
        })
    };
    Some((0..copies).flat_map(of).collect())
}

/// By file, how far its places reach: as far as a file does that was found and that the trace uses beyond its end; 0: as
/// far as they like. A file that has the length that it would be made with is as it was recorded.
pub fn bounds(trace: &Trace, files: &Files, made_lengths: &[u64]) -> Vec<u64> {
    let Some((set, names)) = files.handles.first().and_then(|set| Some((set, set.names.as_deref()?))) else {
        return Vec::new();
    };
    let ends = &trace.replay.facts.ends;
    let bound = |(item, made): (usize, &u64)| {
        let facts = look(set.fd, names, item as u64, 0).filter(|facts| facts.is_file)?;
        let end = ends.get(item % ends.len().max(1)).copied().unwrap_or(0).max(*made);
        (facts.bytes != *made && facts.bytes < end).then_some(facts.bytes)
    };
    made_lengths.iter().enumerate().map(|one| bound(one).unwrap_or(0)).collect()
}

/// What `stat` says of a file.
pub(super) struct FileFacts {
    /// Device and inode.
    pub key: (u64, u64),
    pub bytes: u64,
    pub blocks: u64,
    pub is_file: bool,
    pub links: u64,
}

/// Looks at a file of a tree.
pub(super) fn look(root: RawFd, names: &Names, item: u64, flags: libc::c_int) -> Option<FileFacts> {
    let mut buffer = PathBuffer::default();
    let path = names.path(item, &mut buffer);
    // SAFETY: all zeros are a value of this type.
    let mut facts: libc::stat = unsafe { std::mem::zeroed() };
    // SAFETY: the path is zero-terminated and, as the facts, outlives the call.
    let answer = unsafe { libc::fstatat(root, path.as_ptr(), &raw mut facts, flags) };
    #[allow(clippy::unnecessary_cast, reason = "the fields' widths depend on the system")]
    (answer == 0).then_some(FileFacts {
        key: (facts.st_dev as u64, facts.st_ino as u64),
        bytes: facts.st_size as u64,
        blocks: facts.st_blocks as u64,
        is_file: facts.st_mode & libc::S_IFMT == libc::S_IFREG,
        links: facts.st_nlink as u64,
    })
}

/// Whether nothing lies at a path, not even a link that leads nowhere.
pub fn is_free(path: &Path) -> bool {
    std::fs::symlink_metadata(path).is_err()
}

#[cfg(test)]
mod tests {
    use iodyno_model::{Timing, Verb};

    use super::*;

    #[test]
    fn a_trace_that_was_surveyed_is_not_read_again() {
        let survey = Arc::new(Survey { reads: vec![7], ..Survey::default() });
        let (path, skip) = ("/nowhere/t.iot".to_string(), vec![Verb::Trim]);
        let known = KnownSurvey { path: path.clone(), format: "iot".into(), skip, survey };
        let surveys = TreeSurveys::knowing(vec![known]);
        let mut trace =
            Trace { path: Some(path), format: "iot".into(), ..Trace::of(Vec::new(), Timing::AsFast) };
        trace.replay.skip = vec![Verb::Trim];
        assert_eq!(surveys.of(&trace).unwrap().reads, [7]);
        // Without a verb less it is another tree.
        trace.replay.skip.clear();
        let failure = surveys.of(&trace).unwrap_err();
        assert_eq!(failure.message, "/nowhere/t.iot: No such file or directory");
    }
}
