//! The tree of a trace of files, made as it was before the first record.
//!
//! Nothing that is there is changed: a file that is too short is an error, not something to be extended.

use std::io;
use std::path::Path;

use iodyno_model::{Prepare, Target, TargetKind, Trace};
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
    for (done, (path, need)) in needs.into_iter().enumerate() {
        if !progress(&target.name, done as u64, all) {
            return Err(Failure::new("stopped while the tree was made"));
        }
        let path = format!("{root}/{path}");
        one(seed, target, &path, need).map_err(|error| match error {
            Trouble::System(error) => failure(&path, &error),
            Trouble::Failure(failure) => failure,
        })?;
    }
    progress(&target.name, all, all);
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

fn one(seed: u64, target: &Target, path: &str, need: Need) -> Result<(), Trouble> {
    let is_free = tree::is_free(Path::new(path));
    match need {
        Need::Nothing => {}
        Need::Directory if is_free => std::fs::create_dir(path)?,
        Need::Directory => {}
        // Where it led was not recorded.
        Need::Link if is_free => std::os::unix::fs::symlink(".", path)?,
        Need::Link => {}
        Need::File(bytes) if is_free && target.prepare == Prepare::Filled => {
            fill(seed, target, path, 0, bytes, &mut |_, _, _| true).map_err(Trouble::Failure)?;
        }
        Need::File(bytes) if is_free => std::fs::File::create_new(path)?.set_len(bytes)?,
        Need::File(bytes) => {
            let there = std::fs::symlink_metadata(path)?;
            if !there.is_file() || there.len() < bytes {
                return Err(Trouble::Failure(
                    Failure::new(format!("{path}: the trace needs a file of {bytes} bytes here"))
                        .hint("replay in a directory that is empty"),
                ));
            }
        }
    }
    Ok(())
}
