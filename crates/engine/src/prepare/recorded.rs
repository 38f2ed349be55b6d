//! The tree of a trace of files, made as it was before the first record.
//!
//! Nothing that is there is changed: a file that is too short is an error, not something to be extended.

use std::io;
use std::path::Path;

use iodyno_model::{Prepare, RecordedTree, Remap, Target, TargetKind, Trace};
use iodyno_trace::replay::{Need, Survey};

use super::{MadeFiles, Progress, fill, space_failure};
use crate::failure::Failure;
use crate::names::templates::{Asker, set_root};
use crate::source::replay::tree;

/// Makes what a trace needs and does not make itself.
///
/// # Errors
/// What cannot be made, and what is there and is something else.
pub fn prepare(
    seed: u64,
    (trace, survey): (&Trace, &Survey),
    target: &Target,
    asker: Asker<'_>,
    made: &mut MadeFiles,
    progress: Progress<'_>,
) -> Result<(), Failure> {
    let TargetKind::FileSet { root, items } = &target.kind else {
        return Err(Failure::new(format!("target {}: a trace of files works in a directory", target.name))
            .hint("name a directory"));
    };
    let root = set_root(root, items, asker);
    let failure =
        |path: &str, error: &io::Error| space_failure(path, error.raw_os_error().unwrap_or(libc::EIO));
    if !trace.replay.recreate || !made.seen.insert(format!("{root}\0recorded\0{}", asker.repetition)) {
        return Ok(());
    }
    made.tree(&root, target.remove).map_err(|error| failure(&root, &error))?;
    let needs = tree::needs(trace, survey);
    let all = needs.len() as u64;
    let count = RecordedTree { target: target.name.clone(), ..RecordedTree::default() };
    let mut maker = TreeMaker { seed, target, maps: trace.replay.remap != Remap::No, count };
    for (done, (path, need)) in needs.into_iter().enumerate() {
        if !progress(&target.name, done as u64, all) {
            return Err(Failure::new("stopped while the tree was made"));
        }
        let path = format!("{root}/{path}");
        maker.make(&path, need).map_err(|error| match error {
            Trouble::System(error) => failure(&path, &error),
            Trouble::Failure(failure) => failure,
        })?;
    }
    progress(&target.name, all, all);
    made.recorded.push(maker.count);
    Ok(())
}

enum Trouble {
    System(io::Error),
    Failure(Failure),
}

impl From<io::Error> for Trouble {
    fn from(error: io::Error) -> Trouble {
        Trouble::System(error)
    }
}

/// Makes what is needed, or finds it, and counts it.
struct TreeMaker<'a> {
    seed: u64,
    target: &'a Target,
    /// Whether a file may be shorter than the trace needs it: places are mapped.
    maps: bool,
    count: RecordedTree,
}

impl TreeMaker<'_> {
    fn make(&mut self, path: &str, need: Need) -> Result<(), Trouble> {
        let is_free = tree::is_free(Path::new(path));
        match need {
            Need::Nothing => return Ok(()),
            Need::Directory if is_free => std::fs::create_dir(path)?,
            // Where it led was not recorded.
            Need::Link if is_free => std::os::unix::fs::symlink(".", path)?,
            Need::Directory | Need::Link => {}
            Need::File(bytes) if is_free => self.file(path, bytes)?,
            Need::File(bytes) => self.count.found_bytes += self.found(path, bytes)?,
        }
        let count = &mut self.count;
        let (made, found) = match need {
            Need::Directory => (&mut count.made_directories, &mut count.found_directories),
            Need::Link => (&mut count.made_links, &mut count.found_links),
            _ => (&mut count.made_files, &mut count.found_files),
        };
        *if is_free { made } else { found } += 1;
        Ok(())
    }

    fn file(&mut self, path: &str, bytes: u64) -> Result<(), Trouble> {
        match self.target.prepare {
            Prepare::Filled => {
                fill(self.seed, self.target, path, 0, bytes, &mut |_, _, _| true).map_err(Trouble::Failure)?
            }
            _ => std::fs::File::create_new(path)?.set_len(bytes)?,
        }
        self.count.made_bytes += bytes;
        Ok(())
    }

    /// How long a file is that lies there.
    fn found(&self, path: &str, bytes: u64) -> Result<u64, Trouble> {
        let there = std::fs::symlink_metadata(path)?;
        let wrong = |message: String, hint: &str| Err(Trouble::Failure(Failure::new(message).hint(hint)));
        match there.len() {
            _ if !there.is_file() => wrong(
                format!("{path}: the trace needs a file of {bytes} bytes here"),
                "replay in a directory that is empty",
            ),
            0 if bytes > 0 && self.maps => wrong(
                format!("{path}: it is empty, so that no place can be mapped to it"),
                "make it as long as it is to be, or remove it: then it is made as long as the trace needs it",
            ),
            length if length < bytes && !self.maps => wrong(
                format!("{path}: the trace needs a file of {bytes} bytes here, and it has {length}"),
                "replay in a directory that is empty, or say --remap linear, modulo or hash",
            ),
            length => Ok(length),
        }
    }
}
