//! The written workloads on real file systems that lose nothing: each runs, and its own oracle accepts what is there.

#![cfg(target_os = "linux")]

mod explored;

use iodyno_crash::enumeration::Enumeration;
use iodyno_crash::executor::ScriptWorkload;
use iodyno_crash::oracle::read_found;
use iodyno_crash::script::{StepOperation, WrittenWorkload, builtin};
use iodyno_crash::workload::{Marks, Reach, Workload};
use std::io;
use std::path::Path;
use testbed::sandbox::{LoopDevice, Mount};
use testbed::{Case, Need, Outcome};

/// Counts the steps.
#[derive(Default)]
struct StepList {
    begun: u32,
    ended: u32,
}

impl Marks for StepList {
    fn begin(&mut self, step: u32) -> io::Result<()> {
        assert_eq!((step, self.ended), (self.begun, self.begun), "steps follow each other");
        self.begun += 1;
        Ok(())
    }

    fn end(&mut self, step: u32) -> io::Result<()> {
        assert_eq!(step, self.ended);
        self.ended += 1;
        Ok(())
    }
}

/// Runs a workload in a directory of its own, and judges what is there after it.
fn run(workload: WrittenWorkload, directory: &Path) -> io::Result<()> {
    let name = workload.name.replace(':', "-");
    let directory = directory.join(&name);
    std::fs::create_dir(&directory)?;
    let steps = workload.steps.len() as u32;
    let workload = ScriptWorkload::new(workload);
    workload.prepare(&directory)?;
    let mut marks = StepList::default();
    let oracle = workload.run(&directory, &mut marks)?;
    assert_eq!((marks.begun, marks.ended), (steps, steps));
    let violations = oracle.judge(Reach { begun: steps, ended: steps }, &directory)?;
    assert!(violations.is_empty(), "{name}: {violations:#?}");
    // What is there was not there before: an oracle that accepts all would accept the state after nothing.
    let files = read_found(&directory);
    assert_ne!(files, read_found(directory.parent().unwrap_or(&directory)));
    Ok(())
}

/// All of them; those that the file system cannot do must be these.
fn all(directory: &Path, enumerated: u64, unsupported: &[&str]) -> Outcome {
    let mut refused = std::collections::BTreeSet::new();
    let short = Enumeration::new(1)?.sample(enumerated, 1)?;
    let longer = Enumeration::new(3)?.sample(enumerated / 3, 7)?;
    let workloads: Vec<_> = builtin()?.into_iter().chain(short).chain(longer).collect();
    let count = workloads.len();
    // `sync` is for all mounts of the machine, which have their own load.
    for mut workload in workloads {
        workload
            .steps
            .iter_mut()
            .filter(|step| **step == StepOperation::Sync)
            .for_each(|step| *step = StepOperation::Syncfs);
        let name = workload.name.clone();
        match run(workload, directory) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::Unsupported => {
                let text = error.to_string();
                let word = |number: usize| text.split(' ').nth(number).unwrap_or_default().to_string();
                refused.insert(if text.starts_with("fallocate") { word(2) } else { word(0) });
            }
            Err(error) => return Err(format!("{name}: {error}").into()),
        }
    }
    println!("{count} workloads, refused: {refused:?}");
    let expected: Vec<_> = unsupported.iter().map(|word| word.to_string()).collect();
    assert_eq!(refused.into_iter().collect::<Vec<_>>(), expected);
    Ok(())
}

fn on_loop(file_system: &'static str, bytes: u64, unsupported: &[&str]) -> Outcome {
    let device = LoopDevice::new(bytes)?;
    device.mkfs(file_system)?;
    let mount = Mount::new(device.path(), file_system, "")?;
    all(mount.path(), 45, unsupported)
}

fn tmpfs() -> Outcome {
    let mount = Mount::tmpfs(64 << 20)?;
    all(mount.path(), 60, &["clone", "collapse", "insert", "zero"])
}

fn ext4() -> Outcome {
    on_loop("ext4", 64 << 20, &["clone"])
}

fn xfs() -> Outcome {
    on_loop("xfs", 320 << 20, &[])
}

fn btrfs() -> Outcome {
    on_loop("btrfs", 256 << 20, &["collapse", "insert"])
}

/// The directory is gone before its workload ends.
fn a_failed_step_is_named() -> Outcome {
    let directory = tempfile::tempdir()?;
    let workload =
        builtin()?.into_iter().find(|workload| workload.name == "create-fsync").ok_or("no such workload")?;
    let error = ScriptWorkload::new(workload)
        .run(directory.path(), &mut StepList::default())
        .err()
        .ok_or("it ran")?;
    assert!(error.to_string().contains("No such file or directory"), "{error}");
    Ok(())
}

fn cases() -> Vec<Case> {
    let on = |name: &'static str, body: fn() -> Outcome| {
        Case::new(
            format!("every_workload_on_{name}"),
            &[Need::Root, Need::Loop, Need::FileSystem(name)],
            body,
        )
    };
    let explored = |file_system: &'static str, name: &'static str, body: fn() -> Outcome| {
        Case::new(name, &[Need::Root, Need::Fuse, Need::Loop, Need::FileSystem(file_system)], body)
    };
    vec![
        Case::new("a_failed_step_is_named", &[], a_failed_step_is_named),
        Case::new("every_workload_on_tmpfs", &[Need::Root, Need::Mount], tmpfs),
        explored("ext4", "honest_ext4", || explored::honest("ext4")),
        explored("xfs", "honest_xfs", || explored::honest("xfs")),
        explored("btrfs", "honest_btrfs", || explored::honest("btrfs")),
        explored("ext4", "wrong_programs_are_caught_on_ext4", explored::wrong_programs_are_caught),
        explored("ext4", "nobarrier_is_named_on_ext4", explored::nobarrier_is_named),
        on("ext4", ext4),
        on("xfs", xfs),
        on("btrfs", btrfs),
    ]
}

fn main() -> std::process::ExitCode {
    iodyno_crash::disk::serve_when_asked();
    testbed::run(cases())
}
