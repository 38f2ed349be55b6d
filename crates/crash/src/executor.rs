//! Does the steps of a workload on a directory, and keeps what its oracle must know: the steps, and the numbers of their inodes.

mod calls;

use crate::oracle::{InodeNumbers, ModelTree, MountPractice, judge_found, read_found};
use crate::promise::Violation;
use crate::script::{StepOperation, WrittenWorkload};
use crate::workload::{Marks, Oracle, Reach, Workload};
use calls::OpenHandles;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// A workload of steps.
#[derive(Debug, Clone)]
pub struct ScriptWorkload {
    pub script: WrittenWorkload,
}

impl ScriptWorkload {
    pub fn new(script: WrittenWorkload) -> ScriptWorkload {
        ScriptWorkload { script }
    }
}

/// A step's error with the step. What a file system does not have is [`io::ErrorKind::Unsupported`]: the workload is not checked here.
fn in_step(operation: &StepOperation, error: io::Error) -> io::Error {
    let is_optional = match operation {
        StepOperation::Append { durability, .. } | StepOperation::Overwrite { durability, .. } => {
            !matches!(durability, crate::script::OpenDurability::None)
        }
        StepOperation::Rename { mode, .. } => *mode != crate::script::RenameMode::Replace,
        StepOperation::Clone { .. }
        | StepOperation::Fallocate { .. }
        | StepOperation::Tmpfile { .. }
        | StepOperation::SetXattr { .. }
        | StepOperation::Link { .. }
        | StepOperation::Symlink { .. }
        | StepOperation::MmapWrite { .. } => true,
        _ => false,
    };
    let missing =
        [libc::EOPNOTSUPP, libc::ENOTTY, libc::EINVAL, libc::ENOSYS, libc::EXDEV, libc::ENODEV, libc::EPERM];
    let is_missing = is_optional && error.raw_os_error().is_some_and(|code| missing.contains(&code));
    let kind = if is_missing { io::ErrorKind::Unsupported } else { error.kind() };
    io::Error::new(kind, format!("{operation}: {error}"))
}

impl Workload for ScriptWorkload {
    fn name(&self) -> &str {
        &self.script.name
    }

    fn prepare(&self, directory: &Path) -> io::Result<()> {
        let (mut handles, mut model) = (OpenHandles::new(directory), ModelTree::default());
        self.script.prepare.iter().try_for_each(|step| {
            handles.perform(step, &model).map_err(|error| in_step(step, error))?;
            model.apply(step).map_err(io::Error::other)
        })
    }

    fn run(&self, directory: &Path, marks: &mut dyn Marks) -> io::Result<Box<dyn Oracle>> {
        let prepared = prepared_model(&self.script, practice_of(directory)?);
        let mut model = prepared.clone();
        let mut oracle = ScriptOracle { script: self.script.clone(), prepared, numbers: InodeNumbers::new() };
        let mut handles = OpenHandles::new(directory);
        let mut known = 0;
        for (number, operation) in self.script.steps.iter().enumerate() {
            known = oracle.look_up(&model, known, directory, &handles)?;
            marks.begin(number as u32)?;
            handles.perform(operation, &model).map_err(|error| in_step(operation, error))?;
            marks.end(number as u32)?;
            model.apply_step(number as u32, operation).map_err(io::Error::other)?;
        }
        oracle.look_up(&model, known, directory, &handles)?;
        Ok(Box::new(oracle))
    }
}

/// What the mount that a directory lies on promises, as `/proc/thread-self/mounts` has its type and options.
///
/// # Errors
/// That file cannot be read.
fn practice_of(directory: &Path) -> io::Result<MountPractice> {
    let directory = directory.canonicalize()?;
    let mounts = std::fs::read_to_string("/proc/thread-self/mounts")?;
    let mut nearest: Option<(PathBuf, MountPractice)> = None;
    for line in mounts.lines() {
        let mut fields = line.split(' ').skip(1);
        let (Some(point), Some(kind), Some(options)) = (fields.next(), fields.next(), fields.next()) else {
            continue;
        };
        let point = PathBuf::from(point.replace("\\040", " "));
        // The last of several mounts on one directory is the one that is seen.
        let is_nearer = nearest.as_ref().is_none_or(|(other, _)| point.starts_with(other));
        if directory.starts_with(&point) && is_nearer {
            nearest = Some((point, MountPractice::of(kind, options)));
        }
    }
    Ok(nearest.map_or_else(MountPractice::posix, |(_, practice)| practice))
}

/// Judges by the model of the steps.
struct ScriptOracle {
    script: WrittenWorkload,
    /// Before the first step.
    prepared: ModelTree,
    numbers: InodeNumbers,
}

impl ScriptOracle {
    /// Notes the numbers of inodes from the `known`-th on, and returns how many are known now.
    fn look_up(
        &mut self,
        model: &ModelTree,
        known: usize,
        directory: &Path,
        handles: &OpenHandles,
    ) -> io::Result<usize> {
        if known == model.inodes.len() {
            return Ok(known);
        }
        for (path, number) in model.paths() {
            if number as usize >= known {
                self.numbers.insert(number, directory.join(path).symlink_metadata()?.ino());
            }
        }
        for (handle, number) in &model.handles {
            self.numbers.insert(*number, handles.inode(handle)?);
        }
        Ok(model.inodes.len())
    }
}

fn prepared_model(script: &WrittenWorkload, practice: MountPractice) -> ModelTree {
    let mut model = ModelTree::new(practice);
    script.prepare.iter().for_each(|step| drop(model.apply(step)));
    model.keep_prepared();
    model
}

impl Oracle for ScriptOracle {
    fn judge(&self, reach: Reach, directory: &Path) -> io::Result<Vec<Violation>> {
        let mut model = self.prepared.clone();
        for (number, operation) in (0..reach.begun).zip(&self.script.steps) {
            let apply = if number < reach.ended { ModelTree::apply_step } else { ModelTree::begin_step };
            apply(&mut model, number, operation).map_err(io::Error::other)?;
        }
        Ok(judge_found(&model, &self.numbers, &|step| self.step(step), &read_found(directory)))
    }

    fn step(&self, step: u32) -> String {
        self.script.steps.get(step as usize).map_or_else(|| format!("step {step}"), StepOperation::to_string)
    }
}
